//! Names of programs, and lists of names.

/// The name of a program without its directory.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a name is one of those that `|` joins.
pub(super) fn is_one(names: &str, name: &str) -> bool {
    names.split('|').any(|it| it == name)
}

/// Whether a text has one of the parts that `|` joins.
pub(super) fn has_part(text: &str, parts: &str) -> bool {
    parts.split('|').any(|part| text.contains(part))
}
