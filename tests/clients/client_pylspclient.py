"""pylspclient: threads, Content-Length headers."""

import asyncio
import subprocess
import sys
from contextlib import redirect_stdout

from conversation import COMMAND, PATIENCE, RpcError, done, heard, serve, talk
from pylspclient import JsonRpcEndpoint, LspEndpoint
from pylspclient.lsp_errors import ResponseError

host = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
endpoint = LspEndpoint(
    JsonRpcEndpoint(host.stdin, host.stdout),
    method_callbacks={"hooks/invoke": lambda params: serve("hooks/invoke", params)},
    notify_callbacks={"hooks/changed": lambda params: heard.put(("hooks/changed", params))},
    timeout=PATIENCE,
)
endpoint.daemon = True


async def request(method, params):
    try:
        return endpoint.call_method(method, **params)
    except ResponseError as error:
        raise RpcError(error.code, error.message) from error


async def notify(method, params):
    endpoint.send_notification(method, **params)


# It tells on stdout that the host has ended.
with redirect_stdout(sys.stderr):
    endpoint.start()
    asyncio.run(talk(request, notify))
    code = host.wait(PATIENCE)
    endpoint.join(PATIENCE)
done("pylspclient", code)
