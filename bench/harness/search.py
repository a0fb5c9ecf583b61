"""Finding skills beside tantivy, FTS5 and a sentence encoder, and with 100,000 of them.

Whoever the engine is, the same program asks it: `peers/rep-search`. Neither pool nor queries are in the repository.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

from generate import generate
from harness import install
from harness.measure import MeasureError
from harness.report import print_table

MANY, LIBRARY = 100_000, 10_000
# FTS5 takes a tenth of a second for a query among so many.
EVERY_OF_MANY = 20
ENCODER = install.BENCH / "peers" / "python_encoder_peer.py"
ENGINES = ("ranker", "hit1", "r5", "r10", "ndcg10", "p50_us", "p99_us", "index_s", "p50_ratio", "index_ratio")
HEADS = ("ranker", "hit@1", "r@5", "r@10", "ndcg@10", "p50 us", "p99 us", "index s", "p50 x", "index x")


def given(options):
    """Returns the pool and the queries, or says which is missing."""
    missing = []
    for name, variable in (("pool", "BENCH_POOL"), ("queries", "BENCH_QUERIES")):
        if not (getattr(options, name) or os.environ.get(variable)):
            missing.append(f"--{name} (or {variable})")
    if missing:
        raise install.InstallError(
            f"search cannot be measured without {' and '.join(missing)}: a directory that holds skills/, and lines of "
            '{"query": TEXT, "gold": [PATH, ...]}; neither is part of the repository'
        )
    pool = Path(options.pool or os.environ["BENCH_POOL"])
    queries = Path(options.queries or os.environ["BENCH_QUERIES"])
    for path in (pool, queries):
        if not path.exists():
            raise install.InstallError(f"there is no {path}")
    return pool.resolve(), queries.resolve()


def install_all():
    """Returns what is installed: the program that asks."""
    install.WORK.mkdir(exist_ok=True)
    install.say(f"library of {LIBRARY:,} skills")
    generate(LIBRARY, install.library(LIBRARY))
    installed = install.Installed()
    install.build_programs(installed, ["rep-search"])
    installed.versions["rustc"] = install.output_of(["rustc", "--version"])
    return installed


def encoder(options):
    """Returns the command of the sentence encoder; the program says so where it cannot be started."""
    python = options.encoder or os.environ.get("BENCH_ENCODER") or sys.executable
    return f"{python} {ENCODER} --tokens {options.tokens}"


def measure(installed, options):
    """Returns what was printed: lines of the engines with the pool and with many skills, and of the product alone."""
    pool, queries = given(options)
    program = str(installed.programs["rep-search"])
    among = ["--pool", str(pool), "--queries", str(queries)]
    figures = {}
    install.say("engines, the pool")
    figures["engines"] = lines([program, "compare", *among, "--json", "--encoder", encoder(options)])
    times = math.ceil(MANY / figures["engines"][0]["documents"])
    install.say(f"engines, the pool {times} times over")
    many = ["--times", str(times), "--every", str(EVERY_OF_MANY)]
    figures["many engines"] = lines([program, "compare", *among, *many, "--json"])
    index = str(install.WORK / "search.index")
    for size, count in (("pool", 1), ("many", times)):
        install.say(f"memory, file and one change, the pool {count} times over")
        (figures[size],) = lines([program, "scale", *among, "--times", str(count), "--file", index])
        (figures[f"{size} read"],) = lines([program, "load", "--queries", str(queries), "--file", index])
    os.unlink(index)
    install.say(f"one change of {LIBRARY:,} skills on disk")
    with install.lent(LIBRARY):
        (figures["library"],) = lines([program, "library", str(install.library(LIBRARY))])
    return figures


def lines(command):
    """Runs the command on one core and returns the objects that it prints."""
    core = min(os.sched_getaffinity(0))
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    if run.returncode != 0:
        raise MeasureError(f"`{' '.join(command[:2])}` failed")
    return [json.loads(line) for line in run.stdout.splitlines()]


def print_report(figures):
    for name in ("engines", "many engines"):
        first = figures[name][0]
        table = [tuple(cell(line[key]) for key in ENGINES) for line in figures[name]]
        title = f"Finding skills, {first['documents']:,} of them, {first['queries']:,} queries, one core; x: to the first row"
        print_table(title, HEADS, table)
    keys = [key for key in figures["many"] if key not in ("task", "documents", "queries")]
    table = [(key, *(cell(figures[size][key]) for size in ("pool", "many"))) for key in keys]
    keys = ("load_s", "load_peak_mb", "search_peak_mb")
    table += [(f"fresh process, {key}", *(cell(figures[f"{size} read"][key]) for size in ("pool", "many"))) for key in keys]
    header = ("the product", *(f"{figures[size]['documents']:,} skills" for size in ("pool", "many")))
    print_table("The product alone, one core", header, table)
    library = figures["library"]
    table = [(key, cell(value)) for key, value in library.items() if key != "task"]
    print_table("One change of a library on disk", ("what", "measured"), table)


def cell(value):
    if not isinstance(value, float):
        return value
    return f"{value:.3f}" if value < 10 else f"{value:,.0f}"


def keep(about, figures, rows):
    """Appends the run to results.jsonl."""
    run = {"run": about["at"]}
    records = [{**run, **about}]
    for name, value in figures.items():
        for line in value if isinstance(value, list) else [value]:
            records.append({**run, "search": name, **line})
    records += [{**run, "target": row.promise, "measured": row.measured, "passed": row.passed} for row in rows]
    with open(install.WORK / "results.jsonl", "a", encoding="utf-8") as results:
        for record in records:
            results.write(json.dumps(record) + "\n")
