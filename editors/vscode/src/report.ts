// A report as a page: the verdict first, then each hook, then what was changed. Knows nothing of the editor.

import { clock } from "./items";
import type { Report } from "./wire";

const STYLE = `
body { padding: 6px 20px 18px; line-height: 1.5; color: var(--vscode-foreground); }
main { max-width: 76em; }
h1 { font-size: 1.3em; font-weight: 600; margin: 0; display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 .7em; }
h2 { font-size: 1em; font-weight: 600; margin: 1.1em 0 .3em; }
.title { color: var(--vscode-foreground); font-weight: 400; font-size: .85em; white-space: pre-wrap; overflow-wrap: anywhere; }
.about { color: var(--vscode-descriptionForeground); margin: .15em 0 0; overflow-wrap: anywhere; }
.reason { margin: .6em 0 0; white-space: pre-wrap; overflow-wrap: anywhere; }
pre {
  margin: .6em 0 0; padding: .5em .8em; white-space: pre-wrap; overflow-wrap: anywhere; border-radius: 4px;
  font: var(--vscode-editor-font-size) var(--vscode-editor-font-family); line-height: 1.45;
  background: var(--vscode-textCodeBlock-background); color: var(--vscode-editor-foreground);
  border: 1px solid var(--vscode-widget-border, #8884);
}
table { border-collapse: collapse; width: 100%; }
td { padding: .3em 1.4em .3em 0; vertical-align: top; border-top: 1px solid var(--vscode-panel-border, #8884); overflow-wrap: anywhere; }
td:nth-child(-n + 3) { white-space: nowrap; }
td:first-child { white-space: pre-wrap; min-width: 17em; max-width: 34em; font-weight: 600; }
td:nth-child(3) { color: var(--vscode-descriptionForeground); text-align: right; }
td:last-child { width: 55%; padding-right: 0; white-space: pre-wrap; }
.before { border-left: 3px solid var(--vscode-charts-red); }
.after { border-left: 3px solid var(--vscode-charts-green); }
.before + .after { margin-top: .25em; }
.allow { color: var(--vscode-charts-green); }
.ask { color: var(--vscode-charts-yellow); }
.defer { color: var(--vscode-charts-blue); }
.deny { color: var(--vscode-charts-red); }
.changed { color: var(--vscode-charts-purple); }
.error { color: var(--vscode-errorForeground); }
`;

/** The page; `nonce` is a text that nobody else can guess. */
export function page(report: Report | undefined, nonce: string): string {
  const csp = `default-src 'none'; style-src 'nonce-${nonce}'`;
  const body = report === undefined ? EMPTY : `<main>${content(report)}</main>`;
  return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${csp}">
<style nonce="${nonce}">${STYLE}</style></head><body>${body}</body></html>`;
}

const EMPTY = `<p class="about">Run a hook from the line above it, or choose an event of the timeline: what came of it is told here.</p>`;

function content({ verdict, tone, title, about, at, reason, subject, heading, rows, changes = [], notes = [] }: Report): string {
  const when = at === undefined ? "" : clock(at);
  return [
    `<h1><span class="${tone}">${escaped(verdict)}</span><span class="title">${escaped(title)}</span></h1>`,
    ...some([about, when].filter(Boolean).join(" · "), (it) => `<p class="about">${escaped(it)}</p>`),
    ...some(reason, (it) => `<p class="reason">${escaped(it)}</p>`),
    ...some(subject, pre),
    ...(rows.length === 0 ? [] : [`<h2>${escaped(heading)}</h2><table>`, ...rows.map(row), "</table>"]),
    ...changes.map(
      ({ what, before, after }) =>
        `<h2>Changed: ${escaped(what)}</h2>${some(before, (it) => pre(it, "before")).join("")}${pre(after, "after")}`,
    ),
    ...notes.map(({ title, text }) => `<h2>${escaped(title)}</h2><p class="reason">${escaped(text)}</p>`),
  ].join("\n");
}

function row({ tone, name, verdict, took = "", text = "" }: Report["rows"][number]): string {
  return `<tr><td>${escaped(name)}</td><td class="${tone}">${escaped(verdict)}</td><td>${escaped(took)}</td><td>${escaped(text)}</td></tr>`;
}

function pre(text: string, kind = ""): string {
  return `<pre class="${kind}">${escaped(text)}</pre>`;
}

function some(text: string | undefined, shown: (text: string) => string): string[] {
  return text === undefined || text === "" ? [] : [shown(text)];
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (it) => `&#${it.charCodeAt(0)};`);
}
