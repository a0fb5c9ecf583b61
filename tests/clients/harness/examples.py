"""The examples with frameworks, which have the skills as tools of their own: load a skill, read a file, run a script."""

import json
import os
import shutil

from harness import install
from harness.process import Failed, run
from harness.world import environment
from model_server import LAST_WORDS, ModelServer

REPOSITORY = install.CLIENTS.parents[1]
SCRIPT = "scripts/check-links.sh"
CALLS = [
    ("load_skill", {"name": "docs"}),
    ("read_skill_file", {"skill": "docs", "path": SCRIPT}),
    ("run_skill_script", {"skill": "docs", "path": SCRIPT, "args": ["--help"]}),
]
# What the results must have: the instructions, the file, and what the script printed.
SEEN = ["<skill name=", "Check relative links and heading anchors", "<skill_tool_result skill="]


def python(package, program):
    path = str(REPOSITORY / "bindings/python")
    command = [install.package(package, "bin", "python"), REPOSITORY / "examples/python" / program]
    return cases(lambda _place: command, {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"})


def node(package, program):
    def prepare(place):
        packages = place / "node_modules"
        packages.mkdir()
        for installed in install.package(package, "node_modules").iterdir():
            (packages / installed.name).symlink_to(installed)
        (packages / "repertoire-cli").symlink_to(REPOSITORY / "bindings/node")
        shutil.copy(REPOSITORY / "examples/typescript" / program, place)
        return [install.node(), place / program]

    return cases(prepare, {})


def cases(prepare, variables):
    return lambda world: [("loads, reads and runs", lambda: converse(world, prepare, variables))]


def converse(world, prepare, variables):
    place = world.place("example")
    library = place / "skills"
    shutil.copytree(REPOSITORY / "skills", library)
    env = environment(place, REPERTOIRE_BIN=str(world.rep), PATH=os.environ["PATH"], **variables)
    with ModelServer(CALLS) as model:
        outcome = run([*prepare(place), model.url, library, "Check the links."], place, env, 120, said="y\n")
        outcome.expect_success()
        results = json.dumps(model.requests[-1].messages)
    missing = [words for words in SEEN if words not in results]
    if missing or LAST_WORDS not in outcome.output:
        raise Failed(f"{missing} not in {results[-2000:]}; it said {outcome.output}{outcome.errors}")
    return f"{len(model.requests)} requests; the script ran once a person had said yes"
