//! Why a call has no result.

use serde_json::{Value, json};

/// Why there is no result, as JSON-RPC has it.
pub(super) struct Problem {
    code: i32,
    message: String,
}

pub(super) type Answer<T = Value> = Result<T, Problem>;

const UNKNOWN_METHOD: i32 = -32601;
const BAD_PARAMS: i32 = -32602;
const FAILED: i32 = -32000;

impl<E: std::fmt::Display> From<E> for Problem {
    fn from(error: E) -> Problem {
        Problem {
            code: FAILED,
            message: error.to_string(),
        }
    }
}

impl Problem {
    pub(super) fn params(message: impl Into<String>) -> Problem {
        Problem {
            code: BAD_PARAMS,
            message: message.into(),
        }
    }

    /// It makes sense, and isn't done for this reason.
    #[cfg(feature = "fleet")]
    pub(super) fn refused(message: impl Into<String>) -> Problem {
        Problem {
            code: FAILED,
            message: message.into(),
        }
    }

    /// Only a host can tell it.
    #[cfg(feature = "fleet")]
    pub(super) fn of_host(method: &str) -> Problem {
        let message = format!(
            "there is no method `{method}` for a fleet; `hookwire inspect` has more on a host's machine"
        );
        Problem {
            code: UNKNOWN_METHOD,
            message,
        }
    }

    pub(super) fn unknown(method: &str) -> Problem {
        Problem {
            code: UNKNOWN_METHOD,
            message: format!("there is no method `{method}` here"),
        }
    }

    pub(super) fn to_value(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }
}
