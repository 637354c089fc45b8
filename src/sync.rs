//! Locks that a panic elsewhere doesn't shut.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock. What a panicking holder left is as good as anything: no holder leaves it half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
