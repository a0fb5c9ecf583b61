"""Prints a run as Markdown and keeps it in results.jsonl."""

import datetime
import json
import os
import subprocess

from harness import contenders as who
from harness.install import REPOSITORY, WORK


TIMES = ("min ms", "median ms", "cpu ms")
RATIOS = ("ratio", "of medians", "of cpu")


def circumstances(installed):
    """Returns what the figures depend on."""
    return {
        "at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain") else ""),
        "cores": who.cores(),
        "processor": processor(),
        "load_before": [round(load, 2) for load in os.getloadavg()],
        "versions": installed.versions,
        "missing": installed.missing,
    }


def git(*arguments):
    command = ["git", "-C", str(REPOSITORY), *arguments]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    except OSError:
        return "unknown"


def print_circumstances(about):
    # Some programs name themselves in their version.
    versions = (text if name in text.lower() else f"{name} {text}" for name, text in about["versions"].items())
    print(f"{about['at']}, commit {about['commit']}, {about['cores']} cores ({about['processor']})")
    print(f"load average {about['load_before']} before, {about['load_after']} after")
    print(", ".join(versions))
    for name in about["missing"]:
        print(f"not installed, not compared: {name}")


def print_report(about, figures, rows):
    print_circumstances(about)
    for size in sorted({figure.size for figure in figures.all.values()}):
        print_inside(figures, size)
        print_whole(figures, size)
        print_sessions(figures, size)
        print_reloads(figures, size)
    print_targets(rows)


def print_inside(figures, size):
    table = []
    for figure in of_size(figures, size, who.INSIDE):
        base = "catalog" if figure.operation == "catalog" else "index"
        bare = figures.inside(size, who.BARE, base, figure.threads)
        if figure.operation != "import" and bare:
            operation = f"{figure.name}, {figure.operation}"
            table.append((operation, figure.threads, *times(figure), *ratios(figure, bare)))
    title = f"In process, {size:,} skills; ratios to the bare walk and read (or bare rendering) on as many threads"
    print_table(title, ("contender", "threads", *TIMES, *RATIOS), table)


def print_whole(figures, size):
    bare = figures.whole(size, who.BARE)
    table = [
        (figure.name, *times(figure), f"{figure.peak_mb:.0f}", *ratios(figure, bare))
        for figure in of_size(figures, size, who.WHOLE)
    ]
    title = f"Whole process, {size:,} skills; ratios to the bare walk and read as a process"
    print_table(title, ("command", *TIMES, "peak MB", *RATIOS), table)


def print_sessions(figures, size):
    table = []
    fastest = figures.session(size, who.REP_LIBRARY, who.LOAD)
    for figure in of_size(figures, size, who.SESSION):
        operation, percentile = figure.operation.rsplit(" ", 1)
        if percentile == "p50":
            p99 = figures.session(size, figure.name, operation, 99)
            cells = (f"{ms * 1e3:.1f}" for ms in (figure.min, figure.median, p99.median, figure.cpu))
            is_compared = fastest and operation == who.LOAD
            table.append((figure.name, operation, *cells, f"{figure.min / fastest.min:.1f}" if is_compared else "-"))
    title = f"Single calls, {size:,} skills; ratios to the library's own `load_skill`"
    header = ("contender", "call", "min p50 us", "median p50 us", "median p99 us", "cpu us", "ratio")
    print_table(title, header, table)


def print_reloads(figures, size):
    names = list(dict.fromkeys(figure.name for figure in of_size(figures, size, who.RELOAD)))
    table = []
    operations = (who.VISIBLE, who.ONE_CHANGE, who.FIXED_WORK, who.ASKED)
    for name in names:
        cells = []
        for operation in operations:
            for percent in (50, 99):
                figure = figures.reload(size, name, operation, percent)
                cells.append(f"{figure.min:.1f}" if figure else "-")
        asked = figures.reload(size, name, who.ASKED, 50) or figures.reload(size, name, who.VISIBLE, 50)
        cells.append(f"{asked.cpu:.1f}")
        for gauge, digits in ((who.IDLE, 3), ("descriptors", 0), ("watches", 0), ("resident MB", 0)):
            value = figures.gauge(size, name, gauge)
            cells.append("-" if value is None else f"{value:.{digits}f}")
        table.append((name, *cells))
    percentiles = tuple(f"{operation} p{percent} ms" for operation in operations for percent in (50, 99))
    header = ("contender", *percentiles, "cpu ms", "idle cpu %", "descriptors", "watches", "resident MB")
    print_table(f"Following, {size:,} skills; the best of all rounds", header, table)
    print_kinds(figures, size, names)


def print_kinds(figures, size, names):
    table = []
    for name in names:
        kinds = [(kind, percent) for kind in who.KINDS for percent in (50, 99)]
        found = [figures.reload(size, name, f"{who.ONE_CHANGE}, {kind}", percent) for kind, percent in kinds]
        if any(found):
            table.append((name, *(f"{figure.min:.1f}" if figure else "-" for figure in found)))
    header = ("contender", *(f"{kind} p{percent} ms" for kind in who.KINDS for percent in (50, 99)))
    if table:
        print_table(f"One change of each kind, {size:,} skills; the best of all rounds", header, table)


def print_targets(rows):
    table = [
        (
            row.promise,
            row.measured,
            f"{row.ratio:.2f}",
            f"{row.median_ratio:.2f}",
            f"{'>=' if row.at_least else '<='} {row.limit:g}",
            "pass" if row.passed else "MISSED",
        )
        for row in rows
    ]
    print_table("Targets", ("target", "measured", "ratio", "of medians", "wanted", ""), table)


def of_size(figures, size, kind):
    chosen = [figure for figure in figures.all.values() if figure.size == size and figure.kind == kind]
    return sorted(chosen, key=lambda figure: (figure.operation == "catalog", figure.threads, figure.min))


def times(figure):
    return f"{figure.min:.2f}", f"{figure.median:.2f}", f"{figure.cpu:.2f}"


def ratios(figure, base):
    return f"{figure.min / base.min:.2f}", f"{figure.median / base.median:.2f}", f"{figure.cpu / base.cpu:.2f}"


def print_table(title, header, rows):
    if not rows:
        return
    rows = [tuple(str(cell) for cell in row) for row in rows]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    print(f"\n{title}\n")
    for row in [header, tuple("-" * width for width in widths), *rows]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")


def keep(about, figures, rows):
    """Appends the run to results.jsonl: its circumstances, its figures, its targets."""
    records = [{"run": about["at"], **about}]
    records += [{"run": about["at"], **figure.record()} for figure in figures.all.values()]
    records += [
        {"run": about["at"], "size": size, "contender": name, "gauge": gauge, "values": values}
        for (size, name, gauge), values in figures.gauges.items()
    ]
    records += [
        {
            "run": about["at"],
            "target": row.promise,
            "measured": row.measured,
            "ratio": round(row.ratio, 4),
            "limit": row.limit,
            "passed": row.passed,
        }
        for row in rows
    ]
    with open(WORK / "results.jsonl", "a", encoding="utf-8") as results:
        for record in records:
            results.write(json.dumps(record) + "\n")


