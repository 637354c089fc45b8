#!/usr/bin/env python3
"""An agent that tells hookwire of every moment, and obeys: loop.py --hooks DIR

The arguments are those of `hookwire serve`. What the user and the model say is in session.json; what
the tools do, in the current directory, is real.
"""

import json
import os
import sys
import time

from wire import Host, Refused, merged, settled

ALLOWED = ["Read", "Write", "Task"]  # other tools need a permission
BUDGET = 1000  # tokens that the model may read before its context is compacted
ATTEMPTS = 5  # of one model call, whatever hooks say
SUMMARISE = "Summarise this conversation so that the work can go on from your summary alone."


class Agent:
    def __init__(self, host, model, name, run=None, parent=None):
        self.host, self.model, self.name, self.run_id, self.parent = host, model, name, run, parent
        self.context = {"metadata": {}, "systemPrompt": f"You are {name}.", "messages": []}  # hooks may change it
        self.notes = []  # what hooks have to say to the model
        self.step = self.tokens = 0

    def fire(self, event, **data):
        """Tells of a moment. What holds at every moment is obeyed here, the rest where the moment is."""
        parent = self.parent
        event = {
            "event": event,
            "session": f"s{os.getpid()}",
            "run": self.run_id,
            "parentRun": parent and parent.run_id,
            "step": self.step or None,
            "agent": {"name": self.name, "parent": parent and parent.name},
            "cwd": os.getcwd(),
            "metadata": self.context["metadata"],
            **data,
        }
        verdict = self.host.judge(event)
        for text in verdict.get("userMessages", []):
            print(f"[hook] {text}", flush=True)
        self.notes += verdict.get("additionalContext", [])
        patched = merged({**self.context, **event}, verdict.get("context", {}))
        self.context = {key: patched.get(key) or type(value)() for key, value in self.context.items()}
        verdict["tool"] = patched.get("tool")
        if "stop" in verdict:  # a no to this act, and to what the run would do next
            self.ending = verdict["stop"] or "a hook ended the run"
            verdict.update(decision="deny", reason=self.ending)
        return verdict

    def run(self, prompt):
        """One prompt, until the agent rests: its result. Each run that has begun ends in RunEnd or RunError."""
        self.ending, self.usage = None, {"inputTokens": 0, "outputTokens": 0}
        prompt = settled(self.fire("RunStart", prompt=prompt), prompt)
        self.context["messages"].append({"role": "user", "content": prompt})
        try:
            result = self.work()
        except Refused as no:
            result = str(no)
        except Exception as error:
            verdict = self.fire("RunError", error=str(error), usage=self.usage)
            if verdict.get("subject") is None:
                raise
            return verdict["subject"]
        return settled(self.fire("RunEnd", result=result, usage=self.usage), result)

    def work(self):
        rest, stop_active = "SubagentStop" if self.parent else "Stop", False
        while not self.ending:
            self.step += 1
            settled(self.fire("StepStart"))
            # Between steps every tool call has its result: here the conversation can be cut and added to.
            self.compact()
            self.context["messages"] += [{"role": "user", "content": note} for note in self.notes]
            self.notes = []
            reply = self.complete(self.context["messages"])
            results = [{"role": "tool", "callId": call["id"], "content": self.tool(call)} for call in reply["calls"]]
            reply["content"] = settled(self.fire("StepEnd", lastMessage=reply["content"]), reply["content"])
            self.context["messages"] += [{"role": "assistant", **reply}, *results]
            self.checkpoint()
            if reply["calls"] or self.ending:
                continue
            verdict = self.fire(rest, lastMessage=reply["content"], stopActive=stop_active)
            if verdict["decision"] == "allow":
                return verdict.get("subject", reply["content"])
            # Back to work, knowing why. hookwire lets no hook do this for ever.
            self.notes.append(verdict.get("reason", "Go on."))
            stop_active = True
        return self.ending

    def complete(self, messages):
        """What the model says. Each attempt passes the gate, since another model is another question."""
        name = "large"
        for attempt in range(1, ATTEMPTS + 1):
            request = {"systemPrompt": self.context["systemPrompt"], "messages": messages}
            model = {"name": name, "request": request}
            model["request"] = settled(self.fire("PreModelCall", model=model), request)
            try:
                reply = self.model.complete(name, model["request"])
            except ModelError as error:
                model.update(error={"status": error.status, "message": error.message}, attempt=attempt)
                retry = self.fire("ModelCallError", model=model).get("retry", {"action": "fail"})
                if retry["action"] == "fail" or attempt == ATTEMPTS or self.ending:
                    raise
                time.sleep(retry.get("afterMs", 0) / 1000)
                name = retry.get("model", name)
                continue
            self.tokens = reply["usage"]["inputTokens"]
            for kind, tokens in reply["usage"].items():
                self.usage[kind] += tokens
            response = {"content": reply["content"], "calls": reply["calls"]}
            model.update(response=response, usage=reply["usage"], finishReason=reply["finishReason"])
            return settled(self.fire("PostModelCall", model=model), response)

    def tool(self, call):
        """What a tool call comes to, for the model. A refused call is told and not run."""
        try:
            output = f"not run: {self.ending}" if self.ending else self.judged(call)
        except Refused as no:
            output = f"refused: {no}"
        print(f"{self.name}: {call['name']}: {str(output).strip()}", flush=True)
        return output

    def judged(self, call):
        tool = {"name": call["name"], "callId": call["id"], "input": call["input"]}
        verdict = self.fire("PreToolUse", tool=tool)
        tool = verdict["tool"]
        tool["input"] = settled(verdict, tool["input"])
        # A hook's allow is an approval; an allow that nobody decided only stands in nobody's way.
        if tool["name"] not in ALLOWED and "decidedBy" not in verdict:
            tool["input"] = self.permission(tool)
        started = time.monotonic()
        try:
            output, what = self.use(tool), {}
        except Refused:
            raise
        except Exception as error:
            output, what = f"failed: {error}", {"error": str(error)}
        tool.update(what, output=output, durationMs=(time.monotonic() - started) * 1000)
        return settled(self.fire("PostToolUseFailure" if what else "PostToolUse", tool=tool), output)

    def permission(self, tool):
        try:
            verdict = self.fire("PermissionRequest", tool=tool)
            allowed = settled(verdict, tool["input"])
            if "decidedBy" not in verdict:  # where your agent would ask its user
                raise Refused("nobody has allowed it")
            return allowed
        except Refused as no:
            self.fire("PermissionDenied", tool=tool, reason=str(no))
            raise

    def use(self, tool):
        arguments = tool["input"]
        if tool["name"] == "Read":
            with open(arguments["path"]) as file:
                return file.read()
        if tool["name"] == "Write":
            with open(arguments["path"], "w") as file:
                file.write(arguments["content"])
            return "written"
        if tool["name"] == "Delete":
            os.remove(arguments["path"])
            return "deleted"
        if tool["name"] == "Task" and not self.parent:  # or sub-agents would start sub-agents without end
            child = Agent(self.host, self.model, arguments["agent"], f"{self.run_id}.{tool['callId']}", self)
            return child.run(settled(child.fire("SubagentStart", prompt=arguments["prompt"]), arguments["prompt"]))
        raise ValueError(f"no such tool: {tool['name']}")

    def compact(self):
        """Puts a summary in the conversation's place, once the model reads more than it should."""
        if self.tokens <= BUDGET:
            return
        messages = self.context["messages"]
        try:
            data = {"compaction": SUMMARISE, "messages": messages, "budget": BUDGET}
            hint = settled(self.fire("PreCompact", **data), SUMMARISE)
            summary = self.complete([*messages, {"role": "user", "content": hint}])["content"]
        except Refused:
            if self.ending:
                raise
            return  # the conversation stays whole
        self.context["messages"] = [{"role": "user", "content": summary}]
        self.fire("PostCompact", removedCount=len(messages), summary=summary)

    def checkpoint(self):
        path = f"checkpoint-{self.name}.json"
        with open(path, "w") as file:
            json.dump({"run": self.run_id, "step": self.step, **self.context}, file)
        self.fire("Checkpoint", path=path)

    def tell(self, text):
        print(text, flush=True)
        self.fire("Notification", message=text)


class ModelError(Exception):
    def __init__(self, status, message):
        super().__init__(f"{status} {message}")
        self.status, self.message = status, message


class Model:
    """Says what a script has, reply by reply; yours would call a provider."""

    def __init__(self, replies):
        self.replies = iter(replies)

    def complete(self, name, request):
        reply = next(self.replies, {"error": {"status": 500, "message": "the script is over"}})
        if "error" in reply:
            raise ModelError(**reply["error"])
        return {"content": "", "calls": [], "finishReason": "stop", **reply}


def main(*arguments):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "session.json")) as file:
        session = json.load(file)
    host = Host(arguments)
    agent = Agent(host, Model(session["replies"]), "coder")
    try:
        settled(agent.fire("SessionStart"))
        for n, prompt in enumerate(session["prompts"], 1):
            agent.run_id, agent.step = f"r{n}", 0
            print(f"> {prompt}", flush=True)
            try:
                agent.tell(agent.run(settled(agent.fire("UserPromptSubmit", prompt=prompt), prompt)))
            except Refused as no:
                agent.tell(f"refused: {no}")
            except Exception as error:  # of the run; the session goes on
                agent.tell(f"failed: {error}")
    except Refused as no:
        print(f"refused: {no}", flush=True)
    finally:
        agent.run_id, agent.step = None, 0
        agent.fire("SessionEnd")
        host.stop()
    sys.exit(host.problem)


main(*sys.argv[1:])
