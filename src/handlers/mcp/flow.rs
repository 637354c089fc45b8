//! What an MCP server says unasked, and the end of one that floods: it takes time from all events.

use parking_lot::Mutex;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Instant;

/// The largest message of a server, in bytes.
pub(super) const MAX_MESSAGE: usize = 4 * 1024 * 1024;
/// What a server may say without being asked: lines or messages and bytes, at once and in each second. Each call
/// makes up for what it took.
const MAX_UNASKED: Volume = Volume { lines: 10_000, bytes: 8 * MAX_MESSAGE };
const UNASKED_A_SECOND: Volume = Volume { lines: 100, bytes: 1024 * 1024 };

/// So much of what a server says.
#[derive(Clone, Copy, Debug)]
struct Volume {
    lines: usize,
    bytes: usize,
}

/// What a server may still say unasked.
#[derive(Debug)]
pub(super) struct Flow {
    left: Mutex<(Volume, Instant)>,
    excess: OnceLock<String>,
}

impl Default for Flow {
    fn default() -> Flow {
        Flow { left: Mutex::new((MAX_UNASKED, Instant::now())), excess: OnceLock::new() }
    }
}

impl Flow {
    /// A call is made.
    pub(super) fn refill(&self) {
        *self.left.lock() = (MAX_UNASKED, Instant::now());
    }

    /// Whether the server may say this on a stream.
    pub(super) fn takes(&self, stream: &str, said: &[u8]) -> bool {
        let lines = memchr::memchr_iter(b'\n', said).count();
        self.takes_volume(stream, Volume { lines, bytes: said.len() })
    }

    fn takes_volume(&self, stream: &str, said: Volume) -> bool {
        let mut left = self.left.lock();
        let seconds = usize::try_from(left.1.elapsed().as_secs()).unwrap_or(usize::MAX);
        if seconds > 0 {
            let more =
                |left: usize, rate: usize, most: usize| left.saturating_add(rate.saturating_mul(seconds)).min(most);
            left.0.lines = more(left.0.lines, UNASKED_A_SECOND.lines, MAX_UNASKED.lines);
            left.0.bytes = more(left.0.bytes, UNASKED_A_SECOND.bytes, MAX_UNASKED.bytes);
            left.1 = Instant::now();
        }
        match (left.0.lines.checked_sub(said.lines), left.0.bytes.checked_sub(said.bytes)) {
            (Some(lines), Some(bytes)) => {
                left.0 = Volume { lines, bytes };
                true
            }
            (None, _) => self.exceeds(format!("it flooded {stream} with more than {} lines", MAX_UNASKED.lines)),
            (_, None) => self.exceeds(format!("it flooded {stream} with more than {} bytes", MAX_UNASKED.bytes)),
        }
    }

    fn exceeds(&self, why: String) -> bool {
        // The first excess is why it is ended.
        let _ = self.excess.set(why);
        false
    }

    /// What it did too much, in words that end a sentence.
    pub(super) fn excess(&self) -> Option<String> {
        self.excess.get().cloned()
    }
}

/// The messages of a server that is somewhere else.
pub(super) struct Messages<T> {
    pub(super) transport: T,
    pub(super) flow: Arc<Flow>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Messages<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.transport.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.receive().await?;
        self.flow.takes_volume("the connection", Volume { lines: 1, bytes: 0 }).then_some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.transport.close()
    }
}

/// A server's stdout. A line without an end must not fill the memory: it ends the stream.
pub(super) struct Lines<R> {
    pub(super) pipe: R,
    pub(super) line: usize,
    pub(super) flow: Arc<Flow>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.pipe).poll_read(cx, buffer))?;
        let new = &buffer.filled()[before..];
        self.line = match memchr::memrchr(b'\n', new) {
            Some(at) => new.len() - at - 1,
            None => self.line + new.len(),
        };
        if self.line > MAX_MESSAGE {
            self.flow.exceeds(format!("it sent a message of more than {MAX_MESSAGE} bytes"));
            return Poll::Ready(Err(std::io::Error::other("a message is too long")));
        }
        if !self.flow.takes("stdout", new) {
            return Poll::Ready(Err(std::io::Error::other("it says too much")));
        }
        Poll::Ready(Ok(()))
    }
}
