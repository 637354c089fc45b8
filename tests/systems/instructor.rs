//! instructor-php's hooks, where an example can't say it: crashes, mistakes, callbacks, hooks of
//! other vocabularies beside them, and hosts that pass everything through.

use crate::support::*;
use hookwire::{Decision, Host, Interceptor, Judging, Question};
use serde_json::{Value, json};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A context with little in it.
fn context(trigger: &str, more: Value) -> Value {
    let mut context = json!({"triggerType": trigger, "state": {"agentId": "a", "metadata": {}}});
    for (key, value) in more.as_object().unwrap() {
        context[key] = value.clone();
    }
    context
}

fn call(name: &str) -> Value {
    context(
        "before_tool_use",
        json!({"toolCall": {"id": "1", "name": name, "arguments": {"n": 1}}}),
    )
}

fn dispatch(host: &mut TestHost, payload: Value) -> Value {
    host.request(
        "hooks/dispatch",
        json!({"dialect": "instructor", "payload": payload}),
    )
}

fn reply(host: &mut TestHost, payload: Value) -> Value {
    dispatch(host, payload)["reply"].take()
}

fn names(reply: &Value) -> Vec<&str> {
    let list = reply["hooksExecuted"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    list.iter()
        .map(|it| it["hookName"].as_str().unwrap())
        .collect()
}

fn signals(reply: &Value) -> Vec<String> {
    let text = |it: &Value, key: &str| it[key].as_str().unwrap_or("-").to_string();
    let list = reply["stopSignals"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    list.iter()
        .map(|it| {
            format!(
                "{} of {}: {}",
                text(it, "reason"),
                text(it, "source"),
                text(it, "message")
            )
        })
        .collect()
}

/// There an exception ends the run. Here the hooks below still run, and the run is told to end.
#[test]
fn a_crash_breaks_the_run() {
    let (mut host, _dir) = TestHost::with(
        "dialect: instructor
hooks:
  - { name: throws, on: '*', priority: 9, script: 'throw new Error(`boom`);' }
  - { name: below, on: '*', script: 'return event;' }
  - { name: open, on: on_stop, fail: open, command: exit 3 }",
    );
    let told = |reply: &Value| signals(reply).first().cloned().unwrap_or_default();
    let at_step = reply(&mut host, context("before_step", json!({})));
    assert!(
        told(&at_step).starts_with("error of throws: hook `throws` failed to"),
        "{at_step}"
    );
    assert_eq!(
        names(&at_step),
        ["below"],
        "HookExecuted is not told of a hook that threw"
    );
    assert_eq!(at_step["isToolExecutionBlocked"], false);
    let at_tool = reply(&mut host, call("search"));
    assert_eq!(at_tool["isToolExecutionBlocked"], true);
    assert!(told(&at_tool).starts_with("error of throws"), "{at_tool}");
    assert!(
        at_tool["toolResult"]["content"]
            .as_str()
            .unwrap()
            .starts_with("Error in tool call: hook `throws`")
    );
    // What has happened can't be refused: a failure there is told and the loop goes on, unless the
    // hook says otherwise.
    let verdict = dispatch(&mut host, context("after_step", json!({})));
    assert_eq!(
        (signals(&verdict["reply"]).len(), names(&verdict["reply"])),
        (0, vec!["below"])
    );
    assert!(
        verdict["verdict"]["outcomes"][0]["error"]
            .as_str()
            .unwrap()
            .contains("boom")
    );
    assert_eq!(
        names(&reply(&mut host, context("on_stop", json!({})))),
        ["below"]
    );
}

#[test]
fn replies_that_cannot_be_meant() {
    let (mut host, _dir) = TestHost::with(
        "dialect: instructor\nhooks: [{ name: h, on: '*', script: 'return JSON.parse(event.metadata.reply);' }]",
    );
    for (trigger, answer, expected) in [
        (
            "before_step",
            "[]",
            "failed to read the reply: it is not a HookContext, a JSON object",
        ),
        (
            "before_step",
            r#"{"isToolExecutionBlockd":true}"#,
            "failed to read the reply: a HookContext has no `isToolExecutionBlockd`; did you mean `isToolExecutionBlocked`?",
        ),
        (
            "before_step",
            r#"{"decision":"deny"}"#,
            "failed to read the reply: a HookContext has no `decision`",
        ),
        (
            "before_step",
            r#"{"state":7}"#,
            "failed to read the reply: `state` is not an object",
        ),
        (
            "before_step",
            r#"{"state":{"messages":"x"}}"#,
            "failed to read the reply: `state.messages` is not a list",
        ),
        (
            "before_step",
            r#"{"state":{"system_prompt":"x"}}"#,
            "failed to read the reply: a state has no `system_prompt`; did you mean `systemPrompt`?",
        ),
        (
            "before_step",
            r#"{"state":{"systmPrompt":"x"}}"#,
            "failed to read the reply: a state has no `systmPrompt`; did you mean `systemPrompt`?",
        ),
        (
            "before_tool_use",
            r#"{"state":{"isToolExecutionBlocked":true}}"#,
            "failed to read the reply: `isToolExecutionBlocked` stands beside the state, not in it",
        ),
        (
            "before_step",
            r#"{"metadata":"x"}"#,
            "failed to read the reply: `metadata` is not an object",
        ),
        (
            "before_tool_use",
            r#"{"isToolExecutionBlocked":"yes"}"#,
            "failed to read the reply: `isToolExecutionBlocked` is not true or false",
        ),
        (
            "before_step",
            r#"{"stopSignals":[{"reason":"tired"}]}"#,
            "failed to read the reply: `stopSignals[0]`: unknown variant `tired`",
        ),
    ] {
        let payload = context(
            trigger,
            json!({"metadata": {"reply": answer}, "toolCall": {"name": "t", "arguments": {}}}),
        );
        let verdict = dispatch(&mut host, payload)["verdict"].take();
        let error = verdict["outcomes"][0]["error"].as_str().unwrap_or_default();
        assert!(error.starts_with(expected), "{answer}: {error}");
        assert_eq!(verdict["decision"], "deny", "{answer}");
    }
    // Null keeps, nothing is no change, and what is the loop's own stays.
    for answer in [
        "null",
        "{}",
        r#"{"state":null,"toolCall":null,"metadata":null}"#,
        r#"{"triggerType":"on_stop","createdAt":"x"}"#,
    ] {
        let payload = context("before_step", json!({"metadata": {"reply": answer}}));
        let mut told = reply(&mut host, payload.clone());
        told.as_object_mut().unwrap().remove("hooksExecuted");
        assert_eq!(told, payload, "{answer}");
    }
    // An agent may have members of its own in the state.
    let payload = context(
        "before_step",
        json!({"metadata": {"reply": r#"{"state":{"message":"m","plan":[1]}}"#}}),
    );
    let state = reply(&mut host, payload)["state"].take();
    assert_eq!(
        (&state["message"], &state["plan"]),
        (&json!("m"), &json!([1]))
    );
    // Nothing can be blocked there, which is told.
    let payload = context(
        "after_step",
        json!({"metadata": {"reply": r#"{"isToolExecutionBlocked":true}"#}}),
    );
    let verdict = dispatch(&mut host, payload)["verdict"].take();
    assert_eq!(
        verdict["errors"],
        json!(["hook `h`: it blocks a tool at after_step, where none can be blocked"])
    );
}

#[test]
fn mistakes_in_definitions_are_told() {
    let dir = no_hooks();
    let mut host = TestHost::serve(dir);
    let mut check = |text: &str| -> Vec<String> {
        let result = host.request("hooks/check", json!({ "text": text }));
        let diagnostics = result["diagnostics"].as_array().unwrap().clone();
        let text = |it: &Value| {
            format!(
                "{}: {}",
                it["range"]["start"]["line"],
                it["message"].as_str().unwrap()
            )
        };
        diagnostics.iter().map(text).collect()
    };
    for (definitions, expected) in [
        (
            "useGuards: { maxStep: 3 }",
            "1: `useGuards`: unknown field `maxStep`",
        ),
        ("useGuards: 20", "1: `useGuards` is a map, found a number"),
        (
            "dialect: instructor\nuseGuards:\n  maxSteps: ten",
            "3: `guard.step-limit.max`: expected a whole number",
        ),
        (
            "useContextConfig: { systemPrmpt: x }",
            "1: `useContextConfig`: unknown field `systemPrmpt`",
        ),
        (
            "dialect: instructor\nhooks: [{ name: a, on: before_tool, script: return }]",
            "2: unknown event `before_tool`",
        ),
    ] {
        let told = check(definitions);
        assert!(
            told.len() == 1 && told[0].starts_with(expected),
            "{definitions}: {told:?}"
        );
    }
    for fine in [
        "useGuards:",
        "useGuards: true",
        "useGuards: false",
        "useContextConfig: {}",
        "dialect: instructor\nuseGuards: { maxExecutionTime: 2.5 }",
    ] {
        assert_eq!(check(fine), Vec::<String>::new(), "{fine}");
    }
}

/// The way of a PHP client: it registers closures and capabilities, and hears of every run.
#[test]
fn callbacks_and_capabilities_over_the_wire() {
    let mut host = TestHost::start(&mut serve(no_hooks()));
    let capabilities =
        json!({"hooks": {"dialect": "instructor", "notifications": ["hooks/executed"]}});
    host.request("initialize", json!({ "capabilities": capabilities }));
    let registered = host.request(
        "hooks/register",
        json!({
            "dialect": "instructor",
            "useGuards": {"maxSteps": 2},
            "useContextConfig": {"systemPrompt": "You are a data analysis assistant."},
            "hooks": [{"name": "block_dangerous_tools", "on": "BeforeToolUse", "priority": 200, "callback": "c1"}],
        }),
    );
    let mut registered: Vec<_> = registered["registered"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    registered.sort_unstable();
    let expected = [
        "block_dangerous_tools",
        "context:config",
        "guard:steps_limit",
        "guard:time_limit",
        "guard:token_limit",
    ];
    assert_eq!(registered, expected);
    let id = host.ask("hooks/dispatch", json!({"payload": call("rm_rf")}));
    let asked = host.receive_where(|message| message["method"] == "hooks/invoke");
    let mut given = asked["params"]["event"].clone();
    assert_eq!(
        (&given["toolCall"]["name"], &given["isToolExecutionBlocked"]),
        (&json!("rm_rf"), &json!(false))
    );
    given["isToolExecutionBlocked"] = true.into();
    given["toolExecution"] = json!({"error": "Not allowed"});
    host.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": given}));
    let reply = host.reply(id)["result"]["reply"].take();
    assert_eq!(
        reply["toolResult"],
        json!({"isError": true, "content": "Error in tool call: Not allowed"})
    );
    let executed =
        host.receive_where(|message| message["method"] == "hooks/executed")["params"].take();
    let told = &reply["hooksExecuted"][0];
    assert_eq!(
        (&executed["hook"], &executed["event"]),
        (&json!("block_dangerous_tools"), &json!("PreToolUse"))
    );
    for key in ["startedAt", "completedAt"] {
        assert_eq!(executed[key], told[key], "{key}");
        assert_eq!(
            executed[key].as_str().map(str::len),
            Some("2026-01-01T00:00:00.000Z".len())
        );
    }
    assert!(told["startedAt"].as_str() <= told["completedAt"].as_str());
    let id = host.ask(
        "hooks/dispatch",
        json!({"payload": context("before_execution", json!({}))}),
    );
    let reply = host.reply(id)["result"]["reply"].take();
    assert_eq!(
        reply["state"]["systemPrompt"],
        "You are a data analysis assistant."
    );
    host.may_leave_unread = true;
}

/// Others' hooks in the chain see the same things, and what they say comes back in these words.
#[test]
fn beside_hooks_of_other_vocabularies() {
    let claude = "dialect: claude-code
hooks:
  - { name: stops, on: PostToolUse, command: \"echo '{\\\"continue\\\": false, \\\"stopReason\\\": \\\"enough\\\"}'\" }";
    let native = "hooks:
  - { name: role, on: PreToolUse, matcher: deploy, when: 'metadata.role != `admin`', deny: Only for admins. }
  - { name: no-start, on: StepStart, when: 'has(state.stepCount) && state.stepCount > 5', deny: Five steps are enough. }
  - { name: prompt, on: RunStart, when: prompt == 'Do it.', deny: Do what? }
  - { name: limit, on: StepStart, guard: { step-limit: { max: 1 } }, when: '!has(state.stepCount)', fail: closed }
  - { name: withhold, on: PostToolUse, matcher: leak, guard: { pattern-guard: { deny: [secret] } }, fail: closed }
  - { name: extra, on: StepEnd, fail: open, script: 'return { additionalContext: [`Be brief.`], userMessages: [`Hello.`] };' }"
        .replace('`', "\"");
    let dir = hooks(&[("native.yaml", &native), ("claude.yaml", claude)]);
    let mut host = TestHost::serve(dir.path());
    let mut deploy = call("deploy");
    deploy["state"]["metadata"]["role"] = "guest".into();
    let told = reply(&mut host, deploy.clone());
    assert_eq!(told["toolExecution"]["error"], "Only for admins.");
    assert_eq!(
        told["errorList"][0]["message"],
        "Tool call to 'deploy' ({\"n\":1}) was blocked: Only for admins."
    );
    deploy["state"]["metadata"]["role"] = "admin".into();
    assert_eq!(
        reply(&mut host, deploy)["isToolExecutionBlocked"],
        Value::Null,
        "nobody touched it"
    );
    let sixth = context(
        "before_step",
        json!({"state": {"agentId": "a", "stepCount": 6}}),
    );
    assert_eq!(
        signals(&reply(&mut host, sixth)),
        ["stop_requested of no-start: Five steps are enough."]
    );
    let start =
        json!({"state": {"agentId": "b", "messages": [{"role": "user", "content": "Do it."}]}});
    assert_eq!(
        signals(&reply(&mut host, context("before_execution", start))),
        ["stop_requested of prompt: Do what?"]
    );
    let step = || context("before_step", json!({"state": {"agentId": "b"}}));
    assert_eq!(signals(&reply(&mut host, step())), Vec::<String>::new());
    assert_eq!(
        signals(&reply(&mut host, step())),
        ["steps_limit of limit: Step limit reached: 1/1"]
    );
    let executed = |tool: &str| {
        context(
            "after_tool_use",
            json!({"toolExecution": {"toolCall": {"name": tool, "arguments": {}}, "result": "a secret"}}),
        )
    };
    let told = reply(&mut host, executed("leak"));
    assert_eq!(told["toolExecution"]["result"], Value::Null, "{told}");
    assert!(
        told["toolResult"]["content"]
            .as_str()
            .unwrap()
            .starts_with("Error in tool call: "),
        "{told}"
    );
    assert_eq!(
        signals(&reply(&mut host, executed("read"))),
        ["stop_requested of -: enough"]
    );
    let told = reply(&mut host, context("after_step", json!({})));
    assert_eq!(
        (&told["additionalContext"], &told["userMessages"]),
        (&json!(["Be brief."]), &json!(["Hello."]))
    );
}

/// A hook of this vocabulary judges for other clients too: what it signals ends their run.
#[test]
fn for_clients_of_other_vocabularies() {
    let (mut host, _dir) = TestHost::with(
        "dialect: instructor
hooks:
  - { name: steps, on: before_step, guard: { step-limit: { max: 1 } } }
  - { name: blocks, on: before_tool_use, script: \"return { isToolExecutionBlocked: true, toolExecution: { error: 'Not allowed' } };\" }
  - { name: shortens, on: after_tool_use, script: \"return { toolExecution: { result: 'short' } };\" }",
    );
    assert_eq!(brief(&host.bash("ls")), "deny by blocks: Not allowed");
    let step = json!({"event": "StepStart", "session": "s"});
    assert_eq!(brief(&host.dispatch(step.clone())), "allow");
    let verdict = host.dispatch(step);
    assert_eq!(brief(&verdict), "deny by steps: Step limit reached: 1/1");
    assert_eq!(verdict["stop"], "Step limit reached: 1/1");
    assert_eq!(
        verdict["outcomes"][0]["stopSignals"][0]["reason"],
        "steps_limit"
    );
    let done = json!({"event": "PostToolUse", "session": "s", "tool": {"name": "Bash", "input": {}, "output": "long"}});
    assert_eq!(host.dispatch(done)["subject"], "short");
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {}});
    let reply = host.request(
        "hooks/dispatch",
        json!({"dialect": "claude-code", "payload": payload}),
    );
    assert_eq!(
        reply["reply"]["hookSpecificOutput"]["permissionDecisionReason"],
        "Not allowed"
    );
}

/// As PHP writes it: empty maps as lists, an execution with `tool_call`, times as `U.u` has them.
#[test]
fn what_php_writes() {
    let (mut host, _dir) = TestHost::with(
        "dialect: instructor
useGuards: { maxTokens: 10 }
hooks:
  - { name: tags, on: [before_step, before_tool_use], script: \"return { state: { metadata: { tag: 1 } }, metadata: { n: 2 } };\" }
  - { name: reads, on: after_tool_use, matcher: search, script: \"return { metadata: { tool: event.toolExecution.tool_call.name } };\" }",
    );
    let state = json!({"agentId": "a", "metadata": [], "systemPrompt": null, "stepCount": 0, "usage": {"input": 4, "output": 5}});
    let mut step = context(
        "before_step",
        json!({"state": state, "metadata": [], "errorList": [], "createdAt": "1767225900.250000"}),
    );
    step["state"]["executionStartedAt"] = "2026-01-01T01:00:00+01:00".into();
    let told = reply(&mut host, step.clone());
    assert_eq!(
        (&told["state"]["metadata"], &told["metadata"]),
        (&json!({"tag": 1}), &json!({"n": 2}))
    );
    assert_eq!(
        signals(&told),
        ["time_limit of guard:time_limit: Execution time limit reached: 300.25s/300.00s"]
    );
    step["state"]["usage"]["output"] = 6.into();
    step["createdAt"] = "2026-01-01T00:00:01Z".into();
    assert_eq!(
        signals(&reply(&mut host, step.clone())),
        ["token_limit of guard:token_limit: Token limit reached: 10/10"]
    );
    // A guard that can't count says so, and fails closed.
    step["state"].as_object_mut().unwrap().remove("usage");
    let told = reply(&mut host, step);
    assert!(
        signals(&told)[0].starts_with(
            "error of guard:token_limit: hook `guard:token_limit` failed to count tokens"
        ),
        "{told}"
    );
    let mut empty = call("search");
    empty["toolCall"]["arguments"] = json!([]);
    assert_eq!(reply(&mut host, empty)["state"]["metadata"]["tag"], 1);
    let execution = json!({"id": "e", "tool_call": {"id": "1", "name": "search", "arguments": []}, "result": "3", "error": null});
    let told = reply(
        &mut host,
        context("after_tool_use", json!({ "toolExecution": execution })),
    );
    assert_eq!(told["metadata"]["tool"], "search");
    let refused =
        json!({"dialect": "instructor", "payload": context("before_tool_use", json!({}))});
    let error = host.refused("hooks/dispatch", refused);
    assert_eq!(
        error["message"],
        "invalid params: `toolCall.name` is missing: the event is about a tool"
    );
}

/// `PassThroughInterceptor`: the very same context, nothing runs, and nobody can miss it.
#[test]
fn pass_through() {
    let dir = hooks(&[(
        "hooks.yaml",
        "dialect: instructor\nhooks: [{ name: no, on: before_tool_use, deny: never }]",
    )]);
    let passing = || {
        let mut command = serve(dir.path());
        command.arg("--pass-through");
        command
    };
    let mut host = TestHost::start(&mut passing());
    assert_eq!(
        host.request("initialize", json!({}))["hooks"]["passThrough"],
        true
    );
    let result = dispatch(&mut host, call("rm_rf"));
    assert_eq!(result["reply"], call("rm_rf"));
    assert_eq!(
        (
            &result["verdict"]["decision"],
            &result["verdict"]["outcomes"]
        ),
        (&json!("allow"), &json!([]))
    );
    assert_eq!(brief(&host.bash("rm -rf /")), "allow");
    let output = passing().stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("Pass-through: every event is allowed and no hook runs."),
        "{told}"
    );
    let mut host = TestHost::serve(dir.path());
    assert_eq!(
        host.request("initialize", json!({}))["hooks"].get("passThrough"),
        None
    );
}

/// A host's judge can be replaced, and hand on what it doesn't judge itself.
#[tokio::test]
async fn an_interceptor_of_ones_own() {
    struct Counts {
        hooks: Arc<dyn Interceptor>,
        seen: Arc<AtomicUsize>,
    }
    impl Interceptor for Counts {
        fn intercept(&self, question: Question) -> Judging<'_> {
            self.seen.fetch_add(1, Ordering::Relaxed);
            self.hooks.intercept(question)
        }
    }
    let dir = hooks(&[(
        "hooks.yaml",
        "dialect: instructor\nhooks: [{ name: no, on: before_tool_use, deny: never }]",
    )]);
    let seen = Arc::new(AtomicUsize::new(0));
    let counts = seen.clone();
    let host = Host::builder().hooks(dir.path()).interceptor(|hooks| {
        Arc::new(Counts {
            hooks,
            seen: counts,
        })
    });
    let told = host
        .build()
        .unwrap()
        .dispatch_as("instructor", call("search"))
        .await
        .unwrap();
    assert_eq!(
        (told.verdict.decision, seen.load(Ordering::Relaxed)),
        (Decision::Deny, 1)
    );
    let host = Host::builder()
        .hooks(dir.path())
        .pass_through(true)
        .build()
        .unwrap();
    assert_eq!(
        host.dispatch_as("instructor", call("search"))
            .await
            .unwrap()
            .reply,
        call("search")
    );
}

/// The same hook may be there twice, and both run; that is told, since it is seldom meant.
#[test]
fn the_same_hook_twice() {
    let hook = "{ name: twice, on: after_step, script: 'return event;' }";
    let (mut host, _dir) = TestHost::with(&format!("dialect: instructor\nhooks: [{hook}, {hook}]"));
    assert_eq!(
        names(&reply(&mut host, context("AfterStep", json!({})))),
        ["twice", "twice"]
    );
    let diagnostics = host.request("hooks/check", json!({}));
    assert_eq!(diagnostics["diagnostics"][0]["code"], "duplicate-name");
}

/// A command gives a context back on stdout; any other end than with 0 is an exception.
#[test]
fn commands() {
    let (mut host, _dir) = TestHost::with(
        "dialect: instructor
hooks:
  - { name: tags, on: before_step, command: \"echo '{\\\"metadata\\\": {\\\"n\\\": 1}}'\" }
  - { name: silent, on: before_step, command: 'true' }
  - { name: prints, on: after_step, fail: closed, command: echo hello }
  - { name: exits, on: on_error, fail: closed, command: 'echo no >&2; exit 2' }",
    );
    assert_eq!(
        reply(&mut host, context("before_step", json!({})))["metadata"],
        json!({"n": 1})
    );
    let told = signals(&reply(&mut host, context("after_step", json!({}))));
    assert!(
        told[0].starts_with("error of prints: hook `prints` failed to read the reply: stdout"),
        "{told:?}"
    );
    let told = signals(&reply(
        &mut host,
        context("on_error", json!({"errorList": [{"message": "x"}]})),
    ));
    assert_eq!(
        told,
        ["error of exits: hook `exits` failed to run: exit status 2: no"]
    );
}

/// A hook of another vocabulary that ends the run means the call too; a signal of their own
/// doesn't.
#[test]
fn an_end_of_the_run_blocks_the_tool() {
    let stops = "hooks: [{ name: st, on: PreToolUse, fail: closed, command: 'echo ''{\"stop\":\"enough\"}''' }]";
    let signals_only = "dialect: instructor
hooks: [{ name: own, on: before_tool_use, priority: 9, script: 'return { stopSignals: [{ reason: `user_requested`, message: `mine` }] };' }]";
    for (files, blocked, told) in [
        (
            vec![("n.yaml", stops)],
            true,
            vec!["stop_requested of -: enough"],
        ),
        (
            vec![("i.yaml", signals_only)],
            false,
            vec!["user_requested of own: mine"],
        ),
        (
            vec![("n.yaml", stops), ("i.yaml", signals_only)],
            true,
            vec!["stop_requested of -: enough", "user_requested of own: mine"],
        ),
    ] {
        let dir = hooks(&files);
        let mut host = TestHost::serve(dir.path());
        let reply = reply(&mut host, call("search"));
        assert_eq!(
            (&reply["isToolExecutionBlocked"], signals(&reply)),
            (
                &json!(blocked),
                told.iter().map(|it| it.to_string()).collect()
            )
        );
        let text = blocked.then_some("Error in tool call: enough");
        assert_eq!(
            (
                reply["toolResult"]["content"].as_str(),
                reply["toolExecution"]["error"].as_str()
            ),
            (text, text.map(|_| "enough"))
        );
    }
}

/// Only a hook's word, or a context of their own, makes a call blocked; no other member of a client
/// does.
#[test]
fn a_client_cannot_pass_for_a_hook() {
    let exception = json!({"type": "ToolExecutionBlockedException", "message": "Tool call to 't' ({}) was blocked: No."});
    let flag = "return { isToolExecutionBlocked: true };";
    let list = "return { errorList: [{ type: 'ToolExecutionBlockedException', message: `Tool call to 't' ({}) was blocked: No.` }] };";
    for script in [flag, list] {
        let (mut host, _dir) = TestHost::with(&format!(
            "dialect: instructor\nhooks:\n  - name: h\n    on: before_tool_use\n    script: |\n      {script}"
        ));
        for more in [
            json!({}),
            json!({"blocked": ""}),
            json!({"hookwire:blocked": ""}),
            json!({"errors": [exception]}),
        ] {
            let mut event =
                json!({"event": "PreToolUse", "session": "s", "tool": {"name": "t", "input": {}}});
            merge(&mut event, &more);
            assert_eq!(host.dispatch(event)["decision"], "deny", "{script} {more}");
            let mut payload = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "t", "tool_input": {}});
            merge(&mut payload, &more);
            let told = host.request(
                "hooks/dispatch",
                json!({"dialect": "claude-code", "payload": payload}),
            );
            assert_eq!(told["verdict"]["decision"], "deny", "{script} {more}");
            let mut theirs = call("t");
            merge(&mut theirs, &more);
            assert_eq!(
                dispatch(&mut host, theirs)["verdict"]["decision"],
                "deny",
                "{script} {more}"
            );
        }
    }
    // What arrives blocked is answered so, and who gives it back says so.
    let (mut bare, _dir) = TestHost::with("dialect: instructor\nhooks: []");
    let (mut host, _dir) = TestHost::with(
        "dialect: instructor\nhooks: [{ name: h, on: before_tool_use, script: 'return event;' }]",
    );
    for (more, text) in [
        (
            json!({"isToolExecutionBlocked": true, "toolExecution": {"error": "Not now."}}),
            "Error in tool call: Not now.",
        ),
        (
            json!({"isToolExecutionBlocked": true}),
            "Error in tool call: Execution blocked by hook: HookContext(",
        ),
        (
            json!({"errorList": [exception]}),
            "Error in tool call: Tool call to",
        ),
    ] {
        let mut theirs = call("t");
        merge(&mut theirs, &more);
        for (host, decision) in [(&mut bare, "allow"), (&mut host, "deny")] {
            let told = dispatch(host, theirs.clone());
            assert_eq!(told["verdict"]["decision"], decision, "{told}");
            assert_eq!(told["reply"]["isToolExecutionBlocked"], true);
            assert!(
                told["reply"]["toolResult"]["content"]
                    .as_str()
                    .unwrap()
                    .starts_with(text),
                "{told}"
            );
        }
    }
}

/// Adds members to an object.
fn merge(to: &mut Value, more: &Value) {
    to.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
}

/// A sub-agent that tells whose execution started it counts towards that one, however deep.
#[test]
fn sub_agents_count_towards_their_parent() {
    let (mut host, _dir) = TestHost::with(
        "hooks: [{ name: limit, on: PreToolUse, guard: { step-limit: { max: 2 } }, fail: closed }]",
    );
    for (state, blocked) in [
        (json!({"agentId": "A", "executionId": "e1"}), Value::Null),
        (
            json!({"agentId": "B", "executionId": "e2", "parentAgentId": "A", "parentExecutionId": "e1"}),
            Value::Null,
        ),
        (
            json!({"agentId": "C", "executionId": "e3", "parentAgentId": "B", "parentExecutionId": "e2"}),
            json!(true),
        ),
        (json!({"agentId": "A", "executionId": "e1"}), json!(true)),
        // Nor is it let off by another parent later.
        (
            json!({"agentId": "A", "executionId": "e1", "parentExecutionId": "zz"}),
            json!(true),
        ),
        (
            json!({"agentId": "D", "executionId": "e4", "parentAgentId": "A"}),
            Value::Null,
        ),
    ] {
        let mut payload = call("t");
        payload["state"] = state.clone();
        assert_eq!(
            reply(&mut host, payload)["isToolExecutionBlocked"],
            blocked,
            "{state}"
        );
    }
}

/// Null means "as it was" there: what is withheld is empty, and what is rewritten is in the
/// messages.
#[test]
fn what_is_withheld_does_not_come_back() {
    let crash =
        "hooks: [{ name: c, on: [PostModelCall, StepEnd, RunEnd], fail: closed, command: exit 7 }]";
    let redact = "hooks: [{ name: r, on: [PostModelCall, StepEnd, RunEnd], fail: closed, script: 'return { subject: `clean` };' }]";
    let messages =
        json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "the secret"}]);
    for (file, content, response) in [
        (
            crash,
            "",
            json!({"content": "", "toolCalls": [], "data": {}, "finishReason": "stop", "usage": {"output": 3}, "n": null}),
        ),
        (redact, "clean", json!("clean")),
    ] {
        let dir = hooks(&[("n.yaml", file)]);
        let mut host = TestHost::serve(dir.path());
        for (trigger, own) in [("after_step", "lastMessage"), ("after_execution", "result")] {
            let mut payload = context(
                trigger,
                json!({"state": {"agentId": "a", "messages": messages}}),
            );
            let told = reply(&mut host, payload.clone());
            assert_eq!(
                told["state"]["messages"],
                json!([messages[0], {"role": "assistant", "content": content}])
            );
            assert!(!told.to_string().contains("secret"), "{told}");
            payload[own] = "the secret".into();
            let told = reply(&mut host, payload);
            assert_eq!(
                (&told[own], told.to_string().contains("secret")),
                (&json!(content), false),
                "{told}"
            );
        }
        let given = json!({"content": "the secret", "toolCalls": [1], "data": {"a": 1}, "finishReason": "stop", "usage": {"output": 3}, "n": 4});
        let told = reply(
            &mut host,
            context(
                "after_inference_response",
                json!({ "inferenceResponse": given }),
            ),
        );
        assert_eq!(told["inferenceResponse"], response);
    }
}

/// A start that is no time is not told: the hook's own clock runs.
#[test]
fn odd_times_do_not_switch_the_limit_off() {
    for start in [
        json!("inf"),
        json!("nan"),
        json!(true),
        json!("soon"),
        json!(-5),
        json!("9e99"),
        json!("2999-01-01T00:00:00Z"),
    ] {
        let (mut host, _dir) = TestHost::with(
            "dialect: instructor\nuseGuards: { maxSteps: null, maxTokens: null, maxExecutionTime: 10.0 }",
        );
        let mut step = |at: &str| {
            let state = json!({"agentId": "a", "executionStartedAt": start});
            signals(&reply(
                &mut host,
                context("before_step", json!({"state": state, "createdAt": at})),
            ))
        };
        assert_eq!(
            step("2026-01-01T00:00:00Z"),
            Vec::<String>::new(),
            "{start}"
        );
        assert_eq!(
            step("2026-01-01T00:00:20Z"),
            ["time_limit of guard:time_limit: Execution time limit reached: 20.00s/10.00s"],
            "{start}"
        );
    }
}

/// A member that was sent as null is null in the reply, whatever a hook changes: PHP reads it by
/// its key.
#[test]
fn members_that_are_null_stay() {
    let yaml = "dialect: instructor
hooks: [{ name: h, on: '*', script: 'return { metadata: { seen: 1 }, state: { metadata: { more: 2 } } };' }]";
    let (mut host, _dir) = TestHost::with(yaml);
    let nothing = json!({"agentId": "a", "parentAgentId": null, "systemPrompt": null, "messages": null, "mine": null,
        "responseFormat": null, "finishReason": null, "metadata": {"kept": null}});
    for (trigger, more) in [
        (
            "before_step",
            json!({"toolCall": null, "toolExecution": null, "inferenceRequest": null, "updatedAt": null}),
        ),
        (
            "before_tool_use",
            json!({"toolCall": {"id": null, "name": "t", "arguments": {"x": null}}, "toolExecution": null}),
        ),
        (
            "after_tool_use",
            json!({"toolExecution": {"toolCall": {"id": null, "name": "t", "arguments": null}, "result": 1, "error": null}}),
        ),
        (
            "on_error",
            json!({"errorList": [{"type": "E", "message": null}], "own": {"deep": {"x": null}}}),
        ),
    ] {
        let mut sent = context(trigger, more);
        sent["state"] = nothing.clone();
        let reply = reply(&mut host, sent.clone());
        assert_eq!(
            (
                &reply["metadata"]["seen"],
                &reply["state"]["metadata"]["more"]
            ),
            (&json!(1), &json!(2)),
            "{reply}"
        );
        assert_eq!(
            lost(&sent, &reply, ""),
            Vec::<String>::new(),
            "{trigger}: {reply}"
        );
    }
}

/// The members that are null in one value and not there in another.
fn lost(sent: &Value, got: &Value, at: &str) -> Vec<String> {
    let (Some(sent), Some(got)) = (sent.as_object(), got.as_object()) else {
        return Vec::new();
    };
    let lost = sent.iter().flat_map(|(key, value)| match got.get(key) {
        None if value.is_null() => vec![format!("{at}/{key}")],
        None => Vec::new(),
        Some(inner) => lost(value, inner, &format!("{at}/{key}")),
    });
    lost.collect()
}

/// The document speaks of `StepsLimitReached`, the wire of `steps_limit`. Each is understood, and
/// leads to its guard.
#[test]
fn reasons_go_by_the_names_of_the_document_too() {
    for (name, word, guard) in [
        ("StepsLimitReached", "steps_limit", "step-limit"),
        ("TokenLimitReached", "token_limit", "token-limit"),
        ("TimeLimitReached", "time_limit", "time-limit"),
    ] {
        let script = format!("return {{ stopSignals: [{{ reason: `{name}`, message: `m` }}] }};");
        let yaml = format!(
            "dialect: instructor\nhooks: [{{ name: h, on: before_step, script: '{script}' }}]"
        );
        let (mut host, _dir) = TestHost::with(&yaml);
        let reply = reply(&mut host, context("before_step", json!({})));
        assert_eq!(signals(&reply), [format!("{word} of h: m")], "{reply}");
        let found = hookwire().args(["docs", name]).output().unwrap();
        let text = String::from_utf8(found.stdout).unwrap();
        assert!(
            text.contains(word) && text.contains(guard),
            "{name}: {text}"
        );
    }
}
