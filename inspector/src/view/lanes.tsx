// Sessions as lanes: what each of them did over time, in marks. Many events at one place are drawn as the strongest of
// them. The list below has the same for those who can't see it.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { projectOf, quote, toggled } from "../query";
import { TONES, type Row, type Tone } from "../read";
import { change, route } from "../route";
import { filter, hosts, version, visible } from "../store";
import { oneLine } from "../text";
import { number, tick } from "../time";
import { PATHS } from "./marks";
import { scheme } from "./shell";

interface Lane {
  key: string;
  label: string;
  session: string;
  agent: string;
  place: string;
  count: number;
  denied: number;
  asked: number;
  cells: Uint8Array;
  sums: Uint16Array;
  top: (Row | undefined)[];
}

const CELL = 11;
const FEW = 5;
const MANY = 60;

function lanesOf(rows: readonly Row[], from: number, to: number, width: number): Lane[] {
  const n = Math.max(1, Math.floor(width / CELL));
  const lanes = new Map<string, Lane>();
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows[at]!;
    const key = `${row.host}\n${row.session}`;
    let lane = lanes.get(key);
    if (lane === undefined) {
      if (lanes.size >= MANY) continue;
      const root = projectOf(row).replace(/.*\//, "");
      const place = row.project === "" ? root : `${row.host}:${root}`;
      lane = {
        key,
        label: row.session || "no session",
        session: row.session,
        agent: row.agent,
        place,
        count: 0,
        denied: 0,
        asked: 0,
        cells: new Uint8Array(n),
        sums: new Uint16Array(n),
        top: new Array<Row | undefined>(n),
      };
      lanes.set(key, lane);
    }
    lane.count++;
    if (row.decision === "deny") lane.denied++;
    if (row.decision === "ask") lane.asked++;
    const cell = Math.min(n - 1, Math.max(0, Math.floor(((row.time - from) / (to - from)) * n)));
    const strength = TONES.indexOf(row.tone) + 1;
    if (lane.sums[cell]! < 65_000) lane.sums[cell]!++;
    if (strength > lane.cells[cell]!) {
      lane.cells[cell] = strength;
      lane.top[cell] = row;
    }
  }
  return [...lanes.values()];
}

const shapes = new Map<Tone, Path2D>();
const shapeOf = (tone: Tone): Path2D => {
  let shape = shapes.get(tone);
  if (shape === undefined) shapes.set(tone, (shape = new Path2D(PATHS[tone])));
  return shape;
};

function draw(canvas: HTMLCanvasElement, lane: Lane, width: number, colours: Map<Tone, string>, wire: string): void {
  const height = 22;
  const ratio = devicePixelRatio;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.fillStyle = wire;
  context.fillRect(0, height / 2 - 0.5, width, 1);
  for (const [cell, strength] of lane.cells.entries()) {
    if (strength === 0) continue;
    const tone = TONES[strength - 1]!;
    const x = cell * CELL;
    context.fillStyle = colours.get(tone)!;
    context.strokeStyle = colours.get(tone)!;
    const many = Math.min(1, Math.log2(lane.sums[cell]! + 1) / 8);
    // How many there were: a bar behind the mark.
    if (lane.sums[cell]! > 2) {
      context.globalAlpha = 0.14;
      context.fillRect(x + 1, height / 2 - 4 - many * 7, CELL - 2, 8 + many * 14);
      context.globalAlpha = 1;
    }
    const size = tone === "silent" ? 9 : 12;
    context.save();
    context.translate(x + (CELL - size) / 2, (height - size) / 2);
    context.scale(size / 16, size / 16);
    if (tone === "silent" || tone === "observed") {
      context.lineWidth = 2;
      context.stroke(shapeOf(tone));
    } else context.fill(shapeOf(tone));
    context.restore();
  }
}

function ticksOf(from: number, to: number): { at: number; text: string }[] {
  const n = to - from > 72_000_000 ? 2 : 4;
  return Array.from({ length: n + 1 }, (_, i) => {
    const time = from + ((to - from) * i) / n;
    return { at: i / n, text: tick(time, to - from) };
  });
}

/** The lanes of what is visible. They are counted at most three times a second: the more rows, the rarer. */
function useLanes(width: number): { lanes: Lane[]; from: number; to: number } {
  const [state, setState] = useState<{ lanes: Lane[]; from: number; to: number }>({ lanes: [], from: 0, to: 1 });
  useEffect(() => {
    let timer = 0;
    const look = (): void => {
      timer = 0;
      const { rows } = visible;
      const to = rows.at(-1)?.time ?? Date.now();
      const from = Math.min(rows[0]?.time ?? to, to - 10_000);
      setState({ lanes: lanesOf(rows, from, to + 1, width), from, to });
    };
    const plan = (): void => {
      if (timer === 0) timer = window.setTimeout(look, visible.rows.length > 20_000 ? 700 : 320);
    };
    const stops = [version.subscribe(plan), hosts.subscribe(plan), scheme.subscribe(look)];
    return () => {
      clearTimeout(timer);
      stops.forEach((stop) => stop());
    };
  }, [width]);
  return state;
}

/** The colours of the theme that is shown. */
function coloursNow(): { colours: Map<Tone, string>; wire: string } {
  const probe = document.createElement("span");
  document.body.append(probe);
  const colours = new Map(
    TONES.map((tone): [Tone, string] => {
      probe.className = `fill-${tone}`;
      return [tone, getComputedStyle(probe).color];
    }),
  );
  probe.className = "wire-colour";
  const wire = getComputedStyle(probe).color;
  probe.remove();
  return { colours, wire };
}

function LaneName({ lane }: { lane: Lane }): JSX.Element {
  return (
    <button
      type="button"
      class="lane-name"
      aria-pressed={lane.session !== "" && route.value.q.includes(`session:${quote(lane.session)}`)}
      disabled={lane.session === ""}
      title={oneLine(`${lane.agent} ${lane.label}`)}
      onClick={() => filter(toggled(route.value.q, "session", lane.session))}
    >
      <strong>{oneLine(lane.agent)}</strong>
      <span>
        {lane.place !== "" && `${oneLine(lane.place)} · `}
        {oneLine(lane.label)}
      </span>
      <span class="hidden">
        : {number(lane.count)} events, {number(lane.denied)} denied, {number(lane.asked)} asked. Show only this session.
      </span>
    </button>
  );
}

export function Lanes(): JSX.Element | null {
  const [all, setAll] = useState(false);
  const [width, setWidth] = useState(600);
  const box = useRef<HTMLDivElement>(null);
  const canvases = useRef(new Map<string, HTMLCanvasElement>());
  const [drag, setDrag] = useState<[number, number] | undefined>(undefined);

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.max(60, Math.floor(entry.contentRect.width)));
    });
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  const { lanes, from, to } = useLanes(width);
  const shown = lanes.slice(0, all ? MANY : FEW);
  useEffect(() => {
    const { colours, wire } = coloursNow();
    for (const lane of shown) {
      const canvas = canvases.current.get(lane.key);
      if (canvas) draw(canvas, lane, width, colours, wire);
    }
  });

  const cellAt = (event: MouseEvent): number =>
    Math.max(0, Math.min(width, event.clientX - (event.currentTarget as HTMLElement).getBoundingClientRect().left));
  const open = (lane: Lane, x: number): void => {
    const cell = Math.floor(x / CELL);
    const near = [0, -1, 1].map((step) => lane.top[cell + step]).find((it) => it !== undefined);
    if (near !== undefined) change({ event: near.id });
  };
  const zoom = (a: number, b: number): void => {
    const at = (x: number): string => new Date(from + ((to - from) * x) / width).toISOString();
    const rest = route.value.q.split(/\s+/).filter((it) => !/^(since|until):/.test(it));
    filter([...rest, `since:${at(Math.min(a, b))}`, `until:${at(Math.max(a, b))}`].join(" "));
  };

  return (
    <section class={`lanes ${lanes.length === 0 ? "is-empty" : ""}`} aria-label="Sessions over time">
      <div class="lanes-grid">
        <div class="lane-axis-space" />
        <div class="lane-axis" ref={box} aria-hidden="true">
          {ticksOf(from, to).map((tick) => (
            <span key={tick.at} style={{ left: `${tick.at * 100}%` }}>
              {tick.text}
            </span>
          ))}
        </div>
        {shown.map((lane) => (
          <div class="lane" key={lane.key}>
            <LaneName lane={lane} />
            <div
              class="lane-track"
              onPointerDown={(event) => {
                const x = cellAt(event);
                event.currentTarget.setPointerCapture(event.pointerId);
                setDrag([x, x]);
              }}
              onPointerMove={(event) => {
                if (drag) setDrag([drag[0], cellAt(event)]);
              }}
              onPointerUp={(event) => {
                const x = cellAt(event);
                if (drag && Math.abs(drag[0] - x) > 12) zoom(drag[0], x);
                else open(lane, x);
                setDrag(undefined);
              }}
              onPointerCancel={() => setDrag(undefined)}
            >
              <canvas
                ref={(it) => {
                  if (it) canvases.current.set(lane.key, it);
                  else canvases.current.delete(lane.key);
                }}
                aria-hidden="true"
              />
              {drag && Math.abs(drag[0] - drag[1]) > 4 && (
                <span class="lane-drag" style={{ left: `${Math.min(...drag)}px`, width: `${Math.abs(drag[0] - drag[1])}px` }} />
              )}
            </div>
          </div>
        ))}
      </div>
      {lanes.length > FEW && (
        <button type="button" class="link lanes-more" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show fewer sessions" : `Show all ${lanes.length >= MANY ? `${MANY} latest` : lanes.length} sessions`}
        </button>
      )}
    </section>
  );
}
