//! How much work one evaluation may do. Events are as large as an agent makes them, and macros
//! inside one another multiply: without a bound, one expression could keep a host busy for minutes.

use super::error::EvalError;
use crate::matching::patience;
use std::cell::Cell;

/// Steps of one evaluation: nodes evaluated, items visited, and 16 bytes of text read or made. Some
/// 20 ms.
const MAX_STEPS: usize = 1_000_000;
/// Steps of one evaluation where nobody has the time. Some 0.2 ms.
const QUICK_STEPS: usize = 10_000;
const BYTES_PER_STEP: usize = 16;

/// The steps that are left.
pub(super) struct Budget(Cell<usize>);

impl Budget {
    pub(super) fn new() -> Budget {
        Budget(Cell::new(if patience::is_quick() {
            QUICK_STEPS
        } else {
            MAX_STEPS
        }))
    }

    /// Takes steps.
    ///
    /// # Errors
    /// There are not as many left.
    pub(super) fn spend(&self, steps: usize) -> Result<(), EvalError> {
        let left = self.0.get().checked_sub(steps).ok_or_else(|| {
            // In a hurry, that says nothing of the expression: it is evaluated again.
            patience::allows_slow();
            EvalError::OverBudget
        })?;
        self.0.set(left);
        Ok(())
    }

    /// Takes the steps for reading or making so many bytes.
    pub(super) fn spend_on_text(&self, n_bytes: usize) -> Result<(), EvalError> {
        self.spend(n_bytes / BYTES_PER_STEP)
    }
}
