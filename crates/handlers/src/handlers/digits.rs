//! The digits of numbers on their way through a hook's language. JavaScript has floats of 64 bits
//! only, and Python has them for fractions: what they don't hold comes back rounded, even where a
//! hook hasn't touched it.

use hookwire_base::event::Event;
use hookwire_base::support::decimal::{Decimal, fits_double, is_in_reach_of_double};
use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// A float with more digits than this is written by nobody who doesn't mean that very number.
const TELLING: usize = 15;
/// The most values with such numbers that one call may get from the store.
const MAX_HANDED: usize = 256;

/// How a language holds numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// As floats of 64 bits.
    JavaScript,
    /// Whole numbers as they are, others as floats of 64 bits.
    Python,
}

impl Language {
    /// What it makes of a number; `None` if it keeps every digit of all numbers of this kind.
    fn rounded(self, number: &Number) -> Option<f64> {
        let is_kept = self == Language::Python && !number.as_str().contains(['.', 'e', 'E']);
        // One zero, because JavaScript writes the negative one without its sign.
        number.as_f64().filter(|_| !is_kept).map(|it| it + 0.0)
    }

    /// Refuses a value with a number that the language has only as infinite: what a hook says of
    /// such a number, or gives back in its place, is about another one.
    ///
    /// # Errors
    /// There is one.
    pub(super) fn reaches(self, value: &Value) -> Result<(), String> {
        let reaches = |number: &Number| {
            let is_whole = !number.as_str().contains(['.', 'e', 'E']);
            self == Language::Python && is_whole || is_in_reach_of_double(number.as_str())
        };
        match any_number(value, &|number| !reaches(number)) {
            true => Err(format!("it has a number beyond those of {self:?}")),
            false => Ok(()),
        }
    }

    /// Whether a value has a number that the language can't hold.
    fn loses(self, value: &Value) -> bool {
        any_number(value, &|number| {
            self.rounded(number).is_some() && !fits_double(number.as_str())
        })
    }
}

/// Values of the store that a call was given, with numbers that its language can't hold.
#[derive(Debug)]
pub(super) struct Handed {
    values: Vec<Value>,
    most: usize,
}

impl Default for Handed {
    fn default() -> Handed {
        Handed {
            values: Vec::new(),
            most: MAX_HANDED,
        }
    }
}

impl Handed {
    /// For whoever asks outside of a call, of which nobody would know the numbers later.
    pub(super) fn outside_of_calls() -> Handed {
        Handed {
            values: Vec::new(),
            most: 0,
        }
    }

    /// Notes a value that the call gets.
    ///
    /// # Errors
    /// There are too many to tell their numbers apart, or it has one that is beyond the language.
    pub(super) fn add(&mut self, language: Language, value: &Value) -> Result<(), String> {
        language
            .reaches(value)
            .map_err(|error| format!("read a stored value: {error}"))?;
        if language.loses(value) && !self.values.contains(value) {
            if self.values.len() == self.most {
                let most = self.most;
                return Err(format!(
                    "read more than {most} values with numbers that {language:?} would round"
                ));
            }
            self.values.push(value.clone());
        }
        Ok(())
    }
}

/// What a language made of the numbers that a call was given.
struct Rounded<'v> {
    language: Language,
    /// By the bits of the float; `None` where it can't be told which number is meant.
    lost: BTreeMap<u64, Option<&'v Number>>,
}

impl<'v> Rounded<'v> {
    fn new(language: Language, given: &[&'v Value]) -> Rounded<'v> {
        let mut rounded = Rounded {
            language,
            lost: BTreeMap::new(),
        };
        if given.iter().any(|value| language.loses(value)) {
            given.iter().for_each(|value| rounded.collect(value, true));
            given.iter().for_each(|value| rounded.collect(value, false));
        }
        rounded
    }

    /// First the numbers that lose digits, then the others, which one of those may be taken for.
    fn collect(&mut self, value: &'v Value, is_first: bool) {
        match value {
            Value::Number(number) => {
                let Some(double) = self.language.rounded(number) else {
                    return;
                };
                if !is_first {
                    if let Some(known) = self.lost.get_mut(&double.to_bits()) {
                        *known = known.filter(|known| *known == number);
                    }
                } else if !fits_double(number.as_str()) {
                    let is_telling =
                        Decimal::of_double(double).is_some_and(|it| it.n_digits() > TELLING);
                    self.lost
                        .entry(double.to_bits())
                        .or_insert(is_telling.then_some(number));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, is_first)),
            Value::Object(members) => members
                .values()
                .for_each(|value| self.collect(value, is_first)),
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }

    /// `before`: what was in the place of the value.
    fn restore(&self, value: &mut Value, before: Option<&Value>) -> Result<(), String> {
        match value {
            Value::Number(number) => {
                let Some(double) = self.language.rounded(number) else {
                    return Ok(());
                };
                let before = before.and_then(Value::as_number);
                if let Some(before) = before.filter(|it| self.language.rounded(it) == Some(double))
                {
                    *number = before.clone();
                    return Ok(());
                }
                match self.lost.get(&double.to_bits()) {
                    Some(Some(whole)) => *number = (*whole).clone(),
                    Some(None) => {
                        return Err(format!(
                            "{number} may be a number with more digits that was given; give texts instead"
                        ));
                    }
                    None => {}
                }
                Ok(())
            }
            Value::Array(items) => items
                .iter_mut()
                .enumerate()
                .try_for_each(|(n, it)| self.restore(it, before.and_then(|it| it.get(n)))),
            Value::Object(members) => members
                .iter_mut()
                .try_for_each(|(key, it)| self.restore(it, before.and_then(|it| it.get(key)))),
            Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
        }
    }
}

/// Reads a call's reply: a number that a number of the event or of the store was rounded to is that
/// number.
///
/// # Errors
/// The reply isn't JSON, or it can't be told which number is meant.
pub(super) fn read(
    text: &str,
    language: Language,
    event: &Event,
    handed: &Handed,
) -> Result<Value, String> {
    let mut reply = hookwire_base::support::json::parse(text).map_err(|error| error.to_string())?;
    if !has_number(&reply) {
        return Ok(reply);
    }
    let given: Vec<&Value> = [event.data()].into_iter().chain(&handed.values).collect();
    let rounded = Rounded::new(language, &given);
    match &mut reply {
        Value::Object(members) => {
            for (key, value) in members {
                let before = match key.as_str() {
                    "subject" | "patch" => event.subject(),
                    _ => None,
                };
                rounded.restore(value, before)?;
            }
        }
        other => rounded.restore(other, None)?,
    }
    Ok(reply)
}

/// Gives a value that a call stores its digits back; `before` is what is stored in its place.
///
/// # Errors
/// It can't be told which number is meant.
pub(super) fn restore(
    value: &mut Value,
    language: Language,
    event: &[u8],
    handed: &Handed,
    before: Option<&Value>,
) -> Result<(), String> {
    let event = std::str::from_utf8(event)
        .ok()
        .filter(|text| has_long_number(text));
    let event = event.and_then(|text| hookwire_base::support::json::parse(text).ok());
    let given: Vec<&Value> = event.iter().chain(&handed.values).chain(before).collect();
    Rounded::new(language, &given).restore(value, before)
}

/// Whether there is any number in a value: most have none.
pub(super) fn has_number(value: &Value) -> bool {
    any_number(value, &|_| true)
}

/// Whether a value has such a number. As deep as JSON may be.
fn any_number(value: &Value, is_it: &impl Fn(&Number) -> bool) -> bool {
    match value {
        Value::Number(number) => is_it(number),
        Value::Array(items) => items.iter().any(|it| any_number(it, is_it)),
        Value::Object(members) => members.values().any(|it| any_number(it, is_it)),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Whether a JSON text may have a number that a float doesn't hold. Digits within strings are taken
/// for numbers.
fn has_long_number(text: &str) -> bool {
    let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
    let mut tokens = text.as_bytes().split(|byte| !is_of_number(byte));
    tokens.any(|token| {
        let is_short =
            token.len() <= TELLING && !token.iter().any(|it| it.eq_ignore_ascii_case(&b'e'));
        !is_short && token.iter().any(u8::is_ascii_digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(text: &str) -> Value {
        hookwire_base::support::json::parse(text).unwrap()
    }

    const INPUT: &str = r#"{"id":1234567890123456789,"max":18446744073709551615,"min":-9223372036854775808,
        "a":[1234567890123457089,1,0.1],"b":1234567890123457090,"big":123456789012345678901234567890,
        "p":1.50,"d":0.12345678901234567890123,"near":0.10000000000000000001,"tiny":1e-400}"#;

    #[test]
    fn untouched_numbers_have_all_their_digits() {
        let input = parse(INPUT);
        let event = Event::from_json(
            json!({"event": "PreToolUse", "tool": {"name": "pay", "input": input}}),
        )
        .unwrap();
        for (reply, expected) in [
            // As JavaScript writes them.
            (
                r#"{"subject":{"id":1234567890123456800,"max":18446744073709552000,"min":-9223372036854776000,"n":5,
                    "big":1.2345678901234568e+29,"p":1.5,"d":0.12345678901234568,"near":0.1,"tiny":0}}"#,
                Some(
                    r#"{"subject":{"id":1234567890123456789,"max":18446744073709551615,"min":-9223372036854775808,"n":5,
                    "big":123456789012345678901234567890,"p":1.50,"d":0.12345678901234567890123,
                    "near":0.10000000000000000001,"tiny":1e-400}}"#,
                ),
            ),
            // In another place.
            (
                r#"{"patch":{"copy":1234567890123456800}}"#,
                Some(r#"{"patch":{"copy":1234567890123456789}}"#),
            ),
            (
                r#"{"patch":{"copy":0.12345678901234568}}"#,
                Some(r#"{"patch":{"copy":0.12345678901234567890123}}"#),
            ),
            (
                r#"{"context":{"metadata":{"id":1234567890123456800}}}"#,
                Some(r#"{"context":{"metadata":{"id":1234567890123456789}}}"#),
            ),
            (
                r#"{"modified_input":{"id":1234567890123456800}}"#,
                Some(r#"{"modified_input":{"id":1234567890123456789}}"#),
            ),
            // Another number.
            (
                r#"{"subject":{"id":1234567890123460000}}"#,
                Some(r#"{"subject":{"id":1234567890123460000}}"#),
            ),
            (
                r#"{"subject":{"id":1e+25,"p":1.6}}"#,
                Some(r#"{"subject":{"id":1e+25,"p":1.6}}"#),
            ),
            // Two numbers are one to JavaScript: the place tells them apart, and nothing else does.
            (
                r#"{"subject":{"a":[1234567890123457000]}}"#,
                Some(r#"{"subject":{"a":[1234567890123457089]}}"#),
            ),
            (
                r#"{"subject":{"b":1234567890123457000}}"#,
                Some(r#"{"subject":{"b":1234567890123457090}}"#),
            ),
            (r#"{"subject":{"c":1234567890123457000}}"#, None),
            // A short number may be meant as it is.
            (r#"{"subject":{"c":0.1}}"#, None),
            (r#"{"subject":{"c":0}}"#, None),
        ] {
            let read = read(reply, Language::JavaScript, &event, &Handed::default());
            assert_eq!(read.ok(), expected.map(parse), "{reply}");
        }
        // Whole numbers mean what they say in Python.
        let reply =
            r#"{"subject":{"id":1234567890123456800,"big":1,"d":0.12345678901234568,"near":0.1}}"#;
        let expected = r#"{"subject":{"id":1234567890123456800,"big":1,"d":0.12345678901234567890123,"near":0.10000000000000000001}}"#;
        assert_eq!(
            read(reply, Language::Python, &event, &Handed::default()),
            Ok(parse(expected))
        );
    }

    #[test]
    fn stored_numbers_have_all_their_digits() {
        let mut handed = Handed::default();
        handed
            .add(Language::JavaScript, &parse("[1234567890123457089, 7]"))
            .unwrap();
        handed.add(Language::JavaScript, &parse("1.5")).unwrap();
        assert_eq!(handed.values.len(), 1);
        for (event, before, value, expected) in [
            (
                "{}",
                None,
                "[1234567890123457000]",
                Some("[1234567890123457089]"),
            ),
            (
                r#"{"id":1234567890123456789}"#,
                None,
                "1234567890123456800",
                Some("1234567890123456789"),
            ),
            (
                r#"{"id":1234567890123457090}"#,
                None,
                "1234567890123457000",
                None,
            ),
            (
                "{}",
                Some("1234567890123457090"),
                "1234567890123457000",
                Some("1234567890123457090"),
            ),
            ("{}", None, "0.1", Some("0.1")),
        ] {
            let (mut value, before) = (parse(value), before.map(parse));
            let done = restore(
                &mut value,
                Language::JavaScript,
                event.as_bytes(),
                &handed,
                before.as_ref(),
            );
            assert_eq!(done.ok().map(|()| value), expected.map(parse), "{event}");
        }
    }
}
