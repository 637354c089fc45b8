//! Patterns over normalised commands.

use std::collections::HashSet;

/// A compiled `Bash(...)` pattern, held against one normalised command at a time.
///
/// `git push*` is a prefix, `git push *` and `git push:*` a prefix that ends at a word, `git push` exact;
/// a `*` elsewhere stands for any text. `rm -rf*` means the options, however they are spelt.
#[derive(Debug, Clone)]
pub struct CommandPattern {
    globs: Vec<Vec<String>>,
    flags: Option<FlagRule>,
    #[allow(dead_code, reason = "tests hold it to what matches")]
    prefix: String,
}

#[derive(Debug, Clone)]
struct FlagRule {
    program: String,
    letters: Vec<char>,
}

impl CommandPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let pattern = pattern.trim();
        if pattern.is_empty() {
            return Err("the pattern is empty; `*` matches every command".to_string());
        }
        if pattern.len() > 4096 || pattern.contains('\0') {
            return Err("the pattern is too long or holds a NUL byte".to_string());
        }
        let mut forms = vec![pattern.to_string()];
        // A program is listed without its directory, so a pattern that names one is held against both
        // forms. A wildcard name has no second form: it would match every program there is.
        let (head, rest) = match pattern.find(' ') {
            Some(at) => pattern.split_at(at),
            None => (pattern, ""),
        };
        if let Some((_, name)) = head.rsplit_once('/')
            && !name.starts_with('*')
            && !name.starts_with(":*")
            && !name.is_empty()
        {
            forms.push(format!("{name}{rest}"));
        }
        let mut globs = Vec::new();
        for form in &forms {
            let word = form.strip_suffix(":*").or_else(|| form.strip_suffix(" *"));
            match word {
                Some(word) if !word.trim_end().is_empty() => {
                    let word = word.trim_end();
                    globs.push(split_glob(word));
                    globs.push(split_glob(&format!("{word} *")));
                }
                _ => globs.push(split_glob(form)),
            }
        }
        let flags = forms.last().and_then(|form| FlagRule::new(form));
        let prefix = match &flags {
            Some(rule) if forms.len() == 1 => rule.program.clone(),
            _ => common_prefix(globs.iter().map(|glob| glob.first().map_or("", String::as_str))),
        };
        Ok(Self { globs, flags, prefix })
    }

    /// Whether a normalised command satisfies it.
    pub fn matches(&self, command: &str) -> bool {
        self.globs.iter().any(|glob| glob_matches(glob, command))
            || self.flags.as_ref().is_some_and(|rule| rule.matches(command))
    }

    /// A text that every matching command starts with; may be empty.
    #[allow(dead_code, reason = "tests hold it to what matches")]
    pub fn literal_prefix(&self) -> &str {
        &self.prefix
    }
}

fn split_glob(pattern: &str) -> Vec<String> {
    pattern.split('*').map(str::to_string).collect()
}

/// Leftmost placement of each piece is enough, because `*` is the only wildcard.
fn glob_matches(pieces: &[String], text: &str) -> bool {
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
        return false;
    };
    if pieces.len() == 1 {
        return text == first;
    }
    let Some(mut rest) = text.strip_prefix(first.as_str()) else {
        return false;
    };
    for piece in &pieces[1..pieces.len() - 1] {
        match rest.find(piece.as_str()) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last.as_str())
}

fn common_prefix<'a>(mut texts: impl Iterator<Item = &'a str>) -> String {
    let Some(first) = texts.next() else {
        return String::new();
    };
    let mut end = first.len();
    for text in texts {
        let shared = first.char_indices().zip(text.chars()).take_while(|((_, a), b)| a == b);
        end = end.min(shared.last().map_or(0, |((at, c), _)| at + c.len_utf8()));
    }
    first[..end].to_string()
}

impl FlagRule {
    /// `program -letters*`. A single letter counts for `rm` only: elsewhere `-c` before a `*` is mostly
    /// an option with a value, which the plain prefix already says.
    fn new(pattern: &str) -> Option<Self> {
        let (program, option) = pattern.split_once(' ')?;
        let letters = option.strip_suffix('*')?.trim_end_matches([' ', ':']).strip_prefix('-')?;
        let wanted = if program == "rm" { 1 } else { 2 };
        let valid = letters.len() >= wanted && letters.chars().all(|c| c.is_ascii_alphabetic());
        (valid && !program.contains('*') && !program.is_empty()).then(|| Self {
            program: program.to_string(),
            letters: letters.chars().map(|c| fold_flag(program, c)).collect(),
        })
    }

    fn matches(&self, command: &str) -> bool {
        let mut words = command.split(' ');
        if words.next() != Some(&self.program) {
            return false;
        }
        let mut seen = HashSet::new();
        for word in words.take_while(|word| *word != "--") {
            if let Some(long) = word.strip_prefix("--") {
                // GNU programs take any unambiguous abbreviation of a long option.
                let spelt = |name: &str, least: usize| long.len() >= least && name.starts_with(long);
                if self.program == "rm" && spelt("recursive", 1) {
                    seen.insert('r');
                } else if self.program == "rm" && spelt("force", 1) {
                    seen.insert('f');
                }
            } else if let Some(cluster) = word.strip_prefix('-') {
                seen.extend(cluster.chars().map(|c| fold_flag(&self.program, c)));
            }
        }
        self.letters.iter().all(|letter| seen.contains(letter))
    }
}

fn fold_flag(program: &str, flag: char) -> char {
    if program == "rm" && flag == 'R' { 'r' } else { flag }
}
