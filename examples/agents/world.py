"""The loop's surroundings: a scripted model, tools that change real files, a terminal. Replace this file."""

import json
import os
import sys
import time

import hookwire
from wire import Hooked, Refused

ALLOWED = ["Read", "Write", "Task"]  # other tools need a permission
BUDGET = 1000  # tokens that the model may read before its context is compacted
SUMMARISE = "Summarise this conversation so that the work can go on from your summary alone."
ATTEMPTS = 5  # at one model call, whatever hooks say

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "session.json")) as file:
    SESSION = json.load(file)
REPLIES = iter(SESSION["replies"])


class ModelError(Exception):
    def __init__(self, status, message):
        super().__init__(f"{status} {message}")
        self.status, self.message = status, message


def call_model(name, request):
    """Returns the script's next reply; yours would call a provider."""
    over = {"error": {"status": 500, "message": "the script is over"}}
    said = {"content": "", "calls": [], "finishReason": "stop", **next(REPLIES, over)}
    if "error" in said:
        raise ModelError(**said["error"])
    response = {"content": said["content"], "calls": said["calls"]}
    return {"response": response, "usage": said["usage"], "finishReason": said["finishReason"]}


def ask(messages):
    """Asks the model, and again while it is overloaded, as a provider's library does."""
    while True:
        try:
            return call_model("large", {"messages": messages})["response"]
        except ModelError as error:
            if error.status != 529:
                raise


def waited(retry, attempt):
    """Waits as long as hooks ask for; returns whether to try again."""
    if not retry or retry["action"] == "fail" or attempt == ATTEMPTS:
        return False
    time.sleep(retry.get("afterMs", 0) / 1000)
    return True


def use(tool):
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
    raise ValueError(f"no such tool: {tool['name']}")


def tried(act, argument):
    """Runs an act; returns its output or error, and how long it took."""
    started = time.monotonic()
    try:
        outcome = {"output": act(argument)}
    except Exception as error:
        outcome = {"error": str(error), "output": told(error)}
    return {**outcome, "durationMs": (time.monotonic() - started) * 1000}


def save(agent):
    path = f"checkpoint-{agent.name}.json"
    with open(path, "w") as file:
        json.dump({"run": agent.run_id, "step": agent.step, **agent.context}, file)
    return path


def told(error):
    return f"{'refused' if isinstance(error, Refused) else 'failed'}: {error}"


def show(*words):
    """Prints a line and returns its last part."""
    print(": ".join(str(word).strip() for word in words), flush=True)
    return words[-1]


def prompts(agent):
    """The user's prompts; each begins a new run."""
    for n, prompt in enumerate(SESSION["prompts"], 1):
        agent.begin(f"r{n}")
        print(f"> {prompt}", flush=True)
        yield prompt
    agent.begin(None)


def main(agent):
    patience = float(os.environ.get("PATIENCE", "5"))  # seconds for a verdict
    with hookwire.Hooks(arguments=sys.argv[1:], deadline=patience, patience=patience / 2).sync as hooks:
        try:
            agent(hooks, "coder").session()
        except Refused as no:
            show(told(no))
    sys.exit(Hooked.problem and f"hookwire gave no verdict: {Hooked.problem}")
