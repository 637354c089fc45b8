//! What stands above a hook: how to run it on a real event, and what it has done so far.

use super::{Answer, Snapshot};
use ls_types::{CodeLens, CodeLensParams};

pub(super) fn lenses(_: &Snapshot, _: CodeLensParams) -> Answer<Option<Vec<CodeLens>>> {
    Ok(None)
}
