//! What a hook's program or an MCP server writes for people: bounded, without secrets, into the
//! host's log. The last line is kept, because it often says why the program ended.

use super::environment::Secrets;
use super::flow::Flow;
use hookwire_base::support::visible::cut;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;
use tracing::field::display;

/// How much of a line is kept for the log; what is beyond what is shown lets secrets be found
/// whole.
const MAX_LOGGED: usize = 64 * 1024;
/// Lines that a program may log in a second.
const MAX_LINES: u32 = 100;

#[derive(Debug)]
pub(super) struct OutputLog {
    /// The hook that the program was started for (others may share it), or the server.
    pub(super) name: String,
    is_server: bool,
    pub(super) secrets: Secrets,
    /// What the program may still write; whoever calls it makes up for what that took.
    pub(super) flow: Arc<Flow>,
    last_line: Mutex<String>,
}

impl OutputLog {
    pub(super) fn of_hook(name: &str, secrets: Secrets) -> OutputLog {
        OutputLog {
            name: name.into(),
            is_server: false,
            secrets,
            flow: Arc::default(),
            last_line: Mutex::default(),
        }
    }

    #[cfg(feature = "mcp")]
    pub(super) fn of_server(name: &str, secrets: Secrets) -> OutputLog {
        OutputLog {
            is_server: true,
            ..OutputLog::of_hook(name, secrets)
        }
    }

    /// Logs what comes through a pipe, until it is closed.
    ///
    /// # Errors
    /// The program writes too much, and is to be ended.
    pub(super) async fn read(&self, mut pipe: impl AsyncRead + Unpin) -> Result<(), String> {
        let (mut chunk, mut line) = (Vec::with_capacity(8 * 1024), Vec::new());
        let mut limit = LineLimit {
            since: Instant::now(),
            n_lines: 0,
        };
        while read_some(&mut pipe, &mut chunk).await {
            if !self.flow.takes("stderr", &chunk) {
                return Err(self.flow.excess().unwrap_or_default());
            }
            for (at, part) in chunk.split(|byte| *byte == b'\n').enumerate() {
                if at > 0 {
                    self.log_line(&line, &mut limit);
                    line.clear();
                }
                let room = MAX_LOGGED.saturating_sub(line.len());
                line.extend_from_slice(&part[..part.len().min(room)]);
            }
        }
        self.log_line(&line, &mut limit);
        Ok(())
    }

    fn log_line(&self, line: &[u8], limit: &mut LineLimit) {
        let line = self.secrets.mask(String::from_utf8_lossy(line).trim_end());
        if line.is_empty() {
            return;
        }
        let line = excerpt(&line, 2000);
        *self.last_line.lock() = excerpt(&line, 300);
        let name = Some(display(&self.name));
        let (hook, server) = if self.is_server {
            (None, name)
        } else {
            (name, None)
        };
        match limit.count(Instant::now()) {
            Logged::Line => tracing::info!(hook, server, "{line}"),
            Logged::Last => {
                tracing::warn!(
                    hook,
                    server,
                    "A hook's program writes too much; the rest of this second is left out."
                )
            }
            Logged::Nothing => {}
        }
    }

    /// The end of a message about a program's end: its last line, if it wrote one.
    pub(super) fn last_words(&self) -> String {
        self.last_line()
            .map_or_else(String::new, |line| format!("; its last words: {line}"))
    }

    /// The last line that isn't empty.
    pub(super) fn last_line(&self) -> Option<String> {
        Some(self.last_line.lock().clone()).filter(|line| !line.is_empty())
    }

    /// The beginning of a text without secrets.
    pub(super) fn masked(&self, text: &str, most: usize) -> String {
        excerpt(&self.secrets.mask(text), most)
    }
}

/// Bounds a program's share of the log.
struct LineLimit {
    since: Instant,
    n_lines: u32,
}

enum Logged {
    Line,
    Last,
    Nothing,
}

impl LineLimit {
    fn count(&mut self, now: Instant) -> Logged {
        if now - self.since >= Duration::from_secs(1) {
            *self = LineLimit {
                since: now,
                n_lines: 0,
            };
        }
        self.n_lines = self.n_lines.saturating_add(1);
        match self.n_lines {
            ..=MAX_LINES => Logged::Line,
            n if n == MAX_LINES + 1 => Logged::Last,
            _ => Logged::Nothing,
        }
    }
}

async fn read_some(pipe: &mut (impl AsyncRead + Unpin), into: &mut Vec<u8>) -> bool {
    into.clear();
    matches!(pipe.read_buf(into).await, Ok(n) if n > 0)
}

/// The beginning, without what would move a terminal's cursor.
fn excerpt(text: &str, most: usize) -> String {
    cut(text, most).replace(
        |letter: char| letter.is_control() && letter != '\t',
        "\u{fffd}",
    )
}
