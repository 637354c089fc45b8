// Rules that follow from what happened here: hookwire proposes, a person tries and decides.

import type { JSX } from "preact";
import { useLoaded } from "../load";
import { go } from "../route";
import { call } from "../session";
import { fleet } from "../store";
import { oneLine, Quoted } from "../text";
import { times } from "../time";
import type { Proposal } from "../wire";
import { Raw } from "./event";
import { NotInFleet } from "./fleet";
import { ViewLink } from "./parts";
import { draft } from "./rule";
import { Empty, Head, Problem } from "./shell";

export const Proposals = (): JSX.Element =>
  fleet.value === undefined ? (
    <OfRecord />
  ) : (
    <NotInFleet title="Rules from life">
      <p>
        Proposals come from this machine’s record. For the fleet, <code>hookwire history suggest FILE</code> reads what{" "}
        <code>hookwire fleet query --format json</code> has written.
      </p>
    </NotInFleet>
  );

function OfRecord(): JSX.Element {
  const [loaded, again] = useLoaded((signal) => call<{ proposals: Proposal[] }>("inspect/suggest", {}, undefined, signal), []);
  const all = loaded.state === "failed" ? undefined : loaded.value?.proposals;
  const tryIt = (it: Proposal): void => {
    draft.value = { text: it.definition, cases: it.cases ?? "", name: it.name ?? "proposed-rule", from: it.reason };
    go({ view: "try" });
  };
  return (
    <div class="page page-narrow">
      <Head title="Rules from life">
        <p class="lead">What your answers and your agents’ calls suggest. Nothing of it is in force.</p>
      </Head>
      {loaded.state === "failed" &&
        (loaded.unknown ? (
          <Empty title="This build of hookwire proposes no rules">
            <p>
              The <ViewLink to="try">Try</ViewLink> view takes one that you write.
            </p>
          </Empty>
        ) : (
          <Problem text={oneLine(loaded.text)} onRetry={again} />
        ))}
      {loaded.state === "loading" && all === undefined && <p class="loading">Looking through what happened…</p>}
      {all?.length === 0 && (
        <Empty title="Nothing to propose yet">
          <p>
            Proposals come from the record: answers that you give again and again, and calls that are stopped again and again.
            Switch the record on in <ViewLink to="history">History</ViewLink>, and come back later.
          </p>
        </Empty>
      )}
      {all?.map((it, nth) => (
        <article class="proposal" key={nth} aria-label={oneLine(it.name ?? `Proposal ${nth + 1}`)}>
          <h2>
            <Quoted text={it.reason} limit={600} />
          </h2>
          {it.events !== undefined && <p class="quiet-text">from {times(it.events, "event")}</p>}
          {(it.examples ?? []).length > 0 && (
            <ul class="acts" aria-label="Examples">
              {it.examples!.slice(0, 6).map((text) => (
                <li key={text}>
                  <span class="act">
                    <code>{oneLine(text).slice(0, 200)}</code>
                  </span>
                </li>
              ))}
            </ul>
          )}
          <div class="proposal-texts">
            <Raw value={it.definition} label="Definition" />
            {it.cases !== undefined && it.cases !== "" && <Raw value={it.cases} label="Cases" />}
          </div>
          {it.hook === undefined ? (
            <div class="answers">
              <button type="button" class="primary" onClick={() => tryIt(it)}>
                Try it
              </button>
            </div>
          ) : (
            <p class="quiet-text">
              A line for the hook <strong>{oneLine(it.hook)}</strong>.{" "}
              <button type="button" class="link" onClick={() => go({ view: "definitions" })}>
                Definitions
              </button>{" "}
              says where it is written.
            </p>
          )}
        </article>
      ))}
    </div>
  );
}
