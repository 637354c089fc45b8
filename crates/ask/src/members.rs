//! The members at the top of a text that may be no JSON: what is known of an event that can't be
//! read.

/// What a text says of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// It isn't there.
    Nothing,
    /// Several values are there, or one that can't be read: none counts.
    Unclear,
    /// Its value.
    Text(String),
}

/// The text of a member that has one of these names. Of several values none counts.
pub fn find_text(text: &str, names: &[&str]) -> Named {
    let mut found = Named::Nothing;
    each_member(text, |key, value| {
        let Some(value) = value.filter(|_| names.contains(&key)) else {
            return;
        };
        found = match (value, &found) {
            (Some(text), Named::Nothing) => Named::Text(text),
            (Some(text), Named::Text(before)) if text == *before => Named::Text(text),
            _ => Named::Unclear,
        };
    });
    found
}

/// Whether all of these members are there.
pub fn has_members(text: &str, names: &[&str]) -> bool {
    let mut is_there = vec![false; names.len()];
    each_member(text, |key, _| {
        for (name, is_there) in names.iter().zip(&mut is_there) {
            *is_there |= *name == key;
        }
    });
    is_there.into_iter().all(|it| it)
}

/// Visits the members at the top of a text that may be no JSON: a key, and once more with its
/// value, if that is a text. One with escapes that mean nothing is `None`. What stands deeper than
/// at the top may be anybody's word.
fn each_member(text: &str, mut visit: impl FnMut(&str, Option<Option<String>>)) {
    let (mut rest, mut depth, mut key) = (text, 0, None);
    while let Some(next) = rest.chars().next() {
        if next == '"' {
            let mut is_escaped = false;
            let end = rest[1..].find(|c| {
                let is_end = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                is_end
            });
            let Some(end) = end else { return };
            let (string, after) = rest.split_at(end + 2);
            let string: Option<String> = serde_json::from_str(string).ok();
            if depth == 1 && after.trim_start().starts_with(':') {
                visit(string.as_deref().unwrap_or_default(), None);
                key = string;
            } else if let Some(key) = key.take() {
                visit(&key, Some(string));
            }
            rest = after;
            continue;
        }
        match next {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        if !(next == ':' || next.is_whitespace()) {
            key = None;
        }
        rest = &rest[next.len_utf8()..];
    }
}
