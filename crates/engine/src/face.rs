//! What programs that embed the host see, by the names of the package `hookwire`, which re-exports
//! it.

#[cfg(feature = "systems")]
pub use crate::embed::agent_hook;
pub use crate::embed::{BadHook, ClosureHook, HostBuilder, TranslatedVerdict};
pub use crate::engine::{HooksInForce, Interceptor, Judging, PassThrough, Question, Report};
pub use crate::host::{Changed, Host, HostOptions, LastGood, Projects, Published, Purpose};
pub use async_trait::async_trait;
pub use hookwire_base::event::{Event, NotAnEvent};
pub use hookwire_base::syntax::source::{Layer, Source};
pub use hookwire_base::transport::client::Client;
pub use hookwire_base::verdict::{
    Answer, Decision, Observed, Outcome, Retry, RetryAction, Status, Verdict, Would,
};
pub use hookwire_handlers::handlers::{HookError, HookEvent, HostPort, IntoAnswer};
pub use hookwire_handlers::services::client;
pub use hookwire_handlers::services::emit::{AgentEvent, EventSender};
pub use hookwire_handlers::services::models::ModelRef;
pub use hookwire_handlers::services::state::{Scope, StateError, Store};
pub use hookwire_rules::contract::Fail;
pub use hookwire_rules::policy::Policy;

pub use crate::journal;
pub use hookwire_base::{event, verdict};
