export async function review(event, { args, state }) {
  const command = event.tool.input.command ?? "";
  const word = args.forbidden.find((it) => command.split(/\W+/).includes(it));
  if (!word) return;
  const attempts = await state.increment("forbidden commands");
  return { decision: "deny", reason: `no ${word} here (attempt ${attempts})` };
}
