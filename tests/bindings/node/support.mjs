// What the tests of the Node package share.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { defineSkill, defineTool } from "../../../bindings/node/index.js";

export const greet = defineSkill({
  name: "greet",
  description: "Greets people. Use when someone says hello.",
  body: "# Greet\n\nBe warm.\n",
});
export const inputSchema = { type: "object", properties: {}, additionalProperties: true };
export const tool = (name, run) => defineTool({ name, description: "A tool of a test.", inputSchema, run });

/** Returns a promise, and what fulfils it. */
export function gate() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { open, opened };
}

/** Waits until a process has ended; one that only waits to be counted has. */
export async function gone(pid) {
  for (;;) {
    try {
      if (readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).startsWith("Z")) return;
    } catch {
      return;
    }
    await sleep(10);
  }
}

/** Starts a program that may use what this module and the package export. */
export function program(text, options = {}) {
  const here = fileURLToPath(new URL(".", import.meta.url));
  const source = `import { greet, tool, gate } from "./support.mjs";
import { EngineError, Library } from "../../../bindings/node/index.js";\n${text}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], { cwd: here, ...options });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let errors = "";
  child.stderr.on("data", (chunk) => (errors += chunk));
  const ended = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal, errors })));
  return { child, ended, line: async () => (await lines.next()).value };
}
