//! The values of CEL. What comes from the event or the expression is borrowed, and looked into only
//! as far as an expression asks.

use super::budget::Budget;
use super::error::EvalError;
use hookwire_base::support::decimal::{Decimal, fits_double};
use serde_json::Value as Json;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;

/// A value while an expression is evaluated.
#[derive(Clone, Debug)]
pub(super) enum Value<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    /// A number with more digits than 64 bits hold, as JSON writes it. It can be compared, not
    /// reckoned with.
    Long(&'v str),
    Text(Shared<'v, str>),
    Bytes(Shared<'v, [u8]>),
    List(List<'v>),
    Map(Map<'v>),
    Type(&'static str),
    Optional(Option<Rc<Value<'v>>>),
}

/// A text or bytes: of the event or the expression, where they lie, or made ones, which clones
/// share. A clone of a long text must not cost more than the step that it counts as.
#[derive(Debug)]
pub(super) enum Shared<'v, T: ?Sized> {
    Borrowed(&'v T),
    Made(Rc<T>),
}

impl<T: ?Sized> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Shared::Borrowed(it) => Shared::Borrowed(it),
            Shared::Made(it) => Shared::Made(it.clone()),
        }
    }
}

impl<T: ?Sized> Deref for Shared<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Shared::Borrowed(it) => it,
            Shared::Made(it) => it,
        }
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Shared<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Shared<'_, T> {}

impl<T: ?Sized + Ord> PartialOrd for Shared<'_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: ?Sized + Ord> Ord for Shared<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

#[derive(Clone, Debug)]
pub(super) enum List<'v> {
    Json(&'v [Json]),
    Made(Rc<Vec<Value<'v>>>),
}

#[derive(Clone, Debug)]
pub(super) enum Map<'v> {
    Json(&'v serde_json::Map<String, Json>),
    Made(Rc<BTreeMap<Key<'v>, Value<'v>>>),
}

/// A key of a map. Whole numbers of both kinds are one key if they are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key<'v> {
    Bool(bool),
    Number(i128),
    Text(Shared<'v, str>),
}

impl<'v> Key<'v> {
    pub(super) fn new(value: &Value<'v>) -> Option<Key<'v>> {
        match value {
            Value::Bool(it) => Some(Key::Bool(*it)),
            Value::Int(it) => Some(Key::Number((*it).into())),
            Value::Uint(it) => Some(Key::Number((*it).into())),
            Value::Double(it) if it.fract() == 0.0 && it.abs() < 1e18 => {
                Some(Key::Number(*it as i128))
            }
            Value::Text(it) => Some(Key::Text(it.clone())),
            _ => None,
        }
    }

    fn value(&self) -> Value<'v> {
        match self {
            Key::Bool(it) => Value::Bool(*it),
            Key::Number(it) => match i64::try_from(*it) {
                Ok(it) => Value::Int(it),
                Err(_) => Value::Uint(u64::try_from(*it).unwrap_or(u64::MAX)),
            },
            Key::Text(it) => Value::Text(it.clone()),
        }
    }
}

impl<'v> List<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            List::Json(items) => items.len(),
            List::Made(items) => items.len(),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<Value<'v>> {
        match self {
            List::Json(items) => items.get(index).map(Value::from_json),
            List::Made(items) => items.get(index).cloned(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Value<'v>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl<'v> Map<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            Map::Json(members) => members.len(),
            Map::Made(members) => members.len(),
        }
    }

    pub(super) fn get(&self, key: &Key<'_>) -> Option<Value<'v>> {
        match (self, key) {
            (Map::Json(members), Key::Text(key)) => members.get(&**key).map(Value::from_json),
            (Map::Json(_), _) => None,
            (Map::Made(members), key) => get(members, key),
        }
    }

    pub(super) fn keys(&self) -> Vec<Value<'v>> {
        match self {
            Map::Json(members) => members
                .keys()
                .map(|key| Value::Text(Shared::Borrowed(key)))
                .collect(),
            Map::Made(members) => members.keys().map(Key::value).collect(),
        }
    }
}

/// A key of any lifetime in a map whose keys may live longer.
fn get<'k, 'v>(members: &BTreeMap<Key<'k>, Value<'v>>, key: &Key<'k>) -> Option<Value<'v>> {
    members.get(key).cloned()
}

impl<'v> Value<'v> {
    /// A value of the event. Whole numbers are `int` where they fit, so that they can be reckoned
    /// with.
    pub(super) fn from_json(json: &'v Json) -> Value<'v> {
        match json {
            Json::Null => Value::Null,
            Json::Bool(it) => Value::Bool(*it),
            Json::Number(it) => match (it.as_i64(), it.as_u64()) {
                (Some(it), _) => Value::Int(it),
                (None, Some(it)) => Value::Uint(it),
                (None, None) if fits_double(it.as_str()) => {
                    Value::Double(it.as_f64().unwrap_or(f64::NAN))
                }
                (None, None) => Value::Long(it.as_str()),
            },
            Json::String(it) => Value::Text(Shared::Borrowed(it)),
            Json::Array(it) => Value::List(List::Json(it)),
            Json::Object(it) => Value::Map(Map::Json(it)),
        }
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) | Value::Long(_) => "double",
            Value::Text(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Type(_) => "type",
            Value::Optional(_) => "optional_type",
        }
    }

    /// Whether two values are equal: numbers of any kind by what they are worth, values of
    /// different types never.
    pub(super) fn equals(&self, other: &Value<'v>, budget: &Budget) -> Result<bool, EvalError> {
        budget.spend(1)?;
        Ok(match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Text(one), Value::Text(other)) => {
                budget.spend_on_text(one.len().min(other.len()))?;
                one == other
            }
            (Value::Bytes(one), Value::Bytes(other)) => {
                budget.spend_on_text(one.len().min(other.len()))?;
                one == other
            }
            (Value::Type(one), Value::Type(other)) => one == other,
            (Value::Bool(one), Value::Bool(other)) => one == other,
            (Value::List(one), Value::List(other)) => {
                if one.len() != other.len() {
                    return Ok(false);
                }
                for (one, other) in one.iter().zip(other.iter()) {
                    if !one.equals(&other, budget)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Map(one), Value::Map(other)) => {
                if one.len() != other.len() {
                    return Ok(false);
                }
                for key in one.keys() {
                    budget.spend(1)?;
                    let Some(key) = Key::new(&key) else {
                        return Ok(false);
                    };
                    match (one.get(&key), other.get(&key)) {
                        (Some(one), Some(other)) if one.equals(&other, budget)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (Value::Optional(one), Value::Optional(other)) => match (one, other) {
                (Some(one), Some(other)) => one.equals(other, budget)?,
                (one, other) => one.is_none() && other.is_none(),
            },
            (one, other) => one.compare_numbers(other, budget)? == Some(Ordering::Equal),
        })
    }

    /// The order of two values of types that have one.
    pub(super) fn compare(
        &self,
        other: &Value<'v>,
        budget: &Budget,
    ) -> Result<Option<Ordering>, EvalError> {
        Ok(match (self, other) {
            (Value::Text(one), Value::Text(other)) => {
                budget.spend_on_text(one.len().min(other.len()))?;
                Some(one.cmp(other))
            }
            (Value::Bytes(one), Value::Bytes(other)) => {
                budget.spend_on_text(one.len().min(other.len()))?;
                Some(one.cmp(other))
            }
            (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
            (one, other) => one.compare_numbers(other, budget)?,
        })
    }

    /// Whether it is a number; not-a-number is one without an order.
    pub(super) fn is_number(&self) -> bool {
        matches!(
            self,
            Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Long(_)
        )
    }

    /// What a number is worth, by its digits; `None` if it isn't a finite one.
    fn decimal(&self, budget: &Budget) -> Result<Option<Decimal>, EvalError> {
        Ok(match self {
            Value::Int(it) => Decimal::new(&it.to_string()),
            Value::Uint(it) => Decimal::new(&it.to_string()),
            Value::Double(it) => Decimal::of_double(*it),
            Value::Long(it) => {
                budget.spend_on_text(it.len())?;
                Decimal::new(it)
            }
            _ => None,
        })
    }

    fn compare_numbers(
        &self,
        other: &Value<'v>,
        budget: &Budget,
    ) -> Result<Option<Ordering>, EvalError> {
        if let (Value::Long(_), _) | (_, Value::Long(_)) = (self, other) {
            return Ok(match (self, other) {
                // Infinity; that isn't in JSON, but expressions can make it.
                (_, Value::Double(other)) if other.is_infinite() => 0.0.partial_cmp(other),
                (Value::Double(one), _) if one.is_infinite() => one.partial_cmp(&0.0),
                _ => match (self.decimal(budget)?, other.decimal(budget)?) {
                    (Some(one), Some(other)) => Some(one.cmp(&other)),
                    _ => None,
                },
            });
        }
        Ok(self.compare_short_numbers(other))
    }

    fn compare_short_numbers(&self, other: &Value<'v>) -> Option<Ordering> {
        let whole = |value: &Value<'v>| match value {
            Value::Int(it) => Some(i128::from(*it)),
            Value::Uint(it) => Some(i128::from(*it)),
            _ => None,
        };
        match (self, other, whole(self), whole(other)) {
            (_, _, Some(one), Some(other)) => Some(one.cmp(&other)),
            (Value::Double(one), Value::Double(other), ..) => one.partial_cmp(other),
            (Value::Double(one), _, _, Some(other)) => compare_to_whole(*one, other),
            (_, Value::Double(other), Some(one), _) => {
                compare_to_whole(*other, one).map(Ordering::reverse)
            }
            _ => None,
        }
    }
}

/// A fraction against a whole number of at most 64 bits, without losing a digit of either.
fn compare_to_whole(double: f64, whole: i128) -> Option<Ordering> {
    const BEYOND: f64 = 1e20;
    if double.is_nan() {
        return None;
    }
    if double.abs() >= BEYOND {
        return Some(if double > 0.0 {
            Ordering::Greater
        } else {
            Ordering::Less
        });
    }
    let floor = double.floor();
    let order = (floor as i128).cmp(&whole);
    Some(if order == Ordering::Equal && double > floor {
        Ordering::Greater
    } else {
        order
    })
}
