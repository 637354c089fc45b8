// What a view asks the program for: loading, there, or failed, and never the reply to an older question.

import { useEffect, useState } from "preact/hooks";
import { isUnknown } from "./session";

export type Loaded<T> =
  { state: "loading"; value?: T } | { state: "there"; value: T } | { state: "failed"; text: string; unknown: boolean };

/** Asks anew whenever `on` changes; `again` asks once more. */
export function useLoaded<T>(
  ask: ((signal: AbortSignal) => Promise<T>) | undefined,
  on: readonly unknown[],
): [Loaded<T>, () => void] {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading" });
  const [nth, setNth] = useState(0);
  useEffect(() => {
    if (ask === undefined) return;
    const abort = new AbortController();
    setLoaded((before) => (before.state === "failed" ? { state: "loading" } : { ...before, state: "loading" }));
    ask(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setLoaded({ state: "there", value });
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setLoaded({ state: "failed", text: textOf(error), unknown: isUnknown(error) });
      },
    );
    return () => abort.abort();
  }, [...on, nth]);
  return [loaded, () => setNth(nth + 1)];
}

export function textOf(error: unknown): string {
  if (error instanceof TypeError) return "The program can’t be reached. Is hookwire inspect still running?";
  return error instanceof Error ? error.message : String(error);
}
