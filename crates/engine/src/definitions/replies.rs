//! Replies that a definition has as they are: what a shell text prints, and what a script returns.
//! `check` reads them as the hook's own vocabulary does.

use hookwire_base::support::json::parse;
use serde_json::Value;

/// What writes a text as it is.
const PRINTERS: [&str; 2] = ["echo", "printf"];

/// The replies that a shell text prints: JSON objects in quotes, given to `echo` or `printf`, or in
/// lines of their own. Not what goes into a file or another program, and none of a text that may
/// say no by its exit code.
pub(super) fn printed(text: &str) -> Vec<Value> {
    if text.contains("exit 2") {
        return Vec::new();
    }
    // A line of its own is printed by `cat`; another program may be given it.
    let lines = text.lines().filter(|_| text.contains("cat <<"));
    let mut found: Vec<Value> = lines.filter_map(|line| object(line.trim())).collect();
    for printer in PRINTERS {
        for (at, _) in text.match_indices(printer) {
            let is_word =
                !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "_-./".contains(c));
            let rest = &text[at + printer.len()..];
            found.extend(Some(rest).filter(|_| is_word).and_then(first_quoted));
        }
    }
    found
}

/// The reply that a list of arguments prints.
pub(super) fn printed_by<'t>(mut arguments: impl Iterator<Item = &'t str>) -> Option<Value> {
    let program = arguments.next()?;
    PRINTERS
        .contains(&program)
        .then(|| arguments.find_map(object))
        .flatten()
}

/// The first object in quotes of what stands behind a printer, if nothing takes it away from the
/// shell's own output.
fn first_quoted(rest: &str) -> Option<Value> {
    let start = rest.find(['\'', '"', ';', '\n', '|', '>', '&', '$', '`'])?;
    let quote = rest[start..]
        .chars()
        .next()
        .filter(|it| "'\"".contains(*it))?;
    let (mut text, mut is_escaped, mut end) = (String::new(), false, None);
    for (at, c) in rest[start + 1..].char_indices() {
        match c {
            _ if is_escaped => {
                // Within double quotes a backslash stays before everything else.
                text.extend((!"\"\\$`".contains(c)).then_some('\\'));
                text.push(c);
                is_escaped = false;
            }
            '\\' if quote == '"' => is_escaped = true,
            '$' | '`' if quote == '"' => return None,
            _ if c == quote => {
                end = Some(start + 1 + at + 1);
                break;
            }
            _ => text.push(c),
        }
    }
    let behind = rest[end?..].trim_start_matches([' ', '\t']);
    // A format of `printf`: the text is behind it.
    if !text.starts_with('{')
        && !behind.is_empty()
        && (text.starts_with('%') || text.starts_with('-'))
    {
        return first_quoted(behind);
    }
    let is_output = behind.is_empty()
        || [";", "\n", "&&", "||", "}"]
            .iter()
            .any(|it| behind.starts_with(it));
    is_output.then(|| object(&text)).flatten()
}

/// The replies that a script returns as they are written: objects without anything computed.
pub(super) fn returned(code: &str) -> Vec<Value> {
    let behind = code
        .match_indices("return")
        .map(|(at, word)| code[at + word.len()..].trim_start());
    behind
        .filter(|it| it.starts_with('{'))
        .filter_map(literal)
        .collect()
}

/// An object of JavaScript that is data, at the beginning of a text.
fn literal(code: &str) -> Option<Value> {
    let (mut json, mut depth, mut chars) = (String::new(), 0, code.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let mut text = String::new();
                loop {
                    match chars.next()? {
                        '\\' => return None,
                        end if end == c => break,
                        other => text.push(other),
                    }
                }
                json.push_str(&Value::String(text).to_string());
            }
            _ if c.is_ascii_alphabetic() || c == '_' => {
                let mut word = String::from(c);
                while let Some(next) = chars.next_if(|it| it.is_ascii_alphanumeric() || *it == '_')
                {
                    word.push(next);
                }
                match &*word {
                    "true" | "false" | "null" => json.push_str(&word),
                    _ => json.push_str(&Value::String(word).to_string()),
                }
                // A name that isn't a member's is computed.
                let is_member = chars.clone().find(|it| !it.is_whitespace()) == Some(':');
                let is_literal = ["true", "false", "null"]
                    .iter()
                    .any(|literal| json.ends_with(literal));
                if !is_member && !is_literal {
                    return None;
                }
            }
            '{' | '[' => {
                depth += 1;
                json.push(c);
            }
            '}' | ']' => {
                depth -= 1;
                json.push(c);
                if depth == 0 {
                    return object(&json);
                }
            }
            _ if c.is_ascii_digit() || ":,.-".contains(c) || c.is_whitespace() => json.push(c),
            _ => return None,
        }
    }
    None
}

fn object(text: &str) -> Option<Value> {
    text.starts_with('{')
        .then(|| parse(text).ok())
        .flatten()
        .filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_that_are_written_down_are_found() {
        for (text, expected) in [
            (
                r#"echo '{"permission":"deny"}'"#,
                vec![r#"{"permission":"deny"}"#],
            ),
            (
                r#"test -e x && echo "{\"a\": \"b\"}"; true"#,
                vec![r#"{"a":"b"}"#],
            ),
            (r#"printf '%s\n' '{"a":1}'"#, vec![r#"{"a":1}"#]),
            (
                r#"printf '{"a":1}'; echo -n '{"b":2}' || true"#,
                vec![r#"{"b":2}"#, r#"{"a":1}"#],
            ),
            ("cat <<'END'\n  {\"a\":1}\nEND", vec![r#"{"a":1}"#]),
            (
                r#"echo '{"a":1}' >> log; echo '{"a":1}' | jq .a; x=$(echo '{"a":1}'); echo '{"a":1}' >&2"#,
                vec![],
            ),
            (r#"echo "{\"a\": \"$b\"}""#, vec![]),
            (r#"curl -d '{"a":1}' x; my-echo '{"a":1}'"#, vec![]),
            ("curl -d @- x <<'END'\n{\"a\":1}\nEND", vec![]),
            (r#"echo '{"a":1}'; exit 2"#, vec![]),
        ] {
            let found: Vec<String> = printed(text).iter().map(Value::to_string).collect();
            assert_eq!(found, expected, "{text}");
        }
        for (code, expected) in [
            (
                "if (x) return { permission: 'deny', n: [1] };",
                Some(r#"{"n":[1],"permission":"deny"}"#),
            ),
            ("return {\n  \"a\": true }", Some(r#"{"a":true}"#)),
            ("return { decision: word }", None),
            ("return { a: 'x' + y }", None),
            ("return { a: f(1) }", None),
            ("return {", None),
        ] {
            let found = returned(code);
            let expected: Vec<Value> = expected.iter().map(|it| parse(it).unwrap()).collect();
            assert_eq!(found, expected, "{code}");
        }
    }
}
