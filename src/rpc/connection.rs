//! One connection: messages in, replies out. Exactly one reply per request, whatever happens.
//!
//! [`Connection::receive`] is called by the transport's reader, message by message. What can be
//! answered at once is answered into the reader's buffer; what has to wait goes on as a task.

use super::methods::{METHODS, NOTIFICATIONS, did_you_mean, router};
use super::protocol::{SetTraceParams, Trace, code};
use super::session::Session;
use crate::support::failpoint;
use crate::support::nearest::closest;
use crate::transport::framing::{Bad, salvage_id};
use futures_util::FutureExt;
use jsonrpsee::core::server::{MethodCallback, MethodResponse, Methods};
use jsonrpsee_types::{ErrorObjectOwned, Id, Params};
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
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

/// What has been read and not been answered.
#[derive(Default)]
struct InFlight {
    state: Mutex<Waiting>,
    ended: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// Ids that can't be used again yet, as JSON.
    ids: HashMap<String, Asked>,
    /// Tasks whose reply, if they have one, isn't on its way yet.
    tasks: usize,
}

/// A request that waits, or whose batch does.
struct Asked {
    cancelled: CancellationToken,
    to: ReplyTo,
    answered: bool,
}

/// Keeps [`Connection::drain`] waiting until it is dropped.
pub struct Task(Arc<InFlight>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.state.lock().tasks -= 1;
        self.0.ended.notify_all();
    }
}

/// Where a reply goes.
#[derive(Clone)]
enum ReplyTo {
    Client,
    Batch(Arc<Batch>),
}

/// Replies of a batch, until the last is there.
struct Batch(Mutex<BatchState>);

struct BatchState {
    replies: Vec<String>,
    /// Members without a reply, and one more until the last member was read.
    open: usize,
    /// To be freed with the batch: before, the client has none of its replies.
    ids: Vec<String>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
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

/// `CancelParams` with the id as it was written.
#[derive(Deserialize)]
#[serde(expecting = "an object with `id`")]
struct CancelId<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
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
            self.refuse(None, -32700, "parse error: the message is not UTF-8".into(), &ReplyTo::Client, out);
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
        let state = BatchState { replies: Vec::new(), open: messages.len() + 1, ids: Vec::new() };
        let to = ReplyTo::Batch(Arc::new(Batch(Mutex::new(state))));
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
            // A list would be taken for the members of an envelope in order.
            Ok(_) | Err(_) if is_other_than_object(text) => {
                self.refuse(None, -32600, "invalid request: a message is a JSON object".into(), to, out);
                return Next::Read;
            }
            Ok(envelope) => envelope,
            Err(error) if error.is_data() => {
                let id = salvage_id(text.as_bytes());
                self.refuse(id.as_deref(), -32600, format!("invalid request: {error}"), to, out);
                return Next::Read;
            }
            Err(error) => {
                self.refuse(None, -32700, format!("parse error: {error}"), to, out);
                return Next::Read;
            }
        };
        let id = envelope.id.map(RawValue::get);
        let is_reply = envelope.result.is_some() || envelope.error.is_some();
        let problem = match (&envelope.method, envelope.jsonrpc.map(RawValue::get)) {
            (None, _) if is_reply => {
                self.reply(id.unwrap_or("null"), envelope.result, envelope.error);
                self.deliver(None, to, Some(out));
                return Next::Read;
            }
            (None, _) => "`method` is missing",
            (Some(Method::NotText), _) => "`method` is not a string",
            // Some clients leave the version out.
            (Some(Method::Name(name)), None | Some(r#""2.0""#)) => match id {
                Some(id) => {
                    self.request(id, name, envelope.params, to, out);
                    return Next::Read;
                }
                None => {
                    let next = self.notification(name, envelope.params);
                    self.deliver(None, to, Some(out));
                    return next;
                }
            },
            (Some(Method::Name(_)), Some(_)) => "`jsonrpc` is not \"2.0\", the only version there is",
        };
        self.refuse(id, -32600, format!("invalid request: {problem}"), to, out);
        Next::Read
    }

    fn reply(&self, id: &str, result: Option<&RawValue>, error: Option<&RawValue>) {
        let reply = match (result, error) {
            (_, Some(error)) => Err(error_text(error)),
            (Some(result), None) => {
                crate::support::json::parse(result.get()).map_err(|error| format!("unreadable reply: {error}"))
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
            "initialized" => self.session.initialized(),
            "$/cancelRequest" => match serde_json::from_str::<CancelId<'_>>(params_text) {
                Ok(params) => self.in_flight.cancel(&canonical(params.id.get())),
                Err(error) => tracing::warn!(%error, "$/cancelRequest was ignored: its params are not understood."),
            },
            "$/setTrace" => match serde_json::from_str::<SetTraceParams>(params_text) {
                Ok(params) => self.session.set_trace(params.value),
                Err(error) => tracing::warn!(%error, "$/setTrace was ignored: its params are not understood."),
            },
            _ => self.told(name, params),
        }
        Next::Read
    }

    /// A request that nobody waits for: an event that is only told.
    fn told(&self, name: &str, params: Option<&RawValue>) {
        let Some(callback) = self.methods.method(name).filter(|_| !self.session.is_shut_down()) else {
            tracing::debug!(method = name, "A notification that means nothing was ignored.");
            return;
        };
        if self.in_flight.is_full() {
            tracing::warn!(method = name, "A notification was dropped: {MAX_IN_FLIGHT} requests are in flight.");
            return;
        }
        let log = |response: &MethodResponse| {
            if response.is_error() {
                tracing::warn!(response = response.as_ref(), "A notification could not be carried out.");
            }
        };
        match self.call(callback, Id::Null, params) {
            None => {}
            Some(Work::Done(response)) => log(&response),
            Some(Work::Waits(future)) => {
                let task = InFlight::task(&self.in_flight);
                self.session.runtime.spawn(async move {
                    match AssertUnwindSafe(future).catch_unwind().await {
                        Ok(response) => log(&response),
                        Err(panic) => log_panic(&*panic),
                    }
                    drop(task);
                });
            }
        }
    }

    fn request(&self, id: &str, name: &str, params: Option<&RawValue>, to: &ReplyTo, out: &mut Vec<u8>) {
        let started = Instant::now();
        self.trace(name, Some(id));
        let Some(parsed) = parse_id(id) else {
            let message = "invalid request: `id` is a string or a number".to_string();
            return self.refuse(None, -32600, message, to, out);
        };
        let id = &*canonical(id);
        match self.in_flight.admits(id) {
            Admission::Yes => {}
            Admission::Duplicate => {
                let message = "invalid request: the second request was not carried out".into();
                return self.refuse(Some(id), -32600, message, to, out);
            }
            Admission::Overloaded => {
                let message = format!("overloaded: {MAX_IN_FLIGHT} requests are in flight; wait for replies");
                return self.refuse(Some(id), code::OVERLOADED, message, to, out);
            }
        }
        if self.session.is_shut_down() {
            let message = "invalid request: after `shutdown` only the notification `exit` is served".into();
            return self.refuse(Some(id), -32600, message, to, out);
        }
        let Some(callback) = self.methods.method(name) else {
            let (code, message) = unknown_method(name);
            return self.refuse(Some(id), code, message, to, out);
        };
        let called = self.call(callback, parsed, params);
        let cancelled = CancellationToken::new();
        if let ReplyTo::Batch(batch) = to {
            batch.0.lock().ids.push(id.to_string());
            let answered = !matches!(called, Some(Work::Waits(_)));
            self.in_flight.begin(id, Asked { cancelled: cancelled.clone(), to: to.clone(), answered });
        }
        match called {
            None => self.deliver(Some(&panicked(id)), to, Some(out)),
            Some(Work::Done(response)) => {
                self.trace_done(name, id, started);
                self.deliver(Some(&addressed(&response, id)), to, Some(out));
            }
            Some(Work::Waits(future)) => {
                let asked = Asked { cancelled: cancelled.clone(), to: to.clone(), answered: false };
                self.in_flight.begin(id, asked);
                self.wait(id, name, future, cancelled, to, started);
            }
        }
    }

    /// Lets a request that can't be answered at once go on as a task.
    fn wait(
        &self,
        id: &str,
        name: &str,
        future: Pending,
        cancelled: CancellationToken,
        to: &ReplyTo,
        started: Instant,
    ) {
        let task = InFlight::task(&self.in_flight);
        let (connection, to) = (self.clone_for_task(), to.clone());
        let (id, name) = (id.to_string(), name.to_string());
        self.session.runtime.spawn(async move {
            let response = tokio::select! {
                biased;
                () = cancelled.cancelled() => error(&id, code::CANCELLED, "cancelled"),
                result = AssertUnwindSafe(future).catch_unwind() => match result {
                    Ok(response) => addressed(&response, &id).into_owned(),
                    Err(panic) => {
                        log_panic(&*panic);
                        panicked(&id)
                    }
                },
            };
            connection.trace_done(&name, &id, started);
            if connection.in_flight.claim(&id) {
                connection.deliver(Some(&response), &to, None);
            }
            drop(task);
        });
    }

    /// Calls a method on this thread up to where it would wait. `None`: it panicked.
    fn call(&self, callback: &MethodCallback, id: Id<'static>, params: Option<&RawValue>) -> Option<Work> {
        // Tasks and timers that a method starts belong to the runtime.
        let _guard = self.session.runtime.enter();
        let text = params.map(RawValue::get);
        let extensions = jsonrpsee::Extensions::new();
        let called = catch_unwind(AssertUnwindSafe(|| {
            assert!(!failpoint::is_due("method"), "a test lets this method panic");
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
        called.map_err(|panic| log_panic(&*panic)).ok()
    }

    /// Answers with an error. An id that is in flight belongs to another request, and a reply under
    /// it would be taken for that one's.
    fn refuse(&self, id: Option<&str>, code: i32, mut message: String, to: &ReplyTo, out: &mut Vec<u8>) {
        let id = id.filter(|id| parse_id(id).is_some()).map(canonical);
        let mut reply_id = id.as_deref().unwrap_or("null");
        if id.as_deref().is_some_and(|id| self.in_flight.holds(id)) {
            message.push_str(&format!(" (id {reply_id} is in flight)"));
            reply_id = "null";
        }
        tracing::debug!(id = reply_id, code, message, "A message was refused.");
        self.deliver(Some(&error(reply_id, code, &message)), to, Some(out));
    }

    /// Sends a reply, or keeps it until its batch is complete. `None` is no reply: a notification.
    fn deliver(&self, reply: Option<&str>, to: &ReplyTo, out: Option<&mut Vec<u8>>) {
        let whole = match to {
            ReplyTo::Client => reply.map(Cow::Borrowed),
            ReplyTo::Batch(batch) => {
                let mut batch = batch.0.lock();
                batch.replies.extend(reply.map(str::to_string));
                batch.open -= 1;
                if batch.open == 0 {
                    self.in_flight.free(&batch.ids);
                }
                let is_whole = batch.open == 0 && !batch.replies.is_empty();
                is_whole.then(|| Cow::Owned(format!("[{}]", batch.replies.join(","))))
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

    /// The connection ends: hooks in flight get `hooks` to finish by themselves, then `after` to take
    /// their failure direction. What still waits after that is cancelled and answered here.
    pub fn drain(&self, hooks: Duration, after: Duration) {
        self.session.hang_up();
        let until = Instant::now() + hooks;
        if !self.in_flight.wait_until_idle(until) {
            self.session.early_deadline.cancel();
            if !self.in_flight.wait_until_idle(Instant::now() + after) {
                self.in_flight.cancel_all();
                for (id, to) in self.in_flight.claim_all() {
                    let reply = error(&id, code::CANCELLED, "cancelled: the connection ended before there was a reply");
                    self.deliver(Some(&reply), &to, None);
                }
            }
        }
        // Detached hooks have the same time, though nobody waits for their answers.
        let settled = async { tokio::time::timeout_at(until.into(), self.session.host.engine.settle()).await };
        let _ = self.session.runtime.block_on(settled);
    }

    /// To be held while messages are received: another thread may be ending the process.
    pub fn receiving(&self) -> Task {
        InFlight::task(&self.in_flight)
    }

    /// Cancels everything, at once.
    pub fn abandon(&self) {
        self.session.hang_up();
        self.session.early_deadline.cancel();
        self.in_flight.cancel_all();
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
    fn task(this: &Arc<InFlight>) -> Task {
        this.state.lock().tasks += 1;
        Task(this.clone())
    }

    fn admits(&self, id: &str) -> Admission {
        let state = self.state.lock();
        if state.ids.contains_key(id) {
            Admission::Duplicate
        } else if state.tasks >= MAX_IN_FLIGHT {
            Admission::Overloaded
        } else {
            Admission::Yes
        }
    }

    fn is_full(&self) -> bool {
        self.state.lock().tasks >= MAX_IN_FLIGHT
    }

    fn holds(&self, id: &str) -> bool {
        self.state.lock().ids.contains_key(id)
    }

    fn begin(&self, id: &str, asked: Asked) {
        self.state.lock().ids.insert(id.to_string(), asked);
    }

    /// Whether a reply to the request is still due; from now on it isn't. Frees the id of a single
    /// request, before its reply is sent: whoever has the reply may use the id again.
    fn claim(&self, id: &str) -> bool {
        let ids = &mut self.state.lock().ids;
        match ids.get_mut(id) {
            Some(Asked { to: ReplyTo::Batch(_), answered, .. }) => !std::mem::replace(answered, true),
            Some(Asked { to: ReplyTo::Client, .. }) => ids.remove(id).is_some_and(|asked| !asked.answered),
            None => false,
        }
    }

    fn claim_all(&self) -> Vec<(String, ReplyTo)> {
        let state = &mut *self.state.lock();
        let due = state.ids.iter_mut().filter(|(_, asked)| !asked.answered);
        due.map(|(id, asked)| {
            asked.answered = true;
            (id.clone(), asked.to.clone())
        })
        .collect()
    }

    /// Frees the ids of a batch.
    fn free(&self, ids: &[String]) {
        let mut state = self.state.lock();
        for id in ids {
            state.ids.remove(id);
        }
    }

    fn cancel(&self, id: &str) {
        if let Some(asked) = self.state.lock().ids.get(id) {
            asked.cancelled.cancel();
        }
    }

    fn cancel_all(&self) {
        self.state.lock().ids.values().for_each(|asked| asked.cancelled.cancel());
    }

    fn wait_until_idle(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        while state.tasks > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.ended.wait_for(&mut state, left);
        }
        true
    }
}

fn is_other_than_object(text: &str) -> bool {
    // What isn't JSON at all is better told by the parser.
    !text.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// The id as jsonrpsee knows it; `None` for what can't be an id. jsonrpsee has no place for a
/// number that is negative, fractional or very large: [`addressed`] puts it in.
fn parse_id(id: &str) -> Option<Id<'static>> {
    match id.as_bytes().first()? {
        b'"' => serde_json::from_str::<String>(id).ok().map(|text| Id::Str(text.into())),
        b'n' => Some(Id::Null),
        // Beyond what a double holds, a reader may refuse the whole reply.
        b'-' | b'0'..=b'9' if id.parse().is_ok_and(f64::is_finite) => Some(id.parse().map_or(Id::Null, Id::Number)),
        _ => None,
    }
}

/// One spelling of an id, so that a cancel finds it however its text is escaped.
fn canonical(id: &str) -> Cow<'_, str> {
    if !id.contains('\\') {
        return Cow::Borrowed(id);
    }
    match serde_json::from_str::<Value>(id) {
        Ok(value) => Cow::Owned(value.to_string()),
        Err(_) => Cow::Borrowed(id),
    }
}

/// A response under its id.
fn addressed<'r>(response: &'r MethodResponse, id: &str) -> Cow<'r, str> {
    let text = response.as_ref();
    match text.strip_prefix(r#"{"jsonrpc":"2.0","id":null,"#) {
        Some(rest) if id != "null" => Cow::Owned(format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}"#)),
        _ => Cow::Borrowed(text),
    }
}

fn unknown_method(name: &str) -> (i32, String) {
    if NOTIFICATIONS.contains(&name) {
        return (-32600, format!("invalid request: `{name}` is a notification; send it without `id`"));
    }
    let nearest = did_you_mean(closest(name, METHODS));
    let shown: String = name.chars().take(100).collect();
    (-32601, format!("method not found: `{shown}`{nearest}"))
}

fn log_panic(panic: &(dyn Any + Send)) {
    tracing::error!(panic = crate::engine::panic_text(panic), "A method panicked; this is a bug in hookwire.");
}

fn panicked(id: &str) -> String {
    error(id, -32603, "internal error: the method panicked; this is a bug in hookwire")
}

fn error(id: &str, code: i32, message: &str) -> String {
    let message = Value::String(message.to_string());
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
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

#[cfg(test)]
mod tests {
    use super::super::session::Side;
    use super::*;
    use crate::host::{Host, HostOptions};
    use crate::transport::outbox::Outbox;
    use proptest::prelude::*;

    const SEEDS: [&str; 6] = [
        r#"{"jsonrpc":"2.0","id":1,"method":"hooks/dispatch","params":{"event":"PreToolUse","tool":{"name":"Bash","input":{"command":"git push"}}}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"hooks/register","params":{"hooks":[{"name":"h","on":"*","if":"Bash(git *)","deny":"no"}]}}"#,
        r#"[{"jsonrpc":"2.0","id":-1,"method":"hooks/list"},{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}]"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"hooks/check","params":{"text":"hooks: [{ name: a }]"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"hooks/explain","params":[{"event":"Stop","\u0061":"\ud83d\ude00"}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"},"result":[[[1e9]]]}"#,
    ];
    const FRAGMENTS: [&str; 14] =
        ["{", "}", "[", "]", "\"", ",", ":", "\\u", "\\ud800", "null", "-1e999", "\"id\":1,", "\u{1f600}", "\n"];

    fn connection(out: std::fs::File) -> (Connection, tokio::runtime::Runtime) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let host = Host::new(HostOptions { root: "/".into(), ..HostOptions::default() });
        let session =
            Session::new(host, Outbox::new(out.into(), || {}).unwrap(), runtime.handle().clone(), Side::Parent);
        (Connection::new(session), runtime)
    }

    #[test]
    fn at_the_end_a_reply_does_not_depend_on_the_tasks() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (connection, runtime) = connection(file.reopen().unwrap());
        let receive = |message: &str| connection.receive(message.as_bytes(), &mut Vec::new());
        receive(
            r#"{"jsonrpc":"2.0","id":0,"method":"hooks/register","params":{"hooks":[{"name":"h","on":"Stop","callback":"c"}]}}"#,
        );
        let stop =
            |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"hooks/dispatch","params":{{"event":"Stop"}}}}"#);
        // The only worker is kept from running the tasks.
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        runtime.spawn(async move { wait.recv() });
        receive(&stop(1));
        receive(&format!("[{},{}]", stop(2), stop(3)));
        connection.drain(Duration::ZERO, Duration::ZERO);
        drop(go_on);
        runtime.shutdown_timeout(Duration::from_secs(20));
        let sent = std::fs::read_to_string(file.path()).unwrap();
        let mut ids: Vec<_> = sent
            .lines()
            .filter(|line| line.contains("-32800"))
            .flat_map(|line| match serde_json::from_str(line).unwrap() {
                Value::Array(batch) => batch,
                single => vec![single],
            })
            .map(|reply| reply["id"].to_string())
            .collect();
        ids.sort();
        assert_eq!(ids, ["1", "2", "3"], "{sent}");
    }

    #[test]
    fn whatever_is_sent_the_next_request_is_answered_once() {
        let (connection, _runtime) = connection(std::fs::File::create("/dev/null").unwrap());
        let edits = prop::collection::vec((any::<prop::sample::Index>(), 0..20_usize, 0..20_usize), 1..6);
        proptest!(ProptestConfig::with_cases(4000), |(seed in 0..SEEDS.len(), edits in edits)| {
            let mut sent = SEEDS[seed].as_bytes().to_vec();
            for (at, n_removed, fragment) in edits {
                let at = at.index(sent.len() + 1);
                let until = (at + n_removed).min(sent.len());
                let put = FRAGMENTS.get(fragment).map_or(&[0xff_u8][..fragment % 2], |it| it.as_bytes());
                sent.splice(at..until, put.iter().copied());
            }
            let mut out = Vec::new();
            connection.receive(&sent, &mut out);
            for reply in out.split(|byte| *byte == b'\n').filter(|it| !it.is_empty()) {
                serde_json::from_slice::<Value>(reply).unwrap();
            }
            out.clear();
            connection.receive(br#"{"jsonrpc":"2.0","id":"next","method":"no/such"}"#, &mut out);
            let replies = String::from_utf8(out).unwrap();
            let expected = r#"{"jsonrpc":"2.0","id":"next","error":{"code":-32601,"message":"method not found: `no/such`"}}"#;
            prop_assert_eq!(replies, format!("{expected}\n"));
        });
        let waiting = connection.in_flight.state.lock();
        assert!(waiting.ids.is_empty() && waiting.tasks == 0, "{:?}", waiting.ids.keys());
    }
}
