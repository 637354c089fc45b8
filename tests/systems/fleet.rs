//! A fleet as people use it: the built program, real servers with the example accounts, a publisher
//! and hosts.

#[path = "../../crates/fleet/tests/fleet/common/mod.rs"]
pub(super) mod servers;

use super::support::{TestHost, brief, eventually, hookwire};
use serde_json::{Value, json};
use servers::{Servers, program};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

pub(super) const GUARD: &str = "
hooks:
  - { name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off. }
";
const CASES: &str = "
cases:
  - { bash: git push --force, expect: deny }
  - { bash: git push, expect: allow }
";

/// A team's directory, keys and settings beside each other.
pub(super) struct Scene {
    dir: TempDir,
    pub(super) servers: Servers,
    /// The team's public key.
    key: String,
}

impl Scene {
    /// With streams and a key, by the program itself.
    pub(super) fn new(program: &Path) -> Scene {
        let servers = Servers::without_streams(program, 1);
        let mut scene = Scene {
            dir: TempDir::new().unwrap(),
            servers,
            key: String::new(),
        };
        for dir in ["team", "project", "user", "data"] {
            fs::create_dir(scene.at(dir)).unwrap();
        }
        scene.write("admin.conf", &scene.servers.settings_text("admin"));
        let made = eventually("JetStream answers", || {
            let output = scene.run(&["fleet", "init", "--fleet", "admin.conf"]);
            (output.status.code() == Some(0)).then(|| said(&output))
        });
        assert_eq!(
            made.lines().filter(|it| it.ends_with("made")).count(),
            8,
            "{made}"
        );
        scene.key = scene.new_key("team.key");
        scene.write_settings("publisher.conf", "publisher");
        scene.write_settings("host.conf", "host-a");
        scene
    }

    /// Writes the settings of an account that believes the team's key.
    pub(super) fn write_settings(&self, name: &str, user: &str) {
        self.write_pins(name, user, &[&self.key], "");
    }

    /// Writes the settings of an account that believes these keys.
    fn write_pins(&self, name: &str, user: &str, keys: &[&str], more: &str) {
        let pins = format!("[definitions]\nkeys = {keys:?}\n{more}");
        self.write(name, &format!("{}{pins}", self.servers.settings_text(user)));
    }

    /// Makes another key, and gives its public half.
    fn new_key(&self, name: &str) -> String {
        said(&self.run(&["fleet", "key", name]))
            .lines()
            .last()
            .unwrap()
            .to_string()
    }

    /// What a host has on its disk of what is in force.
    fn published_file(&self, name: &str) -> PathBuf {
        let stores = fs::read_dir(self.at("data/fleet"))
            .unwrap()
            .map(|it| it.unwrap().path());
        stores
            .map(|it| it.join("current/files").join(name))
            .find(|it| it.exists())
            .unwrap()
    }

    fn status(&self) -> (Option<i32>, String) {
        let output = self.run(&["fleet", "status", "--fleet", "publisher.conf"]);
        (output.status.code(), said(&output))
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = hookwire();
        command
            .current_dir(self.dir.path())
            .env("HOOKWIRE_PASSPHRASE", "correct horse battery staple");
        command
            .arg("--user-dir")
            .arg(self.at("user"))
            .arg("--data-dir")
            .arg(self.at("data"))
            .args(args);
        command.stdin(Stdio::null());
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub(super) fn publish(&self, more: &[&str]) -> (Option<i32>, String) {
        let args = [
            &[
                "fleet",
                "publish",
                "--fleet",
                "publisher.conf",
                "--key",
                "team.key",
            ],
            more,
        ]
        .concat();
        let output = self.run(&args);
        (output.status.code(), said(&output))
    }

    pub(super) fn host(&self) -> TestHost {
        TestHost::start(
            self.command(&["serve", "--root", "project", "--fleet", "host.conf"])
                .stdin(Stdio::piped()),
        )
    }
}

pub(super) fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_team_publishes_judges_on_every_host() {
    let Some(program) = program() else { return };
    let mut scene = Scene::new(&program);
    let mut host = scene.host();
    // Keys are pinned, and nobody has signed anything.
    let verdict = host.bash("ls");
    assert!(
        brief(&verdict).starts_with("deny by broken-fleet"),
        "{verdict}"
    );
    assert!(
        brief(&verdict).contains("nothing is published there yet"),
        "{verdict}"
    );

    scene.write("team/guard.yaml", GUARD);
    scene.write("team/guard.test.yaml", CASES);
    let (code, text) = scene.publish(&["team"]);
    assert!(
        code == Some(0) && text.contains("all cases as expected"),
        "{text}"
    );
    assert!(
        text.contains("published revision 1 to main") && text.contains("in force on host-a."),
        "{text}"
    );
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force-push"));
    let listed = host.request("hooks/list", json!({}));
    assert_eq!(listed["hooks"][0]["source"]["layer"], "fleet", "{listed}");

    // What isn't sound doesn't leave the publisher.
    for (file, text, problem) in [
        (
            "guard.yaml",
            "hooks: [{ name: a, on: PreToolUse, den: no }]",
            "den",
        ),
        (
            "guard.test.yaml",
            "cases: [{ bash: ls, expect: deny }]",
            "guard.test.yaml:1",
        ),
    ] {
        let before = fs::read_to_string(scene.at("team").join(file)).unwrap();
        scene.write(&format!("team/{file}"), text);
        let (code, said) = scene.publish(&["team"]);
        // Nothing is denied because of it: what is in force stays.
        assert!(
            code == Some(2) && said.contains(problem) && !said.contains("denied"),
            "{said}"
        );
        scene.write(&format!("team/{file}"), &before);
    }

    // What runs code is refused by a host whose settings don't permit it, and everybody sees why.
    let code_hook =
        format!("{GUARD}  - {{ name: count, on: PostToolUse, command: 'cat >> /tmp/x' }}\n");
    scene.write("team/guard.yaml", &code_hook);
    let (code, text) = scene.publish(&["team"]);
    assert!(
        code == Some(1) && text.contains("refused by host-a") && text.contains("code = true"),
        "{text}"
    );
    let status = scene.run(&["fleet", "status", "--fleet", "publisher.conf"]);
    let text = said(&status);
    assert!(text.contains("expires in 90 days"), "{text}");
    assert!(
        status.status.code() == Some(1)
            && text.contains("1 behind; refuses revision 2: guard.yaml:4"),
        "{text}"
    );
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force-push"));

    // Back to what was there before, under a new revision.
    let (code, text) = scene.publish(&["--roll-back"]);
    assert!(
        code == Some(0) && text.contains("the files of revision 1, again"),
        "{text}"
    );
    assert!(
        text.contains("published revision 3") && text.contains("in force"),
        "{text}"
    );
    let status = scene.run(&[
        "fleet",
        "status",
        "--fleet",
        "publisher.conf",
        "--format",
        "json",
    ]);
    let row: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert!(
        row["ok"] == true && row["lag"] == 0 && row["report"]["inForce"]["revision"] == 3,
        "{row}"
    );

    // The network is away: a host that starts now judges by the same, and so does an agent's own
    // host, whose settings are the user's.
    scene.servers.kill(0);
    host.close();
    let mut host = scene.host();
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force-push"));
    fs::copy(scene.at("host.conf"), scene.at("user/fleet.conf")).unwrap();
    let dispatched = scene.run(&[
        "explain",
        "--run",
        "--root",
        "project",
        "--bash",
        "git push --force",
    ]);
    assert!(
        said(&dispatched).contains("no-force-push"),
        "{}",
        said(&dispatched)
    );
    let replied = asked_by_claude_code(&scene);
    assert!(replied.contains("Force pushes are off."), "{replied}");
    let stopped = scene.run(&["host", "stop", "--root", "project"]);
    // The other host of the project ends with the test.
    assert!(said(&stopped).contains("has ended"), "{}", said(&stopped));

    // What somebody has changed on the disk isn't believed, and nothing passes in its place.
    host.close();
    fs::write(scene.published_file("guard.yaml"), "hooks: []").unwrap();
    let mut host = scene.host();
    let verdict = host.bash("ls");
    assert!(
        verdict["reason"]
            .as_str()
            .unwrap_or_default()
            .contains("guard.yaml was changed"),
        "{verdict}"
    );

    // The server comes back, and with it what was signed.
    scene.servers.restart(0);
    eventually("the signed definitions come again", || {
        (brief(&host.bash("ls")) == "allow").then_some(())
    });
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force-push"));

    // A part of the hosts first, then all.
    scene.write(
        "team/guard.yaml",
        &GUARD.replace("no-force-push", "no-force"),
    );
    let (code, text) = scene.publish(&["team", "--canary", "99.9"]);
    assert!(
        code == Some(0)
            && text.contains("to the canary of main, 99.9 %")
            && text.contains("in force"),
        "{text}"
    );
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force"));
    let (code, text) = scene.publish(&["--promote"]);
    assert!(
        code == Some(0)
            && text.contains("the files of revision 4, again")
            && text.contains("in force"),
        "{text}"
    );
    host.close();
}

/// Somebody edits what a host has on its disk while the host runs: the host judges by what was
/// signed, runs nothing else, tells everybody, and writes the files anew. No server is needed for
/// that.
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_what_was_published_is_an_alarm_and_changes_nothing() {
    let Some(program) = program() else { return };
    let scene = Scene::new(&program);
    scene.write("team/guard.yaml", GUARD);
    assert_eq!(scene.publish(&["team", "--wait", "0s"]).0, Some(0));
    // The first event of a new machine is judged by what is published.
    let mut host = scene.host();
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force-push"));

    let marker = scene.at("started");
    let hook = json!({ "name": "x", "on": "PreToolUse", "command": format!("touch {}", marker.display()) });
    let file = scene.published_file("guard.yaml");
    fs::write(&file, json!({ "hooks": [hook] }).to_string()).unwrap();
    fs::write(
        file.with_file_name("more.yaml"),
        json!({ "hooks": [hook] }).to_string(),
    )
    .unwrap();
    for _ in 0..16 {
        host.request("hooks/reload", json!({}));
        assert!(brief(&host.bash("git push --force")).contains("deny by no-force-push"));
    }
    assert_eq!(brief(&host.bash("ls")), "allow");
    assert!(!marker.exists());
    // What comes next is news, with which the disk is looked at.
    scene.write("team/code.yaml", &json!({ "hooks": [hook] }).to_string());
    let (code, text) = scene.publish(&["team"]);
    assert!(code == Some(1) && text.contains("code = true"), "{text}");
    let text = eventually("the alarm is in the fleet's state", || {
        let (code, text) = scene.status();
        (code == Some(1) && text.contains("somebody has changed")).then_some(text)
    });
    assert!(
        text.contains("guard.yaml was changed") && text.contains("revision 1 in force"),
        "{text}"
    );
    assert_eq!(
        fs::read_to_string(scene.published_file("guard.yaml")).unwrap(),
        GUARD
    );
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force-push"));
    host.close();
}

/// A bundle's script runs only as it was signed.
#[tokio::test(flavor = "multi_thread")]
async fn a_script_of_a_bundle_runs_only_as_it_was_signed() {
    let Some(program) = program() else { return };
    let scene = Scene::new(&program);
    scene.write_pins("host.conf", "host-a", &[&scene.key], "code = true\n");
    scene.write(
        "team/guard.yaml",
        "hooks: [{ name: check, on: PreToolUse, fail: closed, command: 'sh ./check.sh' }]",
    );
    scene.write("team/check.sh", "echo no, by the script >&2; exit 2\n");
    assert_eq!(scene.publish(&["team", "--wait", "0s"]).0, Some(0));
    let mut host = scene.host();
    // The project has a file of that name, too.
    scene.write("project/check.sh", "exit 0\n");
    let verdict = host.bash("ls");
    assert!(brief(&verdict).contains("no, by the script"), "{verdict}");
    for (name, text) in [("check.sh", "exit 0\n"), ("beside.sh", "")] {
        let file = scene.published_file("guard.yaml").with_file_name(name);
        let before = fs::read(&file).ok();
        fs::write(&file, text).unwrap();
        let verdict = host.bash("ls");
        let said = verdict.to_string();
        assert!(
            verdict["decision"] == "deny" && said.contains("run what was published"),
            "{verdict}"
        );
        match before {
            Some(before) => fs::write(&file, before).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
    }
    assert!(brief(&host.bash("ls")).contains("no, by the script"));
    host.close();
}

/// Keys are pinned and nothing can be believed: tool calls are denied with the reason, and
/// everything else goes on. What both the old and the new keys of a machine believe stays in force.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_changed_to_the_letter_and_nothing_passes_without_them() {
    let Some(program) = program() else { return };
    let mut scene = Scene::new(&program);
    let (old, new) = (scene.key.clone(), scene.new_key("new.key"));
    scene.write("team/guard.yaml", GUARD);
    assert_eq!(scene.publish(&["team", "--wait", "0s"]).0, Some(0));
    // A canary that was promoted stays where it was.
    scene.write("team/guard.yaml", &GUARD.replace("off.", "off now."));
    assert_eq!(
        scene
            .publish(&["team", "--canary", "99.9", "--wait", "0s"])
            .0,
        Some(0)
    );
    assert_eq!(scene.publish(&["--promote", "--wait", "0s"]).0, Some(0));

    // Only the new one, too early: nobody has signed by it.
    scene.write_pins("early.conf", "host-a", &[&new], "");
    let start = |scene: &Scene, settings: &str, data: &str| {
        let mut command = hookwire();
        command
            .current_dir(scene.dir.path())
            .arg("--user-dir")
            .arg(scene.at("user"))
            .arg("--data-dir");
        command
            .arg(scene.at(data))
            .args(["serve", "--root", "project", "--fleet", settings])
            .stdin(Stdio::piped());
        TestHost::start(&mut command)
    };
    let mut host = start(&scene, "early.conf", "early");
    let verdict = host.bash("ls");
    assert!(
        brief(&verdict).starts_with("deny by broken-fleet"),
        "{verdict}"
    );
    assert!(
        brief(&verdict).contains("0 of the pinned keys have signed it"),
        "{verdict}"
    );
    let after = host.dispatch(
        json!({ "event": "PostToolUse", "tool": { "name": "Bash", "input": {}, "output": "x" } }),
    );
    assert_eq!(after["decision"], "allow", "{after}");
    host.close();

    // Both are pinned, on machines and by the publisher; the new one signs; then only the new one
    // is pinned.
    for (name, user) in [("host.conf", "host-a"), ("publisher.conf", "publisher")] {
        scene.write_pins(name, user, &[&old, &new], "");
    }
    let mut host = scene.host();
    assert!(brief(&host.bash("git push --force")).contains("off now."));
    let by_new = |scene: &Scene, more: &[&str]| {
        let output = scene.run(
            &[
                &[
                    "fleet",
                    "publish",
                    "--fleet",
                    "publisher.conf",
                    "--key",
                    "new.key",
                ],
                more,
            ]
            .concat(),
        );
        (output.status.code(), said(&output))
    };
    scene.write(
        "team/guard.yaml",
        &GUARD.replace("off.", "off by the new key."),
    );
    let (code, text) = by_new(&scene, &["team"]);
    assert!(
        code == Some(0) && text.contains("in force on host-a"),
        "{text}"
    );
    host.close();
    for (name, user) in [("host.conf", "host-a"), ("publisher.conf", "publisher")] {
        scene.write_pins(name, user, &[&new], "");
    }
    let mut host = scene.host();
    assert!(brief(&host.bash("git push --force")).contains("off by the new key."));
    let (_, text) = scene.status();
    assert!(text.contains("canary: 0 of the pinned keys"), "{text}");
    // A plain publishing takes the old canary away.
    scene.write("team/guard.yaml", &GUARD.replace("off.", "off again."));
    let (code, text) = by_new(&scene, &["team"]);
    assert!(
        code == Some(0) && text.contains("took away the canary of main"),
        "{text}"
    );
    assert!(brief(&host.bash("git push --force")).contains("off again."));
    let (code, text) = eventually("the host has looked", || {
        let (code, text) = scene.status();
        (!text.contains("refuses")).then_some((code, text))
    });
    assert!(code == Some(0) && !text.contains("canary"), "{text}");
    let (code, text) = by_new(&scene, &["--promote"]);
    assert!(
        code == Some(2) && text.contains("no canary that is newer"),
        "{text}"
    );
    // Until it has ended: it would write anew what is taken away.
    host.rest();

    // The network is away, and a machine that has the old directory of both keys only goes on.
    scene.servers.kill(0);
    let stores = fs::read_dir(scene.at("data/fleet"))
        .unwrap()
        .map(|it| it.unwrap().path());
    for store in stores.filter(|it| it.join("current/files/guard.yaml").exists()) {
        if fs::read_to_string(store.join("current/files/guard.yaml"))
            .unwrap()
            .contains("off again.")
        {
            fs::remove_dir_all(store).unwrap();
        }
    }
    let mut host = scene.host();
    assert!(brief(&host.bash("git push --force")).contains("off by the new key."));
    host.close();
    // A machine that has nothing denies, and says whom to ask.
    let mut host = start(&scene, "host.conf", "fresh");
    let verdict = host.bash("ls");
    let reason = verdict["reason"].as_str().unwrap_or_default();
    assert!(
        verdict["decision"] == "deny" && reason.contains("nothing is kept on this machine"),
        "{verdict}"
    );
    assert!(
        reason.contains("ask whoever publishes to main"),
        "{verdict}"
    );
    host.close();
}

/// A host that ends says so; one that doesn't is missed, see the unit test of its state.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_has_ended_is_told_apart() {
    let Some(program) = program() else { return };
    let scene = Scene::new(&program);
    scene.write("team/guard.yaml", GUARD);
    let mut host = scene.host();
    assert_eq!(scene.publish(&["team"]).0, Some(0));
    let (code, text) = scene.status();
    assert!(
        code == Some(0) && text.contains("in force on 1 of 1 host"),
        "{text}"
    );
    let forget = |scene: &Scene| {
        let output = scene.run(&[
            "fleet",
            "status",
            "--fleet",
            "admin.conf",
            "--forget",
            "host-a",
        ]);
        (output.status.code(), said(&output))
    };
    let (code, text) = forget(&scene);
    assert!(
        code == Some(1) && text.contains("stays: it has reported"),
        "{text}"
    );
    host.rest();
    let (code, text) = scene.status();
    assert!(
        code == Some(0) && text.contains("has ended") && text.contains("in force on 0 of 0 hosts"),
        "{text}"
    );
    let (code, text) = forget(&scene);
    assert!(code == Some(0) && text.contains("is taken out"), "{text}");
    assert!(
        scene.status().1.contains("No host has ever reported."),
        "{}",
        scene.status().1
    );
}

/// What `hookwire hook` tells Claude Code of a forced push; it starts the project's host.
fn asked_by_claude_code(scene: &Scene) -> String {
    let event = json!({ "session_id": "s", "hook_event_name": "PreToolUse", "cwd": scene.at("project"),
        "tool_name": "Bash", "tool_input": { "command": "git push --force" } });
    let mut command = scene.command(&["hook", "--root", "project", "claude-code"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(event.to_string().as_bytes())
        .unwrap();
    said(&child.wait_with_output().unwrap())
}
