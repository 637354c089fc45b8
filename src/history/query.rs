//! What is looked for in the history: `decision:deny tool:Bash tool:Edit -agent:codex since:7d "git
//! push"`.
//!
//! Terms of one key are alternatives; what has another key, and each word, must hold, too; what has
//! a `-` must not. A value that ends in `*` is a beginning, a word of three letters always is one.
//! Letter case makes no difference.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

/// The keys of what is known of an event.
pub(super) const KEYS: &[&str] = &[
    "decision", "agent", "tool", "session", "event", "hook", "project", "host",
];
/// The longest value that is looked for, in bytes.
const MAX_VALUE: usize = 100;
/// A word of fewer letters is looked for as it is, unless a `*` says otherwise.
const SHORT: usize = 3;
/// The most terms.
const MAX_TERMS: usize = 32;

/// A query that was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// What the index is asked; nothing: every event.
    pub(super) matched: Option<String>,
    /// From when, and until when, in milliseconds since 1970.
    pub(super) since: Option<i64>,
    pub(super) until: Option<i64>,
    /// Of which hosts of a fleet, if they are named whole; none: of any.
    pub(super) hosts: Vec<String>,
}

/// What stands for a value in the index: a word of letters and digits.
pub(super) fn facet_word(key: &str, value: &str) -> String {
    let mut facet = format!(
        "x{}",
        KEYS.iter().position(|it| *it == key).unwrap_or(KEYS.len())
    );
    for byte in value.to_lowercase().bytes().take(MAX_VALUE) {
        // Writing to a string can't fail.
        let _ = write!(facet, "{byte:02x}");
    }
    facet
}

/// What every event has.
pub(super) const ANY: &str = "xany";

impl Query {
    /// Reads one.
    ///
    /// # Errors
    /// Names the term that makes no sense.
    pub(super) fn parse(text: &str, now: SystemTime) -> Result<Query, String> {
        let mut query = Query::default();
        let mut of_key: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let (mut all, mut none) = (Vec::new(), Vec::new());
        let mut has_open_host = false;
        let terms = split_terms(text)?;
        if terms.len() > MAX_TERMS {
            return Err(format!("a query has at most {MAX_TERMS} terms"));
        }
        for term in &terms {
            let (is_out, written) = match term.strip_prefix('-') {
                Some(rest) if !rest.is_empty() => (true, rest),
                _ => (false, term.as_str()),
            };
            let wrong = |why: &str| format!("`{term}`: {why}");
            let (key, value) = match written.split_once(':') {
                Some((key, value))
                    if key.bytes().all(|byte| byte.is_ascii_lowercase()) && !key.is_empty() =>
                {
                    (key, value)
                }
                _ => ("text", written),
            };
            let (value, is_open) = value
                .strip_suffix('*')
                .map_or((value, false), |value| (value, true));
            if value.contains('*') {
                return Err(wrong("`*` stands at the end of a value"));
            }
            if value.is_empty() && !is_open {
                return Err(wrong("it has no value"));
            }
            match key {
                "since" | "until" => {
                    let at = parse_time(value, now).filter(|_| !is_out && !is_open);
                    let at =
                        at.ok_or_else(|| wrong("a time is written as 7d, 2h or 2026-11-28"))?;
                    if key == "since" {
                        &mut query.since
                    } else {
                        &mut query.until
                    }
                    .replace(at);
                }
                "text" => {
                    // A word without letters and digits is in no index.
                    if !value.contains(char::is_alphanumeric) {
                        continue;
                    }
                    // The beginnings of few letters are those of half of all words.
                    let open = if is_open || value.chars().count() >= SHORT {
                        " *"
                    } else {
                        ""
                    };
                    let phrase = format!("text : \"{}\"{open}", value.replace('"', " "));
                    if is_out { &mut none } else { &mut all }.push(phrase);
                }
                key if KEYS.contains(&key) => {
                    let word = format!(
                        "facets : {}{}",
                        facet_word(key, value),
                        if is_open { " *" } else { "" }
                    );
                    if key == "host" && !is_out {
                        has_open_host |= is_open;
                        query.hosts.push(value.to_string());
                    }
                    match is_out {
                        true => none.push(word),
                        false => of_key.entry(key).or_default().push(word),
                    }
                }
                _ => {
                    return Err(wrong(&format!(
                        "there are {}, text, since and until",
                        KEYS.join(", ")
                    )));
                }
            }
        }
        if has_open_host {
            query.hosts.clear();
        }
        all.extend(
            of_key
                .into_values()
                .map(|words| format!("({})", words.join(" OR "))),
        );
        if all.is_empty() && !none.is_empty() {
            all.push(format!("facets : {ANY}"));
        }
        if !all.is_empty() {
            let all = all.join(" AND ");
            let none = none.join(" OR ");
            query.matched = Some(if none.is_empty() {
                all
            } else {
                format!("({all}) NOT ({none})")
            });
        }
        Ok(query)
    }
}

/// The terms of a text: blanks part them, but for those within quotes.
fn split_terms(text: &str) -> Result<Vec<String>, String> {
    let (mut terms, mut term, mut is_quoted, mut is_there) =
        (Vec::new(), String::new(), false, false);
    for c in text.chars() {
        match c {
            '"' => (is_quoted, is_there) = (!is_quoted, true),
            c if c.is_whitespace() && !is_quoted => {
                if std::mem::take(&mut is_there) {
                    terms.push(std::mem::take(&mut term));
                }
            }
            c => {
                term.push(c);
                is_there = true;
            }
        }
    }
    if is_quoted {
        return Err(format!("`{term}`: its quote doesn't end"));
    }
    terms.extend(is_there.then_some(term));
    Ok(terms)
}

/// A time: so long ago, a day, or the whole of it.
pub(super) fn parse_time(text: &str, now: SystemTime) -> Option<i64> {
    let day = (text.len() == 10).then(|| format!("{text}T00:00:00Z"));
    let at = match humantime::parse_duration(text) {
        Ok(ago) => now.checked_sub(ago)?,
        Err(_) => humantime::parse_rfc3339_weak(day.as_deref().unwrap_or(text)).ok()?,
    };
    Some(unix_millis(at))
}

/// Milliseconds since 1970.
pub(super) fn unix_millis(at: SystemTime) -> i64 {
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let matched = |text: &str| Query::parse(text, now).map(|it| it.matched.unwrap_or_default());
        let deny = format!("facets : {}", facet_word("decision", "deny"));
        let (bash, edit) = (
            format!("facets : {}", facet_word("tool", "bash")),
            format!("facets : {}", facet_word("tool", "edit")),
        );
        for (text, expected) in [
            ("", String::new()),
            (" - ", String::new()),
            ("push", "text : \"push\" *".into()),
            (
                "\"git push\" -x",
                "(text : \"git push\" *) NOT (text : \"x\")".into(),
            ),
            ("text:push*", "text : \"push\" *".into()),
            ("gi gi*", "text : \"gi\" AND text : \"gi\" *".into()),
            ("decision:DENY", format!("({deny})")),
            (
                "tool:Bash tool:edit decision:deny",
                format!("({deny}) AND ({bash} OR {edit})"),
            ),
            ("-decision:deny", format!("(facets : {ANY}) NOT ({deny})")),
            (
                "tool:ba*",
                format!("(facets : {} *)", facet_word("tool", "ba")),
            ),
            ("a\"b", "text : \"ab".into()),
        ] {
            match matched(text) {
                Ok(matched) => assert_eq!(matched, expected, "{text}"),
                Err(problem) => assert!(
                    text == "a\"b" && problem.contains("quote"),
                    "{text}: {problem}"
                ),
            }
        }
        for (text, problem) in [
            ("colour:red", "`colour:red`: there are decision"),
            ("tool:", "`tool:`: it has no value"),
            ("tool:a*b", "`tool:a*b`: `*` stands"),
            ("since:soon", "`since:soon`: a time"),
            ("-since:1h", "`-since:1h`: a time"),
        ] {
            let said = matched(text).unwrap_err();
            assert!(said.starts_with(problem), "{said}");
        }
        let hosts = |text: &str| Query::parse(text, now).unwrap().hosts;
        assert_eq!(
            (hosts("host:a -host:b"), hosts("host:a host:b*")),
            (vec!["a".to_string()], vec![])
        );
        let since = |text: &str| Query::parse(text, now).unwrap().since;
        assert_eq!(
            (since("since:1s"), since("since:1970-01-02")),
            (Some(999_999_000), Some(86_400_000))
        );
        assert_eq!(since("since:1970-01-01T00:00:05.250Z"), Some(5250));
    }
}
