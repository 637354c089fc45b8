//! A word as every shell of the Bourne family takes it for nothing but that word.

/// Words that mean something to a shell where a program is expected.
const RESERVED: [&str; 17] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in", "select",
    "function", "time", "coproc",
];

/// An argument.
pub(crate) fn argument(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+:,./@%=".contains(c);
    // `a=b` may be an assignment, and in front of anything zsh looks `=a` up.
    let may_assign = !word.starts_with('-') && word.contains('=');
    if !word.is_empty() && word.chars().all(is_plain) && !may_assign { word.to_string() } else { quoted(word) }
}

/// A program, with which a command begins.
pub(crate) fn program(word: &str) -> String {
    if RESERVED.contains(&word) || word.contains('=') { quoted(word) } else { argument(word) }
}

/// A program with its arguments.
pub(crate) fn command<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let words = words.into_iter().enumerate();
    let words: Vec<String> = words.map(|(n, word)| if n == 0 { program(word) } else { argument(word) }).collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
