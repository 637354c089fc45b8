//! A hook gets another name. No definition refers to a hook by its name, so the name is the only
//! place.

use super::answer::{Answer, Refusal};
use super::document::{Document, Readable};
use super::editor::path_of;
use super::effects::is_counting;
use super::same_name::same_name;
use super::surroundings::Surroundings;
use super::written::workspace_edit;
use hookwire_base::support::changes::Change;
use hookwire_base::syntax::node::{Node, NodeValue, Span};
use hookwire_base::syntax::writer::{At, Op, Writer};
use hookwire_base::syntax::written::Written;
use ls_types::{Position, PrepareRenameResponse, WorkspaceEdit};

pub(super) fn prepare_rename(
    document: &Document,
    position: Position,
) -> Answer<PrepareRenameResponse> {
    let lines = document.lines();
    let Named {
        readable,
        node,
        name,
        span,
    } = name_at(document, lines.offset(position))?;
    let written = Written::of_node(node, &readable.document.text, readable.document.format())
        .whole(name)
        .and_then(|written| readable.part(&written));
    let span = written.unwrap_or(span);
    Ok(PrepareRenameResponse::RangeWithPlaceholder {
        range: lines.range(&span),
        placeholder: name.to_string(),
    })
}

/// The edit, and what a person is to be told about it; no edit if the hook has that name already.
pub(super) fn rename_at(
    document: &Document,
    position: Position,
    new_name: &str,
    around: &Surroundings<'_>,
) -> Answer<Option<(WorkspaceEdit, Option<String>)>> {
    let Named {
        readable,
        node,
        name: old,
        span,
    } = name_at(document, document.lines().offset(position))?;
    let changes = rewrite_name(readable.document, node, new_name)?;
    if old == new_name {
        return Ok(None);
    }
    if let Some(other) = where_taken(document, &span, new_name, around) {
        return Err(Refusal::Failed(format!(
            "another hook has this name already, at {other}"
        )));
    }
    let hook = readable
        .document
        .hook(old)
        .and_then(|hook| hook.hook.as_ref());
    let is_counting = hook.is_some_and(|hook| is_counting(hook));
    let message = is_counting.then(|| format!("{new_name} counts under its new name from zero"));
    let changes = changes
        .into_iter()
        .map(|(span, new)| Some((readable.part(&span)?, new)));
    let Some(changes) = changes.collect::<Option<Vec<_>>>() else {
        return Err(Refusal::Stale);
    };
    Ok(Some((
        workspace_edit(document, &changes, around.abilities),
        message,
    )))
}

/// Where another hook of the layer has a name.
fn where_taken(
    document: &Document,
    span: &Span,
    name: &str,
    around: &Surroundings<'_>,
) -> Option<String> {
    let own = around.layer_of(&document.path);
    let others = same_name(document, span, name, around);
    others.into_iter().find_map(|other| {
        let path = path_of(&other.uri)?;
        // Of a layer of its own, a file has no others.
        let is_rival = path == document.path || own.is_some() && around.layer_of(&path) == own;
        let shown = around
            .project
            .as_ref()
            .and_then(|project| path.strip_prefix(project.root()).ok())
            .unwrap_or(&path)
            .display();
        is_rival.then(|| format!("{shown}:{}", other.range.start.line + 1))
    })
}

/// The value of a hook's `name`.
struct Named<'d> {
    readable: Readable<'d>,
    /// Of the version that can be read.
    node: &'d Node,
    name: &'d str,
    /// In the text as it is.
    span: Span,
}

/// The value of a hook's `name` that a place is in.
fn name_at(document: &Document, offset: usize) -> Answer<Named<'_>> {
    let refused = |message: &str| Err(Refusal::Failed(message.into()));
    let unreadable = "the file has to be mended first: it can't be read";
    let Some(readable) = document.readable() else {
        return refused(unreadable);
    };
    let Some(root) = &readable.document.checked().root else {
        return refused(unreadable);
    };
    for hook in readable.document.hooks() {
        let Some(span) = readable
            .part(&hook.span)
            .filter(|part| part.start <= offset && offset <= part.end)
        else {
            continue;
        };
        let path = root.path_to(&hook.span).unwrap_or_default();
        let member = path
            .split_last()
            .and_then(|(last, way)| root.at(way)?.entry(last.key()?));
        if let (Some(member), Some(name)) = (member, &hook.name)
            && member.key == "name"
            && let NodeValue::String(text) = &member.value.value
            && **name == **text
        {
            if !readable.is_present() && !goes_on_as_before(&readable, document, &hook.span, &span)
            {
                return refused(unreadable);
            }
            return Ok(Named {
                readable,
                node: &member.value,
                name: text,
                span,
            });
        }
    }
    if !readable.is_present() {
        return refused(unreadable);
    }
    refused("only a hook can be renamed, at the value of its name")
}

/// Whether what is written may not be a part of something else now, such as a name that goes on.
fn goes_on_as_before(
    readable: &Readable<'_>,
    document: &Document,
    before: &Span,
    now: &Span,
) -> bool {
    fn around<'t>(text: &'t str, span: &Span) -> Option<(&'t str, &'t str)> {
        let left = text.get(..span.start)?.rsplit('\n').next()?;
        Some((
            left,
            text.get(span.end..)?
                .lines()
                .next()
                .unwrap_or_default()
                .trim(),
        ))
    }
    let (Some((left, right)), Some((left_now, right_now))) = (
        around(&readable.document.text, before),
        around(&document.text, now),
    ) else {
        return false;
    };
    let is_quoted = document
        .text
        .get(now.clone())
        .is_some_and(|it| it.starts_with(['"', '\'']));
    is_quoted
        || (left == left_now
            && (right == right_now
                || (right_now.is_empty() || right_now.starts_with([',', ']', '}']))))
}

/// What changes in the text when a name becomes another: with the same quotes if they can hold it.
fn rewrite_name(document: &Document, node: &Node, new: &str) -> Answer<Vec<Change>> {
    let refused = |message: &str| Err(Refusal::Failed(message.into()));
    if new.trim().is_empty() {
        return refused("a hook needs a name");
    }
    if new.chars().any(char::is_control) {
        return refused("a name has no control characters");
    }
    let Some(root) = &document.checked().root else {
        return refused("the file can't be read");
    };
    let writer = Writer::new(&document.text, document.format(), root);
    let changes = root
        .path_to(&node.span)
        .and_then(|path| writer.changes(&path, &Op::Set(new.into(), At::End)));
    match changes {
        Some(changes) => Ok(changes),
        None => refused(
            "the name can't be written in this place, or is a YAML anchor: change it by hand",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::document;

    #[test]
    fn names_are_written_as_the_format_needs() {
        let yaml = |name: &str| format!("hooks:\n- name: {name} # note\n  on: Stop\n  deny: x\n");
        let cases = [
            ("a.yaml", yaml("old"), "new", "new"),
            ("a.yaml", yaml("old"), "two words", "two words"),
            ("a.yaml", yaml("old"), "true", "\"true\""),
            ("a.yaml", yaml("old"), "12", "\"12\""),
            ("a.yaml", yaml("old"), "a: b", "\"a: b\""),
            ("a.yaml", yaml("old"), "a #b", "\"a #b\""),
            ("a.yaml", yaml("old"), " a", "\" a\""),
            ("a.yaml", yaml("old"), "*a", "\"*a\""),
            ("a.yaml", yaml("'old'"), "it's", "'it''s'"),
            ("a.yaml", yaml("\"old\""), "new", "\"new\""),
            ("a.yaml", yaml("|-\n    old"), "new", "new"),
            (
                "a.yaml",
                "hooks: [{name: old, on: Stop, deny: x}]".into(),
                "a, b",
                "\"a, b\"",
            ),
            (
                "a.yaml",
                "hooks: [{name: old, on: Stop, deny: x}]".into(),
                "a}",
                "\"a}\"",
            ),
            ("a.toml", "[[hooks]]\nname = 'old'\n".into(), "new", "'new'"),
            (
                "a.toml",
                "[[hooks]]\nname = 'old'\n".into(),
                "it's",
                "\"it's\"",
            ),
            (
                "a.toml",
                "[[hooks]]\nname = \"old\"\n".into(),
                "\"q\"",
                "\"\\\"q\\\"\"",
            ),
            (
                "a.toml",
                "hooks = [{name = \"old\"}]".into(),
                "\u{e9}\u{1f600}",
                "\"\u{e9}\u{1f600}\"",
            ),
            (
                "a.json",
                "{\"hooks\": [{\"name\": \"old\"}]}".into(),
                "a\\b",
                "\"a\\\\b\"",
            ),
            ("a.yaml", yaml("old"), " ", "a hook needs a name"),
            (
                "a.yaml",
                yaml("old"),
                "a\nb",
                "a name has no control characters",
            ),
            (
                "a.yaml",
                yaml("&n old").replace("deny: x", "deny: *n"),
                "new",
                "the name can't be written in this place",
            ),
            (
                "a.yaml",
                "on: old\n".into(),
                "new",
                "only a hook can be renamed",
            ),
            (
                "a.yaml",
                "hooks: [{name: old}".into(),
                "new",
                "the file has to be mended first",
            ),
        ];
        for (file, text, new, expected) in cases {
            let document = document(file, &text);
            let at = text.find("old").unwrap() + 1;
            let written =
                name_at(&document, at).and_then(|it| rewrite_name(&document, it.node, new));
            match written {
                Ok(changes) => assert_eq!(changes[0].1, expected, "{text} {new}"),
                Err(Refusal::Failed(why)) => {
                    assert!(why.starts_with(expected), "{text} {new}: {why}")
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}
