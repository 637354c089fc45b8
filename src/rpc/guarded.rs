//! Two hosts, one verdict: while the machine's host judges an event, the user's own host may be
//! asked about it by the command that asks both.
//!
//! To the engine, the user's host is a hook of the innermost layer: what it denies, asks, rewrites
//! and adds is folded as any hook's is, and what it allows is no opinion. What it rewrites, the
//! machine's hooks judge again. A host that is missing, broken or lying changes nothing of what they
//! say.

use super::error::{RpcError, RpcResult};
use super::protocol::AnswerResult;
use hookwire_base::event::Event;
use hookwire_base::syntax::diagnostic::LineIndex;
use hookwire_base::syntax::node::Node;
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::Decision;
use hookwire_dialects as dialects;
use hookwire_engine::definitions::compile::compile;
use hookwire_engine::definitions::origin::Origin;
use hookwire_engine::engine::HooksInForce;
use hookwire_engine::hook_set::HookSet;
use hookwire_engine::host::Host;
use hookwire_handlers::services::client::{Answers, Client, INVOKE, Reply};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

/// How much of the time isn't the user's host's, at least.
const RESERVE: Duration = Duration::from_millis(200);
/// The user's host, to the engine.
const ASK: &str = "ask";
/// The machine's hooks again, behind it.
const AGAIN: &str = "again";

/// A user who asks, and what was begun on the connection.
#[derive(Clone)]
pub struct Asker {
    /// Who it is.
    pub uid: u32,
    begun: Arc<Mutex<Option<Begun>>>,
}

/// An event that is being judged.
pub(super) struct Begun {
    theirs: oneshot::Sender<Value>,
    said: AbortOnDropHandle<AnswerResult>,
}

/// The user's host is asked about an event.
pub(super) struct Asked {
    pub(super) event: Value,
    theirs: oneshot::Sender<Value>,
}

/// What stands for the user's host.
pub(super) struct UsersHost {
    host: Arc<Host>,
    asks: Mutex<Option<oneshot::Sender<Asked>>>,
    has_rewritten: Arc<AtomicBool>,
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asker({})", self.uid)
    }
}

impl Asker {
    /// One who has just connected.
    pub fn new(uid: u32) -> Asker {
        Asker {
            uid,
            begun: Arc::default(),
        }
    }

    /// Remembers what was begun; what was begun before on the connection goes on without the user's
    /// host.
    pub(super) fn begin(
        &self,
        asked: Asked,
        left: Duration,
        said: AbortOnDropHandle<AnswerResult>,
    ) -> Value {
        let Asked { mut event, theirs } = asked;
        *self.begun.lock() = Some(Begun { theirs, said });
        // What is left is for the machine's hooks behind it, and for the answer.
        let theirs = left.saturating_sub((left / 5).max(RESERVE));
        event["deadlineMs"] = u64::try_from(theirs.as_millis()).unwrap_or(u64::MAX).into();
        event
    }

    /// Takes what was begun.
    pub(super) fn finish(&self) -> Option<Begun> {
        self.begun.lock().take()
    }
}

impl Begun {
    /// Hands on what the user's host has said, and waits for the whole.
    pub(super) async fn settle(self, verdict: Option<&Value>) -> RpcResult<AnswerResult> {
        // Nobody waits for it if the time was over meanwhile.
        let _ = self.theirs.send(verdict.map_or(Value::Null, to_reply));
        self.said
            .await
            .map_err(|_| RpcError::internal("judging the event was cut off"))
    }
}

/// What of a verdict counts as a hook's reply.
fn to_reply(verdict: &Value) -> Value {
    let mut reply = Map::new();
    let decision = verdict["decision"].as_str();
    if let Some(decision @ ("deny" | "ask")) = decision {
        reply.insert("decision".into(), decision.into());
        let reason = verdict["reason"].as_str();
        reply.insert("reason".into(), reason.unwrap_or_default().into());
    }
    for name in ["subject", "stop", "userMessages", "additionalContext"] {
        if let Some(value) = verdict.get(name) {
            reply.insert(name.into(), value.clone());
        }
    }
    if let Some(Value::Object(context)) = verdict.get("context") {
        let mut context = context.clone();
        // A call is rewritten by `subject` alone, because that is judged again.
        context.remove("tool");
        reply.insert("context".into(), context.into());
    }
    Value::Object(reply)
}

impl UsersHost {
    /// One for an event, and where it is told when the engine asks.
    pub(super) fn new(host: Arc<Host>) -> (Arc<UsersHost>, oneshot::Receiver<Asked>) {
        let (asks, asked) = oneshot::channel();
        let own = UsersHost {
            host,
            asks: Mutex::new(Some(asks)),
            has_rewritten: Arc::default(),
        };
        (Arc::new(own), asked)
    }

    /// The hooks that stand for it. They live as long as it does.
    ///
    /// # Errors
    /// They can't be compiled: a bug.
    pub(super) fn to_hooks(self: &Arc<Self>) -> RpcResult<Arc<HookSet>> {
        let definitions = json!({ "hooks": [
            { "name": "your-hooks", "on": "*", "fail": "open", "callback": ASK },
            { "name": "your-rewrite", "on": "*", "fail": "closed", "priority": 101, "callback": AGAIN },
        ]});
        let client: Arc<dyn Client> = self.clone();
        let (root, lines) = (Node::from_json(&definitions), LineIndex::new(""));
        let origin = Origin {
            client: Some(&client),
            ..Origin::new("session", self.host.root(), Layer::Session, &|_| {
                Err("it isn't read here".into())
            })
        };
        let compiled = compile(&root, &origin, &lines);
        let hooks: Vec<_> = compiled
            .hooks
            .into_iter()
            .filter_map(|hook| hook.hook)
            .collect();
        match hooks.len() {
            2 => Ok(Arc::new(HookSet::new(hooks, 0, "".into(), Vec::new()))),
            _ => Err(RpcError::internal("the hooks of a user can't be compiled")),
        }
    }

    /// What the user's host says of an event, once somebody has asked it.
    fn ask(&self, event: Value) -> Reply {
        // A call may have several moments, of which the first is the event.
        let Some(asks) = self.asks.lock().take() else {
            return Box::pin(std::future::ready(Ok(Value::Null)));
        };
        let (theirs, said) = oneshot::channel();
        let has_rewritten = self.has_rewritten.clone();
        Box::pin(async move {
            let gone = || "nobody asks your own host".to_string();
            asks.send(Asked { event, theirs }).map_err(|_| gone())?;
            let reply = said.await.map_err(|_| gone())?;
            has_rewritten.store(reply.get("subject").is_some(), Ordering::Relaxed);
            Ok(reply)
        })
    }

    /// What the machine's hooks say of an event as the user's host has made it.
    fn judge_again(&self, event: Value) -> Reply {
        if !self.has_rewritten.load(Ordering::Relaxed) {
            return Box::pin(std::future::ready(Ok(Value::Null)));
        }
        let host = self.host.clone();
        Box::pin(async move {
            let event = Event::from_json(event).map_err(|error| error.to_string())?;
            let hooks = HooksInForce {
                files: host.hooks(),
                session: None,
            };
            let files = hooks.files.clone();
            let trial = Box::pin(host.engine.try_event(hooks, dialects::native(), &event)).await;
            let may_decide = |name: &&Arc<str>| {
                let mut all = files.hooks.iter();
                all.any(|hook| hook.name == **name && !hook.observe && !hook.detached)
            };
            let unsaid = trial.left_out().chain(trial.cut_off()).find(may_decide);
            if let Some(name) = unsaid {
                let reason = format!(
                    "your own hooks have rewritten this, and `{name}` of the machine can't judge it twice"
                );
                return Ok(json!({ "decision": "deny", "reason": reason }));
            }
            let verdict = trial.verdict;
            let mut reply = Map::new();
            if matches!(verdict.decision, Decision::Deny | Decision::Ask) {
                reply.insert("decision".into(), verdict.decision.as_str().into());
                reply.insert("reason".into(), verdict.reason.unwrap_or_default().into());
            }
            reply.extend(verdict.subject.map(|subject| ("subject".into(), subject)));
            Ok(Value::Object(reply))
        })
    }
}

impl Client for UsersHost {
    fn request(&self, method: &'static str, mut params: Value) -> Reply {
        let event = params["event"].take();
        match (method, params["callback"].as_str()) {
            (INVOKE, Some(ASK)) => self.ask(event),
            (INVOKE, Some(AGAIN)) => self.judge_again(event),
            _ => Box::pin(std::future::ready(Err("nobody is asked here".into()))),
        }
    }

    fn notify(&self, _: &'static str, _: &Value) {}

    fn answers(&self) -> Answers {
        Answers::default()
    }
}
