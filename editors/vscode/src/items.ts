// The icons and colours of hooks and events; their texts come from the server. Knows nothing of the editor.

import type { Hook, JudgedEvent, Outcome, Status } from "./wire";

/** An icon of the editor's set, perhaps in a colour of the theme. */
export interface Icon {
  id: string;
  color?: string;
}

/** The text behind the name of a hook. */
export function hookDescription({ notes }: Hook): string {
  return notes.join(" · ");
}

const HANDLER_ICONS: Record<string, string> = {
  allow: "pass", deny: "circle-slash", ask: "question", verdict: "law", command: "terminal", callable: "symbol-method",
  script: "file-code", http: "globe", prompt: "sparkle", agent: "hubot", mcp: "plug", guard: "shield", rewrite: "replace", callback: "reply",
};

export function hookIcon({ handler, enabled, counts }: Hook): Icon {
  const id = HANDLER_ICONS[handler] ?? "circle-outline";
  if (!enabled) return { id, color: "disabledForeground" };
  if (counts.failed > 0) return { id, color: "list.warningForeground" };
  if (counts.denied > 0) return { id, color: "charts.red" };
  if (counts.asked > 0) return { id, color: "charts.yellow" };
  return counts.matched > 0 ? { id, color: "charts.green" } : { id };
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

export function eventDescription({ decidedBy, at }: JudgedEvent): string {
  return [decidedBy, clock(at)].filter(Boolean).join(" · ");
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

/** The content of the status bar. */
export interface Bar {
  text: string;
  tooltip: string;
  background?: string;
}

export function bar({ errors, brief, tooltip }: Status): Bar {
  const background = errors > 0 ? { background: "statusBarItem.warningBackground" } : {};
  return { text: `$(shield) hookwire: ${brief}`, tooltip, ...background };
}

/** A line of the server's log without its time, which the output has already. */
export function logLine(line: string): { level: "error" | "warn" | "info" | "debug" | "trace"; text: string } {
  const found = /^\S+Z\s+(ERROR|WARN|INFO|DEBUG|TRACE)\s+(.*)$/.exec(line);
  const level = found?.[1]?.toLowerCase() as "error" | "warn" | "info" | "debug" | "trace" | undefined;
  // A line of another form is the program's message that it can't start.
  return { level: level ?? "error", text: found?.[2] ?? line };
}

/** The local time of day. */
export function clock(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.valueOf()) ? "" : date.toTimeString().slice(0, 8);
}
