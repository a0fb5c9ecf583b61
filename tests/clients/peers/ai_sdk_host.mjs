// The Vercel AI SDK with its MCP client. Usage: ai_sdk_host.mjs PACKAGES MODEL_URL TASK COMMAND [ARGUMENT…].
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [packages, url, task, command, ...args] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const load = name => import(pathToFileURL(require.resolve(name)).href);
const { generateText, stepCountIs } = await load('ai');
const { createMCPClient } = await load('@ai-sdk/mcp');
const { Experimental_StdioMCPTransport: StdioTransport } = await load('@ai-sdk/mcp/mcp-stdio');
const { createOpenAICompatible } = await load('@ai-sdk/openai-compatible');

const client = await createMCPClient({ transport: new StdioTransport({ command, args, stderr: 'ignore' }) });
try {
    const model = createOpenAICompatible({ name: 'local', baseURL: url, apiKey: 'none' })('scripted');
    const answer = await generateText({ model, tools: await client.tools(), prompt: task, stopWhen: stepCountIs(5) });
    console.log(answer.text);
} finally {
    await client.close();
}
