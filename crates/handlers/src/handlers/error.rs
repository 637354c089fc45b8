//! Why a handler gave no answer.

#[cfg(feature = "models")]
use crate::services::models::ModelError;

/// Why a handler gave no answer. The text finishes the sentence "failed to ...".
#[derive(Debug, PartialEq, Eq)]
pub struct HandlerError(pub String);

impl std::fmt::Display for HandlerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(feature = "models")]
impl From<ModelError> for HandlerError {
    fn from(error: ModelError) -> HandlerError {
        HandlerError(error.0)
    }
}
