//! `matcher`: how the name of a tool is held against a text, as each dialect reads it.

use regex::Regex;

/// How a dialect holds a matcher against a tool's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatcherRule {
    /// A regex that must match the whole name.
    WholeName,
    /// A name or a list of names when it is made of name characters, `|` and `,` only; else a
    /// regex that is searched for. (Claude Code.)
    ListOrSearch,
    /// A regex that is searched for; `*` is everything. (agentpool.)
    Search,
    /// A regex that is searched for, and nothing else. (workflow-framework.)
    SearchOnly,
}

/// A compiled matcher.
#[derive(Debug)]
pub enum Matcher {
    /// One of these names.
    Names(Vec<String>),
    /// A name that begins so: `mcp__github__.*`, which needs no regex to be compiled.
    Prefix(String),
    /// A regex; `prefix` is what every name that it matches begins with.
    Pattern {
        /// The regex, anchored if its rule says so.
        regex: Regex,
        /// Possibly empty.
        prefix: String,
    },
}

impl Matcher {
    /// Compiles a matcher; `None` for one that matches everything.
    ///
    /// # Errors
    /// The regex crate's last line.
    pub fn new(text: &str, rule: MatcherRule) -> Result<Option<Matcher>, String> {
        if text.is_empty() || text == "*" && rule != MatcherRule::SearchOnly {
            return Ok(None);
        }
        let separators: &[char] = match rule {
            MatcherRule::WholeName => &['|'],
            MatcherRule::ListOrSearch => &['|', ','],
            MatcherRule::Search | MatcherRule::SearchOnly => &[],
        };
        let is_name = |name: &str| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        };
        let names: Vec<&str> = text.split(separators).map(str::trim).collect();
        // In a regex a blank is a blank; only the list rule trims.
        let plain = match rule {
            MatcherRule::WholeName => !text.contains(' '),
            MatcherRule::ListOrSearch => true,
            MatcherRule::Search | MatcherRule::SearchOnly => false,
        };
        if plain && names.iter().all(|name| is_name(name)) {
            return Ok(Some(Matcher::Names(
                names.into_iter().map(str::to_string).collect(),
            )));
        }
        if rule == MatcherRule::WholeName
            && let Some(prefix) = text.strip_suffix(".*").filter(|prefix| is_name(prefix))
        {
            return Ok(Some(Matcher::Prefix(prefix.to_string())));
        }
        let (source, prefix) = match rule {
            MatcherRule::WholeName => (format!("^(?:{text})$"), literal_prefix(text)),
            MatcherRule::ListOrSearch | MatcherRule::Search | MatcherRule::SearchOnly => {
                (text.to_string(), String::new())
            }
        };
        let regex = regex::RegexBuilder::new(&source)
            .size_limit(1 << 20)
            .build();
        regex
            .map(|regex| Some(Matcher::Pattern { regex, prefix }))
            .map_err(|error| last_line(&error.to_string()))
    }

    /// Whether the name matches.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Matcher::Names(names) => names.iter().any(|it| it == name),
            // The `.` of a regex is no line break.
            Matcher::Prefix(prefix) => name
                .strip_prefix(&**prefix)
                .is_some_and(|rest| !rest.contains('\n')),
            Matcher::Pattern { regex, .. } => regex.is_match(name),
        }
    }
}

/// The literal text that every whole match of a regex begins with.
fn literal_prefix(pattern: &str) -> String {
    if pattern.contains('|') {
        return String::new();
    }
    let end = pattern
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
        .unwrap_or(pattern.len());
    let quantified = pattern[end..].starts_with(['*', '?', '{', '+']);
    // A quantifier belongs to the last literal character.
    pattern[..end - usize::from(quantified && end > 0)].to_string()
}

/// The part of a regex error that says what is wrong; the rest draws the pattern.
pub fn last_line(error: &str) -> String {
    let line = error.lines().last().unwrap_or_default().trim();
    let line = line.trim_start_matches("error: ").trim_end_matches('.');
    let mut rest = line.chars();
    rest.next()
        .map(|first| first.to_lowercase().chain(rest).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
