//! The host over loopback HTTP: agents' http hooks, single JSON-RPC messages, and WebSockets as
//! sessions.
//!
//! Every request is checked before anything of its body is read: it has the token, names this host,
//! and no web page has sent it. What comes in is bounded, in size, number and time.

mod access;
pub(crate) mod body;
mod hook;
mod listen;
mod owner;
pub(crate) mod reply;
mod websocket;

pub use access::{Origin, Token};
pub(crate) use access::{bearer_token, only_header};
pub use listen::{Address, Listener};
pub(crate) use listen::{Answers, Caller};

use crate::rpc::session::Side;
use crate::rpc::single;
use access::{Access, Refused};
use bytes::Bytes;
use hookwire_base::transport::guests::MAX_AGENTS;
use hookwire_dialects::asked;
use hookwire_engine::host::Host;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::ALLOW;
use hyper::{Method, Request, StatusCode};
use reply::Reply;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Where agents' http hooks ask; behind it comes the agent's name.
const HOOK: &str = "/hook/";
/// Where JSON-RPC messages go, and where a WebSocket is opened.
const RPC: &str = "/rpc";

/// What is served.
pub struct Service {
    /// The host.
    pub host: Arc<Host>,
    /// Where requests are answered: a runtime with several threads.
    pub runtime: Handle,
    /// The longest message, in bytes.
    pub max_message: usize,
    /// What every request has to show.
    pub token: Token,
    /// Web pages that may ask, though the browser says that it is they.
    pub origins: Vec<Origin>,
    /// Serves a session on a socket, as long as it lasts.
    pub session: Arc<dyn Fn(UnixStream) -> std::io::Result<()> + Send + Sync>,
}

impl Answers for Service {
    type Body = Full<Bytes>;
    const MOST: usize = MAX_AGENTS;

    fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Answers a request. A session keeps the connection's place for as long as it lasts.
    async fn answer(&self, request: Request<Incoming>, caller: Arc<Caller>) -> Reply {
        let (method, path) = (request.method().clone(), request.uri().path().to_string());
        let access = Access {
            port: caller.ours.port(),
        };
        if let Err(refused) = access.check_head(&request, &self.token, &self.origins) {
            // What it sent may hold secrets.
            tracing::warn!("A request over HTTP was refused: {refused}.");
            let status = match refused {
                Refused::Token => StatusCode::UNAUTHORIZED,
                Refused::Host | Refused::Origin => StatusCode::FORBIDDEN,
            };
            return reply::refuse_request(status, &refused.to_string());
        }
        match path.strip_prefix(HOOK) {
            Some(agent) if method == Method::POST => match asked::agent_dialect(agent) {
                Ok(agent) => hook::answer_event(self, agent, request).await,
                Err(known) => {
                    reply::refuse_request(StatusCode::NOT_FOUND, &format!("the agent is {known}"))
                }
            },
            Some(_) => not_allowed("POST"),
            None if path == RPC && method == Method::POST => self.answer_rpc(request).await,
            None if path == RPC && method == Method::GET => {
                websocket::open_websocket(self, request, caller)
            }
            None if path == RPC => not_allowed("GET, POST"),
            None => reply::refuse_request(StatusCode::NOT_FOUND, "there are /hook/AGENT and /rpc"),
        }
    }
}

impl Service {
    async fn answer_rpc(&self, request: Request<Incoming>) -> Reply {
        match body::read_body(request.into_body(), self.max_message).await {
            Ok(message) => {
                match single::answer_message(&self.host, &self.runtime, Side::Caller, &message)
                    .await
                {
                    replies if replies.is_empty() => reply::empty_reply(),
                    replies => reply::json_reply(replies),
                }
            }
            Err(unread) => reply::refuse_request(unread.status(), &unread.to_string()),
        }
    }
}

/// The route has other methods.
pub(crate) fn not_allowed(methods: &'static str) -> Reply {
    let mut refusal = reply::refuse_request(StatusCode::METHOD_NOT_ALLOWED, methods);
    refusal
        .headers_mut()
        .insert(ALLOW, hyper::header::HeaderValue::from_static(methods));
    refusal
}
