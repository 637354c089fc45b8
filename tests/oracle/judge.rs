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

/// The reader by itself, once it was needed; whoever ends the process takes it out, so that its files go.
pub static PROGRAM: Mutex<Option<Program>> = Mutex::new(None);

/// One host for each rule that was asked about, so that a text is held against that rule alone; or the reader by
/// itself.
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
        if let Some(source) = std::env::var_os("HOOKWIRE_ORACLE_READER") {
            let reader = self.reader.get_or_insert_with(|| {
                let mut program = PROGRAM.lock().unwrap();
                program.get_or_insert_with(|| Program::build(source.as_ref(), None).unwrap()).start()
            });
            return reader.ask(rule, shell, text, cwd).unwrap_or_else(|| panic!("the reader ended at {text:?}"));
        }
        let host = self.hosts.entry(rule.to_owned()).or_insert_with(|| Host::start(rule));
        let verdict = host.dispatch(&json!({"event": "PreToolUse", "session": "s", "cwd": cwd, "shell": shell,
            "tool": {"name": "Bash", "input": {"command": text}}}));
        match verdict["outcomes"][0]["decision"].as_str() {
            Some("deny") => Answer::Match,
            Some("ask") => Answer::Doubt,
            None if verdict["decision"] == "allow" => Answer::No,
            _ => panic!("{rule} for {text:?}: {verdict}"),
        }
    }
}

impl Host {
    fn start(rule: &str) -> Host {
        let hooks = tempfile::tempdir().unwrap();
        let hook = json!({"hooks": [{"name": "rule", "on": "PreToolUse", "if": rule, "deny": "x"}]});
        std::fs::write(hooks.path().join("hooks.json"), hook.to_string()).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_hookwire"))
            .env_remove("HOOKWIRE_LOG")
            .args(["serve", "--isolated", "--hooks"])
            .arg(hooks.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Host { child, stdin, stdout, _hooks: hooks }
    }

    fn dispatch(&mut self, event: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "hooks/dispatch", "params": event});
        // In one write: what is formatted into a pipe is written piece by piece.
        self.stdin.as_mut().unwrap().write_all(format!("{request}\n").as_bytes()).unwrap();
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the host ended at {request}");
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
