"""The package offers what the engine can do, in Python's words."""

import asyncio
import json
import os
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path

import repertoire
from repertoire import AsyncLibrary, Library, RepertoireError, ToolError, define_skill, define_tool
from support import GREET, SCHEMA, TestCase, tool


class Block:
    """A block as client libraries have it."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self):
        return self.fields


@dataclass
class Message:
    role: str
    content: list


class Skills(TestCase):
    def test_a_callable_resource_is_called_once_when_the_file_is_read(self):
        calls = []

        def load():
            calls.append(1)
            return b"\x00\xff" if len(calls) > 1 else "Be warm.\n"

        async def later():
            return "Be quick.\n"

        skill = define_skill(
            "greet", "Greets people. Use when someone says hello.", "# Greet\n",
            {"references/tone.md": load, "references/pace.md": later, "assets/a.txt": "a\n", "assets/b.bin": b"\x00\x01"},
            tags=["people"], metadata={"team": "front"}, license="MIT",
        )
        with Library(skills=[skill]) as library:
            session = library.session()
            loaded = session.call("load_skill", {"name": "greet"})
            self.assertEqual((calls, loaded.data["license"]), ([], "MIT"))
            self.assertEqual(session.read("greet", "references/tone.md"), "Be warm.\n")
            self.assertEqual(library.session().read("greet", "references/tone.md"), "Be warm.\n")
            self.assertEqual((len(calls), session.read("greet", "references/pace.md")), (1, "Be quick.\n"))
            paths = [file["path"] for file in session.files("greet")]
            self.assertEqual(paths, ["SKILL.md", "assets/a.txt", "assets/b.bin", "references/pace.md", "references/tone.md"])
            with self.assertRaisesRegex(ToolError, "binary"):
                session.read("greet", "assets/b.bin")

    def test_a_resource_that_fails_is_an_answer(self):
        def load():
            raise ValueError("the server is away")

        skill = define_skill("greet", "Greets people. Use when someone says hello.", "x", {"a.md": load})
        with Library(skills=[skill]) as library:
            with self.assertRaisesRegex(ToolError, "ValueError: the server is away"):
                library.session().read("greet", "a.md")

    def test_a_skill_that_is_not_sound_is_refused(self):
        with self.assertRaises(RepertoireError) as caught:
            Library(skills=[define_skill("Not A Name", "x", "y")])
        self.assertEqual(caught.exception.kind, "invalid_skill")
        self.assertIn("Not A Name", str(caught.exception))

    def test_long_files_are_read_whole(self):
        text = "".join(f"line {number} {'x' * 100}\n" for number in range(2_000))
        skill = define_skill("long", "Is long. Use when length matters.", "x", {"long.txt": text})
        with Library(skills=[skill]) as library:
            session = library.session()
            self.assertEqual(session.read("long", "long.txt"), text)
            self.assertEqual(session.read("long", "long.txt", 2, 1_500), "".join(text.splitlines(True)[1:1_500]))

    def test_directories_and_configurations(self):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory, "skills", "git")
            root.mkdir(parents=True)
            (root / "SKILL.md").write_text("---\nname: git\ndescription: Version control. Use when committing.\n---\nCommit.\n")
            config = Path(directory, "repertoire.toml")
            config.write_text('roots = ["skills"]\n[discovery]\nuser = false\n[agents.a]\nskills.allow = []\n')
            for options in ({"directory": root.parent}, {"directory": [root.parent]}, {"config": config}):
                with Library(**options, cwd=directory, skills=[GREET]) as library, library.session() as session:
                    loaded = session.call("load_skill", '{"name": "git"}')
                    self.assertIn("Commit.", loaded.text)
                    self.assertIn("greet", session.catalog())
            with Library(config=config, cwd=directory) as library:
                self.assertEqual(library.session("a").tools(), [])
                self.assertEqual(library.session(skills=["git"], profile="harness").catalog().count("git"), 1)
                for options, words in ((("nobody",), "no agent"), ((None,), None)):
                    if words:
                        with self.assertRaisesRegex(RepertoireError, words):
                            library.session(*options)
                with self.assertRaisesRegex(RepertoireError, "nope"):
                    library.session(skills=["nope"])
                with self.assertRaisesRegex(RepertoireError, "profile"):
                    library.session(profile="nope")
            with Library(cwd=directory, env={"REPERTOIRE_ROOTS": str(root.parent)}) as library:
                self.assertEqual(library.session().catalog(), "")

    def test_changes_are_told(self):
        with tempfile.TemporaryDirectory() as directory, Library(directory=directory) as library:
            session, changes = library.session(), library.changes()
            self.assertEqual(session.delta(), "")
            Path(directory, "new").mkdir()
            Path(directory, "new", "SKILL.md").write_text("---\nname: new\ndescription: New. Use when testing.\n---\nx\n")
            session.call("load_skill", {"name": "new"})
            self.assertTrue(any("new" in change["added"] for change in changes))
            self.assertIn("new", session.delta())
            self.assertIn("new", session.refresh())


class Tools(TestCase):
    def test_tools_of_the_program_are_called_with_arguments_by_name(self):
        schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
        add = define_tool("add", "Adds.", schema, lambda a, b=1: {"sum": a + b})
        with Library(tools=[add], skills=[GREET]) as library:
            session = library.session()
            self.assertIn("add", [tool["name"] for tool in session.tools()])
            self.assertEqual(json.loads(session.call("add", {"a": 1}).text), {"sum": 2})
            failed = session.call("add", {"c": 1})
            self.assertTrue(failed.is_error)
            self.assertIn("TypeError", failed.text)

    def test_tools_of_a_skill_run_in_the_program(self):
        status = define_tool("git_status", "Shows changes.", SCHEMA, lambda **_: "clean")
        skill = define_skill("git", "Version control. Use when committing.", "Commit.", tools=[status])
        with Library(skills=[skill]) as library:
            session = library.session()
            early = session.call("call_skill_tool", {"skill": "git", "tool": "git_status", "arguments": {}})
            self.assertTrue(early.is_error)
            self.assertIn("git_status", session.call("load_skill", {"name": "git"}).text)
            late = session.call("call_skill_tool", {"skill": "git", "tool": "git_status", "arguments": {}})
            self.assertIn("clean", late.text)

    def test_names_of_tools_are_reserved(self):
        with Library(tools=[tool("load_skill", lambda: "")]) as library:
            with self.assertRaisesRegex(RepertoireError, "load_skill"):
                library.session()

    def test_calls_are_handled_as_models_make_them(self):
        call = Block(type="tool_use", id="t", name="load_skill", input={"name": "greet"})
        with Library(skills=[GREET]) as library:
            session = library.session()
            self.assertIn("Be warm.", session.handle(call)["content"])
            self.assertEqual(session.handle_all(Message("assistant", [Block(type="text", text="x")])), [])
            (message,) = library.session().handle_all(Message("assistant", [call, call]))
            self.assertEqual([result["tool_use_id"] for result in message["content"]], ["t", "t"])
            transcript = [Message("assistant", [call]), message]
            self.assertEqual(library.session().observe(transcript), ["greet"])
            for format in ("anthropic", "openai", "openai-responses", "gemini", "json-schema"):
                self.assertIn("load_skill", json.dumps(session.tools(format)))
            with self.assertRaisesRegex(RepertoireError, "`response`"):
                session.handle_all(7)

    def test_what_cannot_be_sent_is_refused_here(self):
        with Library(skills=[GREET]) as library:
            session = library.session()
            with self.assertRaisesRegex(TypeError, "object cannot be sent"):
                session.call("load_skill", {"name": object()})
            self.assertIn("greet", session.catalog())


class Sessions(TestCase):
    def test_a_session_tracks_the_context(self):
        with Library(skills=[GREET]) as library, library.session() as session:
            self.assertIn("Be warm.", session.call("load_skill", {"name": "greet"}).text)
            self.assertEqual(session.state()["loaded"], ["greet"])
            self.assertEqual(session.compacted(), [])
            back = session.reattach(1_000)
            self.assertEqual((back.metadata or {})["skillIds"], ["greet"])
            self.assertEqual(session.evicted("greet"), [])
            self.assertEqual(session.focus([Path("a.py")]), "")
            session.working_on("greeting people")
            self.assertIn("greet", session.prompt())
            self.assertEqual(session.diagnostics()["problems"], [])
            self.assertEqual(session.search("greet people")[0]["name"], "greet")
            child = session.subagent(inherit="catalog", skills=["greet"])
            self.assertTrue(child.id.startswith(session.id))
            self.assertEqual(child.catalog(), session.catalog())
        with Library(skills=[GREET]) as library:
            session = library.session()
            child = session.subagent(inherit="catalog")
            session.close()
            with self.assertRaisesRegex(RepertoireError, "there is no session"):
                child.catalog()

    def test_events_are_those_of_the_session(self):
        with Library(skills=[GREET]) as library:
            one, other = library.session(), library.session()
            events, everything = one.events(), library.events()
            other.call("load_skill", {"name": "greet"})
            one.call("load_skill", {"name": "greet"})
            event = next(events)
            self.assertEqual((event["kind"], event["skill"], event["session"]), ("skill_loaded", "greet", one.id))
            self.assertEqual([next(everything)["session"] for _ in range(2)], [other.id, one.id])
            events.close()
            self.assertEqual(list(events), [])
        self.assertEqual(list(everything), [])

    def test_proposals(self):
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, "git").mkdir()
            Path(directory, "git", "SKILL.md").write_text("---\nname: git\ndescription: Version control. Use when committing.\n---\nCommit.\n")
            with Library(directory=directory, env={"REPERTOIRE_STATE_DIR": os.path.join(directory, "state")}) as library:
                session = library.session()
                diff = "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -4,2 +4,2 @@\n ---\n-Commit.\n+Commit often.\n"
                self.assertFalse(session.propose("git", justification="it is needed", diff=diff).is_error)
                with self.assertRaises(ToolError):
                    session.propose("git", justification="it is needed", diff="nonsense")
                with self.assertRaisesRegex(RepertoireError, "`diff`"):
                    session.propose("git", justification="it is needed")

    def test_scripts_run_in_the_sandbox_once_they_are_approved(self):
        with tempfile.TemporaryDirectory() as directory:
            scripts = Path(directory, "greet", "scripts")
            scripts.mkdir(parents=True)
            Path(directory, "greet", "SKILL.md").write_text("---\nname: greet\ndescription: Greets. Use when testing.\n---\nx\n")
            (scripts / "hello.sh").write_text('#!/bin/sh\necho "Hello, $1!"\n')
            (scripts / "hello.sh").chmod(0o755)
            asked, answers = [], [False, True, "always"]

            def approve(request):
                asked.append(request["skill"])
                return answers[len(asked) - 1]

            env = {"REPERTOIRE_STATE_DIR": os.path.join(directory, "state")}
            with Library(directory=directory, exec=True, approve=approve, env=env) as library:
                session = library.session()
                session.call("load_skill", {"name": "greet"})
                replies = [session.run("greet", "scripts/hello.sh", ["you"]) for _ in range(4)]
                if "no sandbox" in replies[1].text:
                    self.skipTest("no sandbox works here")
                self.assertEqual([reply.is_error for reply in replies], [True, False, False, False])
                self.assertIn("Hello, you!", replies[3].text)
                self.assertEqual(asked, ["greet"] * 3)


class Async(TestCase):
    def test_the_same_names_are_coroutines(self):
        names = {name for name in dir(repertoire.Session) if not name.startswith("_")}
        self.assertEqual(names, {name for name in dir(repertoire.AsyncSession) if not name.startswith("_")})

        async def main():
            async with AsyncLibrary(skills=[GREET]) as library, await library.session() as session:
                loads = [session.call("load_skill", {"name": "greet"}) for _ in range(50)]
                events = await session.events()
                self.assertEqual({reply.data["name"] for reply in await asyncio.gather(*loads)}, {"greet"})
                self.assertEqual((await anext(events))["skill"], "greet")
                self.assertEqual(await session.read("greet", "SKILL.md", 5, 5), "# Greet\n")
                child = await session.subagent(inherit="catalog")
                self.assertEqual(await child.catalog(), await session.catalog())
                self.assertEqual((await session.search("greet people"))[0]["name"], "greet")
                events.close()
                events.close()
            return library.engine["protocol"]

        self.assertEqual(asyncio.run(main()), 1)


if __name__ == "__main__":
    unittest.main()
