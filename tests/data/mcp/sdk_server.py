"""An MCP server made with the official SDK, over stdio, or on a port of loopback that it prints: sdk_server.py [http]"""

import os
import socket
import sys

import anyio
import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("from-the-sdk")


@server.tool()
def judge(command: str) -> dict[str, str]:
    """Says no to git push."""
    return {"decision": "deny", "reason": f"not {command}"} if "git push" in command else {}


@server.tool()
def as_text(command: str) -> str:
    """The same, as a text that holds JSON."""
    return '{"decision": "deny", "reason": "in a text"}'


@server.tool()
def nothing() -> None:
    """Says nothing."""


@server.tool()
def fails() -> str:
    """Fails."""
    raise RuntimeError("the disk is full")


@server.tool()
async def holds(file: str) -> str:
    """Writes into a file when it is called and when it is cancelled."""
    try:
        with open(file, "w") as out:
            out.write(f"{os.getpid()}\n")
        await anyio.sleep(600)
    except anyio.get_cancelled_exc_class():
        with open(file, "w") as out:
            out.write("cancelled\n")
        raise
    return ""


if sys.argv[1:]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run(sockets=[listener])
else:
    server.run("stdio")
