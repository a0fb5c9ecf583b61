// The package in a module of CommonJS, with its types both ways.
import { Library, type Session, defineSkill } from "repertoire-cli";
import repertoire = require("repertoire-cli");

async function load(directory: string, name: string): Promise<string> {
  const notes = defineSkill({ name: "notes", description: "Takes notes. Use when something is to be kept.", body: "# Notes\n" });
  const library: Library = await repertoire.Library.open({ directory, skills: [notes] });
  try {
    const session: Session = await library.session();
    const reply: repertoire.Reply = await session.call("load_skill", { name });
    if (reply.isError) throw new repertoire.ToolError(reply.text);
    return reply.text;
  } finally {
    await library.close();
  }
}

load(process.argv[2] ?? "skills", "git").then(console.log);
