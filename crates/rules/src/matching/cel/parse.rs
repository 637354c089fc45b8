//! From a text in CEL to its tree. A Pratt parser by the grammar of the language definition; `has`,
//! `all`, `exists`, `exists_one`, `filter` and `map` are macros there and nodes of their own here.
//!
//! The parser recurses as deep as brackets, choices and prefixes are inside one another; all are
//! bounded.

use super::functions::{self, Function};
use hookwire_base::support::nearest::{closest, did_you_mean};
use regex::Regex;
use std::ops::Range;

/// The longest expression, in bytes.
pub(super) const MAX_LENGTH: usize = 4096;
/// The most operators of one expression.
pub(super) const MAX_OPERATORS: usize = 256;
/// The most brackets and choices inside one another.
pub(super) const MAX_NESTING: usize = 24;

/// A mistake in an expression.
#[derive(Debug, PartialEq, Eq)]
pub struct CelError {
    /// Where, in bytes of the expression.
    pub at: Range<usize>,
    /// Lowercase, no full stop.
    pub message: String,
    /// What to write instead of what is there.
    pub instead: Option<String>,
}

/// A node of the tree.
#[derive(Debug)]
pub(super) struct Expr {
    pub(super) kind: Kind,
    /// Where it is written.
    pub(super) at: Range<usize>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Item>),
    Map(Vec<(Expr, Item)>),
    Ident(String),
    /// `operand.field`.
    Select {
        operand: Box<Expr>,
        field: String,
        how: Access,
    },
    /// `has(name)`: a member of the event itself.
    Has {
        name: String,
        /// Where the name is written.
        of: Range<usize>,
    },
    /// `operand[index]`.
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        how: Access,
    },
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Binary {
        operator: Operator,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `condition ? then : otherwise`.
    Choice {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    /// The target of a method is its first argument.
    Call {
        function: Function,
        args: Vec<Expr>,
        regex: Option<Regex>,
    },
    /// A macro over a list or the keys of a map.
    Each {
        each: Each,
        over: Box<Expr>,
        variable: String,
        filter: Option<Box<Expr>>,
        body: Box<Expr>,
    },
}

/// An item of a list or a map; an optional one is left out if it has no value.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) value: Expr,
    pub(super) is_optional: bool,
}

/// How a member is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// `a.b`: an error if it isn't there.
    Get,
    /// `has(a.b)`.
    Test,
    /// `a.?b`: an optional value.
    Optional,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Each {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    /// How it is written.
    pub(super) fn text(self) -> &'static str {
        OPERATORS
            .iter()
            .find(|(_, operator, _)| *operator == self)
            .map_or("", |(text, ..)| text)
    }
}

/// The binary operators with how tightly they bind; of two that begin alike, the longer one first.
const OPERATORS: [(&str, Operator, u8); 14] = [
    ("||", Operator::Or, 1),
    ("&&", Operator::And, 2),
    ("<=", Operator::LessOrEqual, 3),
    (">=", Operator::GreaterOrEqual, 3),
    ("==", Operator::Equal, 3),
    ("!=", Operator::NotEqual, 3),
    ("<", Operator::Less, 3),
    (">", Operator::Greater, 3),
    ("in", Operator::In, 3),
    ("+", Operator::Add, 4),
    ("-", Operator::Subtract, 4),
    ("*", Operator::Multiply, 5),
    ("/", Operator::Divide, 5),
    ("%", Operator::Remainder, 5),
];

const MACROS: [(&str, Each); 6] = [
    ("all", Each::All),
    ("exists", Each::Exists),
    ("exists_one", Each::ExistsOne),
    ("existsOne", Each::ExistsOne),
    ("filter", Each::Filter),
    ("map", Each::Map),
];

impl Each {
    /// The macro's name.
    pub(super) fn name(self) -> &'static str {
        MACROS
            .iter()
            .find(|(_, each)| *each == self)
            .map_or("", |(name, _)| name)
    }
}

/// Words that name nothing, for the language or for those to come.
const RESERVED: &str = "as break const continue else for function if import let loop package namespace return var void";

/// Words that people write from habit, and what CEL has for them.
const HABITS: [(&str, &str); 4] = [("=", "=="), ("and", "&&"), ("or", "||"), ("not", "!")];

type Parsed<T> = Result<T, CelError>;

/// Reads an expression.
pub(super) fn parse(source: &str) -> Parsed<Expr> {
    let mut parser = Parser {
        source,
        at: 0,
        nesting: 0,
        n_operators: 0,
    };
    if source.len() > MAX_LENGTH {
        let message = format!("it is longer than {MAX_LENGTH} bytes; a `script` has room for more");
        return Err(error(MAX_LENGTH..source.len(), message));
    }
    let expr = parser.expr()?;
    if parser.skip_space() < source.len() {
        Err(parser.unexpected())
    } else {
        Ok(expr)
    }
}

fn error(at: Range<usize>, message: impl Into<String>) -> CelError {
    CelError {
        at,
        message: message.into(),
        instead: None,
    }
}

struct Parser<'s> {
    source: &'s str,
    at: usize,
    nesting: usize,
    n_operators: usize,
}

impl<'s> Parser<'s> {
    /// Past white space and comments; where the next token begins.
    fn skip_space(&mut self) -> usize {
        loop {
            self.at += self.rest().len()
                - self
                    .rest()
                    .trim_start_matches([' ', '\t', '\n', '\r', '\u{c}'])
                    .len();
            if !self.rest().starts_with("//") {
                return self.at;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    /// The token that is next, for messages: a word, a number, or one sign.
    fn token(&mut self) -> &'s str {
        self.skip_space();
        let rest = self.rest();
        let n_word = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        if n_word > 0 {
            return &rest[..n_word];
        }
        if let Some((operator, ..)) = OPERATORS.iter().find(|(text, ..)| rest.starts_with(text)) {
            return &rest[..operator.len()];
        }
        &rest[..rest.chars().next().map_or(0, char::len_utf8)]
    }

    fn unexpected(&mut self) -> CelError {
        let token = self.token();
        let at = self.at..self.at + token.len();
        if token.is_empty() {
            return error(at, "it ends too early");
        }
        match HABITS.iter().find(|(habit, _)| *habit == token) {
            Some((_, instead)) => CelError {
                instead: Some(instead.to_string()),
                ..error(
                    at,
                    format!("unexpected `{token}`; did you mean `{instead}`?"),
                )
            },
            None => error(at, format!("unexpected `{token}`")),
        }
    }

    /// Whether a sign is next; it is then read.
    fn takes(&mut self, sign: &str) -> bool {
        let before = self.at;
        self.skip_space();
        let is_next = self.rest().starts_with(sign);
        // The space behind a value is no part of it.
        self.at = if is_next {
            self.at + sign.len()
        } else {
            before
        };
        is_next
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.takes(sign) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// Reads what is within brackets or behind a `?`, one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            let at = self.at.saturating_sub(1);
            return Err(error(
                at..self.at,
                format!("more than {MAX_NESTING} brackets are inside one another"),
            ));
        }
        let result = read(self);
        self.nesting -= 1;
        result
    }

    fn count_operator(&mut self) -> Parsed<()> {
        self.n_operators += 1;
        if self.n_operators > MAX_OPERATORS {
            let message =
                format!("it has more than {MAX_OPERATORS} operators; a `script` has room for more");
            return Err(error(self.at.saturating_sub(1)..self.at, message));
        }
        Ok(())
    }

    fn expr(&mut self) -> Parsed<Expr> {
        let condition = self.binary(1)?;
        if !self.takes("?") {
            return Ok(condition);
        }
        self.nested(|parser| {
            let then = parser.expr()?;
            parser.expect(":")?;
            let otherwise = parser.expr()?;
            let at = condition.at.start..otherwise.at.end;
            let (condition, then, otherwise) =
                (Box::new(condition), Box::new(then), Box::new(otherwise));
            Ok(Expr {
                kind: Kind::Choice {
                    condition,
                    then,
                    otherwise,
                },
                at,
            })
        })
    }

    /// Operators that bind at least as tightly as this.
    fn binary(&mut self, tightness: u8) -> Parsed<Expr> {
        let mut left = self.prefixed()?;
        while let Some((operator, binds)) = self.operator().filter(|(_, binds)| *binds >= tightness)
        {
            self.at += operator.text().len();
            self.count_operator()?;
            let right = self.binary(binds + 1)?;
            let at = left.at.start..right.at.end;
            left = Expr {
                kind: Kind::Binary {
                    operator,
                    left: Box::new(left),
                    right: Box::new(right),
                },
                at,
            };
        }
        Ok(left)
    }

    fn operator(&mut self) -> Option<(Operator, u8)> {
        self.skip_space();
        let rest = self.rest();
        let (text, operator, binds) = OPERATORS.iter().find(|(text, ..)| rest.starts_with(text))?;
        let is_name = *operator == Operator::In && rest[text.len()..].starts_with(is_word);
        (!is_name).then_some((*operator, *binds))
    }

    fn prefixed(&mut self) -> Parsed<Expr> {
        let start = self.skip_space();
        let sign = self.rest().bytes().next();
        match sign {
            Some(b'!') => {}
            // A number has its own sign: the smallest has no positive counterpart.
            Some(b'-')
                if !self.rest()[1..]
                    .trim_start()
                    .starts_with(|c: char| c.is_ascii_digit() || c == '.') => {}
            _ => return self.member(),
        }
        self.at += 1;
        self.count_operator()?;
        let operand = Box::new(self.prefixed()?);
        let at = start..operand.at.end;
        Ok(Expr {
            kind: if sign == Some(b'!') {
                Kind::Not(operand)
            } else {
                Kind::Negate(operand)
            },
            at,
        })
    }

    /// A value with the members, indices and calls behind it.
    fn member(&mut self) -> Parsed<Expr> {
        let mut operand = self.primary()?;
        loop {
            let start = operand.at.start;
            let kind = if self.takes(".") {
                self.count_operator()?;
                let how = if self.takes("?") {
                    Access::Optional
                } else {
                    Access::Get
                };
                let (name, at) = self.member_name()?;
                if how == Access::Get && self.takes("(") {
                    self.nested(|parser| parser.method(operand, &name, at))?
                } else {
                    Kind::Select {
                        operand: Box::new(operand),
                        field: name,
                        how,
                    }
                }
            } else if self.takes("[") {
                let how = if self.takes("?") {
                    Access::Optional
                } else {
                    Access::Get
                };
                let index = self.nested(Self::expr)?;
                self.expect("]")?;
                Kind::Index {
                    operand: Box::new(operand),
                    index: Box::new(index),
                    how,
                }
            } else {
                return Ok(operand);
            };
            operand = Expr {
                kind,
                at: start..self.at,
            };
        }
    }

    fn word(&mut self) -> (&'s str, Range<usize>) {
        let start = self.skip_space();
        let rest = self.rest();
        let is_name = rest.starts_with(|c: char| is_word(c) && !c.is_ascii_digit());
        let n = if is_name {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            0
        };
        self.at += n;
        (&rest[..n], start..self.at)
    }

    /// The name behind a dot; in backticks it may hold more than letters.
    fn member_name(&mut self) -> Parsed<(String, Range<usize>)> {
        let start = self.skip_space();
        if let Some(quoted) = self.rest().strip_prefix('`') {
            let is_part = |c: char| is_word(c) || matches!(c, '.' | '-' | '/' | ' ');
            let n = quoted
                .find(|c| !is_part(c))
                .filter(|n| *n > 0 && quoted[*n..].starts_with('`'));
            let Some(n) = n else {
                return Err(error(start..start + 1, "the name in backticks doesn't end"));
            };
            self.at += n + 2;
            return Ok((quoted[..n].to_string(), start..self.at));
        }
        let (name, at) = self.word();
        if name.is_empty() || matches!(name, "true" | "false" | "null" | "in") {
            self.at = at.start;
            return Err(self.unexpected());
        }
        Ok((name.to_string(), at))
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.skip_space();
        let kind = match self.rest().bytes().next() {
            Some(b'(') => {
                self.at += 1;
                let inner = self.nested(Self::expr)?;
                self.expect(")")?;
                inner.kind
            }
            Some(b'[') => {
                self.at += 1;
                Kind::List(self.nested(|parser| parser.listed("]", Self::item))?)
            }
            Some(b'{') => {
                self.at += 1;
                Kind::Map(self.nested(|parser| {
                    parser.listed("}", |parser| {
                        let is_optional = parser.takes("?");
                        let key = parser.expr()?;
                        parser.expect(":")?;
                        Ok((
                            key,
                            Item {
                                value: parser.expr()?,
                                is_optional,
                            },
                        ))
                    })
                })?)
            }
            Some(b'0'..=b'9' | b'-') => self.number()?,
            Some(b'.') if self.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                self.number()?
            }
            _ => match self.text()? {
                Some(text) => text,
                None => self.named()?,
            },
        };
        Ok(Expr {
            kind,
            at: start..self.at,
        })
    }

    /// Up to the closing bracket; a comma may follow the last.
    fn listed<T>(
        &mut self,
        close: &str,
        mut read: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.takes(close) {
            items.push(read(self)?);
            if !self.takes(",") {
                self.expect(close)?;
                break;
            }
        }
        Ok(items)
    }

    fn item(&mut self) -> Parsed<Item> {
        let is_optional = self.takes("?");
        Ok(Item {
            value: self.expr()?,
            is_optional,
        })
    }

    /// An identifier, a word with a meaning, or the call of a function.
    fn named(&mut self) -> Parsed<Kind> {
        // A leading dot looks a name up from the root, where all of ours are.
        self.takes(".");
        let (name, at) = self.word();
        match name {
            "null" => return Ok(Kind::Null),
            "true" => return Ok(Kind::Bool(true)),
            "false" => return Ok(Kind::Bool(false)),
            "" | "in" => {
                self.at = at.start;
                return Err(self.unexpected());
            }
            _ if RESERVED.split(' ').any(|it| it == name) => {
                return Err(error(at, format!("`{name}` is a reserved word of CEL")));
            }
            _ => {}
        }
        if name == "optional" && self.takes(".") {
            let (name, at) = self.word();
            self.expect("(")?;
            return self
                .nested(|parser| parser.function(&format!("optional.{name}"), at, Vec::new()));
        }
        if !self.takes("(") {
            return Ok(Kind::Ident(name.to_string()));
        }
        self.nested(|parser| match name {
            "has" => parser.has(at),
            _ => parser.function(name, at, Vec::new()),
        })
    }

    fn has(&mut self, at: Range<usize>) -> Parsed<Kind> {
        let member = self.expr()?;
        self.expect(")")?;
        match member.kind {
            Kind::Select {
                operand,
                field,
                how: Access::Get,
            } => Ok(Kind::Select {
                operand,
                field,
                how: Access::Test,
            }),
            Kind::Ident(name) => Ok(Kind::Has {
                name,
                of: member.at,
            }),
            _ => Err(error(
                at.start..self.at,
                "`has()` takes a member, such as `has(tool.input.path)`",
            )),
        }
    }

    /// The call of a method: a macro, or a function whose first argument is the target.
    fn method(&mut self, target: Expr, name: &str, at: Range<usize>) -> Parsed<Kind> {
        let Some((_, each)) = MACROS.iter().find(|(known, _)| *known == name) else {
            return self.function(name, at, vec![target]);
        };
        let variable = self.expr()?;
        let Kind::Ident(variable) = variable.kind else {
            return Err(error(
                variable.at,
                format!("`{name}()` takes a name for the item first"),
            ));
        };
        self.expect(",")?;
        let mut parts = self.listed(")", Self::expr)?;
        let n_allowed = if *each == Each::Map { 2 } else { 1 };
        let body = parts.pop().filter(|_| parts.len() < n_allowed);
        let Some(body) = body.map(Box::new) else {
            let message = format!("`{name}()` takes a name for the item and a condition on it");
            return Err(error(at.start..self.at, message));
        };
        let filter = parts.pop().map(Box::new);
        Ok(Kind::Each {
            each: *each,
            over: Box::new(target),
            variable,
            filter,
            body,
        })
    }

    /// The arguments of a call and its closing bracket.
    fn function(&mut self, name: &str, at: Range<usize>, mut args: Vec<Expr>) -> Parsed<Kind> {
        let is_method = !args.is_empty();
        args.extend(self.listed(")", Self::expr)?);
        let Some(function) = functions::find(name, is_method, args.len()) else {
            return Err(unknown_function(name, at, is_method));
        };
        let regex = match args.get(1).map(|pattern| (&pattern.kind, &pattern.at)) {
            Some((Kind::Text(pattern), at)) if function == Function::Matches => {
                Some(functions::regex(pattern).map_err(|problem| {
                    // Behind the quote.
                    error(
                        at.start + 1..at.end,
                        format!("bad regex `{pattern}`: {problem}"),
                    )
                })?)
            }
            _ => None,
        };
        Ok(Kind::Call {
            function,
            args,
            regex,
        })
    }

    fn number(&mut self) -> Parsed<Kind> {
        let start = self.at;
        let is_negative = self.takes("-");
        self.skip_space();
        let digits = self.at;
        let rest = self.rest();
        if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let n = hex
                .find(|c: char| !c.is_ascii_hexdigit())
                .unwrap_or(hex.len());
            self.at += 2 + n;
            return self.whole(start, &hex[..n], 16, is_negative);
        }
        let count = |text: &str| {
            text.find(|c: char| !c.is_ascii_digit())
                .unwrap_or(text.len())
        };
        let mut n = count(rest);
        let mut is_double = false;
        if let Some(fraction) = rest[n..].strip_prefix('.')
            && count(fraction) > 0
        {
            (n, is_double) = (n + 1 + count(fraction), true);
        }
        if let Some(exponent) = rest[n..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            if count(&exponent[sign..]) > 0 {
                (n, is_double) = (n + 1 + sign + count(&exponent[sign..]), true);
            }
        }
        self.at += n;
        if !is_double {
            return self.whole(start, &rest[..n], 10, is_negative);
        }
        self.ends_number(start)?;
        match self.source[digits..self.at].parse::<f64>() {
            Ok(number) if number.is_finite() => {
                Ok(Kind::Double(if is_negative { -number } else { number }))
            }
            _ => Err(error(start..self.at, "the number doesn't fit into 64 bits")),
        }
    }

    fn whole(&mut self, start: usize, digits: &str, radix: u32, is_negative: bool) -> Parsed<Kind> {
        let is_unsigned = self.rest().starts_with(['u', 'U']);
        self.at += usize::from(is_unsigned);
        self.ends_number(start)?;
        let sign = if is_negative { "-" } else { "" };
        let number = match is_unsigned {
            true if !is_negative => u64::from_str_radix(digits, radix).ok().map(Kind::Uint),
            true => None,
            false => i64::from_str_radix(&format!("{sign}{digits}"), radix)
                .ok()
                .map(Kind::Int),
        };
        number.ok_or_else(|| error(start..self.at, "the number doesn't fit into 64 bits"))
    }

    fn ends_number(&mut self, start: usize) -> Parsed<()> {
        let n_more = self
            .rest()
            .find(|c| !is_word(c))
            .unwrap_or(self.rest().len());
        if n_more == 0 {
            return Ok(());
        }
        let at = start..self.at + n_more;
        Err(error(
            at.clone(),
            format!("`{}` is not a number", &self.source[at]),
        ))
    }

    /// A text or bytes in quotes, if one is next.
    fn text(&mut self) -> Parsed<Option<Kind>> {
        let start = self.at;
        let prefix: &str = &self.rest()[..self
            .rest()
            .find(['\'', '"'])
            .filter(|n| *n <= 2)
            .unwrap_or(0)];
        let (mut is_raw, mut is_bytes) = (false, false);
        for letter in prefix.chars() {
            match letter.to_ascii_lowercase() {
                'r' if !is_raw => is_raw = true,
                'b' if !is_bytes => is_bytes = true,
                _ => return Ok(None),
            }
        }
        let Some(quote) = self.rest()[prefix.len()..]
            .chars()
            .next()
            .filter(|c| matches!(c, '\'' | '"'))
        else {
            return Ok(None);
        };
        let long: String = std::iter::repeat_n(quote, 3).collect();
        self.at += prefix.len();
        let close = if self.rest().starts_with(&long) {
            long
        } else {
            quote.to_string()
        };
        self.at += close.len();
        let mut bytes = Vec::new();
        loop {
            if self.rest().starts_with(&close) {
                self.at += close.len();
                break;
            }
            match self.rest().chars().next() {
                None => {
                    return Err(error(
                        start..self.source.len(),
                        "the text in quotes doesn't end",
                    ));
                }
                Some('\n' | '\r') if close.len() == 1 => {
                    return Err(error(
                        start..self.at,
                        "the text in quotes doesn't end on its line",
                    ));
                }
                Some('\\') if !is_raw => self.escape(is_bytes, &mut bytes)?,
                Some(c) => {
                    self.at += c.len_utf8();
                    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        if is_bytes {
            return Ok(Some(Kind::Bytes(bytes)));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(Kind::Text(text))),
            Err(_) => Err(error(start..self.at, "the text in quotes is not UTF-8")),
        }
    }

    fn escape(&mut self, is_bytes: bool, out: &mut Vec<u8>) -> Parsed<()> {
        let start = self.at;
        let bad = |until| {
            error(
                start..until,
                "unknown escape; a backslash itself is written `\\\\`",
            )
        };
        let rest = &self.rest()[1..];
        let Some(letter) = rest.chars().next() else {
            return Err(bad(self.source.len()));
        };
        let simple = match letter {
            'a' => Some(7),
            'b' => Some(8),
            'f' => Some(12),
            'n' => Some(b'\n'),
            'r' => Some(b'\r'),
            't' => Some(b'\t'),
            'v' => Some(11),
            '\\' | '?' | '"' | '\'' | '`' => u8::try_from(letter).ok(),
            _ => None,
        };
        if let Some(byte) = simple {
            self.at += 2;
            out.push(byte);
            return Ok(());
        }
        let (skip, n_digits, radix) = match letter {
            'x' | 'X' => (1, 2, 16),
            'u' if !is_bytes => (1, 4, 16),
            'U' if !is_bytes => (1, 8, 16),
            '0'..='3' => (0, 3, 8),
            _ => return Err(bad(start + 1 + letter.len_utf8())),
        };
        let number = rest
            .get(skip..skip + n_digits)
            .filter(|it| it.chars().all(|c| c.is_digit(radix)));
        let number = number.and_then(|digits| u32::from_str_radix(digits, radix).ok());
        self.at += 1 + skip + n_digits;
        match number {
            Some(number) if is_bytes => out.push(number as u8),
            Some(number) => match char::from_u32(number) {
                Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                None => return Err(error(start..self.at, "the escape names no character")),
            },
            None => return Err(bad(self.at.min(self.source.len()))),
        }
        Ok(())
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn unknown_function(name: &str, at: Range<usize>, is_method: bool) -> CelError {
    let known = functions::names(is_method)
        .chain(MACROS.iter().map(|(name, _)| *name).filter(|_| is_method));
    let known: Vec<&str> = known
        .chain(["has"].into_iter().filter(|_| !is_method))
        .collect();
    if known.contains(&name) {
        return error(at, format!("`{name}()` has the wrong number of arguments"));
    }
    let kind = if is_method { "method" } else { "function" };
    let nearest = closest(name, known);
    let hint = did_you_mean(nearest);
    CelError {
        instead: nearest.map(str::to_string),
        ..error(at, format!("there is no {kind} `{name}`{hint}"))
    }
}
