//! Nothing that an event or a definition says can move a terminal's cursor, hide or reorder what
//! stands around it, whichever command prints it.

use super::installed::Project;
use serde_json::{Value, json};
use std::fs;

/// Of each kind of character that a terminal obeys or nobody sees, one.
const HOSTILE: &str = "\u{1b}[2K\u{9b}31m\u{202e}a\r\u{200b}\u{e0041}\u{e0101}b\u{7f}\u{0}\u{2028}\u{2066}\n\u{3164}deny";

fn is_unsafe(c: char) -> bool {
    c.is_control() && c != '\n'
        || HOSTILE
            .chars()
            .any(|it| it == c && !it.is_ascii_graphic() && it != '\n')
}

/// The text without the colours that hookwire itself writes: none of the hostile text's.
fn without_colours(mut text: String) -> String {
    for style in [
        "0", "1", "2", "31", "32", "33", "1;31", "34", "35", "36", "91", "92", "93", "94", "95",
        "96",
    ] {
        text = text.replace(&format!("\u{1b}[{style}m"), "");
    }
    text
}

#[test]
fn no_command_prints_what_a_terminal_obeys() {
    let project = Project::new();
    let hooks = json!({"hooks": [
        {"name": format!("no{HOSTILE}"), "description": HOSTILE, "on": "PreToolUse", "if": "Bash(rm *)", "deny": HOSTILE},
        {"name": "in-doubt", "on": "PreToolUse", "if": "Bash(git push*)", "deny": "no"},
        {"name": "careful", "on": "PreToolUse", "matcher": "Write", "ask": HOSTILE},
        {"name": "script", "on": "PreToolUse", "script": "throw Error(event.tool.input.command)"},
        {"name": "misspelt", "on": "PreToolUse", "deny": "x", HOSTILE: 1},
    ]});
    fs::write(
        project.root().join(".hookwire/hostile.json"),
        hooks.to_string(),
    )
    .unwrap();
    let of = |command: &str| {
        json!({"event": "PreToolUse", "session": HOSTILE, "agent": {"name": HOSTILE},
            "tool": {"name": "Bash", "input": {"command": command, HOSTILE: HOSTILE}}})
    };
    let events: Vec<Value> = [
        format!("rm {HOSTILE}"),
        format!("$X '{HOSTILE}'"),
        HOSTILE.into(),
    ]
    .iter()
    .map(|it| of(it))
    .collect();
    let lines: String = events.iter().map(|it| format!("{it}\n")).collect();
    fs::write(project.root().join("lines.jsonl"), &lines).unwrap();
    let payload =
        json!({"hook_event_name": "PreToolUse", "session_id": HOSTILE, "cwd": project.root(), "tool_name": "Bash",
        "tool_input": {"command": format!("rm {HOSTILE}")}})
        .to_string();
    let (event, none) = (events[0].to_string(), String::new());
    let doubtful = events[1].to_string();
    let requests: String = events
        .iter()
        .map(|it| {
            format!(
                "{}\n",
                json!({"jsonrpc": "2.0", "id": 1, "method": "hooks/dispatch", "params": it})
            )
        })
        .collect();
    let mut n_seen = 0;
    for (args, stdin) in [
        (&["hook", "claude-code", "--live"][..], &payload),
        (&["check", "--list", "--live"], &none),
        (&["check"], &none),
        (&["explain", "--run", "--live", "-"], &event),
        (&["explain", "--run", "--live"], &event),
        (&["explain", "--run", "--live"], &doubtful),
        (&["explain", "--live"], &event),
        (&["explain", "--live"], &doubtful),
        (&["explain", "--last"], &none),
        (&["history", "replay", "--live", "lines.jsonl"], &none),
        (&["tail", "--no-follow"], &none),
        (&["trust"], &none),
        (&["trust", "check", "--list"], &none),
        (&["host", "status"], &none),
        (&["doctor"], &none),
        (&["approvals", "approve", HOSTILE], &none),
        (&["--hooks", HOSTILE, "check", "--list"], &none),
        (&["check", "--list", "--hooks", HOSTILE], &none),
        (
            &[
                "serve",
                "--isolated",
                "--hooks",
                ".hookwire",
                "--log-verdicts",
                "--log",
                "debug",
            ],
            &requests,
        ),
        (
            &[
                "serve",
                "--isolated",
                "--hooks",
                ".hookwire",
                "--log-json",
                "--log-verdicts",
                "--log",
                "debug",
            ],
            &requests,
        ),
    ] {
        // An argument can't hold a NUL.
        let args: Vec<String> = args.iter().map(|it| it.replace('\0', "")).collect();
        for more in [&[][..], &["--format", "json"], &["--color", "always"]] {
            let args: Vec<&str> = args
                .iter()
                .map(String::as_str)
                .chain(more.iter().copied())
                .collect();
            let output = project.run(&args, stdin);
            // The protocol is for programs.
            let stdout = if args[0] == "serve" || args[0] == "hook" {
                Vec::new()
            } else {
                output.stdout
            };
            for bytes in [stdout, output.stderr] {
                let text = without_colours(String::from_utf8(bytes).unwrap());
                let found: Vec<char> = text.chars().filter(|c| is_unsafe(*c)).collect();
                // The parser of arguments writes of what it can't read by itself.
                assert!(
                    found.is_empty() || text.contains("Usage: hookwire"),
                    "{args:?}: {found:?} in {text}"
                );
                n_seen += usize::from(text.contains("\\u{202e}") || text.contains("\\u202e"));
            }
        }
    }
    assert!(
        n_seen >= 20,
        "hostile texts were printed {n_seen} times only"
    );
}

#[test]
fn explain_says_a_reason_once() {
    let project = Project::new();
    let rules = ["sudo", "doas", "su", "run0", "pkexec"].map(|it| format!("Bash({it} *)"));
    let hooks =
        json!({"hooks": [{"name": "no-root", "on": "PreToolUse", "if": rules, "deny": "no"}]});
    fs::write(
        project.root().join(".hookwire/no-root.json"),
        hooks.to_string(),
    )
    .unwrap();
    let doubt = "Bash(sudo *): a shell reads computed text, at `sh`";
    for (command, wanted) in [
        (
            "curl x | sh",
            &[
                "if     doubt  ",
                doubt,
                "4 more rules in doubt for the same reason",
            ][..],
        ),
        (
            "sudo ls",
            &[
                "if     holds  Bash(sudo *): `sudo ls`",
                "1 more rule misses",
                "unless: Bash(sudo ls)",
            ],
        ),
    ] {
        let output = project.run(&["explain", "--live", "--bash", command], "");
        let told = String::from_utf8(output.stdout).unwrap();
        let mut rest = &*told;
        for part in wanted {
            let (_, after) = rest
                .split_once(part)
                .unwrap_or_else(|| panic!("{part:?} isn't next in {told}"));
            rest = after;
        }
    }
}
