#!/usr/bin/env python3
"""Measures a Python peer: python_peer.py PEER LIBRARY REPEAT, run by the interpreter that has the peer installed.

Prints samples as JSON lines, like the programs in Rust. Imports happen before the clock starts and are reported apart.
"""

import json
import logging
import os
import sys
import time
from pathlib import Path


def skills_ref(library):
    from skills_ref import read_properties

    # The reference library knows single skills only; listing the directory is our part.
    return lambda: len([read_properties(directory) for directory in sorted(Path(library).iterdir())])


def fastmcp(library):
    from fastmcp.server.providers.skills import SkillsDirectoryProvider

    return lambda: len(SkillsDirectoryProvider(library).providers)


def pydantic_ai_skills(library):
    from pydantic_ai_skills import SkillsCapability

    return lambda: len(SkillsCapability(directories=[library]).skill_names)


PEERS = {"skills-ref": skills_ref, "fastmcp": fastmcp, "pydantic-ai-skills": pydantic_ai_skills}


class Stopwatch:
    """Keeps what each run of a function took, on the clock and of the processor."""

    def __init__(self):
        self.wall_ms = []
        self.cpu_ms = []

    def measure(self, function, *arguments):
        wall, cpu = time.perf_counter(), time.process_time()
        result = function(*arguments)
        self.wall_ms.append(round((time.perf_counter() - wall) * 1e3, 4))
        self.cpu_ms.append(round((time.process_time() - cpu) * 1e3, 4))
        return result


def main(peer, library, repeat):
    # Writing log lines is not what is measured.
    logging.disable(logging.CRITICAL)
    imports = Stopwatch()
    index = imports.measure(PEERS[peer], os.path.abspath(library))
    print(json.dumps({"operation": "import", **vars(imports)}))
    indexing = Stopwatch()
    skills = 0
    for _ in range(repeat):
        skills = indexing.measure(index)
    print(json.dumps({"operation": "index", "skills": skills, **vars(indexing)}))


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in PEERS:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
