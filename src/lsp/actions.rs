//! What can be mended or made better at a place.

use super::{Answer, Snapshot};
use ls_types::{CodeActionParams, CodeActionResponse};

pub(super) fn actions(_: &Snapshot, _: CodeActionParams) -> Answer<Option<CodeActionResponse>> {
    Ok(None)
}
