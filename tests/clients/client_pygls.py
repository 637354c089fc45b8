"""pygls: asyncio, Content-Length headers."""

import asyncio

from conversation import COMMAND, PATIENCE, RpcError, done, heard, serve, talk
from pygls.client import JsonRPCClient
from pygls.exceptions import JsonRpcException


def plain(value):
    """Undoes the named tuples that pygls makes of objects."""
    if hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


class Client(JsonRPCClient):
    async def server_exit(self, server):
        self.code = server.returncode


async def main():
    client = Client()
    client.feature("hooks/invoke")(lambda params: serve("hooks/invoke", plain(params)))
    client.feature("hooks/changed")(lambda params: heard.put(("hooks/changed", plain(params))))
    await client.start_io(*COMMAND)

    async def request(method, params):
        try:
            return plain(await asyncio.wait_for(client.protocol.send_request_async(method, params), PATIENCE))
        except JsonRpcException as error:
            raise RpcError(error.code, error.message) from error

    async def notify(method, params):
        client.protocol.notify(method, params)

    await talk(request, notify)
    await asyncio.wait_for(client.stop(), PATIENCE)
    done("pygls", client.code)


asyncio.run(main())
