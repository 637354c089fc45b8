//! The requests of a connection that have been read and not been answered, and the batches that
//! their replies belong to.

use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Requests that may wait at once.
pub(super) const MAX_IN_FLIGHT: usize = 16 * 1024;

/// The replies of a batch, in bytes: beyond, its other requests are not carried out.
pub(super) const MAX_BATCH_REPLIES: usize = 16 * 1024 * 1024;

/// See the module.
#[derive(Default)]
pub(super) struct InFlight {
    state: Mutex<State>,
    task_ended: Condvar,
    /// The same for tasks that wait.
    ended: Notify,
}

#[derive(Default)]
struct State {
    /// Ids that can't be used again yet, as JSON.
    requests: HashMap<String, Request>,
    /// Tasks whose reply, if they have one, isn't on its way yet.
    tasks: usize,
}

/// A request that waits, or whose batch does.
pub(super) struct Request {
    pub(super) cancelled: CancellationToken,
    pub(super) to: ReplyTo,
    pub(super) is_answered: bool,
}

/// Where a reply goes.
#[derive(Clone)]
pub(super) enum ReplyTo {
    Client,
    Batch(Arc<Batch>),
}

/// Whether a request may be carried out.
pub(super) enum Admission {
    Yes,
    Duplicate,
    Overloaded,
}

/// Keeps [`InFlight::wait_until_idle`] waiting until it is dropped.
pub struct Task(Arc<InFlight>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.state.lock().tasks -= 1;
        self.0.task_ended.notify_all();
        self.0.ended.notify_waiters();
    }
}

impl InFlight {
    pub(super) fn start_task(self: &Arc<InFlight>) -> Task {
        self.state.lock().tasks += 1;
        Task(self.clone())
    }

    pub(super) fn admit_id(&self, id: &str) -> Admission {
        let state = self.state.lock();
        if state.requests.contains_key(id) {
            Admission::Duplicate
        } else if state.tasks >= MAX_IN_FLIGHT {
            Admission::Overloaded
        } else {
            Admission::Yes
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.state.lock().tasks >= MAX_IN_FLIGHT
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.state.lock().requests.contains_key(id)
    }

    pub(super) fn insert(&self, id: &str, request: Request) {
        self.state.lock().requests.insert(id.to_string(), request);
    }

    /// Whether a reply to the request is still due; from now on it isn't. Frees the id of a single
    /// request before its reply is sent, because a client that has the reply may use the id again.
    pub(super) fn claim_reply(&self, id: &str) -> bool {
        let requests = &mut self.state.lock().requests;
        match requests.get_mut(id) {
            Some(Request {
                to: ReplyTo::Batch(_),
                is_answered,
                ..
            }) => !std::mem::replace(is_answered, true),
            Some(Request {
                to: ReplyTo::Client,
                ..
            }) => requests.remove(id).is_some_and(|it| !it.is_answered),
            None => false,
        }
    }

    /// The same for every request.
    pub(super) fn claim_all_replies(&self) -> Vec<(String, ReplyTo)> {
        let state = &mut *self.state.lock();
        let due = state
            .requests
            .iter_mut()
            .filter(|(_, request)| !request.is_answered);
        due.map(|(id, request)| {
            request.is_answered = true;
            (id.clone(), request.to.clone())
        })
        .collect()
    }

    fn free_ids(&self, ids: &[String]) {
        let mut state = self.state.lock();
        for id in ids {
            state.requests.remove(id);
        }
    }

    pub(super) fn cancel_request(&self, id: &str) {
        if let Some(request) = self.state.lock().requests.get(id) {
            request.cancelled.cancel();
        }
    }

    pub(super) fn cancel_all(&self) {
        self.state
            .lock()
            .requests
            .values()
            .for_each(|request| request.cancelled.cancel());
    }

    /// Waits for the end of all tasks; says whether it has come.
    pub(super) fn wait_until_idle(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        while state.tasks > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.task_ended.wait_for(&mut state, left);
        }
        true
    }

    /// The same for a task, however long it takes.
    pub(super) async fn until_idle(&self) {
        loop {
            let ended = self.ended.notified();
            if self.state.lock().tasks == 0 {
                return;
            }
            ended.await;
        }
    }

    /// Ids and tasks, for tests.
    #[cfg(test)]
    pub(super) fn left(&self) -> (Vec<String>, usize) {
        let state = self.state.lock();
        (state.requests.keys().cloned().collect(), state.tasks)
    }
}

/// The replies of a batch, until the last one is there.
pub(super) struct Batch(Mutex<BatchState>);

struct BatchState {
    /// The list of replies, without its closing bracket.
    replies: Vec<u8>,
    /// Members without a reply, and one more until the last member was read.
    open: usize,
    /// To be freed with the batch: before, the client has none of its replies.
    ids: Vec<String>,
}

impl Batch {
    pub(super) fn new(members: usize) -> Arc<Batch> {
        Arc::new(Batch(Mutex::new(BatchState {
            replies: Vec::new(),
            open: members + 1,
            ids: Vec::new(),
        })))
    }

    /// Keeps an id from being used again before the whole batch is answered.
    pub(super) fn hold_id(&self, id: &str) {
        self.0.lock().ids.push(id.to_string());
    }

    /// Whether its replies are long enough: the client asked for more than it may have at once.
    pub(super) fn is_full(&self) -> bool {
        self.0.lock().replies.len() >= MAX_BATCH_REPLIES
    }

    /// Closes one member, with its reply if it has one. Gives the list of all replies once there is
    /// nothing left to wait for.
    pub(super) fn close_member(
        &self,
        reply: Option<&[u8]>,
        in_flight: &InFlight,
    ) -> Option<Vec<u8>> {
        let mut batch = self.0.lock();
        if let Some(reply) = reply {
            let before = if batch.replies.is_empty() { b'[' } else { b',' };
            batch.replies.push(before);
            batch.replies.extend_from_slice(reply);
        }
        batch.open -= 1;
        if batch.open > 0 {
            return None;
        }
        in_flight.free_ids(&batch.ids);
        let mut replies = std::mem::take(&mut batch.replies);
        if replies.is_empty() {
            return None;
        }
        replies.push(b']');
        Some(replies)
    }
}
