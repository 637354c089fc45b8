//! A host that answers for a pool, and `hookwire hook` where a pool is asked.

use super::super::ending::make_runtime;
use super::super::output::say_on_stderr;
use super::super::{Failure, StandingArgs};
use super::Joining;
use crate::rpc::session::Side;
use crate::rpc::single;
use hookwire_ask::exchange::{Question, Unanswered};
use hookwire_ask::said::Said;
use hookwire_base::support::json;
use hookwire_engine::fleet::settings::Settings;
use hookwire_engine::host::Host;
use hookwire_fleet::name::Name;
use hookwire_fleet::pool::{self, Limits};
use hookwire_fleet::server::Server;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Handle, Runtime};
use tokio_util::sync::CancellationToken;

/// What a pool answers: events, and nothing that reads or changes what the host keeps.
const METHODS: [&str; 2] = ["hooks/dispatch", "hooks/answer"];
/// The longest that a connection for one event may take.
const CONNECTING: Duration = Duration::from_secs(10);

/// A host's work for a pool, if it has any.
#[derive(Clone, Default)]
pub(in crate::cli) struct Answering(Option<Arc<Task>>);

struct Task {
    runtime: Handle,
    stop: CancellationToken,
    ended: CancellationToken,
}

impl Answering {
    /// Begins to answer for a pool.
    pub(in crate::cli) fn begin(
        joining: &Joining,
        pool: Option<&str>,
        host: &Arc<Host>,
        runtime: &Runtime,
    ) -> Result<Answering, Failure> {
        let Some(pool) = pool else {
            return Ok(Answering(None));
        };
        let name: Name = pool
            .parse()
            .map_err(|error| Failure(format!("--pool: {error}")))?;
        let Some(member) = joining.member() else {
            return Err(Failure(format!(
                "--pool {name}: of which fleet? Write `--fleet FILE` or `--fleet nats://HOST`"
            )));
        };
        let handle = runtime.handle().clone();
        let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
        let (stops, ends) = (stop.clone(), ended.clone().drop_guard());
        let (server, host, runs) = (member.server.clone(), host.clone(), handle.clone());
        runtime.spawn(async move {
            let _ends = ends;
            let served = pool::serve_pool(
                &server,
                &name,
                Limits::default(),
                || {
                    say_on_stderr(format_args!(
                        "answering for the pool {name} at {}",
                        server.servers()
                    ))
                },
                move |request, time| {
                    let (host, runs) = (host.clone(), runs.clone());
                    async move { judge_request(&host, &runs, &request, time).await }
                },
                stops.cancelled(),
            )
            .await;
            if let Err(error) = served {
                tracing::error!("This host answers for the pool {name} no more: {error}");
            }
        });
        Ok(Answering(Some(Arc::new(Task {
            runtime: handle,
            stop,
            ended,
        }))))
    }

    /// Takes nothing more, and returns when what was begun is done. To be called off the runtime.
    pub(in crate::cli) fn leave(&self) {
        if let Some(task) = &self.0 {
            task.stop.cancel();
            task.runtime.block_on(task.ended.cancelled());
        }
    }

    /// Waits until the pool can't be answered for any more. Whoever makes it leave ends the
    /// process.
    pub(in crate::cli) fn wait(&self) {
        let Some(task) = &self.0 else { return };
        task.runtime.block_on(task.ended.cancelled());
        while task.stop.is_cancelled() {
            std::thread::park();
        }
    }
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: &'a RawValue,
}

/// The reply to a request of a client that waits so long. The error is for the client.
async fn judge_request(
    host: &Arc<Host>,
    runtime: &Handle,
    request: &[u8],
    time: Duration,
) -> Result<Vec<u8>, String> {
    let message = read_request(request, time)?;
    let reply = single::answer_message(host, runtime, Side::Caller, message.as_bytes()).await;
    if reply.is_empty() {
        Err("it has no reply to that".into())
    } else {
        Ok(reply)
    }
}

/// The request as the host gets it. It is written anew, so that what is judged is what was looked
/// at here.
fn read_request(request: &[u8], time: Duration) -> Result<String, String> {
    let text = std::str::from_utf8(request).map_err(|_| "the request is not UTF-8".to_string())?;
    let Request { id, method, params } = serde_json::from_str(text)
        .map_err(|error| format!("the request can't be read: {error}"))?;
    if !METHODS.contains(&&*method) {
        return Err(format!(
            "a pool answers {}, not {method:?}",
            METHODS.join(" and ")
        ));
    }
    let params = match json::parse(params.get()) {
        Ok(params) => hurry_params(params, time).to_string(),
        // The host says what is wrong with it.
        Err(_) => params.get().to_string(),
    };
    Ok(format!(
        r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#,
        id.get()
    ))
}

/// The params with a deadline that is no later than their client's.
fn hurry_params(mut params: Value, time: Duration) -> Value {
    const DEADLINE: &str = "deadlineMs";
    let most = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let sent = params.get(DEADLINE);
    if let (Some(object), true) = (
        params.as_object(),
        sent.is_none_or(|sent| sent.as_u64().is_some_and(|it| it > most)),
    ) {
        let mut object = object.clone();
        object.insert(DEADLINE.into(), most.max(1).into());
        params = Value::Object(object);
    }
    params
}

/// The pool that judges what happens on this machine.
pub(in crate::cli) struct Pool {
    settings: Settings,
    name: Name,
}

impl Pool {
    /// The pool that the settings name, if they do.
    pub(in crate::cli) fn from_settings(hooks: &StandingArgs) -> Result<Option<Pool>, Failure> {
        let system = !hooks.host.definitions.isolated;
        let settings = Settings::find(hooks.fleet.as_deref(), system).map_err(Failure)?;
        Ok(settings.and_then(|settings| {
            Some(Pool {
                name: settings.pool.clone()?,
                settings,
            })
        }))
    }

    /// Asks it what the command is to do.
    pub(in crate::cli) fn ask(&self, question: &Question<'_>) -> Result<Said, Failure> {
        let about = |problem: &dyn std::fmt::Display| {
            Failure(format!("{}: {problem}", self.settings.place()))
        };
        make_runtime()?.block_on(async {
            let end = Instant::now() + question.time_limit;
            let connecting = CONNECTING.min(question.time_limit / 2);
            let server = Server::connect(&self.settings.server, connecting)
                .await
                .map_err(|error| about(&error))?;
            let left = end.saturating_duration_since(Instant::now());
            let request = Question {
                time_limit: left,
                ..question.clone()
            }
            .request();
            let answer = pool::ask_pool(&server, &self.name, request.into(), left)
                .await
                .map_err(|error| about(&error))?;
            let answer = serde_json::from_slice(&answer).map_err(|error| about(&error))?;
            Question::read_answer(answer).map_err(|unanswered| match unanswered {
                Unanswered::Unreached(error) | Unanswered::Lost(error) => about(&error),
                Unanswered::Refused(problem) => about(&problem),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::read_request;
    use std::time::Duration;

    #[test]
    fn a_pool_answers_events_only_and_in_time() {
        let time = Duration::from_millis(500);
        for (request, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"hooks/dispatch","params":{"event":"Stop"}}"#,
                Ok(
                    r#"{"jsonrpc":"2.0","id":7,"method":"hooks/dispatch","params":{"deadlineMs":500,"event":"Stop"}}"#,
                ),
            ),
            (
                r#"{"id":"a","method":"hooks\u002fdispatch","params":{"deadlineMs":900}}"#,
                Ok(
                    r#"{"jsonrpc":"2.0","id":"a","method":"hooks/dispatch","params":{"deadlineMs":500}}"#,
                ),
            ),
            (
                r#"{"id":1,"method":"hooks/answer","params":{"deadlineMs":9}}"#,
                Ok(r#"{"jsonrpc":"2.0","id":1,"method":"hooks/answer","params":{"deadlineMs":9}}"#),
            ),
            (
                r#"{"id":1,"method":"hooks/answer","params":{"a":1,"a":2}}"#,
                Ok(r#"{"jsonrpc":"2.0","id":1,"method":"hooks/answer","params":{"a":1,"a":2}}"#),
            ),
            (
                r#"{"id":1,"method":"state/set","params":{}}"#,
                Err("not \"state/set\""),
            ),
            (
                r#"{"id":1,"method":"approvals/answer","params":{}}"#,
                Err("a pool answers"),
            ),
            (
                r#"{"id":1,"method":"hooks/dispatch","method":"state/set","params":{}}"#,
                Err("duplicate field"),
            ),
            (
                r#"[{"id":1,"method":"hooks/dispatch","params":{}}]"#,
                Err("can't be read"),
            ),
            (
                r#"{"method":"hooks/dispatch","params":{}}"#,
                Err("missing field `id`"),
            ),
            ("", Err("can't be read")),
        ] {
            let found = read_request(request.as_bytes(), time);
            match (&found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(found), Err(expected)) if found.contains(expected) => {}
                _ => panic!("{request}: {found:?}"),
            }
        }
    }
}
