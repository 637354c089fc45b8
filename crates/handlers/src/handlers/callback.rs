//! `callback`: the host calls back into the client that registered the hook, with `hooks/invoke`.

use super::call::Call;
use super::compile::{Compile, Mistake};
use super::error::HandlerError;
use super::kind::Kind;
use crate::services::client::{self, Client};
use hookwire_base::verdict::Answer;
use serde::Serialize;
use serde_json::Value;
use std::sync::{Arc, Weak};

/// What the client is told.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallbackCall {
    /// What the registration gave as `callback`.
    pub callback: String,
    /// The hook's name.
    pub hook: String,
    /// The event, in the vocabulary of the hook's dialect.
    pub event: Value,
}

/// The value of `callback`: whatever identifies the function to the client.
pub(crate) type RawCallback = String;

pub(crate) struct Callback {
    id: String,
    /// Weak, so that a registration doesn't keep a dead connection.
    client: Weak<dyn Client>,
}

impl std::fmt::Debug for Callback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Callback({})", self.id)
    }
}

impl Kind for Callback {
    type Raw = RawCallback;

    const IN_FILES: bool = false;

    fn compile(id: RawCallback, cx: &Compile<'_>) -> Result<Self, Mistake> {
        match cx.client {
            Some(client) => Ok(Callback {
                id,
                client: Arc::downgrade(client),
            }),
            None => Err(Mistake::whole("a callback can't be defined in a file")
                .help("register it over the wire with hooks/register")),
        }
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let client = self
            .client
            .upgrade()
            .ok_or_else(|| HandlerError("call back: the client is gone".into()))?;
        let contract = call.hook.contract;
        let event = call.moment.event();
        let invocation = CallbackCall {
            callback: self.id.clone(),
            hook: call.hook.name.to_string(),
            event: (contract.payload)(event),
        };
        let failed = |error: String| HandlerError(format!("call back: {error}"));
        let params = serde_json::to_value(invocation).map_err(|error| failed(error.to_string()))?;
        let reply = client
            .request(client::INVOKE, params)
            .await
            .map_err(failed)?;
        match reply {
            Value::Null => Ok(Answer::default()),
            reply => {
                contract.returned.unwrap_or(contract.reply)(event, reply).map_err(HandlerError)
            }
        }
    }
}
