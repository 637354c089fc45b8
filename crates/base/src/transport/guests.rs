//! Who is connected, counted: how many there are, and when the last one went.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Connections that last, of a host that has no client of its own: its guests are the agents.
pub const MAX_AGENTS: usize = 512;
/// How often a host that nobody uses is looked after.
const LOOK: Duration = Duration::from_secs(5);

/// See the module.
pub struct Guests {
    /// How many there are, and when the last one ended.
    open: Mutex<(usize, Instant)>,
    changed: Condvar,
}

/// One that is connected, until it is dropped.
pub struct Place(Arc<Guests>);

impl Guests {
    /// Nobody yet.
    pub fn new() -> Arc<Guests> {
        Arc::new(Guests {
            open: Mutex::new((0, Instant::now())),
            changed: Condvar::new(),
        })
    }

    /// One more, and how many there were before.
    pub fn enter(self: &Arc<Guests>) -> (Place, usize) {
        let mut open = self.open.lock();
        open.0 += 1;
        (Place(self.clone()), open.0 - 1)
    }

    /// Returns once nobody has been connected for this long, or if it `is_over` with so many who
    /// are, which is looked at now and then.
    pub fn await_idle(&self, time: Duration, is_over: impl Fn(usize) -> bool) {
        let mut open = self.open.lock();
        loop {
            let idle = if open.0 == 0 {
                open.1.elapsed()
            } else {
                Duration::ZERO
            };
            if idle >= time && open.0 == 0 || is_over(open.0) {
                return;
            }
            let left = if open.0 == 0 { time - idle } else { LOOK };
            self.changed.wait_for(&mut open, LOOK.min(left));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.0.open.lock();
        *open = (open.0.saturating_sub(1), Instant::now());
        self.0.changed.notify_all();
    }
}
