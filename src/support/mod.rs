//! Code that has nothing to do with hooks: strict JSON, numbers by their digits, digests, files, changes of a text,
//! words for a shell, the nearest name.

pub(crate) mod changes;
pub(crate) mod decimal;
pub mod digest;
pub mod failpoint;
pub mod file;
pub mod json;
#[cfg(feature = "script")]
pub(crate) mod memory;
pub mod nearest;
pub mod places;
pub(crate) mod rotating;
pub(crate) mod shell_word;
