// Fills the memory to the brim, leaves a little, and calls what can be reached: each allocation of
// each built-in fails once. Nothing is expected but that the process survives.
const seen = new Set(), callables = [];
const walk = (value) => {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return;
  if (seen.has(value)) return;
  seen.add(value);
  if (typeof value === "function") callables.push(value);
  for (const key of Reflect.ownKeys(value)) {
    const { value: inner, get, set } = Object.getOwnPropertyDescriptor(value, key);
    walk(inner), walk(get), walk(set);
  }
  walk(Object.getPrototypeOf(value));
};
walk(globalThis);
[[].values(), new Map().keys(), new Set().keys(), ""[Symbol.iterator](), "".matchAll(/a/g), [].values().map((it) => it),
  Iterator.from({ next() {} }), (function* () {})(), async () => 1, (async function* () {})()].forEach(walk);
// What the language does without calling anything.
const syntax = [
  () => ({ a: 1, b: [2], c() {} }), () => [1, 2, 3, 4], (x) => () => x, () => class A { x = 1; #y = 2; static z = 3; },
  () => class B extends Map { constructor() { super([[1, 2]]); } }, () => /a(b)c/g, () => `a${event}b`, () => (function* () { yield 1; })(),
  () => (async () => { await 1; })(), () => (async function* () { yield 1; })(), () => { const { a, ...rest } = { a: 1, b: 2 }; return rest; },
  () => [...[1, 2], ..."ab"], () => { for (const x of [1, 2]) for (const y in { a: 1 }) x + y; }, () => 2n ** 200n, () => ((t) => t)`a${1}b`,
  () => { label: try { throw new Error("x"); } finally { break label; } }, () => { const o = {}; for (let i = 0; i < 50; i++) o["k" + i] = i; delete o.k3; },
  function () { return arguments; }, () => { null.x; }, () => "abc".x.y, () => { let s = ""; for (let i = 0; i < 300; i++) s += "abcdefghij"; return s === s + "a"; },
  () => [..."aXbX".matchAll(/x/gi)], () => new (class { get [Symbol.toStringTag]() { return "T"; } })() + "", () => Symbol("x"), () => { using_ = 1; },
];
const given = [() => [1, 2, 3], () => "a,b", () => /b/g, () => new Map([[1, 2]]), () => ({ a: 1 }), () => (x) => x, () => [[1, 2]].values(), () => 5, () => new Set([1])];
const hold = Array(4000).fill(null);
const { from } = event;
if (from === undefined) return { count: callables.length + syntax.length };
const fill = () => {
  let n = 0;
  for (const size of [1 << 20, 1 << 16, 1 << 13, 1 << 10, 1 << 7, 1 << 5, 1]) {
    try { while (n < hold.length) { hold[n] = 1n << BigInt(size * 8); n++; } } catch {}
  }
  return n;
};
const callable = from < callables.length ? callables[from] : syntax[from - callables.length];
const receivers = from < callables.length ? given : [() => undefined];
let dodged = 0;
for (const receiver of receivers) {
  const self = receiver(), first = given[(dodged + 1) % 9](), second = given[(dodged + 5) % 9]();
  for (let slack = 0; slack < 24; slack++) {
    const n = fill();
    for (let k = 1; k <= slack && n >= k; k++) hold[n - k] = null;
    try { callable.call(self, first, second); } catch {}
    for (let k = 1; k <= slack && n >= k; k++) hold[n - k] = null;
    try { new callable(first, second); } catch {}
    for (let k = 0; k < n; k++) hold[k] = null;
  }
  dodged++;
}
return {};
