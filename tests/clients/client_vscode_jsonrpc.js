// vscode-jsonrpc: Content-Length headers; what every VS Code extension speaks.
const { hear, load, serve, start, talk } = require('./conversation.js');
const rpc = load('vscode-jsonrpc/node');

const host = start();
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(host.stdout),
  new rpc.StreamMessageWriter(host.stdin),
);
connection.onRequest('hooks/invoke', (params) => serve('hooks/invoke', params));
connection.onNotification('hooks/changed', (params) => hear('hooks/changed', params));
connection.listen();

talk(
  'vscode-jsonrpc',
  host,
  (method, params) => connection.sendRequest(method, params),
  (method, params) => connection.sendNotification(method, params),
);
