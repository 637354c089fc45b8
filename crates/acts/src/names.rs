//! Names of programs and of variables.

/// The name of a program that a path leads to.
pub(super) fn base_name(path: &str) -> &str {
    // Most names are short: to set up a quicker search takes longer.
    let bytes = path.as_bytes();
    let mut at = bytes.len();
    while at > 0 && bytes[at - 1] != b'/' {
        at -= 1;
    }
    let name = &path[at..];
    // A program of Windows, which its subsystem for Linux and its own bash run too.
    match name.len() > 4 {
        true => name.strip_suffix(".exe").unwrap_or(name),
        false => name,
    }
}

/// Whether it may be a sign of a variable's name.
pub(super) fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether the shell sets a variable to what it has run, or to a part of it.
pub(super) fn tells_what_ran(name: &str) -> bool {
    matches!(
        name,
        "_" | "BASH_COMMAND" | "BASH_EXECUTION_STRING" | "BASH_REMATCH" | "MATCH" | "match"
    )
}
