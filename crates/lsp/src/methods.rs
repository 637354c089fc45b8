//! The methods of LSP: which function answers each, and what `initialize` says of them.

use super::actions::{self, code_actions};
use super::answer::{Answer, Refusal, typed_params};
use super::commands;
use super::completion::complete_at;
use super::definition::find_definition;
use super::editor::Encoding;
use super::hints::inlay_hints;
use super::hover::hover_at;
use super::lenses::code_lenses;
use super::rename::{prepare_rename, rename_at};
use super::serve;
use super::server::{Query, Server};
use super::symbols::{document_symbols, folding_ranges};
use super::tokens::{semantic_tokens, token_legend};
use ls_types::notification::{self as notices, Notification};
use ls_types::request::{self as requests, Request};
use ls_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions,
    CompletionOptions, CompletionResponse, ExecuteCommandOptions, FoldingRangeProviderCapability,
    HoverProviderCapability, MessageType, OneOf, PositionEncodingKind, RenameOptions,
    SemanticTokensFullOptions, SemanticTokensOptions, ServerCapabilities,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions,
    WorkDoneProgressOptions, WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// The version of what goes beyond LSP: commands, their results, `hookwire/live`.
const EXTENSION_VERSION: u32 = 1;
/// The characters that start a completion, beside those of words.
const TRIGGERS: &str = ": \"'([{.,|/$-=";

/// Takes a notification in.
pub(super) type Notice = fn(&Arc<Server>, Value) -> Answer<()>;

/// Each request that is about one document: where its params name the document, and what answers
/// it. Of a document that isn't open, or is no definition file, the answer is null.
macro_rules! queries {
    ($($request:ident($($place:ident).+) => |$snapshot:ident, $document:ident, $params:ident| $answer:expr;)*) => {
        &[$((<requests::$request as Request>::METHOD, |$snapshot, params| {
            let $params: <requests::$request as Request>::Params = typed_params(params)?;
            let Some($document) = $snapshot.document(&$params.$($place).+.uri) else { return Ok(Value::Null) };
            let answer: <requests::$request as Request>::Result = $answer;
            serde_json::to_value(answer).map_err(|error| Refusal::Failed(error.to_string()))
        }),)*]
    };
}

macro_rules! notices {
    ($($notification:ident => $take:path;)*) => {
        &[$((<notices::$notification as Notification>::METHOD, |server, params| {
            let params: <notices::$notification as Notification>::Params = typed_params(params)?;
            $take(server, params)
        }),)*]
    };
}

/// The questions about documents; `workspace/executeCommand` is beside it, in [`commands`].
pub static QUERIES: &[(&str, Query)] = queries! {
    Completion(text_document_position.text_document) => |snapshot, document, params| {
        let position = params.text_document_position.position;
        Some(CompletionResponse::Array(complete_at(document, position, &snapshot.surroundings_of(&document.path))))
    };
    HoverRequest(text_document_position_params.text_document) => |snapshot, document, params| {
        hover_at(document, params.text_document_position_params.position, &snapshot.surroundings_of(&document.path))
    };
    GotoDefinition(text_document_position_params.text_document) => |snapshot, document, params| {
        find_definition(document, params.text_document_position_params.position, &snapshot.surroundings_of(&document.path))
    };
    DocumentSymbolRequest(text_document) => |snapshot, document, params| {
        Some(document_symbols(document, snapshot.server.abilities.nested_symbols))
    };
    FoldingRangeRequest(text_document) => |snapshot, document, params| Some(folding_ranges(document));
    PrepareRenameRequest(text_document) => |snapshot, document, params| Some(prepare_rename(document, params.position)?);
    Rename(text_document_position.text_document) => |snapshot, document, params| {
        let position = params.text_document_position.position;
        let renamed = rename_at(document, position, &params.new_name, &snapshot.surroundings_of(&document.path))?;
        renamed.map(|(edit, message)| {
            message.iter().for_each(|it| snapshot.server.editor.show_message(MessageType::INFO, it));
            edit
        })
    };
    CodeActionRequest(text_document) => |snapshot, document, params| {
        let is_awaited = || snapshot.is_wanted(document.uri.as_str());
        Some(code_actions(document, &snapshot.surroundings_of(&document.path), &is_awaited, &params))
    };
    CodeLensRequest(text_document) => |snapshot, document, params| {
        Some(code_lenses(document, &snapshot.surroundings_of(&document.path), &snapshot.server.runs))
    };
    InlayHintRequest(text_document) => |snapshot, document, params| {
        Some(inlay_hints(document, params.range, &snapshot.surroundings_of(&document.path)))
    };
    SemanticTokensFullRequest(text_document) => |snapshot, document, params| {
        Some(semantic_tokens(document, snapshot.server.abilities.encoding).into())
    };
};

/// The notifications of editors.
pub static NOTICES: &[(&str, Notice)] = notices! {
    DidOpenTextDocument => serve::did_open;
    DidChangeTextDocument => serve::did_change;
    DidCloseTextDocument => serve::did_close;
    DidChangeWorkspaceFolders => serve::did_change_folders;
};

/// Whether a client with these params of `initialize` is an editor.
pub fn is_editor(params: &Value) -> bool {
    params
        .pointer("/capabilities/textDocument")
        .is_some_and(Value::is_object)
}

/// The answer of `initialize` to an editor.
pub fn server_capabilities(server: &Server) -> Value {
    let encoding = match server.abilities.encoding {
        Encoding::Utf8 => PositionEncodingKind::UTF8,
        Encoding::Utf16 => PositionEncodingKind::UTF16,
    };
    let capabilities = ServerCapabilities {
        position_encoding: Some(encoding),
        text_document_sync: Some(TextDocumentSyncCapability::Options(
            TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::INCREMENTAL),
                ..TextDocumentSyncOptions::default()
            },
        )),
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
        code_lens_provider: Some(CodeLensOptions {
            resolve_provider: Some(false),
        }),
        inlay_hint_provider: Some(OneOf::Left(true)),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: token_legend(),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            }
            .into(),
        ),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands::COMMANDS
                .iter()
                .map(|command| command.to_string())
                .collect(),
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
