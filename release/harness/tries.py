"""Installs the packages from local files and tries them. Each function returns what was seen, in a line."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

from harness import archive, cases, crates, npm, roots
from harness.registry import Registry
from harness.tools import GLIBC, NAME, OUT, REPOSITORY, TARGET, VERSION, WORK, Failed, Missing, fresh, run

# No package manager may ask for anything beyond this machine.
NO_NETWORK = {name: "http://127.0.0.1:9" for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
NO_NETWORK |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}

# What the module of the wheel does with the program of the wheel.
LOAD = """import sys, repertoire
with repertoire.Library(sys.argv[1]) as library, library.session() as session:
    print(session.call("load_skill", {"name": "git"}).text)
"""


def made(name):
    """Returns the package of this name, which `release/build` made."""
    found = sorted(OUT.glob(name))
    if len(found) != 1:
        raise Failed(f"release/work/out has {len(found)} files {name}; run release/build")
    return found[0]


def wheel_in_venv(wheel):
    """Installs a wheel into an empty environment, without network, and runs both scripts."""
    place = fresh(WORK / "try/venv")
    run([sys.executable, "-m", "venv", "--without-pip", place])
    pip = [sys.executable, "-m", "pip", "--python", place, "install", "--no-index", "--disable-pip-version-check", "--quiet"]
    variables = os.environ | NO_NETWORK
    run([*pip, wheel], WORK, variables)
    versions = {run([place / "bin" / script, "--version"]).strip() for script in ("rep", NAME)}
    if versions != {f"rep {VERSION}"}:
        raise Failed(f"the scripts of the wheel print {versions}")
    home = {"HOME": str(fresh(WORK / "try/home")), "PATH": f"{place / 'bin'}:/usr/bin:/bin"}
    run(["rep", "list", "--json"], place, home)
    if "See what changed" not in run([place / "bin/python", "-c", LOAD, REPOSITORY / "skills"], place, home):
        raise Failed("the module of the wheel does not load a skill")
    command = run(["rep", "self", "update"], place, home).strip()
    if not command.endswith(f"-m pip install --upgrade {NAME}"):
        raise Failed(f"`rep self update` prints {command}")
    # A wheel of another machine.
    other = place / wheel.name.replace("x86_64", "s390x")
    shutil.copy(wheel, other)
    refused = subprocess.run([*map(str, pip), str(other)], env=variables, text=True, capture_output=True)
    if refused.returncode == 0 or "not a supported wheel on this platform" not in refused.stderr:
        raise Failed(f"pip installs a wheel of another machine: {refused.stderr}")
    return f"both scripts and the module run; {refused.stderr.strip().splitlines()[-1][:120]}"


def modules():
    """Runs the examples with the modules of the packages, in an empty environment and an empty project, and checks their types."""
    made("*.whl"), made(f"{NAME}-{VERSION}.tgz")
    said = run(["/bin/sh", "-c", 'exec "$0" --packages "$1" 2>&1', REPOSITORY / "tests/bindings/run", OUT])
    if "SKIPPED" in said:
        raise Missing(said.strip())
    return "the examples run and their types pass: mypy, pyright, tsc for both kinds of modules"


def wheel_in_root():
    """Installs the wheel in a Debian without Rust, and has it work there."""
    wheel = made("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        tags = next(name for name in packed.namelist() if name.endswith("/WHEEL"))
        if f"manylinux_{GLIBC.replace('.', '_')}_x86_64" not in packed.read(tags).decode():
            raise Failed(f"{wheel.name} is not for glibc {GLIBC}")
    root = roots.debian()
    shutil.copy(wheel, root.place / wheel.name)
    root.give()
    root.expect("/usr/bin/python3", "-m", "venv", "/try/venv")
    root.expect("/try/venv/bin/pip", "install", "--no-index", f"/try/{wheel.name}")
    cases.works(root, "/try/venv/bin/rep")
    return "list, search, add, serve and run in a minimal Debian"


def unpack(root):
    """Unpacks the archive in a root, with the program on the path."""
    with tarfile.open(made(f"{NAME}-{TARGET}.tar.gz")) as packed:
        packed.extractall(root.place, filter="data") if hasattr(tarfile, "data_filter") else packed.extractall(root.place)
    shutil.copy(root.place / f"{NAME}-{TARGET}/rep", root.place / "bin/rep")
    root.give()


def archive_in_roots():
    """Unpacks the archive in a Debian, and in a root that has nothing but the C library and coreutils."""
    packed = made(f"{NAME}-{TARGET}.tar.gz")
    run(["sha256sum", "--check", f"{packed.name}.sha256"], OUT)
    for root in (roots.debian(), roots.bare()):
        unpack(root)
        folder = root.place / f"{NAME}-{TARGET}"
        for name in ("man/rep-list.1", *(f"completions/{file}" for file in archive.SHELLS.values()), "LICENSES-OF-DEPENDENCIES.txt"):
            if not (folder / name).is_file():
                raise Failed(f"{packed.name} has no {name}")
        cases.works(root, "/try/bin/rep")
    refused = cases.read_only_home(root, "/try/bin/rep")
    loader = cases.old_library(root, "/try/bin/rep")
    return f"works in Debian and in a bare root; {refused}; {loader}"


def debian_in_root():
    """Installs the Debian package with dpkg, and takes it away again."""
    package = made(f"{NAME}_amd64.deb")
    root = roots.debian()
    shutil.copy(package, root.path / "try.deb")
    run(["chroot", root.path, "dpkg", "--install", "/try.deb"])
    try:
        root.expect("/usr/bin/rep", "--version", has=VERSION)
        root.expect("/usr/bin/rep", "self", "update", has=f"sudo apt install ./{NAME}_amd64.deb")
        manual = root.path / "usr/share/man/man1/rep-list.1.gz"
        if not manual.is_file() or not (root.path / "usr/share/bash-completion/completions/rep").is_file():
            raise Failed("the Debian package has no manual or no completions")
    finally:
        run(["chroot", root.path, "dpkg", "--purge", NAME])
    depends = run(["dpkg-deb", "--field", package, "Depends"]).strip()
    return f"installed and removed; depends on {depends}"


def npm_from_registry():
    """Installs the packages of npm from a registry on this machine, and starts them as npm and npx do."""
    packages = [made(f"{NAME}-{VERSION}.tgz"), made(f"{NAME}-linux-x64-gnu-{VERSION}.tgz")]
    others = [
        {"name": npm.scoped(name), "version": VERSION, **{key: row[key] for key in ("os", "cpu", "libc") if key in row}}
        for name, row in npm.PLATFORMS.items()
        if name != "linux-x64-gnu"
    ]
    place = fresh(WORK / "try/npm")
    with Registry(packages, others) as registry:
        flags = {"npm_config_registry": registry.url, "npm_config_cache": str(place / "cache"), "npm_config_update_notifier": "false"}
        variables = {"HOME": str(place), "PATH": f"{place / 'global/bin'}:{os.environ['PATH']}", **NO_NETWORK, **flags}
        quiet = ["--no-audit", "--no-fund"]
        run(["npm", "install", "--global", "--prefix", place / "global", *quiet, NAME], place, variables)
        for name in ("rep", NAME):
            if run([place / "global/bin" / name, "--version"], place, variables).strip() != f"rep {VERSION}":
                raise Failed(f"the command {name} of the package of npm does not print its version")
        run(["rep", "list", "--json"], place, variables)
        command = run(["rep", "self", "update"], place, variables).strip()
        if command != f"npm install --global {NAME}@latest":
            raise Failed(f"`rep self update` prints {command}")
        if run(["npx", "-y", NAME, "--version"], place, variables).strip() != f"rep {VERSION}":
            raise Failed("`npx -y repertoire-cli --version` does not print its version")
        if any("absent.tgz" in path for path in registry.asked):
            raise Failed("npm fetches the programs of other platforms")
        without = fresh(place / "without")
        (without / "package.json").write_text("{}")
        run(["npm", "install", "--omit=optional", *quiet, NAME], without, variables)
    launcher = without / f"node_modules/{NAME}/launcher.cjs"
    missing = node(launcher, "", "is missing, which has the program for this platform")
    strange = node(launcher, "Object.defineProperty(process, 'arch', {value: 's390x'});", "has no program for linux-s390x-gnu")
    for package in packages:
        with tarfile.open(package) as packed:
            if "scripts" in json.load(packed.extractfile("package/package.json")):
                raise Failed(f"{package.name} runs something at installation")
    return f"global and npx; {strange}; {missing}"


def node(launcher, before, has):
    """Returns what the launcher says on a machine that `before` pretends."""
    done = subprocess.run(["node", "-e", f"{before} require({json.dumps(str(launcher))})"], text=True, capture_output=True)
    if done.returncode != 1 or has not in done.stderr:
        raise Failed(f"the launcher does not say {has!r}: {done.returncode} {done.stderr}")
    return done.stderr.strip()[:100]


def crates_build():
    """Builds every crate from its packed form."""
    files = crates.build(verify=True)
    return f"{len(files)} crates, in order: {', '.join(crates.in_order())}"
