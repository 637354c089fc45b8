use super::*;
use hookwire_testing::rows;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde::Deserialize;

/// A way down a tree as a row has it: keys and positions.
fn path(steps: &[Value]) -> Vec<Step<'_>> {
    let step = |step: &'_ Value| step.as_u64().map(|n| Step::Index(n as usize));
    steps
        .iter()
        .map(|it| step(it).unwrap_or_else(|| Step::Key(it.as_str().unwrap_or_default())))
        .collect()
}

#[test]
fn changes_are_written_as_people_would() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        format: String,
        text: String,
        path: Vec<Value>,
        set: Option<Value>,
        append: Option<Value>,
        rename: Option<String>,
        /// The member before or behind which a new one stands.
        before: Option<String>,
        behind: Option<String>,
        after: Option<String>,
    }
    rows::compare("syntax/edits.jsonl", |row: Row| {
        let at = match (&row.before, &row.behind) {
            (Some(key), _) => At::Before(key),
            (_, Some(key)) => At::Behind(key),
            _ => At::End,
        };
        let op = match (row.set, row.append, &row.rename) {
            (Some(value), ..) => Op::Set(value, at),
            (_, Some(item), _) => Op::Append(item),
            (.., Some(key)) => Op::Rename(key),
            _ => Op::Remove,
        };
        (
            rewritten(
                &row.text,
                Format::from_extension(&row.format).unwrap(),
                &[(path(&row.path), op)],
            ),
            row.after,
        )
    });
}

/// Texts with what people write: comments, quotes, blocks, brackets, headers, blank lines.
const TEXTS: &[(Format, &str)] = &[
    (
        Format::Yaml,
        "# all\ndefaults: # d\n  fail: closed\n\nhooks:\n  # first\n  - name: 'a'   # n\n    on: [Stop, \"X\"] # o\n    deny: >-\n      two\n      lines\n\n  - { name: b, on: Stop, env: {A: 1, B: } } # b\n  -   deny: |\n        x\n\n        y\n      \"name\": c\n      list:\n      - 1\n      # c\n      - - 2\n        - 3\n      - k: v\n        l: w\n# end\n",
    ),
    (
        Format::Yaml,
        "---\nhooks: &h\n- &x one\n- *x\n- !!str 2\nmore:\n  all: *h\n  none:\n  odd: ~\n",
    ),
    (Format::Yaml, "{a: 1, \"b\": [x, {c: y}], # c\n d: 'e'}"),
    (Format::Yaml, "a: 1"),
    (
        Format::Yaml,
        "base: &b { x: 1, y: 2 }\nown:\n  <<: *b\n  z: 3\n",
    ),
    (
        Format::Toml,
        "# all\ndialect = 'native' # d\nnone.sub.deep = 1\n\n[defaults]\nfail = \"closed\"\n\n# first\n[[hooks]]\nname = 'a' # n\non = [\n  \"Stop\", # s\n  'X',\n]\n[hooks.command]\nrun = \"\"\"\nx\ny\"\"\"\nenv = { A = 1, B = [2, 3] }\n\n[[hooks]]\nname = \"b\"\n\n[other.deep]\nx = 1.5\n",
    ),
    (Format::Toml, "a = 1"),
    (
        Format::Json,
        "{\n  // all\n  \"hooks\": [\n    {\n      \"name\": \"a\", // n\n      \"on\": [\"Stop\", \"X\"] // o\n    },\n    { \"name\": \"b\", \"env\": { \"A\": 1, /* b */ \"B\": [] }, },\n  ],\n  \"more\": {}\n}\n",
    ),
    (Format::Json, "{\"a\":1,\"b\":[1,[2,3],{\"c\":null}]}"),
    (Format::Yaml, ""),
    (Format::Toml, "# c"),
    (Format::Json, "// c\n"),
    (Format::Json, "[\n\t\"x\", // x\n\t\"y\"\n]"),
];

/// Each place of a tree.
fn places<'n>(node: &'n Node, way: &mut Vec<Step<'n>>, found: &mut Vec<(Vec<Step<'n>>, &'n Node)>) {
    found.push((way.clone(), node));
    for (step, child) in node.children() {
        way.push(step);
        places(child, way, found);
        way.pop();
    }
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        select(
            &[
                "true",
                "no",
                "3",
                "",
                "- a",
                "a: b",
                "a #b",
                "'",
                "\"q\"",
                "~",
                "two\nlines\n",
                "\u{85}\u{feff}x",
                "\u{a0}x",
                "\u{2028}",
                "it's",
                "*a",
                "|",
                " x ",
                "a, b",
                "[x]",
                "\\"
            ][..]
        )
        .prop_map(String::from),
        "[a-zA-Z0-9 :#,'\"\\-\u{e9}]{0,12}",
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        words().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(words(), inner, 0..3)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

/// What a change may touch: nothing for what is new, and of what goes or is replaced its own text,
/// with the blanks, the comma and the comment that belong to it.
fn is_within(
    text: &str,
    changes: &[Change],
    op: &Op<'_>,
    old: Option<(Option<&Entry>, &Node)>,
) -> bool {
    let removed = |span: &Span| text[span.clone()].trim().to_string();
    let Some((entry, node)) = old else {
        return changes
            .iter()
            .all(|(span, _)| ["", "{}", "null", "~"].contains(&&*removed(span)));
    };
    match op {
        Op::Append(_) => changes
            .iter()
            .all(|(span, _)| ["", "[]"].contains(&&*removed(span))),
        Op::Rename(_) => matches!(changes, [(span, _)] if *span == entry.unwrap().key_span),
        Op::Set(..) => {
            matches!(changes, [(span, _)] if span.end <= node.span.end.max(entry.map_or(0, |it| it.key_span.end + 1))
            && span.start >= entry.map_or(node.span.start, |it| it.key_span.end))
        }
        Op::Remove | Op::Under(_) => changes.iter().all(|(span, _)| {
            let mut own: Vec<Span> = entry.map(|it| it.key_span.clone()).into_iter().collect();
            each_span(node, &mut |it| own.push(it.clone()));
            own.retain(|it| span.start <= it.start && it.end <= span.end);
            let (first, last) = (
                own.iter().map(|it| it.start).min(),
                own.iter().map(|it| it.end).max(),
            );
            let (Some(first), Some(last)) = (first, last) else {
                return [",", ""].contains(&&*removed(span));
            };
            let before = removed(&(span.start..first));
            let behind = removed(&(last..span.end));
            let behind = behind.trim_start_matches([',', ':']).trim();
            let is_own = |it: &str| {
                ["", ",", "-", "[", "[["].contains(&it) || it.starts_with('&') || it.ends_with('.')
            };
            let is_comment = behind.is_empty()
                || (["#", "//", "/*"].iter().any(|it| behind.starts_with(it))
                    && !behind.contains('\n'));
            is_own(before.trim_start_matches(['-', ' '])) && is_comment
        }),
    }
}

/// A change at random: of which place, which kind, with which word and value.
type Random = (Index, Index, u8, String, Value);

/// Makes the change; it holds just what was meant, and every byte outside of that stays.
fn changed(
    text: &str,
    format: Format,
    (at, beside, which, word, value): &Random,
) -> Result<String, TestCaseError> {
    let root = parse(text, format).unwrap();
    let mut found = Vec::new();
    places(&root, &mut Vec::new(), &mut found);
    let (mut path, node) = at.get(&found).clone();
    let keys: Vec<&str> = node.entries().iter().map(|it| it.key.as_str()).collect();
    let neighbour = match which {
        _ if keys.is_empty() => At::End,
        0 => At::Before(beside.get::<&str>(&keys)),
        _ => At::Behind(beside.get::<&str>(&keys)),
    };
    let op = match which {
        0 | 1 => {
            path.push(Step::Key(word));
            Op::Set(value.clone(), neighbour)
        }
        2 => Op::Set(value.clone(), At::End),
        3 | 4 => Op::Remove,
        _ if matches!(node.value, NodeValue::Seq(_)) => Op::Append(value.clone()),
        _ => Op::Rename(word),
    };
    let wanted = wanted(root.to_json(), &path, &op)
        .filter(|_| !path.is_empty() || matches!(op, Op::Append(_)));
    let Some(wanted) = wanted else {
        return Ok(text.to_string());
    };
    let Some(changes) = Writer::new(text, format, &root).changes(&path, &op) else {
        // An anchor's value stands elsewhere, too; a table of TOML can't become a value in its
        // place.
        let is_known = format == Format::Toml || text.contains('&');
        prop_assert!(is_known, "{op:?} {path:?} can't be made in {text}");
        return Ok(text.to_string());
    };
    let after = apply(text, &changes);
    prop_assert_eq!(parse(&after, format).unwrap().to_json(), wanted);
    prop_assert_eq!(after.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
    let n_bare = |text: &str| text.matches('\n').count() - text.matches("\r\n").count();
    prop_assert!(!text.contains("\r\n") || n_bare(&after) == 0, "{after:?}");
    let entry = path
        .split_last()
        .and_then(|(last, way)| root.at(way)?.entry(last.key()?));
    let old = root.at(&path).map(|node| (entry, node));
    prop_assert!(
        is_within(text, &changes, &op, old),
        "{op:?} {path:?}: {changes:?} in {text}"
    );
    Ok(after)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_change_changes_what_is_meant(text in select(TEXTS), crlf in any::<bool>(), bom in any::<bool>(), changes in prop::collection::vec((any::<Index>(), any::<Index>(), 0..6_u8, words(), values()), 1..8)) {
        let (format, text) = text;
        let text = if crlf { str::replace(text, "\n", "\r\n") } else { text.to_string() };
        let mut text = if bom { format!("\u{feff}{text}") } else { text };
        for change in &changes {
            text = changed(&text, format, change)?;
        }
    }
}
