// The examples of the types and of the guides run.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const directory = mkdtempSync(path.join(tmpdir(), "repertoire-"));
const packages = path.join(directory, "node_modules");
mkdirSync(packages);
cpSync(path.join(repository, "skills"), path.join(directory, "skills"), { recursive: true });
symlinkSync(path.join(repository, "bindings/node"), path.join(packages, "repertoire-cli"));
process.on("exit", () => rmSync(directory, { recursive: true }));

// A client library of a model that calls `load_skill` once and is done then.
mkdirSync(path.join(packages, "@anthropic-ai/sdk"), { recursive: true });
writeFileSync(
  path.join(packages, "@anthropic-ai/sdk/index.js"),
  `const call = { type: "tool_use", id: "t", name: "load_skill", input: { name: "git" } };
   const answers = [{ content: [call] }, { content: [{ type: "text", text: "Done." }] }];
   module.exports = class { messages = { create: async ({ messages }) => {
     if (answers.length === 1) console.log(messages.at(-1).content[0].content);
     return answers.shift();
   } } };`,
);

const examples = (file, pattern) => [...readFileSync(path.join(repository, file), "utf8").matchAll(pattern)].map(([, code]) => code);

function run(code) {
  const file = path.join(directory, "example.mjs");
  writeFileSync(file, code);
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { cwd: directory, encoding: "utf8" });
  assert.deepEqual([status, stderr], [0, ""], code);
  return stdout;
}

test("the examples of the types run", { timeout: 60_000 }, () => {
  const found = examples("bindings/node/index.d.cts", /```js\n(.*?)\* ```/gs);
  assert.ok(found.length >= 5);
  const exported = "import assert from 'node:assert/strict';\nimport { Library, defineSkill, defineTool } from 'repertoire-cli';\n";
  for (const example of found) {
    // `await using` is newer than the oldest Node.
    const code = example.replace(/^ *\* ?/gm, "").replace(/await using library/g, "const library") + "\nawait library.close();";
    run(exported + code);
  }
});

test("the examples of the guides run", { timeout: 60_000 }, () => {
  const code = /^```js\n(.*?)^```$/gms;
  const output = examples("docs/guides/typescript.md", code).map(run).join("");
  for (const words of ["EUR 1.09", "2.18", "See what changed, what is staged", "skill_loaded git"]) assert.ok(output.includes(words), words);
  const [helix] = examples("docs/guides/coming-from.md", code).map(run);
  for (const words of ["<name>pdf-processing</name>", "[ 'pdf-processing' ]", "Fill the fields by name."]) {
    assert.ok(helix.includes(words), helix);
  }
});
