//! One editor: what it can do, what it has open, and the way to tell it something.

use super::document::{Document, Documents};
use super::live::Live;
use super::workspaces::{Workspace, Workspaces, project_of, projects};
use super::{Answer, Snapshot, actions, commands, diagnostics, live, run, tokens};
use crate::host::Host;
use crate::services::client::{Client, Reply};
use crate::syntax::formats;
use crate::syntax::source::Layer;
use ls_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions, CompletionOptions,
    DidChangeTextDocumentParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, ExecuteCommandOptions, FoldingRangeProviderCapability, HoverProviderCapability,
    InitializeParams, InsertTextMode, MarkupContent, MarkupKind, OneOf, PositionEncodingKind, RenameOptions,
    SemanticTokensFullOptions, SemanticTokensOptions, ServerCapabilities, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, Uri, WorkDoneProgressOptions, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

/// The version of what goes beyond LSP: commands, their results, `hookwire/live`.
const EXTENSION_VERSION: u32 = 1;
/// The longest text that is kept, in bytes: longer ones are no definitions.
const MAX_TEXT: usize = 2 * formats::MAX_BYTES;
/// Bytes that the edits of one change may have looked at, each the whole text.
const MAX_WORK: usize = 256 << 20;
/// Questions that are answered at once; others wait.
const MAX_QUESTIONS: usize = 2;
/// How often it is looked whether the process that started this one is still there.
const PARENT: Duration = Duration::from_secs(5);
/// What begins something that can be completed, beside words.
const TRIGGERS: &str = ": \"'([{.,|/$-=";
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
            adjusts_indentation: item
                .and_then(|it| it.insert_text_mode_support.as_ref())
                .is_some_and(|it| it.value_set.contains(&InsertTextMode::ADJUST_INDENTATION)),
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
    /// The folders that it works in.
    workspaces: Workspaces,
    /// The host of its connection.
    pub(super) host: Arc<Host>,
    /// What running hosts of those folders tell.
    pub live: Arc<Live>,
    /// What came of hooks that were run from the editor.
    pub(super) runs: run::Runs,
    /// How many questions are being answered: they must not take every thread.
    pub(super) questions: Arc<Semaphore>,
    editor: Weak<dyn Client>,
    documents: Mutex<Arc<Documents>>,
    /// Documents whose diagnostics are to be told, by URI.
    unchecked: Mutex<HashSet<String>>,
    changed: Notify,
    /// The process that started this one, if it is to end with it.
    parent: Option<u32>,
    /// Cancelled when there is nobody to tell anything; absent until there is something to tell.
    ended: OnceLock<CancellationToken>,
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
        let workspaces = Workspaces::new(host);
        let folders = folders(&params).unwrap_or_else(|| vec![host.root().to_path_buf()]);
        for root in folders.iter().flat_map(|folder| projects(folder)) {
            workspaces.enter(&root);
        }
        Ok(Arc::new(Server {
            abilities: Abilities::of(&params),
            workspaces,
            host: host.clone(),
            live: Live::new(),
            runs: run::Runs::default(),
            questions: Arc::new(Semaphore::new(MAX_QUESTIONS)),
            editor: Arc::downgrade(editor),
            documents: Mutex::default(),
            unchecked: Mutex::default(),
            changed: Notify::new(),
            parent: params.process_id,
            ended: OnceLock::new(),
        }))
    }

    /// Tells what there is to tell, until `ended`.
    pub fn start(self: &Arc<Server>, ended: &CancellationToken) {
        if self.ended.set(ended.clone()).is_err() {
            return;
        }
        let spawn = |task: Task| tokio::spawn(ended.clone().run_until_cancelled_owned(task));
        spawn(Box::pin(diagnostics::publish_changes(self.clone())));
        spawn(Box::pin(live::follow(self.clone())));
        if let Some(parent) = self.parent {
            spawn(Box::pin(end_with(parent)));
        }
        for workspace in self.workspaces.all() {
            self.follow(workspace);
        }
    }

    /// Tells what changes in a folder, until it is left.
    fn follow(self: &Arc<Server>, Workspace { host, left }: Workspace) {
        let Some(ended) = self.ended.get().cloned() else { return };
        if let Err(error) = host.watch() {
            tracing::warn!(%error, "Definitions are not watched for the editor.");
        }
        let follow = diagnostics::follow(self.clone(), host);
        tokio::spawn(async move { ended.run_until_cancelled_owned(left.run_until_cancelled_owned(follow)).await });
    }

    /// Enters a folder.
    fn enter(self: &Arc<Server>, root: &Path) {
        if let Some(workspace) = self.workspaces.enter(root) {
            self.follow(workspace);
        }
    }

    /// All documents as they are now.
    pub fn snapshot(self: &Arc<Server>) -> Snapshot {
        Snapshot { server: self.clone(), documents: self.documents(), given_up: CancellationToken::new() }
    }

    pub(super) fn documents(&self) -> Arc<Documents> {
        self.documents.lock().clone()
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

    /// What would be in force in the folder that a file is in.
    pub fn workspace(&self, path: &Path) -> Option<Arc<Host>> {
        self.workspaces.of(path)
    }

    /// The name of the folder that a file is in, for what hosts tell.
    pub(super) fn folder(&self, path: &Path) -> String {
        self.workspace(path).map(|it| live::folder(it.root())).unwrap_or_default()
    }

    /// What would be in force in each folder.
    pub fn workspaces(&self) -> Vec<Arc<Host>> {
        self.workspaces.all().into_iter().map(|it| it.host).collect()
    }

    /// The next documents whose diagnostics are to be told.
    pub(super) async fn unchecked(&self) -> Vec<String> {
        loop {
            let changed = self.changed.notified();
            let uris = std::mem::take(&mut *self.unchecked.lock());
            if !uris.is_empty() {
                return uris.into_iter().collect();
            }
            changed.await;
        }
    }

    /// Has the diagnostics of a document told again.
    pub(super) fn check(&self, uri: &str) {
        self.unchecked.lock().insert(uri.to_string());
        self.changed.notify_one();
    }

    /// A text of the workspace that it is in.
    pub(super) fn document(&self, uri: Uri, path: PathBuf, version: i32, text: String) -> Document {
        let layer = self.workspace(&path).and_then(|it| it.layer_of(&path)).unwrap_or(Layer::Project);
        Document::new(uri, path, version, text, self.abilities.encoding).in_layer(layer)
    }

    fn update(&self, change: impl FnOnce(&mut Documents)) {
        change(Arc::make_mut(&mut self.documents.lock()));
    }

    /// Whether a file is one of definitions. Editors hand over every YAML file that they open.
    fn is_definition(&self, path: &Path, language: &str, text: &str) -> bool {
        let at_home = project_of(path).is_some();
        let named = || text.lines().take(10).any(|line| line.contains("$schema") && line.contains("hookwire"));
        let is_loaded = || self.workspaces().iter().any(|it| it.layer_of(path).is_some());
        language.starts_with("hookwire") || at_home || is_loaded() || named()
    }
}

/// Ends this process, in good order, when the one that started it has ended without a word: something
/// else may hold its end of stdin open.
async fn end_with(parent: u32) {
    let Some(parent) = i32::try_from(parent).ok().and_then(rustix::process::Pid::from_raw) else { return };
    loop {
        tokio::time::sleep(PARENT).await;
        if rustix::process::test_kill_process(parent) == Err(rustix::io::Errno::SRCH) {
            tracing::info!("The editor has ended.");
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM);
        }
    }
}

/// The folders that the editor has open.
fn folders(params: &InitializeParams) -> Option<Vec<PathBuf>> {
    let folders = params.workspace_folders.iter().flatten().filter_map(|folder| path_of(&folder.uri));
    let folders: Vec<_> = folders.collect();
    #[expect(deprecated, reason = "what editors without folders send")]
    let root = params.root_uri.as_ref().and_then(path_of);
    if folders.is_empty() { root.map(|root| vec![root]) } else { Some(folders) }
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The file that a URI names. Other schemes name other texts, such as earlier versions of a file.
pub(super) fn path_of(uri: &Uri) -> Option<PathBuf> {
    let path = uri.to_file_path().filter(|_| uri.scheme().as_str() == "file")?.into_owned();
    let is_plain = path.is_absolute() && path.components().all(|it| it != Component::ParentDir);
    is_plain.then_some(path)
}

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
            trigger_characters: Some(TRIGGERS.chars().map(String::from).collect()),
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
                actions::RUN,
                actions::EXPLAIN,
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
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        experimental: Some(json!({ "hookwire": { "version": EXTENSION_VERSION } })),
        ..ServerCapabilities::default()
    };
    serde_json::to_value(capabilities).unwrap_or_default()
}

pub(super) fn did_open(server: &Arc<Server>, params: DidOpenTextDocumentParams) -> Answer<()> {
    let ls_types::TextDocumentItem { uri, language_id, version, text } = params.text_document;
    let Some(path) = path_of(&uri) else { return Ok(()) };
    let key = uri.as_str().to_string();
    if !server.is_definition(&path, &language_id, &text) {
        return Ok(());
    }
    if server.documents().len() >= MAX_DOCUMENTS || text.len() > MAX_TEXT {
        tracing::warn!(uri = key, "A document was left alone: it is too large, or {MAX_DOCUMENTS} are open.");
        return Ok(());
    }
    if let Some(project) = project_of(&path) {
        server.enter(project);
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
    let changes = params.content_changes;
    let added = changes.iter().map(|it| it.text.len()).sum::<usize>();
    let size = document.text.len().saturating_add(added);
    if size > MAX_TEXT || size.saturating_mul(changes.len()) > MAX_WORK {
        tracing::warn!(uri = key, "A document is left alone until it is opened again: the change is too large.");
        server.update(|documents| drop(documents.remove(key)));
        return Ok(());
    }
    let document = Arc::new(document.changed(version, changes));
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

pub(super) fn did_change_folders(server: &Arc<Server>, params: DidChangeWorkspaceFoldersParams) -> Answer<()> {
    for folder in params.event.removed.iter().filter_map(|folder| path_of(&folder.uri)) {
        server.workspaces.leave(&folder);
    }
    for folder in params.event.added.iter().filter_map(|folder| path_of(&folder.uri)) {
        projects(&folder).iter().for_each(|root| server.enter(root));
    }
    server.refresh();
    Ok(())
}
