//! Definition files as people write them: texts in three formats, the tree that they become, what
//! is wrong with it, and how a text is changed. Knows no hook.

pub mod codes;
pub mod diagnostic;
pub mod fix;
pub mod formats;
pub mod node;
pub mod problem;
pub mod quoting;
pub mod source;
pub mod values;
pub mod writer;
pub mod written;
