// Sums over the rows in sight, for the charts; in slices, so that nothing waits for them.

import { RUN, TONES, type Row, type Tone } from "./read";
import { pause } from "./session";

export interface HookSums {
  hook: string;
  runs: number;
  denied: number;
  asked: number;
  rewrote: number;
  observed: number;
  doubts: number;
  failed: number;
  p50: number;
  p99: number;
  max: number;
}
export interface SessionSums {
  key: string;
  host: string;
  session: string;
  agent: string;
  events: number;
  denied: number;
  tokens: number;
  cost: number;
  from: number;
  to: number;
}
export interface Sums {
  from: number;
  to: number;
  /** For each stretch of time, how many events there were of each tone; doubts and failures beside. */
  buckets: { tones: { [tone in Tone]: number }; doubts: number; failed: number }[];
  total: number;
  tones: { [tone in Tone]: number };
  doubts: number;
  failed: number;
  hooks: HookSums[];
  sessions: SessionSums[];
}

export const BUCKETS = 60;
const SAMPLES = 2000;

const noTones = (): { [tone in Tone]: number } =>
  Object.fromEntries(TONES.map((tone) => [tone, 0])) as { [tone in Tone]: number };

interface Hook {
  sums: HookSums;
  samples: number[];
  seen: number;
}

export async function aggregate(rows: readonly Row[], isWanted: () => boolean): Promise<Sums | undefined> {
  const to = rows.at(-1)?.time ?? Date.now();
  const from = Math.min(rows[0]?.time ?? to, to - 60_000);
  const sums: Sums = {
    from,
    to,
    buckets: Array.from({ length: BUCKETS }, () => ({ tones: noTones(), doubts: 0, failed: 0 })),
    total: rows.length,
    tones: noTones(),
    doubts: 0,
    failed: 0,
    hooks: [],
    sessions: [],
  };
  const hooks = new Map<string, Hook>();
  const sessions = new Map<string, SessionSums>();
  let until = performance.now() + 8;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at];
    if (row === undefined) break;
    const bucket = sums.buckets[Math.max(0, Math.min(BUCKETS - 1, Math.floor(((row.time - from) / (to - from + 1)) * BUCKETS)))]!;
    bucket.tones[row.tone]++;
    sums.tones[row.tone]++;
    if (row.doubt) {
      bucket.doubts++;
      sums.doubts++;
    }
    if (row.failed) {
      bucket.failed++;
      sums.failed++;
    }
    for (const run of row.runs) {
      let hook = hooks.get(run.hook);
      if (hook === undefined) {
        if (hooks.size >= 2000) continue;
        hooks.set(
          run.hook,
          (hook = {
            sums: {
              hook: run.hook,
              runs: 0,
              denied: 0,
              asked: 0,
              rewrote: 0,
              observed: 0,
              doubts: 0,
              failed: 0,
              p50: 0,
              p99: 0,
              max: 0,
            },
            samples: [],
            seen: 0,
          }),
        );
      }
      count(hook, run.flags, run.micros);
    }
    const key = `${row.host}\n${row.session}`;
    let session = sessions.get(key);
    if (session === undefined)
      sessions.set(
        key,
        (session = {
          key,
          host: row.host,
          session: row.session,
          agent: row.agent,
          events: 0,
          denied: 0,
          tokens: 0,
          cost: 0,
          from: row.time,
          to: row.time,
        }),
      );
    session.events++;
    if (row.decision === "deny") session.denied++;
    session.tokens += row.tokens;
    session.cost += row.cost;
    session.to = row.time;
    if ((at & 127) === 0 && performance.now() > until) {
      await pause();
      if (!isWanted()) return undefined;
      until = performance.now() + 8;
    }
  }
  sums.hooks = [...hooks.values()].map((it) => quantiles(it));
  sums.sessions = [...sessions.values()];
  return sums;
}

function count(hook: Hook, flags: number, micros: number): void {
  const { sums, samples } = hook;
  if ((flags & RUN.skipped) !== 0) return;
  sums.runs++;
  if ((flags & RUN.deny) !== 0) sums.denied++;
  if ((flags & RUN.ask) !== 0) sums.asked++;
  if ((flags & RUN.rewrote) !== 0) sums.rewrote++;
  if ((flags & RUN.observed) !== 0) sums.observed++;
  if ((flags & RUN.opaque) !== 0) sums.doubts++;
  if ((flags & RUN.failed) !== 0) sums.failed++;
  sums.max = Math.max(sums.max, micros);
  // The last samples: a hook that has become slow shows.
  samples[hook.seen++ % SAMPLES] = micros;
}

function quantiles({ sums, samples }: Hook): HookSums {
  const sorted = Float64Array.from(samples).sort();
  const at = (q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
  return { ...sums, p50: at(0.5), p99: at(0.99) };
}
