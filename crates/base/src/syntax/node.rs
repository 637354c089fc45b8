//! The tree that every definition file becomes, whatever its format, and serde over that tree.
//!
//! A [`Node`] remembers where it was written, so that a mistake found long after parsing can still
//! be shown in place. [`decode`] turns a node into a typed value; its errors carry the span of the
//! innermost thing that was wrong and are worded for the author of the file. Reading text is left
//! to [`super::formats`], showing a mistake to [`super::diagnostic`].

use super::fix::{Edit, Fix};
use crate::support::decimal::fits_double;
use crate::support::json::NUMBER;
use crate::support::nearest::closest;
use crate::support::visible::cut;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Expected, IntoDeserializer, Unexpected};
use serde::forward_to_deserialize_any;

/// Byte offsets into the text of the file.
pub type Span = std::ops::Range<usize>;

/// A value and the place where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// From the first to the last character of the value; of a TOML table, its header.
    pub span: Span,
    /// What was written there.
    pub value: NodeValue,
}

/// The shape of a [`Node`]; the common ground of YAML, TOML and JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    /// Also a YAML key without a value.
    Null,
    /// Written as such, never a word like `yes`.
    Bool(bool),
    /// Every whole number that fits.
    Int(i64),
    /// Only for whole numbers above `i64::MAX`.
    UInt(u64),
    /// Written with a point or an exponent, or not finite.
    Float(f64),
    /// A number with more digits than 64 bits hold; not in files. Its digits under [`NUMBER`], as
    /// serde_json's types read one.
    Long(Box<Entry>),
    /// Text, with its escapes resolved.
    String(String),
    /// A list.
    Seq(Vec<Node>),
    /// In the order of the file; keys are unique.
    Map(Vec<Entry>),
}

/// One `key: value` of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// As text, whatever it looks like.
    pub key: String,
    /// Where the key was written.
    pub key_span: Span,
    /// What it stands for.
    pub value: Node,
}

/// A step down a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'t> {
    /// Into the value of a map's key.
    Key(&'t str),
    /// Into an item of a list.
    Index(usize),
}

impl<'t> Step<'t> {
    /// The key, if it is one.
    pub fn key(&self) -> Option<&'t str> {
        match self {
            Step::Key(key) => Some(key),
            Step::Index(_) => None,
        }
    }
}

impl Node {
    /// What a path leads to.
    pub fn at(&self, path: &[Step<'_>]) -> Option<&Node> {
        path.iter().try_fold(self, |node, step| match step {
            Step::Key(key) => node.get(key),
            Step::Index(n) => node.items().get(*n),
        })
    }

    /// The path to the member or item that has this very key or value. The parser bounds the depth.
    pub fn path_to(&self, span: &Span) -> Option<Vec<Step<'_>>> {
        let is_own = |it: &&Entry| it.key_span == *span || it.value.span == *span;
        if let Some(entry) = self.entries().iter().find(is_own) {
            return Some(vec![Step::Key(&entry.key)]);
        }
        self.children().find_map(|(step, node)| {
            let inner = match node.path_to(span) {
                Some(inner) => inner,
                None if node.span == *span => Vec::new(),
                None => return None,
            };
            Some(std::iter::once(step).chain(inner).collect())
        })
    }

    /// The values right below this one, each with the step to it.
    pub fn children(&self) -> impl Iterator<Item = (Step<'_>, &Node)> {
        let members = self
            .entries()
            .iter()
            .map(|it| (Step::Key(&it.key), &it.value));
        members.chain(
            self.items()
                .iter()
                .enumerate()
                .map(|(n, item)| (Step::Index(n), item)),
        )
    }

    /// Every node of the tree. The parser bounds the depth.
    pub fn each<'n>(&'n self, visit: &mut impl FnMut(&'n Node)) {
        visit(self);
        self.children().for_each(|(_, node)| node.each(visit));
    }

    /// Where a part of a text is written, given in bytes of the text. Exact where the text is
    /// written as it is, on one line or several; escapes shift it within the value.
    pub fn part(&self, part: &std::ops::Range<usize>, file: &str) -> Span {
        let NodeValue::String(text) = &self.value else {
            return self.span.clone();
        };
        let place = |offset: usize| {
            self.written(text, file)
                .find(|(at, _)| *at >= offset)
                .map(|(_, place)| place)
        };
        let last = part.end.saturating_sub(1).max(part.start);
        if let (Some(start), Some(end)) = (place(part.start), place(last)) {
            return start..if part.end >= text.len() {
                self.span.end
            } else {
                end + 1
            }
            .max(start);
        }
        let quote = usize::from(self.span.len() == text.len() + 2);
        let start = (self.span.start + quote + part.start)
            .min(self.span.end.saturating_sub(1))
            .max(self.span.start);
        let end = if part.end >= text.len() {
            self.span.end
        } else {
            (self.span.start + quote + part.end).min(self.span.end)
        };
        start..end.max(start)
    }

    /// For each line of a text where it is written, as far as it is written as it is.
    pub fn line_places(&self, file: &str) -> Vec<usize> {
        let NodeValue::String(text) = &self.value else {
            return Vec::new();
        };
        let mut written = self.written(text, file).peekable();
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let place = |start: usize| {
            while written.next_if(|(at, _)| *at < start).is_some() {}
            written.peek().map(|(_, place)| *place)
        };
        starts.map_while(place).collect()
    }

    /// Bytes of a text with their places in the file. Formats indent and fold, which is white space
    /// and left out; whatever else the text is made of has to be there in the same order.
    fn written<'a>(
        &self,
        text: &'a str,
        file: &'a str,
    ) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        let start = self.span.start;
        let source = file.get(self.span.clone()).unwrap_or_default();
        let head = match source.as_bytes() {
            [b'|' | b'>', ..] => source.find('\n').unwrap_or_default(),
            [b'"', b'"', b'"', ..] | [b'\'', b'\'', b'\'', ..] => 3,
            [b'"' | b'\'', ..] => 1,
            _ => 0,
        };
        let solid = |(_, c): &(usize, char)| !c.is_whitespace();
        let source = source
            .char_indices()
            .skip_while(move |(at, _)| *at < head)
            .filter(solid);
        let text = text.char_indices().filter(solid);
        text.zip(source)
            .map_while(move |((at, c), (place, same))| (c == same).then_some((at, start + place)))
    }

    /// The value under `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entry for `key`, if this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The members, if this is a map; of anything else none.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            NodeValue::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items, if this is a list; of anything else none.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            NodeValue::Seq(items) => items,
            _ => &[],
        }
    }

    /// The text, if this is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// What this is, in words that fit after "found".
    pub fn kind(&self) -> &'static str {
        match self.value {
            NodeValue::Null => "an empty value",
            NodeValue::Bool(_) => "true or false",
            NodeValue::Int(_) | NodeValue::UInt(_) | NodeValue::Float(_) | NodeValue::Long(_) => {
                "a number"
            }
            NodeValue::String(_) => "a string",
            NodeValue::Seq(_) => "a list",
            NodeValue::Map(_) => "a map",
        }
    }

    /// The value without places. JSON has no infinity and no NaN: they become null.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value;
        match &self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(value) => Value::from(*value),
            NodeValue::Int(value) => Value::from(*value),
            NodeValue::UInt(value) => Value::from(*value),
            NodeValue::Float(value) => Value::from(*value),
            NodeValue::Long(_) => decode(self).unwrap_or_default(),
            NodeValue::String(value) => Value::from(value.as_str()),
            NodeValue::Seq(items) => items.iter().map(Node::to_json).collect(),
            NodeValue::Map(entries) => {
                let pairs = entries.iter();
                Value::Object(
                    pairs
                        .map(|it| (it.key.clone(), it.value.to_json()))
                        .collect(),
                )
            }
        }
    }

    /// A tree with empty spans, for definitions that don't come from a file.
    ///
    /// Recurses as deep as `json` is: the caller gives it only what passed serde_json's depth
    /// limit.
    pub fn from_json(json: &serde_json::Value) -> Node {
        use serde_json::Value;
        let value = match json {
            Value::Null => NodeValue::Null,
            Value::Bool(value) => NodeValue::Bool(*value),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => NodeValue::Int(value),
                (None, Some(value)) => NodeValue::UInt(value),
                (None, None) if fits_double(number.as_str()) => {
                    NodeValue::Float(number.as_f64().unwrap_or(f64::NAN))
                }
                (None, None) => NodeValue::Long(Box::new(Entry {
                    key: NUMBER.into(),
                    key_span: 0..0,
                    value: Node {
                        span: 0..0,
                        value: NodeValue::String(number.to_string()),
                    },
                })),
            },
            Value::String(value) => NodeValue::String(value.clone()),
            Value::Array(items) => NodeValue::Seq(items.iter().map(Node::from_json).collect()),
            Value::Object(map) => {
                let entry = |(key, value): (&String, &Value)| Entry {
                    key: key.clone(),
                    key_span: 0..0,
                    value: Node::from_json(value),
                };
                NodeValue::Map(map.iter().map(entry).collect())
            }
        };
        Node { span: 0..0, value }
    }

    fn unexpected(&self) -> Unexpected<'_> {
        match &self.value {
            NodeValue::Null => Unexpected::Unit,
            NodeValue::Bool(value) => Unexpected::Bool(*value),
            NodeValue::Int(value) => Unexpected::Signed(*value),
            NodeValue::UInt(value) => Unexpected::Unsigned(*value),
            NodeValue::Float(value) => Unexpected::Float(*value),
            NodeValue::Long(_) => Unexpected::Other("number with more digits than 64 bits hold"),
            NodeValue::String(value) => Unexpected::Str(value),
            NodeValue::Seq(_) => Unexpected::Seq,
            NodeValue::Map(_) => Unexpected::Map,
        }
    }
}

/// Reads a `T` from `node`. Stops at the first mistake.
///
/// No coercion takes place: a number where a string is expected is a mistake, and so is a list
/// where a struct is expected.
pub fn decode<T: DeserializeOwned>(node: &Node) -> Result<T, DecodeError> {
    T::deserialize(node).map_err(|error| error.placed_at(&node.span))
}

/// Why a node couldn't be read as the wanted type.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodeError {
    /// The innermost place: the value for a wrong type, the key for an unknown field, the map for
    /// a missing field.
    pub span: Span,
    /// Lowercase, no full stop: ``expected a string, found a list``.
    pub message: String,
    /// The edit that mends it: the name that was probably meant, e.g. `matcher` for `mathcer`, or
    /// quotes.
    pub fix: Option<Box<Fix>>,
    /// What to write instead, where no edit of the word says it.
    pub help: Option<String>,
    /// It is a field that nothing here knows.
    pub is_unknown_field: bool,
    /// The way from the decoded node to the place, e.g. `http.headers` or `on[1]`; empty for the
    /// node itself.
    pub path: String,
    placed: bool,
    duplicate: bool,
}

impl DecodeError {
    fn unplaced(message: String) -> DecodeError {
        let path = String::new();
        DecodeError {
            span: 0..0,
            message,
            fix: None,
            help: None,
            is_unknown_field: false,
            path,
            placed: false,
            duplicate: false,
        }
    }

    /// The name that was probably meant.
    pub fn suggestion(&self) -> Option<&str> {
        match &self.fix.as_ref()?.edit {
            Edit::Replace { right, .. } => Some(right),
            _ => None,
        }
    }

    // Called on the way out at every level, so the first, innermost, caller wins.
    fn placed_at(mut self, span: &Span) -> DecodeError {
        if !self.placed {
            self.span = span.clone();
            self.placed = true;
        }
        self
    }

    fn under_key(mut self, key: &str) -> DecodeError {
        let joint = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        self.path = format!("{}{joint}{}", clip(key), self.path);
        self
    }

    fn under_index(mut self, index: usize) -> DecodeError {
        let joint = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        self.path = format!("[{index}]{joint}{}", self.path);
        self
    }

    fn unknown(what: &str, name: &str, expected: &[&'static str]) -> DecodeError {
        let closest = closest(name, expected.iter().copied()).or_else(|| meant_by(name, expected));
        let expected_names = match expected {
            [] => ", none is expected here".to_owned(),
            // The one that is meant stands in the help; a long list would hide it.
            names if closest.is_some() && names.len() > MAX_NAMES => String::new(),
            names => format!(", expected {}", one_of(names)),
        };
        let mut error = Self::unplaced(format!("unknown {what} `{}`{expected_names}", clip(name)));
        error.fix = closest.map(|closest| Box::new(Fix::replace(name, closest)));
        error
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::unplaced(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = expected_in_words(expected);
        let kind = match found {
            Unexpected::Bool(_) => "true or false",
            Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
            Unexpected::Char(_) | Unexpected::Str(_) | Unexpected::Bytes(_) => "a string",
            Unexpected::Unit | Unexpected::Option => "an empty value",
            Unexpected::Seq => "a list",
            Unexpected::Map => "a map",
            _ => "something else",
        };
        let mut error = Self::unplaced(format!("expected {expected}, found {kind}"));
        let is_scalar = matches!(kind, "true or false" | "a number");
        if is_scalar && matches!(expected.as_str(), "a string" | "a character") {
            error.message.push_str("; quote it if it is meant as text");
            error.fix = Some(Box::new(Fix::new("Quote it", Edit::Quote)));
        }
        if let Unexpected::Str(text) = found {
            match expected.as_str() {
                "true or false" => {
                    let word = SWITCHES
                        .iter()
                        .find(|(_, words)| words.iter().any(|it| it.eq_ignore_ascii_case(text)));
                    error.fix = word.map(|(word, _)| Box::new(Fix::replace(text, word)));
                }
                "a list" => {
                    let is_plain = text
                        .chars()
                        .all(|c| c.is_alphanumeric() || "_-.*/:".contains(c));
                    let quote = if is_plain { "" } else { "'" };
                    error.help = Some(format!("write a list: `[{quote}{}{quote}]`", clip(text)));
                    error.fix = Some(Box::new(Fix::new(
                        "Write a list",
                        Edit::Items(vec![text.to_string()]),
                    )));
                }
                number if number.contains("number") => {
                    error.help = Some(match text.parse::<f64>() {
                        Ok(_) => format!("write it without quotes: `{}`", clip(text)),
                        Err(_) => "write a number, such as `10`".into(),
                    });
                }
                _ => {}
            }
        }
        error
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Bool(value) => format!("`{value}`"),
            Unexpected::Unsigned(value) => format!("`{value}`"),
            Unexpected::Signed(value) => format!("`{value}`"),
            Unexpected::Float(value) => format!("`{value}`"),
            Unexpected::Char(value) => format!("`{value}`"),
            Unexpected::Str(value) => format!("`{}`", clip(value)),
            other => return Self::invalid_type(other, expected),
        };
        Self::unplaced(format!(
            "expected {}, found {found}",
            expected_in_words(expected)
        ))
    }

    fn invalid_length(n_found: usize, expected: &dyn Expected) -> Self {
        let entries = if n_found == 1 { "entry" } else { "entries" };
        let expected = expected_in_words(expected);
        Self::unplaced(format!("expected {expected}, found {n_found} {entries}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::unknown("value", variant, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        DecodeError {
            is_unknown_field: true,
            ..Self::unknown("field", field, expected)
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::unplaced(format!("the field `{field}` is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        let error = Self::unplaced(format!("the field `{field}` is given twice"));
        DecodeError {
            duplicate: true,
            ..error
        }
    }
}

impl<'de> de::Deserializer<'de> for &'de Node {
    type Error = DecodeError;

    fn deserialize_any<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let result = match &self.value {
            NodeValue::Null => visitor.visit_unit(),
            NodeValue::Bool(value) => visitor.visit_bool(*value),
            NodeValue::Int(value) => visitor.visit_i64(*value),
            NodeValue::UInt(value) => visitor.visit_u64(*value),
            NodeValue::Float(value) => visitor.visit_f64(*value),
            // Not by serde_json's deserializer of numbers: every type that is decoded would be
            // compiled for that, too.
            NodeValue::Long(digits) => {
                visit_map(std::slice::from_ref(digits), visitor).map_err(|_| {
                    DecodeError::unplaced("the number has more digits than 64 bits hold".into())
                })
            }
            NodeValue::String(value) => visitor.visit_borrowed_str(value),
            NodeValue::Seq(items) => visit_seq(items, visitor),
            NodeValue::Map(entries) => visit_map(entries, visitor),
        };
        result.map_err(|error| error.placed_at(&self.span))
    }

    fn deserialize_option<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            NodeValue::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
        .map_err(|error| error.placed_at(&self.span))
    }

    fn deserialize_newtype_struct<V: de::Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor
            .visit_newtype_struct(self)
            .map_err(|error| error.placed_at(&self.span))
    }

    // A derived struct would take a list as its fields in order; in a file that is a mistake.
    fn deserialize_struct<V: de::Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            NodeValue::Map(_) => self.deserialize_any(visitor),
            _ => {
                let error: DecodeError = de::Error::invalid_type(self.unexpected(), &"a map");
                Err(error.placed_at(&self.span))
            }
        }
    }

    fn deserialize_enum<V: de::Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let result = match &self.value {
            NodeValue::String(variant) => visitor.visit_enum(EnumAccess {
                variant,
                span: &self.span,
                content: None,
            }),
            NodeValue::Map(entries) => match entries.as_slice() {
                [entry] => visitor.visit_enum(EnumAccess {
                    variant: &entry.key,
                    span: &entry.key_span,
                    content: Some(&entry.value),
                }),
                _ => Err(DecodeError::unplaced(format!(
                    "expected a map with exactly one of {}, found {} keys",
                    list(variants, "and"),
                    entries.len()
                ))),
            },
            _ => {
                let expected = one_of(variants);
                Err(de::Error::invalid_type(
                    self.unexpected(),
                    &expected.as_str(),
                ))
            }
        };
        result.map_err(|error| error.placed_at(&self.span))
    }

    fn deserialize_ignored_any<V: de::Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct identifier
    }
}

fn visit_seq<'de, V: de::Visitor<'de>>(
    items: &'de [Node],
    visitor: V,
) -> Result<V::Value, DecodeError> {
    let mut access = SeqAccess { items, n_taken: 0 };
    let value = visitor.visit_seq(&mut access)?;
    match items.get(access.n_taken) {
        None => Ok(value),
        Some(extra) => {
            let (n_wanted, n_found) = (access.n_taken, items.len());
            let message = format!("expected {n_wanted} values, found {n_found}");
            Err(DecodeError::unplaced(message).placed_at(&extra.span))
        }
    }
}

fn visit_map<'de, V: de::Visitor<'de>>(
    entries: &'de [Entry],
    visitor: V,
) -> Result<V::Value, DecodeError> {
    let mut access = MapAccess {
        rest: entries.iter(),
        current: None,
    };
    let result = visitor.visit_map(&mut access);
    result.map_err(|error| match access.current {
        Some(entry) if error.duplicate && !error.placed => {
            error.placed_at(&entry.key_span).under_key(&entry.key)
        }
        _ => error,
    })
}

struct SeqAccess<'de> {
    items: &'de [Node],
    n_taken: usize,
}

impl<'de> de::SeqAccess<'de> for SeqAccess<'de> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some(item) = self.items.get(self.n_taken) else {
            return Ok(None);
        };
        let index = self.n_taken;
        self.n_taken += 1;
        let result = seed.deserialize(item);
        result
            .map(Some)
            .map_err(|error| error.placed_at(&item.span).under_index(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.n_taken)
    }
}

struct MapAccess<'de> {
    rest: std::slice::Iter<'de, Entry>,
    current: Option<&'de Entry>,
}

impl<'de> de::MapAccess<'de> for MapAccess<'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeError> {
        self.current = self.rest.next();
        let Some(entry) = self.current else {
            return Ok(None);
        };
        let key: StrDeserializer<'de, DecodeError> = entry.key.as_str().into_deserializer();
        let result = seed.deserialize(key);
        result
            .map(Some)
            .map_err(|error| error.placed_at(&entry.key_span).under_key(&entry.key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DecodeError> {
        let entry = self
            .current
            .ok_or_else(|| de::Error::custom("a value without its key"))?;
        let result = seed.deserialize(&entry.value);
        result.map_err(|error| error.placed_at(&entry.value.span).under_key(&entry.key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct EnumAccess<'de> {
    variant: &'de str,
    span: &'de Span,
    content: Option<&'de Node>,
}

impl<'de> de::EnumAccess<'de> for EnumAccess<'de> {
    type Error = DecodeError;
    type Variant = VariantAccess<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, VariantAccess<'de>), DecodeError> {
        let name: StrDeserializer<'de, DecodeError> = self.variant.into_deserializer();
        let value = seed
            .deserialize(name)
            .map_err(|error| error.placed_at(self.span))?;
        Ok((
            value,
            VariantAccess {
                variant: self.variant,
                content: self.content,
            },
        ))
    }
}

struct VariantAccess<'de> {
    variant: &'de str,
    content: Option<&'de Node>,
}

impl<'de> VariantAccess<'de> {
    fn content<T>(
        self,
        read: impl FnOnce(&'de Node) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let variant = clip(self.variant);
        let Some(node) = self.content else {
            return Err(DecodeError::unplaced(format!(
                "`{variant}` needs a value, as a map"
            )));
        };
        read(node).map_err(|error| error.placed_at(&node.span).under_key(&variant))
    }
}

impl<'de> de::VariantAccess<'de> for VariantAccess<'de> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        match self.content {
            None => Ok(()),
            Some(_) => self.content(|node| match node.value {
                NodeValue::Null => Ok(()),
                _ => Err(de::Error::invalid_type(
                    node.unexpected(),
                    &"an empty value",
                )),
            }),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DecodeError> {
        self.content(|node| seed.deserialize(node))
    }

    fn tuple_variant<V: de::Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.content(|node| de::Deserializer::deserialize_seq(node, visitor))
    }

    fn struct_variant<V: de::Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.content(|node| de::Deserializer::deserialize_struct(node, "", fields, visitor))
    }
}

/// So many names are told beside the one that is meant.
const MAX_NAMES: usize = 6;

/// The words with which other formats, and older YAML, say yes and no.
const SWITCHES: [(&str, &[&str]); 2] = [
    ("true", &["yes", "on", "y", "true"]),
    ("false", &["no", "off", "n", "false"]),
];

/// Words that mean the same where a decision or a direction is expected.
const SYNONYMS: [(&str, &[&str]); 5] = [
    ("deny", &["block", "forbid", "refuse", "reject", "stop"]),
    ("ask", &["confirm", "prompt", "approve"]),
    ("allow", &["permit", "accept", "pass", "approve"]),
    ("closed", &["deny", "block", "shut"]),
    ("open", &["allow", "pass"]),
];

/// The name that another word stands for, where only one of those expected can be meant.
fn meant_by(word: &str, expected: &[&'static str]) -> Option<&'static str> {
    let is_it = |(_, words): &&(&str, &[&str])| words.contains(&word);
    let mut meant = SYNONYMS
        .iter()
        .filter(is_it)
        .filter_map(|(name, _)| expected.iter().find(|it| *it == name));
    let first = meant.next()?;
    meant.next().is_none().then_some(*first)
}

/// Serde names Rust types; the author of a file knows none of them.
fn expected_in_words(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    let words = match text.as_str() {
        "i8" => "a whole number from -128 to 127",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "u128" | "usize" => "a whole number, 0 or more",
        "a nonzero u64" => "a whole number, 1 or more",
        "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "unit" => "an empty value",
        "a borrowed string" | "field identifier" | "variant identifier" => "a string",
        "any valid JSON value" => "any value",
        other => match other.split_once(' ') {
            Some(("a", tuple)) if tuple.starts_with("tuple of size ") => {
                let size = tuple.trim_start_matches("tuple of size ");
                return format!("a list of {size}");
            }
            Some(("struct", _)) => "a map",
            Some(("enum", _)) => "a name",
            Some(("tuple", _)) => "a list",
            Some(("unit", _)) => "an empty value",
            _ => return text,
        },
    };
    words.to_owned()
}

/// `` `a`, `b` or `c` ``
fn one_of(names: &[&str]) -> String {
    list(names, "or")
}

fn list(names: &[&str], conjunction: &str) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

/// A name as it goes into a message: cut, because the file may hold one of any length.
pub(super) fn clip(name: &str) -> String {
    cut(name, 60)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::super::diagnostic::LineIndex;
    use super::super::formats::{Format, parse};
    use super::*;
    use hookwire_testing::rows;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    #[expect(dead_code, reason = "read by Debug only")]
    struct Hook {
        name: String,
        on: Option<Vec<Name>>,
        #[serde(alias = "match")]
        matcher: Option<String>,
        priority: Option<u8>,
        fail: Option<Fail>,
        #[serde(default)]
        env: BTreeMap<String, String>,
        body: Option<serde_json::Value>,
        callable: Option<Callable>,
        pair: Option<(u8, u8)>,
        at: Option<f64>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(try_from = "String")]
    struct Name(#[expect(dead_code, reason = "read by Debug only")] String);

    impl TryFrom<String> for Name {
        type Error = String;

        fn try_from(name: String) -> Result<Name, String> {
            if name.is_empty() {
                Err("a name can't be empty".to_owned())
            } else {
                Ok(Name(name))
            }
        }
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Fail {
        Open,
        Closed,
        Ask,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[expect(dead_code, reason = "read by Debug only")]
    enum Callable {
        Python(String),
        Node { file: String },
        Nothing,
    }

    fn outcome(text: &str, format: Format) -> String {
        let node = parse(text, format).expect("the text parses");
        match decode::<Hook>(&node) {
            Ok(hook) => format!("{hook:?}"),
            Err(error) => {
                let range = LineIndex::new(text).range(&error.span);
                let (start, end) = (range.start, range.end);
                let suggestion = error
                    .suggestion()
                    .map(|it| format!(" (did you mean `{it}`?)"));
                let suggestion = suggestion.unwrap_or_default();
                format!(
                    "{}:{}-{}:{} {error}{suggestion}",
                    start.line, start.column, end.line, end.column
                )
            }
        }
    }

    #[test]
    fn mistakes_are_placed_and_worded() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Row {
            format: String,
            text: String,
            told: String,
        }
        rows::compare("syntax/misfits.jsonl", |row: Row| {
            (
                outcome(&row.text, Format::from_extension(&row.format).unwrap()),
                row.told,
            )
        });
    }

    #[test]
    fn values_are_read() {
        let text = "name: a\non: [b]\nfail: ask\nbody: {x: [1, -1.5, null]}\ncallable: {node: {file: f}}\npair: [1, 2]\nat: 7\nmatcher: ~";
        let expected = r#"Hook { name: "a", on: Some([Name("b")]), matcher: None, priority: None, fail: Some(Ask), env: {}, body: Some(Object {"x": Array [Number(1), Number(-1.5), Null]}), callable: Some(Node { file: "f" }), pair: Some((1, 2)), at: Some(7.0) }"#;
        assert_eq!(outcome(text, Format::Yaml), expected);
        let json = serde_json::json!({"a": [1, -2, 2.5, u64::MAX, null, true, "x", {}]});
        assert_eq!(Node::from_json(&json).to_json(), json);
        assert_eq!(
            decode::<serde_json::Value>(&Node::from_json(&json)),
            Ok(json)
        );
    }

    #[test]
    fn no_digit_of_a_number_is_lost() {
        for digits in [
            "18446744073709551617",
            "-170141183460469231731687303715884105729",
            "0.10000000000000000001",
        ] {
            let number: serde_json::Value = serde_json::from_str(digits).unwrap();
            let node = Node::from_json(&number);
            assert!(matches!(node.value, NodeValue::Long(_)), "{digits}");
            assert_eq!(node.to_json().to_string(), digits);
            assert_eq!(
                decode::<Option<serde_json::Number>>(&node)
                    .unwrap()
                    .unwrap()
                    .as_str(),
                digits
            );
            let too_long = "the number has more digits than 64 bits hold";
            assert_eq!(decode::<u64>(&node).unwrap_err().message, too_long);
            assert_eq!(decode::<String>(&node).unwrap_err().message, too_long);
            let map = decode::<BTreeMap<String, String>>(&node)
                .unwrap_err()
                .message;
            assert_eq!(map, "expected a map, found something else");
        }
    }

    #[test]
    fn the_closest_name_is_found() {
        let names = [
            "PreToolUse",
            "PostToolUse",
            "matcher",
            "priority",
            "on",
            "if",
            "inheritEnv",
        ];
        let cases = [
            ("PreToolUsed", Some("PreToolUse")),
            ("pretooluse", Some("PreToolUse")),
            ("mathcer", Some("matcher")),
            ("prioirty", Some("priority")),
            ("inherit_env", Some("inheritEnv")),
            ("no", Some("on")),
            ("x", None),
            ("something", None),
            (&"x".repeat(100_000), None),
        ];
        for (word, expected) in cases {
            assert_eq!(closest(word, names), expected, "{word:.20}");
        }
    }
}
