"""Who is measured, and by which command."""

import os
from dataclasses import dataclass, field

from harness import install

PYTHON_PEER = install.BENCH / "peers" / "python_peer.py"
PYTHON_SESSION_PEER = install.BENCH / "peers" / "python_session_peer.py"

PYTHON_RELOAD_PEER = install.BENCH / "peers" / "python_reload_peer.py"
MASTRA_RELOAD_PEER = install.BENCH / "peers" / "mastra_reload_peer.mjs"

INSIDE = "inside"
WHOLE = "whole"
SESSION = "session"
RELOAD = "reload"

BARE = "bare walk and read"
REP = "rep"
REP_LIST_JSON = "rep list --json"
REP_LIST = "rep list"
AGENT_SKILLS = "agent-skills"
REP_LIBRARY = "rep, library"
REP_SESSION = "rep session"
LOAD = "load_skill"
ACKNOWLEDGE = "load_skill again"
REP_WATCH = "rep watch"
REP_ROOMY = "rep, library, room for all"
VISIBLE = "visible"
ONE_CHANGE = "one change"
# The same work every time, done in between: what the machine adds to it, it adds to a change.
FIXED_WORK = "fixed work"
# The kinds of changes, of which the programs tell apart what one takes.
KINDS = ("body", "description", "add", "remove")
ASKED = "asked"
IDLE = "idle cpu %"


# How many skills are watched where nothing is said about it; more are polled.
WATCHED_BY_DEFAULT = 32_000


@dataclass(frozen=True)
class Contender:
    """One command that is started once per round.

    A contender of kind `INSIDE` measures itself and prints samples; one of kind `WHOLE` is measured from the outside,
    from its start to its end; one of kind `SESSION` measures single calls and prints their percentiles; one of kind
    `RELOAD` changes the library, puts it back, and prints percentiles and figures that are no times.
    """

    name: str
    kind: str
    command: tuple
    threads: int
    environment: dict = field(default_factory=dict, compare=False)


def contenders(installed, size, repeat):
    """Returns everyone who is measured on the library of `size` skills.

    `repeat` is how often each operation is measured by a program in Rust each time it is started; peers in Python, a
    hundred times slower, measure it once.
    """
    library = str(install.library(size))
    programs = {name: str(path) for name, path in installed.programs.items()}
    everyone = []

    def inside(name, threads, *command):
        everyone.append(Contender(name, INSIDE, command, threads, environment=rayon(threads)))

    def whole(name, *command, threads=cores()):
        everyone.append(Contender(name, WHOLE, command, threads, rayon(threads)))

    for threads in sorted({1, cores()}):
        inside(BARE, threads, programs["bare"], library, str(repeat))
        inside(REP, threads, programs["rep-index"], library, str(repeat))
        if "peer-agent-skills" in programs:
            inside(AGENT_SKILLS, threads, programs["peer-agent-skills"], library, str(repeat))

    whole(BARE, programs["bare"], library, "1")
    whole(REP_LIST_JSON, programs["rep"], "list", "--json", "--root", library)
    whole(REP_LIST, programs["rep"], "list", "--root", library)
    if "peer-agent-skills" in programs:
        whole(AGENT_SKILLS, programs["peer-agent-skills"], library, "1", threads=1)
    if install.is_corpus(size):
        return everyone
    for name, command in installed.node_commands.items():
        whole(f"{name} list", str(command), "list", threads=1)
    for name, python in installed.pythons.items():
        inside(name, 1, str(python), str(PYTHON_PEER), name, library, "1")
    return everyone


def sessions(installed, size, calls):
    """Returns everyone whose single calls are measured on the library of `size` skills.

    `calls` is how many a program in Rust makes each time it is started; peers in Python say themselves how many.
    """
    library = str(install.library(size))
    program = str(installed.programs["rep-session"])
    everyone = []

    def session(name, *command):
        everyone.append(Contender(name, SESSION, command, 1, environment=rayon(cores())))

    session(REP_LIBRARY, program, "library", library, str(calls))
    session(REP_SESSION, program, "client", str(installed.programs["rep"]), library, str(calls))
    for name, python in installed.pythons.items():
        session(name, str(python), str(PYTHON_SESSION_PEER), name, library)
    return everyone


def reloads(installed, size, changes, idle, with_peers):
    """Returns everyone who follows the library of `size` skills through `changes` changes and `idle` quiet seconds."""
    library = str(install.library(size))
    program = str(installed.programs["rep-reload"])
    everyone = []

    def follow(name, *command):
        everyone.append(Contender(name, RELOAD, command, 1, environment=rayon(cores())))

    follow(REP_LIBRARY, program, "library", library, str(changes), str(idle), "0")
    if size > WATCHED_BY_DEFAULT:
        follow(REP_ROOMY, program, "library", library, str(changes), str(idle), "90000")
    else:
        follow(REP_WATCH, program, "command", str(installed.programs["rep"]), library, str(changes), str(idle))
    if with_peers and "fastmcp" in installed.pythons:
        follow("fastmcp", str(installed.pythons["fastmcp"]), str(PYTHON_RELOAD_PEER), "fastmcp", library)
    if with_peers and installed.mastra:
        follow("mastra", "node", str(MASTRA_RELOAD_PEER), str(installed.mastra), library)
    return everyone


def cores():
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def rayon(threads):
    return {"RAYON_NUM_THREADS": str(threads)}
