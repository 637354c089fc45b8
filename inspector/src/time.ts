// Times in the reader's zone, and amounts in a few characters.

const two = (n: number): string => String(n).padStart(2, "0");

/** `14:02:07.123`. By hand, because a list shows many of them. */
export function clock(time: number): string {
  const at = new Date(time);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

const fullFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const dayFormat = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const minuteFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

export const full = (time: number): string => (time > 0 ? fullFormat.format(time) : "at an unknown time");
export const minute = (time: number): string => minuteFormat.format(time);

/** The day where it isn't today. */
export function day(time: number, now = Date.now()): string {
  return new Date(time).toDateString() === new Date(now).toDateString() ? "" : dayFormat.format(time);
}

/** The label of a place on an axis that is so long. */
export function tick(time: number, length: number): string {
  if (length < 300_000) return clock(time).slice(0, 8);
  return length > 72_000_000 ? `${dayFormat.format(time)} ${minute(time)}` : minute(time);
}

export function took(micros: number): string {
  if (micros < 1) return "<1 µs";
  if (micros < 1000) return `${micros} µs`;
  if (micros < 1e6) return `${(micros / 1000).toFixed(micros < 1e4 ? 1 : 0)} ms`;
  return `${(micros / 1e6).toFixed(micros < 1e7 ? 1 : 0)} s`;
}

export function span(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 > 0 ? ` ${s % 60} s` : ""}`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h${s % 3600 >= 60 ? ` ${Math.floor((s % 3600) / 60)} min` : ""}`;
  return `${Math.floor(s / 86_400)} days`;
}

const counts = new Intl.NumberFormat();
export const number = (n: number): string => counts.format(n);
export const times = (n: number, one: string, many = `${one}s`): string => `${number(n)} ${n === 1 ? one : many}`;

export function bytes(n: number): string {
  if (n < 1024) return `${n} bytes`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KB`;
  return `${(n / 1024 / 1024).toFixed(1)} MB`;
}
