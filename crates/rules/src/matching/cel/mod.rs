//! The Common Expression Language, as conditions are written in it
//! (<https://github.com/google/cel-spec>): its grammar, its macros and its standard functions but
//! for times and protocol buffers.
//!
//! It is our own, because an expression judges events of any size in the host's process: every
//! evaluation has a budget of steps, and the event is read where it lies instead of being converted
//! first. The implementations at hand have neither, and their parser was a tenth of the program.

mod budget;
mod error;
mod eval;
mod functions;
mod parse;
mod value;

use budget::Budget;
use error::EvalError;
use eval::Scope;
use parse::{Access, Expr, Kind, Operator};
use serde_json::Value as Json;
use std::ops::Range;
use value::Value;

pub use parse::CelError;

/// A parsed expression.
#[derive(Debug)]
pub struct Program {
    source: String,
    root: Expr,
}

/// What an expression comes to, as far as conditions can tell the difference.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A boolean.
    Bool(bool),
    /// A text.
    Text(String),
    /// A number, in digits.
    Number(String),
    /// Null.
    Nothing,
    /// A value of another type: its name.
    Other(&'static str),
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The event lacks this member, as the expression names it.
    Missing(String),
    /// Anything else; it finishes the sentence "`when` failed: ...".
    Other(String),
}

/// A member path that an expression names.
#[derive(Debug, PartialEq, Eq)]
pub struct Reference {
    /// Joined by dots.
    pub path: String,
    /// Where it is written, in bytes.
    pub at: Range<usize>,
    /// The expression only asks whether it is there, or takes it as an optional.
    pub is_asked_for: bool,
}

impl Program {
    /// Reads an expression.
    ///
    /// # Errors
    /// The first mistake: of the grammar, an unknown function, or a constant pattern that is no
    /// regex.
    pub fn new(source: &str) -> Result<Program, CelError> {
        Ok(Program {
            root: parse::parse(source)?,
            source: source.to_string(),
        })
    }

    /// The expression as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Evaluates it over the members of an object; names of `absent` that it lacks are null.
    ///
    /// # Errors
    /// There is no value.
    pub fn run(&self, data: &Json, absent: &[&str]) -> Result<Outcome, Failure> {
        self.run_beside(data, absent, ("", &Json::Null))
    }

    /// Evaluates it likewise, with a value of another name, which no member hides.
    ///
    /// # Errors
    /// There is no value.
    pub fn run_beside(
        &self,
        data: &Json,
        absent: &[&str],
        (other, beside): (&str, &Json),
    ) -> Result<Outcome, Failure> {
        let names = |name: &str| match data.get(name) {
            _ if name == other => Some(Value::from_json(beside)),
            Some(value) => Some(Value::from_json(value)),
            None => absent.contains(&name).then_some(Value::Null),
        };
        let budget = Budget::new();
        let mut scope = Scope {
            source: &self.source,
            names: &names,
            budget: &budget,
            items: Vec::new(),
        };
        Ok(match scope.eval(&self.root) {
            Ok(Value::Bool(it)) => Outcome::Bool(it),
            Ok(Value::Text(it)) => Outcome::Text(it.to_string()),
            Ok(Value::Int(it)) => Outcome::Number(it.to_string()),
            Ok(Value::Uint(it)) => Outcome::Number(it.to_string()),
            Ok(Value::Double(it)) => Outcome::Number(it.to_string()),
            Ok(Value::Long(it)) => Outcome::Number(it.to_string()),
            Ok(Value::Null) => Outcome::Nothing,
            Ok(other) => Outcome::Other(other.type_name()),
            Err(EvalError::Missing(path)) => return Err(Failure::Missing(path)),
            Err(error) => return Err(Failure::Other(error.to_string())),
        })
    }

    /// The member paths that it names, each as long as it is written, but for the names that its
    /// macros give to items; in the order of the text.
    pub fn references(&self) -> Vec<Reference> {
        let mut found = Vec::new();
        references(&self.root, &mut Vec::new(), &mut found);
        found
    }
}

/// What stands where only a truth can: its place, and its type, or the path that it is.
#[derive(Debug, PartialEq, Eq)]
pub enum Untrue {
    /// A constant of this type.
    Constant(&'static str),
    /// A member, whose type the event decides.
    Member(String),
}

impl Program {
    /// Members and constants that stand where only a truth can: as the whole, or beside `!`, `&&`
    /// and `||`.
    pub fn truths(&self) -> Vec<(Range<usize>, Untrue)> {
        let mut found = Vec::new();
        truths(&self.root, &mut found);
        found
    }
}

impl Program {
    /// Whether it is false for certain where a member is this text.
    pub fn excludes(&self, member: &str, text: &str) -> bool {
        excludes(&self.root, member, text)
    }
}

/// A member beside a constant text, by an operator or a function.
#[derive(Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The member's path.
    pub member: String,
    /// The text.
    pub text: String,
    /// Where the text is written, in bytes.
    pub at: Range<usize>,
    /// How they are held together.
    pub how: Held,
}

/// How a member is held against a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It must be the text for the expression to be true.
    Required,
    /// Whether it is the text.
    Whole,
    /// By a part of it.
    Part,
}

impl Program {
    /// Where it holds members against constant texts, in the order of the text.
    pub fn comparisons(&self) -> Vec<Comparison> {
        let mut found = Vec::new();
        comparisons(&self.root, true, &mut found);
        found
    }

    /// The members in which `in` looks for a constant text, each with the whole of it and the
    /// text's place.
    pub fn looked_into(&self) -> Vec<(String, Range<usize>, Range<usize>)> {
        let mut found = Vec::new();
        looked_into(&self.root, &mut found);
        found
    }
}

/// `is_required`: the whole is false where this is.
fn comparisons(expr: &Expr, is_required: bool, found: &mut Vec<Comparison>) {
    let mut compare = |member: &Expr, text: &Expr, how| {
        if let (Some(member), Kind::Text(constant)) = (path(member), &text.kind) {
            found.push(Comparison {
                member,
                text: constant.clone(),
                at: text.at.clone(),
                how,
            });
        }
    };
    match &expr.kind {
        Kind::Binary {
            operator: operator @ (Operator::Equal | Operator::NotEqual),
            left,
            right,
        } => {
            let how = if is_required && *operator == Operator::Equal {
                Held::Required
            } else {
                Held::Whole
            };
            compare(left, right, how);
            compare(right, left, how);
        }
        Kind::Binary {
            operator: Operator::In,
            left,
            right,
        } => {
            let items = if let Kind::List(items) = &right.kind {
                &items[..]
            } else {
                &[]
            };
            items
                .iter()
                .for_each(|item| compare(left, &item.value, Held::Whole));
        }
        Kind::Call { args, .. } => match &args[..] {
            [target, text] => compare(target, text, Held::Part),
            _ => args.iter().for_each(|arg| comparisons(arg, false, found)),
        },
        Kind::Binary {
            operator,
            left,
            right,
        } => {
            let is_required = is_required && *operator == Operator::And;
            [left, right]
                .into_iter()
                .for_each(|part| comparisons(part, is_required, found));
        }
        Kind::Not(operand) => comparisons(operand, false, found),
        Kind::Choice {
            condition,
            then,
            otherwise,
        } => {
            [condition, then, otherwise]
                .into_iter()
                .for_each(|part| comparisons(part, false, found));
        }
        _ => {}
    }
}

fn looked_into(expr: &Expr, found: &mut Vec<(String, Range<usize>, Range<usize>)>) {
    match &expr.kind {
        Kind::Binary {
            operator: Operator::In,
            left,
            right,
        } => {
            let text = path(right).filter(|_| matches!(left.kind, Kind::Text(_)));
            found.extend(text.map(|path| (path, expr.at.clone(), left.at.clone())));
        }
        Kind::Binary { left, right, .. } => [left, right]
            .into_iter()
            .for_each(|part| looked_into(part, found)),
        Kind::Not(operand) => looked_into(operand, found),
        _ => {}
    }
}

fn excludes(expr: &Expr, member: &str, text: &str) -> bool {
    let is_member = |expr: &Expr| path(expr).as_deref() == Some(member);
    let constant = |expr: &Expr| {
        if let Kind::Text(text) = &expr.kind {
            Some(text.clone())
        } else {
            None
        }
    };
    let Kind::Binary {
        operator,
        left,
        right,
    } = &expr.kind
    else {
        return false;
    };
    let compared = || match (is_member(left), is_member(right)) {
        (true, false) => constant(right),
        (false, true) => constant(left),
        _ => None,
    };
    match operator {
        Operator::And => excludes(left, member, text) || excludes(right, member, text),
        Operator::Or => excludes(left, member, text) && excludes(right, member, text),
        Operator::Equal => compared().is_some_and(|other| other != text),
        Operator::NotEqual => compared().is_some_and(|other| other == text),
        Operator::In if is_member(left) => match &right.kind {
            Kind::List(items) => items
                .iter()
                .all(|item| constant(&item.value).is_some_and(|other| other != text)),
            _ => false,
        },
        _ => false,
    }
}

fn truths(expr: &Expr, found: &mut Vec<(Range<usize>, Untrue)>) {
    let constant = match &expr.kind {
        Kind::Text(_) => "a text",
        Kind::Int(_) | Kind::Uint(_) | Kind::Double(_) => "a number",
        Kind::List(_) => "a list",
        Kind::Map(_) => "a map",
        Kind::Not(operand) => return truths(operand, found),
        Kind::Binary {
            operator: Operator::And | Operator::Or,
            left,
            right,
        } => {
            truths(left, found);
            return truths(right, found);
        }
        Kind::Binary { left, right, .. } => {
            // `!a == b` is `(!a) == b`.
            let negated = [left, right]
                .into_iter()
                .filter(|it| matches!(it.kind, Kind::Not(_)));
            return negated.for_each(|it| truths(it, found));
        }
        Kind::Select {
            how: Access::Get, ..
        }
        | Kind::Ident(_) => {
            return found.extend(path(expr).map(|path| (expr.at.clone(), Untrue::Member(path))));
        }
        _ => return,
    };
    found.push((expr.at.clone(), Untrue::Constant(constant)));
}

/// `a.b.c`, for members of a plain name.
fn path(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Ident(name) => Some(name.clone()),
        Kind::Select { operand, field, .. } => Some(format!("{}.{field}", path(operand)?)),
        _ => None,
    }
}

fn references<'e>(expr: &'e Expr, bound: &mut Vec<&'e str>, found: &mut Vec<Reference>) {
    if let Some(path) = path(expr) {
        let is_bound = bound.contains(&path.split('.').next().unwrap_or_default());
        let (at, is_asked_for) = match &expr.kind {
            Kind::Select {
                operand,
                field,
                how: Access::Test,
            } => (operand.at.start..operand.at.end + 1 + field.len(), true),
            Kind::Select {
                how: Access::Optional,
                ..
            } => (expr.at.clone(), true),
            _ => (expr.at.clone(), false),
        };
        if !is_bound {
            found.push(Reference {
                path,
                at,
                is_asked_for,
            });
        }
        return;
    }
    match &expr.kind {
        Kind::Has { name, of } if !bound.contains(&&**name) => {
            found.push(Reference {
                path: name.clone(),
                at: of.clone(),
                is_asked_for: true,
            });
        }
        Kind::Null | Kind::Bool(_) | Kind::Int(_) | Kind::Uint(_) | Kind::Double(_) => {}
        Kind::Text(_) | Kind::Bytes(_) | Kind::Ident(_) | Kind::Has { .. } => {}
        Kind::List(items) => items
            .iter()
            .for_each(|item| references(&item.value, bound, found)),
        Kind::Map(entries) => {
            for (key, item) in entries {
                references(key, bound, found);
                references(&item.value, bound, found);
            }
        }
        Kind::Select { operand, .. } | Kind::Not(operand) | Kind::Negate(operand) => {
            references(operand, bound, found);
        }
        Kind::Index {
            operand: left,
            index: right,
            ..
        }
        | Kind::Binary { left, right, .. } => {
            references(left, bound, found);
            references(right, bound, found);
        }
        Kind::Choice {
            condition,
            then,
            otherwise,
        } => {
            [condition, then, otherwise]
                .into_iter()
                .for_each(|part| references(part, bound, found));
        }
        Kind::Call { args, .. } => args.iter().for_each(|arg| references(arg, bound, found)),
        Kind::Each {
            over,
            variable,
            filter,
            body,
            ..
        } => {
            references(over, bound, found);
            bound.push(variable);
            filter
                .iter()
                .for_each(|filter| references(filter, bound, found));
            references(body, bound, found);
            bound.pop();
        }
    }
}

#[cfg(test)]
mod tests;
