//! The clock by which hooks have their time. The engine's own tests have one that jumps.

#[cfg(test)]
pub(super) mod jumping;

#[cfg(test)]
pub(super) use jumping::{now, sleep_until};
#[cfg(not(test))]
pub(super) use tokio::time::sleep_until;

#[cfg(not(test))]
pub(super) fn now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}
