//! `approvals/*`: the questions that wait for a person.

use crate::always::{self, Always};
use crate::rpc::error::{RpcError, RpcResult};
use crate::rpc::explained::read_commands;
use crate::rpc::protocol::{ApprovalAnswer, ApprovalList, ApprovalNamed};
use crate::rpc::session::Session;
use hookwire_base::event::Event;
use hookwire_engine::hook::Hook;
use hookwire_rules::matching::Facts;
use std::sync::Arc;
use std::time::Duration;

pub(super) fn list(session: &Session) -> RpcResult<ApprovalList> {
    Ok(ApprovalList {
        root: session.host.root().to_string_lossy().into_owned(),
        approvals: session.host.engine.services.approvals.list(),
    })
}

pub(super) fn answer(
    session: &Session,
    ApprovalAnswer { id, reply }: ApprovalAnswer,
) -> RpcResult<()> {
    // An agent would answer what a person is asked about it.
    if session.is_from_held() {
        return Err(RpcError::request(
            "the program that answers is held, by `hookwire run` or another sandbox that this host is not in, and what is \
             held answers no question; answer from a terminal or an editor outside",
        ));
    }
    let answered = session.host.engine.services.approvals.answer(&id, reply);
    answered.map_err(|error| RpcError::params(format!("`id`: {error}")))
}

/// How long the record may be looked through, with all else.
const ALWAYS_TIME: Duration = Duration::from_secs(8);

pub(super) async fn always(session: &Session, named: ApprovalNamed) -> RpcResult<Always> {
    let ApprovalNamed { id } = named;
    let host = &session.host;
    let waiting = host.engine.services.approvals.list();
    let question = waiting.into_iter().find(|it| it.id == id);
    let question =
        question.ok_or_else(|| RpcError::params(format!("`id`: no approval `{id}` waits")))?;
    let event = Event::from_json(always::event_of(&question)).map_err(RpcError::params)?;
    let hooks = host.joined(host.hooks(), &event);
    let root = host.engine.services.root.clone();
    let propose = move || {
        let facts = Facts::new(Arc::new(event), &root).with_names(&hooks.tool_names);
        let names: Vec<&str> = question.hook.split(", ").collect();
        let asks = |hook: &&Arc<Hook>| names.contains(&&*hook.name) && hook.applies(&facts).is_ok();
        let asking: Vec<Arc<Hook>> = hooks.hooks.iter().filter(asks).cloned().collect();
        let commands = read_commands(&facts).into_iter().map(|it| it.command);
        always::propose(
            &question,
            &asking,
            &facts,
            &commands.collect::<Vec<_>>(),
            &root,
        )
    };
    let proposed = host.engine.aside(ALWAYS_TIME, propose).await;
    let proposed = proposed
        .ok_or_else(|| RpcError::internal("it took too long to look at what is recorded"))?;
    proposed.map_err(RpcError::request)
}
