"""A server of one PostgreSQL database with the requests of a team, before and while the database is stopped."""

import json
import shutil
import subprocess
import time

from generate import generate
from harness import install
from harness.measure import MeasureError
from harness.report import print_table
from harness.scale import PEOPLE, SCOPES, WARM_UP_SECONDS, make_plan, none, run
from harness.servers import Postgres, Replica, environment
from harness.targets import Row

CONNECTIONS = 32
# The load runs for as long before the database is stopped, so that requests are under way.
RUNNING_SECONDS = 1
P99_MS = 500


def measure(rep, load, options):
    """Runs the test, prints a table and returns the rows of targets."""
    directory = install.WORK / "team" / "stop"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    install.say(f"library of {options.skills:,} skills")
    library = install.library(options.skills)
    generate(options.skills, library)
    with Postgres(directory / "postgres", "-c fsync=off") as postgres:
        shell = environment(directory, postgres.url())
        run(rep, shell, directory, ["publish", str(library), "--to", postgres.url()])
        names = [entry["name"] for entry in json.loads(run(rep, shell, directory, ["team", "channel", "show", "--json"]))["skills"]]
        install.say(f"{PEOPLE} tokens in {SCOPES} scopes")
        plan = make_plan(rep, shell, directory, names, options)
        plan["publications"] = []
        replica = Replica(rep, directory / "server", postgres.url(), arguments=["--channel", "stable", "--require-token"])
        try:
            replica.start()
            plan["servers"] = [f"127.0.0.1:{replica.port}"]
            (directory / "plan.json").write_text(json.dumps(plan))
            install.say(f"{options.rate:,} requests per second for {options.seconds} s, and again with PostgreSQL stopped")
            before = finish(start(load, directory, options, WARM_UP_SECONDS))
            loading = start(load, directory, options, 0)
            time.sleep(RUNNING_SECONDS)
            with postgres.stopped():
                stopped = finish(loading)
                is_ready = replica.is_ready()
        finally:
            if replica.process:
                replica.process.kill()
                replica.process.wait()
    return report(before, stopped, is_ready, options)


def start(load, directory, options, warm_up):
    command = [load, directory / "plan.json", str(options.seconds), str(options.rate), str(CONNECTIONS), str(warm_up)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(loading):
    """Returns the figures of a run by kind of request, and its totals."""
    output, _ = loading.communicate()
    if loading.returncode != 0:
        raise MeasureError("team-load failed")
    *kinds, total = map(json.loads, output.splitlines())
    return {kind["kind"]: kind for kind in kinds}, total


def report(before, stopped, is_ready, options):
    (running, _), (silent, total) = before, stopped
    table = [
        (name, f"{silent[name]['count']:,}", *(f"{kinds[name][at]:.1f}" for at in ("p50", "p99", "max") for kinds in (running, silent)))
        for name in silent
        if name in running
    ]
    print_table(f"{options.skills:,} skills, {options.rate:,} requests per second, ms; PostgreSQL runs, and is stopped",
                ("request", "count", "p50", "stopped", "p99", "stopped", "max", "stopped"), table)
    p50, p99, running_p99 = silent["all"]["p50"], silent["all"]["p99"], running["all"]["p99"]
    print(f"with PostgreSQL stopped p50 {p50:.1f} ms, p99 {p99:.1f} ms: {p99 / running_p99:.2f} times that of before")
    return [
        Row(f"p99 within {P99_MS} ms while PostgreSQL is stopped", f"{p99:.1f} ms / {P99_MS} ms", p99 / P99_MS, p99 / P99_MS, 1.0),
        none("no error while PostgreSQL is stopped", total["errors"]),
        none("not ready while PostgreSQL is stopped", int(not is_ready)),
    ]
