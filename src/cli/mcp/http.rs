//! A server at an address: what the gateway would write to a program goes out by streamable HTTP.

use hookwire_gateway::lines::{Line, Lines};
use hookwire_gateway::message::{Id, Kind, Message};
use hookwire_handlers::services::mcp_http::{Came, McpHttp};
use serde_json::{Value, json};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// How often the rest of a stream is asked for that has ended too early.
const RESUMES: u32 = 5;
/// How long is waited before that, unless the server says it.
const RETRY: Duration = Duration::from_secs(1);
/// The longest that a server may have a client wait.
const MOST_RETRY: Duration = Duration::from_secs(30);
/// Messages that wait for their answers at once; the next one isn't read.
const MOST_POSTS: usize = 256;

/// Carries lines between a stream and a server, until the stream ends.
pub(super) fn carry(
    server: McpHttp,
    stream: UnixStream,
    max_message: usize,
    done: impl FnOnce() + Send + 'static,
) -> std::io::Result<()> {
    stream.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name("http".into())
        .spawn(move || {
            runtime.block_on(async {
                if let Ok(stream) = tokio::net::UnixStream::from_std(stream) {
                    let (reading, writing) = stream.into_split();
                    let (lines, written) = unbounded_channel();
                    let writer = tokio::spawn(write_lines(writing, written));
                    let far = Arc::new(Far {
                        server,
                        lines,
                        max_message,
                    });
                    far.clone().read_lines(reading).await;
                    far.server.end().await;
                    drop(far);
                    let _ = writer.await;
                }
            });
            done();
        })
        .map(drop)
}

async fn write_lines(
    mut stream: OwnedWriteHalf,
    mut lines: tokio::sync::mpsc::UnboundedReceiver<Vec<u8>>,
) {
    while let Some(mut line) = lines.recv().await {
        line.push(b'\n');
        if stream.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// The server, and the way back.
struct Far {
    server: McpHttp,
    lines: UnboundedSender<Vec<u8>>,
    max_message: usize,
}

impl Far {
    async fn read_lines(self: Arc<Self>, mut stream: OwnedReadHalf) {
        let (mut lines, mut bytes) = (Lines::new(self.max_message), vec![0; 64 * 1024]);
        let mut posts = JoinSet::new();
        let mut listening = None;
        while let Ok(read @ 1..) = stream.read(&mut bytes).await {
            let mut taken = Vec::new();
            lines.push(bytes.get(..read).unwrap_or_default(), |line| {
                taken.push(line)
            });
            for line in taken {
                // The gateway writes no line that is too long, and nothing but text.
                let Line::Whole(line) = line else { continue };
                let Ok(line) = String::from_utf8(line) else {
                    continue;
                };
                while posts.len() >= MOST_POSTS {
                    posts.join_next().await;
                }
                let (id, method) = match Message::read(&line).map(|message| message.kind) {
                    Ok(Kind::Request { id, method }) => (Some(id), method),
                    Ok(Kind::Notification { method }) => (None, method),
                    Ok(Kind::Response { .. }) | Err(_) => (None, String::new()),
                };
                let far = self.clone();
                if id.is_some() {
                    posts.spawn(async move { far.post(line, id).await });
                } else {
                    // What follows a notification comes after it.
                    self.post(line, None).await;
                }
                if method == "notifications/initialized" && listening.is_none() {
                    listening = Some(tokio::spawn(self.clone().listen()));
                }
            }
        }
        // Answers that are on their way are waited for, as a program would go on to write them.
        while posts.join_next().await.is_some() {}
        if let Some(listening) = listening {
            listening.abort();
            let _ = listening.await;
        }
    }

    /// Sends a message; a request that gets no answer gets an error.
    async fn post(&self, line: String, id: Option<Id>) {
        let mut is_answered = id.is_none();
        let mut take = |message: Vec<u8>| {
            is_answered |= self.is_answer(&message, id.as_ref());
            let _ = self.lines.send(message);
        };
        let mut sent = self.server.post(line, self.max_message, &mut take).await;
        for _ in 0..RESUMES {
            let Ok(Came {
                last_event: Some(event),
                retry,
            }) = &sent
            else {
                break;
            };
            if is_answered {
                break;
            }
            tokio::time::sleep(retry.unwrap_or(RETRY).min(MOST_RETRY)).await;
            let mut take = |message: Vec<u8>| {
                is_answered |= self.is_answer(&message, id.as_ref());
                let _ = self.lines.send(message);
            };
            let resumed = self
                .server
                .listen(Some(event), self.max_message, &mut take)
                .await;
            sent = match resumed {
                Ok(Some(came)) => Ok(came),
                Ok(None) => break,
                Err(problem) => Err(problem),
            };
        }
        let Some(id) = id.filter(|_| !is_answered) else {
            if let Err(problem) = sent {
                tracing::warn!(problem, "A message didn't reach the MCP server.");
            }
            return;
        };
        let problem = match sent {
            Ok(_) => "the MCP server's stream ended without an answer".to_string(),
            Err(problem) => format!("failed to {problem}"),
        };
        let error = json!({ "code": -32000, "message": problem });
        let answer = json!({ "jsonrpc": "2.0", "id": id.to_json(), "error": error });
        let _ = self.lines.send(answer.to_string().into_bytes());
    }

    /// Whether a message answers a request; what its answer says of the protocol is kept.
    fn is_answer(&self, message: &[u8], id: Option<&Id>) -> bool {
        let read = std::str::from_utf8(message)
            .ok()
            .and_then(|text| Message::read(text).ok());
        let Some(message) = read else { return false };
        let Kind::Response { id: answered, .. } = &message.kind else {
            return false;
        };
        if let Some(version) = message
            .get("/result/protocolVersion")
            .and_then(Value::as_str)
        {
            self.server.set_version(version);
        }
        answered.as_ref() == id
    }

    /// Listens for what the server says unasked, for as long as it has something to say.
    async fn listen(self: Arc<Self>) {
        let mut last_event: Option<String> = None;
        let mut failed = 0;
        loop {
            let take = |message| drop(self.lines.send(message));
            let came = self
                .server
                .listen(last_event.as_deref(), self.max_message, take)
                .await;
            let wait = match came {
                Ok(None) => return,
                Ok(Some(came)) => {
                    failed = 0;
                    last_event = came.last_event.or(last_event);
                    came.retry.unwrap_or(RETRY)
                }
                Err(problem) => {
                    failed += 1;
                    tracing::debug!(problem, "The stream of the MCP server ended.");
                    RETRY * 2_u32.pow(failed.min(5))
                }
            };
            tokio::time::sleep(wait.clamp(RETRY, MOST_RETRY)).await;
        }
    }
}
