// What is different where the page is about a fleet: its hosts are on other machines, and the servers tell of them.

import type { JSX } from "preact";
import { fleet, hosts } from "../store";
import { oneLine } from "../text";
import { number, times } from "../time";
import type { Asked, Fleet, Host } from "../wire";
import { change } from "../route";
import { toggled } from "../query";
import { Columns } from "./parts";
import { Empty, Head } from "./shell";

/** Why something of the fleet isn't there, if it isn't. */
export function FleetProblem({ part }: { part: keyof Fleet["problems"] }): JSX.Element | null {
  const problem = fleet.value?.problems[part];
  return problem === undefined ? null : (
    <p class="note note-failed fleet-problem" role="status">
      <strong>There are no {part} here:</strong> {oneLine(problem)}.
    </p>
  );
}

/** Said in the place of what only a host can tell. */
export const ON_ITS_MACHINE = "it is on another machine, where hookwire inspect without --fleet asks it";

/** A view that needs a host of this machine. */
export function NotInFleet({ title, children }: { title: string; children: JSX.Element }): JSX.Element {
  return (
    <div class="page page-narrow">
      <Head title={title} />
      <Empty title="Not for a fleet">{children}</Empty>
    </div>
  );
}

/** How a question is answered that this page can't answer. */
export function HowToAnswer({ approval }: { approval: Asked }): JSX.Element {
  const { given = "FILE", key } = fleet.value ?? {};
  return (
    <div class="note" role="note">
      <p>
        {key == null ? (
          <>This page has no approver’s key. </>
        ) : (
          <>
            The host doesn’t believe the key that this page has (<code>{oneLine(key)}</code>).{" "}
          </>
        )}
        Whoever has the key of an approver answers in a terminal, or in a page that was started with <code>--key</code>:
      </p>
      <pre tabIndex={0}>
        <code>
          {["approve", "deny"]
            .map((it) => `hookwire approvals ${it} ${oneLine(approval.id)} --fleet ${oneLine(given)} --key KEY`)
            .join("\n")}
        </code>
      </pre>
    </div>
  );
}

/** What is in force on the hosts of the fleet, as they report it. */
export function FleetDefinitions(): JSX.Element {
  const all = hosts.value ?? [];
  const { newest, more = 0, problems } = fleet.value ?? {};
  return (
    <div class="page">
      <Head title="Definitions">
        <p class="lead">
          What is in force on {times(all.length, "machine")}, as their hosts report it
          {newest != null && <>. Revision {number(newest)} is the newest</>}
        </p>
      </Head>
      <FleetProblem part="reports" />
      {all.length === 0 && problems?.reports === undefined && (
        <Empty title="No host has reported yet">
          <p>Hosts report every half minute. One joins with its settings: see “hookwire docs fleet”.</p>
        </Empty>
      )}
      {all.length > 0 && (
        <div class="table-box" tabIndex={0} role="group" aria-label="Hosts of the fleet">
          <table class="table hooks">
            <Columns of={["machine", "host", "channel", "state", "hookwire"]} />
            <tbody>{all.flatMap(rowsOf)}</tbody>
          </table>
        </div>
      )}
      {more > 0 && <p class="quiet-text">{times(more, "more machine is", "more machines are")} there.</p>}
      <p class="quiet-text">
        Hooks, files and cases are shown on a host’s own machine, by <code>hookwire inspect</code> without <code>--fleet</code>.
      </p>
    </div>
  );
}

function rowsOf({ id, reports = [] }: Host): JSX.Element[] {
  const machine = (
    <th scope="row">
      <button
        type="button"
        class="link"
        title="Its events"
        onClick={() => change({ view: "timeline", q: toggled("", "host", id) })}
      >
        {oneLine(id)}
      </button>
    </th>
  );
  if (reports.length === 0)
    return [
      <tr key={id}>
        {machine}
        <td colSpan={4} class="quiet-text">
          no report; its verdicts are in the stream
        </td>
      </tr>,
    ];
  return reports.map((it) => (
    <tr key={`${id}.${it.instance}`}>
      {machine}
      <td>
        <code>{oneLine(it.instance)}</code>
      </td>
      <td>{oneLine(it.channel ?? "")}</td>
      <td>{it.isWrong ? <strong class="tone-failed">{oneLine(it.words)}</strong> : oneLine(it.words)}</td>
      <td>{oneLine(it.version)}</td>
    </tr>
  ));
}

/** The timeline without events. */
export function NoVerdicts(): JSX.Element {
  const { away, problems } = fleet.value!;
  if (problems.verdicts !== undefined) return <Empty title="No verdicts for this account" />;
  if (away !== undefined) return <Empty title="Waiting for the fleet’s servers" />;
  return (
    <Empty title="No verdict has come yet">
      <p>
        Hosts of the fleet send what they judge within a second or two. What is older than the stream’s last messages is in
        History.
      </p>
    </Empty>
  );
}
