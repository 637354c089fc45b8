//! `hookwire.trust`: what `hookwire trust` does, for a person at an editor.
//!
//! Only what was shown is approved, and only if the answer comes from the editor that showed it: a
//! file that an agent changes meanwhile is looked at another time. The server is asked over the
//! standard streams of the editor that started it, never over the socket that other programs can
//! reach.

use super::answer::{Answer, Refusal, off_the_reader};
use super::editor::Editor;
use super::plain_text::{MAX_QUOTED, one_line};
use super::project::{Project, home_of};
use super::server::Snapshot;
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::visible::safe;
use hookwire_base::transport::socket;
use hookwire_engine::definitions::approved;
use hookwire_engine::running::reload_all;
use hookwire_engine::trust::{self, Review, shown::shown};
use ls_types::{MessageType, Uri};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::NamedTempFile;

/// What a person answers to put definitions in force.
const YES: &str = "Trust these definitions";
const NO: &str = "Not now";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfProject {
    /// A definition file of the project. Without one, the only project that is to be trusted.
    uri: Option<Uri>,
}

impl From<trust::Refusal> for Refusal {
    fn from(trust::Refusal(problem): trust::Refusal) -> Refusal {
        Refusal::Failed(problem)
    }
}

/// Shows what is new in a project's definitions, and puts it in force if the person says so.
pub(super) async fn trust_project(snapshot: Snapshot, of: OfProject) -> Answer<Value> {
    let (is_trusted, summary) = review_project(&snapshot, &of).await?;
    snapshot
        .server
        .editor
        .show_message(MessageType::INFO, &summary);
    Ok(json!({ "isTrusted": is_trusted, "summary": summary }))
}

async fn review_project(snapshot: &Snapshot, of: &OfProject) -> Answer<(bool, String)> {
    let server = &snapshot.server;
    let failed = |problem: String| Refusal::Failed(problem);
    if !server.abilities.shows_documents {
        let problem =
            "this editor can't show what is to be trusted: `hookwire trust` in a terminal does";
        return Err(failed(problem.into()));
    }
    let root = find_project(snapshot, of)?.root().to_path_buf();
    let name = safe(&root.to_string_lossy());
    let store = approved::store(&root)
        .ok_or_else(|| failed("you have no home directory to keep it in".into()))?;
    let (place, at) = (store.clone(), root.clone());
    let review = Arc::new(off_the_reader(move || Ok(trust::review(&place, &at)?)).await?);
    if review.is_as_before() {
        return Ok((
            true,
            format!("the definitions of {name} are trusted as they are"),
        ));
    }
    if let Err(trust::Refusal(problem)) = review.sound() {
        let mistakes: Vec<_> = review
            .errors()
            .map(|error| safe(&error.one_line()))
            .collect();
        return Err(failed(format!("{problem}\n{}", mistakes.join("\n"))));
    }
    let showing = review.clone();
    // Gone when the person has answered, or when nobody waits for the answer any more.
    let page = off_the_reader(move || write_page(&showing)).await?;
    if !show_page(&server.editor, &page).await {
        return Err(failed(
            "the editor didn't show what is to be trusted, so nothing was changed".into(),
        ));
    }
    let hooks: Vec<&str> = review.hooks.iter().map(|hook| &*hook.name).collect();
    let question = format!(
        "Trust the definitions of {name}? They decide what your agents may do, and run as you. {}: {}. The document beside this shows what is new.",
        number_of(hooks.len(), "hook"),
        one_line(&hooks.join(", "), MAX_QUOTED),
    );
    if !ask_person(&server.editor, &question).await {
        return Ok((false, "Nothing was changed.".into()));
    }
    off_the_reader(move || {
        review.approve(&store).map_err(|error| Refusal::Failed(format!("keep what was approved: {error}")))?;
        for (path, problem) in reload_all() {
            tracing::warn!(socket = %path.display(), %problem, "A host may not have read what is trusted now.");
        }
        Ok(())
    })
    .await?;
    Ok((true, "These definitions are in force from now on. Edits of them are not, until you trust those too.".into()))
}

/// The project that is meant.
fn find_project(snapshot: &Snapshot, OfProject { uri }: &OfProject) -> Answer<Project> {
    let projects = snapshot.server.workspaces();
    if let Some(uri) = uri {
        let path: PathBuf = uri
            .to_file_path()
            .map(|path| path.into_owned())
            .unwrap_or_default();
        let of = projects
            .into_iter()
            .filter(|project| path.starts_with(home_of(project.root())));
        let innermost = of.max_by_key(|it| it.root().components().count());
        return innermost
            .ok_or_else(|| Refusal::Failed("this file is in no project's `.hookwire`".into()));
    }
    let mut distrusted: Vec<Project> = projects
        .into_iter()
        .filter(|project| project.distrust().is_some())
        .collect();
    match (distrusted.pop(), distrusted.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) => Err(Refusal::Failed(
            "several projects are to be trusted: open a file of one".into(),
        )),
        (None, _) => Err(Refusal::Failed("nothing here is to be trusted".into())),
    }
}

/// A file for the editor to show, in a directory that is the user's alone and that an agent's tools
/// may not change.
fn write_page(review: &Review) -> Answer<NamedTempFile> {
    let text: String = shown(review)
        .into_iter()
        .map(|(_, line)| line + "\n")
        .collect();
    let make = || {
        let mut page = tempfile::Builder::new()
            .prefix("trust-")
            .suffix(".diff")
            .tempfile_in(socket::directory()?)?;
        page.write_all(text.as_bytes())?;
        Ok(page)
    };
    make().map_err(|error: std::io::Error| {
        Refusal::Failed(format!("show what is to be trusted: {error}"))
    })
}

/// Whether the editor has shown a file.
async fn show_page(editor: &Editor, page: &NamedTempFile) -> bool {
    let Some(uri) = Uri::from_file_path(page.path()) else {
        return false;
    };
    let asked = editor.ask(
        "window/showDocument",
        json!({ "uri": uri, "takeFocus": true }),
    );
    let Some(reply) = asked else { return false };
    reply.await.is_ok_and(|reply| reply["success"] == true)
}

/// Whether a person says yes. No answer is a no.
async fn ask_person(editor: &Editor, question: &str) -> bool {
    // Some editors take the first if only a key is pressed.
    let actions = [NO, YES].map(|title| json!({ "title": title }));
    let params = json!({ "type": MessageType::WARNING, "message": question, "actions": actions });
    let Some(reply) = editor.ask("window/showMessageRequest", params) else {
        return false;
    };
    reply.await.is_ok_and(|reply| reply["title"] == YES)
}
