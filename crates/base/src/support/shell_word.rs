//! Words as every shell of the Bourne family takes them: one for nothing but itself, and a text of
//! a program with plain arguments.

/// Words that mean something to a shell where a program is expected.
const RESERVED: [&str; 17] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "in", "select", "function", "time", "coproc",
];

/// An argument.
pub fn argument(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+:,./@%=".contains(c);
    // `a=b` may be an assignment, and in front of anything zsh looks `=a` up.
    let may_assign = !word.starts_with('-') && word.contains('=');
    if !word.is_empty() && word.chars().all(is_plain) && !may_assign {
        word.to_string()
    } else {
        quoted(word)
    }
}

/// A program, with which a command begins.
pub fn program(word: &str) -> String {
    if RESERVED.contains(&word) || word.contains('=') {
        quoted(word)
    } else {
        argument(word)
    }
}

/// A program with its arguments.
pub fn command<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let words = words.into_iter().enumerate();
    let words: Vec<String> = words
        .map(|(n, word)| {
            if n == 0 {
                program(word)
            } else {
                argument(word)
            }
        })
        .collect();
    words.join(" ")
}

/// The words of a text that [`command`] has written, or that consists of nothing else than
/// [`words`] knows.
pub fn written(text: &str) -> Option<Vec<String>> {
    words(text).ok().or_else(|| {
        let words = words(&text.replace(r"'\''", "'\"'\"'")).ok()?;
        (command(words.iter().map(String::as_str)) == text).then_some(words)
    })
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Takes a text apart as a shell would if there were nothing but words and quotes; whatever else a
/// shell would act upon is refused.
///
/// # Errors
/// Says what is refused.
pub fn words(text: &str) -> Result<Vec<String>, String> {
    const MAX_TEXT: usize = 8 * 1024;
    if text.len() > MAX_TEXT {
        return Err(format!("a command has at most {MAX_TEXT} bytes"));
    }
    let refuse = |c: char| {
        let what = if c.is_control() {
            c.escape_default().to_string()
        } else {
            c.to_string()
        };
        Err(format!(
            "`{what}` is not allowed: a command is one program with plain words, without a shell; quote words that \
             hold special characters with '...'"
        ))
    };
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.trim_matches([' ', '\t']).chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        None => return Err("a quote is not closed".into()),
                        Some(end) if end == c => break,
                        // Between double quotes, these are not what they seem.
                        Some(inner @ ('$' | '`' | '\\' | '!')) if c == '"' => return refuse(inner),
                        Some(inner) if inner.is_control() => return refuse(inner),
                        Some(inner) => word.push(inner),
                    }
                }
            }
            '~' | '#' if word.is_none() => return refuse(c),
            ';' | '&' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '$' | '`' | '*' | '?' | '['
            | ']' | '!' | '\\' => {
                return refuse(c);
            }
            c if c.is_control() || (c.is_whitespace() && c != ' ') => return refuse(c),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match words.first() {
        None => Err("the command is empty".into()),
        Some(program) if program.contains('=') || program.is_empty() => {
            Err("a command begins with its program, not with a variable".into())
        }
        Some(_) => Ok(words),
    }
}
