#!/usr/bin/env node
// `npx hookwire`: the program that npm installed for this platform.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { bundledProgram } from "./program.ts";
import { VERSION } from "./protocol.ts";

// Not the one on PATH, which may be this file.
const program = process.env.HOOKWIRE || bundledProgram();
if (!program) {
  console.error(`hookwire: npm has no program for ${process.platform} on ${process.arch}; HOOKWIRE may name one`);
  process.exit(2);
}
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
// For `hookwire doctor --versions`.
const env = { ...process.env, HOOKWIRE_CLIENT: `Node ${version} ${VERSION}` };
const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit", env });
if (error) console.error(`hookwire: ${error.message}`);
if (signal) process.kill(process.pid, signal);
process.exit(status ?? 2);
