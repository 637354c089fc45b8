// What is in force, by layer: each file's hooks with what they did, what covers them, and what is wrong.

import { useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { caseOf } from "../cases";
import { textOf, useLoaded } from "../load";
import { LAYER_ORDER, LAYERS, placeText } from "../places";
import { toggled } from "../query";
import { judgedOf, RUN, type Row } from "../read";
import { change, go } from "../route";
import { call, isUnknown } from "../session";
import { definitions, fleet, rows, version } from "../store";
import { oneLine, Quoted, Shown } from "../text";
import { clock, day, number, times } from "../time";
import type {
  Covered,
  Diagnostic,
  FileCases,
  HookCases,
  HookCounts,
  HookInfo,
  Judged,
  ListResult,
  Recent,
  Tried,
  TrustReview,
  UnaskedCalls,
} from "../wire";
import { chosenHost, ChooseHost } from "./choose";
import { eventOf, Raw, Section } from "./event";
import { FleetDefinitions } from "./fleet";
import { Icon } from "./marks";
import { Columns, ofNumbers, unseen } from "./parts";
import { Place } from "./path";
import { draft } from "./rule";
import { Dialog, Empty, Head, Problem } from "./shell";
import { Diagnostics } from "./try";

interface Known {
  list: ListResult;
  counts: Map<string, HookCounts>;
  diagnostics: Diagnostic[];
  cases: Cases | undefined;
  notInForce: string[];
}

/** What is tried of the hooks, by file and name; and where each file's cases are. */
interface Cases {
  of: Map<string, HookCases["cases"]>;
  files: Map<string, FileCases>;
  isPartial: boolean;
}

/** A name in a file. */
const inFile = (file: string, hook: string): string => `${file}\n${hook}`;

const casesOf = (covered: Covered): Cases => ({
  of: new Map(covered.hooks.map((it) => [inFile(it.file, it.hook), it.cases])),
  files: new Map(covered.files.map((it) => [it.file, it])),
  isPartial: covered.partial ?? false,
});

async function ask(host: string, signal: AbortSignal): Promise<Known> {
  const optional = <T,>(method: string, params: unknown = {}): Promise<T | undefined> =>
    call<T>(method, params, host, signal).catch(() => undefined);
  const [list, recent, check, cases, about] = await Promise.all([
    call<ListResult>("hooks/list", {}, host, signal),
    optional<Recent>("hooks/recent", { limit: 1 }),
    optional<{ diagnostics: Diagnostic[] }>("hooks/check"),
    optional<Covered>("inspect/cases"),
    call<{ hosts: { id: string; notInForce?: string[] }[] }>("inspect/hosts", {}, undefined, signal).catch(() => undefined),
  ]);
  return {
    list,
    counts: new Map((recent?.hooks ?? []).map((it) => [it.hook, it])),
    diagnostics: check?.diagnostics ?? [],
    cases: cases && casesOf(cases),
    notInForce: about?.hosts.find((it) => it.id === host)?.notInForce ?? [],
  };
}

export const Definitions = (): JSX.Element => (fleet.value === undefined ? <OfHost /> : <FleetDefinitions />);

function OfHost(): JSX.Element {
  const host = chosenHost();
  const [loaded, again] = useLoaded<Known>(host && ((signal) => ask(host.id, signal)), [host?.id, definitions.value]);
  const [isTrusting, setTrusting] = useState(false);
  const [file, setFile] = useState("");
  const [lacking, setLacking] = useState<HookInfo | undefined>(undefined);
  const known = loaded.state === "failed" ? undefined : loaded.value;
  return (
    <div class="page">
      <Head title="Definitions">
        <p class="lead">
          {known ? (
            <>
              {times(known.list.hooks.length, "hook")} in force, generation {number(known.list.generation)}
            </>
          ) : (
            "What is in force, and where it is written."
          )}
        </p>
        <ChooseHost />
        {host && (
          <button type="button" onClick={() => setTrusting(true)}>
            <Icon name="approvals" />
            Review for trust
          </button>
        )}
      </Head>
      {host === undefined && (
        <Empty title="No host runs">
          <p>Hosts know which definitions are in force. One starts with the first event of an agent.</p>
        </Empty>
      )}
      {loaded.state === "failed" && <Problem text={oneLine(loaded.text)} onRetry={again} />}
      {host && <LastDay key={host.id} host={host.id} />}
      {known && known.notInForce.length > 0 && (
        <section class="note note-failed" aria-label="Not in force as written">
          <p>
            <strong>Not in force as written.</strong> The last good state of these holds until they are mended:
          </p>
          <ul>
            {known.notInForce.map((it) => (
              <li key={it}>
                <Quoted text={it} limit={400} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {known?.cases?.isPartial && (
        <p class="note">
          There are too many cases to try all of them here. <code>hookwire test</code> tries each.
        </p>
      )}
      {known && <Layers known={known} onOpen={setFile} onLacking={setLacking} />}
      {lacking !== undefined && host && (
        <FirstCase
          hook={lacking}
          host={host.id}
          cases={known?.cases?.files.get(lacking.source.file)}
          onClose={() => setLacking(undefined)}
        />
      )}
      {file !== "" && host && (
        <FileView
          host={host.id}
          file={file}
          diagnostics={(known?.diagnostics ?? []).filter((it) => it.file === file)}
          onClose={() => setFile("")}
        />
      )}
      {isTrusting && host && <Trust host={host.id} onClose={() => setTrusting(false)} />}
    </div>
  );
}

/** What nobody was asked about. The host reads transcripts for it, which takes a while. */
function LastDay({ host }: { host: string }): JSX.Element | null {
  const [loaded] = useLoaded<{ agents: UnaskedCalls[] }>(
    (signal) => call<{ agents: UnaskedCalls[] }>("host/unasked", {}, host, signal),
    [host],
  );
  const unasked = loaded.state === "failed" ? [] : (loaded.value?.agents ?? []).filter((it) => it.calls > 0);
  if (unasked.length === 0) return null;
  return (
    <section class="note note-failed" aria-label="Calls that nobody was asked about">
      <p>
        <strong>Nobody was asked about some calls of the last day:</strong>
      </p>
      <ul>
        {unasked.map((it) => (
          <li key={it.agent}>
            {oneLine(it.agent)}: {times(it.calls, "call")} never asked, {number(it.wouldBeDenied)} would be denied:{" "}
            <code>hookwire doctor --unasked {oneLine(it.agent)}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface Offers {
  onOpen: (file: string) => void;
  onLacking: (hook: HookInfo) => void;
}

function Layers({ known, ...offers }: { known: Known } & Offers): JSX.Element {
  const { list } = known;
  const layers = LAYER_ORDER.map((layer) => {
    const hooks = list.hooks.filter((it) => it.source.layer === layer);
    const files = [...new Set([...hooks.map((it) => it.source.file)])].sort();
    return { layer, hooks, files, directories: (list.directories ?? []).filter((it) => it.layer === layer) };
  }).filter((it) => it.hooks.length > 0 || it.directories.length > 0);
  const isOfHook = (it: Diagnostic): boolean => list.hooks.some((hook) => hook.source.file === it.file);
  const passing = known.diagnostics.filter((it) => it.code === "not-denied");
  const orphans = known.diagnostics.filter((it) => !isOfHook(it) && !passing.includes(it));
  return (
    <>
      {layers.map(({ layer, hooks, files, directories }) => (
        <Section
          level={2}
          key={layer}
          title={LAYERS[layer]}
          tools={<span class="quiet-text place">{directories.map((it) => oneLine(it.path)).join(", ")}</span>}
        >
          {files.length === 0 && <p class="quiet-text">No definitions here.</p>}
          {files.map((file) => (
            <FileHooks key={file} file={file} hooks={hooks.filter((it) => it.source.file === file)} known={known} {...offers} />
          ))}
        </Section>
      ))}
      {passing.length > 0 && (
        <Section level={2} title="Cases that are denied no more">
          <Diagnostics all={passing} />
        </Section>
      )}
      {orphans.length > 0 && (
        <Section level={2} title="Files without a hook in force">
          <Diagnostics all={orphans} />
        </Section>
      )}
    </>
  );
}

function FileHooks({
  file,
  hooks,
  known,
  onOpen,
  onLacking,
}: {
  file: string;
  hooks: HookInfo[];
  known: Known;
} & Offers): JSX.Element {
  const diagnostics = known.diagnostics.filter((it) => it.file === file);
  const isBuiltIn = !file.startsWith("/");
  const isBroken = diagnostics.some((it) => it.severity === "error");
  return (
    <div class="file">
      <p class="file-head">
        {file.startsWith("/") ? (
          <button type="button" class="link" onClick={() => onOpen(file)}>
            {placeText({ file, line: 1 }).replace(/:1$/, "")}
          </button>
        ) : (
          <strong>{oneLine(file)}</strong>
        )}
        {isBroken && <span class="tag tag-failed">last good state in force</span>}
      </p>
      <Diagnostics all={diagnostics} />
      {(known.cases?.files.get(file)?.problems ?? []).map((it) => (
        <p class="note note-failed" key={it}>
          <strong>Its cases can’t be read.</strong> <Quoted text={it} limit={400} />
        </p>
      ))}
      <div class="table-box" tabIndex={0} role="group" aria-label={`Hooks of ${oneLine(file)}`}>
        <table class="table hooks">
          <Columns
            of={[
              { word: "hook", class: "w-hook" },
              { word: "on", class: "w-on" },
              { word: "does", class: "w-does" },
              { word: "fails", class: "w-fails" },
              ...["matched", "denied", "asked", "rewrote", "failed"].map(ofNumbers),
              known.cases !== undefined && !isBuiltIn ? { word: "cases", class: "w-cases" } : unseen("cases", "w-cases"),
              isBuiltIn ? unseen("where") : "where",
            ]}
          />
          <tbody>
            {hooks.map((hook) => (
              <HookRow
                key={`${hook.name}${hook.source.position}`}
                hook={hook}
                counts={known.counts.get(hook.name)}
                cases={known.cases?.of.get(inFile(file, hook.name))}
                hasCases={known.cases !== undefined && !isBuiltIn}
                onLacking={onLacking}
              />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function HookRow({
  hook,
  counts,
  cases,
  hasCases,
  onLacking,
}: {
  hook: HookInfo;
  counts: HookCounts | undefined;
  cases: HookCases["cases"] | undefined;
  hasCases: boolean;
  onLacking: (hook: HookInfo) => void;
}): JSX.Element {
  const n = (value: number | undefined): string => (value ? number(value) : "·");
  const matched = counts?.matched ?? 0;
  return (
    <tr>
      <th scope="row">
        <button
          type="button"
          class="link"
          title="Its events"
          onClick={() => change({ view: "timeline", q: toggled("", "hook", hook.name) })}
        >
          {oneLine(hook.name)}
        </button>
        {!hook.enabled && <span class="tag">off</span>}
        {hook.observe && <span class="tag">observes</span>}
        {hook.async && <span class="tag">async</span>}
        {hook.description !== undefined && <p class="quiet-text">{oneLine(hook.description).slice(0, 200)}</p>}
      </th>
      <td>{hook.on.map(oneLine).join(", ")}</td>
      <td>{oneLine(hook.handler)}</td>
      <td>{oneLine(hook.fail)}</td>
      {matched === 0 && hook.source.file.startsWith("/") ? (
        <td colSpan={5}>
          <span class="tag tag-ask">has never fired</span>
        </td>
      ) : (
        <>
          <td class="n">{n(matched)}</td>
          <td class="n">{n(counts?.denied)}</td>
          <td class="n">{n(counts?.asked)}</td>
          <td class="n">{n(counts?.rewrote)}</td>
          <td class={`n ${counts?.failed ? "tone-failed" : ""}`}>{n(counts?.failed)}</td>
        </>
      )}
      <td>
        {!hasCases ? (
          ""
        ) : (cases ?? []).length === 0 ? (
          <>
            <span class="tag tag-ask">no case</span>{" "}
            <button
              type="button"
              class="link"
              aria-label={`Write one: a case for ${oneLine(hook.name)}`}
              onClick={() => onLacking(hook)}
            >
              Write one
            </button>
          </>
        ) : (
          <details>
            <summary>{times(cases!.length, "case")}</summary>
            <ul>
              {cases!.slice(0, 30).map((it, nth) => (
                <li key={nth}>
                  <Place source={it} label={placeText(it).replace(/.*\//, "")} /> {oneLine(it.name ?? "").slice(0, 120)}{" "}
                  <strong>{it.expect == null ? "expects nothing yet" : oneLine(it.expect).slice(0, 120)}</strong>
                  {it.maybe && <span class="quiet-text"> if its when holds</span>}
                </li>
              ))}
            </ul>
          </details>
        )}
      </td>
      <td>{hook.source.file.startsWith("/") && <Place source={hook.source} label={`line ${hook.source.line}`} />}</td>
    </tr>
  );
}

/** The last event that a hook had a say in. One on which it acted says more than one that it let pass. */
function lastOf(hook: string): Row | undefined {
  const last = (flags: number): Row | undefined =>
    rows.findLast((it) => it.runs.some((run) => run.hook === hook && (run.flags & flags) === flags));
  return last(RUN.deny) ?? last(RUN.ask) ?? last(RUN.rewrote) ?? last(0);
}

/** An event, judged by one file alone, as the cases beside that file are. */
async function triedAgain(file: string, judged: Judged, host: string, abort: AbortSignal): Promise<Tried> {
  const event = eventOf(judged.record);
  if (event === undefined) return {};
  const { text } = await call<{ text: string }>("inspect/definition", { file }, host, abort);
  return call<Tried>("inspect/try", { definition: text, path: file.replace(/.*\//, ""), event }, host, abort);
}

/** The way to the first case of a hook: a line to copy, made of the last event that the hook had a say in. */
function FirstCase({
  hook,
  host,
  cases,
  onClose,
}: {
  hook: HookInfo;
  host: string;
  cases: FileCases | undefined;
  onClose: () => void;
}): JSX.Element {
  // Events may still be on their way when somebody asks. The first that is found stays, because people copy it.
  version.value;
  const found = useRef<Row | undefined>(undefined);
  const row = (found.current ??= lastOf(hook.name));
  const judged = row && judgedOf(row);
  const [tried] = useLoaded<Tried>(judged && ((abort) => triedAgain(hook.source.file, judged, host, abort)), [
    row?.id,
    host,
    hook.source.file,
  ]);
  const expect = tried.state === "there" ? tried.value.expect : undefined;
  const own = judged && caseOf(judged, expect);
  const line = own ?? "  - { bash: git push -f, expect: deny }";
  const isThere = cases?.isThere ?? false;
  return (
    <Dialog title={`A case for ${oneLine(hook.name)}`} onClose={onClose}>
      <p>
        No case reaches it, so an edit that breaks it goes unnoticed. A case is an event, and what you expect of it.{" "}
        {own !== undefined && row !== undefined ? (
          <>
            This one is of the last event that it had a say in, {day(row.time)} {clock(row.time).slice(0, 8)}:
          </>
        ) : (
          "None of the events here has reached it, so this is only the form of one:"
        )}
      </p>
      <Raw value={isThere ? line : `cases:\n${line}`} label="The case" />
      <p>
        {isThere && cases ? (
          <>
            Put it into <Place source={{ file: cases.cases, line: 1 }} />, below <code>cases:</code>
          </>
        ) : (
          <>
            Write it into a new file, <code>{oneLine(cases?.cases ?? "")}</code>
          </>
        )}
        . Then try it:
      </p>
      <Raw value={/expect:/.test(line) ? "hookwire test" : "hookwire test --update"} label="Command" />
      {!/expect:/.test(line) && <p class="quiet-text">It writes down what comes out, for you to review.</p>}
    </Dialog>
  );
}

function FileView({
  host,
  file,
  diagnostics,
  onClose,
}: {
  host: string;
  file: string;
  diagnostics: Diagnostic[];
  onClose: () => void;
}): JSX.Element {
  const [loaded] = useLoaded((signal) => call<{ text: string }>("inspect/definition", { file }, host, signal), [file, host]);
  const text = loaded.state === "failed" ? undefined : loaded.value?.text;
  const lines = useMemo(() => (text ?? "").split("\n").slice(0, 5000), [text]);
  const at = new Map(diagnostics.map((it) => [it.range.start.line, it]));
  return (
    <Dialog title={placeText({ file, line: 1 }).replace(/:1$/, "")} onClose={onClose}>
      <div class="answers">
        <Place source={{ file, line: diagnostics[0]?.range.start.line ?? 1 }} />
        {text !== undefined && (
          <button
            type="button"
            onClick={() => {
              draft.value = { text, cases: "", name: file.replace(/.*\//, "").replace(/\.\w+$/, ""), from: file };
              go({ view: "try" });
            }}
          >
            Edit in Try
          </button>
        )}
      </div>
      {loaded.state === "failed" && (
        <Problem text={loaded.unknown ? "This build of hookwire doesn’t show files." : oneLine(loaded.text)} />
      )}
      {loaded.state === "loading" && text === undefined && <p class="loading">Reading…</p>}
      {text !== undefined && (
        <pre class="block-text code" tabIndex={0} role="group" aria-label="Definition">
          {lines.map((line, nth) => (
            <span key={nth} class={`code-line ${at.has(nth + 1) ? `severity-${at.get(nth + 1)!.severity}` : ""}`}>
              <span class="code-number" aria-hidden="true">
                {nth + 1}
              </span>
              <span>
                <Shown text={line} />
                {"\n"}
              </span>
            </span>
          ))}
        </pre>
      )}
      <Diagnostics all={diagnostics} />
    </Dialog>
  );
}

function Trust({ host, onClose }: { host: string; onClose: () => void }): JSX.Element {
  const [loaded] = useLoaded(
    (signal) =>
      call<TrustReview>("inspect/trust", {}, host, signal).catch((error: unknown) => {
        if (isUnknown(error)) return undefined;
        throw error;
      }),
    [host],
  );
  const review = loaded.state === "failed" ? undefined : loaded.value;
  return (
    <Dialog title="What trust would put in force" onClose={onClose}>
      {loaded.state === "failed" && <Problem text={oneLine(textOf(new Error(loaded.text)))} />}
      {loaded.state === "loading" && review === undefined && <p class="loading">Comparing…</p>}
      {loaded.state === "there" && review === undefined && (
        <p>
          This build of hookwire shows the review in the terminal only: <code>hookwire trust</code>
        </p>
      )}
      {review !== undefined && (
        <div class="trust">
          <p>
            {review.isTrusted ? (
              "These definitions are trusted as they are."
            ) : (
              <>
                <strong>Not in force until you trust it.</strong> A page can’t do that for you: run <code>hookwire trust</code> in{" "}
                {oneLine(review.root)}, or use your editor.
              </>
            )}
          </p>
          <div class="review" tabIndex={0} role="group" aria-label="Review">
            {review.lines.slice(0, 3000).map((it, nth) => (
              <p key={nth} class={`review-${it.look}`}>
                <Shown text={it.text} />
                {it.text === "" && " "}
              </p>
            ))}
          </div>
        </div>
      )}
    </Dialog>
  );
}
