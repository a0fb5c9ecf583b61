// Repertoire, the skills engine for AI agents, in Node: `index.d.cts` documents it.
// A library is one process of the engine `rep`; nothing about skills is decided here.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

/** The version of the protocol that this module speaks. */
const PROTOCOL = 1;
/** The milliseconds that the process has to end by itself. */
const END_TIMEOUT = 10_000;
/** The longest line that the engine reads, in bytes. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** The lines of standard error that an error about the end of the process shows. */
const KEPT_LINES = 20;
/** The notices that an iterator keeps until they are asked for; older ones give way. */
const KEPT_NOTICES = 10_000;

class RepertoireError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = new.target.name;
    this.kind = kind;
  }
}

class EngineError extends RepertoireError {
  constructor(message) {
    super("engine", message);
  }
}

class ToolError extends RepertoireError {
  constructor(message) {
    super("tool", message);
  }
}

/** Returns the program: `REPERTOIRE_BIN`, that of the package, or the first on `PATH`. */
function findBinary() {
  if (process.env.REPERTOIRE_BIN) return process.env.REPERTOIRE_BIN;
  const name = process.platform === "win32" ? "rep.exe" : "rep";
  const platform = `@repertoire-cli/${process.platform}-${process.arch}`;
  for (const libc of process.platform === "linux" ? ["-gnu", "-musl"] : [""]) {
    try {
      return path.join(path.dirname(require.resolve(`${platform}${libc}/package.json`)), "bin", name);
    } catch {
      // npm installs the one for this machine; without any the program comes from elsewhere.
    }
  }
  const directories = (process.env.PATH ?? "").split(path.delimiter);
  const found = directories.map((directory) => path.join(directory, name)).find((file) => fs.existsSync(file));
  if (found) return found;
  throw new EngineError("there is no program `rep`: install the package `repertoire-cli`, or set REPERTOIRE_BIN");
}

/** Returns `fields` as a line that the engine can read. What is not Unicode becomes U+FFFD. */
function lineOf(fields) {
  // JSON writes halves of pairs as escapes; a backslash before one is part of a text.
  const line = JSON.stringify(fields).replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd");
  const size = Buffer.byteLength(line) + 1;
  if (size <= MAX_LINE_BYTES) return `${line}\n`;
  throw new RepertoireError("malformed", `the engine reads at most ${MAX_LINE_BYTES} bytes at once, not ${size}`);
}

/** One process `rep session`. */
class Engine {
  #child;
  #host;
  #last = 0;
  #pending = new Map();
  #asked = new Map();
  #listeners = new Set();
  #failure;
  #said = [];
  #ended;

  constructor(args, host, { cwd, env }) {
    this.#host = host;
    const binary = findBinary();
    // A process group of its own keeps Ctrl-C away from it: this program decides what ends.
    this.#child = spawn(binary, args, {
      cwd,
      env: env ? { ...process.env, ...env } : process.env,
      detached: process.platform !== "win32",
      windowsHide: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#ended = new Promise((resolve) => {
      this.#child.on("error", (error) => {
        this.#fail(new EngineError(`cannot start ${binary}: ${error.message}`));
        resolve();
      });
      this.#child.on("close", (code, signal) => {
        const status = signal ? `signal ${signal}` : `status ${code}`;
        this.#fail(new EngineError([`the engine has ended, with ${status}`, ...this.#said].join("\n")));
        resolve();
      });
    });
    this.#child.stdin.on("error", () => {}); // It is gone, which `close` reports to everyone who waits.
    splitLines(this.#child.stdout, (line) => this.#read(line));
    splitLines(this.#child.stderr, (line) => {
      this.#said.push(line);
      if (this.#said.length > KEPT_LINES) this.#said.shift();
    });
    this.#child.stdin.unref?.();
    this.#child.stderr.unref?.();
    this.#hold();
  }

  get isOpen() {
    return this.#failure === undefined;
  }

  get pid() {
    return this.#child.pid;
  }

  /** Keeps the program running while something is waited for, and lets it end otherwise. */
  #hold() {
    const waits = this.#pending.size + this.#asked.size + this.#listeners.size > 0;
    for (const handle of [this.#child, this.#child.stdout]) handle[waits ? "ref" : "unref"]?.();
  }

  /** Sends a request and returns the promise of its answer. */
  request(fields, { signal } = {}) {
    return new Promise((resolve, reject) => {
      if (this.#failure) throw new EngineError(this.#failure.message);
      signal?.throwIfAborted();
      const id = ++this.#last;
      const line = lineOf({ id, ...fields });
      const abort = () => {
        this.#pending.delete(id);
        this.#hold();
        if (this.isOpen) this.request({ op: "cancel", request: id }).catch(() => {});
        reject(signal.reason);
      };
      signal?.addEventListener("abort", abort, { once: true });
      const settle = () => signal?.removeEventListener("abort", abort);
      this.#pending.set(id, { resolve, reject, settle });
      this.#hold();
      this.#child.stdin.write(line);
    });
  }

  #read(text) {
    try {
      this.#take(JSON.parse(text));
    } catch (error) {
      this.#said.push(`a line could not be read: ${error.message}`);
      this.#child.kill("SIGKILL");
    }
  }

  #take(line) {
    if ("ok" in line) {
      const waiting = this.#pending.get(line.id);
      if (!waiting) return;
      this.#pending.delete(line.id);
      waiting.settle();
      if (line.ok) waiting.resolve(line);
      else waiting.reject(new RepertoireError(line.error.kind, line.error.message));
      this.#hold();
    } else if (line.notice === "withdrawn") {
      this.#asked.get(line.request)?.abort();
    } else if ("notice" in line) {
      for (const listener of [...this.#listeners]) listener(line);
    } else if ("request" in line) {
      this.#answer(line);
    }
  }

  /** Does what the engine asks for. */
  async #answer({ request, op, ...fields }) {
    const withdrawn = new AbortController();
    this.#asked.set(request, withdrawn);
    this.#hold();
    let answer;
    try {
      const value = await this.#host(op, fields, withdrawn.signal);
      answer = lineOf({ op: "answer", request, ...answerOf(op, value) });
    } catch (error) {
      const failure = { kind: String(error?.name ?? "Error"), message: String(error?.message ?? error) };
      answer = lineOf({ op: "answer", request, error: failure });
    }
    this.#asked.delete(request);
    this.#hold();
    if (!withdrawn.signal.aborted) this.#child.stdin.write(answer);
  }

  /** Calls `listener` with every notice, and with nothing at the end. Returns what ends that. */
  listen(listener) {
    if (!this.isOpen) {
      listener();
      return () => {};
    }
    this.#listeners.add(listener);
    this.#hold();
    return () => {
      this.#listeners.delete(listener);
      this.#hold();
    };
  }

  #fail(failure) {
    this.#failure ??= failure;
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject, settle } of waiting) {
      settle();
      reject(new EngineError(this.#failure.message));
    }
    for (const controller of this.#asked.values()) controller.abort();
    for (const listener of [...this.#listeners]) listener();
    this.#listeners.clear();
    this.#hold();
  }

  /** Ends the process; requests that are not answered yet fail. A second call waits for the same. */
  async close() {
    if (this.isOpen) {
      this.#fail(new EngineError("the library is closed"));
      this.#child.stdin.end('{"op":"end"}\n');
    }
    this.#child.ref();
    this.#child.stdout.ref?.();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), END_TIMEOUT);
    await this.#ended;
    clearTimeout(timer);
  }
}

/** Calls `take` with each line of `stream`, whatever its length. */
function splitLines(stream, take) {
  let parts = [];
  stream.setEncoding("utf8");
  stream.on("data", (chunk) => {
    const lines = chunk.split("\n");
    if (lines.length > 1) {
      parts.push(lines[0]);
      const first = parts.join("");
      parts = [];
      take(first);
      lines.slice(1, -1).forEach(take);
    }
    parts.push(lines.at(-1));
  });
}

/** Returns the fields of the answer to a request of the engine that gave `value`. */
function answerOf(op, value) {
  if (op === "approve") {
    if (typeof value === "string") return { verdict: value };
    return { verdict: value === true ? "once" : value === false ? "refused" : "unasked" };
  }
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString("base64") };
  return { text: typeof value === "string" ? value : JSON.stringify(value ?? null) };
}

/** Returns what the engine is started with, and what answers its requests. */
function opening(options) {
  const { directory, discover, config, profile, skills = [], tools = [], handlers = {}, exec, approve } = options;
  const directories = directory === undefined ? [] : [directory].flat();
  const args = ["session", ...directories.flatMap((root) => ["--root", String(root)])];
  if (config !== undefined) args.push("--config", String(config));
  if (profile !== undefined) args.push("--profile", profile);
  if (exec) args.push("--exec");
  const functions = new Map();
  const add = (skill, tool, run) => functions.set(JSON.stringify([skill, tool]), { skill, tool, run });
  for (const { name, handlers: own } of skills) for (const [tool, run] of Object.entries(own)) add(name, tool, run);
  for (const [skill, own] of Object.entries(handlers)) for (const [tool, run] of Object.entries(own)) add(skill, tool, run);
  const hello = {
    directories: directories.length > 0 || Boolean(discover) || config !== undefined,
    approvals: approve !== undefined,
    skills: skills.map((skill) => skill.greeting),
    tools: tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
    handlers: [...functions.values()].map(({ skill, tool }) => ({ skill, tool })),
  };
  const host = (op, { skill, tool, path: file, arguments: args, ...more }, signal) => {
    if (op === "call_tool") return tools.find(({ name }) => name === tool).run(args, { signal });
    if (op === "call_skill_tool") return functions.get(JSON.stringify([skill, tool])).run(args, { signal });
    if (op === "read_file") return skills.find(({ name }) => name === skill).resources[file]();
    if (op === "approve" && approve) {
      const { changed_files: changedFiles, on_host: onHost, ...rest } = more;
      return approve({ skill, changedFiles, onHost, ...rest });
    }
    throw new Error(`this program does not know the request \`${op}\``);
  };
  return { args, hello, host };
}

function defineSkill({ name, description, body, resources = {}, tools = [], ...fields }) {
  const files = { ...resources };
  if (tools.length > 0) {
    const schemas = tools.map((tool) => ({ name: tool.name, description: tool.description, parameters: tool.inputSchema }));
    files["schema.json"] = JSON.stringify(schemas);
  }
  const written = (file) => {
    if (file instanceof Uint8Array) return { base64: Buffer.from(file).toString("base64") };
    return typeof file === "function" ? { lazy: true } : file;
  };
  const { allowedTools, triggerKeywords, disableModelInvocation, ...same } = fields;
  const frontmatter = {
    name,
    description,
    ...same,
    ...(allowedTools && { "allowed-tools": allowedTools.join(" ") }),
    ...(triggerKeywords && { trigger_keywords: triggerKeywords }),
    ...(disableModelInvocation && { "disable-model-invocation": true }),
  };
  const greeting = { frontmatter, body };
  greeting.resources = Object.fromEntries(Object.entries(files).map(([file, it]) => [file, written(it)]));
  const handlers = Object.fromEntries(tools.map((tool) => [tool.name, tool.run]));
  return { name, greeting, resources: files, handlers };
}

function defineTool(tool) {
  return tool;
}

/** Notices of the engine, from now on. */
class Notices {
  #kept = [];
  #waiting = [];
  #hasEnded = false;
  #leave;

  constructor(engine, read) {
    this.#leave = engine.listen((notice) => {
      const found = notice && read(notice);
      if (found) {
        if (this.#waiting.length > 0) this.#waiting.shift()({ done: false, value: found });
        else if (this.#kept.push(found) > KEPT_NOTICES) this.#kept.shift();
      } else if (!notice) {
        this.#end();
      }
    });
  }

  #end() {
    this.#hasEnded = true;
    for (const resolve of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
  }

  async next() {
    if (this.#kept.length > 0) return { done: false, value: this.#kept.shift() };
    if (this.#hasEnded) return { done: true, value: undefined };
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async return() {
    this.#leave?.();
    this.#kept = [];
    this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}

const eventsOf = (session) => (notice) => {
  const name = notice.event?.session ?? "";
  return notice.event && (session === undefined || `${name}.`.startsWith(`${session}.`)) ? notice.event : undefined;
};

class Library {
  #engine;

  static async open(options = {}) {
    const library = new Library();
    const { args, hello, host } = opening(options);
    library.#engine = new Engine(args, host, options);
    try {
      library.engine = await library.#engine.request({ op: "hello", protocol: PROTOCOL, ...hello });
    } catch (error) {
      await library.close();
      throw error;
    }
    return library;
  }

  get pid() {
    return this.#engine.pid;
  }

  async session(options = {}) {
    const { agent, role, skills, profile, render } = options;
    const { session } = await this.#engine.request({ op: "open", agent, role, skills, profile, render });
    return new Session(this.#engine, session);
  }

  async events() {
    await this.#engine.request({ op: "subscribe", events: true });
    return new Notices(this.#engine, eventsOf());
  }

  async changes() {
    await this.#engine.request({ op: "subscribe", changes: true });
    return new Notices(this.#engine, (notice) => (notice.notice === "change" ? notice : undefined));
  }

  close() {
    return this.#engine.close();
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }
}

class Session {
  #engine;

  constructor(engine, id) {
    this.#engine = engine;
    this.id = id;
  }

  async #ask(op, key, fields, options) {
    const answer = await this.#engine.request({ op, session: this.id, ...fields }, options);
    return key === undefined ? answer : answer[key];
  }

  async #data(tool, args, options) {
    const reply = await this.call(tool, args, options);
    if (reply.isError) throw new ToolError(reply.text);
    return reply.data;
  }

  static {
    // The methods that are one request: its name, what is returned of the answer, and the field that their argument is.
    const requests = {
      prompt: ["prompt", "text"],
      delta: ["delta", "text"],
      refresh: ["refresh", "text"],
      state: ["state"],
      diagnostics: ["diagnostics"],
      tools: ["tools", "tools", "format", "anthropic"],
      handle: ["handle", "result", "call"],
      handleAll: ["handle_all", "messages", "response"],
      observe: ["observe", "loaded", "messages"],
      compacted: ["compacted", "loaded", "kept", []],
      evicted: ["evicted", "loaded", "name"],
      focus: ["focus", "text", "paths"],
    };
    for (const [name, [op, key, field, usual]] of Object.entries(requests)) {
      Session.prototype[name] = field
        ? function (value = usual, options) { return this.#ask(op, key, { [field]: value }, options); }
        : function (options) { return this.#ask(op, key, {}, options); };
    }
  }

  catalog({ task, epoch, signal } = {}) {
    return this.#ask("catalog", "text", { task, epoch }, { signal });
  }

  async call(tool, args = {}, options) {
    const { text, is_error, data } = await this.#ask("call", undefined, { tool, arguments: args }, options);
    return { text, isError: is_error, data };
  }

  async reattach(budget, options) {
    const { text, tokens, pieces, metadata } = await this.#ask("reattach", undefined, { budget }, options);
    return { text, tokens, pieces, metadata };
  }

  async workingOn(task, options) {
    await this.#ask("task", undefined, { task }, options);
  }

  async search(query, { tag, limit, signal } = {}) {
    return (await this.#data("search_skills", { query, tag, limit }, { signal })).results;
  }

  async files(skill, { directory, signal } = {}) {
    return (await this.#data("list_skill_files", { skill, directory }, { signal })).files;
  }

  async read(skill, file, { startLine, endLine, signal } = {}) {
    let text = "";
    for (let line = startLine; ; ) {
      const range = { start_line: line, end_line: endLine };
      const found = await this.#data("read_skill_file", { skill, path: file, ...range }, { signal });
      text += found.content;
      line = found.next_line;
      if (line === null || (endLine !== undefined && line > endLine)) return text;
    }
  }

  run(skill, file, args = [], { stdin, signal } = {}) {
    return this.call("run_skill_script", { skill, path: file, args, stdin }, { signal });
  }

  async propose(skill, { justification, diff, files, evidence, signal }) {
    if ((diff === undefined) === (files === undefined)) {
      throw new RepertoireError("bad_request", "a change is proposed with `diff`, a new skill with `files`");
    }
    const [tool, args] =
      files === undefined ? ["propose_skill_update", { skill_id: skill, diff }] : ["propose_skill", { name: skill, files }];
    const reply = await this.call(tool, { ...args, justification, evidence }, { signal });
    if (reply.isError) throw new ToolError(reply.text);
    return reply;
  }

  async subagent({ agent, inherit, skills, signal } = {}) {
    const id = await this.#ask("subagent", "session", { agent, inherit, skills }, { signal });
    return new Session(this.#engine, id);
  }

  async events() {
    await this.#engine.request({ op: "subscribe", events: true });
    return new Notices(this.#engine, eventsOf(this.id));
  }

  async close() {
    if (this.#engine.isOpen) await this.#ask("close");
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }
}

module.exports = { EngineError, Library, RepertoireError, Session, ToolError, defineSkill, defineTool };
