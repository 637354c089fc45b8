//! The demo prints what went over the wire, and shows what it promises.

use crate::support::*;
use serde_json::Value;

#[test]
fn the_timeline_is_what_the_wire_says() {
    let dir = tempfile::tempdir().unwrap();
    let wire = dir.path().join("wire");
    let output = hookwire()
        .args(["demo", "--wire"])
        .arg(&wire)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let wire = std::fs::read_to_string(wire).unwrap();
    let message = |line: &str| serde_json::from_str::<Value>(&line[2..]).unwrap();
    let sent: Vec<Value> = wire
        .lines()
        .filter(|line| line.starts_with('>'))
        .map(message)
        .collect();
    let received: Vec<Value> = wire
        .lines()
        .filter(|line| line.starts_with('<'))
        .map(message)
        .collect();

    // Every dispatch on the wire is a row, in order, with its reply's decision, hook and reason.
    let mut rows = printed
        .lines()
        .filter(|line| line.ends_with(" ms"))
        .peekable();
    let dispatches: Vec<_> = sent
        .iter()
        .filter(|message| message["method"] == "hooks/dispatch")
        .collect();
    let mut stopped = Vec::new();
    for request in &dispatches {
        let row = rows.next().unwrap();
        let payload = &request["params"]["payload"];
        assert!(
            row.starts_with(payload["hook_event_name"].as_str().unwrap()),
            "{row}"
        );
        let reply = received
            .iter()
            .find(|reply| reply["id"] == request["id"] && reply.get("method").is_none())
            .unwrap();
        let verdict = &reply["result"]["verdict"];
        let text = |key: &str| verdict[key].as_str().unwrap_or_default();
        let word = if verdict.get("subject").is_some() {
            "rewrite"
        } else {
            text("decision")
        };
        assert!(
            row.contains(&format!(" {word} ")),
            "{row} against {verdict}"
        );
        let told = &printed[printed.find(row).unwrap()..];
        let told = &told[..rows
            .peek()
            .map_or(told.len(), |next| told[1..].find(next).unwrap())];
        assert!(
            told.contains(text("reason")) && told.contains(text("decidedBy")),
            "{told} against {verdict}"
        );
        if let Some(command) = verdict["subject"]["command"].as_str() {
            assert!(told.contains(command), "{told} against {verdict}");
        }
        // What was stopped didn't run, so nothing comes after it.
        let call = &payload["tool_use_id"];
        assert!(
            !stopped.contains(&call),
            "{row} comes after a call that was stopped"
        );
        if word == "deny" {
            stopped.push(call);
        }
    }
    assert_eq!((rows.next(), stopped.len()), (None, 4));

    // The session's payloads went over the wire unaltered.
    let session = std::fs::read_to_string(repo("examples/quickstart/session.jsonl")).unwrap();
    for line in session.lines() {
        let payload = serde_json::from_str::<Value>(line).unwrap()["stdin"].take();
        assert!(
            dispatches
                .iter()
                .any(|request| request["params"]["payload"] == payload)
        );
    }

    // What the demo is for: in this order.
    let mut rest = &printed[..];
    for step in [
        "use-pnpm:      runs instead: pnpm test",
        "audit.log:     PostToolUse Edit /home/dev/shop/src/login.ts",
        "git push origin +main",
        "no-force-push: Force pushes are off; push a branch and open a pull request.",
        "no-env-read:   .env holds secrets; .env.example has the names.",
        "You add the hook `people-merge` and save.",
        "git push -u      allow",
        "You save the file with a bracket missing.",
        "people-merge:  A person merges; ask for a review.",
        "hooks stay in force",
        "hookwire install claude-code",
    ] {
        let at = rest
            .find(step)
            .unwrap_or_else(|| panic!("`{step}` is not in the rest of\n{printed}"));
        rest = &rest[at..];
    }
    for line in printed.lines() {
        assert!(
            line.chars().count() <= 80,
            "too long for a terminal: {line}"
        );
    }
    let drawn = std::fs::read_to_string(repo("docs/images/demo.svg")).unwrap();
    assert!(
        without_numbers(&text_of(&drawn)) == without_numbers(&printed),
        "run docs/images/draw-demo: {printed}"
    );
}

/// Real programs, below the real supervisor; where it can't hold them, the demo says that and plays
/// nothing.
#[test]
fn a_forced_push_is_stopped_where_it_starts() {
    if !is_there("git") || !is_there("make") {
        return;
    }
    let output = hookwire().args(["demo", "--run"]).output().unwrap();
    let (printed, said) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    if said.contains("this demo needs a kernel that can hold what starts") {
        assert!(printed.is_empty(), "{said}{printed}");
        return skip(said.trim_end());
    }
    assert!(output.status.success(), "{said}{printed}");
    let mut rest = &printed[..];
    for step in [
        "Bash  make test",
        "3 tests passed",
        "exit:          0",
        "Bash  make publish",
        "      make publish",
        "        git publish",
        "          git push --force origin HEAD:main",
        "deny",
        "no-force-push: Force pushes are off; push a branch and open a pull request.",
        "exit:          2",
        "Bash  git push origin HEAD:fix",
        "exit:          0",
        "The remote's main branch is where it was.",
    ] {
        let at = rest
            .find(step)
            .unwrap_or_else(|| panic!("`{step}` is not in the rest of\n{printed}"));
        rest = &rest[at + step.len()..];
    }
    assert!(
        printed.lines().all(|line| line.chars().count() <= 80),
        "too long for a terminal:\n{printed}"
    );
}

/// What a picture says, line by line.
fn text_of(svg: &str) -> String {
    let mut text = String::new();
    for line in svg.lines().filter(|line| line.starts_with("<text")) {
        for part in line.split('<').filter_map(|part| part.split_once('>')) {
            text.push_str(part.1);
        }
        text.push('\n');
    }
    [("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
        .iter()
        .fold(text, |text, (from, to)| text.replace(from, to))
}

/// A text but for its numbers and the space around them: times and processes differ from run to
/// run.
fn without_numbers(text: &str) -> String {
    let lines = text.lines().map(|line| {
        line.split_whitespace()
            .filter(|word| word.parse::<f64>().is_err())
    });
    let lines = lines.map(|words| words.collect::<Vec<_>>().join(" "));
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("Process "))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The picture of `init` is what it prints at a terminal, in a project with one agent.
#[test]
fn the_picture_of_the_beginning_is_what_is_printed() {
    use std::os::unix::fs::PermissionsExt;
    if !is_there("python3") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let scene = dir.path().canonicalize().unwrap();
    for name in ["home", "app/.git", "bin", "run"] {
        std::fs::create_dir_all(scene.join(name)).unwrap();
    }
    let agent = scene.join("bin/claude");
    std::fs::write(&agent, "#!/bin/sh\necho '2.1.332 (Claude Code)'\n").unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", scene.join("bin").display(), *PATH);
    let run = |command: &mut std::process::Command| {
        command
            .current_dir(scene.join("app"))
            .env("HOME", scene.join("home"))
            .env("XDG_RUNTIME_DIR", scene.join("run"))
            .env("NO_COLOR", "1")
            .env("PATH", &path);
        command.output().unwrap()
    };
    let mut terminal = in_our_world(std::process::Command::new("python3"));
    terminal
        .arg(repo("tests/support/terminal.py"))
        .args(["y", env!("CARGO_BIN_EXE_hookwire-host")])
        .arg("--user-dir")
        .arg(scene.join("home/.config/hookwire"))
        .arg("--data-dir")
        .arg(scene.join("home/.local/share/hookwire"))
        .args(["init", "--agents", "claude-code"]);
    let output = run(&mut terminal);
    run(hookwire().args(["host", "stop", "--all"]));
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed = printed
        .replace("\r\n", "\n")
        .replace(scene.to_str().unwrap(), "/home/dev");
    let drawn = std::fs::read_to_string(repo("docs/images/init.svg")).unwrap();
    let lines = |text: &str| -> Vec<String> {
        let text = without_numbers(text);
        let lines = text.lines().map(|line| line.trim_end().to_string());
        lines.filter(|line| !line.is_empty()).collect()
    };
    assert_eq!(
        lines(&text_of(&drawn))[1..],
        lines(&printed)[..],
        "run docs/images/draw-init"
    );
}
