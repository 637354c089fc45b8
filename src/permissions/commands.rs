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

/// So many texts within texts are looked at.
const MAX_TEXTS: usize = 64;

/// The commands of a text, and those of its groups and substitutions. What runs behind the text
/// (`&`) is a part of its own that is no command.
pub(super) fn split_deep(text: &str) -> Vec<String> {
    let (mut found, mut waiting, mut n_texts) = (Vec::new(), vec![text.to_string()], 0);
    while let Some(text) = waiting.pop() {
        n_texts += 1;
        if n_texts > MAX_TEXTS {
            break;
        }
        for part in split(&text) {
            let inner = part.split("$(").skip(1);
            waiting.extend(inner.filter_map(|it| Some(it.split_once(')')?.0.to_string())));
            let bare = without_group(&part);
            found.extend((!bare.is_empty()).then(|| bare.to_string()));
        }
        if has_background(&text) {
            found.push("&".into());
        }
    }
    found
}

/// A command without what opens and closes a group around it.
fn without_group(command: &str) -> &str {
    const WORDS: [&str; 6] = ["then ", "do ", "else ", "if ", "while ", "! "];
    let mut bare = command.trim();
    loop {
        let before = bare;
        bare = bare.trim_start_matches(['(', '{']).trim_start();
        for word in WORDS {
            bare = bare.strip_prefix(word).unwrap_or(bare).trim_start();
        }
        if bare == before {
            break;
        }
    }
    let is_open = bare.matches('(').count() >= bare.matches(')').count();
    let bare = if is_open {
        bare
    } else {
        bare.trim_end_matches(')')
    };
    let bare = bare.trim_end_matches([' ', '}']);
    if ["fi", "done", "esac"].contains(&bare) {
        return "";
    }
    bare
}

/// Whether a command runs behind the text, outside of quotes.
fn has_background(text: &str) -> bool {
    let (mut quote, mut before) = (None, ' ');
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match (c, quote) {
            ('\\', None | Some('"')) => drop(chars.next()),
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(open)) => quote = quote.filter(|_| c != open),
            ('&', None) if next == Some('&') => drop(chars.next()),
            ('&', None) if before != '>' && before != '|' && next != Some('>') => return true,
            _ => {}
        }
        before = c;
    }
    false
}

/// What stands behind each `>` outside of quotes.
pub(super) fn redirected_to(command: &str) -> Vec<String> {
    let (mut found, mut quote) = (Vec::new(), None);
    for (at, c) in command.char_indices() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(open)) => quote = quote.filter(|_| c != open),
            ('>', None) => {
                let rest = command[at + 1..]
                    .trim_start_matches(['>', '|'])
                    .trim_start();
                found.extend(rest.split_whitespace().next().map(String::from));
            }
            _ => {}
        }
    }
    found
}

/// The words of a simple command, without their quotes; where it holds more than words, those
/// between blanks.
pub(super) fn words(command: &str) -> Vec<String> {
    hookwire_base::support::shell_word::words(command).unwrap_or_else(|_| {
        let words = command.split_whitespace();
        words.map(|word| word.replace('\\', "")).collect()
    })
}

/// A command without its redirections.
pub(super) fn without_redirections(command: &str) -> String {
    let (mut kept, mut quote, mut rest) = (String::new(), None, command);
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(open)) => quote = quote.filter(|_| c != open),
            ('>' | '<', None) => {
                let before = kept.trim_end_matches(['1', '2', '&']).len();
                if kept[..before].ends_with(' ') || before == 0 {
                    kept.truncate(before);
                }
                let target = after.trim_start_matches(['>', '<', '|', '&']).trim_start();
                let end = target.find(char::is_whitespace).unwrap_or(target.len());
                rest = &target[end..];
                continue;
            }
            _ => {}
        }
        kept.push(c);
        rest = after;
    }
    kept.trim().to_string()
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
    fn groups_and_redirections_are_seen() {
        for (text, parts) in [
            ("(rm x)", &["rm x"][..]),
            ("echo $(rm x)", &["echo $(rm x)", "rm x"]),
            ("if true; then rm x; fi", &["true", "rm x"]),
            ("{ rm x; }", &["rm x"]),
            ("a & b && c 2>&1 &", &["a", "b", "c 2>&1", "&"]),
        ] {
            assert_eq!(split_deep(text), parts, "{text}");
        }
        for (command, files) in [
            ("a > b", &["b"][..]),
            ("a >b 2>&1", &["b", "&1"]),
            ("echo 'a > b'", &[]),
        ] {
            assert_eq!(redirected_to(command), files, "{command}");
        }
        for (command, bare) in [
            ("a b > c", "a b"),
            ("a 2>&1", "a"),
            ("a > b c", "a  c"),
            ("> b", ""),
            ("a '> b' <c", "a '> b'"),
        ] {
            assert_eq!(without_redirections(command), bare, "{command}");
        }
    }

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
