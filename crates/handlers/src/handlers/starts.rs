//! When the next child may start.
//!
//! Every child takes processors from the host, which has to answer each event by its deadline and
//! to run scripts. A crowd that computes would leave it none, and would come to no end itself. So
//! children start one after the other; where many live, the next one waits until the host gets a
//! processor promptly, and yields to it. Children that only wait, for a server or for a file, hold
//! up nobody.

use parking_lot::Mutex;
use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};

/// The leave to start a child; the next one may start when it is dropped.
pub(super) struct Turn {
    _permit: SemaphorePermit<'static>,
}

/// A start that takes longer hangs, on a file system that does: it holds up nobody any more.
pub(super) const LONGEST: Duration = Duration::from_millis(100);
/// How long the host sleeps to find out how late it wakes.
const NAP: Duration = Duration::from_millis(2);
/// A host that wakes later than this waits for processors.
const LATE: Duration = Duration::from_millis(6);
/// A child starts after so long even if the host is late: others may be the cause, and children
/// that wait cost nothing. It is the longer the larger the crowd is.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// How much less urgent a child of a crowd is than the host: the kernel's niceness.
pub(super) const NICENESS: i32 = 10;

static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| available_parallelism().map_or(1, NonZeroUsize::get));
static TURNS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new((*PROCESSORS / 2).max(1)));
static LAST: Mutex<Option<Instant>> = Mutex::new(None);

/// Waits for the turn of whoever asks, in the order of asking.
pub(super) async fn turn() -> Option<Turn> {
    let permit = TURNS.acquire().await.ok()?;
    Some(Turn { _permit: permit })
}

/// As many children can keep all processors busy; more are a crowd.
fn few() -> usize {
    2 * *PROCESSORS
}

/// Whether so many children are a crowd.
pub(super) fn is_crowd(n_live: usize) -> bool {
    n_live > few()
}

impl Turn {
    /// Waits until the host gets a processor promptly beside so many children.
    pub(super) async fn calm(&self, n_live: usize) {
        let longest = LONGEST_PAUSE * u32::try_from(n_live / few()).unwrap_or(u32::MAX);
        while LAST.lock().is_some_and(|last| last.elapsed() < longest) {
            let before = Instant::now();
            tokio::time::sleep(NAP).await;
            if before.elapsed() < NAP + LATE {
                break;
            }
        }
    }

    /// Notes that a child starts now.
    pub(super) fn begin(&self) {
        *LAST.lock() = Some(Instant::now());
    }
}
