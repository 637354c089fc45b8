use super::Format::{Json, Toml, Yaml};
use super::*;
use hookwire_testing::rows;
use serde::Deserialize;

/// `line:column message (help)`, one problem a line; the tree as JSON if there is none.
fn outcome(text: &str, format: Format) -> String {
    let index = LineIndex::new(text);
    let problems = match parse(text, format) {
        Ok(node) => return node.to_json().to_string(),
        Err(problems) => problems,
    };
    let lines = problems.iter().map(|problem| {
        let start = index.position(problem.span.start);
        let help = problem.help.as_ref().map(|help| format!(" ({help})"));
        let help = help.unwrap_or_default();
        format!("{}:{} {}{help}", start.line, start.column, problem.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What a text is read as: its tree, or what is wrong with it.
#[test]
fn mistakes_and_values() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        format: String,
        text: String,
        read: serde_json::Value,
    }
    rows::compare("syntax/formats.jsonl", |row: Row| {
        (
            outcome(&row.text, Format::from_extension(&row.format).unwrap()),
            rows::written_value(&row.read),
        )
    });
}

#[test]
fn hostile_texts_are_refused() {
    let deep = "more than 64 lists and maps are inside one another";
    let n = 10_000;
    let keys = "a.".repeat(60);
    let steps = (0..n).map(|at| format!("{}a:\n", " ".repeat(at % 100)));
    let layer = |at: usize| format!("a{at}: &a{at} [{}x]\n", format!("*a{}, ", at - 1).repeat(9));
    let bomb = "a0: &a0 x\n".to_owned() + &(1..20).map(layer).collect::<String>();
    let layer = |at: usize| {
        format!(
            "a{at}: &a{at} {}*a{}{}\n",
            "[".repeat(30),
            at - 1,
            "]".repeat(30)
        )
    };
    let tower = "a0: &a0 x\n".to_owned() + &(1..200).map(layer).collect::<String>();
    let cases = [
        (Yaml, "[".repeat(n), format!("1:65 {deep}")),
        (Yaml, "- ".repeat(n), format!("1:129 {deep}")),
        (Yaml, "{a: ".repeat(n), format!("1:257 {deep}")),
        (Yaml, steps.collect(), format!("65:65 {deep}")),
        (Yaml, tower, format!("4:39 {deep}")),
        (
            Yaml,
            bomb,
            "7:10 the anchors and aliases of this file expand to too much".into(),
        ),
        (
            Yaml,
            "[".to_owned() + &"x,".repeat(300_000),
            "1:400002 the file has more than 200000 values".into(),
        ),
        (
            Toml,
            format!("a = {}", "[".repeat(n)),
            format!("1:68 {deep}"),
        ),
        (
            Toml,
            format!("a = {}", "{a = ".repeat(n)),
            format!("1:320 {deep}"),
        ),
        (
            Toml,
            format!("{}a = 1", "a.".repeat(n)),
            format!("1:129 {deep}"),
        ),
        (
            Toml,
            format!("[{}a]", "a.".repeat(n)),
            format!("1:130 {deep}"),
        ),
        (
            Toml,
            format!(
                "[{keys}a]\n{keys}a = {}",
                format!("{{{keys}a = ").repeat(70)
            ),
            format!("2:7 {deep}"),
        ),
        (Json, "[".repeat(n), format!("1:65 {deep}")),
        (Json, "{\"a\":".repeat(n), format!("1:321 {deep}")),
        (
            Json,
            " ".repeat(MAX_BYTES + 1),
            "1:1 the file is larger than 4 MiB".into(),
        ),
    ];
    for (format, text, expected) in cases {
        assert_eq!(outcome(&text, format), expected, "{format:?} {:.40}", text);
    }
}

/// Every key and every scalar is found in the text where its span says.
#[test]
fn spans_are_exact() {
    fn walk(text: &str, node: &Node, out: &mut Vec<String>) {
        let written = |span: &Span| text[span.clone()].to_owned();
        match &node.value {
            NodeValue::Seq(items) => items.iter().for_each(|item| walk(text, item, out)),
            NodeValue::Map(entries) => {
                for entry in entries {
                    out.push(written(&entry.key_span));
                    walk(text, &entry.value, out);
                }
            }
            _ => out.push(written(&node.span)),
        }
    }
    let cases = [
        (
            Yaml,
            "\u{feff}ä: 'ü'\r\n\"on\":\r\n  - |\r\n    é\r\n\r\n  - é # x\r\n",
            "ä 'ü' \"on\" é é",
        ),
        (
            Toml,
            "\u{feff}\"ä\" = 'ü'\r\n[x.y]\r\nz = [1, \"é\"] # x\r\n",
            "\"ä\" 'ü' x y z 1 \"é\"",
        ),
        (
            Json,
            "\u{feff}{\"ä\": \"ü\", // ö\r\n \"b\": [1, true]}",
            "\"ä\" \"ü\" \"b\" 1 true",
        ),
    ];
    for (format, text, expected) in cases {
        let mut out = Vec::new();
        walk(text, &parse(text, format).expect("no problem"), &mut out);
        assert_eq!(out.join(" "), expected);
    }
    let node = parse("a:\n  b: 1\n  c: [2]\n\n# x\nd: 1", Yaml).expect("no problem");
    assert_eq!(
        node.get("a").map(|it| it.span.clone()),
        Some(5..18),
        "blanks don't count"
    );
}

#[test]
fn format_comes_from_the_extension() {
    let cases = [
        ("x/a.yaml", Some(Yaml)),
        ("a.YML", Some(Yaml)),
        ("a.toml", Some(Toml)),
        ("a.b.json", Some(Json)),
        ("a.jsonc", None),
        ("yaml", None),
    ];
    for (path, expected) in cases {
        assert_eq!(Format::from_path(Path::new(path)), expected, "{path}");
    }
}
