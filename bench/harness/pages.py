"""The pages of `rep serve --http` with 10,000 skills: time of the server, weight, and requests per second beside a static file."""

import http.client
import json
import re
import shutil
import statistics
import subprocess
import time

from generate import ACTIONS, SUBJECTS, generate
from harness import install
from harness.measure import MeasureError
from harness.report import print_table
from harness.servers import Replica, free_port
from harness.targets import Row

SIZE = 10_000
REQUESTS, ROUNDS = 200, 3
WRK_SECONDS, WRK_CONNECTIONS = 5, 8
FIRST_PAGE_MS, SEARCH_P99_MS, WEIGHT_KB = 50, 30, 150


def measure(rep):
    """Measures the pages, prints tables and returns the rows of targets."""
    if not shutil.which("wrk") or not shutil.which("nginx"):
        raise MeasureError("wrk and nginx are not installed (apt-get install wrk nginx-light)")
    install.say(f"library of {SIZE:,} skills")
    generate(SIZE, install.library(SIZE))
    directory = install.WORK / "team" / "pages"
    shutil.rmtree(directory, ignore_errors=True)
    server = Replica(rep, directory, "", arguments=["--root", str(install.library(SIZE))])
    install.say("pages")
    started = server.start()
    try:
        cold = one(server.port, "/")
        weight = page_weight(server.port)
        first = [times(server.port, lambda _: "/") for _ in range(ROUNDS)]
        searches = typed_searches()
        search_page = [times(server.port, lambda number: f"/skills?q={searches[number % len(searches)]}") for _ in range(ROUNDS)]
        search_api = [times(server.port, lambda number: f"/api/v1/search?q={searches[number % len(searches)]}") for _ in range(ROUNDS)]
        html = fetch(server.port, "/")
        rates = side_by_side(server.port, html, directory)
        memory, _ = server.memory_mb()
    finally:
        server.stop()
    table = [
        ("first page, first request", f"{cold:.1f}", "", ""),
        *(
            (name, "", f"{best(rounds, 50):.2f}", f"{best(rounds, 99):.2f}")
            for name, rounds in (("first page", first), ("search page", search_page), ("search api", search_api))
        ),
    ]
    print_table(f"Pages, {SIZE:,} skills, ms as a client on the same machine sees them; the best of {ROUNDS} rounds of {REQUESTS}",
                ("request", "once", "p50", "p99"), table)
    print_table(f"wrk, {WRK_CONNECTIONS} connections, {WRK_SECONDS} s, {len(html):,} bytes",
                ("server", "requests/s", "p50 ms", "p99 ms"), rates)
    print(f"ready after {started:.2f} s, {memory:.0f} MB resident; weight of the first page: {json.dumps(weight)}")
    kilobytes = sum(weight.values()) / 1000
    p99 = max(best(search_page, 99), best(search_api, 99))
    medians = max(statistics.median(percentile(one, 99) for one in rounds) for rounds in (search_page, search_api))
    first_ms = best(first, 50)
    return [
        limit(f"first page of {SIZE:,} skills within {FIRST_PAGE_MS} ms", first_ms, FIRST_PAGE_MS, "ms",
              statistics.median(percentile(one, 50) for one in first)),
        limit(f"first page of {SIZE:,} skills within {FIRST_PAGE_MS} ms, the very first request", cold, FIRST_PAGE_MS, "ms", cold),
        limit(f"search as you type, p99 within {SEARCH_P99_MS} ms", p99, SEARCH_P99_MS, "ms", medians),
        limit(f"first page with style and scripts within {WEIGHT_KB} KB", kilobytes, WEIGHT_KB, "KB", kilobytes),
    ]


def limit(promise, value, most, unit, median):
    return Row(promise, f"{value:.1f} {unit} / {most} {unit}", value / most, median / most, 1.0)


def typed_searches():
    """Returns what a search field sends while somebody types: words that grow by a letter."""
    phrases = [f"{action} {subject}" for action, subject in zip(ACTIONS, SUBJECTS[7:], strict=False)]
    return [phrase[:length].replace(" ", "+") for phrase in phrases[:20] for length in range(2, len(phrase) + 1)]


def fetch(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise MeasureError(f"GET {path}: {response.status} {body[:200]}")
    return body


def one(port, path):
    begin = time.perf_counter()
    fetch(port, path)
    return (time.perf_counter() - begin) * 1e3


def times(port, path_of):
    """Returns the milliseconds of requests on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.connect()
    taken = []
    for number in range(REQUESTS):
        path = path_of(number)
        begin = time.perf_counter()
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        taken.append((time.perf_counter() - begin) * 1e3)
        if response.status != 200:
            raise MeasureError(f"GET {path}: {response.status}")
    return taken


def percentile(values, percent):
    return sorted(values)[(len(values) - 1) * percent // 100]


def best(rounds, percent):
    return min(percentile(values, percent) for values in rounds)


def page_weight(port):
    """Returns the bytes of the first page and of the styles and scripts that it names; icons are pictures."""
    html = fetch(port, "/")
    names = set(re.findall(r'(?:src|href)="(/assets/[^"]+\.(?:js|css)[^"]*)"', html.decode()))
    return {"/": len(html)} | {name: len(fetch(port, name)) for name in sorted(names)}


def side_by_side(port, html, directory):
    """Runs wrk against the page and against a file of the same size that nginx serves, in turns."""
    files, static = directory / "static", free_port()
    files.mkdir(parents=True)
    files.chmod(0o755)
    (files / "page.html").write_bytes(html)
    configuration = directory / "nginx.conf"
    configuration.write_text(
        f"pid {directory}/nginx.pid; error_log {directory}/nginx.log; worker_processes 1; events {{}}\n"
        f"http {{ access_log off; server {{ listen 127.0.0.1:{static}; root {files}; }} }}\n"
    )
    nginx = subprocess.Popen(["nginx", "-e", directory / "nginx.log", "-c", configuration, "-g", "daemon off; user root;"])
    try:
        wait(static)
        rates = {"static file, nginx": [], "first page, rep": []}
        for _ in range(ROUNDS):
            rates["static file, nginx"].append(wrk(f"http://127.0.0.1:{static}/page.html"))
            rates["first page, rep"].append(wrk(f"http://127.0.0.1:{port}/"))
    finally:
        nginx.terminate()
        nginx.wait()
    return [(name, *(f"{value:,.2f}" for value in max(values))) for name, values in rates.items()]


def wait(port):
    for _ in range(200):
        try:
            http.client.HTTPConnection("127.0.0.1", port, timeout=1).connect()
            return
        except OSError:
            time.sleep(0.02)
    raise MeasureError("nginx does not listen")


def wrk(url):
    """Returns the requests per second, and the 50th and 99th percentile in milliseconds."""
    command = ["wrk", "-t1", f"-c{WRK_CONNECTIONS}", f"-d{WRK_SECONDS}s", "--latency", url]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise MeasureError(text)
    units = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    shares = {share: float(value) * units[unit] for share, value, unit in re.findall(r"(50|99)%\s+([\d.]+)(us|ms|s)", text)}
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), shares["50"], shares["99"]
