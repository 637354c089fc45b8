// Numbers over what the filter lets through: verdicts over time, hooks by speed and by noise, sessions.

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { aggregate, BUCKETS, type HookSums, type Sums } from "../aggregate";
import { toggled } from "../query";
import { TONE_WORDS, TONES, type Tone } from "../read";
import { change, route } from "../route";
import { filter, fleet, version, visible } from "../store";
import { oneLine } from "../text";
import { clock, number, span, tick, times, took } from "../time";
import { Section } from "./event";
import { Filter } from "./filter";
import { Mark } from "./marks";
import { Columns, ofNumbers, unseen } from "./parts";
import { Empty, Head } from "./shell";

/** The strongest at the bottom, where lengths compare best. */
const STACK = [...TONES].reverse();
const WORDS: { [tone in Tone]: string } = { ...TONE_WORDS, silent: "no objection", allow: "allowed by a hook" };

function useSums(): Sums | undefined {
  const [sums, setSums] = useState<Sums | undefined>(undefined);
  useEffect(() => {
    let isGone = false;
    let timer = 0;
    const run = async (): Promise<void> => {
      const next = await aggregate(visible.rows, () => !isGone);
      if (next !== undefined && !isGone) setSums(next);
      timer = 0;
    };
    const plan = (): void => {
      if (timer === 0 && !isGone) timer = window.setTimeout(() => void run(), 400);
    };
    void run();
    const stop = version.subscribe(plan);
    return () => {
      isGone = true;
      clearTimeout(timer);
      stop();
    };
  }, []);
  return sums;
}

export function Charts(): JSX.Element {
  const { q } = route.value;
  const sums = useSums();
  return (
    <div class="page">
      <Head title="Charts" />
      <Filter line={q} onChange={filter} label="Filter events" placeholder="agent:codex since:1h" />
      {sums === undefined && <p class="loading">Counting…</p>}
      {sums?.total === 0 && (
        <Empty title="Nothing to count">
          <p>{q === "" ? "Charts follow from events. Let an agent do something." : "No event fits the filter."}</p>
        </Empty>
      )}
      {sums !== undefined && sums.total > 0 && (
        <>
          <Figures sums={sums} />
          <Section level={2} title="Verdicts over time">
            <Stacked sums={sums} />
          </Section>
          <Section level={2} title="Doubts and failures over time">
            <div class="pair">
              <Small sums={sums} of="doubts" tone="ask" word="doubt" />
              <Small sums={sums} of="failed" tone="failed" word="failure" />
            </div>
          </Section>
          <Section level={2} title="Hooks" tools={<span class="quiet-text">bars: p50 to p99, on a logarithmic scale</span>}>
            <Hooks hooks={sums.hooks} />
          </Section>
          <Section level={2} title="Sessions">
            <Sessions sums={sums} />
          </Section>
        </>
      )}
    </div>
  );
}

function Figures({ sums }: { sums: Sums }): JSX.Element {
  const share = (n: number): string =>
    `${sums.total === 0 ? 0 : ((100 * n) / sums.total).toFixed(n > 0 && n < sums.total / 100 ? 1 : 0)} %`;
  const figures: { tone: Tone; n: number; word: string; term: string }[] = [
    { tone: "deny", n: sums.tones.deny, word: "denied", term: "decision:deny" },
    { tone: "ask", n: sums.tones.ask, word: "asked about", term: "decision:ask" },
    { tone: "rewrite", n: sums.tones.rewrite, word: "rewritten", term: "is:rewritten" },
    { tone: "observed", n: sums.tones.observed, word: "would stop", term: "is:observed" },
    { tone: "failed", n: sums.failed, word: "with a failed hook", term: "is:failed" },
  ];
  return (
    <ul class="figures">
      <li>
        <span class="figure">{number(sums.total)}</span>
        <span class="quiet-text">events in {span(sums.to - sums.from)}</span>
      </li>
      {figures.map((it) => (
        <li key={it.word}>
          <span class="figure">
            <Mark tone={it.tone} label="" />
            {number(it.n)}
          </span>
          <button
            type="button"
            class="link"
            onClick={() => change({ view: "timeline", q: `${route.value.q} ${it.term}`.trim() })}
          >
            {it.word}
          </button>{" "}
          <span class="quiet-text">{share(it.n)}</span>
        </li>
      ))}
      <li>
        <span class="figure">
          <span class="doubt" aria-hidden="true">
            ~
          </span>
          {number(sums.doubts)}
        </span>
        <button type="button" class="link" onClick={() => change({ view: "timeline", q: `${route.value.q} is:doubt`.trim() })}>
          in doubt
        </button>{" "}
        <span class="quiet-text">{share(sums.doubts)}</span>
      </li>
    </ul>
  );
}

const WIDTH = 960;
const HEIGHT = 170;

/** A round number at or above the highest value. */
function topOf(n: number): number {
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return [1, 2, 3, 4, 5, 6, 8, 10].map((it) => it * unit).find((it) => it >= n) ?? n;
}

function Axis({ sums }: { sums: Sums }): JSX.Element {
  return (
    <div class="axis" aria-hidden="true">
      {[0, 0.25, 0.5, 0.75, 1].map((part) => {
        const at = sums.from + (sums.to - sums.from) * part;
        return <span key={part}>{tick(at, sums.to - sums.from)}</span>;
      })}
    </div>
  );
}

function Stacked({ sums }: { sums: Sums }): JSX.Element {
  const heights = sums.buckets.map((it) => TONES.reduce((sum, tone) => sum + it.tones[tone], 0));
  const top = topOf(Math.max(...heights));
  const step = WIDTH / BUCKETS;
  const shown = STACK.filter((tone) => sums.tones[tone] > 0);
  const timeAt = (nth: number): string => clock(sums.from + ((sums.to - sums.from) * nth) / BUCKETS).slice(0, 8);
  return (
    <figure class="chart">
      <ul class="legend">
        {shown.map((tone) => (
          <li key={tone}>
            <Mark tone={tone} label="" /> {WORDS[tone]} <span class="quiet-text">{number(sums.tones[tone])}</span>
          </li>
        ))}
      </ul>
      <div class="plot">
        <div class="scale" aria-hidden="true">
          <span>{number(top)}</span>
          <span>{number(top / 2)}</span>
          <span>0</span>
        </div>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Verdicts over time. ${shown.map((tone) => `${number(sums.tones[tone])} ${WORDS[tone]}`).join(", ")}.`}
        >
          {[0, 0.5, 1].map((it) => (
            <line key={it} class="grid" x1="0" x2={WIDTH} y1={HEIGHT * it} y2={HEIGHT * it} />
          ))}
          {sums.buckets.map((bucket, nth) => {
            let y = HEIGHT;
            return (
              <g key={nth}>
                <title>{`${timeAt(nth)}: ${
                  shown
                    .filter((tone) => bucket.tones[tone] > 0)
                    .map((tone) => `${bucket.tones[tone]} ${WORDS[tone]}`)
                    .join(", ") || "nothing"
                }`}</title>
                <rect class="catch" x={nth * step} y="0" width={step} height={HEIGHT} />
                {shown.map((tone) => {
                  const height = (bucket.tones[tone] / top) * HEIGHT;
                  y -= height;
                  return height === 0 ? null : (
                    <rect key={tone} class={`piece fill-${tone}`} x={nth * step + 1} width={step - 2} y={y} height={height} />
                  );
                })}
              </g>
            );
          })}
        </svg>
      </div>
      <Axis sums={sums} />
      <details class="as-table">
        <summary>As a table</summary>
        <div class="table-box" tabIndex={0} role="group" aria-label="Verdicts over time, as a table">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">from</th>
                {shown.map((tone) => (
                  <th scope="col" class="n" key={tone}>
                    {WORDS[tone]}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {sums.buckets.map((bucket, nth) =>
                heights[nth]! > 0 ? (
                  <tr key={nth}>
                    <th scope="row">{timeAt(nth)}</th>
                    {shown.map((tone) => (
                      <td class="n" key={tone}>
                        {bucket.tones[tone] || "·"}
                      </td>
                    ))}
                  </tr>
                ) : null,
              )}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}

function Small({ sums, of, tone, word }: { sums: Sums; of: "doubts" | "failed"; tone: Tone; word: string }): JSX.Element {
  const values = sums.buckets.map((it) => it[of]);
  const top = Math.max(1, ...values);
  const height = 44;
  const step = WIDTH / BUCKETS;
  return (
    <figure class="chart">
      <p>
        <strong>{times(sums[of], word)}</strong> <span class="quiet-text">at most {number(Math.max(...values))} at once</span>
      </p>
      <svg
        class="small"
        viewBox={`0 0 ${WIDTH} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${times(sums[of], word)} over time`}
      >
        <line class="grid" x1="0" x2={WIDTH} y1={height} y2={height} />
        {values.map(
          (n, nth) =>
            n > 0 && (
              <rect
                key={nth}
                class={`piece fill-${tone}`}
                x={nth * step + 1}
                width={step - 2}
                y={height - (n / top) * height}
                height={(n / top) * height}
              />
            ),
        )}
      </svg>
      <Axis sums={sums} />
    </figure>
  );
}

type Column = keyof Omit<HookSums, "hook">;
const COLUMNS: [Column, string][] = [
  ["runs", "runs"],
  ["denied", "denied"],
  ["asked", "asked"],
  ["rewrote", "rewrote"],
  ["observed", "would stop"],
  ["doubts", "doubts"],
  ["failed", "failed"],
  ["p50", "p50"],
  ["p99", "p99"],
];

function Hooks({ hooks }: { hooks: readonly HookSums[] }): JSX.Element {
  const [by, setBy] = useState<Column>("p99");
  const [all, setAll] = useState(false);
  const sorted = [...hooks].sort((a, b) => b[by] - a[by] || a.hook.localeCompare(b.hook));
  const shown = all ? sorted.slice(0, 500) : sorted.slice(0, 12);
  const slowest = Math.max(10, ...hooks.map((it) => it.p99));
  const place = (micros: number): number => (100 * Math.log10(Math.max(1, micros))) / Math.log10(slowest);
  if (hooks.length === 0) return <p class="quiet-text">No hook was selected for these events.</p>;
  return (
    <>
      <div class="table-box" tabIndex={0} role="group" aria-label="Hooks">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">hook</th>
              {COLUMNS.map(([column, word]) => (
                <th scope="col" key={column} class="n" aria-sort={by === column ? "descending" : undefined}>
                  <button type="button" class="sort" onClick={() => setBy(column)}>
                    {word}
                    {by === column && <span aria-hidden="true"> ↓</span>}
                  </button>
                </th>
              ))}
              <th scope="col">
                <span class="hidden">p50 to p99</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((it) => (
              <tr key={it.hook}>
                <th scope="row">
                  <button
                    type="button"
                    class="link"
                    onClick={() => change({ view: "timeline", q: toggled("", "hook", it.hook) })}
                  >
                    {oneLine(it.hook).slice(0, 120)}
                  </button>
                </th>
                {COLUMNS.map(([column]) => (
                  <td
                    key={column}
                    class={`n ${column === "failed" && it.failed > 0 ? "tone-failed" : column === "denied" && it.denied > 0 ? "tone-deny" : ""}`}
                  >
                    {column === "p50" || column === "p99" ? took(it[column]) : it[column] === 0 ? "·" : number(it[column])}
                  </td>
                ))}
                <td class="latency">
                  <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="bar-back" x="0" y="4.5" width="100" height="1" />
                    <rect
                      class="bar fill-observed"
                      x={place(it.p50)}
                      width={Math.max(1.2, place(it.p99) - place(it.p50))}
                      y="2"
                      height="6"
                    />
                  </svg>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {sorted.length > 12 && (
        <button type="button" class="link" onClick={() => setAll(!all)}>
          {all ? "Show the first 12" : `Show all ${number(sorted.length)} hooks`}
        </button>
      )}
    </>
  );
}

function Sessions({ sums }: { sums: Sums }): JSX.Element {
  const sorted = [...sums.sessions].sort((a, b) => b.events - a.events).slice(0, 50);
  const hasTokens = sorted.some((it) => it.tokens > 0);
  const hasCost = sorted.some((it) => it.cost > 0);
  const most = Math.max(1, ...sorted.map((it) => it.events));
  return (
    <>
      <div class="table-box" tabIndex={0} role="group" aria-label="Sessions">
        <table class="table">
          <Columns
            of={[
              "session",
              "agent",
              ofNumbers("events"),
              unseen("compared"),
              ofNumbers("denied"),
              ofNumbers("lasted"),
              hasTokens && ofNumbers("tokens"),
              hasCost && ofNumbers("cost"),
            ]}
          />
          <tbody>
            {sorted.map((it) => (
              <tr key={it.key}>
                <th scope="row">
                  {it.session === "" ? (
                    "no session"
                  ) : (
                    <button
                      type="button"
                      class="link"
                      onClick={() => change({ view: "timeline", q: toggled("", "session", it.session) })}
                    >
                      {oneLine(it.session).slice(0, 120)}
                    </button>
                  )}
                </th>
                <td>
                  {oneLine(it.agent)}
                  {fleet.value !== undefined && <small class="quiet-text"> on {oneLine(it.host)}</small>}
                </td>
                <td class="n">{number(it.events)}</td>
                <td class="latency">
                  <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="bar fill-silent" x="0" width={(100 * it.events) / most} y="2" height="6" />
                  </svg>
                </td>
                <td class={`n ${it.denied > 0 ? "tone-deny" : ""}`}>{it.denied === 0 ? "·" : number(it.denied)}</td>
                <td class="n nowrap">{span(it.to - it.from)}</td>
                {hasTokens && <td class="n">{it.tokens === 0 ? "·" : number(it.tokens)}</td>}
                {hasCost && <td class="n">{it.cost === 0 ? "·" : `$${it.cost.toFixed(2)}`}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {!hasTokens && <p class="quiet-text">Tokens and cost appear for agents that report them with their model calls.</p>}
    </>
  );
}
