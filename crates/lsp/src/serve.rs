//! What the server does over time: it begins to tell the editor what changes, and takes in what the
//! editor says of its documents and folders.

use super::answer::Answer;
use super::editor::path_of;
use super::server::Server;
use super::workspaces::{Workspace, project_of, projects_of_folder};
use super::{diagnostics, live};
use hookwire_base::syntax::formats;
use ls_types::{
    DidChangeTextDocumentParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams,
};
use std::collections::HashSet;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The longest text that is kept, in bytes: longer ones are no definitions.
const MAX_TEXT: usize = 2 * formats::MAX_BYTES;
/// Bytes that the edits of one change may have looked at, each the whole text.
const MAX_WORK: usize = 256 << 20;
/// How often it is looked whether the process that started this one is still there.
const PARENT: Duration = Duration::from_secs(5);
/// Documents that one editor may have open; more are left alone.
const MAX_DOCUMENTS: usize = 1000;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Server {
    /// Tells what there is to tell, until `ended`.
    pub fn start_tasks(self: &Arc<Server>, ended: &CancellationToken) {
        if self.ended.set(ended.clone()).is_err() {
            return;
        }
        let spawn = |task: Task| tokio::spawn(ended.clone().run_until_cancelled_owned(task));
        spawn(Box::pin(diagnostics::publish_changes(self.clone())));
        let server = self.clone();
        spawn(Box::pin(async move {
            live::follow_hosts(&server.live, &server.connection, &server.workspaces, || {
                server.refresh_live()
            })
            .await;
        }));
        if let Some(parent) = self.parent {
            spawn(Box::pin(end_with(parent)));
        }
        for workspace in self.workspaces.all() {
            self.follow_workspace(workspace);
        }
    }

    /// Tells what changes in a folder, until it is left.
    fn follow_workspace(self: &Arc<Server>, Workspace { project, left }: Workspace) {
        let Some(ended) = self.ended.get().cloned() else {
            return;
        };
        if let Err(error) = project.watch() {
            tracing::warn!(%error, "Definitions are not watched for the editor.");
        }
        let server = self.clone();
        let follow = async move {
            left.run_until_cancelled(diagnostics::follow_definitions(
                server.clone(),
                project.clone(),
            ))
            .await;
            diagnostics::withdraw_diagnostics(&server, &project);
        };
        tokio::spawn(async move { ended.run_until_cancelled_owned(follow).await });
    }

    /// Enters a folder.
    fn enter_folder(self: &Arc<Server>, root: &Path) {
        if let Some(workspace) = self.workspaces.enter_folder(root) {
            self.follow_workspace(workspace);
        }
    }

    /// Leaves every project that neither a folder nor an open document is about any more.
    fn leave_unused(&self) {
        let documents = self.documents();
        let of_documents = documents
            .values()
            .filter_map(|document| project_of(&document.path))
            .map(Path::to_path_buf);
        let of_folders = self
            .folders
            .lock()
            .iter()
            .flat_map(|folder| projects_of_folder(folder))
            .collect::<Vec<_>>();
        let wanted: HashSet<PathBuf> = of_documents.chain(of_folders).collect();
        self.workspaces.retain(|root| wanted.contains(root));
    }

    /// Whether a file is one of definitions. Editors hand over every YAML file that they open.
    fn is_definition(&self, path: &Path, language: &str, text: &str) -> bool {
        let at_home = project_of(path).is_some();
        language.starts_with("hookwire")
            || at_home
            || self
                .workspaces()
                .iter()
                .any(|workspace| workspace.layer_of(path).is_some())
            || text
                .lines()
                .take(10)
                .any(|line| line.contains("$schema") && line.contains("hookwire"))
    }
}

/// Ends this process, in good order, when the one that started it has ended without a word:
/// something else may hold its end of stdin open.
async fn end_with(parent: u32) {
    let Some(parent) = i32::try_from(parent)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    else {
        return;
    };
    loop {
        tokio::time::sleep(PARENT).await;
        if rustix::process::test_kill_process(parent) == Err(rustix::io::Errno::SRCH) {
            tracing::info!("The editor has ended.");
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::TERM,
            );
        }
    }
}

pub(super) fn did_open(server: &Arc<Server>, params: DidOpenTextDocumentParams) -> Answer<()> {
    let ls_types::TextDocumentItem {
        uri,
        language_id,
        version,
        text,
    } = params.text_document;
    let Some(path) = path_of(&uri) else {
        return Ok(());
    };
    let key = uri.as_str().to_string();
    if !server.is_definition(&path, &language_id, &text) {
        return Ok(());
    }
    if server.documents().len() >= MAX_DOCUMENTS || text.len() > MAX_TEXT {
        tracing::warn!(
            uri = key,
            "A document was left alone: it is too large, or {MAX_DOCUMENTS} are open."
        );
        return Ok(());
    }
    if let Some(project) = project_of(&path) {
        server.enter_folder(project);
    }
    let document = server.new_document(uri, path, version, text);
    server.update_documents(|documents| drop(documents.insert(key.clone(), Arc::new(document))));
    server.check_document(&key);
    Ok(())
}

pub(super) fn did_change(server: &Arc<Server>, params: DidChangeTextDocumentParams) -> Answer<()> {
    let key = params.text_document.uri.as_str();
    let Some(document) = server.documents().get(key).cloned() else {
        return Ok(());
    };
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
    let added = changes
        .iter()
        .map(|change| change.text.len())
        .sum::<usize>();
    let size = document.text.len().saturating_add(added);
    if size > MAX_TEXT || size.saturating_mul(changes.len()) > MAX_WORK {
        tracing::warn!(
            uri = key,
            "A document is left alone until it is opened again: the change is too large."
        );
        server.update_documents(|documents| drop(documents.remove(key)));
        return Ok(());
    }
    let document = Arc::new(document.with_changes(version, changes));
    server.update_documents(|documents| drop(documents.insert(key.to_string(), document)));
    server.check_document(key);
    Ok(())
}

pub(super) fn did_close(server: &Arc<Server>, params: DidCloseTextDocumentParams) -> Answer<()> {
    let key = params.text_document.uri.as_str();
    server.update_documents(|documents| drop(documents.remove(key)));
    server.runs.forget_document(key);
    server.check_document(key);
    server.leave_unused();
    Ok(())
}

pub(super) fn did_change_folders(
    server: &Arc<Server>,
    params: DidChangeWorkspaceFoldersParams,
) -> Answer<()> {
    let removed: Vec<_> = params
        .event
        .removed
        .iter()
        .filter_map(|folder| path_of(&folder.uri))
        .collect();
    let added: Vec<_> = params
        .event
        .added
        .iter()
        .filter_map(|folder| path_of(&folder.uri))
        .collect();
    {
        let mut folders = server.folders.lock();
        folders.retain(|folder| !removed.contains(folder));
        folders.extend(added.iter().cloned());
    }
    added
        .iter()
        .flat_map(|folder| projects_of_folder(folder))
        .for_each(|root| server.enter_folder(&root));
    server.leave_unused();
    server.refresh();
    Ok(())
}
