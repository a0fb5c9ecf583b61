#!/usr/bin/env python3
"""Adds to each task what `rep hook` says to its prompt: with_hook.py REP TASKS > TASKS_WITH_HOOK.

The skills of the repository are those of Claude Code in an empty home. Then measure both with `cargo run -p bench --bin activation`.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

rep, tasks = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
skills = Path(__file__).resolve().parent.parent.parent / "skills"
named = 0
with tempfile.TemporaryDirectory() as home:
    (Path(home) / ".claude").mkdir()
    (Path(home) / ".claude" / "skills").symlink_to(skills)
    environment = {"HOME": home, "PATH": os.environ["PATH"]}
    for line in tasks.read_text().splitlines():
        task = json.loads(line)
        event = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": task["task"]})
        command = [rep, "hook", "claude-code", "--limit", "60000"]
        answer = subprocess.run(command, input=event, capture_output=True, text=True, cwd=home, env=environment).stdout
        if answer:
            named += 1
            task["task"] += "\n\n" + json.loads(answer)["hookSpecificOutput"]["additionalContext"]
        print(json.dumps(task, ensure_ascii=False))
print(f"{named} of {len(tasks.read_text().splitlines())} prompts get a skill named", file=sys.stderr)
