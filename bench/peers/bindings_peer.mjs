// Measures `repertoire-cli` or Mastra: bindings_peer.mjs PACKAGE LIBRARY start|loads. PACKAGE is the module, or the directory that
// Mastra is installed in. What is measured is what bindings_peer.py measures. Prints one JSON object.

import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

// What every skill of a made-up library says.
const PHRASE = 'Read [the guide]';

const [source, directory, part] = process.argv.slice(2);
const names = fs.readdirSync(directory).sort();
const name = names[Math.floor(names.length / 2)];
const expect = (text) => {
  if (!text.includes(PHRASE)) throw new Error(`what was loaded is not a skill: ${text.slice(0, 200)}`);
};

/** Returns the private memory of this process and of those that it started. */
function memoryMB() {
  const tasks = fs.readdirSync('/proc/self/task').map((task) => fs.readFileSync(`/proc/self/task/${task}/children`, 'utf8'));
  let total = 0;
  for (const pid of ['self', ...tasks.join(' ').split(/\s+/).filter(Boolean)]) {
    for (const [, size] of fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+: +(\d+)/gm)) total += Number(size);
  }
  return total / 1024;
}

async function repertoire() {
  let start = performance.now();
  const { Library } = await import(source);
  const imported = performance.now() - start;
  start = performance.now();
  const library = await Library.open({ directory });
  const session = await library.session();
  const catalog = await session.catalog();
  await session.tools();
  const shown = performance.now() - start;
  start = performance.now();
  const { text } = await session.call('load_skill', { name });
  const loaded = performance.now() - start;
  expect(text);
  const memory = memoryMB();
  await library.close();
  return [catalog, imported, shown, loaded, memory];
}

async function mastra() {
  let start = performance.now();
  const require = createRequire(path.join(path.resolve(source), 'package.json'));
  const { Workspace, LocalFilesystem } = require('@mastra/core/workspace');
  const imported = performance.now() - start;
  start = performance.now();
  const filesystem = new LocalFilesystem({ basePath: path.resolve(directory), readOnly: true });
  const workspace = new Workspace({ filesystem, skills: ['.'] });
  const catalog = JSON.stringify(await workspace.skills.list());
  const shown = performance.now() - start;
  start = performance.now();
  const skill = await workspace.skills.get(name);
  const loaded = performance.now() - start;
  expect(skill.instructions);
  return [catalog, imported, shown, loaded, memoryMB()];
}

async function loads() {
  const { Library } = await import(source);
  const library = await Library.open({ directory });
  const session = await library.session();
  // The first call finds the library read.
  await session.catalog();
  const took = [];
  for (const name of names) {
    const start = performance.now();
    const { text } = await session.call('load_skill', { name, force: true });
    took.push((performance.now() - start) * 1e3);
    expect(text);
  }
  const [events, inside] = [await session.events(), []];
  for (const name of names) {
    await session.call('load_skill', { name, force: true });
    inside.push((await events.next()).value.duration * 1e6);
  }
  await library.close();
  const at = (list, share) => list.sort((a, b) => a - b)[Math.floor(list.length * share)];
  return { p50_us: at(took, 0.5), p99_us: at(took, 0.99), engine_us: at(inside, 0.5) };
}

if (part === 'loads') {
  console.log(JSON.stringify(await loads()));
} else {
  const [catalog, import_ms, catalog_ms, load_ms, memory_mb] = await (source.endsWith('.js') ? repertoire : mastra)();
  const missing = names.filter((name) => !catalog.includes(name));
  if (missing.length > 0) throw new Error(`${missing.slice(0, 3)} are not in the catalog: ${catalog.slice(0, 500)}`);
  console.log(JSON.stringify({ import_ms, catalog_ms, load_ms, memory_mb }));
}
