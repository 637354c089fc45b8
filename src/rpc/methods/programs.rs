//! Programs that start: `programs/named` and `programs/have`.

use crate::rpc::error::RpcResult;
use crate::rpc::protocol::Have;
use crate::rpc::session::Session;
use hookwire_engine::starts::NamedPrograms;

/// From here on the client is told when it is another answer.
pub(super) async fn named(session: &Session) -> RpcResult<NamedPrograms> {
    session.host.engine.watch_calls();
    session.tell_named();
    let hooks = session.hooks_when_read().await;
    Ok(NamedPrograms::of(&hooks.files))
}

pub(super) fn have(_: &Session, Have { generation }: Have) -> RpcResult<()> {
    tracing::debug!(
        generation,
        "Programs that start are asked about by other definitions."
    );
    Ok(())
}
