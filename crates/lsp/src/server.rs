//! The state of the language server for one editor: what the editor has open and which projects it
//! works in.

use super::answer::{Answer, Refusal, off_the_reader};
use super::document::{Document, Documents};
use super::editor::{Abilities, Editor, path_of};
use super::live::Live;
use super::past::Runs;
use super::project::Project;
use super::standing;
use super::surroundings::Surroundings;
use super::workspaces::{Workspaces, projects_of_folder};
use hookwire_base::syntax::source::Layer;
use hookwire_engine::host::Host;
use hookwire_handlers::services::client::Client;
use ls_types::{InitializeParams, Uri};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

/// Questions that are answered at once; others wait.
const MAX_QUESTIONS: usize = 2;

/// See the module.
pub struct Server {
    /// The abilities of the editor.
    pub(super) abilities: Abilities,
    /// The folders that it works in.
    pub(super) workspaces: Arc<Workspaces>,
    /// The folders that it has open.
    pub(super) folders: Mutex<Vec<PathBuf>>,
    /// The project of its connection.
    pub(super) connection: Project,
    /// The events and counts of running hosts.
    pub(super) live: Arc<Live>,
    /// The results of hooks that were run from the editor.
    pub(super) runs: Runs,
    /// How many questions are being answered: they must not take every thread.
    questions: Arc<Semaphore>,
    pub(super) editor: Editor,
    documents: Mutex<Arc<Documents>>,
    /// Documents whose diagnostics are to be told, by URI.
    unchecked: Mutex<HashSet<String>>,
    changed: Notify,
    /// The process that started this one, if it is to end with it.
    pub(super) parent: Option<u32>,
    /// Cancelled when the connection ends; absent until the editor may be told anything.
    pub(super) ended: OnceLock<CancellationToken>,
}

impl Server {
    /// A language server that tells nothing yet.
    ///
    /// # Errors
    /// The params are not those of LSP.
    pub fn new(
        host: &Arc<Host>,
        editor: &Arc<dyn Client>,
        params: &Value,
    ) -> Result<Arc<Server>, String> {
        let params: InitializeParams =
            serde_json::from_value(params.clone()).map_err(|error| error.to_string())?;
        let connection = Project::new(host);
        let workspaces = Arc::new(Workspaces::new(&connection));
        let folders = open_folders(&params).unwrap_or_else(|| vec![host.root().to_path_buf()]);
        for root in folders.iter().flat_map(|folder| projects_of_folder(folder)) {
            workspaces.enter_folder(&root);
        }
        Ok(Arc::new(Server {
            abilities: Abilities::from_params(&params),
            workspaces,
            folders: Mutex::new(folders),
            connection,
            live: Live::new(),
            runs: Runs::default(),
            questions: Arc::new(Semaphore::new(MAX_QUESTIONS)),
            editor: Editor::new(editor),
            documents: Mutex::default(),
            unchecked: Mutex::default(),
            changed: Notify::new(),
            parent: params.process_id,
            ended: OnceLock::new(),
        }))
    }

    /// All documents as they are now.
    pub fn snapshot(self: &Arc<Server>) -> Snapshot {
        Snapshot {
            server: self.clone(),
            documents: self.documents(),
            given_up: CancellationToken::new(),
        }
    }

    pub(super) fn documents(&self) -> Arc<Documents> {
        self.documents.lock().clone()
    }

    /// Whether this one of the documents has changed; changes of others don't make an answer wrong.
    pub(super) fn has_changed_since(&self, documents: &Documents, uri: &str) -> bool {
        match (self.documents().get(uri), documents.get(uri)) {
            (Some(now), Some(then)) => !Arc::ptr_eq(now, then),
            (now, then) => now.is_some() != then.is_some(),
        }
    }

    /// Other definitions are in force: what the editor shows beside the text is no longer right.
    pub fn refresh(&self) {
        if self.abilities.refreshes_hints {
            self.editor
                .request("workspace/inlayHint/refresh", Value::Null);
        }
        self.refresh_live();
    }

    /// Something has happened: counts, verdicts and events are no longer right.
    pub fn refresh_live(&self) {
        if self.abilities.refreshes_lenses {
            self.editor
                .request("workspace/codeLens/refresh", Value::Null);
        }
        if self.abilities.live {
            self.editor.notify(
                "hookwire/live",
                &standing::workspace_status(&self.workspaces, &self.live),
            );
        }
    }

    /// The project that a file is in.
    pub(super) fn workspace_of(&self, file: &Path) -> Option<Project> {
        self.workspaces.project_around(file)
    }

    /// Every project that the editor works in.
    pub(super) fn workspaces(&self) -> Vec<Project> {
        self.workspaces.projects()
    }

    /// The surroundings of a document in a project.
    pub(super) fn surroundings_in<'s>(
        &'s self,
        documents: &'s Documents,
        project: Option<Project>,
    ) -> Surroundings<'s> {
        Surroundings {
            documents,
            abilities: &self.abilities,
            project,
            live: &self.live,
        }
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
    pub(super) fn check_document(&self, uri: &str) {
        self.unchecked.lock().insert(uri.to_string());
        self.changed.notify_one();
    }

    /// A text of the workspace that it is in.
    pub(super) fn new_document(
        &self,
        uri: Uri,
        path: PathBuf,
        version: i32,
        text: String,
    ) -> Document {
        let layer = self
            .workspace_of(&path)
            .and_then(|it| it.layer_of(&path))
            .unwrap_or(Layer::Project);
        Document::new(uri, path, version, text, self.abilities.encoding).in_layer(layer)
    }

    /// Changes which documents are open.
    pub(super) fn update_documents(&self, change: impl FnOnce(&mut Documents)) {
        change(Arc::make_mut(&mut self.documents.lock()));
    }
}

/// Answers a question.
pub type Query = fn(&Snapshot, Value) -> Answer<Value>;

/// All documents as they were when a question came.
pub struct Snapshot {
    /// The server.
    pub(super) server: Arc<Server>,
    pub(super) documents: Arc<Documents>,
    /// Cancelled when the editor doesn't wait for the answer any more.
    given_up: CancellationToken,
}

impl Snapshot {
    /// The surroundings of a file that is asked about.
    pub(super) fn surroundings_of(&self, file: &Path) -> Surroundings<'_> {
        self.server
            .surroundings_in(&self.documents, self.server.workspace_of(file))
    }

    /// A definition file that is open in the editor.
    pub(super) fn document(&self, uri: &Uri) -> Option<&Arc<Document>> {
        self.documents.get(uri.as_str())
    }

    /// Answers a question about it, off the reader.
    pub async fn answer_query(self, query: Query, params: Value) -> Answer<Value> {
        let _given_up = self.given_up.clone().drop_guard();
        // Never closed.
        let permit = self.server.questions.clone().acquire_owned().await;
        off_the_reader(move || {
            let _permit = permit;
            let uri = params
                .pointer("/textDocument/uri")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_string();
            if self.is_wanted(&uri) {
                query(&self, params)
            } else {
                Err(Refusal::Stale)
            }
        })
        .await
    }

    /// Whether the editor still wants an answer about a document: not if it has cancelled the
    /// question or changed the document. Work that takes long asks this now and then.
    pub fn is_wanted(&self, uri: &str) -> bool {
        !self.given_up.is_cancelled() && !self.server.has_changed_since(&self.documents, uri)
    }
}

/// The folders that the editor has open.
fn open_folders(params: &InitializeParams) -> Option<Vec<PathBuf>> {
    let folders = params
        .workspace_folders
        .iter()
        .flatten()
        .filter_map(|folder| path_of(&folder.uri));
    let folders: Vec<_> = folders.collect();
    #[expect(deprecated, reason = "what editors without folders send")]
    let root = params.root_uri.as_ref().and_then(path_of);
    if folders.is_empty() {
        root.map(|root| vec![root])
    } else {
        Some(folders)
    }
}
