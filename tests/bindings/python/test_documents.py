"""The examples of the package and of the guides run, and those of other systems answer as these did."""

import asyncio
import contextlib
import doctest
import importlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import types
import unittest
from pathlib import Path

import founding_registry
from support import TestCase

REPOSITORY = Path(__file__).resolve().parents[3]
GUIDES = REPOSITORY / "docs/guides"


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def section(title):
    """Returns the code of a section of the page about other systems, as one program."""
    text = (GUIDES / "coming-from.md").read_text()
    return "\n".join(blocks(text.split(f"\n## {title}", 1)[1].split("\n## ", 1)[0]))


class Answers:
    """A client library of a model that calls `load_skill` once and is done then."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []

    def create(self, **request):
        self.requests.append(json.loads(json.dumps(request, default=vars)))
        return self.answers.pop(0)


def space(**fields):
    return types.SimpleNamespace(**{**fields, "to_dict": lambda: fields})


class Project(TestCase):
    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        os.chdir(directory.name)

    def write(self, path, text):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)

    def skill(self, directory, description, body="Do it.\n", **fields):
        lines = "".join(f"{key}: {value}\n" for key, value in fields.items())
        name = Path(directory).name
        self.write(f"{directory}/SKILL.md", f"---\nname: {name}\ndescription: {description}\n{lines}---\n{body}")

    def carry_out(self, code, **names):
        """Runs a program and returns what it printed, and its names."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, "<guide>", "exec"), names)
        return output.getvalue(), names


class Guide(Project):
    def setUp(self):
        super().setUp()
        shutil.copytree(REPOSITORY / "skills", "skills")

    def test_the_examples_of_the_package_run(self):
        for name in ("_skills", "_library", "_async"):
            failed, run = doctest.testmod(importlib.import_module(f"repertoire.{name}"))
            self.assertEqual(failed, 0)
            self.assertGreater(run, 0)

    def test_the_examples_of_the_guide_run(self):
        call = {"type": "tool_use", "id": "t", "name": "load_skill", "input": {"name": "git"}}
        called = {"id": "t", "type": "function", "function": {"name": "load_skill", "arguments": '{"name": "git"}'}}
        messages = Answers(space(content=[call]), space(content=[{"type": "text", "text": "Done."}]))
        message = {"role": "assistant", "tool_calls": [called]}, {"role": "assistant", "content": "Done."}
        completions = Answers(*(space(choices=[space(message=it)]) for it in message))
        chat = space(completions=completions)
        sys.modules["anthropic"] = types.SimpleNamespace(Anthropic=lambda: space(messages=messages))
        sys.modules["openai"] = types.SimpleNamespace(OpenAI=lambda: space(chat=chat))
        self.addCleanup(sys.modules.pop, "anthropic")
        self.addCleanup(sys.modules.pop, "openai")
        output = "".join(self.carry_out(code)[0] for code in blocks((GUIDES / "python.md").read_text()))
        for words in ("EUR 1.09", "2.18", "['git', 'docs']"):
            self.assertIn(words, output)
        for model in (messages, completions):
            self.assertEqual(len(model.requests), 2)
            self.assertIn("See what changed, what is staged", json.dumps(model.requests[1]["messages"][-1]))


class ComingFrom(Project):
    def test_the_harness_answers_as_its_original_does(self):
        schemas = [{"name": name, "description": "Shows.", "parameters": {"type": "object", "properties": {}}} for name in ("git_status", "git_diff")]
        self.write("skills/git/SKILL.md", "# See what changed, what is staged\n\n## When to Use\n- User asks to check code changes\n")
        self.write("skills/git/schema.json", json.dumps(schemas))
        self.write("skills/web/SKILL.md", "# HTTP requests\n\nFetch.\n")
        output, names = self.carry_out(section("The skill harness"))
        self.assertIn("clean", output)
        handlers = {"git_status": lambda: "clean", "git_diff": lambda: 1 / 0}
        original = founding_registry.SkillRegistry("skills")
        original._catalog["git"].handlers = handlers
        ours = names["SkillRegistry"]("skills", handlers={"git": handlers})
        steps = [
            ("load_skill", "git"), ("load_skill", "git"), ("load_skill", "nope"), ("dispatch", "git_status", {}),
            ("dispatch", "git_diff", {}), ("dispatch", "load_skill", {"name": "web"}), ("unload_skill", "web"),
            ("unload_skill", "web"), ("dispatch", "nope", {}),
        ]
        self.assertEqual(sorted(ours.get_menu().splitlines()), sorted(original.get_menu().splitlines()))
        for step in steps:
            self.assertEqual(getattr(ours, step[0])(*step[1:]).rstrip(), getattr(original, step[0])(*step[1:]).rstrip(), step)
        self.assertEqual(sorted(ours.get_menu().splitlines()), sorted(original.get_menu().splitlines()))
        named = {tool["name"] for tool in original.get_active_schemas()}
        self.assertLessEqual(named, {tool["name"] for tool in ours.get_active_schemas()})

    def test_bernstein(self):
        self.skill("templates/skills/backend", "Python server code, APIs, async, strict typing.", references="[python-conventions.md]")
        self.write("templates/skills/backend/references/python-conventions.md", "Type everything.\n")
        self.skill("my_pack/skills/data", "Data pipelines and tables for everyone.")
        _, names = self.carry_out(section("Bernstein"))
        with contextlib.redirect_stdout(io.StringIO()) as output:
            asyncio.run(names["main"]())
        for words in ("['python-conventions.md']", "Type everything.", "Do it.", "data: Data pipelines"):
            self.assertIn(words, output.getvalue())

    def test_yodoca(self):
        self.skill("sandbox/skills/code-review", "How to review code. Use when reviewing.", "Look twice.\n")
        self.skill("sandbox/skills/extension-development", "How to create extensions. Use when building tools.")
        self.write("sandbox/skills/extension-development/templates/manifest-tool-provider.yaml", "id: tool\n")
        output, names = self.carry_out(section("Yodoca"))
        self.assertRegex(output, "Skill loaded: code-review \\(approx. [0-9]+ tokens\\)")
        self.assertIn("Look twice.", output)
        self.assertIn("id: tool", output)
        context = asyncio.run(names["get_context"]("", None))
        self.assertIn("[Available Skills]", context)
        self.assertIn("• `code-review` — How to review code.", context)

    def test_pattern(self):
        self.skill("skills/weather", "Get weather information. Use when user asks about weather.", "Look up.\n")
        self.write("skills/weather/references/api_reference.md", "GET /weather\n")
        output, _ = self.carry_out(section("The progressive disclosure pattern"))
        self.assertTrue(output.startswith("Look up.\n"), output)
        self.assertIn("GET /weather", output)


if __name__ == "__main__":
    unittest.main()
