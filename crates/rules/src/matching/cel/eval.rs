//! From a tree of CEL and the values of its names to its value. Nothing here has an effect.
//!
//! It recurses as deep as brackets, choices and macros are inside one another, which the parser
//! bounds.

use super::budget::Budget;
use super::error::EvalError;
use super::functions::{self, TYPES, unfit};
use super::parse::{Access, Each, Expr, Item, Kind, Operator};
use super::value::{Key, List, Map, Shared, Value};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

type Evaluated<'v> = Result<Value<'v>, EvalError>;

/// What an expression is evaluated in: the names of the event, and those of the macros around a
/// node.
pub(super) struct Scope<'s, 'v> {
    pub(super) source: &'v str,
    pub(super) names: &'s dyn Fn(&str) -> Option<Value<'v>>,
    pub(super) budget: &'s Budget,
    /// The innermost last.
    pub(super) items: Vec<(&'v str, Value<'v>)>,
}

impl<'v> Scope<'_, 'v> {
    pub(super) fn eval(&mut self, expr: &'v Expr) -> Evaluated<'v> {
        self.budget.spend(1)?;
        Ok(match &expr.kind {
            Kind::Null => Value::Null,
            Kind::Bool(it) => Value::Bool(*it),
            Kind::Int(it) => Value::Int(*it),
            Kind::Uint(it) => Value::Uint(*it),
            Kind::Double(it) => Value::Double(*it),
            Kind::Text(it) => Value::Text(Shared::Borrowed(it)),
            Kind::Bytes(it) => Value::Bytes(Shared::Borrowed(it)),
            Kind::List(items) => self.list(items)?,
            Kind::Map(entries) => self.map(entries)?,
            Kind::Ident(name) => self.name(name)?,
            // What is absent is null.
            Kind::Has { name, .. } => {
                Value::Bool(self.name(name).is_ok_and(|it| !matches!(it, Value::Null)))
            }
            Kind::Select { .. } => self.members(expr)?,
            Kind::Index {
                operand,
                index,
                how,
            } => {
                let (operand, index) = (self.eval(operand)?, self.eval(index)?);
                match (&operand, &index) {
                    (Value::List(_) | Value::Optional(_), _) => {
                        self.select(expr, &operand, &index, *how)?
                    }
                    (Value::Map(_), index) if Key::new(index).is_some() => {
                        self.select(expr, &operand, index, *how)?
                    }
                    _ => return Err(unfit("[]", &[operand, index])),
                }
            }
            Kind::Not(_) | Kind::Negate(_) => self.prefixed(expr)?,
            Kind::Binary { .. } => self.chain(expr)?,
            Kind::Choice {
                condition,
                then,
                otherwise,
            } => match self.eval(condition)? {
                Value::Bool(true) => self.eval(then)?,
                Value::Bool(false) => self.eval(otherwise)?,
                other => return Err(unfit("?", &[other])),
            },
            Kind::Call {
                function,
                args,
                regex,
            } => {
                let args = args
                    .iter()
                    .map(|arg| self.eval(arg))
                    .collect::<Result<Vec<_>, _>>()?;
                functions::call(*function, &args, regex.as_ref(), self.budget)?
            }
            Kind::Each {
                each,
                over,
                variable,
                filter,
                body,
            } => {
                let items = match self.eval(over)? {
                    Value::List(list) => list,
                    Value::Map(map) => List::Made(Rc::new(map.keys())),
                    other => return Err(unfit(each.name(), &[other])),
                };
                self.each(*each, &items, variable, filter.as_deref(), body)?
            }
        })
    }

    /// `a.b.c`, from its beginning: a long one must not take a stack as deep as it is long.
    fn members(&mut self, expr: &'v Expr) -> Evaluated<'v> {
        let (mut steps, mut first) = (Vec::new(), expr);
        while let Kind::Select {
            operand,
            field,
            how,
        } = &first.kind
        {
            steps.push((first, field, *how));
            first = operand;
        }
        let mut value = self.eval(first)?;
        for (expr, field, how) in steps.into_iter().rev() {
            self.budget.spend(1)?;
            value = self.select(expr, &value, &Value::Text(Shared::Borrowed(field)), how)?;
        }
        Ok(value)
    }

    /// `!` and `-`, however many.
    fn prefixed(&mut self, expr: &'v Expr) -> Evaluated<'v> {
        let (mut signs, mut operand) = (Vec::new(), expr);
        while let Kind::Not(inner) | Kind::Negate(inner) = &operand.kind {
            signs.push(matches!(operand.kind, Kind::Not(_)));
            operand = inner;
        }
        let mut value = self.eval(operand)?;
        for is_not in signs.into_iter().rev() {
            value = match (is_not, value) {
                (true, Value::Bool(it)) => Value::Bool(!it),
                (false, Value::Int(it)) => Value::Int(it.checked_neg().ok_or(EvalError::Overflow)?),
                (false, Value::Double(it)) => Value::Double(-it),
                (is_not, other) => return Err(unfit(if is_not { "!" } else { "-" }, &[other])),
            };
        }
        Ok(value)
    }

    /// Binary operators, from the leftmost operand.
    fn chain(&mut self, expr: &'v Expr) -> Evaluated<'v> {
        let (mut steps, mut first) = (Vec::new(), expr);
        while let Kind::Binary {
            operator,
            left,
            right,
        } = &first.kind
        {
            steps.push((*operator, right));
            first = left;
        }
        let mut value = self.eval(first);
        for (operator, right) in steps.into_iter().rev() {
            value = match operator {
                Operator::And | Operator::Or => self.logic(operator, value, right),
                // An operator further out may not mind the error.
                _ => match value {
                    Ok(left) => self
                        .eval(right)
                        .and_then(|right| self.binary(operator, left, right)),
                    Err(error) => Err(error),
                },
            };
        }
        value
    }

    /// An error on one side doesn't matter if the other side decides.
    fn logic(&mut self, operator: Operator, left: Evaluated<'v>, right: &'v Expr) -> Evaluated<'v> {
        let truth = |value: Evaluated<'v>| match value? {
            Value::Bool(it) => Ok(it),
            other => Err(unfit(operator.text(), &[other])),
        };
        let decides = operator == Operator::Or;
        let left = truth(left);
        if left == Ok(decides) {
            return Ok(Value::Bool(decides));
        }
        match (left, truth(self.eval(right))) {
            (_, Ok(right)) if right == decides => Ok(Value::Bool(decides)),
            (Err(error), _) | (Ok(_), Err(error)) => Err(error),
            (Ok(_), Ok(right)) => Ok(Value::Bool(right)),
        }
    }

    fn name(&self, name: &'v str) -> Evaluated<'v> {
        if let Some((_, value)) = self.items.iter().rfind(|(known, _)| *known == name) {
            return Ok(value.clone());
        }
        let of_type = || {
            TYPES
                .iter()
                .find(|known| **known == name)
                .map(|name| Value::Type(name))
        };
        (self.names)(name)
            .or_else(of_type)
            .ok_or_else(|| EvalError::Undeclared(name.to_string()))
    }

    /// A member of a map, or an item of a list.
    fn select(
        &self,
        expr: &'v Expr,
        operand: &Value<'v>,
        key: &Value<'v>,
        how: Access,
    ) -> Evaluated<'v> {
        let found = match operand {
            Value::Map(map) => Key::new(key).and_then(|key| map.get(&key)),
            Value::List(list) => {
                let index = match Key::new(key) {
                    Some(Key::Number(index)) => usize::try_from(index).ok(),
                    _ => return Err(unfit("[]", &[operand.clone(), key.clone()])),
                };
                index.and_then(|index| list.get(index))
            }
            // What is optional stays optional.
            Value::Optional(value) => {
                let selected = value
                    .as_ref()
                    .map(|value| self.select(expr, value, key, Access::Optional));
                let selected = selected.unwrap_or(Ok(Value::Optional(None)))?;
                return match (how, &selected) {
                    (Access::Test, Value::Optional(value)) => Ok(Value::Bool(value.is_some())),
                    _ => Ok(selected),
                };
            }
            Value::Null if how != Access::Optional => {
                return Err(EvalError::Missing(self.written(expr)));
            }
            other => return Err(unfit(".", std::slice::from_ref(other))),
        };
        match (how, found) {
            (Access::Test, found) => Ok(Value::Bool(found.is_some())),
            (Access::Optional, found) => Ok(Value::Optional(found.map(Rc::new))),
            (Access::Get, Some(found)) => Ok(found),
            (Access::Get, None) => Err(EvalError::Missing(self.written(expr))),
        }
    }

    /// A part of the expression as it is written, for messages.
    fn written(&self, expr: &Expr) -> String {
        self.source
            .get(expr.at.clone())
            .unwrap_or_default()
            .to_string()
    }

    fn list(&mut self, items: &'v [Item]) -> Evaluated<'v> {
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            list.extend(self.item(item)?);
        }
        Ok(Value::List(List::Made(Rc::new(list))))
    }

    /// An item's value; `None` for an optional one without a value.
    fn item(&mut self, item: &'v Item) -> Result<Option<Value<'v>>, EvalError> {
        match (item.is_optional, self.eval(&item.value)?) {
            (false, value) => Ok(Some(value)),
            (true, Value::Optional(value)) => Ok(value.map(|value| (*value).clone())),
            (true, other) => Err(unfit("?", &[other])),
        }
    }

    fn map(&mut self, entries: &'v [(Expr, Item)]) -> Evaluated<'v> {
        let mut map = BTreeMap::new();
        for (key, item) in entries {
            let key = self.eval(key)?;
            let key = Key::new(&key)
                .filter(|_| !matches!(key, Value::Double(_)))
                .ok_or_else(|| unfit("{}", &[key]))?;
            let Some(value) = self.item(item)? else {
                continue;
            };
            if map.insert(key, value).is_some() {
                return Err(EvalError::Other("a map has a key twice".into()));
            }
        }
        Ok(Value::Map(Map::Made(Rc::new(map))))
    }

    fn each(
        &mut self,
        each: Each,
        items: &List<'v>,
        variable: &'v str,
        filter: Option<&'v Expr>,
        body: &'v Expr,
    ) -> Evaluated<'v> {
        let (mut made, mut n_true, mut failed) = (Vec::new(), 0_usize, None);
        for item in items.iter() {
            self.budget.spend(1)?;
            self.items.push((variable, item));
            let (picked, value) = self.for_item(each, filter, body);
            let item = self.items.pop().map(|(_, item)| item);
            match (each, picked, value) {
                (_, Err(EvalError::OverBudget), _) | (_, _, Err(EvalError::OverBudget)) => {
                    return Err(EvalError::OverBudget);
                }
                // As with `&&` and `||`: one item that decides is enough.
                (Each::All, Ok(false), _) => return Ok(Value::Bool(false)),
                (Each::Exists, Ok(true), _) => return Ok(Value::Bool(true)),
                (Each::All | Each::Exists, Err(error), _) => failed = failed.or(Some(error)),
                (_, Err(error), _) | (Each::Map, _, Err(error)) => return Err(error),
                (Each::ExistsOne, Ok(true), _) => n_true += 1,
                (Each::Filter, Ok(true), _) => made.extend(item),
                (Each::Map, Ok(true), Ok(value)) => made.push(value),
                (_, Ok(_), _) => {}
            }
        }
        match (each, failed) {
            (_, Some(error)) => Err(error),
            (Each::All, None) => Ok(Value::Bool(true)),
            (Each::Exists, None) => Ok(Value::Bool(false)),
            (Each::ExistsOne, None) => Ok(Value::Bool(n_true == 1)),
            (Each::Filter | Each::Map, None) => Ok(Value::List(List::Made(Rc::new(made)))),
        }
    }

    /// Whether the condition holds for the item in scope, and what `map` makes of it.
    fn for_item(
        &mut self,
        each: Each,
        filter: Option<&'v Expr>,
        body: &'v Expr,
    ) -> (Result<bool, EvalError>, Evaluated<'v>) {
        let condition = if each == Each::Map {
            filter
        } else {
            Some(body)
        };
        let picked = match condition.map(|condition| self.eval(condition)) {
            None | Some(Ok(Value::Bool(true))) => Ok(true),
            Some(Ok(Value::Bool(false))) => Ok(false),
            Some(Ok(other)) => Err(unfit(each.name(), &[other])),
            Some(Err(error)) => Err(error),
        };
        let value = if each == Each::Map && picked == Ok(true) {
            self.eval(body)
        } else {
            Ok(Value::Null)
        };
        (picked, value)
    }

    fn binary(&self, operator: Operator, left: Value<'v>, right: Value<'v>) -> Evaluated<'v> {
        use Operator::{
            Add, Divide, Equal, Greater, GreaterOrEqual, In, Less, LessOrEqual, Multiply, NotEqual,
        };
        use Operator::{And, Or, Remainder, Subtract};
        let budget = self.budget;
        Ok(match operator {
            Equal => Value::Bool(left.equals(&right, budget)?),
            NotEqual => Value::Bool(!left.equals(&right, budget)?),
            Less | LessOrEqual | Greater | GreaterOrEqual => {
                let order = match left.compare(&right, budget)? {
                    Some(order) => order,
                    None if left.is_number() && right.is_number() => return Ok(Value::Bool(false)),
                    None => return Err(unfit(operator.text(), &[left, right])),
                };
                Value::Bool(match operator {
                    Less => order == Ordering::Less,
                    LessOrEqual => order != Ordering::Greater,
                    Greater => order == Ordering::Greater,
                    _ => order != Ordering::Less,
                })
            }
            In => match &right {
                Value::List(list) => {
                    for item in list.iter() {
                        if left.equals(&item, budget)? {
                            return Ok(Value::Bool(true));
                        }
                    }
                    Value::Bool(false)
                }
                Value::Map(map) if left.is_number() || Key::new(&left).is_some() => {
                    Value::Bool(Key::new(&left).is_some_and(|key| map.get(&key).is_some()))
                }
                _ => return Err(unfit("in", &[left, right])),
            },
            Add | Subtract | Multiply | Divide | Remainder => {
                arithmetic(operator, left, right, budget)?
            }
            // These don't evaluate both sides first.
            And | Or => return Err(unfit(operator.text(), &[left, right])),
        })
    }
}

/// An operator on two whole numbers of one type.
macro_rules! checked {
    ($operator:expr, $one:expr, $other:expr) => {
        match $operator {
            Operator::Add => $one.checked_add($other),
            Operator::Subtract => $one.checked_sub($other),
            Operator::Multiply => $one.checked_mul($other),
            Operator::Divide => $one.checked_div($other),
            _ => $one.checked_rem($other),
        }
        .ok_or(EvalError::Overflow)?
    };
}

fn arithmetic<'v>(
    operator: Operator,
    left: Value<'v>,
    right: Value<'v>,
    budget: &Budget,
) -> Evaluated<'v> {
    let is_division = matches!(operator, Operator::Divide | Operator::Remainder);
    Ok(match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) if is_division => {
            return Err(EvalError::Other("division by zero".into()));
        }
        (Value::Int(one), Value::Int(other)) => Value::Int(checked!(operator, one, other)),
        (Value::Uint(one), Value::Uint(other)) => Value::Uint(checked!(operator, one, other)),
        (Value::Double(one), Value::Double(other)) if operator != Operator::Remainder => {
            Value::Double(match operator {
                Operator::Add => one + other,
                Operator::Subtract => one - other,
                Operator::Multiply => one * other,
                _ => one / other,
            })
        }
        (Value::Text(one), Value::Text(other)) if operator == Operator::Add => {
            budget.spend_on_text(one.len() + other.len())?;
            Value::Text(Shared::Made([&*one, &*other].concat().into()))
        }
        (Value::Bytes(one), Value::Bytes(other)) if operator == Operator::Add => {
            budget.spend_on_text(one.len() + other.len())?;
            Value::Bytes(Shared::Made([&*one, &*other].concat().into()))
        }
        (Value::List(one), Value::List(other)) if operator == Operator::Add => {
            budget.spend(one.len() + other.len())?;
            Value::List(List::Made(Rc::new(
                one.iter().chain(other.iter()).collect(),
            )))
        }
        (left, right) => return Err(unfit(operator.text(), &[left, right])),
    })
}
