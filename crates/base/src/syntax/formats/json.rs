//! The tree comes from jsonc-parser. A look at brackets and quotes goes before it: that crate
//! lets a string run over the end of its line, so a forgotten quote would be reported at the
//! next one.

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::*;

pub(super) fn parse(text: &str, index: &LineIndex<'_>) -> Result<Node, Vec<Problem>> {
    survey(text).map_err(|problem| vec![problem])?;
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| {
        let range = error.range();
        let message = error.kind().to_string();
        let mut characters = message.chars();
        let first = characters.next().map(|it| it.to_ascii_lowercase());
        let message: String = first.into_iter().chain(characters).collect();
        vec![Problem::syntax(range.start..range.end, message)]
    })?;
    let Some(value) = parsed.value else {
        return Ok(empty_map());
    };
    let mut converter = Converter {
        index,
        problems: Vec::new(),
        n_nodes: 0,
    };
    let node = converter.node(value);
    if converter.problems.is_empty() {
        Ok(node)
    } else {
        Err(converter.problems)
    }
}

struct Converter<'t> {
    index: &'t LineIndex<'t>,
    problems: Vec<Problem>,
    n_nodes: usize,
}

impl Converter<'_> {
    // Recursive, as the survey has refused what is too deep.
    fn node(&mut self, value: Value<'_>) -> Node {
        let span = value.start()..value.end();
        self.n_nodes += 1;
        if self.n_nodes == MAX_NODES {
            self.problems.push(Problem::too_many(span.clone()));
        }
        let value = match value {
            Value::NullKeyword(_) => NodeValue::Null,
            Value::BooleanLit(literal) => NodeValue::Bool(literal.value),
            Value::StringLit(literal) => NodeValue::String(literal.value.into_owned()),
            Value::NumberLit(literal) => number(literal.value).unwrap_or_else(|| {
                self.problems.push(Problem::number_too_large(span.clone()));
                NodeValue::Null
            }),
            Value::Array(array) => {
                let items = array.elements.into_iter();
                NodeValue::Seq(items.map(|item| self.node(item)).collect())
            }
            Value::Object(object) => {
                let mut seen: HashMap<String, Span> = HashMap::new();
                let mut entries = Vec::new();
                for property in object.properties {
                    let key_span = property.name.start()..property.name.end();
                    let key = property.name.into_string();
                    let value = self.node(property.value);
                    match seen.get(&key) {
                        Some(first) if self.problems.len() < MAX_PROBLEMS => {
                            let span = key_span;
                            let index = self.index;
                            let problem = Problem::duplicate(&key, span, Some(first), index);
                            self.problems.push(problem);
                        }
                        Some(_) => {}
                        None => {
                            seen.insert(key.clone(), key_span.clone());
                            entries.push(Entry {
                                key,
                                key_span,
                                value,
                            });
                        }
                    }
                }
                NodeValue::Map(entries)
            }
        };
        Node { span, value }
    }
}

fn number(text: &str) -> Option<NodeValue> {
    if text.contains(['.', 'e', 'E']) {
        let number: f64 = text.parse().ok()?;
        return number.is_finite().then_some(NodeValue::Float(number));
    }
    whole_number(text, 10)
}

/// Refuses what is too deep and strings that go over the end of their line.
fn survey(text: &str) -> Result<(), Problem> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1);
        match byte {
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(Problem::too_deep(at..at + 1));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'/' if next == Some(&b'/') => at = rest_of_line(text, at).end,
            b'/' if next == Some(&b'*') => {
                let rest = &text[at + 2..];
                at = rest.find("*/").map_or(text.len(), |end| at + 2 + end + 1);
            }
            b'"' => {
                let start = at;
                at += 1;
                loop {
                    match bytes.get(at) {
                        Some(b'"') => break,
                        Some(b'\\') if !matches!(bytes.get(at + 1), Some(b'\n' | b'\r')) => {
                            at += 2;
                        }
                        Some(b'\n' | b'\r') | None => {
                            let message = "the quote that opens here isn't closed on its line";
                            return Err(Problem::syntax(rest_of_line(text, start), message));
                        }
                        Some(_) => at += 1,
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}
