// Calls everything that can be reached from the realm's global object with what no built-in expects.
// `state` keeps count, so that whoever ends a call knows which one it was and goes on with the next.
const seen = new Set(), callables = [];
const walk = (value, path) => {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return;
  if (seen.has(value)) return;
  seen.add(value);
  if (typeof value === "function") callables.push([path, value]);
  for (const key of Reflect.ownKeys(value)) {
    const { value: inner, get, set } = Object.getOwnPropertyDescriptor(value, key);
    const name = `${path}.${String(key)}`;
    walk(inner, name), walk(get, `${name}(get)`), walk(set, `${name}(set)`);
  }
  walk(Object.getPrototypeOf(value), `${path}^`);
};
walk(globalThis, "");
[[].values(), new Map().keys(), new Set().keys(), ""[Symbol.iterator](), "".matchAll(/a/g), [].values().map((it) => it),
  Iterator.from({ next() {} }), (function* () {})(), async () => 1, (async function* () {})(), state, log, console]
  .forEach((value, at) => walk(value, `root${at}`));

const nest = (leaf, make, depth) => { for (let n = 0; n < depth; n++) leaf = make(leaf); return leaf; };
const sparse = () => Array(2 ** 32 - 1);
const flip = (first, then) => { let n = 0; return { get length() { return n++ ? then : first; } }; };
const make = [
  () => undefined,
  () => ({ length: 2 ** 53 - 1 }),
  () => flip(1, 2 ** 53 - 1),
  sparse,
  () => Object.setPrototypeOf(sparse(), { constructor: Array }),
  () => Array(200000).fill("x"),
  () => "ab".repeat(2 ** 20),
  () => "a".repeat(2 ** 19) + "b",
  () => nest("0123456789abcdef".repeat(64), (text) => text + text, 16),
  () => "\u0300\u0316".repeat(2 ** 18),
  () => 2n ** 50000n,
  () => 2 ** 53 - 1,
  () => 2 ** 31,
  () => nest([[], []], (inner) => [inner, inner], 60),
  () => nest({}, (inner) => ({ a: inner, b: inner, c: undefined }), 60),
  () => nest([], (inner) => [inner], 20000),
  () => nest([1].values(), (inner) => inner.take(9), 20000),
  () => nest(() => 1, (inner) => inner.bind(null), 20000),
  () => nest({}, Object.create, 20000),
  () => sparse().values(),
  () => sparse().keys(),
  () => ({ size: 2 ** 53 - 1, has: () => false, keys: () => sparse().values() }),
  () => ({ size: 1, has: () => false, keys: () => sparse().keys(), [Symbol.iterator]: () => sparse().values() }),
  () => (function* () { for (;;) yield 1; })(),
  () => /(a+)+$/g,
  () => /a{3000}b/y,
  () => new Set(Array(1000).keys()),
  () => new Map([[1, 2]]),
  () => () => true,
  () => Symbol.iterator,
  () => ({ raw: { length: 2 ** 53 - 1 }, toString: () => "x".repeat(2 ** 20), valueOf: () => 2 ** 32 }),
  () => new Promise(() => {}),
  () => new Date(),
];
const { every, from, count } = event;
if (count) return { count: callables.length };
const [path, callable] = callables[from.callable];
let at = 0;
for (let receiver = 0; receiver < make.length; receiver++) {
  for (let first = 0; first < make.length; first++) {
    // The second argument goes round; a full square would take hours.
    const second = (receiver * 7 + first * 3 + from.callable) % make.length;
    if (at++ < from.at || (at * 31 + from.callable) % every !== 0) continue;
    state.global.set("at", { at, path, receiver: `${make[receiver]}`, first: `${make[first]}`, second: `${make[second]}` });
    const given = [make[first](), make[second]()];
    try {
      let result = Reflect.apply(callable, make[receiver](), given);
      if (result && typeof result.next === "function") for (let n = 0; n < 3; n++) result.next();
    } catch {}
    try { Reflect.construct(callable, given); } catch {}
  }
}
return { done: true };
