// Try a rule on an event, on the past, and keep it.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";
import { caseOf } from "../cases";
import { textOf, useLoaded } from "../load";
import { inWords, judgedOf, members, missed, subjectOf, toneOf, type Row } from "../read";
import { change, route } from "../route";
import { call, isUnknown } from "../session";
import { find, fleet, rows, version } from "../store";
import { oneLine, Quoted } from "../text";
import { clock, day, number, times } from "../time";
import type { Against, Decision, Diagnostic, ExplainResult, Json, Judged, Tried, Verdict } from "../wire";
import { chosenHost, ChooseHost } from "./choose";
import { eventOf, Raw, Section, Subject } from "./event";
import { NotInFleet } from "./fleet";
import { Mark } from "./marks";
import { Columns, ViewLink } from "./parts";
import { Place } from "./path";
import { draft, RuleEditor } from "./rule";
import { Empty, Head, Problem } from "./shell";

const pasted = signal("");
const isPasting = signal(false);
const EXAMPLE = '{\n  "event": "PreToolUse",\n  "tool": { "name": "Bash", "input": { "command": "git push -f" } }\n}';

/** The events that somebody may want to try a rule on: the last ones that differ. */
function candidates(): Row[] {
  const seen = new Set<string>();
  const found: Row[] = [];
  for (let at = rows.length - 1; at >= 0 && found.length < 40 && rows.length - at < 4000; at--) {
    const row = rows[at]!;
    const key = `${row.event}\n${row.tool}\n${row.text}`;
    if (row.event === "PreExec" || seen.has(key)) continue;
    seen.add(key);
    found.push(row);
  }
  return found;
}

interface Picked {
  row: Row | undefined;
  judged: Judged | undefined;
  offers: Row[];
  event: { [name: string]: Json } | undefined;
  subject: Json | undefined;
  /** Why what was pasted is no event. */
  mistake: string;
  /** Names the event. */
  key: string;
}

/** The event that a rule is tried on: one that happened, or one that somebody has pasted. */
function usePicked(): Picked {
  const chosen = find(route.value.event);
  const offers = useMemo(candidates, [isPasting.value, rows.length === 0, chosen?.id]);
  const row = chosen ?? offers.find((it) => it.event === "PreToolUse") ?? offers[0];
  const judged = useMemo(() => (row === undefined ? undefined : judgedOf(row)), [row?.id]);
  let event: { [name: string]: Json } | undefined;
  let mistake = "";
  if (isPasting.value) {
    try {
      event = members(JSON.parse(pasted.value || EXAMPLE) as Json);
      if (event === undefined) mistake = "An event is a JSON object.";
    } catch (error) {
      mistake = `This is no JSON: ${textOf(error)}`;
    }
  } else if (judged !== undefined) event = eventOf(judged.record);

  const subject =
    isPasting.value && event !== undefined
      ? subjectOf({
          record: {
            seq: 0,
            at: "",
            event: String(event["event"] ?? ""),
            dialect: "native",
            params: event,
            verdict: { decision: "allow", outcomes: [], generation: 0, hash: "", eventId: "" },
          },
        })
      : judged && subjectOf(judged);
  return { row, judged, offers, event, subject, mistake, key: isPasting.value ? pasted.value : (row?.id ?? "") };
}

export const Try = (): JSX.Element =>
  fleet.value === undefined ? (
    <OnHost />
  ) : (
    <NotInFleet title="Try a rule">
      <p>
        A rule is tried by a host of this machine: <code>hookwire inspect</code> without <code>--fleet</code>. On the verdicts of
        the fleet, <code>hookwire history replay FILE --against DIR</code> tries it, with what{" "}
        <code>hookwire fleet query --format json</code> has written.
      </p>
    </NotInFleet>
  );

function OnHost(): JSX.Element {
  version.value;
  const host = chosenHost();
  const { text } = draft.value;
  const picked = usePicked();
  const { row, judged, event, mistake, key } = picked;
  const [slow, setSlow] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(text), 180);
    return () => clearTimeout(timer);
  }, [text]);
  const [tried] = useLoaded<Tried>(
    event &&
      host &&
      ((abort) =>
        call<Tried>(
          "inspect/try",
          { definition: slow, path: "try.yaml", event },
          isPasting.value ? host.id : (judged?.host ?? host.id),
          abort,
        )),
    [slow, key, host?.id, mistake],
  );
  const result = tried.state === "failed" ? undefined : tried.value;
  const diagnostics = useMemo(() => result?.diagnostics ?? [], [result]);
  return (
    <div class="page">
      <Head title="Try a rule">
        <p class="lead">Nothing runs and nothing is kept until you save it.</p>
        <ChooseHost />
      </Head>
      <div class="try">
        <PickEvent picked={picked} explanation={result?.explanation} />
        <section class="try-rule" aria-label="Rule">
          <div class="part-head">
            <h2>This rule</h2>
            <span class="quiet-text">
              a{" "}
              <ViewLink to="definitions" keeps>
                definition
              </ViewLink>{" "}
              in YAML
            </span>
          </div>
          <RuleEditor
            text={text}
            label="Definition"
            diagnostics={diagnostics}
            onChange={(next) => {
              draft.value = { ...draft.value, text: next };
            }}
          />
          <Diagnostics all={diagnostics} />
        </section>
      </div>
      <div aria-live="polite">
        {tried.state === "failed" ? (
          <Problem
            text={
              tried.unknown ? "This build of hookwire can’t try rules in the page. `hookwire explain` can." : oneLine(tried.text)
            }
          />
        ) : (
          result?.explanation &&
          result.verdict && (
            <TriedVerdict
              explanation={result.explanation}
              verdict={result.verdict}
              notRun={result.notRun ?? []}
              broken={diagnostics.some((it) => it.severity === "error")}
            />
          )
        )}
      </div>
      <Past text={text} />
      <Save
        row={isPasting.value ? undefined : row}
        judged={judged}
        tried={tried.state === "there" && slow === text ? result : undefined}
      />
    </div>
  );
}

function PickEvent({ picked, explanation }: { picked: Picked; explanation: ExplainResult | undefined }): JSX.Element {
  const { row, offers, subject, mistake } = picked;
  return (
    <section class="try-event" aria-label="Event">
      <div class="part-head">
        <h2>On this event</h2>
        <button
          type="button"
          class="link"
          onClick={() => {
            isPasting.value = !isPasting.value;
          }}
        >
          {isPasting.value ? "Pick one that happened" : "Paste one"}
        </button>
      </div>
      {isPasting.value ? (
        <>
          <textarea
            rows={9}
            spellcheck={false}
            aria-label="An event, as JSON"
            value={pasted.value || EXAMPLE}
            onInput={(it) => {
              pasted.value = it.currentTarget.value;
            }}
          />
          {mistake !== "" && <Problem text={oneLine(mistake)} />}
        </>
      ) : offers.length === 0 && row === undefined ? (
        <Empty title="No event has come in yet">
          <p>Paste one, or let an agent do something.</p>
        </Empty>
      ) : (
        <select
          aria-label="Event"
          class="wide"
          value={row?.id ?? ""}
          onChange={(it) => change({ event: it.currentTarget.value }, "replace")}
        >
          {row && !offers.includes(row) && <option value={row.id}>{optionOf(row)}</option>}
          {offers.map((it) => (
            <option key={it.id} value={it.id}>
              {optionOf(it)}
            </option>
          ))}
        </select>
      )}
      {subject !== undefined && (
        <Subject subject={subject} commands={explanation?.commands ?? []} acts={explanation?.acts ?? []} />
      )}
      {!isPasting.value && row !== undefined && (
        <p class="quiet-text">
          Then: <Mark tone={row.tone} word /> {row.decidedBy !== "" && <>by {oneLine(row.decidedBy)}</>}
        </p>
      )}
    </section>
  );
}

const optionOf = (row: Row): string =>
  `${row.decision} · ${oneLine(row.tool || row.event).slice(0, 60)} · ${oneLine(row.text).slice(0, 90)} · ${day(row.time)} ${clock(row.time).slice(0, 8)}`;

export function Diagnostics({ all }: { all: readonly Diagnostic[] }): JSX.Element | null {
  if (all.length === 0) return null;
  return (
    <ul class="diagnostics">
      {all.slice(0, 50).map((it, nth) => (
        <li key={nth} class={`severity-${it.severity}`}>
          <strong>{it.severity}</strong>{" "}
          <span class="place">
            {it.range.start.line}:{it.range.start.column}
          </span>{" "}
          <Quoted text={it.message} limit={400} />
          {it.help !== undefined && (
            <span class="quiet-text">
              {" "}
              (<Quoted text={it.help} limit={300} />)
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** What the host would answer. It has judged; nothing is decided here. */
function TriedVerdict({
  explanation,
  verdict,
  notRun,
  broken,
}: {
  explanation: ExplainResult;
  verdict: Verdict;
  notRun: readonly string[];
  broken: boolean;
}): JSX.Element {
  const { decision, outcomes } = verdict;
  const by = verdict.decidedBy ?? "";
  const doubt = outcomes.some((it) => it.hook === by && it.opaque !== undefined);
  const failed = outcomes.some((it) => it.error !== undefined);
  const rewritten = verdict.subject !== undefined;
  const observed = decision === "allow" && outcomes.some((it) => it.observed !== undefined);
  const tone = toneOf(decision, { decidedBy: by, rewritten, failed, observed });
  const command = members(verdict.subject)?.["command"];
  return (
    <section class={`tried edge-${tone}`} aria-label="Verdict">
      <p class="tried-verdict">
        <Mark tone={tone} word />{" "}
        {by !== "" && (
          <>
            by <span class="hook-name">{oneLine(by)}</span>
          </>
        )}
        {doubt && <span class="doubt">~ in doubt</span>}
        {by === "" && outcomes.length === 0 && !broken && <span class="quiet-text">no hook of it applies</span>}
      </p>
      {verdict.reason !== undefined && (
        <p class="hop-text">
          <Quoted text={verdict.reason} limit={300} />
        </p>
      )}
      {rewritten && (
        <p class="hop-text">
          It goes on as{" "}
          <code>{oneLine(typeof command === "string" ? command : JSON.stringify(verdict.subject)).slice(0, 300)}</code>
        </p>
      )}
      {notRun.length > 0 && (
        <p class="note">
          {notRun.map((it) => oneLine(it)).join(", ")}{" "}
          {notRun.length === 1 ? "wasn’t run, because it starts" : "weren’t run, because they start"} something or{" "}
          {notRun.length === 1 ? "counts" : "count"}. The verdict is of the rest.
        </p>
      )}
      {broken && <p class="note note-failed">What has an error isn’t in force as it is written.</p>}
      <ul class="over">
        {explanation.hooks
          .filter((it) => it.source.layer !== "managed" || it.source.file !== "built-in")
          .slice(0, 20)
          .map((it, nth) => (
            <li key={nth}>
              <p class="hop-line">
                <strong>{oneLine(it.hook)}</strong>{" "}
                {it.applies ? (
                  <span class={`tone-${it.decision ?? "silent"}`}>
                    {it.opaque !== undefined
                      ? "in doubt"
                      : it.observe
                        ? `would ${it.decision ?? "run"}`
                        : (it.decision ?? "would run")}
                  </span>
                ) : (
                  <span class="test">
                    passed over by <code>{oneLine(it.keptOutBy?.test ?? "?")}</code>
                  </span>
                )}{" "}
                <Place source={it.source} />
              </p>
              {(it.opaque !== undefined || it.keptOutBy) && (
                <p class="hop-text">
                  <Quoted text={it.opaque ?? missed(it.keptOutBy!)} limit={300} />
                </p>
              )}
              <ul class="rules">
                {(it.rules ?? [])
                  .filter((rule) => rule.holds === true)
                  .slice(0, 4)
                  .map((rule, at) => (
                    <li key={at}>
                      <span class="rule-field">{rule.field}</span> <code>{oneLine(rule.rule).slice(0, 200)}</code>{" "}
                      <span class="quiet-text">holds: {oneLine(rule.why).slice(0, 200)}</span>
                    </li>
                  ))}
              </ul>
            </li>
          ))}
      </ul>
    </section>
  );
}

function Past({ text }: { text: string }): JSX.Element {
  const [since, setSince] = useState("30d");
  const [asked, setAsked] = useState("");
  const [found, setFound] = useState<Against | undefined>(undefined);
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const host = chosenHost();
  const ask = async (): Promise<void> => {
    setBusy(true);
    setProblem("");
    try {
      setFound(
        await call<Against>(
          "inspect/against",
          { definition: text, path: `${draft.value.name.trim() || "my-rule"}.yaml`, since },
          host?.id,
        ),
      );
      setAsked(text);
    } catch (error) {
      setFound(undefined);
      setProblem(isUnknown(error) ? "This build of hookwire keeps no past to ask." : textOf(error));
    }
    setBusy(false);
  };
  return (
    <Section
      level={2}
      title="What would it have done?"
      tools={
        <span class="choice">
          <label>
            in the last{" "}
            <select value={since} onChange={(it) => setSince(it.currentTarget.value)}>
              {[
                ["1d", "day"],
                ["7d", "7 days"],
                ["30d", "30 days"],
              ].map(([value, word]) => (
                <option key={value} value={value}>
                  {word}
                </option>
              ))}
            </select>
          </label>{" "}
          <button type="button" disabled={isBusy || host === undefined} onClick={() => void ask()}>
            {isBusy ? "Judging…" : "Ask the past"}
          </button>
        </span>
      }
    >
      {problem !== "" && <Problem text={oneLine(problem)} />}
      {found === undefined && problem === "" && (
        <p class="quiet-text">
          Every recorded event is judged with this text and with the file of its name as it is now. The differences are listed
          here.{" "}
          <ViewLink to="history" keeps>
            History
          </ViewLink>{" "}
          says what is recorded.
        </p>
      )}
      {found !== undefined && (
        <>
          <Diagnostics all={found.diagnostics ?? []} />
          <p>
            <strong>{times(found.differences.length, "event")}</strong> of {number(found.judged)} would have ended otherwise
            {found.from !== undefined && (
              <> since {day(Date.parse(found.from)) || `${clock(Date.parse(found.from)).slice(0, 5)} today`}</>
            )}
            .{asked !== text && <span class="quiet-text"> The rule has changed since: ask again.</span>}
          </p>
          {found.differences.length > 0 && <Differences all={found.differences.slice(0, 200)} />}
          {found.differences.length > 200 && <p class="quiet-text">The first 200 are shown.</p>}
        </>
      )}
    </Section>
  );
}

function Differences({ all }: { all: Against["differences"] }): JSX.Element {
  return (
    <div class="table-box" tabIndex={0} role="group" aria-label="Differences">
      <table class="table">
        <Columns of={["time", "what", "was", "would be"]} />
        <tbody>
          {all.map((it, nth) => {
            const at = Date.parse(it.record.at);
            return (
              <tr key={nth}>
                <td class="nowrap">
                  {day(at)} {clock(at).slice(0, 8)}
                </td>
                <td class="mono">{oneLine(it.about?.text ?? wordsOf(it.record)).slice(0, 160)}</td>
                <td>
                  <Mark tone={toneOfDecision(it.before.decision, it.before.decidedBy)} word />
                </td>
                <td>
                  <Mark tone={toneOfDecision(it.after.decision, it.after.decidedBy)} word />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

const toneOfDecision = (decision: Decision = "allow", by = ""): ReturnType<typeof toneOf> =>
  toneOf(decision, { decidedBy: by, rewritten: false, failed: false, observed: false });
function wordsOf(record: Judged["record"]): string {
  return inWords(subjectOf({ record })) || `${record.event} ${record.tool ?? ""}`;
}

/** Cases with the event that the rule is tried on. */
function suggestedCase(judged: Judged | undefined, tried: Tried | undefined): string {
  const line = judged && tried?.verdict && caseOf(judged, tried.expect);
  return line === undefined ? "" : `cases:\n${line}\n`;
}

export function Save({
  row,
  judged,
  tried,
}: {
  row: Row | undefined;
  judged: Judged | undefined;
  tried: Tried | undefined;
}): JSX.Element {
  const { text, name, cases } = draft.value;
  const [problem, setProblem] = useState("");
  const [saved, setSaved] = useState<{ path: string; cases?: string } | undefined>(undefined);
  const host = chosenHost();
  const save = async (): Promise<void> => {
    setProblem("");
    setSaved(undefined);
    try {
      setSaved(
        await call<{ path: string; cases?: string }>("inspect/save", { name: name.trim(), definition: text, cases }, host?.id),
      );
    } catch (error) {
      setProblem(
        isUnknown(error)
          ? "This build of hookwire can’t save from the page. Copy the definition into `.hookwire/`."
          : textOf(error),
      );
    }
  };
  const suggested = suggestedCase(row && judged, tried);
  return (
    <Section level={2} title="Keep it">
      <form
        class="save"
        onSubmit={(it) => {
          it.preventDefault();
          void save();
        }}
      >
        <label>
          Name{" "}
          <span class="affix">
            <span class="quiet-text">.hookwire/</span>
            <input
              type="text"
              required
              pattern="[A-Za-z0-9][A-Za-z0-9._\-]*"
              value={name}
              onInput={(it) => {
                draft.value = { ...draft.value, name: it.currentTarget.value };
              }}
            />
            <span class="quiet-text">.yaml</span>
          </span>
        </label>
        <label class="save-cases">
          Cases: what you expect of it
          <textarea
            rows={4}
            spellcheck={false}
            placeholder={"cases:\n  - { bash: git push -f, expect: deny }"}
            value={cases}
            onInput={(it) => {
              draft.value = { ...draft.value, cases: it.currentTarget.value };
            }}
          />
        </label>
        <div class="answers">
          <button type="submit" class="primary" disabled={host === undefined || name.trim() === ""}>
            Save as a definition
          </button>
          {suggested !== "" && (
            <button
              type="button"
              onClick={() => {
                draft.value = {
                  ...draft.value,
                  cases: cases.trim() === "" ? suggested : `${cases.trimEnd()}\n${suggested.replace("cases:\n", "")}`,
                };
              }}
            >
              Add this event as a case
            </button>
          )}
        </div>
      </form>
      {problem !== "" && <Problem text={oneLine(problem)} />}
      {saved !== undefined && (
        <div class="note" role="status">
          <p>
            <strong>
              Saved to <code>{oneLine(saved.path)}</code>.
            </strong>{" "}
            It isn’t in force yet: only you can trust it, in the terminal or in the editor.
          </p>
          <Raw value={"hookwire test && hookwire trust"} label="Command" />
        </div>
      )}
    </Section>
  );
}
