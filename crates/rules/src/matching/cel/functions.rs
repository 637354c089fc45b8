//! The functions of CEL's standard library, as far as events need them: no times, no protocol
//! buffers.

use super::budget::Budget;
use super::error::EvalError;
use super::value::{Key, Shared, Value};
use regex::Regex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A function or method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    Matches,
    Bool,
    Bytes,
    Double,
    Dyn,
    Int,
    String,
    Type,
    Uint,
    OptionalOf,
    OptionalOfNonZeroValue,
    OptionalNone,
    HasValue,
    OptionalValue,
    Or,
    OrValue,
}

/// How a function is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Method,
    Global,
    Both,
}

/// Name, style, number of arguments with a method's target, function.
const FUNCTIONS: [(&str, Style, usize, Function); 20] = [
    ("size", Style::Both, 1, Function::Size),
    ("contains", Style::Method, 2, Function::Contains),
    ("startsWith", Style::Method, 2, Function::StartsWith),
    ("endsWith", Style::Method, 2, Function::EndsWith),
    ("matches", Style::Both, 2, Function::Matches),
    ("bool", Style::Global, 1, Function::Bool),
    ("bytes", Style::Global, 1, Function::Bytes),
    ("double", Style::Global, 1, Function::Double),
    ("dyn", Style::Global, 1, Function::Dyn),
    ("int", Style::Global, 1, Function::Int),
    ("string", Style::Global, 1, Function::String),
    ("type", Style::Global, 1, Function::Type),
    ("uint", Style::Global, 1, Function::Uint),
    ("optional.of", Style::Global, 1, Function::OptionalOf),
    (
        "optional.ofNonZeroValue",
        Style::Global,
        1,
        Function::OptionalOfNonZeroValue,
    ),
    ("optional.none", Style::Global, 0, Function::OptionalNone),
    ("hasValue", Style::Method, 1, Function::HasValue),
    ("value", Style::Method, 1, Function::OptionalValue),
    ("or", Style::Method, 2, Function::Or),
    ("orValue", Style::Method, 2, Function::OrValue),
];

/// The names of types, which are values as well.
pub(super) const TYPES: [&str; 10] = [
    "null_type",
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "type",
];

/// The function of a name, called like this with so many arguments.
pub(super) fn find(name: &str, is_method: bool, n_args: usize) -> Option<Function> {
    let row = FUNCTIONS
        .iter()
        .find(|(known, style, ..)| *known == name && fits(*style, is_method));
    row.filter(|(_, _, n, _)| *n == n_args)
        .map(|(.., function)| *function)
}

/// The names of all functions, or of all methods.
pub(super) fn names(is_method: bool) -> impl Iterator<Item = &'static str> {
    FUNCTIONS
        .iter()
        .filter(move |(_, style, ..)| fits(*style, is_method))
        .map(|(name, ..)| *name)
}

fn fits(style: Style, is_method: bool) -> bool {
    style == Style::Both || (style == Style::Method) == is_method
}

/// Steps that compiling a pattern takes, and each of its bytes: some 0.1 ms for a short one, and
/// there are long ones.
const COMPILING: usize = 5_000;
const COMPILING_BYTE: usize = 200;
/// What one of them may be when it is compiled, in bytes.
const MAX_COMPILED: usize = 256 * 1024;
/// Patterns come from definitions, but may be put together from event text: bounded.
const MAX_CACHED_REGEXES: usize = 256;

thread_local! {
    static REGEXES: RefCell<HashMap<String, Option<Regex>>> = RefCell::default();
}

/// Compiles a pattern; the error is for people.
pub(super) fn regex(pattern: &str) -> Result<Regex, String> {
    let regex = regex::RegexBuilder::new(pattern)
        .size_limit(1 << 20)
        .build();
    regex.map_err(|error| crate::matching::last_line(&error.to_string()).to_string())
}

/// Calls a function with the right number of arguments. `regex` is that of a constant pattern.
pub(super) fn call<'v>(
    function: Function,
    args: &[Value<'v>],
    regex: Option<&Regex>,
    budget: &Budget,
) -> Result<Value<'v>, EvalError> {
    for arg in args {
        match arg {
            Value::Text(text) => budget.spend_on_text(text.len())?,
            Value::Bytes(bytes) => budget.spend_on_text(bytes.len())?,
            _ => {}
        }
    }
    Ok(match (function, args) {
        (Function::Size, [value]) => Value::Int(match value {
            Value::Text(text) => text.chars().count(),
            Value::Bytes(bytes) => bytes.len(),
            Value::List(list) => list.len(),
            Value::Map(map) => map.len(),
            _ => return Err(unfit("size", args)),
        } as i64),
        (Function::Contains, [Value::Text(text), Value::Text(part)]) => {
            Value::Bool(text.contains(&**part))
        }
        (Function::StartsWith, [Value::Text(text), Value::Text(part)]) => {
            Value::Bool(text.starts_with(&**part))
        }
        (Function::EndsWith, [Value::Text(text), Value::Text(part)]) => {
            Value::Bool(text.ends_with(&**part))
        }
        (Function::Matches, [Value::Text(text), Value::Text(pattern)]) => {
            Value::Bool(match regex {
                Some(regex) => regex.is_match(text),
                None => is_match(text, pattern, budget)?,
            })
        }
        (Function::Bool, [value]) => Value::Bool(match value {
            Value::Bool(it) => *it,
            Value::Text(text) => match &**text {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
                "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
                _ => return Err(unreadable(text, "bool")),
            },
            _ => return Err(unfit("bool", args)),
        }),
        (Function::Bytes, [Value::Text(text)]) => {
            Value::Bytes(Shared::Made(text.as_bytes().into()))
        }
        (Function::Bytes, [value @ Value::Bytes(_)]) => value.clone(),
        (Function::Double, [value]) => Value::Double(match value {
            Value::Double(it) => *it,
            Value::Int(it) => *it as f64,
            Value::Uint(it) => *it as f64,
            // As with whole numbers: whoever asks for a double gets the nearest one.
            Value::Long(it) => it.parse().map_err(|_| unreadable(it, "double"))?,
            Value::Text(text) => text.parse().map_err(|_| unreadable(text, "double"))?,
            _ => return Err(unfit("double", args)),
        }),
        (Function::Dyn, [value]) => value.clone(),
        (Function::Int, [value]) => Value::Int(match value {
            Value::Int(it) => *it,
            Value::Uint(it) => i64::try_from(*it).map_err(|_| EvalError::Overflow)?,
            // The bounds themselves have no exact counterpart.
            Value::Double(it)
                if it.trunc() > -9.223_372_036_854_776e18
                    && it.trunc() < 9.223_372_036_854_776e18 =>
            {
                *it as i64
            }
            Value::Double(_) | Value::Long(_) => return Err(EvalError::Overflow),
            Value::Text(text) => text.parse().map_err(|_| unreadable(text, "int"))?,
            _ => return Err(unfit("int", args)),
        }),
        (Function::Uint, [value]) => Value::Uint(match value {
            Value::Uint(it) => *it,
            Value::Int(it) => u64::try_from(*it).map_err(|_| EvalError::Overflow)?,
            Value::Double(it) if *it >= 0.0 && it.trunc() < 1.844_674_407_370_955_2e19 => {
                *it as u64
            }
            Value::Double(_) | Value::Long(_) => return Err(EvalError::Overflow),
            Value::Text(text) => text.parse().map_err(|_| unreadable(text, "uint"))?,
            _ => return Err(unfit("uint", args)),
        }),
        (Function::String, [value]) => Value::Text(match value {
            Value::Text(it) => it.clone(),
            Value::Int(it) => Shared::Made(it.to_string().into()),
            Value::Uint(it) => Shared::Made(it.to_string().into()),
            Value::Double(it) => Shared::Made(it.to_string().into()),
            Value::Long(it) => Shared::Borrowed(it),
            Value::Bool(it) => Shared::Made(it.to_string().into()),
            Value::Bytes(it) => match std::str::from_utf8(it) {
                Ok(text) => Shared::Made(text.into()),
                Err(_) => return Err(EvalError::Other("the bytes are not UTF-8".into())),
            },
            _ => return Err(unfit("string", args)),
        }),
        (Function::Type, [value]) => Value::Type(value.type_name()),
        (Function::OptionalOf, [value]) => Value::Optional(Some(Rc::new(value.clone()))),
        (Function::OptionalOfNonZeroValue, [value]) => Value::Optional(if is_zero(value) {
            None
        } else {
            Some(Rc::new(value.clone()))
        }),
        (Function::OptionalNone, []) => Value::Optional(None),
        (Function::HasValue, [Value::Optional(value)]) => Value::Bool(value.is_some()),
        (Function::OptionalValue, [Value::Optional(value)]) => match value {
            Some(value) => (**value).clone(),
            None => return Err(EvalError::Other("the optional has no value".into())),
        },
        (Function::Or, [one @ Value::Optional(value), other @ Value::Optional(_)]) => {
            if value.is_some() {
                one.clone()
            } else {
                other.clone()
            }
        }
        (Function::OrValue, [Value::Optional(value), other]) => value
            .as_ref()
            .map_or_else(|| other.clone(), |value| (**value).clone()),
        (function, args) => {
            let name = FUNCTIONS
                .iter()
                .find(|(.., known)| *known == function)
                .map_or("", |(name, ..)| name);
            return Err(unfit(name, args));
        }
    })
}

fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(it) => !it,
        Value::Text(it) => it.is_empty(),
        Value::Bytes(it) => it.is_empty(),
        Value::List(it) => it.len() == 0,
        Value::Map(it) => it.len() == 0,
        Value::Int(_) | Value::Uint(_) | Value::Double(_) => {
            Key::new(value) == Some(Key::Number(0))
        }
        Value::Type(_) | Value::Optional(_) | Value::Long(_) => false,
    }
}

/// No such function for values of these types.
pub(super) fn unfit(name: &str, args: &[Value<'_>]) -> EvalError {
    let types: Vec<_> = args.iter().map(Value::type_name).collect();
    EvalError::Other(format!(
        "`{name}` can't be applied to {}",
        types.join(" and ")
    ))
}

fn unreadable(text: &str, kind: &str) -> EvalError {
    EvalError::Other(format!("`{:.40}` can't be read as {kind}", text))
}

/// Holds a text against a pattern that isn't constant.
fn is_match(text: &str, pattern: &str, budget: &Budget) -> Result<bool, EvalError> {
    REGEXES.with_borrow_mut(|cache| {
        if !cache.contains_key(pattern) {
            // An event may have any number of patterns.
            budget.spend(COMPILING + COMPILING_BYTE * pattern.len())?;
            if cache.len() >= MAX_CACHED_REGEXES {
                cache.clear();
            }
        }
        let compiled = || {
            regex::RegexBuilder::new(pattern)
                .size_limit(MAX_COMPILED)
                .build()
                .ok()
        };
        let regex = cache.entry(pattern.to_string()).or_insert_with(compiled);
        let bad = || EvalError::Other(format!("bad regex `{pattern:.40}`"));
        regex
            .as_ref()
            .map(|regex| regex.is_match(text))
            .ok_or_else(bad)
    })
}
