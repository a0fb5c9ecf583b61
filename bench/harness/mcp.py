"""MCP servers side by side, over pipes and over HTTP, and how soon `rep serve` answers with a large library.

Whoever wrote the server, the same program calls it: `peers/mcp-load`.
"""

import json
import os
import re
import socket
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from generate import generate
from harness import install
from harness.measure import MeasureError
from harness.report import print_table
from harness.targets import Row

SIZE, LARGE = 1_000, 10_000
ROUNDS = 3
CALLS, CONNECTIONS, SECONDS = 1_000, 64, 5
START_SECONDS = 120

PYTHON_PEERS = {"fastmcp": "4.1.2", "skillport-mcp": "1.1.2"}
FASTMCP_SERVER = install.BENCH / "peers" / "fastmcp_server.py"

REP, REP_READS = "rep serve", "rep serve, resources/read"
STDIO = ("first answer ms", "first skill ms", "call p50 ms", "call p99 ms", "resident MB", "anonymous MB")
HTTP = ("requests per second", "request p50 ms", "request p99 ms", "resident MB over HTTP")


@dataclass(frozen=True)
class Server:
    """How a server is started over pipes and on a port, and how it is asked for a skill."""

    name: str
    stdio: tuple
    http: tuple
    method: str
    params: dict
    # Python takes its time.
    calls: int = CALLS


def install_all(with_peers):
    """Returns what is installed: `rep`, the program that calls, and those peers that serve MCP."""
    install.WORK.mkdir(exist_ok=True)
    for size in (SIZE, LARGE):
        install.say(f"library of {size:,} skills")
        generate(size, install.library(size))
        install.project(size)
    installed = install.Installed()
    install.build_rep(installed)
    install.build_programs(installed, ["mcp-load"])
    if with_peers:
        for name, version in PYTHON_PEERS.items():
            install.attempt(installed, name, version, install.install_python_peer)
    return installed


def servers(installed):
    """Returns everyone who is compared."""
    library = str(install.library(SIZE))
    load = {"name": "load_skill", "arguments": {"name": "NAME"}}
    read = {"uri": "skill://NAME/SKILL.md"}
    yield rep(installed, SIZE, load)
    one = rep(installed, SIZE, load)
    yield Server(REP_READS, one.stdio, one.http, "resources/read", read)
    if python := installed.pythons.get("fastmcp"):
        command = (str(python), str(FASTMCP_SERVER), library)
        yield Server("fastmcp", (*command, "stdio"), (*command, "PORT"), "resources/read", read, calls=100)
    if python := installed.pythons.get("skillport-mcp"):
        database = str(install.WORK / "skillport.lance")
        command = (str(python.parent / "skillport-mcp"), "--skills-dir", library, "--db-path", database)
        by_id = {"name": "load_skill", "arguments": {"skill_id": "NAME"}}
        yield Server("skillport-mcp", command, (*command, "--http", "--port", "PORT"), "tools/call", by_id, calls=100)


def rep(installed, size, params):
    program, library = str(installed.programs["rep"]), str(install.library(size))
    http = (program, "serve", "--http", "127.0.0.1:PORT", "--root", library)
    return Server(REP, (program, "serve", "--stdio", "--root", library), http, "tools/call", params)


class Figures:
    """What was measured: all values by size, server and gauge."""

    def __init__(self):
        self.values = {}

    def add(self, size, server, gauge, value):
        self.values.setdefault((size, server.name, gauge), []).append(value)

    def best(self, size, name, gauge):
        values = self.values.get((size, name, gauge))
        return values and (max(values) if gauge == "requests per second" else min(values))

    def median(self, size, name, gauge):
        values = self.values.get((size, name, gauge))
        return values and statistics.median(values)


def measure(installed):
    """Runs everyone in turns."""
    figures = Figures()
    everyone = list(servers(installed))
    large = rep(installed, LARGE, {"name": "load_skill", "arguments": {"name": "NAME"}})
    for server, size in [(server, SIZE) for server in everyone] + [(large, LARGE)]:
        # Caches and indexes are filled before anything counts.
        over_pipes(Figures(), installed, size, server, calls=1)
    for number in range(ROUNDS):
        install.say(f"MCP servers, round {number + 1} of {ROUNDS}")
        for server in everyone[number:] + everyone[:number]:
            over_pipes(figures, installed, SIZE, server, server.calls)
            over_http(figures, installed, SIZE, server)
        over_pipes(figures, installed, LARGE, large, CALLS)
    return figures


def over_pipes(figures, installed, size, server, calls):
    arguments = ["stdio", str(install.library(size)), str(calls), server.method, json.dumps(server.params)]
    for gauge, value in load(installed, size, server, [*arguments, *server.stdio]):
        figures.add(size, server, gauge, value)


def over_http(figures, installed, size, server):
    port = free_port()
    command = [part.replace("PORT", str(port)) for part in server.http]
    place = {"cwd": install.project(size), "env": environment()}
    output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    child = subprocess.Popen(command, **place, **output)
    try:
        wait_for(child, port, server)
        url = f"http://127.0.0.1:{port}/mcp"
        arguments = ["http", str(install.library(size)), url, str(CONNECTIONS), str(SECONDS), server.method]
        for gauge, value in load(installed, size, server, [*arguments, json.dumps(server.params)]):
            figures.add(size, server, gauge, value)
        figures.add(size, server, "resident MB over HTTP", resident_mb(child.pid))
    finally:
        child.kill()
        child.wait()


def load(installed, size, server, arguments):
    command = [str(installed.programs["mcp-load"]), *arguments]
    done = subprocess.run(command, cwd=install.project(size), env=environment(), capture_output=True, text=True)
    if done.returncode != 0:
        raise MeasureError(f"{server.name} failed: {done.stderr.strip()[-500:]}")
    records = map(json.loads, done.stdout.splitlines())
    return [(record["gauge"], record["value"]) for record in records]


def environment():
    """Returns the variables that everyone gets, with an empty home."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(install.home()),
        "LANG": "C.UTF-8",
        "REPERTOIRE_CACHE_DIR": str(install.WORK / "cache"),
        "REPERTOIRE_STATE_DIR": str(install.WORK / "state"),
    }


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(child, port, server):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and child.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise MeasureError(f"{server.name} does not listen")


def resident_mb(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def targets(figures):
    """Returns a row for every promise about MCP."""
    start = figures.best(LARGE, REP, "first answer ms")
    median = figures.median(LARGE, REP, "first answer ms")
    yield Row("`rep serve` of 10,000 answers within 150 ms", f"{start:.1f} ms / 150 ms", start / 150, median / 150, 1.0)
    anonymous = figures.median(SIZE, REP, "anonymous MB")
    promise = "private memory of `rep serve` after loading and searching 1,000 skills within 40 MB"
    yield Row(promise, f"{anonymous:.1f} MB / 40 MB", anonymous / 40, anonymous / 40, 1.0)
    gauge = "requests per second"
    peers = [name for name in PYTHON_PEERS if figures.best(SIZE, name, gauge)]
    if not peers:
        return
    fastest = max(peers, key=lambda name: figures.best(SIZE, name, gauge))
    own, other = figures.best(SIZE, REP, gauge), figures.best(SIZE, fastest, gauge)
    ratio_of_medians = figures.median(SIZE, REP, gauge) / figures.median(SIZE, fastest, gauge)
    promise = f"`load_skill` over HTTP at least 20 x as often as the best Python peer ({fastest})"
    yield Row(promise, f"{own:,.0f}/s / {other:,.0f}/s", own / other, ratio_of_medians, 20.0, at_least=True)


def print_report(figures):
    for title, gauges, size in (
        (f"Over pipes, {SIZE:,} skills", STDIO, SIZE),
        (f"Over HTTP, {SIZE:,} skills, {CONNECTIONS} connections", HTTP, SIZE),
        (f"Over pipes, {LARGE:,} skills", STDIO, LARGE),
    ):
        names = dict.fromkeys(name for of_size, name, _ in figures.values if of_size == size)
        table = [(name, *(cell(figures, size, name, gauge) for gauge in gauges)) for name in names]
        print_table(f"{title}; the best of {ROUNDS} rounds", ("server", *gauges), table)


def cell(figures, size, name, gauge):
    value = figures.best(size, name, gauge)
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def keep(about, figures, rows):
    """Appends the run to results.jsonl."""
    records = [{"run": about["at"], **about}]
    for (size, name, gauge), values in figures.values.items():
        records.append({"run": about["at"], "size": size, "server": name, "gauge": gauge, "values": values})
    for row in rows:
        records.append({"run": about["at"], "target": row.promise, "measured": row.measured, "passed": row.passed})
    with open(install.WORK / "results.jsonl", "a", encoding="utf-8") as results:
        for record in records:
            results.write(json.dumps(record) + "\n")
