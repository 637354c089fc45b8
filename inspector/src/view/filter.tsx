// The line that filters. It offers what can be written next, takes arrows, Tab and Enter, and names mistakes.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { KEY_HELP, KEYS, parse, projectOf, quote, VALUES, type Key } from "../query";
import { oneLine } from "../text";
import { rows } from "../store";
import { Icon } from "./marks";

interface Offer {
  insert: string;
  label: string;
  note: string;
}

const FROM_ROWS: { [key in Key]?: (row: (typeof rows)[number]) => string } = {
  agent: (row) => row.agent,
  tool: (row) => row.tool,
  event: (row) => row.event,
  hook: (row) => row.decidedBy,
  session: (row) => row.session,
  run: (row) => row.run,
  project: (row) => projectOf(row).replace(/.*\//, ""),
  host: (row) => row.host,
};

/** Values that the last events have, the most frequent first. */
function valuesOf(key: Key): string[] {
  const fixed = VALUES[key];
  if (fixed !== undefined) return [...fixed];
  const read = FROM_ROWS[key];
  if (read === undefined) return [];
  const counts = new Map<string, number>();
  for (const row of rows.slice(-3000)) {
    const value = read(row);
    if (value !== "") counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 50)
    .map(([value]) => value);
}

function offersAt(line: string, at: number, all: readonly Key[]): { from: number; offers: Offer[] } {
  const before = line.slice(0, at);
  const from = before.search(/\S*$/);
  const word = before.slice(from);
  const sign = word.startsWith("-") ? "-" : "";
  const bare = word.slice(sign.length);
  const colon = bare.indexOf(":");
  if (colon < 0) {
    const keys = all.filter((it) => it.startsWith(bare.toLowerCase()));
    return { from, offers: keys.map((key) => ({ insert: `${sign}${key}:`, label: `${sign}${key}:`, note: KEY_HELP[key] })) };
  }
  const key = all.find((it) => it === bare.slice(0, colon).toLowerCase());
  if (key === undefined) return { from, offers: [] };
  const begun = bare
    .slice(colon + 1)
    .toLowerCase()
    .replace(/^"/, "");
  const values = valuesOf(key)
    .filter((it) => it.toLowerCase().includes(begun) && it.toLowerCase() !== begun)
    .slice(0, 9);
  return {
    from,
    offers: values.map((value) => ({ insert: `${sign}${key}:${quote(value)} `, label: oneLine(value).slice(0, 80), note: "" })),
  };
}

interface Typed {
  text: string;
  setText: (text: string) => void;
  send: (text: string, how: "push" | "replace") => void;
  sendLater: (text: string) => void;
}

/** The text as it is typed: the line follows it a little later, and it follows a line that somebody else has changed. */
function useText(line: string, onChange: (line: string, how: "push" | "replace") => void): Typed {
  const [text, setText] = useState(line);
  const timer = useRef(0);
  const sent = useRef(line);
  useEffect(() => {
    if (line !== sent.current) {
      sent.current = line;
      setText(line);
    }
  }, [line]);

  const send = (next: string, how: "push" | "replace"): void => {
    clearTimeout(timer.current);
    sent.current = next.trim();
    onChange(next.trim(), how);
  };
  const sendLater = (next: string): void => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => send(next, "replace"), 120);
  };
  return { text, setText, send, sendLater };
}

function Offers({ all, chosen, onPick }: { all: readonly Offer[]; chosen: number; onPick: (offer: Offer) => void }): JSX.Element {
  return (
    <ul id="filter-offers" role="listbox" aria-label="What can be written here" hidden={all.length === 0}>
      {all.map((offer, at) => (
        <li
          key={offer.insert}
          id={`offer-${at}`}
          role="option"
          aria-selected={at === chosen}
          onMouseDown={(event) => {
            event.preventDefault();
            onPick(offer);
          }}
        >
          <code>{offer.label}</code> <span>{offer.note}</span>
        </li>
      ))}
    </ul>
  );
}

type Took = { do: "open" | "close" | "leave" | "send" } | { do: "choose" | "pick"; nth: number };

/** What a key does while so many offers are shown, of which one may be chosen. */
function keyOf(key: string, offers: number, chosen: number): Took | undefined {
  const isChosen = chosen >= 0 && chosen < offers;
  switch (key) {
    case "ArrowDown":
      return offers === 0 ? { do: "open" } : { do: "choose", nth: (chosen + 1) % offers };
    case "ArrowUp":
      return offers === 0 ? { do: "open" } : { do: "choose", nth: chosen <= 0 ? offers - 1 : chosen - 1 };
    case "Enter":
      return isChosen ? { do: "pick", nth: chosen } : { do: "send" };
    case "Tab":
      return isChosen ? { do: "pick", nth: chosen } : undefined;
    case "Escape":
      return { do: offers > 0 ? "close" : "leave" };
    default:
      return undefined;
  }
}

export function Filter({
  line,
  onChange,
  label,
  placeholder,
  keys = KEYS,
}: {
  line: string;
  onChange: (line: string, how: "push" | "replace") => void;
  label: string;
  placeholder: string;
  keys?: readonly Key[];
}): JSX.Element {
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const [caret, setCaret] = useState(line.length);
  const input = useRef<HTMLInputElement>(null);
  const { text, setText, send, sendLater } = useText(line, onChange);
  const type = (next: string, at: number): void => {
    setText(next);
    setCaret(at);
    setChosen(-1);
    setOpen(true);
    sendLater(next);
  };
  const { from, offers } = useMemo(
    () => (open ? offersAt(text, caret, keys) : { from: 0, offers: [] }),
    [open, text, caret, keys],
  );
  const isOpen = open && offers.length > 0;
  const { mistakes } = useMemo(() => parse(text, keys), [text, keys]);
  const pick = (offer: Offer): void => {
    const next = text.slice(0, from) + offer.insert + text.slice(caret).trimStart();
    const at = from + offer.insert.length;
    // At once: who types fast is ahead of the next frame.
    if (input.current !== null) {
      input.current.value = next;
      input.current.focus();
      input.current.setSelectionRange(at, at);
    }
    type(next, at);
  };
  const clear = (): void => {
    type("", 0);
    setOpen(false);
    send("", "push");
    input.current?.focus();
  };
  const onKey = (event: KeyboardEvent): void => {
    const took = keyOf(event.key, isOpen ? offers.length : 0, chosen);
    if (took === undefined) return;
    if (took.do === "open") setOpen(true);
    else if (took.do === "choose") setChosen(took.nth);
    else if (took.do === "pick") pick(offers[took.nth]!);
    else if (took.do === "close") setOpen(false);
    else if (took.do === "leave") input.current?.blur();
    else {
      send(text, "push");
      setOpen(false);
    }
    event.preventDefault();
    if (event.key === "Escape") event.stopPropagation();
  };
  return (
    <div class="filter" role="search">
      <div class="filter-line">
        <Icon name="search" />
        <input
          ref={input}
          type="text"
          data-filter
          value={text}
          placeholder={placeholder}
          aria-label={label}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          role="combobox"
          aria-expanded={isOpen}
          aria-controls="filter-offers"
          aria-autocomplete="list"
          aria-activedescendant={isOpen && chosen >= 0 ? `offer-${chosen}` : undefined}
          aria-invalid={mistakes.length > 0}
          aria-describedby="filter-mistakes"
          onInput={(event) =>
            type(event.currentTarget.value, event.currentTarget.selectionStart ?? event.currentTarget.value.length)
          }
          onClick={(event) => {
            setCaret(event.currentTarget.selectionStart ?? text.length);
            setOpen(true);
          }}
          onFocus={() => setCaret(input.current?.selectionStart ?? text.length)}
          onKeyUp={(event) => {
            if (event.key === "ArrowLeft" || event.key === "ArrowRight")
              setCaret(event.currentTarget.selectionStart ?? text.length);
          }}
          onBlur={() => setOpen(false)}
          onKeyDown={onKey}
        />
        {text !== "" && (
          <button type="button" class="quiet" aria-label="Clear the filter" onClick={clear}>
            <Icon name="close" />
          </button>
        )}
        <kbd aria-hidden="true">/</kbd>
      </div>
      <Offers all={isOpen ? offers : []} chosen={chosen} onPick={pick} />
      <p id="filter-mistakes" class="mistakes" role="status">
        {mistakes.map((it) => oneLine(it)).join(" ")}
      </p>
    </div>
  );
}
