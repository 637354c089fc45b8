//! A fleet as people use it: the built program, real servers with the example accounts, a publisher and hosts.

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
        let mut scene = Scene { dir: TempDir::new().unwrap(), servers, key: String::new() };
        for dir in ["team", "project", "user", "data"] {
            fs::create_dir(scene.at(dir)).unwrap();
        }
        scene.write("admin.conf", &scene.servers.settings_text("admin"));
        let made = eventually("JetStream answers", || {
            let output = scene.run(&["fleet", "init", "--fleet", "admin.conf"]);
            (output.status.code() == Some(0)).then(|| said(&output))
        });
        assert_eq!(made.lines().filter(|it| it.ends_with("made")).count(), 8, "{made}");
        scene.key = said(&scene.run(&["fleet", "key", "team.key"])).lines().last().unwrap().to_string();
        scene.write_settings("publisher.conf", "publisher");
        scene.write_settings("host.conf", "host-a");
        scene
    }

    /// Writes the settings of an account that believes the team's key.
    pub(super) fn write_settings(&self, name: &str, user: &str) {
        let pins = format!("[definitions]\nkeys = [{:?}]\n", self.key);
        self.write(name, &format!("{}{pins}", self.servers.settings_text(user)));
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = hookwire();
        command.current_dir(self.dir.path()).env("HOOKWIRE_PASSPHRASE", "correct horse battery staple");
        command.arg("--user-dir").arg(self.at("user")).arg("--data-dir").arg(self.at("data")).args(args);
        command.stdin(Stdio::null());
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub(super) fn publish(&self, more: &[&str]) -> (Option<i32>, String) {
        let args = [&["publish", "--fleet", "publisher.conf", "--key", "team.key"], more].concat();
        let output = self.run(&args);
        (output.status.code(), said(&output))
    }

    pub(super) fn host(&self) -> TestHost {
        TestHost::start(self.command(&["serve", "--root", "project", "--fleet", "host.conf"]).stdin(Stdio::piped()))
    }
}

pub(super) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_team_publishes_judges_on_every_host() {
    let Some(program) = program() else { return };
    let mut scene = Scene::new(&program);
    let mut host = scene.host();
    assert_eq!(brief(&host.bash("git push --force")), "allow");

    scene.write("team/guard.yaml", GUARD);
    scene.write("team/guard.test.yaml", CASES);
    let (code, text) = scene.publish(&["team"]);
    assert!(code == Some(0) && text.contains("all cases as expected"), "{text}");
    assert!(text.contains("published revision 1 to main") && text.contains("in force on host-a."), "{text}");
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force-push"));
    let listed = host.request("hooks/list", json!({}));
    assert_eq!(listed["hooks"][0]["source"]["layer"], "fleet", "{listed}");

    // What isn't sound doesn't leave the publisher.
    for (file, text, problem) in [
        ("guard.yaml", "hooks: [{ name: a, on: PreToolUse, den: no }]", "den"),
        ("guard.test.yaml", "cases: [{ bash: ls, expect: deny }]", "guard.test.yaml:1"),
    ] {
        let before = fs::read_to_string(scene.at("team").join(file)).unwrap();
        scene.write(&format!("team/{file}"), text);
        let (code, said) = scene.publish(&["team"]);
        // Nothing is denied because of it: what is in force stays.
        assert!(code == Some(2) && said.contains(problem) && !said.contains("denied"), "{said}");
        scene.write(&format!("team/{file}"), &before);
    }

    // What runs code is refused by a host whose settings don't permit it, and everybody sees why.
    let code_hook = format!("{GUARD}  - {{ name: count, on: PostToolUse, command: 'cat >> /tmp/x' }}\n");
    scene.write("team/guard.yaml", &code_hook);
    let (code, text) = scene.publish(&["team"]);
    assert!(code == Some(1) && text.contains("refused by host-a") && text.contains("code = true"), "{text}");
    let status = scene.run(&["fleet", "status", "--fleet", "publisher.conf"]);
    let text = said(&status);
    assert!(text.contains("expires in 90 days"), "{text}");
    assert!(status.status.code() == Some(1) && text.contains("1 behind; refuses revision 2: guard.yaml:4"), "{text}");
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force-push"));

    // Back to what was there before, under a new revision.
    let (code, text) = scene.publish(&["--roll-back"]);
    assert!(code == Some(0) && text.contains("the files of revision 1, again"), "{text}");
    assert!(text.contains("published revision 3") && text.contains("in force"), "{text}");
    let status = scene.run(&["fleet", "status", "--fleet", "publisher.conf", "--format", "json"]);
    let row: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert!(row["ok"] == true && row["lag"] == 0 && row["report"]["inForce"]["revision"] == 3, "{row}");

    // The network is away: a host that starts now judges by the same, and so does an agent's own host, whose settings are
    // the user's.
    scene.servers.kill(0);
    host.close();
    let mut host = scene.host();
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force-push"));
    fs::copy(scene.at("host.conf"), scene.at("user/fleet.conf")).unwrap();
    let dispatched = scene.run(&["dispatch", "--root", "project", "--bash", "git push --force"]);
    assert!(said(&dispatched).contains("no-force-push"), "{}", said(&dispatched));
    let replied = asked_by_claude_code(&scene);
    assert!(replied.contains("Force pushes are off."), "{replied}");
    let stopped = scene.run(&["stop", "--root", "project"]);
    // The other host of the project ends with the test.
    assert!(said(&stopped).contains("has ended"), "{}", said(&stopped));

    // What somebody has changed on the disk isn't believed, and nothing passes in its place.
    host.close();
    let stores = fs::read_dir(scene.at("data/fleet")).unwrap().map(|it| it.unwrap().path());
    let guard = stores.map(|it| it.join("current/files/guard.yaml")).find(|it| it.exists()).unwrap();
    fs::write(guard, "hooks: []").unwrap();
    let mut host = scene.host();
    let verdict = host.bash("ls");
    assert!(verdict["reason"].as_str().unwrap_or_default().contains("guard.yaml was changed"), "{verdict}");

    // The server comes back, and with it what was signed.
    scene.servers.restart(0);
    eventually("the signed definitions come again", || (brief(&host.bash("ls")) == "allow").then_some(()));
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force-push"));

    // A part of the hosts first, then all.
    scene.write("team/guard.yaml", &GUARD.replace("no-force-push", "no-force"));
    let (code, text) = scene.publish(&["team", "--canary", "99.9"]);
    assert!(code == Some(0) && text.contains("to the canary of main, 99.9 %") && text.contains("in force"), "{text}");
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force"));
    let (code, text) = scene.publish(&["--promote"]);
    assert!(code == Some(0) && text.contains("the files of revision 4, again") && text.contains("in force"), "{text}");
    host.close();
}

/// What `hookwire hook` tells Claude Code of a forced push; it starts the project's host.
fn asked_by_claude_code(scene: &Scene) -> String {
    let event = json!({ "session_id": "s", "hook_event_name": "PreToolUse", "cwd": scene.at("project"),
        "tool_name": "Bash", "tool_input": { "command": "git push --force" } });
    let mut command = scene.command(&["hook", "--root", "project", "claude-code"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    said(&child.wait_with_output().unwrap())
}
