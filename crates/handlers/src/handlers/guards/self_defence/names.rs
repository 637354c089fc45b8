//! Names of programs, and lists of names.

use memchr::memmem;

/// The name of a program without its directory.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a name is one of those that `|` joins. The lists are long, and each program that starts
/// is looked for in some.
pub(super) fn is_one(names: &str, name: &str) -> bool {
    let is_whole = |at: usize| {
        let (before, behind) = (&names[..at], &names[at + name.len()..]);
        (before.is_empty() || before.ends_with('|'))
            && (behind.is_empty() || behind.starts_with('|'))
    };
    !name.is_empty()
        && !name.contains('|')
        && memmem::find_iter(names.as_bytes(), name).any(is_whole)
}

/// Whether a text has one of the parts that `|` joins.
pub(super) fn has_part(text: &str, parts: &str) -> bool {
    parts.split('|').any(|part| text.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_name_is_one() {
        for name in ["rm", "rmdir", "-r", "é"] {
            assert!(is_one("rm|rmdir|-r|é", name), "{name}");
        }
        for name in ["", "r", "dir", "m", "|", "rm|rmdir", "-"] {
            assert!(!is_one("rm|rmdir|-r|é", name), "{name}");
        }
    }
}
