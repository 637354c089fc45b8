//! Hooks with their trees as they are written, and changes of a document for an editor.

use super::document::Document;
use super::editor::Abilities;
use hookwire_base::support::changes::Change;
use hookwire_base::syntax::node::{Node, NodeValue, Step};
use hookwire_engine::definitions::compile::{Compiled, native};
use ls_types::{
    DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, TextDocumentEdit, TextEdit,
    WorkspaceEdit,
};
use std::borrow::Cow;
use std::collections::HashMap;

/// A document's tree as hookwire reads it; another system's file is translated.
pub(super) struct Reading<'d> {
    /// The tree.
    pub(super) root: Cow<'d, Node>,
    /// The vocabulary that the file is written in.
    pub(super) dialect: &'static str,
    /// The hooks of the document, in the same order as those of the tree.
    compiled: &'d [Compiled],
}

impl<'d> Reading<'d> {
    /// `None` while the text isn't YAML, TOML or JSON.
    pub(super) fn of_document(document: &'d Document) -> Option<Reading<'d>> {
        let root = document.checked().root.as_ref()?;
        let (dialect, read) = native(root, &mut Vec::new());
        Some(Reading {
            root: read.map_or(Cow::Borrowed(root), Cow::Owned),
            dialect,
            compiled: document.hooks(),
        })
    }

    /// Each hook with its tree.
    pub(super) fn hooks(&self) -> impl Iterator<Item = (&'d Compiled, &Node)> {
        let items = match self.root.get("hooks").map(|it| &it.value) {
            Some(NodeValue::Seq(items)) => &items[..],
            Some(_) | None => &[],
        };
        self.compiled.iter().zip(items)
    }
}

/// Every text of a tree with the way to it. The parser bounds the depth.
pub(super) fn each_text<'n>(
    node: &'n Node,
    visit: &mut impl FnMut(&[Step<'n>], &'n Node, &'n str),
) {
    fn walk<'n>(
        node: &'n Node,
        path: &mut Vec<Step<'n>>,
        visit: &mut impl FnMut(&[Step<'n>], &'n Node, &'n str),
    ) {
        if let NodeValue::String(text) = &node.value {
            visit(path, node, text);
        }
        for (step, child) in node.children() {
            path.push(step);
            walk(child, path, visit);
            path.pop();
        }
    }
    walk(node, &mut Vec::new(), visit);
}

/// Changes of a document as the editor carries them out.
pub(super) fn workspace_edit(
    document: &Document,
    changes: &[Change],
    abilities: &Abilities,
) -> WorkspaceEdit {
    let lines = document.lines();
    let edits = changes.iter().map(|(span, new)| TextEdit {
        range: lines.range(span),
        new_text: new.clone(),
    });
    if !abilities.versioned_edits {
        let changes = HashMap::from([(document.uri.clone(), edits.collect())]);
        return WorkspaceEdit {
            changes: Some(changes),
            ..WorkspaceEdit::default()
        };
    }
    let (uri, version) = (document.uri.clone(), Some(document.version));
    let edit = TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier { uri, version },
        edits: edits.map(OneOf::Left).collect(),
    };
    WorkspaceEdit {
        document_changes: Some(DocumentChanges::Edits(vec![edit])),
        ..WorkspaceEdit::default()
    }
}

/// Every example that may be a definition file, whole and cut off in the middle, for tests.
#[cfg(test)]
pub(super) fn examples() -> Vec<Document> {
    fn walk(dir: &std::path::Path, found: &mut Vec<Document>) {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if hookwire_engine::definitions::cases::is_definition_file(&path) {
                let text = std::fs::read_to_string(&path).unwrap();
                let uri = ls_types::Uri::from_file_path(&path).unwrap();
                let half = (0..=text.len() / 2)
                    .rfind(|at| text.is_char_boundary(*at))
                    .unwrap();
                for text in [&text, &text[..half]] {
                    let encoding = super::editor::Encoding::Utf16;
                    found.push(Document::new(
                        uri.clone(),
                        path.clone(),
                        1,
                        text.to_string(),
                        encoding,
                    ));
                }
            }
        }
    }
    let mut found = Vec::new();
    walk(&hookwire_testing::repo("examples"), &mut found);
    found
}
