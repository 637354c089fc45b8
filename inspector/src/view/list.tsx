// The list of events: only the rows in sight are in the page, however many there are.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Row } from "../read";
import { oneLine } from "../text";
import { clock, day, full, number, took } from "../time";
import type { Group } from "../store";
import { Icon, Mark } from "./marks";
import { TONES } from "../read";

export type Item = { kind: "event"; row: Row } | { kind: "group"; group: Group; isOpen: boolean };

/** The rows in the order in which they are shown: newest first, by their groups if there are any. */
export interface Items {
  count: number;
  at(index: number): Item | undefined;
  indexOf(id: string): number;
}

export function flat(rows: readonly Row[], shown: number): Items {
  return {
    count: shown,
    at: (index) => {
      const row = rows[shown - 1 - index];
      return row && { kind: "event", row };
    },
    indexOf: (id) => {
      for (let at = shown - 1; at >= 0; at--) if (rows[at]!.id === id) return shown - 1 - at;
      return -1;
    },
  };
}

/** `sizeOf` says how many of a group's rows are shown: those that came since somebody scrolled away are not. */
export function grouped(
  groups: readonly Group[],
  isClosed: (key: string) => boolean,
  sizeOf: (rows: readonly Row[]) => number,
): Items {
  const starts: number[] = [];
  const sizes: number[] = [];
  let count = 0;
  for (const group of groups) {
    const size = isClosed(group.key) ? 0 : sizeOf(group.rows);
    starts.push(count);
    sizes.push(size);
    count += 1 + size;
  }
  const groupAt = (index: number): number => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  return {
    count,
    at: (index) => {
      if (index < 0 || index >= count) return undefined;
      const nth = groupAt(index);
      const group = groups[nth]!;
      const within = index - starts[nth]! - 1;
      if (within < 0) return { kind: "group", group, isOpen: !isClosed(group.key) };
      const row = group.rows[sizes[nth]! - 1 - within];
      return row && { kind: "event", row };
    },
    indexOf: (id) => {
      for (const [nth, group] of groups.entries()) {
        if (isClosed(group.key)) continue;
        for (let at = sizes[nth]! - 1; at >= 0; at--) if (group.rows[at]!.id === id) return starts[nth]! + sizes[nth]! - at;
      }
      return -1;
    },
  };
}

export const COLUMNS = ["verdict", "time", "agent", "event", "tool", "what", "decided by", "took"] as const;

interface Sight {
  /** Of a row, in pixels. */
  height: number;
  /** The rows to draw: those in sight, and some more. */
  range: [number, number];
  onScroll: () => void;
}

function useSight(box: { current: HTMLDivElement | null }, count: number, onAway?: (isAway: boolean) => void): Sight {
  const [height, setHeight] = useState(30);
  const [range, setRange] = useState<[number, number]>([0, 60]);
  const frame = useRef(0);
  const look = (): void => {
    const element = box.current;
    if (element === null) return;
    const first = Math.max(0, Math.floor(element.scrollTop / height) - 6);
    const last = Math.ceil((element.scrollTop + element.clientHeight) / height) + 6;
    setRange(([a, b]) => (a === first && b === last ? [a, b] : [first, last]));
    onAway?.(element.scrollTop > height * 2);
  };
  useLayoutEffect(() => {
    const element = box.current!;
    const probe = element.querySelector<HTMLElement>(".list-probe")!;
    const measure = (): void => {
      setHeight(Math.max(20, probe.offsetHeight));
      look();
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    observer.observe(probe);
    measure();
    return () => observer.disconnect();
  }, []);
  useEffect(look, [height, count]);
  const onScroll = (): void => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(look);
  };
  return { height, range, onScroll };
}

/** How far a key goes. */
function stepOf(key: string, page: number, count: number): number | undefined {
  const steps: { [key: string]: number } = {
    ArrowDown: 1,
    j: 1,
    ArrowUp: -1,
    k: -1,
    PageDown: page,
    PageUp: -page,
    Home: -count,
    End: count,
  };
  return steps[key];
}

function bringIntoSight(list: HTMLElement, index: number, height: number): void {
  // The head covers the first row of what is in sight.
  if (index * height < list.scrollTop) list.scrollTop = index * height;
  else if ((index + 2) * height > list.scrollTop + list.clientHeight) list.scrollTop = (index + 2) * height - list.clientHeight;
}

/** For a row that somebody comes to from elsewhere: it stays in sight if the list becomes a little lower then. */
function bringToMiddle(list: HTMLElement, index: number, height: number): void {
  list.scrollTop = (index + 1) * height - list.clientHeight / 2;
}

function ListHead(): JSX.Element {
  return (
    <div class="list-head row" role="row" aria-rowindex={1}>
      {COLUMNS.map((it) => (
        <span key={it} role="columnheader" class={`cell-${it.replace(" ", "-")}`}>
          {it}
        </span>
      ))}
    </div>
  );
}

export function List({
  items,
  selected,
  onOpen,
  onToggle,
  label,
  onAway,
  isTree = false,
}: {
  items: Items;
  selected: string;
  onOpen: (row: Row, focus: boolean) => void;
  onToggle: (key: string) => void;
  label: string;
  onAway?: (isAway: boolean) => void;
  isTree?: boolean;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const { height, range, onScroll } = useSight(box, items.count, onAway);

  // An event may be opened from elsewhere, such as a link: people see where it is.
  useEffect(() => {
    const index = selected === "" ? -1 : items.indexOf(selected);
    if (index < 0) return;
    if (index !== active) bringToMiddle(box.current!, index, height);
    setActive(index);
  }, [selected, items.count > 0]);

  const move = (to: number): void => {
    const index = Math.max(0, Math.min(items.count - 1, to));
    setActive(index);
    bringIntoSight(box.current!, index, height);
    const item = items.at(index);
    if (selected !== "" && item?.kind === "event") onOpen(item.row, false);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 300) / height) - 2);
    const step = stepOf(event.key, page, items.count);
    const item = items.at(active);
    if (step !== undefined) move(active + step);
    else if (event.key === "Enter" || event.key === " ") {
      if (item?.kind === "event") onOpen(item.row, true);
      else if (item?.kind === "group") onToggle(item.group.key);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      if (item?.kind === "group" && item.isOpen === (event.key === "ArrowLeft")) onToggle(item.group.key);
      else return;
    } else return;
    event.preventDefault();
  };
  // Rows are named by their place in sight and not by their event: a jump writes other texts into the same elements.
  const shown: JSX.Element[] = [];
  for (let index = range[0]; index < Math.min(range[1], items.count); index++) {
    const item = items.at(index);
    if (item === undefined) continue;
    const common = { index, top: index * height, isActive: index === active };
    if (item.kind === "event") {
      shown.push(
        <EventRow
          key={index - range[0]}
          row={item.row}
          {...common}
          isSelected={item.row.id === selected}
          onOpen={() => {
            setActive(index);
            onOpen(item.row, false);
          }}
        />,
      );
    } else {
      shown.push(
        <GroupRow
          key={index - range[0]}
          group={item.group}
          isOpen={item.isOpen}
          {...common}
          onToggle={() => {
            setActive(index);
            onToggle(item.group.key);
          }}
        />,
      );
    }
  }
  const isActiveShown = active >= range[0] && active < Math.min(range[1], items.count);
  return (
    <div
      ref={box}
      class="list"
      role={isTree ? "treegrid" : "grid"}
      aria-label={label}
      aria-rowcount={items.count + 1}
      aria-colcount={COLUMNS.length}
      tabIndex={0}
      data-list
      aria-activedescendant={isActiveShown ? `row-${active}` : undefined}
      onKeyDown={onKey}
      onScroll={onScroll}
    >
      <ListHead />
      <div class="list-space" role="rowgroup" style={{ height: `${items.count * height}px` }}>
        {shown}
      </div>
      <div class="list-probe row" aria-hidden="true" />
    </div>
  );
}

interface Placed {
  index: number;
  top: number;
  isActive: boolean;
}

function EventRow({
  row,
  index,
  top,
  isActive,
  isSelected,
  onOpen,
}: Placed & { row: Row; isSelected: boolean; onOpen: () => void }): JSX.Element {
  return (
    <div
      id={`row-${index}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      class={`row event tint-${row.tone} ${isActive ? "is-active" : ""}`}
      style={{ transform: `translateY(${top}px)` }}
      onClick={onOpen}
    >
      <span role="gridcell" class="cell-verdict">
        <Mark tone={row.tone} word />
        {row.doubt && (
          <span class="doubt" title="in doubt">
            ~<span class="hidden">in doubt</span>
          </span>
        )}
      </span>
      <span role="gridcell" class="cell-time" title={full(row.time)}>
        {day(row.time) === "" ? clock(row.time) : `${day(row.time)} ${clock(row.time).slice(0, 5)}`}
      </span>
      <span role="gridcell" class="cell-agent">
        {row.project !== "" && <small>{oneLine(row.host)} · </small>}
        {oneLine(row.agent)}
        {row.subAgent !== "" && <small> / {oneLine(row.subAgent)}</small>}
      </span>
      <span role="gridcell" class="cell-event">
        {oneLine(row.event)}
      </span>
      <span role="gridcell" class="cell-tool">
        {oneLine(row.tool)}
      </span>
      <span role="gridcell" class="cell-what">
        {row.text !== "" ? oneLine(row.text) : <span class="instead">{oneLine(row.event)}</span>}
      </span>
      <span role="gridcell" class="cell-decided-by">
        {oneLine(row.decidedBy)}
      </span>
      <span role="gridcell" class="cell-took">
        {row.runs.length > 0 ? took(row.micros) : ""}
      </span>
    </div>
  );
}

function GroupRow({
  group,
  isOpen,
  index,
  top,
  isActive,
  onToggle,
}: Placed & { group: Group; isOpen: boolean; onToggle: () => void }): JSX.Element {
  const counts = TONES.filter((tone) => tone !== "silent" && (group.worst.get(tone) ?? 0) > 0).reverse();
  return (
    <div
      id={`row-${index}`}
      role="row"
      aria-rowindex={index + 2}
      aria-expanded={isOpen}
      class={`row group ${isActive ? "is-active" : ""}`}
      style={{ transform: `translateY(${top}px)` }}
      onClick={onToggle}
    >
      <span role="gridcell" aria-colspan={COLUMNS.length} class="cell-group">
        <span class={`chevron ${isOpen ? "is-open" : ""}`}>
          <Icon name="chevron" />
        </span>
        <strong>{oneLine(group.label)}</strong>
        <span class="group-count">{number(group.rows.length)} events</span>
        {counts.map((tone) => (
          <span key={tone} class="group-tone">
            <Mark tone={tone} />
            {number(group.worst.get(tone) ?? 0)}
          </span>
        ))}
        <span class="group-last">last {clock(group.last)}</span>
      </span>
    </div>
  );
}
