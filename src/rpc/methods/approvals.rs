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

pub(super) fn answer(session: &Session, ApprovalAnswer { id, reply }: ApprovalAnswer) -> RpcResult<()> {
    let answered = session.host.engine.services.approvals.answer(&id, reply);
    answered.map_err(|error| RpcError::params(format!("`id`: {error}")))
}
