// The messages between the page and `hookwire inspect`. Members that begin with a host's own types are as in
// `schema/protocol.json`.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export type Decision = "allow" | "ask" | "defer" | "deny";
export type Status = "success" | "blocking" | "non_blocking_error" | "cancelled" | "skipped" | "started";
export type LayerName = "managed" | "fleet" | "user" | "hooks" | "project" | "session";

export interface Source {
  layer: LayerName;
  file: string;
  line: number;
  column: number;
  position: number;
}

export interface Observed {
  decision?: Decision;
  reason?: string;
  rewrote?: boolean;
  stop?: string;
}

export interface Outcome {
  hook: string;
  status: Status;
  decision?: Decision;
  reason?: string;
  error?: string;
  opaque?: string;
  scripts?: { path: string; sha256: string }[];
  rewrote?: boolean;
  rejudged?: boolean;
  observed?: Observed;
  transcript?: Json[];
  durationMicros: number;
}

export interface Verdict {
  decision: Decision;
  reason?: string;
  decidedBy?: string;
  subject?: Json;
  patch?: Json;
  replaced?: boolean;
  stop?: string;
  userMessages?: string[];
  additionalContext?: string[];
  context?: Json;
  grant?: Json;
  outcomes: Outcome[];
  errors?: string[];
  generation: number;
  hash: string;
  eventId: string;
}

/** An event that a host has judged. */
export interface Record {
  seq: number;
  at: string;
  event: string;
  tool?: string;
  dialect: string;
  client?: string;
  /** How an agent's hook asked; absent where a client sent `hooks/dispatch`. */
  via?: "command" | "http";
  params?: { [name: string]: Json };
  /** Of an event that was too large to be kept whole. */
  beginning?: { [name: string]: Json };
  verdict: Verdict;
  truncated?: boolean;
  /** The project, in the stream of a fleet. */
  project?: string;
}

/** What an event is about, where the program has read it out of the agent's vocabulary. */
export interface About {
  session?: string;
  run?: string;
  parentRun?: string;
  /** The agent, and behind a slash its sub-agent. */
  agent?: string;
  cwd?: string;
  subject?: Json;
  text?: string;
  /** For a program that starts: those that it comes from, the farthest first, and itself. */
  tree?: string[];
}

export interface Judged {
  host?: string;
  /** Names the event where hosts that count alike are in one stream. */
  id?: string;
  record: Record;
  about?: About;
}

export interface Ended {
  seq: number;
  at: string;
  event: string;
  eventId: string;
  session?: string;
  tool?: string;
  outcome: Outcome;
}

export interface ApprovalRequest {
  id: string;
  hook: string;
  message: string;
  event: string;
  session?: string;
  agent?: string;
  tool?: string;
  cwd?: string;
  subject?: Json;
  timeoutMs: number;
  /** What the hook says if no answer comes in time. */
  unanswered?: Decision;
  askedAt: number;
}

export interface Asked extends ApprovalRequest {
  host: string;
  root?: string;
  /** Of a fleet: names the question and all that it says, for an answer to it. */
  question?: string;
  /** Of a fleet: whether the host believes the key that this page signs with. */
  isBelieved?: boolean;
}

export interface ApprovalReply {
  decision: "approve" | "deny";
  reason?: string;
  subject?: Json;
  remember?: boolean;
}

/** What an answer for always would be, as the host says it. */
export interface Always {
  id: string;
  text: string[];
  digest: string;
}

export interface Host {
  id: string;
  root: string;
  pid: number;
  version: string;
  startedAt: string;
  total?: number;
  notInForce?: string[];
  clients?: string[];
  hooks?: number;
  /** Cases beside its definitions that are to be denied, and aren't. */
  notDenied?: FailedCase[] | null;
  /** Of a machine of a fleet: what its hosts report. */
  reports?: Report[];
}

export interface FailedCase {
  file: string;
  line: number;
  name: string;
}

/** An agent's calls of the last day that nobody was asked about. */
export interface UnaskedCalls {
  agent: string;
  calls: number;
  wouldBeDenied: number;
}

/** What a host of a fleet says of itself. */
export interface Report {
  instance: string;
  version: string;
  channel?: string | null;
  words: string;
  isWrong: boolean;
}

/** The fleet that the page is about. */
export interface Fleet {
  servers: string;
  /** As the person has named it on the command line. */
  given: string;
  /** Why no server is reached, while that is so. */
  away?: string;
  /** What can't be read, and why. */
  problems: { verdicts?: string; questions?: string; reports?: string };
  /** Machines that are left out of the list. */
  more: number;
  /** The newest revision of the channel, if keys are pinned. */
  newest?: number | null;
  /** The id of the key that answers are signed with. */
  key?: string | null;
}

/** One line of `GET /api/events`. */
export type Message = { seq?: number } & (
  | ({ kind: "verdict"; host: string } & Judged)
  | { kind: "ended"; host: string; ended: Ended }
  | { kind: "approvals"; approvals: Asked[] }
  | { kind: "definitions"; host: string }
  | { kind: "hosts"; hosts: Host[]; fleet?: Fleet }
  | { kind: "lost"; host: string; count: number }
  | { kind: "missed"; count: number; first: number; last: number }
);

export interface ReadCommand {
  command: string;
  start: number;
  end: number;
}
export interface RuleExplanation {
  field: string;
  rule: string;
  holds?: boolean;
  why: string;
  unseen?: string;
}
/** Why a hook doesn't run. */
export interface Miss {
  test: string;
  why: string;
  unseen?: string;
}
export interface Explanation {
  hook: string;
  source: Source;
  applies: boolean;
  keptOutBy?: Miss;
  opaque?: string;
  decision?: Decision;
  exception?: string;
  observe?: boolean;
  rules?: RuleExplanation[];
}
export interface ExplainResult {
  commands?: ReadCommand[];
  acts?: string[];
  broken?: string[];
  policy?: { source: Source; denies?: string }[];
  hooks: Explanation[];
  notices?: string[];
  generation?: number;
  hash?: string;
}

export interface Diagnostic {
  file: string;
  severity: "error" | "warning" | "hint";
  code: string;
  message: string;
  help?: string;
  hook?: string;
  range: { start: Position; end: Position };
}
export interface Position {
  line: number;
  column: number;
}

export interface HookInfo {
  name: string;
  description?: string;
  on: string[];
  handler: string;
  dialect: string;
  priority?: number;
  fail: string;
  timeoutMs: number;
  enabled: boolean;
  observe?: boolean;
  async: boolean;
  tags?: string[];
  source: Source;
}
export interface ListResult {
  generation: number;
  hash: string;
  hooks: HookInfo[];
  directories?: { layer: LayerName; path: string }[];
}

export interface HookCounts {
  hook: string;
  matched: number;
  denied: number;
  asked: number;
  rewrote: number;
  failed: number;
  observed: number;
}
export interface Recent {
  root: string;
  pid: number;
  started: string;
  generation: number;
  hash: string;
  total: number;
  hooks: HookCounts[];
}

/** The cases that reach a hook; `maybe`: only if its `when` holds. */
export interface HookCases {
  hook: string;
  file: string;
  cases: { file: string; line: number; name?: string; expect?: string | null; maybe?: boolean }[];
}
/** Where the cases of a definition file are, or would be looked for. */
export interface FileCases {
  file: string;
  cases: string;
  isThere: boolean;
  problems?: string[];
}
export interface Covered {
  hooks: HookCases[];
  files: FileCases[];
  partial?: boolean;
}
/** What an agent got: of its command, in the body of its http hook's reply, or as a client's reply. */
export interface Answered {
  stdout?: string;
  stderr?: string;
  exit?: number;
  body?: string;
  reply?: Json;
}

export interface TrustReview {
  root: string;
  isTrusted: boolean;
  hooks?: string[];
  lines: { look: "head" | "added" | "removed" | "beside" | "loosened" | "plain" | "mistake"; text: string }[];
}

export interface Tried {
  explanation?: ExplainResult;
  diagnostics?: Diagnostic[];
  /** What `hooks/dispatch` would give, but for the hooks in `notRun`. */
  verdict?: Verdict;
  /** What a case of that expects; nothing where a hook wasn't run, or no case could say it. */
  expect?: Json;
  /** The hooks that start something or count. */
  notRun?: string[];
}
export interface Against {
  judged: number;
  from?: string;
  differences: { record: Record; about?: About; before: Partial<Verdict>; after: Partial<Verdict> }[];
  diagnostics?: Diagnostic[];
}
/** With `hook`, the definition is a line for that hook and not a file. */
export interface Proposal {
  reason: string;
  name?: string;
  hook?: string;
  definition: string;
  cases?: string;
  events?: number;
  examples?: string[];
}
/** Events of a host that aren't recorded: they came faster than they were written. */
export interface Gap {
  at: string;
  host: string;
  events: number;
}
export interface HistoryPage {
  events: Judged[];
  /** In the time that is looked at, with the first page. */
  gaps?: Gap[];
  next?: string;
  total?: number;
  /** Of a fleet: how many verdicts were looked through, and back to when. */
  looked?: number;
  lookedBack?: string | null;
}
export interface RecordState {
  on: boolean;
  keeps?: string;
  days?: number;
  mebibytes?: number;
  events?: number;
  bytes?: number;
  lost?: number;
}
