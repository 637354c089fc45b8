// Builds the page into `dist`. With `--check` it writes nothing, and fails if `dist` isn't what the sources make.
import { build } from "esbuild";
import { readFile, writeFile, mkdir } from "node:fs/promises";
import { gzipSync } from "node:zlib";

// Without the editor, which is loaded when somebody edits a rule.
const LIMIT = 300 * 1024;

const here = (path) => new URL(path, import.meta.url).pathname;
const { outputFiles } = await build({
  entryPoints: { app: here("src/main.tsx"), editor: here("src/editor.ts") },
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome123", "firefox121", "safari17.5"],
  outdir: here("dist"),
  legalComments: "none",
  charset: "utf8",
  absWorkingDir: here("."),
  write: false,
});
const files = new Map(outputFiles.map((file) => [file.path.replace(/.*\//, ""), Buffer.from(file.contents)]));
for (const name of ["index.html", "icon.svg"]) files.set(name, await readFile(here(`src/${name}`)));

const sizes = [...files].map(([name, contents]) => ({ name, gzipped: gzipSync(contents, { level: 9 }).length }));
for (const { name, gzipped } of sizes) console.log(`${name.padEnd(12)} ${(gzipped / 1024).toFixed(1)} KB gzipped`);
const page = sizes.filter((it) => it.name !== "editor.js").reduce((sum, it) => sum + it.gzipped, 0);
if (page > LIMIT) throw new Error(`the page has ${page} bytes gzipped, more than ${LIMIT}`);

if (process.argv.includes("--check")) {
  for (const [name, contents] of files) {
    const there = await readFile(here(`dist/${name}`)).catch(() => Buffer.alloc(0));
    if (!there.equals(contents)) throw new Error(`dist/${name} isn't what the sources make: run \`npm run build\``);
  }
} else {
  await mkdir(here("dist"), { recursive: true });
  for (const [name, contents] of files) await writeFile(here(`dist/${name}`), contents);
}
