// This client as `hookwire-conformance --client` tries it: each line says what to do, and what came of it is printed.

import { createInterface } from "node:readline";
import { Denied, Hooks, type Options, RequestFailed, type Sent, Stopped } from "../src/index.ts";

function client(settings: Record<string, any>): Hooks {
  const { fail, deadlineMs, approve, complete } = settings;
  const options: Options = { ...(fail ? { fail } : {}), ...(deadlineMs ? { deadline: deadlineMs } : {}) };
  if (approve !== undefined) options.approve = () => approve;
  if (complete !== undefined) options.complete = () => ({ text: complete });
  const hooks = new Hooks(options);
  for (const { on, name, if: rule, answer, fails } of settings.hooks ?? []) {
    hooks.on(on, { name, rule }, () => {
      if (fails) throw new Error(fails);
      return answer;
    });
  }
  return hooks;
}

async function obey(hooks: Hooks, event: Sent, signal: AbortSignal): Promise<object> {
  try {
    return { run: (await hooks.dispatch(event, { signal })).enforce() ?? null };
  } catch (no) {
    if (no instanceof Stopped) return { stop: no.message };
    if (no instanceof Denied) return { deny: no.message };
    if (no instanceof RequestFailed) return { refused: no.message };
    if (signal.aborted) return { cancelled: true };
    throw no;
  }
}

let hooks: Hooks | undefined;
const controllers = new Map<string, AbortController>();
for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text);
  if (line.settings) {
    hooks = client(line.settings);
  } else if (line.cancel) {
    controllers.get(line.cancel)!.abort();
  } else {
    const controller = new AbortController();
    controllers.set(line.as, controller);
    void obey(hooks!, line.dispatch, controller.signal).then((did) => console.log(JSON.stringify({ as: line.as, ...did })));
  }
}
await hooks?.close();
