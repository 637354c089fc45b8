// What was recorded: search, export, and the switch that says what it keeps.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { download } from "../export";
import { textOf, useLoaded } from "../load";
import { rowOf, type Row } from "../read";
import { change, route } from "../route";
import { call, isUnknown } from "../session";
import { fleet, remember } from "../store";
import { oneLine, Quoted } from "../text";
import { bytes, full, number, times } from "../time";
import type { Gap, HistoryPage, Judged, RecordState } from "../wire";
import { EventPane } from "./event";
import { closeEvent, openEvent, useViewKeys } from "./opened";
import { FLEET_KEYS, RECORD_KEYS } from "../query";
import { Filter } from "./filter";
import { FleetProblem } from "./fleet";
import { flat, List } from "./list";
import { Empty, Problem, say } from "./shell";

const PAGE = 200;
const MOST = 20_000;
const MOST_EXPORTED = 50_000;
let count = 1e9;

function toRow(judged: Judged): Row {
  const row = rowOf(judged, JSON.stringify(judged), count++);
  remember(row);
  return row;
}

interface Found {
  /** Oldest first, as the list takes them. */
  rows: Row[];
  gaps: readonly Gap[];
  next: string | undefined;
  total: number | undefined;
  /** Of a fleet: back to when was looked. */
  back: string | undefined;
  problem: { text: string; unknown: boolean } | undefined;
  isBusy: boolean;
  load: (before?: string) => Promise<void>;
}

/** What fits the line, page by page; never the reply to an older line. */
function useFound(q: string): Found {
  const [found, setFound] = useState<Pick<Found, "rows" | "gaps" | "next" | "total" | "back">>({
    rows: [],
    gaps: [],
    next: undefined,
    total: undefined,
    back: undefined,
  });
  const [problem, setProblem] = useState<Found["problem"]>(undefined);
  const [isBusy, setBusy] = useState(true);
  const nth = useRef(0);
  const load = async (before?: string): Promise<void> => {
    const mine = ++nth.current;
    setBusy(true);
    setProblem(undefined);
    try {
      const page = await call<HistoryPage>("inspect/history", { query: q, limit: PAGE, ...(before !== undefined && { before }) });
      if (mine !== nth.current) return;
      const more = page.events.map(toRow).reverse();
      const { next, total, lookedBack: back = undefined } = page;
      setFound((now) => ({
        rows: before === undefined ? more : [...more, ...now.rows],
        gaps: before === undefined ? (page.gaps ?? []) : now.gaps,
        next,
        total,
        back: back ?? undefined,
      }));
    } catch (error) {
      if (mine === nth.current) setProblem({ text: textOf(error), unknown: isUnknown(error) });
    }
    if (mine === nth.current) setBusy(false);
  };
  useEffect(() => {
    const timer = setTimeout(() => void load(), 150);
    return () => clearTimeout(timer);
  }, [q]);
  return { ...found, problem, isBusy, load };
}

export function HistoryView(): JSX.Element {
  const { q, event } = route.value;
  const { rows, gaps, next, total, back, problem, isBusy, load } = useFound(q);
  const isOfFleet = fleet.value !== undefined;
  useViewKeys();
  return (
    <div class={`timeline ${event !== "" ? "has-event" : ""}`}>
      <div class="timeline-main history">
        <div class="bar">
          <h1 class="hidden">History</h1>
          <Filter
            line={q}
            onChange={(line, how) => change({ q: line }, how)}
            label="Search what was recorded"
            placeholder="decision:deny since:7d text:push"
            keys={isOfFleet ? FLEET_KEYS : RECORD_KEYS}
          />
          <Export q={q} disabled={rows.length === 0} />
        </div>
        {isOfFleet ? (
          <div class="recording">
            <p class="quiet-text">
              What the fleet’s servers have stored of all hosts, the newest first. A search looks through a part at a time.
            </p>
          </div>
        ) : (
          <Recording onChange={() => void load()} />
        )}
        <FleetProblem part="verdicts" />
        <Gaps all={gaps} />
        <div class="list-box">
          <List
            items={flat(rows, rows.length)}
            selected={event}
            onOpen={openEvent}
            onToggle={() => {}}
            label="Recorded events, newest first"
          />
          {problem !== undefined &&
            (problem.unknown ? (
              <Empty title="This build of hookwire keeps no record for the page">
                <p>
                  <code>hookwire tail --record DIR</code> writes sessions into a file.
                </p>
              </Empty>
            ) : (
              <div class="empty">
                <Problem text={oneLine(problem.text)} onRetry={() => void load()} />
              </div>
            ))}
          {problem === undefined && !isBusy && rows.length === 0 && (
            <Empty title={emptyTitle(q, isOfFleet, next)}>
              <p>
                {isOfFleet
                  ? next !== undefined
                    ? "What is older wasn’t looked through yet: load older ones, below."
                    : "Take out a term, or look further back with since:30d. The servers keep verdicts for as long as the fleet was set up to."
                  : q === ""
                    ? "Switch the record on above. From then on, what your hosts judge can be searched here."
                    : "Take out a term, or look further back with since:30d."}
              </p>
            </Empty>
          )}
        </div>
        <p class="sum">
          {isBusy ? (
            "Searching…"
          ) : (
            <>
              {number(rows.length)}
              {total !== undefined && ` of ${number(total)}`} {rows.length === 1 ? "event" : "events"}
              {back !== undefined && <> back to {full(Date.parse(back))}</>}
            </>
          )}{" "}
          {next !== undefined && rows.length < MOST && (
            <button type="button" class="link" disabled={isBusy} onClick={() => void load(next)}>
              Load older ones
            </button>
          )}
        </p>
      </div>
      {event !== "" && <EventPane key={event} id={event} onClose={closeEvent} />}
    </div>
  );
}

function emptyTitle(q: string, isOfFleet: boolean, next: string | undefined): string {
  if (isOfFleet && next !== undefined) return "Nothing fits among the newest verdicts";
  return q === "" ? (isOfFleet ? "Nothing is stored yet" : "Nothing is recorded yet") : "Nothing recorded fits";
}

function Recording({ onChange }: { onChange: () => void }): JSX.Element {
  const [state, setState] = useState<RecordState | undefined>(undefined);
  const [loaded] = useLoaded((signal) => call<RecordState>("inspect/record", {}, undefined, signal), []);
  const [problem, setProblem] = useState("");
  const now = state ?? (loaded.state === "failed" ? undefined : loaded.value);
  if (now === undefined)
    return <div class="recording">{loaded.state === "failed" && !loaded.unknown && <Problem text={oneLine(loaded.text)} />}</div>;
  const turn = async (): Promise<void> => {
    setProblem("");
    try {
      const next = await call<RecordState>("inspect/record", { on: !now.on });
      setState(next);
      say(next.on ? "The record is on." : "The record is off. What was kept stays until you delete it.");
      onChange();
    } catch (error) {
      setProblem(textOf(error));
    }
  };
  return (
    <div class="recording">
      <button type="button" role="switch" aria-checked={now.on} class="switch" onClick={() => void turn()}>
        <span class="switch-knob" aria-hidden="true" />
        Record
      </button>
      <p class="quiet-text">
        {now.on ? "On: " : "Off. If it is on, "}what your hosts judge is kept on this machine
        {now.keeps !== undefined && (
          <>
            {" "}
            for <Quoted text={now.keeps} limit={500} /> at most
          </>
        )}
        , calls and verdicts, with the secrets in them replaced where hookwire knows them.{" "}
        {(now.events ?? 0) > 0 && (
          <>
            There are {times(now.events!, "event")}, {bytes(now.bytes ?? 0)}.
          </>
        )}{" "}
        {(now.lost ?? 0) > 0 && <>{times(now.lost!, "event was", "events were")} not written.</>}
      </p>
      {problem !== "" && <Problem text={oneLine(problem)} />}
    </div>
  );
}

/** What is missing in the time that is looked at. */
function Gaps({ all }: { all: readonly Gap[] }): JSX.Element | null {
  if (all.length === 0) return null;
  const sum = all.reduce((sum, it) => sum + it.events, 0);
  return (
    <section class="note note-failed" aria-label="What is missing">
      <p>
        <strong>{times(sum, "event isn’t", "events aren’t")} here:</strong> more came than could be written.
      </p>
      <ul>
        {all.slice(0, 5).map((it) => (
          <li key={`${it.at}${it.host}`}>
            {full(Date.parse(it.at))}: {times(it.events, "event")} of host {oneLine(it.host).slice(0, 80)}
          </li>
        ))}
      </ul>
      {all.length > 5 && <p>The last 5 of {number(all.length)} gaps are shown.</p>}
    </section>
  );
}

function Export({ q, disabled }: { q: string; disabled: boolean }): JSX.Element {
  const [done, setDone] = useState<number | undefined>(undefined);
  const run = async (): Promise<void> => {
    const parts: string[] = [];
    let before: string | undefined;
    setDone(0);
    try {
      do {
        const page: HistoryPage = await call<HistoryPage>("inspect/history", {
          query: q,
          limit: 500,
          ...(before !== undefined && { before }),
        });
        for (const it of page.events) parts.push(JSON.stringify(it.record) + "\n");
        // A part of a fleet's stream may have nothing that fits.
        before = page.next;
        setDone(parts.length);
      } while (before !== undefined && parts.length < MOST_EXPORTED);
      // Oldest first, one event a line: what `hookwire history replay` reads.
      download(parts.reverse(), "hookwire-history.jsonl");
      say(`${times(parts.length, "event")} exported${before !== undefined ? ": the newest that fit into one file" : ""}.`);
    } catch (error) {
      say(`The export failed: ${oneLine(textOf(error))}`);
    }
    setDone(undefined);
  };
  return (
    <button type="button" disabled={disabled || done !== undefined} onClick={() => void run()}>
      {done !== undefined ? `Exporting ${number(done)}…` : "Export"}
    </button>
  );
}
