"""Roots without Rust and without a compiler, in which packages are installed and tried."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness.tools import RELEASE, WORK, Failed, Missing, fresh, run, say

SUITE = "bookworm"
# The user in the roots; root may read and write everything.
USER = 1000
# What a bare root has beside the C library: a shell and coreutils.
PROGRAMS = ["sh", "cat", "chmod", "cp", "echo", "env", "ls", "mkdir", "mv", "rm", "sleep", "tar", "gzip", "true"]


class Root:
    """A root with the folder /try for what a test makes; /try/home is the home of the user."""

    def __init__(self, path):
        self.path = path
        self.variables = {"HOME": "/try/home", "PATH": "/try/bin:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "USER": "ann"}
        self.place = fresh(path / "try")
        for name in ("home", "bin", "project"):
            (self.place / name).mkdir()
        self.give()

    def give(self):
        """Gives all that was put in /try to the user of the root."""
        run(["chown", "-R", f"{USER}:{USER}", self.place])

    def command(self, *command, directory="/try/project"):
        unshare = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", sys.executable]
        return [*unshare, str(RELEASE / "harness/inside.py"), str(self.path), str(USER), directory, "/bin/sh", "-c", 'exec "$@"', "sh", *command]

    def run(self, *command, seconds=120, **variables):
        """Runs a command to its end; returns its status, and all that it wrote."""
        done = subprocess.run(
            self.command(*command), env=self.variables | variables, text=True, errors="replace", timeout=seconds,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        return done.returncode, done.stdout

    def expect(self, *command, has="", status=0, **variables):
        """Holds a command to its status and to a text in what it writes, which is returned."""
        found, output = self.run(*command, **variables)
        if found != status or has not in output:
            raise Failed(f"`{' '.join(command)}`: status {found}, not {status} with {has!r}:\n{output[-1500:]}")
        return output


def need_root():
    if os.geteuid() != 0:
        raise Missing("another root needs the rights of root")
    try:
        run(["unshare", "--net", "--mount", "--pid", "--fork", "true"])
    except Failed as failure:
        raise Missing(f"namespaces cannot be made here: {failure}") from None


def debian():
    """Returns a minimal Debian with git and Python, made once."""
    need_root()
    path = WORK / "roots/debian"
    done = path.with_name("debian.done")
    if not done.is_file():
        if not shutil.which("debootstrap"):
            try:
                run(["apt-get", "install", "--yes", "debootstrap"])
            except Failed:
                raise Missing("debootstrap cannot be installed") from None
        say("a minimal Debian; this takes minutes, once")
        fresh(path)
        try:
            run(["debootstrap", "--variant=minbase", "--include=git,python3-venv", SUITE, path], WORK)
        except Failed as failure:
            raise Missing(f"a minimal Debian could not be made: {failure}") from None
        done.touch()
    return Root(path)


def bare():
    """Returns a root with the C library and a few programs of this machine, and nothing else."""
    need_root()
    path = fresh(WORK / "roots/bare")
    files = {Path(shutil.which(program)) for program in PROGRAMS}
    for program in sorted(files):
        listed = run(["ldd", program]).split()
        files |= {Path(word) for word in listed if word.startswith("/")}
    # The other libraries of the C library, which programs of elsewhere need.
    directory = next(file.parent for file in files if file.name == "libc.so.6")
    files |= {directory / name for name in ("libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1")}
    for file in files:
        target = path / str(file).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    (path / "bin").mkdir(exist_ok=True)
    for program in PROGRAMS:
        if not (path / "bin" / program).exists():
            shutil.copy(shutil.which(program), path / "bin" / program)
    (path / "tmp").mkdir(mode=0o777)
    (path / "tmp").chmod(0o777)
    (path / "etc").mkdir(exist_ok=True)
    (path / "etc/passwd").write_text(f"ann:x:{USER}:{USER}::/try/home:/bin/sh\n")
    return Root(path)
