//! The tree comes from the toml crate. [`Survey`] goes over the text first, because that crate
//! bounds brackets but not the product of brackets and dotted keys, and because its error for
//! a key given twice doesn't say where the first one is.

use toml::de::{DeTable, DeValue};
use toml_parser::decoder::Encoding;
use toml_parser::parser::EventReceiver;
use toml_parser::{ErrorSink, Source};

use super::*;

pub(super) fn parse(text: &str, index: &LineIndex<'_>) -> Result<Node, Vec<Problem>> {
    let survey = Survey::new(text);
    if let Some(problem) = survey.problem {
        return Err(vec![problem]);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut problems: Vec<Problem> = Vec::new();
    for error in errors.iter().take(MAX_PROBLEMS) {
        let span = error.span().unwrap_or(0..0);
        if error.message() == "duplicate key" {
            let key = text.get(span.clone()).unwrap_or("");
            let first = survey.repeated.get(&span.start);
            problems.push(Problem::duplicate(key, span, first, index));
            continue;
        }
        problems.push(match survey.unclosed.get(&span.start) {
            Some(start) => {
                let line = rest_of_line(text, *start);
                Problem::syntax(line, "the quote that opens here isn't closed")
            }
            None => syntax_problem(text, error.message(), span),
        });
        // Later errors mostly follow from this mistake.
        break;
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut converter = Converter {
        problems,
        n_nodes: 0,
    };
    let value = converter.table(table.into_inner());
    if !converter.problems.is_empty() {
        return Err(converter.problems);
    }
    Ok(Node {
        span: 0..text.trim_end().len(),
        value,
    })
}

fn syntax_problem(text: &str, message: &str, span: Span) -> Problem {
    // A word such as `no` is read as the beginning of `nan`.
    let written = text.get(span.clone()).unwrap_or_default();
    let is_word = !written.is_empty() && written.chars().all(char::is_alphabetic);
    let is_no_value =
        is_word && (message.starts_with("invalid float") || message.starts_with("invalid boolean"));
    if message.starts_with("string values must be quoted") || is_no_value {
        return match span.is_empty() {
            true => Problem::syntax(span, "a value is missing"),
            false if ["true", "false"].contains(&&*written.to_lowercase()) => {
                let word = written.to_lowercase();
                Problem::syntax(span, format!("`{written}` is no value"))
                    .help(format!("write `{word}`"))
            }
            false if is_word => Problem::syntax(span, "text as a value must be in quotes")
                .help(format!("write `\"{written}\"`")),
            false => Problem::syntax(span, "text as a value must be in quotes"),
        };
    }
    Problem::syntax(
        span,
        message
            .strip_suffix(", expected nothing")
            .unwrap_or(message),
    )
}

struct Converter {
    problems: Vec<Problem>,
    n_nodes: usize,
}

impl Converter {
    // Recursive, as the survey has refused what is too deep.
    fn node(&mut self, span: Span, value: DeValue<'_>) -> Node {
        self.n_nodes += 1;
        if self.n_nodes == MAX_NODES {
            self.problems.push(Problem::too_many(span.clone()));
        }
        let value = match value {
            DeValue::String(text) => NodeValue::String(text.into_owned()),
            DeValue::Boolean(value) => NodeValue::Bool(value),
            DeValue::Datetime(time) => NodeValue::String(time.to_string()),
            DeValue::Integer(number) => whole_number(number.as_str(), number.radix())
                .unwrap_or_else(|| {
                    self.problems.push(Problem::number_too_large(span.clone()));
                    NodeValue::Null
                }),
            DeValue::Float(number) => {
                let value: f64 = number.as_str().parse().unwrap_or(f64::NAN);
                if value.is_infinite() && !number.as_str().contains("inf") {
                    self.problems.push(Problem::number_too_large(span.clone()));
                }
                NodeValue::Float(value)
            }
            DeValue::Array(items) => {
                let items = items.into_iter();
                let items = items.map(|item| self.node(item.span(), item.into_inner()));
                NodeValue::Seq(items.collect())
            }
            DeValue::Table(table) => self.table(table),
        };
        Node { span, value }
    }

    fn table(&mut self, table: DeTable<'_>) -> NodeValue {
        let entry = |(key, value): (toml::Spanned<Cow<'_, str>>, toml::Spanned<DeValue<'_>>)| {
            let (key_span, value_span) = (key.span(), value.span());
            let value = self.node(value_span, value.into_inner());
            Entry {
                key: key.into_inner().into_owned(),
                key_span,
                value,
            }
        };
        let mut entries: Vec<Entry> = table.into_iter().map(entry).collect();
        entries.sort_by_key(|entry| entry.key_span.start);
        NodeValue::Map(entries)
    }
}

/// Facts about a document that are found without building its values.
struct Survey<'t> {
    source: Source<'t>,
    /// Every place a key can name, as a tree; 0 is the root.
    places: Vec<Place>,
    children: HashMap<(usize, Cow<'t, str>), usize>,
    /// The place that the current `[header]` opened, and how deep it is.
    header: (usize, usize),
    is_in_header: bool,
    /// Arrays and inline tables that haven't ended.
    open: Vec<Open>,
    keys: Vec<(Cow<'t, str>, Span)>,
    /// The place of the value to come.
    target: (usize, usize),
    /// From the start of a repeated key to the first of its kind.
    repeated: HashMap<usize, Span>,
    /// From the end of a quoted text that isn't closed to its start.
    unclosed: HashMap<usize, usize>,
    problem: Option<Problem>,
}

#[derive(Default)]
struct Place {
    first: Option<Span>,
    /// For `[[header]]`: the place of its latest element.
    element: Option<usize>,
}

struct Open {
    is_table: bool,
    /// The `target` before this one; it is set back when this one ends.
    outer: (usize, usize),
    /// Where the keys of the table start from.
    base: (usize, usize),
}

impl<'t> Survey<'t> {
    fn new(text: &'t str) -> Survey<'t> {
        let source = Source::new(text);
        let mut survey = Survey {
            source,
            places: vec![Place::default()],
            children: HashMap::new(),
            header: (0, 0),
            is_in_header: false,
            open: Vec::new(),
            keys: Vec::new(),
            target: (0, 0),
            repeated: HashMap::new(),
            unclosed: HashMap::new(),
            problem: None,
        };
        let tokens = source.lex().into_vec();
        toml_parser::parser::parse_document(&tokens, &mut survey, &mut ());
        survey
    }

    fn add(&mut self, place: Place) -> usize {
        self.places.push(place);
        self.places.len() - 1
    }

    /// Walks the collected keys down from `base` and notes the last one as defined.
    fn define(&mut self, base: (usize, usize), is_array: bool) -> (usize, usize) {
        let (mut place, mut depth) = base;
        let keys = std::mem::take(&mut self.keys);
        let n_keys = keys.len();
        for (at, (name, span)) in keys.into_iter().enumerate() {
            let key = (place, name);
            place = match self.children.get(&key) {
                Some(child) => *child,
                None => {
                    let child = self.add(Place::default());
                    self.children.insert(key, child);
                    child
                }
            };
            depth += 1;
            if depth > MAX_DEPTH {
                self.problem.get_or_insert(Problem::too_deep(span));
                return (place, depth);
            }
            let is_last = at + 1 == n_keys;
            match &self.places[place].first {
                Some(first) if is_last => {
                    self.repeated.insert(span.start, first.clone());
                }
                Some(_) => {}
                None => self.places[place].first = Some(span),
            }
            if is_last && is_array {
                let element = self.add(Place::default());
                self.places[place].element = Some(element);
                depth += 1;
            }
            place = self.places[place].element.unwrap_or(place);
        }
        (place, depth)
    }

    fn check_quotes(&mut self, span: &Span, encoding: Option<Encoding>) {
        let quotes = match encoding {
            None => return,
            Some(Encoding::LiteralString) => "'",
            Some(Encoding::BasicString) => "\"",
            Some(Encoding::MlLiteralString) => "'''",
            Some(Encoding::MlBasicString) => "\"\"\"",
        };
        let written = self.source.input().get(span.clone()).unwrap_or("");
        if written.len() < 2 * quotes.len() || !written.ends_with(quotes) {
            self.unclosed.insert(span.end, span.start);
        }
    }

    fn base(&self) -> (usize, usize) {
        self.open.last().map_or(self.header, |open| open.base)
    }

    fn enter(&mut self, span: toml_parser::Span, is_table: bool) -> bool {
        let (place, depth) = self.target;
        if depth >= MAX_DEPTH || self.open.len() >= MAX_DEPTH {
            let span = span.start()..span.end();
            self.problem.get_or_insert(Problem::too_deep(span));
            return false;
        }
        // Each value of an array is a place of its own.
        let place = if is_table {
            place
        } else {
            self.add(Place::default())
        };
        let base = (place, depth);
        self.open.push(Open {
            is_table,
            outer: self.target,
            base,
        });
        self.target = (place, depth + 1);
        true
    }

    fn leave(&mut self) {
        if let Some(open) = self.open.pop() {
            self.target = open.outer;
        }
    }
}

impl EventReceiver for Survey<'_> {
    fn std_table_open(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.keys.clear();
        self.open.clear();
        self.is_in_header = true;
    }

    fn array_table_open(&mut self, span: toml_parser::Span, error: &mut dyn ErrorSink) {
        self.std_table_open(span, error);
    }

    fn std_table_close(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.header = self.define((0, 0), false);
        self.is_in_header = false;
    }

    fn array_table_close(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.header = self.define((0, 0), true);
        self.is_in_header = false;
    }

    fn simple_key(
        &mut self,
        span: toml_parser::Span,
        encoding: Option<Encoding>,
        _: &mut dyn ErrorSink,
    ) {
        let place = span.start()..span.end();
        self.check_quotes(&place, encoding);
        let Some(written) = self.source.input().get(place.clone()) else {
            return;
        };
        let mut name = Cow::Borrowed("");
        let raw = toml_parser::Raw::new_unchecked(written, encoding, span);
        raw.decode_key(&mut name, &mut ());
        self.keys.push((name, place));
    }

    fn key_val_sep(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        if !self.is_in_header {
            self.target = self.define(self.base(), false);
        }
    }

    fn scalar(
        &mut self,
        span: toml_parser::Span,
        encoding: Option<Encoding>,
        _: &mut dyn ErrorSink,
    ) {
        self.check_quotes(&(span.start()..span.end()), encoding);
    }

    fn newline(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        // After a mistake, keys of the line must not become part of the next one's.
        self.keys.clear();
    }

    fn inline_table_open(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) -> bool {
        self.enter(span, true)
    }

    fn inline_table_close(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.leave();
    }

    fn array_open(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) -> bool {
        self.enter(span, false)
    }

    fn array_close(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.leave();
    }

    fn value_sep(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        if self.open.last().is_some_and(|open| !open.is_table) {
            let place = self.add(Place::default());
            self.target.0 = place;
        }
    }
}
