//! Bytes to messages and back. Knows nothing of what messages mean.

pub mod client;
pub mod framing;
pub mod guests;
pub mod outbox;
pub mod socket;
pub mod stdio;
pub mod tcp_peer;
