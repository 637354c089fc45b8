// Which server is started.

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { checkedVersion, compare, find } from "../src/server";

const scratch = mkdtempSync(join(tmpdir(), "hookwire-"));
after(() => rmSync(scratch, { recursive: true }));

function program(path: string, says: string): string {
  mkdirSync(join(scratch, path, ".."), { recursive: true });
  writeFileSync(join(scratch, path), `#!/bin/sh\n${says}\n`);
  chmodSync(join(scratch, path), 0o755);
  return join(scratch, path);
}

test("the setting comes before the bundled server, and that before PATH", async () => {
  const chosen = program("chosen/hookwire", "");
  const bundled = program("extension/server/hookwire", "");
  const installed = program("bin/hookwire", "");
  mkdirSync(join(scratch, "directory/hookwire"), { recursive: true });
  const everything = { setting: chosen, extension: join(scratch, "extension"), path: `${scratch}/directory:${scratch}/bin` };
  assert.deepEqual(await find(everything), { path: chosen, source: "setting" });
  assert.deepEqual(await find({ ...everything, setting: "" }), { path: bundled, source: "bundled" });
  const bare = { ...everything, setting: "", extension: scratch };
  assert.deepEqual(await find(bare), { path: installed, source: "PATH" });
  // A directory of the folder that is open must not bring the server.
  process.chdir(scratch);
  for (const path of ["bin", "", "."]) await assert.rejects(find({ ...bare, path }), /not installed/);
  for (const setting of ["bin/hookwire", join(scratch, "bin"), join(scratch, "missing")]) {
    await assert.rejects(find({ ...everything, setting }), /"hookwire.server.path" is no/, setting);
  }
});

test("a server that is too old or something else is told as such", async () => {
  const version = (says: string) => checkedVersion(program("hookwire", says), "0.2.0");
  assert.equal(await version("echo hookwire 0.2.0"), "0.2.0");
  await assert.rejects(version("echo hookwire 0.1.9"), /is hookwire 0.1.9; this extension needs 0.2.0/);
  await assert.rejects(version("echo captain 3.0.0"), /is not hookwire: it calls itself "captain 3.0.0"/);
  await assert.rejects(version("exit 3"), /--version` failed/);
});

test("versions are compared as numbers", () => {
  for (const [left, right, sign] of [
    ["0.1.0", "0.1.0", 0],
    ["0.10.0", "0.9.9", 1],
    ["1.0.0-rc.1", "1.0.0", -1],
    ["1.0.0-rc.1", "0.9.0", 1],
    ["1.0.0+build.7", "1.0.0", 0],
  ] as const) {
    assert.equal(Math.sign(compare(left, right)), sign, `${left} ${right}`);
    assert.equal(Math.sign(compare(right, left)), -sign || 0, `${right} ${left}`);
  }
});
