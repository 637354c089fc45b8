// What a host answers, and what a callback may answer.

import { type Answer, type Event, EVENTS, type Verdict as VerdictMessage } from "./protocol.ts";

/** The act must not be done. */
export class Denied extends Error {
  override name = "Denied";
  readonly verdict: Verdict;

  constructor(verdict: Verdict) {
    super(verdict.reason ?? "a hook said no");
    this.verdict = verdict;
  }
}

/** The act must not be done, and the run is over. */
export class Stopped extends Denied {
  override name = "Stopped";
}

/** What comes next is an act, which a verdict that nobody looks at doesn't hold up. */
const GATES = ["UserPromptSubmit", "PreModelCall", "PreToolUse", "PermissionRequest", "SubagentStart"];

/** Warns when a verdict that nobody has looked at is collected, as Node does of a rejection that nobody handles. */
const dropped = new FinalizationRegistry((text: string) => {
  process.emitWarning(`a verdict ${text} was dropped without enforce()`, "HookwireWarning");
});

/** The answer to one event. `enforce()` is how it is obeyed. */
export class Verdict<Subject = unknown> {
  #message: VerdictMessage;
  readonly event: Event;
  /** Why the host gave no verdict; then this one comes from the client's failure direction. */
  readonly failure: string | undefined;

  constructor(message: VerdictMessage, event: Event, failure?: string) {
    this.#message = message;
    this.event = event;
    this.failure = failure;
    const { decision, reason, stop } = message;
    if (GATES.includes(event.event) && (decision !== "allow" || typeof stop === "string" || "subject" in message)) {
      dropped.register(this, `at ${event.event} (${decision}: ${stop ?? reason ?? "a rewrite"})`, this);
    }
  }

  /** The whole verdict, as the host sent it. */
  get message(): VerdictMessage {
    dropped.unregister(this);
    return this.#message;
  }

  static withoutHost(event: Event, fail: "closed" | "open", failure: string): Verdict {
    // A deny at Stop would send the agent back to work for as long as there is no host.
    const rests = event.event === "Stop" || event.event === "SubagentStop";
    const decision = fail === "open" || rests ? "allow" : "deny";
    const reason = `hookwire gave no verdict: ${failure}`;
    const empty = { outcomes: [], generation: 0, hash: "", eventId: "" };
    return new Verdict({ decision, reason, errors: [reason], ...empty }, event, failure);
  }

  get decision() {
    return this.message.decision;
  }

  get allowed() {
    return this.decision === "allow" && !this.stops;
  }

  get reason() {
    return this.message.stop ?? this.message.reason ?? undefined;
  }

  /** The hook that decided; undefined where no hook had an opinion. */
  get decidedBy() {
    return this.message.decidedBy ?? undefined;
  }

  get rewritten() {
    return "subject" in this.message;
  }

  /** The event's subject as it is to be used: as hooks rewrote it, else as it was. */
  get value(): Subject {
    return (this.rewritten ? this.message.subject : subjectOf(this.event)) as Subject;
  }

  /** What to do about a failed model call. */
  get retry() {
    return this.message.retry ?? undefined;
  }

  /** Whether the run is over. */
  get stops() {
    return typeof this.message.stop === "string";
  }

  /** For the person. */
  get userMessages() {
    return this.#message.userMessages ?? [];
  }

  /** For the model. */
  get additionalContext() {
    return this.#message.additionalContext ?? [];
  }

  /** A value as `context` changes it, a JSON merge patch over metadata, messages, system prompt and others. */
  patched<Value>(value: Value): Value {
    return this.message.context === undefined ? value : merged(value, this.message.context);
  }

  /** Returns the subject as it is to be used. Throws Denied where the act must not be done, and Stopped where the run
   * is over too. A question that nobody answered is a deny. */
  enforce(): Subject {
    if (this.stops) throw new Stopped(this);
    if (this.decision !== "allow") throw new Denied(this);
    return this.value;
  }
}

/** Applies a JSON merge patch, RFC 7396. */
function merged(target: any, patch: any): any {
  if (!isObject(patch)) return patch;
  const result = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

export function subjectOf(event: Event): unknown {
  const pointer = EVENTS[event.event];
  if (pointer === undefined) return undefined;
  let value: unknown = event;
  for (const member of pointer.split("/").slice(1)) value = (value as Record<string, unknown> | undefined)?.[member];
  return value;
}

export const allow = (reason?: string): Answer => ({ decision: "allow", ...(reason === undefined ? {} : { reason }) });
export const deny = (reason: string): Answer => ({ decision: "deny", reason });
export const ask = (reason: string): Answer => ({ decision: "ask", reason });
/** Another value in the place of the event's subject. */
export const rewrite = (subject: unknown): Answer => ({ subject });
/** Other members of the event's subject; null removes one. */
export const patch = (members: Record<string, unknown>): Answer => ({ patch: members });
