//! What could be written at a place.

use super::{Answer, Snapshot};
use ls_types::{CompletionParams, CompletionResponse};

pub(super) fn completion(_: &Snapshot, _: CompletionParams) -> Answer<Option<CompletionResponse>> {
    Ok(None)
}
