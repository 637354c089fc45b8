// Questions that wait for a person. Whoever answers has seen the whole of what would be done.

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { members } from "../read";
import { call, link } from "../session";
import { approvals, fleet, hosts } from "../store";
import { oneLine, Quoted } from "../text";
import { clock, full, span } from "../time";
import { textOf, useLoaded } from "../load";
import type { Always, ApprovalReply, Asked, Decision, ExplainResult, Json } from "../wire";
import { pretty, Rewrite, Subject } from "./event";
import { FleetProblem, HowToAnswer } from "./fleet";
import { Mark } from "./marks";
import { Empty, Head, Problem, say } from "./shell";

const LONGEST = 16_384;

export function Approvals(): JSX.Element {
  const all = approvals.value;
  return (
    <div class="page page-narrow">
      <Head title="Approvals">
        <p class="lead">Hooks that ask, and wait for you. Each says what counts without an answer in time.</p>
      </Head>
      <div aria-live="polite" class="hidden">
        {all.length > 0 ? `${all.length} waiting` : ""}
      </div>
      <FleetProblem part="questions" />
      {all.length === 0 && fleet.value?.problems.questions === undefined && (
        <Empty title={link.value === "live" ? "Nothing waits for you" : "Not connected"}>
          <p>
            A hook with <code>ask:</code> asks here when the agent itself can’t ask you. A rule that does:
          </p>
          <pre tabIndex={0}>
            <code>
              {
                "- name: ask-before-publish\n  on: PreToolUse\n  if: Bash(npm publish *)\n  ask: This publishes a package. Is the version right?"
              }
            </code>
          </pre>
        </Empty>
      )}
      {all.map((it) => (
        <Question key={`${it.host}.${it.id}`} approval={it} />
      ))}
    </div>
  );
}

function longest(value: Json | undefined): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  const members = Array.isArray(value) ? value : Object.values(value);
  return members.reduce<number>(
    (most, it) => Math.max(most, typeof it === "object" && it !== null ? pretty(it).length : longest(it)),
    0,
  );
}

/** Members whose texts are cut: each has to be opened before somebody can say yes. */
function cutsOf(subject: Json | undefined): number {
  const its = members(subject);
  if (its === undefined) return longest(subject) > LONGEST || pretty(subject).length > LONGEST ? 1 : 0;
  return Object.values(its).filter((it) => pretty(it).length > LONGEST).length;
}

function Left({ until }: { until: number }): JSX.Element {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class={`left ${until - now < 30_000 ? "is-short" : ""}`}>{until > now ? `${span(until - now)} left` : "time is over"}</p>
  );
}

/** What counts without an answer, as the host says it. An older host doesn't. */
const UNANSWERED: { [decision in Decision]: string } = {
  allow: "Without an answer, the hook lets it go on.",
  ask: "Without an answer, the hook leaves the question to the agent.",
  defer: "Without an answer, it is put off.",
  deny: "Without an answer, it is denied.",
};

function Facts({ approval }: { approval: Asked }): JSX.Element {
  const root = approval.root ?? hosts.value?.find((it) => it.id === approval.host)?.root;
  return (
    <dl class="facts">
      {(
        [
          ["host", approval.question === undefined ? undefined : approval.host],
          ["agent", approval.agent],
          ["event", approval.event],
          ["tool", approval.tool],
          ["directory", approval.cwd],
          ["session", approval.session],
          ["project", root],
        ] as [string, string | undefined][]
      )
        .filter(([, value]) => value !== undefined && value !== "")
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{oneLine(value!)}</dd>
          </div>
        ))}
    </dl>
  );
}

function No({ isSending, onNo }: { isSending: boolean; onNo: (reason: string) => void }): JSX.Element {
  const [reason, setReason] = useState("");
  const send = (it: Event): void => {
    it.preventDefault();
    onNo(reason.trim());
  };
  return (
    <form class="answer-form" onSubmit={send}>
      <label>
        Why not? The agent reads it.
        <input
          type="text"
          value={reason}
          onInput={(it) => setReason(it.currentTarget.value)}
          placeholder="Publish from the release branch."
        />
      </label>
      <button type="submit" class="danger" disabled={isSending}>
        Say no
      </button>
    </form>
  );
}

/** A yes to something else: a call whose main text is its command is changed as a command, anything else as JSON. */
function Changed({
  subject,
  isSending,
  onYes,
}: {
  subject: Json | undefined;
  isSending: boolean;
  onYes: (subject: Json) => void;
}): JSX.Element {
  const its = members(subject);
  const command = typeof its?.["command"] === "string" ? its["command"] : undefined;
  const [text, setText] = useState(command ?? pretty(subject));
  let next: Json | undefined;
  let mistake = "";
  try {
    next = command !== undefined ? { ...its, command: text } : (JSON.parse(text) as Json);
  } catch (error) {
    mistake = `This is no JSON: ${textOf(error)}`;
  }
  const send = (it: Event): void => {
    it.preventDefault();
    if (next !== undefined) onYes(next);
  };
  return (
    <form class="answer-form" onSubmit={send}>
      <label>
        {command !== undefined ? "The command that runs instead" : "The input that is used instead, as JSON"}
        <textarea
          rows={Math.min(12, Math.max(2, text.split("\n").length))}
          spellcheck={false}
          value={text}
          onInput={(it) => setText(it.currentTarget.value)}
        />
      </label>
      {mistake !== "" && <Problem text={oneLine(mistake)} />}
      {next !== undefined && JSON.stringify(next) !== JSON.stringify(subject) && <Rewrite before={subject} after={next} />}
      <button type="submit" class="primary" disabled={isSending || next === undefined}>
        Say yes to this
      </button>
    </form>
  );
}

/** A yes for always: the exception that would be written, in the host's words, before it is. */
function ForAlways({
  approval,
  isSending,
  onYes,
}: {
  approval: Asked;
  isSending: boolean;
  onYes: (digest: string) => void;
}): JSX.Element {
  const [proposed] = useLoaded<Always>(
    (signal) => call<Always>("approvals/always", { id: approval.id }, approval.host, signal),
    [approval.id],
  );
  if (proposed.state === "failed") return <Problem text={oneLine(proposed.text)} />;
  const always = proposed.value;
  if (always === undefined) return <p class="quiet-text">The host looks at what is recorded…</p>;
  return (
    <div class="answer-form">
      <pre tabIndex={0} class="always">
        <code>{always.text.map(oneLine).join("\n")}</code>
      </pre>
      <button type="button" class="primary" disabled={isSending} onClick={() => onYes(always.digest)}>
        Write that, and say yes
      </button>
    </div>
  );
}

function Question({ approval }: { approval: Asked }): JSX.Element {
  const { host, question } = approval;
  const isOfFleet = question !== undefined;
  const [mode, setMode] = useState<"" | "no" | "changed" | "always">("");
  const [remember, setRemember] = useState(false);
  const [problem, setProblem] = useState("");
  const [isSending, setSending] = useState(false);
  const [opened, setOpened] = useState(0);

  const { subject } = approval;
  const isWhole = opened >= cutsOf(subject);
  const event =
    approval.tool === undefined || isOfFleet
      ? undefined
      : {
          event: "PreToolUse",
          tool: { name: approval.tool, input: subject ?? null },
          ...(approval.cwd !== undefined && { cwd: approval.cwd }),
        };
  const [explained] = useLoaded<ExplainResult>(event && ((signal) => call<ExplainResult>("hooks/explain", event, host, signal)), [
    approval.id,
  ]);
  const explanation = explained.state === "failed" ? undefined : explained.value;

  const answer = async (reply: ApprovalReply): Promise<void> => {
    setSending(true);
    setProblem("");
    try {
      await call("approvals/answer", { id: approval.id, ...(isOfFleet && { question }), reply }, host);
      approvals.value = approvals.value.filter((it) => !(it.host === host && it.id === approval.id));
      say(reply.decision === "approve" ? "Said yes. The agent goes on." : "Said no. The agent is told.");
      requestAnimationFrame(() => document.getElementById("main")?.focus());
    } catch (error) {
      setProblem(textOf(error));
      setSending(false);
    }
  };
  const always = async (digest: string): Promise<void> => {
    setSending(true);
    setProblem("");
    try {
      const { notes } = await call<{ notes: string[] }>("inspect/always", { id: approval.id, digest }, host);
      approvals.value = approvals.value.filter((it) => !(it.host === host && it.id === approval.id));
      say(["Said yes, and wrote the exception.", ...notes.map(oneLine)].join(" "));
      requestAnimationFrame(() => document.getElementById("main")?.focus());
    } catch (error) {
      setProblem(textOf(error));
      setSending(false);
    }
  };
  const yes = (subject?: Json): void =>
    void answer({ decision: "approve", ...(subject !== undefined && { subject }), ...(remember && { remember }) });
  const no = (reason: string): void =>
    void answer({ decision: "deny", ...(reason !== "" && { reason }), ...(remember && { remember }) });

  return (
    <article class="question" aria-label={`Question of ${oneLine(approval.hook)}`}>
      <header class="question-head">
        <Mark tone="ask" />
        <div>
          <h2>
            <Quoted text={approval.message} limit={4000} />
          </h2>
          <p class="quiet-text">
            asked by <strong>{oneLine(approval.hook)}</strong> at{" "}
            <time title={full(approval.askedAt)}>{clock(approval.askedAt).slice(0, 8)}</time>
          </p>
        </div>
        <Left until={approval.askedAt + approval.timeoutMs} />
      </header>
      {approval.unanswered !== undefined && <p class="quiet-text unanswered">{UNANSWERED[approval.unanswered]}</p>}
      <Facts approval={approval} />
      <Subject
        subject={subject}
        commands={explanation?.commands ?? []}
        acts={explanation?.acts ?? []}
        whole
        onAll={() => setOpened((n) => n + 1)}
      />
      {!isWhole && <p class="note">The call is longer than what is shown. Show all of it before you say yes.</p>}
      {isOfFleet && approval.isBelieved !== true ? (
        <HowToAnswer approval={approval} />
      ) : (
        <div class="answers">
          <button type="button" class="primary" disabled={!isWhole || isSending} onClick={() => yes()}>
            Yes
          </button>
          {!isOfFleet && (
            <button
              type="button"
              disabled={!isWhole || isSending}
              aria-expanded={mode === "changed"}
              onClick={() => setMode(mode === "changed" ? "" : "changed")}
            >
              Yes, but changed…
            </button>
          )}
          {!isOfFleet && (
            <button
              type="button"
              disabled={!isWhole || isSending}
              aria-expanded={mode === "always"}
              onClick={() => setMode(mode === "always" ? "" : "always")}
            >
              Always…
            </button>
          )}
          <button
            type="button"
            class="danger"
            disabled={isSending}
            aria-expanded={mode === "no"}
            onClick={() => setMode(mode === "no" ? "" : "no")}
          >
            No…
          </button>
          {isOfFleet ? (
            <span class="quiet-text">
              signed with your key <code>{oneLine(fleet.value?.key ?? "")}</code>
            </span>
          ) : (
            <label class="check">
              <input type="checkbox" checked={remember} onChange={(it) => setRemember(it.currentTarget.checked)} /> the same
              answer to the same question for the rest of the session
            </label>
          )}
        </div>
      )}
      {mode === "no" && <No isSending={isSending} onNo={no} />}
      {mode === "always" && <ForAlways approval={approval} isSending={isSending} onYes={(digest) => void always(digest)} />}
      {mode === "changed" && <Changed subject={subject} isSending={isSending} onYes={yes} />}
      {problem !== "" && <Problem text={oneLine(problem)} />}
    </article>
  );
}
