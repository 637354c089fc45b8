//! Tools of MCP servers as hooks, through the built binary: what each result comes to, how a server
//! lives and dies, and what it gets to see.

use crate::support::*;
use serde_json::{Value, json};
use std::path::Path;

/// A server of tests/data/mcp, as a definition has it.
fn server() -> String {
    format!(
        "{{ command: [python3, {}] }}",
        repo("tests/data/mcp/server.py").display()
    )
}

/// A hook that calls a tool.
fn hook(name: &str, on: &str, tool: &str, rest: &str) -> String {
    let server = server();
    format!(
        "  - {{ name: {name}, on: {on}, fail: closed, mcp: {{ server: {server}, tool: {tool}{rest} }} }}\n"
    )
}

/// A host whose hooks each judge one tool, named like the MCP tool that they call.
fn host(tools: &[&str]) -> (TestHost, tempfile::TempDir) {
    let mut yaml = String::from("hooks:\n");
    for tool in tools {
        let server = server();
        yaml += &format!(
            "  - {{ name: {tool}, on: [PreToolUse, PostToolUse], matcher: {tool}, fail: closed, mcp: {{ server: {server}, tool: {tool}, arguments: {{ file: '${{tool.input.file}}', command: '${{tool.input.command}}', nested: [1, '<${{session}}>'] }} }} }}\n"
        );
    }
    TestHost::with(&yaml)
}

fn event(name: &str, tool: &str, input: Value) -> Value {
    json!({"event": name, "session": "s", "tool": {"name": tool, "input": input, "output": "o"}})
}

fn ask(host: &mut TestHost, tool: &str) -> String {
    let verdict = host.dispatch(event("PreToolUse", tool, json!({})));
    let outcome = &verdict["outcomes"][0];
    let text = |key: &str| outcome[key].as_str().unwrap_or_default();
    format!(
        "{}: {}{}",
        verdict["decision"].as_str().unwrap(),
        text("reason"),
        text("error")
    )
}

/// The number in an answer's reason.
fn pid(host: &mut TestHost) -> u32 {
    ask(host, "pid")
        .rsplit(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn what_a_result_comes_to() {
    if !is_there("python3") {
        return;
    }
    let tools = [
        "judge",
        "text",
        "wrapped",
        "wrapped_object",
        "image",
        "echo",
        "chat",
        "nothing",
        "misspelt",
        "twice",
        "fails",
        "big",
        "asks",
    ];
    let (mut host, _dir) = host(&tools);
    let deny = host.dispatch(event("PreToolUse", "judge", json!({"command": "rm -rf /"})));
    assert_eq!(brief(&deny), "deny by judge: not rm -rf /");
    for (tool, expected) in [
        ("judge", "allow: "),
        ("wrapped", "allow: unwrapped"),
        // One placeholder is the value itself, and what isn't there is null.
        (
            "echo",
            r#"allow: {"command": null, "file": null, "nested": [1, "<s>"]}"#,
        ),
        ("wrapped_object", "deny: inside"),
        (
            "image",
            "deny: failed to read the result of tool `image`: it has no text and no structured content",
        ),
        ("nothing", "allow: "),
        ("asks", "allow: refused decline empty"),
        (
            "chat",
            "deny: failed to read the result of tool `chat`: it is not a JSON object: all is well",
        ),
        (
            "misspelt",
            "deny: failed to read the reply: unknown field `decison`",
        ),
        (
            "text",
            "deny: failed to read the reply: unknown field `command`",
        ),
        (
            "twice",
            "deny: failed to read the result of tool `twice`: duplicate key `decision`",
        ),
        (
            "fails",
            "deny: failed to call tool `fails`: the disk is full",
        ),
        (
            "big",
            "deny: failed to read a tool's result: it has more than 1048576 bytes",
        ),
    ] {
        let got = ask(&mut host, tool);
        assert!(got.starts_with(expected), "{tool}: {got}");
    }
    let chat = host.dispatch(event("PostToolUse", "chat", json!({})));
    assert_eq!(outcomes(&chat), ["chat success"], "{chat}");
}

#[test]
fn one_server_serves_many_and_is_restarted() {
    if !is_there("python3") {
        return;
    }
    let (mut host, _dir) = host(&["pid", "crash", "flood", "judge"]);
    let first = pid(&mut host);
    assert_eq!(pid(&mut host), first);
    let crashed = ask(&mut host, "crash");
    assert!(
        crashed.ends_with(
            "the MCP server `python3 server.py` is gone: it ended by itself (exit status: 3): about to fall over"
        ),
        "{crashed}"
    );
    assert!(!is_alive(first));
    // The next call starts it again; one that keeps failing has to wait.
    let second = pid(&mut host);
    assert_ne!(second, first);
    let flood = ask(&mut host, "flood");
    assert!(
        flood.contains("is gone: it sent a message of more than 4194304 bytes"),
        "{flood}"
    );
    await_end(second, "the flooding server is killed");
    assert_eq!(ask(&mut host, "judge"), "allow: ");
}

#[test]
fn a_server_that_floods_is_ended() {
    if !is_there("python3") {
        return;
    }
    let tools = [
        ("notices", "it flooded stdout with more than 10000 lines"),
        ("garbage", "it flooded stdout with more than 10000 lines"),
        ("frames", "it flooded stdout with more than 33554432 bytes"),
        ("stderr", "it flooded stderr with more than 10000 lines"),
    ];
    for (tool, expected) in tools {
        let (mut host, _dir) = host(&["pid", tool]);
        let server = pid(&mut host);
        let got = ask(&mut host, tool);
        let expected = format!(
            "deny: failed to call tool `{tool}`: the MCP server `python3 server.py` is gone: {expected}"
        );
        assert!(got.starts_with(&expected), "{tool}: {got}");
        await_end(server, "the flooding server is killed");
    }
}

#[test]
fn a_server_that_keeps_failing_has_to_wait() {
    if !is_there("python3") {
        return;
    }
    let (mut host, _dir) = TestHost::with(
        "hooks: [{ name: broken, on: PreToolUse, fail: closed, mcp: { server: { command: [sh, -c, 'echo no such module >&2; exit 7'] }, tool: t } }]",
    );
    let broken = "start the MCP server `sh`: it ended by itself (exit status: 7): no such module";
    for _ in 0..2 {
        assert_eq!(ask(&mut host, "Bash"), format!("deny: failed to {broken}"));
    }
    // Soon it is left alone for longer than a call takes.
    let mut starts = (0..10).map(|_| ask(&mut host, "Bash"));
    let waits = starts.find(|it| it.contains("next attempt")).unwrap();
    let begin = "deny: failed to start the MCP server `sh`: it has failed ";
    assert!(waits.starts_with(begin), "{waits}");
}

#[test]
fn a_cancelled_call_leaves_the_server_up() {
    if !is_there("python3") {
        return;
    }
    let (mut host, dir) = host(&["holds", "pid"]);
    let server = pid(&mut host);
    let file = dir.path().join("held");
    let id = host.ask(
        "hooks/dispatch",
        event("PreToolUse", "holds", json!({"file": file})),
    );
    assert_eq!(pid_in(&file), server);
    host.notify("$/cancelRequest", json!({"id": id}));
    host.reply(id);
    eventually("the request is cancelled", || {
        (read(&file) == "cancelled\n").then_some(())
    });
    assert_eq!(pid(&mut host), server);
    // A time limit does the same.
    let mut late = event("PreToolUse", "holds", json!({"file": file}));
    late["deadlineMs"] = json!(500);
    let verdict = host.dispatch(late);
    assert_eq!(outcomes(&verdict), ["holds cancelled"]);
    eventually("the request is cancelled", || {
        (read(&file) == "cancelled\n").then_some(())
    });
    assert_eq!(pid(&mut host), server);
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

#[test]
fn servers_end() {
    if !is_there("python3") {
        return;
    }
    // When idle.
    let idle = hook("pid", "PreToolUse", "pid", ", idle: 200ms");
    let (mut host, _dir) = TestHost::with(&format!("hooks:\n{idle}"));
    let server = pid(&mut host);
    await_end(server, "the idle server ends");
    assert_ne!(pid(&mut host), server);
    drop(host);
    // With the host, however that ends.
    for kill in [false, true] {
        let (mut host, _dir) =
            TestHost::with(&format!("hooks:\n{}", hook("pid", "PreToolUse", "pid", "")));
        let server = pid(&mut host);
        assert!(is_alive(server));
        if kill {
            host.kill();
        }
        drop(host);
        await_end(server, "the server ends with its host");
    }
}

#[test]
fn what_a_server_sees() {
    if !is_there("python3") {
        return;
    }
    let dir = hooks(&[(
        "hooks.yaml",
        &format!(
            "hooks: [{{ name: environment, on: PreToolUse, fail: closed, mcp: {{ server: {{ command: [python3, {}], env: {{ MINE: '1' }}, inheritEnv: [ASKED_FOR], cwd: . }}, tool: environment }} }}]",
            repo("tests/data/mcp/server.py").display()
        ),
    )]);
    let mut host = TestHost::start(serve(dir.path()).env("SECRET", "x").env("ASKED_FOR", "y"));
    let seen = ask(&mut host, "Bash");
    for name in [
        "ASKED_FOR",
        "HOOKWIRE_CALL_ID",
        "HOOKWIRE_PROJECT_DIR",
        "MINE",
        "PATH",
    ] {
        assert!(seen.contains(name), "{name}: {seen}");
    }
    assert!(!seen.contains("SECRET"), "{seen}");
    assert!(
        seen.ends_with(&format!(
            " in {}",
            dir.path().canonicalize().unwrap().display()
        )),
        "{seen}"
    );
}

#[test]
fn too_many_servers() {
    if !is_there("python3") {
        return;
    }
    let mut yaml = String::from("hooks:\n");
    for n in 0..18 {
        let script = repo("tests/data/mcp/server.py");
        yaml += &format!(
            "  - {{ name: n{n}, on: PreToolUse, matcher: t{n}, fail: closed, mcp: {{ server: {{ command: [python3, {}], env: {{ N: '{n}' }} }}, tool: pid }} }}\n",
            script.display()
        );
    }
    let (mut host, _dir) = TestHost::with(&yaml);
    let mut pids = Vec::new();
    for n in 0..18 {
        let answer = ask(&mut host, &format!("t{n}"));
        pids.push(answer.rsplit(' ').next().unwrap().parse::<u32>().unwrap());
    }
    // Those that were idle longest made room.
    for (n, pid) in pids.iter().enumerate() {
        eventually(&format!("server {n}"), || {
            (is_alive(*pid) == (n >= 2)).then_some(())
        });
    }
}

#[test]
fn mistakes() {
    if !is_there("python3") {
        return;
    }
    let server = server();
    for (mcp, expected) in [
        (
            "{ server: {}, tool: t }".to_string(),
            "the server has neither `command` nor `url`",
        ),
        (
            "{ server: { command: [a], url: 'http://a' }, tool: t }".into(),
            "the server has both `command` and `url`",
        ),
        (
            "{ server: { command: [] }, tool: t }".into(),
            "the command is empty",
        ),
        (
            "{ server: { command: a b }, tool: t }".into(),
            "expected a list of the program and its arguments, such as `[npx, -y, some-server]`, found a string",
        ),
        (
            "{ server: { command: [a], headers: { a: b } }, tool: t }".into(),
            "`headers` are for a server with a `url`",
        ),
        (
            "{ server: { url: 'ftp://a' }, tool: t }".into(),
            "its scheme is not http or https",
        ),
        (
            "{ server: { url: 'http://a', env: { A: b } }, tool: t }".into(),
            "are for a server with a `command`",
        ),
        (
            "{ server: { url: 'http://a', headers: { A: '${env.B}' } }, tool: t }".into(),
            "which `inheritEnv` doesn't name",
        ),
        (
            format!("{{ server: {server}, tool: '' }}"),
            "the tool has no name",
        ),
        (
            format!("{{ server: {server}, tool: t, arguments: [] }}"),
            "expected a map",
        ),
        (
            format!("{{ server: {server}, tool: t, arguments: {{ a: '${{' }} }}"),
            "a placeholder `${` is not closed",
        ),
        (
            format!("{{ server: {server}, tol: t }}"),
            "did you mean `tool`?",
        ),
    ] {
        let dir = hooks(&[(
            "hooks.yaml",
            &format!("hooks:\n  - name: a\n    on: Stop\n    fail: open\n    mcp: {mcp}\n"),
        )]);
        let output = hookwire()
            .args(["check", "--isolated", "--hooks"])
            .arg(dir.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert!(
            text.contains(expected) && text.contains("hooks.yaml:5"),
            "{mcp}: {text}"
        );
    }
    // What only the server can tell.
    let (mut host, _dir) =
        TestHost::with(&format!("hooks:\n{}", hook("a", "PreToolUse", "jugde", "")));
    assert_eq!(
        ask(&mut host, "Bash"),
        "deny: failed to call tool `jugde`: the MCP server `python3 server.py` has no such tool; did you mean `judge`?"
    );
}

#[test]
fn an_endpoint_where_nobody_is() {
    if !is_there("python3") {
        return;
    }
    let port = closed_port();
    let (mut host, _dir) = TestHost::with(&format!(
        "hooks: [{{ name: a, on: PreToolUse, fail: closed, mcp: {{ server: {{ url: 'http://127.0.0.1:{port}/mcp?key=secret' }}, tool: t }} }}]"
    ));
    let answer = ask(&mut host, "Bash");
    let expected = format!(
        "deny: failed to start the MCP server `127.0.0.1:{port}`: send initialize request: Connection refused"
    );
    assert!(
        answer.starts_with(&expected) && !answer.contains("secret"),
        "{answer}"
    );
}

#[test]
fn an_endpoint_of_a_stranger_is_out_of_reach() {
    if !is_there("python3") {
        return;
    }
    for url in [
        "http://127.0.0.1:9/mcp?key=secret",
        "http://[::1]:9/",
        "http://169.254.169.254/",
    ] {
        let (mut host, _dir) = TestHost::with("hooks: []");
        // What is registered over the wire is not trusted.
        host.request("initialize", json!({"capabilities": {}}));
        let hook = json!({"name": "a", "on": "PreToolUse", "fail": "closed", "mcp": {"server": {"url": url}, "tool": "t"}});
        let refused = host.refused("hooks/register", json!({"hooks": [hook]}));
        let message = refused["message"].as_str().unwrap();
        assert!(
            message.starts_with("invalid params: hook `a`: the hook can't reach ")
                && !message.contains("secret")
        );
        assert!(
            message.contains("(allow it with --allow-host "),
            "{message}"
        );
    }
}

/// Python with the MCP SDK, as `.ci/mcp` installs it. Without it the tests below test nothing, and
/// say so.
fn sdk() -> Option<std::path::PathBuf> {
    let wanted = std::env::var_os("HOOKWIRE_MCP_SDK");
    let python = wanted
        .clone()
        .map_or_else(|| repo("target/mcp-sdk/bin/python"), Into::into);
    if python.exists() {
        return Some(python);
    }
    assert!(
        wanted.is_none(),
        "HOOKWIRE_MCP_SDK names {}, which isn't there",
        python.display()
    );
    tried_elsewhere("no MCP SDK is installed; .ci/mcp installs it");
    None
}

/// What a server of the SDK comes to, however it is reached.
fn converse_with_the_sdk(server: &str) {
    let mut yaml = String::from("defaults: { fail: closed }\nhooks:\n");
    for tool in ["judge", "as_text", "nothing", "fails", "holds"] {
        let arguments = match tool {
            "judge" | "as_text" => "{ command: '${tool.input.command}' }",
            "holds" => "{ file: '${tool.input.file}' }",
            _ => "{}",
        };
        yaml += &format!(
            "  - {{ name: {tool}, on: PreToolUse, matcher: {tool}, mcp: {{ server: {server}, tool: {tool}, arguments: {arguments} }} }}\n"
        );
    }
    let (mut host, dir) = TestHost::with(&yaml);
    let push = json!({"command": "git push"});
    for (tool, expected) in [
        ("judge", "deny by judge: not git push"),
        ("as_text", "deny by as_text: in a text"),
        ("nothing", "allow"),
        (
            "fails",
            "deny by fails: hook `fails` failed to call tool `fails`: Error executing tool fails",
        ),
    ] {
        let verdict = host.dispatch(event("PreToolUse", tool, push.clone()));
        assert_eq!(brief(&verdict), expected, "{server}");
    }
    let file = dir.path().join("held");
    let id = host.ask(
        "hooks/dispatch",
        event("PreToolUse", "holds", json!({"file": file})),
    );
    let server_pid = pid_in(&file);
    host.notify("$/cancelRequest", json!({"id": id}));
    host.reply(id);
    eventually("the request is cancelled", || {
        (read(&file) == "cancelled\n").then_some(())
    });
    assert!(is_alive(server_pid));
    assert_eq!(
        brief(&host.dispatch(event("PreToolUse", "judge", push))),
        "deny by judge: not git push"
    );
}

#[test]
fn sdk_over_stdio() {
    if !is_there("python3") {
        return;
    }
    let Some(python) = sdk() else { return };
    let script = repo("tests/data/mcp/sdk_server.py");
    converse_with_the_sdk(&format!(
        "{{ command: [{}, {}] }}",
        python.display(),
        script.display()
    ));
}

#[test]
fn sdk_over_http() {
    if !is_there("python3") {
        return;
    }
    let Some(python) = sdk() else { return };
    let mut server = std::process::Command::new(python);
    let server = server
        .arg(repo("tests/data/mcp/sdk_server.py"))
        .arg("http")
        .stdout(std::process::Stdio::piped());
    let mut server = server.stderr(std::process::Stdio::null()).spawn().unwrap();
    let mut port = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(server.stdout.take().unwrap()),
        &mut port,
    )
    .unwrap();
    let port = port.trim_end();
    let result = std::panic::catch_unwind(|| {
        converse_with_the_sdk(&format!("{{ url: 'http://127.0.0.1:{port}/mcp' }}"))
    });
    server.kill().unwrap();
    server.wait().unwrap();
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}
