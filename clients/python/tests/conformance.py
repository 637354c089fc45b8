"""This client as `hookwire-conformance --client` tries it: each line says what to do, and what came of it is printed."""

import asyncio
import json
import logging
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import hookwire  # noqa: E402

logging.getLogger("hookwire").setLevel(logging.CRITICAL)


def client(settings):
    given = {}
    if "fail" in settings:
        given["fail"] = settings["fail"]
    if "deadlineMs" in settings:
        given["deadline"] = settings["deadlineMs"] / 1000
    if "approve" in settings:
        given["approve"] = lambda question: settings["approve"]
    if "complete" in settings:
        given["complete"] = lambda request: {"text": settings["complete"]}
    hooks = hookwire.Hooks(**given)
    for hook in settings.get("hooks", []):
        hooks.on(hook["on"], name=hook["name"], rule=hook["if"])(callback(hook))
    return hooks


def callback(hook):
    def answer(event):
        if "fails" in hook:
            raise RuntimeError(hook["fails"])
        return hook["answer"]

    return answer


async def obey(hooks, name, event):
    try:
        did = {"run": (await hooks.dispatch(event)).enforce()}
    except hookwire.Stopped as stopped:
        did = {"stop": str(stopped)}
    except hookwire.Denied as denied:
        did = {"deny": str(denied)}
    except hookwire.RequestFailed as refused:
        did = {"refused": str(refused)}
    except asyncio.CancelledError:
        did = {"cancelled": True}
    print(json.dumps({"as": name, **did}), flush=True)


async def main():
    loop, lines = asyncio.get_running_loop(), asyncio.Queue()

    def read():
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, json.loads(line))
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, daemon=True).start()
    async with client((await lines.get())["settings"]) as hooks:
        tasks = {}
        while line := await lines.get():
            if "cancel" in line:
                tasks[line["cancel"]].cancel()
            else:
                tasks[line["as"]] = asyncio.create_task(obey(hooks, line["as"], line["dispatch"]))
        await asyncio.gather(*tasks.values())


asyncio.run(main())
