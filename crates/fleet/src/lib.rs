//! What hosts on many machines share by a NATS server with JetStream: definitions that a team publishes, budgets that
//! count everywhere, approvals, and one stream of verdicts. Nothing of consensus, replication or delivery is written
//! here; the server does it.
//!
//! This crate knows the bus and what is on it. It knows no hook, no event and no definition: those are bytes to it, and
//! hookwire's `fleet` room says what they mean.
