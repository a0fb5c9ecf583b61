// The engine ends with its library, however that ends; calls that are not answered fail and never hang.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { EngineError, Library, RepertoireError } from "../../../bindings/node/index.js";
import { gate, gone, greet, program, tool } from "./support.mjs";

const options = { timeout: 60_000 };

test("a crash rejects pending and later calls", options, async () => {
  const called = gate();
  const wait = tool("wait", () => (called.open(), new Promise(() => {})));
  const library = await Library.open({ skills: [greet], tools: [wait] });
  const session = await library.session();
  const events = await session.events();
  const pending = session.call("wait");
  await called.opened;
  process.kill(library.pid, "SIGKILL");
  await assert.rejects(pending, (error) => error instanceof EngineError && /ended, with signal SIGKILL/.test(error.message));
  await assert.rejects(session.catalog(), EngineError);
  for await (const event of events) assert.equal(event.kind, "tool_called");
  await library.close();
});

test("an engine that cannot start says why", options, async () => {
  await assert.rejects(Library.open({ directory: "/nonexistent" }), /there is no directory/);
  const chosen = process.env.REPERTOIRE_BIN;
  const directory = await mkdtemp(path.join(tmpdir(), "repertoire-"));
  const number = path.join(directory, "number");
  try {
    await writeFile(number, "#!/bin/sh\necho 42\nexec cat\n", { mode: 0o755 });
    for (const [binary, words] of [
      ["/nonexistent/rep", /cannot start \/nonexistent\/rep/],
      ["/bin/true", /the engine has ended, with status 0/],
      ["/bin/yes", /a line could not be read/],
      [number, /a line could not be read/],
    ]) {
      process.env.REPERTOIRE_BIN = binary;
      await assert.rejects(Library.open(), words);
    }
  } finally {
    process.env.REPERTOIRE_BIN = chosen;
    await rm(directory, { recursive: true });
  }
});

test("what the engine cannot read is refused and never awaited", options, async () => {
  const answers = { echo: ({ it }) => it, half: () => "a\udcffb \\ud800", long: () => "x".repeat(2 ** 26), big: () => 5n, nothing: () => { throw null; } };
  const library = await Library.open({ skills: [greet], tools: Object.entries(answers).map(([name, run]) => tool(name, run)) });
  const session = await library.session();
  const load = async (name) => (await session.call("load_skill", { name })).text;
  const said = async (name) => (await session.call(name)).text;
  let deep = 0;
  for (let depth = 0; depth < 200; depth++) deep = [deep];
  await assert.rejects(load(deep), (error) => error instanceof RepertoireError && error.kind === "malformed");
  await assert.rejects(load("x".repeat(2 ** 26)), /at most 67108864 bytes/);
  await assert.rejects(load(5n), TypeError);
  assert.match(await load("\ud800"), /no skill `\ufffd`/);
  assert.equal((await session.call("echo", { it: "é\u2028😀\0" })).text, "é\u2028😀\0");
  assert.equal(await said("half"), "a\ufffdb \\ud800");
  assert.match(await said("long"), /at most 67108864 bytes/);
  assert.match(await said("big"), /TypeError/);
  assert.equal(await said("nothing"), "Error: null");
  await library.close();
});

test("close ends the engine and rejects what is pending", options, async () => {
  const called = gate();
  const wait = tool("wait", () => (called.open(), new Promise(() => {})));
  const library = await Library.open({ skills: [greet], tools: [wait] });
  const pending = assert.rejects((await library.session()).call("wait"), /the library is closed/);
  await called.opened;
  await library.close();
  await pending;
  await gone(library.pid);
  await library.close();
  await assert.rejects(library.session(), /the library is closed/);
});

test("a program that forgets to close ends, and nothing is left", options, async () => {
  for (const [end, code] of [["", 0], ["process.exit(3)", 3], ["process.kill(process.pid, 'SIGKILL')", null]]) {
    const { ended, line } = program(`
      const library = await Library.open({ skills: [greet] });
      const session = await library.session();
      await session.call("load_skill", { name: "greet" });
      console.log(library.pid);
      ${end}`);
    const pid = Number(await line());
    const outcome = await ended;
    assert.deepEqual([outcome.code, outcome.errors], [code, ""]);
    await gone(pid);
  }
});

test("Ctrl-C interrupts the program and not the engine", options, async () => {
  const { child, ended, line } = program(
    `process.once("SIGINT", async () => {
       console.log((await session.call("load_skill", { name: "greet" })).data.name);
       await library.close();
       asked.open();
     });
     const asked = gate();
     const library = await Library.open({ skills: [greet], tools: [tool("wait", () => (console.log("called"), asked.opened))] });
     const session = await library.session();
     console.log(library.pid);
     session.call("wait").catch(() => {});`,
    { detached: true },
  );
  const pid = Number(await line());
  assert.equal(await line(), "called");
  // As a terminal does, to everything in the foreground.
  process.kill(-child.pid, "SIGINT");
  assert.equal(await line(), "greet");
  assert.deepEqual(await ended, { code: 0, signal: null, errors: "" });
  await gone(pid);
});

test("a worker thread may own a library, and leaves nothing when it is terminated", options, async () => {
  const url = new URL("../../../bindings/node/index.js", import.meta.url);
  const source = `import { parentPort } from "node:worker_threads";
    const { Library } = await import(${JSON.stringify(url.href)});
    const library = await Library.open();
    const session = await library.session();
    parentPort.postMessage({ pid: library.pid, catalog: await session.catalog() });
    await new Promise(() => setInterval(() => {}, 1000));`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
  const { pid, catalog } = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  assert.equal(catalog, "");
  await worker.terminate();
  await gone(pid);
});

test("calls run at the same time, and a tool may call the session that calls it", options, async () => {
  const [called, go] = [gate(), gate()];
  const wait = tool("wait", async () => (called.open(), await go.opened, "done"));
  const nested = tool("nested", async ({ depth }) =>
    depth === 0 ? "bottom" : (await session.call("nested", { depth: depth - 1 })).text,
  );
  const library = await Library.open({ skills: [greet], tools: [wait, nested] });
  const session = await library.session();
  const slow = session.call("wait");
  await called.opened;
  const loads = Array.from({ length: 200 }, () => session.call("load_skill", { name: "greet" }));
  assert.deepEqual(new Set((await Promise.all(loads)).map((reply) => reply.data.name)), new Set(["greet"]));
  go.open();
  assert.equal((await slow).text, "done");
  assert.equal((await session.call("nested", { depth: 20 })).text, "bottom");
  await library.close();
});

test("an aborted call is cancelled, and its tool is told", options, async () => {
  const [called, told] = [gate(), gate()];
  const wait = tool("wait", (_, { signal }) => {
    signal.addEventListener("abort", told.open);
    called.open();
    return new Promise(() => {});
  });
  const library = await Library.open({ skills: [greet], tools: [wait] });
  const session = await library.session();
  const controller = new AbortController();
  const call = session.call("wait", {}, { signal: controller.signal });
  await called.opened;
  controller.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
  await told.opened;
  await assert.rejects(session.catalog({ signal: controller.signal }), /enough/);
  assert.match(await session.catalog(), /greet/);
  await library.close();
});
