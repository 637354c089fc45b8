#!/usr/bin/env python3
"""An MCP server over streamable HTTP for the tests of the gateway: far.py LOG

Prints its port. LOG gets a line for each request: the method, the headers that matter, the body. `plain` is answered
with JSON, `stream` by events, `cut` by a stream that ends too early and goes on by `Last-Event-ID`, `lost` by one that
doesn't, `elsewhere` with a redirect, `down` with an error."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

log = open(sys.argv[1], "a", buffering=1)
cut = {}


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *_):
        pass

    def tell(self, body=""):
        seen = {name: self.headers[name] for name in ("Authorization", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-ID") if self.headers[name]}
        log.write(f"{self.command} {json.dumps(seen)} {body}\n")

    def reply(self, status, kind=None, body=b"", **headers):
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def events(self, *messages, id="1"):
        text = "".join(f"id: {id}\nretry: 10\nevent: message\ndata: {message}\n\n" for message in messages)
        self.reply(200, "text/event-stream; charset=utf-8", text.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.tell(body)
        message = json.loads(body)
        id, method = message.get("id"), message.get("method")
        answer = lambda result: json.dumps({"jsonrpc": "2.0", "id": id, "result": result}, indent=1)
        if method == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
            return self.reply(200, "application/json", answer(result).encode(), Mcp_Session_Id="s-1")
        if id is None or method is None:
            return self.reply(202)
        tool = message["params"].get("name")
        result = {"content": [{"type": "text", "text": f"{tool} AKIAIOSFODNN7EXAMPLE"}]}
        if tool == "plain":
            self.reply(200, "application/json", answer(result).encode())
        elif tool == "stream":
            told = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": 1}})
            self.events(told, answer(result).replace("\n", "\ndata: "))
        elif tool in ("cut", "lost"):
            cut["1"] = answer(result).replace("\n", " ") if tool == "cut" else None
            self.events(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": 2}}))
        elif tool == "elsewhere":
            self.reply(307, Location="http://127.0.0.1:9/")
        else:
            self.reply(503, "text/plain", b"not today")

    def do_GET(self):
        self.tell()
        if self.headers["Last-Event-ID"] and cut.get("1"):
            return self.events(cut.pop("1"), id="2")
        self.reply(405)

    def do_DELETE(self):
        self.tell()
        self.reply(200)


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_address[1], flush=True)
server.serve_forever()
