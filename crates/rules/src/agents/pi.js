export default function (pi) {
  // What hooks have said at the prompt, for the run that it begins.
  let said;
  const payload = (event, ctx, members = {}) => ({
    event,
    session: ctx.sessionManager?.getSessionId?.(),
    cwd: ctx.cwd,
    ...members,
  });
  const judged = (event, ctx, members) => judge(payload(event, ctx, members)).catch(({ message }) => ({ deny: message }));
  for (const event of ["session_start", "session_shutdown", "agent_start", "agent_settled", "session_compact"]) {
    pi.on(event, async ({ reason }, ctx) => void (await tell(payload(event, ctx, { reason }))));
  }
  pi.on("input", async ({ text, source }, ctx) => {
    const { deny, prompt, context } = await judged("input", ctx, { prompt: text, source });
    if (deny !== undefined) {
      if (ctx.hasUI) ctx.ui.notify(deny, "error");
      else console.error(deny);
      return { action: "handled" };
    }
    said = context;
    if (prompt !== undefined) return { action: "transform", text: prompt };
  });
  pi.on("before_agent_start", async () => {
    const content = said;
    said = undefined;
    if (content !== undefined) return { message: { customType: "hookwire", content, display: true } };
  });
  pi.on("tool_call", async (event, ctx) => {
    const call = { tool: event.toolName, call: event.toolCallId, input: event.input };
    const { deny, input } = await judged("tool_call", ctx, call);
    if (deny !== undefined) return { block: true, reason: deny };
    if (input === undefined) return;
    // Pi goes on with the object that it has passed.
    for (const key of Object.keys(event.input)) delete event.input[key];
    Object.assign(event.input, input);
  });
  pi.on("tool_result", async (event, ctx) => {
    const text = event.content.filter((part) => part.type === "text").map((part) => part.text).join("\n");
    const call = { tool: event.toolName, call: event.toolCallId, input: event.input, output: text };
    const { deny, output } = await judged("tool_result", ctx, { ...call, error: event.isError || undefined });
    if (deny !== undefined) return { content: [{ type: "text", text: deny }], details: {}, isError: true };
    if (output !== undefined) return { content: [{ type: "text", text: output }], details: {} };
  });
  pi.on("user_bash", async (event, ctx) => {
    const { deny } = await judged("user_bash", ctx, { tool: "bash", input: { command: event.command } });
    if (deny !== undefined) return { result: { output: deny, exitCode: 1, cancelled: false, truncated: false } };
  });
  pi.on("agent_before_settle", async (event, ctx) => {
    const { deny } = await tell(payload("agent_before_settle", ctx));
    if (deny === undefined) return;
    const message = { type: "custom_message", customType: "hookwire", content: deny, display: true };
    return { entries: [...(event.entries ?? []), message], continue: true };
  });
  pi.on("session_before_compact", async ({ reason }, ctx) => {
    const { deny } = await tell(payload("session_before_compact", ctx, { trigger: reason }));
    if (deny !== undefined) return { cancel: true };
  });
}
