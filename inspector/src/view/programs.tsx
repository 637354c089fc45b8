// The programs that ran below a tool call, where the kernel watched: who started whom, and what was said to each.

import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { judgedOf, members, type Row } from "../read";
import { change } from "../route";
import { oneLine } from "../text";
import type { Json } from "../wire";
import { programsOf, Section } from "./event";
import { Mark } from "./marks";

interface Program {
  pid: number;
  argv: string[];
  row?: Row;
  children: Program[];
}

const MOST = 500;
const wordsOf = (value: Json | undefined): string[] => (Array.isArray(value) ? value.filter((it) => typeof it === "string") : []);

/** The tree of some starts: a start names its process and those that it comes from, the nearest first. */
export function treeOf(starts: readonly Row[]): Program[] {
  const programs = new Map<number, Program>();
  const tops = new Set<Program>();
  const at = (pid: number, argv: string[]): Program => {
    let program = programs.get(pid);
    if (program === undefined) programs.set(pid, (program = { pid, argv, children: [] }));
    return program;
  };
  for (const row of starts) {
    const { record } = judgedOf(row);
    const exec = members((members(record.params?.["payload"]) ?? record.params)?.["exec"]);
    if (exec === undefined) continue;
    const pid = Number(exec["pid"] ?? -row.n - 1);
    // A process that runs another program is another place in the tree: both are shown.
    const program: Program = { pid, argv: wordsOf(exec["argv"]), row, children: [] };
    const before = programs.get(pid);
    const parents = Array.isArray(exec["parents"]) ? exec["parents"].map(members).filter((it) => it !== undefined) : [];
    const nearest = before ?? (parents[0] === undefined ? undefined : at(Number(parents[0]["pid"]), wordsOf(parents[0]["argv"])));
    programs.set(pid, program);
    if (nearest === undefined) {
      tops.add(program);
      continue;
    }
    nearest.children.push(program);
    // The chain above the nearest, as far as it isn't known.
    let child = nearest;
    for (const parent of parents.slice(1, 12)) {
      const above = at(Number(parent["pid"]), wordsOf(parent["argv"]));
      if (above === child || above.children.includes(child)) break;
      above.children.push(child);
      tops.delete(child);
      child = above;
    }
    if (![...programs.values()].some((it) => it.children.includes(child))) tops.add(child);
  }
  return [...tops];
}

export function Programs({ row }: { row: Row }): JSX.Element | null {
  const starts = programsOf(row);
  const tops = useMemo(() => treeOf(starts.slice(0, MOST)), [starts.length, row.id]);
  if (starts.length === 0) return null;
  return (
    <Section title="Programs that started">
      <ul class="tree">
        {tops.map((it) => (
          <Branch key={it.pid} program={it} depth={0} />
        ))}
      </ul>
      {starts.length > MOST && (
        <p class="quiet-text">
          The first {MOST} of {starts.length} starts.
        </p>
      )}
    </Section>
  );
}

function Branch({ program, depth }: { program: Program; depth: number }): JSX.Element {
  const { row } = program;
  const words = oneLine(program.argv.join(" ")).slice(0, 300) || "a program";
  return (
    <li>
      <span class="tree-node">
        {row === undefined ? <span class="tree-outer" title="was there before" /> : <Mark tone={row.tone} />}
        {row === undefined ? (
          <code>{words}</code>
        ) : (
          <button type="button" class="link" onClick={() => change({ event: row.id })}>
            <code>{words}</code>
          </button>
        )}
        <small>
          {program.pid > 0 ? program.pid : ""}
          {row?.decidedBy ? ` · ${oneLine(row.decidedBy)}` : ""}
        </small>
      </span>
      {program.children.length > 0 && depth < 40 && (
        <ul>
          {program.children.map((it, nth) => (
            <Branch key={nth} program={it} depth={depth + 1} />
          ))}
        </ul>
      )}
    </li>
  );
}
