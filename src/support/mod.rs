//! Code that has nothing to do with hooks: strict JSON, numbers by their digits, digests, files, changes of a text
//! and what differs between two, texts that hide nothing, words for a shell, the nearest name, amounts in words, where
//! users and agents keep their files.

pub(crate) mod amounts;
pub(crate) mod below;
pub(crate) mod changes;
pub(crate) mod decimal;
pub mod digest;
pub mod failpoint;
pub mod file;
pub mod json;
pub(crate) mod json_writer;
pub(crate) mod line_diff;
pub(crate) mod looks;
#[cfg(feature = "script")]
pub(crate) mod memory;
pub mod nearest;
pub mod os_error;
pub mod places;
pub(crate) mod process;
pub mod program;
pub(crate) mod rotating;
#[cfg(test)]
pub(crate) mod rows;
pub(crate) mod secret_files;
pub(crate) mod shell_word;
pub(crate) mod visible;
