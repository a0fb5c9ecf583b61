"""The wheel for PyPI, made by maturin: the program, the script `repertoire-cli`, and the module `repertoire`."""

import re
import shutil
import zipfile

from harness import licences
from harness.tools import (
    GLIBC, LINK, NAME, OUT, RELEASE, REPOSITORY, TARGET, VERSION, WORK, Failed, environment, fresh, python_tools, released, run,
)

MOST_MEGABYTES = 21
MODULE = REPOSITORY / "bindings/python/repertoire"
MANYLINUX = "manylinux_" + GLIBC.replace(".", "_")


def build(target=TARGET, tag=MANYLINUX):
    """Builds the program for `target` with the profile `dist`, and returns its wheel."""
    python_tools()
    options = ["--profile", "dist", "--target", target, "--compatibility", tag]
    return make(OUT, ["--zig", *options] if "linux" in target else options, released(WORK / "target"))


def build_short(target):
    """Returns a wheel of the debug program in the folder `target`, for this machine alone."""
    python_tools("maturin")
    options = ["--profile", "dev", "--compatibility", "linux", "--compression-method", "stored"]
    return make(fresh(WORK / "short"), options, environment(CARGO_TARGET_DIR=str(target)))


def make(out, options, variables):
    project = stage()
    for old in out.glob("*.whl"):
        old.unlink()
    run(["maturin", "build", "--locked", "--out", out, *options], project, variables)
    (wheel,) = out.glob("*.whl")
    check(wheel)
    return wheel


def stage():
    """Makes the project that maturin builds. The module of Python is packed from where it is written."""
    project = fresh(WORK / "wheel")
    text = (RELEASE / "wheel/pyproject.toml").read_text()
    for word, value in (("@VERSION@", VERSION), ("@LINK@", LINK), ("@REPOSITORY@", str(REPOSITORY))):
        text = text.replace(word, value)
    shutil.copytree(MODULE, project / "python/repertoire", ignore=shutil.ignore_patterns("__pycache__"))
    (project / "pyproject.toml").write_text(text)
    shutil.copytree(RELEASE / "wheel/data", project / "data")
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        shutil.copy(REPOSITORY / name, project / name)
    # Pages of a registry have no files beside them.
    readme = re.sub(r"(!\[[^\]]*\]\()(?!https:)", rf"\1{LINK}/raw/main/", (REPOSITORY / "README.md").read_text())
    (project / "README.md").write_text(re.sub(r"\]\((?!https:)", f"]({LINK}/blob/main/", readme))
    licences.write(project / "LICENSES-OF-DEPENDENCIES.txt")
    return project


def check(wheel):
    """Holds the wheel to what it must have."""
    stem = f"{NAME.replace('-', '_')}-{VERSION}"
    program = "rep.exe" if "win_" in wheel.stem.split("-")[-1] else "rep"
    metadata = f"{stem}.dist-info/METADATA"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        described = archive.read(metadata).decode().splitlines() if metadata in names else []
    wanted = [f"{stem}.data/scripts/{program}", f"{stem}.data/scripts/repertoire-cli", metadata, "repertoire/py.typed"]
    for name in [*wanted, *(f"repertoire/{file.name}" for file in MODULE.glob("*.py"))]:
        if name not in names:
            raise Failed(f"{wheel.name} has no {name}: {names}")
    if "Requires-Python: >=3.10" not in described:
        raise Failed(f"{wheel.name} does not ask for Python 3.10")
    if not any(name.startswith(f"{stem}.dist-info/sboms/") and name.endswith(".cyclonedx.json") for name in names):
        raise Failed(f"{wheel.name} has no bill of materials: {names}")
