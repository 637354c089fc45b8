//! What hosts of a fleet share beside definitions, as people use it: verdicts that outlive servers
//! and hosts, a rate that holds on all hosts, and a question that is answered from elsewhere.

use super::fleet::servers::program;
use super::fleet::{Scene, said};
use super::support::{TestHost, bash, brief, eventually};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;

const GUARDS: &str = "
hooks:
  - { name: no-rm, on: PreToolUse, if: Bash(rm *), deny: Not here. }
  - { name: rate, on: PreToolUse, matcher: WebFetch, fail: closed, guard: { rate-limit: { max: 3, within: 1h, per: fleet, quota: web } } }
  - { name: spending, fail: closed, guard: { cost-limit: { max: 1, prices: { '*': { input: 1, output: 1 } }, per: fleet, budget: team } } }
  - { name: pushes, on: PreToolUse, if: Bash(git push *), fail: closed, guard: { approval: { message: Push this?, wait: 60s } } }
";

/// A fleet with one host's settings for each of two machines, each with a directory of its own for
/// what it keeps.
pub(super) fn scene() -> Option<Scene> {
    let scene = Scene::new(&program()?);
    let made = scene.run(&[
        "fleet",
        "init",
        "--fleet",
        "admin.conf",
        "--quota",
        "web=3/1h",
    ]);
    assert!(
        said(&made).contains("HW_QUOTA_web-3-3600s made"),
        "{}",
        said(&made)
    );
    fs::create_dir(scene.at("hooks")).unwrap();
    scene.write("hooks/guards.yaml", GUARDS);
    let settings = |user: &str| scene.servers.settings_text(user);
    for user in ["host-a", "host-b", "auditor", "approver"] {
        scene.write(&format!("{user}.conf"), &settings(user));
    }
    Some(scene)
}

pub(super) fn host(scene: &Scene, user: &str) -> TestHost {
    let (settings, data) = (format!("{user}.conf"), format!("data-{user}"));
    let mut command = scene.command(&[
        "serve", "--root", "project", "--hooks", "hooks", "--fleet", &settings,
    ]);
    // The last one counts first.
    TestHost::start(
        command
            .env("HOOKWIRE_LOG", "error")
            .arg("--data-dir")
            .arg(scene.at(&data))
            .stdin(Stdio::piped()),
    )
}

/// The commands of the verdicts that a query finds.
fn query(scene: &Scene, words: &[&str]) -> Vec<String> {
    let output = scene.run(
        &[
            &[
                "fleet",
                "query",
                "--fleet",
                "auditor.conf",
                "--format",
                "jsonl",
            ],
            words,
        ]
        .concat(),
    );
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let name = |row: &Value| {
        row["params"]["tool"]["input"]["command"]
            .as_str()
            .map(str::to_string)
    };
    rows.map(|row| name(&row).unwrap_or_else(|| row["event"].to_string()))
        .collect()
}

#[test]
fn verdicts_outlive_servers_and_hosts_that_are_killed() {
    let Some(mut scene) = scene() else { return };
    let mut host_a = host(&scene, "host-a");
    let mut host_b = host(&scene, "host-b");
    assert_eq!(brief(&host_b.bash("ls b")), "allow");
    let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    assert_eq!(
        brief(&host_a.bash(&format!("echo AWS_SECRET_ACCESS_KEY={secret}"))),
        "allow"
    );
    eventually("both are in the stream", || {
        (query(&scene, &[]).len() == 2).then_some(())
    });
    scene.servers.kill(0);
    for n in 1..=40 {
        assert_eq!(
            brief(&host_a.bash(&format!("rm {n}"))),
            "deny by no-rm: Not here."
        );
    }
    // Its disk has them; then it is killed.
    let spooled = || {
        let spools = glob(&scene.at("data-host-a"));
        spools
            .iter()
            .map(|it| fs::read_to_string(it).unwrap().lines().count())
            .sum::<usize>()
    };
    eventually("all are spooled", || (spooled() >= 41).then_some(()));
    host_a.kill();
    host_a.may_leave_unread = true;
    host_a.wait();
    scene.servers.restart(0);
    let mut again = host(&scene, "host-a");
    assert_eq!(brief(&again.bash("ls a")), "allow");
    let denied = eventually("those that waited are there", || {
        let found = query(&scene, &["--host", "host-a", "decision:deny", "since:1h"]);
        (found.len() >= 40).then_some(found)
    });
    assert_eq!(
        denied,
        (1..=40).map(|n| format!("rm {n}")).collect::<Vec<_>>()
    );
    let whole = eventually("the last one, too", || {
        Some(query(&scene, &["--host", "host-a"]))
            .filter(|found| found.iter().any(|it| it == "ls a"))
    });
    assert_eq!(whole.len(), 42, "{whole:?}");
    assert_eq!(
        query(&scene, &["decision:allow", "--host", "host-b"]),
        ["ls b"]
    );
    let all = said(&scene.run(&[
        "fleet",
        "tail",
        "--fleet",
        "auditor.conf",
        "--since",
        "1h",
        "--no-follow",
    ]));
    assert!(
        all.contains("host-b") && all.contains("deny by no-rm: Not here."),
        "{all}"
    );
    assert!(
        !all.contains(secret)
            && glob(&scene.at("data-host-a"))
                .iter()
                .all(|it| !fs::read_to_string(it).unwrap().contains(secret))
    );
    let refused = scene.run(&["fleet", "query", "--fleet", "host-b.conf"]);
    assert!(
        refused.status.code() == Some(2) && said(&refused).contains("permit"),
        "{}",
        said(&refused)
    );
}

/// The segments of spools below a directory.
fn glob(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(glob(&entry.path())),
            false if entry.path().extension().is_some_and(|it| it == "jsonl") => {
                found.push(entry.path())
            }
            false => {}
        }
    }
    found
}

#[test]
fn a_rate_and_a_budget_hold_on_all_hosts_and_fail_without_servers() {
    let Some(mut scene) = scene() else { return };
    let mut hosts = [host(&scene, "host-a"), host(&scene, "host-b")];
    let fetch = json!({"event": "PreToolUse", "session": "s", "tool": {"name": "WebFetch", "input": {"url": "http://x"}}});
    let fetched =
        |hosts: &mut [TestHost; 2], n: usize| brief(&hosts[n % 2].dispatch(fetch.clone()));
    // The first one may come before the connection.
    eventually("a host has joined", || {
        (fetched(&mut hosts, 0) == "allow").then_some(())
    });
    let more: Vec<String> = (1..6).map(|n| fetched(&mut hosts, n)).collect();
    assert_eq!(
        more.iter().filter(|it| *it == "allow").count(),
        2,
        "{more:?}"
    );
    let refused = "deny by rate: Rate limit reached: 3 in 1h on all hosts";
    assert_eq!(
        more.iter().filter(|it| *it == refused).count(),
        3,
        "{more:?}"
    );
    let call = |tokens: u64| {
        let usage = json!({ "inputTokens": tokens, "outputTokens": 0 });
        json!({"event": "PostModelCall", "session": "s", "model": {"name": "m", "usage": usage}})
    };
    let gate = json!({"event": "PreModelCall", "session": "s", "model": {"name": "m"}});
    assert_eq!(brief(&hosts[1].dispatch(gate.clone())), "allow");
    assert_eq!(brief(&hosts[0].dispatch(call(1_200_000))), "allow");
    // The other host has a lease of a hundredth, and no more.
    assert_eq!(brief(&hosts[1].dispatch(call(10_000))), "allow");
    for host in &mut hosts {
        let said = brief(&host.dispatch(gate.clone()));
        assert!(
            said.starts_with("deny by spending: Cost limit reached: 1.2")
                && said.contains("the budget `team`"),
            "{said}"
        );
    }
    // Values that hooks of all hosts share, as a command hook counts.
    let state = |user: &str, words: &[&str]| {
        let output = scene.run(&[&["state", "--fleet", &format!("{user}.conf")], words].concat());
        (output.status.code(), said(&output).trim().to_string())
    };
    for (user, words, code, text) in [
        ("host-a", &["get", "pushes"][..], 1, ""),
        (
            "host-a",
            &["increment", "pushes", "2", "--ttl", "1h"],
            0,
            "2",
        ),
        ("host-b", &["increment", "pushes"], 0, "3"),
        (
            "host-b",
            &["compare-and-set", "pushes", "x", "--expected", "2"],
            1,
            "",
        ),
        (
            "host-b",
            &["compare-and-set", "pushes", "x", "--expected", "3"],
            0,
            "",
        ),
        ("host-a", &["get", "pushes"], 0, "x"),
        ("host-a", &["delete", "pushes"], 0, ""),
        ("host-b", &["delete", "pushes"], 1, ""),
    ] {
        assert_eq!(
            state(user, words),
            (Some(code), text.to_string()),
            "{user} {words:?}"
        );
    }
    scene.servers.kill(0);
    let said = eventually("the hosts know", || {
        Some(fetched(&mut hosts, 0)).filter(|it| it != refused)
    });
    assert!(
        said.starts_with("deny by rate: hook `rate` failed to take one of the fleet's quota `web`"),
        "{said}"
    );
}

#[test]
fn a_question_is_answered_from_elsewhere_and_the_verdict_says_by_whom() {
    let Some(scene) = scene() else { return };
    let public = |name: &str| {
        let made = scene.run(&["fleet", "key", name]);
        said(&made).lines().last().unwrap().to_string()
    };
    let (alice, _mallory) = (public("alice.key"), public("mallory.key"));
    let chat = TcpListener::bind("127.0.0.1:0").unwrap();
    scene.write(
        "chat",
        &format!("http://{}/hook\n", chat.local_addr().unwrap()),
    );
    fs::set_permissions(
        scene.at("chat"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    let settings = scene.servers.settings_text("host-a");
    let approvals = format!(
        "{settings}[approvals]\nwebhookFile = \"chat\"\napprovers = {{ alice = {alice:?} }}\n"
    );
    scene.write("host-a.conf", &approvals);
    let mut host = host(&scene, "host-a");
    let id = host.ask("hooks/dispatch", bash("git push origin main"));
    // The chat is told, without a way to answer.
    let (mut told, _) = chat.accept().unwrap();
    let mut request = vec![0; 4096];
    let n = told.read(&mut request).unwrap();
    told.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .unwrap();
    let request = String::from_utf8_lossy(&request[..n]).to_string();
    assert!(request.starts_with("POST /hook"), "{request}");
    let listed = eventually("the question is there", || {
        let listed = scene.run(&["approvals", "list", "--fleet", "approver.conf"]);
        Some(said(&listed)).filter(|it| it.contains("pushes asks: Push this?"))
    });
    assert!(
        listed.contains("git push origin main") && listed.contains("in host-a:"),
        "{listed}"
    );
    let answer = |key: &str, more: &[&str]| {
        let output = scene.run(
            &[
                &[
                    "approvals",
                    "approve",
                    "--fleet",
                    "approver.conf",
                    "--key",
                    key,
                    "--yes",
                ],
                more,
            ]
            .concat(),
        );
        (output.status.code(), said(&output))
    };
    let (code, text) = answer("mallory.key", &[]);
    assert!(
        code == Some(2) && text.contains("doesn't believe the key"),
        "{text}"
    );
    let ask = listed.split_whitespace().next().unwrap();
    let (code, text) = answer("alice.key", &[ask, "--reason", "after the review"]);
    assert!(code == Some(0) && text.contains("Answered."), "{text}");
    let reply = host.reply(id);
    let reason = reply["result"]["reason"].as_str().unwrap();
    assert!(
        brief(&reply["result"]).starts_with("allow by pushes: approved by a person, alice (key "),
        "{reply}"
    );
    assert!(reason.ends_with("): after the review"), "{reason}");
    // Answered on the host, it is over everywhere.
    let id = host.ask("hooks/dispatch", bash("git push origin other"));
    eventually("the second is there", || {
        said(&scene.run(&["approvals", "list", "--fleet", "approver.conf"]))
            .contains("other")
            .then_some(())
    });
    let here = host.request("approvals/list", json!({}));
    let reply = json!({ "decision": "deny", "reason": "no" });
    host.request(
        "approvals/answer",
        json!({ "id": here["approvals"][0]["id"], "reply": reply }),
    );
    assert_eq!(
        brief(&host.reply(id)["result"]),
        "deny by pushes: Push this? (denied by a person: no)"
    );
    eventually("nothing waits", || {
        said(&scene.run(&["approvals", "list", "--fleet", "approver.conf"]))
            .contains("Nothing waits")
            .then_some(())
    });
    let (code, text) = answer("alice.key", &[]);
    assert!(code == Some(2) && text.contains("nothing waits"), "{text}");
}
