//! The editor: how it counts, what it can take, and the way to tell or ask it something.

use super::plain_text::plain_quotes;
use hookwire_handlers::services::client::{Client, Reply};
use ls_types::{
    InitializeParams, InsertTextMode, MarkupContent, MarkupKind, MessageType, PositionEncodingKind,
    Uri,
};
use serde_json::{Value, json};
use std::path::{Component, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long an editor has for an answer that doesn't matter.
const PATIENCE: Duration = Duration::from_secs(10);

/// How an editor counts columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 units, the default of LSP.
    Utf16,
}

/// The abilities of the editor, beyond those that every editor has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    /// How it counts columns.
    pub encoding: Encoding,
    /// It asks again for code lenses when told to.
    pub refreshes_lenses: bool,
    /// It asks again for inlay hints when told to.
    pub refreshes_hints: bool,
    /// It understands snippets in completions.
    pub snippets: bool,
    /// It indents the further lines of a completion like the line that it goes into, when told to.
    pub adjusts_indentation: bool,
    /// It shows outlines as a tree.
    pub nested_symbols: bool,
    /// It underlines what a definition was asked for.
    pub location_links: bool,
    /// It applies edits only to the version that they were made for.
    pub versioned_edits: bool,
    /// It renders Markdown in hovers.
    pub markdown_hovers: bool,
    /// It renders Markdown beside completions.
    pub markdown_completions: bool,
    /// It shows other places beside a diagnostic.
    pub related_places: bool,
    /// It opens a file when told to.
    pub shows_documents: bool,
    /// It wants `hookwire/live` notifications.
    pub live: bool,
    /// It shows reports itself: results come with one, and no message is shown.
    pub panel: bool,
}

impl Abilities {
    /// Reads them from the params of `initialize`.
    pub(super) fn from_params(params: &InitializeParams) -> Abilities {
        let capabilities = &params.capabilities;
        let encodings = capabilities
            .general
            .as_ref()
            .and_then(|general| general.position_encodings.as_deref());
        let counts_bytes = encodings
            .unwrap_or_default()
            .contains(&PositionEncodingKind::UTF8);
        let workspace = capabilities.workspace.as_ref();
        let text = capabilities.text_document.as_ref();
        let outline = text.and_then(|text| text.document_symbol.as_ref());
        let definition = text.and_then(|text| text.definition.as_ref());
        let edit = workspace.and_then(|workspace| workspace.workspace_edit.as_ref());
        let completion = capabilities
            .text_document
            .as_ref()
            .and_then(|text_document| text_document.completion.as_ref());
        let item = completion.and_then(|completion| completion.completion_item.as_ref());
        let own = capabilities
            .experimental
            .as_ref()
            .and_then(|experimental| experimental.get("hookwire"));
        let hover = capabilities
            .text_document
            .as_ref()
            .and_then(|text_document| text_document.hover.as_ref());
        let diagnostics = text.and_then(|text| text.publish_diagnostics.as_ref());
        let renders = |formats: Option<&Vec<MarkupKind>>| {
            formats.is_some_and(|formats| formats.contains(&MarkupKind::Markdown))
        };
        Abilities {
            markdown_hovers: renders(hover.and_then(|hover| hover.content_format.as_ref())),
            markdown_completions: renders(item.and_then(|item| item.documentation_format.as_ref())),
            encoding: if counts_bytes {
                Encoding::Utf8
            } else {
                Encoding::Utf16
            },
            refreshes_lenses: workspace
                .and_then(|workspace| workspace.code_lens.as_ref())
                .and_then(|it| it.refresh_support)
                == Some(true),
            refreshes_hints: workspace
                .and_then(|workspace| workspace.inlay_hint.as_ref())
                .and_then(|it| it.refresh_support)
                == Some(true),
            snippets: item.and_then(|item| item.snippet_support) == Some(true),
            adjusts_indentation: item
                .and_then(|item| item.insert_text_mode_support.as_ref())
                .is_some_and(|it| it.value_set.contains(&InsertTextMode::ADJUST_INDENTATION)),
            nested_symbols: outline
                .and_then(|outline| outline.hierarchical_document_symbol_support)
                == Some(true),
            location_links: definition.and_then(|definition| definition.link_support) == Some(true),
            versioned_edits: edit.and_then(|edit| edit.document_changes) == Some(true),
            related_places: diagnostics.and_then(|diagnostics| diagnostics.related_information)
                == Some(true),
            shows_documents: capabilities
                .window
                .as_ref()
                .and_then(|window| window.show_document.as_ref())
                .is_some_and(|it| it.support),
            live: own.and_then(|it| it.get("live")) == Some(&Value::Bool(true)),
            panel: own.and_then(|it| it.get("panel")) == Some(&Value::Bool(true)),
        }
    }
}

/// A text in Markdown, for an editor that renders it or one that shows it as it is.
pub(super) fn to_markup(renders: bool, value: String) -> MarkupContent {
    MarkupContent {
        kind: if renders {
            MarkupKind::Markdown
        } else {
            MarkupKind::PlainText
        },
        value,
    }
}

/// The file that a URI names. Other schemes name other texts, such as earlier versions of a file.
pub(super) fn path_of(uri: &Uri) -> Option<PathBuf> {
    let path = uri
        .to_file_path()
        .filter(|_| uri.scheme().as_str() == "file")?
        .into_owned();
    let is_plain = path.is_absolute()
        && path
            .components()
            .all(|component| component != Component::ParentDir);
    is_plain.then_some(path)
}

/// The connection to the editor.
pub(super) struct Editor(Weak<dyn Client>);

impl Editor {
    pub(super) fn new(client: &Arc<dyn Client>) -> Editor {
        Editor(Arc::downgrade(client))
    }

    /// Tells the editor something.
    pub(super) fn notify(&self, method: &'static str, params: &Value) {
        if let Some(client) = self.0.upgrade() {
            client.notify(method, params);
        }
    }

    /// Asks the editor something; `None` when it is gone.
    pub(super) fn ask(&self, method: &'static str, params: Value) -> Option<Reply> {
        Some(self.0.upgrade()?.request(method, params))
    }

    /// Asks the editor something; its answer doesn't matter.
    pub(super) fn request(&self, method: &'static str, params: Value) {
        if let Some(reply) = self.ask(method, params) {
            // Without a deadline, each question to an editor that never answers would stay in
            // memory.
            tokio::spawn(tokio::time::timeout(PATIENCE, reply));
        }
    }

    /// Shows a person a message.
    pub(super) fn show_message(&self, kind: MessageType, message: &str) {
        self.notify(
            "window/showMessage",
            &json!({ "type": kind, "message": without_links(message) }),
        );
    }
}

/// A text for editors to show as it is, in which they find no link, because what an agent or a hook
/// says could link to an editor's command.
pub(super) fn without_links(text: &str) -> String {
    plain_quotes(text).replace("](", "] (")
}
