// The way of an event through the layers and hooks, as a wire from the agent to the verdict. A hook that was asked sits
// on the wire, one that was passed over hangs beside it. The wire changes its look where the value or the verdict does.

import type { JSX } from "preact";
import { editorLink, LAYER_ORDER, LAYERS, placeText } from "../places";
import type { Loaded } from "../load";
import { missed, toneOf, type Row, type Tone } from "../read";
import { approvals } from "../store";
import { oneLine, Quoted } from "../text";
import { number, took } from "../time";
import type { Ended, Explanation, ExplainResult, LayerName, Outcome, Source, Verdict } from "../wire";
import { Mark } from "./marks";

interface Hop {
  outcome: Outcome;
  explanation: Explanation | undefined;
  start: number;
}
interface Stretch {
  layer: LayerName | undefined;
  hops: Hop[];
  over: Explanation[];
}

/** Outcomes and explanations are two lists of the same hooks, in one order; a hook's name may be there twice. */
function stretches(verdict: Verdict, explanation: ExplainResult | undefined): { first: Stretch[]; again: Hop[] } {
  const left = [...(explanation?.hooks ?? [])];
  let clock = 0;
  const hop = (outcome: Outcome, takeIt: boolean): Hop => {
    const at = left.findIndex((it) => it.hook === outcome.hook && it.applies);
    const explained = at >= 0 ? left[at] : explanation?.hooks.find((it) => it.hook === outcome.hook);
    if (at >= 0 && takeIt) left.splice(at, 1);
    const start = clock;
    clock += outcome.durationMicros;
    return { outcome, explanation: explained, start };
  };
  const hops = verdict.outcomes.filter((it) => it.rejudged !== true).map((it) => hop(it, true));
  const again = verdict.outcomes.filter((it) => it.rejudged === true).map((it) => hop(it, false));
  const layers: (LayerName | undefined)[] = explanation === undefined ? [undefined] : [...LAYER_ORDER];
  // After something happened, the inner layers come first: the order is that of the outcomes.
  const met = [...new Set(hops.map((it) => it.explanation?.source.layer))].filter((it) => it !== undefined);
  if (met.length > 1 && LAYER_ORDER.indexOf(met[0]!) > LAYER_ORDER.indexOf(met.at(-1)!)) layers.reverse();
  const first = layers
    .map((layer): Stretch => ({
      layer,
      hops: hops.filter((it) => it.explanation?.source.layer === layer || (layer === layers[0] && it.explanation === undefined)),
      over: left.filter((it) => it.source.layer === layer && it.keptOutBy?.test !== "on"),
    }))
    .filter((it) => it.hops.length + it.over.length > 0);
  return { first, again };
}

export function toneOfOutcome(outcome: Outcome): Tone {
  if (outcome.status === "skipped") return "silent";
  const decision = outcome.decision ?? "allow";
  const would = outcome.observed;
  const isObserved =
    would !== undefined && ((would.decision ?? "allow") !== "allow" || would.rewrote === true || would.stop !== undefined);
  return toneOf(decision, {
    decidedBy: outcome.decision === undefined ? "" : outcome.hook,
    rewritten: outcome.rewrote === true,
    failed: outcome.error !== undefined,
    observed: isObserved,
  });
}

function wordOf(outcome: Outcome, isHeld: boolean): string {
  if (isHeld) return "held: a person is asked";
  if (outcome.status === "skipped") return "not run";
  if (outcome.status === "started") return "started, not waited for";
  if (outcome.status === "cancelled") return outcome.decision === "deny" ? "timed out, so no" : "timed out";
  if (outcome.error !== undefined) return outcome.decision === undefined ? "failed" : `failed, so ${outcome.decision}`;
  if (outcome.observed !== undefined) {
    const { decision, rewrote, stop } = outcome.observed;
    return decision !== undefined && decision !== "allow"
      ? `would ${decision}`
      : rewrote
        ? "would rewrite"
        : stop !== undefined
          ? "would end the run"
          : "observes";
  }
  return outcome.decision ?? (outcome.rewrote ? "rewrote" : "no objection");
}

export function Path({
  row,
  verdict,
  explained,
  ended,
}: {
  row: Row;
  verdict: Verdict;
  explained: Loaded<ExplainResult>;
  ended: readonly Ended[];
}): JSX.Element {
  const explanation = explained.state === "failed" ? undefined : explained.value;
  const { first, again } = stretches(verdict, explanation);
  const total = Math.max(
    1,
    verdict.outcomes.reduce((sum, it) => sum + it.durationMicros, 0),
  );
  const isOther = explanation?.hash !== undefined && explanation.hash !== verdict.hash;
  const hold = approvals.value.find((it) => it.host === row.host && it.session === row.session && it.hook === row.decidedBy);
  // The look of the wire from each hop on.
  let look = "";
  const after = (outcome: Outcome): string => {
    if (outcome.observed === undefined) {
      if (outcome.decision === "deny") look = "is-stopped";
      else if (outcome.decision !== undefined && outcome.decision !== "allow" && look !== "is-stopped") look = "is-held";
      else if (outcome.rewrote && look === "") look = "is-changed";
    }
    return look;
  };
  const draw = (hop: Hop, nth: number): JSX.Element => {
    const before = look;
    return (
      <HopView
        key={nth}
        hop={hop}
        total={total}
        before={before}
        after={after(hop.outcome)}
        isHeld={hold?.hook === hop.outcome.hook && hop.outcome.decision === "ask"}
        ended={ended.filter((it) => it.outcome.hook === hop.outcome.hook)}
      />
    );
  };
  return (
    <div class="path">
      <ol class="wire">
        <li class="hop is-first">
          <span class="hop-node">
            <span class="terminal" />
          </span>
          <p class="hop-line">
            <strong>{oneLine(row.agent)}</strong>{" "}
            <span class="quiet-text">
              sends {oneLine(row.event)}
              {row.tool !== "" && <> for {oneLine(row.tool)}</>}
            </span>
          </p>
        </li>
        {(explanation?.policy ?? [])
          .filter((it) => it.denies !== undefined)
          .map((it) => (
            <PolicyHop key={it.source.file} source={it.source} denies={it.denies!} />
          ))}
        {first.map((stretch) => (
          <li class="stretch" key={stretch.layer ?? "all"}>
            {stretch.layer !== undefined && <p class={`layer-name wire-${look || "on"}`}>{LAYERS[stretch.layer]}</p>}
            <ol>
              {stretch.hops.map(draw)}
              {stretch.over.length > 0 && <Over all={stretch.over} look={look} isOther={isOther} />}
            </ol>
          </li>
        ))}
        {again.length > 0 && (
          <li class="stretch">
            <p class={`layer-name wire-${look || "on"}`}>judged again, because the value changed</p>
            <ol>{again.map(draw)}</ol>
          </li>
        )}
        <li class={`hop is-last wire-${look || "on"}`}>
          <span class="hop-node">
            <Mark tone={row.tone} />
          </span>
          <p class="hop-line">
            <strong class={`tone-${row.tone}`}>{row.tone === "rewrite" ? "allow, rewritten" : row.decision}</strong>{" "}
            <span class="quiet-text">by generation {number(verdict.generation)} of the definitions</span>
          </p>
        </li>
      </ol>
      <Notes explained={explained} isOther={isOther} />
    </div>
  );
}

function PolicyHop({ source, denies }: { source: Source; denies: string }): JSX.Element {
  return (
    <li class="hop">
      <span class="hop-node">
        <Mark tone="deny" />
      </span>
      <div class="hop-body">
        <p class="hop-line">
          <strong>policy</strong> <Place source={source} />
        </p>
        <p>
          <Quoted text={denies} limit={400} />
        </p>
      </div>
    </li>
  );
}

/** What is said below the wire. */
function Notes({ explained, isOther }: { explained: Loaded<ExplainResult>; isOther: boolean }): JSX.Element {
  const explanation = explained.state === "failed" ? undefined : explained.value;
  const others = (explanation?.hooks ?? []).filter((it) => !it.applies && it.keptOutBy?.test === "on").length;
  return (
    <>
      {explained.state === "loading" && explanation === undefined && (
        <p class="loading">Asking the host which hooks were passed over…</p>
      )}
      {explained.state === "failed" && (
        <p class="quiet-text">The host can’t say which hooks were passed over: {oneLine(explained.text)}</p>
      )}
      {others > 0 && (
        <p class="quiet-text">
          {number(others)} more {others === 1 ? "hook is" : "hooks are"} for other events.
        </p>
      )}
      {isOther && (
        <p class="note">
          Other definitions are in force now than those that judged this event. Where hooks hang beside the wire, that is as of
          now.
        </p>
      )}
      {(explanation?.notices ?? []).map((it) => (
        <p class="note" key={it}>
          <Quoted text={it} limit={400} />
        </p>
      ))}
    </>
  );
}

export function Place({
  source,
  label = placeText(source),
}: {
  source: Pick<Source, "file" | "line">;
  label?: string;
}): JSX.Element {
  const link = editorLink(source);
  return link === undefined ? (
    <span class="place">{label}</span>
  ) : (
    <a class="place" href={link} title={`Open ${placeText(source)} in VS Code`} rel="noreferrer">
      {label}
    </a>
  );
}

function HopView({
  hop,
  total,
  before,
  after,
  isHeld,
  ended,
}: {
  hop: Hop;
  total: number;
  before: string;
  after: string;
  isHeld: boolean;
  ended: readonly Ended[];
}): JSX.Element {
  const { outcome, explanation, start } = hop;
  const tone = toneOfOutcome(outcome);
  // A reason that quotes the doubt would say it twice.
  const reason = outcome.opaque !== undefined && outcome.reason?.includes(outcome.opaque) ? undefined : outcome.reason;
  const texts = [outcome.error, reason, outcome.observed?.reason].filter((it) => it !== undefined);
  const held = explanation?.rules?.filter((it) => it.holds !== false) ?? [];
  return (
    <li
      class={`hop wire-${before || "on"} next-${after || "on"} ${outcome.opaque !== undefined ? "is-doubt" : ""} ${outcome.status === "skipped" ? "is-skipped" : ""}`}
    >
      <span class="hop-node">
        <Mark tone={tone} label={wordOf(outcome, isHeld)} />
      </span>
      <div class="hop-body">
        <div class="hop-row">
          <p class="hop-line">
            <strong>{oneLine(outcome.hook)}</strong> <span class={`hop-word tone-${tone}`}>{wordOf(outcome, isHeld)}</span>{" "}
            {explanation && <Place source={explanation.source} />}
          </p>
          <span class="hop-time">
            <svg class="bar-track" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
              <rect class="bar-back" x="0" y="2" width="100" height="2" />
              <rect
                class={`bar fill-${tone}`}
                x={(start / total) * 100}
                y="0"
                width={Math.max(1.5, (outcome.durationMicros / total) * 100)}
                height="6"
              />
            </svg>
            {took(outcome.durationMicros)}
          </span>
        </div>
        {texts.map((it, nth) => (
          <p class="hop-text" key={nth}>
            <Quoted text={it} limit={300} />
          </p>
        ))}
        {outcome.opaque !== undefined && (
          <p class="hop-text hop-doubt">
            <span class="doubt">~</span> <Quoted text={outcome.opaque} limit={300} />
          </p>
        )}
        {held.length > 0 && (
          <ul class="rules">
            {held.slice(0, 4).map((it, nth) => (
              <li key={nth}>
                <span class="rule-field">{it.field}</span> <code>{oneLine(it.rule).slice(0, 200)}</code>{" "}
                <span class="quiet-text">
                  {it.holds === undefined ? "can’t be told" : "holds"}: {oneLine(it.why).slice(0, 200)}
                </span>
              </li>
            ))}
          </ul>
        )}
        {explanation?.exception !== undefined && outcome.decision !== undefined && (
          <p class="hop-text quiet-text">
            It passes with <code>unless: {oneLine(explanation.exception).slice(0, 200)}</code>
          </p>
        )}
        {(outcome.scripts ?? []).map((it) => (
          <p class="hop-text quiet-text" key={it.path}>
            looked into <code>{oneLine(it.path)}</code>
          </p>
        ))}
        {ended.map((it) => (
          <p class="hop-text" key={it.seq}>
            <Mark tone={toneOfOutcome(it.outcome)} /> ended after {took(it.outcome.durationMicros)}
            {it.outcome.error !== undefined && (
              <>
                : <Quoted text={it.outcome.error} limit={300} />
              </>
            )}
          </p>
        ))}
      </div>
    </li>
  );
}

/** The hooks of a layer that were passed over, in a line; each with its test below. */
function Over({ all, look, isOther }: { all: readonly Explanation[]; look: string; isOther: boolean }): JSX.Element {
  const tests = new Map<string, number>();
  for (const it of all) {
    const test = it.keptOutBy?.test ?? "";
    tests.set(test, (tests.get(test) ?? 0) + 1);
  }
  return (
    <li class={`hop is-over wire-${look || "on"} next-${look || "on"}`}>
      <span class="hop-node">
        <span class="spur" />
      </span>
      <details class="hop-body">
        <summary>
          {number(all.length)} passed over
          {[...tests].map(([test, n]) => (
            <span class="test" key={test}>
              {test === "" ? (
                `${number(n)} not asked`
              ) : (
                <>
                  {n > 1 ? `${number(n)} by ` : "by "}
                  <code>{oneLine(test)}</code>
                </>
              )}
            </span>
          ))}
        </summary>
        <ul class="over">
          {all.slice(0, 200).map((it, nth) => (
            <li key={nth}>
              <p class="hop-line">
                <strong>{oneLine(it.hook)}</strong>{" "}
                {it.keptOutBy ? (
                  <span class="test">
                    by <code>{oneLine(it.keptOutBy.test)}</code>
                  </span>
                ) : (
                  <span class="quiet-text">{isOther ? "would be asked now" : "not asked"}</span>
                )}{" "}
                <Place source={it.source} />
              </p>
              {it.keptOutBy && (
                <p class="hop-text">
                  <Quoted text={missed(it.keptOutBy)} limit={240} />
                </p>
              )}
            </li>
          ))}
        </ul>
      </details>
    </li>
  );
}
