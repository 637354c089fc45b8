//! `hookwire doctor AGENT --drive`: what an agent does is shown, and what isn't shown is said.
//! `.ci/agents` drives real ones.

use crate::installed::Project;
use crate::support::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A loop like an agent's: it asks the model over HTTP and its hook by `sh -c`, and OBEYS or not.
const AGENT: &str = r#"#!/usr/bin/env python3
import json, os, subprocess, sys, urllib.request

if "--version" in sys.argv:
    sys.exit(print("2.1.332 (Claude Code)"))
ENDS
settings = json.load(open(".claude/settings.local.json"))
hook = settings["hooks"]["PreToolUse"][0]["hooks"][0]
hook = [hook["command"], *hook["args"]] if "args" in hook else ["sh", "-c", hook["command"]]
schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
messages = [{"role": "user", "content": sys.argv[2]}]
while True:
    request = {"model": "m", "tools": [{"name": "Bash", "input_schema": schema}], "messages": messages}
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    reply = json.load(urllib.request.urlopen(url, json.dumps(request).encode()))
    block = reply["content"][0]
    if block["type"] != "tool_use" or len(messages) > 2 * globals().get("MOST", 9):
        break
    event = {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": block["input"],
             "tool_use_id": block["id"], "cwd": os.getcwd()}
    said = subprocess.run(hook, input=json.dumps(event), text=True, capture_output=True).stdout
    reply = json.loads(said or "{}").get("hookSpecificOutput", {})
    held = reply.get("permissionDecision") in ("deny", "ask")
    if not (held and OBEYS):
        subprocess.run(["sh", "-c", reply.get("updatedInput", block["input"])["command"]])
    result = {"type": "tool_result", "tool_use_id": block["id"], "content": said}
    messages += [{"role": "assistant", "content": [block]}, {"role": "user", "content": [result]}]
"#;

#[test]
fn what_an_agent_does_is_shown() {
    if !is_there("python3") {
        return;
    }
    let project = Project::new();
    let programs = project.0.path().join("bin");
    fs::create_dir(&programs).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let said = |agent: &str| {
        let output = project
            .command(&["doctor", agent, "--drive"])
            .env("PATH", &path)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for (program, text) in [("claude", AGENT), ("kiro-cli", "#!/bin/sh\n")] {
        fs::write(programs.join(program), text).unwrap();
        fs::set_permissions(programs.join(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    // What it does then is what it does here: the entry is this project's.
    project.run(&["install", "claude-code"], "");
    for (obeys, ends, expected) in [
        (
            "True",
            "",
            "it ran what is allowed, and not what is denied or asked about; what is rewritten ran rewritten; its model was told why\n",
        ),
        (
            "False",
            "",
            "it ran what is denied: nobody asked hookwire, or a deny doesn't arrive\n",
        ),
        (
            "True",
            "MOST = sys.exit(print('done')) if os.path.exists('allowed-by-hookwire') else 1",
            "because it ended before what is denied. It said: done\n",
        ),
        (
            "True",
            "sys.exit(print('no key'))",
            "it isn't shown that a deny arrives, because it asked the model nothing. It said: no key\n",
        ),
    ] {
        let text = AGENT.replace("OBEYS", obeys).replace("ENDS", ends);
        fs::write(programs.join("claude"), text).unwrap();
        let said = said("claude-code");
        assert!(said.contains(expected), "{said}");
    }
    for (agent, expected) in [
        (
            "kiro",
            "bad   it wasn't driven, because nobody knows how to start it for one prompt with a model on this machine\n",
        ),
        (
            "windsurf",
            "bad   it wasn't driven, because `windsurf` isn't on PATH, or is a program of the project\n",
        ),
    ] {
        assert!(said(agent).contains(expected), "{agent}: {}", said(agent));
    }
}
