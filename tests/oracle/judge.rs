//! Asks hookwire whether a text matches a rule, over the wire, as an agent would.

use crate::reader::{Program, Reader};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    No,
    Doubt,
    Match,
}

/// What begins the question whether a text is covered; the rules follow, one a line.
pub const ALLOW: &str = "allow\n";

/// What a host says that has panicked while it judged.
const PANICKED: &str = "this is a bug in hookwire";

/// The reader by itself, once it was needed; whoever ends the process takes it out, so that its
/// files go.
pub static PROGRAM: Mutex<Option<Program>> = Mutex::new(None);

/// One host for each rule that was asked about, so that a text is held against that rule alone; or
/// the reader by itself.
#[derive(Default)]
pub struct Judge {
    hosts: HashMap<String, Host>,
    reader: Option<Reader>,
}

struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    _hooks: tempfile::TempDir,
}

impl Judge {
    /// Whether `rule` holds for `text` if `shell` reads it in `cwd`.
    pub fn ask(&mut self, rule: &str, shell: &str, text: &str, cwd: &Path) -> Answer {
        if let Some(answer) = self.ask_reader(rule, shell, text, cwd) {
            return answer;
        }
        let definition =
            || json!({"hooks": [{"name": "rule", "on": "PreToolUse", "if": rule, "deny": "x"}]});
        let verdict = self.dispatch(rule, definition, shell, text, cwd);
        match verdict["outcomes"][0]["decision"].as_str() {
            Some("deny") => Answer::Match,
            Some("ask") => Answer::Doubt,
            None if verdict["decision"] == "allow" => Answer::No,
            _ => panic!("{rule} for {text:?}: {verdict}"),
        }
    }

    /// Whether a policy that allows what `rules` name, and nothing else, allows `text`.
    pub fn is_covered(&mut self, rules: &[&str], shell: &str, text: &str, cwd: &Path) -> bool {
        let key = format!("{ALLOW}{}", rules.join("\n"));
        if let Some(answer) = self.ask_reader(&key, shell, text, cwd) {
            return answer == Answer::Match;
        }
        let verdict = self.dispatch(
            &key,
            || json!({"policy": {"allow": rules}}),
            shell,
            text,
            cwd,
        );
        match verdict["decision"].as_str() {
            Some("allow") => true,
            Some("deny") => false,
            _ => panic!("{rules:?} for {text:?}: {verdict}"),
        }
    }

    /// What the reader by itself says, if it is to be asked.
    fn ask_reader(&mut self, rule: &str, shell: &str, text: &str, cwd: &Path) -> Option<Answer> {
        let source = std::env::var_os("HOOKWIRE_ORACLE_READER")?;
        let reader = self.reader.get_or_insert_with(|| {
            let mut program = PROGRAM.lock().unwrap();
            program
                .get_or_insert_with(|| Program::build(source.as_ref(), None).unwrap())
                .start()
        });
        Some(
            reader
                .ask(rule, shell, text, cwd)
                .unwrap_or_else(|| panic!("the reader ended at {text:?}")),
        )
    }

    fn dispatch(
        &mut self,
        key: &str,
        definition: impl FnOnce() -> Value,
        shell: &str,
        text: &str,
        cwd: &Path,
    ) -> Value {
        let host = self
            .hosts
            .entry(key.to_owned())
            .or_insert_with(|| Host::start(&definition()));
        let verdict = host.dispatch(
            &json!({"event": "PreToolUse", "session": "s", "cwd": cwd, "shell": shell,
            "tool": {"name": "Bash", "input": {"command": text}}}),
        );
        // A panic is caught and becomes doubt, which would hide it.
        assert!(
            !verdict.to_string().contains(PANICKED),
            "{key} for {text:?} in {shell}: {verdict}"
        );
        verdict
    }
}

impl Host {
    fn start(definition: &Value) -> Host {
        let hooks = tempfile::tempdir().unwrap();
        std::fs::write(hooks.path().join("hooks.json"), definition.to_string()).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_hookwire-host"))
            .env_remove("HOOKWIRE_LOG")
            .args(["serve", "--isolated", "--hooks"])
            .arg(hooks.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (
            child.stdin.take(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        Host {
            child,
            stdin,
            stdout,
            _hooks: hooks,
        }
    }

    fn dispatch(&mut self, event: &Value) -> Value {
        let request =
            json!({"jsonrpc": "2.0", "id": 1, "method": "hooks/dispatch", "params": event});
        // In one write: what is formatted into a pipe is written piece by piece.
        self.stdin
            .as_mut()
            .unwrap()
            .write_all(format!("{request}\n").as_bytes())
            .unwrap();
        loop {
            let mut line = String::new();
            assert!(
                self.stdout.read_line(&mut line).unwrap() > 0,
                "the host ended at {request}"
            );
            let mut reply: Value = serde_json::from_str(&line).unwrap();
            if reply["id"] == 1 {
                assert!(reply.get("error").is_none(), "{reply} to {request}");
                return reply["result"].take();
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Closing its input ends a host.
        self.stdin.take();
        let _ = self.child.wait();
    }
}
