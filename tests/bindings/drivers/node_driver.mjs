// Answers the lines of `rep session` with the methods of the Node package.
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { EngineError, Library, RepertoireError } from "../../../bindings/node/index.js";

const option = { type: "string" };
const { values } = parseArgs({ options: { root: option, config: option, profile: option, role: option, render: option } });
const { root, config, profile, role, render } = values;

// Returns the answer, or nothing for a request that the package has no method for.
async function answer(sessions, { op, session: id = "", ...request }) {
  const session = sessions.get(id);
  switch (op) {
    case "call": {
      const { text, isError, data } = await session.call(request.tool, request.arguments);
      return { text, is_error: isError, data };
    }
    case "catalog":
    case "prompt":
    case "delta":
    case "refresh":
      return { text: await session[op](request) };
    case "observe":
    case "compacted":
      return { loaded: await session[op](Object.values(request)[0]) };
    case "reattach":
      return session.reattach(request.budget);
    case "state":
      return session.state();
    case "task":
      await session.workingOn(request.task);
      return {};
    case "tools":
      return "schema_key" in request ? undefined : { tools: await session.tools() };
    case "subagent": {
      const child = await session.subagent(request);
      sessions.set(child.id, child);
      return { session: child.id };
    }
  }
}

try {
  const library = await Library.open({ directory: root, config, profile, discover: !(root || config) });
  const sessions = new Map([["", await library.session({ role, render })]]);
  for await (const line of createInterface({ input: process.stdin })) {
    let reply;
    try {
      const found = await answer(sessions, JSON.parse(line));
      reply = found ? { ok: true, ...found } : { unsupported: true };
    } catch (error) {
      if (!(error instanceof RepertoireError)) throw error;
      reply = { ok: false, error: { kind: error.kind, message: error.message } };
    }
    console.log(JSON.stringify(reply));
  }
  await library.close();
} catch (error) {
  if (!(error instanceof EngineError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
