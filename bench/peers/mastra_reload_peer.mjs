// Measures how Mastra sees changes: mastra_reload_peer.mjs DIRECTORY LIBRARY, where DIRECTORY is the one it is installed in.
//
// Left alone, it looks for changes every 30 s at most, when it is used. What is measured is a change and the `refresh()`
// and `list()` that show it. What is changed is put back. Prints percentiles as JSON lines, like the programs in Rust.

import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

// How many changes are made, and for how long at most.
const CHANGES = 60;
const PATIENCE_MS = 15_000;

const [directory, library] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(directory), 'package.json'));
const { Workspace, LocalFilesystem } = require('@mastra/core/workspace');

const names = fs.readdirSync(library).sort();
const originals = new Map();
let made = 0;

/** Returns the name of a skill, what its description must hold afterwards (null: it is gone), and what to do. */
function next() {
  const number = made++;
  const model = names[(number * 7_919) % names.length];
  const file = path.join(library, model, 'SKILL.md');
  const text = fs.readFileSync(file, 'utf8');
  const note = `No. ${number}. `;
  const described = text.replace('description: ', `description: ${note}`);
  const added = `added-skill-${String(Math.floor(number / 3)).padStart(5, '0')}`;
  const place = path.join(library, added);
  if (number % 3 === 0) {
    if (!originals.has(file)) originals.set(file, text);
    return [model, note, () => fs.writeFileSync(file, described)];
  }
  if (number % 3 === 1) {
    const make = () => {
      fs.mkdirSync(place);
      fs.writeFileSync(path.join(place, 'SKILL.md'), described.replace(model, added));
    };
    return [added, note, make];
  }
  return [added, null, () => fs.rmSync(place, { recursive: true })];
}

function undo() {
  for (const [file, text] of originals) fs.writeFileSync(file, text);
  for (let number = 0; number <= made / 3; number++) {
    const added = `added-skill-${String(number).padStart(5, '0')}`;
    fs.rmSync(path.join(library, added), { recursive: true, force: true });
  }
}

const took = [];
let cpu = 0;
try {
  const filesystem = new LocalFilesystem({ basePath: path.resolve(library), readOnly: true });
  const workspace = new Workspace({ filesystem, skills: ['.'], checkSkillFileMtime: true });
  await workspace.skills.list();
  const used = process.cpuUsage();
  while (took.length < CHANGES && took.reduce((sum, each) => sum + each, 0) < PATIENCE_MS) {
    const [name, note, make] = next();
    const start = performance.now();
    make();
    await workspace.skills.refresh();
    const found = (await workspace.skills.list()).find((skill) => skill.name === name);
    took.push(performance.now() - start);
    if (Boolean(found) !== (note !== null) || (found && !found.description.includes(note))) {
      throw new Error(`the change of ${name} is not seen: ${JSON.stringify(found)}`);
    }
  }
  const { user, system } = process.cpuUsage(used);
  cpu = (user + system) / 1e3 / took.length;
} finally {
  undo();
}
took.sort((a, b) => a - b);
for (const percent of [50, 99]) {
  const wall = took[Math.floor(((took.length - 1) * percent) / 100)];
  console.log(JSON.stringify({ operation: `asked p${percent}`, calls: took.length, wall_ms: [wall], cpu_ms: [cpu] }));
}
console.log(JSON.stringify({ gauge: 'resident MB', value: process.memoryUsage.rss() / 1024 / 1024 }));
