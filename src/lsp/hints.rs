//! What the files together make of a hook: when it runs among the others.

use super::{Answer, Snapshot};
use ls_types::{InlayHint, InlayHintParams};

pub(super) fn hints(_: &Snapshot, _: InlayHintParams) -> Answer<Option<Vec<InlayHint>>> {
    Ok(None)
}
