//! By which published bundle a host has judged: the directory of the fleet's layer, as each
//! generation had it.

use crate::hook_set::HookSet;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// How many generations are remembered. A verdict is asked about milliseconds after it was made.
const MAX_KEPT: usize = 256;

/// The directory of the fleet's layer in each of the last generations.
#[derive(Debug, Default)]
pub(crate) struct PublishedSets(Mutex<VecDeque<(u64, Option<Arc<Path>>)>>);

impl PublishedSets {
    /// Notes a set before it judges.
    pub fn note(&self, set: &HookSet) {
        let mut kept = self.0.lock();
        if kept.len() == MAX_KEPT {
            kept.pop_front();
        }
        kept.push_back((set.generation, set.published_in.clone()));
    }

    /// The directory whose definitions were a layer of a generation, as a whole.
    #[cfg(feature = "fleet")]
    pub fn of(&self, generation: u64) -> Option<Arc<Path>> {
        let kept = self.0.lock();
        kept.iter()
            .rev()
            .find(|(it, _)| *it == generation)?
            .1
            .clone()
    }
}
