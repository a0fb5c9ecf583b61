#!/usr/bin/env node
// Starts `rep`, which is in the package of this platform. Nothing is fetched here, and nothing runs at installation.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { dirname, join } = require("node:path");
const platforms = require("./platforms.json");

// Says what is wrong and ends.
function fail(message) {
  console.error(`error: ${message}`);
  process.exit(1);
}

// Only the C library of GNU tells its version.
function platform() {
  const { platform, arch } = process;
  if (platform !== "linux") return `${platform}-${arch}`;
  const { glibcVersionRuntime } = process.report.getReport().header;
  return `${platform}-${arch}-${glibcVersionRuntime ? "gnu" : "musl"}`;
}

function program() {
  const name = platform();
  if (!platforms[name]) {
    fail(`repertoire-cli has no program for ${name}; there are ${Object.keys(platforms).join(", ")}. With Rust, ` +
      "`cargo install --locked repertoire-cli` builds it");
  }
  const file = process.platform === "win32" ? "rep.exe" : "rep";
  const directory = `@repertoire-cli/${name}`;
  try {
    return join(dirname(require.resolve(`${directory}/package.json`)), "bin", file);
  } catch {
    fail(`the package ${directory} is missing, which has the program for this platform; install repertoire-cli ` +
      "again, without --omit=optional and without a lock file of another platform");
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`rep cannot be started: ${error.message}`));
// A client that ends this process means the program.
for (const signal of ["SIGHUP", "SIGTERM"]) process.on(signal, () => child.kill(signal));
// A terminal sends Ctrl-C to both, and a second one would end a change that has begun.
const hasTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
process.on("SIGINT", () => hasTerminal || child.kill("SIGINT"));
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
