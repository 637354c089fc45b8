"""Real agents with scripted models against clients/tests/cases.json: frameworks.py [FRAMEWORK...]

Prints a JSON line for each framework: what came of each moment. HOOKWIRE names the program. A framework that isn't
installed is named on stderr."""

import asyncio
import importlib.util
import json
import logging
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

CLIENTS = Path(__file__).resolve().parents[2]
if importlib.util.find_spec("hookwire") is None:
    sys.path.insert(0, str(CLIENTS / "python/src"))

import hookwire  # noqa: E402

logging.disable(logging.CRITICAL)


class Script:
    """What the model says: first the calls of each step, then the texts. It also is the agent's only tool."""

    def __init__(self, case):
        self.replies = [*case.get("steps", []), *case.get("texts", ["done"])]
        self.calls, self.seen, self.ran = 0, "", []
        self.scout = None  # what its sub-agent says

    def next(self, messages):
        """A list of commands, or a text."""
        self.seen = messages if isinstance(messages, str) else json.dumps(messages, default=str)
        self.calls += 1
        return self.replies.pop(0) if self.replies else "done"

    def bash(self, command: str) -> str:
        """Runs a command."""
        self.ran.append(command)
        if command == "break":
            raise RuntimeError("it broke")
        return f"output of {command}"


async def pydantic_ai(hooks, script, prompt, stream):
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    def model(messages, info):
        said = script.next(ModelMessagesTypeAdapter.dump_json(messages).decode())
        if isinstance(said, str):
            return ModelResponse(parts=[TextPart(said)])
        return ModelResponse(parts=[ToolCallPart("bash", {"command": it}) for it in said])

    async def streamed(messages, info):
        for n, part in enumerate(model(messages, info).parts):
            if isinstance(part, TextPart):
                yield part.content
            else:
                name, arguments, id = part.tool_name, part.args_as_json_str(), part.tool_call_id
                yield {n: DeltaToolCall(name=name, json_args=arguments, tool_call_id=id)}

    agent = hooks.guard(Agent(FunctionModel(model, stream_function=streamed), tools=[script.bash]))
    if not stream:
        return (await agent.run(prompt)).output
    async with agent.run_stream(prompt) as result:
        return [text async for text in result.stream_text()][-1]


def langchain_reply(script, messages):
    from langchain_core.messages import AIMessage

    said = script.next([it.content for it in messages])
    calls = [] if isinstance(said, str) else said
    calls = [{"name": "bash", "args": {"command": it}, "id": f"c{n}"} for n, it in enumerate(calls)]
    return AIMessage("" if calls else said, tool_calls=calls)


async def langchain(hooks, script, prompt, stream, sync=False):
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **_):
            return self

        def _generate(self, messages, *_, **__):
            return ChatResult(generations=[ChatGeneration(message=langchain_reply(script, messages))])

        _stream = GenericFakeChatModel._stream if stream else None

    agent = create_agent(Model(messages=iter(())), [script.bash], middleware=[hooks.middleware()])
    question = {"messages": [{"role": "user", "content": prompt}]}
    if stream and sync:
        states = await asyncio.to_thread(lambda: list(agent.stream(question, stream_mode="values")))
        return states[-1]["messages"][-1].text
    if stream:
        states = [it async for it in agent.astream(question, stream_mode="values")]
        return states[-1]["messages"][-1].text
    if sync:
        return (await asyncio.to_thread(agent.invoke, question))["messages"][-1].text
    return (await agent.ainvoke(question))["messages"][-1].text


async def langchain_sync(hooks, script, prompt, stream):
    return await langchain(hooks, script, prompt, stream, sync=True)


async def langgraph(hooks, script, prompt, stream):
    """A graph of one's own."""
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    guard = hooks.middleware()
    tools = ToolNode([script.bash], wrap_tool_call=guard.wrap_tool_call, awrap_tool_call=guard.awrap_tool_call)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [langchain_reply(script, state["messages"])]})
    graph.add_node("tools", tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    question = {"messages": [{"role": "user", "content": prompt}]}
    if stream:
        return [it async for it in graph.compile().astream(question, stream_mode="values")][-1]["messages"][-1].text
    return (await graph.compile().ainvoke(question))["messages"][-1].text


async def openai_agents(hooks, script, prompt, stream):
    import agents
    from agents.items import ModelResponse
    from openai.types.responses import (
        Response,
        ResponseCompletedEvent,
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    class Model(agents.Model):
        def __init__(self, script):
            self.script = script

        def reply(self, input):
            said = self.script.next(input)
            if isinstance(said, str):
                text = ResponseOutputText(text=said, type="output_text", annotations=[])
                message = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
                return [ResponseOutputMessage(content=[text], **message)]
            return [
                ResponseFunctionToolCall(
                    name="transfer_to_scout" if it == "delegate" else "bash",
                    arguments=json.dumps({"command": it}),
                    call_id=f"c{self.script.calls}-{n}",
                    type="function_call",
                )
                for n, it in enumerate(said)
            ]

        async def get_response(self, system_instructions, input, *_, **__):
            return ModelResponse(output=self.reply(input), usage=agents.Usage(), response_id=None)

        async def stream_response(self, system_instructions, input, *_, **__):
            whole = {"id": "r", "created_at": 0, "model": "m", "object": "response", "output": self.reply(input)}
            whole |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
            yield ResponseCompletedEvent(response=Response(**whole), sequence_number=0, type="response.completed")

    agents.set_tracing_disabled(True)
    script.scout = Script({})
    scout = agents.Agent("scout", model=Model(script.scout))
    tools = [agents.function_tool(script.bash)]
    agent = hooks.guard(agents.Agent("helper", model=Model(script), tools=tools, handoffs=[scout]))
    if not stream:
        return (await agents.Runner.run(agent, prompt)).final_output
    result = agents.Runner.run_streamed(agent, prompt)
    async for _ in result.stream_events():
        pass
    return result.final_output


async def strands(hooks, script, prompt, stream):
    import strands

    class Model(strands.models.Model):
        def update_config(self, **_):
            pass

        def get_config(self):
            return {"model_id": "scripted"}

        def structured_output(self, *_, **__):
            raise NotImplementedError

        async def stream(self, messages, *_, **__):
            said = script.next(messages)
            yield {"messageStart": {"role": "assistant"}}
            for n, it in enumerate([said] if isinstance(said, str) else said):
                use = {"name": "bash", "toolUseId": f"c{script.calls}-{n}"}
                delta = {"text": it} if it is said else {"toolUse": {"input": json.dumps({"command": it})}}
                yield {"contentBlockStart": {"start": {} if it is said else {"toolUse": use}}}
                yield {"contentBlockDelta": {"delta": delta}}
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn" if isinstance(said, str) else "tool_use"}}
            counts = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
            yield {"metadata": {"usage": counts, "metrics": {"latencyMs": 1}}}

    agent = strands.Agent(Model(), tools=[strands.tool(script.bash, name="bash")], callback_handler=None)
    hooks.guard(agent)
    if not stream:
        return str(await agent.invoke_async(prompt)).strip()
    events = [it async for it in agent.stream_async(prompt)]
    return str(events[-1]["result"]).strip()


async def google_adk(hooks, script, prompt, stream):
    from google.adk.agents import LlmAgent, RunConfig
    from google.adk.agents.run_config import StreamingMode
    from google.adk.apps import App
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    class Model(BaseLlm):
        script: Any

        async def generate_content_async(self, llm_request, stream=False):
            said = self.script.next([it.model_dump(mode="json") for it in llm_request.contents])
            if isinstance(said, str):
                parts = [types.Part(text=said)]
            elif said == ["delegate"]:
                parts = [types.Part.from_function_call(name="transfer_to_agent", args={"agent_name": "scout"})]
            else:
                parts = [types.Part.from_function_call(name="bash", args={"command": it}) for it in said]
            content = types.Content(role="model", parts=parts)
            if stream and isinstance(said, str):
                yield LlmResponse(content=content, partial=True)
            yield LlmResponse(content=content)

    script.scout = Script({})
    scout = LlmAgent(name="scout", model=Model(model="scripted", script=script.scout))
    agent = LlmAgent(name="helper", model=Model(model="scripted", script=script), tools=[script.bash], sub_agents=[scout])
    runner = InMemoryRunner(app=hooks.guard(App(name="app", root_agent=agent)))
    session = await runner.session_service.create_session(app_name="app", user_id="me")
    message = types.Content(role="user", parts=[types.Part(text=prompt)])
    mode = RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)
    final = None
    async for event in runner.run_async(user_id="me", session_id=session.id, new_message=message, run_config=mode):
        if event.is_final_response() and event.content:
            final = event.content.parts[0].text
    return final


class Anthropic(ThreadingHTTPServer):
    """A model behind Anthropic's API: the agent's script, and its sub-agent's."""

    daemon_threads = True

    def __init__(self, script):
        super().__init__(("127.0.0.1", 0), AnthropicHandler)
        self.script = script
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def reply(self, request):
        script = self.script.scout if "You scout." in json.dumps(request.get("system")) else self.script
        # Requests without tools are for the session's title and such.
        said = script.next(request["messages"]) if request.get("tools") else "ok"
        for n, it in enumerate([said] if isinstance(said, str) else said):
            if it is said:
                yield {"type": "text", "text": ""}, {"type": "text_delta", "text": it}
                continue
            name, input = "mcp__it__bash", {"command": it}
            if it == "delegate":
                name, input = "Agent", {"description": "d", "prompt": script.prompt, "subagent_type": "scout"}
            elif it.startswith("cat "):
                name, input = "Bash", {"command": it}
            id = f"toolu_{script.calls}_{n}"
            start = {"type": "tool_use", "id": id, "name": name, "input": {}}
            yield start, {"type": "input_json_delta", "partial_json": json.dumps(input)}


class AnthropicHandler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "count_tokens" in self.path:
            return self.answer("application/json", '{"input_tokens": 10}')
        blocks = list(self.server.reply(request))
        reason = "tool_use" if blocks[0][0]["type"] == "tool_use" else "end_turn"
        message = {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": []}
        message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        events = [{"type": "message_start", "message": message}]
        for index, (start, delta) in enumerate(blocks):
            events.append({"type": "content_block_start", "index": index, "content_block": start})
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
            events.append({"type": "content_block_stop", "index": index})
        ending = {"stop_reason": reason, "stop_sequence": None}
        events += [{"type": "message_delta", "usage": {"output_tokens": 1}, "delta": ending}, {"type": "message_stop"}]
        self.answer("text/event-stream", "".join(f"event: {it['type']}\ndata: {json.dumps(it)}\n\n" for it in events))

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())


async def claude_agent(hooks, script, prompt, stream):
    """The real Claude Code, which the SDK brings."""
    from claude_agent_sdk import (
        AgentDefinition,
        ClaudeAgentOptions,
        HookMatcher,
        create_sdk_mcp_server,
        query,
        tool,
    )

    @tool("bash", "Runs a command.", {"command": str})
    async def bash(arguments):
        return {"content": [{"type": "text", "text": script.bash(arguments["command"])}]}

    async def own(data, *_):
        """The application's own hook: Bash itself runs here too."""
        script.ran.append(data["tool_input"]["command"])
        return {}

    script.scout = Script({})
    script.prompt = prompt
    model = Anthropic(script)
    with tempfile.TemporaryDirectory() as home:
        for name in ("key", "secret", "perish"):
            Path(home, name).write_text(f"output of cat {name}")
        env = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_port}", "ANTHROPIC_API_KEY": "x"}
        env |= {"CLAUDE_CONFIG_DIR": f"{home}/.claude", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "HOME": home}
        options = ClaudeAgentOptions(
            agents={"scout": AgentDefinition(description="Scouts.", prompt="You scout.")},
            allowed_tools=["mcp__it__bash", "Bash", "Agent"],
            cwd=home,
            env=env,
            hooks={"PostToolUse": [HookMatcher(matcher="Bash", hooks=[own])]},
            include_partial_messages=stream,
            mcp_servers={"it": create_sdk_mcp_server("it", tools=[bash])},
            model="claude-sonnet-4-5",
            setting_sources=[],
        )
        try:
            told = []
            async for message in query(prompt=prompt, options=hooks.guard(options)):
                told.append(message)
        finally:
            model.shutdown()
            model.server_close()
    result = told[-1]
    # A refused prompt never was a turn, and a hook that ends the run says why where the tool's result would be.
    if result.num_turns == 0 or result.terminal_reason != "completed":
        raise RuntimeError(f"{result.result} {told[-2]}")
    return result.result


HONOURS = "refused: the SDK can't do it"
NONE = "no such moment"
# A refusal isn't told to the model.
ENDS = "ends the run"
SUBAGENTS = ["openai-agents", "google-adk", "claude-agent-sdk"]
# The driver, its package, and what it can't do: at a moment, or at all.
FRAMEWORKS = {
    "pydantic-ai": (pydantic_ai, "pydantic-ai-slim", {}),
    "langchain": (langchain, "langchain", {}),
    "langchain, without async": (langchain_sync, "langchain", {}),
    "langgraph": (langgraph, "langgraph", {"prompt": NONE, "model call": NONE, "stop": NONE}),
    "openai-agents": (
        openai_agents,
        "openai-agents",
        {
            ("tool's failure", "rewrite"): "it is a result",
            ("prompt", "rewrite"): HONOURS,
            ("prompt", "context"): "not told",
            ("model call", "rewrite"): HONOURS,
            ("stop", "deny"): "can't be sent back",
            ("stop", "rewrite"): "can't be rewritten",
            ("sub-agent", "deny"): ENDS,
            ("sub-agent", "rewrite"): HONOURS,
            ("sub-agent", "ask"): ENDS,
            ("sub-agent", "killed, closed"): ENDS,
        },
    ),
    "strands": (strands, "strands-agents", {}),
    "google-adk": (
        google_adk,
        "google-adk",
        {("stop", "deny"): "can't be sent back", ("sub-agent", "rewrite"): HONOURS},
    ),
    "claude-agent-sdk": (
        claude_agent,
        "claude-agent-sdk",
        {
            ("tool's failure", "rewrite"): "can't be rewritten",
            ("prompt", "rewrite"): HONOURS,
            "model call": NONE,
            ("stop", "rewrite"): "can't be rewritten",
        },
    ),
}


def judge(case, script, final, error):
    """What isn't as the case says."""
    causes = []
    while error is not None and len(causes) < 10:
        causes, error = [*causes, str(error)], error.__cause__ or error.__context__
    if case.get("error") is None and causes:
        yield f"it failed: {causes}"
    if case.get("error") is not None and not any(case["error"] in it for it in causes):
        yield f"no such error: {causes}"
    if "ran" in case and sorted(script.ran) != sorted(case["ran"]):
        yield f"ran {script.ran}"
    if case.get("seen", "") not in script.seen:
        yield f"the model didn't see {case['seen']!r}: {script.seen}"
    if "unseen" in case and case["unseen"] in script.seen:
        yield f"the model saw {case['unseen']!r}: {script.seen}"
    if "calls" in case and script.calls != case["calls"]:
        yield f"{script.calls} calls of the model"
    scouted = script.scout.seen if script.scout else ""
    if case.get("scouted", scouted) not in scouted or (case.get("scouted") == "" and scouted):
        yield f"the sub-agent saw {scouted!r}"
    if case.get("told", "") not in f"{final} {script.seen}":
        yield f"nobody was told {case['told']!r}: {final}"
    if "error" not in case and "told" not in case and final != case.get("final", "done"):
        yield f"it ended with {final!r}"


# Two for all cases: a host that is killed in one of them is there again in the next.
HOOKS = {
    fail: hookwire.Hooks(
        CLIENTS / "tests/hooks",
        arguments=["--isolated", "--no-share", "--log", "off"],
        fail=fail,
        approve=lambda question: "yes" in json.dumps(question["subject"]),
    )
    for fail in ("closed", "open")
}


async def run(name, case):
    driver, _, cannot = FRAMEWORKS[name]
    script, final, error = Script(case), None, None
    hooks = HOOKS[case.get("fail", "closed")]
    excuse = cannot.get((case["moment"], case["what"]))
    if excuse == ENDS and "told" not in case:
        excuse = None  # it isn't refused
    try:
        # Ends what hangs. The first case imports the framework, which takes a busy machine minutes.
        final = await asyncio.wait_for(driver(hooks, script, case.get("prompt", "go"), case.get("stream", False)), 300)
    except Exception as failure:
        error = failure
    wrong = list(judge(case, script, final, error))
    if excuse == HONOURS:
        calls = script.scout.calls if case["moment"] == "sub-agent" else script.calls
        wrong = [] if "can't honour" in f"{error} {final}" and calls == 0 else [f"it isn't refused: {error}"]
    elif excuse == ENDS:
        wrong = [] if case["told"] in str(error) and script.scout.calls == 0 else [f"it isn't refused: {error}"]
    elif excuse and not wrong:
        wrong = ["it works, and the table says that it doesn't"]
    elif excuse:
        wrong = []
    return wrong, excuse or "passed"


def main(names):
    failed = False
    for name in names or FRAMEWORKS:
        try:
            found = version(FRAMEWORKS[name][1])
        except Exception:
            print(f"SKIPPED {name}: it isn't installed", file=sys.stderr)
            continue
        rows = []
        for case in json.loads((CLIENTS / "tests/cases.json").read_text()):
            if case["moment"] == "sub-agent" and name not in SUBAGENTS:
                continue
            if missing := FRAMEWORKS[name][2].get(case["moment"]):
                rows.append([case["moment"], case["what"], missing])
                continue
            wrong, result = asyncio.run(run(name, case))
            for text in wrong:
                print(f"FAILED {name}: {case['moment']}, {case['what']}: {text}", file=sys.stderr)
            failed = failed or bool(wrong)
            rows.append([case["moment"], case["what"], "FAILED" if wrong else result])
        print(json.dumps({"framework": name, "version": found, "results": rows}), flush=True)
    sys.exit(failed)


main(sys.argv[1:])
