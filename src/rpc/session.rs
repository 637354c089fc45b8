//! What one connection is to the host: its capabilities, its registered hooks, its requests in
//! flight, and the way to call the client.

use super::error::{RpcError, RpcResult};
use super::guarded::Asker;
use super::in_flight::InFlight;
use super::outgoing::{NotificationKind, RequestKind};
use super::protocol::{Honour, HookCapabilities, Trace};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use hookwire_ask::peer::Peer;
use hookwire_base::transport::outbox::Outbox;
use hookwire_dialects::{self as dialects, Dialect};
use hookwire_engine::engine::HooksInForce;
use hookwire_engine::hook_set::HookSet;
use hookwire_engine::host::Host;
use hookwire_engine::journal::{News, clipped};
use hookwire_engine::starts::NamedPrograms;
use hookwire_handlers::handlers::Means;
use hookwire_handlers::services::client::{Answers, Client, Reply};
use hookwire_handlers::services::state::Store;
use hookwire_lsp as lsp;
use hookwire_rules::contract::Honours;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;

/// See the module.
pub struct Session {
    /// The host.
    pub host: Arc<Host>,
    /// The way to the client.
    pub outbox: Outbox,
    /// Where tasks run.
    pub runtime: tokio::runtime::Handle,
    /// Cancelled when the time of all events is over, because the connection ends.
    pub early_deadline: CancellationToken,
    pub(super) in_flight: Arc<InFlight>,
    settings: Mutex<Settings>,
    /// A [`Trace`], which each request asks for.
    trace: AtomicU8,
    /// The client's name, if it has said it.
    client: Arc<OnceLock<Arc<str>>>,
    registered: Mutex<Registered>,
    changing: Mutex<Changing>,
    /// What the client was asked; `None` when no answer can come any more.
    pending: Mutex<Option<HashMap<u64, Waiter>>>,
    next_id: AtomicU64,
    initialized: AtomicBool,
    /// It is told of the programs that definitions name.
    tells_named: AtomicBool,
    shut_down: AtomicBool,
    /// Cancelled when the client can't be told anything any more.
    ended: CancellationToken,
    /// The language server, if the client is an editor.
    editor: OnceLock<Arc<lsp::Server>>,
    this: Weak<Session>,
    side: Side,
}

/// Which way a connection came.
#[derive(Clone, Debug)]
pub enum Side {
    /// From the program that started the host: over stdin and stdout.
    Parent,
    /// From another program of the same user, over the host's socket or a WebSocket.
    Guest(Peer),
    /// The same for one message only, over HTTP: the client takes the reply and can't be asked or
    /// told anything.
    Caller,
    /// The same from any user of the machine, over the socket that is there for all of them.
    Asker(Asker),
}

impl Side {
    /// Whether the client takes replies alone.
    fn takes_replies_only(&self) -> bool {
        matches!(self, Side::Caller | Side::Asker(_))
    }
}

/// Changes of the definitions that were read and aren't done yet. They are made one after the
/// other, beside the reader, in the order in which they were read.
#[derive(Default)]
struct Changing {
    /// How many there were.
    count: u64,
    last: Option<Change>,
}

/// Gives the hooks that are in force after a change; nothing if it panicked.
type Change = Shared<BoxFuture<'static, Option<HooksInForce>>>;

type Waiter = oneshot::Sender<Result<Value, String>>;

#[derive(Clone, Copy)]
struct Settings {
    /// What the client has said of itself.
    declared: Option<Honours>,
    dialect: &'static Dialect,
    answers: Answers,
}

/// Hooks that came over the wire, in the order of registration.
#[derive(Default)]
pub struct Registered {
    /// All of them.
    pub hooks: Vec<Arc<hookwire_engine::hook::Hook>>,
    /// The set in force; `None` before the first registration.
    pub set: Option<Arc<HookSet>>,
}

const NO_ANSWER: &str = "the connection has ended";
/// How long a client that is behind with reading is left alone.
const CLIENT_READS: Duration = Duration::from_millis(50);

impl Session {
    /// A new connection.
    pub fn new(
        host: Arc<Host>,
        outbox: Outbox,
        runtime: tokio::runtime::Handle,
        side: Side,
    ) -> Arc<Session> {
        let is_told = !side.takes_replies_only();
        let client = Arc::default();
        if is_told {
            let mut clients = host.clients.lock();
            clients.retain(|client| client.strong_count() > 0);
            clients.push(Arc::downgrade(&client));
        }
        Arc::new_cyclic(|this| Session {
            host,
            outbox,
            runtime,
            early_deadline: CancellationToken::new(),
            in_flight: Arc::default(),
            client,
            settings: Mutex::new(Settings {
                declared: None,
                dialect: dialects::native(),
                answers: Answers::default(),
            }),
            trace: AtomicU8::new(Trace::Off as u8),
            registered: Mutex::default(),
            changing: Mutex::default(),
            pending: Mutex::new(is_told.then(HashMap::new)),
            next_id: AtomicU64::new(1),
            initialized: AtomicBool::new(false),
            tells_named: AtomicBool::new(false),
            shut_down: AtomicBool::new(false),
            ended: CancellationToken::new(),
            editor: OnceLock::new(),
            this: this.clone(),
            side,
        })
    }

    /// Takes the client's capabilities, and says what follows from them that can hardly be meant.
    ///
    /// # Errors
    /// An unknown dialect, or a second `initialize`.
    pub fn initialize(
        &self,
        capabilities: Option<HookCapabilities>,
    ) -> Result<Vec<String>, RpcError> {
        let mut capabilities = capabilities.unwrap_or_default();
        if self.side.takes_replies_only() {
            (capabilities.requests, capabilities.notifications) = (Vec::new(), Vec::new());
        }
        let dialect =
            dialects::by_name(capabilities.dialect.as_deref().unwrap_or(dialects::NATIVE))
                .map_err(|error| RpcError::params(format!("`dialect`: {error}")))?;
        if self.initialized.swap(true, Ordering::Relaxed) {
            return Err(RpcError::request(
                "`initialize` comes once in a connection; what the first one said holds",
            ));
        }
        let mut settings = self.settings.lock();
        settings.declared = capabilities.decisions.map(|declared| {
            let can = |honour| declared.contains(&honour);
            let rewrite = can(Honour::Rewrite);
            Honours {
                ask: can(Honour::Ask),
                defer: can(Honour::Defer),
                rewrite,
                withhold: true,
            }
        });
        let takes_no_rewrite = settings.declared.is_some_and(|declared| !declared.rewrite);
        settings.dialect = dialect;
        let asked = |request| capabilities.requests.contains(&request);
        settings.answers = Answers {
            approvals: asked(RequestKind::Approve),
            models: asked(RequestKind::Complete),
        };
        drop(settings);
        self.forward_notifications(&capabilities.notifications);
        let remark = "`decisions` has no `rewrite`: what hooks rewrite will be denied";
        let remarks: Vec<_> = takes_no_rewrite
            .then(|| remark.to_string())
            .into_iter()
            .collect();
        remarks.iter().for_each(|remark| tracing::warn!("{remark}"));
        Ok(remarks)
    }

    /// Makes a language server for this connection.
    ///
    /// # Errors
    /// The params are not those of LSP, or the client is only a guest.
    pub fn language_server(&self, params: &Value) -> Result<Arc<lsp::Server>, RpcError> {
        if !matches!(self.side, Side::Parent) {
            return Err(RpcError::request(
                "over the shared socket there is no language server",
            ));
        }
        let client = self
            .as_client()
            .ok_or_else(|| RpcError::request("the connection has ended"))?;
        lsp::Server::new(&self.host, &client, params).map_err(RpcError::params)
    }

    /// Serves an editor from now on. Unless the editor is an agent too, the host removes its
    /// socket: programs that look for the project's hosts want those of agents.
    pub fn serve_editor(&self, server: Arc<lsp::Server>, is_agent: bool) {
        if let Some(socket) = self.host.engine.services.socket.get().filter(|_| !is_agent) {
            let _ = std::fs::remove_file(socket);
        }
        let _ = self.editor.set(server);
    }

    /// The client has the reply to `initialize`: before that, nothing may be sent to an editor.
    pub(super) fn initialized(&self) {
        if let Some(server) = self.editor.get() {
            let _guard = self.runtime.enter();
            server.start_tasks(&self.ended);
        }
    }

    /// The language server.
    ///
    /// # Errors
    /// The client is no editor.
    pub fn editor(&self) -> Result<&Arc<lsp::Server>, RpcError> {
        self.editor.get().ok_or_else(|| {
            RpcError::request("`initialize` with `capabilities.textDocument` comes first")
        })
    }

    /// What the client can honour, as far as it has said so.
    pub fn declared(&self) -> Option<Honours> {
        self.settings.lock().declared
    }

    /// The client's name, if it has said it.
    pub fn client(&self) -> Option<Arc<str>> {
        self.client.get().cloned()
    }

    /// Remembers who the client is, for people who watch.
    pub fn name_client(&self, name: &str) {
        if !name.is_empty() {
            // What the first `initialize` said holds.
            let _ = self.client.set(clipped(&name.into()));
        }
    }

    /// The names of the host's other clients; empty for one that hasn't said it.
    pub(super) fn others(&self) -> Vec<Arc<str>> {
        let clients = self.host.clients.lock();
        let others = clients
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|it| !Arc::ptr_eq(it, &self.client));
        others
            .map(|others| others.get().cloned().unwrap_or_default())
            .collect()
    }

    /// Which way the connection came.
    pub(super) fn side(&self) -> &Side {
        &self.side
    }

    /// The user who asks, where every user of the machine may.
    pub(super) fn asker(&self) -> Option<&Asker> {
        match &self.side {
            Side::Asker(asker) => Some(asker),
            Side::Parent | Side::Guest(_) | Side::Caller => None,
        }
    }

    /// Whether it is from a program that `hookwire run` holds, or may hold.
    pub(super) fn is_from_held(&self) -> bool {
        matches!(&self.side, Side::Guest(peer) if peer.is_held())
    }

    /// The client's vocabulary.
    pub fn dialect(&self) -> &'static Dialect {
        self.settings.lock().dialect
    }

    /// How much of the traffic is logged.
    pub fn trace(&self) -> Trace {
        let trace = self.trace.load(Ordering::Relaxed);
        [Trace::Off, Trace::Messages]
            .into_iter()
            .find(|it| *it as u8 == trace)
            .unwrap_or(Trace::Verbose)
    }

    /// Sets how much of the traffic is logged.
    pub fn set_trace(&self, trace: Trace) {
        self.trace.store(trace as u8, Ordering::Relaxed);
    }

    /// After `shutdown` only `exit` is served.
    pub fn shut_down(&self) {
        self.shut_down.store(true, Ordering::Relaxed);
    }

    /// Whether `shutdown` was asked for.
    pub fn is_shut_down(&self) -> bool {
        self.shut_down.load(Ordering::Relaxed)
    }

    /// The connection's registered hooks.
    pub fn registered(&self) -> MutexGuard<'_, Registered> {
        self.registered.lock()
    }

    pub(super) fn hooks_in_force(&self) -> HooksInForce {
        HooksInForce {
            files: self.host.hooks(),
            session: self.registered().set.clone(),
        }
    }

    /// The hooks that judge what is read now: those after the last change that was read before it.
    /// The first poll decides which that is.
    pub(super) async fn hooks_when_read(&self) -> HooksInForce {
        let change = self.changing.lock().last.clone();
        let changed = match change {
            Some(change) => change.await,
            None => None,
        };
        changed.unwrap_or_else(|| self.hooks_in_force())
    }

    /// Whether every change that was read is done.
    pub(super) fn is_settled(&self) -> bool {
        self.changing.lock().last.is_none()
    }

    /// Changes the definitions beside the reader, after the changes that were read before.
    ///
    /// # Errors
    /// The connection has ended, or the work panicked.
    pub(super) async fn change_definitions<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Session) -> RpcResult<T> + Send + 'static,
    ) -> RpcResult<T> {
        let cut_off = || RpcError::internal("the work was cut off");
        let session = self.this.upgrade().ok_or_else(cut_off)?;
        let (reply, result) = oneshot::channel();
        let (done, hooks) = oneshot::channel();
        let (before, ticket) = {
            let mut changing = self.changing.lock();
            changing.count += 1;
            let change = hooks.map(Result::ok).boxed().shared();
            (changing.last.replace(change), changing.count)
        };
        self.runtime.spawn(async move {
            if let Some(before) = before {
                before.await;
            }
            let worked = tokio::task::spawn_blocking(move || {
                // What was cancelled before it began isn't done.
                let result = if reply.is_closed() {
                    None
                } else {
                    Some(work(&session))
                };
                let hooks = session.hooks_in_force();
                let mut changing = session.changing.lock();
                if changing.count == ticket {
                    changing.last = None;
                }
                // An error means that nobody waits for it.
                let _ = done.send(hooks);
                result.map(|result| reply.send(result))
            });
            // If it panicked, whoever waits is told by the end of the channels.
            let _ = worked.await;
        });
        result.await.map_err(|_| cut_off())?
    }

    /// What the host and this client can do for hooks.
    pub(super) fn means(&self) -> Means {
        Means {
            client_has_model: self.settings.lock().answers.models,
            ..self.host.options.means()
        }
    }

    /// The shared store.
    pub fn state(&self) -> &Store {
        &self.host.engine.services.state
    }

    /// Checks that the connection may register these hooks: a guest only callbacks, because they
    /// run nothing on this side. Checked after compiling, because another system's form may hide a
    /// handler.
    ///
    /// # Errors
    /// It may not.
    pub(super) fn may_register(
        &self,
        hooks: &[Arc<hookwire_engine::hook::Hook>],
    ) -> Result<(), RpcError> {
        match self.side {
            Side::Parent => Ok(()),
            Side::Guest(_) if hooks.iter().all(|hook| hook.handler.key() == "callback") => Ok(()),
            Side::Guest(_) => Err(RpcError::request(
                "over the shared socket only callbacks can be registered",
            )),
            Side::Caller | Side::Asker(_) => Err(RpcError::request(
                "hooks are registered over a connection that stays; this one ends with its reply",
            )),
        }
    }

    /// The way to call the client, for callbacks, if it can be called.
    pub fn as_client(&self) -> Option<Arc<dyn Client>> {
        let session = self.this.upgrade()?;
        Some(session)
    }

    /// Calls the client. Dropping the future tells it that the answer is no longer wanted.
    pub async fn call_client(&self, method: &str, params: Value) -> Result<Value, String> {
        struct Guard<'a>(&'a Session, u64);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                if self.0.take_waiter(self.1).is_some() {
                    Client::notify(self.0, "$/cancelRequest", &json!({ "id": self.1 }));
                }
            }
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, reply) = oneshot::channel();
        self.pending
            .lock()
            .as_mut()
            .ok_or(NO_ANSWER)?
            .insert(id, sender);
        let _guard = Guard(self, id);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.outbox.send(message.to_string().as_bytes());
        reply.await.unwrap_or_else(|_| Err(NO_ANSWER.into()))
    }

    /// Takes the client's reply to one of our requests.
    pub fn take_reply(&self, id: &str, reply: Result<Value, String>) {
        match id.parse().ok().and_then(|id| self.take_waiter(id)) {
            // The waiter may have just gone away.
            Some(waiting) => drop(waiting.send(reply)),
            None => tracing::debug!(id, "A reply to nothing that was asked."),
        }
    }

    /// No answer of the client can come any more: everything that waits for one gets an error. Says
    /// whether this is the first call.
    pub fn hang_up(&self) -> bool {
        self.ended.cancel();
        self.pending.lock().take().is_some()
    }

    fn take_waiter(&self, id: u64) -> Option<Waiter> {
        self.pending.lock().as_mut()?.remove(&id)
    }

    /// Sends the notifications that the client wants. Under load some of them are dropped, but no
    /// reply.
    fn forward_notifications(&self, wanted: &[NotificationKind]) {
        let wants = |kind| wanted.contains(&kind);
        let message = |kind: NotificationKind, params: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"{}","params":{params}}}"#,
                kind.method()
            )
        };
        if wants(NotificationKind::Changed) {
            self.relay_channel(self.host.changes(), move |change| {
                let params = serde_json::to_string(&change).ok();
                params
                    .map(|params| message(NotificationKind::Changed, &params))
                    .into_iter()
                    .collect()
            });
        }
        let (executed, failed) = (
            wants(NotificationKind::Executed),
            wants(NotificationKind::Failed),
        );
        if executed || failed {
            self.relay_channel(self.host.engine.reports(), move |report| {
                let Ok(params) = serde_json::to_string(&report) else {
                    return Vec::new();
                };
                let failed = failed && report.outcome.error.is_some();
                let kinds = [
                    (NotificationKind::Executed, executed),
                    (NotificationKind::Failed, failed),
                ];
                kinds
                    .into_iter()
                    .filter(|(_, wanted)| *wanted)
                    .map(|(kind, _)| message(kind, &params))
                    .collect()
            });
        }
        let judged = wants(NotificationKind::Judged);
        if judged || wants(NotificationKind::Ended) {
            self.relay_journal(move |news| {
                let records = news
                    .judged
                    .into_iter()
                    .filter(move |_| judged)
                    .filter_map(|entry| {
                        Some((
                            NotificationKind::Judged,
                            serde_json::to_string(&entry.record()?).ok()?,
                        ))
                    });
                let ends = news.ended.into_iter();
                let ends = ends.filter_map(|end| {
                    Some((NotificationKind::Ended, serde_json::to_string(&*end).ok()?))
                });
                records
                    .chain(ends)
                    .map(move |(kind, params)| message(kind, &params))
            });
        }
        if wants(NotificationKind::Questions) {
            self.relay_questions(move |params| message(NotificationKind::Questions, params));
        }
    }

    /// Sends that other questions wait. None of these notices may be lost, because nobody asks
    /// again without one.
    fn relay_questions(&self, message: impl Fn(&str) -> String + Send + 'static) {
        let (outbox, ended) = (self.outbox.clone(), self.ended.clone());
        let mut questions = self.host.engine.services.approvals.changes();
        self.runtime.spawn(async move {
            while let Some(Ok(())) = ended.run_until_cancelled(questions.changed()).await {
                let told = json!(*questions.borrow_and_update()).to_string();
                if !deliver_message(&outbox, &ended, message(&told).as_bytes()).await {
                    return;
                }
            }
        });
    }

    /// Tells the client of the programs that the definitions in force name, each time that these
    /// are others.
    pub(super) fn tell_named(&self) {
        if self.tells_named.swap(true, Ordering::Relaxed) {
            return;
        }
        let (host, outbox, ended) = (self.host.clone(), self.outbox.clone(), self.ended.clone());
        let mut changes = self.host.changes();
        self.runtime.spawn(async move {
            while let Some(Some(_)) = ended.run_until_cancelled(next(&mut changes)).await {
                let named = json!(NamedPrograms::of(&host.published().hooks));
                let told = json!({ "jsonrpc": "2.0", "method": NotificationKind::Named.method(), "params": named });
                // None may be lost: what isn't named isn't asked about.
                if !deliver_message(&outbox, &ended, told.to_string().as_bytes()).await {
                    return;
                }
            }
        });
    }

    /// Sends what is written in the journal. A client that doesn't read is waited for; what the
    /// journal loses meanwhile shows in the sequence numbers.
    fn relay_journal<M: Iterator<Item = String> + Send>(
        &self,
        messages: impl Fn(News) -> M + Send + 'static,
    ) {
        let (journal, outbox, ended) = (
            self.host.journal.clone(),
            self.outbox.clone(),
            self.ended.clone(),
        );
        let mut follower = journal.follow();
        self.runtime.spawn(async move {
            while let Some(Some(news)) = ended.run_until_cancelled(follower.next(&journal)).await {
                for message in messages(news) {
                    if !deliver_message(&outbox, &ended, message.as_bytes()).await {
                        return;
                    }
                }
            }
        });
    }

    /// Sends what `messages` makes of each item of a channel, until the connection ends.
    fn relay_channel<T: Clone + Send + 'static>(
        &self,
        mut channel: broadcast::Receiver<T>,
        messages: impl Fn(T) -> Vec<String> + Send + 'static,
    ) {
        let (outbox, ended) = (self.outbox.clone(), self.ended.clone());
        self.runtime.spawn(async move {
            while let Some(Some(news)) = ended.run_until_cancelled(next(&mut channel)).await {
                for message in messages(news) {
                    outbox.offer(message.as_bytes());
                }
            }
        });
    }
}

/// Sends a message that may not be lost: a client that is behind with reading is waited for. Says
/// whether it was sent before the connection ended.
async fn deliver_message(outbox: &Outbox, ended: &CancellationToken, message: &[u8]) -> bool {
    while !outbox.offer(message) {
        if ended
            .run_until_cancelled(tokio::time::sleep(CLIENT_READS))
            .await
            .is_none()
        {
            return false;
        }
    }
    true
}

/// The next message of a channel, whatever was lost before it.
async fn next<T: Clone>(channel: &mut broadcast::Receiver<T>) -> Option<T> {
    use broadcast::error::RecvError;
    loop {
        match channel.recv().await {
            Ok(message) => return Some(message),
            Err(RecvError::Lagged(lost)) => {
                tracing::debug!(lost, "Notifications were dropped under load.")
            }
            Err(RecvError::Closed) => return None,
        }
    }
}

impl Client for Session {
    fn request(&self, method: &'static str, params: Value) -> Reply {
        let session = self.this.upgrade();
        Box::pin(async move {
            session
                .ok_or("the client is gone")?
                .call_client(method, params)
                .await
        })
    }

    fn notify(&self, method: &'static str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.outbox.send(message.to_string().as_bytes());
    }

    fn answers(&self) -> Answers {
        self.settings.lock().answers
    }
}
