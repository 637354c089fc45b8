//! What a publisher learns before a bundle is everywhere: what it would have changed, and how its
//! canary does.

use super::fleet::servers::program;
use super::fleet::{Scene, said};
use super::support::{TestHost, brief, eventually};
use hookwire_fleet::bundle::{Manifest, Stage};
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;

const GUARD: &str = "
hooks:
  - { name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off. }
";

/// Says what publishing `team` would change, as lines for people or as JSON.
fn against(scene: &Scene, more: &[&str]) -> (Option<i32>, String) {
    let args = [
        "fleet",
        "publish",
        "team",
        "--dry-run",
        "--replay",
        "7d",
        "--fleet",
        "auditor.conf",
    ];
    let output = scene.run(&[&args, more].concat());
    (output.status.code(), said(&output))
}

fn rows(text: &str) -> Vec<Value> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[test]
fn what_a_bundle_would_change_is_shown_before_it_is_published() {
    let Some(program) = program() else { return };
    let mut scene = Scene::new(&program);
    scene.write_settings("auditor.conf", "auditor");
    scene.write("team/guard.yaml", GUARD);
    let (code, text) = against(&scene, &[]);
    assert!(
        code == Some(0) && text.contains("no verdict of the last 7days"),
        "{code:?} {text}"
    );

    // The host has a layer of its own beside the fleet's.
    fs::create_dir(scene.at("user/hooks")).unwrap();
    scene.write(
        "user/hooks/own.yaml",
        "hooks: [{ name: own, on: PreToolUse, if: Bash(dd *), deny: Not here. }]",
    );
    let mut host = scene.host();
    assert_eq!(scene.publish(&["team"]).0, Some(0));
    let secret = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    for command in [
        "rm a",
        "rm b",
        "rm c",
        "dd if=x",
        "git push --force",
        &format!("echo {secret}"),
    ] {
        host.bash(command);
    }
    let long = json!({"event": "PreToolUse", "tool": {"name": "Note", "input": {"text": "x".repeat(300_000)}}});
    assert_eq!(brief(&host.dispatch(long)), "allow");
    let counted = |text: &str| {
        rows(text)
            .pop()
            .filter(|it| it["leftOut"]["truncated"] == 1)
    };
    let (code, last) = eventually("all verdicts are in the stream", || {
        let (code, text) = against(&scene, &["--format", "json"]);
        Some((code, counted(&text)?))
    });
    // What is published already changes nothing, whatever other layers have denied.
    assert!(
        code == Some(0) && last["changed"] == 0 && last["judged"] == 5,
        "{last}"
    );
    assert_eq!(
        last["leftOut"],
        json!({ "truncated": 1, "redacted": 1, "other": 0 })
    );
    let (code, text) = against(&scene, &[]);
    assert!(
        code == Some(0) && text.contains("5 verdicts of the last 7days"),
        "{text}"
    );
    assert!(
        text.contains("what is published is revision 1") && text.contains("nothing would change"),
        "{text}"
    );

    // Three calls were allowed that would be denied; one that was denied would be allowed. A hook
    // that starts something isn't run, and neither is one that counts; only the push comes to them
    // without a deny before.
    let marker = scene.at("started");
    let hooks = format!(
        "
hooks:
  - {{ name: no-rm, on: PreToolUse, if: Bash(rm *), deny: No rm. }}
  - {{ name: no-dd, on: PreToolUse, if: Bash(dd *), deny: No dd either. }}
  - {{ name: starts, on: PreToolUse, command: 'touch {}' }}
  - {{ name: counts, on: PreToolUse, guard: {{ rate-limit: {{ max: 1, within: 1h }} }} }}
",
        marker.display()
    );
    scene.write("team/guard.yaml", &hooks);
    let (code, text) = against(&scene, &[]);
    assert_eq!(code, Some(1), "{text}");
    for words in [
        "   3  PreToolUse           Bash rm a",
        "no-rm: No rm.\n      was allow\n",
        "   1  PreToolUse           Bash git push --force",
        "was deny no-force-push: Force pushes are off.",
        "4 of 5 would be judged otherwise: allow 3 → 1, deny 2 → 4",
        "not judged again: 1 with a secret replaced",
        "starts was not run, because it starts something or counts: 1 event",
        "counts was not run",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(
        !text.contains("No dd either.") && !marker.exists(),
        "{text}"
    );
    let (code, text) = against(&scene, &["--format", "json"]);
    let rows = rows(&text);
    assert!(
        code == Some(1) && rows[0]["count"] == 3 && rows[0]["verdict"]["decidedBy"] == "no-rm",
        "{text}"
    );
    assert!(
        rows[0]["before"]["decision"] == "allow" && rows[0]["of"]["host"] == "host-a",
        "{text}"
    );
    assert_eq!(
        rows.last().unwrap()["after"],
        json!({ "allow": 1, "deny": 4 })
    );

    // Whoever may not read verdicts is told so, and so is whoever reaches no server.
    let args = [
        "fleet",
        "publish",
        "team",
        "--dry-run",
        "--replay",
        "7d",
        "--fleet",
        "publisher.conf",
    ];
    let refused = scene.run(&args);
    assert!(
        refused.status.code() == Some(2) && said(&refused).contains("permit"),
        "{}",
        said(&refused)
    );
    scene.servers.kill(0);
    let (code, text) = against(&scene, &[]);
    assert!(
        code == Some(2) && text.contains("no server is reached"),
        "{text}"
    );
    host.close();
}

/// A fleet of two machines, of which one is in the canary of so many percent.
struct Canary {
    scene: Scene,
    percent: String,
    first: TestHost,
    other: TestHost,
    /// Their names.
    names: [&'static str; 2],
}

impl Canary {
    /// With the team's first bundle in force on both.
    fn start() -> Option<Canary> {
        let scene = Scene::new(&program()?);
        scene.write_settings("auditor.conf", "auditor");
        scene.write("team/guard.yaml", GUARD);
        assert_eq!(scene.publish(&["team", "--wait", "1ms"]).0, Some(0));
        let (permille, names) = (1..1000)
            .find_map(|permille| Some((permille, apart(permille)?)))
            .unwrap();
        let [first, other] = names.map(|name| {
            let (settings, data) = (format!("{name}.conf"), scene.at(&format!("data-{name}")));
            scene.write_settings(&settings, name);
            let mut command = scene.command(&["serve", "--root", "project", "--fleet", &settings]);
            // The last one counts first.
            TestHost::start(
                command
                    .env("HOOKWIRE_LOG", "error")
                    .arg("--data-dir")
                    .arg(data)
                    .stdin(Stdio::piped()),
            )
        });
        let mut canary = Canary {
            scene,
            percent: format!("{}.{}", permille / 10, permille % 10),
            first,
            other,
            names,
        };
        for host in [&mut canary.first, &mut canary.other] {
            let is_denied =
                |host: &mut TestHost| brief(&host.bash("git push --force")).starts_with("deny");
            eventually("the first bundle is in force", || {
                is_denied(host).then_some(())
            });
        }
        Some(canary)
    }

    /// What `fleet status` says, once it says this.
    fn status(&self, words: &str) -> String {
        eventually(words, || {
            let text = said(
                &self
                    .scene
                    .run(&["fleet", "status", "--fleet", "publisher.conf"]),
            );
            text.contains(words).then_some(text)
        })
    }

    fn close(mut self) {
        self.first.close();
        self.other.close();
    }
}

#[test]
fn hosts_read_what_is_newer_in_definitions_and_say_so() {
    let Some(program) = program() else { return };
    let scene = Scene::new(&program);
    let located = "
hooks:
  - { name: a, on: PreToolUse, if: Bash(git commit *), where: { branch: main }, deny: no }
  - { name: b, on: PreToolUse, if: Connect(evil.example), deny: no }
";
    scene.write("team/guard.yaml", located);
    let mut host = scene.host();
    let (code, text) = scene.publish(&["team"]);
    assert_eq!(code, Some(0), "{text}");
    eventually("the bundle is in force", || {
        let denied = brief(&host.bash("curl https://evil.example"));
        denied.starts_with("deny by b").then_some(())
    });
    // The host has reported by then, and reads both.
    let (code, text) = scene.publish(&["team"]);
    assert_eq!(code, Some(0), "{text}");
    host.close();
}

/// The one of two hosts that is in a canary of this size, and the other, if they are apart.
fn apart(permille: u16) -> Option<[&'static str; 2]> {
    let manifest = Manifest {
        channel: "main".parse().unwrap(),
        revision: 1,
        stage: Stage::Canary { permille },
        created: 0,
        expires: 1,
        min_host: None,
        message: None,
        files: Vec::new(),
    };
    match ["host-a", "host-b"].map(|it| manifest.is_for(it)) {
        [true, false] => Some(["host-a", "host-b"]),
        [false, true] => Some(["host-b", "host-a"]),
        [true, true] | [false, false] => None,
    }
}

#[test]
fn a_canary_that_denies_clearly_more_is_held_and_taken_back() {
    let Some(mut canary) = Canary::start() else {
        return;
    };
    for _ in 0..60 {
        assert_eq!(brief(&canary.other.bash("ls")), "allow");
    }
    let denies =
        format!("{GUARD}  - {{ name: no-ls, on: PreToolUse, if: Bash(ls), deny: No ls. }}\n");
    canary.scene.write("team/guard.yaml", &denies);
    let percent = canary.percent.clone();
    let (code, text) = canary.scene.publish(&["team", "--canary", &percent]);
    assert!(
        code == Some(0) && text.contains(&format!("in force on {}.", canary.names[0])),
        "{text}"
    );
    canary.status("too few events to compare: each side needs 50 events");
    for _ in 0..60 {
        assert!(brief(&canary.first.bash("ls")).starts_with("deny by no-ls"));
    }
    let text = canary.status("the canary denies clearly more often");
    assert!(
        text.contains("\ncanary, revision 2                 60    100.0 %      0.0 %      0.0 %"),
        "{text}"
    );

    // It is held, and nothing is published.
    let (code, text) = canary.scene.publish(&["--promote"]);
    assert!(
        code == Some(1) && text.contains("the canary denies clearly more often"),
        "{text}"
    );
    assert!(
        text.contains("Nothing is published.") && !text.contains("published revision"),
        "{text}"
    );
    assert_eq!(brief(&canary.other.bash("ls")), "allow");

    // Each verdict in the stream says by which revision it was made.
    let records = eventually("all verdicts are in the stream", || {
        let output = canary.scene.run(&[
            "fleet",
            "query",
            "--fleet",
            "auditor.conf",
            "--format",
            "jsonl",
            "ls",
        ]);
        let records = rows(&said(&output));
        (records.len() == 121).then_some(records)
    });
    for record in &records {
        let revision = if record["of"]["host"] == canary.names[0] {
            2
        } else {
            1
        };
        assert!(
            record["of"]["revision"] == revision && record["published"]["revision"] == revision,
            "{record}"
        );
        let denied = record["verdict"]["decidedBy"] == "no-ls";
        assert!(
            denied == (revision == 2)
                && record["published"]["digest"].as_str().unwrap().len() == 64,
            "{record}"
        );
    }

    let (code, text) = canary.scene.publish(&["--roll-back"]);
    assert!(
        code == Some(0) && text.contains("the files of revision 1, again"),
        "{text}"
    );
    eventually("the canary is taken back", || {
        (brief(&canary.first.bash("ls")) == "allow").then_some(())
    });

    // Watched, it is taken back by itself.
    let args = [
        "fleet",
        "publish",
        "team",
        "--canary",
        &percent,
        "--watch",
        "10m",
        "--fleet",
        "publisher.conf",
    ];
    let mut watching = canary
        .scene
        .command(&[&args[..], &["--key", "team.key"]].concat());
    let watching = watching
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("the canary is in force again", || {
        brief(&canary.first.bash("ls"))
            .starts_with("deny by no-ls")
            .then_some(())
    });
    for _ in 0..60 {
        canary.first.bash("ls");
    }
    let output = watching.wait_with_output().unwrap();
    let text = said(&output);
    assert!(
        output.status.code() == Some(1) && text.contains("the canary denies clearly more often"),
        "{text}"
    );
    assert!(text.contains("published revision 5 to main"), "{text}");
    eventually("the canary is taken back", || {
        (brief(&canary.first.bash("ls")) == "allow").then_some(())
    });

    // One that does nothing stays.
    let (code, text) = canary
        .scene
        .publish(&["team", "--canary", &percent, "--watch", "1s"]);
    assert!(
        code == Some(0) && text.contains("too few events") && text.contains("It stays a canary"),
        "{text}"
    );
    for _ in 0..60 {
        canary.first.bash("ls");
    }
    canary.status("the canary denies clearly more often");
    let (code, text) = canary.scene.publish(&["--promote", "--despite-rates"]);
    assert!(
        code == Some(0) && text.contains("published revision 7 to main"),
        "{text}"
    );
    eventually("it is in force everywhere", || {
        brief(&canary.other.bash("ls"))
            .starts_with("deny by no-ls")
            .then_some(())
    });
    // The canary's files are the same under the new revision, and its verdicts name that one from
    // then on.
    eventually("a verdict by the promoted revision", || {
        canary.first.bash("ls");
        let args = [
            "fleet",
            "query",
            "--fleet",
            "auditor.conf",
            "--format",
            "jsonl",
            "--host",
            canary.names[0],
            "ls",
        ];
        let last = rows(&said(&canary.scene.run(&args))).pop()?;
        (last["of"]["revision"] == 7).then_some(())
    });
    canary.close();
}
