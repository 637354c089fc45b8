// A client made with the official SDK for TypeScript, which tells what it sees of the server "everything": client.mjs COMMAND...
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const [command, ...args] = process.argv.slice(2);
const transport = new StdioClientTransport({ command, args, stderr: "inherit", env: process.env });
const client = new Client(
  { name: "from-the-sdk", version: "1" },
  { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
);
client.setRequestHandler(CreateMessageRequestSchema, async () => ({
  role: "assistant",
  model: "m",
  content: { type: "text", text: "sampled" },
}));
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  const answer = process.env.ANSWER;
  if (!request.params.message.includes(" asks: ")) return { action: "decline" };
  console.log("asked", JSON.stringify(request.params.message.split("\n")[0]));
  return { action: "accept", content: { answer } };
});
client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: "file:///tmp", name: "tmp" }] }));
client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {});

const told = (value) => JSON.stringify(value).slice(0, 300);
const attempt = async (name, work) => {
  try {
    console.log(name, told(await work()));
  } catch (error) {
    console.log(name, "failed", error.message.slice(0, 120));
  }
};
await client.connect(transport);
console.log("server", client.getServerVersion()?.name, Object.keys(client.getServerCapabilities() ?? {}).sort().join());
const tools = (await client.listTools()).tools.map((tool) => tool.name);
console.log("tools", tools.join());
const call = (name, args) => attempt(name, async () => (await client.callTool({ name, arguments: args })));
await call("echo", { message: "hi é" });
await call("get-sum", { a: 1, b: 2.5 });
await call("get-tiny-image", {});
await call("get-structured-content", { location: "Chicago" });
await call("trigger-sampling-request", { prompt: "p", maxTokens: 5 });
await call("trigger-elicitation-request", {});
await call("no-such-tool", {});
await attempt("long", async () => {
  let seen = 0;
  const params = { name: "trigger-long-running-operation", arguments: { duration: 1, steps: 4 } };
  const result = await client.callTool(params, undefined, { onprogress: () => seen++ });
  return [result.content, seen >= 3];
});
await attempt("resources", async () => (await client.listResources()).resources.map((it) => it.uri));
await attempt("read", async () => client.readResource({ uri: (await client.listResources()).resources[0].uri }));
await attempt("prompts", async () => (await client.listPrompts()).prompts.map((it) => it.name));
await attempt("prompt", async () => client.getPrompt({ name: "simple-prompt" }));
await attempt("complete", async () =>
  client.complete({ ref: { type: "ref/prompt", name: "completable-prompt" }, argument: { name: "department", value: "S" } }),
);
await attempt("cancelled", async () => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 100);
  const params = { name: "trigger-long-running-operation", arguments: { duration: 30, steps: 2 } };
  return client.callTool(params, undefined, { signal: controller.signal });
});
await attempt("ping", () => client.ping());
await client.close();
