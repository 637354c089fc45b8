//! The wire to hookwire: spawn it, ask it, take its answers. To be copied as it is.

use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// Why something was not done.
pub(crate) enum Fault {
    /// A hook's no. It is an answer and not a failure, so nothing here treats it as one.
    Refused(String),
    /// What went wrong.
    Failed(String),
}

/// hookwire on two pipes. Without it every answer is a no: nothing goes on unjudged.
pub(crate) struct Host {
    wire: Option<Wire>,
    problem: RefCell<Option<String>>,
    patience: Duration,
}

/// A thread at each pipe: nobody can be made to wait for them.
struct Wire {
    child: RefCell<Child>,
    requests: Sender<String>,
    replies: Receiver<String>,
}

impl Host {
    /// Starts `hookwire serve` with these arguments.
    pub(crate) fn start(arguments: impl Iterator<Item = String>) -> Host {
        let variable = |name: &str| std::env::var(name).ok();
        let program = variable("HOOKWIRE").unwrap_or_else(|| "hookwire".into());
        let (wire, problem) = match Wire::start(Command::new(program).arg("serve").args(arguments)) {
            Ok(wire) => (Some(wire), None),
            Err(problem) => (None, Some(format!("hookwire did not start: {problem}"))),
        };
        let patience = variable("PATIENCE").and_then(|text| Duration::try_from_secs_f64(text.parse().ok()?).ok());
        Host { wire, problem: RefCell::new(problem), patience: patience.unwrap_or(Duration::from_secs(5)) }
    }

    /// The verdict on an event.
    pub(crate) fn judge(&self, event: &Value) -> Value {
        let mut problem = self.problem.borrow_mut();
        if let (Some(wire), None) = (&self.wire, &*problem) {
            let mut params = event.clone();
            // A hook that hangs: the host answers without it.
            params["deadlineMs"] = json!(self.patience.mul_f64(0.8).as_millis() as u64);
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": "hooks/dispatch", "params": params});
            let _ = wire.requests.send(format!("{request}\n"));
            // One question at a time, so the next line is the answer.
            let line = wire.replies.recv_timeout(self.patience).unwrap_or_default();
            match serde_json::from_str::<Value>(&line) {
                Ok(mut reply) if reply.get("result").is_some() => return reply["result"].take(),
                Ok(reply) => return json!({"decision": "deny", "reason": reply["error"]["message"]}),
                Err(_) => *problem = Some("hookwire gave no verdict".into()),
            }
            // A host that hangs: its late answer would pass for that to the next question.
            let _ = wire.child.borrow_mut().kill();
        }
        json!({"decision": "deny", "reason": *problem})
    }

    /// Ends the host; what was wrong with it, if something was.
    pub(crate) fn stop(self) -> Option<String> {
        if let Some(Wire { child, requests, replies }) = self.wire {
            drop(requests); // ends its input, and so the host
            let _ = replies.recv_timeout(self.patience);
            let mut child = child.into_inner();
            let _ = child.kill().and_then(|()| child.wait());
        }
        self.problem.into_inner()
    }
}

impl Wire {
    fn start(command: &mut Command) -> std::io::Result<Wire> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (requests, to_write) = mpsc::channel::<String>();
        let (read, replies) = mpsc::channel();
        std::thread::spawn(move || {
            let mut stdin = stdin?;
            to_write.iter().try_for_each(|line| stdin.write_all(line.as_bytes())).ok()
        });
        std::thread::spawn(move || {
            BufReader::new(stdout?).lines().map_while(Result::ok).try_for_each(|line| read.send(line)).ok()
        });
        Ok(Wire { child: RefCell::new(child), requests, replies })
    }
}

/// The value as hooks left it.
pub(crate) fn settled(verdict: &Value, value: Value) -> Result<Value, Fault> {
    if verdict["decision"] != "allow" {
        return Err(Fault::Refused(verdict["reason"].as_str().unwrap_or("a hook said no").to_string()));
    }
    Ok(verdict.get("subject").cloned().unwrap_or(value))
}

/// Applies a JSON merge patch, RFC 7396.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().and_then(|target| target.remove(key));
        } else {
            merge(&mut target[key], value);
        }
    }
}
