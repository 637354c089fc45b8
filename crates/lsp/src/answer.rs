//! The answer to a question of the editor: a value, or the reason why there is none.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a question has no answer.
#[derive(Debug)]
pub enum Refusal {
    /// The params are not what the method takes.
    Params(String),
    /// The documents have changed since. (LSP: `ContentModified`.)
    Stale,
    /// It can't be done; for people. (LSP: `RequestFailed`.)
    Failed(String),
}

/// The answer to a question.
pub type Answer<T> = Result<T, Refusal>;

/// The params of a method as its type.
pub(super) fn typed_params<T: DeserializeOwned>(params: Value) -> Answer<T> {
    serde_json::from_value(params).map_err(|error| Refusal::Params(error.to_string()))
}

/// Does work that takes time on a thread of its own, because the reader of the connection must not
/// wait for it.
pub(super) async fn off_the_reader<T: Send + 'static>(
    work: impl FnOnce() -> Answer<T> + Send + 'static,
) -> Answer<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Refusal::Failed("hookwire has a bug here; the log says more".into()))?
}
