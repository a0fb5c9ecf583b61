// The package offers what the engine can do, in the words of Node.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import * as repertoire from "../../../bindings/node/index.js";
import { greet, inputSchema, tool } from "./support.mjs";

const { Library, RepertoireError, ToolError, defineSkill, defineTool } = repertoire;
const options = { timeout: 60_000 };

test("import and require give the same module", () => {
  const required = createRequire(import.meta.url)("../../../bindings/node/index.cjs");
  assert.deepEqual({ ...repertoire }, required);
});

test("a function of a resource is called once, when the file is read", options, async () => {
  let calls = 0;
  const skill = defineSkill({
    name: "greet",
    description: "Greets people. Use when someone says hello.",
    body: "# Greet\n",
    resources: { "a.md": async () => `Be warm, ${++calls}.\n`, "b.bin": new Uint8Array([0, 1]), "c.txt": "c".repeat(200_000) },
    triggerKeywords: ["hello"],
  });
  const library = await Library.open({ skills: [skill] });
  const session = await library.session();
  await session.call("load_skill", { name: "greet" });
  assert.equal(calls, 0);
  assert.equal(await session.read("greet", "a.md"), "Be warm, 1.\n");
  assert.equal(await (await library.session()).read("greet", "a.md"), "Be warm, 1.\n");
  assert.deepEqual((await session.files("greet")).map((file) => file.path), ["SKILL.md", "a.md", "b.bin", "c.txt"]);
  await assert.rejects(session.read("greet", "b.bin"), ToolError);
  await library.close();
  await assert.rejects(
    Library.open({ skills: [defineSkill({ name: "Not A Name", description: "x", body: "y" })] }),
    (error) => error instanceof RepertoireError && error.kind === "invalid_skill",
  );
});

test("tools of the program, and of skills, run in the program", options, async () => {
  const add = defineTool({ name: "add", description: "Adds.", inputSchema, run: ({ a, b = 1 }) => ({ sum: a + b }) });
  const fail = tool("fail", () => {
    throw new RangeError("too far");
  });
  const skill = defineSkill({
    name: "git",
    description: "Version control. Use when committing.",
    body: "Commit.",
    tools: [tool("git_status", () => "clean")],
  });
  const library = await Library.open({ skills: [skill], tools: [add, fail] });
  const session = await library.session();
  assert.equal((await session.call("add", { a: 1 })).text, '{"sum":2}');
  const failed = await session.call("fail", {});
  assert.deepEqual([failed.isError, failed.text], [true, "RangeError: too far"]);
  await session.call("load_skill", { name: "git" });
  const call = { skill: "git", tool: "git_status", arguments: {} };
  assert.match((await session.call("call_skill_tool", call)).text, /clean/);
  await library.close();
});

test("calls are handled as models make them", options, async () => {
  const library = await Library.open({ skills: [greet] });
  const session = await library.session();
  const call = { type: "function_call", call_id: "1", name: "load_skill", arguments: '{"name":"greet"}' };
  const [result] = await session.handleAll({ output: [call] });
  assert.equal(result.call_id, "1");
  assert.match((await session.handle(call)).output, /active/);
  assert.deepEqual(await (await library.session()).observe([call, result]), ["greet"]);
  assert.deepEqual(await session.handleAll({ role: "assistant", content: "Done." }), []);
  await assert.rejects(session.handleAll(7), /`response`/);
  await library.close();
});

test("a session tracks the context", options, async () => {
  const library = await Library.open({ skills: [greet] });
  const session = await library.session();
  await session.call("load_skill", { name: "greet" });
  assert.deepEqual((await session.state()).loaded, ["greet"]);
  assert.deepEqual(await session.compacted(), []);
  assert.deepEqual((await session.reattach(1000)).metadata.skillIds, ["greet"]);
  assert.deepEqual(await session.evicted("greet"), []);
  assert.equal(await session.focus(["a.js"]), "");
  await session.workingOn("greeting");
  assert.match(await session.prompt(), /greet/);
  assert.equal((await session.search("greet people"))[0].name, "greet");
  assert.deepEqual((await session.diagnostics()).problems, []);
  const child = await session.subagent({ inherit: "catalog" });
  assert.equal(await child.catalog(), await session.catalog());
  await session.close();
  await assert.rejects(child.catalog(), /there is no session/);
  await library.close();
});

test("events, changes, proposals and scripts", options, async (context) => {
  const directory = await mkdtemp(path.join(tmpdir(), "repertoire-"));
  try {
    const write = async (file, text, mode) => {
      await mkdir(path.dirname(path.join(directory, file)), { recursive: true });
      await writeFile(path.join(directory, file), text, { mode });
    };
    await write("greet/SKILL.md", "---\nname: greet\ndescription: Greets. Use when testing.\n---\nBe warm.\n");
    await write("greet/scripts/hello.sh", '#!/bin/sh\necho "Hello, $1!"\n', 0o755);
    const asked = [];
    const approve = (request) => asked.push(request) > 1 && "always";
    const env = { REPERTOIRE_STATE_DIR: path.join(directory, "state") };
    const library = await Library.open({ directory, exec: true, approve, env });
    const session = await library.session();
    const [events, changes] = [await session.events(), await library.changes()];
    await session.call("load_skill", { name: "greet" });
    assert.equal((await events.next()).value.skill, "greet");
    await events.return();
    const diff = "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -4,2 +4,2 @@\n ---\n-Be warm.\n+Be warmer.\n";
    assert.equal((await session.propose("greet", { justification: "it is needed", diff })).isError, false);
    const replies = [];
    for (let run = 0; run < 3; run++) replies.push(await session.run("greet", "scripts/hello.sh", ["you"]));
    if (replies[1].text.includes("no sandbox")) context.diagnostic("SKIPPED: no sandbox works here, so no script was run");
    else assert.deepEqual(replies.map((reply) => reply.isError), [true, false, false]);
    assert.equal(asked[0].skill, "greet");
    await write("new/SKILL.md", "---\nname: new\ndescription: New. Use when testing.\n---\nx\n");
    await session.call("load_skill", { name: "new" });
    for await (const { added } of changes) if (added.includes("new")) break;
    const more = await library.changes();
    await library.close();
    for await (const change of more) assert.equal(change.notice, "change");
  } finally {
    await rm(directory, { recursive: true });
  }
});
