// `SkillsClient` of the TypeScript SDK: lists, gets and reads every skill, and verifies size, digest and frontmatter.
//
// Usage: typescript_client.mjs PACKAGES MODE TARGET [ARGUMENT…], where TARGET is a URL or the command of a server.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [packages, mode, target, ...args] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const load = name => import(pathToFileURL(require.resolve(name)).href);
const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');
const { SkillsClient } = await load('@modelcontextprotocol/client/ext/skills');

const transport = args.length
    ? new StdioClientTransport({ command: target, args, stderr: 'ignore' })
    : new StreamableHTTPClientTransport(new URL(target));
const versionNegotiation = { mode: mode === 'legacy' ? 'legacy' : { pin: mode } };
const client = new Client({ name: 'tests', version: '0' }, { versionNegotiation });
await client.connect(transport);
try {
    const skills = new SkillsClient(client);
    assert(skills.supported && skills.directoryRead);
    const { skills: entries } = await skills.list();
    assert.deepEqual(entries.map(entry => entry.frontmatter.name), ['csv-report', 'pdf-forms', 'release-notes']);
    let files = 0;
    for (const entry of entries) {
        const { skill } = await skills.get(entry.uri);
        assert.deepEqual(skill, entry);
        for (const { uri } of entry.resources) {
            const file = await skills.read(entry, uri);
            assert(file.verified, uri);
            files += 1;
        }
        assert((await skills.read(entry)).body.trim().startsWith('#'));
    }
    assert.equal(files, 7);
    const { resources } = await skills.readDirectory('skill://csv-report');
    assert.deepEqual(resources.map(child => child.mimeType).sort(), ['inode/directory', 'inode/directory', 'inode/directory', 'text/markdown']);
    await assert.rejects(skills.get('skill://no-such-skill/SKILL.md'), error => error.code === -32602);
    const result = await client.callTool({ name: 'load_skill', arguments: { name: 'csv-report' } });
    assert(result.content[0].text.includes('# CSV report\n\nBegin the answer'));
    console.log(`${mode}: ${entries.length} skills, ${files} files verified, a directory read`);
} finally {
    await client.close();
}
