//! Where the code is that a hook names.

use super::{Answer, Snapshot};
use ls_types::{GotoDefinitionParams, GotoDefinitionResponse};

pub(super) fn definition(_: &Snapshot, _: GotoDefinitionParams) -> Answer<Option<GotoDefinitionResponse>> {
    Ok(None)
}
