// A library with use, versions and proposals, and a dashboard over it.

import { spawn, execFileSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const HOSTILE = `"><img src=x onerror=window.hacked=1><script>window.hacked=1</script>`;

export class World {
  constructor(rep, skills) {
    this.rep = rep;
    this.root = realpathSync(mkdtempSync(join(tmpdir(), "rep-browser-")));
    this.skills = join(this.root, "project/.agents/skills");
    mkdirSync(this.skills, { recursive: true });
    if (skills) cpSync(skills, this.skills, { recursive: true });
    this.env = {
      PATH: process.env.PATH, USER: "ada", HOME: join(this.root, "home"),
      REPERTOIRE_STATE_DIR: join(this.root, "state"), REPERTOIRE_CACHE_DIR: join(this.root, "cache"),
    };
    mkdirSync(this.env.HOME);
  }

  path(relative) { return join(this.skills, relative); }
  read(relative) { return readFileSync(this.path(relative), "utf8"); }

  write(relative, text) {
    mkdirSync(join(this.path(relative), ".."), { recursive: true });
    writeFileSync(this.path(relative), text);
  }

  skill(name, description, body) {
    this.write(`${name}/SKILL.md`, `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n${body}`);
  }

  run(...args) {
    return execFileSync(this.rep, args, { cwd: join(this.root, "project"), env: this.env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  load(name) { this.run("call", "load_skill", JSON.stringify({ name })); }

  // Proposes to put `line` behind the first heading of the skill. Returns the number.
  propose(name, line, why) {
    const text = this.read(`${name}/SKILL.md`).split("\n");
    const at = text.findIndex((row) => row.startsWith("# "));
    const diff = `--- a/SKILL.md\n+++ b/SKILL.md\n@@ -${at + 1},1 +${at + 1},3 @@\n ${text[at]}\n+\n+${line}\n`;
    writeFileSync(join(this.root, "change.diff"), diff);
    const out = this.run("proposal", "new", name, "--diff", join(this.root, "change.diff"), "--why", why, "--evidence", `it failed: ${HOSTILE}`, "--json");
    return JSON.parse(out).id;
  }

  // Starts a dashboard, and returns the address that opens it.
  start(...options) { return this.spawn(["dashboard", "--no-open", ...options]); }

  // Starts a server that needs tokens, and returns its address.
  serve(...options) { return this.spawn(["serve", "--http", "0", "--require-token", ...options]); }

  spawn(command) {
    const child = spawn(this.rep, command, { cwd: join(this.root, "project"), env: this.env, stdio: ["ignore", "pipe", "pipe"] });
    this.children = [...(this.children ?? []), child];
    return new Promise((resolve, reject) => {
      child.on("exit", (code) => reject(new Error(`rep ${command[0]} ended with ${code}`)));
      const read = (line) => {
        const found = /http:\/\/\S+/.exec(line);
        if (found) resolve(found[0]);
      };
      createInterface(child.stdout).on("line", read);
      createInterface(child.stderr).on("line", (line) => { console.error(line); read(line); });
    });
  }

  // Ends all servers, which may write until they are gone, and removes everything.
  async end() {
    const running = (this.children ?? []).filter((child) => child.exitCode === null && child.signalCode === null);
    await Promise.all(running.map((child) => {
      child.kill("SIGTERM");
      return once(child, "exit");
    }));
    rmSync(this.root, { recursive: true, force: true });
  }
}
