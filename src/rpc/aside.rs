//! Work that the reader has no time for.

use std::future::poll_fn;
use std::pin::pin;
use tokio::task::{block_in_place, yield_now};

/// Does work that computes for long beside the reader, which polls it once, and without keeping
/// what else runs waiting for a thread. For the runtimes of connections only, which have several
/// threads.
pub(super) async fn run_aside<T>(work: impl Future<Output = T>) -> T {
    yield_now().await;
    let mut work = pin!(work);
    poll_fn(|context| block_in_place(|| work.as_mut().poll(context))).await
}
