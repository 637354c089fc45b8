//! The words of a text that is one program with plain arguments.

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
        let what = if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
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
            ';' | '&' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '$' | '`' | '*' | '?' | '[' | ']' | '!' | '\\' => {
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
