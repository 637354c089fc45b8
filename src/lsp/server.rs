//! One editor: what it can do, what it has open, and the way to tell it something.

use super::document::{Document, Documents};
use super::live::Live;
use super::{Answer, QUERIES, Snapshot, commands, diagnostics, live, run, tokens};
use crate::client::{Client, Reply};
use crate::hook::Layer;
use crate::host::{Host, HostOptions};
use crate::state::Store;
use crate::sync::lock;
use ls_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions, CompletionOptions,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, ExecuteCommandOptions,
    FoldingRangeProviderCapability, HoverProviderCapability, InitializeParams, MarkupContent, MarkupKind, OneOf,
    PositionEncodingKind, RenameOptions, SemanticTokensFullOptions, SemanticTokensOptions, ServerCapabilities,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, Uri, WorkDoneProgressOptions,
};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The version of what goes beyond LSP: commands, their results, `hookwire/live`.
const EXTENSION_VERSION: u32 = 1;
/// Documents that one editor may have open; more are left alone.
const MAX_DOCUMENTS: usize = 1000;

/// How long an editor has for an answer that doesn't matter.
const PATIENCE: Duration = Duration::from_secs(10);

/// How an editor counts columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// What LSP says unless both say otherwise.
    Utf16,
}

/// What the editor can take, beyond what every editor can.
#[derive(Clone, Copy, Debug)]
pub struct Abilities {
    /// How it counts columns.
    pub encoding: Encoding,
    /// It asks again for code lenses when told to.
    pub refreshes_lenses: bool,
    /// It asks again for inlay hints when told to.
    pub refreshes_hints: bool,
    /// It understands snippets in completions.
    pub snippets: bool,
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
    /// It wants `hookwire/live` notifications.
    pub live: bool,
}

impl Abilities {
    fn of(params: &InitializeParams) -> Abilities {
        let capabilities = &params.capabilities;
        let encodings = capabilities.general.as_ref().and_then(|it| it.position_encodings.as_deref());
        let counts_bytes = encodings.unwrap_or_default().contains(&PositionEncodingKind::UTF8);
        let workspace = capabilities.workspace.as_ref();
        let text = capabilities.text_document.as_ref();
        let outline = text.and_then(|it| it.document_symbol.as_ref());
        let definition = text.and_then(|it| it.definition.as_ref());
        let edit = workspace.and_then(|it| it.workspace_edit.as_ref());
        let completion = capabilities.text_document.as_ref().and_then(|it| it.completion.as_ref());
        let item = completion.and_then(|it| it.completion_item.as_ref());
        let own = capabilities.experimental.as_ref().and_then(|it| it.get("hookwire"));
        let hover = capabilities.text_document.as_ref().and_then(|it| it.hover.as_ref());
        let told = text.and_then(|it| it.publish_diagnostics.as_ref());
        let renders = |formats: Option<&Vec<MarkupKind>>| formats.is_some_and(|it| it.contains(&MarkupKind::Markdown));
        Abilities {
            markdown_hovers: renders(hover.and_then(|it| it.content_format.as_ref())),
            markdown_completions: renders(item.and_then(|it| it.documentation_format.as_ref())),
            encoding: if counts_bytes { Encoding::Utf8 } else { Encoding::Utf16 },
            refreshes_lenses: workspace.and_then(|it| it.code_lens.as_ref()).and_then(|it| it.refresh_support)
                == Some(true),
            refreshes_hints: workspace.and_then(|it| it.inlay_hint.as_ref()).and_then(|it| it.refresh_support)
                == Some(true),
            snippets: item.and_then(|it| it.snippet_support) == Some(true),
            nested_symbols: outline.and_then(|it| it.hierarchical_document_symbol_support) == Some(true),
            location_links: definition.and_then(|it| it.link_support) == Some(true),
            versioned_edits: edit.and_then(|it| it.document_changes) == Some(true),
            related_places: told.and_then(|it| it.related_information) == Some(true),
            live: own.and_then(|it| it.get("live")) == Some(&Value::Bool(true)),
        }
    }
}

/// A text in Markdown, for an editor that renders it or one that shows it as it is.
pub(super) fn markup(renders: bool, value: String) -> MarkupContent {
    MarkupContent { kind: if renders { MarkupKind::Markdown } else { MarkupKind::PlainText }, value }
}

/// See the module.
pub struct Server {
    /// What it can take.
    pub abilities: Abilities,
    /// What would be in force in each folder, unsaved texts left out; judges nobody's events.
    pub workspaces: Vec<Arc<Host>>,
    /// The host of its connection.
    pub(super) host: Arc<Host>,
    /// What running hosts of those folders tell.
    pub live: Arc<Live>,
    /// What came of hooks that were run from the editor.
    pub(super) runs: run::Runs,
    editor: Weak<dyn Client>,
    documents: Mutex<Arc<Documents>>,
    /// Documents whose diagnostics are to be told, by URI.
    unchecked: Mutex<HashSet<String>>,
    changed: Notify,
}

/// Whether whoever says this at `initialize` is an editor.
pub fn is_editor(params: &Value) -> bool {
    params.pointer("/capabilities/textDocument").is_some_and(Value::is_object)
}

impl Server {
    /// A language server that tells nothing yet.
    ///
    /// # Errors
    /// The params are not those of LSP.
    pub fn new(host: &Arc<Host>, editor: &Arc<dyn Client>, params: &Value) -> Result<Arc<Server>, String> {
        let params: InitializeParams = serde_json::from_value(params.clone()).map_err(|error| error.to_string())?;
        let roots = roots(&params).unwrap_or_else(|| vec![host.root().to_path_buf()]);
        Ok(Arc::new(Server {
            abilities: Abilities::of(&params),
            workspaces: roots.iter().map(|root| workspace(host, root)).collect(),
            host: host.clone(),
            live: Live::new(),
            runs: run::Runs::default(),
            editor: Arc::downgrade(editor),
            documents: Mutex::default(),
            unchecked: Mutex::default(),
            changed: Notify::new(),
        }))
    }

    /// Tells what there is to tell, until `ended`.
    pub fn start(self: &Arc<Server>, ended: &CancellationToken) {
        let spawn = |task: Task| tokio::spawn(ended.clone().run_until_cancelled_owned(task));
        spawn(Box::pin(diagnostics::tell(self.clone())));
        for workspace in &self.workspaces {
            if let Err(error) = workspace.watch() {
                tracing::warn!(%error, "Definitions are not watched for the editor.");
            }
            spawn(Box::pin(diagnostics::follow(self.clone(), workspace.clone())));
        }
        spawn(Box::pin(live::follow(self.clone())));
    }

    /// All documents as they are now.
    pub fn snapshot(self: &Arc<Server>) -> Snapshot {
        Snapshot { server: self.clone(), documents: self.documents() }
    }

    pub(super) fn documents(&self) -> Arc<Documents> {
        lock(&self.documents).clone()
    }

    /// Whether this one of the documents has changed; the others don't matter to whoever asked about it.
    pub(super) fn has_changed_since(&self, documents: &Documents, uri: &str) -> bool {
        match (self.documents().get(uri), documents.get(uri)) {
            (Some(now), Some(then)) => !Arc::ptr_eq(now, then),
            (now, then) => now.is_some() != then.is_some(),
        }
    }

    /// Tells the editor something.
    pub fn notify(&self, method: &'static str, params: &Value) {
        if let Some(editor) = self.editor.upgrade() {
            editor.notify(method, params);
        }
    }

    /// Asks the editor something; `None` when it is gone.
    pub(super) fn ask(&self, method: &'static str, params: Value) -> Option<Reply> {
        Some(self.editor.upgrade()?.request(method, params))
    }

    /// Asks the editor something; its answer doesn't matter.
    pub fn request(&self, method: &'static str, params: Value) {
        if let Some(reply) = self.ask(method, params) {
            // Or every question to an editor that doesn't answer would wait for good.
            let reply = tokio::time::timeout(PATIENCE, reply);
            tokio::spawn(reply);
        }
    }

    /// Other definitions are in force: what the editor shows beside the text is no longer right.
    pub fn refresh(&self) {
        if self.abilities.refreshes_hints {
            self.request("workspace/inlayHint/refresh", Value::Null);
        }
        self.refresh_live();
    }

    /// Something has happened: counts, verdicts and events are no longer right.
    pub fn refresh_live(&self) {
        if self.abilities.refreshes_lenses {
            self.request("workspace/codeLens/refresh", Value::Null);
        }
        if self.abilities.live {
            self.notify("hookwire/live", &commands::status(self));
        }
    }

    /// The workspace that a file is in: the innermost, else the first.
    pub fn workspace(&self, path: &Path) -> Option<&Arc<Host>> {
        let around = self.workspaces.iter().filter(|it| path.starts_with(it.root()));
        around.max_by_key(|it| it.root().components().count()).or(self.workspaces.first())
    }

    /// The next documents whose diagnostics are to be told.
    pub(super) async fn unchecked(&self) -> Vec<String> {
        loop {
            let changed = self.changed.notified();
            let uris = std::mem::take(&mut *lock(&self.unchecked));
            if !uris.is_empty() {
                return uris.into_iter().collect();
            }
            changed.await;
        }
    }

    /// Has the diagnostics of a document told again.
    pub(super) fn check(&self, uri: &str) {
        lock(&self.unchecked).insert(uri.to_string());
        self.changed.notify_one();
    }

    /// A text of the workspace that it is in.
    pub(super) fn document(&self, uri: Uri, path: PathBuf, version: i32, text: String) -> Document {
        let layer = self.workspace(&path).and_then(|it| it.layer_of(&path)).unwrap_or(Layer::Project);
        Document::new(uri, path, version, text, self.abilities.encoding).in_layer(layer)
    }

    fn update(&self, change: impl FnOnce(&mut Documents)) {
        change(Arc::make_mut(&mut lock(&self.documents)));
    }

    /// Whether a file is one of definitions. Editors hand over every YAML file that they open.
    fn is_definition(&self, path: &Path, language: &str, text: &str) -> bool {
        let at_home = path.components().any(|it| it.as_os_str() == ".hookwire");
        let named = || text.lines().take(10).any(|line| line.contains("$schema") && line.contains("hookwire"));
        let is_loaded = || self.workspaces.iter().any(|it| it.dirs().iter().any(|dir| path.starts_with(&dir.path)));
        language.starts_with("hookwire") || at_home || is_loaded() || named()
    }
}

fn workspace(host: &Host, root: &Path) -> Arc<Host> {
    Host::new(HostOptions {
        root: root.to_path_buf(),
        project: true,
        // What a hook that is run from the editor counts and remembers stays there.
        state: Store::default(),
        ..host.options.clone()
    })
}

/// The folders that the editor has open.
fn roots(params: &InitializeParams) -> Option<Vec<PathBuf>> {
    let path = |uri: &Uri| Some(uri.to_file_path()?.into_owned());
    let folders = params.workspace_folders.iter().flatten().filter_map(|folder| path(&folder.uri));
    let folders: Vec<_> = folders.collect();
    #[expect(deprecated, reason = "what editors without folders send")]
    let root = params.root_uri.as_ref().and_then(path);
    if folders.is_empty() { root.map(|root| vec![root]) } else { Some(folders) }
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What `initialize` answers to an editor.
pub fn capabilities(server: &Server) -> Value {
    let encoding = match server.abilities.encoding {
        Encoding::Utf8 => PositionEncodingKind::UTF8,
        Encoding::Utf16 => PositionEncodingKind::UTF16,
    };
    let capabilities = ServerCapabilities {
        position_encoding: Some(encoding),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            ..TextDocumentSyncOptions::default()
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some([":", " ", "\"", "'", "(", ".", "{", "$", "-", "="].map(String::from).into()),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![
                CodeActionKind::QUICKFIX,
                CodeActionKind::REFACTOR_REWRITE,
                CodeActionKind::SOURCE,
            ]),
            ..CodeActionOptions::default()
        })),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        inlay_hint_provider: Some(OneOf::Left(true)),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: tokens::legend(),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            }
            .into(),
        ),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands::COMMANDS.iter().map(|command| command.to_string()).collect(),
            ..ExecuteCommandOptions::default()
        }),
        experimental: Some(json!({ "hookwire": { "version": EXTENSION_VERSION } })),
        ..ServerCapabilities::default()
    };
    debug_assert_eq!(QUERIES.len(), 11, "every question has a capability");
    serde_json::to_value(capabilities).unwrap_or_default()
}

pub(super) fn did_open(server: &Arc<Server>, params: DidOpenTextDocumentParams) -> Answer<()> {
    let ls_types::TextDocumentItem { uri, language_id, version, text } = params.text_document;
    let path = uri.to_file_path().map_or_else(|| uri.path().as_str().into(), |path| path.into_owned());
    let key = uri.as_str().to_string();
    if !server.is_definition(&path, &language_id, &text) {
        return Ok(());
    }
    if server.documents().len() >= MAX_DOCUMENTS {
        tracing::warn!("A document was left alone: {MAX_DOCUMENTS} are open.");
        return Ok(());
    }
    let document = server.document(uri, path, version, text);
    server.update(|documents| drop(documents.insert(key.clone(), Arc::new(document))));
    server.check(&key);
    Ok(())
}

pub(super) fn did_change(server: &Arc<Server>, params: DidChangeTextDocumentParams) -> Answer<()> {
    let key = params.text_document.uri.as_str();
    let Some(document) = server.documents().get(key).cloned() else { return Ok(()) };
    let version = params.text_document.version;
    if version < document.version {
        // Applied to a later text it would make one that the editor has never seen.
        tracing::warn!(
            uri = key,
            version,
            "A change was ignored: the document has version {} already.",
            document.version
        );
        return Ok(());
    }
    let document = Arc::new(document.changed(version, params.content_changes));
    server.update(|documents| drop(documents.insert(key.to_string(), document)));
    server.check(key);
    Ok(())
}

pub(super) fn did_close(server: &Arc<Server>, params: DidCloseTextDocumentParams) -> Answer<()> {
    let key = params.text_document.uri.as_str();
    server.update(|documents| drop(documents.remove(key)));
    server.runs.forget(key);
    server.check(key);
    Ok(())
}
