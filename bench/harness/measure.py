"""Runs the contenders in turns and keeps what they took."""

import contextlib
import json
import os
import statistics
import tempfile
import time
from dataclasses import dataclass, field

from harness import install
from harness.contenders import INSIDE, RELOAD, REP_LIST_JSON, SESSION, WHOLE

# Whoever took longer than this once is not asked again.
PATIENCE_MS = 20_000


class MeasureError(Exception):
    """A contender failed, or did not do what it was measured for."""


@dataclass
class Figure:
    """What one operation of one contender took on one library: by the clock, and of all processors together."""

    size: int
    name: str
    kind: str
    operation: str
    threads: int
    wall_ms: list = field(default_factory=list)
    cpu_ms: list = field(default_factory=list)
    peak_mb: float = 0.0

    @property
    def min(self):
        return min(self.wall_ms)

    @property
    def median(self):
        return statistics.median(self.wall_ms)

    @property
    def cpu(self):
        return min(self.cpu_ms)

    def record(self):
        """Returns the figure as it is kept in results.jsonl."""
        return {
            "size": self.size,
            "contender": self.name,
            "kind": self.kind,
            "operation": self.operation,
            "threads": self.threads,
            "min_ms": round(self.min, 6),
            "median_ms": round(self.median, 6),
            "peak_mb": round(self.peak_mb, 1),
            "wall_ms": [round(sample, 6) for sample in self.wall_ms],
            "cpu_ms": [round(sample, 6) for sample in self.cpu_ms],
        }


class Figures:
    """All figures of a run."""

    def __init__(self):
        self.all = {}
        # What is no time, by size, contender and name.
        self.gauges = {}

    def add(self, size, contender, operation, wall_ms, cpu_ms, peak_mb):
        key = (size, contender.name, contender.kind, operation, contender.threads)
        figure = self.all.setdefault(
            key, Figure(size, contender.name, contender.kind, operation, contender.threads)
        )
        figure.wall_ms.extend(wall_ms)
        figure.cpu_ms.extend(cpu_ms)
        figure.peak_mb = max(figure.peak_mb, peak_mb)

    def inside(self, size, name, operation, threads):
        """Returns what a contender measured itself, or None."""
        return self.all.get((size, name, INSIDE, operation, threads))

    def session(self, size, name, operation, percent=50):
        """Returns a percentile of what single calls took, one sample per round, or None."""
        return self.all.get((size, name, SESSION, f"{operation} p{percent}", 1))

    def reload(self, size, name, operation, percent):
        """Returns a percentile of what changes took, one sample per round, or None."""
        return self.all.get((size, name, RELOAD, f"{operation} p{percent}", 1))

    def gauge(self, size, name, gauge):
        """Returns the figure that is no time, the largest of all rounds, or None."""
        return max(self.gauges.get((size, name, gauge), []), default=None)

    def whole(self, size, name):
        """Returns a contender's time from start to end, or None."""
        return next((f for f in self.all.values() if (f.size, f.name, f.kind) == (size, name, WHOLE)), None)


def measure(figures, size, contenders, rounds):
    """Runs all contenders `rounds` times, one after the other within each round, and adds to `figures`."""
    for contender in contenders:
        prepare(contender, size)
    patient = list(contenders)
    for number in range(rounds):
        install.say(f"{size:,} skills, round {number + 1} of {rounds}")
        # Whoever comes after a heavy one must not be the same each time.
        shift = number * len(patient) // rounds
        for contender in patient[shift:] + patient[:shift]:
            took = once(figures, size, contender)
            if took > PATIENCE_MS:
                patient.remove(contender)


def prepare(contender, size):
    """Makes sure that `rep` really lists the library."""
    if contender.name == REP_LIST_JSON:
        listed = len(json.loads(run(contender, size).output)["skills"])
        expect(contender, size, listed)


def once(figures, size, contender):
    with install.lent(size) if contender.kind == RELOAD else contextlib.nullcontext():
        outcome = run(contender, size, keep_output=contender.kind != WHOLE)
    if contender.kind == WHOLE:
        figures.add(size, contender, "process", [outcome.wall_ms], [outcome.cpu_ms], outcome.peak_mb)
        return outcome.wall_ms
    for line in outcome.output.splitlines():
        record = json.loads(line)
        if "gauge" in record:
            if record["gauge"] == "skills":
                expect(contender, size, record["value"])
            figures.gauges.setdefault((size, contender.name, record["gauge"]), []).append(record["value"])
            continue
        if "skills" in record:
            expect(contender, size, record["skills"])
        figures.add(size, contender, record["operation"], record["wall_ms"], record["cpu_ms"], outcome.peak_mb)
    return outcome.wall_ms


def expect(contender, size, listed):
    # Of real skills some have the same name, and peers understand fewer than all.
    if listed != size and not install.is_corpus(size):
        raise MeasureError(f"{contender.name} listed {listed} of {size} skills")


@dataclass
class Outcome:
    """What one process took and wrote."""

    wall_ms: float
    cpu_ms: float
    peak_mb: float
    output: bytes


def run(contender, size, keep_output=True):
    """Runs a contender to its end, in a project of the size and with an empty home."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(install.home()),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "DO_NOT_TRACK": "1",
        "REPERTOIRE_CACHE_DIR": str(install.WORK / "cache"),
        "REPERTOIRE_STATE_DIR": str(install.WORK / "state"),
        **contender.environment,
    }
    os.chdir(install.project(size))
    with tempfile.TemporaryFile() as kept, open(os.devnull, "wb") as devnull, tempfile.TemporaryFile() as errors:
        output = kept if keep_output else devnull
        actions = [(os.POSIX_SPAWN_DUP2, output.fileno(), 1), (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)]
        start = time.perf_counter()
        pid = os.posix_spawnp(contender.command[0], contender.command, environment, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        wall_ms = (time.perf_counter() - start) * 1e3
        if status != 0:
            errors.seek(0)
            reason = errors.read().decode(errors="replace").strip()[-500:]
            raise MeasureError(f"{contender.name} failed with status {os.waitstatus_to_exitcode(status)}: {reason}")
        kept.seek(0)
        cpu_ms = (usage.ru_utime + usage.ru_stime) * 1e3
        return Outcome(wall_ms, cpu_ms, usage.ru_maxrss / 1024, kept.read())
