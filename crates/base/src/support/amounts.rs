//! Numbers and times in words.

use std::time::{Duration, SystemTime};

/// `1 hook`, `2 hooks`.
pub fn number_of(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// What guards: `2 hooks`, `1 policy`, `2 hooks and 1 policy`.
pub fn number_of_guards(n_hooks: usize, n_policies: usize) -> String {
    let policies = format!(
        "{n_policies} polic{}",
        if n_policies == 1 { "y" } else { "ies" }
    );
    match (n_hooks, n_policies) {
        (_, 0) => number_of(n_hooks, "hook"),
        (0, _) => policies,
        _ => format!("{} and {policies}", number_of(n_hooks, "hook")),
    }
}

/// A duration in words: `42 µs`, `0.3 ms`, `12 ms`, `1.2 s`.
pub fn duration(micros: u64) -> String {
    match micros {
        0..100 => format!("{micros} µs"),
        100..9_950 => format!("{:.1} ms", micros as f64 / 1e3),
        9_950..999_500 => format!("{:.0} ms", micros as f64 / 1e3),
        _ => format!("{:.1} s", micros as f64 / 1e6),
    }
}

/// The whole milliseconds of a duration.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A time in RFC 3339, to the millisecond.
pub fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_words() {
        for (micros, expected) in [
            (0, "0 µs"),
            (99, "99 µs"),
            (300, "0.3 ms"),
            (9_949, "9.9 ms"),
            (9_950, "10 ms"),
            (12_300, "12 ms"),
            (999_499, "999 ms"),
            (999_500, "1.0 s"),
            (61_000_000, "61.0 s"),
        ] {
            assert_eq!(duration(micros), expected);
        }
    }
}
