//! What hooks tell whoever listens: outward only, and free of charge without a listener.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast;

/// Something that happened, for user interfaces and logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentEvent {
    /// What.
    pub name: String,
    /// The rest.
    pub data: Value,
}

impl AgentEvent {
    /// An event of this name.
    pub fn new(name: impl Into<String>, data: Value) -> AgentEvent {
        AgentEvent { name: name.into(), data }
    }
}

/// How many events a slow listener may fall behind before it loses the oldest.
const QUEUE: usize = 1024;

/// Where hooks put events for whoever listens. Clones lead to the same listeners.
#[derive(Clone, Debug)]
pub struct EventSender(broadcast::Sender<AgentEvent>);

impl Default for EventSender {
    fn default() -> EventSender {
        EventSender(broadcast::Sender::new(QUEUE))
    }
}

impl EventSender {
    /// Sends what `event` makes. Without a listener it isn't called at all.
    pub fn emit(&self, event: impl FnOnce() -> AgentEvent) {
        if self.0.receiver_count() > 0 {
            // An error means that the last listener has just left.
            let _ = self.0.send(event());
        }
    }

    /// Every event from now on. A listener that falls behind loses the oldest.
    pub fn subscribe(&self) -> broadcast::Receiver<AgentEvent> {
        self.0.subscribe()
    }
}
