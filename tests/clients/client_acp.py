"""The connection of the Agent Client Protocol: asyncio, one message a line."""

import asyncio

from acp.connection import Connection
from acp.exceptions import RequestError
from conversation import COMMAND, PATIENCE, RpcError, done, heard, serve, talk


async def handle(method, params, is_notification):
    return heard.put((method, params)) if is_notification else serve(method, params)


async def main():
    pipe = asyncio.subprocess.PIPE
    host = await asyncio.create_subprocess_exec(*COMMAND, stdin=pipe, stdout=pipe)
    connection = Connection(handle, host.stdin, host.stdout)

    async def request(method, params):
        try:
            return await asyncio.wait_for(connection.send_request(method, params), PATIENCE)
        except RequestError as error:
            raise RpcError(error.code, str(error)) from error

    await talk(request, connection.send_notification)
    code = await asyncio.wait_for(host.wait(), PATIENCE)
    await connection.close()
    done("agent-client-protocol", code)


asyncio.run(main())
