"""Runs programs so that nothing of them stays behind."""

import ctypes
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

GRACE_SECONDS = 5


class Failed(Exception):
    """A client did not do what it should."""


@dataclass
class Outcome:
    """What a program wrote, and how it ended."""

    status: int
    output: str
    errors: str

    def expect_success(self):
        if self.status != 0:
            text = (self.errors.strip() or self.output.strip())[-600:]
            raise Failed(f"exit status {self.status}: {text}")
        return self


def adopt_orphans():
    """Has processes whose parents are gone become ours, so that they can be found."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def run(command, directory, environment, seconds, said=None):
    """Runs a program to its end, in a group of its own. A person says `said` to it, or nothing."""
    command = [str(part) for part in command]
    streams = {"stdin": subprocess.PIPE if said else subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen(
        command, cwd=directory, env=environment, text=True, errors="replace", start_new_session=True, **streams
    )
    try:
        output, errors = child.communicate(said, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"did not end within {seconds} s") from None
    finally:
        end_group(child.pid)
        child.wait()
    return Outcome(child.returncode, output, errors)


def end_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_orphans(program):
    """Ends whatever a client left behind. `program` must have ended by itself, for its input is closed by now."""
    deadline = time.monotonic() + GRACE_SECONDS
    while orphans() and time.monotonic() < deadline:
        time.sleep(0.05)
    left = orphans()
    for pid, command in left:
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
    if any(str(program) in command for _, command in left):
        raise Failed(f"`{Path(program).name}` went on after its client was gone")


def orphans():
    """Returns our children that nobody here waits for, with their commands; ended ones are reaped."""
    found = []
    for pid in children():
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (ChildProcessError, OSError):
            continue
        if not ended and pid not in KEPT:
            found.append((pid, command))
    return found


# Children that are meant to run on.
KEPT = set()


def children():
    own = os.getpid()
    pids = []
    for task in Path(f"/proc/{own}/task").iterdir():
        pids += [int(pid) for pid in (task / "children").read_text().split()]
    return [pid for pid in pids if pid not in KEPT]
