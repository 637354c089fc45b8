//! Which simple commands a shell text would run, and patterns over them.
//!
//! [`parse`] reads a text the way bash 5 does, as far as that can be told without running it, and lists
//! every simple command on any control path in a normal form: argv joined by single spaces, quotes and
//! leading assignments gone, wrapper programs such as `env` or `timeout` taken off. Whatever it can't
//! decide sets `opaque`; it errs towards that, because an unnoticed command is the one mistake that a
//! guard can't afford. Unsupported syntax is read loosely: it may list a command that bash would refuse
//! to run.
//!
//! What opaque means for a rule (ask, deny, no opinion) is left to the caller, and so are the programs
//! themselves: `npm test` and `./build.sh` are commands by that name, whatever their files hold, and so is
//! a long git verb that the user's configuration may have made an alias.
//!
//! Two normal forms are listed where one would mislead an allow rule: a program outside the standard
//! directories (`./git push` and `git push`), and wrappers that change who or where the command is
//! (`sudo ls` and `ls`), as well as shells that are given text (`sh -c ls` and `ls`).

use std::collections::HashSet;

/// What a shell text would run, as far as it can be told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellText {
    /// Normalised simple commands in order of appearance, without repetition.
    pub commands: Vec<String>,
    /// Why something could not be decided; the first reason found.
    pub opaque: Option<&'static str>,
}

/// Lists what `text` would run.
pub fn parse(text: &str) -> ShellText {
    let mut found = Found::default();
    if text.len() > MAX_TEXT {
        found.opaque("the text is too long");
    } else if text.contains('\0') {
        found.opaque("the text holds a NUL byte");
    } else {
        found.allowance = text.len() * WORK_PER_BYTE + 4096;
        Parser::new(text, 0, &mut found).list(End::Text);
        found.check_written_programs();
    }
    ShellText { commands: found.commands, opaque: found.opaque }
}

/// A compiled `Bash(...)` pattern, held against one normalised command at a time.
///
/// `git push*` is a prefix, `git push *` and `git push:*` a prefix that ends at a word, `git push` exact;
/// a `*` elsewhere stands for any text. `rm -rf*` means the options, however they are spelt.
#[derive(Debug, Clone)]
pub struct CommandPattern {
    globs: Vec<Vec<String>>,
    flags: Option<FlagRule>,
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

const MAX_TEXT: usize = 256 * 1024;
const MAX_DEPTH: usize = 24;
const MAX_COMMANDS: usize = 20_000;
/// Texts inside texts (`sh -c`, back-quotes) are read again, once per level: this bounds the sum.
const WORK_PER_BYTE: usize = 40;

/// What has been gathered over all nested texts.
#[derive(Default)]
struct Found {
    commands: Vec<String>,
    known: HashSet<String>,
    opaque: Option<&'static str>,
    allowance: usize,
    written: HashSet<String>,
    writes_unknown: bool,
    started: HashSet<String>,
    started_by_path: bool,
}

impl Found {
    fn opaque(&mut self, reason: &'static str) {
        self.opaque.get_or_insert(reason);
    }

    fn push(&mut self, command: String) {
        if self.commands.len() >= MAX_COMMANDS {
            self.opaque("there are too many commands");
            self.allowance = 0;
        } else if self.known.insert(command.clone()) {
            self.commands.push(command);
        }
    }

    fn wrote(&mut self, path: &str) {
        if path.starts_with("/dev/") {
            return;
        }
        if path.contains(".git/") || base_name(path) == ".gitconfig" {
            self.opaque("git's configuration or hooks are written");
        }
        self.written.insert(base_name(path).to_string());
    }

    /// A program or script that the same text may have made can be anything.
    fn check_written_programs(&mut self) {
        let made = self.started.iter().any(|name| self.written.contains(name));
        if made || (self.writes_unknown && self.started_by_path) {
            self.opaque("it runs a file that it may have written itself");
        }
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// One word after quote removal. Expansions stay in `text` as they were written.
#[derive(Debug, Clone, Default)]
struct Word {
    text: String,
    /// Where in `text` the first expansion starts.
    dynamic_at: Option<usize>,
    /// An unquoted expansion: may become several words or none.
    split: bool,
    glob: bool,
    brace: bool,
    quoted: bool,
    /// Where the `=` of a leading `NAME=` is.
    assign: Option<usize>,
    bracket: bool,
    brace_depth: usize,
    brace_part: bool,
}

impl Word {
    fn literal(text: &str) -> Self {
        Self { text: text.to_string(), quoted: true, ..Self::default() }
    }

    /// Words that only the run will tell, such as those `xargs` reads.
    fn unknown() -> Self {
        Self { text: "$@".to_string(), dynamic_at: Some(0), split: true, ..Self::default() }
    }

    fn is_literal(&self) -> bool {
        self.dynamic_at.is_none() && !self.glob && !self.brace
    }

    fn as_literal(&self) -> Option<&str> {
        self.is_literal().then_some(self.text.as_str())
    }

    fn dynamic(&mut self, source: &str, quoted: bool) {
        self.dynamic_at.get_or_insert(self.text.len());
        self.split |= !quoted;
        self.text.push_str(source);
    }

    fn plain(&mut self, c: char) {
        match c {
            '*' | '?' => self.glob = true,
            '[' => self.bracket = true,
            ']' if self.bracket => self.glob = true,
            '{' => self.brace_depth += 1,
            ',' if self.brace_depth > 0 => self.brace_part = true,
            '.' if self.brace_depth > 0 && self.text.ends_with('.') => self.brace_part = true,
            '}' if self.brace_part => self.brace = true,
            '=' if self.assign.is_none() && !self.quoted && is_assignable(&self.text) => {
                self.assign = Some(self.text.len());
            }
            _ => {}
        }
        self.text.push(c);
    }
}

fn is_assignable(text: &str) -> bool {
    let text = text.strip_suffix('+').unwrap_or(text);
    match text.split_once('[') {
        Some((name, subscript)) => is_name(name) && subscript.ends_with(']'),
        None => is_name(text),
    }
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Where a list of commands stops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Text,
    Paren,
    CaseItem,
}

/// Who reads a here-document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    Data,
    Shell,
    Variable,
}

struct HereDocument {
    delimiter: String,
    quoted: bool,
    strip_tabs: bool,
    reader: Reader,
}

/// Where a simple command's standard input comes from, if the text says so.
#[derive(Default)]
struct Input {
    here_string: Option<Word>,
    here_documents: std::ops::Range<usize>,
}

struct Parser<'a> {
    text: Vec<char>,
    at: usize,
    depth: usize,
    here: Vec<HereDocument>,
    found: &'a mut Found,
}

const DEEP: &str = "it is nested too deeply or too large";
const UNFINISHED: &str = "a quote, bracket or here-document is not closed";
const SYNTAX: &str = "the syntax is not understood";

impl<'a> Parser<'a> {
    fn new(text: &str, depth: usize, found: &'a mut Found) -> Self {
        Self { text: text.chars().collect(), at: 0, depth, here: Vec::new(), found }
    }

    fn opaque(&mut self, reason: &'static str) {
        self.found.opaque(reason);
    }

    // Reading characters. `peek` and `ahead` drop a backslash-newline as the shell does, wherever it
    // stands outside quotes; `raw` doesn't.

    fn raw(&mut self) -> Option<char> {
        if self.found.allowance == 0 {
            self.found.opaque(DEEP);
            self.at = self.text.len();
            return None;
        }
        let c = self.text.get(self.at).copied()?;
        self.found.allowance -= 1;
        self.at += 1;
        Some(c)
    }

    fn joined(&self, mut at: usize) -> usize {
        while self.text.get(at) == Some(&'\\') && self.text.get(at + 1) == Some(&'\n') {
            at += 2;
        }
        at
    }

    fn peek(&mut self) -> Option<char> {
        self.at = self.joined(self.at);
        self.text.get(self.at).copied()
    }

    fn ahead(&self, n: usize) -> Option<char> {
        let mut at = self.joined(self.at);
        for _ in 0..n {
            at = self.joined(at + 1);
        }
        self.text.get(at).copied()
    }

    fn next(&mut self) -> Option<char> {
        self.peek();
        self.raw()
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let fits = wanted.chars().enumerate().all(|(n, c)| self.ahead(n) == Some(c));
        if fits {
            for _ in wanted.chars() {
                self.next();
            }
        }
        fits
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) && self.raw().is_some() {}
    }

    fn source(&mut self, from: usize) -> String {
        self.found.allowance = self.found.allowance.saturating_sub(self.at.saturating_sub(from));
        self.text[from.min(self.at)..self.at].iter().collect()
    }

    /// Runs `inner` one level deeper, with here-documents of its own.
    fn deeper(&mut self, inner: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH {
            self.opaque(DEEP);
            self.at = self.text.len();
            return;
        }
        self.depth += 1;
        inner(self);
        self.depth -= 1;
    }

    fn substitution(&mut self) {
        let outer = std::mem::take(&mut self.here);
        self.deeper(|it| {
            it.list(End::Paren);
        });
        if !self.here.is_empty() {
            self.opaque(UNFINISHED);
        }
        self.here = outer;
    }

    /// Text that is read as commands of its own: `eval`, `sh -c`, back-quotes.
    fn nested(&mut self, text: &str) {
        if self.depth >= MAX_DEPTH || self.found.allowance < text.len() {
            self.opaque(DEEP);
            return;
        }
        Parser::new(text, self.depth + 1, self.found).list(End::Text);
    }

    /// Reads commands up to `end`. True if a case item stopped at its `esac`.
    fn list(&mut self, end: End) -> bool {
        loop {
            self.blanks();
            let Some(c) = self.peek() else {
                if end != End::Text || !self.here.is_empty() {
                    self.opaque(UNFINISHED);
                }
                return true;
            };
            match c {
                '\n' => self.newline(),
                '#' => self.comment(),
                ';' => {
                    self.next();
                    let item = matches!(self.peek(), Some(';' | '&'));
                    if item {
                        self.next();
                        if self.peek() == Some('&') {
                            self.next();
                        }
                        if end == End::CaseItem {
                            return false;
                        }
                        self.opaque(SYNTAX);
                    }
                }
                '&' if self.ahead(1) != Some('>') => {
                    self.next();
                }
                '|' => {
                    self.next();
                }
                ')' => {
                    if end == End::Paren {
                        self.next();
                        return true;
                    }
                    self.opaque(SYNTAX);
                    if end == End::CaseItem {
                        return true;
                    }
                    self.next();
                }
                '(' => {
                    if self.ahead(1) == Some('(') && self.arithmetic_command() {
                        continue;
                    }
                    self.next();
                    self.deeper(|it| {
                        it.list(End::Paren);
                    });
                }
                _ => {
                    if self.simple(end) {
                        return true;
                    }
                }
            }
        }
    }

    fn comment(&mut self) {
        while self.text.get(self.at).is_some_and(|c| *c != '\n') && self.raw().is_some() {}
    }

    fn newline(&mut self) {
        self.raw();
        for document in std::mem::take(&mut self.here) {
            self.here_document(&document);
        }
    }

    fn here_document(&mut self, document: &HereDocument) {
        let mut body = String::new();
        loop {
            if self.at >= self.text.len() {
                self.opaque(UNFINISHED);
                break;
            }
            let mut line = String::new();
            while let Some(c) = self.raw() {
                if c == '\n' {
                    break;
                }
                // An unquoted body joins lines before it looks for its end.
                if c == '\\' && !document.quoted {
                    match self.raw() {
                        Some('\n') | None => {}
                        Some(escaped) => line.extend([c, escaped]),
                    }
                    continue;
                }
                line.push(c);
            }
            let shown = if document.strip_tabs { line.trim_start_matches('\t') } else { &line };
            if shown == document.delimiter {
                break;
            }
            body.push_str(shown);
            body.push('\n');
        }
        let expands = !document.quoted && body.contains(['$', '`', '\\']);
        if expands {
            self.expanding_text(&body);
        }
        match document.reader {
            Reader::Data => {}
            Reader::Shell if expands => self.opaque("a shell reads text that is not literal"),
            Reader::Shell => self.nested(&body),
            Reader::Variable => self.guard_subscript(&body),
        }
    }

    /// Follows the expansions of a here-document's body; quotes mean nothing in it.
    fn expanding_text(&mut self, body: &str) {
        if self.depth >= MAX_DEPTH || self.found.allowance < body.len() {
            self.opaque(DEEP);
            return;
        }
        let mut inner = Parser::new(body, self.depth + 1, self.found);
        let mut word = Word::default();
        while let Some(c) = inner.peek() {
            match c {
                '\\' => {
                    inner.raw();
                    inner.raw();
                }
                '$' => inner.dollar(true, &mut word),
                '`' => inner.back_quotes(true, &mut word),
                _ => {
                    inner.raw();
                }
            }
            word.text.clear();
            if inner.found.allowance == 0 {
                break;
            }
        }
    }

    fn redirects_next(&mut self) -> bool {
        match self.peek() {
            Some('<' | '>') => self.ahead(1) != Some('('),
            Some('&') => self.ahead(1) == Some('>'),
            Some(c) if c.is_ascii_digit() || c == '{' => {
                let mut n = 1;
                while n < 64 && self.ahead(n).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                    if c != '{' && !self.ahead(n).is_some_and(|c| c.is_ascii_digit()) {
                        return false;
                    }
                    n += 1;
                }
                if c == '{' {
                    if n == 1 || self.ahead(n) != Some('}') {
                        return false;
                    }
                    n += 1;
                }
                matches!(self.ahead(n), Some('<' | '>'))
            }
            _ => false,
        }
    }

    fn redirection(&mut self, input: &mut Input) {
        if self.peek() == Some('{') {
            let from = self.at + 1;
            while self.peek() != Some('}') && self.next().is_some() {}
            let name = self.source(from);
            self.check_variable(&name, None);
            self.next();
        }
        while self.peek().is_some_and(|c| c.is_ascii_digit()) && self.next().is_some() {}
        if self.eat("<<<") {
            self.blanks();
            input.here_string = Some(self.operand());
        } else if self.eat("<<") {
            let strip_tabs = self.eat("-");
            self.blanks();
            self.here_delimiter(strip_tabs);
            // A newline inside an array may have flushed what was pending before this command.
            let start = input.here_documents.start.min(self.here.len().saturating_sub(1));
            input.here_documents = start..self.here.len();
        } else {
            let writes = matches!(self.peek(), Some('>' | '&'));
            let reads_too = self.ahead(0) == Some('<') && self.ahead(1) == Some('>');
            while matches!(self.peek(), Some('<' | '>' | '&' | '|')) && self.ahead(1) != Some('(') {
                self.next();
            }
            self.blanks();
            let target = self.operand();
            if writes || reads_too {
                match target.as_literal() {
                    Some(path) if !path.chars().all(|c| c.is_ascii_digit() || c == '-') => self.found.wrote(path),
                    Some(_) => {}
                    None => self.found.writes_unknown = true,
                }
            }
        }
    }

    /// The word that belongs to a redirection.
    fn operand(&mut self) -> Word {
        if matches!(self.peek(), Some('<' | '>')) && self.ahead(1) == Some('(') {
            return self.process_substitution();
        }
        match self.word() {
            Some(word) => {
                self.guard_subscript(&word.text);
                word
            }
            None => {
                self.opaque(SYNTAX);
                Word::default()
            }
        }
    }

    fn here_delimiter(&mut self, strip_tabs: bool) {
        let (mut delimiter, mut quoted) = (String::new(), false);
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' | '"' => {
                    quoted = true;
                    self.raw();
                    let mut closed = false;
                    while let Some(inner) = self.raw() {
                        if inner == c {
                            closed = true;
                            break;
                        }
                        if inner == '\\' && c == '"' {
                            self.opaque(SYNTAX);
                        }
                        delimiter.push(inner);
                    }
                    if !closed {
                        self.opaque(UNFINISHED);
                    }
                }
                '\\' => {
                    quoted = true;
                    self.raw();
                    delimiter.extend(self.raw());
                }
                '$' | '`' => {
                    self.opaque(SYNTAX);
                    self.raw();
                    delimiter.push(c);
                }
                _ => {
                    self.raw();
                    delimiter.push(c);
                }
            }
        }
        if delimiter.contains('\n') || (delimiter.is_empty() && !quoted) {
            self.opaque(SYNTAX);
        }
        self.here.push(HereDocument { delimiter, quoted, strip_tabs, reader: Reader::Data });
    }

    fn process_substitution(&mut self) -> Word {
        let from = self.at;
        self.next();
        self.next();
        self.substitution();
        let mut word = Word { quoted: true, ..Word::default() };
        let source = self.source(from);
        word.dynamic(&source, true);
        word
    }

    /// One command that starts with a word or a redirection. Keywords are stepped over: what follows
    /// them is again at the start of a command. True if it was the `esac` of the enclosing case item.
    fn simple(&mut self, end: End) -> bool {
        let mut words: Vec<Word> = Vec::new();
        let mut started = false;
        let mut input = Input { here_string: None, here_documents: self.here.len()..self.here.len() };
        loop {
            self.blanks();
            if self.redirects_next() {
                self.redirection(&mut input);
                started = true;
                continue;
            }
            match self.peek() {
                None | Some('\n' | ';' | '|' | ')' | '&') => break,
                Some('#') => {
                    self.comment();
                    break;
                }
                Some('<' | '>') => {
                    let word = self.process_substitution();
                    words.push(word);
                    continue;
                }
                Some('(') => {
                    self.next();
                    self.blanks();
                    if words.len() == 1 && self.peek() == Some(')') {
                        self.next();
                        return false;
                    }
                    self.opaque(SYNTAX);
                    self.deeper(|it| {
                        it.list(End::Paren);
                    });
                    continue;
                }
                Some(_) => {}
            }
            let Some(word) = self.word() else {
                break;
            };
            if words.is_empty() && !started {
                if !word.quoted && word.dynamic_at.is_none() && self.keyword(&word.text) {
                    return false;
                }
                if end == End::CaseItem && !word.quoted && word.text == "esac" {
                    return true;
                }
            }
            if words.is_empty()
                && let Some(at) = word.assign
            {
                self.assignment(&word, at);
                started = true;
                continue;
            }
            words.push(word);
            if self.found.allowance == 0 {
                break;
            }
        }
        self.run(&words, &input);
        false
    }

    /// Steps over a keyword and what belongs to it. False if it is none.
    fn keyword(&mut self, text: &str) -> bool {
        match text {
            "if" | "then" | "else" | "elif" | "fi" | "while" | "until" | "do" | "done" | "!" | "{" | "}" => {}
            "time" => {
                self.blanks();
                for option in ["-p", "--"] {
                    let blank = matches!(self.ahead(2), Some(' ' | '\t' | '\n'));
                    if blank && self.eat(option) {
                        self.blanks();
                    }
                }
            }
            "coproc" => self.opaque("a co-process"),
            "function" => {
                self.blanks();
                self.word();
                self.blanks();
                if self.eat("(") {
                    self.blanks();
                    self.eat(")");
                }
            }
            "for" | "select" => self.for_head(),
            "case" => self.deeper(Self::case_items),
            "[[" => self.conditional(),
            _ => return false,
        }
        true
    }

    fn for_head(&mut self) {
        self.blanks();
        if self.ahead(0) == Some('(') && self.ahead(1) == Some('(') {
            if !self.arithmetic_command() {
                self.opaque(SYNTAX);
            }
            return;
        }
        if let Some(name) = self.word() {
            self.check_variable(&name.text, None);
        }
        self.skip_newlines();
        let from = self.at;
        let Some(word) = self.word() else {
            return;
        };
        if word.text != "in" {
            self.at = from;
            return;
        }
        loop {
            self.blanks();
            let process = matches!(self.peek(), Some('<' | '>')) && self.ahead(1) == Some('(');
            if process {
                self.process_substitution();
            } else {
                match self.word() {
                    Some(word) => self.guard_subscript(&word.text),
                    None => break,
                }
            }
        }
    }

    fn skip_newlines(&mut self) {
        loop {
            self.blanks();
            match self.peek() {
                Some('\n') => self.newline(),
                Some('#') => self.comment(),
                _ => break,
            }
            if self.found.allowance == 0 {
                break;
            }
        }
    }

    fn case_items(&mut self) {
        self.blanks();
        self.word();
        self.skip_newlines();
        if self.word().is_none_or(|word| word.text != "in") {
            self.opaque(SYNTAX);
            return;
        }
        loop {
            self.skip_newlines();
            let mut first = !self.eat("(");
            loop {
                self.blanks();
                match self.peek() {
                    Some(')') => {
                        self.next();
                        break;
                    }
                    Some('|') => {
                        self.next();
                    }
                    _ => match self.word() {
                        Some(word) if first && !word.quoted && word.text == "esac" => return,
                        Some(_) => {}
                        None => {
                            self.opaque(SYNTAX);
                            return;
                        }
                    },
                }
                first = false;
            }
            if self.list(End::CaseItem) {
                return;
            }
        }
    }

    /// `[[ … ]]`: only the expansions in its words matter.
    fn conditional(&mut self) {
        loop {
            match self.peek() {
                None => {
                    self.opaque(UNFINISHED);
                    return;
                }
                Some('\n') => self.newline(),
                Some('<' | '>') if self.ahead(1) == Some('(') => {
                    self.process_substitution();
                }
                Some(' ' | '\t' | ';' | '&' | '|' | '<' | '>' | '(' | ')') => {
                    self.next();
                }
                Some(_) => {
                    if let Some(word) = self.word() {
                        if !word.quoted && word.text == "]]" {
                            return;
                        }
                        self.guard_subscript(&word.text);
                    }
                }
            }
        }
    }

    /// `((…))` at the start of a command. Bash takes `((` as arithmetic only if it closes with `))`,
    /// otherwise it is two subshells; then nothing is consumed.
    fn arithmetic_command(&mut self) -> bool {
        let from = self.at;
        self.next();
        self.next();
        if self.arithmetic(')') {
            return true;
        }
        self.at = from;
        false
    }

    /// The inside of `((…))`, `$((…))` or `$[…]`, with its end. Quotes don't protect anything in it.
    fn arithmetic(&mut self, close: char) -> bool {
        let (mut open, mut word) = (0usize, Word::default());
        while let Some(c) = self.peek() {
            match c {
                '(' if close == ')' => open += 1,
                '[' if close == ']' => open += 1,
                _ if c == close && open > 0 => open -= 1,
                _ if c == close && close == ']' => {
                    self.next();
                    return true;
                }
                _ if c == close => {
                    self.next();
                    return self.eat(")");
                }
                '\\' => self.opaque("arithmetic with an escape may be expanded again"),
                '$' => {
                    self.dollar(true, &mut word);
                    continue;
                }
                '`' => {
                    self.back_quotes(true, &mut word);
                    continue;
                }
                _ => {}
            }
            self.raw();
            word.text.clear();
        }
        false
    }

    /// The next word, or nothing if an operator stands here.
    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        let from = self.at;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | ')' => break,
                '(' => {
                    if word.assign == Some(word.text.len().wrapping_sub(1)) {
                        self.next();
                        self.deeper(Self::array);
                        word.dynamic("(…)", true);
                    }
                    break;
                }
                '\'' => {
                    word.quoted = true;
                    self.raw();
                    loop {
                        match self.raw() {
                            Some('\'') => break,
                            Some(c) => word.text.push(c),
                            None => {
                                self.opaque(UNFINISHED);
                                break;
                            }
                        }
                    }
                }
                '"' => self.double_quotes(&mut word),
                '\\' => {
                    word.quoted = true;
                    self.raw();
                    word.text.push(self.raw().unwrap_or('\\'));
                }
                '$' => self.dollar(false, &mut word),
                '`' => self.back_quotes(false, &mut word),
                _ => {
                    self.raw();
                    word.plain(c);
                }
            }
        }
        (self.at > from && (!word.text.is_empty() || word.quoted || word.dynamic_at.is_some())).then_some(word)
    }

    fn array(&mut self) {
        loop {
            self.skip_newlines();
            match self.peek() {
                Some(')') => {
                    self.next();
                    return;
                }
                Some('<' | '>') if self.ahead(1) == Some('(') => {
                    self.process_substitution();
                }
                _ => match self.word() {
                    Some(word) => self.guard_subscript(&word.text),
                    None => {
                        self.opaque(SYNTAX);
                        return;
                    }
                },
            }
        }
    }

    fn double_quotes(&mut self, word: &mut Word) {
        word.quoted = true;
        self.raw();
        loop {
            match self.peek() {
                Some('"') => {
                    self.raw();
                    return;
                }
                Some('\\') => {
                    self.raw();
                    match self.raw() {
                        Some(c @ ('$' | '`' | '"' | '\\')) => word.text.push(c),
                        Some(c) => word.text.extend(['\\', c]),
                        None => {}
                    }
                }
                Some('$') => self.dollar(true, word),
                Some('`') => self.back_quotes(true, word),
                Some(c) if self.raw().is_some() => word.text.push(c),
                _ => {
                    self.opaque(UNFINISHED);
                    return;
                }
            }
        }
    }

    /// Everything that a `$` can start.
    fn dollar(&mut self, quoted: bool, word: &mut Word) {
        self.peek();
        let from = self.at;
        self.raw();
        match self.peek() {
            Some('(') => {
                self.raw();
                let inner = self.at;
                let mut done = false;
                if self.peek() == Some('(') {
                    self.raw();
                    self.deeper(|it| done = it.arithmetic(')'));
                    if !done {
                        self.at = inner;
                    }
                }
                if !done {
                    self.substitution();
                }
                let source = self.source(from);
                word.dynamic(&source, quoted);
            }
            Some('[') => {
                self.raw();
                let mut done = false;
                self.deeper(|it| done = it.arithmetic(']'));
                if !done {
                    self.opaque(UNFINISHED);
                }
                let source = self.source(from);
                word.dynamic(&source, quoted);
            }
            Some('{') => {
                self.raw();
                self.deeper(|it| it.parameter(quoted));
                let source = self.source(from);
                let list = source.contains(['@', '!', '*']);
                if source.ends_with("@P}") {
                    self.opaque("a prompt expansion runs what its value holds");
                }
                word.dynamic(&source, quoted && !list);
            }
            Some('\'') if !quoted => self.ansi_quotes(word),
            Some('"') if !quoted => self.double_quotes(word),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') && self.raw().is_some() {}
                let source = self.source(from);
                word.dynamic(&source, quoted);
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                self.raw();
                let source = self.source(from);
                word.dynamic(&source, quoted && c != '@');
            }
            _ => {
                word.quoted = true;
                word.text.push('$');
            }
        }
    }

    /// The inside of `${…}`, with its end.
    fn parameter(&mut self, quoted: bool) {
        if matches!(self.peek(), Some(' ' | '\t' | '\n' | '|')) {
            self.opaque(SYNTAX);
        }
        let mut word = Word::default();
        loop {
            match self.peek() {
                Some('}') => {
                    self.raw();
                    return;
                }
                Some('\\') => {
                    self.raw();
                    self.raw();
                }
                // In double quotes it depends on the operator whether this quotes anything.
                Some('\'') if quoted => {
                    self.opaque("a single quote in a quoted expansion");
                    self.raw();
                }
                Some('\'') => {
                    self.raw();
                    while self.raw().is_some_and(|c| c != '\'') {}
                }
                Some('"') => self.double_quotes(&mut word),
                Some('`') => self.back_quotes(quoted, &mut word),
                Some('$') => self.dollar(quoted, &mut word),
                Some('<' | '>') if !quoted && self.ahead(1) == Some('(') => {
                    self.process_substitution();
                }
                Some(_) if self.raw().is_some() => {}
                _ => {
                    self.opaque(UNFINISHED);
                    return;
                }
            }
            self.guard_subscript(&word.text);
            word.text.clear();
        }
    }

    fn back_quotes(&mut self, quoted: bool, word: &mut Word) {
        self.peek();
        self.raw();
        let mut inner = String::new();
        loop {
            match self.raw() {
                Some('`') => break,
                Some('\\') => match self.raw() {
                    Some(c @ ('`' | '\\' | '$')) => inner.push(c),
                    Some('"') if quoted => inner.push('"'),
                    Some(c) => inner.extend(['\\', c]),
                    None => {}
                },
                Some(c) => inner.push(c),
                None => {
                    self.opaque(UNFINISHED);
                    break;
                }
            }
        }
        self.nested(&inner);
        word.dynamic(&format!("`{inner}`"), quoted);
    }

    fn ansi_quotes(&mut self, word: &mut Word) {
        word.quoted = true;
        self.raw();
        loop {
            let c = match self.raw() {
                Some('\'') => return,
                Some('\\') => self.raw(),
                Some(c) => {
                    word.text.push(c);
                    continue;
                }
                None => None,
            };
            let Some(c) = c else {
                self.opaque(UNFINISHED);
                return;
            };
            let value = match c {
                'n' => '\n' as u32,
                't' => '\t' as u32,
                'r' => '\r' as u32,
                'a' => 7,
                'b' => 8,
                'f' => 12,
                'v' => 11,
                'e' | 'E' => 27,
                '\\' | '\'' | '"' | '?' => c as u32,
                'x' => self.digits(16, 2, 0),
                'u' => self.digits(16, 4, 0),
                'U' => self.digits(16, 8, 0),
                '0'..='7' => self.digits(8, 2, c as u32 - '0' as u32) & 0xff,
                _ => {
                    // `\cX` and unknown escapes: rare enough not to be worth a wrong guess.
                    self.opaque("an unusual escape in $'…'");
                    continue;
                }
            };
            match char::from_u32(value) {
                // NUL ends the string, and a byte above ASCII is only a part of a character.
                Some(decoded) if value != 0 && (value < 128 || matches!(c, 'u' | 'U')) => word.text.push(decoded),
                _ => {
                    self.opaque("an unusual escape in $'…'");
                    word.dynamic("$'…'", true);
                }
            }
        }
    }

    fn digits(&mut self, radix: u32, most: usize, first: u32) -> u32 {
        let mut value = first;
        for _ in 0..most {
            match self.text.get(self.at).and_then(|c| c.to_digit(radix)) {
                Some(digit) => value = value.wrapping_mul(radix).wrapping_add(digit),
                None => break,
            }
            self.raw();
        }
        value
    }

    fn assignment(&mut self, word: &Word, at: usize) {
        let name = word.text.get(..at).unwrap_or_default().to_string();
        let value = word.text.get(at + 1..).unwrap_or_default().to_string();
        let known = word.dynamic_at.is_none().then_some(value.as_str());
        self.check_variable(&name, known);
        self.guard_subscript(&value);
        self.guard_subscript(&name);
    }

    fn check_variable(&mut self, name: &str, value: Option<&str>) {
        if is_hazardous_variable(name, value) {
            self.opaque("it sets a variable that makes a later program run text");
        }
    }

    /// Arithmetic expands a subscript again, so text that looks like one with a substitution may run
    /// wherever it ends up.
    fn guard_subscript(&mut self, text: &str) {
        let (mut open, mut previous) = (0usize, ' ');
        for c in text.chars() {
            match c {
                '[' => open += 1,
                ']' => open = open.saturating_sub(1),
                '`' if open > 0 => self.opaque("text that arithmetic may expand again"),
                '(' if open > 0 && matches!(previous, '$' | '<' | '>') => {
                    self.opaque("text that arithmetic may expand again")
                }
                _ => {}
            }
            previous = c;
        }
    }
}

// From words to commands.

impl Parser<'_> {
    /// Lists one simple command, or what its wrappers run.
    fn run(&mut self, words: &[Word], input: &Input) {
        let Some(head) = words.first() else {
            return;
        };
        if self.depth >= MAX_DEPTH {
            self.opaque(DEEP);
            return;
        }
        let Some(path) = head.as_literal() else {
            self.opaque("the program's name is not literal");
            return;
        };
        if path.is_empty() {
            return;
        }
        let name = base_name(path).to_string();
        if name.is_empty() || name.starts_with('-') || name.starts_with('~') {
            self.opaque("the program's name is unclear");
            return;
        }
        self.found.started.insert(name.clone());
        let directory = &path[..path.len() - name.len()];
        if !directory.is_empty() && !is_system_directory(directory) {
            self.found.started_by_path = true;
            self.emit(path, &words[1..]);
        }
        self.guard_words(&words[1..]);
        self.depth += 1;
        self.dispatch(&name, words, input);
        self.depth -= 1;
    }

    fn dispatch(&mut self, name: &str, words: &[Word], input: &Input) {
        // `git-push` in git's own directory is `git push`.
        if let Some(verb) = name.strip_prefix("git-")
            && !verb.is_empty()
        {
            let mut spelt = vec![Word::literal("git"), Word::literal(verb)];
            spelt.extend_from_slice(&words[1..]);
            return self.git(&spelt);
        }
        if listed(SHELLS, name) {
            return self.shell(name, words, input);
        }
        // `docker exec`, `npm exec`, …: a wrapper named by two words.
        if let Some(verb) = words.get(1).and_then(Word::as_literal) {
            let pair = format!("{name} {verb}");
            if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == pair) {
                self.emit(name, &words[1..]);
                return self.unwrap(wrapper, &words[1..], input);
            }
        }
        if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            if wrapper.listed {
                self.emit(name, &words[1..]);
            }
            return self.unwrap(wrapper, words, input);
        }
        match name {
            "git" => self.git(words),
            "eval" => {
                self.emit(name, &words[1..]);
                let skip = if words.get(1).is_some_and(|word| word.text == "--") { 2 } else { 1 };
                self.text_of(words.get(skip..).unwrap_or_default());
            }
            "trap" => {
                self.emit(name, &words[1..]);
                let action = words[1..].iter().find(|word| word.text != "--");
                match action {
                    Some(word) if word.is_literal() && word.text.starts_with('-') => {}
                    Some(word) => self.text_of(std::slice::from_ref(word)),
                    None => {}
                }
            }
            "su" | "runuser" | "script" | "sg" | "newgrp" => self.switch_user(name, words, input),
            "find" => self.find(words),
            _ => self.program(name, words, input),
        }
    }

    /// Words that are joined and read as shell text.
    fn text_of(&mut self, words: &[Word]) {
        let texts: Option<Vec<&str>> = words.iter().map(Word::as_literal).collect();
        match texts {
            Some(texts) => self.nested(&texts.join(" ")),
            None => self.opaque("a shell is given text that is not literal"),
        }
    }

    fn emit(&mut self, name: &str, arguments: &[Word]) {
        // White space inside a name would make one word look like two.
        let mut command = name.replace([' ', '\t', '\n'], "\\ ");
        for word in arguments {
            command.push(' ');
            command.push_str(&word.text);
        }
        self.found.allowance = self.found.allowance.saturating_sub(command.len());
        self.found.push(command);
    }

    fn guard_words(&mut self, arguments: &[Word]) {
        let mut message = false;
        for word in arguments {
            if !message {
                self.guard_subscript(&word.text);
            }
            message = listed(MESSAGE_OPTIONS, word.text.as_str());
        }
    }

    fn reads_commands_from(&mut self, input: &Input) {
        if let Some(word) = &input.here_string {
            self.text_of(std::slice::from_ref(word));
        } else if !input.here_documents.is_empty() {
            self.hand_documents_to(input, Reader::Shell);
        } else {
            self.opaque("a shell or interpreter reads its commands from its input");
        }
    }

    fn hand_documents_to(&mut self, input: &Input, reader: Reader) {
        for document in self.here.get_mut(input.here_documents.clone()).into_iter().flatten() {
            document.reader = reader;
        }
    }

    fn shell(&mut self, name: &str, words: &[Word], input: &Input) {
        self.emit(name, &words[1..]);
        let (mut at, mut command, mut from_input) = (1, false, false);
        while let Some(word) = words.get(at) {
            let Some(option) = word.as_literal() else {
                return self.opaque("a shell's options are not literal");
            };
            at += 1;
            match option {
                "--" | "-" => break,
                "--norc" | "--noprofile" | "--login" | "--posix" | "--verbose" | "--noediting" => {}
                "--version" | "--help" => return,
                _ if option.starts_with("--") => {
                    return self.opaque("an unknown option of a shell");
                }
                _ if option.len() > 1 && option.starts_with(['-', '+']) => {
                    for letter in option.chars().skip(1) {
                        match letter {
                            'c' => command = true,
                            's' => from_input = true,
                            'o' | 'O' => at += 1,
                            _ if "abefhiklmnprtuvxBCEHPT".contains(letter) => {}
                            _ => return self.opaque("an unknown option of a shell"),
                        }
                    }
                }
                _ => {
                    at -= 1;
                    break;
                }
            }
        }
        if !listed(POSIX_SHELLS, name) {
            self.opaque("a shell with another syntax");
        }
        match words.get(at) {
            Some(word) if command => self.text_of(std::slice::from_ref(word)),
            None if command => {}
            Some(_) if !from_input => self.opaque("a shell runs a script that can't be seen"),
            _ => self.reads_commands_from(input),
        }
    }

    fn switch_user(&mut self, name: &str, words: &[Word], input: &Input) {
        self.emit(name, &words[1..]);
        for (at, word) in words.iter().enumerate().skip(1) {
            let Some(option) = word.as_literal() else {
                continue;
            };
            let text = match option {
                "-c" | "--command" | "--session-command" => words.get(at + 1).cloned(),
                _ if option.starts_with("--command=") => option.get(10..).map(Word::literal),
                _ if option.starts_with("-c") => option.get(2..).map(Word::literal),
                // `script -qc TEXT`, `su -lc TEXT`
                _ if option.starts_with('-') && !option.starts_with("--") && option.ends_with('c') => {
                    words.get(at + 1).cloned()
                }
                _ => None,
            };
            if let Some(text) = text {
                return self.text_of(&[text]);
            }
        }
        let user = words.iter().position(|word| word.text == "-u" || word.text == "--user");
        match user {
            Some(at) if name == "runuser" => {
                let rest = words.get(at + 2..).unwrap_or_default();
                let skip = usize::from(rest.first().is_some_and(|word| word.text == "--"));
                if rest.get(skip).is_some_and(|word| word.text.starts_with('-')) {
                    self.opaque("an unknown option of a wrapper");
                }
                self.run(&rest[skip..], input);
            }
            _ => self.opaque("a shell or interpreter reads its commands from its input"),
        }
    }

    fn unwrap(&mut self, wrapper: &Wrapper, words: &[Word], input: &Input) {
        let mut at = 1;
        let mut replace = None;
        while let Some(word) = words.get(at) {
            let Some(option) = word.as_literal() else {
                if wrapper.assigns && word.assign.is_some() {
                    break;
                }
                return self.opaque("a wrapper's options are not literal");
            };
            if option == "--" {
                at += 1;
                break;
            }
            if option == "-" && wrapper.name == "env" {
                at += 1;
                continue;
            }
            let Some(letters) = option.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                break;
            };
            at += 1;
            if let Some(long) = letters.strip_prefix('-') {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                if wrapper.name == "env" && name == "split-string" {
                    let text = value.map(Word::literal).or_else(|| words.get(at).cloned());
                    let skip = usize::from(value.is_none());
                    return self.split_string(text, words.get(at + skip..).unwrap_or_default());
                } else if wrapper.name == "xargs" && name == "replace" {
                    replace = Some(value.unwrap_or("{}").to_string());
                } else if listed(wrapper.valued_long, name) {
                    at += usize::from(value.is_none());
                } else if !listed(wrapper.long, name) {
                    return self.opaque("an unknown option of a wrapper");
                }
                continue;
            }
            if wrapper.name == "nice" && letters.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
                continue;
            }
            for (n, letter) in letters.char_indices() {
                let value = &letters[n + letter.len_utf8()..];
                if wrapper.text_letter == Some(letter) {
                    let text = if value.is_empty() { words.get(at).cloned() } else { Some(Word::literal(value)) };
                    let skip = usize::from(value.is_empty());
                    return self.split_string(text, words.get(at + skip..).unwrap_or_default());
                } else if wrapper.valued.contains(letter) {
                    let value = match value {
                        "" => {
                            at += 1;
                            words.get(at - 1).and_then(Word::as_literal).unwrap_or("$")
                        }
                        value => value,
                    };
                    match wrapper.name {
                        "xargs" if letter == 'I' => replace = Some(value.to_string()),
                        "ssh" if !is_harmless_ssh_option(letter, value) => {
                            self.opaque("an option of ssh may run text");
                        }
                        _ => {}
                    }
                    break;
                } else if wrapper.name == "xargs" && letter == 'i' {
                    replace = Some(if value.is_empty() { "{}" } else { value }.to_string());
                    break;
                } else if wrapper.shows.contains(letter) {
                    return self.emit(wrapper.name, &words[1..]);
                } else if !wrapper.flags.contains(letter) {
                    return self.opaque("an unknown option of a wrapper");
                }
            }
        }
        while let Some(word) = words.get(at).filter(|_| wrapper.assigns) {
            let Some(equals) = word.assign.or_else(|| word.as_literal().and_then(|text| text.find('='))) else {
                break;
            };
            self.assignment(word, equals);
            at += 1;
        }
        for _ in 0..wrapper.positionals {
            if words.get(at).is_some_and(|word| word.split || word.brace || word.glob) {
                return self.opaque("a wrapper's arguments are not literal");
            }
            at += 1;
            if wrapper.name == "flock"
                && words.get(at).is_some_and(|word| matches!(word.text.as_str(), "-c" | "--command"))
            {
                return self.text_of(words.get(at + 1..).unwrap_or_default());
            }
        }
        if wrapper.positionals > 0 && words.get(at).is_some_and(|word| word.text == "--") {
            at += 1;
        }
        let mut rest = words.get(at..).unwrap_or_default().to_vec();
        if rest.is_empty() {
            match wrapper.name {
                "xargs" => {}
                _ if wrapper.bare_shell => self.opaque("it opens a shell that reads its input"),
                _ if !wrapper.listed => self.emit(wrapper.name, &words[1..]),
                _ => {}
            }
            return;
        }
        if wrapper.name == "xargs" {
            match replace {
                Some(mark) => fill_in(&mut rest, &mark),
                None => rest.push(Word::unknown()),
            }
        }
        if wrapper.joins {
            return self.text_of(&rest);
        }
        self.run(&rest, input);
    }

    fn split_string(&mut self, text: Option<Word>, rest: &[Word]) {
        let mut words: Vec<Word> = text.into_iter().collect();
        words.extend_from_slice(rest);
        if words.iter().any(|word| word.text.contains(['\\', '$'])) {
            self.opaque("text for env -S with escapes or variables");
        }
        self.text_of(&words);
    }

    fn find(&mut self, words: &[Word]) {
        self.emit("find", &words[1..]);
        self.arguments("find", &words[1..], false);
        let mut at = 1;
        while let Some(word) = words.get(at) {
            at += 1;
            if word.dynamic_at == Some(0) && word.split {
                self.opaque("find may be given an action that can't be seen");
            }
            if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
                continue;
            }
            let length = words[at..].iter().position(|word| word.text == ";" || word.text == "+");
            let end = at + length.unwrap_or(words.len() - at);
            let mut slice = words[at..end].to_vec();
            if slice.first().is_some_and(|word| word.text.contains("{}")) {
                self.opaque("the program's name is not literal");
            } else if slice.get(1).is_some_and(|word| word.text == "{}") && self.is_open_to_verbs(&slice[0]) {
                slice[1].dynamic_at = Some(0);
            }
            let text = slice.iter().skip(1).any(|word| word.text.contains("{}") && word.text != "{}");
            if text && listed(SHELLS, base_name(&slice[0].text)) {
                self.opaque("a shell is given text that is not literal");
            }
            self.run(&slice, &Input::default());
            at = end;
        }
    }

    /// A path found by `find` starts with its start path, so it can be no option, but it may be a verb.
    fn is_open_to_verbs(&self, head: &Word) -> bool {
        let name = base_name(&head.text);
        !listed(INERT, name) && !listed(FILE_TOOLS, name)
    }

    fn git(&mut self, words: &[Word]) {
        let mut at = 1;
        let mut aliased = false;
        while let Some(word) = words.get(at) {
            let Some(option) = word.as_literal() else {
                return self.opaque("git's command is not literal");
            };
            if !option.starts_with('-') {
                break;
            }
            at += 1;
            let name = option.split_once('=').map_or(option, |(name, _)| name);
            match name {
                "-c" => {
                    let setting = words.get(at);
                    let key = setting.map_or("", |word| word.text.as_str());
                    let prefix = setting.and_then(|word| word.dynamic_at).unwrap_or(key.len());
                    let key = key.get(..prefix).unwrap_or_default();
                    let (name, value) = key.split_once('=').unwrap_or((key, ""));
                    if name.to_ascii_lowercase().starts_with("alias.") {
                        aliased = true;
                    } else if setting.is_none_or(|word| word.split) || !is_harmless_setting(name, value) {
                        self.opaque("a git setting that may run a program");
                    }
                    at += 1;
                }
                "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix" | "--attr-source" => {
                    if name == option {
                        if words.get(at).is_some_and(|word| word.split || word.glob || word.brace) {
                            self.opaque("git's options are not literal");
                        }
                        at += 1;
                    }
                }
                "--exec-path" if name != option => self.opaque("git's programs come from elsewhere"),
                "--config-env" => self.opaque("a git setting that may run a program"),
                "-p"
                | "-P"
                | "--paginate"
                | "--no-pager"
                | "--no-replace-objects"
                | "--bare"
                | "--literal-pathspecs"
                | "--glob-pathspecs"
                | "--noglob-pathspecs"
                | "--icase-pathspecs"
                | "--no-optional-locks"
                | "--no-lazy-fetch"
                | "--no-advice" => {}
                "-v" | "--version" | "-h" | "--help" | "--exec-path" | "--html-path" | "--man-path" | "--info-path"
                | "--list-cmds" => {
                    return self.emit("git", &words[1..]);
                }
                _ => return self.opaque("an unknown option of git"),
            }
        }
        let Some(verb) = words.get(at) else {
            return self.emit("git", &[]);
        };
        let mut arguments = words[at..].to_vec();
        arguments[0].text = verb.text.replace([' ', '\t', '\n'], "\\ ");
        self.emit("git", &arguments);
        let Some(verb) = verb.as_literal() else {
            return self.opaque("git's command is not literal");
        };
        let arguments = &words[at + 1..];
        // A longer unknown verb is a program or an alias by a name of its own, as `./build.sh` is; a very
        // short one is mostly an everyday verb in disguise.
        let short = verb.len() <= 4 && verb.bytes().all(|b| b.is_ascii_lowercase());
        if listed(GIT_PLUMBING, verb) || (!listed(GIT_COMMANDS, verb) && (aliased || short)) {
            self.opaque("a git command that may be an alias or another name for one");
        }
        self.arguments("git", arguments, false);
        let literal = |word: &&Word| word.as_literal().is_some();
        let operands: Vec<&Word> =
            arguments.iter().filter(literal).filter(|word| !word.text.starts_with('-')).collect();
        let first = operands.first().map_or("", |word| word.text.as_str());
        match verb {
            "bisect" if first == "run" => {
                if let Some(at) = arguments.iter().position(|word| word.text == "run") {
                    self.run(&arguments[at + 1..], &Input::default());
                }
            }
            "submodule" if first == "foreach" => {
                if let Some(at) = arguments.iter().position(|word| word.text == "foreach") {
                    let text: Vec<Word> =
                        arguments[at + 1..].iter().skip_while(|word| word.text.starts_with('-')).cloned().collect();
                    self.text_of(&text);
                }
            }
            "rebase" => self.rebase(arguments),
            "config" => {
                let shows = arguments.iter().any(|word| {
                    matches!(word.text.as_str(), "--get" | "--get-all" | "--list" | "-l" | "get" | "list" | "--unset")
                });
                let dotted = operands.iter().position(|word| word.text.contains('.'));
                let sets = dotted.is_some_and(|at| at + 1 < operands.len());
                let harmless = dotted.is_some_and(|at| {
                    is_harmless_setting(&operands[at].text, operands.get(at + 1).map_or("", |word| &word.text))
                });
                let edits = arguments.iter().any(|word| matches!(word.text.as_str(), "-e" | "--edit" | "edit"));
                let vague = !shows && arguments.iter().any(|word| !word.is_literal()) && !harmless;
                if edits || vague || (sets && !shows && !harmless) {
                    self.opaque("a git setting that may run a program");
                }
            }
            "remote" if first == "set-url" || first == "add" => {}
            "clone" | "apply" | "am" | "checkout" | "archive" => self.found.writes_unknown |= verb != "checkout",
            _ => {}
        }
        for word in arguments {
            let text = word.text.as_str();
            let runs = (text.starts_with("--up") && matches!(verb, "clone" | "fetch" | "pull" | "ls-remote"))
                || (text.starts_with("--rec") && text.contains('=') && matches!(verb, "push"))
                || (text.starts_with("--exec") && verb != "rebase")
                || (text.starts_with("--ext") && verb == "difftool")
                || (text.starts_with("-x") && matches!(verb, "difftool"))
                || (text.starts_with("-u") && verb == "clone")
                || (text.starts_with("-c") && verb == "clone")
                || (text.starts_with("--co") && verb == "clone")
                || ((text.starts_with("-O") || text.starts_with("--open")) && verb == "grep")
                || text.starts_with("ext::")
                || text.contains("=ext::");
            if runs {
                self.opaque("an option of git that runs text");
            }
        }
    }

    fn rebase(&mut self, arguments: &[Word]) {
        for (at, word) in arguments.iter().enumerate() {
            let text = match word.text.as_str() {
                "-x" | "--exec" | "--exe" | "--ex" => arguments.get(at + 1).cloned(),
                other => other.strip_prefix("--exec=").or_else(|| other.strip_prefix("-x")).map(Word::literal),
            };
            if word.dynamic_at.is_some() && word.text.starts_with('-') {
                self.opaque("an option of git that runs text");
            } else if let Some(text) = text {
                self.text_of(&[text]);
            }
        }
    }

    /// A program that is neither a wrapper nor a shell.
    fn program(&mut self, name: &str, words: &[Word], input: &Input) {
        let arguments = &words[1..];
        if name == "rm" {
            // An option inside a file name is no option.
            let shown: Vec<Word> = arguments
                .iter()
                .map(|word| Word { text: word.text.replace([' ', '\t', '\n'], "\\ "), ..word.clone() })
                .collect();
            self.emit(name, &shown);
        } else {
            self.emit(name, arguments);
        }
        self.record_files(name, arguments);
        if listed(RUNS_TEXT, name) {
            return self.opaque("a program that runs commands from its arguments or input");
        }
        if is_interpreter(name) {
            return self.interpreter(name, arguments);
        }
        if matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "sed" | "gsed") {
            return self.filter_program(name, arguments);
        }
        let inert = listed(INERT, name);
        self.arguments(name, arguments, inert);
        let first = arguments.first().map_or("", |word| word.text.as_str());
        let has = |wanted: &[&str]| arguments.iter().any(|word| wanted.contains(&word.text.as_str()));
        match name {
            "." | "source" => self.opaque("it reads commands from a file"),
            "alias" if !arguments.is_empty() => self.opaque("an alias"),
            "enable" | "bind" | "complete" | "compgen" | "fc" | "unalias" => self.opaque("it changes the shell itself"),
            "shopt" if has(&["expand_aliases"]) => self.opaque("an alias"),
            "hash" if first.starts_with('-') && first.contains('p') => self.opaque("it redefines a command"),
            "mapfile" | "readarray" | "read" => {
                self.hand_documents_to(input, Reader::Variable);
                if arguments.iter().any(|word| word.text.starts_with("-C")) {
                    self.opaque("a callback");
                }
                self.check_names(arguments);
            }
            "export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "getopts" => {
                self.check_names(arguments)
            }
            "printf" if first.starts_with("-v") => self.check_names(arguments),
            "npm" | "pnpm" | "yarn" | "bun" | "corepack"
                if has(&[
                    "exec",
                    "x",
                    "dlx",
                    "explore",
                    "config",
                    "set",
                    "set-script",
                    "--script-shell",
                    "create",
                    "init",
                ]) || arguments.iter().any(|word| word.text.starts_with("--script-shell")) =>
            {
                self.opaque("a package manager runs a program");
            }
            "make" | "gmake" | "just" => {
                for word in arguments {
                    let text = word.text.as_str();
                    let (variable, value) = text.split_once('=').unwrap_or((text, ""));
                    let special =
                        matches!(variable, "SHELL" | ".SHELLFLAGS" | "MAKEFLAGS" | "MAKE" | "--eval" | "--shell");
                    if special || value.contains([' ', '$', '`', ';']) || matches!(text, "-f-" | "-" | "/dev/stdin") {
                        self.opaque("make is given commands to run");
                    }
                }
            }
            _ => {}
        }
        for (program, options) in RUNNING_OPTIONS {
            if *program == name
                && arguments
                    .iter()
                    .any(|word| options.split_ascii_whitespace().any(|option| word.text.starts_with(option)))
            {
                self.opaque("an option that runs text");
            }
        }
        if matches!(name, "tar" | "bsdtar" | "gtar")
            && first.trim_start_matches('-').contains(['I', 'F'])
            && !first.starts_with("--")
        {
            self.opaque("an option that runs text");
        }
        if !inert && !listed(PLAIN, name) && !listed(FILE_TOOLS, name) {
            self.suspect(arguments);
        }
    }

    /// Arguments whose value only the run will tell. For a program that only prints or reads they
    /// don't matter, for others they may be the option or the verb that a rule is about.
    fn arguments(&mut self, _name: &str, arguments: &[Word], inert: bool) {
        if inert {
            return;
        }
        let (mut previous, mut operands_only) = ("", false);
        for (at, word) in arguments.iter().enumerate() {
            let literal_start = word.dynamic_at.is_some_and(|dynamic| {
                let start = word.text.get(..dynamic).unwrap_or_default();
                !start.is_empty() && (!start.starts_with('-') || (start.starts_with("--") && start.contains('=')))
            });
            let unclear = if word.split || word.brace {
                true
            } else if word.dynamic_at.is_some() {
                !literal_start && !operands_only && !listed(MESSAGE_OPTIONS, previous)
            } else if word.glob && !operands_only {
                let named = word.text.contains(['.', '/']);
                !named && (at == 0 || word.text.starts_with(['*', '?', '[', '-']))
            } else {
                false
            };
            if unclear {
                self.opaque("an argument that may be an option or a verb is not literal");
            }
            operands_only |= word.text == "--";
            previous = &word.text;
        }
    }

    fn check_names(&mut self, arguments: &[Word]) {
        for word in arguments {
            let at = word.assign.or_else(|| word.text.find('=')).unwrap_or(word.text.len());
            if word.dynamic_at.is_some_and(|dynamic| dynamic < at) {
                self.opaque("the name of a variable is not literal");
            }
            let name = word.text.get(..at).unwrap_or_default();
            let value = word.as_literal().and_then(|text| text.get(at + 1..));
            self.check_variable(name, value);
        }
    }

    /// An unknown program that is given the name of a known one, or text that starts with one, may be a
    /// wrapper.
    fn suspect(&mut self, arguments: &[Word]) {
        for word in arguments {
            let pieces = word.text.split(['\n', ';', '|', '&', '(', ')', '`', '!', '\'', '"', '=', ':', '{']);
            for piece in pieces {
                let name = base_name(piece.split_whitespace().next().unwrap_or_default());
                let known = [FILE_TOOLS, PLAIN, SHELLS, RUNS_TEXT, INERT].iter().any(|names| listed(names, name))
                    || WRAPPERS.iter().any(|wrapper| wrapper.name == name)
                    || is_interpreter(name)
                    || matches!(name, "git" | "find" | "su" | "runuser" | "awk" | "sed");
                if known && !listed(COMMON_VERBS, name) {
                    self.opaque("a program that isn't known is given the name of another one");
                }
            }
        }
    }

    fn interpreter(&mut self, name: &str, arguments: &[Word]) {
        let family = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let mut at = 0;
        while let Some(word) = arguments.get(at) {
            let Some(option) = word.as_literal() else {
                return self.opaque("an interpreter's arguments are not literal");
            };
            at += 1;
            let Some(letters) = option.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                at -= 1;
                break;
            };
            if matches!(option, "--version" | "--help" | "-V" | "-v" | "-h") {
                return;
            }
            let python = matches!(family, "python" | "pypy");
            let known = match family {
                "node" | "nodejs" => {
                    option.starts_with("--")
                        && !["--eval", "--print", "--input", "--import", "--require", "--loader", "--exp", "-r"]
                            .iter()
                            .any(|bad| option.starts_with(bad))
                }
                "python" | "pypy" => letters.chars().all(|c| "uBEIOsSqbmWX".contains(c)),
                "perl" | "ruby" => letters.chars().all(|c| "wTtU".contains(c)),
                _ => false,
            };
            if !known || option == "--" {
                return self.opaque("an interpreter is given text or unknown options");
            }
            if python && letters.ends_with('m') {
                if arguments.get(at).is_some_and(|module| {
                    matches!(module.text.as_str(), "timeit" | "pdb" | "code" | "cProfile" | "trace")
                }) {
                    self.opaque("an interpreter is given text or unknown options");
                }
                break;
            }
            at += usize::from(python && letters.ends_with(['W', 'X']));
        }
        match arguments.get(at).map(Word::as_literal) {
            Some(Some(script)) if script != "-" && !script.starts_with("/dev/") && !script.starts_with("/proc/") => {
                self.found.started.insert(base_name(script).to_string());
                self.found.started_by_path = true;
                self.suspect(&arguments[at + 1..]);
            }
            Some(_) => self.opaque("an interpreter's script is not literal"),
            None => self.opaque("a shell or interpreter reads its commands from its input"),
        }
    }

    /// `awk` and `sed` can run commands from their little programs.
    fn filter_program(&mut self, name: &str, arguments: &[Word]) {
        let sed = name.ends_with("sed");
        let mut scripts = Vec::new();
        let mut operands = Vec::new();
        let mut at = 0;
        let mut given = false;
        while let Some(word) = arguments.get(at) {
            at += 1;
            let text = word.text.as_str();
            if !given && operands.is_empty() && word.dynamic_at == Some(0) {
                return self.opaque("the program of awk or sed is not literal");
            }
            match text {
                "-e" | "--expression" if sed => {
                    scripts.extend(arguments.get(at));
                    given = true;
                    at += 1;
                }
                "-n" | "-E" | "-r" | "-z" | "-u" | "-s" | "-nE" | "-nr" | "-En" | "--quiet" | "--silent"
                | "--regexp-extended" | "--null-data" | "--posix" | "--sandbox"
                    if sed => {}
                _ if sed && (text.starts_with("-i") || text.starts_with("--in-place")) => {
                    // `-ie` is a suffix to sed and a mistake to most people; `-i -e` is how it is meant.
                    if text.contains(['E', 'n', 'r']) && text.len() > 4 {
                        self.opaque("an unknown option of sed");
                    }
                }
                "-F" | "-v" if !sed => at += 1,
                "--" => {}
                _ if !sed && (text.starts_with("-F") || text.starts_with("-v")) => {}
                _ if text.starts_with('-') && text.len() > 1 => {
                    return self.opaque("an unknown option of awk or sed");
                }
                _ => operands.push(word),
            }
        }
        if !given {
            match operands.first() {
                Some(word) => scripts.push(word),
                None => return,
            }
        }
        for script in scripts {
            let safe = match script.as_literal() {
                Some(text) if sed => is_plain_sed(text),
                Some(text) => !text.contains(['|', '@']) && !text.contains("system") && !text.contains("getline"),
                None => false,
            };
            if !safe {
                self.opaque("the program of awk or sed may run commands");
            }
        }
    }

    /// Notes which files a command writes or starts, as far as that lets it run what it has written.
    fn record_files(&mut self, name: &str, arguments: &[Word]) {
        let has = |wanted: &str| arguments.iter().any(|word| word.text.starts_with(wanted));
        match name {
            "cp" | "mv" | "ln" | "install" | "tee" | "chmod" | "touch" => {
                for word in arguments {
                    match word.as_literal() {
                        Some(path) if path.starts_with('-') => {}
                        Some(path) => self.found.wrote(path),
                        None => self.found.writes_unknown = true,
                    }
                }
            }
            "wget" | "tar" | "unzip" | "dd" | "patch" | "rsync" | "scp" | "gunzip" | "7z" | "split" => {
                self.found.writes_unknown = true;
            }
            "curl" if arguments.iter().any(|word| word.text.starts_with('-') && word.text.contains(['o', 'O'])) => {
                self.found.writes_unknown = true;
            }
            "sed" if has("-i") || has("--in-place") => self.found.writes_unknown = true,
            "make" | "gmake" => {
                for file in ["Makefile", "makefile", "GNUmakefile"] {
                    self.found.started.insert(file.to_string());
                }
                for word in arguments {
                    self.found.started.insert(base_name(word.text.trim_start_matches("-f")).to_string());
                }
            }
            "npm" | "pnpm" | "yarn" | "bun" => {
                self.found.started.insert("package.json".to_string());
            }
            _ => {}
        }
    }
}

/// Word lists are texts: one line then holds a dozen names.
/// Whether a list of names, with one blank between them, has this one.
fn listed(list: &str, name: &str) -> bool {
    let list = list.as_bytes();
    let is_edge = |at: Option<usize>| at.and_then(|at| list.get(at)).is_none_or(|byte| *byte == b' ');
    !name.is_empty()
        && !name.contains(' ')
        && memchr::memmem::find_iter(list, name).any(|at| is_edge(at.checked_sub(1)) && is_edge(Some(at + name.len())))
}

/// Marks where `xargs -I` puts what it reads.
fn fill_in(words: &mut [Word], mark: &str) {
    for word in words {
        if mark.is_empty() || mark == "$" {
            word.dynamic_at = Some(0);
        } else if let Some(at) = word.text.find(mark) {
            word.dynamic_at = Some(word.dynamic_at.map_or(at, |before| before.min(at)));
        }
    }
}

fn is_system_directory(directory: &str) -> bool {
    matches!(
        directory,
        "/bin/" | "/usr/bin/" | "/usr/local/bin/" | "/sbin/" | "/usr/sbin/" | "/usr/local/sbin/" | "/opt/homebrew/bin/"
    )
}

fn is_interpreter(name: &str) -> bool {
    listed(INTERPRETERS, name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

fn is_harmless_ssh_option(letter: char, value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    match letter {
        'o' => !value.contains("command") && !value.contains("exec") && !value.contains("include") && value != "$",
        'F' => false,
        _ => true,
    }
}

/// Variables that make a program started later run text or code of the caller's choice.
fn is_hazardous_variable(name: &str, value: Option<&str>) -> bool {
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name);
    let harmless = matches!(value, Some("" | "cat" | "true" | ":"));
    if harmless && (name.ends_with("PAGER") || name.ends_with("EDITOR")) {
        return false;
    }
    let git = name.starts_with("GIT_")
        && !["GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TERMINAL_PROMPT", "GIT_TRACE", "GIT_MERGE_AUTOEDIT", "GIT_LFS_SKIP"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
    let lower = name.to_ascii_lowercase();
    git || listed(HAZARDOUS_VARIABLES, name)
        || ["LD_", "DYLD_", "BASH_", "npm_config_", "NPM_CONFIG_"].iter().any(|prefix| name.starts_with(prefix))
        || ["editor", "pager", "_command", "_askpass", "_wrapper", "_rsh", "_shell", "_runner"]
            .iter()
            .any(|suffix| lower.ends_with(suffix))
}

/// Settings that can't make git start a program. Everything else may.
fn is_harmless_setting(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    if matches!(key.as_str(), "core.pager" | "core.editor" | "sequence.editor") {
        return matches!(value, "" | "cat" | "true" | ":");
    }
    HARMLESS_SETTINGS
        .split_ascii_whitespace()
        .any(|name| if name.ends_with('.') { key.starts_with(name) } else { key == name })
}

/// Whether a sed script holds only commands that edit and print. Anything not understood isn't plain.
fn is_plain_sed(script: &str) -> bool {
    let mut rest = script.chars().peekable();
    loop {
        while rest.next_if(|c| c.is_whitespace() || matches!(c, ';' | '{' | '}')).is_some() {}
        // The address.
        loop {
            match rest.peek() {
                Some(c) if c.is_ascii_digit() || matches!(c, '$' | ',' | '+' | '~' | '!' | ' ') => {
                    rest.next();
                }
                Some('/') => {
                    rest.next();
                    if !skip_delimited(&mut rest, '/') {
                        return false;
                    }
                    while rest.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
                }
                _ => break,
            }
        }
        match rest.next() {
            None => return true,
            Some('{' | '}') => continue,
            Some('p' | 'P' | 'd' | 'D' | '=' | 'n' | 'N' | 'h' | 'H' | 'g' | 'G' | 'x' | 'F' | 'z') => {}
            Some('q' | 'Q') => while rest.next_if(char::is_ascii_digit).is_some() {},
            Some('a' | 'i' | 'c') => {
                // The text ends with the line; a backslash carries it on.
                while let Some(c) = rest.next() {
                    match c {
                        '\\' => drop(rest.next()),
                        '\n' => break,
                        _ => {}
                    }
                }
                continue;
            }
            Some(command @ ('s' | 'y')) => {
                let Some(delimiter) = rest.next().filter(|c| !c.is_alphanumeric() && !matches!(c, '\\' | '\n')) else {
                    return false;
                };
                if !skip_delimited(&mut rest, delimiter) || !skip_delimited(&mut rest, delimiter) {
                    return false;
                }
                let flags = |c: &char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I' | 'M' | 'm');
                while command == 's' && rest.next_if(flags).is_some() {}
            }
            Some(_) => return false,
        }
        while rest.next_if(|c| *c == ' ').is_some() {}
        match rest.peek() {
            None | Some(';' | '\n' | '}') => {}
            Some(_) => return false,
        }
    }
}

fn skip_delimited(rest: &mut impl Iterator<Item = char>, delimiter: char) -> bool {
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            _ if c == delimiter => return true,
            _ => {}
        }
    }
    false
}

/// A program that runs the rest of its arguments. One row each; options that aren't listed are opaque.
struct Wrapper {
    name: &'static str,
    flags: &'static str,
    /// Letters that take a value, attached or as the next word.
    valued: &'static str,
    long: &'static str,
    valued_long: &'static str,
    /// Arguments of its own before the command.
    positionals: usize,
    /// `A=b` words may come before the command.
    assigns: bool,
    /// Its own command line is listed too.
    listed: bool,
    /// Without a command it opens a shell.
    bare_shell: bool,
    /// The rest is joined and given to a shell.
    joins: bool,
    /// A letter whose value is text to be split.
    text_letter: Option<char>,
    /// Letters with which nothing is run.
    shows: &'static str,
}

const PLAIN_WRAPPER: Wrapper = Wrapper {
    name: "",
    flags: "",
    valued: "",
    long: "",
    valued_long: "",
    positionals: 0,
    assigns: false,
    listed: false,
    bare_shell: false,
    joins: false,
    text_letter: None,
    shows: "",
};

const fn wrapper(name: &'static str, flags: &'static str, valued: &'static str, positionals: usize) -> Wrapper {
    Wrapper { name, flags, valued, positionals, ..PLAIN_WRAPPER }
}

const fn elsewhere(name: &'static str, flags: &'static str, valued: &'static str, positionals: usize) -> Wrapper {
    Wrapper { listed: true, bare_shell: true, ..wrapper(name, flags, valued, positionals) }
}

const SETARCH_FLAGS: &str = "vRFZLXBIS3T";
const UNSHARE_LONG: &str = "\
    map-root-user map-current-user fork mount uts ipc net pid user cgroup time mount-proc \
    kill-child keep-caps";

static WRAPPERS: &[Wrapper] = &[
    Wrapper {
        assigns: true,
        long: "login shell preserve-env set-home non-interactive stdin background reset-timestamp askpass bell preserve-groups",
        valued_long: "user group host prompt chdir close-from chroot command-timeout",
        ..elsewhere("sudo", "AbBEHknNPSis", "CDghpRrTtUu", 0)
    },
    elsewhere("doas", "nLs", "uCa", 0),
    Wrapper { valued_long: "user", long: "disable-internal-agent keep-cwd", ..elsewhere("pkexec", "", "", 0) },
    Wrapper {
        assigns: true,
        text_letter: Some('S'),
        long: "ignore-environment null debug",
        valued_long: "unset chdir",
        ..wrapper("env", "i0v", "uC", 0)
    },
    wrapper("nohup", "", "", 0),
    Wrapper { long: "ctty fork wait", ..wrapper("setsid", "cfw", "", 0) },
    Wrapper { valued_long: "adjustment", ..wrapper("nice", "", "n", 0) },
    Wrapper { long: "ignore", valued_long: "class classdata", ..wrapper("ionice", "t", "cn", 0) },
    Wrapper {
        long: "batch deadline fifo idle other rr reset-on-fork verbose all-tasks",
        valued_long: "sched-runtime sched-period sched-deadline",
        ..wrapper("chrt", "bdfiorRva", "TPD", 1)
    },
    Wrapper { long: "cpu-list all-tasks", ..wrapper("taskset", "ca", "", 1) },
    Wrapper {
        long: "foreground preserve-status verbose",
        valued_long: "kill-after signal",
        ..wrapper("timeout", "fpv", "ks", 1)
    },
    Wrapper {
        long: "foreground preserve-status verbose",
        valued_long: "kill-after signal",
        ..wrapper("gtimeout", "fpv", "ks", 1)
    },
    Wrapper {
        long: "portability append verbose quiet",
        valued_long: "format output",
        ..wrapper("time", "apvlhq", "fo", 0)
    },
    Wrapper { valued_long: "input output error", ..wrapper("stdbuf", "", "ioe", 0) },
    Wrapper { shows: "vV", ..wrapper("command", "p", "", 0) },
    wrapper("builtin", "", "", 0),
    wrapper("exec", "cl", "a", 0),
    wrapper("noglob", "", "", 0),
    wrapper("nocorrect", "", "", 0),
    Wrapper {
        long: "null no-run-if-empty verbose interactive exit open-tty max-lines eof",
        valued_long: "max-args max-procs delimiter arg-file max-chars process-slot-var",
        ..wrapper("xargs", "0prtxol", "ILnPsdEaJRS", 0)
    },
    Wrapper { long: "skip-chdir", valued_long: "userspec groups", ..elsewhere("chroot", "", "", 1) },
    Wrapper {
        long: UNSHARE_LONG,
        valued_long: "setuid setgid root wd propagation",
        ..elsewhere("unshare", "rcfmuinpUCT", "RwSG", 0)
    },
    Wrapper {
        long: "all mount uts ipc net pid user cgroup preserve-credentials no-fork",
        valued_long: "target setuid setgid",
        ..elsewhere("nsenter", "amuinpUCTF", "tSG", 0)
    },
    Wrapper { long: "uname-2.6 addr-no-randomize 32bit 3gb 4gb verbose", ..elsewhere("setarch", SETARCH_FLAGS, "", 1) },
    elsewhere("linux32", SETARCH_FLAGS, "", 0),
    elsewhere("linux64", SETARCH_FLAGS, "", 0),
    elsewhere("i386", SETARCH_FLAGS, "", 0),
    elsewhere("x86_64", SETARCH_FLAGS, "", 0),
    Wrapper {
        long: "no-new-privs clear-groups keep-groups init-groups reset-env",
        valued_long: "reuid regid ruid euid rgid egid groups inh-caps bounding-set",
        ..wrapper("setpriv", "d", "", 0)
    },
    wrapper("strace", "cCdDfFhiknqrtTvwxyYzZ", "aAbeEIoOpPsSuUX", 0),
    wrapper("ltrace", "bcCfihLrStTV", "aAeFlnopsuwx", 0),
    wrapper("catchsegv", "", "", 0),
    wrapper("fakeroot", "uv", "", 0),
    wrapper("eatmydata", "", "", 0),
    wrapper("proxychains", "q", "f", 0),
    wrapper("proxychains4", "q", "f", 0),
    wrapper("torsocks", "di", "aPup", 0),
    wrapper("torify", "", "", 0),
    wrapper("caffeinate", "dimsu", "tw", 0),
    wrapper("dbus-run-session", "", "", 0),
    wrapper("dbus-launch", "", "", 0),
    wrapper("unbuffer", "p", "", 0),
    wrapper("chronic", "ve", "", 0),
    Wrapper { long: "auto-servernum", valued_long: "server-num server-args", ..wrapper("xvfb-run", "al", "enfpsw", 0) },
    Wrapper {
        valued_long: "cpunodebind membind physcpubind interleave",
        long: "localalloc all",
        ..wrapper("numactl", "la", "NmCip", 0)
    },
    Wrapper { valued_long: "what who why mode", ..wrapper("systemd-inhibit", "", "", 0) },
    Wrapper {
        assigns: false,
        long: "user system scope pty pipe wait quiet collect same-dir no-block shell",
        valued_long: "unit property uid gid slice description setenv nice working-directory",
        ..elsewhere("systemd-run", "tPqGdrS", "upEM", 0)
    },
    Wrapper {
        long: "shared exclusive unlock nonblock nb no-fork close verbose",
        valued_long: "timeout wait conflict-exit-code",
        ..wrapper("flock", "sxeunoFv", "wE", 1)
    },
    Wrapper {
        joins: true,
        long: "beep color differences errexit chgexit precise no-title",
        valued_long: "interval",
        ..elsewhere("watch", "bcdegprtw", "nq", 0)
    },
    Wrapper { joins: true, ..elsewhere("ssh", "46AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOoPpQRSWw", 1) },
    elsewhere("busybox", "", "", 0),
    elsewhere("toybox", "", "", 0),
    Wrapper {
        long: "detach interactive tty privileged",
        valued_long: "env user workdir env-file detach-keys",
        ..elsewhere("docker exec", "dit", "euw", 1)
    },
    Wrapper {
        long: "detach interactive tty privileged",
        valued_long: "env user workdir env-file detach-keys",
        ..elsewhere("podman exec", "dit", "euw", 1)
    },
    Wrapper {
        listed: true,
        long: "rm interactive tty detach privileged init read-only",
        valued_long: "name network volume mount env user workdir platform env-file memory publish",
        ..wrapper("docker run", "dit", "evupwhlm", 1)
    },
    Wrapper {
        listed: true,
        long: "rm interactive tty detach privileged init read-only",
        valued_long: "name network volume mount env user workdir platform env-file memory publish",
        ..wrapper("podman run", "dit", "evupwhlm", 1)
    },
    Wrapper { long: "stdin tty", valued_long: "container namespace", ..elsewhere("kubectl exec", "it", "cn", 1) },
    Wrapper { listed: true, long: "yes no-install quiet", valued_long: "package", ..wrapper("npx", "yq", "p", 0) },
    Wrapper { listed: true, ..wrapper("bunx", "", "", 0) },
    wrapper("npm exec", "", "", 0),
    wrapper("pnpm exec", "", "", 0),
    wrapper("pnpm dlx", "", "", 0),
    wrapper("yarn exec", "", "", 0),
    wrapper("yarn dlx", "", "", 0),
    wrapper("uv run", "", "", 0),
    wrapper("poetry run", "", "", 0),
    wrapper("pipenv run", "", "", 0),
    wrapper("pdm run", "", "", 0),
    wrapper("hatch run", "", "", 0),
    wrapper("bundle exec", "", "", 0),
    wrapper("mise exec", "", "", 0),
    wrapper("direnv exec", "", "", 1),
];

const SHELLS: &str = "\
    sh bash dash zsh ksh ksh93 mksh ash rbash yash posh fish csh tcsh pwsh nu elvish xonsh";
const POSIX_SHELLS: &str = "sh bash dash zsh ksh ksh93 mksh ash rbash yash posh";
const INTERPRETERS: &str = "\
    python pypy perl ruby node nodejs php lua luajit tclsh wish Rscript julia osascript guile \
    racket irb groovy scala ghci runghc ipython ts-node tsx elixir erl swipl ocaml sbcl clisp";

/// Editors, debuggers, schedulers and the like: they run commands by design.
const RUNS_TEXT: &str = "\
    vi vim nvim view vimdiff ex ed emacs emacsclient nano gdb lldb expect m4 screen tmux at \
    batch crontab nc ncat netcat socat sqlite3 psql mysql ftp lftp parallel entr dc bc jshell \
    perf valgrind rlwrap ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 \
    ld-musl-x86_64.so.1 bwrap firejail run-parts start-stop-daemon supervise inotifywait \
    watchexec nodemon dpkg-reconfigure telnet rsh mosh sshpass hyperfine cgexec \
    prlimit daemonize faketime git-shell logsave dtach abduco zellij byobu xterm \
    gnome-terminal konsole";

/// They print, read or change the shell's own state: an argument can't make them anything else.
const INERT: &str = "\
    echo printf true false : cd pwd pushd popd dirs ls cat tac head tail wc sort uniq cut tr \
    grep egrep fgrep rg test [ mkdir rmdir basename dirname realpath readlink stat file du df \
    date sleep seq diff cmp comm paste fold nl rev expand column yes which type hash whoami id \
    hostname uname printenv tput clear md5sum sha1sum sha256sum cksum base64 xxd od hexdump \
    strings jq yq tree let umask ulimit export declare typeset local readonly unset read mapfile \
    readarray getopts set shift return exit break continue wait jobs shopt times expr nproc free \
    uptime groups tty locale ps pgrep lsof";

const FILE_TOOLS: &str = "\
    rm cp mv ln chmod chown chgrp touch tee truncate shred unlink dd install mkfifo mktemp kill \
    killall pkill";

/// Everyday programs for which the name of another program is an ordinary argument.
const PLAIN: &str = "\
    npm pnpm yarn bun pip pip3 pipx poetry uv cargo rustup rustc go gofmt make gmake cmake ninja \
    meson gcc g++ cc clang ld ar tar zip unzip gzip gunzip xz curl wget rsync scp sftp docker \
    podman kubectl helm terraform gh glab hg svn brew apt apt-get apt-cache dpkg yum dnf pacman \
    apk snap systemctl service journalctl man info whereis apropos tsc eslint prettier jest \
    vitest pytest mypy ruff black flake8 javac java mvn gradle less more top htop fd fdfind bat \
    ssh-keygen ssh-add openssl gpg aws gcloud az ping dig host nslookup ip ifconfig netstat ss \
    mount umount shutdown reboot halt poweroff useradd userdel passwd mkfs fdisk iptables just \
    patch split hugo deno trash";

/// Verbs of many programs that are programs too.
const COMMON_VERBS: &str = "\
    test true false date file time find sort head tail cut join watch command exec install kill \
    read set unset type wait export stat sleep diff shift exit id info host service view batch \
    cat expand hash tree local break return continue at split patch make less more top go just \
    ip [ : mount echo jobs free times screen groups locale env black jest node python service";

const MESSAGE_OPTIONS: &str = "\
    -m -am -sm --message --title --body --notes --description -F --file";

/// Options, by their start, that make an ordinary program run another one.
static RUNNING_OPTIONS: &[(&str, &str)] = &[
    ("tar", "--checkpoint-a --to-c --use --rs --rm --info --new-v -I -F"),
    ("gtar", "--checkpoint-a --to-c --use --rs --rm --info --new-v -I -F"),
    ("bsdtar", "--use"),
    ("sort", "--comp"),
    ("rg", "--pre --hostname-bin"),
    ("rsync", "-e --rsh --rsync-p -ae -ave -avze -az -ra -rv -vz"),
    ("scp", "-S -o -D"),
    ("sftp", "-S -o -b -D"),
    ("zip", "-T --unzip"),
    ("man", "-P -H --pager --html"),
    ("go", "-exec --exec -toolexec --toolexec generate -vettool"),
    ("gcc", "-wrapper -fplugin -B"),
    ("g++", "-wrapper -fplugin -B"),
    ("cc", "-wrapper -fplugin -B"),
    ("wget", "--use-askpass -e --exe --config"),
    ("curl", "-K --config"),
    ("cargo", "--config"),
    ("cmake", "-E -P"),
    ("split", "--filter"),
    ("fd", "-x -X --exec"),
    ("fdfind", "-x -X --exec"),
    ("bat", "--pager"),
    ("less", "+ -k --lesskey"),
    ("more", "+"),
    ("gh", "alias extension codespace config"),
    ("deno", "eval repl -"),
    ("bun", "-e --eval -p --print -"),
    ("ip", "exec"),
    ("openssl", "-engine"),
    ("kubectl", "exec debug plugin run"),
    ("docker", "exec run buildx"),
    ("podman", "exec run unshare"),
];

const HAZARDOUS_VARIABLES: &str = "\
    PATH ENV SHELL SHELLOPTS BASHOPTS PROMPT_COMMAND PS0 PS1 PS2 PS4 BROWSER LESSOPEN LESSCLOSE \
    FCEDIT PERL5OPT PERL5LIB PERL5DB PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT RUBYOPT \
    RUBYLIB NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS \
    RUSTC MAKEFLAGS MAKEFILES MAKE TAR_OPTIONS RSYNC_RSH CVS_RSH AWKPATH AWKLIBPATH HOME \
    XDG_CONFIG_HOME ZDOTDIR GCONV_PATH LUA_INIT PHPRC OPENSSL_CONF CDPATH TERMINFO EXINIT \
    VIMINIT INPUTRC SSH_ASKPASS VISUAL MANOPT GOFLAGS";

const HARMLESS_SETTINGS: &str = "\
    user. push. pull. fetch. color. advice. log. safe. commit.gpgsign tag.gpgsign \
    init.defaultbranch core.quotepath core.autocrlf core.filemode core.longpaths core.eol \
    core.ignorecase core.abbrev core.symlinks core.safecrlf merge.conflictstyle merge.ff \
    diff.algorithm diff.renames diff.colormoved diff.noprefix diff.mnemonicprefix \
    rebase.autostash rebase.autosquash protocol.version http.sslverify http.postbuffer \
    http.lowspeedlimit http.lowspeedtime rerere.enabled branch.autosetuprebase column.ui \
    help.autocorrect status. remote.origin.url gc.auto index.version feature.manyfiles";

/// Commands of git itself, which no alias can replace. Others may be an alias for anything.
const GIT_COMMANDS: &str = "\
    add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore \
    checkout cherry cherry-pick clean clone commit commit-tree config count-objects describe \
    diff diff-files diff-index diff-tree difftool fetch for-each-ref format-patch fsck gc grep \
    hash-object help index-pack init log ls-files ls-remote ls-tree merge merge-base merge-tree \
    mktree mv name-rev notes prune pull push range-diff read-tree rebase reflog remote repack \
    reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref \
    sparse-checkout stash status submodule switch symbolic-ref tag update-index update-ref var \
    verify-commit verify-tag version whatchanged worktree write-tree";

/// Commands of git that do another one's work or run programs.
const GIT_PLUMBING: &str = "\
    send-pack http-push receive-pack upload-pack remote-http remote-https remote-ext remote-fd \
    subtree svn p4 lfs shell hook daemon instaweb gui citool mergetool filter-branch filter-repo \
    for-each-repo credential send-email imap-send maintenance web--browse submodule--helper \
    rebase--helper rebase--interactive merge-index fast-import cvsserver upload-archive scalar \
    annex merge-one-file mergetool--lib remote-ssh";

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Truth {
        Match,
        Opaque,
        NoMatch,
    }

    fn judge(pattern: &str, command: &str) -> Truth {
        let pattern = CommandPattern::new(pattern).unwrap();
        let text = parse(command);
        for command in text.commands.iter().filter(|command| pattern.matches(command)) {
            assert!(command.starts_with(pattern.literal_prefix()), "{command} {:?}", pattern.literal_prefix());
        }
        if text.commands.iter().any(|command| pattern.matches(command)) {
            Truth::Match
        } else if text.opaque.is_some() {
            Truth::Opaque
        } else {
            Truth::NoMatch
        }
    }

    #[test]
    fn corpus() {
        let rows = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/corpora/bash_conditions.jsonl"));
        let (mut silent, mut wrong, mut false_opaque, mut unsure) = (vec![], vec![], vec![], vec![]);
        for row in rows.lines() {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            let field = |name: &str| row[name].as_str().unwrap().to_string();
            let (rule, command) = (field("rule"), field("cmd"));
            let pattern = rule.strip_prefix("Bash(").and_then(|rule| rule.strip_suffix(')')).unwrap();
            let line = format!("{} {}", field("id"), command.chars().take(80).collect::<String>());
            match (field("expect").as_str(), judge(pattern, &command)) {
                ("match", Truth::NoMatch) => silent.push(line),
                ("no_match", Truth::Match) => wrong.push(line),
                ("no_match", Truth::Opaque) => false_opaque.push(line),
                ("match", Truth::Opaque) => unsure.push((row["tier"].as_u64().unwrap(), line)),
                _ => {}
            }
        }
        println!("unsure {}: {unsure:#?}", unsure.len());
        println!("false opaque {}: {false_opaque:#?}", false_opaque.len());
        assert!(silent.is_empty(), "silent misses: {silent:#?}");
        assert!(wrong.is_empty(), "false matches: {wrong:#?}");
        assert!(false_opaque.len() <= 4, "false opaque: {false_opaque:#?}");
        // Text that arithmetic expands again; everything else of tier 1 is syntax and must be exact.
        assert!(unsure.iter().filter(|(tier, _)| *tier == 1).count() <= 4, "{unsure:#?}");
    }

    #[test]
    fn everyday_commands_are_decided() {
        for command in [
            "npm test 2>&1 | tail -5",
            "cargo build --release > out.txt",
            "cd x && ls -la \"$HOME\"",
            "git commit -m \"fix: a (b)\"",
            "git commit -m \"$(cat <<'EOF'\nfix: a\n\nGit push [x](y) `z`\nEOF\n)\"",
            "for f in *.ts; do echo $f; done",
            "ls *.rs",
            "python3 script.py --x",
            "grep -rn 'a|b' src",
            "git add -A && git status --short",
            "git log --oneline -20 | head -5",
            "git diff HEAD~1 -- src/a.rs",
            "git checkout -b feature/x",
            "git stash list; git show stash@{0}",
            "find . -name '*.ts' -not -path './node_modules/*' | head -20",
            "find . -name '*.ts' -exec grep -l foo {} +",
            "cat package.json | jq '.scripts'",
            "sed -n '1,20p' src/a.rs",
            "sed -i 's/foo/bar/g' src/a.rs",
            "awk '{print $1}' f.txt",
            "mkdir -p a/b && touch a/b/c && cp a/b/c d",
            "rm -f out.txt",
            "rm -r build",
            "echo \"$((1 + 2))\" >> out.txt",
            "if [ -f x ]; then echo yes; else echo no; fi",
            "[[ $x == y* ]] && echo ok",
            "while read -r line; do echo \"$line\"; done < f.txt",
            "node --test tests/a.mjs",
            "npx prettier --check src",
            "docker ps -a",
            "docker build -t x .",
            "docker compose up -d",
            "curl -sS https://example.com/x | jq .",
            "make -j4 test",
            "cat > f.txt <<'EOF'\nhello $x\nEOF",
            "tar xzf a.tgz && ls a",
            "timeout 60 cargo test -- --nocapture",
            "RUST_LOG=debug cargo run -- --x 1",
            "GIT_PAGER=cat git log -1",
            "# a comment\nls",
            "printf '%s\\n' \"$USER\" | sort -u",
            "go test ./...",
            "./gradlew test",
            "test -d x || mkdir x",
            "echo 'it'\\''s'",
            "x=$(date +%s); echo \"took $x\"",
            "gh pr create --title \"a\" --body \"$(cat <<'EOF'\nbody\nEOF\n)\"",
            "export FOO=bar && env | grep FOO",
        ] {
            assert_eq!(parse(command).opaque, None, "{command}");
        }
    }

    #[test]
    fn doubtful_commands_are_never_missed() {
        for command in [
            "git push\\\n-x",
            "gi\\\nt push",
            "$\\\n(git push)",
            "echo a|xargs -n1 git push",
            "echo push | xargs git",
            "echo push | xargs -I{} git {}",
            "xargs -I% sh -c 'git %' <<< push",
            "find . -exec git push \\;",
            "find . -maxdepth 0 -exec sh -c 'git push' \\;",
            "find push -exec git {} \\;",
            "coproc git push",
            "coproc N { git push; }",
            "((git push) ; (git push))",
            "echo $((git push) )",
            "( (git push) )",
            "function f { git push; }; f",
            "f() { git push; }",
            "case $x in a|b) :;; *) git push;; esac",
            "cat <<EOF\na\\\nEOF\n$(git push)\nEOF",
            "cat <<-EOF\n\tx\n\tEOF\ngit push",
            "cat <<E\\\nOF\nx\nEOF\ngit push",
            "cat <<EOF\nEO\\\nF\ngit push",
            "cat <<'A'; a=(\nA\n1) bash <<'B'\ngit push\nB",
            "a=(\n1) bash <<'B'\ngit push\nB",
            "bash -s <<EOF\ngit push\nEOF",
            "sudo bash <<'EOF'\ngit push\nEOF",
            "bash<<<'git push'",
            "bash -c 'eval \"git push\"'",
            "eval eval eval git push",
            "trap -- 'git push' EXIT",
            "alias p='git push'\np",
            "shopt -s expand_aliases; alias g=git",
            "PATH=.:$PATH git status",
            "export PATH=x",
            "env PATH=x git status",
            "declare -x GIT_EDITOR='git push'",
            "read PATH <<< x",
            "printf -v PATH x",
            "for PATH in x; do git log; done",
            "BASH_ENV=x bash -c :",
            "git -c core.pager='git push' log",
            "git -c core.sshCommand='git push' fetch",
            "git config alias.p push; git p",
            "git config --global core.editor 'git push'",
            "git p",
            "git subtree push",
            "GIT_CONFIG_COUNT=1 git x",
            "git fetch --upload-pack='git push' x",
            "git clone ext::sh x",
            "git clone -u 'git push' x y",
            "git --config-env=alias.p=X p",
            "git difftool -x 'git push'",
            "perl -e 'system(\"git push\")'",
            "ruby -e 'x'",
            "node -e 'x'",
            "node -p x",
            "php -r 'x'",
            "python3 - <<'E'\nx\nE",
            "echo x | python3",
            "awk 'BEGIN{system(\"git push\")}'",
            "awk 'BEGIN{print | \"git push\"}'",
            "sed 's/x/git push/e' f",
            "sed --expression='1e git push' f",
            "ssh host git push",
            "ssh -o ProxyCommand='git push' h ls",
            "at now <<< 'git push'",
            "parallel git push ::: a",
            "watch git push",
            "script -c 'git push' /dev/null",
            "flock /tmp/l git push",
            "flock /tmp/l -c 'git push'",
            "setsid git push",
            "stdbuf -oL git push",
            "nsenter -t 1 -m git push",
            "chroot / git push",
            "systemd-run --user git push",
            "doas git push",
            "npx git push",
            "npm exec -- git push",
            "kubectl exec pod -- git push",
            "docker run --rm img git push",
            "docker compose exec x git push",
            "docker -H x exec c git push",
            "foo --run git push",
            "foo -c 'git push'",
            "xvfb-run git push",
            "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
            "rsync -e 'git push' a b",
            "man -P 'git push' x",
            "tar -I 'git push' -cf x y",
            "zip -TT 'git push' a b",
            "sort --compress-program='git push' x",
            "git grep -O'git push' x",
            "ln -s /usr/bin/git p; ./p push",
            "wget http://x/a.sh && ./a.sh",
            "cat > a.sh <<'E'\ngit push\nE\nsh a.sh",
            "hash -p /usr/bin/git x; x push",
            "command -p git push",
            "exec git push",
            "time -p git push",
            "! ! git push",
            "if :; then :; elif git push; then :; fi",
            "select x in a; do git push; done",
            "until git push; do :; done",
            "for i in a; { git push; }",
            "[[ -n x && $(git push) ]]",
            "echo ${x:-`git push`}",
            "echo \"${x:-$(git push)}\"",
            "echo ${x:-<(git push)}",
            "x=${y:-$(git push)}",
            "a[$(git push)]=1",
            "echo ${a[$(git push)]}",
            "echo > $(git push)",
            "echo <<< $(git push)",
            "echo \"`echo \\`git push\\``\"",
            "x='$(git push)'; echo ${x@P}",
            "PS4='$(git push)'; set -x; :",
            "mapfile -C 'git push' -c 1 a <<< x",
            "complete -C 'git push' x",
            "enable -f x y",
            "git\\ push; git push",
            "\\git push",
            "\"git\" push",
            "git $'\\160ush'",
            "git $'pu\\163h'",
            "$'\\u0067it' push",
            "git push >&2",
            "git>x push",
            ">x git push",
            "2>&1 git push",
            "{fd}>x git push",
            "<x git push",
            "a=b c=d git push",
            "a+=1 git push",
            "git --git-dir x push",
            "git -C push push",
            "true&git push",
            "true\ngit push",
            "true;git push",
            "#x\ngit push",
            "echo a#b; git push",
            "echo 'a' #'\ngit push",
            "echo \"#\"; git push",
            "echo $#; git push",
            "echo ${#x}; git push",
            "env - git push",
            "env -i git push",
            "env -u X git push",
            "env --unset=X git push",
            "env -S'git push'",
            "env -vS 'git push'",
            "nice git push",
            "nice -5 git push",
            "nice -n5 git push",
            "timeout -k 1 5 git push",
            "sudo -u root -g x git push",
            "sudo A=b git push",
            "sudo -s git push",
            "sudo sh -c 'git push'",
            "busybox sh -c 'git push'",
            "su root -c 'git push'",
            "runuser -l x -c 'git push'",
            "sg x 'git push'",
            "exec -c git push",
            "builtin command git push",
            "command -- git push",
            "eval \"$x\"",
            "$x",
            "\"$@\"",
            "bash -c \"$x\"",
            "source x",
            "bash x",
            "make -f- <<< x",
            "echo 'git push' | bash",
            "base64 -d <<< x | sh",
            "git rebase --exec='git push' x",
            "git rebase -x'git push'",
            "git submodule foreach --recursive git push",
            "git-push",
            "git push|cat",
            "(git push)",
            "{ git push;}",
        ] {
            assert_ne!(judge("git push*", command), Truth::NoMatch, "{command}");
        }
    }

    #[test]
    fn normal_form() {
        for (text, expected) in [
            ("A=b git -C x 'push'  origin", "git push origin"),
            ("timeout 5 nice -n 3 env X=1 npm test", "npm test"),
            ("./build.sh x", "./build.sh x|build.sh x"),
            ("sudo ls", "sudo ls|ls"),
            ("sh -c 'ls; pwd'", "sh -c ls; pwd|ls|pwd"),
            ("cat <(date) $HOME", "date|cat <(date) $HOME"),
            ("'git push'", "git\\ push"),
            ("git 'push x'", "git push\\ x"),
        ] {
            assert_eq!(parse(text).commands.join("|"), expected, "{text}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, command, expected, prefix) in [
            ("git push:*", "git push", true, "git push"),
            ("git push:*", "git push x", true, "git push"),
            ("git push:*", "git pushx", false, "git push"),
            ("git * main", "git push origin main", true, "git "),
            ("git * main", "git push origin", false, "git "),
            ("*", "anything", true, ""),
            ("./build.sh*", "./build.sh x", true, ""),
            ("./build.sh*", "build.sh x", true, ""),
            ("./scripts/*", "rm x", false, "./scripts/"),
            ("rm -rf *", "rm -fR x", true, "rm"),
            ("rm -rf*", "rm -- -rf", false, "rm"),
            ("rm -rf*", "rm --rec --fo x", true, "rm"),
            ("tar -xf*", "tar -zxvf x", true, "tar"),
            ("rm -rf*", "rmdir -rf", false, "rm"),
        ] {
            let compiled = CommandPattern::new(pattern).unwrap();
            assert_eq!(compiled.matches(command), expected, "{pattern} {command}");
            assert_eq!(compiled.literal_prefix(), prefix, "{pattern}");
        }
        assert!(CommandPattern::new(" ").is_err());
    }

    /// Whatever it is given, it ends soon and without a panic.
    #[test]
    fn hostile_texts_end() {
        let started = std::time::Instant::now();
        for piece in [
            "(",
            "((",
            "$(",
            "$((",
            "${",
            "\"${",
            "`",
            "\\",
            "\\`",
            "<(",
            "case x in x) ",
            "<<A ",
            "\\\n",
            "{1",
            "a[",
            "$[",
            "eval ",
            "bash -c ",
            "sudo ",
            "a;",
            "$'",
            "[[ ",
            "x=(",
            "echo $((1+",
            "é$(",
            "<<<",
            "if ",
            "f() ",
            "\"$(",
        ] {
            for n in [1, 7, 30, 1000, 15_000 / piece.len()] {
                parse(&piece.repeat(n));
            }
        }
        assert_eq!(parse(&"a;".repeat(MAX_TEXT)).opaque, Some("the text is too long"));
        let pieces: Vec<char> = "$(){}[]<>|&;'\"`\\ \n#=*ag1é!-".chars().collect();
        let mut seed = 1u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..24 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                text.push(pieces[(seed >> 33) as usize % pieces.len()]);
            }
            parse(&text);
        }
        assert!(started.elapsed().as_secs() < 60);
    }
}
