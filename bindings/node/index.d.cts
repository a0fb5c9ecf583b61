/**
 * Repertoire, the skills engine for AI agents, in Node.
 *
 * A {@link Library} is one process of the engine `rep`; nothing about skills is decided in JavaScript.
 * @packageDocumentation
 */

/** A JSON object. */
export type Json = Record<string, any>;

/** The shape of tools, by the API of the model that takes them. */
export type Format = "anthropic" | "openai" | "openai-responses" | "gemini" | "json-schema";
/** How tools write their answers. */
export type Render = "xml" | "json" | "text" | "markdown" | "body";
/** What a sub-agent inherits. */
export type Inherit = "none" | "catalog" | "active";
/** A file of a skill: its content, or a function that gives it and is called when the file is first read. */
export type Resource = string | Uint8Array | (() => string | Uint8Array | Promise<string | Uint8Array>);

/** What ends a call early: an aborted call is cancelled in the engine, too. */
export interface CallOptions {
  signal?: AbortSignal;
}

/** A request that was not answered. `kind` is a word of the protocol, such as `bad_request`. */
export class RepertoireError extends Error {
  readonly kind: string;
}
/** There is no engine: it was not found, it ended, or it was closed. */
export class EngineError extends RepertoireError {}
/** A tool of the session answered with an error, which is the message. */
export class ToolError extends RepertoireError {}

/** The answer of a tool: `text` for the model, `data` for the program. */
export interface Reply {
  text: string;
  isError: boolean;
  data: Json;
}

/** What to put back into the context after a compaction. */
export interface Reattached {
  text: string;
  tokens: number;
  pieces: { name: string; level: "body" | "essence" | "pointer" | "omitted"; tokens: number }[];
  metadata: { skillInjection: true; skillIds: string[] } | null;
}

/** A skill that a search found. */
export interface SearchResult {
  name: string;
  description: string;
  path: string;
  score: number;
  why: string;
  section: string | null;
  lines: [number, number] | null;
  tokens: number | null;
  loaded: boolean;
}

/** A question whether something of a skill may run. */
export interface ApprovalRequest {
  skill: string;
  source: string;
  directory: string;
  capabilities: string[];
  changedFiles: { new: string[]; changed: string[]; gone: string[] } | null;
  call: { tool: string; given: string } | null;
  onHost: boolean;
}

/** A change of the skills of a library. */
export interface Change {
  profile: string | null;
  snapshot: number;
  added: string[];
  removed: string[];
  changed: { name: string; aspects: string[] }[];
}

/** A tool of the program, which models call beside those of the library. */
export interface Tool {
  name: string;
  description: string;
  inputSchema: Json;
  /** Answers a call with a text, or with a value that becomes JSON. An error it throws is for the model to read. */
  run(args: any, options: { signal: AbortSignal }): unknown;
}

/** The fields of a skill defined in code. */
export interface SkillDefinition {
  name: string;
  description: string;
  body: string;
  resources?: Record<string, Resource>;
  /** Tools that can be called while the skill is loaded, and run in this program. */
  tools?: Tool[];
  license?: string;
  compatibility?: string;
  metadata?: Record<string, string>;
  allowedTools?: string[];
  version?: string;
  author?: string;
  triggerKeywords?: string[];
  tags?: string[];
  requires?: string[];
  paths?: string[];
  disableModelInvocation?: boolean;
}

/** A skill defined in code; {@link defineSkill} makes one. */
export interface Skill {
  readonly name: string;
  readonly greeting: Json;
  readonly resources: Record<string, Resource>;
  readonly handlers: Record<string, Tool["run"]>;
}

/**
 * Returns a skill for `Library.open({ skills: […] })`, which holds it to the open standard.
 *
 * @example
 * ```js
 * const skill = defineSkill({
 *   name: "greet",
 *   description: "Greets people. Use when someone says hello.",
 *   body: "# Greet\n",
 *   resources: { "references/tone.md": async () => "Be warm." },
 * });
 * await using library = await Library.open({ skills: [skill] });
 * const session = await library.session();
 * assert.equal(await session.read("greet", "references/tone.md"), "Be warm.");
 * ```
 */
export function defineSkill(definition: SkillDefinition): Skill;

/**
 * Returns a tool for `Library.open({ tools: […] })` or `defineSkill({ tools: […] })`.
 *
 * @example
 * ```js
 * const inputSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
 * const double = defineTool({ name: "double", description: "Doubles a number.", inputSchema, run: ({ n }) => 2 * n });
 * await using library = await Library.open({ tools: [double] });
 * const session = await library.session();
 * assert.equal((await session.call("double", { n: 21 })).text, "42");
 * ```
 */
export function defineTool(tool: Tool): Tool;

/** What a library is opened with. Without `directory`, `discover` and `config`, the skills are those defined in code. */
export interface LibraryOptions {
  /** One or several directories of skills. */
  directory?: string | string[];
  /** Finds skills as `rep` does in the working directory. */
  discover?: boolean;
  /** A `repertoire.toml`. */
  config?: string;
  profile?: string;
  skills?: Skill[];
  tools?: Tool[];
  /** Functions for tools that skills declare: by skill, by tool. */
  handlers?: Record<string, Record<string, Tool["run"]>>;
  /** Lets models run tools and scripts of approved skills in the sandbox. */
  exec?: boolean;
  /** Decides about skills that are not approved: `true` is for this time, `"always"` until they change. */
  approve?: (request: ApprovalRequest) => boolean | "always" | Promise<boolean | "always">;
  /** The working directory of the engine. */
  cwd?: string;
  /** Environment variables of the engine, beside those of this program. */
  env?: Record<string, string>;
}

/** What a session is opened with. */
export interface SessionOptions {
  agent?: string;
  role?: string;
  skills?: string[];
  profile?: string;
  render?: Render;
}

/**
 * Skills, and the engine that serves them: one process `rep session`, which ends with the library, or with this program.
 *
 * @example
 * ```js
 * await using library = await Library.open({ directory: "skills" });
 * const session = await library.session();
 * assert.match(await session.catalog(), /git/);
 * ```
 */
export class Library implements AsyncDisposable {
  private constructor();
  /** Starts the engine. */
  static open(options?: LibraryOptions): Promise<Library>;
  /** The versions of engine and protocol, and its features. */
  readonly engine: { protocol: number; version: string; features: string[] };
  /** The process id of the engine. */
  readonly pid: number;
  /** Opens a session: one agent's conversation. */
  session(options?: SessionOptions): Promise<Session>;
  /** Returns an iterator over the events of all sessions from now on. */
  events(): Promise<AsyncIterableIterator<Json>>;
  /** Returns an iterator over the changes of the skills from now on. */
  changes(): Promise<AsyncIterableIterator<Change>>;
  /** Ends the engine; calls that are not answered yet fail. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** One agent's conversation; {@link Library.session} opens one. */
export class Session implements AsyncDisposable {
  private constructor();
  /** The identifier that events name. */
  readonly id: string;
  /** Returns the catalog for the system prompt: the same text until it is refreshed. */
  catalog(options?: { task?: string; epoch?: number } & CallOptions): Promise<string>;
  /** Returns the system prompt of the agent or role, with the catalog in it. */
  prompt(options?: CallOptions): Promise<string>;
  /**
   * Returns the tools in the shape of an API.
   *
   * @example
   * ```js
   * await using library = await Library.open({ directory: "skills" });
   * const tools = await (await library.session()).tools("openai");
   * assert.deepEqual(tools.map((tool) => tool.function.name), ["load_skill", "read_skill_file"]);
   * ```
   */
  tools(format?: Format, options?: CallOptions): Promise<any[]>;
  /** Answers a call of a tool. An error of the call is a reply. */
  call(tool: string, args?: Json | string, options?: CallOptions): Promise<Reply>;
  /**
   * Answers a call as the model's API made it, with its result as the API takes it.
   *
   * @example
   * ```js
   * await using library = await Library.open({ directory: "skills" });
   * const session = await library.session();
   * const result = await session.handle({ type: "tool_use", id: "t1", name: "load_skill", input: { name: "git" } });
   * assert.equal(result.tool_use_id, "t1");
   * ```
   */
  handle(call: unknown, options?: CallOptions): Promise<any>;
  /**
   * Answers all calls in an answer of a model. Returns the messages to append; none if nothing was called.
   *
   * `response` is what the client library of Anthropic, OpenAI or Gemini returns.
   */
  handleAll(response: unknown, options?: CallOptions): Promise<any[]>;
  /** Takes the transcript for the truth about what is loaded, and returns the names of the loaded skills. */
  observe(messages: readonly unknown[], options?: CallOptions): Promise<string[]>;
  /** Says what a compaction left: names of skills, or the remaining messages. */
  compacted(kept?: readonly unknown[], options?: CallOptions): Promise<string[]>;
  /** Says that the host took a skill's instructions out of the transcript. */
  evicted(name: string, options?: CallOptions): Promise<string[]>;
  /** Returns what to put back after a compaction, within `budget` tokens. */
  reattach(budget: number, options?: CallOptions): Promise<Reattached>;
  /** Returns the note to append to the next user turn if the library changed, once per change; else nothing. */
  delta(options?: CallOptions): Promise<string>;
  /** Returns the note that offers the skills for these files, once for each skill; else nothing. */
  focus(paths: readonly string[], options?: CallOptions): Promise<string>;
  /** Writes the catalog anew from the library as it is now. */
  refresh(options?: CallOptions): Promise<string>;
  /** Says what the agent is doing by now, for events; an empty text ends the task. */
  workingOn(task: string, options?: CallOptions): Promise<void>;
  /** Returns what is known about the context. */
  state(options?: CallOptions): Promise<Json>;
  /** Returns what is wrong with the library. */
  diagnostics(options?: CallOptions): Promise<Json>;
  /** Returns the skills that a task needs, best first. */
  search(query: string, options?: { tag?: string; limit?: number } & CallOptions): Promise<SearchResult[]>;
  /** Returns the files of a skill. */
  files(skill: string, options?: { directory?: string } & CallOptions): Promise<Json[]>;
  /** Returns the text of a file of a skill, or some lines of it. */
  read(skill: string, path: string, options?: { startLine?: number; endLine?: number } & CallOptions): Promise<string>;
  /** Runs a script of a loaded skill in the sandbox; see `exec` and `approve` of {@link LibraryOptions}. */
  run(skill: string, path: string, args?: string[], options?: { stdin?: string } & CallOptions): Promise<Reply>;
  /** Proposes a change of a skill (`diff`) or a new one (`files`); a person decides. */
  propose(
    skill: string,
    proposal: { justification: string; evidence?: string; diff?: string; files?: Record<string, string> } & CallOptions,
  ): Promise<Reply>;
  /** Opens a session for a sub-agent. */
  subagent(options?: { agent?: string; inherit?: Inherit; skills?: string[] } & CallOptions): Promise<Session>;
  /** Returns an iterator over the events of this session and its sub-agents from now on. */
  events(): Promise<AsyncIterableIterator<Json>>;
  /** Forgets the session. A library that is closed has closed its sessions. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
