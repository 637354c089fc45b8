//! The outline of a file: its hooks, and what can be folded.

use super::{Answer, Snapshot};
use ls_types::{DocumentSymbolParams, DocumentSymbolResponse, FoldingRange, FoldingRangeParams};

pub(super) fn symbols(_: &Snapshot, _: DocumentSymbolParams) -> Answer<Option<DocumentSymbolResponse>> {
    Ok(None)
}

pub(super) fn folding(_: &Snapshot, _: FoldingRangeParams) -> Answer<Option<Vec<FoldingRange>>> {
    Ok(None)
}
