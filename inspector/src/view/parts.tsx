// Pieces that several views have.

import type { ComponentChildren, JSX } from "preact";
import { change, go, type Route } from "../route";

/** A link to another view; `keeps`: with the filter and what else the address says. */
export function ViewLink({
  to,
  keeps = false,
  children,
}: {
  to: Route["view"];
  keeps?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <a
      href={`#/${to}`}
      onClick={(event) => {
        event.preventDefault();
        (keeps ? change : go)({ view: to });
      }}
    >
      {children}
    </a>
  );
}

type Column = { word: ComponentChildren; class?: string | undefined };

/** A column of numbers. */
export const ofNumbers = (word: string): Column => ({ word, class: "n" });

/** A column whose head only a screen reader says. */
export const unseen = (word: string, name?: string): Column => ({ word: <span class="hidden">{word}</span>, class: name });

/** The head of a table. */
export function Columns({ of }: { of: readonly (string | Column | false)[] }): JSX.Element {
  const columns = of.filter((it) => it !== false).map((it) => (typeof it === "string" ? { word: it } : it));
  return (
    <thead>
      <tr>
        {columns.map((it: Column, nth) => (
          <th scope="col" key={nth} class={it.class}>
            {it.word}
          </th>
        ))}
      </tr>
    </thead>
  );
}
