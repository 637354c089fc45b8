//! What is written at a place, explained.

use super::{Answer, Snapshot};
use ls_types::{Hover, HoverParams};

pub(super) fn hover(_: &Snapshot, _: HoverParams) -> Answer<Option<Hover>> {
    Ok(None)
}
