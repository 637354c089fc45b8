// Where the program is that serves hooks.

import { createRequire } from "node:module";

/** The program that npm installed for this platform. */
export function bundledProgram(): string | undefined {
  try {
    const name = `@hookwire/${process.platform}-${process.arch}/bin/hookwire`;
    return createRequire(import.meta.url).resolve(name);
  } catch {
    return undefined;
  }
}

/** HOOKWIRE, else the program that npm installed with this package, else the one on PATH. */
export function findProgram(): string {
  return process.env.HOOKWIRE || (bundledProgram() ?? "hookwire");
}
