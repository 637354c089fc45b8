//! Code that has nothing to do with hooks: strict JSON, numbers by their digits, digests, files, the nearest name.

pub(crate) mod decimal;
pub mod digest;
pub mod failpoint;
pub mod file;
pub mod json;
pub mod nearest;
pub mod places;
