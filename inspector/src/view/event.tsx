// One event: what was asked, what the hooks made of it, and what the agent got.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { diff } from "../diff";
import { useLoaded, type Loaded } from "../load";
import { fromBytes } from "../places";
import { projectOf, toggled, type Key } from "../query";
import { inWords, judgedOf, members, subjectOf, type Row } from "../read";
import { change, go, route } from "../route";
import { call, isUnknown, Refusal } from "../session";
import { ended, find, fleet, rows, version } from "../store";
import { Block, CUT, cutAt, More, oneLine, plain, Quoted, Shown } from "../text";
import { full, clock, took } from "../time";
import type { Answered, ExplainResult, Json, Judged, ReadCommand } from "../wire";
import { ON_ITS_MACHINE } from "./fleet";
import { Icon, Mark } from "./marks";
import { Path } from "./path";
import { Programs } from "./programs";
import { Empty, say } from "./shell";

export function EventPane({ id, onClose }: { id: string; onClose: () => void }): JSX.Element {
  const [isWide, setWide] = useState(false);
  const [row, setRow] = useState<Row | undefined>(find(id));
  const [gone, setGone] = useState(false);
  useEffect(() => {
    if (row !== undefined) return;
    // The event may be on its way, or only in the record.
    let left = 12;
    const timer = setInterval(() => {
      const found = find(id);
      if (found !== undefined) {
        setRow(found);
        clearInterval(timer);
      } else if (--left === 0) {
        clearInterval(timer);
        setGone(true);
      }
    }, 250);
    return () => clearInterval(timer);
  }, [row]);
  return (
    <aside class={`pane ${isWide ? "is-wide" : ""}`} aria-label="Event">
      <div class="pane-tools">
        <button type="button" class="quiet" aria-pressed={isWide} aria-label="Wide" title="Wide" onClick={() => setWide(!isWide)}>
          <Icon name="wide" />
        </button>
        <button type="button" class="quiet" aria-label="Close the event" title="Close (Esc)" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      {row !== undefined ? (
        <EventView row={row} />
      ) : gone ? (
        <Empty title="This event isn’t here any more">
          <p>The page and its hosts keep the last events. If it was recorded, History has it.</p>
        </Empty>
      ) : (
        <p class="loading">Looking for the event…</p>
      )}
    </aside>
  );
}

/** The event as `hooks/explain` and `inspect/try` take it. */
export function eventOf(record: Judged["record"]): { [name: string]: Json } {
  const params = record.params ?? {};
  return params["payload"] !== undefined && params["dialect"] === undefined ? { ...params, dialect: record.dialect } : params;
}

export function useExplained(judged: Judged): Loaded<ExplainResult> {
  const { record, host } = judged;
  // The host knows the event as it was sent. Where it has forgotten it, there is what the page has.
  const ask = async (signal: AbortSignal): Promise<ExplainResult> => {
    try {
      return await call<ExplainResult>("inspect/explain", { seq: record.seq }, host, signal);
    } catch (error) {
      if (record.params === undefined || !(error instanceof Refusal)) throw error;
      return call<ExplainResult>("hooks/explain", eventOf(record), host, signal);
    }
  };
  const isElsewhere = fleet.value !== undefined;
  const [loaded] = useLoaded(isElsewhere ? undefined : ask, [host, record.seq, isElsewhere]);
  return isElsewhere ? { state: "failed", text: ON_ITS_MACHINE, unknown: false } : loaded;
}

export function EventView({ row }: { row: Row }): JSX.Element {
  const judged = useMemo(() => judgedOf(row), [row.id]);
  const { record } = judged;
  const { verdict } = record;
  const explained = useExplained(judged);
  const explanation = explained.state === "failed" ? undefined : explained.value;
  const subject = useMemo(() => subjectOf(judged), [row.id]);
  return (
    <article class={`event-view edge-${row.tone}`}>
      <EventHead row={row} record={record} />

      <Section
        title={record.event.startsWith("Post") ? "What came back" : "What was asked"}
        tools={
          fleet.value === undefined && (
            <button type="button" class="link" onClick={() => go({ view: "try", event: row.id })}>
              Try a rule on it
            </button>
          )
        }
      >
        <Subject subject={subject} commands={explanation?.commands ?? []} acts={explanation?.acts ?? []} />
      </Section>

      {verdict.subject !== undefined && (
        <Section title={verdict.replaced ? "Replaced with" : "Rewritten to"}>
          <Rewrite before={subject} after={verdict.subject} />
        </Section>
      )}

      <Section title="Path">
        <Path row={row} verdict={verdict} explained={explained} ended={ended.get(verdict.eventId) ?? []} />
      </Section>

      {(verdict.additionalContext ?? []).length > 0 && (
        <Section title="Told to the model">
          {verdict.additionalContext!.map((it, nth) => (
            <Block key={nth} text={it} label="Told to the model" />
          ))}
        </Section>
      )}
      {(verdict.userMessages ?? []).length > 0 && (
        <Section title="Told to the person">
          {verdict.userMessages!.map((it, nth) => (
            <Block key={nth} text={it} label="Told to the person" />
          ))}
        </Section>
      )}

      {judged.about?.tree !== undefined && judged.about.tree.length > 0 && (
        <Section title="Where it comes from">
          <Block text={judged.about.tree.join("\n")} label="The programs that it comes from" />
        </Section>
      )}
      <Programs row={row} />
      <Section title="What the agent got">
        <Reply judged={judged} />
      </Section>
      <details class="record">
        <summary>The whole record</summary>
        <Raw value={judged as unknown as Json} label="The whole record" />
      </details>
    </article>
  );
}

function EventHead({ row, record }: { row: Row; record: Judged["record"] }): JSX.Element {
  const { verdict } = record;
  const root = projectOf(row);
  const narrow = (key: Key, value: string): JSX.Element => (
    <button
      type="button"
      class="link"
      title={`Filter: ${key}`}
      onClick={() => change({ view: "timeline", q: toggled(route.value.q, key, value) })}
    >
      {oneLine(value)}
    </button>
  );
  const facts: [string, ComponentChildren][] = [
    [
      "when",
      <time dateTime={record.at} title={full(row.time)}>
        {clock(row.time)}
      </time>,
    ],
    [
      "agent",
      <>
        {narrow("agent", row.agent)}
        {row.subAgent !== "" && <> / {narrow("agent", row.subAgent)}</>}
      </>,
    ],
    ...(row.session !== "" ? [["session", narrow("session", row.session)] as [string, ComponentChildren]] : []),
    ...(row.run !== "" ? [["run", narrow("run", row.run)] as [string, ComponentChildren]] : []),
    ...(row.project !== "" ? [["host", narrow("host", row.host)] as [string, ComponentChildren]] : []),
    ...(root !== "" ? [["project", <span>{oneLine(root)}</span>] as [string, ComponentChildren]] : []),
    ["took", took(row.micros)],
  ];
  return (
    <header class="event-head">
      <p class="event-kind">
        {oneLine(record.event)}
        {row.tool !== "" && <> · {oneLine(row.tool)}</>}
      </p>
      <h2 tabIndex={-1} data-event-title>
        <Mark tone={row.tone} /> {headline(row)}
      </h2>
      {verdict.reason !== undefined && (
        <p class="event-reason">
          <Quoted text={verdict.reason} limit={600} />
        </p>
      )}
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {row.doubt && (
        <p class="note note-doubt">
          <strong>In doubt.</strong> The text doesn’t tell whether a rule holds, so hookwire doesn’t guess. The hooks below say
          what was unclear.
        </p>
      )}
      {(verdict.errors ?? []).map((it) => (
        <p class="note note-failed" key={it}>
          <Quoted text={it} limit={400} />
        </p>
      ))}
      {verdict.stop !== undefined && (
        <p class="note">
          <strong>The run ends:</strong> <Quoted text={verdict.stop} limit={400} />
        </p>
      )}
      {record.truncated && (
        <p class="note">The event was too large to be kept whole: long texts are cut below. Its verdict is complete.</p>
      )}
    </header>
  );
}

function headline(row: Row): JSX.Element {
  const by =
    row.decidedBy !== "" ? (
      <>
        {" "}
        by <span class="hook-name">{oneLine(row.decidedBy)}</span>
      </>
    ) : null;
  const rewriter = row.runs.find((it) => (it.flags & 16) !== 0)?.hook;
  switch (row.tone) {
    case "deny":
      return <>Denied{by}</>;
    case "ask":
      return <>Asked about{by}</>;
    case "defer":
      return <>Put off{by}</>;
    case "rewrite":
      return (
        <>
          Allowed, rewritten
          {rewriter !== undefined && (
            <>
              {" "}
              by <span class="hook-name">{oneLine(rewriter)}</span>
            </>
          )}
        </>
      );
    case "failed":
      return <>Allowed, though a hook failed</>;
    case "observed":
      return <>Allowed; a hook that observes would have stopped it</>;
    case "allow":
      return <>Allowed{by}</>;
    case "silent":
      return <>Allowed{row.runs.length === 0 ? ": no hook was asked" : ": no hook objected"}</>;
  }
}

export function Section({
  title,
  tools,
  level = 3,
  children,
}: {
  title: string;
  tools?: ComponentChildren;
  level?: 2 | 3;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="part">
      <div class="part-head">
        {level === 2 ? <h2>{title}</h2> : <h3>{title}</h3>}
        {tools}
      </div>
      {children}
    </section>
  );
}

export const pretty = (value: Json | undefined): string =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** `written`: the text that is copied, where it was laid out to be read. */
export function Raw({ value, label, written }: { value: Json | undefined; label: string; written?: string }): JSX.Element {
  const text = useMemo(() => pretty(value), [value]);
  return (
    <div class="raw">
      <button
        type="button"
        class="quiet copy"
        aria-label={`Copy: ${label}`}
        title="Copy"
        onClick={() => {
          navigator.clipboard.writeText(written ?? text).then(
            () => say("Copied."),
            () => say("The browser didn’t let the page copy."),
          );
        }}
      >
        <Icon name="copy" />
      </button>
      <Block text={text} label={label} limit={4000} />
    </div>
  );
}

/** The call: a command with its acts lit, else its members. */
export function Subject({
  subject,
  commands,
  acts,
  whole = false,
  onAll,
}: {
  subject: Json | undefined;
  commands: ReadCommand[];
  acts: string[];
  whole?: boolean;
  onAll?: () => void;
}): JSX.Element {
  const [lit, setLit] = useState(-1);
  if (subject === undefined || subject === null) return <p class="quiet-text">This event has no content of its own.</p>;
  const its = members(subject);
  const command = typeof its?.["command"] === "string" ? its["command"] : typeof subject === "string" ? subject : undefined;
  const others = its === undefined ? [] : Object.entries(its).filter(([name]) => !(name === "command" && command !== undefined));
  const limit = whole ? 16_384 : CUT;
  return (
    <div class="subject">
      {command !== undefined && <Lit text={command} commands={commands} lit={lit} limit={limit} onAll={onAll} />}
      {command === undefined && its === undefined && (
        <Block
          text={Array.isArray(subject) ? inWords(subject) : pretty(subject)}
          label="The content"
          limit={limit}
          {...(onAll && { onAll })}
        />
      )}
      {others.length > 0 && (
        <dl class="members">
          {others.map(([name, value]) => (
            <div key={name}>
              <dt>{plain(name).slice(0, 200)}</dt>
              <dd>
                {typeof value === "string" && !value.includes("\n") && value.length < 200 ? (
                  <Quoted text={value} limit={limit} />
                ) : (
                  <Block text={pretty(value)} label={plain(name)} limit={limit} {...(onAll && { onAll })} />
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {(commands.length > 0 || acts.length > 0) && (
        <ul class="acts" aria-label="What it would do, as it was read">
          {commands.map((it, nth) => (
            <li key={`c${nth}`} onMouseEnter={() => setLit(nth)} onMouseLeave={() => setLit(-1)}>
              <button type="button" class="act" onFocus={() => setLit(nth)} onBlur={() => setLit(-1)} onClick={() => setLit(nth)}>
                <span class="act-verb">runs</span> <code>{oneLine(it.command).slice(0, 400)}</code>
              </button>
            </li>
          ))}
          {acts.map((it, nth) => {
            const at = it.indexOf(" ");
            return (
              <li key={`a${nth}`}>
                <span class="act">
                  <span class="act-verb">{oneLine(it.slice(0, at))}</span> <code>{oneLine(it.slice(at + 1)).slice(0, 400)}</code>
                </span>
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}

function Lit({
  text,
  commands,
  lit,
  limit,
  onAll,
}: {
  text: string;
  commands: ReadCommand[];
  lit: number;
  limit: number;
  onAll?: (() => void) | undefined;
}): JSX.Element {
  const [shown, setShown] = useState(limit);
  const end = cutAt(text, shown);
  const parts = useMemo(() => {
    const at = fromBytes(text);
    const trimmed = (nth: number, start: number, end: number) => ({
      nth,
      start,
      end: start + text.slice(start, end).trimEnd().length,
    });
    const places = commands
      .slice(0, 500)
      .map((it, nth) => trimmed(nth, at(it.start), at(it.end)))
      .filter((it) => it.end > it.start && it.start < end && !(it.start === 0 && it.end >= text.length && commands.length > 1));
    const edges = [...new Set([0, end, ...places.flatMap((it) => [it.start, Math.min(end, it.end)])])].sort((a, b) => a - b);
    return edges.slice(0, -1).map((from, nth) => {
      const to = edges[nth + 1]!;
      return { text: text.slice(from, to), of: places.filter((it) => it.start <= from && it.end >= to).map((it) => it.nth) };
    });
  }, [text, commands, end]);
  return (
    <div class="block">
      <pre class="block-text lit-text" dir="ltr" tabIndex={0} role="group" aria-label="The command">
        {parts.map((part, nth) =>
          part.of.length > 0 ? (
            <span key={nth} class={`lit ${part.of.includes(lit) ? "is-lit" : ""} lit-${part.of.at(-1)! % 2}`}>
              <Shown text={part.text} />
            </span>
          ) : (
            <Shown key={nth} text={part.text} />
          ),
        )}
      </pre>
      {end < text.length && (
        <More
          left={text.length - end}
          onMore={() => {
            setShown(shown + 131_072);
            if (shown + 131_072 >= text.length) onAll?.();
          }}
        />
      )}
    </div>
  );
}

export function Rewrite({ before, after }: { before: Json | undefined; after: Json }): JSX.Element {
  const [old, now] = [members(before), members(after)];
  if (old === undefined || now === undefined) return <Diff before={pretty(before)} after={pretty(after)} label="the value" />;
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
    (name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]),
  );
  if (names.length === 0) return <p class="quiet-text">A hook wrote the value anew; nothing in it is different.</p>;
  return (
    <dl class="members">
      {names.map((name) => (
        <div key={name}>
          <dt>{plain(name).slice(0, 200)}</dt>
          <dd>
            <Diff before={pretty(old[name])} after={pretty(now[name])} label={plain(name)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Diff({ before, after, label }: { before: string; after: string; label: string }): JSX.Element {
  const cut = 20_000;
  const parts = useMemo(() => diff(before.slice(0, cut), after.slice(0, cut)), [before, after]);
  return (
    <>
      <pre class="block-text diff" dir="ltr" tabIndex={0} role="group" aria-label={`What changed in ${label}`}>
        {parts.map((part, nth) =>
          part.kind === "same" ? (
            <Shown key={nth} text={part.text} />
          ) : part.kind === "added" ? (
            <ins key={nth}>
              <Shown text={part.text} />
            </ins>
          ) : (
            <del key={nth}>
              <Shown text={part.text} />
            </del>
          ),
        )}
      </pre>
      {Math.max(before.length, after.length) > cut && <p class="quiet-text">The first {cut} characters are compared.</p>}
    </>
  );
}

const SILENCE = "silence lets the agent go on as it would without hookwire";

function Reply({ judged }: { judged: Judged }): JSX.Element {
  const { record, host } = judged;
  const isElsewhere = fleet.value !== undefined;
  // The host has the event whole. Where it is gone, the record has what the page may know.
  const ask = async (signal: AbortSignal): Promise<Answered | undefined> => {
    try {
      if (isElsewhere) return await call<Answered>("inspect/reply", { record }, undefined, signal);
      return await call<Answered>("inspect/reply", { seq: record.seq }, host, signal);
    } catch (error) {
      if (isUnknown(error)) return undefined;
      if (isElsewhere || record.params === undefined || !(error instanceof Refusal)) throw error;
      return call<Answered>("inspect/reply", { record }, undefined, signal);
    }
  };
  const [loaded] = useLoaded(ask, [judged.id, host, record.seq]);
  const got = loaded.state === "failed" ? undefined : loaded.value;
  if (got === undefined) {
    return loaded.state === "loading" ? (
      <p class="loading">Asking for the reply…</p>
    ) : (
      <>
        <p class="quiet-text">
          The verdict, before it was put into the words of <code>{oneLine(record.dialect)}</code>:
        </p>
        <Raw value={{ ...record.verdict, outcomes: undefined } as unknown as Json} label="The verdict" />
      </>
    );
  }
  if (got.exit !== undefined) return <Said got={got} />;
  if (got.body !== undefined)
    return got.body === "" ? (
      <p class="quiet-text">An empty body over HTTP: {SILENCE}.</p>
    ) : (
      <Raw value={parsed(got.body)} written={got.body} label="The body of the reply" />
    );
  return <Raw value={got.reply} label="The reply" />;
}

/** What the command said that the agent ran, and how it ended. */
function Said({ got }: { got: Answered }): JSX.Element {
  const texts = [
    ["stdout", got.stdout ?? "", "Standard output"],
    ["stderr", got.stderr ?? "", "Standard error"],
  ] as const;
  return (
    <dl class="members">
      <div>
        <dt>exit code</dt>
        <dd>
          <code>{got.exit}</code>
        </dd>
      </div>
      {texts.map(([name, text, label]) => (
        <div key={name}>
          <dt>{name}</dt>
          {text === "" ? (
            <dd class="quiet-text">
              nothing
              {name === "stdout" && got.exit === 0 && `: ${SILENCE}`}
            </dd>
          ) : (
            <dd>
              <Raw value={parsed(text)} written={text} label={label} />
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** The programs that ran below a tool call, for those who look for them. */
export function programsOf(row: Row): Row[] {
  version.value;
  return row.eventId === "" ? [] : rows.filter((it) => it.toolCall === row.eventId);
}
