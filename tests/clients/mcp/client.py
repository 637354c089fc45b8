"""A client made with the official SDK for Python, which tells what it sees of a server: client.py COMMAND..."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    command, *args = sys.argv[1:]
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        greeting = await session.initialize()
        print("server", greeting.server_info.name)
        print("tools", ",".join(tool.name for tool in (await session.list_tools()).tools))
        for name, arguments in [("judge", {"command": "git push"}), ("nothing", {}), ("fails", {}), ("as_text", {"command": "x"})]:
            result = await session.call_tool(name, arguments)
            print(name, result.is_error, [getattr(part, "text", None) for part in result.content])


asyncio.run(main())
