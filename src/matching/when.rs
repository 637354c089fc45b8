//! `when`: a CEL expression over the event.
//!
//! An expression that errs, a missing member included, is opaque and never "no".

use super::Truth;
use cel::common::ast::{Expr, LiteralValue};
use cel::{Context, Program};
use regex::Regex;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// A compiled expression.
pub struct When {
    source: String,
    program: Program,
    /// It takes more stack than a thread may have left.
    is_deep: bool,
}

impl std::fmt::Debug for When {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "When({:?})", self.source)
    }
}

/// A mistake in an expression: the byte offset in it, and what is wrong.
#[derive(Debug, PartialEq, Eq)]
pub struct WhenError {
    /// Byte offset into the expression.
    pub offset: usize,
    /// Lowercase, no full stop.
    pub message: String,
}

/// An event's members as CEL values, made once per version of the event.
pub struct Variables(Vec<(String, cel::Value)>);

/// The longest expression, in bytes, and the most operators in it.
const MAX_LENGTH: usize = 4096;
const MAX_OPERATORS: usize = 256;
/// Brackets and choices inside one another.
const MAX_NESTING: usize = 24;
/// As many brackets and operators fit on the stack of every thread.
const FLAT: usize = 4;
const SHORT: usize = 48;
/// The stack that the deepest expression takes, in bytes: in a debug build, the parser takes some 200 KB for
/// each bracket.
const STACK: usize = 16 << 20;

/// Members that an expression may name even when this event lacks them; they are null then.
pub(crate) const MEMBERS: [&str; 18] = [
    "event",
    "session",
    "run",
    "step",
    "agent",
    "tool",
    "model",
    "prompt",
    "result",
    "error",
    "lastMessage",
    "stopActive",
    "compaction",
    "cwd",
    "messages",
    "metadata",
    "systemPrompt",
    "responseFormat",
];

impl Variables {
    /// Converts an event's data.
    pub fn new(data: &Value) -> Variables {
        let mut variables = Vec::new();
        if let Some(object) = data.as_object() {
            for (key, value) in object {
                if let Ok(value) = cel::to_value(value) {
                    variables.push((key.clone(), value));
                }
            }
            for member in MEMBERS.iter().filter(|member| !object.contains_key(**member)) {
                variables.push((member.to_string(), cel::Value::Null));
            }
        }
        Variables(variables)
    }
}

impl When {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Names the first mistake and its place, a bad literal regex in `matches()` included.
    pub fn new(source: &str) -> Result<When, WhenError> {
        let is_deep = check_bounds(source)?;
        let program = with_stack(is_deep, || {
            Program::compile(source).map_err(|errors| match errors.errors.first() {
                Some(error) => {
                    WhenError { offset: offset_of(source, error.pos), message: in_words(&error.msg.to_lowercase()) }
                }
                None => WhenError { offset: 0, message: "not a CEL expression".into() },
            })
        })?;
        let mut bad_regex = None;
        walk(&program.expression().expr, &mut |expr| {
            if let Some(pattern) = literal_pattern(expr)
                && let Err(error) = compile_regex(pattern)
            {
                bad_regex.get_or_insert(WhenError {
                    offset: source.find(pattern).unwrap_or(0),
                    message: format!("bad regex `{pattern}`: {}", super::last_line(&error)),
                });
            }
        });
        match bad_regex {
            Some(error) => Err(error),
            None => Ok(When { source: source.to_string(), program, is_deep }),
        }
    }

    /// The expression as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the expression holds.
    pub fn holds(&self, variables: &Variables) -> Truth {
        match self.value(variables) {
            Ok(cel::Value::Bool(true)) => Truth::Yes,
            Ok(cel::Value::Bool(false)) => Truth::No,
            Ok(other) => Truth::Opaque(format!("`when` gave {}, not a boolean", other.type_of()).into()),
            Err(error) => Truth::Opaque(format!("`when` failed: {error}").into()),
        }
    }

    /// The expression's value as a text to tell things apart by. What the event lacks is empty.
    ///
    /// # Errors
    /// Says what the expression did instead: `failed: ...`, `gave a list`.
    pub fn key(&self, variables: &Variables) -> Result<String, String> {
        match self.value(variables) {
            Ok(cel::Value::String(text)) => Ok(text.to_string()),
            Ok(cel::Value::Int(number)) => Ok(number.to_string()),
            Ok(cel::Value::UInt(number)) => Ok(number.to_string()),
            Ok(cel::Value::Float(number)) => Ok(number.to_string()),
            Ok(cel::Value::Bool(value)) => Ok(value.to_string()),
            Ok(cel::Value::Null) | Err(cel::ExecutionError::NoSuchKey(_)) => Ok(String::new()),
            // A member of a member that the event lacks.
            Err(error) if error.to_string().contains("'_._' applied to '(null_type") => Ok(String::new()),
            Ok(other) => Err(format!("gave {}, not a text or a number", other.type_of())),
            Err(error) => Err(format!("failed: {error}")),
        }
    }

    fn value(&self, variables: &Variables) -> Result<cel::Value, cel::ExecutionError> {
        ROOT.with(|root| {
            let mut scope = root.new_inner_scope();
            for (name, value) in &variables.0 {
                scope.add_variable_from_value(name.as_str(), value.clone());
            }
            with_stack(self.is_deep, || self.program.execute(&scope))
        })
    }

    /// Member paths that the expression names, `has()` included, each with where it is first written.
    pub fn references(&self) -> Vec<(String, Range<usize>)> {
        let (mut paths, mut bound) = (BTreeSet::new(), BTreeSet::new());
        walk(&self.program.expression().expr, &mut |expr| match expr {
            Expr::Ident(_) | Expr::Select(_) => paths.extend(path_with_has(expr)),
            Expr::Comprehension(it) => {
                bound.extend([it.iter_var.clone(), it.accu_var.clone()].into_iter().chain(it.iter_var2.clone()));
            }
            _ => {}
        });
        let first = |path: &str| path.split('.').next().unwrap_or_default().to_string();
        // `a` is part of `a.b` and not listed beside it.
        let inner = |path: &String| paths.iter().any(|other| other.starts_with(&format!("{path}.")));
        let free = paths.iter().filter(|path| !bound.contains(&first(path)) && !inner(path));
        free.filter_map(|path| Some((path.clone(), first_place(&self.source, path)?))).collect()
    }

    /// Member paths that the expression reads without asking `has()` first, and that an event may
    /// lack: on such an event the expression errs.
    pub fn unguarded(&self) -> Vec<String> {
        let mut read = BTreeSet::new();
        let mut guarded = BTreeSet::new();
        walk(&self.program.expression().expr, &mut |expr| {
            if let Expr::Select(select) = expr
                && let Some(operand) = path(&select.operand.expr)
            {
                let whole = format!("{operand}.{}", select.field);
                if select.test {
                    guarded.insert(whole)
                } else {
                    read.insert(whole)
                };
            }
        });
        let always = ["tool.name", "tool.input", "agent.name"];
        let inner = |path: &String| read.iter().any(|other| other.starts_with(&format!("{path}.")));
        let safe = |path: &String| always.contains(&path.as_str()) || guarded.contains(path) || inner(path);
        read.iter().filter(|path| !safe(path)).cloned().collect()
    }
}

thread_local! {
    // A context holds no lock and can't cross threads; building one costs more than evaluating.
    static ROOT: Context<'static, 'static> = {
        let mut root = Context::default();
        // The crate's own `matches` compiles its regex at every call.
        if let Err(error) = root.add_function("matches", matches) {
            tracing::error!(%error, "CEL has no `matches`.");
        }
        root
    };
    static REGEXES: RefCell<HashMap<String, Option<Regex>>> = RefCell::new(HashMap::new());
}

/// Patterns come from definitions, but may be put together from event text: bounded.
const MAX_CACHED_REGEXES: usize = 256;

fn compile_regex(pattern: &str) -> Result<Regex, String> {
    regex::RegexBuilder::new(pattern).size_limit(1 << 20).build().map_err(|error| error.to_string())
}

fn matches(
    cel::extractors::This(text): cel::extractors::This<Arc<String>>,
    pattern: Arc<String>,
) -> Result<bool, cel::ExecutionError> {
    REGEXES.with_borrow_mut(|cache| {
        if cache.len() >= MAX_CACHED_REGEXES && !cache.contains_key(pattern.as_str()) {
            cache.clear();
        }
        let regex = cache.entry(pattern.to_string()).or_insert_with(|| compile_regex(&pattern).ok());
        match regex {
            Some(regex) => Ok(regex.is_match(&text)),
            None => Err(cel::ExecutionError::function_error("matches", format!("bad regex `{pattern}`"))),
        }
    })
}

fn literal_pattern(expr: &Expr) -> Option<&str> {
    let Expr::Call(call) = expr else { return None };
    if call.func_name != "matches" {
        return None;
    }
    match call.args.last().map(|arg| &arg.expr) {
        Some(Expr::Literal(LiteralValue::String(text))) => Some(text.inner()),
        _ => None,
    }
}

/// `a.b.c` as text, for selects on a plain identifier.
fn path(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Ident(name) if MEMBERS.contains(&name.as_str()) => Some(name.clone()),
        Expr::Select(select) if !select.test => Some(format!("{}.{}", path(&select.operand.expr)?, select.field)),
        _ => None,
    }
}

/// The same for whatever identifier, `has()` included.
fn path_with_has(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) => Some(format!("{}.{}", path_with_has(&select.operand.expr)?, select.field)),
        _ => None,
    }
}

/// Where a path is first written outside of a text in quotes.
fn first_place(source: &str, path: &str) -> Option<Range<usize>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let (mut quote, mut is_escaped) = (None, false);
    for (at, c) in source.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None => {
                let (before, rest) = source.split_at_checked(at)?;
                let Some(behind) = rest.strip_prefix(path) else { continue };
                // A call of a member may follow.
                let ends = !behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
                if ends && !before.ends_with(is_part) {
                    return Some(at..at + path.len());
                }
            }
        }
    }
    None
}

/// Whether an expression may need more stack than a thread has left. Its parser and what walks its tree
/// recurse, and a full stack ends the process: an expression that could fill even [`STACK`] is refused before
/// it is parsed. Brackets and operators within quotes count too, because only the parser knows where a text
/// ends.
fn check_bounds(source: &str) -> Result<bool, WhenError> {
    let refuse = |offset, message: String| Err(WhenError { offset, message });
    if source.len() > MAX_LENGTH {
        return refuse(MAX_LENGTH, format!("it is longer than {MAX_LENGTH} bytes; a `script` has room for more"));
    }
    let (mut depth, mut deepest, mut operators) = (0_usize, 0, 0);
    for (offset, byte) in source.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            // The next choice of a chain stands inside the one before it.
            b'?' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'&' | b'|' | b'.' => operators += 1,
            _ => {}
        }
        deepest = deepest.max(depth);
        if depth > MAX_NESTING {
            return refuse(offset, format!("more than {MAX_NESTING} brackets are inside one another"));
        }
        if operators > MAX_OPERATORS {
            return refuse(offset, format!("it has more than {MAX_OPERATORS} operators; a `script` has room for more"));
        }
    }
    Ok(deepest > FLAT || operators > SHORT)
}

/// Does what recurses as deep as an expression, with the stack that this takes.
fn with_stack<T>(is_deep: bool, work: impl FnOnce() -> T) -> T {
    if is_deep { stacker::maybe_grow(STACK, STACK, work) } else { work() }
}

/// Visits every node; [`check_bounds`] bounds the recursion.
fn walk(expr: &Expr, visit: &mut impl FnMut(&Expr)) {
    visit(expr);
    match expr {
        Expr::Call(call) => {
            call.target.iter().for_each(|target| walk(&target.expr, visit));
            call.args.iter().for_each(|arg| walk(&arg.expr, visit));
        }
        Expr::Comprehension(it) => {
            for part in [&it.iter_range, &it.accu_init, &it.loop_cond, &it.loop_step, &it.result] {
                walk(&part.expr, visit);
            }
        }
        Expr::List(list) => list.elements.iter().for_each(|element| walk(&element.expr, visit)),
        Expr::Select(select) => walk(&select.operand.expr, visit),
        Expr::Map(_) | Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}

fn offset_of(source: &str, (line, column): (isize, isize)) -> usize {
    let line = usize::try_from(line).unwrap_or(1).max(1);
    let column = usize::try_from(column).unwrap_or(1).max(1);
    let start: usize = source.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let rest = source.get(start..).unwrap_or_default();
    start + rest.char_indices().nth(column - 1).map_or(rest.len(), |(index, _)| index)
}

/// A message of the parser without the list of every token that could have come instead.
fn in_words(message: &str) -> String {
    let message = message.strip_prefix("syntax error: ").unwrap_or(message);
    let message = message.split(" expecting ").next().unwrap_or(message);
    let quoted = |start: &str| message.strip_prefix(start)?.strip_suffix('\'');
    match quoted("mismatched input '").or_else(|| quoted("extraneous input '")) {
        Some("<eof>") => "it ends too early".into(),
        Some(token) => format!("unexpected `{token}`"),
        None => message.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn holds_or_not_or_opaque() {
        let variables = Variables::new(
            &json!({"event": "PreToolUse", "tool": {"name": "pay", "input": {"amount": 1200, "to": "bob"}}}),
        );
        for (source, expected) in [
            ("tool.input.amount > 1000", "yes"),
            ("has(tool.input.amount) && double(tool.input.amount) > 1000.0", "yes"),
            ("tool.input.to.matches('^b')", "yes"),
            ("tool.input.to.startsWith('c')", "no"),
            ("has(tool.input.missing)", "no"),
            ("prompt == null", "yes"),
            ("tool.input.missing > 3", "opaque"),
            ("tool.input.amount", "opaque"),
            ("nobody > 3", "opaque"),
        ] {
            let truth = When::new(source).unwrap().holds(&variables);
            let word = match truth {
                Truth::Yes => "yes",
                Truth::No => "no",
                Truth::Opaque(_) => "opaque",
            };
            assert_eq!(word, expected, "{source}");
        }
    }

    /// On a thread as small as those that hooks run on.
    #[test]
    fn no_expression_fills_the_stack() {
        let around = |n: usize| format!("{}true{}", "(".repeat(n), ")".repeat(n));
        let nested = |open: &str, n: usize, close: &str| format!("{}1{} == 1", open.repeat(n), close.repeat(n));
        let fine = [
            around(MAX_NESTING),
            nested("size([", MAX_NESTING / 2, "])"),
            format!("1{} > 0", "+1".repeat(MAX_OPERATORS - 2)),
            format!("tool{} == 1", ".a".repeat(MAX_OPERATORS - 2)),
            format!("{}true", "!".repeat(MAX_OPERATORS)),
            format!("true{}", " ? true : true".repeat(MAX_NESTING)),
            format!("true{}", " ? true".repeat(MAX_NESTING) + &" : true".repeat(MAX_NESTING)),
            format!("true{}", " && true".repeat(MAX_OPERATORS / 2)),
            format!("{}true{}", "[1].all(x, ".repeat(MAX_NESTING / 2), ")".repeat(MAX_NESTING / 2)),
        ];
        let refused = [
            around(MAX_NESTING + 1),
            around(20_000),
            format!("1{}", "+1".repeat(5_000)),
            format!("'{}'", "a".repeat(MAX_LENGTH)),
            format!("true{}", " ? true : true".repeat(MAX_NESTING + 1)),
        ];
        let work = move || {
            let variables = Variables::new(&json!({"event": "Stop"}));
            for source in fine {
                if let Ok(when) = When::new(&source) {
                    when.holds(&variables);
                    when.unguarded();
                }
            }
            for source in refused {
                assert!(When::new(&source).is_err(), "{source:.60}");
            }
        };
        std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
    }

    /// Deep expressions bring their own stack, whatever the thread has left.
    #[test]
    fn the_deepest_expressions_hold_on_a_small_stack() {
        let deepest = [
            format!("{}true{}", "(".repeat(MAX_NESTING), ")".repeat(MAX_NESTING)),
            format!("1{} > 0", "+1".repeat(MAX_OPERATORS - 2)),
            format!("true{}", " ? true : false".repeat(MAX_NESTING)),
            format!("{}true{}", "[1].all(x, ".repeat(MAX_NESTING / 2), ")".repeat(MAX_NESTING / 2)),
        ];
        let work = move || {
            let variables = Variables::new(&json!({"event": "Stop"}));
            for source in deepest {
                assert_eq!(When::new(&source).unwrap().holds(&variables), Truth::Yes, "{source}");
            }
        };
        std::thread::Builder::new().stack_size(512 << 10).spawn(work).unwrap().join().unwrap();
    }

    #[test]
    fn mistakes_are_placed() {
        for (source, offset) in [("tool.input.amount >", 19), ("tool.name.matches('[')", 19)] {
            assert_eq!(When::new(source).unwrap_err().offset, offset, "{source}");
        }
    }

    #[test]
    fn paths_are_placed() {
        for (source, expected) in [
            ("tol.name == 'tol.name'", vec![("tol.name", 0)]),
            ("'\\\'a.b' == a.b && has(c.d.e)", vec![("a.b", 11), ("c.d.e", 22)]),
            ("tool.name.startsWith('x') || size(xs) > 1", vec![("tool.name", 0), ("xs", 34)]),
            (
                "messages.exists(m, m.role == x) && ys.map(y, [y, z])[0]",
                vec![("messages", 0), ("x", 29), ("ys", 35), ("z", 49)],
            ),
            ("tool['input'].a", vec![("tool", 0)]),
            ("aa.b == 1 || a.b", vec![("a.b", 13), ("aa.b", 0)]),
        ] {
            let found = When::new(source).unwrap().references();
            let found: Vec<_> = found.iter().map(|(path, at)| (path.as_str(), at.start)).collect();
            assert_eq!(found, expected, "{source}");
        }
    }

    #[test]
    fn flags_members_read_without_has() {
        for (source, expected) in [
            ("tool.input.amount > 3", vec!["tool.input.amount"]),
            ("has(tool.input.amount) && tool.input.amount > 3", vec![]),
            ("tool.name == 'x'", vec![]),
        ] {
            assert_eq!(When::new(source).unwrap().unguarded(), expected, "{source}");
        }
    }
}
