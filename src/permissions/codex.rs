//! Codex' `.rules`: calls of `prefix_rule`, of which the strictest that names a command decides.
//!
//! The files are programs in Starlark. What is written out is read; what a program computes is not,
//! and that is said.

use super::commands::split;
use super::{Aside, Call, Example, MAX_RULE, MAX_RULES, Permission, Permissions, around_command};
use hookwire_base::support::shell_word;
use hookwire_base::verdict::Decision;
use std::collections::HashMap;

/// What the reading goes by.
const KNOWN_BY: &str = "the documentation of Codex, and `codex execpolicy check` of 0.171.0";

/// So many rules become of the alternatives of one.
const MAX_ALTERNATIVES: usize = 64;
/// The most that one value may hold: items and bytes together.
const MAX_VALUE: usize = 10_000;
/// How deep lists may stand in lists.
const MAX_DEPTH: usize = 8;

/// No rules yet.
pub fn none() -> Permissions {
    Permissions::none(
        |text| split(text).into_iter().map(Call::Bash).collect(),
        KNOWN_BY,
    )
}

/// Takes the rules of a file.
pub fn take(permissions: &mut Permissions, text: &str, file: &str) {
    let mut reader = Reader {
        text,
        at: 0,
        names: HashMap::new(),
    };
    while let Some(at) = reader.next_statement() {
        let line = text[..at].matches('\n').count() + 1;
        let place = format!("{file}:{line}");
        let first: String = text[at..]
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(60)
            .collect();
        let mut aside = |why: &str| {
            permissions.asides.push(Aside {
                text: first.clone(),
                place: place.clone(),
                why: why.to_string(),
            });
        };
        let statement = reader.statement();
        let length = reader.at - at;
        match statement {
            Some(Statement::Assigned) => {}
            Some(Statement::Call(name, arguments)) if name == "prefix_rule" => {
                if length > MAX_RULE * 8 || permissions.rules.len() >= MAX_RULES {
                    aside("it is too long, or there are too many rules to carry over at a time");
                    continue;
                }
                match prefix_rule(&arguments, &text[at..reader.at], place.clone()) {
                    Ok(rule) => permissions.rules.push(rule),
                    Err(why) => aside(&why),
                }
            }
            Some(Statement::Call(name, _)) => match name.as_str() {
                "network_rule" => {
                    aside("it is about Codex' own proxy; `Connect(HOST)` is about hosts here")
                }
                "host_executable" => aside(
                    "it says which file a name is to Codex; here a name is every file of that name",
                ),
                _ => aside("it is no rule that hookwire knows"),
            },
            None => {
                aside("it is computed; only a rule that is written out can be carried over");
                reader.skip_statement(at);
            }
        }
    }
}

/// A value that is written out.
#[derive(Clone, Debug)]
enum Literal {
    Text(String),
    List(Vec<Literal>),
    Other,
}

impl Literal {
    /// Its items and bytes.
    fn size(&self) -> usize {
        match self {
            Literal::Text(text) => text.len() + 1,
            Literal::List(items) => items.iter().map(Literal::size).sum::<usize>() + 1,
            Literal::Other => 1,
        }
    }
}

type Arguments = Vec<(Option<String>, Literal)>;

enum Statement {
    Assigned,
    Call(String, Arguments),
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    names: HashMap<String, Literal>,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Goes to what isn't a blank or a comment.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn next_statement(&mut self) -> Option<usize> {
        loop {
            self.skip_blanks();
            if !self.eats(";") {
                break;
            }
        }
        (self.at < self.text.len()).then_some(self.at)
    }

    /// Goes on at the next line that begins with a name, after what couldn't be read from here.
    fn skip_statement(&mut self, began: usize) {
        let rest = &self.text[began..];
        let begins = |line: &str| line.starts_with(|c: char| c.is_ascii_alphabetic());
        let mut at = began;
        for (n, line) in rest.split_inclusive('\n').enumerate() {
            if n > 0 && begins(line) {
                self.at = at;
                return;
            }
            at += line.len();
        }
        self.at = self.text.len();
    }

    fn eats(&mut self, word: &str) -> bool {
        let is_there = self.rest().starts_with(word);
        if is_there {
            self.at += word.len();
        }
        is_there
    }

    fn name(&mut self) -> Option<String> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let rest = self.rest();
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let name = rest[..end].to_string();
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        self.at += end;
        begins.then_some(name)
    }

    fn statement(&mut self) -> Option<Statement> {
        let name = self.name()?;
        self.skip_blanks();
        if self.eats("=") && !self.rest().starts_with('=') {
            let value = self.value(0)?;
            self.names.insert(name, value);
            return self.ends_statement().then_some(Statement::Assigned);
        }
        if !self.eats("(") {
            return None;
        }
        let mut arguments = Vec::new();
        loop {
            self.skip_blanks();
            if self.eats(")") {
                break;
            }
            arguments.push(self.argument()?);
            self.skip_blanks();
            if !self.eats(",") && !self.rest().starts_with(')') {
                return None;
            }
        }
        self.ends_statement()
            .then_some(Statement::Call(name, arguments))
    }

    /// Whether nothing else stands on the line.
    fn ends_statement(&mut self) -> bool {
        let rest = self.rest();
        let line = rest.lines().next().unwrap_or_default().trim_start();
        line.is_empty() || line.starts_with(['#', ';'])
    }

    fn argument(&mut self) -> Option<(Option<String>, Literal)> {
        let began = self.at;
        if let Some(name) = self.name() {
            self.skip_blanks();
            if self.eats("=") {
                return Some((Some(name), self.value(0)?));
            }
        }
        self.at = began;
        Some((None, self.value(0)?))
    }

    fn value(&mut self, depth: usize) -> Option<Literal> {
        let mut value = self.operand(depth)?;
        loop {
            self.skip_blanks_on_line(depth);
            if !self.eats("+") {
                return Some(value);
            }
            let more = self.operand(depth)?;
            if value.size() + more.size() > MAX_VALUE {
                return None;
            }
            value = match (value, more) {
                (Literal::Text(a), Literal::Text(b)) => Literal::Text(a + &b),
                (Literal::List(a), Literal::List(b)) => Literal::List([a, b].concat()),
                _ => return None,
            };
        }
    }

    fn skip_blanks_on_line(&mut self, depth: usize) {
        if depth > 0 {
            return self.skip_blanks();
        }
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    fn operand(&mut self, depth: usize) -> Option<Literal> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_blanks();
        if self.eats("[") {
            let mut items = Vec::new();
            loop {
                self.skip_blanks();
                if self.eats("]") {
                    return Some(Literal::List(items));
                }
                items.push(self.value(depth + 1)?);
                self.skip_blanks();
                if !self.eats(",") && !self.rest().starts_with(']') {
                    return None;
                }
            }
        }
        let is_raw = self.rest().starts_with("r\"") || self.rest().starts_with("r'");
        if is_raw {
            self.at += 1;
        }
        if self.rest().starts_with(['"', '\'']) {
            return self.string(is_raw).map(Literal::Text);
        }
        let name = self.name()?;
        match name.as_str() {
            "True" | "False" | "None" => Some(Literal::Other),
            _ => self.names.get(&name).cloned(),
        }
    }

    fn string(&mut self, is_raw: bool) -> Option<String> {
        let quote = self.rest().chars().next()?.to_string();
        let long = quote.repeat(3);
        let end = if self.rest().starts_with(&long) {
            long
        } else {
            quote
        };
        self.at += end.len();
        let mut text = String::new();
        loop {
            if self.eats(&end) {
                return Some(text);
            }
            let c = self.rest().chars().next()?;
            self.at += c.len_utf8();
            match c {
                '\n' if end.len() == 1 => return None,
                '\\' if !is_raw => {
                    let escaped = self.rest().chars().next()?;
                    self.at += escaped.len_utf8();
                    text.push(match escaped {
                        'n' => '\n',
                        't' => '\t',
                        '\\' | '"' | '\'' => escaped,
                        _ => return None,
                    });
                }
                c => text.push(c),
            }
        }
    }
}

/// A word of a prefix: the texts of which one is enough.
fn alternatives(literal: &Literal) -> Option<Vec<String>> {
    match literal {
        Literal::Text(text) => Some(vec![text.clone()]),
        Literal::List(items) if !items.is_empty() => items
            .iter()
            .map(|item| match item {
                Literal::Text(text) => Some(text.clone()),
                Literal::List(_) | Literal::Other => None,
            })
            .collect(),
        Literal::List(_) | Literal::Other => None,
    }
}

/// The words of an example: a text, or the words one by one.
fn example_words(literal: &Literal) -> Option<Vec<String>> {
    match literal {
        Literal::Text(text) => shell_word::words(text).ok(),
        Literal::List(_) => {
            let words = alternatives(literal)?;
            Some(words)
        }
        Literal::Other => None,
    }
}

fn prefix_rule(arguments: &Arguments, text: &str, place: String) -> Result<Permission, String> {
    const NAMES: [&str; 5] = ["pattern", "decision", "justification", "match", "not_match"];
    let mut found: HashMap<&str, &Literal> = HashMap::new();
    for (n, (name, value)) in arguments.iter().enumerate() {
        let name = match name {
            Some(name) => NAMES.iter().find(|it| *it == name),
            None => NAMES.get(n),
        };
        let name = name.ok_or("Codex refuses the file: it has an argument that isn't known")?;
        found.insert(name, value);
    }
    let said = |name: &str| match found.get(name) {
        Some(Literal::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let words: Option<Vec<Vec<String>>> = match found.get("pattern") {
        Some(Literal::List(words)) if !words.is_empty() => words.iter().map(alternatives).collect(),
        _ => None,
    };
    let words = words.ok_or("Codex refuses the file: `pattern` is no list of words")?;
    let decision = match said("decision") {
        None => Decision::Allow,
        Some("allow") => Decision::Allow,
        Some("prompt") => Decision::Ask,
        Some("forbidden") => Decision::Deny,
        Some(_) => return Err("Codex refuses the file: `decision` is none".into()),
    };
    let shown = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = shown.replace("( ", "(").replace(", )", ")");
    let mut rule = Permission {
        reason: said("justification")
            .filter(|_| decision != Decision::Allow)
            .map(String::from),
        ..Permission::new(shown, place, decision)
    };
    match combine(&words) {
        Ok(commands) => {
            rule.said.rules = commands.iter().map(|it| format!("Bash({it} *)")).collect();
        }
        Err(why) => rule.notes.push(why),
    }
    let first: Vec<&str> = words.iter().map(|it| it[0].as_str()).collect();
    rule.examples = around_command(&shell_word::command(first.iter().copied()));
    rule.reads = Box::new(move |call| {
        let Call::Bash(command) = call else {
            return false;
        };
        // Codex looks at a text that consists of words, and at no other.
        let Ok(given) = shell_word::words(command) else {
            return false;
        };
        given.len() >= words.len()
            && words
                .iter()
                .zip(&given)
                .all(|(any, word)| any.contains(word))
    });
    for (name, fits) in [("match", true), ("not_match", false)] {
        let Some(Literal::List(items)) = found.get(name) else {
            continue;
        };
        for item in items {
            let Some(words) = example_words(item) else {
                continue;
            };
            let call = Call::Bash(shell_word::command(words.iter().map(String::as_str)));
            if (rule.reads)(&call) != fits {
                let note = format!(
                    "Codex refuses the file: its example `{}` says otherwise",
                    call.shown()
                );
                rule.notes.push(note);
            }
            let how = if fits {
                "its own match"
            } else {
                "its own not_match"
            };
            rule.examples.push(Example::new(call, how));
        }
    }
    Ok(rule)
}

/// The commands of all alternatives, as patterns have them.
fn combine(words: &[Vec<String>]) -> Result<Vec<String>, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,~^".contains(c);
    let mut commands = vec![String::new()];
    for any in words {
        if let Some(word) = any
            .iter()
            .find(|it| it.is_empty() || !it.chars().all(is_plain))
        {
            return Err(format!(
                "the word `{word}` can't stand in a pattern as it is"
            ));
        }
        if commands.len() * any.len() > MAX_ALTERNATIVES {
            return Err(format!("it has more than {MAX_ALTERNATIVES} alternatives"));
        }
        commands = commands
            .iter()
            .flat_map(|before| {
                any.iter().map(move |word| {
                    let gap = if before.is_empty() { "" } else { " " };
                    format!("{before}{gap}{word}")
                })
            })
            .collect();
    }
    Ok(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_out_is_read() {
        for (text, rules, n_asides) in [
            ("prefix_rule(pattern=['ls'])", &["Bash(ls *)"][..], 0),
            (
                "# x\nprefix_rule(\n  pattern = [\"git\", [\"log\", 'status']], # y\n  decision = \"allow\",\n)\n",
                &["Bash(git log *)", "Bash(git status *)"],
                0,
            ),
            (
                "X = ['a']\nprefix_rule(X + ['b'], 'forbidden')",
                &["Bash(a b *)"],
                0,
            ),
            (
                "prefix_rule(pattern=['a']); prefix_rule(pattern=['b'])",
                &["Bash(a *)", "Bash(b *)"],
                0,
            ),
            (
                "[prefix_rule(pattern=[p]) for p in ['a']]\nprefix_rule(pattern=['b'])",
                &["Bash(b *)"],
                1,
            ),
            ("def f():\n  prefix_rule(pattern=['a'])\nf()\n", &[], 2),
            ("prefix_rule(pattern=['a', []])", &[], 1),
            ("prefix_rule(pattern=['a b'])", &[], 0),
            ("prefix_rule(pattern=['a'], decision='deny')", &[], 1),
            (
                "network_rule(host='a', protocol='https', decision='deny')",
                &[],
                1,
            ),
            ("prefix_rule(pattern=['a'", &[], 1),
            ("'", &[], 1),
            (
                "prefix_rule(pattern=[[[[[[[[[[[[[[['a']]]]]]]]]]]]]]])",
                &[],
                1,
            ),
        ] {
            let mut found = none();
            take(&mut found, text, "a.rules");
            let said: Vec<&str> = found
                .rules
                .iter()
                .flat_map(|it| it.said.rules.iter().map(String::as_str))
                .collect();
            assert_eq!((&said[..], found.asides.len()), (rules, n_asides), "{text}");
        }
    }
}
