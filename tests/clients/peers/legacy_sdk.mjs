// The first TypeScript SDK, which many clients are still built on: tools, prompts, resources, notifications, roots.
//
// Usage: legacy_sdk.mjs PACKAGES TARGET [ARGUMENT…], where TARGET is a URL or the command of a server.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [packages, target, ...args] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const load = name => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}.js`)).href);
const { Client } = await load('client/index');
const { StdioClientTransport } = await load('client/stdio');
const { StreamableHTTPClientTransport } = await load('client/streamableHttp');
const { ListRootsRequestSchema } = await load('types');

const transport = args.length
    ? new StdioClientTransport({ command: target, args, stderr: 'ignore' })
    : new StreamableHTTPClientTransport(new URL(target));
const client = new Client({ name: 'tests', version: '0' }, { capabilities: { roots: {} } });
const root = mkdtempSync('root-');
writeFileSync(`${root}/CHANGES.md`, '# Changes\n');
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: pathToFileURL(root).href }] }));
await client.connect(transport);
try {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(tool => tool.name), ['load_skill', 'read_skill_file']);
    assert(client.getInstructions().includes('`load_skill` lists the skills'));
    const { prompts } = await client.listPrompts();
    assert.equal(prompts.length, 3);
    const result = await client.callTool({ name: 'load_skill', arguments: { name: 'csv-report' } });
    // The roots are asked for over pipes alone.
    assert.equal(result.content[1]?.text.includes('<skills_for_files>\n- release-notes: '), args.length ? true : undefined);
    assert(result.content[0].text.includes('# CSV report\n\nBegin the answer') && !result.structuredContent);
    const { resources } = await client.listResources();
    assert.equal(resources.length, 3);
    const { contents } = await client.readResource({ uri: 'skill://csv-report/assets/dot.png' });
    assert.equal(Buffer.from(contents[0].blob, 'base64').subarray(1, 4).toString(), 'PNG');
    await client.ping();
    const version = transport.protocolVersion ?? '2025-11-25';
    console.log(`${version}: ${tools.length} tools, ${prompts.length} prompts, ${resources.length} resources`);
} finally {
    await client.close();
    rmSync(root, { recursive: true });
}
