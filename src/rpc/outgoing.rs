//! What the host sends to its client: a row for each request and notification. From it come the
//! capabilities that a client names in `initialize`, and the schema.

use hookwire_base::verdict::Answer;
use hookwire_engine::engine::Report;
use hookwire_engine::host::Changed;
use hookwire_engine::journal::{Ended, Record};
use hookwire_engine::starts::NamedPrograms;
use hookwire_handlers::handlers::CallbackCall;
use hookwire_handlers::services::approval::{ApprovalReply, ApprovalRequest, ApprovalsChanged};
use hookwire_handlers::services::client;
use hookwire_handlers::services::models::{CompleteParams, ModelReply};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

macro_rules! outgoing {
    (
        always {
            $($always:path = ($always_params:ty) -> $always_result:ty;)*
        }
        $(#[$requests_doc:meta])*
        requests $Requests:ident {
            $($(#[$request_doc:meta])* $request:ident = $request_name:literal ($params:ty) -> $result:ty;)*
        }
        $(#[$notifications_doc:meta])*
        notifications $Notifications:ident {
            $($(#[$notification_doc:meta])* $notification:ident = $notification_name:literal ($told:ty);)*
        }
    ) => {
        $(#[$requests_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
        pub enum $Requests {
            $($(#[$request_doc])* #[serde(rename = $request_name)] $request,)*
        }

        $(#[$notifications_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
        pub enum $Notifications {
            $($(#[$notification_doc])* #[serde(rename = $notification_name)] $notification,)*
        }

        impl $Notifications {
            /// Its name on the wire.
            pub fn method(self) -> &'static str {
                match self {
                    $($Notifications::$notification => $notification_name,)*
                }
            }
        }

        /// The requests with their params and results.
        pub(super) fn request_schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema, Schema)> {
            vec![
                $((
                    $always,
                    generator.subschema_for::<$always_params>(),
                    generator.subschema_for::<$always_result>(),
                ),)*
                $((
                    $request_name,
                    generator.subschema_for::<$params>(),
                    generator.subschema_for::<$result>(),
                ),)*
            ]
        }

        /// The notifications with their params.
        pub(super) fn notification_schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
            vec![$(($notification_name, generator.subschema_for::<$told>()),)*]
        }
    };
}

outgoing! {
    always {
        client::INVOKE = (CallbackCall) -> Answer;
    }
    /// A request of the host that a client may answer.
    requests RequestKind {
        /// Ask a person.
        Approve = "approval/request" (ApprovalRequest) -> ApprovalReply;
        /// Use the agent's own model.
        Complete = "model/complete" (CompleteParams) -> ModelReply;
    }
    /// A notification of the host.
    notifications NotificationKind {
        /// Other definitions are in force.
        Changed = "hooks/changed" (Changed);
        /// A hook ran.
        Executed = "hooks/executed" (Report);
        /// A hook failed.
        Failed = "hooks/failed" (Report);
        /// An event was judged.
        Judged = "hooks/judged" (Record<'static>);
        /// Other programs are named by the definitions in force. It is sent to whoever asks for
        /// `programs/named`, and can't be asked for otherwise.
        #[serde(skip_deserializing)]
        Named = "programs/changed" (NamedPrograms);
        /// An `async` hook of an event has ended. Whoever asks for `hooks/judged` gets this too.
        Ended = "hooks/ended" (Ended);
        /// Other questions wait for a person than before: `approvals/list` has them. It is for
        /// programs that people answer in; a client that answers `approval/request` gets each
        /// question itself.
        Questions = "approvals/changed" (ApprovalsChanged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn clients_are_asked_by_the_names_of_the_rows() {
        for (kind, name) in [
            (RequestKind::Approve, client::APPROVE),
            (RequestKind::Complete, client::COMPLETE),
        ] {
            assert_eq!(
                serde_json::from_value::<RequestKind>(json!(name)).unwrap(),
                kind
            );
        }
    }
}
