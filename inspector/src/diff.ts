// What changed between two texts, word by word.

export interface Part {
  kind: "same" | "removed" | "added";
  text: string;
}

const MOST = 1500;

/** The parts of both; without a comparison, as a whole, where there are too many words. */
export function diff(before: string, after: string): Part[] {
  const split = (text: string): string[] => text.match(/\s+|[\w]+|[^\w\s]/gu) ?? [];
  let [a, b] = [split(before), split(after)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const start = a.slice(0, head).join("");
  const end = a.slice(a.length - tail).join("");
  a = a.slice(head, a.length - tail);
  b = b.slice(head, b.length - tail);
  const middle = a.length > MOST || b.length > MOST ? whole(a.join(""), b.join("")) : common(a, b);
  return joined([{ kind: "same", text: start }, ...middle, { kind: "same", text: tail > 0 ? end : "" }]);
}

const whole = (before: string, after: string): Part[] => [
  { kind: "removed", text: before },
  { kind: "added", text: after },
];

function common(a: readonly string[], b: readonly string[]): Part[] {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const parts: Part[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      parts.push({ kind: "same", text: a[i]! });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!))
      parts.push({ kind: "removed", text: a[i++]! });
    else parts.push({ kind: "added", text: b[j++]! });
  }
  return parts;
}

function joined(parts: readonly Part[]): Part[] {
  const all: Part[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (part.text === "") continue;
    if (last?.kind === part.kind) last.text += part.text;
    else all.push({ ...part });
  }
  return all;
}
