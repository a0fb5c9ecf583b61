#!/usr/bin/env python3
"""Runs the session cases of testdata/conformance against drivers, and compares what they answer with one another.

A driver is a command that is started in the directory of a case with the options of `rep session`, reads its lines and answers
each with one, as `rep session` does. It answers `{"unsupported": true}` to what its host has no word for. A case that it cannot
finish for that reason is counted and named. See testdata/conformance/README.md.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CASES = REPOSITORY / "testdata/conformance"
AREAS = ("sessions", "documents")
SECONDS = 60


class Unsupported(Exception):
    """The driver has no word for what a case needs."""


def expand(value, root):
    """Returns `value` with `{root}` and `{text*count}` replaced."""
    if isinstance(value, dict):
        return {key: expand(item, root) for key, item in value.items()}
    if isinstance(value, list):
        return [expand(item, root) for item in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"\{([^{}]*)\*(\d+)\}", lambda found: found[1] * int(found[2]), value)
    return value.replace("{root}", str(root))


def recall(value, kept):
    """Returns `value` with every text that names something kept replaced by it."""
    if isinstance(value, dict):
        return {key: recall(item, kept) for key, item in value.items()}
    if isinstance(value, list):
        return [recall(item, kept) for item in value]
    return kept.get(value, value) if isinstance(value, str) else value


def at(answer, pointer):
    """Returns what is at a JSON pointer, or raises LookupError."""
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        answer = answer[int(part)] if isinstance(answer, list) else answer[part]
    return answer


def lay_out(case, root):
    (root / "skills").mkdir()
    (root / "home").mkdir()
    files = {path: expand(text, root).encode() for path, text in case.get("files", {}).items()}
    files |= {path: bytes.fromhex(digits) for path, digits in case.get("hex", {}).items()}
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    for path, target in case.get("links", {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(expand(target, root))
    for path in case.get("fifos", []):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(root / path)


def start(case, root, command, **streams):
    arguments = [expand(argument, root) for argument in case.get("args", [])]
    if "repertoire.toml" not in case.get("files", {}):
        arguments += ["--root", "skills"]
    elif "refused" not in case:
        arguments += ["--config", "repertoire.toml"]
    kept = ("PATH", "REPERTOIRE_BIN", "PYTHONPATH", "LD_LIBRARY_PATH", "PYTHONDONTWRITEBYTECODE")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    return subprocess.Popen([*command, *arguments], cwd=root, env=env | {"HOME": str(root / "home")}, text=True, **streams)


def differences(step, answer, root, kept):
    """Returns in what `answer` differs from what a step expects."""
    for expect in step.get("expect", []):
        expect = {**expect, "equals": recall(expand(expect["equals"], root), kept)} if "equals" in expect else expect
        try:
            found = at(answer, expect["at"])
        except LookupError:
            # Packages return the parts of an answer that programs use.
            if expect["at"] in ("/ok", "/id", "/snapshot"):
                continue
            yield f"there is nothing at {expect['at']}: {answer}"
            continue
        text = found if isinstance(found, str) else json.dumps(found, separators=(",", ":"))
        if "equals" in expect and found != expect["equals"]:
            yield f"{expect['at']} is not {expect['equals']!r} but {found!r}"
        if "contains" in expect and expand(expect["contains"], root) not in text:
            yield f"{expect['at']} does not hold {expect['contains']!r}: {text!r}"
        if "lacks" in expect and expand(expect["lacks"], root) in text:
            yield f"{expect['at']} holds {expect['lacks']!r}: {text!r}"
        if "length" in expect and len(found) != expect["length"]:
            yield f"{expect['at']} has not {expect['length']} items"


def run_case(case, command, root):
    """Returns what is wrong with a driver's answers, and the answers' comparable parts."""
    root.mkdir()
    try:
        lay_out(case, root)
        if "refused" in case:
            driver = start(case, root, command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            _, said = driver.communicate(timeout=SECONDS)
            is_refused = driver.returncode == 2 and case["refused"] in said
            return [] if is_refused else [f"it ended with {driver.returncode} and said {said}"], []
        driver = start(case, root, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wrong, answers, kept = [], [], {}
        try:
            for number, step in enumerate(case.get("steps", []), 1):
                for path, text in step.get("write", {}).items():
                    (root / path).parent.mkdir(parents=True, exist_ok=True)
                    (root / path).write_text(expand(text, root))
                for path in step.get("remove", []):
                    subprocess.run(["rm", "-r", root / path], check=True)
                if "line" in step:
                    raise Unsupported("a line that is not made by a program")
                if "send" not in step:
                    continue
                driver.stdin.write(json.dumps(recall(expand(step["send"], root), kept)) + "\n")
                driver.stdin.flush()
                line = driver.stdout.readline()
                if not line:
                    return [f"step {number}: it ended and said {driver.stderr.read()}"], []
                answer = json.loads(line)
                if answer == {"unsupported": True}:
                    raise Unsupported(step["send"]["op"])
                for name, pointer in step.get("keep", {}).items():
                    kept[f"${name}"] = at(answer, pointer)
                wrong += [f"step {number}: {reason}" for reason in differences(step, answer, root, kept)]
                # Sessions and directories have names of their own in each run.
                text = json.dumps({key: answer.get(key) for key in ("text", "data", "is_error", "loaded", "tools", "pieces")})
                answers.append(re.sub(r"s-[0-9a-f.-]+", "SESSION", text.replace(str(root), "ROOT")))
            driver.stdin.close()
            if driver.wait(SECONDS) != 0:
                wrong.append(f"it ended with {driver.returncode} and said {driver.stderr.read()}")
        finally:
            driver.kill()
            driver.wait()
            driver.stdout.close()
            driver.stderr.close()
        return wrong, answers
    finally:
        shutil.rmtree(root)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drivers", nargs="+", metavar="NAME=COMMAND", help="the first is what the others are compared with")
    options = parser.parse_args()
    drivers = [(name, shlex.split(command)) for name, command in (driver.split("=", 1) for driver in options.drivers)]
    cases = [case for area in AREAS for case in tomllib.loads((CASES / f"{area}.toml").read_text())["case"]]

    def run(case):
        found = {}
        # All work in a directory of one name, which is in some answers.
        with tempfile.TemporaryDirectory() as directory:
            for name, command in drivers:
                try:
                    found[name] = run_case(case, command, Path(directory).resolve() / "case")
                except Unsupported as reason:
                    found[name] = reason
        return found

    failures, passed, unsupported = [], {name: 0 for name, _ in drivers}, {name: [] for name, _ in drivers}
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(run, cases))
    for case, found in zip(cases, results):
        first = found[drivers[0][0]]
        for name, outcome in found.items():
            if isinstance(outcome, Unsupported):
                unsupported[name].append(f"{case['id']} ({outcome})")
                continue
            wrong, answers = outcome
            if not isinstance(first, Unsupported) and not wrong and answers != first[1]:
                pairs = zip(answers, first[1])
                wrong = [f"it answers other than {drivers[0][0]}: {next((a, b) for a, b in pairs if a != b)}"]
            passed[name] += not wrong
            failures += [f"{name}: {case['id']} ({case['about']}): {reason}" for reason in wrong]
    for name, count in passed.items():
        without = f", without {', '.join(unsupported[name])}" if unsupported[name] else ""
        print(f"{name}: {count} of {len(cases)} cases{without}")
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
