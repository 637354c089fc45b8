//! One conversation as it is played: what was sent, what came, what it is held to.

use crate::case::{Case, Step};
use crate::pattern::{Variables, record_pattern, shorten_value};
use crate::peer::Peer;
use crate::shape::{Sent, Shapes};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What came of a case.
pub(crate) enum Played {
    /// With the case as it would be recorded.
    Passed(Box<Case>),
    Skipped(String),
    Failed(String),
}

/// What both sides have in common.
pub(crate) struct Play<'a> {
    pub(crate) limit: Duration,
    shapes: &'a Shapes,
    variables: Variables,
    sent: Sent,
    pub(crate) recorded: Vec<Step>,
}

/// How often a process is looked at that should end.
const PAUSE: Duration = Duration::from_millis(2);

impl<'a> Play<'a> {
    pub(crate) fn new(limit: Duration, shapes: &'a Shapes) -> Play<'a> {
        let variables = Variables::new();
        Play {
            limit,
            shapes,
            variables,
            sent: Sent::default(),
            recorded: Vec::new(),
        }
    }

    pub(crate) fn fill_template(&self, template: &Value) -> Value {
        self.variables.fill_template(template)
    }

    pub(crate) fn send_template(&mut self, peer: &Peer, template: &Value) {
        let mut message = self.fill_template(template);
        let messages = match &mut message {
            Value::Array(batch) => batch.as_mut_slice(),
            message => std::slice::from_mut(message),
        };
        for message in messages.iter_mut().filter_map(Value::as_object_mut) {
            message.entry("jsonrpc").or_insert_with(|| "2.0".into());
            if let (Some(id), Some(Value::String(method))) =
                (message.get("id"), message.get("method"))
            {
                self.sent.insert(id.to_string(), method.clone());
            }
        }
        peer.send_message(&message);
    }

    /// Waits for the message that a pattern is about and holds it to the pattern.
    pub(crate) fn expect_message(
        &mut self,
        peer: &mut Peer,
        pattern: &Value,
    ) -> Result<(), String> {
        let wanted = self.fill_template(pattern);
        let (what, is_it) = describe_addressee(&wanted);
        let message = peer.receive_fitting(&what, self.limit, is_it)?;
        if let Some(problem) = self.shapes.find_mismatch(&message, &self.sent) {
            return Err(format!("{problem}: {}", shorten_value(&message)));
        }
        self.compare_values(pattern, &message)?;
        self.recorded
            .push(Step::Expect(record_pattern(Some(pattern), &message, "")));
        Ok(())
    }

    pub(crate) fn compare_values(&mut self, pattern: &Value, value: &Value) -> Result<(), String> {
        match self.variables.find_mismatch(pattern, value, "") {
            Some(problem) => Err(format!("{problem}: {}", shorten_value(value))),
            None => Ok(()),
        }
    }

    /// The other side ends, and sends nothing more than what is passed over.
    pub(crate) fn expect_end(&self, peer: &mut Peer, passed_over: &[&str]) -> Result<(), String> {
        for message in peer.receive_rest(self.limit)? {
            if let Some(problem) = self.shapes.find_mismatch(&message, &self.sent) {
                return Err(format!("{problem}: {}", shorten_value(&message)));
            }
            if !message["method"]
                .as_str()
                .is_some_and(|method| passed_over.contains(&method))
            {
                return Err(format!(
                    "no such message was asked for: {}",
                    shorten_value(&message)
                ));
            }
        }
        Ok(())
    }
}

/// What a pattern waits for, in words, and whether a message is it.
fn describe_addressee(pattern: &Value) -> (String, impl Fn(&Value) -> bool + use<>) {
    let (method, id) = (pattern.get("method").cloned(), pattern.get("id").cloned());
    let is_batch = pattern.is_array();
    let what = match (&method, &id) {
        (Some(method), _) => format!("{method}"),
        (None, Some(id)) => format!("the reply to request {id}"),
        (None, None) => "the batch".into(),
    };
    (what, move |message: &Value| match (&method, &id) {
        (Some(method), _) => message.get("method") == Some(method),
        (None, Some(id)) => message.get("method").is_none() && message.get("id") == Some(id),
        (None, None) => is_batch && message.is_array(),
    })
}

/// A process that is killed, with those that it has started, if it isn't waited for: a client in a
/// pipe would wait for its host to the end of its own time.
pub(crate) struct Program(Child);

impl Program {
    pub(crate) fn start(
        command: &mut Command,
    ) -> Result<(Program, ChildStdin, ChildStdout), String> {
        let started = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = started.map_err(|error| {
            format!(
                "failed to start {}: {error}",
                json!(command.get_program().to_string_lossy())
            )
        })?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let program = Program(child);
        match pipes {
            (Some(stdin), Some(stdout)) => Ok((program, stdin, stdout)),
            _ => Err("the program has no pipes".into()),
        }
    }

    pub(crate) fn wait_for_exit(&mut self, limit: Duration) -> Result<ExitStatus, String> {
        let until = Instant::now() + limit;
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(PAUSE),
                Ok(None) => return Err("the program has closed its output but doesn't end".into()),
                Err(error) => return Err(format!("failed to wait for the program: {error}")),
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Waited for, its number may be another's by now.
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
