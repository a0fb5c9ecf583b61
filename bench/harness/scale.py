"""Two servers of one PostgreSQL database with the skills and the requests of 300 people, while versions are published."""

import json
import random
import shutil
import subprocess
import threading
import time
from pathlib import Path

from generate import ACTIONS, MANNERS, SUBJECTS, Author, generate
from harness import archives, install
from harness.measure import MeasureError
from harness.report import print_table
from harness.servers import Postgres, Replica, environment
from harness.targets import Row

PEOPLE, SCOPES, CONNECTIONS = 300, 30, 128
PUBLICATIONS_PER_MINUTE = 30
# Latencies do not count for as long: servers build the index of the search, and pack every skill once.
WARM_UP_SECONDS = 60
# Skills that everybody may see.
COMMON = MANNERS[SCOPES]


def measure(rep, load, options):
    """Runs the test, prints tables and returns the rows of targets."""
    directory = install.WORK / "team" / "scale"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    install.say(f"library of {options.skills:,} skills")
    library = install.library(options.skills)
    generate(options.skills, library)
    roots = [library, *([Path(options.corpus)] if options.corpus else [])]
    with Postgres(directory / "postgres") as postgres:
        return under_load(rep, load, options, directory, roots, postgres)


def under_load(rep, load, options, directory, roots, postgres):
    shell = environment(directory, postgres.url())
    install.say("publishing all skills")
    published = time.monotonic()
    # The disk of the machine is not what is measured here.
    postgres.set("fsync", "off")
    run(rep, shell, directory, ["publish", *map(str, roots), "--to", postgres.url()])
    postgres.set("fsync", "on")
    published = time.monotonic() - published
    names = [entry["name"] for entry in json.loads(run(rep, shell, directory, ["team", "channel", "show", "--json"]))["skills"]]
    install.say(f"{PEOPLE} tokens in {SCOPES} scopes")
    plan = make_plan(rep, shell, directory, names, options)
    # No limit per token: one of 300 people sends as much as the run needs.
    replicas = [
        Replica(rep, directory / f"server-{number}", postgres.url(), arguments=["--channel", "stable", "--require-token"])
        for number in (1, 2)
    ]
    try:
        ready = [replica.start() for replica in replicas]
        at_start = [replica.memory_mb()[0] for replica in replicas]
        plan["servers"] = [f"127.0.0.1:{replica.port}" for replica in replicas]
        (directory / "plan.json").write_text(json.dumps(plan))
        install.say(f"{options.rate:,} requests per second for {options.seconds} s")
        command = [load, directory / "plan.json", str(options.seconds), str(options.rate), str(CONNECTIONS), str(WARM_UP_SECONDS)]
        peaks = Peaks(replicas)
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        peaks.stop()
        if done.returncode != 0:
            raise MeasureError("team-load failed")
        busy = [replica.processor_seconds() for replica in replicas]
        lost = [dropped_events(replica, plan["publisher"]) for replica in replicas]
    finally:
        for replica in replicas:
            if replica.process:
                replica.process.kill()
                replica.process.wait()
    *kinds, total = map(json.loads, done.stdout.splitlines())
    table = [(kind["kind"], f"{kind['count']:,}", *(f"{kind[at]:.2f}" for at in ("p50", "p99", "p999", "max"))) for kind in kinds]
    print_table(f"{len(names):,} skills, {PEOPLE} people in {SCOPES} scopes, {options.rate:,} requests per second, ms",
                ("request", "count", "p50", "p99", "p99.9", "max"), table)
    print(f"published all in {published:.1f} s; database {postgres.database_mb():.0f} MB; ready after {ready[0]:.1f} s and {ready[1]:.1f} s")
    print(f"memory {at_start[0]:.0f} and {at_start[1]:.0f} MB at the start, {peaks.most[0]:.0f} and {peaks.most[1]:.0f} MB at most")
    print(f"processor {busy[0]:.0f} and {busy[1]:.0f} s; {total['megabytes']:.0f} MB answered; {total['late']} requests waited for a connection; "
          f"{sum(lost)} events not recorded")
    everything = next(kind for kind in kinds if kind["kind"] == "all")
    print(f"p50 {everything['p50']:.2f} ms, p99 {everything['p99']:.2f} ms")
    rate = total["per_second"]
    return [
        Row(f"{options.rate:,} requests per second answered", f"{rate:,.0f}/s", rate / options.rate, rate / options.rate, 0.99, at_least=True),
        none("no error", total["errors"]),
        none("no name or text of a skill outside the scope of its token", total["leaks"]),
        Row("versions published meanwhile", f"{total['publications']}", total["publications"], total["publications"], 1, at_least=True),
    ]


def none(promise, count):
    return Row(promise, str(count), count, count, 0)


class Peaks:
    """Notes the most memory of servers while they are under load."""

    def __init__(self, replicas):
        self.replicas, self.most = replicas, [0.0] * len(replicas)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while not self.stopped.wait(1):
            for index, replica in enumerate(self.replicas):
                if replica.process.poll() is None:
                    self.most[index] = max(self.most[index], replica.memory_mb()[0])

    def stop(self):
        self.stopped.set()
        self.thread.join()


def run(rep, shell, directory, arguments):
    done = subprocess.run([rep, *arguments], env=shell, cwd=directory, capture_output=True, text=True)
    if done.returncode != 0:
        raise MeasureError(f"rep {' '.join(arguments[:2])} failed: {done.stderr[-1000:]}")
    return done.stdout


def dropped_events(replica, token):
    import urllib.request

    request = urllib.request.Request(f"http://127.0.0.1:{replica.port}/metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as response:
        lines = response.read().decode().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("skill_events_dropped_total"))


def make_plan(rep, shell, directory, names, options):
    """Makes the tokens and the versions to publish, and returns the plan without the servers."""
    # Each scope has the skills of one manner of its own, those of another that it shares with its neighbour, and the common ones.
    scopes = [[f"*-{MANNERS[number]}-*", f"*-{MANNERS[(number + 1) % SCOPES]}-*", f"*-{COMMON}-*"] for number in range(SCOPES)]
    if options.corpus:
        # Real skills by their first letters.
        for number, scope in enumerate(scopes):
            scope.append(f"{chr(ord('a') + number % 26)}*")
    people = []
    for number in range(PEOPLE):
        scope = number % SCOPES
        allow = [part for pattern in scopes[scope] for part in ("--allow", pattern)]
        created = json.loads(run(rep, shell, directory, ["team", "token", "create", "--json", "--name", f"person-{number}", *allow]))
        people.append({"token": created["token"], "scope": scope})
    publisher = json.loads(run(rep, shell, directory, ["team", "token", "create", "--json", "--name", "publisher", "--role", "admin"]))
    count = (options.seconds + 15) * PUBLICATIONS_PER_MINUTE // 60 + 1
    rng = random.Random(20)
    queries = [f"{rng.choice(ACTIONS)} {rng.choice(MANNERS)} {rng.choice(SUBJECTS)}" for _ in range(500)]
    return {
        "skills": names,
        "new_skills": [name for name, _ in new_names(count)],
        "scopes": scopes,
        "people": people,
        "publisher": publisher["token"],
        "publications": list(publications(directory / "archives", names, count)),
        "publications_per_minute": PUBLICATIONS_PER_MINUTE,
        "queries": queries,
    }


def new_names(count):
    """Returns names of skills that are new, and the scopes that have them."""
    for number in range(0, count, 3):
        scope = number % SCOPES
        yield f"publish-{MANNERS[scope]}-novelty-{90_000 + number:05}", scope


def publications(directory, names, count):
    """Writes the archives: two of three are new versions of skills, the third is a new skill."""
    directory.mkdir()
    author, fresh = Author(7), dict(enumerate(new_names(count)))
    by_scope = {scope: [name for name in names if f"-{MANNERS[scope]}-" in name and name[-5:].isdigit()] for scope in range(SCOPES)}
    for number in range(count):
        scope = number % SCOPES
        if number % 3 == 0:
            name, scope = fresh[number // 3]
        else:
            name = by_scope[scope][number % len(by_scope[scope])]
        mark = f"Edition {number} of the run."
        text = author.manifest(name, "publish", MANNERS[scope], "novelty", number) + f"\n{mark}\n"
        file = directory / f"{number}.tar.gz"
        archives.write(file, {"SKILL.md": text})
        yield {"skill": name, "version": f"9.0.{number}", "archive": str(file), "mark": mark, "reader": scope}
