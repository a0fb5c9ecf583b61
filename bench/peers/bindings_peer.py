#!/usr/bin/env python3
"""Measures `repertoire` or `pydantic-ai-skills`: bindings_peer.py NAME LIBRARY start|loads, run by the interpreter that has it.

`start` opens a library, asks for the catalog as a model gets it, and loads a skill; `loads` loads every skill, and asks the engine
how long the calls took in it. Prints one JSON object.
"""

import json
import logging
import os
import statistics
import sys
import time
from pathlib import Path

# What every skill of a made-up library says.
PHRASE = "Read [the guide]"


def since(start):
    return (time.perf_counter() - start) * 1e3


def expect(text):
    if PHRASE not in text:
        sys.exit(f"what was loaded is not a skill: {text[:200]!r}")


def memory_mb():
    """Returns the private memory of this process and of those that it started."""
    children = Path("/proc/self/task").glob("*/children")
    total = 0
    for pid in ["self", *(pid for file in children for pid in file.read_text().split())]:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
    return total / 1024


def repertoire(directory, name):
    start = time.perf_counter()
    from repertoire import Library

    imported, start = since(start), time.perf_counter()
    library = Library(directory)
    session = library.session()
    catalog = session.catalog()
    session.tools()
    shown, start = since(start), time.perf_counter()
    reply = session.call("load_skill", {"name": name})
    loaded = since(start)
    expect(reply.text)
    return {"import_ms": imported, "catalog_ms": shown, "load_ms": loaded, "memory_mb": memory_mb()}, catalog


def pydantic_ai_skills(directory, name):
    start = time.perf_counter()
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai_skills import SkillsCapability

    figures = {"import_ms": since(start)}
    shown = []

    # The model sees the catalog in its first request, asks for a skill, and finds it in the second.
    def model(messages, info):
        nonlocal start
        if not shown:
            figures["catalog_ms"] = since(start)
            shown.append(str(info.instructions) + str(messages))
            start = time.perf_counter()
            return ModelResponse(parts=[ToolCallPart("load_capability", {"id": name})])
        figures["load_ms"] = since(start)
        expect(str(messages[-1]))
        return ModelResponse(parts=[TextPart("done")])

    start = time.perf_counter()
    Agent(FunctionModel(model), capabilities=[SkillsCapability(directory)]).run_sync("load a skill")
    return {**figures, "memory_mb": memory_mb()}, shown[0]


def loads(directory, names):
    from repertoire import Library

    with Library(directory) as library, library.session() as session:
        took = []
        # The first call finds the library read.
        session.catalog()
        for name in names:
            start = time.perf_counter()
            reply = session.call("load_skill", {"name": name, "force": True})
            took.append(since(start) * 1e3)
            expect(reply.text)
        events, inside = session.events(), []
        for name in names:
            session.call("load_skill", {"name": name, "force": True})
            inside.append(next(events)["duration"] * 1e6)
    took.sort()
    return {"p50_us": statistics.median(took), "p99_us": took[len(took) * 99 // 100], "engine_us": statistics.median(inside)}


def main(peer, directory, part):
    # Writing log lines is not what is measured.
    logging.disable(logging.CRITICAL)
    names = sorted(os.listdir(directory))
    if part == "loads":
        print(json.dumps(loads(directory, names)))
        return
    function = {"repertoire": repertoire, "pydantic-ai-skills": pydantic_ai_skills}[peer]
    figures, catalog = function(directory, names[len(names) // 2])
    missing = [name for name in names if name not in catalog]
    if missing:
        sys.exit(f"{missing[:3]} are not in the catalog: {catalog[:500]}")
    print(json.dumps(figures))


main(*sys.argv[1:])
