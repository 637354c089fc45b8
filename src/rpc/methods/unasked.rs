//! `host/unasked`: the last day's calls that nobody was asked about.

use crate::rpc::error::{RpcError, RpcResult};
use crate::rpc::protocol::UnaskedReply;
use crate::rpc::session::Session;
use std::time::Duration;

/// How old a count may be.
const AGE: Duration = Duration::from_secs(60);

pub(super) async fn unasked(session: &Session) -> RpcResult<UnaskedReply> {
    let host = session.host.clone();
    // It reads files for seconds.
    let counted = tokio::task::spawn_blocking(move || {
        let last_day = host.last_day.get();
        last_day.map(|last_day| last_day.not_older(AGE).to_vec())
    });
    let agents = counted.await.map_err(RpcError::internal)?;
    Ok(UnaskedReply {
        agents: agents.unwrap_or_default(),
    })
}
