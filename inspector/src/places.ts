// Where something is written.

import type { LayerName, Source } from "./wire";
import { oneLine } from "./text";

export const LAYERS: { [layer in LayerName]: string } = {
  managed: "managed",
  fleet: "fleet",
  user: "user",
  hooks: "--hooks",
  project: "project",
  session: "session",
};
export const LAYER_ORDER: readonly LayerName[] = ["managed", "fleet", "user", "hooks", "project", "session"];

/** The editor's link to a line of a definition file. The path is always one of a definition, never a text of an event. */
export function editorLink(source: Pick<Source, "file" | "line">): string | undefined {
  if (!source.file.startsWith("/")) return undefined;
  return `vscode://file${source.file.split("/").map(encodeURIComponent).join("/")}:${Math.max(1, Math.trunc(source.line))}`;
}

export function placeText(source: Pick<Source, "file" | "line">): string {
  if (!source.file.startsWith("/")) return oneLine(source.file);
  return oneLine(`${source.file.replace(/.*\/(\.?[^/]+\/[^/]+)$/, "$1")}:${source.line}`);
}

/** The place in a text of a place in its UTF-8 bytes. */
export function fromBytes(text: string): (byte: number) => number {
  // Most texts are of characters of one byte each.
  // eslint-disable-next-line no-control-regex
  if (/^[\u0000-\u007f]*$/.test(text)) return (byte) => Math.min(byte, text.length);
  const starts: number[] = [];
  let at = 0;
  for (const character of text) {
    const point = character.codePointAt(0)!;
    const n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (let i = 0; i < n; i++) starts.push(at);
    at += character.length;
  }
  return (byte) => starts[byte] ?? text.length;
}
