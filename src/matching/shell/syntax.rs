//! From text to words, as the shell reads it.

use super::*;

/// One word after quote removal. Expansions stay in `text` as they were written.
#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    pub(super) text: String,
    /// Where in `text` the first expansion starts.
    pub(super) dynamic_at: Option<usize>,
    /// An unquoted expansion: may become several words or none.
    pub(super) split: bool,
    pub(super) glob: bool,
    pub(super) brace: bool,
    pub(super) quoted: bool,
    /// Where the `=` of a leading `NAME=` is.
    pub(super) assign: Option<usize>,
    pub(super) bracket: bool,
    pub(super) brace_depth: usize,
    pub(super) brace_part: bool,
}

impl Word {
    pub(super) fn literal(text: &str) -> Self {
        Self { text: text.to_string(), quoted: true, ..Self::default() }
    }

    /// Words that only the run will tell, such as those `xargs` reads.
    pub(super) fn unknown() -> Self {
        Self { text: "$@".to_string(), dynamic_at: Some(0), split: true, ..Self::default() }
    }

    pub(super) fn is_literal(&self) -> bool {
        self.dynamic_at.is_none() && !self.glob && !self.brace
    }

    pub(super) fn as_literal(&self) -> Option<&str> {
        self.is_literal().then_some(self.text.as_str())
    }

    pub(super) fn dynamic(&mut self, source: &str, quoted: bool) {
        self.dynamic_at.get_or_insert(self.text.len());
        self.split |= !quoted;
        self.text.push_str(source);
    }

    pub(super) fn plain(&mut self, c: char) {
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

pub(super) fn is_assignable(text: &str) -> bool {
    let text = text.strip_suffix('+').unwrap_or(text);
    match text.split_once('[') {
        Some((name, subscript)) => is_name(name) && subscript.ends_with(']'),
        None => is_name(text),
    }
}

pub(super) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Where a list of commands stops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Text,
    Paren,
    CaseItem,
}

/// Who reads a here-document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Data,
    Shell,
    Variable,
}

pub(super) struct HereDocument {
    pub(super) delimiter: String,
    pub(super) quoted: bool,
    pub(super) strip_tabs: bool,
    pub(super) reader: Reader,
}

/// Where a simple command's standard input comes from, if the text says so.
#[derive(Default)]
pub(super) struct Input {
    pub(super) here_string: Option<Word>,
    pub(super) here_documents: std::ops::Range<usize>,
}

pub(super) struct Parser<'a> {
    pub(super) text: Vec<char>,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) here: Vec<HereDocument>,
    pub(super) found: &'a mut Found,
}

pub(super) const DEEP: &str = "it is nested too deeply or too large";
pub(super) const UNFINISHED: &str = "a quote, bracket or here-document is not closed";
pub(super) const SYNTAX: &str = "the syntax is not understood";

impl<'a> Parser<'a> {
    pub(super) fn new(text: &str, depth: usize, found: &'a mut Found) -> Self {
        Self { text: text.chars().collect(), at: 0, depth, here: Vec::new(), found }
    }

    pub(super) fn opaque(&mut self, reason: &'static str) {
        self.found.opaque(reason);
    }

    // Reading characters. `peek` and `ahead` drop a backslash-newline as the shell does, wherever it
    // stands outside quotes; `raw` doesn't.

    pub(super) fn raw(&mut self) -> Option<char> {
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

    pub(super) fn joined(&self, mut at: usize) -> usize {
        while self.text.get(at) == Some(&'\\') && self.text.get(at + 1) == Some(&'\n') {
            at += 2;
        }
        at
    }

    pub(super) fn peek(&mut self) -> Option<char> {
        self.at = self.joined(self.at);
        self.text.get(self.at).copied()
    }

    pub(super) fn ahead(&self, n: usize) -> Option<char> {
        let mut at = self.joined(self.at);
        for _ in 0..n {
            at = self.joined(at + 1);
        }
        self.text.get(at).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        self.peek();
        self.raw()
    }

    pub(super) fn eat(&mut self, wanted: &str) -> bool {
        let fits = wanted.chars().enumerate().all(|(n, c)| self.ahead(n) == Some(c));
        if fits {
            for _ in wanted.chars() {
                self.next();
            }
        }
        fits
    }

    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) && self.raw().is_some() {}
    }

    pub(super) fn source(&mut self, from: usize) -> String {
        self.found.allowance = self.found.allowance.saturating_sub(self.at.saturating_sub(from));
        self.text[from.min(self.at)..self.at].iter().collect()
    }

    /// Runs `inner` one level deeper, with here-documents of its own.
    pub(super) fn deeper(&mut self, inner: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH {
            self.opaque(DEEP);
            self.at = self.text.len();
            return;
        }
        self.depth += 1;
        inner(self);
        self.depth -= 1;
    }

    pub(super) fn substitution(&mut self) {
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
    pub(super) fn nested(&mut self, text: &str) {
        if self.depth >= MAX_DEPTH || self.found.allowance < text.len() {
            self.opaque(DEEP);
            return;
        }
        Parser::new(text, self.depth + 1, self.found).list(End::Text);
    }

    /// Reads commands up to `end`. True if a case item stopped at its `esac`.
    pub(super) fn list(&mut self, end: End) -> bool {
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

    pub(super) fn comment(&mut self) {
        while self.text.get(self.at).is_some_and(|c| *c != '\n') && self.raw().is_some() {}
    }

    pub(super) fn newline(&mut self) {
        self.raw();
        for document in std::mem::take(&mut self.here) {
            self.here_document(&document);
        }
    }

    pub(super) fn here_document(&mut self, document: &HereDocument) {
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
    pub(super) fn expanding_text(&mut self, body: &str) {
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

    pub(super) fn redirects_next(&mut self) -> bool {
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

    pub(super) fn redirection(&mut self, input: &mut Input) {
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
    pub(super) fn operand(&mut self) -> Word {
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

    pub(super) fn here_delimiter(&mut self, strip_tabs: bool) {
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

    pub(super) fn process_substitution(&mut self) -> Word {
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
    pub(super) fn simple(&mut self, end: End) -> bool {
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
    pub(super) fn keyword(&mut self, text: &str) -> bool {
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

    pub(super) fn for_head(&mut self) {
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

    pub(super) fn skip_newlines(&mut self) {
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

    pub(super) fn case_items(&mut self) {
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
    pub(super) fn conditional(&mut self) {
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
    pub(super) fn arithmetic_command(&mut self) -> bool {
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
    pub(super) fn arithmetic(&mut self, close: char) -> bool {
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
    pub(super) fn word(&mut self) -> Option<Word> {
        let mut word = Word { text: String::with_capacity(16), ..Word::default() };
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

    pub(super) fn array(&mut self) {
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

    pub(super) fn double_quotes(&mut self, word: &mut Word) {
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
    pub(super) fn dollar(&mut self, quoted: bool, word: &mut Word) {
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
    pub(super) fn parameter(&mut self, quoted: bool) {
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

    pub(super) fn back_quotes(&mut self, quoted: bool, word: &mut Word) {
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

    pub(super) fn ansi_quotes(&mut self, word: &mut Word) {
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

    pub(super) fn digits(&mut self, radix: u32, most: usize, first: u32) -> u32 {
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

    pub(super) fn assignment(&mut self, word: &Word, at: usize) {
        let name = word.text.get(..at).unwrap_or_default().to_string();
        let value = word.text.get(at + 1..).unwrap_or_default().to_string();
        let known = word.dynamic_at.is_none().then_some(value.as_str());
        self.check_variable(&name, known);
        self.guard_subscript(&value);
        self.guard_subscript(&name);
    }

    pub(super) fn check_variable(&mut self, name: &str, value: Option<&str>) {
        if is_hazardous_variable(name, value) {
            self.opaque("it sets a variable that makes a later program run text");
        }
    }

    /// Arithmetic expands a subscript again, so text that looks like one with a substitution may run
    /// wherever it ends up.
    pub(super) fn guard_subscript(&mut self, text: &str) {
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
