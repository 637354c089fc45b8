//! In the place of the history, where hookwire was built without it.

use super::problem::Answer;
use serde_json::Value;
use std::path::Path;

const MISSING: &str = "this hookwire was built without `history`";

#[derive(Default)]
pub(super) struct Kept;

pub(super) type Search = Value;
pub(super) type Record = Value;
pub(super) type Against = Value;

impl Kept {
    pub(super) fn start() -> Kept {
        Kept
    }

    pub(super) fn take_record(&self, _: &str, _: &str, _: &Value) {}

    pub(super) fn lose_events(&self, _: &str, _: u64) {}

    pub(super) fn begin_run(&self, _: &str, _: u64, _: impl Iterator<Item = u64>) {}

    pub(super) fn find_record(&self, _: &Record) -> Answer {
        Err(MISSING.into())
    }

    pub(super) fn search_history(&self, _: &Search) -> Answer {
        Err(MISSING.into())
    }

    pub(super) fn suggest(&self) -> Answer {
        Err(MISSING.into())
    }

    pub(super) fn judge_against(&self, _: &Against, _: &Path) -> Answer {
        Err(MISSING.into())
    }
}
