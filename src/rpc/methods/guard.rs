//! The machine's host and a user's own about one event: `guard/begin` judges it by what is the
//! machine's, `guard/finish` folds in what the user's host has said.

use super::events::{answer_question, read_question};
use crate::rpc::error::{RpcError, RpcResult};
use crate::rpc::guarded::{Asker, UsersHost};
use crate::rpc::params::decode_params;
use crate::rpc::protocol::{AnswerResult, BeginReply, FinishParams};
use crate::rpc::session::{Session, Side};
use hookwire_base::transport::outbox::Outbox;
use serde_json::Value;
use std::time::Instant;
use tokio_util::task::AbortOnDropHandle;

pub(super) async fn begin(session: &Session, sent: Value) -> RpcResult<BeginReply> {
    let asker = asker_of(session)?.clone();
    let (asked, sent) = read_question(session, &sent)?;
    let (began, limit) = (Instant::now(), asked.time_limit);
    let (own, is_asked) = UsersHost::new(session.host.clone());
    let hooks = own.to_hooks()?;
    let inner = Session::new(
        session.host.clone(),
        Outbox::kept(),
        session.runtime.clone(),
        Side::Asker(asker.clone()),
    );
    inner.registered().set = Some(hooks);
    // It ends with the connection, or who goes away at once could have any number judged.
    let mut said = AbortOnDropHandle::new(session.runtime.spawn(async move {
        let answered = answer_question(&inner, asked, &sent).await;
        drop(own);
        answered
    }));
    tokio::select! {
        biased;
        answered = &mut said => answered
            .map(BeginReply::Said)
            .map_err(|_| RpcError::internal("judging the event was cut off")),
        Ok(asked) = is_asked => {
            let left = limit.saturating_sub(began.elapsed());
            Ok(BeginReply::Theirs { event: asker.begin(asked, left, said) })
        }
    }
}

pub(super) async fn finish(session: &Session, sent: Value) -> RpcResult<AnswerResult> {
    let FinishParams { verdict, problem } = decode_params(&sent)?;
    let begun = asker_of(session)?
        .finish()
        .ok_or_else(|| RpcError::request("on this connection nothing has begun"))?;
    if let Some(problem) = problem {
        tracing::info!(%problem, "A user's own host says nothing.");
    }
    begun.settle(verdict.as_ref()).await
}

fn asker_of(session: &Session) -> RpcResult<&Asker> {
    session
        .asker()
        .ok_or_else(|| RpcError::request("it is served where every user may ask"))
}
