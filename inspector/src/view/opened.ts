// The event that is open beside a list.

import { useEffect } from "preact/hooks";
import type { Row } from "../read";
import { change, route } from "../route";

const focusOn = (place: string): void => {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(place)?.focus());
};

export function openEvent(row: Row, focus: boolean): void {
  change({ event: row.id }, route.value.event === "" ? "push" : "replace");
  if (focus) focusOn("[data-event-title]");
}

export function closeEvent(): void {
  change({ event: "" });
  focusOn("[data-list]");
}

/** Keys of a view, but for those that somebody types into a field or a dialog. Esc closes the event. */
export function useViewKeys(take: (key: string) => void = () => {}): void {
  useEffect(() => {
    const onKey = (pressed: KeyboardEvent): void => {
      if (pressed.ctrlKey || pressed.metaKey || pressed.altKey || pressed.defaultPrevented) return;
      if (pressed.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(pressed.target.tagName)) return;
      if (document.querySelector("dialog[open]")) return;
      if (pressed.key === "Escape" && route.value.event !== "") closeEvent();
      else take(pressed.key);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}
