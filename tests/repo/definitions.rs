//! What is said about mistakes and what `check` says, that what the repository ships is without a
//! mistake, and that the schemas are those of the types.

use crate::support::*;
use hookwire::{Host, HostOptions};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

fn load(dir: &Path) -> Arc<Host> {
    Host::new(HostOptions {
        root: dir.into(),
        hooks: vec![dir.into()],
        ..HostOptions::default()
    })
}

/// What is told because of the machine that a test happens to run on.
const OF_THE_MACHINE: [&str; 6] = [
    "no-key",
    "no-directory",
    "no-model",
    "no-module",
    "no-program",
    "small-model",
];

fn all_diagnostics(host: &Host) -> Vec<Value> {
    host.published()
        .diagnostics
        .iter()
        .map(|it| json!(it))
        .collect()
}

fn diagnostics(host: &Host) -> Vec<Value> {
    let of_the_text = |it: &Value| !OF_THE_MACHINE.contains(&it["code"].as_str().unwrap());
    all_diagnostics(host)
        .into_iter()
        .filter(of_the_text)
        .collect()
}

/// What a diagnostic says, on one line and without its file.
fn told(diagnostic: &Value) -> String {
    let text = |key: &str| diagnostic[key].as_str();
    let start = &diagnostic["range"]["start"];
    let (severity, code, message) = (
        text("severity").unwrap(),
        text("code").unwrap(),
        text("message").unwrap(),
    );
    let hook = text("hook")
        .map(|hook| format!("{{{hook}}} "))
        .unwrap_or_default();
    let help = text("help")
        .map(|help| format!(" ({help})"))
        .unwrap_or_default();
    format!(
        "{}:{} {severity}[{code}] {hook}{message}{help}",
        start["line"], start["column"]
    )
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let path = repo("tests/data/diagnostics.txt");
    let data = fs::read_to_string(&path).unwrap();
    let (preface, cases) = data.split_once("\n=== ").unwrap();
    let mut updated = preface.to_string();
    let mut wrong = Vec::new();
    let mut codes = BTreeSet::new();
    for case in cases.split("\n=== ") {
        let (title, rest) = case.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("---").unwrap();
        let name = format!("case.{}", title.split(':').next().unwrap());
        let dir = hooks(&[(&name, text)]);
        let file = dir.path().join(&name).display().to_string();
        let host = load(dir.path());
        let diagnostics = if title.contains("the machine") {
            all_diagnostics(&host)
        } else {
            diagnostics(&host)
        };
        codes.extend(
            diagnostics
                .iter()
                .map(|it| it["code"].as_str().unwrap().to_string()),
        );
        let told: Vec<_> = diagnostics
            .iter()
            .map(|it| told(it).replace(&file, "FILE"))
            .collect();
        if told.join("\n").trim() != expected.trim() {
            wrong.push(format!(
                "{title}\n  expected\n{}\n  told\n{}",
                expected.trim(),
                told.join("\n")
            ));
        }
        updated.push_str(&format!(
            "\n=== {title}\n{text}---\n{}",
            told.iter().map(|it| format!("{it}\n")).collect::<String>()
        ));
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, updated).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    // Those that are about files and directories are in tests/host/reload.rs, those about what is
    // trusted in tests/systems/trust.rs.
    for source in ["compile", "file_state", "load"] {
        let source =
            fs::read_to_string(repo(&format!("crates/engine/src/definitions/{source}.rs")))
                .unwrap();
        for code in source
            .split('"')
            .filter(|it| it.contains('-') && it.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        {
            let elsewhere = [
                "missing-directory",
                "empty-file",
                "last-good",
                "too-deep",
                "too-many-files",
                "loaded-twice",
                "not-trusted",
                "changed-since-trusted",
                "broken-trust",
                "broken-fleet",
            ];
            assert!(
                codes.contains(code) || elsewhere.contains(&code),
                "no case for `{code}`"
            );
        }
    }
}

#[test]
fn names_are_unique_in_a_layer_whatever_the_file() {
    let text = "hooks: [{ name: guard, on: Stop, deny: no }]";
    let dir = hooks(&[("a.yaml", text), ("b/c.yaml", &format!("# Below.\n{text}"))]);
    let diagnostics = diagnostics(&load(dir.path()));
    let first = dir.path().join("a.yaml");
    let expected = format!(
        "2:17 warning[duplicate-name] {{guard}} `guard` is also the name of the hook at {}:1; both run (give one of them another name)",
        first.display()
    );
    assert_eq!(diagnostics.iter().map(told).collect::<Vec<_>>(), [expected]);
    assert_eq!(load(dir.path()).hooks().hooks.len(), 2);
}

#[test]
fn a_deep_directory_and_a_missing_one_are_told() {
    let deep: String = (0..18).map(|_| "d/").collect();
    let dir = hooks(&[(&format!("{deep}a.yaml"), "hooks: []")]);
    let told = |host: Arc<Host>| diagnostics(&host).iter().map(told).collect::<Vec<_>>();
    assert_eq!(
        told(load(dir.path())),
        [
            "1:1 error[too-deep] more than 16 directories are inside one another; this one is not read"
        ]
    );
    assert_eq!(
        told(load(&dir.path().join("x"))),
        ["1:1 error[missing-directory] the directory doesn't exist"]
    );
    assert_eq!(
        told(load(&dir.path().join("d/../a.yaml"))),
        ["1:1 error[missing-directory] the file doesn't exist"]
    );
    fs::write(dir.path().join("file"), "").unwrap();
    let denied = "1:1 error[missing-directory] it is not a directory; until it is fixed, every tool call is denied";
    assert_eq!(told(load(&dir.path().join("file"))), [denied]);
}

#[test]
fn files_of_other_tools_are_left_alone() {
    let dir = hooks(&[
        ("package.json", r#"{"hooks": 3"#),
        ("pyproject.toml", "[tool"),
        ("docker-compose.yml", "services: {{ x }}"),
        (
            "ci.yml",
            "on: push\ndefaults: { run: { shell: bash } }\njobs: {}",
        ),
        ("sub/renovate.json", r#"{"extends": []}"#),
        ("guard.yaml", "hooks: [{ name: g, on: Stop, deny: no }]"),
        ("near.yaml", "hoks: []"),
        ("one.yaml", "name: one\non: Stop\ndeny: no"),
    ]);
    let host = load(dir.path());
    let told: Vec<_> = diagnostics(&host)
        .iter()
        .map(|it| format!("{} {}", it["code"], it["file"]))
        .collect();
    let near =
        |code: &str, file: &str| format!("\"{code}\" \"{}\"", dir.path().join(file).display());
    let expected = [
        near("not-definitions", "ci.yml"),
        near("unknown-field", "near.yaml"),
        near("unknown-field", "one.yaml"),
        near("not-definitions", "sub/renovate.json"),
    ];
    assert_eq!(told, expected);
    // What is meant to be definitions and can't be read denies.
    let hooks = host.hooks().hooks.clone();
    assert_eq!(
        hooks.iter().map(|hook| &*hook.name).collect::<Vec<_>>(),
        ["near.yaml", "one.yaml", "g"]
    );
    // A verdict tells of what is broken, and these are not.
    assert!(
        !host
            .hooks()
            .broken
            .iter()
            .any(|it| it.contains("ci.yml") || it.contains("renovate"))
    );
    // Whoever names a file means it.
    let ci = dir.path().join("ci.yml");
    let (code, out, _) = run(hookwire().args(["check", "--isolated", "--hooks"]).arg(&ci));
    assert!(code == 1 && out.contains("unknown field `jobs`"), "{out}");
}

#[test]
fn what_an_interpreter_would_not_find_is_told() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let yaml = "\
defaults: { fail: closed }
hooks:
  - { name: a, on: Stop, callable: { python: 'nothing_like_it.x:f' } }
  - { name: b, on: Stop, callable: { python: 'json:dumps' } }
  - { name: c, on: Stop, callable: { python: './hook.py:there' } }
  - { name: d, on: Stop, callable: { python: './hook.py:elsewhere' } }
  - { name: e, on: Stop, callable: { node: './hook.mjs#there' } }
  - { name: f, on: Stop, callable: { node: './hook.mjs#elsewhere' } }
  - { name: g, on: Stop, callable: { python: 'hook:elsewhere' } }
";
    let dir = hooks(&[
        ("hooks.yaml", yaml),
        ("hook.py", "def there(event): pass\n"),
        ("hook.mjs", "export const there = () => {};\n"),
    ]);
    let check = hookwire()
        .args(["check", "--isolated", "--format", "json", "--hooks"])
        .arg(dir.path())
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&check.stdout).unwrap();
    let told: Vec<_> = told["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(told_of_hook)
        .collect();
    let expected = [
        "a: there is no Python module `nothing_like_it.x`",
        "d: `./hook.py:elsewhere`: there is no `elsewhere` in ./hook.py",
        "f: `./hook.mjs#elsewhere`: there is no `elsewhere` in ./hook.mjs",
        "g: `hook:elsewhere`: there is no `elsewhere` in hook.py",
    ];
    let place = format!("{}/", dir.path().display());
    assert_eq!(
        told.iter()
            .map(|it| it.replace(&place, ""))
            .collect::<Vec<_>>(),
        expected
    );
}

/// They may have come with a clone: an interpreter, and what an interpreter loads by itself.
#[test]
fn checking_definitions_runs_nothing_of_theirs() {
    let yaml = "\
defaults: { fail: closed }
hooks:
  - { name: a, on: Stop, callable: { python: 'nothing_like_it:f', HOW } }
";
    let marker = "import pathlib; pathlib.Path('MARKER').touch()";
    for (how, venv) in [
        ("venv: made", "made"),
        ("args: {}", ".venv"),
        ("env: { PYTHONPATH: DIR }", "unused"),
    ] {
        let dir = hooks(&[
            ("hooks.yaml", ""),
            ("sitecustomize.py", ""),
            (&format!("{venv}/bin/python3"), ""),
        ]);
        let at = |path: &str| dir.path().join(path);
        let place = |text: &str| text.replace("DIR", dir.path().to_str().unwrap());
        fs::write(at("hooks.yaml"), place(&yaml.replace("HOW", how))).unwrap();
        let marker = marker.replace("MARKER", at("ran").to_str().unwrap());
        fs::write(at("sitecustomize.py"), &marker).unwrap();
        let python = at(&format!("{venv}/bin/python3"));
        fs::write(
            &python,
            format!("#!/bin/sh\n: > '{}'\n", at("ran").display()),
        )
        .unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        hookwire()
            .args(["check", "--isolated", "--hooks"])
            .arg(dir.path())
            .output()
            .unwrap();
        assert!(!at("ran").exists(), "{how}");
    }
}

fn told_of_hook(diagnostic: &Value) -> String {
    format!(
        "{}: {}",
        diagnostic["hook"].as_str().unwrap(),
        diagnostic["message"].as_str().unwrap()
    )
}

fn run(command: &mut Command) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    (
        status.code().unwrap(),
        String::from_utf8(stdout).unwrap(),
        String::from_utf8(stderr).unwrap(),
    )
}

const BROKEN: &str = "\
defaults: { fail: closed }
hooks:
  - name: no-force-push
    on: PreTolUse
    if: Bash(git push --force*)
    deny: Force pushes are off.
  - name: no-force-push
    on: PreToolUse
    mathcer: Bash
    deny: Twice.
";

const RENDERED: &str = "\
error[unknown-event]: unknown event `PreTolUse`; until it is fixed, every tool call is denied
 --> hooks/guard.yaml:4:9
  |
4 |     on: PreTolUse
  |         ^^^^^^^^^
  |
  = note: in hook `no-force-push`
  = help: did you mean `PreToolUse`?

warning[duplicate-name]: `no-force-push` is also the name of the hook at hooks/guard.yaml:3; both run
 --> hooks/guard.yaml:7:11
  |
7 |   - name: no-force-push
  |           ^^^^^^^^^^^^^
  |
  = note: in hook `no-force-push`
  = help: give one of them another name

error[unknown-field]: unknown field `mathcer`; until it is fixed, every tool call is denied
 --> hooks/guard.yaml:9:5
  |
9 |     mathcer: Bash
  |     ^^^^^^^
  |
  = note: in hook `no-force-push`
  = help: did you mean `matcher`?

0 hooks in force, 2 errors, 1 warning
";

#[test]
fn check_shows_the_line_and_what_to_do() {
    let root = hooks(&[("hooks/guard.yaml", BROKEN)]);
    let check = |args: &[&str]| {
        run(hookwire()
            .current_dir(root.path())
            .args(["check", "--isolated"])
            .args(args))
    };
    assert_eq!(
        check(&["--hooks", "hooks"]),
        (1, RENDERED.into(), String::new())
    );

    let (code, out, log) = check(&["--hooks", "hooks", "--format", "json"]);
    let place = |line, from, to| json!({"start": {"line": line, "column": from}, "end": {"line": line, "column": to}});
    let diagnostic = |severity, code, message: &str, help, range| {
        json!({
            "file": "hooks/guard.yaml", "severity": severity, "code": code, "message": message,
            "help": help, "hook": "no-force-push", "range": range,
        })
    };
    let expected = json!({"diagnostics": [
        diagnostic("error", "unknown-event", "unknown event `PreTolUse`; until it is fixed, every tool call is denied",
            "did you mean `PreToolUse`?", place(4, 9, 18)),
        diagnostic("warning", "duplicate-name",
            "`no-force-push` is also the name of the hook at hooks/guard.yaml:3; both run",
            "give one of them another name", place(7, 11, 24)),
        diagnostic("error", "unknown-field",
            "unknown field `mathcer`; until it is fixed, every tool call is denied",
            "did you mean `matcher`?", place(9, 5, 12)),
    ]});
    assert_eq!(
        (code, serde_json::from_str::<Value>(&out).unwrap(), &*log),
        (1, expected, "")
    );
}

#[test]
fn exit_codes() {
    let warning = "hooks: [{ name: a, on: PreToolUse, command: echo }]";
    let root = hooks(&[
        ("good/a.yaml", "hooks: []"),
        ("bad/a.yaml", BROKEN),
        ("warn/a.yaml", warning),
    ]);
    for (args, code, says) in [
        (
            &["--hooks", "good"][..],
            0,
            "0 hooks in force, 0 errors, 0 warnings",
        ),
        (&["--hooks", "bad"], 1, "2 errors"),
        (
            &["--hooks", "warn"],
            0,
            "1 hook in force, 0 errors, 1 warning",
        ),
        (&["--hooks", "warn", "--strict"], 1, "1 warning"),
        (&["--hooks", "good", "--hooks", "bad"], 1, "2 errors"),
        (&["good/a.yaml", "bad/a.yaml"], 1, "2 errors"),
        (&["good/a.yaml"], 0, "0 errors, 0 warnings"),
        (
            &["--hooks", "missing"],
            2,
            "hookwire: --hooks missing: no such file or directory",
        ),
        (&["good"], 0, "0 hooks in force, 0 errors, 0 warnings"),
        (&["bad", "good/a.yaml"], 1, "2 errors"),
        (
            &["missing.yaml"],
            2,
            "hookwire: missing.yaml: no such file or directory",
        ),
        (&["--no-such-flag"], 2, "--no-such-flag"),
    ] {
        let mut command = hookwire();
        let (found, out, err) = run(command
            .current_dir(root.path())
            .args(["check", "--isolated"])
            .args(args));
        assert_eq!(found, code, "{args:?}: {out}{err}");
        assert!(format!("{out}{err}").contains(says), "{args:?}: {out}{err}");
    }
}

/// Whoever checks or trusts a project believes that it has definitions.
#[test]
fn a_project_without_definitions_is_told() {
    for (file, checked, trusted) in [
        (
            ".hookwire.yaml",
            "there is no .hookwire here\n",
            "there is no such directory",
        ),
        (
            "hookwire/g.yaml",
            "there is `hookwire`; definitions are files in .hookwire",
            "there is no such directory",
        ),
        (
            ".hookwire/.hookwire/g.yaml",
            "no hook of .hookwire is in force",
            "nothing of it would be in force",
        ),
        (
            ".hookwire/g.jsonc",
            "it isn't read: definitions are in files that end in",
            "it isn't read: definitions are",
        ),
        (
            ".hookwire/g.yaml.txt",
            "it isn't read: definitions are in files that end in",
            "nothing of it would be in force",
        ),
        (".hookwire", "it is not a directory", "it is a file"),
    ] {
        let root = hooks(&[(file, "hooks: [{ name: a, on: Stop, deny: x }]")]);
        let home = tempfile::tempdir().unwrap();
        let said = |args: &[&str]| {
            let mut command = hookwire();
            command
                .current_dir(root.path())
                .env("HOME", home.path())
                .args(args);
            let (code, out, err) = run(&mut command);
            assert_ne!(code, 0, "{file}: {args:?} {out}{err}");
            out + &err
        };
        let out = said(&["check", "--isolated", "--strict", "--live"]);
        assert!(out.contains(checked.trim_end()), "{file}: {out}");
        let out = said(&["trust", "--yes"]);
        assert!(out.contains(trusted), "{file}: {out}");
    }
}

/// A file in the place of a directory is told by every command, and one without hooks by its name.
#[test]
fn what_holds_no_hook_is_named() {
    const IS_FILE: &str =
        ".hookwire: it is a file; definitions are files in a directory of this name";
    let nothing = ".hookwire/a.yaml:1:1\n = help: write one below `hooks:`";
    for (file, args, code, says) in [
        (
            ".hookwire",
            &["explain", "--run", "--bash", "ls"][..],
            0,
            IS_FILE,
        ),
        (".hookwire", &["check", "--list"], 0, IS_FILE),
        (
            ".hookwire",
            &["check", "--list"],
            0,
            ".hookwire (no directory)",
        ),
        (".hookwire", &["doctor", "claude-code"], 1, IS_FILE),
        (
            ".hookwire/a.yaml",
            &["check", "--live"],
            1,
            "error[not-definitions]: no hook is in it",
        ),
        (".hookwire/a.yaml", &["check", "--live"], 1, nothing),
    ] {
        let root = hooks(&[(file, "hooks:\n")]);
        let home = root.path().join("home");
        let (found, out, err) = run(hookwire()
            .current_dir(root.path())
            .env("HOME", home)
            .args(args));
        assert!(
            found == code && (out.clone() + &err).contains(says),
            "{file} {args:?}: {found} {out}{err}"
        );
    }
}

#[test]
fn what_is_no_text_is_told_where_it_stops_being_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.yaml");
    fs::write(&file, b"hooks: []\n# \xff").unwrap();
    let (code, out, _) = run(hookwire().args(["check", "--format", "json"]).arg(&file));
    let told: Value = serde_json::from_str(&out).unwrap();
    let place = json!({"line": 2, "column": 3});
    assert_eq!(
        (
            code,
            &told["diagnostics"][0]["code"],
            &told["diagnostics"][0]["range"]["start"]
        ),
        (1, &json!("unreadable"), &place)
    );
    let pipe = dir.path().join("pipe.yaml");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let (code, _, err) = run(hookwire().arg("check").arg(&pipe));
    assert!(
        code == 2
            && err.contains("pipe.yaml: it is a named pipe; write - and give the text on stdin"),
        "{err}"
    );
}

/// A command offers the options that it reads, and says what ends with it.
#[test]
fn a_cold_run_says_what_it_forgets() {
    let dir = hooks(&[(
        "hooks.yaml",
        "hooks:\n- { name: limit, on: StepStart, guard: { step-limit: { max: 3 } } }\n- { name: first, on: StepStart, once: true, script: 'return;' }\n- { name: plain, on: StepStart, script: 'return;' }",
    )]);
    let event = r#"{"event":"StepStart"}"#;
    let mut cold = hookwire();
    cold.args(["explain", "--run", "--isolated", event, "--hooks"])
        .arg(dir.path());
    let (code, _, err) = run(&mut cold);
    let lines: Vec<_> = err
        .lines()
        .filter(|line| line.starts_with("hookwire: `"))
        .collect();
    assert_eq!((code, lines.len()), (0, 2), "{err}");
    assert!(
        err.contains("`limit` counts, and nothing is kept")
            && err.contains("`first` runs once in a session"),
        "{err}"
    );
    let (_, _, err) = run(cold.arg("--state-file").arg(dir.path().join("state")));
    assert!(!err.contains("nothing is kept"), "{err}");
    for (command, options) in [
        ("check", &["--state-file", "--poll", "--ask-elsewhere"][..]),
        ("explain", &["--poll"]),
    ] {
        let (_, help, _) = run(hookwire().args([command, "--help"]));
        assert!(
            help.contains("--hooks") && !options.iter().any(|option| help.contains(option)),
            "{command}: {help}"
        );
    }
}

/// Doubt is shown where it changes nothing, too: an allow and a rewrite don't hold then.
#[test]
fn a_run_shows_doubt_and_an_explanation_the_home() {
    let dir = hooks(&[(
        "hooks.yaml",
        "hooks:\n- { name: fine, on: PreToolUse, if: Bash(npm *), allow: fine }\n- { name: pnpm, on: PreToolUse, if: Bash(npm *), rewrite: { program: pnpm } }",
    )]);
    let event = |command: &str| json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": command}}});
    let told = |mode: &[&str], command: &str| {
        let event = event(command).to_string();
        let explain = [&["explain"], mode, &["--isolated", &event, "--hooks"]].concat();
        let (_, out, err) = run(hookwire().args(explain).arg(dir.path()));
        (
            out.lines()
                .filter(|line| {
                    line.starts_with("  doubt    can't tell whether `Bash(npm *)` holds")
                })
                .count(),
            out + &err,
        )
    };
    assert_eq!(told(&["--run"], "$X i").0, 2);
    assert_eq!(told(&["--run"], "npm i").0, 0);
    let explained = told(&[], "rm -rf ~/y $HOME").1;
    let home = std::env::var("HOME").unwrap();
    assert!(
        explained.contains(&format!("rm -rf {home}/y {home} ")),
        "{explained}"
    );
}

/// Directories under `path` that hold definitions themselves.
fn definition_dirs(path: &Path, found: &mut Vec<PathBuf>) {
    let entries: Vec<_> = fs::read_dir(path)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    if entries.iter().any(|entry| {
        entry
            .extension()
            .is_some_and(|it| it == "yaml" || it == "toml")
    }) {
        found.push(path.to_path_buf());
    }
    entries
        .iter()
        .filter(|entry| entry.is_dir())
        .for_each(|entry| definition_dirs(entry, found));
}

#[test]
fn examples_and_starter_are_without_a_remark() {
    let mut dirs = Vec::new();
    definition_dirs(&repo("examples"), &mut dirs);
    assert!(dirs.len() > 10, "{dirs:?}");
    let home = tempfile::tempdir().unwrap();
    let (code, out, err) = run(hookwire()
        .current_dir(home.path())
        .args(["init", "--starter"]));
    assert_eq!(
        (code, out.lines().next()),
        (0, Some("Wrote .hookwire/guard.yaml.")),
        "{err}"
    );
    dirs.push(home.path().join(".hookwire"));
    for dir in dirs {
        let host = load(&dir);
        let mut told = diagnostics(&host);
        // Its document writes variables so; and examples are about matchers that do nothing, and
        // about what is no variable.
        told.retain(|it| {
            it["code"] != "unquoted-variable"
                || !dir.starts_with(repo("examples/systems/hooks-article"))
        });
        told.retain(|_| {
            !["matchers", "prompt-rows"]
                .iter()
                .any(|it| dir.ends_with(format!("workflow-framework/{it}")))
        });
        assert_eq!(told, [json!(null); 0], "{}", dir.display());
        assert!(!host.hooks().hooks.is_empty(), "{}", dir.display());
    }
    let (code, out, _) = run(hookwire()
        .current_dir(home.path())
        .args(["init", "--starter"]));
    assert_eq!(
        (code, out.lines().next()),
        (
            0,
            Some(".hookwire/guard.yaml is there already, with the same text.")
        )
    );
}

/// UPDATE_SCHEMA=1 writes them.
#[test]
fn committed_schemas_are_those_of_the_types() {
    for name in ["definitions", "protocol"] {
        let (code, generated, err) = run(hookwire().args(["generate", "schema", name]));
        assert_eq!((code, &*err), (0, ""));
        let path = repo(&format!("schema/{name}.json"));
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            fs::write(&path, &generated).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == generated,
            "schema/{name}.json is stale: UPDATE_SCHEMA=1 cargo test committed_schemas"
        );
    }
}

/// Each key of a hook has its row in the book, and each of `defaults` is in the sentence below.
#[test]
fn the_book_has_every_key() {
    let schema = fs::read_to_string(repo("schema/definitions.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let keys = |name: &str| {
        schema["$defs"][name]["properties"]
            .as_object()
            .unwrap()
            .keys()
    };
    let is_handler = |key: &&String| {
        let mut kinds = schema["$defs"]["Hook"]["oneOf"].as_array().unwrap().iter();
        kinds.any(|kind| kind["required"][0] == ***key)
    };
    let page = fs::read_to_string(repo("docs/definitions.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let rows: String = rows.filter_map(|row| row.split('|').nth(1)).collect();
    let (_, defaults) = page.split_once("\n`defaults` in a file can set ").unwrap();
    let (defaults, _) = defaults.split_once('.').unwrap();
    for (text, key) in keys("Hook")
        .filter(|key| !is_handler(key))
        .map(|key| (&*rows, key))
        .chain(keys("Defaults").map(|key| (defaults, key)))
    {
        assert!(text.contains(&format!("`{key}`")), "{key}");
    }
}

/// Only what has one other spelling changes, and everything around it stays.
#[test]
fn older_patterns_are_written_anew() {
    let old = "# Mine.
hooks:
  - name: push   # not now
    on: PreToolUse
    if: Bash(npm*install)
    unless: [Read, bash]
    deny: no
  - { name: both, on: PreToolUse, if: Bash(cd x && make), deny: no }
  - { name: mcp, on: PreToolUse, matcher: 'mcp__*', deny: no }
";
    let new = old
        .replace("npm*install", "npm * install")
        .replace(", bash]", ", Bash]")
        .replace("'mcp__*'", "'mcp__.*'");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.yaml");
    std::fs::write(&file, old).unwrap();
    let migrate = |args: &[&str]| {
        run(hookwire()
            .args(["check", "--isolated", "--migrate"])
            .args(args))
    };
    let (code, out, err) = migrate(&["--hooks", dir.path().to_str().unwrap()]);
    assert_eq!(
        (code, std::fs::read_to_string(&file).unwrap()),
        (0, new.clone()),
        "{err}"
    );
    assert!(
        out.contains("+     if: Bash(npm * install)") && out.ends_with("1 file written anew.\n"),
        "{out}"
    );
    let (code, out, _) = migrate(&[file.to_str().unwrap()]);
    assert_eq!(
        (code, out.as_str()),
        (0, "No pattern has to be written in another way.\n")
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), new);
    assert_eq!(migrate(&["-"]).0, 2);
}

/// What has one certain fix is mended, in each format, and nothing else in the file changes; what
/// is left is told.
#[test]
fn what_has_one_fix_is_mended() {
    for (name, old, new, left) in [
        (
            "a.yaml",
            "# Mine.\r\nhooks:\r\n  - name: a   # n\r\n    on: PreTolUse\r\n    dney: no # why\r\n    priority: '5'",
            "# Mine.\r\nhooks:\r\n  - name: a   # n\r\n    on: PreToolUse\r\n    deny: no # why\r\n    priority: '5'",
            "error[wrong-type]",
        ),
        (
            "a.toml",
            "[[hooks]] # a\nname = 'a'\non = 'Stop'\nmatcher = 'Bash' # never\ndeny = 'x'\n",
            "[[hooks]] # a\nname = 'a'\non = 'Stop'\ndeny = 'x'\n",
            "",
        ),
        (
            "a.json",
            "\u{feff}{\"hooks\": [\n  // a\n  {\"on\": \"Stop\", \"deny\": 3},\n]}",
            "\u{feff}{\"hooks\": [\n  // a\n  {\"name\": \"deny-stop\", \"on\": \"Stop\", \"deny\": \"3\"},\n]}",
            "",
        ),
        // Whether it fails open or closed is for a person.
        (
            "a.yaml",
            "hooks: [{ name: a, on: PreToolUse, command: x }]",
            "hooks: [{ name: a, on: PreToolUse, command: x }]",
            "warning[no-fail-direction]",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(name);
        std::fs::write(&file, old).unwrap();
        let (at, folder) = (file.to_str().unwrap(), dir.path().to_str().unwrap());
        let check = |args: &[&str]| run(hookwire().args(["check", "--isolated"]).args(args));
        let is_changed = old != new;
        let (code, out, err) = check(&["--fix", "--hooks", folder]);
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            new,
            "{name}: {out}{err}"
        );
        assert_eq!(
            (code, out.contains(left)),
            (i32::from(left.starts_with("error")), true),
            "{name}: {out}{err}"
        );
        assert_eq!(
            out.contains("Nothing has a certain fix."),
            !is_changed,
            "{name}: {out}"
        );
        // A second time there is nothing to do, and the check after it says the same.
        let (again, out, _) = check(&["--fix", at]);
        assert_eq!(
            (again, std::fs::read_to_string(&file).unwrap().as_str()),
            (code, new),
            "{name}: {out}"
        );
        let (after, listed, _) = check(&[at]);
        assert_eq!(
            (after, out.ends_with(&listed)),
            (code, true),
            "{name}: {out}"
        );
    }
    assert_eq!(
        run(hookwire().args(["check", "--isolated", "--fix", "-"])).0,
        2
    );
    // What a program reads is the report alone.
    for (format, is_report) in [
        (
            "sarif",
            (|out| serde_json::from_str::<Value>(out).is_ok()) as fn(&str) -> bool,
        ),
        ("github", |out| {
            out.lines().all(|line| line.starts_with("::"))
        }),
    ] {
        let dir = hooks(&[(
            "a.yaml",
            "hooks: [{ name: a, on: PreTolUse, deny: no, priority: '5' }]",
        )]);
        let args = ["check", "--isolated", "--fix", "--format", format, "a.yaml"];
        let (_, out, err) = run(hookwire().current_dir(dir.path()).args(args));
        assert!(
            is_report(&out) && err.contains("+ hooks: [{ name: a, on: PreToolUse"),
            "{format}: {out}{err}"
        );
    }
}

/// Whoever wrote the files of a project may have put links beside them.
#[test]
fn what_is_written_anew_follows_no_link() {
    let dir = tempfile::tempdir().unwrap();
    let (file, outside) = (dir.path().join("a.yaml"), dir.path().join("outside"));
    std::fs::write(
        &file,
        "hooks: [{ name: a, on: PreToolUse, if: Bash(npm*install), deny: no }]\n",
    )
    .unwrap();
    std::fs::write(&outside, "mine").unwrap();
    std::os::unix::fs::symlink(&outside, dir.path().join("a.yaml.new")).unwrap();
    let (code, _, err) =
        run(hookwire().args(["check", "--isolated", "--migrate", file.to_str().unwrap()]));
    assert_eq!(
        (code, std::fs::read_to_string(&outside).unwrap().as_str()),
        (0, "mine"),
        "{err}"
    );
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains("npm * install")
    );
    let names = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(names, 3, "nothing is left beside it");
}
