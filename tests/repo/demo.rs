//! The demo prints what went over the wire, and shows what it promises.

use crate::support::*;
use serde_json::Value;

#[test]
fn the_timeline_is_what_the_wire_says() {
    let dir = tempfile::tempdir().unwrap();
    let wire = dir.path().join("wire");
    let output = hookwire().args(["demo", "--wire"]).arg(&wire).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let wire = std::fs::read_to_string(wire).unwrap();
    let message = |line: &str| serde_json::from_str::<Value>(&line[2..]).unwrap();
    let sent: Vec<Value> = wire.lines().filter(|line| line.starts_with('>')).map(message).collect();
    let received: Vec<Value> = wire.lines().filter(|line| line.starts_with('<')).map(message).collect();

    // Every dispatch on the wire is a row, in order, with its reply's decision, hook and reason.
    let mut rows = printed.lines().filter(|line| line.contains(" µs"));
    let dispatches: Vec<_> = sent.iter().filter(|message| message["method"] == "hooks/dispatch").collect();
    for request in &dispatches {
        let row = rows.next().unwrap();
        let payload = &request["params"]["payload"];
        assert!(row.contains(payload["hook_event_name"].as_str().unwrap()), "{row}");
        let reply =
            received.iter().find(|reply| reply["id"] == request["id"] && reply.get("method").is_none()).unwrap();
        let verdict = &reply["result"]["verdict"];
        let text = |key: &str| verdict[key].as_str().unwrap_or_default();
        let word = if verdict.get("subject").is_some() { "rewrite" } else { text("decision") };
        assert!(row.contains(&format!(" {word} ")), "{row} against {verdict}");
        assert!(row.contains(text("reason")) && row.contains(text("decidedBy")), "{row} against {verdict}");
        if let Some(subject) = verdict.get("subject") {
            assert!(row.contains(&subject.to_string()), "{row} against {verdict}");
        }
    }
    assert_eq!(rows.next(), None);

    // The recorded payloads went over the wire unaltered.
    let recorded = std::fs::read_to_string(repo("examples/quickstart/session.jsonl")).unwrap();
    for line in recorded.lines() {
        let payload = serde_json::from_str::<Value>(line).unwrap()["stdin"].take();
        assert!(dispatches.iter().any(|request| request["params"]["payload"] == payload));
    }

    // What the demo is for: in this order.
    let mut rest = &printed[..];
    for step in [
        "Write /home/dev/project/a.txt          allow",
        "audit.log: PostToolUse Write",
        "Edit /home/dev/project/a.txt           allow",
        "guard.yaml edited",
        "Edit /home/dev/project/a.txt           deny",
        "code-freeze: Code freeze until Monday. (the same call again)",
        r#"rewritten by bound-bash: {"command":"cd sub && pwd","description":"cd","timeout":60000}"#,
        "guard.yaml broken",
        "no-settings-edits: Agents don't edit their own settings.",
        "its last good hooks stay in force",
    ] {
        let at = rest.find(step).unwrap_or_else(|| panic!("`{step}` is not in the rest of\n{printed}"));
        rest = &rest[at..];
    }
}
