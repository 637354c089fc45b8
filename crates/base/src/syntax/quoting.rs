//! Keys and values as a format writes them where they are to stand.

use super::formats::{Format, parse};
use super::node::NodeValue;
use serde_json::Value;

/// Where a value stands, which decides what it may look like without quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// On a line, behind a key or a dash.
    Line,
    /// A map in braces.
    Map,
    /// A list in brackets.
    List,
}

/// A text in double quotes, as all three formats read it. What nobody would see is escaped.
pub fn quoted(text: &str) -> String {
    let mut written = String::new();
    for c in Value::from(text).to_string().chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                written.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => written.push(c),
        }
    }
    written
}

/// A text for between these quotes; `None` if it can't stand there.
pub fn escaped(text: &str, quote: &str, format: Format) -> Option<String> {
    let is_literal = quote.starts_with('\'');
    if is_literal && text.contains(char::is_control) {
        return None;
    }
    match format {
        Format::Toml if is_literal => (!text.contains('\'')).then(|| text.to_string()),
        _ if is_literal => Some(text.replace('\'', "''")),
        _ => {
            let quoted = quoted(text);
            Some(quoted.get(1..quoted.len() - 1)?.to_string())
        }
    }
}

/// A text, in quotes where it needs them.
pub fn word(text: &str, format: Format, within: Within) -> String {
    // In a list, words that are more than letters would be hard to tell from each other.
    let is_clear =
        |c: char| within != Within::List || c.is_ascii_alphanumeric() || "_./-".contains(c);
    let is_plain = format == Format::Yaml
        && text.chars().all(is_clear)
        && is_plain_yaml(text, within != Within::Line);
    if is_plain {
        text.to_string()
    } else {
        quoted(text)
    }
}

/// A value on one line; `None` for an empty value in TOML, which has none.
pub fn inline(value: &Value, format: Format, within: Within) -> Option<String> {
    Some(match value {
        Value::Null if format == Format::Toml => return None,
        Value::String(text) => word(text, format, within),
        Value::Array(items) => {
            let items: Option<Vec<_>> = items
                .iter()
                .map(|it| inline(it, format, Within::List))
                .collect();
            format!("[{}]", items?.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".into(),
        Value::Object(members) => {
            let written = |(name, value): (&String, &Value)| {
                Some(member(
                    &key(name, format),
                    &inline(value, format, Within::Map)?,
                    format,
                ))
            };
            let members: Option<Vec<_>> = members.iter().map(written).collect();
            format!("{{ {} }}", members?.join(", "))
        }
        Value::Bool(_) | Value::Number(_) | Value::Null => value.to_string(),
    })
}

/// A key, in quotes where it needs them.
pub fn key(key: &str, format: Format) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_name = !key.is_empty() && key.chars().all(is_bare);
    let is_plain = match format {
        // A key is a text, whatever it looks like.
        Format::Yaml => (is_name && !key.starts_with('-')) || is_plain_yaml(key, true),
        Format::Toml => is_name,
        Format::Json => false,
    };
    if is_plain {
        key.to_string()
    } else {
        quoted(key)
    }
}

/// A key and a value, both as they are written.
pub fn member(key: &str, value: &str, format: Format) -> String {
    let joint = if format == Format::Toml { " = " } else { ": " };
    format!("{key}{joint}{value}")
}

/// Whether a text needs no quotes in YAML, or within brackets of it: the parser tells. What nobody
/// would see does.
fn is_plain_yaml(text: &str, in_flow: bool) -> bool {
    if text.contains(|c: char| c.is_control() || c == '\u{feff}') {
        return false;
    }
    let file = if in_flow {
        format!("[{text}]")
    } else {
        format!("- {text}")
    };
    match parse(&file, Format::Yaml).map(|node| node.value) {
        Ok(NodeValue::Seq(items)) => matches!(&items[..], [item] if item.text() == Some(text)),
        _ => false,
    }
}
