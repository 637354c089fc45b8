//! agentpool's hooks, where a replayed session can't show it: what models are told, what is listed
//! beside a reply, registration, and hooks of other vocabularies beside agentpool's.

use crate::support::models::{ModelServer, Say};
use crate::support::*;
use serde_json::{Value, json};

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
    host.request(
        "hooks/dispatch",
        json!({"dialect": "agentpool", "payload": payload}),
    )
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
        (
            json!("Is it safe?"),
            bash_call(),
            "Is it safe?",
            bash_call(),
        ),
    ] {
        let server = ModelServer::always(Say::Verdict("deny", "no"));
        let dir = hooks(&[(
            "hooks.yaml",
            &agent(&format!(
                "{{type: prompt, prompt: {hook}, model: 'openai-chat:m'}}"
            )),
        )]);
        let mut host = TestHost::start(server.serve_for(&mut serve(dir.path())));
        assert_eq!(
            ask(&mut host, event)["reply"],
            json!({"decision": "deny", "reason": "no"})
        );
        let seen = server.seen().remove(0);
        assert!(seen.system().contains(told), "{}", seen.system());
        assert_eq!(
            serde_json::from_str::<Value>(seen.user().lines().nth(1).unwrap()).unwrap(),
            data
        );
        assert_eq!(seen.body["model"], "m");
    }
}

#[test]
fn whatever_goes_wrong_with_a_prompt_allows_and_says_why() {
    let judge = "{type: prompt, prompt: Is it safe?, model: 'openai:m', timeout: 0.5}";
    for (say, reason) in [
        (
            Say::Verdict("ask", "sure?"),
            "read the verdict of `openai:m`: its decision is not `allow` or `deny`",
        ),
        (
            Say::text("allow"),
            "read the verdict of `openai:m`: it is not one JSON object",
        ),
        (
            Say::error(400, "bad"),
            "ask the model `openai:m`: it answered 400",
        ),
        (Say::Hang, ""),
    ] {
        let server = ModelServer::always(say);
        let dir = hooks(&[("hooks.yaml", &agent(judge))]);
        let mut host = TestHost::start(server.serve_for(&mut serve(dir.path())));
        let told = ask(&mut host, bash_call());
        let said = told["reply"]["reason"].as_str().unwrap_or_default();
        assert!(
            said.starts_with(reason) && said.is_empty() == reason.is_empty(),
            "{told}"
        );
    }
}

#[test]
fn what_is_odd_about_a_reply_is_listed_beside_it() {
    let dir = hooks(&[
        (
            "policy.py",
            "def block(**kwargs):\n    return {'decision': 'block', 'reason': 'no'}\n\ndef number(**kwargs):\n    return 3\n\n\
             def typo(**kwargs):\n    return {'decison': 'deny'}\n",
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
        (
            "{type: callable, import_path: policy.number}".into(),
            json!({"decision": "allow"}),
            "it returned neither",
        ),
        (
            command("echo '{\"decision\": \"no\"}'"),
            json!({"decision": "allow"}),
            "`decision` of its reply is not",
        ),
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
            command("echo '{\"decison\": \"deny\"}'"),
            json!({"decision": "allow"}),
            "its reply counts as none: it has `decison`, which means nothing; did you mean `decision`?",
        ),
        (
            command("echo '{\"verdict\": 1}'"),
            json!({"decision": "allow"}),
            "it has none of `decision`, `reason`",
        ),
        (
            "{type: callable, import_path: policy.typo}".into(),
            json!({"decision": "allow"}),
            "did you mean `decision`?",
        ),
        (
            command("echo '{decision: deny}'"),
            json!({"decision": "allow", "additional_context": "{decision: deny}"}),
            "its stdout begins like JSON, but is only a text",
        ),
        (
            command("echo 'log {\"decision\": \"deny\"}'"),
            json!({"decision": "allow", "additional_context": "log {\"decision\": \"deny\"}"}),
            "its stdout tells of a decision, but is only a text",
        ),
        // Of these, agentpool gives its parser's error as the reason.
        (
            command("echo '[1]'"),
            json!({"decision": "allow"}),
            "it is JSON, but not an object",
        ),
        (
            command("echo '{\"decision\": \"deny\", \"decision\": \"deny\"}'"),
            json!({"decision": "allow"}),
            "duplicate",
        ),
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
        let places = [
            &told["verdict"]["errors"][0],
            &told["verdict"]["outcomes"][0]["error"],
        ];
        assert!(
            places
                .iter()
                .any(|it| it.as_str().is_some_and(|it| it.contains(listed))),
            "{told}"
        );
    }
}

/// What agentpool doesn't know, and its file may say here: a guard whose failure denies.
#[test]
fn a_hook_may_fail_closed() {
    for (hook, reason) in [
        (
            "{type: command, command: exit 1, fail: closed}",
            "failed to run: exit status 1",
        ),
        (
            "{type: command, command: sleep 60, timeout: 0.2, fail: closed}",
            "failed to finish within its timeout",
        ),
        (
            "{type: callable, import_path: nowhere.at_all, fail: closed}",
            "no module `nowhere`",
        ),
        (
            "{type: command, comand: x, fail: closed}",
            "unknown field `comand` (did you mean `command`?)",
        ),
        (
            r#"{type: command, command: "echo 'log {\"decision\":\"deny\"}'", fail: closed}"#,
            "only a text",
        ),
    ] {
        let (mut host, _dir) = TestHost::with(&agent(hook));
        let reply = ask(&mut host, bash_call())["reply"].take();
        assert!(
            reply["decision"] == "deny" && reply["reason"].as_str().unwrap().contains(reason),
            "{reply}"
        );
    }
}

#[test]
fn a_broken_hook_leaves_the_others_in_force() {
    let (mut host, _dir) = TestHost::with(&agent(
        "{type: command, command: x, matcher: '['}, {type: prmpt}, {type: command, command: echo fine}",
    ));
    let told = ask(&mut host, bash_call());
    assert_eq!(
        told["reply"],
        json!({"decision": "allow", "additional_context": "fine"})
    );
    let errors = told["verdict"]["errors"].to_string();
    assert!(
        errors.contains("bad regex") && errors.contains("unknown type `prmpt`"),
        "{errors}"
    );
}

#[test]
fn the_same_shape_can_be_registered() {
    let mut host = TestHost::serve(no_hooks());
    let deny = json!({"type": "command", "command": "echo no >&2; exit 2", "matcher": "Bash"});
    let registered = host.request(
        "hooks/register",
        json!({"agents": {"a": {"hooks": {"pre_tool_use": [deny]}}}}),
    );
    assert_eq!(registered["diagnostics"], json!([]));
    assert_eq!(
        ask(&mut host, bash_call())["reply"],
        json!({"decision": "deny", "reason": "no"})
    );
    let refused = host.refused(
        "hooks/register",
        json!({"agents": {"a": {"hooks": {"pre_run": [{"type": "command"}]}}}}),
    );
    assert_eq!(
        refused["message"],
        "invalid params: hook `a/pre_run#1`: a command hook needs `command`"
    );
}

/// agentpool merges what is modified into the arguments: it can't take one out.
#[test]
fn rewrites_of_other_vocabularies_are_what_changed() {
    let other = |subject: &str| {
        format!(
            "hooks: [{{name: native, on: PreToolUse, fail: closed, command: \"echo '{{\\\"subject\\\": {subject}}}'\"}}]"
        )
    };
    let own =
        agent("{type: command, command: \"echo '{\\\"modified_input\\\": {\\\"n\\\": 2}}'\"}");
    for (subject, reply) in [
        (
            "{\\\"command\\\": \\\"pwd\\\", \\\"n\\\": 1}",
            json!({"decision": "allow", "modified_input": {"command": "pwd", "n": 2}}),
        ),
        (
            "{\\\"command\\\": \\\"ls\\\"}",
            json!({"decision": "deny", "reason": "a hook took `n` out of the input, and the client can only set members"}),
        ),
    ] {
        // Of two that change the same, the later file's stands.
        let dir = hooks(&[("a.yaml", &own), ("b.yaml", &other(subject))]);
        let mut host = TestHost::serve(dir.path());
        let told = ask(&mut host, bash_call());
        assert_eq!(told["reply"], reply, "{told}");
    }
}

#[test]
fn a_rewrite_that_the_client_cannot_set_is_a_deny() {
    let (mut host, _dir) = TestHost::with(
        "hooks: [{name: redact, on: PreToolUse, guard: {redact-secrets: {action: redact}}}]",
    );
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    for (input, reply) in [
        (json!({"token": "none"}), json!({"decision": "allow"})),
        (json!(secret), json!({"decision": "deny", "reason": WHOLE})),
        (
            json!([secret]),
            json!({"decision": "deny", "reason": WHOLE}),
        ),
    ] {
        let call = json!({"event": "pre_tool_use", "agent_name": "a", "tool_name": "t", "tool_input": input});
        assert_eq!(ask(&mut host, call)["reply"], reply);
    }
}

const WHOLE: &str = "a hook rewrote the input as a whole, and the client can only set members";

/// agentpool's agents ignore `continue_`.
#[test]
fn the_end_of_a_run_is_a_deny_unless_an_agentpool_hook_says_it() {
    let own = |reply: &str| {
        agent(&format!(
            "{{type: command, command: {}}}",
            json!(format!("echo '{reply}'"))
        ))
    };
    let stop = "hooks: [{name: n, on: [RunStart, PreToolUse, PostToolUse], fail: closed, command: \"echo '{\\\"stop\\\": \\\"enough\\\"}'\"}]";
    let quiet = "hooks: []".to_string();
    let denied = json!({"decision": "deny", "reason": "enough", "continue_": false});
    for (own, other, event, reply) in [
        (quiet.clone(), stop, "pre_run", denied.clone()),
        (quiet.clone(), stop, "pre_tool_use", denied.clone()),
        (
            quiet,
            stop,
            "post_tool_use",
            json!({"decision": "allow", "continue_": false}),
        ),
        (own("{\"continue\": false}"), stop, "pre_tool_use", denied),
        (
            own("{\"continue\": false}"),
            "hooks: []",
            "pre_tool_use",
            json!({"decision": "allow", "continue_": false}),
        ),
    ] {
        let dir = hooks(&[("a.yaml", &own), ("b.yaml", other)]);
        let mut host = TestHost::serve(dir.path());
        let told = ask(
            &mut host,
            json!({"event": event, "agent_name": "a", "tool_name": "t", "tool_input": {}}),
        );
        assert_eq!(told["reply"], reply, "{event}: {told}");
    }
}

/// Tool events name no conversation.
#[test]
fn calls_count_towards_the_latest_run_of_their_agent() {
    let (mut host, _dir) = TestHost::with("policy: { limits: { maxCalls: 1 } }\nagents: { a: {} }");
    let mut decisions = Vec::new();
    for (event, agent, conversation) in [
        ("pre_run", "a", json!("one")),
        ("pre_tool_use", "a", Value::Null),
        ("pre_tool_use", "a", Value::Null),
        ("pre_run", "b", json!("two")),
        ("pre_tool_use", "a", Value::Null),
        ("pre_tool_use", "b", Value::Null),
        ("pre_run", "a", json!("three")),
        ("pre_tool_use", "a", Value::Null),
        ("pre_tool_use", "b", Value::Null),
    ] {
        let event = json!({
            "event": event, "agent_name": agent, "conversation_id": conversation, "prompt": "p", "tool_name": "t",
            "tool_input": {},
        });
        decisions.push(
            ask(&mut host, event)["reply"]["decision"]
                .as_str()
                .unwrap()
                .to_string(),
        );
    }
    let expected = [
        "allow", "allow", "deny", "allow", "deny", "allow", "allow", "allow", "deny",
    ];
    assert_eq!(decisions, expected);
}

#[test]
fn what_is_hookwires_may_stand_beside_agents() {
    let agents =
        "agents: { b: null, a: { hooks: { pre_tool_use: [{type: command, command: echo own}] } } }";
    for (beside, reason) in [
        ("policy: { deny: [Bash, t] }", "the policy denies `Bash`"),
        (
            "dialect: agentpool\npolicy: { deny: [Bash, t] }",
            "the policy denies `Bash`",
        ),
        (
            "dialect: agentpool\nhooks: [{name: n, on: pre_tool_use, command: echo no >&2; exit 2}]",
            "no",
        ),
    ] {
        let (mut host, _dir) = TestHost::with(&format!("{beside}\n{agents}"));
        let told = ask(&mut host, bash_call());
        assert_eq!(told["reply"]["decision"], "deny", "{told}");
        assert!(
            told["reply"]["reason"].as_str().unwrap().contains(reason),
            "{told}"
        );
    }
}

/// What JSON can't say must not cost a deny, in any vocabulary.
#[test]
fn a_deny_outlives_what_json_cannot_say() {
    let function = r"
import math
def judge(**_): return {'decision': 'deny', 'reason': 'bad \udcff \U0001f512'}
def count(**_): return {'decision': 'deny', 'reason': 'no', 'modified_input': {'n': math.nan, '\udcff': -math.inf}}
def odd(**_): return {'decision': 'deny', 'reason': 'no', 'modified_input': {(1, 2): 3}}
";
    for (hooks_yaml, reply) in [
        (
            agent("{type: callable, import_path: policy.judge}"),
            json!({"decision": "deny", "reason": "bad \u{fffd} 🔒"}),
        ),
        (
            agent("{type: callable, import_path: policy.count}"),
            json!({
                "decision": "deny", "reason": "no",
                "modified_input": {"n": "NaN", "\u{fffd}": "-Infinity"},
            }),
        ),
        (
            agent("{type: callable, import_path: policy.odd}"),
            json!({"decision": "deny", "reason": "no"}),
        ),
        (
            "hooks: [{name: n, on: PreToolUse, fail: open, callable: {python: 'policy:judge'}}]"
                .into(),
            json!({"decision": "deny", "reason": "bad \u{fffd} 🔒"}),
        ),
    ] {
        let dir = hooks(&[("policy.py", function), ("hooks.yaml", &hooks_yaml)]);
        let told = ask(&mut TestHost::serve(dir.path()), bash_call());
        assert_eq!(told["reply"], reply, "{told}");
    }
}

/// agentpool passes it on and takes nothing away: the reply is its own, and what is wrong stands in
/// the outcome.
#[test]
fn a_no_where_agentpool_has_none_is_passed_on_as_it_is() {
    for (function, reply, error) in [
        (
            "return False",
            json!({"decision": "deny"}),
            "failed to deny: agentpool takes no \"no\" at post_run",
        ),
        (
            "return {'decision': 'ask', 'reason': 'r'}",
            json!({"decision": "ask", "reason": "r"}),
            "at post_run: r",
        ),
        (
            "return {'decision': 'ask', 'modified_input': {'n': 1}}",
            json!({"decision": "ask", "modified_input": {"n": 1}}),
            "failed to ask: agentpool takes no \"no\" at post_run",
        ),
    ] {
        let policy = format!("def rest(**kwargs):\n    {function}\n");
        let hook =
            "agents: { a: { hooks: { post_run: [{type: callable, import_path: policy.rest}] } } }";
        let dir = hooks(&[("policy.py", &policy), ("hooks.yaml", hook)]);
        let run = json!({"event": "post_run", "agent_name": "a", "prompt": "p", "result": "done"});
        let told = ask(&mut TestHost::serve(dir.path()), run);
        assert_eq!(
            (&told["reply"], told["verdict"].get("subject")),
            (&reply, None),
            "{told}"
        );
        assert!(
            told["verdict"]["outcomes"][0]["error"]
                .as_str()
                .unwrap()
                .ends_with(error),
            "{told}"
        );
    }
}

/// Whose hooks are meant can't be told: they run, and the outcome says why.
#[test]
fn hooks_run_where_no_agent_is_named() {
    let (mut host, _dir) = TestHost::with(&agent("{type: command, command: echo no >&2; exit 2}"));
    for (name, decision) in [
        (Some("a"), "deny"),
        (Some("b"), "allow"),
        (Some(""), "deny"),
        (None, "deny"),
    ] {
        let mut call = json!({"event": "pre_tool_use", "tool_name": "t", "tool_input": {}});
        call.as_object_mut()
            .unwrap()
            .extend(name.map(|it| ("agent_name".to_string(), json!(it))));
        let told = ask(&mut host, call);
        assert_eq!(told["reply"]["decision"], decision, "{name:?}: {told}");
        let opaque = &told["verdict"]["outcomes"][0]["opaque"];
        assert_eq!(
            opaque == "can't tell whether `agents` holds: the event names no agent",
            name.unwrap_or_default().is_empty(),
            "{told}"
        );
    }
}

/// Later editions send how long a run took, which is a member of tools here; a run has none.
#[test]
fn members_of_tools_are_passed_over_at_runs() {
    let yaml = "agents: { a: { hooks: { pre_run: [{ type: command, command: 'echo no >&2; exit 2' }], post_run: [{ type: command, command: 'cat' }] } } }";
    let (mut host, _dir) = TestHost::with(yaml);
    for (event, more, decision) in [
        (
            "post_run",
            json!({"result": "r", "duration_ms": 12.5}),
            "allow",
        ),
        (
            "post_run",
            json!({"result": "r", "tool_name": null, "tool_output": 1}),
            "allow",
        ),
        ("pre_run", json!({"duration_ms": 1}), "deny"),
        (
            "pre_run",
            json!({"tool_name": null, "tool_input": {"a": 1}}),
            "deny",
        ),
    ] {
        let mut payload =
            json!({"event": event, "agent_name": "a", "conversation_id": null, "prompt": "p"});
        payload
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let told = ask(&mut host, payload.clone());
        assert_eq!(told["reply"]["decision"], decision, "{payload}: {told}");
        assert_eq!(
            told["verdict"]["outcomes"].as_array().map(Vec::len),
            Some(1),
            "{payload}: {told}"
        );
    }
    // At tools it is what it was.
    let (mut host, _dir) = TestHost::with(
        "hooks: [{ name: h, on: PostToolUse, when: double(tool.durationMs) > 12.0, deny: slow }]",
    );
    let payload = json!({"event": "post_tool_use", "agent_name": "a", "tool_name": "t", "tool_input": {}, "duration_ms": 12.5});
    assert_eq!(ask(&mut host, payload)["verdict"]["decidedBy"], "h");
}
