//! Code that has nothing to do with hooks: strict JSON, digests, files, the nearest name.

pub mod digest;
pub mod failpoint;
pub mod file;
pub mod json;
pub mod nearest;
pub mod places;
