/** hookwire: hooks that watch, veto and rewrite what an agent does.
 *
 *     const hooks = new Hooks("hooks");
 *     const verdict = await hooks.dispatch({ event: "PreToolUse", tool: { name, input } });
 *     run(verdict.enforce());
 *
 * `hookwire/vercel-ai`, `hookwire/langchain` and `hookwire/mastra` guard agents of these frameworks. */
export { HostGone, RequestFailed } from "./connection.ts";
export { type Callback, Hooks, type Kept, type Options, type Patience, type Sent, State } from "./hooks.ts";
export { findProgram } from "./program.ts";
export type * from "./protocol.ts";
export { allow, ask, Denied, deny, patch, rewrite, Stopped, Verdict } from "./verdict.ts";
