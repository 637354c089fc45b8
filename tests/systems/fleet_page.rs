//! `hookwire inspect --fleet`: the verdicts and questions of all hosts in a page, and an answer
//! from there.

use super::fleet::{Scene, said};
use super::fleet_acts::{host, scene};
use super::inspector::Page;
use super::support::{TestHost, bash, brief, eventually};
use serde_json::{Value, json};

fn page(scene: &Scene, more: &[&str]) -> Page {
    Page::start(scene.command(&[&["inspect", "--no-open", "--format", "json"], more].concat()))
        .opened()
}

/// The texts of the verdicts that the page's history finds, and whether there may be more.
fn found(page: &Page, query: &str) -> (Vec<String>, bool) {
    let found = page.result("inspect/history", "", &json!({ "query": query }));
    let text = |it: &Value| it["about"]["text"].as_str().unwrap().to_string();
    (
        found["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(text)
            .collect(),
        found.get("next").is_some(),
    )
}

#[test]
fn the_verdicts_of_all_hosts_come_to_the_page() {
    let Some(mut scene) = scene() else { return };
    let (mut host_a, mut host_b) = (host(&scene, "host-a"), host(&scene, "host-b"));
    assert_eq!(brief(&host_a.bash("rm before")), "deny by no-rm: Not here.");
    let page = page(&scene, &["--fleet", "auditor.conf"]);
    let mut events = page.events();
    let before = events.verdict("rm before");
    let id = before["id"].as_str().unwrap();
    assert!(
        before["host"] == "host-a" && id.starts_with("host-a.") && id.ends_with(".1"),
        "{before}"
    );
    // Two hosts count their events alike, and their machines tell them apart.
    assert_eq!(brief(&host_b.bash("rm b")), "deny by no-rm: Not here.");
    let of_b = events.verdict("rm b");
    assert_eq!(
        (&of_b["host"], &of_b["record"]["seq"]),
        (&json!("host-b"), &before["record"]["seq"])
    );
    assert_eq!(of_b["record"]["project"], before["record"]["project"]);
    brief(&host_b.bash("ls b"));
    events.verdict("ls b");
    for (query, expected) in [
        ("", &["ls b", "rm b", "rm before"][..]),
        ("decision:deny since:1h host:host-b", &["rm b"]),
        ("decision:deny -host:host-b", &["rm before"]),
        ("until:1h", &[]),
    ] {
        assert_eq!(
            found(&page, query),
            (expected.iter().map(ToString::to_string).collect(), false),
            "{query}"
        );
    }
    let refused = |method: &str, params: Value| {
        let answer = page.call(&json!({ "method": method, "host": "host-a", "params": params }));
        answer["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{method}: {answer}"))
            .to_string()
    };
    assert!(refused("inspect/history", json!({ "query": "colour:red" })).contains("`colour:red`"));
    for method in [
        "inspect/explain",
        "hooks/list",
        "inspect/save",
        "inspect/record",
        "hooks/dispatch",
    ] {
        assert!(
            refused(method, json!({})).contains("for a fleet"),
            "{method}"
        );
    }
    // What the agent got follows from the record alone.
    let replied = page.result("inspect/reply", "", &json!({ "record": of_b["record"] }));
    assert_eq!(replied["reply"]["decision"], "deny", "{replied}");
    // What is in force is as the hosts report it, and what the account may not read is said.
    let told = events.until(|it| {
        let reported = |it: &Value| it["reports"].as_array().is_some_and(|it| !it.is_empty());
        it["kind"] == "hosts"
            && it["hosts"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|it| reported(it))
                .count()
                == 2
            && it["fleet"]["problems"]["questions"].is_string()
    });
    assert_eq!(
        told["fleet"]["problems"],
        json!({ "questions": "this account may not read questions" })
    );
    assert_eq!(
        told["hosts"][0]["reports"][0]["words"], "follows no channel",
        "{told}"
    );
    assert_eq!(
        page.result("inspect/hosts", "", &json!({}))["fleet"],
        told["fleet"]
    );
    // The servers are away, and come back.
    scene.servers.kill(0);
    let away = events.until(|it| it["fleet"]["away"].is_string());
    assert!(
        away["fleet"]["away"]
            .as_str()
            .unwrap()
            .contains("no server is reached"),
        "{away}"
    );
    let answer = page.call(&json!({ "method": "inspect/history", "params": {} }));
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("no server is reached"),
        "{answer}"
    );
    assert_eq!(
        brief(&host_a.bash("rm meanwhile")),
        "deny by no-rm: Not here."
    );
    scene.servers.restart(0);
    let (mut is_back, mut is_told) = (false, false);
    events.until(|it| {
        is_back |= it["kind"] == "hosts" && it["fleet"].get("away").is_none();
        is_told |= it["about"]["text"] == "rm meanwhile";
        is_back && is_told
    });
}

/// A host that believes one approver, and a question that waits there.
fn asking(scene: &Scene, approver: &str) -> (TestHost, u64) {
    let settings = scene.servers.settings_text("host-a");
    scene.write(
        "host-a.conf",
        &format!("{settings}[approvals]\napprovers = {{ alice = {approver:?} }}\n"),
    );
    let mut host = host(scene, "host-a");
    let id = host.ask("hooks/dispatch", bash("git push origin main"));
    (host, id)
}

#[test]
fn a_question_is_answered_from_the_page_with_a_signature() {
    let Some(scene) = scene() else { return };
    let public = |name: &str| {
        let made = scene.run(&["fleet", "key", name]);
        said(&made).lines().last().unwrap().to_string()
    };
    let (alice, _mallory) = (public("alice.key"), public("mallory.key"));
    let (mut host, id) = asking(&scene, &alice);
    let keyed = |key: &str| page(&scene, &["--fleet", "approver.conf", "--key", key]);
    let (without, mallory, page) = (
        page(&scene, &["--fleet", "approver.conf"]),
        keyed("mallory.key"),
        keyed("alice.key"),
    );
    let mut events = page.events();
    let told =
        events.until(|it| it["kind"] == "approvals" && it["approvals"][0]["hook"] == "pushes");
    let question = &told["approvals"][0];
    assert_eq!(
        (&question["host"], &question["isBelieved"]),
        (&json!("host-a"), &json!(true)),
        "{question}"
    );
    assert_eq!(
        (&question["message"], &question["subject"]["command"]),
        (&json!("Push this?"), &json!("git push origin main"))
    );
    let answer = |reply: Value| json!({ "id": question["id"], "question": question["question"], "reply": reply });
    let yes = answer(json!({ "decision": "approve", "reason": "after the review" }));
    let refused = |page: &Page, params: &Value| {
        let answer =
            page.call(&json!({ "method": "approvals/answer", "host": "host-a", "params": params }));
        answer["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_string()
    };
    let why = refused(&without, &yes);
    assert!(
        why.contains("no approver's key") && why.contains("--fleet approver.conf --key"),
        "{why}"
    );
    let seen = || mallory.result("inspect/approvals", "", &json!({}))["approvals"].clone();
    let seen = eventually("the other page has it, too", || {
        Some(seen()).filter(|it| it[0].is_object())
    });
    assert_eq!(
        (&seen[0]["question"], &seen[0]["isBelieved"]),
        (&question["question"], &json!(false))
    );
    assert!(refused(&mallory, &yes).contains("doesn't believe the key"));
    // An answer is to the very question that was shown, and says yes or no.
    let mut other = yes.clone();
    other["question"] = format!("{}0", question["question"].as_str().unwrap()).into();
    assert!(refused(&page, &other).contains("waits no more"));
    let changed =
        answer(json!({ "decision": "approve", "subject": { "command": "git push --dry-run" } }));
    assert!(refused(&page, &changed).contains("yes or no"));
    assert!(
        refused(
            &page,
            &answer(json!({ "decision": "approve", "remember": true }))
        )
        .contains("yes or no")
    );
    // The call that answers comes from the page alone, and nothing of the others has reached the
    // host.
    let call =
        json!({ "method": "approvals/answer", "params": answer(json!({ "decision": "deny" })) })
            .to_string();
    for (why, headers, expected) in page
        .kinds_of_headers()
        .into_iter()
        .filter(|(.., expected)| *expected != 200)
    {
        let (status, ..) = page.ask("POST /api/call", &headers, &call);
        assert!(
            status == expected || why == "two hosts" && status == 403,
            "{why}: {status}"
        );
    }
    assert_eq!(
        page.ask("GET /api/call", &page.kinds_of_headers()[0].1, &call)
            .0,
        405
    );
    assert_eq!(page.result("approvals/answer", "host-a", &yes), Value::Null);
    let reply = host.reply(id);
    let reason = reply["result"]["reason"].as_str().unwrap();
    assert!(
        brief(&reply["result"]).starts_with("allow by pushes: approved by a person, alice (key "),
        "{reply}"
    );
    assert!(reason.ends_with("): after the review"), "{reason}");
    events.until(|it| it["kind"] == "approvals" && it["approvals"] == json!([]));
    assert!(refused(&page, &yes).contains("waits no more"));
    // No, with a reason; and what this account may not read is said.
    let id = host.ask("hooks/dispatch", bash("git push origin other"));
    let told =
        events.until(|it| it["kind"] == "approvals" && it["approvals"][0]["hook"] == "pushes");
    let question = &told["approvals"][0];
    let no = json!({ "id": question["id"], "question": question["question"], "reply": { "decision": "deny", "reason": "Not now." } });
    assert_eq!(page.result("approvals/answer", "host-a", &no), Value::Null);
    let verdict = brief(&host.reply(id)["result"]);
    assert!(
        verdict.starts_with("deny by pushes: ") && verdict.contains("Not now."),
        "{verdict}"
    );
    let problems = eventually("what isn't permitted is known", || {
        let fleet = page.result("inspect/hosts", "", &json!({}))["fleet"].take();
        (fleet["problems"].as_object().unwrap().len() == 2).then_some(fleet)
    });
    assert_eq!(
        problems["problems"]["verdicts"],
        "this account may not read verdicts"
    );
    assert_eq!(
        problems["problems"]["reports"],
        "this account may not read reports"
    );
}
