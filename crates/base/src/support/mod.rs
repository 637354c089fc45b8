//! Code that has nothing to do with hooks: strict JSON, numbers by their digits, digests, files,
//! changes of a text and what differs between two, texts that hide nothing, words for a shell, the
//! nearest name, amounts in words, where users and agents keep their files.

pub mod amounts;
pub mod below;
pub mod changes;
pub mod decimal;
pub mod digest;
pub mod failpoint;
pub mod file;
pub mod json;
pub mod json_writer;
pub mod looks;
pub mod memory;
pub mod nearest;
pub mod os_error;
pub mod places;
pub mod process;
pub mod program;
pub mod rotating;
pub mod secret_files;
pub mod shell_word;
pub mod visible;
