// Which `hookwire` is started. Knows nothing of the editor.

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";

/** Where a server was found: by the setting, in the extension, on `PATH`. */
export type Source = "setting" | "bundled" | "PATH";

export interface Found {
  path: string;
  source: Source;
}

/** Why there is no server; `message` is for people. */
export class NoServer extends Error {}

export interface Places {
  /** The setting; empty where nobody says. */
  setting: string;
  /** The directory of the extension. */
  extension: string;
  /** The value of `PATH`. */
  path: string;
}

/** The setting, then what the extension brings, then `PATH`. What is set is never replaced by another. */
export async function find({ setting, extension, path }: Places): Promise<Found> {
  if (setting !== "") {
    const chosen = setting.replace(/^~(?=\/)/, homedir());
    if (!isAbsolute(chosen)) throw new NoServer(`"hookwire.server.path" is not an absolute path: ${setting}`);
    if (!(await isProgram(chosen))) throw new NoServer(`"hookwire.server.path" is no program: ${setting}`);
    return { path: chosen, source: "setting" };
  }
  const bundled = join(extension, "server", "hookwire");
  if (await isProgram(bundled)) return { path: bundled, source: "bundled" };
  // A relative directory on PATH would be one of the folder that is open, whoever wrote it.
  for (const directory of path.split(delimiter).filter(isAbsolute)) {
    const candidate = join(directory, "hookwire");
    if (await isProgram(candidate)) return { path: candidate, source: "PATH" };
  }
  throw new NoServer("hookwire is not installed: there is no `hookwire` on PATH");
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** The version that a server says it has, if it is new enough. */
export async function checkedVersion(server: string, minimum: string): Promise<string> {
  const said = await new Promise<string>((resolve, reject) =>
    execFile(server, ["--version"], { timeout: 10_000 }, (error, stdout) =>
      error ? reject(new NoServer(`\`${server} --version\` failed: ${error.message}`)) : resolve(stdout),
    ),
  );
  const version = /^hookwire (\d+\.\d+\.\d+\S*)/.exec(said)?.[1];
  if (version === undefined) throw new NoServer(`${server} is not hookwire: it calls itself "${said.trim().slice(0, 80)}"`);
  if (compare(version, minimum) < 0) {
    throw new NoServer(`${server} is hookwire ${version}; this extension needs ${minimum} or newer`);
  }
  return version;
}

/** Negative, zero or positive, as for sorting; a pre-release comes before its release. */
export function compare(left: string, right: string): number {
  const [a, b] = [parts(left), parts(right)];
  for (let i = 0; i < 3; i++) {
    const difference = (a.numbers[i] ?? 0) - (b.numbers[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return Number(b.isPre) - Number(a.isPre);
}

function parts(version: string): { numbers: number[]; isPre: boolean } {
  const [release = "", ...pre] = (version.split("+")[0] ?? "").split("-");
  return { numbers: release.split(".").map(Number), isPre: pre.length > 0 };
}
