//! What a publisher learns before a bundle is everywhere: what it would have changed, and how its canary does.

use super::fleet::servers::program;
use super::fleet::{Scene, said};
use super::support::{brief, eventually};
use serde_json::{Value, json};
use std::fs;

const GUARD: &str = "
hooks:
  - { name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off. }
";

/// Says what publishing `team` would change, as lines for people or as JSON.
fn against(scene: &Scene, more: &[&str]) -> (Option<i32>, String) {
    let args = ["publish", "team", "--dry-run", "--against", "7d", "--fleet", "auditor.conf"];
    let output = scene.run(&[&args, more].concat());
    (output.status.code(), said(&output))
}

fn rows(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn what_a_bundle_would_change_is_shown_before_it_is_published() {
    let Some(program) = program() else { return };
    let mut scene = Scene::new(&program);
    scene.write_settings("auditor.conf", "auditor");
    scene.write("team/guard.yaml", GUARD);
    let (code, text) = against(&scene, &[]);
    assert!(code == Some(0) && text.contains("no verdict of the last 7days"), "{code:?} {text}");

    // The host has a layer of its own beside the fleet's.
    fs::create_dir(scene.at("user/hooks")).unwrap();
    scene.write("user/hooks/own.yaml", "hooks: [{ name: own, on: PreToolUse, if: Bash(dd *), deny: Not here. }]");
    let mut host = scene.host();
    assert_eq!(scene.publish(&["team"]).0, Some(0));
    let secret = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    for command in ["rm a", "rm b", "rm c", "dd if=x", "git push --force", &format!("echo {secret}")] {
        host.bash(command);
    }
    let long = json!({"event": "PreToolUse", "tool": {"name": "Note", "input": {"text": "x".repeat(300_000)}}});
    assert_eq!(brief(&host.dispatch(long)), "allow");
    let counted = |text: &str| rows(text).pop().filter(|it| it["leftOut"]["truncated"] == 1);
    let (code, last) = eventually("all verdicts are in the stream", || {
        let (code, text) = against(&scene, &["--format", "json"]);
        Some((code, counted(&text)?))
    });
    // What is published already changes nothing, whatever other layers have denied.
    assert!(code == Some(0) && last["changed"] == 0 && last["judged"] == 5, "{last}");
    assert_eq!(last["leftOut"], json!({ "truncated": 1, "redacted": 1, "other": 0 }));
    let (code, text) = against(&scene, &[]);
    assert!(code == Some(0) && text.contains("5 verdicts of the last 7days"), "{text}");
    assert!(text.contains("what is published is revision 1") && text.contains("nothing would change"), "{text}");

    // Three calls were allowed that would be denied; one that was denied would be allowed. A hook that starts something
    // isn't run, and neither is one that counts; only the push comes to them without a deny before.
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
    assert!(!text.contains("No dd either.") && !marker.exists(), "{text}");
    let (code, text) = against(&scene, &["--format", "json"]);
    let rows = rows(&text);
    assert!(code == Some(1) && rows[0]["count"] == 3 && rows[0]["verdict"]["decidedBy"] == "no-rm", "{text}");
    assert!(rows[0]["before"]["decision"] == "allow" && rows[0]["of"]["host"] == "host-a", "{text}");
    assert_eq!(rows.last().unwrap()["after"], json!({ "allow": 1, "deny": 4 }));

    // Whoever may not read verdicts is told so, and so is whoever reaches no server.
    let args = ["publish", "team", "--dry-run", "--against", "7d", "--fleet", "publisher.conf"];
    let refused = scene.run(&args);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("permit"), "{}", said(&refused));
    scene.servers.kill(0);
    let (code, text) = against(&scene, &[]);
    assert!(code == Some(2) && text.contains("no server is reached"), "{text}");
    host.close();
}
