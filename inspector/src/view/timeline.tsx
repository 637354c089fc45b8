// What the agents do, as it happens.

import { signal } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";
import { download, lines } from "../export";
import { judgedOf, type Row } from "../read";
import { change, route } from "../route";
import {
  approvals,
  filter,
  fleet,
  grouping,
  GROUPS,
  hosts,
  noted,
  rows,
  startsShown,
  version,
  visible,
  type Group,
} from "../store";
import { link } from "../session";
import { oneLine } from "../text";
import { clock, number, times } from "../time";
import { EventPane } from "./event";
import { Filter } from "./filter";
import { FleetProblem, NoVerdicts } from "./fleet";
import { Lanes } from "./lanes";
import { flat, grouped, List } from "./list";
import { Icon, Mark } from "./marks";
import { closeEvent, openEvent, useViewKeys } from "./opened";
import { Empty, say } from "./shell";

const STOPPED = "decision:deny decision:ask";
const REWRITTEN = "is:rewritten";

const paused = signal(false);
const away = signal(false);

/** How many of some rows, in order, came up to one. */
function upTo(all: readonly Row[], n: number): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle]!.n <= n) low = middle + 1;
    else high = middle;
  }
  return low;
}

const GROUP_WORDS = { session: "session", run: "run", agent: "sub-agent" } as const;

function goOn(): void {
  paused.value = false;
  const list = document.querySelector("[data-list]");
  if (list) list.scrollTop = 0;
  away.value = false;
}

function togglePause(): void {
  if (paused.value) goOn();
  else paused.value = true;
}

export function Timeline(): JSX.Element {
  version.value;
  const { q, event } = route.value;
  const by = grouping.value;
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const isHeld = paused.value || away.value;
  // Not in an effect, which comes later than the rows that somebody reads by then.
  const frozen = useMemo(() => (isHeld ? (rows.at(-1)?.n ?? 0) : undefined), [isHeld, q, by]);

  const shown = frozen === undefined ? visible.rows.length : upTo(visible.rows, frozen);
  const fresh = visible.rows.length - shown;
  const order: Group[] = by === undefined ? [] : [...visible.groups.values()].reverse();
  const items =
    by === undefined
      ? flat(visible.rows, shown)
      : grouped(
          frozen === undefined ? order : order.filter((it) => it.rows[0]!.n <= frozen),
          (key) => closed.has(key),
          (all) => (frozen === undefined ? all.length : upTo(all, frozen)),
        );

  const toggle = (key: string): void => {
    const next = new Set(closed);
    if (!next.delete(key)) next.add(key);
    setClosed(next);
  };
  useViewKeys((key) => {
    if (key === "p") togglePause();
    else if ((key === "j" || key === "k") && document.activeElement === document.body)
      document.querySelector<HTMLElement>("[data-list]")?.focus();
  });

  const nothing = useMemo(
    () => (visible.rows.length > 0 ? undefined : rows.length > 0 ? "filtered" : "none"),
    [visible.rows.length, rows.length],
  );
  return (
    <div class={`timeline ${event !== "" ? "has-event" : ""}`}>
      <div class="timeline-main">
        <FirstLook />
        <Bar />
        <FleetProblem part="verdicts" />
        <Lanes />
        <div class="list-box">
          {isHeld && fresh > 0 && (
            <button type="button" class="fresh" onClick={goOn}>
              <Icon name="up" />
              {times(fresh, "new event")}
            </button>
          )}
          <List
            items={items}
            selected={event}
            onOpen={openEvent}
            onToggle={toggle}
            label="Events, newest first"
            onAway={(is) => {
              away.value = is;
            }}
            isTree={by !== undefined}
          />
          {nothing === "filtered" && <NothingFits />}
          {nothing === "none" && <Nothing />}
        </div>
        <p class="sum" aria-live="off">
          {q === ""
            ? times(visible.rows.length + visible.folded, "event")
            : `${number(visible.rows.length)} of ${times(rows.length, "event")}`}
          {by !== undefined && ` in ${times(visible.groups.size, "group")}`}
          {paused.value && ", paused"} <Folded /> {shown > 0 && <Export shown={() => visible.rows.slice(0, shown)} />}
        </p>
      </div>
      {event !== "" && <EventPane key={event} id={event} onClose={closeEvent} />}
    </div>
  );
}

/** How many of the last ones are shown at once. */
const LAST = 3;

/** What a person comes for: what waits, what was stopped, what was rewritten. */
function FirstLook(): JSX.Element | null {
  version.value;
  const { q } = route.value;
  const waiting = approvals.value.length;
  if (rows.length === 0 && waiting === 0) return null;
  const to = (wanted: string): void => filter(q === wanted ? "" : wanted);
  const last = noted.stopped.slice(-LAST).reverse();
  return (
    <section class="first-look" aria-label="At a glance">
      <p class="counts">
        <button type="button" class={waiting > 0 ? "is-urgent" : ""} onClick={() => change({ view: "approvals" })}>
          <strong>{number(waiting)}</strong> {waiting === 1 ? "waits" : "wait"} for you
        </button>
        <button type="button" aria-pressed={q === STOPPED} onClick={() => to(STOPPED)}>
          <strong>{number(noted.stopped.length)}</strong> stopped
        </button>
        <button type="button" aria-pressed={q === REWRITTEN} onClick={() => to(REWRITTEN)}>
          <strong>{number(noted.rewritten.length)}</strong> rewritten
        </button>
      </p>
      {q === "" && last.length > 0 && (
        <ul class="last">
          {last.map((row) => (
            <li key={row.id}>
              <button type="button" class="link" onClick={() => openEvent(row, false)}>
                <Mark tone={row.tone} />
                <span class="last-agent">{oneLine(row.agent)}</span>
                <code>{oneLine(row.text)}</code>
                <span class="last-why">{oneLine(judgedOf(row).record.verdict.reason ?? row.decidedBy)}</span>
                <time>{clock(row.time).slice(0, 8)}</time>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The starts of programs that the list leaves out, which may be hundreds of one call. */
function Folded(): JSX.Element | null {
  version.value;
  const isShown = startsShown.value;
  if (!isShown && visible.folded === 0) return null;
  return (
    <button type="button" class="link" aria-pressed={isShown} onClick={() => (startsShown.value = !isShown)}>
      {isShown
        ? "Fold the starts of programs"
        : `${times(visible.folded, "start of a program is", "starts of programs are")} folded`}
    </button>
  );
}

/** The events that the filter lets through, as the page has them: without the secrets that hookwire knows. */
function Export({ shown }: { shown: () => readonly Row[] }): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    // Oldest first, one event a line: what `hookwire history replay` reads.
    const found = await lines(shown(), (it) => JSON.stringify(judgedOf(it).record));
    download(found, "hookwire-events.jsonl");
    say(`${times(found.length, "event")} exported.`);
    setBusy(false);
  };
  return (
    <button type="button" class="link" disabled={isBusy} title="As JSON Lines" onClick={() => void run()}>
      {isBusy ? "Exporting…" : "Export"}
    </button>
  );
}

function Bar(): JSX.Element {
  const by = grouping.value;
  return (
    <div class="bar">
      <h1 class="hidden">Timeline</h1>
      <Filter
        line={route.value.q}
        onChange={filter}
        label="Filter events"
        placeholder="decision:deny agent:codex tool:Bash since:1h text:push"
      />
      <label class="choice">
        Group by{" "}
        <select value={by ?? ""} onChange={(it) => change({ group: it.currentTarget.value })}>
          <option value="">nothing</option>
          {GROUPS.map((it) => (
            <option key={it} value={it}>
              {GROUP_WORDS[it]}
            </option>
          ))}
        </select>
      </label>
      <button type="button" aria-pressed={paused.value} onClick={togglePause}>
        <Icon name={paused.value ? "play" : "pause"} />
        {paused.value ? "Go on" : "Pause"}
      </button>
    </div>
  );
}

function NothingFits(): JSX.Element {
  const { q } = route.value;
  return (
    <Empty title="No event fits the filter">
      <p>{times(rows.length, "event is", "events are")} here, none with this. Older ones may be in History.</p>
      <p>
        <button type="button" onClick={() => filter("")}>
          Clear the filter
        </button>{" "}
        <a
          href={`#/history?q=${encodeURIComponent(q)}`}
          onClick={(it) => {
            it.preventDefault();
            change({ view: "history" });
          }}
        >
          Search History
        </a>
      </p>
    </Empty>
  );
}

function Nothing(): JSX.Element {
  if (link.value !== "live") return <Empty title="Connecting to your hosts" />;
  if (fleet.value !== undefined) return <NoVerdicts />;
  if ((hosts.value?.length ?? 0) === 0) {
    return (
      <Empty title="No host runs yet">
        <p>A host starts with the first event of an agent. Guard one, in your project:</p>
        <pre tabIndex={0}>
          <code>{"hookwire init no-force-push\nhookwire install claude-code"}</code>
        </pre>
        <p>Then ask the agent to do something. Its events come in here.</p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing has happened yet">
      <p>
        {times(hosts.value!.length, "host runs", "hosts run")} and {hosts.value!.length === 1 ? "waits" : "wait"} for an agent.
        Ask yours to do something, or try it by hand:
      </p>
      <pre tabIndex={0}>
        <code>{"hookwire doctor claude-code"}</code>
      </pre>
    </Empty>
  );
}
