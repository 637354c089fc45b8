#!/usr/bin/env python3
"""A small agent with hooks: small.py HOOKS PROMPT. Yours has another model and other tools."""

import sys

import hookwire
from world import ask, use


def answer(hooks, prompt):
    messages = [{"role": "user", "content": hooks.dispatch("UserPromptSubmit", prompt=prompt).enforce()}]
    again = False
    while True:
        reply = ask(messages)
        messages.append({"role": "assistant", **reply})
        messages += [{"role": "tool", "content": tool(hooks, call)} for call in reply["calls"]]
        if not reply["calls"]:
            verdict = hooks.dispatch("Stop", lastMessage=reply["content"], stopActive=again)
            if verdict.allowed or verdict.stops:
                return verdict.value
            messages.append({"role": "user", "content": verdict.reason})  # back to work
            again = True


def tool(hooks, call):
    try:
        call = {**call, "input": hooks.dispatch("PreToolUse", tool=call).enforce()}
        print(f"running: {call['name']} {call['input']['path']}", flush=True)
        return hooks.dispatch("PostToolUse", tool={**call, "output": use(call)}).enforce()
    except hookwire.Stopped:
        raise  # the run is over
    except Exception as problem:
        return f"failed: {problem}"  # the model reads why


with hookwire.Hooks(sys.argv[1]).sync as hooks:
    try:
        print(answer(hooks, sys.argv[2]))
    except hookwire.Denied as no:
        sys.exit(f"refused: {no}")
