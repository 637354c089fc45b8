//! What a program that stays up says unasked, and the end of one that floods: it takes time from
//! all events.

use parking_lot::Mutex;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::time::Instant;

/// What a program may say without being asked: lines or messages and bytes, at once and in each
/// second. Each call makes up for what it took.
const MAX_UNASKED: Volume = Volume {
    lines: 10_000,
    bytes: 32 * 1024 * 1024,
};
const UNASKED_A_SECOND: Volume = Volume {
    lines: 100,
    bytes: 1024 * 1024,
};

/// So much of what a program says.
#[derive(Clone, Copy, Debug)]
struct Volume {
    lines: usize,
    bytes: usize,
}

impl Volume {
    fn of(said: &[u8]) -> Volume {
        Volume {
            lines: memchr::memchr_iter(b'\n', said).count(),
            bytes: said.len(),
        }
    }
}

/// What a program may still say unasked.
#[derive(Debug)]
pub(super) struct Flow {
    left: Mutex<(Volume, Instant)>,
    excess: OnceLock<String>,
}

impl Default for Flow {
    fn default() -> Flow {
        Flow {
            left: Mutex::new((MAX_UNASKED, Instant::now())),
            excess: OnceLock::new(),
        }
    }
}

impl Flow {
    /// A call is made.
    pub(super) fn refill(&self) {
        *self.left.lock() = (MAX_UNASKED, Instant::now());
    }

    /// Whether the program may say this on a stream.
    pub(super) fn takes(&self, stream: &str, said: &[u8]) -> bool {
        self.takes_volume(Instant::now(), stream, Volume::of(said))
    }

    /// Whether the program may send one more message.
    #[cfg(feature = "mcp")]
    pub(super) fn takes_message(&self, stream: &str) -> bool {
        self.takes_volume(Instant::now(), stream, Volume { lines: 1, bytes: 0 })
    }

    fn takes_volume(&self, now: Instant, stream: &str, said: Volume) -> bool {
        let mut left = self.left.lock();
        let seconds = usize::try_from((now - left.1).as_secs()).unwrap_or(usize::MAX);
        if seconds > 0 {
            let more = |left: usize, rate: usize, most: usize| {
                left.saturating_add(rate.saturating_mul(seconds)).min(most)
            };
            left.0.lines = more(left.0.lines, UNASKED_A_SECOND.lines, MAX_UNASKED.lines);
            left.0.bytes = more(left.0.bytes, UNASKED_A_SECOND.bytes, MAX_UNASKED.bytes);
            // What is left of a second counts towards the next.
            left.1 += Duration::from_secs(seconds as u64);
        }
        match (
            left.0.lines.checked_sub(said.lines),
            left.0.bytes.checked_sub(said.bytes),
        ) {
            (Some(lines), Some(bytes)) => {
                left.0 = Volume { lines, bytes };
                true
            }
            (None, _) => self.exceeds(format!(
                "it flooded {stream} with more than {} lines",
                MAX_UNASKED.lines
            )),
            (_, None) => self.exceeds(format!(
                "it flooded {stream} with more than {} bytes",
                MAX_UNASKED.bytes
            )),
        }
    }

    /// Notes what it did too much.
    pub(super) fn exceeds(&self, why: String) -> bool {
        // The first excess is why it is ended.
        let _ = self.excess.set(why);
        false
    }

    /// What it did too much, in words that end a sentence.
    pub(super) fn excess(&self) -> Option<String> {
        self.excess.get().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_may_say_grows_with_time() {
        let flow = Flow::default();
        let start = flow.left.lock().1;
        let takes = |n: u64, said: &[u8]| {
            let now = start + Duration::from_millis(1900 * n);
            flow.takes_volume(now, "stderr", Volume::of(said))
        };
        assert!(takes(0, &vec![b'\n'; MAX_UNASKED.lines]));
        assert!(!takes(0, b"\n"));
        // However often it speaks meanwhile.
        for n in 1..=20 {
            assert!(takes(n, b"."));
        }
        assert!(takes(20, &vec![b'\n'; 38 * UNASKED_A_SECOND.lines]));
        assert!(!takes(20, b"\n"));
    }
}
