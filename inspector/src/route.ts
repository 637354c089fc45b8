// The view is its hash: `#/timeline?q=decision:deny+since:1h&event=host.7`. So a link shows what its sender saw.

import { signal } from "@preact/signals";

export const VIEWS = ["timeline", "approvals", "charts", "definitions", "try", "proposals", "history"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  view: View;
  q: string;
  group: string;
  event: string;
  item: string;
}

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
};
// Left as they are: the marks that make the line legible and that no part of a hash has a use for.
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/%20/g, "+").replace(/%3A/g, ":").replace(/%2F/g, "/").replace(/%2C/g, ",");

export function parseHash(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const values = new Map(
    search.split("&").map((pair): [string, string] => {
      const at = pair.indexOf("=");
      return at < 0 ? [pair, ""] : [pair.slice(0, at), decode(pair.slice(at + 1))];
    }),
  );
  const view = VIEWS.find((it) => it === path) ?? "timeline";
  const value = (name: string): string => values.get(name) ?? "";
  return { view, q: value("q"), group: value("group"), event: value("event"), item: value("item") };
}

export function hashOf(route: Partial<Route>): string {
  const parts = (["q", "group", "event", "item"] as const)
    .filter((name) => route[name])
    .map((name) => `${name}=${encode(route[name]!)}`);
  return `#/${route.view ?? "timeline"}${parts.length > 0 ? `?${parts.join("&")}` : ""}`;
}

export const route = signal<Route>(parseHash(location.hash));

/** Shows something else. `replace` is for what changes as somebody types: it makes no step for “back”. */
export function go(to: Partial<Route>, how: "push" | "replace" = "push"): void {
  const next = hashOf(to);
  if (next === location.hash) return;
  if (how === "replace") history.replaceState(null, "", next);
  else history.pushState(null, "", next);
  route.value = parseHash(next);
}

/** Changes parts of what is shown. */
export const change = (parts: Partial<Route>, how: "push" | "replace" = "push"): void => go({ ...route.value, ...parts }, how);

export function followHash(): void {
  addEventListener("popstate", () => {
    // Somebody has opened a new address of the program in this tab: it begins a new session.
    if (/^#start=/.test(location.hash)) location.reload();
    else route.value = parseHash(location.hash);
  });
}
