// How hooks, events and the state of things read: texts, icons and colours. Knows nothing of the editor.

import type { Counts, Hook, JudgedEvent, Outcome, Root, Status } from "./wire";

/** An icon of the editor's set, perhaps in a colour of the theme. */
export interface Icon {
  id: string;
  color?: string;
}

/** The order in which events come in an agent's life; others come after them. */
const LIFECYCLE = [
  "SessionStart", "UserPromptSubmit", "RunStart", "StepStart", "PreModelCall", "PostModelCall", "ModelCallError",
  "PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse", "PostToolUseFailure", "SubagentStart",
  "SubagentStop", "PreCompact", "PostCompact", "Checkpoint", "Notification", "StepEnd", "Stop", "RunEnd", "RunError",
  "SessionEnd",
];
const EVERY = "every event";

/** The hooks of one event, in order of running. */
export interface Group {
  event: string;
  hooks: Hook[];
}

/** The hooks of a root by event. */
export function grouped({ hooks }: Root): Group[] {
  const groups = new Map<string, Hook[]>();
  for (const hook of hooks) {
    for (const event of new Set(hook.on.map((on) => (on === "*" ? EVERY : on)))) {
      groups.set(event, [...(groups.get(event) ?? []), hook]);
    }
  }
  const place = (hook: Hook, event: string) => hook.order.find((it) => it.event === event)?.place ?? Infinity;
  const rank = (event: string) => (event === EVERY ? -1 : LIFECYCLE.indexOf(event) + 1 || LIFECYCLE.length + 1);
  return [...groups]
    .map(([event, hooks]) => ({
      event,
      // Places that are not known are equal: their difference is no number.
      hooks: hooks.toSorted((a, b) => place(a, event) - place(b, event) || 0),
    }))
    .toSorted((a, b) => rank(a.event) - rank(b.event) || a.event.localeCompare(b.event));
}

const PARTS = ["matched", "denied", "asked", "rewrote", "failed"] as const;

/** `matched 12 · denied 2`: what isn't zero. */
export function countsText(counts: Counts): string {
  return PARTS.filter((part) => counts[part] > 0)
    .map((part) => `${part} ${counts[part]}`)
    .join(" · ");
}

export function hookDescription(hook: Hook): string {
  return [hook.enabled ? hook.handler : `${hook.handler}, off`, countsText(hook.counts)].filter(Boolean).join(" · ");
}

const HANDLER_ICONS: Record<string, string> = {
  allow: "pass", deny: "circle-slash", ask: "question", verdict: "law", command: "terminal", callable: "symbol-method",
  script: "file-code", http: "globe", prompt: "sparkle", agent: "hubot", mcp: "plug", guard: "shield", callback: "reply",
};

export function hookIcon({ handler, enabled, counts }: Hook): Icon {
  const id = HANDLER_ICONS[handler] ?? "circle-outline";
  if (!enabled) return { id, color: "disabledForeground" };
  if (counts.failed > 0) return { id, color: "list.warningForeground" };
  if (counts.denied > 0) return { id, color: "charts.red" };
  if (counts.asked > 0) return { id, color: "charts.yellow" };
  return counts.matched > 0 ? { id, color: "charts.green" } : { id };
}

export function hookTooltip(hook: Hook): string {
  const places = hook.order.map(({ event, place, of }) => `${event}: ${place} of ${of}`);
  const rows = [
    ["handler", hook.handler],
    ["on", hook.on.join(", ")],
    ["runs", hook.enabled ? places.slice(0, 8).concat(places.length > 8 ? ["…"] : []).join(", ") : "never: it is off"],
    ["layer", hook.layer],
    ["on failure", hook.fail],
    ["composition", hook.composition],
    ["dialect", hook.dialect === "native" ? "" : hook.dialect],
    ["so far", countsText(hook.counts) || "no match yet"],
  ].filter(([, value]) => value);
  const table = rows.map(([key, value]) => `| ${key} | ${escaped(value ?? "")} |`).join("\n");
  const description = hook.description ? `${escaped(hook.description)}\n\n` : "";
  return `**${escaped(hook.name)}**\n\n${description}| | |\n|---|---|\n${table}`;
}

const DECISION_ICONS: Record<string, Icon> = {
  allow: { id: "pass", color: "charts.green" },
  deny: { id: "error", color: "charts.red" },
  ask: { id: "question", color: "charts.yellow" },
  defer: { id: "watch", color: "charts.blue" },
};
const NO_DECISION: Icon = { id: "circle-outline", color: "disabledForeground" };

export function eventIcon({ decision, outcomes }: JudgedEvent): Icon {
  // Allowed because nobody was there to judge it is not the same as allowed.
  if (decision === "allow" && outcomes.length === 0) return NO_DECISION;
  return DECISION_ICONS[decision] ?? NO_DECISION;
}

/** `deny  Bash  git push --force` */
export function eventLabel({ decision, event, tool, subject }: JudgedEvent): string {
  const what = oneLine(subject, 120);
  const named = tool ?? event;
  // Some subjects begin with the tool.
  const about = what === named || what.startsWith(`${named} `) ? what.slice(named.length).trim() : what;
  return [decision, named, about].filter(Boolean).join("  ");
}

export function eventDescription({ decidedBy, at }: JudgedEvent): string {
  return [decidedBy, clock(at)].filter(Boolean).join(" · ");
}

export function eventTooltip(it: JudgedEvent): string {
  const by = it.decidedBy === undefined ? "" : ` by ${escaped(it.decidedBy)}`;
  const reason = it.reason === undefined ? "" : `\n\n${escaped(it.reason)}`;
  const fence = "`".repeat(1 + Math.max(2, ...(it.subject.match(/`+/g) ?? []).map((run) => run.length)));
  const subject = it.subject === "" ? "" : `\n\n${fence}text\n${it.subject}\n${fence}`;
  const where = `${escaped(it.event)} #${it.seq} of host ${it.host}, ${escaped(it.at)}, judged in ${duration(it.micros)}`;
  return `**${escaped(it.decision)}**${by}${reason}${subject}\n\n${where}`;
}

const STATUS_ICONS: Record<string, Icon> = {
  success: { id: "check" },
  blocking: { id: "error", color: "charts.red" },
  non_blocking_error: { id: "warning", color: "list.warningForeground" },
  cancelled: { id: "debug-stop", color: "disabledForeground" },
  skipped: { id: "debug-step-over", color: "disabledForeground" },
};

export function outcomeIcon({ status, decision }: Outcome): Icon {
  return DECISION_ICONS[decision ?? ""] ?? STATUS_ICONS[status] ?? NO_DECISION;
}

/** `deny · 0.3 ms · never force-push` */
export function outcomeDescription({ status, decision, reason, error, durationMicros }: Outcome): string {
  const said = decision ?? (status === "success" ? "no opinion" : status.replaceAll("_", " "));
  return [said, duration(durationMicros), oneLine(error ?? reason ?? "", 120)].filter(Boolean).join(" · ");
}

/** What the status bar says. */
export interface Bar {
  text: string;
  tooltip: string;
  background?: string;
}

export function bar(status: Status): Bar {
  const { hosts, hooks, errors, warnings, events, version } = status;
  const problems = errors + warnings;
  const text = problems > 0 ? counted(problems, "problem") : `${counted(hosts.length, "host")} · ${counted(hooks, "hook")}`;
  const attached = hosts.map(({ pid, root, generation }) => `- ${escaped(root)}: process ${pid}, generation ${generation}`);
  const tooltip = [
    `**hookwire ${escaped(version)}**`,
    `${counted(hooks, "hook")}, ${counted(errors, "error")}, ${counted(warnings, "warning")} in definitions`,
    hosts.length === 0
      ? "no host attached: no agent runs `hookwire serve --project` here"
      : `${counted(hosts.length, "host")} attached, ${counted(events, "event")} seen\n${attached.join("\n")}`,
  ].join("\n\n");
  const background = errors > 0 ? { background: "statusBarItem.warningBackground" } : {};
  return { text: `$(shield) hookwire: ${text}`, tooltip, ...background };
}

export function counted(n: number, thing: string): string {
  return `${n} ${thing}${n === 1 ? "" : "s"}`;
}

/** `42 µs`, `0.3 ms`, `12 ms`, `1.2 s`, as the server has it in lenses. */
export function duration(micros: number): string {
  if (micros < 100) return `${micros} µs`;
  if (micros < 9_950) return `${(micros / 1e3).toFixed(1)} ms`;
  return micros < 999_500 ? `${(micros / 1e3).toFixed(0)} ms` : `${(micros / 1e6).toFixed(1)} s`;
}

/** A line of the server's log without its time, which the output has already. */
export function logLine(line: string): { level: "error" | "warn" | "info" | "debug" | "trace"; text: string } {
  const found = /^\S+Z\s+(ERROR|WARN|INFO|DEBUG|TRACE)\s+(.*)$/.exec(line);
  const level = found?.[1]?.toLowerCase() as "error" | "warn" | "info" | "debug" | "trace" | undefined;
  // What isn't a line of the log is what the program says when it can't start.
  return { level: level ?? "error", text: found?.[2] ?? line };
}

/** The local time of day. */
export function clock(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.valueOf()) ? "" : date.toTimeString().slice(0, 8);
}

function oneLine(text: string, most: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** What agents and hooks say is text, never Markdown. */
function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!|<>~$&]/g, "\\$&").replace(/\s+/g, " ");
}
