//! Looks at a file system, which may hang: then few threads hang with it.

use tokio::sync::Semaphore;

/// How many threads look at once.
const MOST: usize = 16;

/// What `at` finds, on a thread that may wait. Waits until one is free; none if `at` panics.
pub async fn look<T: Send + 'static>(at: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    static LOOKS: Semaphore = Semaphore::const_new(MOST);
    let permit = LOOKS.acquire().await.ok()?;
    let look = move || {
        let _permit = permit;
        at()
    };
    tokio::task::spawn_blocking(look).await.ok()
}
