#!/usr/bin/env node
// `npx hookwire`: the program that npm installed for this platform.

import { spawnSync } from "node:child_process";
import { bundledProgram } from "./program.ts";

// Not the one on PATH, which may be this file.
const program = process.env.HOOKWIRE || bundledProgram();
if (!program) {
  console.error(`hookwire: npm has no program for ${process.platform} on ${process.arch}; HOOKWIRE may name one`);
  process.exit(2);
}
const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) console.error(`hookwire: ${error.message}`);
if (signal) process.kill(process.pid, signal);
process.exit(status ?? 2);
