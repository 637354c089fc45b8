//! One connection: messages in, replies out. Exactly one reply per request, whatever happens.
//!
//! [`Connection::receive_message`] is called by the transport's reader, message by message. What can be
//! answered at once is answered into the reader's buffer; what has to wait goes on as a task.

pub use super::methods::Next;

use super::envelope::{
    Envelope, Method, Reply, canonical_id, is_id, is_other_than_object, read_parsed,
};
use super::error::RpcError;
use super::in_flight::{
    Admission, Batch, MAX_BATCH_REPLIES, MAX_IN_FLIGHT, ReplyTo, Request, Task,
};
use super::methods::{DirectCall, METHODS, Run, find_method, make_router};
use super::params;
use super::protocol::{Trace, code};
use super::session::Session;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hookwire_base::support::failpoint;
use hookwire_base::support::json;
use hookwire_base::support::nearest::{closest, did_you_mean};
use hookwire_base::transport::framing::{Bad, salvage_id};
use jsonrpsee::core::server::{MethodCallback, Methods};
use jsonrpsee_types::{Id, Params};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Messages in a batch.
const MAX_BATCH: usize = 1000;
/// jsonrpsee bounds replies; hookwire doesn't.
const MAX_REPLY: usize = u32::MAX as usize;

/// See the module.
pub struct Connection {
    session: Arc<Session>,
    /// Made for the first method that it serves: an event needs none.
    router: OnceLock<Methods>,
}

/// The params of a message.
enum SentParams<'a> {
    Text(Option<&'a str>),
    Parsed(Value, &'a str),
}

/// A method, as it is called.
enum Callable<'a> {
    Routed(&'a MethodCallback),
    Direct(fn(Arc<Session>, DirectCall) -> BoxFuture<'static, Reply>),
}

/// How far a call has come on the reader.
enum Called {
    Done(Reply),
    Waits(BoxFuture<'static, Reply>),
}

/// What is said to a user who asks for more than every user may.
const FOR_EVERYBODY: &str = "over the socket for every user, `hooks/answer`, `guard/begin` and `guard/finish` are served, one request at a time";

impl Connection {
    /// A connection of a session.
    pub fn new(session: Arc<Session>) -> Connection {
        Connection {
            session,
            router: OnceLock::new(),
        }
    }

    /// The session.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Takes one message in. Replies that are ready are framed into `out`.
    pub fn receive_message(&self, message: &[u8], out: &mut Vec<u8>) -> Next {
        let Ok(text) = std::str::from_utf8(message) else {
            self.refuse_request(
                None,
                code::PARSE,
                "parse error: the message is not UTF-8",
                &ReplyTo::Client,
                out,
            );
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
        self.refuse_invalid(bad.id.as_deref(), &bad.problem, &ReplyTo::Client, out);
    }

    fn receive_batch(&self, text: &str, out: &mut Vec<u8>) -> Next {
        // A user's share is in connections, each with one question.
        if self.session.asker().is_some() {
            self.refuse_invalid(None, FOR_EVERYBODY, &ReplyTo::Client, out);
            return Next::Read;
        }
        let messages: Vec<&RawValue> = match serde_json::from_str(text) {
            Ok(messages) => messages,
            Err(error) => {
                self.refuse_request(
                    None,
                    code::PARSE,
                    format!("parse error: {error}"),
                    &ReplyTo::Client,
                    out,
                );
                return Next::Read;
            }
        };
        if messages.is_empty() || messages.len() > MAX_BATCH {
            let problem = format!(
                "a batch has 1 to {MAX_BATCH} messages, found {}",
                messages.len()
            );
            self.refuse_invalid(None, &problem, &ReplyTo::Client, out);
            return Next::Read;
        }
        let to = ReplyTo::Batch(Batch::new(messages.len()));
        let mut next = Next::Read;
        for message in messages {
            if self.receive_one(message.get(), &to, out) == Next::Exit {
                next = Next::Exit;
            }
        }
        deliver_reply(&self.session, None, &to, Some(out));
        next
    }

    fn receive_one(&self, text: &str, to: &ReplyTo, out: &mut Vec<u8>) -> Next {
        if let Some(request) = read_parsed(text, |name| {
            find_method(name).is_some_and(|method| matches!(method.run, Run::Direct(_)))
        }) {
            let params = SentParams::Parsed(request.params, request.params_text);
            self.take_request(request.id, request.method, params, to, out);
            return Next::Read;
        }
        let envelope: Envelope<'_> = match serde_json::from_str(text) {
            // A list would be taken for the members of an envelope in order.
            Ok(_) | Err(_) if is_other_than_object(text) => {
                self.refuse_invalid(None, "a message is a JSON object", to, out);
                return Next::Read;
            }
            Ok(envelope) => envelope,
            Err(error) if error.is_data() => {
                let id = salvage_id(text.as_bytes());
                self.refuse_invalid(id.as_deref(), &error.to_string(), to, out);
                return Next::Read;
            }
            Err(error) => {
                self.refuse_request(None, code::PARSE, format!("parse error: {error}"), to, out);
                return Next::Read;
            }
        };
        let id = envelope.id.map(RawValue::get);
        let params = envelope.params.map(RawValue::get);
        let is_reply = envelope.result.is_some() || envelope.error.is_some();
        let problem = match (&envelope.method, envelope.jsonrpc.map(RawValue::get)) {
            (None, _) if is_reply => {
                self.take_reply(id.unwrap_or("null"), envelope.result, envelope.error);
                deliver_reply(&self.session, None, to, Some(out));
                return Next::Read;
            }
            (None, _) => "`method` is missing",
            (Some(Method::NotText), _) => "`method` is not a string",
            // Some clients leave the version out.
            (Some(Method::Name(name)), None | Some(r#""2.0""#)) => match id {
                Some(id) => {
                    self.take_request(id, name, SentParams::Text(params), to, out);
                    return Next::Read;
                }
                None => {
                    let next = self.take_notification(name, params);
                    deliver_reply(&self.session, None, to, Some(out));
                    return next;
                }
            },
            (Some(Method::Name(_)), Some(_)) => {
                "`jsonrpc` is not \"2.0\", the only version there is"
            }
        };
        self.refuse_invalid(id, problem, to, out);
        Next::Read
    }

    /// The client's reply to a request of the host.
    fn take_reply(&self, id: &str, result: Option<&RawValue>, error: Option<&RawValue>) {
        let reply = match (result, error) {
            (_, Some(error)) => Err(error_text(error)),
            (Some(result), None) => {
                json::parse(result.get()).map_err(|error| format!("unreadable reply: {error}"))
            }
            (None, None) => return,
        };
        self.session.take_reply(id, reply);
    }

    fn take_notification(&self, name: &str, params: Option<&str>) -> Next {
        if self.session.asker().is_some() {
            return Next::Read;
        }
        trace_received(&self.session, name, None);
        let Some(Run::Notification(run)) = find_method(name).map(|method| method.run) else {
            self.request_without_reply(name, params);
            return Next::Read;
        };
        run(&self.session, params.unwrap_or("null")).unwrap_or_else(|error| {
            tracing::warn!(method = name, %error, "A notification was ignored: its params are not understood.");
            Next::Read
        })
    }

    /// A request that was sent as a notification, such as an event whose verdict the client doesn't
    /// need.
    fn request_without_reply(&self, name: &str, params: Option<&str>) {
        let Some(method) = self
            .find_method(name)
            .filter(|_| !self.session.is_shut_down())
        else {
            tracing::debug!(
                method = name,
                "A notification that means nothing was ignored."
            );
            return;
        };
        if self.session.in_flight.is_full() {
            tracing::warn!(
                method = name,
                "A notification was dropped: {MAX_IN_FLIGHT} requests are in flight."
            );
            return;
        }
        match self.call_method(&method, "null", SentParams::Text(params)) {
            Called::Done(reply) => log_failure(&reply),
            Called::Waits(future) => {
                let task = self.session.in_flight.start_task();
                self.session.runtime.spawn(async move {
                    log_failure(&or_panic_reply("null", future).await);
                    drop(task);
                });
            }
        }
    }

    fn take_request(
        &self,
        id: &str,
        name: &str,
        params: SentParams<'_>,
        to: &ReplyTo,
        out: &mut Vec<u8>,
    ) {
        let started = (self.session.trace() == Trace::Verbose).then(Instant::now);
        trace_received(&self.session, name, Some(id));
        if !is_id(id) {
            return self.refuse_invalid(None, "`id` is a string or a number", to, out);
        }
        let id = &*canonical_id(id);
        let is_theirs = || find_method(name).is_some_and(|method| method.for_everybody);
        if self.session.asker().is_some() && !is_theirs() {
            return self.refuse_invalid(Some(id), FOR_EVERYBODY, to, out);
        }
        match self.session.in_flight.admit_id(id) {
            Admission::Yes => {}
            Admission::Duplicate => {
                return self.refuse_invalid(
                    Some(id),
                    "the second request was not carried out",
                    to,
                    out,
                );
            }
            Admission::Overloaded => {
                let message =
                    format!("overloaded: {MAX_IN_FLIGHT} requests are in flight; wait for replies");
                return self.refuse_request(Some(id), code::OVERLOADED, message, to, out);
            }
        }
        if matches!(to, ReplyTo::Batch(batch) if batch.is_full()) {
            let most = MAX_BATCH_REPLIES >> 20;
            let message = format!(
                "overloaded: the replies of this batch are more than {most} MiB; ask for less at once"
            );
            return self.refuse_request(Some(id), code::OVERLOADED, message, to, out);
        }
        if self.session.is_shut_down() {
            let problem = "after `shutdown` only the notification `exit` is served";
            return self.refuse_invalid(Some(id), problem, to, out);
        }
        let Some(method) = self.find_method(name) else {
            let RpcError { code, message, .. } = unknown_method(name);
            return self.refuse_request(Some(id), code, message, to, out);
        };
        let called = self.call_method(&method, id, params);
        let is_answered = matches!(called, Called::Done(_));
        let insert = || {
            let cancelled = CancellationToken::new();
            let request = Request {
                cancelled: cancelled.clone(),
                to: to.clone(),
                is_answered,
            };
            self.session.in_flight.insert(id, request);
            cancelled
        };
        if let ReplyTo::Batch(batch) = to {
            batch.hold_id(id);
        }
        match called {
            Called::Done(reply) => {
                if matches!(to, ReplyTo::Batch(_)) {
                    insert();
                }
                trace_answered(name, id, started);
                deliver_reply(&self.session, Some(&reply), to, Some(out));
            }
            Called::Waits(future) => {
                // What is answered already must not be overtaken: that a hook couldn't be
                // registered, by the verdict on the next event.
                self.session.outbox.send_framed(out);
                out.clear();
                self.answer_later(id, name, future, insert(), to, started);
            }
        }
    }

    /// Lets a request that can't be answered at once go on as a task.
    fn answer_later(
        &self,
        id: &str,
        name: &str,
        future: BoxFuture<'static, Reply>,
        cancelled: CancellationToken,
        to: &ReplyTo,
        started: Option<Instant>,
    ) {
        let task = self.session.in_flight.start_task();
        let (session, to) = (self.session.clone(), to.clone());
        let (id, name) = (id.to_string(), name.to_string());
        self.session.runtime.spawn(async move {
            let reply = tokio::select! {
                biased;
                () = cancelled.cancelled() => Reply::error(&id, &RpcError::new(code::CANCELLED, "cancelled")),
                reply = or_panic_reply(&id, future) => reply,
            };
            trace_answered(&name, &id, started);
            if session.in_flight.claim_reply(&id) {
                deliver_reply(&session, Some(&reply), &to, None);
            }
            drop(task);
        });
    }

    fn find_method(&self, name: &str) -> Option<Callable<'_>> {
        if let Some(Run::Direct(run)) = find_method(name).map(|method| method.run) {
            return Some(Callable::Direct(run));
        }
        // A name that is there twice is a bug that every test would meet.
        #[expect(clippy::expect_used, reason = "the table is static")]
        let router = self
            .router
            .get_or_init(|| make_router(self.session.clone()).expect("the method table is sound"));
        router.method(name).map(Callable::Routed)
    }

    /// Calls a method on this thread up to where it would wait.
    fn call_method(&self, method: &Callable<'_>, id: &str, params: SentParams<'_>) -> Called {
        // Tasks and timers that a method starts belong to the runtime.
        let _guard = self.session.runtime.enter();
        let called = catch_unwind(AssertUnwindSafe(|| {
            assert!(
                !failpoint::is_due("method"),
                "a test lets this method panic"
            );
            match method {
                Callable::Direct(run) => self.call_direct(*run, id, params),
                Callable::Routed(callback) => call_routed(callback, id, params),
            }
        }));
        called.unwrap_or_else(|panic| Called::Done(panic_reply(id, &*panic)))
    }

    fn call_direct(
        &self,
        run: fn(Arc<Session>, DirectCall) -> BoxFuture<'static, Reply>,
        id: &str,
        params: SentParams<'_>,
    ) -> Called {
        let (params, text) = match params {
            SentParams::Parsed(params, text) => (Ok(params), text.to_string()),
            SentParams::Text(text) => match (params::parse(text), text.unwrap_or_default()) {
                (Ok(params), text) => (Ok(params), text.to_string()),
                // An event may hold halves of surrogate pairs.
                (Err(error), text) => match json::mend_halves(text) {
                    Some(mended) => (params::parse(Some(&mended)), mended),
                    None => (Err(error), text.to_string()),
                },
            },
        };
        match params {
            Ok(params) => {
                let call = DirectCall {
                    id: id.to_string(),
                    params,
                    params_text: text,
                };
                poll_once(run(self.session.clone(), call))
            }
            Err(error) => Called::Done(Reply::error(id, &error)),
        }
    }

    /// Answers that a message is not a valid request.
    fn refuse_invalid(&self, id: Option<&str>, problem: &str, to: &ReplyTo, out: &mut Vec<u8>) {
        self.refuse_request(
            id,
            code::INVALID_REQUEST,
            format!("invalid request: {problem}"),
            to,
            out,
        );
    }

    /// Answers with an error. An id that is in flight belongs to another request: a reply under it
    /// would be taken for that request's reply.
    fn refuse_request(
        &self,
        id: Option<&str>,
        code: i32,
        message: impl Into<String>,
        to: &ReplyTo,
        out: &mut Vec<u8>,
    ) {
        let mut message = message.into();
        let id = id.filter(|id| is_id(id)).map(canonical_id);
        let mut reply_id = id.as_deref().unwrap_or("null");
        if id
            .as_deref()
            .is_some_and(|id| self.session.in_flight.contains(id))
        {
            message.push_str(&format!(" (id {reply_id} is in flight)"));
            reply_id = "null";
        }
        tracing::debug!(id = reply_id, code, message, "A message was refused.");
        let reply = Reply::error(reply_id, &RpcError::new(code, message));
        deliver_reply(&self.session, Some(&reply), to, Some(out));
    }

    /// The connection ends: hooks in flight get `hooks` to finish by themselves, then `after` to
    /// take their failure direction. What still waits after that is cancelled and answered here.
    pub fn drain_hooks(&self, hooks: Duration, after: Duration) {
        let in_flight = &self.session.in_flight;
        self.session.hang_up();
        let until = Instant::now() + hooks;
        if !in_flight.wait_until_idle(until) {
            self.session.early_deadline.cancel();
            if !in_flight.wait_until_idle(Instant::now() + after) {
                in_flight.cancel_all();
                for (id, to) in in_flight.claim_all_replies() {
                    let message = "cancelled: the connection ended before there was a reply";
                    let reply = Reply::error(&id, &RpcError::new(code::CANCELLED, message));
                    deliver_reply(&self.session, Some(&reply), &to, None);
                }
            }
        }
        // Detached hooks have the same time, though their answers go nowhere. Another connection's
        // end may have ended the runtime, which then has no time to give.
        let engine = &self.session.host.engine;
        if !engine.is_settled() {
            let settled = async { tokio::time::timeout_at(until.into(), engine.settle()).await };
            let _ = self.session.runtime.block_on(settled);
        }
    }

    /// To be held while messages are received, so that another thread that is ending the process
    /// waits for their replies.
    pub fn receiving(&self) -> Task {
        self.session.in_flight.start_task()
    }

    /// Cancels everything, at once.
    pub fn abandon(&self) {
        self.session.hang_up();
        self.session.early_deadline.cancel();
        self.session.in_flight.cancel_all();
    }
}

fn call_routed(callback: &MethodCallback, id: &str, params: SentParams<'_>) -> Called {
    let params = Params::new(match params {
        SentParams::Text(text) => text,
        SentParams::Parsed(_, text) => Some(text),
    });
    let extensions = jsonrpsee::Extensions::new();
    match callback {
        MethodCallback::Sync(method) => {
            let response = method(Id::Null, params, MAX_REPLY, extensions);
            Called::Done(Reply::from_jsonrpsee(id, &response))
        }
        MethodCallback::Async(method) => {
            let id = id.to_string();
            let future = method(
                Id::Null,
                params.into_owned(),
                jsonrpsee::ConnectionId(0),
                MAX_REPLY,
                extensions,
            );
            poll_once(
                future
                    .map(move |response| Reply::from_jsonrpsee(&id, &response))
                    .boxed(),
            )
        }
        MethodCallback::Subscription(_) | MethodCallback::Unsubscription(_) => {
            Called::Done(Reply::error(
                id,
                &RpcError::new(code::METHOD_NOT_FOUND, "no subscriptions"),
            ))
        }
    }
}

fn poll_once(mut future: BoxFuture<'static, Reply>) -> Called {
    match Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(reply) => Called::Done(reply),
        Poll::Pending => Called::Waits(future),
    }
}

/// Sends a reply, or keeps it until its batch is complete. `None`: a notification has no reply.
fn deliver_reply(
    session: &Session,
    reply: Option<&Reply>,
    to: &ReplyTo,
    out: Option<&mut Vec<u8>>,
) {
    let reply = reply.map(|reply| &*reply.json);
    let whole = match to {
        ReplyTo::Client => reply.map(Cow::Borrowed),
        ReplyTo::Batch(batch) => batch
            .close_member(reply, &session.in_flight)
            .map(Cow::Owned),
    };
    match (whole, out) {
        (Some(whole), Some(out)) => session.outbox.frame(&whole, out),
        (Some(whole), None) => session.outbox.send(&whole),
        (None, _) => {}
    }
}

fn trace_received(session: &Session, name: &str, id: Option<&str>) {
    if session.trace() != Trace::Off {
        tracing::info!(method = name, id, "Message received.");
    }
}

/// `started`: if a reply's time is told.
fn trace_answered(name: &str, id: &str, started: Option<Instant>) {
    if let Some(started) = started {
        tracing::info!(
            method = name,
            id,
            micros = started.elapsed().as_micros(),
            "Request answered."
        );
    }
}

fn log_failure(reply: &Reply) {
    if reply.is_error {
        let response = &*String::from_utf8_lossy(&reply.json);
        tracing::warn!(response, "A notification could not be carried out.");
    }
}

async fn or_panic_reply(id: &str, future: BoxFuture<'static, Reply>) -> Reply {
    AssertUnwindSafe(future)
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| panic_reply(id, &*panic))
}

fn panic_reply(id: &str, panic: &(dyn Any + Send)) -> Reply {
    tracing::error!(
        panic = hookwire_engine::engine::panic_text(panic),
        "A method panicked; this is a bug in hookwire."
    );
    Reply::error(
        id,
        &RpcError::internal("internal error: the method panicked; this is a bug in hookwire"),
    )
}

fn unknown_method(name: &str) -> RpcError {
    if find_method(name).is_some() {
        return RpcError::request(format!("`{name}` is a notification; send it without `id`"));
    }
    let nearest = did_you_mean(closest(name, METHODS.iter().map(|method| method.name)));
    let shown: String = name.chars().take(100).collect();
    RpcError::new(
        code::METHOD_NOT_FOUND,
        format!("method not found: `{shown}`{nearest}"),
    )
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
    use hookwire_base::transport::outbox::Outbox;
    use hookwire_engine::host::{Host, HostOptions};
    use proptest::prelude::*;

    const SEEDS: [&str; 6] = [
        r#"{"jsonrpc":"2.0","id":1,"method":"hooks/dispatch","params":{"event":"PreToolUse","tool":{"name":"Bash","input":{"command":"git push"}}}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"hooks/register","params":{"hooks":[{"name":"h","on":"*","if":"Bash(git *)","deny":"no"}]}}"#,
        r#"[{"jsonrpc":"2.0","id":-1,"method":"hooks/list"},{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}]"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"hooks/check","params":{"text":"hooks: [{ name: a }]"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"hooks/explain","params":[{"event":"Stop","\u0061":"\ud83d\ude00"}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"},"result":[[[1e9]]]}"#,
    ];
    const FRAGMENTS: [&str; 14] = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        ",",
        ":",
        "\\u",
        "\\ud800",
        "null",
        "-1e999",
        "\"id\":1,",
        "\u{1f600}",
        "\n",
    ];

    fn connection(out: std::fs::File) -> (Connection, tokio::runtime::Runtime) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let host = Host::new(HostOptions {
            root: "/".into(),
            ..HostOptions::default()
        });
        let session = Session::new(
            host,
            Outbox::new(out.into(), || {}).unwrap(),
            runtime.handle().clone(),
            Side::Parent,
        );
        (Connection::new(session), runtime)
    }

    #[test]
    fn at_the_end_a_reply_does_not_depend_on_the_tasks() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (connection, runtime) = connection(file.reopen().unwrap());
        let receive =
            |message: &str| connection.receive_message(message.as_bytes(), &mut Vec::new());
        receive(
            r#"{"jsonrpc":"2.0","id":0,"method":"hooks/register","params":{"hooks":[{"name":"h","on":"Stop","callback":"c"}]}}"#,
        );
        let stop = |id: u32| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"hooks/dispatch","params":{{"event":"Stop"}}}}"#
            )
        };
        // The only worker is kept from running the tasks.
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        runtime.spawn(async move { wait.recv() });
        receive(&stop(1));
        receive(&format!("[{},{}]", stop(2), stop(3)));
        connection.drain_hooks(Duration::ZERO, Duration::ZERO);
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
    fn what_is_answered_is_not_overtaken_by_what_waits() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (connection, _runtime) = connection(file.reopen().unwrap());
        let mut out = Vec::new();
        connection.receive_message(
            br#"{"jsonrpc":"2.0","id":0,"method":"hooks/register","params":{"hooks":[{"name":"h","on":"Stop","callback":"c"}]}}"#,
            &mut out,
        );
        connection.receive_message(
            br#"{"jsonrpc":"2.0","id":1,"method":"hooks/register","params":{"hooks":[{"name":"x"}]}}"#,
            &mut out,
        );
        connection.receive_message(
            br#"{"jsonrpc":"2.0","id":2,"method":"hooks/dispatch","params":{"event":"Stop"}}"#,
            &mut out,
        );
        let sent = std::fs::read_to_string(file.path()).unwrap();
        let messages = sent
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let ids: Vec<_> = messages
            .filter(|message| message.get("method").is_none())
            .map(|reply| reply["id"].to_string())
            .collect();
        assert_eq!(ids, ["0", "1"], "{sent}");
        assert!(out.is_empty());
    }

    #[test]
    fn whatever_is_sent_the_next_request_is_answered_once() {
        let (connection, _runtime) = connection(std::fs::File::create("/dev/null").unwrap());
        let edits = prop::collection::vec(
            (any::<prop::sample::Index>(), 0..20_usize, 0..20_usize),
            1..6,
        );
        // `PROPTEST_CASES` says how many.
        proptest!(|(seed in 0..SEEDS.len(), edits in edits)| {
            let mut sent = SEEDS[seed].as_bytes().to_vec();
            for (at, n_removed, fragment) in edits {
                let at = at.index(sent.len() + 1);
                let until = (at + n_removed).min(sent.len());
                let put = FRAGMENTS.get(fragment).map_or(&[0xff_u8][..fragment % 2], |it| it.as_bytes());
                sent.splice(at..until, put.iter().copied());
            }
            let mut out = Vec::new();
            connection.receive_message(&sent, &mut out);
            for reply in out.split(|byte| *byte == b'\n').filter(|it| !it.is_empty()) {
                serde_json::from_slice::<Value>(reply).unwrap();
            }
            out.clear();
            connection.receive_message(br#"{"jsonrpc":"2.0","id":"next","method":"no/such"}"#, &mut out);
            let replies = String::from_utf8(out).unwrap();
            let expected = r#"{"jsonrpc":"2.0","id":"next","error":{"code":-32601,"message":"method not found: `no/such`"}}"#;
            prop_assert_eq!(replies, format!("{expected}\n"));
        });
        // The last of what isn't answered at once may still be on its way.
        let in_flight = &connection.session.in_flight;
        in_flight.wait_until_idle(Instant::now() + Duration::from_secs(60));
        assert_eq!(in_flight.left(), (Vec::new(), 0));
    }
}
