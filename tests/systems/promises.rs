//! Promises of the five systems to the letter, where no example shows them: one order across files
//! and the wire, a "no" where nothing can be refused, modules that aren't there, defaults.

use crate::support::*;
use hookwire::agent_hook::*;
use hookwire::async_trait;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

fn ask(host: &mut TestHost, dialect: &str, payload: Value) -> Value {
    host.request(
        "hooks/dispatch",
        json!({"dialect": dialect, "payload": payload}),
    )
}

fn names(result: &Value) -> Vec<&str> {
    result["verdict"]["outcomes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["hook"].as_str().unwrap())
        .collect()
}

/// Where a system knows one list, hooks of files and those that a client registers stand in it as
/// people ordered them.
#[test]
fn files_and_the_wire_are_one_list() {
    let quiet = json!("return;");
    for (dialect, file, registered, payload, expected) in [
        (
            "workflow-framework",
            "hooks: [{ name: late, matcher: PreToolCall, priority: 200, command: 'true' }, { name: audit, matcher: PreToolCall, command: 'true' }]",
            json!([
                {"name": "code", "matcher": "PreToolCall", "script": quiet},
                {"name": "first", "matcher": "PreToolCall", "priority": 1, "script": quiet},
            ]),
            json!({"Event": "PreToolCall", "ToolName": "t"}),
            &["first", "audit", "code", "late"][..],
        ),
        (
            "instructor",
            "useGuards: { maxSteps: 9, maxTokens: null, maxExecutionTime: null, finishReasons: [stop] }",
            json!([
                {"name": "business", "on": "before_step", "script": quiet},
                {"name": "safety", "on": "before_step", "priority": 300, "script": quiet},
            ]),
            json!({"triggerType": "before_step", "state": {"stepCount": 1}}),
            &["safety", "guard:steps_limit", "business"],
        ),
        (
            "instructor",
            "useGuards: { maxSteps: 9, maxTokens: null, maxExecutionTime: null, finishReasons: [stop] }",
            json!([{"name": "cleanup", "on": "after_step", "priority": -100, "script": quiet}]),
            json!({"triggerType": "after_step", "state": {"stepCount": 1, "finishReason": "length"}}),
            &["cleanup", "guard:finish_reason"],
        ),
        (
            "agent-hook-trait",
            "hooks: [{ name: guardrail, on: [pre_turn, post_turn], priority: 10, script: 'return;' }, { name: metrics, on: [pre_turn, post_turn], script: 'return;' }]",
            json!([{"name": "logging", "on": ["pre_turn", "post_turn"], "priority": 50, "script": quiet}]),
            json!({"method": "pre_turn", "input": {"message": "m"}}),
            &["guardrail", "logging", "metrics"],
        ),
        (
            "agent-hook-trait",
            "hooks: [{ name: guardrail, on: [pre_turn, post_turn], priority: 10, script: 'return;' }, { name: metrics, on: [pre_turn, post_turn], script: 'return;' }]",
            json!([{"name": "logging", "on": ["pre_turn", "post_turn"], "priority": 50, "script": quiet}]),
            json!({"method": "post_turn", "input": {"message": "m"}, "output": {"message": "o"}}),
            &["metrics", "logging", "guardrail"],
        ),
        // What replaces skips the rest of the list, those of files too.
        (
            "agent-hook-trait",
            "hooks: [{ name: file, on: pre_turn, script: 'return;' }]",
            json!([{"name": "wire", "on": "pre_turn", "priority": 1, "script": "return {action: 'Replace', value: {message: 'r'}};"}]),
            json!({"method": "pre_turn", "input": {"message": "m"}}),
            &["wire", "file"],
        ),
    ] {
        let (mut host, _dir) = TestHost::with(&format!("dialect: {dialect}\n{file}"));
        host.request(
            "hooks/register",
            json!({"dialect": dialect, "hooks": registered}),
        );
        let result = ask(&mut host, dialect, payload);
        assert_eq!(names(&result), expected, "{dialect}: {result}");
        if registered[0]["name"] == "wire" {
            assert_eq!(result["verdict"]["outcomes"][1]["status"], "skipped");
        }
    }
}

/// The same list for a client of another vocabulary, which ends for the layers within and for no
/// outer one.
#[test]
fn a_list_is_one_for_clients_of_others() {
    let (mut host, _dir) = TestHost::with(
        "dialect: workflow-framework\nhooks: [{ name: late, matcher: PreToolCall, priority: 200, command: 'true' }, { name: audit, matcher: PreToolCall, command: 'true' }]",
    );
    let first = json!({"name": "first", "matcher": "PreToolCall", "priority": 1, "script": "return HookResult.DenyResult('no');"});
    let code = json!({"name": "code", "matcher": "PreToolCall", "script": "return;"});
    host.request(
        "hooks/register",
        json!({"dialect": "workflow-framework", "hooks": [code, first]}),
    );
    let verdict = host.dispatch(json!({"event": "PreToolUse", "tool": {"name": "t", "input": {}}}));
    let outcomes = verdict["outcomes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| json!([it["hook"], it["status"]]));
    let expected = json!([
        ["first", "blocking"],
        ["audit", "success"],
        ["code", "skipped"],
        ["late", "success"]
    ]);
    assert_eq!(
        (&verdict["decision"], Value::from_iter(outcomes)),
        (&json!("deny"), expected),
        "{verdict}"
    );
}

/// A "no" where the system has none: its own clients find it in the reply and pass it over, others
/// hear no "no", and both are told that it counts for nothing.
#[test]
fn a_no_that_nobody_takes_is_an_error() {
    for (dialect, hook, payload, native, what) in [
        (
            "workflow-framework",
            "{ name: h, matcher: Checkpoint, command: 'exit 3' }",
            json!({"Event": "Checkpoint"}),
            json!({"event": "Checkpoint"}),
            "failed to deny: workflow-framework takes no \"no\" at Checkpoint: Command exited with code 3",
        ),
        (
            "hooks-article",
            "{ name: h, event: SessionEnd, mode: command, command: 'echo no >&2; exit 2' }",
            json!({"event": "SessionEnd"}),
            json!({"event": "SessionEnd"}),
            "failed to deny: hooks-article takes no \"no\" at SessionEnd: no",
        ),
        (
            "agent-hook-trait",
            "{ name: h, on: post_compaction, command: 'echo no >&2; exit 2' }",
            json!({"method": "post_compaction"}),
            json!({"event": "PostCompact"}),
            "failed to deny: agent-hook-trait takes no \"no\" at post_compaction: no",
        ),
        (
            "instructor",
            "{ name: h, on: on_stop, deny: 'no' }",
            json!({"triggerType": "on_stop", "state": {}}),
            json!({"event": "Stop"}),
            "failed to deny: instructor takes no \"no\" at on_stop: no",
        ),
        (
            "agentpool",
            "{ name: h, on: post_tool_use, command: 'echo no >&2; exit 2' }",
            json!({"event": "post_tool_use", "tool_name": "Bash", "tool_input": {}, "tool_output": "o"}),
            json!({"event": "PostToolUse", "tool": {"name": "Bash", "input": {}, "output": "o"}}),
            "failed to deny: agentpool takes no \"no\" at post_tool_use: no",
        ),
    ] {
        let (mut host, _dir) = TestHost::with(&format!("dialect: {dialect}\nhooks: [{hook}]"));
        let own = ask(&mut host, dialect, payload);
        assert_eq!(own["verdict"]["outcomes"][0]["error"], what, "{own}");
        match dialect {
            "workflow-framework" => assert_eq!(own["reply"]["Decision"], 1, "{own}"),
            "agentpool" => assert_eq!(
                own["reply"],
                json!({"decision": "deny", "reason": "no"}),
                "{own}"
            ),
            _ => {}
        }
        let verdict = host.dispatch(native);
        let outcome = &verdict["outcomes"][0];
        assert_eq!(
            (&verdict["decision"], &outcome["error"]),
            (&json!("allow"), &json!(what)),
            "{verdict}"
        );
        assert_eq!(
            (&outcome["status"], verdict.get("subject")),
            (&json!("non_blocking_error"), None),
            "{verdict}"
        );
    }
}

/// A module is found beside the file that a link leads to; where it isn't found, a prompt isn't let
/// through by that.
#[test]
fn an_import_path_that_leads_nowhere_lets_nothing_pass() {
    if !is_there("python3") {
        return;
    }
    let file = |path: &str| {
        format!(
            "agents: {{ a: {{ hooks: {{ pre_run: [{{ type: callable, import_path: {path} }}] }} }} }}"
        )
    };
    let dir = hooks(&[
        ("real/hooks.yaml", &file("guard.check")),
        (
            "real/guard.py",
            "def check(**kwargs):\n    return {'decision': 'deny', 'reason': 'found'}\n",
        ),
        ("gone/hooks.yaml", &file("nothing_like_it.check")),
        ("gap/hooks.yaml", &file("guard.nothing_like_it")),
        ("gap/guard.py", ""),
        ("syntax/hooks.yaml", &file("guard.check")),
        ("syntax/guard.py", "def check(**kwargs)\n    pass\n"),
        ("package/hooks.yaml", &file("guard.part.check")),
        ("package/guard/__init__.py", "raise SystemExit\n"),
        ("package/guard/part.py", "def check(**kwargs): pass\n"),
        ("import/hooks.yaml", &file("guard.check")),
        (
            "import/guard.py",
            "from json import nothing_like_it\ndef check(**kwargs): pass\n",
        ),
        ("load/hooks.yaml", &file("guard.check")),
        (
            "load/guard.py",
            "raise RuntimeError\ndef check(**kwargs): pass\n",
        ),
        ("class/hooks.yaml", &file("guard.Check")),
        (
            "class/guard.py",
            "class Check:\n    def __call__(self, **kwargs): pass\n",
        ),
        ("constant/hooks.yaml", &file("guard.CHECK")),
        ("constant/guard.py", "CHECK = {}\n"),
        ("crash/hooks.yaml", &file("guard.check")),
        (
            "crash/guard.py",
            "def check(**kwargs):\n    raise ValueError('mine')\n",
        ),
        ("linked/README", ""),
    ]);
    std::os::unix::fs::symlink("../real/hooks.yaml", dir.path().join("linked/hooks.yaml")).unwrap();
    // What needs no import is told before.
    for (of, told) in [
        ("syntax", "`guard:check` can't be imported: "),
        ("class", "`guard:Check` is a class, which isn't called"),
        ("real", ""),
    ] {
        let mut check = hookwire();
        check
            .args(["check", "--isolated", "--format", "json", "--hooks"])
            .arg(dir.path().join(of));
        let checked: Value = serde_json::from_slice(&check.output().unwrap().stdout).unwrap();
        let said = checked["diagnostics"][0]["message"]
            .as_str()
            .unwrap_or_default();
        assert!(
            said.starts_with(told) && said.is_empty() == told.is_empty(),
            "{of}: {checked}"
        );
    }
    for (of, decision, reason) in [
        ("real", "deny", "found"),
        ("linked", "deny", "found"),
        ("gone", "deny", "nothing_like_it"),
        ("gap", "deny", "nothing_like_it"),
        ("syntax", "deny", "SyntaxError"),
        ("package", "deny", "SystemExit"),
        ("import", "deny", "ImportError"),
        ("load", "deny", "RuntimeError"),
        ("class", "deny", "is a class"),
        ("constant", "deny", "is not a function"),
        ("crash", "allow", "mine"),
    ] {
        let mut host = TestHost::serve(&dir.path().join(of));
        let payload = json!({"event": "pre_run", "agent_name": "a", "prompt": "p"});
        let reply = ask(&mut host, "agentpool", payload)["reply"].take();
        assert_eq!(reply["decision"], decision, "{of}: {reply}");
        assert!(
            reply["reason"].as_str().unwrap().contains(reason),
            "{of}: {reply}"
        );
    }
}

/// Every row of the page's table, as a file of its own.
#[test]
fn what_would_do_nothing_is_told() {
    let page = std::fs::read_to_string("docs/failure.md").unwrap();
    let rows: Vec<(&str, &str)> = page
        .lines()
        .filter_map(|line| {
            line.strip_prefix("| `{")?
                .strip_suffix(" |")?
                .split_once("}` | ")
        })
        .filter(|(text, _)| {
            is_there("python3") || !(text.contains("python") || text.contains("import_path"))
        })
        .collect();
    assert!(rows.len() >= 30, "{}", rows.len());
    let files: Vec<_> = rows
        .iter()
        .enumerate()
        .map(|(n, it)| (format!("{n:02}.yaml"), format!("{{{}}}", it.0)))
        .collect();
    let dir = hooks(
        &files
            .iter()
            .map(|(name, text)| (&**name, &**text))
            .collect::<Vec<_>>(),
    );
    let mut check = hookwire();
    check
        .args(["check", "--isolated", "--format", "json", "--hooks"])
        .arg(dir.path());
    check
        .env_remove("OPENAI_API_KEY")
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("GEMINI_API_KEY");
    let checked: Value = serde_json::from_slice(&check.output().unwrap().stdout).unwrap();
    let diagnostics = checked["diagnostics"].as_array().unwrap();
    for ((name, text), (_, expected)) in files.iter().zip(&rows) {
        let of_file = diagnostics
            .iter()
            .filter(|it| it["file"].as_str().unwrap().ends_with(name));
        let text_of = |it: &Value, key: &str| it[key].as_str().unwrap().to_string();
        let said = of_file.map(|it| {
            format!(
                "{}[{}] {}",
                text_of(it, "severity"),
                text_of(it, "code"),
                text_of(it, "message")
            )
        });
        let said: Vec<String> = said.collect();
        assert!(
            said.iter().any(|it| it.starts_with(expected)),
            "{text}: {expected}\n{said:#?}"
        );
    }
}

/// Whoever registers a function is told whether Python has it.
#[test]
fn a_module_that_isnt_there_is_told_when_it_is_registered() {
    if !is_there("python3") {
        return;
    }
    let (mut host, _dir) = TestHost::with("hooks: []");
    for (python, expected) in [
        (
            "nothing_like_it:f",
            "there is no Python module `nothing_like_it`",
        ),
        (
            "json:nothing_like_it",
            "`json:nothing_like_it`: there is no `nothing_like_it` in ",
        ),
        (
            "json.tool:nothing_like_it",
            "`json.tool:nothing_like_it`: there is no `nothing_like_it` in ",
        ),
        ("json.tool:main", ""),
        ("sys:exit", ""),
    ] {
        let hook = json!({"name": "h", "on": "PreToolUse", "fail": "closed", "callable": {"python": python}});
        let said = host.request("hooks/register", json!({ "hooks": [hook] }))["diagnostics"].take();
        let said: Vec<&str> = said
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["message"].as_str().unwrap())
            .collect();
        assert!(
            said.join("; ").starts_with(expected) && said.is_empty() == expected.is_empty(),
            "{python}: {said:?}"
        );
    }
}

#[test]
fn what_a_command_says_on_stderr_is_in_its_outcome() {
    let (mut host, _dir) = TestHost::with(
        "dialect: workflow-framework\nhooks: [{ name: h, matcher: PreToolCall, command: 'echo why >&2; exit 3' }]",
    );
    let result = ask(
        &mut host,
        "workflow-framework",
        json!({"Event": "PreToolCall", "ToolName": "t"}),
    );
    assert_eq!(result["reply"]["Reason"], "Command exited with code 3");
    assert_eq!(
        result["verdict"]["outcomes"][0]["transcript"],
        json!([{"stderr": "why"}])
    );
}

/// The three ways to make a `HookResult`.
#[test]
fn a_script_makes_results_as_there() {
    for (script, expected) in [
        ("HookResult.AllowResult('fine')", json!([0, "fine", null])),
        ("HookResult.AllowResult()", json!([0, null, null])),
        ("HookResult.DenyResult('no')", json!([1, "no", null])),
        (
            r#"HookResult.ModifyResult('{"a":1}', 'better')"#,
            json!([2, "better", r#"{"a":1}"#]),
        ),
    ] {
        let (mut host, _dir) = TestHost::with(&format!(
            "dialect: workflow-framework\nhooks:\n- name: h\n  matcher: PreToolCall\n  script: |\n    return {script};\n"
        ));
        let payload = json!({"Event": "PreToolCall", "ToolName": "t", "ToolArgs": "{}"});
        let reply = ask(&mut host, "workflow-framework", payload)["reply"].take();
        assert_eq!(
            json!([reply["Decision"], reply["Reason"], reply["ModifiedArgs"]]),
            expected,
            "{script}"
        );
    }
}

/// `useGuards` and the guards by hand, where their settings are zero or empty.
#[test]
fn guards_with_empty_settings() {
    let step = json!({"stepCount": 0, "usage": {"total": 0}, "toolCalls": 3});
    for (file, trigger, expected) in [
        (
            "useGuards: { maxTokens: 0 }",
            "before_step",
            "token_limit: Token limit reached: 0/0",
        ),
        (
            "useGuards: { maxSteps: 0 }",
            "before_step",
            "steps_limit: Step limit reached: 0/0",
        ),
        (
            "useGuards: { maxExecutionTime: 0.0 }",
            "before_step",
            "time_limit: Execution time limit reached: 0.00s/0.00s",
        ),
        (
            "hooks: [{ name: c, on: before_step, guard: { step-limit: { max: 3, counter: state.toolCalls } } }]",
            "before_step",
            "steps_limit: Step limit reached: 3/3",
        ),
        (
            "hooks: [{ name: c, on: before_step, guard: { step-limit: { max: 4, counter: state.toolCalls } } }]",
            "before_step",
            "",
        ),
        (
            "hooks: [{ name: c, on: before_execution, guard: { context-config: { systemPrompt: '', responseFormat: null } } }]",
            "before_execution",
            "",
        ),
    ] {
        let (mut host, _dir) = TestHost::with(&format!("dialect: instructor\n{file}"));
        let mut payload = json!({"triggerType": trigger, "state": step.clone()});
        payload["createdAt"] = json!("1700000000.000000");
        payload["state"]["executionStartedAt"] = json!("1700000000.000000");
        let reply = ask(&mut host, "instructor", payload)["reply"].take();
        let signals = reply["stopSignals"].as_array().cloned().unwrap_or_default();
        let text = |it: &Value| {
            format!(
                "{}: {}",
                it["reason"].as_str().unwrap(),
                it["message"].as_str().unwrap()
            )
        };
        assert_eq!(
            signals.iter().map(text).collect::<Vec<_>>().join("; "),
            expected,
            "{file}: {reply}"
        );
    }
    // The count is one however PHP writes it.
    for count in [json!(30), json!(30.0), json!("30")] {
        let (mut host, _dir) = TestHost::with("dialect: instructor\nuseGuards: { maxSteps: 5 }");
        let payload = json!({"triggerType": "before_step", "state": {"stepCount": count, "usage": {"total": 1}}});
        let reply = ask(&mut host, "instructor", payload)["reply"].take();
        assert_eq!(
            reply["stopSignals"][0]["message"], "Step limit reached: 30/5",
            "{reply}"
        );
    }
    // Native guards still say that a limit of 0 can't be meant.
    let (mut host, _dir) =
        TestHost::with("hooks: [{ name: h, on: Stop, guard: { step-limit: { max: 0 } } }]");
    assert_eq!(
        host.request("hooks/check", json!({}))["diagnostics"][0]["code"],
        "bad-handler"
    );
}

#[test]
fn defaults_and_moments() {
    // `updatedAt` is renewed by a hook that changes something, and `hasErrors` follows the list.
    let (mut host, _dir) = TestHost::with(
        "dialect: instructor\nhooks: [{ name: h, on: on_error, when: has(metadata.go), script: 'return {metadata: {seen: event.hasErrors}};' }]",
    );
    for (go, seen) in [(json!({"go": 1}), json!(true)), (json!({}), Value::Null)] {
        let payload = json!({
            "triggerType": "on_error", "state": {"metadata": go}, "updatedAt": "then",
            "errorList": [{"type": "E", "message": "m"}],
        });
        let reply = ask(&mut host, "instructor", payload)["reply"].take();
        assert_eq!(
            (&reply["metadata"]["seen"], reply["updatedAt"] == "then"),
            (&seen, seen.is_null()),
            "{reply}"
        );
    }
    // A change where agentpool takes none.
    let (mut host, _dir) = TestHost::with(
        r#"agents: { a: { hooks: { pre_run: [{ type: command, command: 'echo "{\"modified_input\": {\"prompt\": 1}}"' }] } } }"#,
    );
    let told = ask(
        &mut host,
        "agentpool",
        json!({"event": "pre_run", "agent_name": "a", "prompt": "p"}),
    );
    let expected =
        "hook `a/pre_run#1`: `modified_input` counts only at pre_tool_use: nothing is changed";
    assert_eq!(told["verdict"]["errors"], json!([expected]), "{told}");
    // agentpool's time limit.
    let (mut host, _dir) = TestHost::with(
        "agents: { a: { hooks: { pre_run: [{ type: command, command: 'true' }] } } }",
    );
    assert_eq!(
        host.request("hooks/list", json!({}))["hooks"][0]["timeoutMs"],
        60_000
    );
}

/// Mode http is a POST, to the path of the URL, with the template as JSON.
#[test]
fn an_http_hook_posts() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (mut host, _dir) = TestHost::with(&format!(
        "dialect: hooks-article\nhooks: [{{ event: PostToolUse, mode: http, url: 'http://localhost:{port}/audit', payload_template: {{ path: $tool_input_path }} }}]"
    ));
    let payload =
        json!({"event": "PostToolUse", "tool_name": "Write", "tool_input": {"file_path": "/a"}});
    let id = host.ask(
        "hooks/dispatch",
        json!({"dialect": "hooks-article", "payload": payload}),
    );
    let (mut stream, _) = listener.accept().unwrap();
    let mut seen = String::new();
    while !seen.ends_with('}') {
        let mut bytes = [0; 4096];
        let n = stream.read(&mut bytes).unwrap();
        seen.push_str(std::str::from_utf8(&bytes[..n]).unwrap());
    }
    stream
        .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
        .unwrap();
    assert!(
        seen.starts_with("POST /audit HTTP/1.1\r\n") && seen.ends_with(r#"{"path":"/a"}"#),
        "{seen}"
    );
    assert_eq!(host.reply(id)["result"]["reply"]["blocked"], false);
}

struct Plain;

#[async_trait]
impl AgentHook for Plain {
    fn name(&self) -> &str {
        "plain"
    }
}

/// A hook that only has a name: priority 100, fails open, and twelve methods that do nothing.
#[tokio::test]
async fn a_hook_overrides_only_what_it_cares_about() {
    let hook = Plain;
    assert_eq!((hook.priority(), hook.fail_open()), (100, true));
    let (ctx, input) = (
        HookContext::default(),
        TurnInput {
            message: "m".into(),
        },
    );
    let (output, error) = (TurnOutput::default(), AgentError::default());
    hook.on_session_start(&ctx).await.unwrap();
    hook.on_session_end(&ctx).await.unwrap();
    assert_eq!(
        hook.pre_turn(&input, &ctx).await.unwrap(),
        HookAction::Continue
    );
    assert_eq!(
        hook.post_turn(&input, &output, &ctx).await.unwrap(),
        HookAction::Continue
    );
    assert_eq!(
        hook.on_turn_error(&input, &error, &ctx).await.unwrap(),
        HookAction::Continue
    );
    assert_eq!(
        hook.pre_llm_call(&[], &[], &ctx).await.unwrap(),
        HookAction::Continue
    );
    assert_eq!(
        hook.post_llm_call(&LlmResponse::default(), &ctx)
            .await
            .unwrap(),
        HookAction::Continue
    );
    assert_eq!(
        hook.on_llm_error(&ProviderError::default(), 1, &ctx)
            .await
            .unwrap(),
        HookAction::Continue
    );
    let (args, grant) = (json!({}), ExecutionGrant::default());
    assert_eq!(
        hook.pre_tool_call("t", &args, &grant, &ctx).await.unwrap(),
        HookAction::Continue
    );
    let result = Ok(DispatchResult::ok("o"));
    assert_eq!(
        hook.post_tool_call("t", &args, &result, Duration::ZERO, &ctx)
            .await
            .unwrap(),
        HookAction::Continue
    );
    assert_eq!(
        hook.pre_compaction(&[], &TokenBudget::default(), &ctx)
            .await
            .unwrap(),
        HookAction::Continue
    );
    hook.post_compaction(1, "s", &ctx).await.unwrap();
}

/// A core is given its hooks with the rest of its agent, and calls them at its points.
#[tokio::test]
async fn an_agents_context_has_its_hooks() {
    let hooks = HookChain::new().with(Plain);
    let events = hooks.events();
    let ctx = AgentContext {
        provider: "p",
        tools: (),
        memory: (),
        policy: (),
        hooks,
        events,
        config: 1,
    };
    let hook_ctx = ctx.hook_context("s1");
    hook_ctx.state.set("k", json!(1));
    let call = ctx
        .hooks
        .run_pre_llm_call(vec![ChatMessage::new("user", "hi")], vec![], &hook_ctx)
        .await
        .unwrap();
    assert_eq!(
        (
            call.messages[0].text().into_owned(),
            ctx.hook_context("s1").state.get("k")
        ),
        ("hi".into(), Some(json!(1)))
    );
}
