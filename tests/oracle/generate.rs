//! Texts for shells, the same for the same seed: from a grammar, by mutation, and from loose
//! tokens.

use crate::acts::RULES;
pub use crate::random::Random;
use crate::{grammar, state};

/// A text and what it was made for.
#[derive(Clone, Debug)]
pub struct Sample {
    pub shell: &'static str,
    pub text: String,
    /// An index of `RULES`.
    pub rule: usize,
    pub files: Vec<(String, String)>,
    pub kind: Kind,
    /// Which of the texts of a seed.
    pub number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The act within constructs of the grammar.
    Grammar,
    /// A text with a few tokens or bytes changed.
    Mutant,
    /// A text with the act put in somewhere.
    Splice,
    /// Loose tokens around the act.
    Soup,
    /// Plain commands that speak of the act and don't do it.
    Harmless,
    /// What is run comes from what was set before.
    State,
}

/// An existing text to start from.
pub struct Seed {
    pub shell: String,
    /// An index of `RULES`; an ordinary text has none.
    pub rule: Option<usize>,
    pub text: String,
    pub files: Vec<(String, String)>,
}

pub type Seeds = [Seed];

/// Sample number `number` of those for `shell`.
pub fn sample(shell: &'static str, seed: u64, number: u64, seeds: &Seeds) -> Sample {
    let mut made = Maker {
        random: Random::new(seed ^ number.rotate_left(24)),
        shell,
        rule: 0,
        tricks: 0,
    };
    made.rule = if made.random.chance(70) {
        0
    } else {
        made.random.below(RULES.len())
    };
    // By its number, so that all others stay what they were before there was this kind.
    if number % 8 == 7 {
        let text = state::text(&mut made);
        return Sample {
            shell,
            text,
            rule: made.rule,
            files: Vec::new(),
            kind: Kind::State,
            number,
        };
    }
    let mut files = Vec::new();
    let (text, kind) = match made.random.below(100) {
        0..44 => (made.grammatical(), Kind::Grammar),
        44..60 => {
            let text = made.base(seeds, false, &mut files);
            (made.mutated(&text), Kind::Mutant)
        }
        60..76 => {
            let text = made.base(seeds, true, &mut files);
            (made.spliced(&text), Kind::Splice)
        }
        76..86 => (made.soup(), Kind::Soup),
        _ => (made.harmless(), Kind::Harmless),
    };
    Sample {
        shell,
        text: text.replace('\0', ""),
        rule: made.rule,
        files,
        kind,
        number,
    }
}

/// What makes one text.
pub struct Maker {
    pub random: Random,
    pub shell: &'static str,
    /// An index of `RULES`.
    pub rule: usize,
    /// How often, in per cent, a plain spelling gives way to an odd one.
    pub tricks: usize,
}

impl Maker {
    fn grammatical(&mut self) -> String {
        self.tricks = [0, 3, 10, 30][self.random.below(4)];
        let depth = self.random.below(4);
        let text = self.list(depth);
        match self.random.below(10) {
            0 => format!("{text}\n"),
            1 => format!("{}{}{text}", self.noise(), self.separator(false)),
            2 => format!(
                "{text}{}{}",
                self.separator(text.contains('\n')),
                self.noise()
            ),
            _ => text,
        }
    }

    /// A list of commands that does the act.
    fn list(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.random.below(10) {
                0 => self.by_variables(),
                1 | 2 => self.simple(2),
                _ => self.simple(0),
            };
        }
        let special: &[&str] = match self.shell {
            "zsh" => grammar::ZSH,
            "dash" => grammar::DASH,
            _ => &[],
        };
        let template = if !special.is_empty() && self.random.chance(30) {
            self.random.pick(special)
        } else {
            let tables = [
                grammar::COMPOUND,
                grammar::COMPOUND,
                grammar::EXPANSIONS,
                grammar::EXPANSIONS,
                grammar::TEXTS,
                grammar::TEXTS,
                grammar::ARITHMETIC,
                grammar::PROGRAMS,
            ];
            let table = tables[self.random.below(tables.len())];
            self.random.pick(table)
        };
        self.fill(template, depth - 1)
    }

    /// A simple command that does the act, with `depth` wrappers about it.
    fn simple(&mut self, depth: usize) -> String {
        let command = self.argv(depth);
        let mut text = String::new();
        while self.random.chance(self.tricks + 2) {
            let first = if self.random.chance(50) {
                self.redirection()
            } else {
                self.random.pick(grammar::ASSIGNMENTS).to_owned()
            };
            text.push_str(&first);
            if !(first.ends_with("&-") && self.random.chance(50)) {
                text.push_str(self.blank());
            }
        }
        text + &command
    }

    /// Words that are a whole command, without assignments before it.
    fn argv(&mut self, depth: usize) -> String {
        if depth > 0 && self.random.chance(60) {
            let template = self.random.pick(grammar::WRAPPERS);
            return self.fill(template, depth - 1);
        }
        let spelling = self.random.pick(RULES[self.rule].spellings);
        self.words(spelling)
    }

    fn words(&mut self, words: &[&str]) -> String {
        let mut text = String::new();
        for (at, word) in words.iter().enumerate() {
            if at > 0 {
                let glue = self.random.chance(self.tricks / 3);
                if glue || self.random.chance(self.tricks / 4) {
                    if !glue {
                        text.push_str(self.blank());
                    }
                    let redirection = self.redirection();
                    text.push_str(&redirection);
                    if !(redirection.ends_with("&-") && self.random.chance(50)) {
                        text.push_str(self.blank());
                    }
                } else {
                    text.push_str(self.blank());
                }
            }
            text.push_str(&self.word(word));
        }
        if self.random.chance(self.tricks / 2 + 2) {
            let redirection = self.redirection();
            text.push(' ');
            text.push_str(&redirection);
        }
        text
    }

    /// The act by way of what an expansion gives.
    fn by_variables(&mut self) -> String {
        let words = self.random.pick(RULES[self.rule].spellings);
        let joined = words.join(" ");
        let at = self.random.below(words.len());
        let with = |it: &str| {
            let mut words = words.to_vec();
            words[at] = it;
            words.join(" ")
        };
        let template = self.random.pick(grammar::VARIABLES);
        let (first, rest) = joined.split_once(' ').unwrap_or((&joined, ""));
        let text = template
            .replace("%all", &joined)
            .replace("%quoted", &quoted(&joined))
            .replace("%first", first)
            .replace("%rest", rest)
            .replace("%word", words[at])
            .replace("%head", &words[at][..words[at].len().min(2)])
            .replace("%tail", &words[at][words[at].len().min(2)..])
            .replace("%x", &with("$x"))
            .replace("%q", &with("\"$x\""))
            .replace("%i", &with("${x:-y}"))
            .replace("%s", &with("$(echo $x)"))
            .replace("%1", &with("$1"))
            .replace("%lines", &words.join("\\n"));
        self.fill(&text, 0)
    }

    /// A word that expands to `value`.
    fn word(&mut self, value: &str) -> String {
        if !self.random.chance(self.tricks) {
            return if is_plain(value) {
                value.to_owned()
            } else {
                quoted(value)
            };
        }
        let middle = value
            .char_indices()
            .nth(1 + self.random.below(value.len().max(2) - 1))
            .map_or(value.len(), |(at, _)| at);
        let (head, tail) = value.split_at(middle);
        match self.random.below(19) {
            0 => format!("'{value}'"),
            1 => format!("\"{value}\""),
            2 => format!("{head}''{tail}"),
            3 => format!("{head}\"{tail}\""),
            4 => format!("'{head}'{tail}"),
            5 => value.chars().map(|letter| format!("\\{letter}")).collect(),
            6 => format!("{head}\\{tail}"),
            7 => format!("$'{value}'"),
            8 => format!(
                "$'{}'",
                value
                    .bytes()
                    .map(|byte| format!("\\x{byte:02x}"))
                    .collect::<String>()
            ),
            9 => format!(
                "$'{head}'{}",
                tail.bytes()
                    .map(|byte| format!("$'\\{byte:03o}'"))
                    .collect::<String>()
            ),
            10 => format!("$\"{value}\""),
            11 => format!("{head}${{u}}{tail}"),
            12 => format!("{head}$u{}", quoted(tail)),
            13 => format!("{head}\\\n{tail}"),
            14 => format!("{head}$(){tail}"),
            15 => format!("\"{head}\\\n{tail}\""),
            16 => format!("${{u:-{value}}}"),
            17 => format!("$(echo {value})"),
            _ => format!("{head}`echo {tail}`"),
        }
    }

    fn blank(&mut self) -> &'static str {
        if self.random.chance(self.tricks) {
            self.random
                .pick(&["  ", "\t", " \\\n", "\\\n ", " \t \\\n\\\n "])
        } else {
            " "
        }
    }

    fn redirection(&mut self) -> String {
        let template = self.random.pick(grammar::REDIRECTIONS);
        self.fill(template, 0)
    }

    fn noise(&mut self) -> String {
        self.random.pick(grammar::NOISE).to_owned()
    }

    /// What may stand between two commands; after a here-document or a comment, a new line.
    fn separator(&mut self, line: bool) -> &'static str {
        if line {
            return self.random.pick(&["\n", "\n", "\n\n", "\n# it's\n"]);
        }
        self.random.pick(&[
            "; ",
            "; ",
            "; ",
            ";",
            "\n",
            "\n",
            " ;\n",
            "\n\n",
            " # it's\n",
            ";# \"\n",
            "\\\n;",
            "\n# (\n",
            " # `\n",
            ";\t",
            "; # $(\n",
            " #\\\n",
            "\n#}\n",
            " # <<E\n",
            ";: # '\n",
        ])
    }

    /// Fills in a template of the grammar; `depth` is what its holes may use.
    fn fill(&mut self, template: &str, depth: usize) -> String {
        let mut text = String::new();
        let mut rest = template;
        while let Some(letter) = rest.chars().next() {
            if letter == ' ' && self.random.chance(self.tricks / 5) {
                rest = &rest[1..];
                text.push_str(self.blank());
                continue;
            }
            if letter != '@' {
                let (literal, others) = rest.split_at(letter.len_utf8());
                text.push_str(literal);
                rest = others;
                continue;
            }
            let Some(hole) = rest.get(1..2) else { break };
            rest = &rest[2..];
            let line = text.contains('\n') || text.contains('#');
            match hole {
                "L" => text += &self.list(depth),
                "S" => text += &self.simple(depth),
                "W" => text += &self.argv(depth),
                // Without quotes or new lines, for places where they would need care.
                "P" => text += &RULES[self.rule].spellings[0].join(" "),
                "c" => text += &self.noise(),
                "r" => text += &self.redirection(),
                "d" => text += self.random.pick(&["E", "EOF", "X", "in", "a"]),
                "w" => {
                    text += self.random.pick(&[
                        "x", "'it'", "\"a b\"", "\\#", "a#b", "{a,b}", "esac", "$'\\''", "~", "*",
                    ])
                }
                ";" => text += self.separator(line),
                "," => {
                    text += if self.random.chance(80) {
                        " "
                    } else {
                        self.separator(true)
                    }
                }
                ")" if line => text += "\n",
                ")" => {
                    text += self
                        .random
                        .pick(&["", "", " ", ";", "\n", " # it's)\n", " #)\n"])
                }
                // A nested template as a single word of text, or within backquotes.
                "{" => {
                    let (inner, others) = nested(rest);
                    let inner = self.fill(inner, depth);
                    text += &self.text(&inner);
                    rest = others;
                }
                "`" => {
                    let inner = self.list(depth);
                    text += &inner
                        .replace('\\', "\\\\")
                        .replace('`', "\\`")
                        .replace('$', "\\$");
                }
                other => text += other,
            }
        }
        text
    }

    /// A word whose value is a whole text.
    pub fn text(&mut self, value: &str) -> String {
        match self.random.below(8) {
            0 if !value.contains('!') => {
                let mut text = String::from("\"");
                for letter in value.chars() {
                    if "$`\"\\".contains(letter) {
                        text.push('\\');
                    }
                    text.push(letter);
                }
                text + "\""
            }
            1 if self.shell != "dash" => {
                format!(
                    "$'{}'",
                    value
                        .replace('\\', "\\\\")
                        .replace('\'', "\\'")
                        .replace('\n', "\\n")
                )
            }
            2 if !value.contains('\n') => value
                .chars()
                .map(|letter| {
                    if is_plain(&letter.to_string()) {
                        letter.to_string()
                    } else {
                        format!("\\{letter}")
                    }
                })
                .collect(),
            3 if is_plain(&value.replace(' ', "")) && !value.contains('\n') => {
                format!("\"{value}\"")
            }
            _ => quoted(value),
        }
    }

    /// A text to start from: one that exists, or a new one.
    fn base(&mut self, seeds: &Seeds, ordinary: bool, files: &mut Vec<(String, String)>) -> String {
        if seeds.is_empty() || self.random.chance(40) {
            return self.grammatical();
        }
        let mut seed = &seeds[self.random.below(seeds.len())];
        // Most texts of another shell, and ordinary ones that nothing will be put into, do nothing
        // here.
        for _ in 0..20 {
            let own = seed.shell == self.shell || (seed.shell == "bash" && self.random.chance(20));
            if own && (seed.rule.is_some() || ordinary) {
                break;
            }
            seed = &seeds[self.random.below(seeds.len())];
        }
        self.rule = seed.rule.unwrap_or(self.rule);
        files.clone_from(&seed.files);
        seed.text.clone()
    }

    pub fn mutated(&mut self, text: &str) -> String {
        let mut tokens = tokens(text);
        for _ in 0..1 + self.random.below(3) {
            if tokens.is_empty() {
                break;
            }
            let at = self.random.below(tokens.len());
            match self.random.below(8) {
                0 => {
                    tokens.remove(at);
                }
                1 => tokens.insert(at, tokens[at].clone()),
                2..5 => {
                    let token = self.random.pick(grammar::TOKENS);
                    tokens.insert(at, token.to_owned());
                }
                5 => tokens[at] = self.random.pick(grammar::TOKENS).to_owned(),
                6 => {
                    let other = self.random.below(tokens.len());
                    tokens.swap(at, other);
                }
                _ => {
                    let token = &tokens[at];
                    let cut = token
                        .char_indices()
                        .nth(self.random.below(token.len()))
                        .map_or(0, |(at, _)| at);
                    let (head, tail) = token.split_at(cut);
                    let between = self.random.pick(grammar::TOKENS);
                    tokens[at] = format!("{head}{between}{tail}");
                }
            }
        }
        tokens.concat()
    }

    fn spliced(&mut self, text: &str) -> String {
        let mut tokens = tokens(text);
        let carrier = self.random.pick(grammar::CARRIERS);
        let carrier = self.fill(carrier, 0);
        let at = self.random.below(tokens.len() + 1);
        tokens.insert(at, carrier);
        let text = tokens.concat();
        if self.random.chance(30) {
            self.mutated(&text)
        } else {
            text
        }
    }

    fn soup(&mut self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for _ in 0..2 + self.random.below(14) {
            parts.push(self.random.pick(grammar::TOKENS).to_owned());
        }
        for _ in 0..1 + self.random.below(2) {
            let carrier = self.random.pick(grammar::CARRIERS);
            let carrier = self.fill(carrier, 0);
            let at = self.random.below(parts.len() + 1);
            parts.insert(at, carrier);
        }
        let glue = self.random.pick(&[" ", " ", "", "\n"]);
        parts.join(glue)
    }

    /// Plain commands, put together in plain ways.
    fn harmless(&mut self) -> String {
        let mut text = String::new();
        for turn in 0..1 + self.random.below(3) {
            if turn > 0 {
                text.push_str(if text.contains("<<") || text.contains('#') {
                    "\n"
                } else {
                    self.random
                        .pick(&[" && ", "; ", " || ", "\n", " && ", " ; "])
                });
            }
            let mut command = self.random.pick(grammar::HARMLESS);
            while self.shell == "dash"
                && ["[[", "<<<", "=(", "<("]
                    .iter()
                    .any(|sign| command.contains(sign))
            {
                command = self.random.pick(grammar::HARMLESS);
            }
            let command = match self.random.below(12) {
                // A here-document or a comment would swallow what follows it.
                _ if command.contains(['\n', '#']) => command.to_owned(),
                0 => format!("{command} 2>&1 | head -20"),
                1 => format!("{command} > out.txt"),
                2 => format!("{command} 2>/dev/null"),
                3 => format!("({command})"),
                4 => format!("if true; then {command}; fi"),
                5 => format!("for f in a b; do {command}; done"),
                6 => format!("echo \"$({command})\""),
                7 => format!("cd . && {command}"),
                8 if !["if", "for", "whi", "cas", "[[", "(", "{", "!", "#", "f()"]
                    .iter()
                    .any(|word| command.starts_with(word)) =>
                {
                    format!("A=1 {command}")
                }
                9 => format!("cat <<'EOF'\ngit push --force\nrm -rf it's\ncurl x\nEOF\n{command}"),
                _ => command.to_owned(),
            };
            text.push_str(&command);
        }
        text
    }
}

/// The template up to the `@}` that closes it, and what follows.
pub fn nested(template: &str) -> (&str, &str) {
    let mut depth = 0;
    let mut at = 0;
    while let Some(found) = template[at..].find('@') {
        at += found;
        match template.get(at + 1..at + 2) {
            Some("{") => depth += 1,
            Some("}") if depth == 0 => return (&template[..at], &template[at + 2..]),
            Some("}") => depth -= 1,
            _ => {}
        }
        at += 2;
        if at >= template.len() {
            break;
        }
    }
    (template, "")
}

pub fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && word
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-_./:=+,%@".contains(letter))
}

pub fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "'\\''"))
}

/// A text as words, blanks and single signs; together they are the text.
pub fn tokens(text: &str) -> Vec<String> {
    let class = |letter: char| match letter {
        ' ' | '\t' => 0,
        '<' | '>' | '&' | '|' | ';' => 1,
        letter if letter.is_alphanumeric() || "-_./=+:".contains(letter) => 2,
        _ => 3,
    };
    let mut tokens: Vec<String> = Vec::new();
    let mut last = 3;
    for letter in text.chars() {
        let class = class(letter);
        match tokens.last_mut() {
            Some(token) if class == last && class != 3 => token.push(letter),
            _ => tokens.push(letter.to_string()),
        }
        last = class;
    }
    tokens
}
