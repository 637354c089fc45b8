"""Hooks made at random, for both sides of a comparison: generate.py DIRECTORY SEED AGENTS.

Writes `hooks.yaml` with as many agents, `policy.py` with what their functions do, and `session.jsonl`.
"""

import json
import random
import shlex
import sys
from pathlib import Path

directory, seed, n_agents = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
pick = random.Random(seed)

# A call without a tool's name is refused by hookwire.
TOOLS = ["Bash", "BashOutput", "Edit", "MultiEdit", "mcp__pay__send", "bash"]
MATCHERS = [None, "", "*", ".*", "Bash", "^Bash$", "Write|Edit", "mcp__.*", "(?i)BASH", "e", "a|b", "^$", "[A-Z]ash", "\\bEdit"]
TEXTS = ["a", "no", "", "two words", "é ü", "x; y", "ends with a blank "]
KEYS = ["command", "n", "path", "deep"]


def words(*more):
    return pick.choice(["allow", "deny", "ask", *more])


def chance(share):
    return pick.random() < share


def changes():
    values = [1, "x", None, True, [1, 2], {"a": 1}, "ls", 2.5]
    return {key: pick.choice(values) for key in KEYS if chance(0.4)}


def result(command):
    said = {}
    if chance(0.7):
        name = pick.choice(["decision", "permissionDecision"]) if command else "decision"
        said[name] = words("approve", "block", "maybe", "", "DENY", None)
    if chance(0.2) and command:
        said["permissionDecision"] = words("block")
    if chance(0.5):
        said[pick.choice(["reason", "permissionDecisionReason"])] = pick.choice(TEXTS)
    if chance(0.4):
        said[pick.choice(["modified_input", "modified_input", "updatedInput"])] = changes()
    if chance(0.4):
        said[pick.choice(["additional_context", "additionalContext"])] = pick.choice(TEXTS)
    if chance(0.3):
        said[pick.choice(["continue", "continue_"])] = pick.choice([True, False, False, 0, None])
    if chance(0.1):
        said["hookSpecificOutput"] = {"permissionDecision": "deny"}
    return said


def command():
    kind = pick.randrange(10)
    stdout, stderr, code = "", "", 0
    if kind < 5:
        stdout = json.dumps(result(True), ensure_ascii=chance(0.5))
    elif kind == 5:
        stdout = pick.choice(["", " \n", "plain text", "two\nlines\n", "{not json", "  padded  "])
    else:
        stdout = json.dumps(result(True)) if chance(0.5) else ""
        stderr = pick.choice(["", " why \n", "é", "line one\nline two"])
        code = pick.choice([2, 2, 2, 1, 3, 127])
    text = "cat > /dev/null; printf %s " + shlex.quote(stdout)
    if stderr:
        text += "; printf %s " + shlex.quote(stderr) + " >&2"
    return {"type": "command", "command": f"{text}; exit {code}"}


def callable_():
    kind = pick.randrange(10)
    if kind == 0:
        return {"type": "callable", "import_path": "policy.raises", "arguments": {"text": pick.choice(TEXTS[:2])}}
    if kind == 1:
        return {"type": "callable", "import_path": pick.choice(["policy.narrow", "policy.wants_more"])}
    value = result(False) if kind < 7 else pick.choice([None, True, False, "text", "", 0, 3, ["deny"], {}])
    name = pick.choice(["policy.give", "policy.later", "policy:Policy.give", "policy.THE.method"])
    return {"type": "callable", "import_path": name, "arguments": {"value": value}}


def hook():
    made = command() if chance(0.5) else callable_()
    if chance(0.6):
        made["matcher"] = pick.choice(MATCHERS)
    if chance(0.1):
        made["enabled"] = pick.choice([False, True])
    return made


EVENTS = ["pre_run", "post_run", "pre_tool_use", "post_tool_use"]


def payload(event, agent):
    common = {"event": event, "agent_name": agent, "conversation_id": pick.choice([None, "c1"])}
    tool = {"tool_name": pick.choice(TOOLS), "tool_input": {"command": "ls", **changes()}}
    if event == "pre_run":
        return {**common, "prompt": pick.choice(TEXTS)}
    if event == "post_run":
        return {**common, "prompt": pick.choice(TEXTS), "result": pick.choice([None, "done", {"n": 1}])}
    if event == "pre_tool_use":
        return {**common, **tool}
    return {**common, **tool, "tool_output": pick.choice([None, "out", [1]]), "duration_ms": pick.choice([1.5, 0.25])}


agents, session = {}, []
for n in range(n_agents):
    name = f"agent{n}"
    hooks = {event: [hook() for _ in range(pick.randrange(4))] for event in EVENTS if chance(0.7)}
    agents[name] = {"model": "openai:gpt-4o", "hooks": hooks}
    session += [payload(event, name) for event in EVENTS for _ in range(2)]

(directory / "hooks.yaml").write_text(json.dumps({"agents": agents}, indent=1))
(directory / "session.jsonl").write_text("".join(json.dumps(event) + "\n" for event in session))
(directory / "policy.py").write_text(
    '''
def give(value, **kwargs):
    return value


async def later(value, **kwargs):
    return value


class Policy:
    @staticmethod
    def give(value, **kwargs):
        return value

    def method(self, value, **kwargs):
        return value


THE = Policy()


def raises(text, **kwargs):
    raise ValueError(text)


def narrow(tool_name=None):
    return False


def wants_more(more, **kwargs):
    return False
'''
)
