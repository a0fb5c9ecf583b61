"""What every check needs: the program, a library, a server, and places to work in."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import install, process
from harness.process import Failed

LIBRARY = install.CLIENTS / "library"
START_SECONDS = 20
WORDS = "Use when somebody asks to sort, read or answer it, or says that it lies about, with whatever else belongs to it."


class World:
    """The program under test, and one HTTP server of it for all who want one."""

    def __init__(self, rep):
        self.rep = rep
        self.directory = Path(tempfile.mkdtemp(prefix="rep-clients-"))
        self.library = LIBRARY
        self.server = None
        self.url = None

    def stdio(self):
        """Returns the command of a server that speaks over pipes."""
        return [str(self.rep), "serve", "--stdio", "--root", str(self.library)]

    def connect(self, place, client):
        """Registers a server over pipes with a client, as a user does."""
        command = [self.rep, "connect", client, "--yes", "--root", self.library]
        process.run(command, place, environment(place), START_SECONDS).expect_success()

    @contextlib.contextmanager
    def many_skills(self, count):
        """Has servers over pipes serve `count` more skills."""
        library = self.directory / "many"
        shutil.copytree(LIBRARY, library)
        for number in range(count):
            text = f"---\nname: skill-{number:03}\ndescription: Handles the {number}th kind of paper. {WORDS}\n---\n# Kind {number}\n"
            (library / f"skill-{number:03}").mkdir()
            (library / f"skill-{number:03}" / "SKILL.md").write_text(text)
        self.library = library
        try:
            yield
        finally:
            self.library = LIBRARY
            shutil.rmtree(library)

    def http(self):
        """Returns the address of the HTTP server, which is started at first."""
        if self.server is None:
            command = [str(self.rep), "serve", "--http", "127.0.0.1:0", "--root", str(LIBRARY)]
            place = self.place("server")
            self.server = subprocess.Popen(
                command, cwd=place, env=environment(place), stderr=subprocess.PIPE, text=True, start_new_session=True
            )
            process.KEPT.add(self.server.pid)
            line = self.server.stderr.readline()
            found = re.search(r"http://[^/]+", line)
            if not found:
                raise Failed(f"the server said: {line.strip()}")
            self.url = found[0]
        return self.url

    def place(self, name):
        """Returns an empty directory with a home in it, out of reach of any configuration."""
        directory = self.directory / name
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "home").mkdir(parents=True)
        # Nobody looks further up than the root of a repository.
        (directory / ".git").mkdir()
        return directory

    def close(self):
        """Stops the server as a system would, and says what is wrong with how it ended."""
        try:
            if self.server is not None:
                self.server.send_signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.server.wait(START_SECONDS)
                process.end_group(self.server.pid)
                if self.server.wait() != 0:
                    raise Failed(f"the HTTP server ended with status {self.server.returncode}: {self.server.stderr.read()[-500:]}")
                process.KEPT.discard(self.server.pid)
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)


def environment(place, **more):
    """Returns the variables that a client gets: none of ours but the path, and an empty home."""
    path = f"{install.node().parent}:/usr/local/bin:/usr/bin:/bin"
    return {"PATH": path, "HOME": str(place / "home"), "LANG": "C.UTF-8", "NO_COLOR": "1", "DO_NOT_TRACK": "1", **more}


def build():
    """Builds `rep` and returns where it is."""
    command = ["cargo", "build", "--quiet", "--locked", "--package", "repertoire-cli", "--message-format=json"]
    built = subprocess.run(command, cwd=install.REPOSITORY, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    programs = [json.loads(line).get("executable") for line in built.stdout.splitlines() if '"executable":"' in line]
    if built.returncode != 0 or not programs:
        raise Failed("`rep` cannot be built")
    return Path(programs[-1])
