//! Self-defense: what an agent's calls would do to the guards that judge it. A world of each test's
//! own has a project in which every agent is installed, a user's definitions, what was trusted, and
//! the program on PATH.

use super::support::{TestHost, hookwire, in_our_world, is_there, repo, sampled};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What an agent keeps in a project and in a home, each naming hookwire.
const SETTINGS: &[&str] = &[
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".gemini/settings.json",
    ".qwen/settings.json",
    ".github/hooks/hookwire.json",
    ".cline/hooks/PreToolUse",
    ".opencode/plugin/hookwire.js",
    ".hookwire/guard.yaml",
    ".env",
];
const OF_HOME: &[&str] = &[
    ".claude/settings.json",
    ".codex/hooks.json",
    ".config/hookwire/user.yaml",
    ".local/share/hookwire/trusted/project.json",
];

struct World {
    dir: tempfile::TempDir,
    host: TestHost,
}

impl World {
    /// `in_git`: git keeps all of the project's files.
    fn new(in_git: bool) -> World {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        let write = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        SETTINGS
            .iter()
            .for_each(|file| write(at("project").join(file), "{\"command\": \"hookwire hook\"}"));
        OF_HOME
            .iter()
            .for_each(|file| write(at("home").join(file), "{\"command\": \"hookwire hook\"}"));
        write(at("run/hookwire/x.sock"), "");
        write(at("work/bin/other"), "");
        for name in ["hookwire", "hookwire-run"] {
            symlink(
                Path::new(env!("CARGO_BIN_EXE_hookwire-host")).with_file_name(name),
                at("work/bin").join(name),
            )
            .unwrap();
        }
        symlink(".claude", at("project/link")).unwrap();
        for args in [&["init", "-q"][..], &["add", "-A", "-f"]]
            .iter()
            .filter(|_| in_git)
        {
            let mut git = in_our_world(Command::new("git"));
            git.args(*args)
                .current_dir(at("project"))
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .status()
                .unwrap();
        }
        let mut command = hookwire();
        command
            .args([
                "serve",
                "--isolated",
                "--no-share",
                "--self-defense",
                "--root",
            ])
            .arg(at("project"));
        for name in [
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
        ] {
            command.env_remove(name);
        }
        let path = format!(
            "{}:{}",
            at("work/bin").display(),
            std::env::var("PATH").unwrap()
        );
        command
            .env("HOME", at("home"))
            .env("XDG_RUNTIME_DIR", at("run"))
            .env("PATH", path);
        let mut host = TestHost::start(&mut command);
        host.request(
            "initialize",
            json!({ "capabilities": { "hooks": { "decisions": ["allow", "deny", "ask"] } } }),
        );
        World { dir, host }
    }

    /// What is decided about a call, and why.
    fn judge(&mut self, tool: &str, input: &Value) -> (String, String) {
        let event = json!({ "event": "PreToolUse", "cwd": self.project(), "tool": { "name": tool, "input": input } });
        let verdict = self.host.dispatch(event);
        (
            verdict["decision"].as_str().unwrap().to_string(),
            verdict["reason"].to_string(),
        )
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    /// A text with the world's places.
    fn filled(&self, text: &str) -> String {
        let at = |name: &str| self.dir.path().join(name).display().to_string();
        let text = text
            .replace("${PROJECT}", &at("project"))
            .replace("${HOME}", &at("home"));
        text.replace("${WORK}", &at("work"))
            .replace("${HOOKWIRE}", &at("work/bin/hookwire"))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    class: String,
    command: String,
    expect: String,
}

fn rows(file: &str) -> Vec<Row> {
    let text = fs::read_to_string(repo("tests/data/self_defence").join(file)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_command_that_changes_the_guards_asks() {
    if !is_there("git") {
        return;
    }
    let mut world = World::new(true);
    let mut wrong = Vec::new();
    for row in rows("attacks.jsonl").into_iter().chain(rows("more.jsonl")) {
        let (decision, reason) =
            world.judge("Bash", &json!({ "command": world.filled(&row.command) }));
        if decision != row.expect {
            wrong.push(format!(
                "{}: {decision}: {}: {reason}",
                row.class, row.command
            ));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// A program that starts is judged by what it does itself: agents run their hooks by a shell, below
/// `hookwire run` too.
#[test]
fn a_start_that_asks_hookwire_is_none_that_changes_it() {
    let mut world = World::new(false);
    let hook = "${HOOKWIRE} hook claude-code --root '${PROJECT}' --user-dir ${HOME}/.config/hookwire --data-dir '${HOME}/.local/share/hookwire'";
    // As Codex keeps a shell's settings, to have the next one read them first.
    let settings = "shopt -u xpg_echo\nset -o braceexpand\ndeclare -x HELD=\"${PROJECT}/.codex\"\ndeclare -x PATH=\"/bin\"\n";
    for (name, text) in [
        ("settings.sh", settings),
        ("writes.sh", "shopt -u xpg_echo\necho > .codex/hooks.json\n"),
    ] {
        fs::write(world.project().join(name), world.filled(text)).unwrap();
    }
    let small = hook.replace("${HOOKWIRE}", "${HOOKWIRE}-run");
    for (argv, expect) in [
        (["sh", "-c", hook], "allow"),
        (["sh", "-c", "${HOOKWIRE}-run -- rm -r .hookwire"], "ask"),
        (["bash", "-c", ". ${PROJECT}/settings.sh; ls"], "allow"),
        (["bash", "-c", ". ${PROJECT}/writes.sh; ls"], "ask"),
        (["bash", "-lc", hook], "allow"),
        (["sh", "-c", &small], "allow"),
        (["sh", "-c", &format!("{small} || exit 2")], "allow"),
        (
            [
                "sh",
                "-c",
                &format!("{small} || echo '{{\"cancel\":true}}'"),
            ],
            "allow",
        ),
        (["sh", "-c", &format!("{small} || rm -r .hookwire")], "ask"),
        (
            [
                "sh",
                "-c",
                &format!("{small} || echo x > .hookwire/guard.yaml"),
            ],
            "ask",
        ),
        (
            ["sh", "-c", &format!("{hook} > .hookwire/guard.yaml")],
            "ask",
        ),
        (["sh", "-c", &format!("{hook}; rm -r .hookwire")], "ask"),
        (["sh", "-c", "cat .hookwire/guard.yaml"], "allow"),
        (["sh", "-c", "echo > .hookwire/guard.yaml"], "ask"),
        (["python3", "-c", hook], "ask"),
        (["${HOOKWIRE}", "hook", "claude-code"], "allow"),
        (["${HOOKWIRE}", "trust", "--yes"], "ask"),
        (
            ["${WORK}/bin/other", "hook", "${HOME}/.config/hookwire"],
            "ask",
        ),
    ] {
        let argv = argv.map(|word| world.filled(word));
        let event = json!({ "event": "PreExec", "cwd": world.project(), "exec": { "argv": argv, "parents": [] } });
        let verdict = world.host.dispatch(event);
        assert_eq!(verdict["decision"], expect, "{argv:?}: {verdict}");
    }
}

/// However little the command says itself.
#[test]
fn the_question_says_which_place_is_meant() {
    let mut world = World::new(false);
    for (command, place) in [
        (
            "cd .claude && rm *",
            "${PROJECT}/.claude/settings.local.json",
        ),
        ("cd .hookwire; ls | xargs rm", "${PROJECT}/.hookwire"),
        ("rm -rf .", "${PROJECT}/.claude/settings.local.json"),
        ("rm -rf ~/.c*/*", "${HOME}/.claude/settings.json"),
        (
            "find . -name hooks.json -delete",
            "${PROJECT}/.codex/hooks.json",
        ),
    ] {
        let (decision, reason) = world.judge("Bash", &json!({ "command": command }));
        assert!(
            decision == "ask" && reason.contains(&world.filled(place)),
            "{command}: {decision}: {reason}"
        );
    }
}

/// Whether `git clean` takes an agent's settings is what git says: each row is a file of a
/// repository and its text.
#[test]
fn what_git_passes_over_is_told_as_git_tells_it() {
    const LISTS: &[&[(&str, &str)]] = &[
        &[],
        &[("p/.gitignore", "/settings.json")],
        &[("p/.gitignore", "settings.json")],
        &[("p/.gitignore", "settings.json\n!.claude/settings.json")],
        &[("p/.gitignore", "settings.json/")],
        &[("p/.gitignore", ".claude")],
        &[("p/.gitignore", "/.claude/")],
        &[("p/.gitignore", "/.claude/settings.json")],
        &[("p/.gitignore", ".claude/*\n!.claude/settings.json")],
        &[("p/.gitignore", ".claude\n!.claude/settings.json")],
        &[("p/.gitignore", "**/settings.json  ")],
        &[("p/.gitignore", "*.jso[a-n]")],
        &[("p/.gitignore", "# .claude\n\\.claude\r")],
        &[
            ("p/.gitignore", "*"),
            ("p/.claude/.gitignore", "!settings.json"),
        ],
        &[
            ("p/.gitignore", "*.json"),
            ("p/.claude/.gitignore", "!settings.json"),
        ],
        &[("p/.claude/.gitignore", "settings.json")],
        &[("p/.git/info/exclude", "settings.json")],
        &[
            ("p/.git/info/exclude", "settings.json"),
            ("p/.gitignore", "!settings.json"),
        ],
        &[("home/.config/git/ignore", ".claude")],
        &[
            ("home/.config/git/ignore", ".claude"),
            ("home/.gitconfig", "[core]\nexcludesFile = /dev/null"),
        ],
        &[
            ("home/list", ".claude"),
            ("home/.gitconfig", "[core]\n\texcludesfile = ~/list"),
        ],
    ];
    if !is_there("git") {
        return;
    }
    for list in LISTS {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.args(args)
                .current_dir(dir.join("p"))
                .env("HOME", dir.join("home"))
                .env_remove("XDG_CONFIG_HOME");
            let output = git.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        fs::create_dir_all(dir.join("p/.claude")).unwrap();
        git(&["init", "-q"]);
        fs::write(dir.join("p/.claude/settings.json"), "{}").unwrap();
        for (path, text) in *list {
            fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
            fs::write(dir.join(path), text).unwrap();
        }
        // What is to be removed is named by its directory where all of that goes.
        let said = git(&["clean", "-nd"]);
        let goes = said
            .lines()
            .any(|it| it.ends_with(" .claude/") || it.ends_with(" .claude/settings.json"));
        let mut host = in_git(&dir);
        let event = json!({ "command": "git clean -fd" });
        let tool = json!({ "name": "Bash", "input": event });
        let verdict =
            host.dispatch(json!({ "event": "PreToolUse", "cwd": dir.join("p"), "tool": tool }));
        assert_eq!(
            verdict["decision"],
            if goes { "ask" } else { "allow" },
            "{list:?}: {said}"
        );
    }
}

/// A host of a project and a home in a directory.
fn in_git(dir: &Path) -> TestHost {
    let mut command = hookwire();
    command
        .args([
            "serve",
            "--isolated",
            "--no-share",
            "--self-defense",
            "--root",
        ])
        .arg(dir.join("p"));
    for name in [
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
    ] {
        command.env_remove(name);
    }
    let mut host = TestHost::start(
        command
            .env("HOME", dir.join("home"))
            .env("XDG_RUNTIME_DIR", dir.join("run")),
    );
    host.request(
        "initialize",
        json!({ "capabilities": { "hooks": { "decisions": ["allow", "deny", "ask"] } } }),
    );
    host
}

/// A list that can't be read, or that nobody could have written, says nothing that counts.
#[test]
fn a_list_that_cannot_be_read_passes_over_nothing() {
    if !is_there("git") {
        return;
    }
    let spoils: [fn(&Path); 3] = [
        |list| assert!(Command::new("mkfifo").arg(list).status().unwrap().success()),
        |list| fs::File::create(list).unwrap().set_len(1 << 30).unwrap(),
        |list| fs::write(list, "x\n".repeat(5_000)).unwrap(),
    ];
    for spoil in spoils {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        fs::create_dir_all(dir.join("p/.claude")).unwrap();
        fs::write(dir.join("p/.claude/settings.json"), "{}").unwrap();
        assert!(
            Command::new("git")
                .args(["init", "-q"])
                .current_dir(dir.join("p"))
                .status()
                .unwrap()
                .success()
        );
        fs::write(dir.join("p/.git/info/exclude"), ".claude").unwrap();
        spoil(&dir.join("p/.gitignore"));
        let mut host = in_git(&dir);
        for (command, expected) in [("git clean -fd", "ask"), ("ls", "allow")] {
            let tool = json!({ "name": "Bash", "input": { "command": command } });
            let verdict =
                host.dispatch(json!({ "event": "PreToolUse", "cwd": dir.join("p"), "tool": tool }));
            assert_eq!(verdict["decision"], expected, "{command}: {verdict}");
        }
    }
}

/// What agents and people really run. Of it, hardly anything is for a person to decide.
#[test]
fn ordinary_commands_are_left_alone() {
    const MOST: usize = 5;
    // The first three take every file of the directory, an agent's settings included; the last one
    // takes the very program that is tried, which is large because it isn't optimised.
    const TAKEN: [&str; 4] = [
        "find . -type f -print -delete",
        "find -exec rm '{}' +",
        "find . -exec /bin/rm {} \\;",
        "find / -size +100M -exec /bin/rm {} \\;",
    ];
    let mut world = World::new(false);
    let rows = fs::read_to_string(repo("tests/data/corpora/ordinary_commands.jsonl")).unwrap();
    let mut stopped = Vec::new();
    for row in sampled(rows.lines().collect(), 4) {
        let row: Value = serde_json::from_str(row).unwrap();
        let (decision, reason) = world.judge("Bash", &json!({ "command": row["command"] }));
        if decision != "allow" && !TAKEN.iter().any(|it| row["command"] == *it) {
            stopped.push(format!("{}: {reason}", row["command"]));
        }
    }
    assert!(
        stopped.len() <= MOST,
        "{}:\n{}",
        stopped.len(),
        stopped.join("\n")
    );
}

/// Calls of other tools: whether a person is asked.
const TOOLS: &[(&str, &str, bool)] = &[
    (
        "mcp__shell__run",
        r#"{"cmd": "hookwire trust --yes"}"#,
        true,
    ),
    (
        "mcp__shell__run",
        r#"{"argv": ["hookwire", "trust", "--yes"]}"#,
        true,
    ),
    (
        "mcp__shell__run",
        r#"{"program": "hookwire", "args": ["approvals", "approve", "1"]}"#,
        true,
    ),
    (
        "mcp__shell__run",
        r#"{"script": "cd .claude && rm settings.local.json"}"#,
        true,
    ),
    (
        "mcp__shell__run",
        r#"{"commands": ["ls", "rm -rf .codex"]}"#,
        true,
    ),
    ("mcp__shell__run", r#"{"cmd": "rm -rf build"}"#, false),
    (
        "mcp__filesystem__move_file",
        r#"{"source": ".claude", "destination": "x"}"#,
        true,
    ),
    (
        "mcp__filesystem__move_file",
        r#"{"source": "src", "destination": "lib"}"#,
        false,
    ),
    (
        "mcp__filesystem__delete",
        r#"{"paths": ["a", "${HOME}/.config"]}"#,
        true,
    ),
    (
        "mcp__filesystem__write_file",
        r#"{"path": ".claude/settings.local.json", "content": ""}"#,
        true,
    ),
    (
        "mcp__filesystem__write_file",
        r#"{"path": "link/settings.local.json", "content": ""}"#,
        true,
    ),
    (
        "mcp__filesystem__write_file",
        r#"{"path": "settings.local.json", "directory": ".claude", "content": ""}"#,
        true,
    ),
    (
        "mcp__filesystem__read_file",
        r#"{"path": ".claude/settings.local.json"}"#,
        false,
    ),
    (
        "mcp__filesystem__read_text_file",
        r#"{"path": ".hookwire/guard.yaml"}"#,
        false,
    ),
    (
        "mcp__filesystem__get_file_info",
        r#"{"path": ".claude/settings.local.json"}"#,
        false,
    ),
    (
        "mcp__filesystem__list_directory",
        r#"{"path": ".hookwire"}"#,
        false,
    ),
    (
        "mcp__filesystem__search_files",
        r#"{"path": ".hookwire", "pattern": "deny"}"#,
        false,
    ),
    (
        "shell",
        r#"{"command": ["bash", "-lc", "rm hooks.json"], "workdir": ".codex"}"#,
        true,
    ),
    (
        "shell",
        r#"{"command": ["bash", "-lc", "echo > settings.json"], "workdir": "${PROJECT}/.claude"}"#,
        true,
    ),
    (
        "shell",
        r#"{"command": ["bash", "-lc", "ls"], "workdir": ".codex"}"#,
        false,
    ),
    (
        "Write",
        r#"{"file_path": "${HOME}/.codex/hooks.json", "content": ""}"#,
        true,
    ),
    (
        "Write",
        r#"{"file_path": "opencode.json", "content": "{}"}"#,
        true,
    ),
    (
        "Write",
        r#"{"file_path": "${HOME}/.bashrc", "content": "export CLAUDE_CONFIG_DIR=/tmp/x"}"#,
        true,
    ),
    (
        "Write",
        r#"{"file_path": "${WORK}/bin/hookwire", "content": ""}"#,
        true,
    ),
    (
        "Write",
        r#"{"file_path": "${WORK}/bin/other", "content": ""}"#,
        false,
    ),
    (
        "Write",
        r#"{"file_path": "${HOME}/.bashrc", "content": "export EDITOR=vi"}"#,
        false,
    ),
    (
        "Read",
        r#"{"file_path": "${HOME}/.config/hookwire/user.yaml"}"#,
        false,
    ),
    (
        "Read",
        r#"{"file_path": "/run/user/1000/hookwire/x.token"}"#,
        true,
    ),
];

#[test]
fn any_tool_is_judged_by_what_it_is_given() {
    let mut world = World::new(false);
    let mut wrong = Vec::new();
    for (tool, input, asks) in TOOLS {
        let input = world.filled(input);
        let (decision, reason) = world.judge(tool, &serde_json::from_str(&input).unwrap());
        if (decision == "ask") != *asks {
            wrong.push(format!("{tool} {input}: {decision}: {reason}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What was moved by a variable is guarded where it is now.
#[test]
fn a_moved_folder_is_guarded() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("c")).unwrap();
    let mut command = hookwire();
    command.args(["serve", "--isolated", "--no-share", "--self-defense"]);
    command
        .env("CLAUDE_CONFIG_DIR", at("c"))
        .env("CODEX_HOME", at("x"))
        .env("XDG_CONFIG_HOME", at("g"));
    let mut host = TestHost::start(&mut command);
    host.request(
        "initialize",
        json!({ "capabilities": { "hooks": { "decisions": ["allow", "deny", "ask"] } } }),
    );
    let path = |path: &Path| path.display().to_string();
    for (text, asks) in [
        (format!("echo > {}", path(&at("c/settings.json"))), true),
        (format!("rm -rf {}", path(&at("c"))), true),
        ("rm $CODEX_HOME/hooks.json".to_string(), true),
        (format!("cd {} && rm config.toml", path(&at("x"))), true),
        (format!("rm -rf {}/hookwire", path(&at("g"))), true),
        (format!("echo > {}", path(&at("c/todo.md"))), false),
    ] {
        let verdict = host.bash(&text);
        assert_eq!(verdict["decision"] == "ask", asks, "{text}: {verdict}");
    }
}

/// However the directory of the sockets is written, and whatever characters its name has: no host
/// is without self-defense.
#[test]
fn sockets_are_guarded_however_their_directory_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    for name in [
        "run",
        "else",
        "br{a",
        "br[a",
        "st*r",
        "we[i]r{d}",
        "back\\s",
        "two words",
    ] {
        fs::create_dir_all(top.join(name).join("hookwire")).unwrap();
    }
    symlink("run", top.join("link")).unwrap();
    let at = |path: &str| top.join(path).display().to_string();
    for (written, lead_to) in [
        (at("run"), "run"),
        (at("run/"), "run"),
        (at("run//."), "run"),
        (at("else/../run"), "run"),
        (at("else/.././else/../run/"), "run"),
        (at("link"), "run"),
        (at("link"), "link"),
        (at("else/../link"), "run"),
        (at("br{a"), "br{a"),
        (at("br[a"), "br[a"),
        (at("st*r"), "st*r"),
        (at("we[i]r{d}"), "we[i]r{d}"),
        (at("back\\s"), "back\\s"),
        (at("two words"), "two words"),
        // These say of no directory where it is, so the sockets are in the temporary directory.
        ("else/../run".into(), "tmp"),
        (at("none/../run/x"), "tmp"),
        (String::new(), "tmp"),
    ] {
        let mut command = hookwire();
        command
            .args(["serve", "--isolated", "--no-share", "--self-defense"])
            .current_dir(&top);
        command
            .env("XDG_RUNTIME_DIR", &written)
            .env("TMPDIR", top.join("tmp"));
        let mut host = TestHost::start(&mut command);
        host.request(
            "initialize",
            json!({ "capabilities": { "hooks": { "decisions": ["allow", "deny", "ask"] } } }),
        );
        let user = rustix::process::getuid().as_raw();
        let own = if lead_to == "tmp" {
            format!("tmp/hookwire-{user}")
        } else {
            format!("{lead_to}/hookwire")
        };
        let file = at(&format!("{own}/x.sock"));
        for (tool, input) in [
            ("Bash", json!({ "command": format!("rm '{file}'") })),
            (
                "Bash",
                json!({ "command": format!("cd '{}' && rm x.sock", at(&own)) }),
            ),
            ("Write", json!({ "file_path": file, "content": "" })),
        ] {
            let verdict = host.dispatch(
                json!({ "event": "PreToolUse", "tool": { "name": tool, "input": input } }),
            );
            assert_eq!(
                verdict["decision"], "ask",
                "XDG_RUNTIME_DIR={written}: {input}: {verdict}"
            );
        }
        let verdict = host.bash(&format!("rm '{}'", at("else/hookwire.txt")));
        assert_eq!(
            verdict["decision"], "allow",
            "XDG_RUNTIME_DIR={written}: {verdict}"
        );
    }
}

/// A place with many files hides no file of another one, and what isn't listed any more isn't told
/// apart.
#[test]
fn many_files_hide_no_other() {
    let mut world = World::new(false);
    let data = world.dir.path().join("home/.local/share/hookwire/trust");
    fs::create_dir_all(&data).unwrap();
    (0..1200).for_each(|n| fs::write(data.join(n.to_string()), "").unwrap());
    let remove = json!({ "command": "find $XDG_RUNTIME_DIR -name '*.sock' -delete" });
    assert_eq!(world.judge("Bash", &remove).0, "ask");
    let run = world.dir.path().join("run/hookwire");
    (0..5000).for_each(|n| fs::write(run.join(n.to_string()), "").unwrap());
    assert_eq!(world.judge("Bash", &remove).0, "ask");
}
