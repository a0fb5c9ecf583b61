"""Places, versions and tools. All that is made here lies below release/work, which git ignores."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

RELEASE = Path(__file__).resolve().parent.parent
REPOSITORY = RELEASE.parent
WORK = RELEASE / "work"
# The packages, and nothing else.
OUT = WORK / "out"
NAME = "repertoire-cli"
TARGET = "x86_64-unknown-linux-gnu"
# The oldest C library that the program runs with: that of manylinux2014.
GLIBC = "2.17"
CARGO_TOOLS = {"cargo-deb": "3.8.0", "mdbook": "0.5.3"}


class Failed(Exception):
    """Something could not be made, or does not do what it should."""


class Missing(Exception):
    """Something is not on this machine, so that a part is left out, and that is said."""


def of_workspace(key):
    """Returns a key that all crates inherit; `tomllib` is only in newer versions of Python."""
    text = (REPOSITORY / "Cargo.toml").read_text().split("[workspace.package]")[1]
    return re.search(rf'^{key} = "(.*)"$', text, re.MULTILINE).group(1)


VERSION = of_workspace("version")
LINK = of_workspace("repository")


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, directory=REPOSITORY, environment=None, **options):
    """Runs a program to its end, and returns what it printed."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(
            command, cwd=directory, env=environment, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
        )
    except FileNotFoundError:
        raise Missing(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired as error:
        raise Failed(f"`{' '.join(command)}` takes more than {error.timeout:.0f} s") from None
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()[-15:]
        raise Failed("\n".join([f"`{' '.join(command)}` failed with {done.returncode}:", *lines]))
    return done.stdout


def fresh(directory):
    """Returns `directory`, empty."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def environment(**variables):
    """Returns the variables of a build; the programs of `python_tools` and `cargo_tool` are found."""
    path = os.pathsep.join([str(WORK / "python/bin"), str(WORK / "cargo/bin"), os.environ["PATH"]])
    return os.environ | {"PATH": path, "CARGO_TERM_COLOR": "never"} | variables


def released(target):
    """Returns the variables of a build for others in the folder `target`: the program tells its commit."""
    commit = os.environ.get("REPERTOIRE_COMMIT") or run(["git", "rev-parse", "HEAD"]).strip()
    return environment(CARGO_TARGET_DIR=str(target), REPERTOIRE_COMMIT=commit, CARGO_INCREMENTAL="0")


def python_tools(*names):
    """Installs the tools of release/requirements.txt at fixed versions, or only those of `names`."""
    lines = (RELEASE / "requirements.txt").read_text().split()
    wanted = [line for line in lines if not names or line.split("==")[0] in names]
    mark = WORK / "python/installed"
    there = mark.read_text().split() if mark.is_file() else []
    if set(wanted) <= set(there):
        return
    if not there:
        run([sys.executable, "-m", "venv", fresh(WORK / "python")])
    try:
        run([WORK / "python/bin/pip", "install", "--quiet", "--disable-pip-version-check", *wanted])
    except Failed as failure:
        raise Missing(f"the tools of release/requirements.txt could not be installed: {failure}") from None
    kept = [line for line in there if line in lines]
    mark.write_text("\n".join(sorted({*kept, *wanted})))


def cargo_tool(name, *options):
    """Installs a program from the registry of crates, without optimisation: it runs a few times."""
    version = CARGO_TOOLS[name]
    mark = WORK / "cargo" / f"{name}-{version}"
    if not mark.is_file():
        install = ["cargo", "install", "--quiet", "--locked", "--debug", "--root", WORK / "cargo", f"{name}@{version}"]
        try:
            run([*install, *options], WORK, environment(CARGO_TARGET_DIR=str(WORK / "cargo/target"), CARGO_PROFILE_DEV_DEBUG="0"))
        except Failed as failure:
            raise Missing(f"{name} could not be installed: {failure}") from None
        shutil.rmtree(WORK / "cargo/target", ignore_errors=True)
        mark.touch()


def megabytes(path):
    return path.stat().st_size / 1e6
