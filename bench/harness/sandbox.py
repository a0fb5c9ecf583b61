"""What starting a command costs: plainly, and in each sandbox that works here. All of it in one program, in turns."""

import json
import statistics
import subprocess

from harness import install, report
from harness.targets import Row

ROUNDS = 200
PLAIN = "plain"
# How many milliseconds each may take over a plain start.
PROMISES = {"landlock": 8.0, "bubblewrap": 40.0}


def measure(installed):
    """Returns the samples of everyone, in milliseconds."""
    install.say(f"starting commands, {ROUNDS} rounds")
    command = [str(installed.programs["rep-sandbox"]), str(installed.programs["rep"]), str(ROUNDS)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise install.InstallError(f"rep-sandbox failed: {done.stderr.strip()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    installed.missing += [f"the sandbox {line['missing']}" for line in lines if "missing" in line]
    return {line["operation"]: line["wall_ms"] for line in lines if "operation" in line}


def targets(samples):
    """Returns a row for every promise about a sandbox that works here."""
    plain = samples[PLAIN]
    for name, limit in PROMISES.items():
        if name in samples:
            over, over_median = (pick(samples[name]) - pick(plain) for pick in (min, statistics.median))
            promise = f"a command starts in {name} within {limit:.0f} ms over a plain spawn"
            measured = f"{over:.1f} ms / {limit:.0f} ms"
            yield Row(promise, measured, over / limit, over_median / limit, 1.0)


def print_report(samples):
    plain = samples[PLAIN]
    table = []
    for name, wall in sorted(samples.items(), key=lambda item: min(item[1])):
        p99 = sorted(wall)[int(len(wall) * 0.99)]
        median = statistics.median(wall)
        over = (f"{min(wall) - min(plain):.2f}", f"{median - statistics.median(plain):.2f}")
        table.append((name, f"{min(wall):.2f}", f"{median:.2f}", f"{p99:.2f}", *over, f"{median / statistics.median(plain):.1f}"))
    header = ("sandbox", "min ms", "median ms", "p99 ms", "over plain, min", "over plain, median", "ratio of medians")
    report.print_table(f"Starting a command that does nothing, {len(plain)} times each; ratios to a plain spawn", header, table)


def keep(about, samples, rows):
    with open(install.WORK / "results.jsonl", "a", encoding="utf-8") as results:
        for record in (
            {"run": about},
            *({"sandbox": name, "wall_ms": wall} for name, wall in samples.items()),
            *({"target": row.promise, "ratio": round(row.ratio, 3), "passed": row.passed} for row in rows),
        ):
            results.write(json.dumps(record) + "\n")
