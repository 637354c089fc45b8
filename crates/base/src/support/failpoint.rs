//! Failures on demand, for tests of what happens when something breaks. Only builds with debug
//! assertions have them: nothing that is shipped or measured does.

#[cfg(debug_assertions)]
use {
    std::sync::LazyLock,
    std::sync::atomic::{AtomicUsize, Ordering},
};

/// One point that is to fail: from the first time that it is reached to the last, counted from 1.
#[cfg(debug_assertions)]
struct Point {
    name: String,
    first: usize,
    last: usize,
    reached: AtomicUsize,
}

/// `HOOKWIRE_FAIL=NAME=FIRST..LAST`; without a last, it fails for good.
#[cfg(debug_assertions)]
static POINT: LazyLock<Option<Point>> = LazyLock::new(|| {
    let text = std::env::var("HOOKWIRE_FAIL").ok()?;
    let (name, times) = text.split_once('=')?;
    let (first, last) = times.split_once("..")?;
    let (first, last) = (first.parse().ok()?, last.parse().unwrap_or(usize::MAX));
    Some(Point {
        name: name.into(),
        first,
        last,
        reached: AtomicUsize::new(0),
    })
});

/// Whether the code that asks is to fail now.
#[cfg(debug_assertions)]
pub fn is_due(name: &str) -> bool {
    POINT.as_ref().is_some_and(|point| {
        point.name == name
            && (point.first..=point.last)
                .contains(&(point.reached.fetch_add(1, Ordering::Relaxed) + 1))
    })
}

/// Stops this process where the code is that asks, until a test that has changed something has it
/// go on.
pub fn hold(name: &str) {
    if is_due(name) {
        // Where it can't be stopped, the test waits in vain.
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
    }
}

#[cfg(not(debug_assertions))]
pub const fn is_due(_name: &str) -> bool {
    false
}
