// The icons and colours of hooks and events; their texts come from the server. Knows nothing of the editor.

import type { Hook, JudgedEvent, Status, Tone } from "./wire";

/** An icon of the editor's set, perhaps in a colour of the theme. */
export interface Icon {
  id: string;
  color?: string;
}

const HANDLER_ICONS: Record<string, string> = {
  allow: "pass", deny: "circle-slash", ask: "question", verdict: "law", command: "terminal", callable: "symbol-method",
  script: "file-code", http: "globe", prompt: "sparkle", agent: "hubot", mcp: "plug", guard: "shield", rewrite: "replace", callback: "reply",
};

export function hookIcon({ handler, enabled, tone }: Hook): Icon {
  const id = HANDLER_ICONS[handler] ?? "circle-outline";
  const { color } = enabled ? toneIcon(tone) : QUIET;
  return tone === "none" && enabled ? { id } : { id, color };
}

const QUIET: Icon = { id: "circle-outline", color: "disabledForeground" };
const TONE_ICONS: Record<string, Icon> = {
  allow: { id: "pass", color: "charts.green" },
  ask: { id: "question", color: "charts.yellow" },
  defer: { id: "watch", color: "charts.blue" },
  deny: { id: "circle-slash", color: "charts.red" },
  changed: { id: "edit", color: "charts.purple" },
  error: { id: "error", color: "list.errorForeground" },
};

export function toneIcon(tone: Tone): Icon {
  return TONE_ICONS[tone] ?? QUIET;
}

export function eventDescription({ decidedBy, at }: JudgedEvent): string {
  return [decidedBy, clock(at)].filter(Boolean).join(" · ");
}

/** The content of the status bar. */
export interface Bar {
  text: string;
  tooltip: string;
  background?: string;
}

export function bar({ errors, warnings, brief, tooltip }: Status): Bar {
  const worst = errors > 0 ? "error" : warnings > 0 ? "warning" : undefined;
  return { text: `$(shield) hookwire: ${brief}`, tooltip, ...(worst && { background: `statusBarItem.${worst}Background` }) };
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
