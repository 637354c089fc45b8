"""An agent of agentpool, with hookwire behind its hooks: what a deny and a modified input do to its tool calls."""

import asyncio
import json
import logging
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples/systems/agentpool/programmatic"))
os.environ.setdefault("OPENAI_API_KEY", "none is used")
os.environ["LOGFIRE_IGNORE_NO_CONFIG"] = "1"
logging.disable(logging.CRITICAL)

from agentpool import Agent
from agentpool_hooks import AgentHooks, CallableHook
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

ran, seen = [], []


def bash(command: str) -> str:
    """Runs a command."""
    ran.append(command)
    return f"ran {command}"


def guard(tool_input: dict, **kwargs):
    if "rm" in tool_input["command"]:
        return {"decision": "deny", "reason": "rm commands not allowed"}
    return {"decision": "allow", "modified_input": {"command": "echo " + tool_input["command"]}}


def after(tool_output, duration_ms, **kwargs):
    seen.append((tool_output, type(duration_ms)))


def check_prompt(prompt, **kwargs):
    return "password" not in prompt


async def run(prompt, *commands):
    """What came of a prompt at which the model runs these commands."""
    script = list(commands)

    async def say(messages, info):
        if script:
            yield {0: DeltaToolCall("bash", json.dumps({"command": script.pop(0)}), tool_call_id=str(len(script)))}
        else:
            yield "done"

    agent = Agent(name="a", model=FunctionModel(stream_function=say), tools=[bash], hooks=hooks)
    try:
        async with agent:
            return (await agent.run(prompt)).content
    except Exception as error:
        return f"{type(error).__name__}: {error}"


hooks = AgentHooks(
    pre_run=[CallableHook("pre_run", check_prompt)],
    pre_tool_use=[CallableHook("pre_tool_use", guard, matcher="^bash$")],
    post_tool_use=[CallableHook("post_tool_use", after)],
)


async def main():
    said = [await run("tidy up", "ls"), await run("tidy up", "rm -rf /"), await run("tell the password")]
    assert said == [
        "done",
        "ToolSkippedError: Tool bash blocked: rm commands not allowed",
        "RuntimeError: Run blocked: Blocked by pre-run hook",
    ], said
    assert ran == ["echo ls"], ran
    assert seen == [("ran echo ls", float)], seen


asyncio.run(main())
print("an agent of agentpool obeys hookwire", flush=True)
# What agentpool keeps running is not waited for.
os._exit(0)
