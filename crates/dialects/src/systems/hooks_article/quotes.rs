//! Names in single quotes, where a shell leaves them as they are.
//!
//! `echo 'AUDIT: $tool_input_path' >> audit.log` is meant to write the path. The value must never
//! become shell text, so the quotes are opened around the name: `'AUDIT: '"$tool_input_path"''`.
//! That is right only where the quoted text is data. In `sh -c 'lint $tool_input_path'` it is a
//! program, whose shell reads the variable by itself, and opening would make the value a part of
//! that program; a printed text becomes one through a pipe, a file, an alias. So it is done only in
//! texts in which every command does nothing but print; any other text stays, and the author is
//! told.

use std::ops::Range;

/// Commands that do nothing with an argument but print it, if that.
const PRINTERS: [&str; 6] = ["echo", "printf", "logger", ":", "true", "exit"];
/// Commands that read their argument as a shell does, variables included.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ksh", "zsh", "eval", "trap"];
/// Words after which another command begins.
const RESERVED: [&str; 11] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "exec",
];

/// A known name, `$` included, in single quotes.
struct Quoted {
    at: Range<usize>,
    /// A shell of its own reads it.
    is_program: bool,
}

/// Opens the quotes around the names that a predicate knows; beside the text come the names that
/// stay as they are.
pub(super) fn open_quotes(text: &str, knows: fn(&str) -> bool) -> (String, Vec<&str>) {
    let (found, only_prints) = scan_quotes(text, knows);
    if !only_prints {
        return (
            text.into(),
            found
                .into_iter()
                .filter(|it| !it.is_program)
                .map(|it| &text[it.at])
                .collect(),
        );
    }
    let (mut out, mut done) = (String::new(), 0);
    for Quoted { at, .. } in found {
        out.push_str(&format!(
            "{}'\"{}\"'",
            &text[done..at.start],
            &text[at.clone()]
        ));
        done = at.end;
    }
    out.push_str(&text[done..]);
    (out, Vec::new())
}

/// Every known name in single quotes, and whether the text does nothing but print: printers one
/// after the other, whose output goes at most to files.
fn scan_quotes(text: &str, knows: fn(&str) -> bool) -> (Vec<Quoted>, bool) {
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or_default();
    let mut found = Vec::new();
    let mut only_prints = true;
    let mut words = Words::default();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => {
                words.push('\\');
                i += 1;
            }
            b'\'' => {
                let Some(len) = text[i + 1..].find('\'') else {
                    return (found, false);
                };
                let is_program = words
                    .command()
                    .is_some_and(|command| SHELLS.contains(&command));
                let quoted = find_names(&text[i + 1..i + 1 + len], knows);
                found.extend(quoted.map(|quoted| Quoted {
                    at: i + 1 + quoted.start..i + 1 + quoted.end,
                    is_program,
                }));
                words.push('\'');
                i += len + 1;
            }
            b'"' => {
                words.push('"');
                i += 1;
                while at(i) != b'"' {
                    match at(i) {
                        b'\\' => i += 1,
                        b'`' => only_prints = false,
                        b'$' if matches!(at(i + 1), b'(' | b'{') => only_prints = false,
                        _ => {}
                    }
                    i += 1;
                    if i >= bytes.len() {
                        return (found, false);
                    }
                }
            }
            b'$' => {
                only_prints &= !matches!(at(i + 1), b'(' | b'{' | b'\'' | b'"');
                words.push('$');
            }
            b'#' if words.word.is_empty() => {
                i += text[i..]
                    .find('\n')
                    .unwrap_or(text.len() - i)
                    .saturating_sub(1)
            }
            b'>' => {
                words.end_word();
                let is_copy = at(i + 1) == b'&' && matches!(at(i + 2), b'1' | b'2');
                i += usize::from(at(i + 1) == b'>' || is_copy);
            }
            b'`' | b'(' | b')' | b'<' => only_prints = false,
            other @ (b'|' | b'&' | b';' | b'\n') => {
                let is_twice = at(i + 1) == other;
                only_prints &= words.end_command() && (is_twice || matches!(other, b';' | b'\n'));
                i += usize::from(is_twice && matches!(other, b'|' | b'&'));
            }
            b' ' | b'\t' => words.end_word(),
            other => words.push(char::from(other)),
        }
        i += 1;
    }
    only_prints &= words.end_command();
    (found, only_prints)
}

/// The words of one command.
#[derive(Default)]
struct Words {
    ended: Vec<String>,
    word: String,
}

impl Words {
    fn push(&mut self, c: char) {
        self.word.push(c);
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        self.ended
            .extend(Some(word).filter(|word| !word.is_empty()));
    }

    /// Whether it only prints.
    fn end_command(&mut self) -> bool {
        self.end_word();
        std::mem::take(&mut self.ended)
            .first()
            .is_none_or(|command| PRINTERS.contains(&command.as_str()))
    }

    /// The command that is run, after keywords and assignments.
    fn command(&self) -> Option<&str> {
        self.ended
            .iter()
            .map(String::as_str)
            .find(|word| !RESERVED.contains(word) && !word.contains('='))
    }
}

/// Where a text has known names, `$` included.
fn find_names(text: &str, knows: fn(&str) -> bool) -> impl Iterator<Item = Range<usize>> + '_ {
    text.match_indices('$').filter_map(move |(at, _)| {
        let name = &text[at + 1..];
        let len = name
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(name.len());
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
            (
                "echo 'AUDIT: $p' >> log",
                "echo 'AUDIT: '\"$p\"'' >> log",
                "",
            ),
            (
                "echo '$p$tool_name' done",
                "echo ''\"$p\"''\"$tool_name\"'' done",
                "",
            ),
            (
                "true && printf '%s\\n' '<$p>'; logger '$p'",
                "true && printf '%s\\n' '<'\"$p\"'>'; logger ''\"$p\"''",
                "",
            ),
            (
                "echo '$p'>log 2>>err; :",
                "echo ''\"$p\"''>log 2>>err; :",
                "",
            ),
            (
                "echo 'no $p' >&2; exit 2",
                "echo 'no '\"$p\"'' >&2; exit 2",
                "",
            ),
            (
                "echo '$p' >>log 2>&1 || true",
                "echo ''\"$p\"'' >>log 2>&1 || true",
                "",
            ),
            (
                "echo \"it's\" '$p' \"$p'\"",
                "echo \"it's\" ''\"$p\"'' \"$p'\"",
                "",
            ),
            ("echo it\\'s '$p'", "echo it\\'s ''\"$p\"''", ""),
            (
                "# it's\necho '$p' # '$p'",
                "# it's\necho ''\"$p\"'' # '$p'",
                "",
            ),
            // Unknown to the shell, so not for hookwire to change.
            ("echo '$other $px ${p} $5'", "echo '$other $px ${p} $5'", ""),
            (
                "echo \"$p\" $p \\$p \"'$p'\"",
                "echo \"$p\" $p \\$p \"'$p'\"",
                "",
            ),
            // Its argument may be a program.
            ("sh -c 'lint $p'", "sh -c 'lint $p'", ""),
            ("eval 'lint $p'", "eval 'lint $p'", ""),
            (
                "python3 -c 'print(\"$p\")'",
                "python3 -c 'print(\"$p\")'",
                "$p",
            ),
            ("sudo sh -c 'lint $p'", "sudo sh -c 'lint $p'", "$p"),
            ("CMD='lint $p'; $CMD", "CMD='lint $p'; $CMD", "$p"),
            ("e'ch'o '$p'", "e'ch'o '$p'", "$p"),
            (
                "if true; then X=1 sh -c 'lint $p'; fi",
                "if true; then X=1 sh -c 'lint $p'; fi",
                "",
            ),
            // Where more is done than to print.
            (
                "if true; then echo '$p'; fi",
                "if true; then echo '$p'; fi",
                "$p",
            ),
            ("X=1 echo '$p'", "X=1 echo '$p'", "$p"),
            ("/bin/echo '$p'", "/bin/echo '$p'", "$p"),
            ("echo '$p'; date", "echo '$p'; date", "$p"),
            ("echo '$p' > >(sh)", "echo '$p' > >(sh)", "$p"),
            ("echo '$p' &> log", "echo '$p' &> log", "$p"),
            ("echo '$p' >| log", "echo '$p' >| log", "$p"),
            // Where what is printed may reach another shell.
            (
                "echo 'lint $p' > x.sh; sh x.sh",
                "echo 'lint $p' > x.sh; sh x.sh",
                "$p",
            ),
            (
                "echo '$p' >x && chmod +x x && ./x",
                "echo '$p' >x && chmod +x x && ./x",
                "$p",
            ),
            (
                "printf 'lint $p' >x.sh;. ./x.sh",
                "printf 'lint $p' >x.sh;. ./x.sh",
                "$p",
            ),
            (
                "exec > x.sh\necho 'lint $p'\nsh x.sh 1>&2",
                "exec > x.sh\necho 'lint $p'\nsh x.sh 1>&2",
                "$p",
            ),
            (
                "mkfifo ff; sh ff & echo '$p' > ff; wait",
                "mkfifo ff; sh ff & echo '$p' > ff; wait",
                "$p",
            ),
            (
                "alias echo=eval\necho 'lint $p'",
                "alias echo=eval\necho 'lint $p'",
                "$p",
            ),
            ("sh ff & echo '$p' > ff", "sh ff & echo '$p' > ff", "$p"),
            ("echo 'rm $p' | sh", "echo 'rm $p' | sh", "$p"),
            ("{ echo 'rm $p'; } | sh", "{ echo 'rm $p'; } | sh", "$p"),
            ("eval $(echo 'rm $p')", "eval $(echo 'rm $p')", ""),
            ("X=`echo 'rm $p'`; $X", "X=`echo 'rm $p'`; $X", "$p"),
            (". <(echo 'rm $p')", ". <(echo 'rm $p')", "$p"),
            (
                "echo() { sh -c \"$1\"; }; echo '$p'",
                "echo() { sh -c \"$1\"; }; echo '$p'",
                "$p",
            ),
            ("sh <<E\necho '$p'\nE", "sh <<E\necho '$p'\nE", "$p"),
            ("echo $'$p'", "echo $'$p'", "$p"),
            ("echo \"$(date)\" '$p'", "echo \"$(date)\" '$p'", "$p"),
            // A quote that is not closed.
            ("echo '$p", "echo '$p", ""),
            ("echo \"' '$p'", "echo \"' '$p'", ""),
            ("", "", ""),
        ] {
            let (opened, names) = open_quotes(text, KNOWS);
            assert_eq!(
                (opened.as_str(), names.join(" ").as_str()),
                (expected, left),
                "{text}"
            );
        }
    }

    proptest! {
        /// Nothing but quotes around names is ever added, whatever the text.
        #[test]
        fn the_text_stays(text in r#"(echo|sh|\$p|'|"|\\|[|&;<>()` #\n$]|é|[a-z]){0,30}"#) {
            let (opened, _) = open_quotes(&text, KNOWS);
            prop_assert_eq!(opened.replace("'\"$p\"'", "$p"), text.replace("'\"$p\"'", "$p"));
        }
    }
}
