//! `approvals/*`: the questions that wait for a person.

use crate::rpc::error::{RpcError, RpcResult};
use crate::rpc::protocol::{ApprovalAnswer, ApprovalList};
use crate::rpc::session::Session;

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
