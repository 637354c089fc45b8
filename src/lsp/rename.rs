//! A hook gets another name.

use super::{Answer, Snapshot};
use ls_types::{PrepareRenameResponse, RenameParams, TextDocumentPositionParams, WorkspaceEdit};

pub(super) fn prepare(_: &Snapshot, _: TextDocumentPositionParams) -> Answer<Option<PrepareRenameResponse>> {
    Ok(None)
}

pub(super) fn rename(_: &Snapshot, _: RenameParams) -> Answer<Option<WorkspaceEdit>> {
    Ok(None)
}
