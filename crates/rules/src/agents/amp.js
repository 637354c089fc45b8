export default function (amp) {
  const payload = (event, { thread }, members = {}) => ({ event, session: thread?.id, cwd: process.cwd(), ...members });
  const judged = (event, it, members) => judge(payload(event, it, members)).catch(({ message }) => ({ deny: message }));
  amp.on("session.start", async (event) => void (await tell(payload("session.start", event))));
  amp.on("agent.start", async (event) => {
    const { context } = await tell(payload("agent.start", event, { prompt: event.message }));
    if (context !== undefined) return { message: { content: context, display: true } };
  });
  amp.on("tool.call", async (event) => {
    const call = { tool: event.tool, call: event.toolUseID, input: event.input };
    const { deny, input } = await judged("tool.call", event, call);
    if (deny !== undefined) return { action: "reject-and-continue", message: deny };
    return input === undefined ? { action: "allow" } : { action: "modify", input };
  });
  amp.on("tool.result", async (event) => {
    const call = { tool: event.tool, call: event.toolUseID, input: event.input };
    const { deny, output } = await judged("tool.result", event, { ...call, output: event.output, error: event.error });
    if (deny !== undefined) return { status: "error", error: deny };
    if (output !== undefined) return { status: "done", output };
  });
  amp.on("agent.end", async (event) => {
    const { deny } = await tell(payload("agent.end", event, { status: event.status }));
    if (deny !== undefined) return { action: "continue", userMessage: deny };
  });
}
