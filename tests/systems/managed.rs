//! `hookwire install --managed`, on a machine of its own: a namespace with an /etc that is thrown
//! away.

use super::support::{PATIENCE, in_our_world, is_there, schema, skip, tried_elsewhere};
use hookwire::agents::{AGENTS, Agent, by_name};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

/// Where the programs are, for its users.
const PROGRAMS: &str = "/opt/hookwire";
/// A user who is nobody.
const NOBODY: &str = "65534";

/// A machine: mounts and processes of its own, which end with it.
struct Machine {
    process: Child,
    first: u32,
}

impl Machine {
    /// Nothing where none can be made.
    fn new() -> Option<Machine> {
        let built = Path::new(env!("CARGO_BIN_EXE_hookwire-host"));
        if !rustix::process::geteuid().is_root() {
            tried_elsewhere("settings of a machine take root; .ci/run tries them by sudo");
            return None;
        }
        if !["unshare", "nsenter", "setpriv"].into_iter().all(is_there) {
            return None;
        }
        // What nobody but root can change: copies, where the built programs are somebody else's.
        let built = built.parent().unwrap().display();
        let put = match fs::metadata(env!("CARGO_BIN_EXE_hookwire-host"))
            .unwrap()
            .uid()
        {
            0 => format!("mount --bind {built} {PROGRAMS}"),
            _ => format!(
                "for it in hookwire hookwire-host hookwire-run; do cp {built}/$it {PROGRAMS}; done && chown -R 0:0 {PROGRAMS}"
            ),
        };
        let setup = format!(
            "mount -t tmpfs -o mode=755 etc /mnt && cp -a /etc/. /mnt && mount --move /mnt /etc \
             && mount -t tmpfs -o mode=755 lib /var/lib && mount -t tmpfs -o mode=755 opt /opt \
             && mount -t tmpfs -o mode=1777 tmp /tmp && mount -t tmpfs -o mode=755 run /run && mount -t tmpfs -o mode=755 home /home \
             && mkdir -m 755 {PROGRAMS} && {put} \
             && chmod go+rx {PROGRAMS} {PROGRAMS}/hookwire {PROGRAMS}/hookwire-host {PROGRAMS}/hookwire-run && rm -rf /etc/hookwire && mkdir -m 755 /etc/hookwire && echo ready && exec cat"
        );
        let process = Command::new("unshare")
            .args(["-m", "-p", "--propagation", "private", "--fork"])
            .args(["--kill-child", "--mount-proc", "sh", "-c", &setup])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut machine = Machine { process, first: 0 };
        let mut said = String::new();
        BufReader::new(machine.process.stdout.as_mut().unwrap())
            .read_line(&mut said)
            .unwrap();
        if said != "ready\n" {
            skip("settings of a machine: no mounts of its own can be made");
            return None;
        }
        let children = format!("/proc/{0}/task/{0}/children", machine.process.id());
        let first = fs::read_to_string(children).unwrap();
        machine.first = first.trim().parse().unwrap();
        Some(machine)
    }

    /// Where a path of its is for this process.
    fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.first))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    fn mode(&self, path: &str) -> u32 {
        fs::metadata(self.path(path)).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), PermissionsExt::from_mode(mode)).unwrap();
    }

    /// A command there, of root or of nobody; programs of hookwire's are found by their names.
    fn command(&self, is_root: bool, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.first.to_string(), "-m", "-p", "--wd=/tmp", "--"]);
        if !is_root {
            command.args([
                "setpriv",
                "--reuid",
                NOBODY,
                "--regid",
                NOBODY,
                "--clear-groups",
            ]);
        }
        command.args([
            "env",
            &format!("PATH={PROGRAMS}:/usr/bin:/bin:/usr/sbin:/sbin"),
        ]);
        command.args(words);
        let mut command = in_our_world(command);
        for (variable, _) in std::env::vars_os() {
            let is_kept = ["PATH", "LANG"].iter().any(|it| *it == variable);
            if !is_kept {
                command.env_remove(variable);
            }
        }
        command
    }

    /// What a command of hookwire's says and ends with.
    fn says(&self, is_root: bool, line: &str) -> (Option<i32>, String) {
        let words: Vec<&str> = ["hookwire"].into_iter().chain(line.split(' ')).collect();
        let output = self.command(is_root, &words).output().unwrap();
        (output.status.code(), both(&output))
    }

    /// What an entry answers to an event of nobody's, by the command that the agent's file names.
    fn asked(&self, words: &[&str], environment: &[(&str, &str)], event: &Value) -> Output {
        let mut line = vec!["env".to_string()];
        line.extend(
            environment
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        line.extend(words.iter().map(|it| it.to_string()));
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        self.told(false, &line, event)
    }

    /// What a command says that is given an event.
    fn told(&self, is_root: bool, words: &[&str], event: &Value) -> Output {
        let mut process = self
            .command(is_root, words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = process.stdin.take().unwrap();
        stdin.write_all(event.to_string().as_bytes()).unwrap();
        drop(stdin);
        process.wait_with_output().unwrap()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn both(output: &Output) -> String {
    let said = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
    said.concat()
}

/// The agents that have settings of a machine's.
fn managed() -> Vec<&'static Agent> {
    AGENTS.iter().filter(|it| it.managed.is_there()).collect()
}

fn names() -> String {
    let names: Vec<&str> = managed().iter().map(|it| it.name).collect();
    names.join(" ")
}

/// A call of the shell, in Claude Code's words.
fn call(command: &str) -> Value {
    json!({ "session_id": "s", "transcript_path": "/tmp/t", "cwd": "/tmp", "hook_event_name": "PreToolUse",
        "permission_mode": "default", "tool_name": "Bash", "tool_input": { "command": command } })
}

/// A user's definitions that say the opposite of the guard, in every way that they have. The last
/// one shows that they are in force.
const LOOSE: &str = "
policy: { allow: [Bash] }
hooks:
  - { name: no-force-push, on: PreToolUse, enabled: false, deny: off }
  - { name: all, on: PreToolUse, priority: 1000000, allow: fine }
  - { name: other, on: PreToolUse, if: Bash(git status), rewrite: { command: [git, push, --force] } }
  - { name: own, on: PreToolUse, if: Bash(id), deny: Not even that. }
";

const PUSH: &str = "git push --force origin main";

const GUARD: &str = "hooks:\n  - { name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off. }\n";

#[test]
fn managed_files_are_roots_and_open_to_readers_whatever_the_umask() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let line = format!("umask 077; hookwire install --managed {}", names());
    let output = machine
        .command(true, &["sh", "-c", &line])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", both(&output));
    for agent in managed() {
        let file = &agent.managed.file;
        assert_eq!(machine.mode(file), 0o644, "{file}");
        let dirs = Path::new(file).ancestors().skip(1);
        for dir in dirs.take_while(|dir| *dir != Path::new("/etc")) {
            assert_eq!(machine.mode(dir.to_str().unwrap()), 0o755, "{file}");
        }
        let text = machine.text(file);
        assert!(
            text.contains(&format!("{PROGRAMS}/hookwire")) && !text.contains("--user-dir"),
            "{file}: {text}"
        );
        for (name, _) in &agent.managed.members {
            assert!(
                text.contains(name.rsplit('.').next().unwrap()),
                "{file}: {name}"
            );
        }
    }
    let (_, again) = machine.says(true, &format!("install --managed {}", names()));
    assert_eq!(
        again.matches("is as it should be").count(),
        managed().len(),
        "{again}"
    );
    // Nothing is left, directories included.
    machine.says(true, &format!("uninstall --managed {}", names()));
    for path in managed()
        .iter()
        .map(|it| &*it.managed.file)
        .chain(["/var/lib/hookwire"])
    {
        assert!(!machine.path(path).exists(), "{path}");
    }
    assert!(!machine.path("/etc/claude-code").exists());
}

#[test]
fn what_others_wrote_into_a_managed_file_stays_byte_for_byte() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let file = &*by_name("codex").unwrap().managed.file;
    let theirs = "# ours\nallowed_approval_policies = [\"never\"]\n\n[features]\nfoo = true # keep\n\n\
                  [[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"/x\"\n";
    machine.write(file, theirs);
    for (line, has_own) in [
        ("install --managed codex", true),
        ("install --managed --observe codex", true),
        ("install --managed codex", true),
        ("uninstall --managed codex", false),
    ] {
        let (code, said) = machine.says(true, line);
        let text = machine.text(file);
        assert_eq!(
            (code, text.contains("hookwire")),
            (Some(0), has_own),
            "{line}: {said}"
        );
        assert_eq!(text == theirs, !has_own, "{line}: {text}");
        assert!(
            text.starts_with("# ours\n") && text.contains("foo = true # keep"),
            "{text}"
        );
    }
    // What somebody adds later stays, too.
    machine.says(true, "install --managed codex");
    let added = "# later\n".to_string() + &machine.text(file);
    machine.write(file, &added);
    let (_, said) = machine.says(true, "uninstall --managed codex");
    assert_eq!(machine.text(file), format!("# later\n{theirs}"), "{said}");
    // What contradicts the entry is named by its place.
    machine.write(file, "[features]\n# off for now\nhooks = false\n");
    let (code, said) = machine.says(true, "install --managed claude-code codex");
    assert_eq!(code, Some(2));
    assert!(
        said.contains("requirements.toml:3:9: `features.hooks` is false there"),
        "{said}"
    );
    assert!(!machine.path("/etc/claude-code").exists(), "all or nothing");
    // Another file of that name isn't hookwire's.
    let other = &*by_name("copilot").unwrap().managed.file;
    machine.write(other, "{\"version\": 1}\n");
    for line in ["install --managed copilot", "uninstall --managed copilot"] {
        let (_, said) = machine.says(true, line);
        assert_eq!(machine.text(other), "{\"version\": 1}\n", "{said}");
    }
}

#[test]
fn what_keeps_a_managed_entry_from_holding_is_refused() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let refused = |is_root, line: &str, expected: &str| {
        let (code, said) = machine.says(is_root, line);
        assert_eq!(code, Some(2), "{line}: {said}");
        assert!(said.contains(expected), "{line}: {said}");
        assert!(!machine.path("/etc/claude-code/managed-settings.d").exists());
    };
    let line = "install --managed claude-code";
    refused(
        false,
        line,
        &format!("`sudo {PROGRAMS}/hookwire-host install --managed claude-code`"),
    );
    for agent in AGENTS.iter().filter(|it| !it.managed.is_there()) {
        let line = format!("install --managed claude-code {}", agent.name);
        refused(
            true,
            &line,
            &format!("`hookwire run -- {}` holds", agent.program),
        );
    }
    machine.set_mode("/opt", 0o777);
    refused(
        true,
        line,
        "/opt can be changed by others than root (mode 0777): `chmod go-w /opt`",
    );
    machine.set_mode("/opt", 0o700);
    refused(true, line, "/opt is closed to users (mode 0700)");
    machine.set_mode("/opt", 0o755);
    fs::create_dir(machine.path("/etc/claude-code")).unwrap();
    machine.set_mode("/etc/claude-code", 0o700);
    refused(true, line, "`chmod a+rx /etc/claude-code`");
    rustix::fs::chown(
        machine.path("/etc/claude-code"),
        Some(rustix::process::Uid::from_raw(65534)),
        None,
    )
    .unwrap();
    refused(true, line, "/etc/claude-code belongs to user 65534");
}

#[test]
fn a_managed_entry_denies_whatever_its_user_says_and_observes_when_it_is_to() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.write("/etc/hookwire/guard.yaml", GUARD);
    // The user's own definitions say the opposite, in every way that they have.
    machine.write("/home/config/hookwire/allow.yaml", LOOSE);
    let words = [&*format!("{PROGRAMS}/hookwire-run"), "hook", "claude-code"];
    for (line, denies) in [
        ("install --managed --observe claude-code", false),
        ("install --managed claude-code", true),
    ] {
        let (_, said) = machine.says(true, line);
        let text = machine.text("/etc/claude-code/managed-settings.d/10-hookwire.json");
        assert_eq!(text.contains("--observe"), !denies, "{said}");
        assert_eq!(text.contains("allowManagedHooksOnly"), denies, "{text}");
        assert_eq!(text.contains("onFailure"), denies, "{text}");
        let mut words = words.to_vec();
        words.extend((!denies).then_some("--observe"));
        for environment in [
            &[("HOME", "/tmp")][..],
            &[("HOME", "/tmp"), ("XDG_CONFIG_HOME", "/home/config")],
            &[
                ("XDG_RUNTIME_DIR", "/tmp"),
                ("XDG_DATA_HOME", "/home/config"),
            ],
            &[
                ("HOOKWIRE_LOG", "error"),
                ("HOOKWIRE_MODEL", "anthropic:none"),
            ],
        ] {
            let output = machine.asked(&words, environment, &call(PUSH));
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(
                said.contains("Force pushes are off"),
                denies,
                "{environment:?}: {}",
                both(&output)
            );
            assert!(
                denies || output.status.success() && said.is_empty(),
                "{}",
                both(&output)
            );
        }
    }
    let environment = [("HOME", "/tmp"), ("XDG_CONFIG_HOME", "/home/config")];
    for (command, told) in [
        ("git status", "Force pushes are off"),
        ("id", "Not even that"),
    ] {
        let said = both(&machine.asked(&words, &environment, &call(command)));
        assert!(said.contains(told), "{command}: {said}");
    }
    // An entry that only observes lets a call go on also where it fails.
    let observing = [
        "hook",
        "claude-code",
        "--observe",
        "--connect",
        "unix:/tmp/nobody-listens",
    ];
    for program in ["hookwire-run", "hookwire-host"] {
        let words: Vec<&str> = [program].into_iter().chain(observing).collect();
        let output = machine.asked(&words, &[], &call(PUSH));
        assert!(
            output.status.success() && output.stdout.is_empty(),
            "{}",
            both(&output)
        );
    }
}

#[test]
fn people_are_told_which_of_their_hooks_run_no_more() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let passwd = machine.text("/etc/passwd")
        + "ann:x:2001:2001::/home/ann:/bin/sh\nbob:x:2002:2002::/home/bob:/bin/sh\n";
    machine.write("/etc/passwd", &passwd);
    let own = json!({ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "say \u{1b}[31mdone" }] }],
        "PreToolUse": [{ "hooks": [{ "type": "command", "command": "/usr/bin/hookwire hook claude-code" }] }] } });
    machine.write("/home/ann/.claude/settings.json", &own.to_string());
    machine.write("/home/bob/.claude/settings.json", "{ broken");
    let (_, said) = machine.says(true, "install --managed claude-code");
    assert!(
        said.contains("ann in /home/ann/.claude/settings.json: say "),
        "{said}"
    );
    assert!(
        said.contains("bob in /home/bob/.claude/settings.json: it can't be read"),
        "{said}"
    );
    assert!(
        !said.contains('\u{1b}') && !said.contains("/usr/bin/hookwire hook"),
        "{said}"
    );
    assert!(
        said.contains("`hookwire import claude-code --user`"),
        "{said}"
    );
    let (_, said) = machine.says(true, "--format json install --managed claude-code");
    let told: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(told["silenced"][0]["user"], "ann");
    let (_, said) = machine.says(true, "install --managed --observe claude-code");
    assert!(!said.contains("ann"), "its hooks run then: {said}");
}

/// What a doctor says of the machine's entries, and whether one that is to hold doesn't.
fn doctor(machine: &Machine, is_root: bool, words: &str) -> (bool, String) {
    let (code, said) = machine.says(is_root, format!("doctor --managed {words}").trim_end());
    assert!(matches!(code, Some(0 | 1)), "{said}");
    let is_bad = said.lines().any(|line| line.starts_with("  bad "));
    assert_eq!(code == Some(1), is_bad, "{said}");
    (is_bad, said)
}

#[test]
fn a_doctor_sees_that_managed_entries_hold_as_root_and_as_a_user() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let (is_bad, said) = doctor(&machine, false, "");
    assert!(
        is_bad && said.contains("sudo hookwire install --managed AGENT"),
        "{said}"
    );
    machine.says(true, &format!("install --managed {}", names()));
    let (is_bad, said) = doctor(&machine, true, "");
    assert!(
        is_bad && said.contains("there are no hooks in /etc/hookwire"),
        "{said}"
    );
    machine.write("/etc/hookwire/guard.yaml", GUARD);
    for (is_root, who) in [(true, "nobody"), (false, "you")] {
        let (is_bad, said) = doctor(&machine, is_root, "");
        assert!(!is_bad, "{said}");
        let asked = format!("asked as {who}");
        for agent in managed() {
            let section = said.split(&format!("{}\n", agent.name)).nth(1).unwrap();
            let section = section.split("\n  look  not held").next().unwrap();
            for expected in [
                "root's alone, and every user can read it",
                "as it was written",
                &asked,
            ] {
                assert!(
                    section.contains(expected),
                    "{}: {expected}: {said}",
                    agent.name
                );
            }
            // Each way around it that isn't held is named with what closes it.
            for left in &agent.managed.left {
                assert!(
                    said.contains(&left.how) && said.contains(&left.closes),
                    "{said}"
                );
            }
        }
        assert!(said.contains("1 hook of the machine's in force"), "{said}");
    }
    machine.says(true, "install --managed --observe codex");
    let (is_bad, said) = doctor(&machine, true, "codex");
    assert!(
        !is_bad && said.contains("only observe, so nothing is denied"),
        "{said}"
    );
    let (is_bad, said) = doctor(&machine, true, "gemini");
    assert!(is_bad && said.contains("`hooksConfig.disabled`"), "{said}");
}

/// What is done to a machine, and what a doctor says of it. The first word names the file of that
/// agent's, or a path.
const HARMS: &[(&str, &str, &str)] = &[
    (
        "claude-code",
        "chmod 600 F",
        "is closed to users (mode 0600), and an agent is one: `chmod a+r",
    ),
    (
        "claude-code",
        "chmod 666 F",
        "can be changed by others than root (mode 0666)",
    ),
    (
        "claude-code",
        "chmod 700 D",
        "`chmod a+rx /etc/claude-code/managed-settings.d`; Claude Code runs unguarded",
    ),
    ("claude-code", "chown 65534 D", "belongs to user 65534"),
    (
        "claude-code",
        "sed -i s/block/ignore/ F",
        "isn't as hookwire writes it at SessionStart",
    ),
    (
        "claude-code",
        "sed -i s/Only\":.true/Only\":false/ F",
        "`allowManagedHooksOnly` isn't true",
    ),
    (
        "claude-code",
        "sed -i s/PreToolUse/PreToolUsed/ F",
        "isn't as hookwire writes it at PreToolUse;",
    ),
    ("claude-code", "sed -i 1s/$/!/ F", "can't be read: line 1"),
    (
        "codex",
        "sed -i s/hooks.=.true/hooks=false/ F",
        "`features.hooks` isn't true",
    ),
    (
        "codex",
        "sed -i s/exit.2/exit/ F",
        "isn't as hookwire writes it at UserPromptSubmit, PreToolUse",
    ),
    ("grok", "sed -i 1s/$/!/ F", "can't be read: line 1"),
    (
        "qwen",
        "sed -i s/false/true/ F",
        "`disableAllHooks` isn't false",
    ),
    (
        "copilot",
        "chmod 777 /opt",
        "/opt can be changed by others than root (mode 0777)",
    ),
    (
        "copilot",
        "sed -i s#/opt/hookwire/#/opt/nowhere/# F",
        "/opt/nowhere isn't there",
    ),
    (
        "codex",
        "chmod 600 /etc/hookwire/guard.yaml",
        "`chmod a+r /etc/hookwire/guard.yaml`",
    ),
    (
        "codex",
        "sed -i s/deny/denie/ /etc/hookwire/guard.yaml",
        "/etc/hookwire/guard.yaml:2",
    ),
];

#[test]
fn a_doctor_names_what_undoes_a_managed_entry() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let prepared = || {
        machine.set_mode("/opt", 0o755);
        machine.write("/etc/hookwire/guard.yaml", GUARD);
        machine.set_mode("/etc/hookwire/guard.yaml", 0o644);
        let (code, said) = machine.says(true, &format!("install --managed {}", names()));
        assert_eq!(code, Some(0), "{said}");
    };
    for (agent, harm, expected) in HARMS {
        prepared();
        let file = &by_name(agent).unwrap().managed.file;
        let dir = Path::new(file).parent().unwrap().to_str().unwrap();
        let words: Vec<&str> = harm
            .split(' ')
            .map(|word| match word {
                "F" => file,
                "D" => dir,
                word => word,
            })
            .collect();
        let done = machine.command(true, &words).output().unwrap();
        assert!(done.status.success(), "{harm}: {}", both(&done));
        let (is_bad, said) = doctor(&machine, true, agent);
        assert!(is_bad && said.contains(expected), "{harm}: {said}");
        // What was done goes with the entry.
        for agent in managed() {
            let dir = Path::new(&agent.managed.file).parent().unwrap();
            machine
                .command(true, &["rm", "-rf", dir.to_str().unwrap()])
                .output()
                .unwrap();
        }
    }
    // What others have written beside it, and what the user has set.
    prepared();
    machine.write(
        "/etc/claude-code/managed-settings.json",
        "{\"disableAllHooks\": true}",
    );
    let (is_bad, said) = doctor(&machine, false, "claude-code");
    assert!(
        is_bad && said.contains("`disableAllHooks` is true, which undoes the entry"),
        "{said}"
    );
    fs::remove_file(machine.path("/etc/claude-code/managed-settings.json")).unwrap();
    machine.write("/home/nobody/.codex/.env", "BASH_ENV=/tmp/x\n");
    let words = [
        "env",
        "HOME=/home/nobody",
        "BUN_OPTIONS=--preload=/x",
        "hookwire",
        "doctor",
        "--managed",
    ];
    let said = both(&machine.command(false, &words).output().unwrap());
    for expected in [
        "/home/nobody/.codex/.env has `BASH_ENV`",
        "`BUN_OPTIONS` is set",
    ] {
        assert!(
            said.contains(&format!("this is so now: {expected}")),
            "{said}"
        );
    }
}

/// Where every user asks.
const ASK: &str = "/run/hookwire/ask.sock";
/// The user of the machine's host.
const HOST: u32 = 990;

const COUNTING: &str = "hooks:
  - { name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off. }
  - { name: first, on: PreToolUse, if: Bash(id *), once: true, deny: Once. }
  - { name: twice, on: PreToolUse, if: Bash(date *), guard: { rate-limit: { max: 2, within: 1h, per: host } } }
";

impl Machine {
    /// The machine's host, once it listens.
    fn serve(&self) -> Child {
        let listens = self.path(ASK);
        let dir = listens.parent().unwrap();
        fs::create_dir_all(dir).unwrap();
        rustix::fs::chown(dir, Some(rustix::process::Uid::from_raw(HOST)), None).unwrap();
        let line = "HOME=/tmp exec hookwire serve --system";
        let uid = HOST.to_string();
        let words = [
            "setpriv",
            "--reuid",
            &uid,
            "--regid",
            &uid,
            "--clear-groups",
            "sh",
            "-c",
            line,
        ];
        let mut host = self
            .command(true, &words)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(host.stderr.take().unwrap());
        let mut lines = said.lines().map(Result::unwrap);
        assert!(lines.any(|line| line.contains("listening on /run/hookwire/ask.sock")));
        // What it says is read on, so that it never waits.
        std::thread::spawn(move || lines.for_each(drop));
        host
    }

    /// What a user's entry says of a command there.
    fn asks(&self, uid: u32, command: &str) -> String {
        let uid = uid.to_string();
        let words = [
            "setpriv",
            "--reuid",
            &uid,
            "--regid",
            &uid,
            "--clear-groups",
            "hookwire-run",
            "hook",
        ];
        let words: Vec<&str> = words
            .into_iter()
            .chain(["claude-code", "--connect", "unix:/run/hookwire/ask.sock"])
            .collect();
        both(&self.told(true, &words, &call(command)))
    }
}

#[test]
fn every_user_asks_the_machines_host_and_does_nothing_else_there() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.write("/etc/hookwire/guard.yaml", COUNTING);
    let (_, said) = machine.says(true, "serve --system");
    assert!(said.contains("run it as a user of its own"), "{said}");
    let mut host = machine.serve();
    assert_eq!(machine.mode(ASK), 0o666);
    machine.says(
        true,
        "install --managed --connect unix:/run/hookwire/ask.sock claude-code",
    );
    let (is_bad, said) = doctor(&machine, true, "claude-code");
    assert!(!is_bad && said.contains("asked as nobody"), "{said}");
    // What one user has spent isn't spent for another, whatever the session is called.
    for (uid, command, told) in [
        (2001, PUSH, "Force pushes are off"),
        (2001, "id -u", "Once."),
        (2001, "id -u", ""),
        (2002, "id -u", "Once."),
        (2001, "date -u", ""),
        (2001, "date -u", ""),
        (2001, "date -u", "deny"),
        (2002, "date -u", ""),
    ] {
        let said = machine.asks(uid, command);
        let is_right = if told.is_empty() {
            said.is_empty()
        } else {
            said.contains(told)
        };
        assert!(is_right, "{uid}: {command}: {said}");
    }
    // Every other request is refused, and what isn't one, too.
    let stream = UnixStream::connect(machine.path(ASK)).unwrap();
    let mut replies = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut ask = |message: &str| -> Value {
        (&stream)
            .write_all(format!("{message}\n").as_bytes())
            .unwrap();
        serde_json::from_str(&replies.next().unwrap().unwrap()).unwrap()
    };
    let known = schema("protocol");
    let known = ["requests", "notifications"].map(|kind| known[kind].as_object().unwrap().clone());
    let known = known
        .iter()
        .flat_map(|kind| kind.keys().map(String::as_str));
    let others = known.filter(|it| !["hooks/answer", "guard/begin", "guard/finish"].contains(it));
    for method in others.chain(["textDocument/hover", "workspace/executeCommand", "none"]) {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} });
        let reply = ask(&message.to_string());
        let problem = reply["error"]["message"].as_str().unwrap();
        assert!(
            problem.contains("`guard/finish` are served"),
            "{method}: {reply}"
        );
        let batch = ask(&json!([message]).to_string());
        assert!(batch["error"].is_object(), "{batch}");
        // A notification has no reply: the next one is of the request behind it.
        let notification = json!({ "jsonrpc": "2.0", "method": method, "params": {} });
        (&stream)
            .write_all(format!("{notification}\n").as_bytes())
            .unwrap();
    }
    for nonsense in ["nonsense", "{}", "[]", "null", "\u{0}"] {
        assert!(ask(nonsense)["error"].is_object(), "{nonsense}");
    }
    let question = json!({ "jsonrpc": "2.0", "id": 1, "method": "hooks/answer",
        "params": { "agent": "claude-code", "sent": call(PUSH).to_string(), "deadlineMs": u64::MAX } });
    assert!(
        ask(&question.to_string())["result"]["stdout"]
            .as_str()
            .unwrap()
            .contains("Force pushes")
    );
    // Connections of one user keep nobody else out, and end when they say nothing.
    let began = Instant::now();
    let idle: Vec<UnixStream> = (0..200)
        .map(|_| UnixStream::connect(machine.path(ASK)).unwrap())
        .collect();
    assert!(machine.asks(2002, PUSH).contains("Force pushes are off"));
    for mut stream in idle {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap_or_default(), 0);
    }
    assert!(began.elapsed() < PATIENCE);
    // Without it, the act is denied.
    let kill = ["pkill", "-KILL", "-U", "990", "hookwire-host"];
    machine.command(true, &kill).status().unwrap();
    host.wait().unwrap();
    let said = machine.asks(2001, "ls");
    assert!(
        said.contains("hookwire failed, so this is denied"),
        "{said}"
    );
}

const OF_MACHINE: &str = "hooks:
  - { name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off. }
  - { name: twice, on: PreToolUse, if: Bash(date *), guard: { rate-limit: { max: 2, within: 1h, per: host } } }
  - { name: after, on: PostToolUse, if: Bash(uptime), script: \"return { additionalContext: ['m ' + event.tool.output] }\" }
";
/// `REWRITE` stands for what the act is rewritten to.
const OF_USER: &str = "hooks:
  - { name: no-cat, on: PreToolUse, if: Bash(cat *), deny: Not here. }
  - { name: ask-ls, on: PreToolUse, if: Bash(ls *), ask: Sure? }
  - { name: allows, on: PreToolUse, if: Bash(git push *), allow: '' }
  - { name: other, on: PreToolUse, if: Bash(id *), rewrite: { command: [whoami] } }
  - { name: forces, on: PreToolUse, if: Bash(true *), rewrite: { command: [git, push, --force] } }
  - { name: counted, on: PreToolUse, if: Bash(false *), rewrite: { command: [date, -u] } }
  - { name: told, on: PreToolUse, if: Bash(pwd), script: \"return { additionalContext: ['mine'] }\" }
  - { name: mine, on: PostToolUse, if: Bash(uptime), script: \"return { subject: 'less' }\" }
";

#[test]
fn a_users_own_hooks_add_to_the_machines_and_loosen_nothing() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.write("/etc/hookwire/guard.yaml", OF_MACHINE);
    let mut host = machine.serve();
    let home = "/tmp/user";
    machine.write("/tmp/user/.config/hookwire/own.yaml", OF_USER);
    let owned = ["chown", "-R", "2001:2001", home];
    assert!(machine.command(true, &owned).status().unwrap().success());
    let ask = |event: &Value| {
        let line = format!(
            "cd {home} && HOME={home} exec hookwire-run hook claude-code --connect unix:{ASK} --user-dir {home}/.config/hookwire --data-dir {home}/.local/share/hookwire"
        );
        let words = [
            "setpriv",
            "--reuid",
            "2001",
            "--regid",
            "2001",
            "--clear-groups",
            "sh",
            "-c",
            &line,
        ];
        both(&machine.told(true, &words, event))
    };
    // The first one starts the user's host.
    for (command, told) in [
        ("cat x", r#""deny""#),
        ("cat x", "Not here."),
        ("ls x", r#""ask""#),
        (PUSH, "Force pushes are off"),
        ("git push", ""),
        ("id -u", "whoami"),
        ("true x", "Force pushes are off"),
        ("false x", "can't judge it twice"),
        ("pwd", "mine"),
        ("date -u", ""),
        ("date -u", ""),
        ("date -u", "deny"),
    ] {
        let said = ask(&call(command));
        let is_right = match told.is_empty() {
            true => said.is_empty(),
            false => said.contains(told),
        };
        assert!(is_right, "{command}: {said}");
    }
    // Behind an act, the user's hooks come first.
    let mut after = call("uptime");
    after["hook_event_name"] = "PostToolUse".into();
    after["tool_response"] = "more".into();
    let said = ask(&after);
    assert!(
        said.contains("m less") && said.contains("updatedToolOutput"),
        "{said}"
    );
    // What breaks there changes nothing of what the machine's say.
    machine.write("/tmp/user/.config/hookwire/own.yaml", "hooks: [{ broken");
    assert!(ask(&call(PUSH)).contains("Force pushes are off"));
    let kill = ["pkill", "-KILL", "-U", "2001", "hookwire-host"];
    machine.command(true, &kill).status().unwrap();
    assert!(ask(&call(PUSH)).contains("Force pushes are off"));
    host.kill().unwrap();
    host.wait().unwrap();
}

#[test]
fn only_at_the_machines_socket_a_host_of_another_user_is_obeyed() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.write("/etc/hookwire/guard.yaml", GUARD);
    let mut host = machine.serve();
    assert_eq!(machine.asks(2001, "ls"), "");
    // Somebody else's socket in the directory, and a directory that others may write.
    let user = |uid| Some(rustix::process::Uid::from_raw(uid));
    let dir = machine.path("/run/hookwire");
    rustix::fs::chown(&dir, user(2002), None).unwrap();
    assert!(
        machine
            .asks(2001, "ls")
            .contains("another user listens there")
    );
    rustix::fs::chown(&dir, user(HOST), None).unwrap();
    machine.set_mode("/run/hookwire", 0o777);
    assert!(
        machine
            .asks(2001, "ls")
            .contains("another user listens there")
    );
    let (_, said) = machine.says(false, "serve --system");
    assert!(said.contains("/run/hookwire must be this user's"), "{said}");
    host.kill().unwrap();
    host.wait().unwrap();
}

#[test]
fn a_user_of_a_managed_machine_is_told_that_it_guards() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.write("/etc/hookwire/guard.yaml", GUARD);
    machine.says(true, "install --managed claude-code codex");
    let words = [
        "env",
        "HOME=/tmp/me",
        "hookwire",
        "doctor",
        "claude-code",
        "codex",
    ];
    for own in [None, Some("claude-code")] {
        if let Some(agent) = own {
            let words = [
                "env",
                "HOME=/tmp/me",
                "hookwire",
                "install",
                agent,
                "--user",
            ];
            let output = machine.command(false, &words).output().unwrap();
            assert!(output.status.success(), "{}", both(&output));
        }
        let output = machine.command(false, &words).output().unwrap();
        let said = both(&output);
        assert!(output.status.success(), "{said}");
        for expected in [
            "10-hookwire.json asks hookwire for every user",
            "requirements.toml asks hookwire for every user",
        ] {
            assert!(said.contains(expected), "{said}");
        }
        assert!(!said.contains("switches hookwire's hooks off"), "{said}");
    }
}
