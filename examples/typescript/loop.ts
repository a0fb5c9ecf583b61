// An agent loop without a framework, with types: the model is any function from messages and tools to a message.
import {
  type ApprovalRequest, Library, type Reply, RepertoireError, type SearchResult, type Session, defineSkill, defineTool,
} from "repertoire-cli";

type Message = { role: "user" | "assistant"; content: string | Record<string, unknown>[] };
type Model = (system: string, messages: Message[], tools: { name: string }[]) => Promise<Message>;

/** Returns the conversation of a model with the tools of a session. */
async function converse(session: Session, model: Model, task: string): Promise<Message[]> {
  const messages: Message[] = [{ role: "user", content: task }];
  let results: Message[];
  do {
    const answer = await model(await session.catalog(), messages, await session.tools("anthropic"));
    results = await session.handleAll(answer);
    messages.push(answer, ...results);
  } while (results.length > 0);
  return messages;
}

/** Returns a model that loads the skill that fits best, and is done. */
async function loadsTheBest(task: string, session: Session): Promise<Model> {
  const [best]: SearchResult[] = await session.search(task, { limit: 1 });
  return async (_system, messages) => {
    if (messages.length > 1 || !best) return { role: "assistant", content: [{ type: "text", text: "Done." }] };
    const call = { type: "tool_use", id: "1", name: "load_skill", input: { name: best.name } };
    return { role: "assistant", content: [call] };
  };
}

const approve = ({ skill }: ApprovalRequest): boolean => skill === "docs";
const today = defineTool({
  name: "today",
  description: "Tells the date.",
  inputSchema: { type: "object", properties: {} },
  run: () => "1970-01-01",
});
const notes = defineSkill({
  name: "notes",
  description: "Takes notes. Use when something is to be kept.",
  body: "# Notes\n",
  resources: { "a.md": async () => "A\n" },
});

const [directory = "skills", task = "commit my changes"] = process.argv.slice(2);
await using library = await Library.open({ directory, skills: [notes], tools: [today], exec: true, approve });
await using session = await library.session();
for (const message of await converse(session, await loadsTheBest(task, session), task)) {
  console.log(message.role, message.content);
}
try {
  const reply: Reply = await session.call("today", {}, { signal: AbortSignal.timeout(10_000) });
  console.log(reply.text, await session.read("notes", "a.md"));
} catch (error) {
  if (error instanceof RepertoireError) console.error(error.kind, error.message);
}
