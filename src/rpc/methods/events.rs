//! What happens to an event: `hooks/dispatch` judges it, `hooks/explain` says which hooks would
//! run, `hooks/recent` gives what was judged lately.

use crate::rpc::VERDICTS;
use crate::rpc::aside::run_aside;
use crate::rpc::error::{RpcError, RpcResult};
use crate::rpc::params::{as_object, decode_params};
use crate::rpc::protocol::{
    AnswerParams, AnswerResult, DialectEvent, ExplainResult, RecentParams, RecentReply,
};
use crate::rpc::session::Session;
use hookwire_ask::said::Said;
use hookwire_base::event::Event;
use hookwire_base::support::json_writer;
use hookwire_base::verdict::Verdict;
use hookwire_dialects::asked::{self, Asked};
use hookwire_dialects::{self as dialects, Dialect, Turn};
use hookwire_engine::engine::{self, Engine, HooksInForce, Question};
use hookwire_engine::hook_set::HookSet;
use hookwire_engine::journal::{Sender, Via};
use hookwire_engine::ledger::Answered;
use hookwire_rules::contract::Honours;
use hookwire_rules::matching::Facts;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Where a tool call's id is.
const CALL_ID: &str = "/tool/callId";
/// The members of payloads that tell a moment from the next one like it, beside a call's id.
const MARKS: [&str; 2] = ["timestamp", "stepIdx"];
/// Guards read an event to its end: one that is longer than this, in bytes, isn't judged on the
/// reader.
const LONG: usize = 64 * 1024;

/// How long a question of any user's may take.
const TIME_OF_USER: Duration = Duration::from_secs(60);

/// An event that was sent, with its verdict.
pub(crate) struct Judged {
    pub(crate) event: Arc<Event>,
    pub(crate) verdict: Verdict,
    dialect: &'static Dialect,
    /// Nobody wanted anything: it is noted nowhere.
    is_probe: bool,
}

/// Judges an event, and writes the verdict behind what is in `out`.
pub(super) async fn dispatch(
    session: &Session,
    sent: Value,
    text: &str,
    out: &mut Vec<u8>,
) -> RpcResult<()> {
    let (event, dialect) = read_event(session, as_object(sent)?)?;
    let judged = judge_event(session, Arc::new(event), dialect, text.len()).await?;
    let Judged {
        event,
        verdict,
        dialect,
        ..
    } = &judged;
    // The verdict is written once, for the client and for the journal.
    let is_translated = dialect.name() != dialects::NATIVE;
    if is_translated {
        out.extend_from_slice(br#"{"reply":"#);
        json_writer::write(out, &dialect.reply_to(event, verdict)).map_err(RpcError::internal)?;
        out.extend_from_slice(br#","verdict":"#);
    }
    let start = out.len();
    json_writer::write(out, verdict).map_err(RpcError::internal)?;
    note_verdict(
        session,
        &judged,
        None,
        text,
        out.get(start..).unwrap_or_default(),
    );
    if is_translated {
        out.push(b'}');
    }
    Ok(())
}

/// Judges an event as an agent's hook was asked about it, and writes what the hook's command is to
/// do.
pub(super) async fn answer(
    session: &Session,
    sent: Value,
    _: &str,
    out: &mut Vec<u8>,
) -> RpcResult<()> {
    let (asked, sent) = read_question(session, &sent)?;
    let answered = answer_question(session, asked, &sent).await;
    json_writer::write(out, &answered).map_err(RpcError::internal)
}

/// What a hook's command asks, and what the agent has sent.
pub(super) fn read_question(session: &Session, sent: &Value) -> RpcResult<(Asked, String)> {
    let AnswerParams {
        agent,
        event,
        fails_open,
        deadline_ms,
        attended,
        sent,
    } = decode_params(sent)?;
    let mut asked = Asked::new(
        asked::agent_dialect(&agent).map_err(RpcError::params)?,
        event,
    );
    (asked.fails_open, asked.attended) = (fails_open, attended);
    asked.time_limit = deadline_ms.map_or(asked.time_limit, Duration::from_millis);
    asked.asker = session.asker().map(|asker| asker.uid);
    if asked.asker.is_some() {
        asked.time_limit = asked.time_limit.min(TIME_OF_USER);
    }
    Ok((asked, sent))
}

/// Judges an event, and says what the hook's command is to do.
pub(super) async fn answer_question(
    session: &Session,
    mut asked: Asked,
    sent: &str,
) -> AnswerResult {
    let judged = match asked.read_payload(sent.as_bytes(), asked::EVENT) {
        Ok(payload) => {
            let judged = judge_and_note(session, &asked, Via::Command, payload).await;
            judged.map_err(|error| error.message)
        }
        Err(problem) => Err(problem),
    };
    if let (Err(_), Some(ledger)) = (&judged, session.host.ledger.get()) {
        ledger.note_failure();
    }
    let said = asked.said(judged.map(
        |Judged {
             event,
             verdict,
             dialect,
             ..
         }| dialect.reply_to(&event, &verdict),
    ));
    let Said {
        stdout,
        stderr,
        exit,
    } = said;
    AnswerResult {
        stdout,
        stderr,
        exit,
    }
}

/// Judges an event that came as an agent sends it, in its words. What two entries of the agent ask
/// about is judged once, if the payload tells it from the next like it.
pub(crate) async fn judge_and_note(
    session: &Session,
    asked: &Asked,
    via: Via,
    payload: Value,
) -> RpcResult<Judged> {
    let (agent, time_limit) = (asked.agent, asked.time_limit);
    // The journal keeps what a client would have sent.
    let mut text = Vec::new();
    json_writer::write(&mut text, &asked::Params::new(agent, &payload, time_limit))
        .map_err(RpcError::internal)?;
    let text = String::from_utf8(text).map_err(RpcError::internal)?;
    let is_marked = MARKS.iter().any(|mark| payload.get(mark).is_some());
    let event = asked.read_event(payload, time_limit);
    let event = Arc::new(event.map_err(RpcError::params)?);
    let judge = || async {
        let judged = judge_event(session, event.clone(), agent, text.len()).await?;
        let mut written = Vec::new();
        json_writer::write(&mut written, &judged.verdict).map_err(RpcError::internal)?;
        note_verdict(session, &judged, Some(via), &text, &written);
        note_answer(session, &judged, text.len());
        RpcResult::Ok(judged.verdict)
    };
    // Otherwise nobody could tell a call from the next one like it.
    let verdict = if is_marked || event.text(CALL_ID).is_some() {
        let hooks = session.host.hooks();
        let repeated = &session.host.engine.repeated;
        let own = agent.moment(&event);
        let moment = own.as_deref().unwrap_or(&text);
        let is_judged_here = AtomicBool::new(false);
        // Nobody is told what another user was told.
        let asker = asked.asker.map(|uid| uid.to_string()).unwrap_or_default();
        let verdict = repeated
            .judge(&[agent.name(), &hooks.hash, moment, &asker], async {
                is_judged_here.store(true, Ordering::Relaxed);
                judge().await
            })
            .await?;
        let is_here = is_judged_here.into_inner();
        match (&verdict.subject, own) {
            (Some(input), Some(_)) if is_here && &*event.name == "PreToolUse" => {
                // Another entry is asked with what this one has made of the call.
                let mut rewritten = Event::clone(&event);
                rewritten.change(|data| data["tool"]["input"] = input.clone());
                if let Some(moment) = agent.moment(&rewritten) {
                    repeated.tell(
                        &[agent.name(), &hooks.hash, &moment, &asker],
                        verdict.clone(),
                    );
                }
                verdict
            }
            // A result has another form in each entry.
            (Some(_), Some(_)) if !is_here && &*event.name != "PreToolUse" => judge().await?,
            _ => verdict,
        }
    } else {
        judge().await?
    };
    Ok(Judged {
        event,
        verdict,
        dialect: agent,
        is_probe: false,
    })
}

/// Judges an event of so many bytes.
async fn judge_event(
    session: &Session,
    event: Arc<Event>,
    dialect: &'static Dialect,
    length: usize,
) -> RpcResult<Judged> {
    // The hooks are those in force now, whenever they come to judge; what is being changed counts
    // as changed.
    let deadline = engine::deadline(&event);
    let mut hooks = match session.is_settled() {
        true => session.hooks_in_force(),
        // Boxed, or the wait would be part of every event's future.
        false => Box::pin(before_deadline(deadline, session.hooks_when_read()))
            .await
            .ok_or_else(|| {
                RpcError::internal("the definitions were still being read at the event's deadline")
            })?,
    };
    hooks.files = session.host.joined(hooks.files, &event);
    if let Some(verdict) = session
        .host
        .engine
        .answer_probe(&hooks, dialect, &event)
        .await
    {
        return Ok(Judged {
            event,
            verdict,
            dialect,
            is_probe: true,
        });
    }
    let question = make_question(session, event.clone(), deadline, dialect, hooks);
    let judging = session.host.interceptor.intercept(question);
    let mut verdict = if length > LONG {
        run_aside(judging).await
    } else {
        judging.await
    };
    if let Some((turn, call)) = dialect.turn(&event) {
        let call = [dialect.name(), event.session(), &call];
        match turn {
            Turn::Leaves => session.host.engine.passed_on.leave(&call, &verdict),
            Turn::Asks => session.host.engine.passed_on.ask(&call, &mut verdict),
        }
    }
    Ok(Judged {
        event,
        verdict,
        dialect,
        is_probe: false,
    })
}

/// Tells the log and the journal of a verdict, which is written there already.
fn note_verdict(session: &Session, judged: &Judged, via: Option<Via>, text: &str, written: &[u8]) {
    let Judged {
        event,
        verdict,
        dialect,
        is_probe,
    } = judged;
    tracing::info!(
        target: VERDICTS,
        event = &*event.name,
        tool = event.tool_name(),
        session = event.session(),
        decision = verdict.decision.as_str(),
        by = verdict.decided_by.as_deref(),
        reason = verdict.reason.as_ref().map(tracing::field::debug),
        rewritten = verdict.subject.is_some(),
        micros = verdict.outcomes.iter().map(|it| it.duration_micros).sum::<u64>(),
        "Judged."
    );
    if !is_probe {
        let from = Sender {
            dialect: dialect.name(),
            client: session.client(),
            via,
        };
        session
            .host
            .journal
            .write(event, from, text, verdict, written);
    }
}

/// Notes in the ledger, if there is one, what an agent is told about an event of so many bytes.
fn note_answer(session: &Session, judged: &Judged, bytes: usize) {
    let Judged {
        event,
        verdict,
        dialect,
        is_probe,
    } = judged;
    let answered = session.host.ledger.get().and_then(|ledger| {
        let answered = (!is_probe).then(|| Answered::new(dialect.name(), event, Some(verdict)));
        Some((ledger, answered.flatten()?))
    });
    if let Some((ledger, answered)) = answered {
        ledger.note(answered, bytes);
    }
}

/// What there is before a deadline; `None` if it comes later.
async fn before_deadline<T>(deadline: Option<Instant>, work: impl Future<Output = T>) -> Option<T> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline, work).await.ok(),
        None => Some(work.await),
    }
}

fn make_question(
    session: &Session,
    event: Arc<Event>,
    deadline: Option<Instant>,
    dialect: &'static Dialect,
    hooks: HooksInForce,
) -> Question {
    let declared = session.declared();
    let mut honours = declared.unwrap_or_default();
    if dialect.name() != dialects::NATIVE
        && (dialect.agent.is_some() || dialect.row(&event.name).is_some())
    {
        // A vocabulary has words for some decisions, of which its client may know fewer.
        let spoken = dialect.honours(&event);
        honours = declared.map_or(spoken, |declared| Honours {
            ask: spoken.ask && declared.ask,
            defer: spoken.defer && declared.defer,
            rewrite: spoken.rewrite && declared.rewrite,
            withhold: spoken.withhold,
        });
    }
    Question {
        event,
        deadline,
        hooks,
        contract: &dialect.contract,
        honours,
        client: session.as_client(),
        early_deadline: session.early_deadline.clone(),
    }
}

/// An event as it was sent: native, or in a dialect's words.
fn read_event(session: &Session, mut params: Value) -> RpcResult<(Event, &'static Dialect)> {
    let has = |key| params.get(key).is_some();
    if !has("payload") && (has("event") || !has("dialect")) {
        let event = Event::from_json(params).map_err(RpcError::params)?;
        return Ok((event, dialects::native()));
    }
    // A payload may be large: it is moved past the check of its neighbours.
    let payload = params
        .get_mut("payload")
        .map(Value::take)
        .unwrap_or_default();
    let DialectEvent {
        dialect,
        payload: _,
        deadline_ms,
    } = decode_params(&params)?;
    let dialect = match dialect {
        Some(name) => dialects::by_name(&name).map_err(RpcError::params)?,
        None => session.dialect(),
    };
    let mut event = dialect.read_event(payload).map_err(RpcError::params)?;
    if let Some(deadline) = deadline_ms {
        event.change(|data| data["deadlineMs"] = deadline.into());
    }
    Ok((event, dialect))
}

pub(super) async fn explain(session: &Session, sent: Value) -> RpcResult<ExplainResult> {
    let (event, _) = read_event(session, sent)?;
    let mut hooks = session.hooks_when_read().await;
    hooks.files = session.host.joined(hooks.files, &event);
    let engine = &session.host.engine;
    let root = engine.services.root.clone();
    let explain = move || {
        let registered = hooks.session.iter().flat_map(|set| &set.hooks);
        let facts = Facts::new(Arc::new(event), &root).with_names(&hooks.files.tool_names);
        let sets = [Some(&hooks.files), hooks.session.as_ref()];
        let broken: Vec<String> = sets
            .into_iter()
            .flatten()
            .flat_map(|set| set.broken.iter().cloned())
            .collect();
        let explained = ExplainResult::new(
            hooks.files.hooks.iter().chain(registered),
            &hooks.files.policies,
            &broken,
            &facts,
        );
        let HookSet {
            generation,
            hash,
            notices,
            ..
        } = &*hooks.files;
        ExplainResult {
            generation: Some(*generation),
            hash: Some(hash.clone()),
            notices: notices.to_vec(),
            ..explained
        }
    };
    let explained = engine.aside(Engine::LONGEST, explain).await;
    explained.ok_or_else(|| {
        RpcError::internal("it took too long to hold the hooks' conditions against the event")
    })
}

pub(super) fn recent(session: &Session, params: RecentParams) -> RpcResult<RecentReply> {
    let RecentParams {
        limit,
        event,
        after,
    } = params;
    // No event has a name that no dialect knows.
    let events = event
        .map(|name| dialects::canonical_names(&name, session.dialect().name()).unwrap_or_default());
    Ok(RecentReply {
        excerpt: session
            .host
            .journal
            .excerpt(after, limit.unwrap_or(usize::MAX), |name| {
                events
                    .as_ref()
                    .is_none_or(|events| events.iter().any(|event| **event == *name))
            }),
        root: session.host.root().to_string_lossy().into_owned(),
        published: session.host.published(),
        clients: session.others(),
    })
}
