//! A hook gets another name. No definition refers to a hook by its name, so the name is the only
//! place.

use super::definition::same_name;
use super::document::Document;
use super::run::show;
use super::written::{Written, apply, members, owner, workspace_edit};
use super::{Answer, Refusal, Snapshot};
use crate::definitions::formats::{self, Format};
use crate::definitions::node::{Node, NodeValue};
use crate::handlers::Handler;
use crate::handlers::guards::GuardRow;
use ls_types::{MessageType, PrepareRenameResponse, RenameParams, TextDocumentPositionParams, WorkspaceEdit};
use serde_json::Value;
use std::path::Path;

pub(super) fn prepare(
    snapshot: &Snapshot,
    params: TextDocumentPositionParams,
) -> Answer<Option<PrepareRenameResponse>> {
    let Some(document) = snapshot.document(&params.text_document.uri) else { return Ok(None) };
    let lines = document.lines();
    let (node, name) = name_at(document, lines.offset(params.position))?;
    let span = Written::of(node, document).whole(name).unwrap_or_else(|| node.span.clone());
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder { range: lines.range(&span), placeholder: name.to_string() }))
}

pub(super) fn rename(snapshot: &Snapshot, params: RenameParams) -> Answer<Option<WorkspaceEdit>> {
    let at = params.text_document_position;
    let Some(document) = snapshot.document(&at.text_document.uri) else { return Ok(None) };
    let (node, old) = name_at(document, document.lines().offset(at.position))?;
    let written = rewritten(document, node, &params.new_name)?;
    if old == params.new_name {
        return Ok(None);
    }
    if let Some(other) = taken(snapshot, document, node, &params.new_name) {
        return Err(Refusal::Failed(format!("another hook has this name already, at {other}")));
    }
    let hook = document.hook(old).and_then(|it| it.hook.as_ref());
    if let Some(Handler::Guard(guard)) = hook.map(|it| &it.handler)
        && guard.row().is_some_and(GuardRow::counts)
    {
        let message = format!("{} counts under its new name from zero", params.new_name);
        show(&snapshot.server, MessageType::INFO, &message);
    }
    Ok(Some(workspace_edit(&snapshot.server, document, &[(node.span.clone(), written)])))
}

/// Where another hook of the layer has a name.
fn taken(snapshot: &Snapshot, document: &Document, node: &Node, name: &str) -> Option<String> {
    let (server, workspace) = (&snapshot.server, snapshot.server.workspace(&document.path));
    let layer = |path: &Path| workspace.and_then(|it| it.layer_of(path));
    let own = layer(&document.path);
    let others = same_name(document, &node.span, name, workspace, &snapshot.documents, server.abilities.encoding);
    others.into_iter().find_map(|other| {
        let path = other.uri.to_file_path()?;
        // Of a layer of its own, a file has no others.
        let is_rival = *path == *document.path || own.is_some() && layer(&path) == own;
        let shown = workspace.and_then(|it| path.strip_prefix(it.root()).ok()).unwrap_or(&path).display();
        is_rival.then(|| format!("{shown}:{}", other.range.start.line + 1))
    })
}

/// The value of a hook's `name` that a place is in.
fn name_at(document: &Document, offset: usize) -> Answer<(&Node, &str)> {
    let refused = |message: &str| Err(Refusal::Failed(message.into()));
    let Some(root) = &document.checked().root else {
        return refused("the file has to be mended first: it can't be read");
    };
    for hook in document.hooks().iter().filter(|it| it.span.start <= offset && offset <= it.span.end) {
        let member = owner(root, &hook.span).and_then(|(map, at)| members(map).get(at));
        if let (Some(member), Some(name)) = (member, &hook.name)
            && member.key == "name"
            && let NodeValue::String(text) = &member.value.value
            && **name == **text
        {
            return Ok((&member.value, text));
        }
    }
    refused("only a hook can be renamed, at the value of its `name`")
}

/// The new name as it is to be written in place of the old: with the same quotes if they can hold it.
fn rewritten(document: &Document, node: &Node, new: &str) -> Answer<String> {
    let refused = |message: &str| Err(Refusal::Failed(message.into()));
    if new.trim().is_empty() {
        return refused("a hook needs a name");
    }
    if new.chars().any(char::is_control) {
        return refused("a name has no control characters");
    }
    let old = document.text.get(node.span.clone()).unwrap_or_default();
    let double = Value::from(new).to_string();
    let same = match (document.format(), old.as_bytes()) {
        (Format::Json, _) | (_, [b'"', ..]) => double.clone(),
        (Format::Yaml, [b'\'', ..]) => format!("'{}'", new.replace('\'', "''")),
        (Format::Toml, _) => format!("'{new}'"),
        (Format::Yaml, _) => new.to_string(),
    };
    let Some(root) = &document.checked().root else { return refused("the file can't be read") };
    let wanted = renamed(root, node, new);
    let reads_back = |written: &String| {
        let text = apply(&document.text, &[(node.span.clone(), written.clone())]);
        formats::parse(&text, document.format()).is_ok_and(|root| root.to_json() == wanted)
    };
    match [same, double].into_iter().find(reads_back) {
        Some(written) => Ok(written),
        None => refused("the name can't be written in this place, or is a YAML anchor: change it by hand"),
    }
}

/// What the file is to say.
fn renamed(node: &Node, name: &Node, new: &str) -> Value {
    match &node.value {
        NodeValue::String(_) if std::ptr::eq(node, name) => Value::from(new),
        NodeValue::Seq(items) => items.iter().map(|item| renamed(item, name, new)).collect(),
        NodeValue::Map(entries) => {
            entries.iter().map(|entry| (entry.key.clone(), renamed(&entry.value, name, new))).collect()
        }
        _ => node.to_json(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::server::Encoding;
    use super::*;

    fn document(name: &str, text: &str) -> Document {
        let uri = format!("file:///p/.hookwire/{name}").parse().unwrap();
        Document::new(uri, format!("/p/.hookwire/{name}").into(), 1, text.into(), Encoding::Utf8)
    }

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
            ("a.yaml", "hooks: [{name: old, on: Stop, deny: x}]".into(), "a, b", "\"a, b\""),
            ("a.yaml", "hooks: [{name: old, on: Stop, deny: x}]".into(), "a}", "\"a}\""),
            ("a.toml", "[[hooks]]\nname = 'old'\n".into(), "new", "'new'"),
            ("a.toml", "[[hooks]]\nname = 'old'\n".into(), "it's", "\"it's\""),
            ("a.toml", "[[hooks]]\nname = \"old\"\n".into(), "\"q\"", "\"\\\"q\\\"\""),
            ("a.toml", "hooks = [{name = \"old\"}]".into(), "\u{e9}\u{1f600}", "\"\u{e9}\u{1f600}\""),
            ("a.json", "{\"hooks\": [{\"name\": \"old\"}]}".into(), "a\\b", "\"a\\\\b\""),
            ("a.yaml", yaml("old"), " ", "a hook needs a name"),
            ("a.yaml", yaml("old"), "a\nb", "a name has no control characters"),
            ("a.yaml", yaml("&n old").replace("deny: x", "deny: *n"), "new", "the name can't be written in this place"),
            ("a.yaml", "on: old\n".into(), "new", "only a hook can be renamed"),
            ("a.yaml", "hooks: [{name: old}".into(), "new", "the file has to be mended first"),
        ];
        for (file, text, new, expected) in cases {
            let document = document(file, &text);
            let at = text.find("old").unwrap() + 1;
            let written = name_at(&document, at).and_then(|(node, _)| rewritten(&document, node, new));
            match written {
                Ok(written) => assert_eq!(written, expected, "{text} {new}"),
                Err(Refusal::Failed(why)) => assert!(why.starts_with(expected), "{text} {new}: {why}"),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}
