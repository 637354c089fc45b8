// What the package holds of the rest of the repository, the licences, and the README without what only the
// repository has: pictures and other pages.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";

const repository = new URL("../../", import.meta.url);
const here = new URL("./", import.meta.url);
for (const [from, to] of [
  ["LICENSE-MIT", "LICENSE.txt"],
  ["LICENSE-APACHE", "LICENSE-APACHE.txt"],
]) {
  copyFileSync(new URL(from, repository), new URL(to, here));
}

const readme = readFileSync(new URL("README.md", here), "utf8")
  .replace(/<picture>[^]*?<\/picture>\n\n/g, "")
  .replace(/\[([^\]]+)\]\(\.\.\/[^)]*\)/g, "$1");
writeFileSync(new URL("dist/README.md", here), readme);
