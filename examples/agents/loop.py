#!/usr/bin/env python3
"""An agent loop that tells hookwire of every moment, and obeys: loop.py --hooks DIR"""

from wire import Hooked, Refused
from world import ALLOWED, BUDGET, SUMMARISE, ModelError, call_model, main, prompts, save, show, tried, use, waited


class Agent(Hooked):
    def session(self):
        self.fire("SessionStart")
        for prompt in prompts(self):
            answer = show(tried(self.run, prompt)["output"])  # or why there is none: the session goes on
            self.fire("Notification", message=answer)
        self.fire("SessionEnd")

    def run(self, prompt):
        """One prompt, until the agent rests. Each run that has begun ends in RunEnd or RunError."""
        prompt = self.fire("SubagentStart" if self.parent else "UserPromptSubmit", prompt=prompt)["prompt"]
        prompt = self.fire("RunStart", prompt=prompt)["prompt"]
        self.messages.append({"role": "user", "content": prompt})
        try:
            result = self.work()
        except Refused as no:  # an answer, not a failure
            result = str(no)
        except Exception as error:
            verdict = self.fire("RunError", error=str(error), usage=self.usage)
            if verdict.get("subject") is None:
                raise
            return verdict["subject"]  # a hook's, in the place of the result
        return self.fire("RunEnd", result=result, usage=self.usage)["result"]

    def work(self):
        rest, stop_active = "SubagentStop" if self.parent else "Stop", False
        while True:
            self.fire("StepStart")
            # Between steps every tool call has its result: here the conversation can be cut and added to.
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
                except Refused as no:  # back to work, knowing why; hookwire lets no hook do this for ever
                    self.notes.append(str(no))
                    stop_active = True

    def ask(self, messages, name="large", attempt=1):
        """What the model says. Each attempt passes the gate, since another model is another question."""
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
        """What a tool call comes to, for the model. A refused call is told and not run."""
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
        # A hook's allow is a permission; an allow that nobody decided only stands in nobody's way.
        if moment["tool"]["name"] in ALLOWED or "decidedBy" in moment:
            return moment["tool"]
        try:
            return self.fire("PermissionRequest", tool=moment["tool"])["tool"]
        except Refused as no:
            self.fire("PermissionDenied", tool=moment["tool"], reason=str(no))
            raise

    def task(self, tool):
        child = Agent(self.host, tool["input"]["agent"], f"{self.run_id}.{tool['callId']}", parent=self)
        return child.run(tool["input"]["prompt"])

    def compact(self):
        """Puts a summary in the conversation's place."""
        try:
            moment = self.fire("PreCompact", compaction=SUMMARISE, messages=self.messages, budget=BUDGET)
            summary = self.ask([*self.messages, {"role": "user", "content": moment["compaction"]}])["content"]
        except Refused:
            return  # the conversation stays whole
        removed, self.context["messages"] = len(self.messages), [{"role": "user", "content": summary}]
        self.fire("PostCompact", removedCount=removed, summary=summary)


main(Agent)
