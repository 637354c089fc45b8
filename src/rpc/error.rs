//! Why a request can't be served, as the client gets it.

use super::protocol::code;
use hookwire_base::support::json::without_types;
use hookwire_handlers::services::state::StateError;
use hookwire_lsp as lsp;
use jsonrpsee_types::ErrorObjectOwned;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Display;

/// A result, or the error object that the client gets.
pub type RpcResult<T> = Result<T, RpcError>;

/// Why a request can't be served.
#[derive(Debug, Serialize)]
pub struct RpcError {
    pub(super) code: i32,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<Value>,
}

impl RpcError {
    /// An error without data.
    pub(super) fn new(code: i32, message: impl Into<String>) -> RpcError {
        RpcError {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The params are not what the method takes.
    pub fn params(message: impl Display) -> RpcError {
        RpcError::new(
            code::INVALID_PARAMS,
            format!("invalid params: {}", without_types(&message)),
        )
    }

    /// The request can't be served now.
    pub fn request(message: impl Display) -> RpcError {
        RpcError::new(code::INVALID_REQUEST, format!("invalid request: {message}"))
    }

    /// A bug in hookwire.
    pub(super) fn internal(message: impl Display) -> RpcError {
        RpcError::new(code::INTERNAL, message.to_string())
    }
}

impl From<StateError> for RpcError {
    fn from(error: StateError) -> Self {
        RpcError::new(code::STATE, format!("failed to {error}"))
    }
}

impl From<lsp::Refusal> for RpcError {
    fn from(refusal: lsp::Refusal) -> Self {
        match refusal {
            lsp::Refusal::Params(problem) => RpcError::params(problem),
            lsp::Refusal::Stale => {
                RpcError::new(code::CONTENT_MODIFIED, "the documents have changed since")
            }
            lsp::Refusal::Failed(problem) => RpcError::new(code::REQUEST_FAILED, problem),
        }
    }
}

impl From<RpcError> for ErrorObjectOwned {
    fn from(error: RpcError) -> Self {
        ErrorObjectOwned::owned(error.code, error.message, error.data)
    }
}
