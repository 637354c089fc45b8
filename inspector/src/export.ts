// A file of events for the person: made in the page, and nowhere else.

import { pause } from "./session";

/** Hands a file to the browser, which keeps it where the person wants it. */
export function download(parts: string[], name: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A line of each, made in slices, so that nothing waits for it. */
export async function lines<T>(all: readonly T[], line: (it: T) => string): Promise<string[]> {
  const found: string[] = [];
  let until = performance.now() + 8;
  for (const it of all) {
    found.push(`${line(it)}\n`);
    if (performance.now() > until) {
      await pause();
      until = performance.now() + 8;
    }
  }
  return found;
}
