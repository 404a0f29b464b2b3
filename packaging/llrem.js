#!/usr/bin/env node
// Starts the program of the package for this platform.
"use strict";

const { spawnSync } = require("node:child_process");
const { constants } = require("node:os");

const name = `llrem-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "llrem.exe" : "llrem";
let program;
try {
  program = require.resolve(`${name}/${file}`);
} catch {
  console.error(`llrem: the package ${name} is not installed; if it exists for this platform, npm was told to leave out optional packages`);
  process.exit(1);
}
// The program handles Ctrl-C itself, and this process waits for it.
process.on("SIGINT", () => {});
const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`llrem: ${error.message}`);
  process.exit(1);
}
process.exit(status ?? 128 + (constants.signals[signal] ?? 0));
