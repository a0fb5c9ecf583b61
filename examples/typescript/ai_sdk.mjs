// An agent of the Vercel AI SDK. Usage: ai_sdk.mjs MODEL_URL SKILLS TASK; answer y if a skill may run.
import { createInterface } from "node:readline/promises";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { Library } from "repertoire-cli";

const [url, directory, task] = process.argv.slice(2);

async function approve({ skill }) {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`May ${skill} run? [y/N] `);
  terminal.close();
  return answer === "y";
}

const library = await Library.open({ directory, exec: true, approve });
try {
  const session = await library.session();
  const written = (await session.tools("openai-responses")).map(({ name, description, parameters }) => {
    const execute = async (args) => (await session.call(name, args)).text;
    return [name, tool({ description, inputSchema: jsonSchema(parameters), execute })];
  });
  const { text } = await generateText({
    model: createOpenAICompatible({ name: "local", baseURL: `${url}/v1`, apiKey: "none" })("scripted"),
    system: await session.catalog(),
    tools: Object.fromEntries(written),
    prompt: task,
    stopWhen: stepCountIs(8),
  });
  console.log(text);
} finally {
  await library.close();
}
