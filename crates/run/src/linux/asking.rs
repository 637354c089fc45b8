//! Questions to the host, each on a connection that nobody else uses meanwhile: an answer may take
//! minutes, and the one who asks is woken by nobody in between.

use super::host::Link;
use super::obeyed::Obeyed;
use super::tree::Ancestor;
use serde_json::{Value, json};
use std::io::Result;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

/// How many questions wait for their answers at once.
const MAX_LINKS: usize = 64;
const HOST_GONE: &str = "no rule can be asked, because hookwire's host is gone; it is tried again";

/// A program that is about to start.
pub struct Start<'a> {
    /// Its arguments.
    pub argv: &'a [Vec<u8>],
    /// As it was called.
    pub path: &'a [u8],
    /// The file; for a copy or a link of a named program, that program's.
    pub real_path: &'a Path,
    /// Where.
    pub cwd: &'a Path,
    /// The process.
    pub pid: i32,
    /// Who started it, nearest first.
    pub parents: &'a [Ancestor],
}

/// What the host says of a start.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be.
    Allow,
    /// It may not be, for this reason.
    Deny(String),
}

/// Asks the host.
pub struct Asking {
    socket: Mutex<PathBuf>,
    /// Who is obeyed.
    pub obeyed: Obeyed,
    session: String,
    tool_event: Option<String>,
    idle: Mutex<(Vec<Link>, usize)>,
    free: Condvar,
}

impl Asking {
    /// Nobody is connected to yet.
    pub fn new(
        socket: PathBuf,
        obeyed: Obeyed,
        session: String,
        tool_event: Option<String>,
    ) -> Asking {
        let (socket, idle) = (Mutex::new(socket), Mutex::default());
        Asking {
            socket,
            obeyed,
            session,
            tool_event,
            idle,
            free: Condvar::new(),
        }
    }

    /// Connects to the host.
    ///
    /// # Errors
    /// Nobody answers there, or somebody who isn't obeyed.
    pub fn connect(&self) -> Result<Link> {
        let socket = self
            .socket
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        self.obeyed.connect(&socket)
    }

    /// The host is asked elsewhere from now on.
    pub fn move_to(&self, socket: PathBuf) {
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = socket;
    }

    /// Asks, and waits for as long as `is_awaited`: a person may be asked.
    pub fn ask_host(&self, start: &Start<'_>, is_awaited: impl Fn() -> bool) -> Verdict {
        let event = self.start_event(start);
        let kept = self.take_link();
        let was_kept = kept.is_some();
        let mut answer = self.ask_over(kept, &event, &is_awaited);
        // A connection that was kept may have ended with an earlier host.
        if was_kept && answer.is_err() && is_awaited() {
            answer = self.ask_over(None, &event, &is_awaited);
        }
        let (link, verdict) = match answer {
            Ok((link, reply)) => (Some(link), read_verdict(reply)),
            Err(_) => (None, Verdict::Deny(HOST_GONE.into())),
        };
        self.give_link(link);
        verdict
    }

    fn ask_over(
        &self,
        kept: Option<Link>,
        event: &Value,
        is_awaited: &impl Fn() -> bool,
    ) -> Result<(Link, std::result::Result<Value, String>)> {
        let mut link = kept.map_or_else(|| self.connect(), Ok)?;
        let id = link.send_request("hooks/dispatch", event.clone())?;
        let reply = link.await_reply(id, is_awaited)?;
        Ok((link, reply))
    }

    /// Waits for a place among the questions; gives the connection of an earlier one.
    fn take_link(&self) -> Option<Link> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while idle.1 >= MAX_LINKS {
            idle = self.free.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
        idle.1 += 1;
        idle.0.pop()
    }

    fn give_link(&self, link: Option<Link>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.0.extend(link);
        idle.1 -= 1;
        self.free.notify_one();
    }

    fn start_event(&self, start: &Start<'_>) -> Value {
        let words = |argv: &[Vec<u8>]| {
            argv.iter()
                .map(|it| String::from_utf8_lossy(it).into_owned())
                .collect::<Vec<_>>()
        };
        let parents: Vec<Value> = start
            .parents
            .iter()
            .map(|ancestor| {
                let mut parent = json!({ "pid": ancestor.pid, "argv": words(&ancestor.argv) });
                if ancestor.is_same_program {
                    parent["sameProgram"] = json!(true);
                }
                if let Some(file) = &ancestor.file {
                    parent["realPath"] = json!(file.to_string_lossy());
                }
                parent
            })
            .collect();
        let mut event = json!({
            "event": "PreExec",
            "session": self.session,
            "cwd": start.cwd.to_string_lossy(),
            "exec": {
                "argv": words(start.argv),
                "path": String::from_utf8_lossy(start.path),
                "realPath": start.real_path.to_string_lossy(),
                "pid": start.pid,
                "parents": parents,
            },
        });
        if let Some(tool_event) = &self.tool_event {
            event["exec"]["toolCall"] = json!(tool_event);
        }
        event
    }
}

/// A decision that this program doesn't know is a deny, and so is an error.
fn read_verdict(reply: std::result::Result<Value, String>) -> Verdict {
    match reply {
        Ok(verdict) if verdict["decision"] == "allow" => Verdict::Allow,
        Ok(verdict) => Verdict::Deny(
            verdict["reason"]
                .as_str()
                .unwrap_or("a rule forbids it")
                .to_owned(),
        ),
        Err(problem) => Verdict::Deny(format!("the rules can't be asked: {problem}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_allow_allows() {
        assert_eq!(
            read_verdict(Ok(json!({ "decision": "allow" }))),
            Verdict::Allow
        );
        for decision in ["deny", "ask", "defer", "new"] {
            let reply = json!({ "decision": decision, "reason": "no" });
            assert_eq!(
                read_verdict(Ok(reply)),
                Verdict::Deny("no".into()),
                "{decision}"
            );
        }
        assert_eq!(
            read_verdict(Ok(Value::Null)),
            Verdict::Deny("a rule forbids it".into())
        );
        assert_eq!(
            read_verdict(Err("x".into())),
            Verdict::Deny("the rules can't be asked: x".into())
        );
    }
}
