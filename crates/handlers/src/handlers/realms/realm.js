// Makes the global object that scripts run in, then gives the function that runs one.
//
// Two things are done here that no engine setting does. Everything that a script can reach is
// frozen, so that one call leaves nothing to the next. And built-ins are wrapped whose work can
// grow far beyond what the memory limit allows: QuickJS runs them as loops in C that no deadline
// ends. What is wrapped either refuses sizes that no hook needs, or is written in JavaScript, whose
// loops and calls do end. Whatever still takes long is left to the pool of threads.
(({ stopped, store, log: write }, about, argsText, isNative) => {
  const { apply, construct, getPrototypeOf, getOwnPropertyDescriptor, ownKeys, defineProperty } = Reflect;
  const { freeze, isFrozen } = Object;
  const { isArray } = Array;
  const { parse, stringify } = JSON;
  const toText = String;

  // The longest array that its methods take.
  const MAX_LENGTH = 2 ** 18;
  // Comparisons that one search in a text may take.
  const MAX_SEARCH = 2 ** 27;
  // The longest pattern made at run time, in characters.
  const MAX_PATTERN = 4096;
  // The longest text made by repeating; a longer one that fails for memory fails character by character.
  const MAX_REPEATED = 2 ** 24;
  // From this size on, work is worth a look at the deadline.
  const LARGE = 1000;

  // The deadline is looked at once in some thousand calls: too seldom when each of them is long.
  // An empty loop makes up for it, and is ended in a way that no script can catch.
  const pause = (size) => {
    if (size > LARGE && stopped()) for (;;);
  };
  const define = (object, key, value) =>
    defineProperty(object, key, { value, writable: true, enumerable: false, configurable: true });
  // Replaces a method by what `make` makes of it.
  const wrap = (object, key, make) => {
    const original = object[key];
    const made = make(original);
    define(made, "name", original.name);
    define(object, key, made);
  };
  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

  // What isn't there can't be misused: text as code, and hooks into errors that outlive a call.
  delete globalThis.eval;
  for (const key of ["captureStackTrace", "prepareStackTrace", "stackTraceLimit"]) delete Error[key];
  for (const key of ["includes", "join", "chunks", "windows", "drop"]) delete Iterator.prototype[key];
  delete Math.sumPrecise;
  delete RegExp.prototype.compile;
  const functions = [function () {}, function* () {}, async function () {}, async function* () {}];
  for (const each of functions) {
    const prototype = getPrototypeOf(each);
    const refuse = function Function() {
      throw new EvalError("text can't become code here");
    };
    define(refuse, "prototype", prototype);
    define(prototype, "constructor", refuse);
  }
  globalThis.Function = functions[0].constructor;

  // The original crashes when there is no memory left.
  wrap(getPrototypeOf(functions[0]), "bind", () => ({
    method(self, ...given) {
      const target = this;
      if (typeof target !== "function") throw new TypeError("bind takes a function");
      return function (...rest) {
        const all = [...given, ...rest];
        return new.target ? construct(target, all) : apply(target, self, all);
      };
    },
  }).method);

  // Arrays. There are no proxies, so that an array's length is what it says.
  const check = (array) => {
    if (!isArray(array)) throw new TypeError("this takes an array; make one with Array.from");
    if (array.length > MAX_LENGTH) throw new RangeError(`this array is too long: ${array.length} of at most ${MAX_LENGTH}`);
    pause(array.length);
  };
  const compare = (a, b) => {
    const left = toText(a), right = toText(b);
    return left < right ? -1 : left > right ? 1 : 0;
  };
  const flatten = (array, depth, into) => {
    check(array);
    for (let at = 0; at < array.length; at++) {
      if (!(at in array)) continue;
      const item = array[at];
      if (depth >= 1 && isArray(item)) flatten(item, depth - 1, into);
      else append(into, item);
    }
    return into;
  };
  const append = (into, value) =>
    defineProperty(into, into.length, { value, writable: true, enumerable: true, configurable: true });
  const arrays = Array.prototype;
  const cheap = ["constructor", "at", "push", "pop", "keys", "values", "entries"];
  for (const key of ownKeys(arrays)) {
    if (typeof key === "symbol" || typeof arrays[key] !== "function" || cheap.includes(key)) continue;
    wrap(arrays, key, (original) => ({
      method(...given) {
        check(this);
        for (let at = 0; at < given.length; at++) if (isArray(given[at])) check(given[at]);
        return apply(original, this, given);
      },
    }).method);
  }
  for (const key of ["sort", "toSorted"]) {
    wrap(arrays, key, (original) => ({
      method(order = compare) {
        return apply(original, this, [order]);
      },
    }).method);
  }
  // A lone value in an array can't ask to be spread, with a length of its own.
  wrap(arrays, "concat", (original) => ({
    method(...given) {
      return apply(original, this, given.map((each) => (isArray(each) ? each : [each])));
    },
  }).method);
  const map = arrays.map;
  wrap(arrays, "flat", () => ({ method(depth = 1) { return flatten(this, +depth, []); } }).method);
  wrap(arrays, "flatMap", () => ({ method(...given) { return flatten(apply(map, this, given), 1, []); } }).method);
  wrap(Array, "from", (original) => ({
    method(items, ...rest) {
      if (isObject(items) && items[Symbol.iterator] == null && items.length > MAX_LENGTH) check(Array(MAX_LENGTH + 1));
      return apply(original, this, [items, ...rest]);
    },
  }).method);

  // Texts: searches, which may compare everything with everything, and whatever walks over a text.
  const source = getOwnPropertyDescriptor(RegExp.prototype, "source").get;
  const isPattern = (value) => {
    if (!isObject(value)) return false;
    try {
      return typeof apply(source, value, []) === "string" && value !== RegExp.prototype;
    } catch {
      return false;
    }
  };
  const limit = (text, searched) => {
    if (searched.length > 1 && text.length * searched.length > MAX_SEARCH) {
      throw new RangeError(`this search is too long: ${searched.length} characters in ${text.length}`);
    }
  };
  const short = (pattern) => {
    if (pattern.length > MAX_PATTERN) throw new RangeError(`a pattern has at most ${MAX_PATTERN} characters`);
    return pattern;
  };
  const texts = String.prototype;
  const constant = ["constructor", "toString", "valueOf", "at", "charAt", "charCodeAt", "codePointAt", "startsWith", "endsWith"];
  const searches = ["includes", "indexOf", "lastIndexOf"];
  const byPattern = ["split", "replace", "replaceAll", "match", "matchAll", "search"];
  const withMarks = ["normalize", "localeCompare"];
  const special = [...constant, ...searches, ...byPattern, ...withMarks];
  for (const key of ownKeys(texts)) {
    if (typeof texts[key] !== "function" || special.includes(key)) continue;
    wrap(texts, key, (original) => ({
      method(...given) {
        const text = this == null ? this : toText(this);
        if (text != null) pause(text.length);
        return apply(original, text, given);
      },
    }).method);
  }
  for (const key of searches) {
    wrap(texts, key, (original) => ({
      method(searched, ...rest) {
        const text = toText(this);
        if (isPattern(searched)) throw new TypeError(`${key} takes a text, not a pattern`);
        searched = toText(searched);
        pause(text.length);
        limit(text, searched);
        return apply(original, text, [searched, ...rest]);
      },
    }).method);
  }
  for (const key of byPattern) {
    const method = RegExp.prototype[Symbol[key === "replaceAll" ? "replace" : key]];
    const makesPattern = ["match", "matchAll", "search"].includes(key);
    wrap(texts, key, (original) => ({
      method(...given) {
        const text = toText(this);
        pause(text.length);
        if (given.length > 0 && given[0] !== undefined) {
          if (isPattern(given[0])) {
            if (key.endsWith("All") && !given[0].global) throw new TypeError(`${key} takes a pattern with the flag g`);
            return apply(method, given[0], [text, ...given.slice(1)]);
          }
          given[0] = toText(given[0]);
          if (makesPattern) short(given[0]);
          else limit(text, given[0]);
        }
        return apply(original, text, given);
      },
    }).method);
  }
  for (const key of ["repeat", "padStart", "padEnd"]) {
    wrap(texts, key, (original) => ({
      method(size, ...rest) {
        const text = toText(this), count = +size;
        if ((key === "repeat" ? text.length * count : count) > MAX_REPEATED) throw new RangeError(`${key} makes at most ${MAX_REPEATED} characters`);
        return apply(original, text, [count, ...rest]);
      },
    }).method);
  }
  // Marks are put in order by insertion.
  const marks = /\p{M}{200}/u;
  for (const key of withMarks) {
    wrap(texts, key, (original) => ({
      method(...given) {
        const all = [toText(this), ...given.map((each) => (isObject(each) ? toText(each) : each))];
        for (const each of all) if (typeof each === "string" && apply(test, marks, [each])) throw new RangeError("too many marks in a row");
        return apply(original, all[0], all.slice(1));
      },
    }).method);
  }

  wrap(String, "raw", () => ({
    method(strings, ...given) {
      let text = "";
      for (let at = 0; at < strings.raw.length; at++) text += (at > 0 && at <= given.length ? toText(given[at - 1]) : "") + toText(strings.raw[at]);
      return text;
    },
  }).method);

  // Patterns poll the deadline themselves, each time for itself; a call of `exec` between does the rest.
  const { test } = RegExp.prototype;
  wrap(RegExp.prototype, "exec", (original) => ({
    method(given) {
      const text = toText(given);
      pause(text.length);
      return apply(original, this, [text]);
    },
  }).method);
  const patterns = RegExp;
  const Pattern = function RegExp(pattern, flags) {
    if (!isPattern(pattern) && pattern !== undefined) pattern = short(toText(pattern));
    else if (isPattern(pattern)) {
      if (flags === undefined && new.target === undefined) return pattern;
      flags = flags === undefined ? pattern.flags : flags;
      pattern = apply(source, pattern, []);
    }
    return construct(patterns, [pattern, flags], new.target ?? patterns);
  };
  for (const key of ownKeys(patterns)) {
    if (key !== "length" && key !== "name") defineProperty(Pattern, key, getOwnPropertyDescriptor(patterns, key));
  }
  define(patterns.prototype, "constructor", Pattern);
  globalThis.RegExp = Pattern;

  // JSON. A replacer in JavaScript is called for every member, which ends what shared parts multiply.
  wrap(JSON, "parse", (original) => ({
    method(given, ...rest) {
      const text = toText(given);
      pause(text.length);
      return apply(original, undefined, [text, ...rest]);
    },
  }).method);
  const plain = (_, value) => value;
  const toJson = (value, replacer, ...rest) => {
    let each = plain;
    if (typeof replacer === "function") each = replacer;
    else if (isArray(replacer)) {
      check(replacer);
      const wanted = new Set(replacer.map(toText));
      let isRoot = true;
      each = function (key, value) {
        const keep = isRoot || isArray(this) || wanted.has(key);
        isRoot = false;
        return keep ? value : undefined;
      };
    }
    return apply(stringify, undefined, [value, each, ...rest]);
  };
  wrap(JSON, "stringify", () => ({ method: toJson }).method);

  // Sets read others through iterators; only what is one is read.
  const sets = Set;
  for (const key of ["isDisjointFrom", "isSubsetOf", "isSupersetOf", "intersection", "difference", "symmetricDifference", "union"]) {
    wrap(Set.prototype, key, (original) => ({
      method(other) {
        if (!(other instanceof Set || other instanceof Map)) throw new TypeError(`${key} takes a Set or a Map`);
        const copy = new sets();
        for (const item of other.keys()) copy.add(item);
        return apply(original, this, [copy]);
      },
    }).method);
  }

  // Helpers of iterators call each other without a look at the stack.
  const helper = getPrototypeOf([].values().map((it) => it));
  const wrapped = getPrototypeOf(Iterator.from({ next() {} }));
  for (const prototype of [helper, wrapped]) {
    for (const key of ["next", "return"]) {
      wrap(prototype, key, (original) => ({ method(...given) { return apply(original, this, given); } }).method);
    }
  }

  // What is in scope besides.
  const text = (value) => {
    if (typeof value === "string") return value;
    try {
      return toJson(value) ?? toText(value);
    } catch {
      return toText(value);
    }
  };
  const say = (level) => (...values) => write(level, values.slice(0, 20).map(text).join(" "));
  const [debug, info, warn, error] = ["debug", "info", "warn", "error"].map(say);
  const log = { debug, info, warn, error };
  const console = { debug, info, warn, error, log: info };
  const keyOf = (key) => {
    if (typeof key !== "string") throw new TypeError("a key is a string");
    return key;
  };
  const json = (value, what) => {
    const text = toJson(value);
    if (text === undefined) throw new TypeError(`${what} can't be written as JSON`);
    return text;
  };
  const ask = (...given) => {
    const reply = store(...given);
    return reply === undefined ? undefined : parse(reply);
  };
  const ttlOf = (options) => {
    if (options?.ttl === undefined) return undefined;
    if (!(options.ttl > 0)) throw new TypeError("ttl is a number of seconds above 0");
    return options.ttl;
  };
  const values = (scope) => ({
    get: (key) => ask(scope, "get", keyOf(key)),
    set: (key, value, options) => void ask(scope, "set", keyOf(key), json(value, "the value"), ttlOf(options)),
    increment(key, by = 1, options) {
      if (!Number.isFinite(by)) throw new TypeError("increment takes a number");
      return ask(scope, "increment", keyOf(key), json(by), ttlOf(options));
    },
    // `undefined` and `null` expect that there is no value.
    compareAndSet(key, expected, value, options) {
      const present = expected == null ? undefined : json(expected, "the expected value");
      return ask(scope, "compareAndSet", keyOf(key), json(value, "the value"), ttlOf(options), present);
    },
    delete: (key) => ask(scope, "delete", keyOf(key)),
    list: (prefix = "") => ask(scope, "list", prefix === "" ? "" : keyOf(prefix)),
  });
  const state = { ...values("session"), global: values("global") };
  if (isNative) {
    for (const decision of ["allow", "deny", "ask"]) {
      define(globalThis, decision, (reason) => ({ decision, ...(reason === undefined ? {} : { reason: toText(reason) }) }));
    }
  }

  const deepFreeze = (value) => {
    if (typeof value === "object" && value !== null) {
      for (const key in value) deepFreeze(value[key]);
      freeze(value);
    }
    return value;
  };
  const args = deepFreeze(parse(argsText));
  const hook = deepFreeze(parse(about));
  if (hook.dialect === "workflow-framework") {
    const result = (Decision, Reason, ModifiedArgs) => ({ Decision, Reason, ModifiedArgs });
    define(globalThis, "HookResult", freeze({
      AllowResult: (reason = null) => result(0, reason, null),
      DenyResult: (reason = null) => result(1, reason, null),
      ModifyResult: (modifiedArgs, reason = null) => result(2, reason, modifiedArgs),
    }));
  }
  const toSource = functions[0].toString;

  // Whatever can be reached is frozen. What plain objects and errors inherit stays assignable on
  // them (`this.name = ...`): a frozen value that is inherited would refuse.
  const assignable = (object) => {
    for (const key of ownKeys(object)) {
      const { value, writable } = getOwnPropertyDescriptor(object, key);
      if (!writable || typeof key === "symbol") continue;
      const get = () => value;
      const set = function (other) {
        if (this === object) throw new TypeError(`${toText(key)} can't be changed`);
        defineProperty(this, key, { value: other, writable: true, enumerable: true, configurable: true });
      };
      defineProperty(object, key, { get, set, enumerable: false, configurable: true });
    }
  };
  const errors = ownKeys(globalThis).filter((key) => typeof key === "string" && key.endsWith("Error"));
  for (const object of [Object.prototype, ...errors.map((key) => globalThis[key].prototype)]) assignable(object);
  const seen = new sets();
  const waiting = [globalThis, state, log, console, arrays.keys(), "".matchAll(/a/g), new Map().keys(), new sets().keys(), helper, wrapped];
  waiting.push(getPrototypeOf(""[Symbol.iterator]()), ...functions, functions[1](), functions[3](), patterns);
  waiting.push(getPrototypeOf((async function* () { for await (const _ of [1]) yield _; })()));
  while (waiting.length > 0) {
    const object = waiting.pop();
    if (!isObject(object) || seen.has(object)) continue;
    seen.add(object);
    waiting.push(getPrototypeOf(object));
    for (const key of ownKeys(object)) {
      const { value, get, set } = getOwnPropertyDescriptor(object, key);
      waiting.push(value, get, set);
    }
  }
  seen.forEach(freeze);

  return freeze({
    // A text that closes the function it is put into isn't a function's body.
    isWhole: (script, text) => typeof script === "function" && apply(toSource, script, []) === text && isFrozen(freeze(script)),
    run(script, event) {
      const value = script(deepFreeze(parse(event)), args, state, log, console, hook);
      if (value === undefined || value === null) return undefined;
      if (value instanceof Promise) throw new TypeError("the script returned a promise; a hook's answer is there at once");
      const text = toJson(value);
      if (text === undefined) throw new TypeError(`the script returned a ${typeof value}`);
      return text;
    },
  });
})
