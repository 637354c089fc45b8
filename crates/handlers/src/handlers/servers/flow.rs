//! What an MCP server says goes through its [`Flow`].

use super::super::flow::Flow;
use futures_util::{FutureExt, TryFutureExt};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::{ChildStdin, ChildStdout};

/// The largest message of a server, in bytes.
pub(super) const MAX_MESSAGE: usize = 4 * 1024 * 1024;

/// The way to a server. One type for both ways, so that rmcp's conversation is compiled once.
pub(super) enum Wire {
    Pipes(AsyncRwTransport<RoleClient, Lines, ChildStdin>),
    /// To a server that is somewhere else.
    Http(StreamableHttpClientTransport<reqwest::Client>, Arc<Flow>),
}

/// Whatever either way says.
#[derive(Debug)]
pub(super) struct WireError(Box<dyn Error + Send + Sync>);

impl Transport<RoleClient> for Wire {
    type Error = WireError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), WireError>> + Send + 'static {
        match self {
            Wire::Pipes(pipes) => pipes.send(item).map_err(WireError::new).boxed(),
            Wire::Http(http, _) => http.send(item).map_err(WireError::new).boxed(),
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        match self {
            Wire::Pipes(pipes) => pipes.receive().await,
            Wire::Http(http, flow) => {
                let message = http.receive().await?;
                flow.takes_message("the connection").then_some(message)
            }
        }
    }

    async fn close(&mut self) -> Result<(), WireError> {
        match self {
            Wire::Pipes(pipes) => pipes.close().await.map_err(WireError::new),
            Wire::Http(http, _) => http.close().await.map_err(WireError::new),
        }
    }
}

impl WireError {
    fn new(error: impl Error + Send + Sync + 'static) -> WireError {
        WireError(Box::new(error))
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for WireError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

/// A server's stdout. A line without an end must not fill the memory: it ends the stream.
pub(super) struct Lines {
    pub(super) pipe: ChildStdout,
    pub(super) line: usize,
    pub(super) flow: Arc<Flow>,
}

impl AsyncRead for Lines {
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
            self.flow.exceeds(format!(
                "it sent a message of more than {MAX_MESSAGE} bytes"
            ));
            return Poll::Ready(Err(std::io::Error::other("a message is too long")));
        }
        if !self.flow.takes("stdout", new) {
            return Poll::Ready(Err(std::io::Error::other("it says too much")));
        }
        Poll::Ready(Ok(()))
    }
}
