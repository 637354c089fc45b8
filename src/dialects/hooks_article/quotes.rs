//! Names in single quotes, where a shell leaves them as they are.
//!
//! `echo 'AUDIT: $tool_input_path' >> audit.log` is meant to write the path. The value must never
//! become shell text, so the quotes are opened around the name: `'AUDIT: '"$tool_input_path"''`. That
//! is right only where the quoted text is data. In `sh -c 'lint $tool_input_path'` it is a program,
//! whose shell reads the variable by itself, and opening would make the value a part of that program.
//! So it is done for commands that only print, in texts of plain commands; anywhere else the text
//! stays, and the author is told.

use std::ops::Range;

/// Commands that do nothing with an argument but print it.
const PRINTERS: [&str; 3] = ["echo", "printf", "logger"];
/// Commands that read their argument as a shell does, variables included.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ksh", "zsh", "eval", "trap"];
/// Words after which another command begins.
const RESERVED: [&str; 11] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "exec"];

/// A known name, `$` included, in single quotes.
struct Quoted {
    at: Range<usize>,
    /// The command whose argument it is in, as far as it is written plainly.
    command: String,
}

/// Opens the quotes around the names that a predicate knows; beside the text come the names that
/// stay as they are.
pub(super) fn open(text: &str, knows: fn(&str) -> bool) -> (String, Vec<&str>) {
    let (found, is_plain) = scan(text, knows);
    let (mut out, mut left, mut done) = (String::new(), Vec::new(), 0);
    for Quoted { at, command } in found {
        let name = &text[at.clone()];
        if is_plain && PRINTERS.contains(&command.as_str()) {
            out.push_str(&text[done..at.start]);
            out.push_str(&format!("'\"{name}\"'"));
            done = at.end;
        } else if !SHELLS.contains(&command.as_str()) {
            left.push(name);
        }
    }
    out.push_str(&text[done..]);
    (out, left)
}

/// Every known name in single quotes, and whether the text is nothing but plain commands one after
/// the other: no pipe, substitution, here-document or function, through which a printed text could
/// reach another shell.
fn scan(text: &str, knows: fn(&str) -> bool) -> (Vec<Quoted>, bool) {
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or_default();
    let mut found = Vec::new();
    let mut is_plain = true;
    let mut words = Words::default();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => {
                words.push('\\');
                i += 1;
            }
            b'\'' => {
                let Some(len) = text[i + 1..].find('\'') else { return (found, false) };
                for name in names(&text[i + 1..i + 1 + len], knows) {
                    let at = i + 1 + name.start..i + 1 + name.end;
                    found.push(Quoted { at, command: words.command.clone().unwrap_or_default() });
                }
                words.push('\'');
                i += len + 1;
            }
            b'"' => {
                words.push('"');
                i += 1;
                while at(i) != b'"' {
                    match at(i) {
                        b'\\' => i += 1,
                        b'`' => is_plain = false,
                        b'$' if matches!(at(i + 1), b'(' | b'{') => is_plain = false,
                        _ => {}
                    }
                    i += 1;
                    if i >= bytes.len() {
                        return (found, false);
                    }
                }
            }
            b'$' => {
                is_plain &= !matches!(at(i + 1), b'(' | b'{' | b'\'' | b'"');
                words.push('$');
            }
            b'`' | b'(' | b')' => is_plain = false,
            b'#' if words.word.is_empty() => i += text[i..].find('\n').unwrap_or(text.len() - i).saturating_sub(1),
            b'<' | b'>' => {
                is_plain &= !(bytes[i] == b'<' && at(i + 1) == b'<');
                words.end();
                words.is_target = true;
                i += usize::from(matches!(at(i + 1), b'>' | b'&' | b'|'));
            }
            b'|' | b'&' | b';' | b'\n' => {
                let is_pipe = bytes[i] == b'|' && at(i + 1) != b'|';
                is_plain &= !is_pipe;
                i += usize::from(bytes[i] == b'|' && at(i + 1) == b'|');
                words.end();
                words = Words::default();
            }
            b' ' | b'\t' | b'\r' => words.end(),
            other => words.push(char::from(other)),
        }
        i += 1;
    }
    (found, is_plain)
}

/// The words of one command.
#[derive(Default)]
struct Words {
    word: String,
    /// The word is where a redirection leads.
    is_target: bool,
    command: Option<String>,
}

impl Words {
    fn push(&mut self, c: char) {
        self.word.push(c);
    }

    fn end(&mut self) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return;
        }
        let is_assignment = word
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        if std::mem::take(&mut self.is_target) || RESERVED.contains(&word.as_str()) || is_assignment {
            return;
        }
        self.command.get_or_insert(word);
    }
}

/// Where a text has known names, `$` included.
fn names(text: &str, knows: fn(&str) -> bool) -> impl Iterator<Item = Range<usize>> + '_ {
    text.match_indices('$').filter_map(move |(at, _)| {
        let name = &text[at + 1..];
        let len = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len());
        knows(&name[..len]).then_some(at..at + 1 + len)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KNOWS: fn(&str) -> bool = |name| matches!(name, "p" | "tool_name");

    #[test]
    fn names_that_are_printed_are_opened_and_no_others() {
        for (text, expected, left) in [
            ("echo 'AUDIT: $p' >> log", "echo 'AUDIT: '\"$p\"'' >> log", ""),
            ("echo '$p$tool_name' done", "echo ''\"$p\"''\"$tool_name\"'' done", ""),
            (
                "true && printf '%s\\n' '<$p>'; logger '$p'",
                "true && printf '%s\\n' '<'\"$p\"'>'; logger ''\"$p\"''",
                "",
            ),
            ("if true; then X=1 echo '$p'; fi", "if true; then X=1 echo ''\"$p\"''; fi", ""),
            (">log echo '$p' 2>&1", ">log echo ''\"$p\"'' 2>&1", ""),
            ("echo \"it's\" '$p' \"$p'\"", "echo \"it's\" ''\"$p\"'' \"$p'\"", ""),
            ("echo it\\'s '$p'", "echo it\\'s ''\"$p\"''", ""),
            ("# it's\necho '$p' # '$p'", "# it's\necho ''\"$p\"'' # '$p'", ""),
            // What the shell doesn't know is not hookwire's.
            ("echo '$other $px ${p} $5'", "echo '$other $px ${p} $5'", ""),
            ("echo \"$p\" $p \\$p \"'$p'\"", "echo \"$p\" $p \\$p \"'$p'\"", ""),
            // Whose argument may be a program.
            ("sh -c 'lint $p'", "sh -c 'lint $p'", ""),
            ("eval 'lint $p'", "eval 'lint $p'", ""),
            ("python3 -c 'print(\"$p\")'", "python3 -c 'print(\"$p\")'", "$p"),
            ("sudo sh -c 'lint $p'", "sudo sh -c 'lint $p'", "$p"),
            ("CMD='lint $p'; $CMD", "CMD='lint $p'; $CMD", "$p"),
            ("e'ch'o '$p'", "e'ch'o '$p'", "$p"),
            // Where what is printed may reach another shell.
            ("echo 'rm $p' | sh", "echo 'rm $p' | sh", "$p"),
            ("{ echo 'rm $p'; } | sh", "{ echo 'rm $p'; } | sh", "$p"),
            ("eval $(echo 'rm $p')", "eval $(echo 'rm $p')", ""),
            ("X=`echo 'rm $p'`; $X", "X=`echo 'rm $p'`; $X", "$p"),
            (". <(echo 'rm $p')", ". <(echo 'rm $p')", "$p"),
            ("echo() { sh -c \"$1\"; }; echo '$p'", "echo() { sh -c \"$1\"; }; echo '$p'", "$p"),
            ("sh <<E\necho '$p'\nE", "sh <<E\necho '$p'\nE", "$p"),
            ("echo $'$p'", "echo $'$p'", "$p"),
            ("echo \"$(date)\" '$p'", "echo \"$(date)\" '$p'", "$p"),
            // What is not closed.
            ("echo '$p", "echo '$p", ""),
            ("echo \"' '$p'", "echo \"' '$p'", ""),
            ("", "", ""),
        ] {
            let (opened, names) = open(text, KNOWS);
            assert_eq!((opened.as_str(), names.join(" ").as_str()), (expected, left), "{text}");
        }
    }

    proptest! {
        /// Nothing but quotes around names is ever added, whatever the text.
        #[test]
        fn the_text_stays(text in r#"(echo|sh|\$p|'|"|\\|[|&;<>()` #\n$]|é|[a-z]){0,30}"#) {
            let (opened, _) = open(&text, KNOWS);
            prop_assert_eq!(opened.replace("'\"$p\"'", "$p"), text.replace("'\"$p\"'", "$p"));
        }
    }
}
