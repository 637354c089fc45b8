//! The small languages inside of values: rules, conditions, templates.

use super::document::Document;
use super::editor::Encoding;
use super::texts::{self, TextKind};
use super::written::{Reading, each_text};
use hookwire_base::syntax::node::{Node, Span};
use hookwire_base::syntax::written::Written;
use hookwire_base::template::{PATHS, Placeholders, Template};
use hookwire_dialects as dialects;
use hookwire_handlers::handlers;
use hookwire_rules::matching::tools::{self, ArgumentKind};
use ls_types::{SemanticToken, SemanticTokenType, SemanticTokens, SemanticTokensLegend};
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// The kind of a token. The order is that of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tool,
    Parameter,
    Regexp,
    Operator,
    Variable,
    Property,
    Function,
    String,
    Number,
    Keyword,
    Event,
    Comment,
}

pub(super) fn token_legend() -> SemanticTokensLegend {
    let token_types = [
        SemanticTokenType::CLASS,
        SemanticTokenType::PARAMETER,
        SemanticTokenType::REGEXP,
        SemanticTokenType::OPERATOR,
        SemanticTokenType::VARIABLE,
        SemanticTokenType::PROPERTY,
        SemanticTokenType::FUNCTION,
        SemanticTokenType::STRING,
        SemanticTokenType::NUMBER,
        SemanticTokenType::KEYWORD,
        SemanticTokenType::ENUM_MEMBER,
        SemanticTokenType::COMMENT,
    ];
    SemanticTokensLegend {
        token_types: token_types.into(),
        token_modifiers: Vec::new(),
    }
}

pub(super) fn semantic_tokens(document: &Document, encoding: Encoding) -> SemanticTokens {
    SemanticTokens {
        result_id: None,
        data: encode_tokens(document, encoding, &tokens_in(document)),
    }
}

/// A part of a small text.
type Token = (Range<usize>, Kind);

/// The tokens of a document, in order, each within a line and none within another; while it can't
/// be read, those that are still there.
fn tokens_in(document: &Document) -> Vec<(Span, Kind)> {
    let Some(readable) = document.readable() else {
        return Vec::new();
    };
    let document = readable.document;
    let Some(reading) = Reading::of_document(document) else {
        return Vec::new();
    };
    let mut tokens = Vec::new();
    let mut add = |node: &Node, text: &str, found: Vec<Token>| {
        let written = Written::of_node(node, &document.text, document.format());
        for (part, kind) in found {
            let part = if part.end > text.len() {
                part.start..text.len()
            } else {
                part
            };
            tokens.extend(
                written
                    .lines(&part, &document.text)
                    .into_iter()
                    .map(|span| (span, kind)),
            );
        }
    };
    for (compiled, hook) in reading.hooks() {
        let own = hook
            .get("dialect")
            .and_then(|dialect| dialects::by_name(dialect.text()?).ok());
        let known = own
            .or_else(|| dialects::by_name(reading.dialect).ok())
            .map(|it| &it.contract.placeholders);
        let placeholders = compiled
            .hook
            .as_ref()
            .map(|hook| &hook.contract.placeholders)
            .or(known)
            .unwrap_or(&PATHS);
        each_text(hook, &mut |path, node, text| {
            add(node, text, tokens_within(texts::in_hook(path), text))
        });
        for handler in hook.entries() {
            for (node, placeholders) in
                handlers::templates(&handler.key, &handler.value, placeholders)
            {
                let text = node.text().unwrap_or_default();
                add(node, text, template_tokens(text, placeholders));
            }
        }
    }
    for entry in reading
        .root
        .get("policy")
        .map(Node::entries)
        .unwrap_or_default()
    {
        if matches!(entry.key.as_str(), "deny" | "allow") {
            each_text(&entry.value, &mut |_, node, text| {
                add(node, text, rule_tokens(text))
            });
        }
    }
    tokens.sort_by_key(|(span, _)| (span.start, span.end));
    let mut end = 0;
    tokens.retain(|(span, _)| {
        let is_free = span.start >= end && !span.is_empty();
        end = if is_free { span.end } else { end };
        is_free
    });
    tokens
        .into_iter()
        .filter_map(|(span, kind)| Some((readable.part(&span)?, kind)))
        .collect()
}

/// The tokens of a text by what it is; texts that handlers fill in are apart.
fn tokens_within(kind: Option<TextKind>, text: &str) -> Vec<Token> {
    match kind {
        Some(TextKind::Rule) => rule_tokens(text),
        Some(TextKind::Condition) => cel_tokens(text),
        Some(TextKind::Event) => vec![(0..text.len(), Kind::Event)],
        Some(TextKind::Matcher | TextKind::Regex) => vec![(0..text.len(), Kind::Regexp)],
        Some(TextKind::Header) => template_tokens(text, &PATHS),
        _ => Vec::new(),
    }
}

/// `Tool(pattern)`, as [`hookwire_rules::matching::rule::ToolRule`] reads it.
fn rule_tokens(text: &str) -> Vec<Token> {
    let (tool, pattern) = text
        .split_once('(')
        .map_or((text, None), |(tool, rest)| (tool, Some(rest)));
    let mut tokens = Vec::new();
    for (n, name) in split_places(tool, '|').enumerate() {
        if n > 0 {
            tokens.push((name.start - 1..name.start, Kind::Operator));
        }
        glob_tokens(text, name, Kind::Tool, &mut tokens);
    }
    let Some(pattern) = pattern else {
        return tokens;
    };
    let mut start = tool.len();
    tokens.push((start..start + 1, Kind::Operator));
    start += 1;
    let trimmed = pattern.trim_end();
    let end = start + trimmed.strip_suffix(')').unwrap_or(trimmed).len();
    let is_shell = tool.split('|').any(|name| {
        tools::known(str::trim(name)).map(|tool| tool.kind) == Some(ArgumentKind::Shell)
    });
    if let Some((name, _)) = pattern.split_once('=').filter(|(name, _)| {
        (!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
            && !is_shell
    }) {
        tokens.push((start..start + name.len(), Kind::Parameter));
        start += name.len();
        tokens.push((start..start + 1, Kind::Operator));
        start += 1;
    }
    glob_tokens(text, start.min(end)..end, Kind::Regexp, &mut tokens);
    if trimmed.ends_with(')') {
        tokens.push((end..end + 1, Kind::Operator));
    }
    tokens
}

/// Where the parts of a text between separators are.
fn split_places(text: &str, separator: char) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split(separator).map(move |part| {
        let place = start..start + part.len();
        start = place.end + separator.len_utf8();
        place
    })
}

/// A glob: its stars apart from what is meant as it is.
fn glob_tokens(text: &str, part: Range<usize>, kind: Kind, tokens: &mut Vec<Token>) {
    let mut start = part.start;
    for (at, stars) in text
        .get(part.clone())
        .unwrap_or_default()
        .match_indices(['*', '?'])
    {
        let at = part.start + at;
        tokens.push((start..at, kind));
        tokens.push((at..at + stars.len(), Kind::Operator));
        start = at + stars.len();
    }
    tokens.push((start..part.end, kind));
    tokens.retain(|(part, _)| !part.is_empty());
}

/// A CEL expression, finished or not.
fn cel_tokens(text: &str) -> Vec<Token> {
    static PARTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let parts = concat!(
            r"(?P<comment>//[^\n]*)",
            r#"|(?P<string>[bB]?[rR][bB]?(?:"[^"\n]*"|'[^'\n]*')"#,
            r#"|[bB]?(?:"""(?s:.*?)"""|'''(?s:.*?)'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))"#,
            r"|(?P<number>0[xX][0-9a-fA-F]+[uU]?|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?[uU]?)",
            r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)",
            r"|(?P<operator>&&|\|\||[=!<>]=|[-+*/%<>!?:])",
        );
        Regex::new(parts)
            .inspect_err(|error| tracing::error!(%error, "CEL isn't coloured."))
            .ok()
    });
    let Some(parts) = PARTS.as_ref() else {
        return Vec::new();
    };
    parts
        .captures_iter(text)
        .filter_map(|found| {
            let is = |group: &str| found.name(group).is_some();
            let whole = found.get(0)?.range();
            let kind = if is("comment") {
                Kind::Comment
            } else if is("string") {
                Kind::String
            } else if is("number") {
                Kind::Number
            } else if is("operator") {
                Kind::Operator
            } else {
                let before = text.get(..whole.start).unwrap_or_default().trim_end();
                let behind = text.get(whole.end..).unwrap_or_default().trim_start();
                match text.get(whole.clone()).unwrap_or_default() {
                    _ if behind.starts_with('(') => Kind::Function,
                    _ if before.ends_with('.') => Kind::Property,
                    "true" | "false" | "null" | "in" => Kind::Keyword,
                    _ => Kind::Variable,
                }
            };
            Some((whole, kind))
        })
        .collect()
}

/// The placeholders of a text; none while one isn't closed.
fn template_tokens(text: &str, placeholders: &Placeholders) -> Vec<Token> {
    let Ok(template) = Template::new(text, placeholders) else {
        return Vec::new();
    };
    let mut tokens = Vec::new();
    for (name, at) in template.places() {
        let written = text.get(at.clone()).unwrap_or_default();
        let Some(mut start) = written.find(name).map(|offset| at.start + offset) else {
            continue;
        };
        tokens.push((at.start..start, Kind::Operator));
        let end = start + name.len();
        for (n, step) in name.split('.').enumerate() {
            tokens.push((
                start..start + step.len(),
                if n == 0 {
                    Kind::Variable
                } else {
                    Kind::Property
                },
            ));
            start += step.len() + 1;
        }
        tokens.push((end..at.end, Kind::Operator));
    }
    tokens.retain(|(part, _)| !part.is_empty());
    tokens
}

/// As LSP has it: each place relative to the one before, as the editor counts.
fn encode_tokens(
    document: &Document,
    encoding: Encoding,
    tokens: &[(Span, Kind)],
) -> Vec<SemanticToken> {
    let lines = document.lines();
    let length = |span: Range<usize>| {
        let text = document.text.get(span).unwrap_or_default();
        let n = match encoding {
            Encoding::Utf8 => text.len(),
            Encoding::Utf16 => text.encode_utf16().count(),
        };
        u32::try_from(n).unwrap_or(u32::MAX)
    };
    let (mut line, mut at) = (0, lines.index.utf8(0).1);
    let mut encoded = Vec::with_capacity(tokens.len());
    for (span, kind) in tokens {
        let (own, column) = lines.index.utf8(span.start);
        // Measured from the token before: a line may be long.
        let from = if own == line && !encoded.is_empty() {
            at
        } else {
            span.start - column
        };
        encoded.push(SemanticToken {
            delta_line: u32::try_from(own - line).unwrap_or(u32::MAX),
            delta_start: length(from..span.start),
            length: length(span.clone()),
            token_type: *kind as u32,
            token_modifiers_bitset: 0,
        });
        (line, at) = (own, span.start);
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::document;
    use hookwire_dialects::by_name;
    use proptest::prelude::*;

    fn told(text: &str, tokens: Vec<Token>) -> String {
        let tokens = tokens
            .into_iter()
            .map(|(part, kind)| format!("{}:{kind:?}", &text[part]));
        tokens.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn small_languages() {
        let braces = &by_name("workflow-framework").unwrap().contract.placeholders;
        type Read = fn(&str) -> Vec<Token>;
        for (read, text, expected) in [
            (rule_tokens as Read, "Bash", "Bash:Tool"),
            (
                rule_tokens,
                "Bash(git push*)",
                "Bash:Tool (:Operator git push:Regexp *:Operator ):Operator",
            ),
            (
                rule_tokens,
                "Bash(A=1)",
                "Bash:Tool (:Operator A=1:Regexp ):Operator",
            ),
            (
                rule_tokens,
                "mcp__*(path=src/**)",
                "mcp__:Tool *:Operator (:Operator path:Parameter =:Operator src/:Regexp *:Operator *:Operator ):Operator",
            ),
            (rule_tokens, "Read(", "Read:Tool (:Operator"),
            (
                cel_tokens,
                "has(tool.input.n) && tool.input['a'] >= 1.5e3 // x",
                "has:Function tool:Variable input:Property n:Property &&:Operator tool:Variable input:Property 'a':String \
                 >=:Operator 1.5e3:Number // x:Comment",
            ),
            (
                cel_tokens,
                "null in r'\\' || x.matches(\"a\\\"\")",
                "null:Keyword in:Keyword r'\\':String ||:Operator x:Variable matches:Function \"a\\\"\":String",
            ),
            (cel_tokens, "a == 'x", "a:Variable ==:Operator x:Variable"),
            (
                |text| template_tokens(text, &PATHS),
                "a ${ tool.input.path } $${x}",
                "${ :Operator tool:Variable input:Property path:Property  }:Operator",
            ),
            (|text| template_tokens(text, &PATHS), "${a", ""),
        ] {
            assert_eq!(told(text, read(text)), expected, "{text}");
        }
        assert_eq!(
            told("{toolName} {x}", template_tokens("{toolName} {x}", braces)),
            "{:Operator toolName:Variable }:Operator"
        );
    }

    #[test]
    fn tokens_are_where_the_text_is() {
        for (name, text, expected) in [
            (
                "a.yaml",
                "hooks:\n- name: a\n  on: [Stop, 'Pre']\n  matcher: Bash|Read\n  if: \"Bash(*)\"\n  when: >-\n    a ==\n    'b c'\n  command:\n  - ${no}\n  - ${x.y}\n",
                "Stop:Event Pre:Event Bash|Read:Regexp Bash:Tool (:Operator *:Operator ):Operator a:Variable ==:Operator \
                 'b c':String ${:Operator x:Variable y:Property }:Operator",
            ),
            (
                "a.toml",
                "[policy]\ndeny = ['Bash']\n[[hooks]]\nname = 'a'\nwhen = \"a == \\\"b\\\"\"\nprompt = '''\n${a}\n'''\n",
                "Bash:Tool a:Variable ==:Operator \\\"b\\\":String ${:Operator a:Variable }:Operator",
            ),
            (
                "a.json",
                "{\"hooks\": [{\"name\": \"a\", \"guard\": {\"step-limit\": {\"by\": \"x\"}}, \"http\": {\"body\": [{\"a\": \"${b}\"}]}}]}",
                "x:Variable ${:Operator b:Variable }:Operator",
            ),
            (
                "b.yaml",
                "dialect: workflow-framework\nhooks:\n- {name: a, on: PreToolCall, prompt: 'x {toolName} ${y}'}\n",
                "PreToolCall:Event {:Operator toolName:Variable }:Operator",
            ),
            (
                "c.yaml",
                "x: &c a == 1\nhooks:\n- {when: *c, on: &e Stop}\n- {on: *e}\n",
                "Stop:Event",
            ),
            ("d.yaml", "hooks: [", ""),
        ] {
            let tokens = tokens_in(&document(name, text)).into_iter();
            assert_eq!(told(text, tokens.collect()), expected, "{text}");
        }
    }

    /// What an editor makes of the encoding: lines and columns.
    fn check(document: &Document) {
        let tokens = tokens_in(document);
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            let counted = Document::new(
                document.uri.clone(),
                document.path.clone(),
                1,
                document.text.clone(),
                encoding,
            );
            let lines = counted.lines();
            let (mut line, mut column) = (0, 0);
            let encoded = encode_tokens(document, encoding, &tokens);
            assert_eq!(encoded.len(), tokens.len());
            let mut end = 0;
            for (token, (span, _)) in encoded.iter().zip(&tokens) {
                column = if token.delta_line == 0 {
                    column + token.delta_start
                } else {
                    token.delta_start
                };
                line += token.delta_line;
                let range = lines.range(span);
                assert_eq!(
                    (range.start.line, range.start.character),
                    (line, column),
                    "{:?}",
                    document.text
                );
                assert_eq!(
                    (range.end.line, range.end.character),
                    (line, column + token.length),
                    "{:?}",
                    document.text
                );
                assert!(span.start >= end, "tokens overlap in {:?}", document.text);
                end = span.end;
            }
        }
    }

    #[test]
    fn all_examples() {
        let mut n = 0;
        for document in crate::written::examples() {
            check(&document);
            n += tokens_in(&document).len();
        }
        assert!(n > 100, "{n}");
    }

    proptest! {
        #[test]
        fn any_text(parts in prop::collection::vec(prop::sample::select(vec![
            "hooks:", "\n", "- ", "  ", "name: ", "when: ", "if: ", "on: ", "matcher: ", "prompt: ", "a", "é😀", "'", "\"", "\\\"", "\\u00e9",
            "Bash(", "*", ")", "x=", " && ", "${a.b}", "${", "}", "|\n    ", ">-\n    ", "[", "]", "{", ", ", "&x ", "*x", "# c", "\r\n", "tool.name == 'é'",
        ]), 0..40)) {
            check(&document("a.yaml", &parts.concat()));
            let text = parts.concat();
            let lead = "hooks:\n- name: a\n  on: Stop\n  when: ";
            check(&document("a.yaml", &format!("{lead}{text}\n  if: |\n    {text}\n")));
            let quoted = serde_json::Value::from(text.as_str()).to_string();
            check(&document("a.json", &format!("{{\"hooks\": [{{\"when\": {quoted}, \"if\": {quoted}, \"prompt\": {quoted}}}]}}")));
            check(&document("a.toml", &format!("[[hooks]]\nwhen = {quoted}\nif = {quoted}\nprompt = {quoted}\n")));
            for text in [rule_tokens(&text), cel_tokens(&text), template_tokens(&text, &PATHS)] {
                prop_assert!(text.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start));
            }
        }
    }
}
