//! The page on which a person watches agents: a listener of this machine's own, for one browser of
//! one user.
//!
//! A port of this machine is open to every user of it and to every web page in a browser. So each
//! request names this address exactly, comes from this page, and shows a token that only this page
//! has (`sessions`); and none of a program that `hookwire run` holds is answered.

mod call;
mod covered;
mod feed;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(feature = "history")]
mod kept;
#[cfg(not(feature = "history"))]
#[path = "not_kept.rs"]
mod kept;
mod page;
mod problem;
mod saved;
mod sessions;
mod shown;
mod tried;
mod watch;

use crate::http::body::{self, Unread};
use crate::http::{Answers, Caller, bearer_token, not_allowed, only_header, reply};
use bytes::Bytes;
use call::Call;
use feed::Feed;
#[cfg(feature = "fleet")]
pub use fleet::Source as FleetSource;
use hookwire_base::support::json::parse;
use hookwire_base::transport::tcp_peer;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, ORIGIN};
use hyper::{Method, Request, Response, StatusCode};
use kept::Kept;
use serde::Deserialize;
use serde_json::json;
use sessions::Sessions;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// The longest body of a request, in bytes.
const MAX_BODY: usize = 1024 * 1024;
/// Calls that are answered at once; others wait.
const MAX_CALLS: usize = 8;

/// See the module.
pub struct Inspector {
    sessions: Sessions,
    feed: Arc<Feed>,
    watched: Watched,
    calls: Arc<Semaphore>,
    /// Where it listens: `127.0.0.1:PORT`.
    host: String,
    runtime: Handle,
}

/// What pages are told of, and who answers their calls.
#[derive(Clone)]
enum Watched {
    /// The running hosts of this user on this machine, and their history.
    Here(Arc<Kept>),
    #[cfg(feature = "fleet")]
    Fleet(Arc<fleet::Fleet>),
}

/// What is watched.
pub enum Source {
    /// The running hosts of this user on this machine.
    Here,
    /// All hosts of a fleet.
    #[cfg(feature = "fleet")]
    Fleet(Box<FleetSource>),
}

type Body = UnsyncBoxBody<Bytes, Infallible>;
type Refusal = (StatusCode, &'static str);

const NO_TOKEN: Refusal = (
    StatusCode::UNAUTHORIZED,
    "the token is missing or wrong; `hookwire inspect` makes a link",
);

/// Makes the links that open the page.
#[derive(Clone)]
pub struct Links(Arc<Inspector>);

impl Links {
    /// A new link to the page. It counts once, for a minute.
    ///
    /// # Errors
    /// The system gives no random bits.
    pub fn make_link(&self) -> io::Result<String> {
        Ok(format!(
            "http://{}/#start={}",
            self.0.host,
            self.0.sessions.make_start()?
        ))
    }
}

/// What is served.
pub struct Service(Arc<Inspector>);

impl Inspector {
    /// One that watches from now on, for a port on which nobody listens yet.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn start(port: u16, runtime: Handle, source: Source) -> io::Result<(Service, Links)> {
        let feed = Arc::new(Feed::default());
        let watched = match source {
            Source::Here => {
                let kept = Arc::new(Kept::start());
                watch::start_watching(&feed, &kept)?;
                Watched::Here(kept)
            }
            #[cfg(feature = "fleet")]
            Source::Fleet(source) => Watched::Fleet(fleet::Fleet::start(*source, &feed, &runtime)),
        };
        let calls = Arc::new(Semaphore::new(MAX_CALLS));
        let host = format!("127.0.0.1:{port}");
        let inspector = Arc::new(Inspector {
            sessions: Sessions::default(),
            feed,
            watched,
            calls,
            host,
            runtime,
        });
        Ok((Service(inspector.clone()), Links(inspector)))
    }

    /// Whether a request is for this address, and from this page or from no page.
    fn admit_request<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let headers = request.headers();
        // A request to a proxy names the host in its first line.
        if request.uri().authority().is_some() || only_header(headers, &HOST) != Some(&*self.host) {
            return Err((StatusCode::FORBIDDEN, "its Host is not this page's address"));
        }
        let own = format!("http://{}", self.host);
        let n_origins = headers.get_all(ORIGIN).iter().count();
        if n_origins > 0 && only_header(headers, &ORIGIN) != Some(&*own) {
            return Err((StatusCode::FORBIDDEN, "its Origin is not this page"));
        }
        if request.method() != Method::POST {
            return Ok(());
        }
        if n_origins == 0 {
            return Err((
                StatusCode::FORBIDDEN,
                "it has no Origin, and what changes something comes from this page",
            ));
        }
        let kind = only_header(headers, &CONTENT_TYPE)
            .and_then(|it| it.split(';').next())
            .map(str::trim);
        if kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
            Ok(())
        } else {
            Err((
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "its Content-Type is not application/json",
            ))
        }
    }

    async fn answer_request(
        &self,
        request: Request<Incoming>,
        caller: &Caller,
    ) -> Result<Response<Body>, Refusal> {
        self.admit_request(&request)?;
        let path = request.uri().path().to_string();
        let method = request.method().clone();
        let session = || {
            bearer_token(request.headers())
                .and_then(|it| self.sessions.find_session(it))
                .ok_or(NO_TOKEN)
        };
        match (&*path, method) {
            ("/api/session", Method::POST) => self.begin_session(request, caller).await,
            ("/api/call", Method::POST) => {
                session()?;
                self.admit_free(caller).await?;
                Ok(self.answer_call(request).await)
            }
            ("/api/events", Method::GET) => {
                let end = session()?;
                self.admit_free(caller).await?;
                let query = request.uri().query().unwrap_or_default();
                let after = query.strip_prefix("after=").map(str::parse).transpose();
                let after = after
                    .map_err(|_| (StatusCode::BAD_REQUEST, "after is the number of a message"))?;
                let head = reply::reply_with(
                    StatusCode::OK,
                    "",
                    &[(CONTENT_TYPE, "application/x-ndjson")],
                );
                Ok(head.map(|_| StreamBody::new(self.feed.read_from(after, end)).boxed_unsync()))
            }
            ("/api/session" | "/api/call", _) => Ok(whole_body(not_allowed("POST"))),
            (_, Method::GET) => {
                let file =
                    page::file_at(&path).ok_or((StatusCode::NOT_FOUND, "there is no such file"))?;
                self.admit_free(caller).await?;
                Ok(whole_body(file))
            }
            _ => Ok(whole_body(not_allowed("GET"))),
        }
    }

    async fn begin_session(
        &self,
        request: Request<Incoming>,
        caller: &Caller,
    ) -> Result<Response<Body>, Refusal> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Start {
            start: String,
        }
        let start = match read_body::<Start>(request).await {
            Err(refusal) => return Ok(whole_body(refusal)),
            Ok(Start { start }) => start,
        };
        if self.sessions.knows_start(&start) {
            self.admit_free(caller).await?;
        }
        Ok(whole_body(match self.sessions.exchange_start(&start) {
            Ok(token) => reply::json_reply(json!({ "token": token }).to_string()),
            Err(problem) => {
                tracing::warn!("No page was opened: {problem}.");
                reply::refuse_request(StatusCode::UNAUTHORIZED, &problem.to_string())
            }
        }))
    }

    async fn answer_call(&self, request: Request<Incoming>) -> Response<Body> {
        let call = match read_body::<Call>(request).await {
            Ok(call) => call,
            Err(refusal) => return whole_body(refusal),
        };
        let watched = self.watched.clone();
        let permit = self.calls.clone().acquire_owned().await;
        let answer = self.runtime.spawn_blocking(move || {
            let _permit = permit;
            let answer = match &watched {
                Watched::Here(kept) => call.answer(kept),
                #[cfg(feature = "fleet")]
                Watched::Fleet(fleet) => fleet.answer_call(&call),
            };
            match answer {
                Ok(result) => json!({ "result": result }),
                Err(problem) => json!({ "error": problem.to_value() }),
            }
        });
        whole_body(match answer.await {
            Ok(answer) => reply::json_reply(answer.to_string()),
            Err(_) => {
                reply::refuse_request(StatusCode::INTERNAL_SERVER_ERROR, "the call failed within")
            }
        })
    }

    /// Refuses who is held. It is looked up for each request, because a connection can be handed
    /// on; and behind the token, because it takes long and anybody may send requests.
    async fn admit_free(&self, caller: &Caller) -> Result<(), Refusal> {
        let (theirs, ours) = (caller.theirs, caller.ours);
        let is_held = self
            .runtime
            .spawn_blocking(move || tcp_peer::is_held(theirs, ours))
            .await;
        match is_held.unwrap_or(true) {
            true => Err((
                StatusCode::FORBIDDEN,
                "who asks is, or may be, held by `hookwire run`",
            )),
            false => Ok(()),
        }
    }
}

impl Answers for Service {
    type Body = Body;
    const MOST: usize = 64;
    const STRANGERS: Option<usize> = Some(32);

    fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    async fn answer(&self, request: Request<Incoming>, caller: Arc<Caller>) -> Response<Body> {
        if bearer_token(request.headers())
            .is_some_and(|it| self.0.sessions.find_session(it).is_some())
        {
            caller.mark_known();
        }
        let answer = self.0.answer_request(request, &caller).await;
        answer.unwrap_or_else(|(status, problem)| {
            // What it sent may hold secrets.
            tracing::warn!("A request to the page was refused: {problem}.");
            whole_body(reply::refuse_request(status, problem))
        })
    }
}

fn whole_body(reply: reply::Reply) -> Response<Body> {
    reply.map(BodyExt::boxed_unsync)
}

/// The body of a request.
async fn read_body<T: for<'de> Deserialize<'de>>(
    request: Request<Incoming>,
) -> Result<T, reply::Reply> {
    let bytes = body::read_body(request.into_body(), MAX_BODY)
        .await
        .map_err(|unread| {
            let problem = match unread {
                Unread::TooLong(max) => format!("the request is longer than {max} bytes"),
                _ => unread.to_string(),
            };
            reply::refuse_request(unread.status(), &problem)
        })?;
    let bad = |problem: String| reply::refuse_request(StatusCode::BAD_REQUEST, &problem);
    let text = std::str::from_utf8(&bytes).map_err(|error| bad(error.to_string()))?;
    let value = parse(text).map_err(|error| bad(error.to_string()))?;
    serde_json::from_value(value).map_err(|error| bad(error.to_string()))
}
