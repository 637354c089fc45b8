// The shapes of verdicts. Each has an outline of its own, so that nobody needs the colour.

import type { JSX } from "preact";
import { TONE_WORDS, type Tone } from "../read";

const SHAPES: { [tone in Tone]: JSX.Element } = {
  silent: <circle cx="8" cy="8" r="3" class="hollow" />,
  allow: (
    <>
      <circle cx="8" cy="8" r="6.5" class="solid" />
      <path class="cut" d="m5 8.2 2.1 2.1L11 6.2" />
    </>
  ),
  rewrite: (
    <>
      <path class="solid" d="M2 3.5h8.2L14.5 8l-4.3 4.5H2L4.6 8z" />
    </>
  ),
  observed: (
    <>
      <path class="hollow" d="M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8z" />
      <circle cx="8" cy="8" r="1.9" class="solid" />
    </>
  ),
  failed: (
    <>
      <path class="solid" d="M8 1.5 15 14H1z" />
      <path class="cut" d="M8 6v3.6M8 11.8v.1" />
    </>
  ),
  defer: (
    <>
      <rect x="2" y="2" width="12" height="12" rx="2" class="solid" />
      <path class="cut" d="M6.2 5.2v5.6M9.8 5.2v5.6" />
    </>
  ),
  ask: (
    <>
      <path class="solid" d="M8 .8 15.2 8 8 15.2.8 8z" />
      <path
        class="cut"
        d="M6.1 6.5c0-1.200.8-1.900 1.900-1.900s1.900.7 1.900 1.700c0 1.500-1.900 1.400-1.900 2.900M8 11.500v.1"
      />
    </>
  ),
  deny: (
    <>
      <path class="solid" d="M5.3 1h5.4L15 5.3v5.4L10.7 15H5.3L1 10.7V5.3z" />
      <path class="cut" d="M4.5 8h7" />
    </>
  ),
};

/** With an empty label, what stands beside it says the same. */
export function Mark({ tone, word = false, label }: { tone: Tone; word?: boolean; label?: string }): JSX.Element {
  const name = label ?? TONE_WORDS[tone];
  const isSaid = word || name === "";
  return (
    <span class={`mark tone-${tone}`}>
      <svg
        viewBox="0 0 16 16"
        width="16"
        height="16"
        {...(isSaid ? { "aria-hidden": true } : { role: "img", "aria-label": name })}
      >
        {SHAPES[tone]}
      </svg>
      {word && <span class="mark-word">{name}</span>}
    </span>
  );
}

/** The outlines for canvases, in a box of 16. */
export const PATHS: { [tone in Tone]: string } = {
  silent: "M8 5a3 3 0 1 0 .01 0z",
  allow: "M8 2.5a5.5 5.5 0 1 0 .01 0z",
  rewrite: "M2 3.5h8.2L14.5 8l-4.3 4.5H2L4.6 8z",
  observed: "M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8z",
  failed: "M8 1.5 15 14H1z",
  defer: "M2 2h12v12H2z",
  ask: "M8 .8 15.2 8 8 15.2.8 8z",
  deny: "M5.3 1h5.4L15 5.3v5.4L10.7 15H5.3L1 10.7V5.3z",
};

const ICONS: { [name: string]: string } = {
  timeline: "M2 4h7M2 8h12M2 12h9M12.5 4h1.5",
  approvals: "M8 1.5 14 4v4c0 3.5-2.5 5.6-6 6.5C4.500 13.600 2 11.500 2 8V4zM5.500 8l1.800 1.800L10.800 6.200",
  charts: "M2 14V2M2 14h12M5 11V8M8.500 11V4M12 11V6.500",
  definitions: "M4 1.500h5.500L13 5v9.500H4zM9.500 1.500V5H13M6.500 8.500h4M6.500 11h4",
  try: "M6 1.500v4L2.500 12a1.700 1.700 0 0 0 1.500 2.500h8a1.700 1.700 0 0 0 1.500-2.500L10 5.500v-4M5 1.500h6M4.500 10h7",
  proposals: "M8 1.500a4.500 4.500 0 0 1 2.500 8.200V12h-5V9.700A4.500 4.500 0 0 1 8 1.500zM6 14.500h4",
  history: "M2.200 6A6 6 0 1 1 2 9M2 2.500V6h3.500M8 4.500V8l2.500 1.500",
  close: "M3.500 3.500l9 9M12.500 3.500l-9 9",
  pause: "M5.500 3v10M10.500 3v10",
  play: "M4.500 2.500v11L13 8z",
  copy: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3",
  up: "M8 13V3M3.500 7.500 8 3l4.500 4.500",
  wide: "M9.500 2.500h4v4M13.500 2.500 9 7M6.500 13.500h-4v-4M2.500 13.500 7 9",
  theme: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
  keys: "M1.500 4h13v8.500h-13zM4 6.500h.1M6.700 6.500h.1M9.300 6.500h.1M12 6.500h.1M5 10h6",
  chevron: "M6 3.500 10.500 8 6 12.500",
  link: "M9 2.500h4.500V7M13.500 2.500 7 9M11.500 9.500v4h-9v-9h4",
  search: "M7 2.500a4.500 4.500 0 1 0 .1 0zM10.300 10.300l3.700 3.700",
};

export function Icon({ name }: { name: keyof typeof ICONS & string }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}
