"""The client against a real host, which HOOKWIRE names: python3 test_client.py"""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import warnings
from pathlib import Path

if sys.version_info < (3, 10):
    sys.exit(print("SKIPPED: the client needs Python 3.10 or later"))

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import hookwire  # noqa: E402
from hookwire.protocol import EVENTS  # noqa: E402

logging.getLogger("hookwire").setLevel(logging.CRITICAL)

DEFINITIONS = """
defaults: { fail: closed }
hooks:
  - { name: no-force, on: PreToolUse, if: "Bash(git push --force*)", deny: Force pushes are off. }
  - { name: use-pnpm, on: PreToolUse, if: "Bash(npm *)", rewrite: { program: pnpm } }
  - { name: careful, on: PreToolUse, if: "Bash(rm *)", ask: Really? }
  - { name: over, on: PreToolUse, if: "Bash(halt)", script: "return { stop: 'The day is over.' }" }
  - { name: slow, on: PreToolUse, if: "Bash(slow)", command: "echo $$ > $cwd/new; mv $cwd/new $cwd/began; exec sleep 600" }
  - { name: hints, on: PreToolUse, if: "Bash(make)", script: "return { additionalContext: ['Use -j2.'], userMessages: ['hm'] }" }
  - { name: team, on: PreToolUse, if: "Bash(make)", script: "return { context: { metadata: { team: 'docs', old: null } } }" }
  - { name: any-subject, on: "*", script: "if (event.metadata?.mark) return { subject: 'new', replace: true }" }
"""


def bash(command, **members):
    return {"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": command}}, **members}


def commanded(verdict):
    """What a verdict lets an agent run, or why it doesn't."""
    try:
        return verdict.enforce()["command"]
    except hookwire.Stopped as stopped:
        return f"stopped: {stopped}"
    except hookwire.Denied as denied:
        return f"denied: {denied}"


class ClientTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        (self.scratch / "hooks").mkdir()
        (self.scratch / "hooks/guard.yaml").write_text(DEFINITIONS)

    def hooks(self, **settings):
        where = {} if "connect" in settings else {"arguments": ["--isolated"], "root": self.scratch}
        paths = [] if "connect" in settings else [self.scratch / "hooks"]
        hooks = hookwire.Hooks(*paths, **where, **settings)
        self.addCleanup(hooks.sync.close)
        return hooks

    def test_every_verdict_is_obeyed(self):
        cases = {
            "ls": "ls",
            "git push -f": "denied: Force pushes are off.",
            "npm test": "pnpm test",
            "rm a": "denied: Really?",
            "halt": "stopped: The day is over.",
        }
        hooks = self.hooks()
        for command, expected in cases.items():
            for verdict in (hooks.sync.dispatch(bash(command)), asyncio.run(hooks.dispatch(bash(command)))):
                self.assertTrue(commanded(verdict).startswith(expected), f"{command}: {commanded(verdict)}")
        verdict = hooks.sync.dispatch(bash("make"))
        self.assertEqual((verdict.additional_context, verdict.user_messages), (["Use -j2."], ["hm"]))
        state = {"metadata": {"old": 1, "kept": [2]}, "messages": []}
        self.assertEqual(verdict.patched(state), {**state, "metadata": {"team": "docs", "kept": [2]}})
        self.assertIs(hooks.sync.dispatch(bash("ls")).patched(state), state)
        with self.assertRaises(TypeError):
            bool(verdict)
        with self.assertRaises(hookwire.RequestFailed):
            hooks.sync.dispatch("PreTolUse")

    def test_a_verdict_that_nobody_looks_at_is_told(self):
        hooks = self.hooks().sync
        for command, told in (("git push -f", "Force pushes"), ("npm i", "rewrites"), ("halt", "The day"), ("ls", None)):
            with self.subTest(command), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                hooks.dispatch(bash(command))
                said = [str(it.message) for it in caught if it.category is RuntimeWarning]
                self.assertEqual([told in it for it in said], [True] if told else [], said)
                self.assertEqual([it.filename for it in caught], [__file__] if told else [])
                hooks.dispatch(bash(command)).decision  # it was looked at
                self.assertEqual(len(caught), len(said))

    def test_a_rewritten_subject_takes_the_place_of_the_subject(self):
        hooks = self.hooks().sync
        for name, pointer in EVENTS.items():
            event = {"event": name, "metadata": {"mark": True}, "tool": {"name": "Any"}, "model": {"name": "m"}}
            *outer, last = pointer.split("/")[1:]
            inner = event
            for member in outer:
                inner = inner[member]
            inner[last] = "old"
            with self.subTest(name):
                self.assertEqual(hooks.dispatch({**event, "metadata": {}}).enforce(), "old")
                self.assertEqual(hooks.dispatch(event).enforce(), "new")

    def test_callbacks_are_hooks(self):
        hooks = self.hooks()

        @hooks.on("PreToolUse", rule="Bash(curl *)", fail="closed")
        async def no_curl(event):
            return hookwire.deny(f"no {event['tool']['input']['command']}")

        @hooks.on("PreToolUse", rule="Bash(wget *)", fail="closed")
        def no_wget(event):
            return hookwire.patch(command="true")

        self.assertEqual(commanded(hooks.sync.dispatch(bash("curl x"))), "denied: no curl x")
        self.assertEqual(commanded(asyncio.run(hooks.dispatch(bash("curl x")))), "denied: no curl x")
        self.assertEqual(commanded(hooks.sync.dispatch(bash("wget x"))), "true")

        @hooks.on("PreToolUse", rule="Bash(nc *)", fail="closed")
        def broken(event):
            raise RuntimeError("broken")

        self.assertEqual(hooks.sync.dispatch(bash("nc x")).decision, "deny")

        # A guard that isn't in force must not look like one that has no objection.
        hooks.on("PreToolUse", name="misspelt", mathcer="x")(no_wget)
        self.assertIn("misspelt", hooks.sync.dispatch(bash("ls")).reason)

    def test_a_person_a_model_and_news(self):
        news, heard = [], threading.Event()

        async def complete(request):
            return {"text": "no"}

        hooks = self.hooks(approve=lambda question: question["subject"]["command"] == "rm a", complete=complete)

        @hooks.listen("hooks/judged")
        def judged(record):
            news.append(record["verdict"]["decision"])
            heard.set()

        self.assertEqual(commanded(hooks.sync.dispatch(bash("rm a"))), "rm a")
        self.assertTrue(commanded(hooks.sync.dispatch(bash("rm b"))).startswith("denied: Really?"))
        self.assertTrue(heard.wait(30))
        self.assertEqual(news[0], "allow")

    def test_state(self):
        state = self.hooks().sync.state
        state.set("a", {"x": 1}, ttl=3600)
        self.assertEqual((state.get("a"), state.get("a", session="s"), state.get("b")), ({"x": 1}, None, None))
        self.assertEqual([state.increment("n", 2), state.increment("n")], [2, 3])
        self.assertEqual([state.compare_and_set("n", 4, 5), state.compare_and_set("m", None, 5)], [False, True])
        self.assertEqual([item["key"] for item in state.list()], ["a", "m", "n"])
        self.assertEqual([state.delete("n"), state.delete("n")], [True, False])

    def test_questions_about_the_definitions(self):
        hooks = self.hooks().sync
        self.assertIn("no-force", [it["name"] for it in hooks.list("PreToolUse")["hooks"]])
        self.assertTrue(any(it["applies"] for it in hooks.explain(bash("git push -f"))["hooks"]))
        self.assertEqual(hooks.check("hooks: 3")["diagnostics"][0]["severity"], "error")
        (self.scratch / "hooks/guard.yaml").write_text("hooks: []")
        self.assertEqual((hooks.reload()["generation"], hooks.list()["hooks"]), (2, []))

    def test_cancelling_reaches_the_hooks(self):
        hooks = self.hooks()

        async def cancelled():
            task = asyncio.create_task(hooks.dispatch(bash("slow", cwd=str(self.scratch))))
            while not (self.scratch / "began").exists():
                await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())
        process = int((self.scratch / "began").read_text())
        with self.assertRaises(ProcessLookupError):
            while True:
                os.kill(process, 0)

    def test_the_failure_direction_holds_until_there_is_a_host_again(self):
        for fail, expected in (("closed", "deny"), ("open", "allow")):
            # The first is killed, the second hangs; calls in flight end, and the next call has another host.
            for ending in (signal.SIGKILL, signal.SIGSTOP):
                hooks = self.hooks(fail=fail, patience=0)

                async def in_flight():
                    await hooks.start()
                    calls = [asyncio.create_task(hooks.dispatch(bash("slow", cwd=str(self.scratch)), deadline=2)) for _ in range(3)]
                    await asyncio.sleep(0)
                    hooks._connection._process.send_signal(ending)
                    return [verdict.decision for verdict in await asyncio.gather(*calls)]

                with self.subTest(fail=fail, ending=ending):
                    self.assertEqual(asyncio.run(in_flight()), [expected] * 3)
                    self.assertEqual(commanded(hooks.sync.dispatch(bash("npm i"))), "pnpm i")

    def test_a_host_that_is_not_there(self):
        (self.scratch / "other").write_text(
            textwrap.dedent(
                f"""\
                #!{sys.executable}
                import json, sys
                for line in sys.stdin:
                    result = {{"protocolVersion": 99}}
                    print(json.dumps({{"id": json.loads(line)["id"], "result": result}}), flush=True)
                """
            )
        )
        (self.scratch / "other").chmod(0o755)
        for program, why in ((self.scratch / "none", "none"), ("/bin/true", "has ended"), (self.scratch / "other", "99")):
            hooks = self.hooks(program=program, fail="open")
            verdict = hooks.sync.dispatch(bash("ls"))
            self.assertEqual((verdict.decision, why in verdict.failure), ("allow", True), verdict.failure)
            # Without a host, an agent that wants to rest isn't sent back to work.
            self.assertEqual(self.hooks(program=program).sync.dispatch("Stop").decision, "allow")
            with self.assertRaises(hookwire.HostGone):
                hooks.sync.start()

    def test_a_socket(self):
        path = f"unix:{self.scratch}/socket"
        command = [hookwire.find_program(), "serve", "--isolated", "--hooks", "hooks", "--listen", path]
        host = subprocess.Popen(command, cwd=self.scratch, stdin=subprocess.DEVNULL)
        self.addCleanup(lambda: (host.kill(), host.wait()))
        hooks = self.hooks(connect=path, fail="open")
        # Until the host listens, its failure direction holds.
        while (verdict := hooks.sync.dispatch(bash("git push -f"))).failure:
            self.assertIsNone(host.poll())
        self.assertEqual(verdict.decided_by, "no-force")

    def test_a_websocket(self):
        token = "0123456789abcdef0123456789abcdef"
        command = [hookwire.find_program(), "serve", "--isolated", "--no-share", "--hooks", "hooks"]
        host = subprocess.Popen(
            [*command, "--listen", "http://127.0.0.1:0"],
            cwd=self.scratch,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "HOOKWIRE_TOKEN": token},
        )
        self.addCleanup(lambda: (host.kill(), host.wait(), host.stderr.close()))
        while b"listening on" not in (line := host.stderr.readline()):
            self.assertTrue(line)
        url = line.decode().split()[3].rstrip(";").replace("http:", "ws:")
        hooks = self.hooks(connect=url, token=token)

        @hooks.on("PreToolUse", rule="Bash(mine)")
        def mine(event):
            return {"decision": "deny", "reason": "x" * 100_000}

        self.assertEqual(hooks.sync.dispatch(bash("git push -f")).decided_by, "no-force")
        self.assertEqual(hooks.sync.dispatch(bash("mine")).reason, "x" * 100_000)
        for length in (10, 1_000, 100_000):
            self.assertEqual(commanded(hooks.sync.dispatch(bash("echo " + "i" * length))), "echo " + "i" * length)

        async def many():
            return await asyncio.gather(*(hooks.dispatch(bash(f"npm run {n}")) for n in range(100)))

        self.assertEqual([commanded(it) for it in asyncio.run(many())], [f"pnpm run {n}" for n in range(100)])
        refused = self.hooks(connect=url, token="0" * 32, fail="closed").sync.dispatch(bash("ls"))
        self.assertEqual((refused.decision, "401" in refused.failure), ("deny", True), refused.failure)
        for connect in ("ws://example.com:80", "http://10.0.0.1:80", "ws://me@127.0.0.1:80"):
            with self.assertRaises(ValueError):
                self.hooks(connect=connect, token=token)
        with self.assertRaises(ValueError):
            self.hooks(connect=url)
        host.kill()
        gone = hooks.sync.dispatch(bash("ls"))
        self.assertEqual((gone.decision, gone.failure is not None), ("deny", True))

    def test_a_forked_process_has_a_host_of_its_own(self):
        hooks = self.hooks().sync
        hooks.start()
        child = os.fork()
        if child == 0:
            # The parent's host must outlive this process, and the test's clean-up is the parent's.
            os._exit(commanded(hooks.dispatch(bash("npm i"))) != "pnpm i")
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(commanded(hooks.dispatch(bash("npm i"))), "pnpm i")

    def test_many_threads_and_loops(self):
        hooks = self.hooks()

        async def some():
            return await asyncio.gather(*(hooks.dispatch(bash(f"npm run {n}")) for n in range(50)))

        found = []
        threads = [threading.Thread(target=lambda: found.extend(asyncio.run(some()))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(commanded(it) for it in found), sorted(f"pnpm run {n}" for n in range(50) for _ in "1234"))


if __name__ == "__main__":
    unittest.main()
