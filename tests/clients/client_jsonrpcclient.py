"""jsonrpcclient: makes and reads messages only, the lines are ours."""

import asyncio
import json
import queue
import subprocess
import threading

import jsonrpcclient
from conversation import COMMAND, PATIENCE, RpcError, done, heard, talk

host = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
replies = queue.Queue()


def read():
    for line in host.stdout:
        message = json.loads(line)
        if "method" in message:
            heard.put((message["method"], message["params"]))
        else:
            replies.put(jsonrpcclient.parse(message))


async def request(method, params):
    print(jsonrpcclient.request_json(method, params), file=host.stdin, flush=True)
    reply = replies.get(timeout=PATIENCE)
    if isinstance(reply, jsonrpcclient.Error):
        raise RpcError(reply.code, reply.message)
    return reply.result


async def notify(method, params):
    print(jsonrpcclient.notification_json(method, params), file=host.stdin, flush=True)


threading.Thread(target=read, daemon=True).start()
asyncio.run(talk(request, notify, serves=False))
done("jsonrpcclient", host.wait(PATIENCE), " (has no way to serve hooks/invoke)")
