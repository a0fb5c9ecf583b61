"""The archive with the program, its manual, completions and licences. The Debian package has the same files."""

import hashlib
import os
import shutil
import tarfile

from harness import licences
from harness.tools import NAME, OUT, REPOSITORY, TARGET, WORK, fresh, run

STAGE = WORK / "stage"
# The shells, with the file names that their completions have.
SHELLS = {"bash": "rep.bash", "zsh": "_rep", "fish": "rep.fish", "powershell": "_rep.ps1"}


def stage(program):
    """Lays out the files of the archive, with a manual and completions that the program writes itself."""
    directory = fresh(STAGE)
    shutil.copy(program, directory / f"rep{program.suffix}")
    run([program, "self", "man", directory / "man"])
    (directory / "completions").mkdir()
    # Called by its bare name, it is looked up by the shell that completes.
    variables = os.environ | {"PATH": f"{directory}{os.pathsep}{os.environ['PATH']}"}
    for shell, file in SHELLS.items():
        script = run(["rep", "completions", shell], directory, variables)
        (directory / "completions" / file).write_text(script)
    for name in ("README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"):
        shutil.copy(REPOSITORY / name, directory / name)
    licences.write(directory / "LICENSES-OF-DEPENDENCIES.txt")
    return directory


def build(program, target=TARGET):
    """Returns the archive and its checksum. Equal files make equal archives."""
    directory, folder = stage(program), f"{NAME}-{target}"
    archive = OUT / f"{folder}.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=9) as packed:
        packed.add(directory, folder, filter=nobody)
    return [archive, checksum(archive)]


def nobody(entry):
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = "root"
    return entry


def checksum(file):
    """Writes the checksum beside `file`, as `sha256sum --check` reads it."""
    path = file.with_name(file.name + ".sha256")
    path.write_text(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n")
    return path
