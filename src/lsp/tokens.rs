//! The small languages inside of values: rules, conditions, templates.

use super::{Answer, Snapshot};
use ls_types::{SemanticTokensLegend, SemanticTokensParams, SemanticTokensResult};

pub(super) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend::default()
}

pub(super) fn tokens(_: &Snapshot, _: SemanticTokensParams) -> Answer<Option<SemanticTokensResult>> {
    Ok(None)
}
