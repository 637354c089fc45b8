//! A directory of definitions, before any file of it is read.

use super::signed::Signed;
use hookwire_base::syntax::source::Layer;
use std::ffi::OsStr;
use std::path::PathBuf;

/// A directory of definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerDir {
    /// Who vouches for it.
    pub layer: Layer,
    /// Absolute.
    pub path: PathBuf,
    /// In which state it counts.
    pub kept: Kept,
}

/// In which state a directory of definitions counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// As it is.
    AsItIs,
    /// As somebody has approved it: the state that the first of these leads to that leads to one;
    /// see [`approved`](super::approved).
    Approved(Vec<PathBuf>),
    /// As it is, and it's told how that differs from the approved state.
    Compared(Vec<PathBuf>),
    /// As somebody has signed it, in memory: the directory itself isn't read.
    Signed(Signed),
}

/// Editors' swap and backup files.
pub(super) fn is_hidden(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b".") || name.starts_with(b"#") || name.ends_with(b"~")
}
