#!/usr/bin/env python3
"""Measures how a Python peer sees changes: python_reload_peer.py PEER LIBRARY, run by the interpreter that has it.

It looks at everything again for each request, so what is measured is a change and the request that shows it. What is
changed is put back. Prints percentiles as JSON lines, like the programs in Rust.
"""

import asyncio
import json
import logging
import os
import shutil
import sys
import time
from pathlib import Path

# How many changes are made, and for how long at most.
CHANGES = 60
PATIENCE_S = 15.0


class Changes:
    """Makes changes of three kinds in turns, and undoes them all."""

    def __init__(self, library):
        self.library = Path(library)
        self.names = sorted(os.listdir(library))
        self.originals = {}
        self.made = 0

    def next(self):
        """Returns the name of a skill, what its description must hold afterwards (None: it is gone), and what to do."""
        number, self.made = self.made, self.made + 1
        model = self.names[number * 7_919 % len(self.names)]
        text = (self.library / model / "SKILL.md").read_text(encoding="utf-8")
        added = f"added-skill-{number // 3:05}"
        note = f"No. {number}. "
        described = text.replace("description: ", f"description: {note}", 1)
        if number % 3 == 0:
            path = self.library / model / "SKILL.md"
            self.originals.setdefault(path, text)
            return model, note, lambda: path.write_text(described, encoding="utf-8")
        directory = self.library / added
        if number % 3 == 1:

            def add():
                directory.mkdir()
                (directory / "SKILL.md").write_text(described.replace(model, added, 1), encoding="utf-8")

            return added, note, add
        return f"added-skill-{(number - 1) // 3:05}", None, lambda: shutil.rmtree(directory)

    def undo(self):
        for path, text in self.originals.items():
            path.write_text(text, encoding="utf-8")
        for number in range(self.made // 3 + 1):
            shutil.rmtree(self.library / f"added-skill-{number:05}", ignore_errors=True)


async def fastmcp(library, changes, took):
    from fastmcp import Client, FastMCP
    from fastmcp.server.providers.skills import SkillsDirectoryProvider

    server = FastMCP("bench")
    server.add_provider(SkillsDirectoryProvider(library, reload=True))
    async with Client(server) as client:
        await client.list_resources()
        while len(took) < CHANGES and sum(took) < PATIENCE_S * 1e3:
            name, note, make = changes.next()
            start = time.perf_counter()
            make()
            resources = await client.list_resources()
            took.append((time.perf_counter() - start) * 1e3)
            found = [each for each in resources if str(each.uri) == f"skill://{name}/SKILL.md"]
            if bool(found) != (note is not None) or (found and note not in (found[0].description or "")):
                sys.exit(f"the change of {name} is not seen: {found}")


PEERS = {"fastmcp": fastmcp}


def main(peer, library):
    # Writing log lines is not what is measured.
    logging.disable(logging.CRITICAL)
    changes, took = Changes(os.path.abspath(library)), []
    cpu = time.process_time()
    try:
        asyncio.run(PEERS[peer](os.path.abspath(library), changes, took))
    finally:
        changes.undo()
    cpu = (time.process_time() - cpu) * 1e3 / len(took)
    ordered = sorted(took)
    for percent in (50, 99):
        wall = round(ordered[(len(ordered) - 1) * percent // 100], 6)
        print(json.dumps({"operation": f"asked p{percent}", "calls": len(took), "wall_ms": [wall], "cpu_ms": [cpu]}))
    with open("/proc/self/status", encoding="utf-8") as lines:
        resident = next(line for line in lines if line.startswith("VmRSS:"))
    print(json.dumps({"gauge": "resident MB", "value": int(resident.split()[1]) / 1024}))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in PEERS:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
