//! The language server for definition files, on the connection that there is.
//!
//! The reader takes every message in order: a change makes a new version of its [`Document`], a
//! question takes a [`Snapshot`] of all documents and is answered elsewhere, on what was there when
//! it came. A version is analysed once, by whoever needs it first. Nothing here writes to the
//! connection but [`Server`]'s `notify` and `request`.
//!
//! One file a feature; the tables [`QUERIES`] and [`NOTICES`] say which method is which. Positions
//! are bytes everywhere but in `document::Lines`, which knows how the editor counts.

mod actions;
pub mod commands;
mod completion;
mod context;
mod definition;
mod diagnostics;
mod docs;
mod document;
mod effects;
mod half_typed;
mod hints;
mod hover;
mod lenses;
pub mod live;
mod rename;
mod run;
mod sample;
mod server;
mod symbols;
mod tokens;
mod workspaces;
mod written;

pub use document::{Document, Documents};
pub use server::{Server, capabilities, is_editor};

use ls_types::notification::{self as told, Notification};
use ls_types::request::{self as asked, Request};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Why a question has no answer.
#[derive(Debug)]
pub enum Refusal {
    /// The params are not what the method takes.
    Params(String),
    /// The documents have changed since. (LSP: `ContentModified`.)
    Stale,
    /// It can't be done; for people. (LSP: `RequestFailed`.)
    Failed(String),
}

/// The answer to a question.
pub type Answer<T> = Result<T, Refusal>;

/// All documents as they were when a question came.
pub struct Snapshot {
    /// The server.
    pub server: Arc<Server>,
    documents: Arc<Documents>,
    /// Cancelled when nobody waits for the answer any more.
    given_up: CancellationToken,
}

impl Snapshot {
    /// A definition file that is open in the editor.
    pub fn document(&self, uri: &ls_types::Uri) -> Option<&Arc<Document>> {
        self.documents.get(uri.as_str())
    }

    /// Answers a question about it, off the reader.
    pub async fn answer(self, query: Query, params: Value) -> Answer<Value> {
        let _given_up = self.given_up.clone().drop_guard();
        // Never closed.
        let permit = self.server.questions.clone().acquire_owned().await;
        off_the_reader(move || {
            let _permit = permit;
            let uri = params.pointer("/textDocument/uri").and_then(Value::as_str).unwrap_or_default().to_string();
            if self.is_wanted(&uri) { query(&self, params) } else { Err(Refusal::Stale) }
        })
        .await
    }

    /// Whether somebody has a use for an answer about a document: nobody who asked about an older version
    /// has. To be asked now and then by whatever takes long.
    pub(crate) fn is_wanted(&self, uri: &str) -> bool {
        !self.given_up.is_cancelled() && !self.server.has_changed_since(&self.documents, uri)
    }
}

/// Does what takes its time where it holds nobody up.
async fn off_the_reader<T: Send + 'static>(work: impl FnOnce() -> Answer<T> + Send + 'static) -> Answer<T> {
    let panicked = |_| Refusal::Failed("hookwire has a bug here; the log says more".into());
    tokio::task::spawn_blocking(work).await.map_err(panicked)?
}

/// Answers a question.
pub type Query = fn(&Snapshot, Value) -> Answer<Value>;
/// Takes a notification in.
pub type Notice = fn(&Arc<Server>, Value) -> Answer<()>;

fn typed<T: DeserializeOwned>(params: Value) -> Answer<T> {
    serde_json::from_value(params).map_err(|error| Refusal::Params(error.to_string()))
}

macro_rules! queries {
    ($($request:ident => $answer:path;)*) => {
        &[$((<asked::$request as Request>::METHOD, |snapshot, params| {
            let params: <asked::$request as Request>::Params = typed(params)?;
            let answer: <asked::$request as Request>::Result = $answer(snapshot, params)?;
            serde_json::to_value(answer).map_err(|error| Refusal::Failed(error.to_string()))
        }),)*]
    };
}

macro_rules! notices {
    ($($notification:ident => $take:path;)*) => {
        &[$((<told::$notification as Notification>::METHOD, |server, params| {
            let params: <told::$notification as Notification>::Params = typed(params)?;
            $take(server, params)
        }),)*]
    };
}

/// What can be asked about the documents; `workspace/executeCommand` is beside it, in [`commands`].
pub static QUERIES: &[(&str, Query)] = queries! {
    Completion => completion::completion;
    HoverRequest => hover::hover;
    GotoDefinition => definition::definition;
    DocumentSymbolRequest => symbols::symbols;
    FoldingRangeRequest => symbols::folding;
    PrepareRenameRequest => rename::prepare;
    Rename => rename::rename;
    CodeActionRequest => actions::actions;
    CodeLensRequest => lenses::lenses;
    InlayHintRequest => hints::hints;
    SemanticTokensFullRequest => tokens::tokens;
};

/// What editors tell.
pub static NOTICES: &[(&str, Notice)] = notices! {
    DidOpenTextDocument => server::did_open;
    DidChangeTextDocument => server::did_change;
    DidCloseTextDocument => server::did_close;
    DidChangeWorkspaceFolders => server::did_change_folders;
};
