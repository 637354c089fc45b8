// The frame around the views: where to go, how the connection is, keys, theme.

import { effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { go, route, VIEWS, type View } from "../route";
import { link, retryAt } from "../session";
import { approvals, dropped, fleet, hosts, MAX_ROWS, missed, rows, version } from "../store";
import { oneLine } from "../text";
import { number, times } from "../time";
import { Approvals } from "./approvals";
import { Charts } from "./charts";
import { Definitions } from "./definitions";
import { HistoryView } from "./history";
import { Icon } from "./marks";
import { Place } from "./path";
import { Proposals } from "./proposals";
import { Timeline } from "./timeline";
import { Try } from "./try";

const TITLES: { [view in View]: string } = {
  timeline: "Timeline",
  approvals: "Approvals",
  charts: "Charts",
  definitions: "Definitions",
  try: "Try",
  proposals: "Rules from life",
  history: "History",
};
const PAGES: { [view in View]: () => JSX.Element } = {
  timeline: Timeline,
  approvals: Approvals,
  charts: Charts,
  definitions: Definitions,
  try: Try,
  proposals: Proposals,
  history: HistoryView,
};

type Theme = "system" | "light" | "dark";
const theme = signal<Theme>("system");
const NEXT: { [theme in Theme]: Theme } = { system: "light", light: "dark", dark: "system" };
effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
});
/** Changes when colours do, for canvases. */
export const scheme = signal(0);
effect(() => {
  theme.value;
  scheme.value = scheme.peek() + 1;
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => scheme.value++);

export const helpOpen = signal(false);
/** Says something to everybody, those who listen included. */
export const notice = signal("");
let noticeTimer = 0;
export function say(text: string): void {
  notice.value = text;
  clearTimeout(noticeTimer);
  noticeTimer = window.setTimeout(() => {
    notice.value = "";
  }, 6000);
}

const KEYS: [string, string][] = [
  ["/", "filter"],
  ["j k or ↓ ↑", "next or previous event"],
  ["Home End", "newest or oldest event"],
  ["Enter", "open the event"],
  ["Esc", "close what is open"],
  ["g then t a c d r p h", "go to a view: timeline, approvals, charts, definitions, try (r for rules), proposals, history"],
  ["p", "pause or go on"],
  ["?", "these keys"],
];
const JUMPS: { [key: string]: View } = {
  t: "timeline",
  a: "approvals",
  c: "charts",
  d: "definitions",
  r: "try",
  p: "proposals",
  h: "history",
};

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.shadowRoot !== null);

function useKeys(): void {
  useEffect(() => {
    let jumping = false;
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
      const view = jumping ? JUMPS[event.key] : undefined;
      jumping = event.key === "g" && !jumping;
      if (view !== undefined) go({ view });
      else if (event.key === "?") helpOpen.value = true;
      else if (event.key === "/") {
        const line = document.querySelector<HTMLElement>("[data-filter]");
        if (line === null) return;
        line.focus();
      } else return;
      event.preventDefault();
    };
    // Before the views: the letter after a `g` is no key of theirs.
    addEventListener("keydown", onKey, true);
    return () => removeEventListener("keydown", onKey, true);
  }, []);
}

export function Shell(): JSX.Element {
  useKeys();
  const { view } = route.value;
  const waiting = approvals.value.length;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${TITLES[view]} · hookwire`;
  }, [view, waiting]);
  if (link.value === "ended" || link.value === "refused") return <Ended />;
  const Page = PAGES[view];
  return (
    <div class="shell">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="rail">
        <div class="brand">
          <Logo />
          <span>hookwire</span>
        </div>
        <nav aria-label="Views">
          <ul>
            {VIEWS.map((it) => (
              <li key={it}>
                <a
                  href={`#/${it}`}
                  aria-current={it === view ? "page" : undefined}
                  onClick={(event) => {
                    event.preventDefault();
                    go({ view: it });
                  }}
                >
                  <Icon name={it} />
                  <span class="rail-word">{TITLES[it]}</span>
                  {it === "approvals" && waiting > 0 && (
                    <span class="badge" aria-label={times(waiting, "question waits", "questions wait")}>
                      {waiting}
                    </span>
                  )}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <div class="rail-end">
          <Status />
          <button
            type="button"
            class="quiet"
            aria-label={`Theme: ${theme.value}`}
            title={`Theme: ${theme.value}`}
            onClick={() => {
              theme.value = NEXT[theme.value];
            }}
          >
            <Icon name="theme" />
            <span class="rail-word">{theme.value}</span>
          </button>
          <button
            type="button"
            class="quiet"
            aria-label="Keys"
            title="Keys (?)"
            onClick={() => {
              helpOpen.value = true;
            }}
          >
            <Icon name="keys" />
            <span class="rail-word">keys</span>
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1} aria-label={TITLES[view]}>
        <Page />
      </main>
      <Lost />
      <div class="toast" role="status" aria-live="polite">
        {notice.value !== "" && <p>{notice.value}</p>}
      </div>
      {helpOpen.value && <Help />}
    </div>
  );
}

export function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
      <circle cx="15.5" cy="4.8" r="2" />
      <path d="M15.500 6.800v8.400a5 5 0 0 1-10 0v-3.400l3 3M18.600 12.200h3M2 7.200h9.200" />
    </svg>
  );
}

function Status(): JSX.Element {
  version.value;
  const isLive = link.value === "live";
  const n = hosts.value?.length ?? 0;
  const gone =
    dropped.value > 0
      ? `The page keeps the last ${number(MAX_ROWS)} events; ${number(dropped.value)} older ones are in History if they are recorded. `
      : "";
  return (
    <div class={`status ${isLive ? "is-live" : ""}`} title={gone}>
      <span class="status-dot" aria-hidden="true" />
      <span>
        {isLive ? times(n, "host") : link.value === "lost" ? "connection lost" : "connecting"}
        <small>
          {times(rows.length, "event")}
          {dropped.value > 0 && ", older ones gone"}
          {missed.value > 0 && <b class="missed">, {number(missed.value)} lost</b>}
        </small>
      </span>
    </div>
  );
}

/** So many cases that are denied no more are named. */
const MAX_FAILED = 3;

/** So many lost events somebody has seen said. */
const seen = signal(0);

function Lost(): JSX.Element | null {
  const isLost = link.value === "lost";
  const away = fleet.value?.away;
  const failed = (hosts.value ?? []).flatMap((host) => host.notDenied ?? []);
  return (
    <div class="lost" role="alert">
      {failed.length > 0 && (
        <p>
          <strong>{times(failed.length, "case is to be denied, and isn’t", "cases are to be denied, and aren’t")}:</strong>{" "}
          {failed.slice(0, MAX_FAILED).map((it, n) => (
            <>
              {n > 0 && ", "}
              <code>{oneLine(it.name)}</code> in <Place source={it} />
            </>
          ))}
          {failed.length > MAX_FAILED && ` and ${number(failed.length - MAX_FAILED)} more`}. A guard doesn’t say no any more; mend
          it, or say in the case what is expected now.
        </p>
      )}
      {missed.value > seen.value && (
        <p>
          <strong>{times(missed.value, "event isn’t", "events aren’t")} on this page:</strong> more came than could be sent. What
          is counted and drawn here lacks them. If the record is on, History says how many it lacks.{" "}
          <button type="button" class="link" onClick={() => (seen.value = missed.value)}>
            Close
          </button>
        </p>
      )}
      {!isLost && away !== undefined && (
        <p>
          <strong>The fleet is away:</strong> {oneLine(away)}. What is shown may be old. The page goes on when a server is
          reached.
        </p>
      )}
      {isLost && (
        <p>
          <strong>The connection is lost.</strong> What is shown may be old. The page tries again{" "}
          {retryAt.value - Date.now() > 2000 ? `in ${Math.round((retryAt.value - Date.now()) / 1000)} s` : "now"}. If{" "}
          <code>hookwire inspect</code> has ended, start it again and open its new address.
        </p>
      )}
    </div>
  );
}

function Ended(): JSX.Element {
  const isRefused = link.value === "refused";
  return (
    <main class="alone">
      <Logo />
      <h1>{isRefused ? "This address was used already" : "This page has no session"}</h1>
      <p>
        {isRefused
          ? "An address of hookwire inspect opens one page, once, within a minute."
          : "The key to your hosts stays in the page’s memory, so a reload loses it."}
      </p>
      <p>
        Run <code>hookwire inspect</code> in a terminal. It opens a new page.
      </p>
    </main>
  );
}

export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    ref.current?.showModal();
  }, []);
  return (
    <dialog
      ref={ref}
      class="dialog"
      aria-label={title}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === ref.current) ref.current?.close();
      }}
    >
      <div class="dialog-head">
        <h2>{title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => ref.current?.close()}>
          <Icon name="close" />
        </button>
      </div>
      {children}
    </dialog>
  );
}

function Help(): JSX.Element {
  return (
    <Dialog
      title="Keys"
      onClose={() => {
        helpOpen.value = false;
      }}
    >
      <dl class="keys">
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>{keys.split(" ").map((it) => (/^(or|then)$/.test(it) ? ` ${it} ` : <kbd key={it}>{it}</kbd>))}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

/** What a view says when there is nothing in it: why, and what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** A failure, with what to do. */
export function Problem({ text, onRetry }: { text: string; onRetry?: () => void }): JSX.Element {
  return (
    <div class="problem" role="alert">
      <p>{text}</p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Head({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="head">
      <h1>{title}</h1>
      {children}
    </div>
  );
}
