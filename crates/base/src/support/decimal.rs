//! JSON numbers by their digits, however many there are.

use std::cmp::Ordering;

/// The digits that an exponent may have.
const MAX_EXPONENT: usize = 9;
/// So many digits are the same after a way through a float of 64 bits.
const KEPT: usize = 15;

/// What a JSON number is worth: `0.` followed by the digits, times ten to the power of `point`.
#[derive(Debug, PartialEq, Eq)]
pub struct Decimal {
    is_negative: bool,
    point: i64,
    /// Without zeros at either end; zero has none.
    digits: Vec<u8>,
}

impl Decimal {
    /// Reads a number as JSON writes it; `None` if its exponent is beyond all bounds.
    pub fn new(text: &str) -> Option<Decimal> {
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (number, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        if exponent.trim_start_matches(['+', '-']).len() > MAX_EXPONENT {
            return None;
        }
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = [whole, fraction].concat();
        let significant = digits.trim_start_matches('0');
        let n_leading = digits.len() - significant.len();
        let digits = significant.trim_end_matches('0').as_bytes().to_vec();
        if digits.is_empty() {
            return Some(Decimal {
                is_negative: false,
                point: 0,
                digits,
            });
        }
        let shift = i64::try_from(whole.len()).ok()? - i64::try_from(n_leading).ok()?;
        Some(Decimal {
            is_negative,
            point: exponent.parse::<i64>().ok()? + shift,
            digits,
        })
    }

    /// The shortest number that reads as this float; `None` if it isn't finite.
    pub fn of_double(double: f64) -> Option<Decimal> {
        double
            .is_finite()
            .then(|| Decimal::new(&format!("{double:e}")))
            .flatten()
    }

    /// How many digits it has.
    pub fn n_digits(&self) -> usize {
        self.digits.len()
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        let sign = |it: &Decimal| match (it.digits.is_empty(), it.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let by_size = || (self.point, &self.digits).cmp(&(other.point, &other.digits));
        sign(self).cmp(&sign(other)).then_with(|| {
            if self.is_negative {
                by_size().reverse()
            } else {
                by_size()
            }
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Whether a JSON number is the same after a way through a float of 64 bits.
pub fn fits_double(number: &str) -> bool {
    if number.len() <= KEPT && !number.contains(['e', 'E']) {
        return true;
    }
    let double = number.parse().ok().and_then(Decimal::of_double);
    double.is_some() && double == Decimal::new(number)
}

/// Whether the exponent of a JSON number is one that can be reckoned with; [`Decimal::new`] reads
/// those.
pub(crate) fn is_in_range(number: &str) -> bool {
    let exponent = number
        .split_once(['e', 'E'])
        .map_or("", |(_, exponent)| exponent);
    exponent.trim_start_matches(['+', '-']).len() <= MAX_EXPONENT
}

/// Whether floats of 64 bits reach a JSON number, in size if not in digits.
pub fn is_in_reach_of_double(number: &str) -> bool {
    number.parse().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_counts() {
        let ascending = [
            "-1e300",
            "-18446744073709551617",
            "-18446744073709551616.5",
            "-1.5",
            "-1e-400",
            "0",
            "1e-400",
            "0.1",
            "0.10000000000000000001",
            "1",
            "1.0000000000000000001",
            "1.5",
            "9007199254740993",
            "18446744073709551616",
            "18446744073709551617",
            "1e300",
        ];
        let read: Vec<_> = ascending
            .iter()
            .map(|text| Decimal::new(text).unwrap())
            .collect();
        assert!(read.is_sorted_by(|a, b| a < b), "{read:?}");
        for (one, other) in [
            ("1.50", "15e-1"),
            ("-0.0", "0"),
            ("100", "1E+2"),
            ("0.001", "1e-3"),
        ] {
            assert_eq!(Decimal::new(one), Decimal::new(other));
        }
    }

    #[test]
    fn what_a_float_keeps() {
        for (number, fits) in [
            ("0.1", true),
            ("1.50", true),
            ("1e25", true),
            ("100000000000000000000000", true),
            ("9007199254740993", false),
            ("0.10000000000000000001", false),
            ("12345678901234567.5", false),
            ("1e-400", false),
            ("0e99", true),
        ] {
            assert_eq!(fits_double(number), fits, "{number}");
        }
        for (number, in_range, in_reach) in [
            ("1e308", true, true),
            ("1e309", true, false),
            ("-1e999999999", true, false),
            ("1e-400", true, true),
            ("1e9999999999", false, false),
            ("0e9999999999", false, true),
        ] {
            assert_eq!(
                (is_in_range(number), is_in_reach_of_double(number)),
                (in_range, in_reach),
                "{number}"
            );
        }
    }
}
