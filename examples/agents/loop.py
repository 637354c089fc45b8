#!/usr/bin/env python3
"""An agent loop that sends every event to hookwire and obeys the verdicts: loop.py --hooks DIR"""

from wire import Hooked, Refused
from world import ALLOWED, BUDGET, SUMMARISE, ModelError, call_model, main, prompts, save, show, tried, use, waited


class Agent(Hooked):
    def session(self):
        self.fire("SessionStart")
        for prompt in prompts(self):
            answer = show(tried(self.run, prompt)["output"])  # or why there is none; the session continues
            self.fire("Notification", message=answer)
        self.fire("SessionEnd")

    def run(self, prompt):
        """Works on one prompt until the agent stops. Every started run ends with RunEnd or RunError."""
        prompt = self.fire("SubagentStart" if self.parent else "UserPromptSubmit", prompt=prompt)["prompt"]
        prompt = self.fire("RunStart", prompt=prompt)["prompt"]
        self.messages.append({"role": "user", "content": prompt})
        try:
            result = self.work()
        except Refused as no:  # a refusal is an answer, not a failure
            result = str(no)
        except Exception as error:
            verdict = self.fire("RunError", error=str(error), usage=self.usage)
            if verdict.get("subject") is None:
                raise
            return verdict["subject"]  # a hook's result replaces the error
        return self.fire("RunEnd", result=result, usage=self.usage)["result"]

    def work(self):
        rest, stop_active = "SubagentStop" if self.parent else "Stop", False
        while True:
            self.fire("StepStart")
            # Between steps every tool call has its result, so here the conversation can be changed.
            if self.tokens > BUDGET:
                self.compact()
            self.add_notes()
            reply = self.ask(self.messages)
            results = [self.tool(call) for call in reply["calls"]]
            reply["content"] = self.fire("StepEnd", lastMessage=reply["content"])["lastMessage"]
            self.messages.extend([{"role": "assistant", **reply}, *results])
            self.fire("Checkpoint", path=save(self))
            if not reply["calls"]:
                try:
                    return self.fire(rest, lastMessage=reply["content"], stopActive=stop_active)["lastMessage"]
                except Refused as no:  # back to work, with the reason; hookwire limits how often hooks do this
                    self.notes.append(str(no))
                    stop_active = True

    def ask(self, messages, name="large", attempt=1):
        """Asks the model. Each attempt fires PreModelCall again, because the model may be another one."""
        request = {"systemPrompt": self.context["systemPrompt"], "messages": messages}
        model = self.fire("PreModelCall", model={"name": name, "request": request})["model"]
        try:
            reply = call_model(**model)
            self.count(reply["usage"])
            return self.fire("PostModelCall", model={**model, **reply})["model"]["response"]
        except ModelError as error:
            retry = self.fire("ModelCallError", model={**model, "error": vars(error), "attempt": attempt}).get("retry")
            if not waited(retry, attempt):
                raise
            return self.ask(messages, retry.get("model", name), attempt + 1)

    def tool(self, call):
        """Runs a tool call, if permitted, and returns the model's message with the output or the refusal."""
        try:
            tool = self.permitted(call)
            done = tried(self.task if tool["name"] == "Task" and not self.parent else use, tool)
            event = "PostToolUseFailure" if "error" in done else "PostToolUse"
            output = self.fire(event, tool={**tool, **done})["tool"]["output"]
        except Refused as no:
            output = f"refused: {no}"
        return {"role": "tool", "callId": call["callId"], "content": show(self.name, call["name"], output)}

    def permitted(self, call):
        moment = self.fire("PreToolUse", tool=call)
        # An allow is a permission only if a hook decided it; otherwise no hook had an opinion.
        if moment["tool"]["name"] in ALLOWED or "decidedBy" in moment:
            return moment["tool"]
        try:
            return self.fire("PermissionRequest", tool=moment["tool"])["tool"]
        except Refused as no:
            self.fire("PermissionDenied", tool=moment["tool"], reason=str(no))
            raise

    def task(self, tool):
        child = Agent(self.hooks, tool["input"]["agent"], f"{self.run_id}.{tool['callId']}", parent=self)
        return child.run(tool["input"]["prompt"])

    def compact(self):
        """Replaces the conversation by a summary."""
        try:
            moment = self.fire("PreCompact", compaction=SUMMARISE, messages=self.messages, budget=BUDGET)
            summary = self.ask([*self.messages, {"role": "user", "content": moment["compaction"]}])["content"]
        except Refused:
            return  # the conversation isn't compacted
        removed, self.context["messages"] = len(self.messages), [{"role": "user", "content": summary}]
        self.fire("PostCompact", removedCount=removed, summary=summary)


main(Agent)
