// The client that the official conformance suite tries, with the gateway between: conformance.mjs URL, where GATEWAY is
// the gateway's command line as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [command, ...args] = JSON.parse(process.env.GATEWAY);
const transport = new StdioClientTransport({ command, args: [...args, "--url", process.argv.at(-1)], stderr: "inherit", env: process.env });
const elicitation = { applyDefaults: true, form: { applyDefaults: true } };
const client = new Client({ name: "test-client", version: "1.0.0" }, { capabilities: { elicitation } });
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: {} }));
await client.connect(transport);
for (const tool of (await client.listTools()).tools) {
  const members = Object.entries(tool.inputSchema?.properties ?? {});
  const given = members.map(([name, { type }]) => [name, type === "number" ? 2 : "x"]);
  await client.callTool({ name: tool.name, arguments: Object.fromEntries(given) });
}
await client.close();
