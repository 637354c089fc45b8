//! The certain grammar: from a shell text to its syntax, or to the place where certainty ends.
//!
//! Every byte of the text is accounted for: simple commands, lists, pipes, redirections, quoting,
//! substitutions, the compound commands and here-documents, in the forms that bash, dash and zsh
//! read alike or of which the shell in question is known. Whatever else stands in the text ends the
//! reading with its place and reason ([`Outside`]); nothing is guessed. So a new trick of a shell
//! is in doubt until somebody teaches it here, never missed.

use super::programs::Names;
use super::{Shell, Span};
use compact_str::CompactString;
use smallvec::SmallVec;
use std::rc::Rc;

/// Where certainty ends, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outside {
    pub(super) why: &'static str,
    pub(super) at: Span,
}

type Read<T> = Result<T, Outside>;

/// Commands one after another, however they are joined.
#[derive(Debug, Default)]
pub(super) struct List(pub(super) Vec<Pipeline>);

#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) stages: Rc<[Stage]>,
    pub(super) joint: Joint,
    /// `!` stands before it.
    pub(super) negated: bool,
    /// `&` stands behind it, or behind what it is joined to.
    pub(super) background: bool,
    /// `time` stands before it, which to dash is a program.
    pub(super) timed: bool,
}

/// What joins a pipeline to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    /// It runs whatever came of that.
    Next,
    /// `&&`
    And,
    /// `||`
    Or,
}

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) node: Node,
    pub(super) redirects: Vec<Redirect>,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum Node {
    Simple {
        assigns: Vec<Assign>,
        words: Vec<Word>,
    },
    /// `{ …; }`
    Group(List),
    /// `( … )`
    Subshell(List),
    /// `if`: each condition and what runs if it holds, and perhaps what runs if none does.
    Branches(Vec<List>),
    /// `while`, `until`, `for (( ))`.
    Loop {
        condition: List,
        body: List,
    },
    For {
        name: String,
        words: Vec<Word>,
        body: List,
    },
    Case {
        subject: Word,
        patterns: Vec<Word>,
        arms: Vec<Arm>,
    },
    /// `[[ … ]]`; whether it compares numbers.
    Test {
        words: Vec<Word>,
        numbers: bool,
    },
    /// `(( … ))`.
    Arithmetic(Vec<Part>),
    Function {
        name: String,
        body: Rc<Stage>,
    },
}

/// What `case` runs for some patterns.
#[derive(Debug)]
pub(super) struct Arm {
    pub(super) list: List,
    /// `;&`, `;;&`: what comes then may be run, too.
    pub(super) goes_on: bool,
}

/// A word before expansion.
#[derive(Debug, Default)]
pub(super) struct Word {
    pub(super) parts: Parts,
    pub(super) span: Span,
}

/// Most words have one.
pub(super) type Parts = SmallVec<[Part; 1]>;

#[derive(Debug)]
pub(super) enum Part {
    /// Text after quote removal; `quoted` keeps it from being taken for a keyword.
    Text { text: CompactString, quoted: bool },
    /// `~` where a shell puts in a directory: at a word's start, and behind `NAME=` and a colon in
    /// what is assigned.
    Tilde(Tilde),
    /// `*`, `?`, `[…]` as written.
    Glob(char),
    /// `{a,b}`: each of these.
    Brace(Vec<Vec<Part>>),
    /// `{1..9}`: text that begins with one of its ends.
    Range(String),
    /// `$name`, `${name…}`.
    Variable {
        name: String,
        change: Change,
        quoted: bool,
    },
    /// `$( … )` or back-quotes.
    /// `moved`: its places are those of another text.
    Command {
        list: Rc<List>,
        quoted: bool,
        moved: bool,
        span: Span,
    },
    /// `<( … )` or `>( … )`.
    Process { list: Rc<List>, reads: bool },
    /// `$(( … ))`.
    Arithmetic { parts: Vec<Part> },
}

/// Which directory a `~` stands for.
#[derive(Debug)]
pub(super) enum Tilde {
    /// `~`: HOME.
    Home,
    /// `~name`: that user's home, or these characters if there is no such user.
    User(CompactString),
    /// `~+`: PWD.
    Here,
    /// `~-`: OLDPWD.
    Before,
}

/// What stands after the name in `${name…}`.
#[derive(Debug)]
pub(super) enum Change {
    None,
    /// `:-`, `-`: gives this instead if nothing has set it.
    Default(Vec<Part>),
    /// `:+`, `+`: may give this instead.
    Other(Vec<Part>),
    /// `:=`, `=`: gives this and keeps it.
    Assign(Vec<Part>),
    /// `/`: the value with something else in the place of a part of it.
    Replace(Vec<Part>),
    /// `#`, `%`, `^`, `,`, `:n:m`, `?`: the value, changed; what its operands hold may run.
    Cut {
        operands: Vec<Part>,
        numbers: bool,
        /// Which change it is; nothing for `?`.
        edit: Option<Edit>,
    },
    /// `[@]`, `[*]`, `[n]`; the subscripts themselves ([`KEYS`]).
    Element(String),
    /// `${#name}`: a number.
    Length,
}

/// What an expansion makes of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Edit {
    /// `#`, `##`, `%` and `%%` take a part away.
    Cut {
        /// From the end, and not from the beginning.
        end: bool,
        /// The longest part that fits, and not the shortest.
        longest: bool,
    },
    /// `:n:m` leaves a part.
    Slice,
    /// `^` and `,` change the letters that fit, or the first.
    Case {
        /// Into capitals.
        upper: bool,
        /// Not the first letter alone.
        all: bool,
    },
    /// `/` puts something else in the place of a part.
    Replace,
}

/// `${!name[@]}`, as what stands for a subscript.
pub(super) const KEYS: &str = "!@";

#[derive(Debug)]
pub(super) struct Assign {
    pub(super) name: String,
    pub(super) append: bool,
    /// The subscript of `name[n]=`, or those in `name=([n]=…)`.
    pub(super) element: Option<String>,
    pub(super) value: Value,
    pub(super) span: Span,
    /// It stands after `export` and the like, as one of the words.
    pub(super) argument: bool,
}

#[derive(Debug)]
pub(super) enum Value {
    One(Word),
    Array(Vec<Word>),
}

#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) fd: Option<u32>,
    pub(super) kind: RedirectKind,
}

#[derive(Debug)]
pub(super) enum RedirectKind {
    Read(Word),
    Write(Word),
    ReadWrite(Word),
    /// `>&2`, `<&-`.
    Duplicate(Word),
    HereString(Word),
    /// Which of [`Syntax::documents`].
    HereDocument(usize),
}

impl Pipeline {
    fn of(stage: Stage) -> Pipeline {
        Pipeline {
            stages: [stage].into(),
            joint: Joint::Next,
            negated: false,
            background: false,
            timed: false,
        }
    }
}

impl Redirect {
    /// Whether it says what the command reads.
    pub(super) fn reads(&self) -> bool {
        use RedirectKind::{Duplicate, HereDocument, HereString, Read, ReadWrite, Write};
        match &self.kind {
            Read(_) | HereString(_) | HereDocument(_) | ReadWrite(_) => {
                self.fd.is_none_or(|fd| fd == 0)
            }
            Duplicate(_) => self.fd == Some(0),
            Write(_) => false,
        }
    }
}

/// A text's syntax.
#[derive(Debug)]
pub(super) struct Syntax {
    pub(super) list: List,
    /// Bodies of here-documents, in order of their ends.
    pub(super) documents: Vec<Word>,
}

pub(super) const MAX_DEPTH: usize = 24;
/// Bytes that may be read again.
const MAX_AGAIN: usize = 64 * 1024;
const UNCLOSED: &str = "a quote without its end";
const ZSH_SUBSCRIPT: &str = "a subscript or modifier, which zsh expands";

/// Reads `text`. `depth` counts the texts around it.
pub(super) fn read(text: &str, shell: Shell, depth: usize) -> Read<Syntax> {
    if let Some(at) = memchr::memchr(0, text.as_bytes()) {
        return Err(Outside {
            why: "a NUL byte",
            at: at..at + 1,
        });
    }
    let mut reader = Reader::new(text, shell, depth);
    let list = match reader.list(Until::Text) {
        // Every shell refuses a line with a quote that isn't closed, and runs nothing of it.
        Err(outside) if outside.why == UNCLOSED && reader.lines == 0 && depth == 0 => {
            List::default()
        }
        Err(_) if depth == 0 && reader.is_refused() => List::default(),
        list => list?,
    };
    if !reader.pending.is_empty() {
        return reader.outside("a here-document without its end");
    }
    let documents = reader
        .documents
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect();
    Ok(Syntax { list, documents })
}

/// Where a list ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Text,
    Paren,
    /// Before one of these words.
    Words(&'static [&'static str]),
    /// Before `;;`, `;&`, `;;&` or `esac`.
    Arm,
}

struct Pending {
    delimiter: String,
    expands: bool,
    strips: bool,
    slot: usize,
}

struct Reader<'t> {
    text: &'t [u8],
    source: &'t str,
    at: usize,
    depth: usize,
    shell: Shell,
    pending: Vec<Pending>,
    documents: Vec<Option<Word>>,
    /// Bytes that were read again, because what stood there was something else.
    again: usize,
    /// Lines that ended outside of words.
    lines: usize,
    /// What the reading stopped at is an error to bash and dash, whatever follows.
    refused: bool,
    /// A word was read behind which not every shell looks for a command: `coproc`, and `time`,
    /// which to dash is a program.
    has_odd_keyword: bool,
    /// Only then may lines be joined.
    has_backslash: bool,
}

/// What ends a word besides white space.
fn is_operator(byte: u8) -> bool {
    matches!(byte, b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

/// Whether a word ends before it.
fn is_edge(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n') || is_operator(byte)
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether it is a process substitution, which goes on with the word that it stands at.
fn begins_process(text: &[u8]) -> bool {
    matches!(text, [b'<' | b'>', b'(', ..])
}

/// Words that mean something at the start of a command.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "select", "function", "time", "{", "}", "!", "[[", "]]", "coproc", "in",
];

/// Zsh's further ones, and what changes how it reads.
static ZSH_WORDS: Names = Names::new("zsh");

impl<'t> Reader<'t> {
    fn new(text: &'t str, shell: Shell, depth: usize) -> Reader<'t> {
        Reader {
            text: text.as_bytes(),
            source: text,
            at: 0,
            depth,
            shell,
            pending: Vec::new(),
            documents: Vec::new(),
            again: 0,
            lines: 0,
            refused: false,
            has_odd_keyword: false,
            has_backslash: memchr::memchr(b'\\', text.as_bytes()).is_some(),
        }
    }

    fn outside<T>(&self, why: &'static str) -> Read<T> {
        let mut end = (self.at + 1).min(self.text.len());
        while !self.source.is_char_boundary(end) {
            end += 1;
        }
        let mut start = self.at.min(self.text.len());
        while !self.source.is_char_boundary(start) {
            start -= 1;
        }
        Err(Outside {
            why,
            at: start..end,
        })
    }

    /// For what bash and dash refuse wherever it stands. Zsh reads some of it.
    fn refused<T>(&mut self, why: &'static str) -> Read<T> {
        self.refused = !self.has_odd_keyword && self.shell.is_bash_or_dash();
        self.outside(why)
    }

    /// Whether the one line of the text is an error, so that nothing of it runs. Of several lines,
    /// those before the error may run, and in a shell that somebody types to, those behind it;
    /// where lines are joined, a keyword may stand behind a backslash.
    fn is_refused(&self) -> bool {
        self.refused && !self.text.contains(&b'\n')
    }

    /// For what bash reads and to dash is an error that makes it refuse the text.
    fn bash_or_refused(&self) -> Read<()> {
        if self.shell.is_bash_or_dash() {
            Ok(())
        } else {
            self.bash_only()
        }
    }

    /// For what bash reads and dash doesn't.
    fn bash_only(&self) -> Read<()> {
        match self.shell {
            Shell::Bash | Shell::Zsh => Ok(()),
            Shell::Posix => self.outside("syntax that only bash knows"),
            Shell::Unknown | Shell::Other => {
                self.outside("syntax that only bash knows, and the shell isn't known")
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn ahead(&self, n: usize) -> Option<u8> {
        self.text.get(self.at + n).copied()
    }

    fn skip_while(&mut self, is_one: impl Fn(u8) -> bool) {
        self.at += self.text[self.at..]
            .iter()
            .take_while(|byte| is_one(**byte))
            .count();
    }

    fn starts_with(&self, what: &str) -> bool {
        self.text[self.at..].starts_with(what.as_bytes())
    }

    fn eat(&mut self, what: &str) -> bool {
        let fits = self.starts_with(what);
        if fits {
            self.at += what.len();
        }
        fits
    }

    /// Whether a word ends here.
    fn at_edge(&self) -> bool {
        self.peek()
            .is_none_or(|byte| is_edge(byte) && !begins_process(&self.text[self.at..]))
    }

    /// Passes over blanks and joined lines.
    fn blanks(&mut self) -> Read<()> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.ahead(1) == Some(b'\n') => {
                    let before = self.at.checked_sub(1).and_then(|at| self.text.get(at));
                    if before.is_some_and(|byte| is_operator(*byte))
                        && !matches!(self.ahead(2), Some(b' ' | b'\t'))
                    {
                        return self.outside("a line that is joined within a sign");
                    }
                    self.at += 2;
                    let rest = &self.text[self.at..];
                    let next = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
                    if next == Some(&b'#') {
                        return self.outside("a comment after a joined line");
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) {
        if self.peek() == Some(b'#') {
            let rest = &self.text[self.at..];
            self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        }
    }

    /// Passes over a newline and the here-documents that begin after it.
    fn newline(&mut self) -> Read<()> {
        self.at += 1;
        self.lines += 1;
        for pending in std::mem::take(&mut self.pending) {
            self.here_document(&pending)?;
        }
        Ok(())
    }

    /// Blanks, comments and newlines.
    fn gap(&mut self) -> Read<()> {
        loop {
            self.blanks()?;
            self.comment();
            match self.peek() {
                Some(b'\n') => self.newline()?,
                _ => return Ok(()),
            }
        }
    }

    /// Whether what stands here begins as a keyword does; most commands don't.
    fn may_be_keyword(&self) -> bool {
        static FIRST: [bool; 256] = {
            let mut first = [false; 256];
            let mut at = 0;
            while at < KEYWORDS.len() {
                first[KEYWORDS[at].as_bytes()[0] as usize] = true;
                at += 1;
            }
            first
        };
        self.peek().is_some_and(|byte| FIRST[usize::from(byte)])
    }

    /// The plain unquoted word that stands here, without taking it.
    fn keyword(&self) -> Option<&'static str> {
        if !self.may_be_keyword() {
            return None;
        }
        let rest = &self.text[self.at..];
        let end = rest
            .iter()
            .position(|byte| is_edge(*byte))
            .unwrap_or(rest.len());
        let word = &rest[..end];
        // `done>(x)` is one word.
        if begins_process(&rest[end..]) {
            return None;
        }
        KEYWORDS
            .iter()
            .find(|keyword| keyword.as_bytes() == word)
            .copied()
    }

    /// Whether a keyword stands here with a joined line in it or right behind it.
    fn is_joined_keyword(&self) -> bool {
        const LONGEST: usize = 8;
        if !self.has_backslash || !self.may_be_keyword() {
            return false;
        }
        let (mut word, mut is_joined) = (String::new(), false);
        let mut rest = &self.text[self.at..];
        while word.len() <= LONGEST {
            match rest {
                [b'\\', b'\n', behind @ ..] => (rest, is_joined) = (behind, true),
                [byte, behind @ ..] if byte.is_ascii() && !is_edge(*byte) => {
                    word.push(char::from(*byte));
                    rest = behind;
                }
                _ => break,
            }
        }
        is_joined && is_keyword(&word)
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            return self.outside("it is nested too deeply");
        }
        self.depth += 1;
        let done = inner(self);
        self.depth -= 1;
        done
    }

    fn list(&mut self, until: Until) -> Read<List> {
        let mut list = List::default();
        let mut joint = Joint::Next;
        loop {
            self.gap()?;
            if self.ends(until)? {
                if joint != Joint::Next {
                    return self.outside("nothing after `&&` or `||`");
                }
                if list.0.is_empty() && until != Until::Text && until != Until::Arm {
                    return self.outside("no command where one belongs");
                }
                return Ok(list);
            }
            list.0.push(self.pipeline(joint)?);
            joint = Joint::Next;
            self.blanks()?;
            self.comment();
            match self.peek() {
                None | Some(b'\n' | b')') => {}
                Some(b';') if until == Until::Arm && matches!(self.ahead(1), Some(b';' | b'&')) => {
                }
                Some(b';') => {
                    self.at += 1;
                    if matches!(self.peek(), Some(b';' | b'&' | b'|')) {
                        return self.refused("`;` before another sign");
                    }
                }
                Some(b'&') if self.ahead(1) == Some(b'&') => {
                    self.at += 2;
                    joint = Joint::And;
                }
                Some(b'&') => {
                    self.at += 1;
                    if let Some(last) = list.0.last_mut() {
                        last.background = true;
                    }
                    let ends_arm =
                        until == Until::Arm && (self.starts_with(";;") || self.starts_with(";&"));
                    match self.peek() {
                        Some(b';') if ends_arm => {}
                        Some(b';' | b'|') => return self.refused("`&` before another sign"),
                        Some(b'>' | b'!') => return self.outside("`&` before another sign"),
                        _ => {}
                    }
                }
                Some(b'|') if self.ahead(1) == Some(b'|') => {
                    self.at += 2;
                    joint = Joint::Or;
                }
                // `(a) then` is right, and so is `{ a; } {fd}> b`.
                Some(byte) if byte != b'{' && !is_operator(byte) && self.keyword().is_none() => {
                    return self.refused("a word or sign that belongs to no command");
                }
                _ => return self.outside("a word or sign that belongs to no command"),
            }
        }
    }

    fn ends(&mut self, until: Until) -> Read<bool> {
        Ok(match until {
            Until::Text => match self.peek() {
                None => true,
                Some(b')') => return self.refused("`)` without `(`"),
                Some(_) => false,
            },
            Until::Paren => match self.peek() {
                None => return self.outside("`(` without `)`"),
                Some(byte) => byte == b')',
            },
            Until::Words(words) => match self.keyword() {
                Some(keyword) if words.contains(&keyword) => true,
                _ if self.peek().is_none() => {
                    return self.outside("a compound command without its end");
                }
                _ => false,
            },
            Until::Arm => {
                self.starts_with(";;")
                    || self.starts_with(";&")
                    || self.keyword() == Some("esac")
                    || (self.peek().is_none() && return self.outside("`case` without `esac`"))
            }
        })
    }

    fn pipeline(&mut self, joint: Joint) -> Read<Pipeline> {
        let (mut negated, mut timed) = (false, false);
        loop {
            if self.is_joined_keyword() {
                return self.outside("a line that is joined within a sign");
            }
            match self.keyword() {
                Some("!") => {
                    negated = true;
                    self.at += 1;
                    if !matches!(self.peek(), Some(b' ' | b'\t')) {
                        return self.outside("`!` without a command");
                    }
                    self.blanks()?;
                }
                Some("time") => {
                    self.has_odd_keyword |= self.shell != Shell::Bash;
                    timed = true;
                    self.at += 4;
                    self.blanks()?;
                    if self.starts_with("-p ") {
                        self.at += 3;
                        self.blanks()?;
                    }
                    if self.peek() == Some(b'-') || self.at_edge() && self.peek() != Some(b'(') {
                        return self.outside("`time` without a plain command");
                    }
                }
                _ => break,
            }
            if self.at_edge() && self.peek() != Some(b'(') {
                return self.outside("no command where one belongs");
            }
        }
        let first = self.stage()?;
        self.blanks()?;
        if !self.at_pipe() {
            return Ok(Pipeline {
                stages: [first].into(),
                joint,
                negated,
                background: false,
                timed,
            });
        }
        let mut stages = vec![first];
        while self.at_pipe() {
            self.at += 1;
            if self.peek() == Some(b'&') {
                self.bash_or_refused()?;
                self.at += 1;
            }
            self.gap()?;
            stages.push(self.stage()?);
            self.blanks()?;
        }
        Ok(Pipeline {
            stages: stages.into(),
            joint,
            negated,
            background: false,
            timed,
        })
    }

    fn at_pipe(&self) -> bool {
        self.peek() == Some(b'|') && self.ahead(1) != Some(b'|')
    }

    fn stage(&mut self) -> Read<Stage> {
        let from = self.at;
        let mut redirects = Vec::new();
        let node = match self.peek() {
            Some(b'(') if self.ahead(1) == Some(b'(') && !self.is_subshell_in_subshell() => {
                self.bash_only()?;
                self.at += 2;
                let parts = self.arithmetic()?;
                Node::Arithmetic(parts)
            }
            Some(b'(') => {
                self.at += 1;
                let list = self.deeper(|it| it.list(Until::Paren))?;
                self.at += 1;
                Node::Subshell(list)
            }
            _ => match self.keyword() {
                Some(keyword) => {
                    self.at += keyword.len();
                    self.deeper(|it| it.compound(keyword))?
                }
                None => {
                    let node = self.simple(&mut redirects)?;
                    let end = self.at;
                    return Ok(Stage {
                        node,
                        redirects,
                        span: from..end,
                    });
                }
            },
        };
        // What may follow a compound command.
        if !matches!(node, Node::Function { .. }) {
            loop {
                self.blanks()?;
                match self.redirect()? {
                    Some(redirect) => redirects.push(redirect),
                    None => break,
                }
            }
        }
        Ok(Stage {
            node,
            redirects,
            span: from..self.at,
        })
    }

    /// `((a; b) | c)`: what the second parenthesis opens doesn't end in `))`, so no shell takes it
    /// for arithmetic.
    fn is_subshell_in_subshell(&self) -> bool {
        let rest = &self.text[self.at + 2..];
        let mut open = 1usize;
        for (at, byte) in rest.iter().enumerate() {
            match byte {
                b'(' => open += 1,
                b')' => {
                    open -= 1;
                    if open == 0 {
                        return rest.get(at + 1).is_some_and(|next| *next != b')');
                    }
                }
                // In these a parenthesis may be a plain sign.
                b'\'' | b'"' | b'`' | b'\\' | b'#' | b'$' | b'<' => return false,
                _ => {}
            }
        }
        false
    }

    fn expect(&mut self, word: &'static str) -> Read<()> {
        if self.keyword() != Some(word) {
            return self.outside("a compound command in another form");
        }
        self.at += word.len();
        Ok(())
    }

    fn compound(&mut self, keyword: &'static str) -> Read<Node> {
        if matches!(
            keyword,
            "then" | "else" | "elif" | "fi" | "do" | "done" | "esac"
        ) {
            return self.refused("a keyword where none belongs");
        }
        let after = self.peek();
        let is_apart = matches!(after, Some(b' ' | b'\t' | b'\n' | b';'))
            || after == Some(b'(') && keyword != "{";
        if !is_apart {
            return self.outside("a keyword without what belongs to it");
        }
        match keyword {
            "{" => {
                let list = self.list(Until::Words(&["}"]))?;
                self.at += 1;
                Ok(Node::Group(list))
            }
            "if" => {
                let mut lists = Vec::new();
                loop {
                    lists.push(self.list(Until::Words(&["then"]))?);
                    self.expect("then")?;
                    lists.push(self.list(Until::Words(&["elif", "else", "fi"]))?);
                    match self.keyword() {
                        Some("elif") => self.at += 4,
                        Some("else") => {
                            self.at += 4;
                            lists.push(self.list(Until::Words(&["fi"]))?);
                            break;
                        }
                        _ => break,
                    }
                }
                self.expect("fi")?;
                Ok(Node::Branches(lists))
            }
            "while" | "until" => {
                let head = self.list(Until::Words(&["do"]))?;
                let body = self.body()?;
                Ok(Node::Loop {
                    condition: head,
                    body,
                })
            }
            "for" | "select" => self.for_loop(keyword),
            "case" => self.case(),
            "function" => {
                self.bash_only()?;
                self.blanks()?;
                let name = self.name()?;
                if self.starts_with("()") {
                    self.at += 2;
                }
                self.function(name)
            }
            "[[" => {
                self.bash_only()?;
                self.test()
            }
            "coproc" => {
                self.bash_only()?;
                self.has_odd_keyword = true;
                self.blanks()?;
                if self.shell == Shell::Zsh {
                    return self.outside("`coproc`");
                }
                let stage = self.stage()?;
                if let Node::Simple { words, .. } = &stage.node
                    && words.is_empty()
                {
                    return self.outside("`coproc` without a command");
                }
                // `coproc NAME { …; }` leaves a brace behind, which no list takes.
                Ok(Node::Subshell(List(vec![Pipeline::of(stage)])))
            }
            _ => self.outside("a keyword where none belongs"),
        }
    }

    fn body(&mut self) -> Read<List> {
        self.expect("do")?;
        let body = self.list(Until::Words(&["done"]))?;
        self.expect("done")?;
        Ok(body)
    }

    fn name(&mut self) -> Read<String> {
        let from = self.at;
        while self
            .peek()
            .is_some_and(|byte| is_name_byte(byte) || (self.at > from && byte == b'-'))
        {
            self.at += 1;
        }
        match self.source.get(from..self.at) {
            Some(name) if !name.is_empty() => Ok(name.to_string()),
            _ => self.outside("no name where one belongs"),
        }
    }

    fn for_loop(&mut self, keyword: &str) -> Read<Node> {
        if keyword == "select" {
            self.bash_only()?;
        }
        self.blanks()?;
        if self.starts_with("((") {
            self.bash_only()?;
            self.at += 2;
            let mut parts = Vec::new();
            // Three expressions, of which each may be empty.
            for end in [b';', b';', b')'] {
                parts.append(&mut self.arithmetic_until(end)?);
            }
            if !self.eat(")") {
                return self.outside("arithmetic in another form");
            }
            self.blanks()?;
            self.eat(";");
            self.gap()?;
            let body = self.body()?;
            let head = Stage {
                node: Node::Arithmetic(parts),
                redirects: Vec::new(),
                span: self.at..self.at,
            };
            return Ok(Node::Loop {
                condition: List(vec![Pipeline::of(head)]),
                body,
            });
        }
        let from = self.at;
        let name = self.name()?;
        if name.contains('-') || !self.text.get(from).is_some_and(|byte| is_name_start(*byte)) {
            return self.outside("no name where one belongs");
        }
        self.blanks()?;
        let mut words = Vec::new();
        if keyword == "select" {
            // The answer may be none of them.
            let none = Part::Text {
                text: CompactString::default(),
                quoted: true,
            };
            words.push(Word {
                parts: [none].into(),
                span: from..self.at,
            });
        }
        if self.keyword() == Some("in") {
            self.at += 2;
            loop {
                self.blanks()?;
                match self.peek() {
                    Some(b';' | b'\n') => break,
                    Some(b'#') => {
                        self.comment();
                        break;
                    }
                    _ => words.push(self.word(Context::Plain)?),
                }
            }
        } else if !matches!(self.peek(), Some(b';' | b'\n')) {
            return self.outside("a `for` in another form");
        } else {
            let all = Part::Variable {
                name: "@".into(),
                change: Change::None,
                quoted: true,
            };
            words.push(Word {
                parts: [all].into(),
                span: from..self.at,
            });
        }
        self.eat(";");
        self.gap()?;
        let body = self.body()?;
        Ok(Node::For { name, words, body })
    }

    fn case(&mut self) -> Read<Node> {
        self.blanks()?;
        let subject = self.word(Context::Plain)?;
        self.gap()?;
        self.expect("in")?;
        let (mut patterns, mut arms) = (Vec::new(), Vec::new());
        loop {
            self.gap()?;
            if self.keyword() == Some("esac") {
                self.at += 4;
                return Ok(Node::Case {
                    subject,
                    patterns,
                    arms,
                });
            }
            if self.eat("(") {
                self.blanks()?;
            }
            loop {
                patterns.push(self.word(Context::Plain)?);
                self.blanks()?;
                if !self.eat("|") {
                    break;
                }
                self.blanks()?;
            }
            if !self.eat(")") {
                return self.outside("a pattern without `)`");
            }
            let list = self.list(Until::Arm)?;
            let goes_on = self.starts_with(";;&") || self.starts_with(";&");
            if goes_on {
                self.bash_only()?;
            }
            arms.push(Arm { list, goes_on });
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&"))
                && self.keyword() != Some("esac")
            {
                return self.outside("an arm of `case` without its end");
            }
        }
    }

    fn function(&mut self, name: String) -> Read<Node> {
        if KEYWORDS.contains(&name.as_str()) {
            return self.outside("a function with a keyword's name");
        }
        self.gap()?;
        let starts = self.peek() == Some(b'(') || matches!(self.keyword(), Some("{"));
        if !starts {
            return self.outside("a function whose body isn't in braces");
        }
        let body = self.deeper(Self::stage)?;
        Ok(Node::Function {
            name,
            body: Rc::new(body),
        })
    }

    /// `[[ … ]]`, its start already taken.
    fn test(&mut self) -> Read<Node> {
        let (mut words, mut numbers, mut open) = (Vec::new(), false, 0usize);
        let mut regex = false;
        loop {
            self.blanks()?;
            if self.keyword() == Some("]]") && open == 0 && !words.is_empty() {
                self.at += 2;
                return Ok(Node::Test { words, numbers });
            }
            if regex {
                regex = false;
                words.push(self.word(Context::Regex)?);
                continue;
            }
            match self.peek() {
                Some(b'&' | b'|') if self.starts_with("&&") || self.starts_with("||") => {
                    self.at += 2;
                    while self.peek() == Some(b'\n') {
                        self.newline()?;
                        self.blanks()?;
                    }
                }
                Some(b'(') => {
                    self.at += 1;
                    open += 1;
                }
                Some(b')') if open > 0 => {
                    self.at += 1;
                    open -= 1;
                }
                Some(b'<' | b'>') if matches!(self.ahead(1), Some(b' ')) => self.at += 1,
                Some(b';' | b'\n' | b'<' | b'>' | b'&' | b'|' | b')') | None => {
                    return self.outside("`[[` in another form");
                }
                Some(_) => {
                    let word = self.word(Context::Test)?;
                    match word.plain() {
                        Some("=~") => regex = true,
                        Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R") => {
                            numbers = true
                        }
                        _ => {}
                    }
                    words.push(word);
                }
            }
        }
    }

    /// The inside of `(( … ))` with its end.
    fn arithmetic(&mut self) -> Read<Vec<Part>> {
        let parts = self.deeper(|it| it.arithmetic_until(b')'))?;
        if !self.eat(")") {
            return self.outside("arithmetic in another form");
        }
        Ok(parts)
    }

    /// Plain signs, names and expansions up to `end`, which is taken.
    fn arithmetic_until(&mut self, end: u8) -> Read<Vec<Part>> {
        let (mut parts, mut open) = (Vec::new(), 0usize);
        let mut names = String::new();
        loop {
            let Some(byte) = self.peek() else {
                return self.outside("arithmetic without its end");
            };
            match byte {
                _ if byte == end && open == 0 => {
                    self.at += 1;
                    if !names.is_empty() {
                        parts.push(Part::Text {
                            text: names.into(),
                            quoted: false,
                        });
                    }
                    return Ok(parts);
                }
                b'(' => {
                    open += 1;
                    self.at += 1;
                }
                b')' if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                b'$' => {
                    let part = self.dollar(true)?;
                    if matches!(part, Part::Text { .. }) {
                        return self.outside("arithmetic in another form");
                    }
                    parts.push(part);
                    names.push(' ');
                    continue;
                }
                b'`' => {
                    parts.push(self.back_quotes(true)?);
                    names.push(' ');
                    continue;
                }
                // `16#ff`
                b'#' if self.text[self.at - 1].is_ascii_digit() => self.at += 1,
                b' ' | b'\t' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!'
                | b'&' | b'|' | b'^' | b'~' | b'?' | b':' | b',' => self.at += 1,
                _ if is_name_byte(byte) => self.at += 1,
                _ => return self.outside("arithmetic in another form"),
            }
            // With some signs, what stands beside them may be an error.
            let is_kept = is_name_byte(byte) || matches!(byte, b'/' | b'%' | b'*' | b'#');
            names.push(if is_kept { byte as char } else { ' ' });
        }
    }

    fn simple(&mut self, redirects: &mut Vec<Redirect>) -> Read<Node> {
        let (mut assigns, mut words) = (Vec::new(), Vec::<Word>::with_capacity(8));
        let mut declares = false;
        loop {
            self.blanks()?;
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                continue;
            }
            match self.peek() {
                Some(b'<' | b'>') if self.ahead(1) == Some(b'(') => {}
                None | Some(b'\n' | b';' | b'&' | b'|' | b')' | b'<' | b'>') => break,
                // A `#` that isn't inside a word begins a comment.
                Some(b'#') => break,
                Some(b'(') => {
                    let [word] = words.as_slice() else {
                        return self.parenthesis();
                    };
                    let name = word.plain().map(str::to_string);
                    let touches = word.span.end == self.at || self.starts_with("()");
                    let (Some(name), true, true) =
                        (name, touches, assigns.is_empty() && redirects.is_empty())
                    else {
                        return self.parenthesis();
                    };
                    if !name
                        .bytes()
                        .all(|byte| is_name_byte(byte) || matches!(byte, b'-' | b'.' | b':'))
                    {
                        return self.outside("a function's name");
                    }
                    self.at += 1;
                    self.blanks()?;
                    if !self.eat(")") {
                        return self.outside("`(` within a command");
                    }
                    return self.function(name);
                }
                Some(_) => {}
            }
            if (words.is_empty() || declares)
                && let Some(assign) = self.assignment()?
            {
                assigns.push(Assign {
                    argument: declares,
                    ..assign
                });
                continue;
            }
            if words.is_empty() && self.shell == Shell::Zsh && self.peek() == Some(b'{') {
                return self.outside("a brace that begins a group, as zsh reads it");
            }
            let word = self.word(Context::Plain)?;
            if self.shell == Shell::Zsh && closes_brace(&self.source[word.span.clone()]) {
                return self.outside("a brace that ends a group, as zsh reads it");
            }
            if words.is_empty() {
                let plain = word.plain();
                declares = plain.is_some_and(|name| {
                    matches!(
                        name,
                        "export" | "declare" | "local" | "readonly" | "typeset"
                    )
                });
                if self.shell == Shell::Zsh && plain.is_some_and(|name| ZSH_WORDS.has(name)) {
                    return self.outside("a command that changes how zsh reads");
                }
            }
            words.push(word);
        }
        if words.is_empty() && assigns.is_empty() && redirects.is_empty() {
            return match self.peek() {
                Some(b';' | b'&' | b'|') => self.refused("no command where one belongs"),
                _ => self.outside("no command where one belongs"),
            };
        }
        Ok(Node::Simple { assigns, words })
    }

    /// A `(` between a command's words. Bash may know a pattern that it is a part of, and `let
    /// x=(1)`.
    fn parenthesis<T>(&mut self) -> Read<T> {
        let before = self.at.checked_sub(1).and_then(|at| self.text.get(at));
        let next = self.text[self.at + 1..]
            .iter()
            .find(|byte| !matches!(byte, b' ' | b'\t'));
        match before {
            // `"name"() { …; }` is an error only when it is come to.
            _ if next == Some(&b')') => self.outside("`(` within a command"),
            Some(b'?' | b'*' | b'+' | b'@' | b'!' | b'=') | None => {
                self.outside("`(` within a command")
            }
            Some(_) => self.refused("`(` within a command"),
        }
    }

    fn assignment(&mut self) -> Read<Option<Assign>> {
        let from = self.at;
        // Zsh assigns to what a function is given, too: `1=x`.
        let begins_name =
            |byte: u8| is_name_start(byte) || self.shell == Shell::Zsh && byte.is_ascii_digit();
        if !self.peek().is_some_and(begins_name) {
            return Ok(None);
        }
        let is_number = self.peek().is_some_and(|byte| byte.is_ascii_digit());
        let is_part = |byte: u8| {
            if is_number {
                byte.is_ascii_digit()
            } else {
                is_name_byte(byte)
            }
        };
        let mut at = from;
        while self.text.get(at).copied().is_some_and(is_part) {
            at += 1;
        }
        let name_end = at;
        if is_number && self.text.get(at) != Some(&b'=') {
            return Ok(None);
        }
        let mut element = None;
        if self.text.get(at) == Some(&b'[') {
            // `x[ 1 ]=` and the like: whatever isn't a plain subscript is left to nobody's guess.
            let end = self
                .subscript_end(at + 1)
                .filter(|end| matches!(self.text.get(end + 1), Some(b'=' | b'+')));
            let Some(end) = end else {
                return self.outside("a subscript or pattern at a command's start");
            };
            self.bash_only()?;
            element = self.source.get(at + 1..end).map(str::to_string);
            at = end + 1;
        }
        let append = self.text.get(at) == Some(&b'+') && self.text.get(at + 1) == Some(&b'=');
        at += usize::from(append);
        if self.text.get(at) != Some(&b'=') {
            if element.is_some() {
                return self.outside("a subscript or pattern at a command's start");
            }
            return Ok(None);
        }
        if append {
            self.bash_only()?;
        }
        let name = self.source[from..name_end].to_string();
        self.at = at + 1;
        let value = if self.peek() == Some(b'(') {
            self.bash_only()?;
            self.at += 1;
            let (words, keys) = self.deeper(Self::array)?;
            element = element.or(Some(keys.join(" ")).filter(|_| !keys.is_empty()));
            Value::Array(words)
        } else if self.at_edge() {
            if matches!(self.peek(), Some(b'<' | b'>')) {
                return self.outside("a redirection at an assignment");
            }
            Value::One(Word {
                parts: Parts::new(),
                span: self.at..self.at,
            })
        } else {
            Value::One(self.word(Context::Value)?)
        };
        Ok(Some(Assign {
            name,
            append,
            element,
            value,
            span: from..self.at,
            argument: false,
        }))
    }

    /// Where a subscript ends that is plain: names, numbers, variables and signs that change
    /// nothing, in quotes too.
    fn subscript_end(&self, from: usize) -> Option<usize> {
        let quote = self
            .text
            .get(from)
            .copied()
            .filter(|byte| matches!(byte, b'"' | b'\''));
        let start = from + usize::from(quote.is_some());
        let is_plain = |byte: u8| {
            is_name_byte(byte) || b"${}-+./:".contains(&byte) || quote.is_some() && byte == b' '
        };
        let end = start
            + self
                .text
                .get(start..)?
                .iter()
                .position(|byte| !is_plain(*byte))?;
        let inner = &self.text[start..end];
        let sets = |pair: &[u8]| matches!(pair, b"++" | b"--");
        let close = if quote.is_some() && self.text.get(end).copied() == quote {
            end + 1
        } else {
            end
        };
        let is_closed = (close > end) == quote.is_some() && self.text.get(close) == Some(&b']');
        (is_closed && !inner.is_empty() && !inner.windows(2).any(sets)).then_some(close)
    }

    /// The elements of an array, and the subscripts that are written.
    fn array(&mut self) -> Read<(Vec<Word>, Vec<String>)> {
        let (mut words, mut keys) = (Vec::new(), Vec::new());
        loop {
            self.blanks()?;
            match self.peek() {
                Some(b')') => {
                    self.at += 1;
                    if !self.at_edge() {
                        return self.outside("an array with something glued to it");
                    }
                    return Ok((words, keys));
                }
                Some(b'\n') if self.pending.is_empty() => self.at += 1,
                Some(b'#') => return self.outside("a comment in an array"),
                Some(b'[') => {
                    let end = self
                        .subscript_end(self.at + 1)
                        .filter(|end| self.text.get(end + 1) == Some(&b'='));
                    let Some(end) = end else {
                        return self.outside("an array with a pattern or a subscript");
                    };
                    keys.extend(self.source.get(self.at + 1..end).map(str::to_string));
                    self.at = end + 2;
                    if !self.at_edge() {
                        words.push(self.word(Context::Value)?);
                    }
                }
                None => return self.outside("an array without its end"),
                Some(byte) if is_operator(byte) => return self.outside("a sign in an array"),
                Some(_) => words.push(self.word(Context::Plain)?),
            }
        }
    }

    fn redirect(&mut self) -> Read<Option<Redirect>> {
        // Most words are none.
        match self.peek() {
            Some(b'<' | b'>' | b'&' | b'0'..=b'9') => self.redirect_here(),
            _ => Ok(None),
        }
    }

    fn redirect_here(&mut self) -> Read<Option<Redirect>> {
        let from = self.at;
        let mut at = from;
        while self.text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        let digits = at > from;
        match self.text.get(at) {
            Some(b'<' | b'>') => {}
            Some(b'&') if !digits && self.text.get(at + 1) == Some(&b'>') => {
                self.at += 2;
                if self.eat(">") {
                    self.bash_only()?;
                }
                self.blanks()?;
                let to = self.target()?;
                // To dash the command ends at `&`; where nothing follows, that runs the same.
                self.blanks()?;
                if !matches!(self.peek(), None | Some(b';' | b')' | b'\n')) {
                    self.bash_only()?;
                }
                return Ok(Some(Redirect {
                    fd: None,
                    kind: RedirectKind::Write(to),
                }));
            }
            _ => return Ok(None),
        }
        if begins_process(&self.text[at..]) {
            return Ok(None);
        }
        let mut fd = match digits {
            true => match self.source[from..at].parse::<u32>() {
                Ok(fd) if at - from <= 3 => Some(fd),
                _ => return self.outside("a redirection with a large number"),
            },
            false => None,
        };
        self.at = at;
        let kind = if self.eat("<<<") {
            self.bash_only()?;
            self.blanks()?;
            RedirectKind::HereString(self.word(Context::Value)?)
        } else if self.eat("<<") {
            let strips = self.eat("-");
            self.blanks()?;
            let slot = self.documents.len();
            let (delimiter, expands) = self.delimiter()?;
            self.documents.push(None);
            self.pending.push(Pending {
                delimiter,
                expands,
                strips,
                slot,
            });
            RedirectKind::HereDocument(slot)
        } else if self.eat("<>") {
            self.blanks()?;
            RedirectKind::ReadWrite(self.target()?)
        } else if self.eat(">&") || self.eat("<&") {
            let reads = self.text[self.at - 2] == b'<';
            fd = fd.or(reads.then_some(0));
            let from = self.at - 2;
            self.blanks()?;
            let word = self.word(Context::Plain)?;
            // The whole of it is what can't be told.
            let outside = |parser: &Self, why| {
                Err(Outside {
                    why,
                    at: from..parser.at,
                })
            };
            match word.plain() {
                Some("-") => RedirectKind::Duplicate(word),
                Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                    RedirectKind::Duplicate(word)
                }
                Some(text) if text.starts_with('-') || text.ends_with('-') || reads => {
                    return outside(self, "a redirection in another form");
                }
                Some(_) => {
                    self.bash_only()?;
                    RedirectKind::Write(word)
                }
                None => return outside(self, "a redirection to what is computed"),
            }
        } else if self.eat(">>") || self.eat(">|") {
            self.blanks()?;
            RedirectKind::Write(self.target()?)
        } else {
            let reads = self.peek() == Some(b'<');
            self.at += 1;
            self.blanks()?;
            let target = self.target()?;
            if reads {
                RedirectKind::Read(target)
            } else {
                RedirectKind::Write(target)
            }
        };
        Ok(Some(Redirect { fd, kind }))
    }

    fn target(&mut self) -> Read<Word> {
        // `> |`: without a blank it would be another sign.
        let is_apart = matches!(self.text[self.at - 1], b' ' | b'\t');
        match self.peek() {
            Some(b'&' | b'|') if is_apart => return self.refused("no word where one belongs"),
            Some(b'!' | b'&' | b'|') => return self.outside("a redirection in another form"),
            _ => {}
        }
        self.word(Context::Plain)
    }

    /// The word after `<<`: what ends the document, and whether its body is expanded.
    fn delimiter(&mut self) -> Read<(String, bool)> {
        let word = self.word(Context::Value)?;
        let (mut delimiter, mut quoted) = (String::new(), false);
        for part in &word.parts {
            match part {
                Part::Text {
                    text,
                    quoted: is_quoted,
                } => {
                    delimiter.push_str(text);
                    quoted |= is_quoted;
                }
                _ => return self.outside("a here-document whose end is no plain word"),
            }
        }
        // Signs and white space in it are read by each shell in its own way.
        let plain = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'!' | b'+' | b'%')
        };
        if delimiter.is_empty() || !delimiter.bytes().all(plain) {
            return self.outside("a here-document whose end is no plain word");
        }
        let raw = &self.source[word.span.clone()];
        let spelt = [
            delimiter.clone(),
            format!("'{delimiter}'"),
            format!("\"{delimiter}\""),
            format!("\\{delimiter}"),
        ];
        if !spelt.iter().any(|it| it == raw) {
            return self.outside("a here-document whose end is quoted in parts");
        }
        Ok((delimiter, !quoted))
    }

    fn here_document(&mut self, pending: &Pending) -> Read<()> {
        let from = self.at;
        let mut body = String::new();
        loop {
            if self.at >= self.text.len() {
                self.at = from.saturating_sub(1);
                return self.outside("a here-document without its end");
            }
            let rest = &self.source[self.at..];
            let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
            let next = self.at + line.len();
            let shown = if pending.strips {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if shown == pending.delimiter {
                self.at = next;
                break;
            }
            // `E)` ends a document within `$( … )` in some shells.
            if self.depth > 0 && shown.trim_start().starts_with(&pending.delimiter) {
                return self.outside("a line that looks like the end of a here-document");
            }
            if pending.expands
                && line.ends_with('\\')
                && (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
            {
                let following = self.source.get(next + 1..).unwrap_or_default();
                if following
                    .trim_start_matches('\t')
                    .starts_with(&pending.delimiter)
                {
                    return self.outside("a joined line before the end of a here-document");
                }
            }
            body.push_str(shown);
            body.push('\n');
            self.at = (next + 1).min(self.text.len());
        }
        let span = from..self.at;
        // The next line begins after this one's end.
        if self.peek() == Some(b'\n') {
            self.at += 1;
        }
        let parts = if pending.expands && body.contains(['$', '`', '\\']) {
            let mut inner = Reader {
                documents: std::mem::take(&mut self.documents),
                again: self.again,
                lines: 1,
                ..Reader::new(&body, self.shell, self.depth)
            };
            let parts = inner.deeper(Self::body_text);
            self.documents = inner.documents;
            match parts {
                Ok(parts) => parts,
                Err(outside) => {
                    return Err(Outside {
                        why: outside.why,
                        at: span,
                    });
                }
            }
        } else {
            vec![Part::Text {
                text: body.into(),
                quoted: true,
            }]
        };
        if let Some(slot) = self.documents.get_mut(pending.slot) {
            *slot = Some(Word {
                parts: parts.into(),
                span,
            });
        }
        Ok(())
    }

    /// The body of a here-document that is expanded: quotes mean nothing in it.
    fn body_text(reader: &mut Reader) -> Read<Vec<Part>> {
        let (mut parts, mut text) = (Vec::new(), CompactString::default());
        while let Some(byte) = reader.peek() {
            match byte {
                b'\\' => reader.backslash(&mut text, b"$`\\"),
                b'$' | b'`' => {
                    let from = reader.at;
                    let part = if byte == b'$' {
                        reader.dollar(true)?
                    } else {
                        reader.back_quotes(true)?
                    };
                    // bash joins all lines of a body before it reads them: a comment goes on, too.
                    let read = &reader.source[from..reader.at];
                    if read.contains("\\\n") && read.contains(['#', '\'']) {
                        return reader
                            .outside("a joined line within a substitution of a here-document");
                    }
                    push(&mut parts, &mut text, true, part);
                }
                _ => text.push(reader.take_char()),
            }
        }
        push_text(&mut parts, &mut text, true);
        Ok(parts)
    }

    fn take_char(&mut self) -> char {
        match self
            .source
            .get(self.at..)
            .and_then(|rest| rest.chars().next())
        {
            Some(c) => {
                self.at += c.len_utf8();
                c
            }
            None => {
                self.at += 1;
                char::REPLACEMENT_CHARACTER
            }
        }
    }

    fn word(&mut self, context: Context) -> Read<Word> {
        let from = self.at;
        if self.peek() == Some(b'#') {
            return self.outside("a `#` where a word belongs");
        }
        // Most words are plain.
        let rest = &self.text[from..];
        let end = rest
            .iter()
            .position(|byte| !is_plain(*byte))
            .unwrap_or(rest.len());
        if end > 0
            && rest
                .get(end)
                .is_none_or(|byte| matches!(byte, b' ' | b'\n' | b';'))
        {
            self.at += end;
            let text = self.source[from..self.at].into();
            return Ok(Word {
                parts: [Part::Text {
                    text,
                    quoted: false,
                }]
                .into(),
                span: from..self.at,
            });
        }
        let parts: Parts = self.parts(context)?.into();
        if self.at == from {
            // A target that is missing at the end is one wherever the text is put.
            return match context {
                Context::Plain => self.refused("no word where one belongs"),
                _ => self.outside("no word where one belongs"),
            };
        }
        Ok(Word {
            parts,
            span: from..self.at,
        })
    }

    /// The `~` that is next, if a shell puts a directory in its place. A name is one up to the
    /// first slash, as far as nothing in it is quoted or expanded.
    fn tilde(&mut self, context: Context) -> Read<Option<Tilde>> {
        let ends = |byte: &u8| {
            matches!(
                byte,
                b'/' | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
            ) || *byte == b':' && context == Context::Value
                || *byte == b'}' && context == Context::Alternative
        };
        let rest = &self.text[self.at + 1..];
        let name = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
        let is_number = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        let is_of_name =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        let tilde = match name {
            [] => Tilde::Home,
            b"+" => Tilde::Here,
            b"-" => Tilde::Before,
            [b'+' | b'-', digits @ ..] | digits if is_number(digits) => {
                return self.outside("`~` in another form");
            }
            [first, ..] if first.is_ascii_alphabetic() || *first == b'_' => {
                match name.iter().all(is_of_name) {
                    true => Tilde::User(self.source[self.at + 1..self.at + 1 + name.len()].into()),
                    false => return Ok(None),
                }
            }
            [first, ..] if first.is_ascii_digit() => return Ok(None),
            [b'"' | b'\'' | b'=' | b'@' | b'.' | b'~' | b':', ..] => return Ok(None),
            _ => return self.outside("`~` in another form"),
        };
        self.at += 1 + name.len();
        Ok(Some(tilde))
    }

    fn parts(&mut self, context: Context) -> Read<Vec<Part>> {
        let from = self.at;
        let (mut parts, mut text) = (Vec::new(), CompactString::default());
        if self.peek() == Some(b'~') && context != Context::Alternative {
            parts.extend(self.tilde(context)?.map(Part::Tilde));
        }
        if self.shell == Shell::Zsh
            && self.peek() == Some(b'=')
            && matches!(context, Context::Plain | Context::Value)
        {
            return self.outside("`=` at a word's start, which zsh expands");
        }
        let mut parens = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' if context != Context::Regex || byte != b'&' => {
                    break;
                }
                b'}' | b',' if context == Context::Alternative => break,
                b'(' | b')' | b'|' | b'<' | b'>'
                    if context == Context::Regex && byte != b'<' && byte != b'>' =>
                {
                    match byte {
                        b'(' => parens += 1,
                        b')' if parens == 0 => break,
                        b')' => parens -= 1,
                        _ if parens == 0 && self.ahead(1) == Some(b'|') => break,
                        _ => {}
                    }
                    text.push(byte as char);
                    self.at += 1;
                }
                b'<' | b'>' if self.ahead(1) == Some(b'(') => {
                    self.bash_or_refused()?;
                    self.at += 2;
                    let list = Rc::new(self.inner_list()?);
                    push(
                        &mut parts,
                        &mut text,
                        false,
                        Part::Process {
                            list,
                            reads: byte == b'<',
                        },
                    );
                }
                b'<' | b'>' | b'|' | b')' => break,
                b'(' => match self.pattern_list_end(from, context) {
                    Some(end) => {
                        // What stands before it says how often the list may fit.
                        if let Some(sign) = text.pop() {
                            push(&mut parts, &mut text, false, Part::Glob(sign));
                        }
                        parts.extend(self.source[self.at..end].chars().map(Part::Glob));
                        self.at = end;
                    }
                    // After a name it begins a function; `simple` knows.
                    None if context == Context::Plain && !text.is_empty() && parts.is_empty() => {
                        break;
                    }
                    None => return self.outside("`(` within a word"),
                },
                b'~' if is_before_tilde(&text, parts.is_empty(), context) => {
                    match self.tilde(context)? {
                        Some(tilde) => push(&mut parts, &mut text, false, Part::Tilde(tilde)),
                        None => {
                            text.push('~');
                            self.at += 1;
                        }
                    }
                }
                b'\'' => {
                    let quoted = self.single_quotes()?;
                    if quoted.contains('\n') {
                        self.no_pending()?;
                    }
                    push(
                        &mut parts,
                        &mut text,
                        false,
                        Part::Text {
                            text: quoted.into(),
                            quoted: true,
                        },
                    );
                }
                b'"' => {
                    push_text(&mut parts, &mut text, false);
                    self.at += 1;
                    self.double_quotes(&mut parts)?;
                }
                b'\\' => {
                    match self.ahead(1) {
                        // To bash and dash it is itself.
                        None if self.at == from
                            && self.shell.is_bash_or_dash()
                            && context == Context::Plain =>
                        {
                            self.at += 1;
                            parts.push(Part::Text {
                                text: "\\".into(),
                                quoted: true,
                            });
                            break;
                        }
                        None => return self.outside("a backslash at the end"),
                        Some(b'\n')
                            if matches!(self.ahead(2), None | Some(b' ' | b'\t' | b'\n'))
                                && self.at > from =>
                        {
                            break;
                        }
                        Some(b'\n') => return self.outside("a line that is joined within a word"),
                        Some(_) => {}
                    }
                    push_text(&mut parts, &mut text, false);
                    self.at += 1;
                    let escaped = self.take_char();
                    parts.push(Part::Text {
                        text: CompactString::from_iter([escaped]),
                        quoted: true,
                    });
                }
                b'$' if self.dollar_quotes(&mut parts, &mut text)? => {}
                b'$' => {
                    push_text(&mut parts, &mut text, false);
                    match self.dollar(false)? {
                        Part::Text { text: sign, .. } => text.push_str(&sign),
                        part => parts.push(part),
                    }
                }
                b'`' => {
                    push(&mut parts, &mut text, false, self.back_quotes(false)?);
                }
                b'*' | b'?' => {
                    push(&mut parts, &mut text, false, Part::Glob(byte as char));
                    self.at += 1;
                }
                // `[` alone is a command, `[ab]` a pattern.
                b'[' if !matches!(self.ahead(1), None | Some(b' ' | b'\t' | b'\n' | b'[')) => {
                    push(&mut parts, &mut text, false, Part::Glob('['));
                    self.at += 1;
                }
                b'{' if context != Context::Value
                    && context != Context::Test
                    && context != Context::Regex =>
                {
                    match self.brace()? {
                        Some(part) => {
                            push(&mut parts, &mut text, false, part);
                        }
                        // Its own end would be taken for that of the braces around it.
                        None if context == Context::Alternative => {
                            return self.outside("braces within braces");
                        }
                        None => {
                            if self.at == from && self.is_fd_name() {
                                return self.outside("a redirection with a variable");
                            }
                            text.push('{');
                            self.at += 1;
                        }
                    }
                }
                _ => text.push(self.take_char()),
            }
        }
        push_text(&mut parts, &mut text, false);
        Ok(parts)
    }

    /// Where a list of patterns ends whose `(` stands here: `!(*.txt)`, `@(a|b)`. Without `extglob`
    /// it is an error to bash, as it is to dash. It holds nothing that is expanded, and names
    /// neither `..` nor an option.
    fn pattern_list_end(&self, from: usize, context: Context) -> Option<usize> {
        if !matches!(context, Context::Plain | Context::Test) {
            return None;
        }
        let is_sign =
            self.at > from && matches!(self.text[self.at - 1], b'?' | b'*' | b'+' | b'@' | b'!');
        if !is_sign
            || !self.shell.is_bash_or_dash()
            || self.at - from > 1 && self.text[self.at - 2] == b'\\'
        {
            return None;
        }
        let mut before = b'(';
        for (at, byte) in self.text.iter().enumerate().skip(self.at + 1) {
            match byte {
                b')' => return (before != b'(').then_some(at + 1),
                b'.' | b'-' if matches!(before, b'(' | b'|') => return None,
                b'*' | b'?' | b'|' | b',' | b'[' | b']' => {}
                _ if is_plain(*byte) && *byte != b'/' => {}
                _ => return None,
            }
            before = *byte;
        }
        None
    }

    /// `{name}>`: the shell opens a file and keeps its number in the variable.
    fn is_fd_name(&self) -> bool {
        let rest = &self.text[self.at + 1..];
        let name = rest
            .iter()
            .position(|byte| !is_name_byte(*byte))
            .unwrap_or(rest.len());
        name > 0 && rest.get(name) == Some(&b'}') && matches!(rest.get(name + 1), Some(b'<' | b'>'))
    }

    fn no_pending(&self) -> Read<()> {
        if self.pending.is_empty() {
            Ok(())
        } else {
            self.outside("a line's end within a word before a here-document")
        }
    }

    /// `{a,b}`, `{1..9}`; nothing is taken if it is neither.
    fn brace(&mut self) -> Read<Option<Part>> {
        let from = self.at;
        if matches!(self.ahead(1), None | Some(b'}' | b' ' | b'\t' | b'\n')) {
            return Ok(None);
        }
        if self.again > MAX_AGAIN {
            return self.outside("it is nested too deeply or too large");
        }
        self.at += 1;
        let mut alternatives = Vec::new();
        loop {
            let alternative = self.deeper(|it| it.parts(Context::Alternative))?;
            alternatives.push(alternative);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => {
                    // Not closed: bash takes it as it is written; dash always does.
                    if alternatives.len() > 1 || self.shell == Shell::Zsh {
                        return self.outside("a brace without its end");
                    }
                    self.again += self.at - from;
                    self.at = from;
                    return Ok(None);
                }
            }
        }
        self.at += 1;
        if alternatives.len() == 1 {
            let inner = &self.source[from + 1..self.at - 1];
            if inner.contains("..") {
                let ends = inner
                    .split("..")
                    .take(2)
                    .map(|end| end.trim_start_matches(['-', '+']));
                let plain = inner
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+'));
                if plain
                    && !inner.starts_with(['-', '.'])
                    && ends.clone().all(|end| !end.is_empty())
                {
                    return Ok(Some(
                        letters_between(inner).unwrap_or_else(|| Part::Range(inner.to_string())),
                    ));
                }
                return self.outside("a range in another form");
            }
            self.again += self.at - from;
            self.at = from;
            return Ok(None);
        }
        // Another shell may take it as it is written, which is easily told of plain text.
        let is_text =
            |parts: &Vec<Part>| matches!(parts.as_slice(), [] | [Part::Text { quoted: false, .. }]);
        if !alternatives.iter().all(is_text) {
            self.bash_only()?;
        }
        Ok(Some(Part::Brace(alternatives)))
    }

    /// The inside of `'…'`.
    fn single_quotes(&mut self) -> Read<&'t str> {
        let body = self.at + 1;
        let Some(length) = memchr::memchr(b'\'', &self.text[body..]) else {
            return self.outside(UNCLOSED);
        };
        self.at = body + length + 1;
        Ok(&self.source[body..body + length])
    }

    /// What `$` or a back-quote begins, behind the text before it.
    fn expansion(
        &mut self,
        parts: &mut Vec<Part>,
        text: &mut CompactString,
        quoted: bool,
    ) -> Read<()> {
        let part = if self.peek() == Some(b'$') {
            self.dollar(quoted)?
        } else {
            self.back_quotes(quoted)?
        };
        match part {
            Part::Text { text: sign, .. } => text.push_str(&sign),
            part => push(parts, text, quoted, part),
        }
        Ok(())
    }

    /// A backslash in double quotes, or in what is read so: it is a plain sign but before one of
    /// these.
    fn backslash(&mut self, text: &mut CompactString, escapes: &[u8]) {
        self.at += 1;
        match self.peek() {
            Some(b'\n') => self.at += 1,
            Some(escaped) if escapes.contains(&escaped) => {
                self.at += 1;
                text.push(escaped as char);
            }
            _ => text.push('\\'),
        }
    }

    /// The inside of `"…"` with its end.
    fn double_quotes(&mut self, parts: &mut Vec<Part>) -> Read<()> {
        let mut text = CompactString::default();
        let before = parts.len();
        loop {
            let Some(byte) = self.peek() else {
                return self.outside(UNCLOSED);
            };
            match byte {
                b'"' => {
                    self.at += 1;
                    if !text.is_empty() || parts.len() == before {
                        parts.push(Part::Text { text, quoted: true });
                    }
                    return Ok(());
                }
                b'\\' => self.backslash(&mut text, b"$`\"\\"),
                b'$' => self.expansion(parts, &mut text, true)?,
                b'`' => self.expansion(parts, &mut text, true)?,
                b'\n' => {
                    self.no_pending()?;
                    text.push('\n');
                    self.at += 1;
                }
                _ => {
                    // A run of plain bytes at once.
                    let rest = &self.text[self.at..];
                    let end = rest
                        .iter()
                        .position(|byte| matches!(byte, b'"' | b'\\' | b'$' | b'`' | b'\n'));
                    let end = self.at + end.unwrap_or(rest.len());
                    text.push_str(&self.source[self.at..end]);
                    self.at = end;
                }
            }
        }
    }

    /// A list in parentheses, its opening taken, with its end.
    fn inner_list(&mut self) -> Read<List> {
        let outer = std::mem::take(&mut self.pending);
        let lines = self.at;
        let list = self.deeper(|it| it.list(Until::Paren));
        // An old bash reads a substitution when it comes to it.
        self.refused = false;
        let list = list?;
        if !self.pending.is_empty() {
            return self.outside("a here-document without its end");
        }
        self.pending = outer;
        if self.text[lines..self.at].contains(&b'\n') {
            self.no_pending()?;
        }
        self.at += 1;
        Ok(list)
    }

    /// Everything that a `$` begins; text if it is only a sign.
    fn dollar(&mut self, quoted: bool) -> Read<Part> {
        let from = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.ahead(1) == Some(b'(') => {
                self.at += 2;
                let parts = self.arithmetic()?;
                Ok(Part::Arithmetic { parts })
            }
            Some(b'(') => {
                self.at += 1;
                let list = Rc::new(self.inner_list()?);
                Ok(Part::Command {
                    list,
                    quoted,
                    moved: false,
                    span: from..self.at,
                })
            }
            Some(b'{') => {
                self.at += 1;
                self.deeper(|it| it.parameter(quoted))
            }
            Some(byte) if is_name_start(byte) => {
                let start = self.at;
                self.skip_while(is_name_byte);
                let name = self.source[start..self.at].to_string();
                self.no_zsh_subscript()?;
                Ok(Part::Variable {
                    name,
                    change: Change::None,
                    quoted,
                })
            }
            Some(byte)
                if byte.is_ascii_digit()
                    || matches!(byte, b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-') =>
            {
                self.at += 1;
                if self.shell == Shell::Zsh && !quoted && self.peek() == Some(b'\'') {
                    return self.outside(
                        "a `$` before a quote, whose end zsh looks for by the rules of `$'…'`",
                    );
                }
                self.no_zsh_subscript()?;
                let name = (byte as char).to_string();
                Ok(Part::Variable {
                    name,
                    change: Change::None,
                    quoted,
                })
            }
            Some(b'[') if self.reads_brackets() => {
                self.at += 1;
                let parts = self.deeper(|it| it.arithmetic_until(b']'))?;
                Ok(Part::Arithmetic { parts })
            }
            Some(b'[') => self.outside("`$[`"),
            Some(b'\\') if self.ahead(1) == Some(b'\n') => {
                self.outside("a line that is joined within a sign")
            }
            Some(b'~' | b'=' | b'^' | b'+') if self.shell == Shell::Zsh => {
                self.outside("an expansion that only zsh knows")
            }
            _ => Ok(Part::Text {
                text: "$".into(),
                quoted: true,
            }),
        }
    }

    /// What goes on in zsh behind a variable's name. A `:` begins a modifier before a letter, a `&`
    /// and little else; before these it is a colon.
    fn no_zsh_subscript(&mut self) -> Read<()> {
        let is_colon = || {
            let next = self.ahead(1);
            next.is_none_or(|next| next.is_ascii_digit() || b"/.,-$\" \t\n;|)".contains(&next))
        };
        match self.peek() {
            Some(b'[') if self.shell == Shell::Zsh => self.outside(ZSH_SUBSCRIPT),
            Some(b':') if self.shell == Shell::Zsh && !is_colon() => self.outside(ZSH_SUBSCRIPT),
            _ => Ok(()),
        }
    }

    /// Whether `$[` begins arithmetic, as it does in bash. To dash it is text, of which blanks
    /// would make further words.
    fn reads_brackets(&self) -> bool {
        let inner = self.text[self.at + 1..]
            .iter()
            .take_while(|byte| **byte != b']');
        let is_one_word = |byte: &u8| is_name_byte(*byte) || b"$+-*/%{}".contains(byte);
        match self.shell {
            Shell::Bash => true,
            Shell::Posix | Shell::Unknown => inner.copied().all(|byte| is_one_word(&byte)),
            Shell::Zsh | Shell::Other => false,
        }
    }

    /// The inside of `${!name[@]}` with its end.
    fn keys(&mut self, quoted: bool) -> Read<Option<Part>> {
        if self.peek() != Some(b'!') || !self.ahead(1).is_some_and(is_name_start) {
            return Ok(None);
        }
        let start = self.at + 1;
        let end = start
            + self.text[start..]
                .iter()
                .take_while(|byte| is_name_byte(**byte))
                .count();
        if !matches!(self.text.get(end..end + 4), Some(b"[@]}" | b"[*]}")) {
            return Ok(None);
        }
        self.bash_only()?;
        let name = self.source[start..end].to_string();
        self.at = end + 4;
        Ok(Some(Part::Variable {
            name,
            change: Change::Element(KEYS.into()),
            quoted,
        }))
    }

    /// The inside of `${…}` with its end.
    fn parameter(&mut self, quoted: bool) -> Read<Part> {
        if let Some(part) = self.keys(quoted)? {
            return Ok(part);
        }
        let length = self.peek() == Some(b'#') && self.ahead(1) != Some(b'}');
        self.at += usize::from(length);
        let start = self.at;
        match self.peek() {
            Some(byte) if is_name_start(byte) => self.skip_while(is_name_byte),
            Some(byte) if byte.is_ascii_digit() => self.skip_while(|byte| byte.is_ascii_digit()),
            Some(b'@' | b'*' | b'#' | b'?' | b'$') => self.at += 1,
            _ => return self.outside("an expansion in another form"),
        }
        let name = self.source[start..self.at].to_string();
        let mut element = None;
        if self.peek() == Some(b'[') {
            self.bash_only()?;
            if self.skips_no_substitution() {
                return Ok(Part::Variable {
                    name,
                    change: Change::Length,
                    quoted,
                });
            }
            let is_all = matches!(self.text.get(self.at + 1..self.at + 3), Some(b"@]" | b"*]"));
            if let Some(subscript) = self.escaped_subscript().filter(|_| quoted) {
                self.at += subscript.len() + r#"[\"\"]"#.len();
                element = Some(subscript);
            } else {
                let end = if is_all {
                    Some(self.at + 2)
                } else {
                    self.subscript_end(self.at + 1)
                };
                let Some(end) = end else {
                    return self.outside("a subscript that is computed");
                };
                element = self.source.get(self.at + 1..end).map(str::to_string);
                self.at = end + 1;
            }
        }
        let plain = element.map_or(Change::None, Change::Element);
        if length {
            return match self.eat("}") {
                true => Ok(Part::Variable {
                    name,
                    change: Change::Length,
                    quoted,
                }),
                false => self.outside("an expansion in another form"),
            };
        }
        let change = if self.eat("}") {
            return Ok(Part::Variable {
                name,
                change: plain,
                quoted,
            });
        } else if self.eat(":-") || self.eat("-") {
            Change::Default(self.operand(quoted, false)?)
        } else if self.eat(":+") || self.eat("+") {
            Change::Other(self.operand(quoted, false)?)
        } else if self.eat(":=") || self.eat("=") {
            Change::Assign(self.operand(quoted, false)?)
        } else if let Some(sign @ (b'#' | b'%')) = self.peek() {
            self.at += 1;
            let longest = self.peek() == Some(sign);
            self.at += usize::from(longest);
            let edit = Some(Edit::Cut {
                end: sign == b'%',
                longest,
            });
            Change::Cut {
                operands: self.operand(quoted, self.shell == Shell::Bash)?,
                numbers: false,
                edit,
            }
        } else if self.eat(":?") || self.eat("?") {
            let operands = self.operand(quoted, false)?;
            // It is the value, or the shell leaves with a message.
            match operands
                .iter()
                .all(|part| matches!(part, Part::Text { .. }))
            {
                true => Change::None,
                false => Change::Cut {
                    operands,
                    numbers: false,
                    edit: None,
                },
            }
        } else if self.peek() == Some(b'/') {
            self.bash_only()?;
            self.at += 1;
            Change::Replace(self.operand(quoted, self.shell == Shell::Bash)?)
        } else if let Some(sign @ (b'^' | b',')) = self.peek() {
            self.bash_only()?;
            self.at += 1;
            let all = self.peek() == Some(sign);
            self.at += usize::from(all);
            let edit = Some(Edit::Case {
                upper: sign == b'^',
                all,
            });
            Change::Cut {
                operands: self.operand(quoted, false)?,
                numbers: false,
                edit,
            }
        } else if self.starts_with("@L}") || self.starts_with("@U}") {
            self.bash_only()?;
            let edit = Some(Edit::Case {
                upper: self.starts_with("@U"),
                all: true,
            });
            self.at += "@L".len();
            Change::Cut {
                operands: self.operand(quoted, false)?,
                numbers: false,
                edit,
            }
        } else if self.shell == Shell::Zsh
            && [":&", "::", ":s", ":g"]
                .iter()
                .any(|sign| self.starts_with(sign))
        {
            // `::=` sets the variable, `:s/a/b/` puts in something else.
            return self.outside("an expansion in another form");
        } else if self.peek() == Some(b':') {
            self.bash_only()?;
            self.at += 1;
            let operands = self.operand(quoted, false)?;
            Change::Cut {
                operands,
                numbers: true,
                edit: Some(Edit::Slice),
            }
        } else {
            return self.outside("an expansion in another form");
        };
        Ok(Part::Variable {
            name,
            change,
            quoted,
        })
    }

    /// Passes over what stands behind the name in `${df[\"price\"].mean():.2f}`, as code for
    /// another program has it in double quotes. To bash and dash it is an error, so the command
    /// that it belongs to doesn't run.
    fn skips_no_substitution(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let Some(end) = rest
            .iter()
            .position(|byte| matches!(byte, b'}' | b'{' | b'$' | b'`' | b'\n'))
        else {
            return false;
        };
        let inner = self
            .source
            .get(self.at..self.at + end)
            .unwrap_or_default()
            .replace("\\\"", "");
        let is_plain = |c: char| c.is_alphanumeric() || "_.,:()[] +-*/%<>=".contains(c);
        // What follows a subscript in bash is one of `}:-=?+#%/^,@~`.
        let is_member = inner.split_once(']').is_some_and(|(subscript, rest)| {
            !subscript[1..].contains('[') && rest.starts_with(['.', '[', '('])
        });
        let is_error = rest[end] == b'}'
            && is_member
            && inner.chars().all(is_plain)
            && self.shell.is_bash_or_dash();
        self.at += if is_error { end + 1 } else { 0 };
        is_error
    }

    /// The name in `[\"name\"]`, as it stands in double quotes.
    fn escaped_subscript(&self) -> Option<String> {
        let (name, rest) = self
            .source
            .get(self.at..)?
            .strip_prefix(r#"[\""#)?
            .split_once(r#"\"]"#)?;
        let is_name = name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ' '));
        (is_name && !name.is_empty() && rest.starts_with('}')).then(|| name.to_string())
    }

    /// What follows the sign in `${name:-…}`, with the brace. In `${name/…}` bash knows `$'…'` in
    /// double quotes, too.
    fn operand(&mut self, quoted: bool, has_ansi_quotes: bool) -> Read<Vec<Part>> {
        let (mut parts, mut text) = (Vec::new(), CompactString::default());
        loop {
            let Some(byte) = self.peek() else {
                return self.outside("an expansion without its end");
            };
            match byte {
                b'}' => {
                    self.at += 1;
                    push_text(&mut parts, &mut text, quoted);
                    return Ok(parts);
                }
                b'\n' | b'{' => return self.outside("an expansion in another form"),
                // In double quotes it depends on the sign whether this quotes anything.
                b'\'' | b'"' if quoted => return self.outside("a quote in an expansion in quotes"),
                b'~' if !quoted && parts.is_empty() && text.is_empty() => {
                    match self.tilde(Context::Alternative)? {
                        Some(tilde) => parts.push(Part::Tilde(tilde)),
                        None => text.push(self.take_char()),
                    }
                }
                b'\'' => {
                    let inner = self.single_quotes()?.into();
                    push(
                        &mut parts,
                        &mut text,
                        quoted,
                        Part::Text {
                            text: inner,
                            quoted: true,
                        },
                    );
                }
                b'"' => {
                    self.at += 1;
                    push_text(&mut parts, &mut text, quoted);
                    self.double_quotes(&mut parts)?;
                }
                b'\\' => {
                    self.at += 1;
                    match self.peek() {
                        None | Some(b'\n') => return self.outside("an expansion in another form"),
                        Some(_) => {
                            push(
                                &mut parts,
                                &mut text,
                                quoted,
                                Part::Text {
                                    text: CompactString::from_iter([self.take_char()]),
                                    quoted: true,
                                },
                            );
                        }
                    }
                }
                b'$' if !quoted && self.dollar_quotes(&mut parts, &mut text)? => {}
                b'$' if has_ansi_quotes
                    && [r"$'\n'", r"$'\t'", r"$'\r'"]
                        .iter()
                        .any(|it| self.starts_with(it)) =>
                {
                    text.push('\n');
                    self.at += r"$'\n'".len();
                }
                b'$' | b'`' => self.expansion(&mut parts, &mut text, quoted)?,
                b'<' | b'>' if self.ahead(1) == Some(b'(') => {
                    return self.outside("an expansion in another form");
                }
                _ => text.push(self.take_char()),
            }
        }
    }

    fn back_quotes(&mut self, quoted: bool) -> Read<Part> {
        let from = self.at;
        let body = from + 1;
        let mut length = 0;
        let mut escapes = false;
        loop {
            match self.text.get(body + length) {
                None => return self.outside("a back-quote without its end"),
                Some(b'`') => break,
                Some(b'\\') => {
                    escapes |= matches!(
                        self.text.get(body + length + 1),
                        Some(b'$' | b'`' | b'\\' | b'"')
                    );
                    length += 2;
                }
                Some(_) => length += 1,
            }
        }
        let inner = &self.source[body..body + length];
        if inner.contains("<<") || (inner.contains('\n') && !self.pending.is_empty()) {
            return self.outside("a here-document in back-quotes");
        }
        // bash looks for braces before it knows that back-quotes hold a text: a quote in them ends
        // the one around them.
        let has_braces = || {
            inner.contains('{')
                && inner.contains('}')
                && (inner.contains(',') || inner.contains(".."))
        };
        if quoted && self.shell != Shell::Posix && inner.contains('"') && has_braces() {
            return self.outside("braces in back-quotes within quotes");
        }
        if self.depth >= MAX_DEPTH {
            return self.outside("it is nested too deeply");
        }
        let end = body + length;
        // A backslash is taken off before `$`, a back-quote and itself, and in quotes before a
        // quote; then places are those of the whole.
        let is_taken_off = |next: char| matches!(next, '$' | '`' | '\\') || quoted && next == '"';
        let taken_off = escapes.then(|| without_backslashes(inner, is_taken_off));
        // zsh reads ``git>\\push`` in back-quotes as the words `git push`, without a redirection.
        let is_odd = ["\\\\$", "<\\\\", ">\\\\"]
            .iter()
            .any(|odd| inner.contains(odd));
        let is_zsh = !self.shell.is_bash_or_dash();
        if escapes && (is_odd || is_zsh && (quoted || inner.contains("\\`"))) {
            return self.outside("back-quotes with a backslash");
        }
        let source = taken_off.as_deref().unwrap_or(&self.source[..end]);
        let mut reader = Reader {
            at: if escapes { 0 } else { body },
            again: self.again,
            lines: 1,
            ..Reader::new(source, self.shell, self.depth + 1)
        };
        let list = match reader.list(Until::Text) {
            Ok(list) => list,
            // In one with an error dash runs what stands before it, and every shell runs what
            // stands around it.
            Err(outside) => {
                let why = if outside.why == UNCLOSED {
                    "a quote without its end in back-quotes"
                } else {
                    outside.why
                };
                return Err(Outside {
                    why,
                    at: if escapes { from..end } else { outside.at },
                });
            }
        };
        self.at = end + 1;
        Ok(Part::Command {
            list: Rc::new(list),
            quoted,
            moved: escapes,
            span: from..self.at,
        })
    }

    /// `$'…'` and `$"…"` where quotes quote; nothing is taken if it is neither.
    fn dollar_quotes(&mut self, parts: &mut Vec<Part>, text: &mut CompactString) -> Read<bool> {
        let Some(quote @ (b'\'' | b'"')) = self.ahead(1) else {
            return Ok(false);
        };
        self.bash_only()?;
        push_text(parts, text, false);
        self.at += 2;
        if quote == b'"' {
            self.double_quotes(parts)?;
        } else {
            let text = self.ansi_quotes()?.into();
            parts.push(Part::Text { text, quoted: true });
        }
        Ok(true)
    }

    /// The inside of `$'…'` with its end.
    fn ansi_quotes(&mut self) -> Read<String> {
        let mut text = String::new();
        loop {
            let Some(byte) = self.peek() else {
                return self.outside(UNCLOSED);
            };
            match byte {
                b'\'' => {
                    self.at += 1;
                    return Ok(text);
                }
                b'\\' => {
                    self.at += 1;
                    let escape = self.peek().unwrap_or(0);
                    self.at += 1;
                    let decoded = match escape {
                        b'n' => '\n',
                        b't' => '\t',
                        b'r' => '\r',
                        b'a' => '\x07',
                        b'b' => '\x08',
                        b'f' => '\x0c',
                        b'v' => '\x0b',
                        b'e' | b'E' => '\x1b',
                        b'\\' | b'\'' | b'"' | b'?' => escape as char,
                        b'x' => self.digits(16, 2)?,
                        b'u' => self.digits(16, 4)?,
                        // NUL ends the text, and here it ends anyway.
                        b'0' if self.peek() == Some(b'\'') => continue,
                        b'0'..=b'7' => {
                            self.at -= 1;
                            self.digits(8, 3)?
                        }
                        // Bash keeps the backslash.
                        b'[' | b']' | b'(' | b')' | b'.' | b'/' | b' '
                            if self.shell == Shell::Bash =>
                        {
                            text.push('\\');
                            escape as char
                        }
                        _ => return self.outside("an unusual escape in $'…'"),
                    };
                    text.push(decoded);
                }
                b'\n' => {
                    self.no_pending()?;
                    text.push('\n');
                    self.at += 1;
                }
                _ => text.push(self.take_char()),
            }
        }
    }

    fn digits(&mut self, radix: u32, most: usize) -> Read<char> {
        let (mut value, mut count) = (0u32, 0);
        while count < most
            && let Some(digit) = self.peek().and_then(|byte| (byte as char).to_digit(radix))
        {
            value = value * radix + digit;
            count += 1;
            self.at += 1;
        }
        // NUL ends a text, and a byte above ASCII is only a part of a character.
        match char::from_u32(value) {
            Some(c) if count > 0 && value != 0 && (value < 128 || most == 4) => Ok(c),
            _ => self.outside("an unusual escape in $'…'"),
        }
    }
}

/// Where a word stands, which decides what is special in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Plain,
    /// After `NAME=`: no braces, no functions.
    Value,
    /// In `[[ … ]]`.
    Test,
    /// After `=~`.
    Regex,
    /// Between `{`, `,` and `}`.
    Alternative,
}

/// A text without the backslashes before some signs.
pub(super) fn without_backslashes(text: &str, is_taken_off: impl Fn(char) -> bool) -> String {
    let mut read = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match rest.next_if(|next| c == '\\' && is_taken_off(*next)) {
            Some(next) => read.push(next),
            None => read.push(c),
        }
    }
    read
}

/// Whether what stands before a `~` in a word makes it one that is expanded: `NAME=` of a word, a
/// colon of what is assigned.
fn is_before_tilde(text: &str, is_first: bool, context: Context) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    match context {
        Context::Value => text.ends_with(':'),
        Context::Plain => is_first && text.strip_suffix('=').is_some_and(is_name),
        _ => false,
    }
}

/// A byte that is itself in any word of any shell.
fn is_plain(byte: u8) -> bool {
    /// Asked for most bytes of a text.
    static PLAIN: [bool; 256] = {
        let mut plain = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            let it = byte as u8;
            plain[byte] = it.is_ascii_alphanumeric()
                || matches!(it, b'-' | b'_' | b'.' | b'/' | b':' | b'@' | b'%' | b'+');
            byte += 1;
        }
        plain
    };
    PLAIN[usize::from(byte)]
}

fn push_text(parts: &mut Vec<Part>, text: &mut CompactString, quoted: bool) {
    if !text.is_empty() {
        parts.push(Part::Text {
            text: std::mem::take(text),
            quoted,
        });
    }
}

/// Adds a part behind the text before it.
fn push(parts: &mut Vec<Part>, text: &mut CompactString, quoted: bool, part: Part) {
    push_text(parts, text, quoted);
    parts.push(part);
}

impl Word {
    /// The word's text if it is nothing but unquoted text.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [
                Part::Text {
                    text,
                    quoted: false,
                },
            ] => Some(text),
            _ => None,
        }
    }
}

/// The letters of `{a..e}`, in braces; nothing if it is another range.
fn letters_between(range: &str) -> Option<Part> {
    let (first, last) = range.split_once("..")?;
    let (&[first], &[last]) = (first.as_bytes(), last.as_bytes()) else {
        return None;
    };
    let is_case = |of: fn(&u8) -> bool| of(&first) && of(&last);
    if !is_case(u8::is_ascii_lowercase) && !is_case(u8::is_ascii_uppercase) {
        return None;
    }
    let letter = |byte: u8| {
        vec![Part::Text {
            text: CompactString::from_iter([char::from(byte)]),
            quoted: false,
        }]
    };
    let mut letters: Vec<_> = (first.min(last)..=first.max(last)).map(letter).collect();
    if first > last {
        letters.reverse();
    }
    Some(Part::Brace(letters))
}

/// Whether a word has a brace that closes none of its own, and isn't quoted. To zsh it ends a group
/// wherever it stands.
fn closes_brace(word: &str) -> bool {
    if !word.contains('}') {
        return false;
    }
    let (mut open, mut quote) = (0_usize, None);
    let mut signs = word.chars();
    while let Some(sign) = signs.next() {
        match (sign, quote) {
            ('\\', None | Some('"')) => drop(signs.next()),
            ('\'' | '"', None) => quote = Some(sign),
            (sign, Some(end)) if sign == end => quote = None,
            ('{', None) => open += 1,
            ('}', None) if open == 0 => return true,
            ('}', None) => open -= 1,
            _ => {}
        }
    }
    false
}

/// Whether the word means something at the start of a command.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}
