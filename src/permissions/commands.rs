//! Texts for a shell as agents' permissions read them: simple commands between operators. What is
//! more than that, such as a substitution, stays a part of its command.

/// The commands between `&&`, `||`, `;`, `|`, `&` and line breaks, outside of quotes.
pub(super) fn split(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut quote) = (Vec::new(), String::new(), None);
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let is_duplication = c == '&' && (before == '>' || chars.peek() == Some(&'>'));
        match (c, quote) {
            ('\\', None | Some('"')) => {
                part.push(c);
                part.extend(chars.next());
            }
            ('\'' | '"', None) => {
                quote = Some(c);
                part.push(c);
            }
            (_, Some(open)) => {
                if c == open {
                    quote = None;
                }
                part.push(c);
            }
            (';' | '\n' | '|', None) => parts.push(std::mem::take(&mut part)),
            ('&', None) if !is_duplication => parts.push(std::mem::take(&mut part)),
            _ => part.push(c),
        }
        before = c;
    }
    parts.push(part);
    let trimmed = parts.iter().map(|part| part.trim().to_string());
    trimmed.filter(|part| !part.is_empty()).collect()
}

/// The words of a simple command, without their quotes; where it holds more than words, those
/// between blanks.
pub(super) fn words(command: &str) -> Vec<String> {
    hookwire_base::support::shell_word::words(command)
        .unwrap_or_else(|_| command.split_whitespace().map(String::from).collect())
}

/// A setting before a command: its name.
pub(super) fn setting(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (begins && name.chars().all(is_name)).then_some(name)
}

/// A command in one spelling of its blanks.
pub(super) fn with_single_blanks(command: &str) -> String {
    command.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What `bash -c` and the like run.
pub(super) fn inner_text(command: &str) -> Option<String> {
    let words = words(command);
    match &words[..] {
        [shell, option, text, ..]
            if ["bash", "sh", "zsh", "dash"].contains(&shell.as_str()) && option == "-c" =>
        {
            Some(text.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_outside_of_quotes() {
        for (text, parts) in [
            ("a && b || c", &["a", "b", "c"][..]),
            ("a;b\nc | d |& e", &["a", "b", "c", "d", "e"]),
            ("a & b", &["a", "b"]),
            ("a 2>&1 &> x", &["a 2>&1 &> x"]),
            (
                "echo 'a && b' \"c;d\" e\\;f",
                &["echo 'a && b' \"c;d\" e\\;f"],
            ),
            ("", &[]),
        ] {
            assert_eq!(split(text), parts, "{text}");
        }
    }
}
