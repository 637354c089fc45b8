//! The wire: one reply per request whatever is sent, in both framings, and nothing left behind
//! however a connection ends.

use crate::support::*;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const HOOKS: &str = "hooks: [{ name: no-push, on: PreToolUse, if: Bash(git push*), deny: no }]";
const BOTH: [Framing; 2] = [Framing::Lines, Framing::Headers];
/// How long a host may outlive its client.
const A_SECOND: Duration = Duration::from_secs(1);

fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn push(id: &str) -> String {
    request(id, "hooks/dispatch", &bash("git push").to_string())
}

/// Hooks that wait on `PreToolUse`: this one's process writes its number to `slow.pid` of the
/// directory.
fn slow(dir: &Path, more: &str) -> String {
    let file = dir.join("slow.pid");
    format!(
        "hooks: [{{ name: slow, on: PreToolUse, {more} command: 'echo $$ > {}; exec sleep 30' }}]",
        file.display()
    )
}

/// Serves without a watch: the kernel takes its time to close one.
fn unwatched(dir: &Path) -> Command {
    let mut command = serve(dir);
    command.arg("--poll");
    command
}

fn slow_host(more: &str) -> (TestHost, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("hooks.yaml"), slow(dir.path(), more)).unwrap();
    (TestHost::start(&mut unwatched(dir.path())), dir)
}

/// Sends texts, each as one message, and compares the replies. What comes too much is found with
/// the next one. A text that takes time to judge may be answered after the request behind it.
fn check(rows: &[(String, &[&str])]) {
    for framing in BOTH {
        let dir = hooks(&[("hooks.yaml", HOOKS)]);
        let mut host = TestHost::framed(&mut serve(dir.path()), framing);
        for (sent, expected) in rows {
            host.send_text(sent);
            host.send_text(&request(r#""end of row""#, "hooks/list", "{}"));
            let (mut replies, mut has_ended) = (Vec::new(), false);
            while !has_ended || replies.len() < expected.len() {
                let message = host.receive();
                match message["id"] == "end of row" {
                    true => has_ended = true,
                    false => replies.push(short(&message)),
                }
            }
            assert_eq!(&replies, expected, "{framing:?}: {sent:.300}");
        }
    }
}

#[test]
fn every_message_gets_its_replies() {
    let list = |id: &str| request(id, "hooks/list", "{}");
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    check(&[
        // Requests.
        (list("1"), &["1: ok"]),
        (push("2"), &["2: deny by no-push: no"]),
        (
            request("3", "hooks/dispatch", r#"[{"event":"Stop"}]"#),
            &["3: allow"],
        ),
        (request("4", "hooks/list", "null"), &["4: ok"]),
        (
            r#" {"method":"hooks/list","id":5,"jsonrpc":"2.0"} "#.into(),
            &["5: ok"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":6,"method":"hooks\/list","more":[1]}"#.into(),
            &["6: ok"],
        ),
        // Ids.
        (list("0"), &["0: ok"]),
        (list("18446744073709551615"), &["18446744073709551615: ok"]),
        (list(r#""text""#), &[r#""text": ok"#]),
        (list(r#""""#), &[r#""": ok"#]),
        (list(r#""\u00e9\n""#), &[r#""é\n": ok"#]),
        (list("null"), &["null: ok"]),
        (list("-7"), &["-7: ok"]),
        (push("-7"), &["-7: deny by no-push: no"]),
        (list("1.5"), &["1.5: ok"]),
        (
            request("-8", "hooks/lost", "{}"),
            &["-8: -32601 method not found: `hooks/lost`; did you mean `hooks/list`?"],
        ),
        (
            list("{}"),
            &["null: -32600 invalid request: `id` is a string or a number"],
        ),
        (
            list("[1]"),
            &["null: -32600 invalid request: `id` is a string or a number"],
        ),
        (
            list("true"),
            &["null: -32600 invalid request: `id` is a string or a number"],
        ),
        (
            list(r#""\ud800""#),
            &["null: -32600 invalid request: `id` is a string or a number"],
        ),
        // Notifications, which nothing answers.
        (
            r#"{"jsonrpc":"2.0","method":"hooks/dispatch","params":{"event":"Stop"}}"#.into(),
            &[],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"hooks/dispatch","params":{"event":"Stob"}}"#.into(),
            &[],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#.into(),
            &[],
        ),
        (r#"{"jsonrpc":"2.0","method":"no/such"}"#.into(), &[]),
        (
            r#"{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}"#.into(),
            &[],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":7}}"#.into(),
            &[],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99}}"#.into(),
            &[],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"$/cancelRequest"}"#.into(),
            &[],
        ),
        // Replies to nothing that was asked.
        (r#"{"jsonrpc":"2.0","id":77,"result":null}"#.into(), &[]),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#.into(),
            &[],
        ),
        (r#"{"jsonrpc":"2.0","result":{}}"#.into(), &[]),
        // Batches.
        (
            "[]".into(),
            &["null: -32600 invalid request: a batch has 1 to 1000 messages, found 0"],
        ),
        (format!("[{}]", list("1")), &["[1: ok]"]),
        (
            format!(
                r#"[{},{{"jsonrpc":"2.0","method":"no/such"}},{}]"#,
                list("1"),
                push("2")
            ),
            &["[1: ok, 2: deny by no-push: no]"],
        ),
        (
            r#"[{"jsonrpc":"2.0","method":"no/such"},{"jsonrpc":"2.0","id":9,"result":1}]"#.into(),
            &[],
        ),
        (
            format!(r#"[1,[{}],{{}},[],{}]"#, list("1"), list("2")),
            &[
                "[null: -32600 invalid request: a message is a JSON object, \
               null: -32600 invalid request: a message is a JSON object, \
               null: -32600 invalid request: `method` is missing, \
               null: -32600 invalid request: a message is a JSON object, 2: ok]",
            ],
        ),
        (
            r#"[[1,2,"hooks/list"]]"#.into(),
            &["[null: -32600 invalid request: a message is a JSON object]"],
        ),
        (
            format!("[{},{}]", list("1"), push("1")),
            &[
                "[1: ok, null: -32600 invalid request: the second request was not carried out (id 1 is in flight)]",
            ],
        ),
        (list("1"), &["1: ok"]),
        (
            format!("[{}]", vec!["1"; 1001].join(",")),
            &["null: -32600 invalid request: a batch has 1 to 1000 messages, found 1001"],
        ),
        (
            "[1,".into(),
            &["null: -32700 parse error: EOF while parsing a value at line 1 column 3"],
        ),
        // Methods.
        (
            request("1", "hooks/dipatch", "{}"),
            &["1: -32601 method not found: `hooks/dipatch`; did you mean `hooks/dispatch`?"],
        ),
        (
            request("1", "tools/call", "{}"),
            &["1: -32601 method not found: `tools/call`; did you mean `tools/callable`?"],
        ),
        (
            request("1", "exit", "{}"),
            &["1: -32600 invalid request: `exit` is a notification; send it without `id`"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#.into(),
            &["1: -32600 invalid request: `method` is not a string"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":null}"#.into(),
            &["1: -32600 invalid request: `method` is not a string"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#.into(),
            &["1: -32600 invalid request: `method` is not a string"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1}"#.into(),
            &["1: -32600 invalid request: `method` is missing"],
        ),
        (
            "{}".into(),
            &["null: -32600 invalid request: `method` is missing"],
        ),
        (
            r#"{"jsonrpc":"1.0","id":1,"method":"hooks/list"}"#.into(),
            &["1: -32600 invalid request: `jsonrpc` is not \"2.0\", the only version there is"],
        ),
        (r#"{"id":1,"method":"hooks/list"}"#.into(), &["1: ok"]),
        (
            r#"{"jsonrpc":"2.0","id":-1e999,"method":"hooks/list"}"#.into(),
            &["null: -32600 invalid request: `id` is a string or a number"],
        ),
        // Broken JSON, and JSON that two parsers could read differently.
        (
            r#"{"jsonrpc":"2.0","id":1,"method"}"#.into(),
            &["null: -32700 parse error: expected `:` at line 1 column 33"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"hooks/list"}}"#.into(),
            &["null: -32700 parse error: trailing characters at line 1 column 47"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#.into(),
            &["1: -32600 invalid request: duplicate field `method` at line 1 column 45"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"hooks/list"}"#.into(),
            &["null: -32600 invalid request: duplicate field `id` at line 1 column 28"],
        ),
        (
            request(
                "1",
                "hooks/dispatch",
                r#"{"event":"Stop","a":{"b":1,"b":2}}"#,
            ),
            &["1: -32602 invalid params: duplicate key `b` at line 1 column 30"],
        ),
        (
            request("1", "hooks/check", r#"{"text":"\udc00"}"#),
            &["1: -32602 invalid params: lone leading surrogate in hex escape at line 1 column 15"],
        ),
        // An agent may have cut a text in the middle of a character.
        (
            request("1", "hooks/dispatch", r#"{"event":"Stop","a":"\udc00"}"#),
            &["1: allow"],
        ),
        (
            request(
                "1",
                "hooks/dispatch",
                r#"{"event":"Stop","a":"\udc00","b":1,"b":2}"#,
            ),
            &["1: -32602 invalid params: duplicate key `b` at line 1 column 38"],
        ),
        (
            request(
                "1",
                "hooks/dispatch",
                r#"{"event":"Stop","a":1e9999999999}"#,
            ),
            &["1: -32602 invalid params: number out of range at line 1 column 32"],
        ),
        (
            request("1", "hooks/dispatch", &deep(10_000)),
            &["1: -32602 invalid params: recursion limit exceeded at line 1 column 128"],
        ),
        (
            request(&deep(10_000), "hooks/list", "{}"),
            &["null: -32600 invalid request: `id` is a string or a number"],
        ),
        (
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"hooks/list","x":{}}}"#,
                deep(10_000)
            ),
            &["1: ok"],
        ),
        (
            deep(10_000),
            &["[null: -32600 invalid request: a message is a JSON object]"],
        ),
        (
            format!(r#"{{"a":{}"#, "[".repeat(10_000)),
            &["null: -32700 parse error: EOF while parsing a list at line 1 column 10005"],
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, deep(10_000)),
            &[],
        ),
    ]);
}

/// Bytes as they are, in a process of their own with a limit of 200 bytes; what comes back until it
/// ends.
#[test]
fn broken_frames_cost_nothing_but_themselves() {
    let list = |id: &str| request(id, "hooks/list", "{}");
    let long = request(
        "3",
        "hooks/list",
        &format!(r#"{{"a":"{}"}}"#, "a".repeat(200)),
    );
    let batch = format!(
        "[{}]",
        [list("3"), list("4"), list("5"), list("6")].join(",")
    );
    let line = |junk: &[u8]| {
        [
            list("1").as_bytes(),
            b"\r\n",
            junk,
            b"\n",
            list("2").as_bytes(),
        ]
        .concat()
    };
    let framed = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
    let header = |junk: &str| {
        [framed(&list("1")), junk.into(), framed(&list("2"))]
            .concat()
            .into_bytes()
    };
    let rows: &[(Framing, Vec<u8>, &str)] = &[
        (Framing::Lines, line(b" \r\n\n\t"), ""),
        (
            Framing::Lines,
            line(b"hello"),
            "null: -32700 parse error: expected value at line 1 column 1",
        ),
        (
            Framing::Lines,
            line(b"{\"a\xff\":1}"),
            "null: -32700 parse error: the message is not UTF-8",
        ),
        (
            Framing::Lines,
            line(long.as_bytes()),
            "3: -32600 invalid request: a message of 264 bytes is over the limit of 200 bytes",
        ),
        // Each of its members would do.
        (
            Framing::Lines,
            line(batch.as_bytes()),
            "null: -32600 invalid request: a message of 237 bytes is over the limit of 200 bytes",
        ),
        (Framing::Headers, header("\r\n \n"), ""),
        (
            Framing::Headers,
            header("hello\n"),
            "null: -32600 invalid request: found something else where a Content-Length header belongs",
        ),
        (
            Framing::Headers,
            header(&framed(&long)),
            "3: -32600 invalid request: a message of 264 bytes is over the limit of 200 bytes",
        ),
        (
            Framing::Headers,
            header("Content-Length: 1000000000\r\n\r\n{\"id\":3, and then something else"),
            "3: -32600 invalid request: a message of 1000000000 bytes is over the limit of 200 bytes",
        ),
        (
            Framing::Headers,
            header(&format!("Content-Length: 100\r\n\r\n{}", list("3"))),
            "3: ok",
        ),
        (
            Framing::Headers,
            header("Content-Length: -5\r\n\r\n{\"id\":3}"),
            "null: -32600 invalid request: a Content-Length is not a number of bytes",
        ),
        (
            Framing::Headers,
            header("Content-Length: 0\r\n\r\n"),
            "null: -32600 invalid request: a message of 0 bytes is not JSON",
        ),
        (
            Framing::Headers,
            header("Content-Type: json\r\n\r\n{\"id\":3}"),
            "null: -32600 invalid request: a header block has no Content-Length",
        ),
    ];
    for (framing, sent, expected) in rows {
        let mut host = TestHost::framed(serve(no_hooks()).args(["--max-message", "200"]), *framing);
        host.write(sent);
        let replies: Vec<_> = host.rest().iter().map(short).collect();
        let expected: Vec<_> = ["1: ok", expected, "2: ok"]
            .into_iter()
            .filter(|it| !it.is_empty())
            .collect();
        assert_eq!(replies, expected, "{}", String::from_utf8_lossy(sent));
    }
}

#[test]
fn half_a_message_at_the_end_is_answered() {
    for (framing, sent, expected) in [
        (
            Framing::Lines,
            r#"{"jsonrpc":"2.0","id":1,"#,
            "null: -32700 parse error: EOF while parsing a value at line 1 column 24",
        ),
        (
            Framing::Headers,
            "Content-Length: 99\r\n\r\n{\"id\":1,",
            "1: -32600 invalid request: the input ended within a message",
        ),
    ] {
        let mut host = TestHost::framed(&mut serve(no_hooks()), framing);
        host.write(sent.as_bytes());
        assert_eq!(
            host.rest().iter().map(short).collect::<Vec<_>>(),
            [expected]
        );
    }
}

#[test]
fn replies_may_be_larger_than_a_pipe() {
    for framing in BOTH {
        let mut host = TestHost::framed(&mut serve(no_hooks()), framing);
        let id = "i".repeat(3_000_000);
        let both = request(&format!("\"{id}\""), "hooks/list", "{}");
        host.send_text(&format!("[{both},{}]", request("1", "hooks/list", "{}")));
        assert_eq!(host.receive()[0]["id"], id.as_str());
    }
}

/// A client whose function judges Bash calls: a dispatch waits until the test answers.
fn with_callback(more: Value) -> TestHost {
    with_callback_beside(no_hooks(), more)
}

/// The same, beside the hooks of a directory.
fn with_callback_beside(dir: &Path, more: Value) -> TestHost {
    let mut host = TestHost::serve(dir);
    let mut hook = json!({"name": "ask-client", "on": "PreToolUse", "callback": "review"});
    hook.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    host.request("hooks/register", json!({"hooks": [hook]}));
    host
}

/// The next `hooks/invoke`: its id and the command that it asks about.
fn invoked(host: &mut TestHost) -> (Value, String) {
    let call = host.receive_where(|message| message["method"] == "hooks/invoke");
    assert_eq!(
        (&call["params"]["callback"], &call["params"]["hook"]),
        (&json!("review"), &json!("ask-client"))
    );
    (
        call["id"].clone(),
        call["params"]["event"]["tool"]["input"]["command"]
            .as_str()
            .unwrap()
            .into(),
    )
}

fn answer(host: &mut TestHost, id: &Value, reply: Value) {
    host.send(&json!({"jsonrpc": "2.0", "id": id, "result": reply}));
}

fn dispatch(host: &mut TestHost, id: &str, command: &str) {
    host.send_text(&request(id, "hooks/dispatch", &bash(command).to_string()));
}

#[test]
fn the_client_answers_callbacks() {
    let mut host = with_callback(json!({"fail": "closed"}));
    for (reply, expected) in [
        (
            json!({"result": {"decision": "deny", "reason": "not today"}}),
            "1: deny by ask-client: not today",
        ),
        (json!({"result": null}), "1: allow"),
        (json!({"result": null, "error": null}), "1: allow"),
        (
            json!({"error": {"code": 1, "message": "no such function"}}),
            "1: deny by ask-client: hook `ask-client` failed to call back: the client replied with an error: no such function",
        ),
        (
            json!({"error": "?"}),
            "1: deny by ask-client: hook `ask-client` failed to call back: the client replied with an error",
        ),
        (
            json!({"result": 7}),
            "1: deny by ask-client: hook `ask-client` failed to read the reply: it is not a JSON object",
        ),
    ] {
        dispatch(&mut host, "1", "make");
        let (call, _) = invoked(&mut host);
        let mut message = json!({"jsonrpc": "2.0", "id": call});
        message
            .as_object_mut()
            .unwrap()
            .extend(reply.as_object().unwrap().clone());
        host.send(&message);
        assert_eq!(short(&host.receive()), expected, "{reply}");
        // A second reply to the same question is a reply to nothing.
        host.send(&message);
    }
}

#[test]
fn callbacks_nest_and_finish_in_any_order() {
    let mut host = with_callback(json!({}));
    let calls: Vec<_> = (1..=200)
        .map(|id| {
            dispatch(&mut host, &id.to_string(), &format!("make {id}"));
            invoked(&mut host)
        })
        .collect();
    for (id, (call, command)) in calls.iter().enumerate().rev() {
        answer(
            &mut host,
            call,
            json!({"decision": "deny", "reason": command}),
        );
        assert_eq!(
            short(&host.receive()),
            format!("{}: deny by ask-client: {command}", id + 1)
        );
    }
}

#[test]
fn a_callback_without_an_answer_times_out_in_its_direction() {
    let mut host = with_callback(json!({"timeout": "30ms", "fail": "closed"}));
    dispatch(&mut host, "1", "make");
    let (call, _) = invoked(&mut host);
    let withdrawn = host.receive();
    assert_eq!(
        (&withdrawn["method"], &withdrawn["params"]["id"]),
        (&json!("$/cancelRequest"), &call)
    );
    let reply = short(&host.receive());
    assert!(
        reply.starts_with(
            "1: deny by ask-client: hook `ask-client` failed to finish within its timeout"
        ),
        "{reply}"
    );
}

#[test]
fn cancelling_reaches_the_callback() {
    let mut host = with_callback(json!({}));
    // The same id in another spelling.
    dispatch(&mut host, r#""\u00e9""#, "make");
    let (call, _) = invoked(&mut host);
    host.notify("$/cancelRequest", json!({"id": "é"}));
    assert_eq!(host.receive()["params"]["id"], call);
    assert_eq!(short(&host.receive()), r#""é": -32800 cancelled"#);
    answer(&mut host, &call, json!({"decision": "deny"}));
}

#[test]
fn cancelling_ends_the_process() {
    let (mut host, dir) = slow_host("");
    let id = host.ask("hooks/dispatch", bash("make"));
    let pid = pid_in(&dir.path().join("slow.pid"));
    host.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(host.reply(id)["error"]["code"], -32800);
    await_end(pid, "the process is gone");
}

/// What was cancelled has not been judged.
#[test]
fn a_once_hook_judges_what_comes_again_after_it_was_cancelled() {
    let (mut host, dir) = slow_host("once: true, fail: closed,");
    let id = host.ask("hooks/dispatch", bash("make"));
    let pid = pid_in(&dir.path().join("slow.pid"));
    host.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(host.reply(id)["error"]["code"], -32800);
    await_end(pid, "the process is gone");
    std::fs::remove_file(dir.path().join("slow.pid")).unwrap();
    let id = host.ask("hooks/dispatch", bash("make"));
    let again = pid_in(&dir.path().join("slow.pid"));
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(again.cast_signed()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    assert_eq!(host.reply(id)["result"]["decision"], "deny");
    assert_eq!(outcomes(&host.dispatch(bash("make"))), ["slow skipped"]);
}

#[test]
fn an_id_in_flight_belongs_to_its_request() {
    let mut host = with_callback(json!({}));
    dispatch(&mut host, "1", "make");
    let (call, _) = invoked(&mut host);
    // Nothing but the first request's reply comes under its id.
    for (sent, expected) in [
        (
            push("1"),
            "null: -32600 invalid request: the second request was not carried out (id 1 is in flight)",
        ),
        (
            request("1", "no/such", "{}"),
            "null: -32600 invalid request: the second request was not carried out (id 1 is in flight)",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1}"#.into(),
            "null: -32600 invalid request: `method` is missing (id 1 is in flight)",
        ),
        (
            format!("[{}]", push("1")),
            "[null: -32600 invalid request: the second request was not carried out (id 1 is in flight)]",
        ),
    ] {
        host.send_text(&sent);
        assert_eq!(short(&host.receive()), expected, "{sent}");
    }
    answer(
        &mut host,
        &call,
        json!({"decision": "deny", "reason": "first"}),
    );
    assert_eq!(short(&host.receive()), "1: deny by ask-client: first");
    dispatch(&mut host, "1", "make");
    let (call, _) = invoked(&mut host);
    answer(
        &mut host,
        &call,
        json!({"decision": "deny", "reason": "second"}),
    );
    assert_eq!(short(&host.receive()), "1: deny by ask-client: second");
}

#[test]
fn a_batch_is_answered_when_its_last_member_is() {
    let mut host = with_callback(json!({}));
    let list = request("3", "hooks/list", "{}");
    let ask = |id: &str| request(id, "hooks/dispatch", &bash("make").to_string());
    let note = r#"{"jsonrpc":"2.0","method":"hooks/dispatch","params":{"event":"Stop"}}"#;
    host.send_text(&format!("[{},{note},{},{list}]", ask("1"), ask("2")));
    let ((first, _), (second, _)) = (invoked(&mut host), invoked(&mut host));
    // The list is done, but nobody has been told: its id is not free yet.
    host.send_text(&list);
    let refused =
        "null: -32600 invalid request: the second request was not carried out (id 3 is in flight)";
    assert_eq!(short(&host.receive()), refused);
    host.notify("$/cancelRequest", json!({"id": 2}));
    assert_eq!(host.receive()["params"]["id"], second);
    answer(
        &mut host,
        &first,
        json!({"decision": "deny", "reason": "no"}),
    );
    let mut replies: Vec<_> = host
        .receive()
        .as_array()
        .unwrap()
        .iter()
        .map(short)
        .collect();
    replies.sort();
    assert_eq!(
        replies,
        ["1: deny by ask-client: no", "2: -32800 cancelled", "3: ok"]
    );
    host.send_text(&list);
    assert_eq!(short(&host.receive()), "3: ok");
}

#[test]
fn what_is_pipelined_takes_effect_in_order() {
    for framing in BOTH {
        let dir = hooks(&[("hooks.yaml", "hooks: [{ name: old, on: Stop, deny: old }]")]);
        let mut host = TestHost::framed(&mut serve(dir.path()), framing);
        let stop = |id: &str| request(id, "hooks/dispatch", r#"{"event":"Stop"}"#);
        let mut all = Vec::new();
        for message in [
            request(
                "1",
                "hooks/register",
                r#"{"hooks":[{"name":"no-push","on":"PreToolUse","deny":"no"}]}"#,
            ),
            push("2"),
            request("3", "hooks/unregister", r#"{"names":["no-push"]}"#),
            push("4"),
            stop("5"),
        ] {
            framing.write_frame(message.as_bytes(), &mut all);
        }
        host.write(&all);
        // What takes effect in order may be answered in any.
        let sorted_replies = |host: &mut TestHost, n: usize| {
            let mut replies: Vec<_> = (0..n).map(|_| short(&host.receive())).collect();
            replies.sort();
            replies
        };
        let expected = [
            "1: ok",
            "2: deny by no-push: no",
            "3: ok",
            "4: allow",
            "5: deny by old: old",
        ];
        assert_eq!(sorted_replies(&mut host, 5), expected);

        replace(
            &dir.path().join("hooks.yaml"),
            "hooks: [{ name: new, on: Stop, deny: new }]",
        );
        let mut all = Vec::new();
        framing.write_frame(request("6", "hooks/reload", "{}").as_bytes(), &mut all);
        framing.write_frame(stop("7").as_bytes(), &mut all);
        host.write(&all);
        assert_eq!(
            sorted_replies(&mut host, 2),
            ["6: ok", "7: deny by new: new"]
        );
    }
}

#[test]
fn a_panic_touches_one_request() {
    let bug = "internal error: the method panicked; this is a bug in hookwire";
    let guard = "hooks: [{ name: guard, on: PreToolUse, fail: closed, command: 'true' }]";
    let failed = "deny by guard: hook `guard` failed to run: the handler panicked; this is a bug in hookwire";
    for (failpoints, first, second) in [
        (
            "method=1..1",
            format!("1: -32603 {bug}"),
            "2: allow".to_string(),
        ),
        (
            "method=1..",
            format!("1: -32603 {bug}"),
            format!("2: -32603 {bug}"),
        ),
        (
            "handler=1..1",
            format!("1: {failed}"),
            "2: allow".to_string(),
        ),
        (
            "handler=1..",
            format!("1: {failed}"),
            format!("2: {failed}"),
        ),
    ] {
        let dir = hooks(&[("hooks.yaml", guard)]);
        let mut host = TestHost::start(
            serve(dir.path())
                .env("HOOKWIRE_FAIL", failpoints)
                .stderr(Stdio::null()),
        );
        dispatch(&mut host, "1", "make");
        assert_eq!(short(&host.receive()), first, "{failpoints}");
        host.send_text(&format!(
            "[{}]",
            request("2", "hooks/dispatch", &bash("make").to_string())
        ));
        assert_eq!(
            short(&host.receive()),
            format!("[{second}]"),
            "{failpoints}"
        );
    }
}

#[test]
fn a_panic_while_judging_is_doubt() {
    let guards = "hooks:
  - { name: guard, on: PreToolUse, if: 'Bash(git push*)', deny: no }
  - { name: other, on: PreToolUse, if: 'Bash(rm *)', deny: no }
  - { name: third, on: PreToolUse, when: \"tool.name == 'nobody'\", deny: no }";
    for failpoint in ["call=1..1", "condition=1..1", "index=1..1"] {
        let dir = hooks(&[("hooks.yaml", guards)]);
        let log = dir.path().join("log");
        let stderr = std::fs::File::create(&log).unwrap();
        let mut host = TestHost::start(
            serve(dir.path())
                .env("HOOKWIRE_FAIL", failpoint)
                .stderr(stderr),
        );
        dispatch(&mut host, "1", "git push secret");
        let said = short(&host.receive());
        let doubt = "hook `guard` can't tell whether `Bash(git push*)` holds: judging it panicked; this is a bug in hookwire";
        assert!(
            said.starts_with(&format!("1: deny by guard: {doubt}")),
            "{failpoint}: {said}"
        );
        dispatch(&mut host, "2", "make");
        assert_eq!(short(&host.receive()), "2: allow", "{failpoint}");
        drop(host);
        let log = std::fs::read_to_string(&log).unwrap();
        assert_eq!(
            (log.matches("panicked at").count(), log.contains("secret")),
            (1, false),
            "{failpoint}: {log}"
        );
    }
}

#[test]
fn nothing_but_the_protocol_is_on_stdout() {
    let noisy = "
hooks:
  - { name: noise, on: PreToolUse, command: 'echo noise; echo noise >&2; echo noise > /proc/$PPID/fd/1' }
  - { name: panic, on: Stop, command: 'true' }";
    let dir = hooks(&[("hooks.yaml", noisy)]);
    let mut host = TestHost::start(
        serve(dir.path())
            .env("HOOKWIRE_FAIL", "handler=2..")
            .stderr(Stdio::null()),
    );
    // Every line that comes is parsed, and what nobody has asked for is a failure.
    host.bash("make");
    host.dispatch(json!({"event": "Stop"}));
}

#[test]
fn only_those_who_asked_are_notified() {
    let failing = "hooks: [{ name: broken, on: Stop, command: 'exit 7' }, { name: fine, on: Stop, allow: '' }]";
    let capabilities = json!({"notifications": ["hooks/changed", "hooks/executed", "hooks/failed", "hooks/judged"]});
    for (capabilities, expected) in [
        (None, vec![]),
        (Some(json!({"hooks": {}})), vec![]),
        (
            Some(json!({"hooks": {"notifications": ["hooks/failed"]}})),
            vec!["hooks/failed"],
        ),
        (
            Some(json!({"hooks": capabilities})),
            vec![
                "hooks/changed",
                "hooks/executed",
                "hooks/executed",
                "hooks/failed",
                "hooks/judged",
            ],
        ),
        (
            Some(json!({"experimental": {"hooks": capabilities}})),
            vec![
                "hooks/changed",
                "hooks/executed",
                "hooks/executed",
                "hooks/failed",
                "hooks/judged",
            ],
        ),
    ] {
        let (mut host, dir) = TestHost::with(failing);
        if let Some(capabilities) = &capabilities {
            host.request(
                "initialize",
                json!({"processId": null, "rootUri": null, "capabilities": capabilities}),
            );
            host.notify("initialized", json!({}));
        }
        host.dispatch(json!({"event": "Stop"}));
        replace(&dir.path().join("hooks.yaml"), "hooks: []");
        host.request("hooks/reload", json!({}));
        let mut told: Vec<_> = expected.iter().map(|_| short(&host.receive())).collect();
        told.sort();
        assert_eq!(told, expected, "{capabilities:?}");
        // Fails if there is more. Before the directory is, or its end would be told.
        drop(host);
    }
}

#[test]
fn errors_name_the_field_and_say_what_to_do() {
    let rows = [
        (
            "hooks/dispatch",
            "{}",
            "`event` is missing: the name of the moment; an agent's own payload needs its `dialect`",
        ),
        ("hooks/dispatch", "3", "an event is a JSON object"),
        (
            "hooks/dispatch",
            "[1,2]",
            "`params` is one object, found a list of 2",
        ),
        (
            "hooks/dispatch",
            r#"{"event":"PreTolUse"}"#,
            "unknown event `PreTolUse`; did you mean `PreToolUse`?",
        ),
        (
            "hooks/dispatch",
            r#"{"event":"PreToolUse","tool":"Bash"}"#,
            "`tool`: invalid type: string \"Bash\", expected an object with `name`",
        ),
        (
            "hooks/dispatch",
            r#"{"dialect":"claude-code"}"#,
            "the field `payload` is missing",
        ),
        (
            "hooks/dispatch",
            r#"{"dialect":7,"payload":{}}"#,
            "`dialect`: expected a string, found a number; quote it if it is meant as text",
        ),
        (
            "hooks/dispatch",
            r#"{"payload":{},"deadline":7}"#,
            "`deadline`: unknown field `deadline`, expected `dialect`, `payload` or `deadlineMs`; did you mean `deadlineMs`?",
        ),
        (
            "hooks/dispatch",
            r#"{"payload":{},"deadlineMs":-7}"#,
            "`deadlineMs`: expected a whole number, 0 or more, found `-7`",
        ),
        (
            "hooks/explain",
            "{}",
            "`event` is missing: the name of the moment; an agent's own payload needs its `dialect`",
        ),
        (
            "hooks/check",
            r#"{"txt":""}"#,
            "`txt`: unknown field `txt`, expected `text` or `file`; did you mean `text`?",
        ),
        ("hooks/check", "7", "expected a map, found a number"),
        (
            "hooks/register",
            "{}",
            "`hooks` is missing or empty; it is a list of hooks as in a definition file",
        ),
        (
            "hooks/register",
            r#"{"hooks":7}"#,
            "`hooks` is a list, found a number",
        ),
        (
            "hooks/register",
            r#"{"hooks":[{"name":"a","on":"PreTolUse","deny":"no"}]}"#,
            "hook `a`: unknown event `PreTolUse` (did you mean `PreToolUse`?)",
        ),
        (
            "hooks/register",
            r#"{"hooks":[{"name":"a","on":"Stop","callback":7}]}"#,
            "hook `a`: `callback`: expected a string, found a number; quote it if it is meant as text",
        ),
        ("hooks/unregister", "{}", "the field `names` is missing"),
        (
            "hooks/unregister",
            r#"{"names":"a"}"#,
            "`names`: expected a list, found a string",
        ),
        (
            "hooks/unregister",
            r#"{"names":["a"]}"#,
            "`names`: this connection has registered no hook `a`",
        ),
        (
            "initialize",
            r#"{"capabilities":{"hooks":{"notifications":["hooks/all"]}}}"#,
            "`capabilities.hooks.notifications[0]`: unknown value `hooks/all`, \
             expected `hooks/changed`, `hooks/executed`, `hooks/failed`, `hooks/judged`, `hooks/ended` or `approvals/changed`",
        ),
        (
            "initialize",
            r#"{"capabilities":{"hooks":{"decision":[]}}}"#,
            "`capabilities.hooks.decision`: unknown field `decision`, \
             expected `decisions`, `notifications`, `requests` or `dialect`; did you mean `decisions`?",
        ),
    ];
    let mut host = TestHost::serve(no_hooks());
    for (method, params, expected) in rows {
        host.send_text(&request("1", method, params));
        assert_eq!(
            short(&host.receive()),
            format!("1: -32602 invalid params: {expected}"),
            "{method} {params}"
        );
    }
    let unknown = host.refused(
        "hooks/dispatch",
        json!({"dialect": "klingon", "payload": {}}),
    )["message"]
        .to_string();
    assert!(
        unknown.contains("unknown dialect `klingon`; there are native, "),
        "{unknown}"
    );
    host.request("initialize", json!({"capabilities": {}}));
    let again = host.refused("initialize", json!({"capabilities": {}}));
    assert_eq!(
        again["message"],
        "invalid request: `initialize` comes once in a connection; what the first one said holds"
    );
}

/// A member that is null is absent, as Emacs and Go write what they haven't got.
#[test]
fn null_capabilities_are_absent() {
    for params in [
        json!({"capabilities": null}),
        json!({"capabilities": {"hooks": null, "experimental": null}}),
        json!({"capabilities": {"experimental": {"hooks": null}}}),
        json!({"capabilities": {"hooks": {"decisions": null, "notifications": null, "requests": null, "dialect": null}}}),
        json!({"capabilities": {"hooks": {"decisions": ["allow", "deny", "rewrite"]}}}),
    ] {
        let mut host = TestHost::serve(no_hooks());
        let result = host.request("initialize", params.clone());
        assert_eq!(
            (&result["hooks"]["hooks"], result["hooks"].get("remarks")),
            (&json!(0), None),
            "{params}"
        );
    }
}

/// What a client declares holds in every vocabulary; what hardly can be meant is told when it is
/// declared.
#[test]
fn declared_decisions_count_in_every_vocabulary() {
    let yaml = "hooks:\n- { name: r, on: PreToolUse, rewrite: { patch: { a: 1 } } }\n- { name: s, on: UserPromptSubmit, ask: sure? }";
    let calls = [
        json!({"event": "PreToolUse", "tool": {"name": "t", "input": {}}}),
        json!({"dialect": "claude-code", "payload": {"hook_event_name": "PreToolUse", "tool_name": "t", "tool_input": {}}}),
        json!({"dialect": "hooks-article", "payload": {"event": "PreToolUse", "tool_name": "t", "tool_input": {}}}),
    ];
    for (decisions, expected, remarks) in [
        (
            json!(["allow", "deny"]),
            "deny",
            json!(["`decisions` has no `rewrite`: what hooks rewrite will be denied"]),
        ),
        (json!(["allow", "deny", "rewrite"]), "allow", Value::Null),
    ] {
        let (mut host, _dir) = TestHost::with(yaml);
        let result = host.request(
            "initialize",
            json!({"capabilities": {"hooks": {"decisions": decisions}}}),
        );
        assert_eq!(
            result["hooks"].get("remarks").unwrap_or(&Value::Null),
            &remarks
        );
        for call in &calls {
            let result = host.request("hooks/dispatch", call.clone());
            let verdict = result.get("verdict").unwrap_or(&result);
            assert_eq!(verdict["decision"], expected, "{call}: {verdict}");
        }
    }
}

#[test]
fn shutdown_and_exit() {
    let exit = r#"{"jsonrpc":"2.0","method":"exit"}"#;
    let shutdown = request("1", "shutdown", "null");
    let refused =
        "2: -32600 invalid request: after `shutdown` only the notification `exit` is served";
    let rows: &[(&[&str], &[&str], i32)] = &[
        (&[], &[], 0),
        (&[&push("1")], &["1: deny by no-push: no"], 0),
        (&[&shutdown], &["1: ok"], 0),
        (&[&shutdown, exit], &["1: ok"], 0),
        (&[&shutdown, &push("2"), exit], &["1: ok", refused], 0),
        (&[exit], &[], 1),
        (
            &[&push("1"), exit, &push("2")],
            &["1: deny by no-push: no"],
            1,
        ),
        (
            &[&format!("[{},{exit}]", push("1"))],
            &["[1: deny by no-push: no]"],
            1,
        ),
    ];
    for framing in BOTH {
        for (sent, expected, code) in rows {
            let dir = hooks(&[("hooks.yaml", HOOKS)]);
            let mut host = TestHost::framed(&mut serve(dir.path()), framing);
            let mut all = Vec::new();
            sent.iter()
                .for_each(|message| framing.write_frame(message.as_bytes(), &mut all));
            host.write(&all);
            // `exit` ends the host by itself, also while its input is open.
            if sent.last().is_some_and(|last| last.contains("\"exit\"")) {
                assert_eq!(host.wait().code(), Some(*code), "{sent:?}");
            }
            let replies: Vec<_> = host.rest().iter().map(short).collect();
            assert_eq!(
                (&replies[..], host.wait().code()),
                (
                    &expected.iter().map(ToString::to_string).collect::<Vec<_>>()[..],
                    Some(*code)
                ),
                "{sent:?}"
            );
        }
    }
}

/// How a connection ends, seen from the host.
#[derive(Clone, Copy, Debug)]
enum End {
    Input,
    Exit,
}

/// How long a host with nothing to do takes to start and to end, on a machine as busy as this one
/// is now.
fn floor() -> Duration {
    let started = Instant::now();
    let mut host = Bare::start(&mut unwatched(no_hooks()));
    host.write(format!("{}\n", request("1", "hooks/list", "{}")).as_bytes());
    host.stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut [0; 10])
        .unwrap();
    host.stdin = None;
    host.ends();
    started.elapsed()
}

/// Runs what takes a second at the most, beyond what a busy machine adds, and says how long it
/// took; `None` where the machine was too busy to tell. Most of five runs must: a machine has a bad
/// moment, a slow host is slow in each.
fn within_a_second(what: impl Fn() -> Option<Duration>) {
    let (mut all, mut in_time) = (Vec::new(), 0);
    while in_time < 3 {
        let floor = floor();
        let took = what();
        all.push((floor, took));
        let Some(took) = took else {
            assert!(all.len() < 20, "the machine is too busy to tell: {all:?}");
            continue;
        };
        in_time += usize::from(took < A_SECOND + 10 * floor);
        let late = all
            .iter()
            .filter(|(floor, took)| took.is_some_and(|took| took >= A_SECOND + 10 * *floor))
            .count();
        assert!(late < 3, "{all:?}");
    }
}

/// Runs what has as long as the host waits for its hooks at the end, and says whether it was done.
/// A machine that is busy with something else may keep the hooks from it, but then the host has
/// waited all that time: one that ends before is wrong each time.
fn done_at_the_end(what: impl Fn() -> (bool, Duration)) {
    for _ in 0..20 {
        let (done, took) = what();
        if done {
            return;
        }
        assert!(
            took >= DRAIN,
            "not done, though the host ended after {took:?}"
        );
    }
    panic!("never done");
}

/// How long hooks that are in flight have at the end.
const DRAIN: Duration = Duration::from_millis(800);

#[test]
fn at_the_end_what_was_received_is_answered_in_time() {
    let late = "1: -32800 cancelled: the connection ended before there was a reply";
    for end in [End::Input, End::Exit] {
        within_a_second(|| {
            let (mut host, dir) = slow_host("fail: closed,");
            dispatch(&mut host, "1", "make");
            let pid = pid_in(&dir.path().join("slow.pid"));
            let started = Instant::now();
            match end {
                End::Input => host.close(),
                End::Exit => host.notify("exit", json!(null)),
            }
            let reply = short(&host.receive());
            host.wait();
            let took = started.elapsed();
            await_end(pid, "the hook is gone");
            if reply == late {
                return None;
            }
            assert_eq!(
                reply,
                "1: deny by slow: hook `slow` failed to finish before the input ended"
            );
            Some(took)
        });
    }
}

#[test]
fn at_the_end_nobody_waits_for_what_can_not_come() {
    let mut host = with_callback(json!({"fail": "closed"}));
    dispatch(&mut host, "1", "make");
    invoked(&mut host);
    host.close();
    // Had it been waited for, it would have failed to finish before the input ended.
    let reply = short(&host.receive());
    assert_eq!(
        reply,
        "1: deny by ask-client: hook `ask-client` failed to call back: the connection has ended"
    );
    host.wait();
}

#[test]
fn hooks_that_finish_in_time_are_not_cut_off_at_the_end() {
    done_at_the_end(|| {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        // They go on when the test lets them.
        let (gate, audit) = (at("gate"), at("audit"));
        let hook = |name: &str, more: &str| {
            let wait = format!("until [ -e {gate} ]; do sleep 0.01; done");
            let command = format!("echo $$ > {}; {wait}; echo {name} >> {audit}", at(name));
            format!("{{ name: {name}, on: Stop, {more} command: '{command}' }}")
        };
        let yaml = format!(
            "hooks: [{}, {}]",
            hook("detached", "async: true,"),
            hook("awaited", "")
        );
        std::fs::write(dir.path().join("hooks.yaml"), yaml).unwrap();
        let mut host = with_callback_beside(dir.path(), json!({"fail": "closed"}));
        let rest = host.ask("hooks/dispatch", json!({"event": "Stop"}));
        for name in ["awaited", "detached"] {
            pid_in(&dir.path().join(name));
        }
        dispatch(&mut host, "\"asked\"", "make");
        invoked(&mut host);
        let started = Instant::now();
        host.close();
        // Only the end of the input answers it: what follows comes after that.
        let asked = short(&host.receive());
        assert_eq!(
            asked,
            "\"asked\": deny by ask-client: hook `ask-client` failed to call back: the connection has ended"
        );
        std::fs::write(&gate, "").unwrap();
        let reply = short(&host.reply(rest));
        host.wait();
        let took = started.elapsed();
        let mut told: Vec<String> = std::fs::read_to_string(&audit)
            .unwrap_or_default()
            .lines()
            .map(str::to_string)
            .collect();
        told.sort();
        (
            told == ["awaited", "detached"] && reply.ends_with(": allow"),
            took,
        )
    });
}

/// A host whose client does nothing but what a test says.
struct Bare {
    child: std::process::Child,
    stdin: Option<std::process::ChildStdin>,
    stdout: Option<std::process::ChildStdout>,
}

impl Bare {
    fn start(command: &mut Command) -> Bare {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Bare {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            child,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Waits until the host answers: what it takes to read many definitions is no part of an end.
    fn answers(&mut self) {
        self.write(format!("{}\n", request("0", "state/list", "{}")).as_bytes());
        let stdout = self.stdout.as_mut().unwrap();
        let mut byte = [0];
        while byte != [b'\n'] {
            stdout.read_exact(&mut byte).unwrap();
        }
    }

    /// How long the host goes on from now.
    fn ends(mut self) -> Duration {
        let started = Instant::now();
        eventually("the host ends", || self.child.try_wait().unwrap());
        started.elapsed()
    }
}

#[test]
fn a_client_that_is_gone_leaves_nothing_behind() {
    for stdin_is_closed in [true, false] {
        within_a_second(|| {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("hooks.yaml"), slow(dir.path(), "")).unwrap();
            let mut host = Bare::start(&mut unwatched(dir.path()));
            host.write(format!("{}\n", push("1")).as_bytes());
            let pid = pid_in(&dir.path().join("slow.pid"));
            let kept = host.stdin.take_if(|_| !stdin_is_closed);
            (host.stdin, host.stdout) = (None, None);
            let took = host.ends();
            await_end(pid, "the hook is gone");
            drop(kept);
            Some(took)
        });
    }
}

#[test]
fn an_idle_host_notices_that_nobody_reads() {
    within_a_second(|| {
        let mut host = Bare::start(&mut unwatched(no_hooks()));
        host.stdout = None;
        Some(host.ends())
    });
}

#[test]
fn the_last_event_of_a_client_that_is_gone_is_judged() {
    done_at_the_end(|| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("audit");
        let yaml = format!(
            "hooks: [{{ name: audit, on: SessionEnd, command: 'echo $event > {}' }}]",
            file.display()
        );
        std::fs::write(dir.path().join("hooks.yaml"), yaml).unwrap();
        let mut host = Bare::start(&mut unwatched(dir.path()));
        host.write(
            format!(
                "{}\n",
                request("1", "hooks/dispatch", r#"{"event":"SessionEnd"}"#)
            )
            .as_bytes(),
        );
        (host.stdin, host.stdout) = (None, None);
        let took = host.ends();
        (
            std::fs::read_to_string(file).is_ok_and(|text| text == "SessionEnd\n"),
            took,
        )
    });
}

#[test]
fn a_client_that_stops_reading_leaves_nothing_behind() {
    within_a_second(|| {
        let mut host = Bare::start(&mut unwatched(no_hooks()));
        for id in 0..10_000 {
            host.write(format!("{}\n", request(&id.to_string(), "hooks/list", "{}")).as_bytes());
        }
        host.stdin = None;
        let stdout = host.stdout.take();
        let took = host.ends();
        drop(stdout);
        Some(took)
    });
}

/// What it has asked for is long, and takes long to tell.
#[test]
fn a_client_that_stops_reading_long_answers_leaves_nothing_behind() {
    let hooks = |n: usize| {
        format!("  - {{ name: h{n}, on: PreToolUse, if: Bash(git push {n}), deny: no }}\n")
    };
    let dir = tempfile::tempdir().unwrap();
    let all: String = (0..500).map(hooks).collect();
    std::fs::write(dir.path().join("hooks.yaml"), format!("hooks:\n{all}")).unwrap();
    within_a_second(|| {
        let mut host = Bare::start(&mut unwatched(dir.path()));
        host.answers();
        for id in 0..600 {
            host.write(format!("{}\n", request(&id.to_string(), "hooks/list", "{}")).as_bytes());
        }
        host.stdin = None;
        let stdout = host.stdout.take();
        let took = host.ends();
        drop(stdout);
        Some(took)
    });
}

#[test]
fn a_client_killed_in_the_middle_of_a_flood_leaves_nothing_behind() {
    within_a_second(|| {
        // Replies pile up until the host stops reading; then it must still see the end.
        let mut client = Command::new("yes")
            .arg(push("1"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let flood = client.stdout.take().unwrap();
        let mut child = unwatched(no_hooks())
            .stdin(flood)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 100]).unwrap();
        client.kill().unwrap();
        client.wait().unwrap();
        Some(
            Bare {
                child,
                stdin: None,
                stdout: Some(stdout),
            }
            .ends(),
        )
    });
}

#[test]
fn input_may_be_a_file_or_a_socket() {
    let dir = hooks(&[
        ("hooks.yaml", HOOKS),
        ("input", &format!("{}\n{}", push("1"), push("2"))),
    ]);
    let expected = ["1: deny by no-push: no", "2: deny by no-push: no"];
    let mut host = TestHost::over_file(&mut serve(dir.path()), &dir.path().join("input"));
    // Events are judged side by side.
    let mut told: Vec<_> = host.rest().iter().map(short).collect();
    told.sort();
    assert_eq!(told, expected);

    let mut host = TestHost::over_socket(&mut serve(dir.path()));
    dispatch(&mut host, "1", "git push");
    assert_eq!(short(&host.receive()), expected[0]);
    // More than the socket takes at once, both ways.
    let id = "i".repeat(3_000_000);
    host.send_text(&request(&format!("\"{id}\""), "hooks/list", "{}"));
    assert_eq!(host.receive()["id"], id.as_str());
    dispatch(&mut host, "2", "git push");
    assert_eq!(
        host.rest().iter().map(short).collect::<Vec<_>>(),
        expected[1..]
    );
}
