"""Walks the steps of conversation.json with whatever client a program brings."""

import asyncio
import json
import os
import queue
from importlib.metadata import version
from pathlib import Path

PATIENCE = 20
COMMAND = [os.environ["HOOKWIRE"], "serve", "--isolated", "--hooks", os.environ["HOOKS"]]
CONVERSATION = json.loads(Path(__file__).with_name("conversation.json").read_text(encoding="utf-8"))

heard = queue.Queue()
served = []


class RpcError(Exception):
    """What a client makes of an error reply."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def fits(found, expected):
    """Everything that is expected is there; lists are as long as expected."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(k in found and fits(found[k], expected[k]) for k in expected)
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(fits, found, expected))
    return type(found) is type(expected) and found == expected


def check(what, found, expected):
    assert fits(found, expected), f"{what}: expected {expected}, found {found}"


def serve(method, params):
    """The host asks, the client answers."""
    check(method, params, CONVERSATION["serve"][method]["params"])
    served.append(method)
    return CONVERSATION["serve"][method]["result"]


async def hear(method, params):
    while True:
        it = await asyncio.to_thread(heard.get, timeout=PATIENCE)
        if it[0] == method and fits(it[1], params):
            return


async def talk(request, notify, serves=True):
    """`request` gives the result or raises RpcError; notifications are put into `heard`."""
    for step in CONVERSATION["steps"]:
        if step.get("serves") and not serves:
            continue
        if "notify" in step:
            await notify(step["notify"], step["params"])
        elif "edit" in step:
            os.replace(os.environ["EDITED"], Path(os.environ["HOOKS"], step["edit"]))
        elif "heard" in step:
            await hear(step["heard"], step["params"])
        else:
            await ask(request, step)
    assert not serves or served, "the host never called"


async def ask(request, step):
    method = step["request"]
    try:
        result = await request(method, step["params"])
    except RpcError as error:
        assert "error" in step, f"{method}: {error}"
        check(method, error.code, step["error"]["code"])
    else:
        assert "result" in step, f"{method}: expected an error, found {result}"
        check(method, result, step["result"])


def done(client, code, note=""):
    assert code == 0, f"the host ended with {code}"
    print("ok", client, version(client) + note)
