//! agentpool's hooks, where a replayed session can't show it: what models are told, what is listed beside a
//! reply, registration, and hooks of other vocabularies beside agentpool's.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/models.rs"]
mod models;
mod support;

use models::{ModelServer, Say};
use serde_json::{Value, json};
use support::*;

/// A file with the hooks of one agent at `pre_tool_use`.
fn agent(hooks: &str) -> String {
    format!("agents: {{ a: {{ model: test, hooks: {{ pre_tool_use: [{hooks}] }} }} }}")
}

fn bash_call() -> Value {
    json!({
        "event": "pre_tool_use", "agent_name": "a", "conversation_id": null,
        "tool_name": "Bash", "tool_input": {"command": "ls", "n": 1},
    })
}

fn ask(host: &mut TestHost, payload: Value) -> Value {
    host.request("hooks/dispatch", json!({"dialect": "agentpool", "payload": payload}))
}

#[test]
fn a_prompt_names_values_and_never_holds_them() {
    let every = "$INPUT $TOOL_NAME ${TOOL_INPUT} $TOOL_OUTPUT $AGENT_NAME $PROMPT $EVENT $$5 $TOOL_NAMES $tool_name";
    for (hook, event, told, data) in [
        (
            json!(every),
            bash_call(),
            "`INPUT` `TOOL_NAME` `TOOL_INPUT` `TOOL_OUTPUT` `AGENT_NAME` `PROMPT` `EVENT` $5 $TOOL_NAMES $tool_name",
            json!({
                "INPUT": bash_call(), "TOOL_NAME": "Bash", "TOOL_INPUT": {"command": "ls", "n": 1}, "TOOL_OUTPUT": "",
                "AGENT_NAME": "a", "PROMPT": "", "EVENT": "pre_tool_use",
            }),
        ),
        (
            json!("Is $TOOL_INPUT safe?"),
            bash_call(),
            "Is `TOOL_INPUT` safe?",
            json!({"TOOL_INPUT": {"command": "ls", "n": 1}}),
        ),
        (json!("Is it safe?"), bash_call(), "Is it safe?", bash_call()),
    ] {
        let server = ModelServer::always(Say::Verdict("deny", "no"));
        let dir =
            hooks(&[("hooks.yaml", &agent(&format!("{{type: prompt, prompt: {hook}, model: 'openai-chat:m'}}")))]);
        let mut host = TestHost::start(server.serve_for(&mut serve(dir.path())));
        assert_eq!(ask(&mut host, event)["reply"], json!({"decision": "deny", "reason": "no"}));
        let seen = server.seen().remove(0);
        assert!(seen.system().contains(told), "{}", seen.system());
        assert_eq!(serde_json::from_str::<Value>(seen.user().lines().nth(1).unwrap()).unwrap(), data);
        assert_eq!(seen.body["model"], "m");
    }
}

#[test]
fn whatever_goes_wrong_with_a_prompt_allows_and_says_why() {
    let judge = "{type: prompt, prompt: Is it safe?, model: 'openai:m', timeout: 0.5}";
    for (say, reason) in [
        (Say::Verdict("ask", "sure?"), "read the verdict of `openai:m`: its decision is not `allow` or `deny`"),
        (Say::text("allow"), "read the verdict of `openai:m`: it is not one JSON object"),
        (Say::error(400, "bad"), "ask the model `openai:m`: it answered 400"),
        (Say::Hang, ""),
    ] {
        let server = ModelServer::always(say);
        let dir = hooks(&[("hooks.yaml", &agent(judge))]);
        let mut host = TestHost::start(server.serve_for(&mut serve(dir.path())));
        let told = ask(&mut host, bash_call());
        let said = told["reply"]["reason"].as_str().unwrap_or_default();
        assert!(said.starts_with(reason) && said.is_empty() == reason.is_empty(), "{told}");
    }
}

#[test]
fn what_is_odd_about_a_reply_is_listed_beside_it() {
    let dir = hooks(&[
        (
            "policy.py",
            "def block(**kwargs):\n    return {'decision': 'block', 'reason': 'no'}\n\ndef number(**kwargs):\n    return 3\n",
        ),
        ("hooks.yaml", ""),
    ]);
    let command = |text: &str| format!("{{type: command, command: {}}}", json!(text));
    for (hook, reply, listed) in [
        (
            "{type: callable, import_path: policy.block}".to_string(),
            json!({"decision": "allow", "reason": "no"}),
            "`decision` of its reply is not `allow`, `deny` or `ask`, and counts as allow",
        ),
        ("{type: callable, import_path: policy.number}".into(), json!({"decision": "allow"}), "it returned neither"),
        (command("echo '{\"decision\": \"no\"}'"), json!({"decision": "allow"}), "`decision` of its reply is not"),
        (
            command("echo '{\"decision\": \"deny\", \"reason\": 3}'"),
            json!({"decision": "deny"}),
            "`reason` of its reply is not a text",
        ),
        (
            command("echo '{\"hookSpecificOutput\": {\"permissionDecision\": \"deny\"}}'"),
            json!({"decision": "allow"}),
            "`hookSpecificOutput` means nothing to agentpool",
        ),
        (
            command("echo '{decision: deny}'"),
            json!({"decision": "allow", "additional_context": "{decision: deny}"}),
            "its stdout begins like JSON, but is only a text",
        ),
        // Of these, agentpool gives its parser's error as the reason.
        (command("echo '[1]'"), json!({"decision": "allow"}), "it is JSON, but not an object"),
        (command("echo '{\"decision\": \"deny\", \"decision\": \"deny\"}'"), json!({"decision": "allow"}), "duplicate"),
        // Of these, agentpool raises an error of its own, which ends the call.
        (
            command("echo '{\"modified_input\": \"rm\"}'"),
            json!({"decision": "allow"}),
            "`modified_input` of its reply is not an object",
        ),
    ] {
        std::fs::write(dir.path().join("hooks.yaml"), agent(&hook)).unwrap();
        let mut host = TestHost::serve(dir.path());
        let told = ask(&mut host, bash_call());
        assert_eq!(told["reply"], reply, "{told}");
        let places = [&told["verdict"]["errors"][0], &told["verdict"]["outcomes"][0]["error"]];
        assert!(places.iter().any(|it| it.as_str().is_some_and(|it| it.contains(listed))), "{told}");
    }
}

/// What agentpool doesn't know, and its file may say here: a guard whose failure denies.
#[test]
fn a_hook_may_fail_closed() {
    for (hook, reason) in [
        ("{type: command, command: exit 1, fail: closed}", "failed to run: exit status 1"),
        ("{type: command, command: sleep 60, timeout: 0.2, fail: closed}", "failed to finish within its timeout"),
        ("{type: callable, import_path: nowhere.at_all, fail: closed}", "no module `nowhere`"),
        ("{type: command, comand: x, fail: closed}", "a command hook needs `command`"),
    ] {
        let (mut host, _dir) = TestHost::with(&agent(hook));
        let reply = ask(&mut host, bash_call())["reply"].take();
        assert!(reply["decision"] == "deny" && reply["reason"].as_str().unwrap().contains(reason), "{reply}");
    }
}

#[test]
fn a_broken_hook_leaves_the_others_in_force() {
    let (mut host, _dir) = TestHost::with(&agent(
        "{type: command, command: x, matcher: '['}, {type: prmpt}, {type: command, command: echo fine}",
    ));
    let told = ask(&mut host, bash_call());
    assert_eq!(told["reply"], json!({"decision": "allow", "additional_context": "fine"}));
    let errors = told["verdict"]["errors"].to_string();
    assert!(errors.contains("bad regex") && errors.contains("unknown type `prmpt`"), "{errors}");
}

#[test]
fn the_same_shape_can_be_registered() {
    let mut host = TestHost::serve(no_hooks());
    let deny = json!({"type": "command", "command": "echo no >&2; exit 2", "matcher": "Bash"});
    let registered = host.request("hooks/register", json!({"agents": {"a": {"hooks": {"pre_tool_use": [deny]}}}}));
    assert_eq!(registered["diagnostics"], json!([]));
    assert_eq!(ask(&mut host, bash_call())["reply"], json!({"decision": "deny", "reason": "no"}));
    let refused =
        host.refused("hooks/register", json!({"agents": {"a": {"hooks": {"pre_run": [{"type": "command"}]}}}}));
    assert_eq!(refused["message"], "invalid params: hook `a/pre_run#1`: a command hook needs `command`");
}

/// agentpool merges what is modified into the arguments: it can't take one out.
#[test]
fn rewrites_of_other_vocabularies_are_what_changed() {
    let other = |subject: &str| {
        format!(
            "hooks: [{{name: native, on: PreToolUse, fail: closed, command: \"echo '{{\\\"subject\\\": {subject}}}'\"}}]"
        )
    };
    let own = agent("{type: command, command: \"echo '{\\\"modified_input\\\": {\\\"n\\\": 2}}'\"}");
    for (subject, reply) in [
        (
            "{\\\"command\\\": \\\"pwd\\\", \\\"n\\\": 1}",
            json!({"decision": "allow", "modified_input": {"command": "pwd", "n": 2}}),
        ),
        (
            "{\\\"command\\\": \\\"ls\\\"}",
            json!({"decision": "deny", "reason": "a hook took `n` out of the input, and the client can only set"}),
        ),
    ] {
        // Of two that change the same, the later file's stands.
        let dir = hooks(&[("a.yaml", &own), ("b.yaml", &other(subject))]);
        let mut host = TestHost::serve(dir.path());
        let told = ask(&mut host, bash_call());
        assert_eq!(told["reply"], reply, "{told}");
    }
}
