// Texts that others wrote. They become text nodes and nothing else. Characters that would hide or reorder what
// stands beside them are shown as what they are, and a long text is cut until somebody asks for all of it.

import { useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { number } from "./time";

// Controls but for tab and line feed, marks of direction, invisible and filling characters, tags, private use, lone surrogates.
const UNSAFE =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\ue000-\uf8ff]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u{f0000}-\u{10ffff}]|[\ud800-\udfff]/gu;
/** More marks on one character than any script has pile up over the lines beside it. */
const PILED = /(\p{M}{4})(\p{M}+)/gu;

const NAMES: { [character: string]: string } = {
  "\r": "\\r",
  "\u0000": "\\0",
  "\u001b": "\\e",
  "\u0008": "\\b",
  "\u000c": "\\f",
  "\u000b": "\\v",
};
const escapeOf = (character: string): string => NAMES[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** For places where only a plain text can stand, such as a label. */
export function plain(text: string): string {
  return text
    .replace(UNSAFE, escapeOf)
    .replace(PILED, (_, kept: string, rest: string) => kept + [...rest].map(escapeOf).join(""));
}

/** In one line. */
export const oneLine = (text: string): string => plain(text.replace(/\r?\n/g, " ⏎ ").replaceAll("\t", " "));

/** Where a long word may end a line: a browser takes half a minute to look for that in a word of 100,000 letters. */
const WORD = 256;
const LONG_WORD = /\S{512,}/g;

function broken(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const found of text.matchAll(LONG_WORD)) {
    const end = found.index + found[0].length;
    for (let at = found.index + WORD; at < end; at += WORD) {
      const to = cutAt(text, at);
      parts.push(text.slice(from, to), <wbr />);
      from = to;
    }
  }
  parts.push(text.slice(from));
  return parts;
}

/** A text with its hidden characters shown. */
export function Shown({ text }: { text: string }): JSX.Element {
  const parts: ComponentChildren[] = [];
  let from = 0;
  const piled = text.replace(
    PILED,
    (_, kept: string, rest: string) => kept + [...rest].map((it) => `\\u{${it.codePointAt(0)!.toString(16)}}`).join(""),
  );
  for (const found of piled.matchAll(UNSAFE)) {
    if (found.index > from) parts.push(...broken(piled.slice(from, found.index)));
    parts.push(<span class="escape">{escapeOf(found[0])}</span>);
    from = found.index + found[0].length;
    // A text of nothing but such characters would make an element for each.
    if (parts.length > 2000) {
      parts.push(plain(piled.slice(from)));
      from = piled.length;
      break;
    }
  }
  if (from < piled.length) parts.push(...broken(piled.slice(from)));
  return <>{parts}</>;
}

/** So much is shown at first, and with each further step. */
export const CUT = 1200;
const STEP = 128 * 1024;

/** A text of others in running words. */
export function Quoted({ text, limit = CUT, class: name = "" }: { text: string; limit?: number; class?: string }): JSX.Element {
  const [shown, setShown] = useState(limit);
  const end = cutAt(text, shown);
  return (
    <span class={`quoted ${name}`} dir="ltr">
      <Shown text={text.slice(0, end)} />
      {end < text.length && <More left={text.length - end} onMore={() => setShown(shown + STEP)} />}
    </span>
  );
}

/** A text of others as a block, its lines kept. */
export function Block({
  text,
  limit = CUT,
  onAll,
  label,
}: {
  text: string;
  limit?: number;
  onAll?: () => void;
  label: string;
}): JSX.Element {
  const [shown, setShown] = useState(limit);
  const end = cutAt(text, shown);
  const more = (): void => {
    setShown(shown + STEP);
    if (shown + STEP >= text.length) onAll?.();
  };
  return (
    <div class="block">
      <pre class="block-text" dir="ltr" tabIndex={0} role="group" aria-label={label}>
        <Shown text={text.slice(0, end)} />
      </pre>
      {end < text.length && <More left={text.length - end} onMore={more} />}
    </div>
  );
}

export function More({ left, onMore }: { left: number; onMore: () => void }): JSX.Element {
  return (
    <button
      type="button"
      class="more"
      onClick={(event) => {
        event.stopPropagation();
        onMore();
      }}
    >
      … show {left > STEP ? "more" : "all"} ({number(left)} more characters)
    </button>
  );
}

/** Not within a pair of surrogates. */
export function cutAt(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const code = text.charCodeAt(at - 1);
  return code >= 0xd800 && code <= 0xdbff ? at - 1 : at;
}
