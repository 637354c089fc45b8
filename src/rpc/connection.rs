//! One connection: messages in, replies out. Exactly one reply per request, whatever happens.
//!
//! [`Connection::receive`] is called by the transport's reader, message by message. What can be
//! answered at once is answered into the reader's buffer; what has to wait goes on as a task.

use super::methods::{METHODS, router};
use super::protocol::{CancelParams, SetTraceParams, Trace, code};
use super::session::{Session, lock};
use crate::definitions::node::closest;
use crate::transport::framing::Bad;
use futures_util::FutureExt;
use jsonrpsee::core::server::{MethodCallback, MethodResponse, Methods};
use jsonrpsee_types::{ErrorObjectOwned, Id, Params};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Requests that may wait at once.
const MAX_IN_FLIGHT: usize = 16 * 1024;
/// Messages in a batch.
const MAX_BATCH: usize = 1000;
const MAX_RESPONSE: usize = u32::MAX as usize;

/// See the module.
pub struct Connection {
    session: Arc<Session>,
    methods: Methods,
    in_flight: Arc<InFlight>,
}

/// What the reader is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read on.
    Read,
    /// The client said `exit`.
    Exit,
}

/// Requests that wait, by their id as JSON.
#[derive(Default)]
struct InFlight {
    requests: Mutex<HashMap<String, CancellationToken>>,
    ended: Condvar,
}

/// Where a reply goes.
#[derive(Clone)]
enum ReplyTo {
    Client,
    Batch(Arc<Batch>),
}

/// Replies of a batch, until the last is there.
struct Batch {
    replies: Mutex<Vec<String>>,
    open: AtomicUsize,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "raw")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "method")]
    method: Option<Method<'a>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "raw")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Keeps `null` apart from absent.
fn raw<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// A method name; anything else is an invalid request, not a malformed one.
enum Method<'a> {
    Name(Cow<'a, str>),
    NotText,
}

fn method<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Method<'de>>, D::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(Some(match serde_json::from_str::<Text<'_>>(raw.get()) {
        Ok(Text(name)) => Method::Name(name),
        Err(_) => Method::NotText,
    }))
}

impl Connection {
    /// A connection of a session.
    ///
    /// # Panics
    /// The method table has a name twice: a bug that every test would meet.
    pub fn new(session: Arc<Session>) -> Connection {
        #[expect(clippy::expect_used, reason = "the table is static")]
        let methods = router(session.clone()).expect("the method table is sound").into();
        Connection { session, methods, in_flight: Arc::default() }
    }

    /// The session.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Takes one message in. Replies that are ready are framed into `out`.
    pub fn receive(&self, message: &[u8], out: &mut Vec<u8>) -> Next {
        let Ok(text) = std::str::from_utf8(message) else {
            self.refuse(None, -32700, "parse error: a message is UTF-8".into(), &ReplyTo::Client, out);
            return Next::Read;
        };
        if text.trim_start().starts_with('[') {
            self.receive_batch(text, out)
        } else {
            self.receive_one(text, &ReplyTo::Client, out)
        }
    }

    /// Answers bytes that are no message.
    pub fn receive_bad(&self, bad: &Bad, out: &mut Vec<u8>) {
        let message = format!("invalid request: {}", bad.problem);
        self.refuse(bad.id.as_deref(), -32600, message, &ReplyTo::Client, out);
    }

    fn receive_batch(&self, text: &str, out: &mut Vec<u8>) -> Next {
        let refuse = |code, message, out: &mut _| self.refuse(None, code, message, &ReplyTo::Client, out);
        let messages: Vec<&RawValue> = match serde_json::from_str(text) {
            Ok(messages) => messages,
            Err(error) => {
                refuse(-32700, format!("parse error: {error}"), out);
                return Next::Read;
            }
        };
        if messages.is_empty() || messages.len() > MAX_BATCH {
            refuse(
                -32600,
                format!("invalid request: a batch has 1 to {MAX_BATCH} messages, found {}", messages.len()),
                out,
            );
            return Next::Read;
        }
        // One more than there are messages, so that the batch isn't sent before the last was read.
        let batch = Arc::new(Batch { replies: Mutex::default(), open: AtomicUsize::new(messages.len() + 1) });
        let to = ReplyTo::Batch(batch);
        let mut next = Next::Read;
        for message in messages {
            if self.receive_one(message.get(), &to, out) == Next::Exit {
                next = Next::Exit;
            }
        }
        self.deliver(None, &to, Some(out));
        next
    }

    fn receive_one(&self, text: &str, to: &ReplyTo, out: &mut Vec<u8>) -> Next {
        let envelope: Envelope<'_> = match serde_json::from_str(text) {
            Ok(envelope) => envelope,
            Err(error) if error.is_data() => {
                self.refuse(None, -32600, format!("invalid request: {error}"), to, out);
                return Next::Read;
            }
            Err(error) => {
                self.refuse(None, -32700, format!("parse error: {error}"), to, out);
                return Next::Read;
            }
        };
        let id = envelope.id.map(RawValue::get);
        match (envelope.method, id) {
            (Some(Method::NotText), id) => {
                self.refuse(
                    id.filter(|id| parse_id(id).is_some()),
                    -32600,
                    "invalid request: `method` is not a string".into(),
                    to,
                    out,
                );
            }
            (Some(Method::Name(name)), None) => {
                let next = self.notification(&name, envelope.params);
                self.deliver(None, to, Some(out));
                return next;
            }
            (Some(Method::Name(name)), Some(id)) => self.request(id, &name, envelope.params, to, out),
            (None, id) if envelope.result.is_some() || envelope.error.is_some() => {
                self.reply(id.unwrap_or("null"), envelope.result, envelope.error);
                self.deliver(None, to, Some(out));
            }
            (None, id) => {
                self.refuse(
                    id.filter(|id| parse_id(id).is_some()),
                    -32600,
                    "invalid request: `method` is missing".into(),
                    to,
                    out,
                );
            }
        }
        Next::Read
    }

    fn reply(&self, id: &str, result: Option<&RawValue>, error: Option<&RawValue>) {
        let reply = match (result, error) {
            (_, Some(error)) => Err(error_text(error)),
            (Some(result), None) => {
                crate::json::parse(result.get()).map_err(|error| format!("unreadable reply: {error}"))
            }
            (None, None) => return,
        };
        self.session.reply(id, reply);
    }

    fn notification(&self, name: &str, params: Option<&RawValue>) -> Next {
        self.trace(name, None);
        let params_text = params.map_or("null", RawValue::get);
        match name {
            "exit" => return Next::Exit,
            "$/cancelRequest" => {
                if let Ok(params) = serde_json::from_str::<CancelParams>(params_text) {
                    self.in_flight.cancel(&params.id.to_string());
                }
            }
            "$/setTrace" => {
                if let Ok(params) = serde_json::from_str::<SetTraceParams>(params_text) {
                    self.session.set_trace(params.value);
                }
            }
            _ => {
                // A request nobody waits for: an event that is only told.
                if let Some(callback) = self.methods.method(name)
                    && !self.session.is_shut_down()
                    && let Some(work) = self.call(callback, Id::Null, params)
                {
                    match work {
                        Work::Done(_) => {}
                        Work::Waits(future) => {
                            let hurry = self.session.hurry.clone();
                            let in_flight = self.in_flight.clone();
                            let key = format!("notification {:p}", &*future);
                            in_flight.begin(key.clone(), hurry);
                            self.session.runtime.spawn(async move {
                                let _ = AssertUnwindSafe(future).catch_unwind().await;
                                in_flight.end(&key);
                            });
                        }
                    }
                }
            }
        }
        Next::Read
    }

    fn request(&self, id: &str, name: &str, params: Option<&RawValue>, to: &ReplyTo, out: &mut Vec<u8>) {
        let started = Instant::now();
        self.trace(name, Some(id));
        let Some(parsed) = parse_id(id) else {
            let message = "invalid request: `id` is a string or a whole number that is not negative".to_string();
            let echo = id.parse::<f64>().is_ok().then_some(id);
            return self.refuse(echo, -32600, message, to, out);
        };
        if self.session.is_shut_down() {
            return self.refuse(Some(id), -32600, "invalid request: the host is shutting down".into(), to, out);
        }
        let Some(callback) = self.methods.method(name) else {
            let nearest =
                closest(name, METHODS).map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
            return self.refuse(Some(id), -32601, format!("method not found: `{name}`{nearest}"), to, out);
        };
        match self.in_flight.admits(id) {
            Admission::Yes => {}
            Admission::Duplicate => {
                // The id belongs to the request that is in flight: a reply under it would be taken for its.
                let message = format!("invalid request: id {id} is in flight; the second request was not carried out");
                return self.refuse(None, -32600, message, to, out);
            }
            Admission::Overloaded => {
                return self.refuse(
                    Some(id),
                    code::OVERLOADED,
                    format!("overloaded: {MAX_IN_FLIGHT} requests are in flight"),
                    to,
                    out,
                );
            }
        }
        match self.call(callback, parsed.into_owned(), params) {
            None => self.refuse(
                Some(id),
                -32603,
                "internal error: the method panicked; this is a bug in hookwire".into(),
                to,
                out,
            ),
            Some(Work::Done(response)) => {
                self.trace_done(name, id, started);
                self.deliver(Some(response.as_ref()), to, Some(out));
            }
            Some(Work::Waits(future)) => self.wait(id, name, future, to, started),
        }
    }

    /// Lets a request that can't be answered at once go on as a task.
    fn wait(&self, id: &str, name: &str, future: Pending, to: &ReplyTo, started: Instant) {
        let cancelled = CancellationToken::new();
        self.in_flight.begin(id.to_string(), cancelled.clone());
        let (in_flight, connection, to) = (self.in_flight.clone(), self.clone_for_task(), to.clone());
        let (id, name) = (id.to_string(), name.to_string());
        self.session.runtime.spawn(async move {
            let response = tokio::select! {
                biased;
                () = cancelled.cancelled() => error(Some(&id), code::CANCELLED, "cancelled"),
                result = AssertUnwindSafe(future).catch_unwind() => match result {
                    Ok(response) => response.as_ref().to_string(),
                    Err(_) => error(Some(&id), -32603, "internal error: the method panicked; this is a bug in hookwire"),
                },
            };
            connection.trace_done(&name, &id, started);
            // Ended before the reply is sent: whoever has the reply may use the id again.
            let last = in_flight.remove(&id);
            connection.deliver(Some(&response), &to, None);
            drop(last);
            in_flight.ended.notify_all();
        });
    }

    /// Calls a method on this thread up to where it would wait. `None`: it panicked.
    fn call(&self, callback: &MethodCallback, id: Id<'static>, params: Option<&RawValue>) -> Option<Work> {
        // Tasks and timers that a method starts belong to the runtime.
        let _guard = self.session.runtime.enter();
        let text = params.map(RawValue::get);
        let extensions = jsonrpsee::Extensions::new();
        let called = catch_unwind(AssertUnwindSafe(|| {
            fail::fail_point!("method");
            match callback {
                MethodCallback::Sync(method) => Work::Done(method(id, Params::new(text), MAX_RESPONSE, extensions)),
                MethodCallback::Async(method) => {
                    let params = Params::new(text).into_owned();
                    let mut future = method(id, params, jsonrpsee::ConnectionId(0), MAX_RESPONSE, extensions);
                    match Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
                        Poll::Ready(response) => Work::Done(response),
                        Poll::Pending => Work::Waits(future),
                    }
                }
                MethodCallback::Subscription(_) | MethodCallback::Unsubscription(_) => Work::Done(
                    MethodResponse::error(id, ErrorObjectOwned::owned(-32601, "no subscriptions", None::<()>)),
                ),
            }
        }));
        called
            .map_err(|panic| {
                tracing::error!(
                    panic = crate::engine::panic_text(&*panic),
                    "A method panicked; this is a bug in hookwire."
                )
            })
            .ok()
    }

    fn refuse(&self, id: Option<&str>, code: i32, message: String, to: &ReplyTo, out: &mut Vec<u8>) {
        tracing::debug!(id, code, message, "A message was refused.");
        self.deliver(Some(&error(id, code, &message)), to, Some(out));
    }

    /// Sends a reply, or keeps it until its batch is complete. `None` is no reply: a notification.
    fn deliver(&self, reply: Option<&str>, to: &ReplyTo, out: Option<&mut Vec<u8>>) {
        let whole = match to {
            ReplyTo::Client => reply.map(Cow::Borrowed),
            ReplyTo::Batch(batch) => {
                let mut replies = lock(&batch.replies);
                replies.extend(reply.map(str::to_string));
                let last = batch.open.fetch_sub(1, Ordering::AcqRel) == 1;
                (last && !replies.is_empty()).then(|| Cow::Owned(format!("[{}]", replies.join(","))))
            }
        };
        match (whole, out) {
            (Some(whole), Some(out)) => self.session.outbox.frame(whole.as_bytes(), out),
            (Some(whole), None) => self.session.outbox.send(whole.as_bytes()),
            (None, _) => {}
        }
    }

    fn clone_for_task(&self) -> Connection {
        Connection { session: self.session.clone(), methods: Methods::new(), in_flight: self.in_flight.clone() }
    }

    fn trace(&self, name: &str, id: Option<&str>) {
        if self.session.trace() != Trace::Off {
            tracing::info!(method = name, id, "Message received.");
        }
    }

    fn trace_done(&self, name: &str, id: &str, started: Instant) {
        if self.session.trace() == Trace::Verbose {
            tracing::info!(method = name, id, micros = started.elapsed().as_micros(), "Request answered.");
        }
    }

    /// The input has ended: what is in flight gets `hooks` to finish by itself, then takes its
    /// failure direction; afterwards what still waits is cancelled.
    pub fn drain(&self, hooks: Duration, after: Duration) {
        if !self.in_flight.wait_until_idle(hooks) {
            self.session.hurry.cancel();
            if !self.in_flight.wait_until_idle(after) {
                self.in_flight.cancel_all();
                self.in_flight.wait_until_idle(after);
            }
        }
        self.session.close();
    }

    /// The client is gone: hooks and callbacks are cancelled.
    pub fn abandon(&self) {
        self.session.hurry.cancel();
        self.in_flight.cancel_all();
        self.session.close();
    }
}

type Pending = Pin<Box<dyn Future<Output = MethodResponse> + Send>>;

enum Work {
    Done(MethodResponse),
    Waits(Pending),
}

enum Admission {
    Yes,
    Duplicate,
    Overloaded,
}

impl InFlight {
    fn admits(&self, id: &str) -> Admission {
        let requests = lock(&self.requests);
        if requests.contains_key(id) {
            Admission::Duplicate
        } else if requests.len() >= MAX_IN_FLIGHT {
            Admission::Overloaded
        } else {
            Admission::Yes
        }
    }

    fn begin(&self, id: String, token: CancellationToken) {
        lock(&self.requests).insert(id, token);
    }

    fn remove(&self, id: &str) -> Option<CancellationToken> {
        lock(&self.requests).remove(id)
    }

    fn end(&self, id: &str) {
        self.remove(id);
        self.ended.notify_all();
    }

    fn cancel(&self, id: &str) {
        if let Some(token) = lock(&self.requests).get(id) {
            token.cancel();
        }
    }

    fn cancel_all(&self) {
        lock(&self.requests).values().for_each(CancellationToken::cancel);
    }

    fn wait_until_idle(&self, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        let mut requests = lock(&self.requests);
        while !requests.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            requests = self.ended.wait_timeout(requests, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

/// Ids are strings, null or whole numbers that are not negative: what jsonrpsee takes.
fn parse_id(id: &str) -> Option<Id<'_>> {
    match id.as_bytes().first()? {
        b'"' => serde_json::from_str::<String>(id).ok().map(|text| Id::Str(text.into())),
        b'n' => Some(Id::Null),
        _ => id.parse().ok().map(Id::Number),
    }
}

fn error(id: Option<&str>, code: i32, message: &str) -> String {
    let message = Value::String(message.to_string());
    format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":{code},"message":{message}}}}}"#, id.unwrap_or("null"))
}

fn error_text(error: &RawValue) -> String {
    #[derive(Deserialize)]
    struct ErrorObject {
        message: String,
    }
    match serde_json::from_str::<ErrorObject>(error.get()) {
        Ok(error) => format!("the client replied with an error: {}", error.message),
        Err(_) => "the client replied with an error".into(),
    }
}
