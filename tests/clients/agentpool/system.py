"""agentpool itself, asked what a session of ours is asked: system.py DIRECTORY [REPLIES]. Prints one reply a line.

The directory holds agentpool's own YAML (`hooks.yaml`), or an `agent.py` that makes its hooks with
`agentpool_hooks`, which here is agentpool's own module. Events come on stdin; models say what REPLIES holds.
"""

import asyncio
import json
import logging
import os
import sys

directory = os.path.abspath(sys.argv[1])
replies = [json.loads(line) for line in open(sys.argv[2])] if len(sys.argv) > 2 else []
sys.dont_write_bytecode = True
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
os.environ.pop("PROJECT_DIR", None)
os.environ.setdefault("OPENAI_API_KEY", "none is used")
os.chdir(directory)
sys.path[0] = directory
logging.disable(logging.CRITICAL)

import structlog

structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))

import agentpool.hooks
import agentpool.hooks.prompt as prompts
import pydantic_ai
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel


class Agent(pydantic_ai.Agent):
    """A model that says what a file holds."""

    def __init__(self, model, **options):
        def say(messages, info):
            return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, replies.pop(0))])

        super().__init__(FunctionModel(say), **options)


pydantic_ai.Agent = Agent


def agents():
    """The hooks of an agent by its name."""
    if os.path.exists("agent.py"):
        sys.modules["agentpool_hooks"] = agentpool.hooks
        import agent

        return lambda name: agent.hooks
    from agentpool.models.manifest import AgentsManifest

    manifest = AgentsManifest.from_file("hooks.yaml")
    configs = {name: getattr(agent, "hooks", None) for name, agent in manifest.agents.items()}
    hooks = {name: config.get_agent_hooks() for name, config in configs.items() if config}
    return lambda name: hooks.get(name, agentpool.hooks.AgentHooks())


RUNNERS = {
    "pre_run": "run_pre_run_hooks",
    "post_run": "run_post_run_hooks",
    "pre_tool_use": "run_pre_tool_hooks",
    "post_tool_use": "run_post_tool_hooks",
}


async def main():
    hooks_of = agents()
    for line in sys.stdin:
        event = json.loads(line)
        run = getattr(hooks_of(event["agent_name"]), RUNNERS[event.pop("event")])
        try:
            reply = await run(**event)
        except Exception as error:
            reply = {"raised": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply, default=str, ensure_ascii=False, separators=(",", ":")), flush=True)


asyncio.run(main())
# Threads of functions that are out of time are not waited for.
os._exit(0)
