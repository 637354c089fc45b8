//! What listeners hear of, such as the events that hooks send: outward only, and free of charge
//! without a listener.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::{Arc, OnceLock};
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
        AgentEvent {
            name: name.into(),
            data,
        }
    }
}

/// How many a slow listener may fall behind before it loses the oldest.
const QUEUE: usize = 1024;

/// Where hooks put events, and the engine what runs come to, for listeners. Clones lead to the same
/// listeners.
#[derive(Clone, Debug)]
pub struct EventSender<T = AgentEvent>(Arc<OnceLock<broadcast::Sender<T>>>);

impl<T> Default for EventSender<T> {
    fn default() -> EventSender<T> {
        EventSender(Arc::default())
    }
}

impl<T: Clone> EventSender<T> {
    /// Sends what `event` makes. Without a listener it isn't called at all.
    pub fn emit(&self, event: impl FnOnce() -> T) {
        if let Some(queue) = self.0.get().filter(|queue| queue.receiver_count() > 0) {
            // An error means that the last listener has just left.
            let _ = queue.send(event());
        }
    }

    /// Every event from now on. A listener that falls behind loses the oldest.
    pub fn subscribe(&self) -> broadcast::Receiver<T> {
        // Most hosts never have a listener: the queue is made for the first, because it takes up to
        // half a megabyte.
        self.0
            .get_or_init(|| broadcast::Sender::new(QUEUE))
            .subscribe()
    }
}
