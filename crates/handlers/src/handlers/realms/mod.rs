//! JavaScript realms, in which `script` hooks run: what a script may do is [`realm`]'s matter, on
//! which thread it does it [`pool`]'s.

pub(super) mod job;
pub mod pool;
pub(super) mod realm;
