//! `POST /hook/AGENT`: an agent's event in, the agent's own reply out, as `hookwire hook AGENT`
//! gives it.
//!
//! To the agents, no status code is a "no": one that isn't 2xx is a hook that failed, and the tool
//! runs. So what fails in here is said as a verdict, in words that the agent obeys.

use super::Service;
use super::body;
use super::reply::{self, Reply};
use crate::rpc::single;
use hookwire_dialects::Dialect;
use hookwire_dialects::asked::{self, Asked};
use hyper::Request;
use hyper::body::Incoming;
use std::time::Duration;
use tokio::time::timeout;

/// How much longer than its deadline an event may take before it counts as lost.
const GRACE: Duration = Duration::from_secs(2);

/// Answers one event. The connection ends with the reply, because an agent that uses it again just
/// when it is closed would take that for a hook that failed.
pub(super) async fn answer_event(
    service: &Service,
    agent: &'static Dialect,
    request: Request<Incoming>,
) -> Reply {
    let mut asked = Asked::new(agent, None);
    let query = request.uri().query().unwrap_or_default().to_string();
    // The body is read whatever the address says, because an agent reads no reply before it has
    // sent all.
    let body = body::read_body(request.into_body(), service.max_message).await;
    let body = body.map_err(|unread| unread.to_string());
    let judged = match (read_options(&mut asked, &query), body) {
        (Ok(()), Ok(body)) => judge_body(service, &mut asked, &body).await,
        (Err(problem), _) | (_, Err(problem)) => Err(problem),
    };
    let said = judged.unwrap_or_else(|problem| {
        let refusal = asked
            .agent
            .refusing_reply(&asked::refusal(&problem), &asked.moment);
        let refusal = refusal.filter(|_| !asked.fails_open);
        // What can't be denied isn't, but somebody should know.
        let is_denied = refusal.is_some();
        tracing::warn!(
            agent = asked.agent.name(),
            event = asked.moment.name,
            is_denied,
            "An http hook failed: {problem}"
        );
        refusal
            .map(|refusal| refusal.to_string())
            .unwrap_or_default()
    });
    reply::close_after(reply::json_reply(said))
}

/// Reads the options, which are those of `hookwire hook`.
fn read_options(asked: &mut Asked, query: &str) -> Result<(), String> {
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match (&*name, &*value) {
            ("event", event) => asked.moment.name = event.to_string(),
            ("fail", "open") => asked.fails_open = true,
            ("fail", "closed") => asked.fails_open = false,
            ("timeout", time) => {
                asked.time_limit =
                    humantime::parse_duration(time).map_err(|error| format!("?timeout={error}"))?;
            }
            (name, _) => {
                return Err(format!(
                    "?{name}: there are event, fail=open or closed, and timeout"
                ));
            }
        }
    }
    Ok(())
}

async fn judge_body(service: &Service, asked: &mut Asked, body: &[u8]) -> Result<String, String> {
    let payload = asked.read_payload(body, "?event=")?;
    let judged = single::judge_payload(&service.host, &service.runtime, asked, payload);
    let judged = timeout(asked.time_limit.saturating_add(GRACE), judged).await;
    let judged = judged.map_err(|_| "there was no verdict in time")??;
    Ok(asked::text_for_agent(
        &asked.agent.reply_to(&judged.event, &judged.verdict),
    ))
}
