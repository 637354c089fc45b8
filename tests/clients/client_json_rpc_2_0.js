// json-rpc-2.0: makes, reads and routes messages, the lines are ours.
const { createInterface } = require('node:readline');
const { hear, load, serve, start, talk } = require('./conversation.js');
const { JSONRPCClient, JSONRPCServer, JSONRPCServerAndClient } = load('json-rpc-2.0');

const host = start();
const send = (message) => void host.stdin.write(`${JSON.stringify(message)}\n`);
const peer = new JSONRPCServerAndClient(new JSONRPCServer(), new JSONRPCClient(send));
peer.addMethod('hooks/invoke', (params) => serve('hooks/invoke', params));
peer.addMethod('hooks/changed', (params) => hear('hooks/changed', params));
createInterface({ input: host.stdout }).on('line', (line) => peer.receiveAndSend(JSON.parse(line)));

talk(
  'json-rpc-2.0',
  host,
  (method, params) => peer.request(method, params),
  (method, params) => peer.notify(method, params),
);
