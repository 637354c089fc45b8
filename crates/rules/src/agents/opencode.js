// How long OpenCode's own words for an error take to be shown: the next ones take their place.
const BEHIND_MS = 500;

// Throws the reason of a "no". OpenCode shows a person no error of a plug-in's, so the reason is shown beside it.
function refuse(client, deny) {
  const toast = { title: "hookwire", message: deny, variant: "error", duration: 10_000 };
  const show = async () => client?.tui?.showToast?.({ body: toast });
  setTimeout(() => show().catch(() => {}), BEHIND_MS).unref?.();
  throw new Error(deny);
}

export const Hookwire = async ({ client, directory }) => ({
  event: async ({ event }) => {
    if (!["session.created", "session.idle", "session.error"].includes(event.type)) return;
    const { sessionID, info, error } = event.properties ?? {};
    await tell({ event: event.type, sessionID: sessionID ?? info?.id, error, directory });
  },
  "chat.message": async (input, output) => {
    const texts = output.parts.filter((part) => part.type === "text").map((part) => part.text);
    const payload = {
      event: "chat.message",
      sessionID: input.sessionID ?? output.message?.sessionID,
      prompt: texts.join("\n"),
      directory,
    };
    const { deny } = await judge(payload).catch((error) => ({ deny: error.message }));
    if (deny !== undefined) refuse(client, deny);
  },
  "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
    const payload = { event: "tool.execute.before", tool, sessionID, callID, args: output.args, directory };
    const { deny, args } = await judge(payload).catch((error) => ({ deny: error.message }));
    if (deny !== undefined) refuse(client, deny);
    if (args === undefined) return;
    // OpenCode goes on with the object that it has passed.
    for (const key of Object.keys(output.args)) delete output.args[key];
    Object.assign(output.args, args);
  },
  "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
    const payload = { event: "tool.execute.after", tool, sessionID, callID, args, output: result.output, directory };
    const { deny, output } = await judge(payload).catch((error) => ({ deny: error.message }));
    if (deny !== undefined) result.output = deny;
    else if (output !== undefined) result.output = output;
  },
  "experimental.session.compacting": async ({ sessionID }, output) => {
    const reply = await tell({ event: "experimental.session.compacting", sessionID, directory });
    output.context.push(...(reply.context ?? []));
  },
});
