//! Processes that stay up between events and run the functions of `callable` hooks.
//!
//! [`worker`] is one worker as its callers see it, [`life`] its process, [`launch`] how that is
//! started; [`wire`] is the protocol, [`listen`] takes what the process writes, [`store`] does what
//! it asks of the store. `worker.py` and `worker.mjs` are the other end.

pub(super) mod launch;
mod life;
mod listen;
mod sources;
mod store;
pub(super) mod wire;
pub(super) mod worker;
