//! Patterns of agents' permissions: texts with `*`, and paths as `.gitignore` has them.

use regex::{Regex, RegexBuilder};

/// The most memory that a pattern may take, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// A regular expression of bounded size. It takes time that is linear in the text.
pub(super) fn regex(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern)
        .dot_matches_new_line(true)
        .size_limit(MAX_COMPILED)
        .build()
        .ok()
}

/// A whole text, in which `*` stands for any characters and, if it `has_single`, `?` for one.
pub(super) fn stars(pattern: &str, has_single: bool) -> Option<Regex> {
    let mut text = String::from("^");
    for c in pattern.chars() {
        match c {
            '*' => text.push_str(".*"),
            '?' if has_single => text.push('.'),
            _ => text.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    regex(&(text + "$"))
}

/// A path as `.gitignore` has it, without the part that anchors it: `*` and `?` stop at `/`, `**`
/// doesn't, and what a directory holds belongs to it.
pub(super) fn path(pattern: &str) -> Option<Regex> {
    let mut text = String::from("^");
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("**/") {
            text.push_str("(?:.*/)?");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("**") {
            text.push_str(".*");
            rest = after;
        } else {
            match c {
                '*' => text.push_str("[^/]*"),
                '?' => text.push_str("[^/]"),
                _ => text.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    regex(&(text + "(?:/.*)?$"))
}

/// A text that a pattern fits: each `*` becomes `filler`, `**` two names.
pub(super) fn instance(pattern: &str, filler: &str) -> String {
    let deep = format!("{filler}/{filler}");
    pattern
        .replace("**", "\u{0}")
        .replace('*', filler)
        .replace('?', "q")
        .replace('\u{0}', &deep)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_whole_texts_and_paths() {
        for (pattern, text, fits) in [
            ("git * main", "git push origin main", true),
            ("git * main", "git main", false),
            ("a.b", "axb", false),
        ] {
            assert_eq!(
                stars(pattern, false).unwrap().is_match(text),
                fits,
                "{pattern} {text}"
            );
        }
        for (pattern, text, fits) in [
            ("*.key", "a.key", true),
            ("*.key", "d/a.key", false),
            ("**/*.key", "d/e/a.key", true),
            ("**/*.key", "a.key", true),
            ("secrets", "secrets/a/b", true),
            ("src/**", "src/a/b", true),
            ("src/**", "srcs/a", false),
            ("src/*.ts", "src/a/b.ts", false),
        ] {
            assert_eq!(
                path(pattern).unwrap().is_match(text),
                fits,
                "{pattern} {text}"
            );
        }
        assert_eq!(instance("src/**/*.ts", "a"), "src/a/a/a.ts");
    }
}
