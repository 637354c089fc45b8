//! Diagnostics of the editor's files, as they are typed.
//!
//! An open file is checked as it stands in the editor, a closed one as it is on disk. While one
//! version is being checked the next may come: only diagnostics of the newest are published.

use super::document::{Document, Lines};
use super::editor::path_of;
use super::plain_text::plain_quotes;
use super::project::Project;
use super::same_name::{same_name, taken_names};
use super::server::Server;
use hookwire_base::syntax::diagnostic::{self, Severity};
use hookwire_engine::canaries::NOT_DENIED;
use hookwire_engine::definitions::scan::{CHANGED_SINCE, is_about_trust};
use hookwire_engine::host::Published;
use ls_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString,
    PublishDiagnosticsParams, Uri,
};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Publishes the diagnostics of every file that changes, for as long as it is polled.
pub(super) async fn publish_changes(server: Arc<Server>) {
    loop {
        for uri in server.unchecked().await {
            let Some(document) = server.documents().get(&uri).cloned() else {
                publish_closed(&server, &uri).await;
                continue;
            };
            let (checking, version) = (server.clone(), document.version);
            let checked =
                tokio::task::spawn_blocking(move || params_of_open(&checking, &document)).await;
            let is_newest = server
                .documents()
                .get(&uri)
                .is_some_and(|documents| documents.version == version);
            if let (Ok(params), true) = (checked, is_newest) {
                publish_diagnostics(&server, &params);
            }
        }
    }
}

/// Whenever a workspace's definitions change, publishes the diagnostics of files that are not open,
/// and asks the editor to ask again for what depends on other files.
pub(super) async fn follow_definitions(server: Arc<Server>, workspace: Project) {
    let mut changes = workspace.changes();
    let mut had_diagnostics = HashSet::new();
    loop {
        let published = workspace.published();
        let files = files_of(&published);
        for file in had_diagnostics.union(&files) {
            if let Some(uri) = Uri::from_file_path(file) {
                publish_closed(&server, uri.as_str()).await;
            }
        }
        had_diagnostics = files;
        // Names in other files may be taken now.
        for uri in server.documents().keys() {
            server.check_document(uri);
        }
        server.refresh();
        match changes.recv().await {
            Ok(_) | Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
            Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
        }
    }
}

/// Takes the diagnostics of a project that was left back, but for those of files that are still of
/// interest.
pub(super) fn withdraw_diagnostics(server: &Server, left: &Project) {
    let open = server.workspaces();
    let published: Vec<_> = open.iter().map(Project::published).collect();
    for file in files_of(&left.published()) {
        let Some(uri) = Uri::from_file_path(&file) else {
            continue;
        };
        let is_told = published
            .iter()
            .flat_map(|it| it.diagnostics.iter())
            .any(|it| it.file == file);
        if !is_told && !server.documents().contains_key(uri.as_str()) {
            publish_diagnostics(
                server,
                &PublishDiagnosticsParams {
                    uri,
                    diagnostics: Vec::new(),
                    version: None,
                },
            );
        }
    }
}

/// The files that diagnostics are about. What keeps a project out of force is told in the files
/// that are open.
fn files_of(published: &Published) -> HashSet<String> {
    published
        .diagnostics
        .iter()
        .filter(|diagnostic| !is_about_trust(diagnostic))
        .map(|diagnostic| diagnostic.file.clone())
        .collect()
}

/// A file that isn't open has the diagnostics of what is on disk.
async fn publish_closed(server: &Arc<Server>, uri: &str) {
    let (checking, checked) = (server.clone(), uri.to_string());
    // Files that diagnostics refer to may have to be read.
    let params = tokio::task::spawn_blocking(move || params_of_closed(&checking, &checked)).await;
    if let Ok(Some(params)) = params
        && !server.documents().contains_key(uri)
    {
        publish_diagnostics(server, &params);
    }
}

fn params_of_closed(server: &Server, uri: &str) -> Option<PublishDiagnosticsParams> {
    let uri = uri.parse::<Uri>().ok()?;
    let path = path_of(&uri)?;
    let workspace = server.workspace_of(&path)?;
    let published = workspace.published();
    let file = path.display().to_string();
    let text = published.sources.get(&file).cloned().unwrap_or_default();
    let document = Document::new(
        uri.clone(),
        path,
        0,
        text.to_string(),
        server.abilities.encoding,
    );
    let diagnostics = published
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.file == file);
    Some(PublishDiagnosticsParams {
        uri,
        diagnostics: as_lsp(server, &document, diagnostics),
        version: None,
    })
}

fn publish_diagnostics(server: &Server, params: &PublishDiagnosticsParams) {
    if let Ok(params) = serde_json::to_value(params) {
        server
            .editor
            .notify("textDocument/publishDiagnostics", &params);
    }
}

/// Everything that is wrong with an open document.
fn params_of_open(server: &Server, document: &Document) -> PublishDiagnosticsParams {
    let lines = document.lines();
    let workspace = server.workspace_of(&document.path);
    let means = workspace.as_ref().map(Project::means);
    let mut diagnostics = document.diagnostics(means.as_ref());
    diagnostics.extend(taken_names(workspace.as_ref(), document, &lines));
    let published = workspace.as_ref().map(Project::published);
    diagnostics.extend(published.iter().flat_map(|it| not_denied(it, document)));
    let documents = server.documents();
    let distrust = server
        .surroundings_in(&documents, workspace.clone())
        .distrust(&document.path);
    diagnostics.extend(distrust.map(|distrust| diagnostic::Diagnostic {
        span: lines.first(),
        // Whoever edits a file knows that it isn't as it was.
        severity: if distrust.code == CHANGED_SINCE {
            Severity::Hint
        } else {
            distrust.severity
        },
        ..distrust
    }));
    let diagnostics = as_lsp(server, document, &diagnostics);
    PublishDiagnosticsParams {
        uri: document.uri.clone(),
        diagnostics,
        version: Some(document.version),
    }
}

/// What the hooks in force let pass of an open file of cases, as long as it is as it was saved.
fn not_denied(
    published: &Published,
    document: &Document,
) -> impl Iterator<Item = diagnostic::Diagnostic> {
    let file = document.path.display().to_string();
    let text = published.sources.get(&file);
    let is_saved = text.is_some_and(|text| **text == *document.text);
    published
        .diagnostics
        .iter()
        .filter(move |it| is_saved && it.code == NOT_DENIED && it.file == file)
        .cloned()
}

/// The most diagnostics of a file.
const MAX_TOLD: usize = 1000;
/// The most diagnostics of a file that lead to another place.
const MAX_RELATED: usize = 50;

/// Diagnostics as the editor has them, those of names with where the other hook is, if it can show
/// that.
fn as_lsp<'d>(
    server: &Server,
    document: &Document,
    diagnostics: impl IntoIterator<Item = &'d diagnostic::Diagnostic>,
) -> Vec<Diagnostic> {
    let (lines, documents) = (document.lines(), server.documents());
    let workspace = server.workspace_of(&document.path);
    let around = server.surroundings_in(&documents, workspace.clone());
    let mut places: HashMap<&str, Vec<Location>> = HashMap::new();
    let mut shown_all = Vec::new();
    let mut diagnostics = diagnostics.into_iter();
    for diagnostic in diagnostics.by_ref().take(MAX_TOLD) {
        let mut shown = to_lsp(diagnostic, &lines);
        if let (Some(name), Some(other)) = (diagnostic.hook.as_deref(), &diagnostic.other_place)
            && server.abilities.related_places
            && (places.len() < MAX_RELATED || places.contains_key(name))
        {
            let others = places
                .entry(name)
                .or_insert_with(|| same_name(document, &(0..0), name, &around))
                .iter();
            let mut others =
                others.filter(|it| (&it.uri, it.range) != (&document.uri, shown.range));
            shown.related_information = others
                .find(|location| {
                    location
                        .uri
                        .to_file_path()
                        .is_some_and(|path| other.starts_with(&format!("{}:", path.display())))
                })
                .map(|place| {
                    let message = format!("“{name}” is the name of this hook too");
                    vec![DiagnosticRelatedInformation {
                        location: place.clone(),
                        message,
                    }]
                });
            // The place is a click away, so its directory is left out.
            let root = workspace
                .as_ref()
                .map(|workspace| format!(" {}/", workspace.root().display()));
            if let Some(root) = root.filter(|_| shown.related_information.is_some()) {
                shown.message = shown.message.replace(&root, " ");
            }
        }
        shown_all.push(shown);
    }
    let n_left_out = diagnostics.count();
    if let Some(last) = shown_all.last_mut().filter(|_| n_left_out > 0) {
        last.message
            .push_str(&format!("\nand {n_left_out} more mistakes in this file"));
    }
    shown_all
}

/// A diagnostic as editors have it. Its help is part of the message, and stands by itself in `data`
/// for editors that make code actions of it.
fn to_lsp(diagnostic: &diagnostic::Diagnostic, lines: &Lines<'_>) -> Diagnostic {
    let help = diagnostic
        .help
        .as_deref()
        .map(|help| format!("\n{help}"))
        .unwrap_or_default();
    Diagnostic {
        range: lines.range(&diagnostic.span),
        severity: Some(match diagnostic.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Hint => DiagnosticSeverity::HINT,
        }),
        code: Some(NumberOrString::String(diagnostic.code.clone())),
        source: Some("hookwire".into()),
        message: plain_quotes(&format!("{}{help}", diagnostic.message)),
        data: Some(json!({ "help": diagnostic.help, "hook": diagnostic.hook })),
        ..Diagnostic::default()
    }
}
