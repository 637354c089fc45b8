// Which host a view is about, where there are several.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { hosts } from "../store";
import { oneLine } from "../text";
import type { Host } from "../wire";

const wanted = signal("");

export function chosenHost(): Host | undefined {
  const all = hosts.value ?? [];
  return all.find((it) => it.id === wanted.value) ?? all[0];
}

export function ChooseHost(): JSX.Element | null {
  const all = hosts.value ?? [];
  if (all.length < 2) return null;
  return (
    <label class="choice">
      Project{" "}
      <select
        value={chosenHost()?.id ?? ""}
        onChange={(it) => {
          wanted.value = it.currentTarget.value;
        }}
      >
        {all.map((it) => (
          <option key={it.id} value={it.id}>
            {oneLine(it.root)} ({it.pid})
          </option>
        ))}
      </select>
    </label>
  );
}
