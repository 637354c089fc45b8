// Talks with the program: one token in memory, calls, and the stream of what happens.

import { signal } from "@preact/signals";
import type { Json, Message } from "./wire";

export type Link = "starting" | "live" | "lost" | "ended" | "refused";

/** How the connection is. */
export const link = signal<Link>("starting");
/** When the next attempt is made, while the connection is lost. */
export const retryAt = signal(0);

let token = "";

export class Refusal extends Error {
  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message);
  }
}

/** The method isn't there: the program is older than the page needs, or the part isn't built in. */
export const isUnknown = (error: unknown): boolean => error instanceof Refusal && error.code === -32601;

/** Takes the token that opens the page once out of its address, and changes it for one that stays in memory. */
export async function begin(): Promise<boolean> {
  const start = /[#&]start=([^&]+)/.exec(location.hash)?.[1];
  if (start === undefined) {
    link.value = "ended";
    return false;
  }
  history.replaceState(null, "", "#/timeline");
  try {
    const response = await fetch("/api/session", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ start }),
      cache: "no-store",
    });
    if (!response.ok) {
      link.value = "refused";
      return false;
    }
    token = ((await response.json()) as { token: string }).token;
    return true;
  } catch {
    link.value = "refused";
    return false;
  }
}

export async function call<T>(method: string, params: unknown = {}, host?: string, signal?: AbortSignal): Promise<T> {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  const body = JSON.stringify({ method, params, ...(host !== undefined && host !== "" && { host }) });
  const response = await fetch("/api/call", { method: "POST", headers, body, cache: "no-store", ...(signal && { signal }) });
  if (response.status === 401) link.value = "ended";
  const reply = (await response.json().catch(() => undefined)) as
    { result?: T; error?: { code: number; message: string } } | undefined;
  if (reply?.error !== undefined) throw new Refusal(reply.error.message, reply.error.code);
  if (!response.ok || reply === undefined || !("result" in reply))
    throw new Refusal(`the program answered ${response.status} ${response.statusText}`, response.status);
  return reply.result as T;
}

const SILENCE = 40_000;
const SLOWEST = 15_000;
/** The longest line that is read; a longer one is passed over. A record is 256 KiB at most. */
const LONGEST = 8 * 1024 * 1024;

/** Reads the stream for good. Each line is given on as it came, too: rows keep it. */
export async function follow(take: (message: Message, line: string) => void): Promise<never> {
  let wait = 500;
  let seq = 0;
  for (;;) {
    const abort = new AbortController();
    let watchdog = setTimeout(() => abort.abort(), SILENCE);
    const heard = (): void => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort(), SILENCE);
    };
    try {
      const response = await fetch(seq > 0 ? `/api/events?after=${seq}` : "/api/events", {
        headers: { Authorization: `Bearer ${token}` },
        cache: "no-store",
        signal: abort.signal,
      });
      if (response.status === 401) {
        link.value = "ended";
        return await new Promise<never>(() => {});
      }
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
      link.value = "live";
      wait = 500;
      await readLines(response.body, heard, (line) => {
        const message = parseLine(line);
        if (message === undefined) return;
        seq = Math.max(seq, message.seq ?? 0);
        take(message, line);
      });
    } catch {
      // Said below: the connection is lost, whatever the cause.
    } finally {
      clearTimeout(watchdog);
      abort.abort();
    }
    link.value = "lost";
    retryAt.value = Date.now() + wait;
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, SLOWEST);
  }
}

function parseLine(line: string): Message | undefined {
  try {
    const value = JSON.parse(line) as Json;
    return typeof value === "object" && value !== null && !Array.isArray(value) && typeof value["kind"] === "string"
      ? (value as unknown as Message)
      : undefined;
  } catch {
    return undefined;
  }
}

async function readLines(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  heard: () => void,
  take: (line: string) => void,
): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let passing = false;
  let until = performance.now() + 12;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!passing && line.trim() !== "") take(line);
      passing = false;
      // The page stays alive however much comes at once; meanwhile the stream waits.
      if (performance.now() > until) {
        await pause();
        until = performance.now() + 12;
      }
    }
    if (rest.length > LONGEST) {
      rest = "";
      passing = true;
    }
  }
}

/** Lets the browser paint and take input. */
export function pause(): Promise<void> {
  const { scheduler } = globalThis as unknown as { scheduler?: { yield?: () => Promise<void> } };
  if (scheduler?.yield !== undefined && document.visibilityState === "visible") return scheduler.yield();
  return new Promise((resolve) => setTimeout(resolve, 0));
}
