//! What an MCP server says goes through its [`Flow`].

use super::super::flow::Flow;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// The largest message of a server, in bytes.
pub(super) const MAX_MESSAGE: usize = 4 * 1024 * 1024;
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
        self.flow.takes_message("the connection").then_some(message)
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
