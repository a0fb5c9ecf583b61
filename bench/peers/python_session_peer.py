#!/usr/bin/env python3
"""Measures single loads of a Python peer: python_session_peer.py PEER LIBRARY, run by the interpreter that has it.

Each load is of another skill and goes through what the peer's users go through. Reading the library comes before the
clock starts. Prints percentiles as JSON lines, like the programs in Rust.
"""

import asyncio
import json
import logging
import os
import sys
import time
from pathlib import Path

# How many skills are loaded, and for how long at most.
CALLS = 200
PATIENCE_S = 5.0

# What every skill of a made-up library says.
PHRASE = "Read [the guide]"


class Calls:
    """Keeps what each call took, and says when there were enough."""

    def __init__(self, library):
        names = sorted(os.listdir(library))
        self.names = [names[call * len(names) // CALLS] for call in range(CALLS)]
        self.wall_ms = []
        self.cpu_ms = []
        self.start = None

    def begin(self):
        self.start = (time.perf_counter(), time.process_time())

    def end(self, loaded):
        wall, cpu = self.start
        self.wall_ms.append((time.perf_counter() - wall) * 1e3)
        self.cpu_ms.append((time.process_time() - cpu) * 1e3)
        if PHRASE not in str(loaded):
            sys.exit(f"what was loaded is no skill: {str(loaded)[:200]!r}")

    @property
    def are_enough(self):
        return sum(self.wall_ms) > PATIENCE_S * 1e3 or len(self.wall_ms) == len(self.names)

    @property
    def next(self):
        return self.names[len(self.wall_ms)]

    def print(self):
        cpu = round(sum(self.cpu_ms) / len(self.cpu_ms), 6)
        ordered = sorted(self.wall_ms)
        for percent in (50, 99):
            wall = round(ordered[(len(ordered) - 1) * percent // 100], 6)
            record = {"operation": f"load_skill p{percent}", "calls": len(ordered), "wall_ms": [wall], "cpu_ms": [cpu]}
            print(json.dumps(record))


def skills_ref(library, calls):
    from skills_ref import find_skill_md, read_properties
    from skills_ref.parser import parse_frontmatter

    # It has no loads of its own: whoever wants the body of a skill takes these steps.
    while not calls.are_enough:
        directory = Path(library) / calls.next
        calls.begin()
        read_properties(directory)
        _, body = parse_frontmatter(find_skill_md(directory).read_text(encoding="utf-8"))
        calls.end(body)


def fastmcp(library, calls):
    from fastmcp import Client, FastMCP
    from fastmcp.server.providers.skills import SkillsDirectoryProvider

    async def run():
        server = FastMCP("bench")
        server.add_provider(SkillsDirectoryProvider(library))
        # A client in the same process: there is no transport to wait for.
        async with Client(server) as client:
            while not calls.are_enough:
                uri = f"skill://{calls.next}/SKILL.md"
                calls.begin()
                contents = await client.read_resource(uri)
                calls.end(contents[0].text)

    asyncio.run(run())


def pydantic_ai_skills(library, calls):
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import UsageLimits
    from pydantic_ai_skills import SkillsCapability

    # The model asks for a skill and finds it in its next request, so a load takes from the one to the other.
    def model(messages, _info):
        if calls.start:
            calls.end(messages[-1])
        if calls.are_enough:
            return ModelResponse(parts=[TextPart("done")])
        call = ToolCallPart("load_capability", {"id": calls.next})
        calls.begin()
        return ModelResponse(parts=[call])

    agent = Agent(FunctionModel(model), capabilities=[SkillsCapability(library)])
    agent.run_sync("load skills", usage_limits=UsageLimits(request_limit=None))


PEERS = {"skills-ref": skills_ref, "fastmcp": fastmcp, "pydantic-ai-skills": pydantic_ai_skills}


def main(peer, library):
    # Writing log lines is not what is measured.
    logging.disable(logging.CRITICAL)
    library = os.path.abspath(library)
    calls = Calls(library)
    PEERS[peer](library, calls)
    calls.print()


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in PEERS:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
