"""agentpool's `AgentHooks` with hookwire behind it: the functions stay in this process, and the hooks that
hookwire has in force judge beside them. Give it to an agent: `Agent(model=..., hooks=hooks)`."""

import asyncio
import json
import os
import subprocess
import threading


class CallableHook:
    """A function of this process as a hook."""

    def __init__(self, event, fn, matcher=None, timeout=60.0, enabled=True, arguments=None):
        self.event, self.fn, self.arguments = event, fn, arguments or {}
        self.definition = {"on": event, "matcher": matcher, "timeout": timeout, "enabled": enabled}

    def call(self, event):
        result = self.fn(**{**event, **self.arguments})
        return asyncio.run(result) if asyncio.iscoroutine(result) else result


class AgentHooks:
    def __init__(self, pre_run=(), post_run=(), pre_tool_use=(), post_tool_use=(), hooks=None):
        """`hooks` is a directory with further definitions."""
        self.hooks = [*pre_run, *post_run, *pre_tool_use, *post_tool_use]
        self.arguments = ["serve", "--isolated", *(["--hooks", hooks] if hooks else [])]
        self.host, self.lock, self.n_asked = None, threading.Lock(), 0

    def start(self):
        self.host = subprocess.Popen(
            [os.environ.get("HOOKWIRE", "hookwire"), *self.arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        definitions = [
            {"name": f"{getattr(hook.fn, '__name__', 'hook')}#{n}", "callback": str(n), **hook.definition}
            for n, hook in enumerate(self.hooks)
        ]
        if definitions:
            self.ask("hooks/register", {"dialect": "agentpool", "hooks": definitions})

    def send(self, **message):
        self.host.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.host.stdin.flush()

    def ask(self, method, params):
        """Sends a request, and answers hookwire's requests until the reply arrives."""
        self.n_asked += 1
        id = self.n_asked
        self.send(id=id, method=method, params=params)
        while True:
            message = json.loads(self.host.stdout.readline())
            if message.get("method") == "hooks/invoke":
                self.answer(message["id"], message["params"])
            elif message.get("id") == id:
                if "error" in message:
                    raise RuntimeError(message["error"]["message"])
                return message["result"]

    def answer(self, id, call):
        try:
            self.send(id=id, result=self.hooks[int(call["callback"])].call(call["event"]))
        except Exception as error:
            self.send(id=id, error={"code": -32000, "message": str(error)})

    def dispatch(self, event):
        with self.lock:
            if self.host is None:
                self.start()
            return self.ask("hooks/dispatch", {"dialect": "agentpool", "payload": event})["reply"]

    # The methods that an agent calls.

    def has_hooks(self):
        return True

    async def run(self, event, members):
        return await asyncio.to_thread(self.dispatch, {"event": event, "conversation_id": None, **members})

    async def run_pre_run_hooks(self, **members):
        return await self.run("pre_run", members)

    async def run_post_run_hooks(self, **members):
        return await self.run("post_run", members)

    async def run_pre_tool_hooks(self, **members):
        return await self.run("pre_tool_use", members)

    async def run_post_tool_hooks(self, **members):
        return await self.run("post_tool_use", members)
