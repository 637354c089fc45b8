// What the page knows: the last events as rows, in bounds, and the part of them that the filter lets through.

import { batch, computed, effect, signal } from "@preact/signals";
import { compile, parse, projects, type Test } from "./query";
import { idOf, rowOf, type Row } from "./read";
import { change, route } from "./route";
import { call, pause } from "./session";
import type { Asked, Ended, Fleet, Host, Message } from "./wire";

/** At most so many events, and so many characters of their records; the oldest go first. */
export const MAX_ROWS = 100_000;
const MAX_CHARACTERS = 96 * 1024 * 1024;
const MAX_ENDED = 2000;

export const rows: Row[] = [];
/** Events that went because of the bounds, and those that the program couldn't send. */
export const dropped = signal(0);
export const missed = signal(0);
/** Changes whenever `rows` does, at most once a frame. */
export const version = signal(0);
export const hosts = signal<Host[] | undefined>(undefined);
/** The fleet, if the page is about one and not about the hosts of this machine. */
export const fleet = signal<Fleet | undefined>(undefined);
export const approvals = signal<Asked[]>([]);
/** Changes when a host has other definitions. */
export const definitions = signal(0);
export const ended = new Map<string, Ended[]>();

/** The last events of which something came, for the first look. */
const MOST_NOTED = 500;
export const noted: { stopped: Row[]; rewritten: Row[] } = { stopped: [], rewritten: [] };

/** A program that isn't there is looked for in each place of PATH, and each look is an event of its own. */
const SAME_START = 2000;
const isSame = (a: Row, b: Row): boolean =>
  a.event === "PreExec" && b.event === "PreExec" && a.session === b.session && a.text === b.text && b.time - a.time < SAME_START;

function note(row: Row): void {
  const list = row.tone === "deny" || row.tone === "ask" ? noted.stopped : row.tone === "rewrite" ? noted.rewritten : undefined;
  if (list === undefined || list.slice(-8).some((it) => isSame(it, row))) return;
  list.push(row);
  if (list.length > MOST_NOTED) list.shift();
}

/** Programs that started as they may are shown, and not only counted. */
export const startsShown = signal(false);
const isPlainStart = (row: Row): boolean => row.event === "PreExec" && (row.tone === "silent" || row.tone === "allow");

const known = new Map<string, Row>();
let characters = 0;
let count = 0;

/** Rows that came by another way than the stream: so many are kept, so that they can be opened. */
const MAX_OTHERS = 20_000;
const others = new Map<string, Row>();

export const find = (id: string): Row | undefined => known.get(id) ?? others.get(id);

export function remember(row: Row): void {
  others.delete(row.id);
  others.set(row.id, row);
  if (others.size > MAX_OTHERS) others.delete(others.keys().next().value!);
}

let scheduled = false;
function changed(): void {
  if (scheduled) return;
  scheduled = true;
  // A hidden page has no frames, and still has to know how many questions wait.
  const later = document.visibilityState === "visible" ? requestAnimationFrame : (run: () => void) => setTimeout(run, 500);
  later(() => {
    scheduled = false;
    batch(() => {
      version.value++;
    });
  });
}

function drop(): void {
  if (rows.length <= MAX_ROWS && characters <= MAX_CHARACTERS) return;
  let n = 0;
  const least = Math.ceil(rows.length / 50);
  while (n < rows.length && (n < least || characters > MAX_CHARACTERS)) {
    const row = rows[n++]!;
    characters -= row.raw.length + row.search.length;
    if (known.get(row.id) === row) known.delete(row.id);
    ended.delete(row.eventId);
  }
  for (const list of [noted.stopped, noted.rewritten]) {
    const left = list.filter((it) => it.n >= (rows[n]?.n ?? count));
    list.splice(0, list.length, ...left);
  }
  rows.splice(0, n);
  dropped.value += n;
  visible.forget(rows[0]?.n ?? count);
}

// What comes first are the events that each host has kept, host after host. They are put into the order of their times
// before they are shown.
const FIRST = 250;
let backlog: { message: Message; line: string; time: string }[] | undefined = [];
let isSettling = false;

export function take(message: Message, line: string): void {
  if (backlog === undefined || message.kind !== "verdict") return apply(message, line);
  if (!isSettling) setTimeout(() => void settle(), FIRST);
  isSettling = true;
  backlog.push({ message, line, time: message.record?.at ?? "" });
}

async function settle(): Promise<void> {
  let until = performance.now() + 8;
  while (backlog !== undefined && backlog.length > 0) {
    const batch = backlog.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
    backlog = [];
    for (const it of batch) {
      apply(it.message, it.line);
      if (performance.now() > until) {
        await pause();
        until = performance.now() + 8;
      }
    }
  }
  backlog = undefined;
}

function apply(message: Message, line: string): void {
  switch (message.kind) {
    case "verdict": {
      if (known.has(idOf(message))) return;
      let row: Row;
      try {
        row = rowOf(message, line, count);
      } catch {
        return; // A record of a form that the page doesn't know; the program and the page are of one build.
      }
      count++;
      rows.push(row);
      known.set(row.id, row);
      characters += row.raw.length + row.search.length;
      visible.add(row);
      note(row);
      drop();
      changed();
      return;
    }
    case "ended": {
      const of = ended.get(message.ended.eventId) ?? [];
      ended.set(message.ended.eventId, [...of, message.ended].slice(-50));
      if (ended.size > MAX_ENDED) ended.delete(ended.keys().next().value!);
      changed();
      return;
    }
    case "approvals": {
      wait(message);
      return;
    }
    case "hosts": {
      know(message);
      return;
    }
    case "definitions":
      definitions.value++;
      return;
    case "lost":
    case "missed":
      missed.value += message.count;
      return;
  }
}

function know(all: { hosts: Host[]; fleet?: Fleet }): void {
  // A host that has ended is gone, its events are still here.
  for (const it of all.hosts) projects.set(it.id, it.root);
  batch(() => {
    hosts.value = all.hosts;
    fleet.value = all.fleet;
  });
}

function wait(all: { approvals: Asked[] }): void {
  approvals.value = [...all.approvals].sort((a, b) => a.askedAt - b.askedAt);
}

/** Asks for what the stream tells only when it changes. What the stream has told meanwhile is newer than the reply. */
export async function catchUp(): Promise<void> {
  const ask = async <T>(method: string, told: { readonly value: unknown }, take: (reply: T) => void): Promise<void> => {
    const before = told.value;
    const reply = await call<T>(method).catch(() => undefined);
    if (reply !== undefined && told.value === before) take(reply);
  };
  await Promise.all([
    ask<{ hosts: Host[]; fleet?: Fleet }>("inspect/hosts", hosts, know),
    ask<{ approvals: Asked[] }>("inspect/approvals", approvals, wait),
  ]);
}

export const GROUPS = ["session", "run", "agent"] as const;
export type GroupKey = (typeof GROUPS)[number];
export interface Group {
  key: string;
  label: string;
  rows: Row[];
  worst: Map<string, number>;
  last: number;
}

const NONE: { [key in GroupKey]: string } = { session: "no session", run: "no run", agent: "no agent" };
function keyOf(row: Row, by: GroupKey): string {
  if (by === "session") return `${row.host}\n${row.session}`;
  if (by === "run") return `${row.host}\n${row.session}\n${row.run}`;
  return `${row.agent}\n${row.subAgent}`;
}
function labelOf(row: Row, by: GroupKey): string {
  if (by === "session") return `${row.agent} · ${row.session || NONE.session}`;
  if (by === "run") return row.run || (row.session ? `${row.session}, ${NONE.run}` : NONE.run);
  return row.subAgent ? `${row.agent} / ${row.subAgent}` : row.agent || NONE.agent;
}

/** The rows that the filter lets through, in groups if somebody wants them. Each row is tested once. */
class Visible {
  rows: Row[] = [];
  groups = new Map<string, Group>();
  /** How many starts of programs are left out. */
  folded = 0;
  private test: Test | undefined;
  private folds = false;
  private by: GroupKey | undefined;
  private scan = 0;

  /** Holds all rows against another filter, in slices, so that no key press waits. */
  async filter(test: Test | undefined, by: GroupKey | undefined, folds: boolean): Promise<void> {
    const scan = ++this.scan;
    const found: Row[] = [];
    const next = new Visible();
    next.by = by;
    let at = 0;
    let until = performance.now() + 8;
    // Rows that come meanwhile are read by this loop, too: it ends when it has caught up.
    for (; at < rows.length; at++) {
      const row = rows[at]!;
      if (folds && isPlainStart(row)) next.folded++;
      else if (test === undefined || test(row)) {
        found.push(row);
        next.group(row);
      }
      if ((at & 63) === 0 && performance.now() > until) {
        await pause();
        if (scan !== this.scan) return;
        // Rows that went meanwhile have moved the others.
        at = Math.max(-1, row.n - (rows[0]?.n ?? row.n + 1));
        until = performance.now() + 8;
      }
    }
    Object.assign(this, { test, by, folds, rows: found, groups: next.groups, folded: next.folded });
    this.forget(rows[0]?.n ?? count);
    changed();
  }

  add(row: Row): void {
    if (this.folds && isPlainStart(row)) {
      this.folded++;
      return;
    }
    if (this.test !== undefined && !this.test(row)) return;
    this.rows.push(row);
    this.group(row);
  }

  private group(row: Row): void {
    if (this.by === undefined) return;
    const key = keyOf(row, this.by);
    let group = this.groups.get(key);
    if (group === undefined)
      this.groups.set(key, (group = { key, label: labelOf(row, this.by), rows: [], worst: new Map(), last: 0 }));
    group.rows.push(row);
    group.worst.set(row.tone, (group.worst.get(row.tone) ?? 0) + 1);
    group.last = row.time;
  }

  forget(before: number): void {
    const keep = (all: Row[]): number => all.findIndex((row) => row.n >= before);
    const cut = (all: Row[]): Row[] => {
      const at = keep(all);
      return at < 0 ? [] : at === 0 ? all : all.slice(at);
    };
    this.rows = cut(this.rows);
    for (const [key, group] of this.groups) {
      const left = cut(group.rows);
      if (left.length === 0) {
        this.groups.delete(key);
        continue;
      }
      if (left === group.rows) continue;
      for (const row of group.rows.slice(0, group.rows.length - left.length))
        group.worst.set(row.tone, (group.worst.get(row.tone) ?? 1) - 1);
      group.rows = left;
    }
  }
}

export const visible = new Visible();
export const query = computed(() => parse(route.value.q));
export const grouping = computed(() => GROUPS.find((it) => it === route.value.group));

/** Keeps the rows that are shown true to the address. */
export function keepFiltered(): void {
  let timer = 0;
  effect(() => {
    const [terms, by] = [query.value, grouping.value];
    const folds = terms.terms.length === 0 && by === undefined && !startsShown.value;
    const renew = (): void => {
      // Who filters looks for something, and who groups wants all.
      void visible.filter(compile(terms, Date.now()), by, folds);
    };
    renew();
    clearInterval(timer);
    // `since:15m` moves on.
    if (terms.terms.some((it) => /^\d+[smhdw]$/.test(it.value) && (it.key === "since" || it.key === "until")))
      timer = window.setInterval(renew, 10_000);
  });
}

export const filter = (q: string, how: "push" | "replace" = "push"): void => change({ q }, how);
