//! The connection to the servers: who connects, which servers are recent enough, what a failure
//! means.
//!
//! Everything waits for a bounded time. A server says of a publication or request that isn't
//! permitted only in an asynchronous message, and the request itself times out; [`Server`] joins
//! the two, so that the error says the reason.

use crate::login::{self, Login};
use crate::name::Name;
use async_nats::connection::State;
use async_nats::header::NATS_LAST_SEQUENCE;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::context::{ContextBuilder, PublishErrorKind};
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::stream::{DirectGetErrorKind, Stream};
use async_nats::jetstream::{Context, ErrorCode};
use async_nats::{
    Client, ConnectErrorKind, ConnectOptions, Event, HeaderMap, Message, Request, RequestErrorKind,
    ServerAddr, ServerError as Complaint, StatusCode,
};
use bytes::Bytes;
use futures_util::StreamExt;
use hookwire_ask::file;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

/// The oldest server that is spoken to: those before it let clients pass permissions.
pub const OLDEST: [u64; 3] = [2, 12, 7];

/// How long a single exchange with a server may take where the caller says nothing else. A stream
/// whose leader has died answers again after 4 to 6 seconds.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How long the longest wait between two attempts to connect again is.
const MAX_DELAY: Duration = Duration::from_secs(4);
/// The most messages of a page, and about how many bytes: below what a subscription holds before it
/// loses messages.
pub const MAX_PAGE: usize = 256;
const MAX_PAGE_BYTES: usize = 8 << 20;
/// How many of the server's last complaints are remembered, and for how long one may explain a
/// time-out.
const MAX_COMPLAINTS: usize = 32;

/// Which servers, and as whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// `nats://HOST:PORT`, or `tls://HOST:PORT`; several of one cluster.
    pub servers: Vec<String>,
    /// The name that this machine has on the bus; else `user`, else the machine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Name>,
    /// The account's user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// A file with the user's password and nothing else, for its owner alone to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    /// A `.creds` file with a user's JWT and NKEY seed, instead of a user with a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// A file with a user's NKEY seed and nothing else, instead of a user with a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nkey_file: Option<PathBuf>,
    /// How TLS is spoken.
    #[serde(default)]
    pub tls: Tls,
}

/// How TLS is spoken. Without any of it, the system's certificates count, and TLS is spoken if the
/// server asks for it or the URL says `tls://`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tls {
    /// Certificates of authorities that count instead of the system's, PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// This client's certificate, PEM: a server with `verify_and_map` knows the account by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// The certificate's private key, PEM, for its owner alone to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// Speak TLS before the server has said anything (`handshake_first`).
    #[serde(default)]
    pub first: bool,
}

impl Settings {
    /// Those of `nats://HOST[,HOST]`, without a password and TLS of its own.
    ///
    /// # Errors
    /// It is no such list, or it has a password in it.
    pub fn from_urls(text: &str) -> Result<Settings, ServerError> {
        let scheme = text.split_once("://").map_or("nats", |(scheme, _)| scheme);
        let settings = Settings {
            servers: text
                .split(',')
                .map(|address| {
                    if address.contains("://") {
                        address.to_string()
                    } else {
                        format!("{scheme}://{address}")
                    }
                })
                .collect(),
            ..Settings::default()
        };
        settings.addresses()?;
        Ok(settings)
    }

    /// The name that this machine has on the bus.
    ///
    /// # Errors
    /// Neither the settings nor the machine have one that can stand in a subject.
    pub fn host_name(&self) -> Result<Name, ServerError> {
        match (&self.host, &self.user) {
            (Some(host), _) => Ok(host.clone()),
            (None, Some(user)) => user
                .parse()
                .map_err(|error| ServerError::Settings(format!("{error}; set `host`"))),
            (None, None) => Ok(Name::nearest(&machine_name())),
        }
    }

    fn addresses(&self) -> Result<Vec<ServerAddr>, ServerError> {
        if self.servers.is_empty() {
            return Err(ServerError::Settings(
                "no server is named; write servers = [\"nats://HOST:4222\"]".into(),
            ));
        }
        self.servers.iter().map(|text| {
            // The text itself isn't told: it may hold a password.
            let address: ServerAddr = text
                .parse()
                .map_err(|error| ServerError::Settings(format!("a server's URL: {error}")))?;
            if address.has_user_pass() || address.password().is_some() {
                let host = address.host();
                return Err(ServerError::Settings(format!(
                    "the URL of {host} has a user or password in it, which others can read in logs and process lists; \
                     write user and passwordFile in a settings file and name that"
                )));
            }
            if address.host().is_empty() || !["nats", "tls"].contains(&address.scheme()) {
                return Err(ServerError::Settings(format!(
                    "{text:?}: write nats://HOST:PORT or tls://HOST:PORT"
                )));
            }
            Ok(address)
        }).collect()
    }

    fn options(&self) -> Result<ConnectOptions, ServerError> {
        let host = self.host_name()?;
        let login = Login {
            user: self.user.as_deref(),
            password_file: self.password_file.as_deref(),
            credentials: self.credentials.as_deref(),
            nkey_file: self.nkey_file.as_deref(),
            has_certificate: self.tls.certificate.is_some(),
        };
        let mut options = login
            .options()
            .map_err(ServerError::Settings)?
            .name(format!("hookwire {host}"))
            // `_INBOX.>` would read everybody's replies.
            .custom_inbox_prefix(inbox_prefix(&host))
            .request_timeout(Some(PATIENCE))
            // A network that drops everything is noticed by the third ping without an answer. Until
            // then gates fail.
            .ping_interval(Duration::from_secs(10))
            .reconnect_delay_callback(reconnect_delay)
            .subscription_capacity(1024);
        let Tls {
            ca,
            certificate,
            key,
            first,
        } = &self.tls;
        if let Some(ca) = ca {
            options = options.add_root_certificates(ca.clone()).require_tls(true);
        }
        match (certificate, key) {
            (Some(certificate), Some(key)) => {
                check_private(key)?;
                options = options
                    .add_client_certificate(certificate.clone(), key.clone())
                    .require_tls(true);
            }
            (None, None) => {}
            _ => {
                return Err(ServerError::Settings(
                    "tls.certificate and tls.key belong together".into(),
                ));
            }
        }
        Ok(if *first { options.tls_first() } else { options })
    }
}

/// The subjects that replies to a host come by: `_INBOX.HOST`, which the account may subscribe to
/// below.
pub fn inbox_prefix(host: &Name) -> String {
    format!("_INBOX.{host}")
}

/// With jitter, so that the hosts of a server that starts again don't all come at once.
fn reconnect_delay(attempts: usize) -> Duration {
    let doubled = 1u64 << attempts.min(6);
    let most = Duration::from_millis(100 * doubled).min(MAX_DELAY);
    most.mul_f64(0.5 + jitter() / 2.0)
}

/// A number between 0 and 1 to spread what hosts do at once. It needn't be hard to guess.
pub(crate) fn jitter() -> f64 {
    let mut bytes = [0; 4];
    let random = ring::rand::SystemRandom::new();
    match ring::rand::SecureRandom::fill(&random, &mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}

fn machine_name() -> String {
    let read = |path: &str| {
        file::read_text(Path::new(path), 256)
            .ok()
            .map(|it| it.trim().to_string())
            .filter(|it| !it.is_empty())
    };
    read("/proc/sys/kernel/hostname")
        .or_else(|| read("/etc/hostname"))
        .unwrap_or_else(|| "unnamed".into())
}

/// Refuses a file with a secret that others can read. A file of root's may be for a group to read:
/// so a machine's owner gives it to the users whose hosts join.
///
/// # Errors
/// Others can read or write it, or it can't be looked at.
pub fn check_private(path: &Path) -> Result<(), ServerError> {
    login::check_private(path).map_err(ServerError::Settings)
}

/// A limit that a message would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// How many messages the stream keeps of one subject.
    Subject,
    /// How many messages or bytes the stream keeps in all.
    Stream,
    /// How large a message may be.
    Message,
}

/// What went wrong with a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// The settings can't be used.
    #[error("{0}")]
    Settings(String),
    /// No server was reached, or the connection is away at the moment.
    #[error("no server is reached at {servers}: {reason}")]
    Away {
        /// As they are set.
        servers: String,
        /// The last reason.
        reason: String,
    },
    /// The server is older than [`OLDEST`].
    #[error(
        "the server at {servers} is {version}, which lets clients pass its permissions; use nats-server 2.12.7 or newer"
    )]
    TooOld {
        /// As they are set.
        servers: String,
        /// What the server says.
        version: String,
    },
    /// The account may not do this.
    #[error("the server doesn't permit that: {0}")]
    NotPermitted(String),
    /// A stream isn't there, or has no leader at the moment.
    #[error(
        "{0} isn't there, or has no leader at the moment; an administrator makes it by `hookwire fleet init`"
    )]
    NoStream(String),
    /// Something else was written there since it was read.
    #[error("{0} was changed by somebody else meanwhile")]
    Conflict(String),
    /// The stream takes no more: the limit of a subject or of the stream is reached.
    #[error("{subject} takes no more: {reason}")]
    Full {
        /// The subject.
        subject: String,
        /// The limit that is reached.
        limit: Limit,
        /// The server's words.
        reason: String,
    },
    /// No answer in time. Whether it was stored isn't known.
    #[error("no answer about {0} in time")]
    TimedOut(String),
    /// Something else.
    #[error("{0}")]
    Other(String),
}

/// How the connection is at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// It was never there, or is away.
    Away(String),
    /// It is there. Each connection has another number.
    Up(u64),
}

/// A connection to the servers. Clones are of the same connection.
#[derive(Clone)]
pub struct Server {
    client: Client,
    jetstream: Context,
    host: Name,
    servers: Arc<str>,
    told: Arc<Told>,
    link: watch::Receiver<Link>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("host", &self.host)
            .field("link", &*self.link.borrow())
            .finish_non_exhaustive()
    }
}

/// What the server has said beside its answers.
#[derive(Default)]
struct Told {
    complaints: Mutex<VecDeque<(Instant, String)>>,
    losses: Mutex<Pace>,
    logged: Mutex<Pace>,
}

/// So much is logged of complaints, and of messages that are lost, in so long: whoever may flood a
/// host must not fill its log.
const LOGGED: (u32, Duration) = (10, Duration::from_secs(60));

/// How much was logged lately.
#[derive(Default)]
struct Pace {
    since: Option<Instant>,
    times: u32,
}

impl Pace {
    /// Whether one more may be logged. Before the last one, the log says that others are left out.
    fn may_log(pace: &Mutex<Pace>) -> bool {
        let (most, window) = LOGGED;
        let mut pace = pace.lock().unwrap_or_else(PoisonError::into_inner);
        if pace.since.is_none_or(|it| it.elapsed() >= window) {
            *pace = Pace {
                since: Some(Instant::now()),
                times: 0,
            };
        }
        pace.times = pace.times.saturating_add(1);
        if pace.times == most {
            tracing::warn!("More of the following is left out for a minute.");
        }
        pace.times <= most
    }
}

impl Told {
    fn complaints(&self) -> MutexGuard<'_, VecDeque<(Instant, String)>> {
        self.complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn add_complaint(&self, complaint: String) {
        let mut complaints = self.complaints();
        if complaints.len() == MAX_COMPLAINTS {
            complaints.pop_front();
        }
        complaints.push_back((Instant::now(), complaint));
    }

    /// What was said about a subject since then.
    fn complaint_about(&self, subject: &str, since: Instant) -> Option<String> {
        let complaints = self.complaints();
        complaints
            .iter()
            .rev()
            .find(|(at, complaint)| *at >= since && complaint.contains(subject))
            .map(|(_, complaint)| complaint.clone())
    }
}

/// What a connection's events leave.
struct Heard {
    told: Arc<Told>,
    link: watch::Receiver<Link>,
}

impl Heard {
    /// Listens to the events of a connection with these options.
    fn listen(options: ConnectOptions) -> (ConnectOptions, Heard) {
        let told = Arc::new(Told::default());
        let (becomes, link) = watch::channel(Link::Away("not connected yet".into()));
        let (keeps, becomes) = (told.clone(), Arc::new(becomes));
        let options = options.event_callback(move |event| {
            let (told, link) = (keeps.clone(), becomes.clone());
            async move { note_event(&event, &told, &link) }
        });
        (options, Heard { told, link })
    }
}

impl Server {
    /// Connects, for a command that does one thing. Needs a tokio runtime.
    ///
    /// # Errors
    /// The settings can't be used, no server is reached in `wait`, it doesn't let the user in, or
    /// it is too old.
    pub async fn connect(settings: &Settings, wait: Duration) -> Result<Server, ServerError> {
        let (addresses, servers) = (settings.addresses()?, settings.servers.join(", "));
        let away = |reason: String| ServerError::Away {
            servers: servers.clone(),
            reason,
        };
        let (options, heard) = Heard::listen(settings.options()?);
        let client = match tokio::time::timeout(wait, options.connect(addresses)).await {
            Ok(connected) => connected.map_err(|error| away(reason_of(&error)))?,
            Err(_) => return Err(away("no answer in time".into())),
        };
        let server = Server::from_client(client, settings, heard)?;
        server.wait_until_ready(wait).await?;
        Ok(server)
    }

    /// Connects in the background, and again whenever the connection is lost, for a host that goes
    /// on without. Needs a tokio runtime.
    ///
    /// # Errors
    /// The settings can't be used.
    pub fn connect_in_background(settings: &Settings) -> Result<Server, ServerError> {
        let addresses = settings.addresses()?;
        let (options, heard) = Heard::listen(settings.options()?.retry_on_initial_connect());
        // So it returns without a connection, and there is nothing in it that waits.
        let client = futures_util::FutureExt::now_or_never(options.connect(addresses))
            .ok_or_else(|| ServerError::Other("the client waits for a connection".into()))?
            .map_err(|error| ServerError::Settings(reason_of(&error)))?;
        Server::from_client(client, settings, heard)
    }

    fn from_client(
        client: Client,
        settings: &Settings,
        heard: Heard,
    ) -> Result<Server, ServerError> {
        let jetstream = ContextBuilder::new()
            .timeout(PATIENCE)
            .build(client.clone());
        let Heard { told, link } = heard;
        Ok(Server {
            client,
            jetstream,
            host: settings.host_name()?,
            servers: settings.servers.join(", ").into(),
            told,
            link,
        })
    }

    /// Waits until the connection is there and may be used.
    ///
    /// # Errors
    /// It isn't in that time, or the server is too old.
    pub async fn wait_until_ready(&self, wait: Duration) -> Result<(), ServerError> {
        let mut link = self.link.clone();
        let up = async {
            loop {
                let is_up = matches!(*link.borrow_and_update(), Link::Up(_));
                if is_up && self.client.try_server_info().is_some() {
                    return;
                }
                // The news comes a moment before the server's description is there.
                let pause = if is_up {
                    Duration::from_millis(5)
                } else {
                    wait
                };
                if let Ok(Err(_)) = tokio::time::timeout(pause, link.changed()).await {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(wait, up).await;
        self.usable()
    }

    /// Whether the connection may be used at this moment.
    ///
    /// # Errors
    /// It is away, or the server is too old.
    pub fn usable(&self) -> Result<(), ServerError> {
        let servers = || self.servers.to_string();
        if let Link::Away(reason) = &*self.link.borrow() {
            return Err(ServerError::Away {
                servers: servers(),
                reason: reason.clone(),
            });
        }
        if self.client.connection_state() != State::Connected {
            return Err(ServerError::Away {
                servers: servers(),
                reason: "the connection was lost".into(),
            });
        }
        let version = self.version();
        if is_recent(&version) {
            Ok(())
        } else {
            Err(ServerError::TooOld {
                servers: servers(),
                version,
            })
        }
    }

    /// How the connection is, and each change of it.
    pub fn link(&self) -> watch::Receiver<Link> {
        self.link.clone()
    }

    /// The name of this machine on the bus.
    pub fn host(&self) -> &Name {
        &self.host
    }

    /// The servers, as they are set.
    pub fn servers(&self) -> &str {
        &self.servers
    }

    /// The version that the server says, empty without a connection so far.
    pub fn version(&self) -> String {
        self.client
            .try_server_info()
            .map(|it| it.version)
            .unwrap_or_default()
    }

    /// The largest message that the server takes, in bytes.
    pub fn max_payload(&self) -> usize {
        self.client.max_payload()
    }

    /// The client, for subscriptions.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// JetStream, with answers within `wait`.
    pub fn jetstream(&self, wait: Duration) -> Context {
        let mut jetstream = self.jetstream.clone();
        jetstream.set_timeout(wait);
        jetstream
    }

    /// A stream, without asking for its description: an account of a host may not ask.
    ///
    /// # Errors
    /// The name is none of a stream.
    pub async fn stream(&self, name: &str, wait: Duration) -> Result<Stream<()>, ServerError> {
        let stream = self.jetstream(wait).get_stream_no_info(name).await;
        stream.map_err(|error| ServerError::Other(format!("{name}: {error}")))
    }

    /// Publishes into a stream, and waits until it is stored.
    ///
    /// # Errors
    /// See [`ServerError`]. After [`ServerError::TimedOut`] it may be stored all the same: repeat
    /// it with the same message id only.
    pub async fn publish(
        &self,
        subject: &str,
        headers: HeaderMap,
        payload: Bytes,
        wait: Duration,
    ) -> Result<PublishAck, ServerError> {
        // While the connection is away, the client would keep the message and send it some time
        // later.
        self.usable()?;
        let begun = Instant::now();
        let message = PublishMessage::build().payload(payload).headers(headers);
        let sent = async {
            self.jetstream(wait)
                .send_publish(subject.to_string(), message)
                .await?
                .await
        };
        let ack = tokio::time::timeout(wait, sent).await;
        let Ok(ack) = ack else {
            return Err(self.explain_silence(subject, begun));
        };
        ack.map_err(|error| match error.kind() {
            PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => {
                self.explain_silence(subject, begun)
            }
            PublishErrorKind::StreamNotFound => {
                ServerError::NoStream(format!("the stream of {subject}"))
            }
            PublishErrorKind::WrongLastSequence | PublishErrorKind::WrongLastMessageId => {
                ServerError::Conflict(subject.into())
            }
            PublishErrorKind::MaxPayloadExceeded => ServerError::Full {
                subject: subject.into(),
                limit: Limit::Message,
                reason: "the message is larger than the server takes".into(),
            },
            PublishErrorKind::MaxAckPending | PublishErrorKind::Other => {
                refusal_error(subject, &error)
            }
        })
    }

    /// The last message of a subject, from whichever server has it. It may be older than what the
    /// leader has.
    ///
    /// # Errors
    /// See [`ServerError`].
    pub async fn last_message(
        &self,
        stream: &str,
        subject: &str,
        wait: Duration,
    ) -> Result<Option<StreamMessage>, ServerError> {
        self.usable()?;
        let begun = Instant::now();
        let stream = self.stream(stream, wait).await?;
        let got = tokio::time::timeout(wait, stream.direct_get_last_for_subject(subject)).await;
        let Ok(got) = got else {
            return Err(self.explain_silence(subject, begun));
        };
        match got {
            Ok(message) => Ok(Some(message)),
            Err(error) => match error.kind() {
                DirectGetErrorKind::NotFound => Ok(None),
                DirectGetErrorKind::TimedOut => Err(self.explain_silence(subject, begun)),
                // Nobody answers for a stream that isn't there.
                DirectGetErrorKind::ErrorResponse(StatusCode::NO_RESPONDERS, _) => {
                    Err(ServerError::NoStream(format!("the stream of {subject}")))
                }
                _ => Err(ServerError::Other(format!("{subject}: {error}"))),
            },
        }
    }

    /// Messages of a stream in their order, from a sequence on, at most [`MAX_PAGE`] of them: no
    /// consumer is made for it. A subject may have `*` and a last `>`. The next page begins behind
    /// the last message; an empty page is the end.
    ///
    /// # Errors
    /// See [`ServerError`].
    pub async fn read_page(
        &self,
        stream: &str,
        subject: &str,
        from: u64,
        wait: Duration,
    ) -> Result<Vec<StreamMessage>, ServerError> {
        self.page_of(
            stream,
            json!({ "seq": from.max(1), "next_by_subj": subject }),
            wait,
        )
        .await
    }

    /// The first page of what was stored since then.
    ///
    /// # Errors
    /// See [`ServerError`].
    pub async fn page_since(
        &self,
        stream: &str,
        subject: &str,
        since: SystemTime,
        wait: Duration,
    ) -> Result<Vec<StreamMessage>, ServerError> {
        let nanos = since
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos();
        let time = async_nats::datetime::from_nanos(i128::try_from(nanos).unwrap_or(i128::MAX));
        let time = time.map_err(|error| ServerError::Other(format!("a time: {error}")))?;
        // The client writes times as the server reads them, but only within what has one.
        let written = serde_json::to_value(DeliverPolicy::ByStartTime { start_time: time })
            .unwrap_or_default();
        let time = written.get("opt_start_time").cloned().unwrap_or_default();
        self.page_of(
            stream,
            json!({ "start_time": time, "next_by_subj": subject }),
            wait,
        )
        .await
    }

    /// The last message of all subjects that fit, which may have `*` and a last `>`.
    ///
    /// # Errors
    /// See [`ServerError`].
    pub async fn last_of(
        &self,
        stream: &str,
        subject: &str,
        wait: Duration,
    ) -> Result<Option<StreamMessage>, ServerError> {
        self.usable()?;
        let (api, begun) = (format!("$JS.API.DIRECT.GET.{stream}"), Instant::now());
        let wanted = json!({ "last_by_subj": subject }).to_string();
        let request = Request::new().payload(wanted.into()).timeout(Some(wait));
        let reply = match self.client.send_request(api.clone(), request).await {
            Ok(reply) => reply,
            Err(error) if error.kind() == RequestErrorKind::NoResponders => {
                return Err(ServerError::NoStream(stream.into()));
            }
            Err(_) => return Err(self.explain_silence(&api, begun)),
        };
        match reply.status {
            Some(StatusCode::NOT_FOUND) => Ok(None),
            Some(status) => Err(ServerError::Other(format!("{stream}: {status}"))),
            None => StreamMessage::try_from(reply)
                .map(Some)
                .map_err(|error| ServerError::Other(format!("{stream}: {error}"))),
        }
    }

    async fn page_of(
        &self,
        stream: &str,
        mut wanted: Value,
        wait: Duration,
    ) -> Result<Vec<StreamMessage>, ServerError> {
        self.usable()?;
        let begun = Instant::now();
        let api = format!("$JS.API.DIRECT.GET.{stream}");
        let other =
            |error: &dyn std::fmt::Display| ServerError::Other(format!("{stream}: {error}"));
        if let Some(wanted) = wanted.as_object_mut() {
            wanted.insert("batch".into(), MAX_PAGE.into());
            wanted.insert("max_bytes".into(), MAX_PAGE_BYTES.into());
        }
        // Whatever answers, no reader goes round in a circle, and none misses what was lost on its
        // way.
        let start = wanted
            .get("seq")
            .and_then(Value::as_u64)
            .map_or(0, |it| it.saturating_sub(1));
        let inbox = self.client.new_inbox();
        let mut replies = self
            .client
            .subscribe(inbox.clone())
            .await
            .map_err(|error| other(&error))?;
        let asked = self
            .client
            .publish_with_reply(api.clone(), inbox, wanted.to_string().into());
        let mut page: Vec<StreamMessage> = Vec::new();
        let answers = async {
            asked.await.map_err(|error| other(&error))?;
            while let Some(message) = replies.next().await {
                let before = page.last().map_or(0, |page| page.sequence);
                let is_part = message.status.is_none_or(|status| status.as_u16() == 204);
                if is_part && comes_behind(&message) != Some(before) {
                    return Err(ServerError::TimedOut(api.clone()));
                }
                match (message.status, page.len()) {
                    (Some(StatusCode::NO_RESPONDERS), _) => {
                        return Err(ServerError::NoStream(stream.into()));
                    }
                    // The end of the batch, or nothing at all.
                    (Some(status), _) if [204, 404].contains(&status.as_u16()) => return Ok(()),
                    (Some(status), _) => {
                        let reason = message.description.unwrap_or_default();
                        return Err(other(&format_args!("{status} {reason}")));
                    }
                    (None, MAX_PAGE..) => {
                        return Err(other(&"more messages came than were asked for"));
                    }
                    (None, _) => {
                        let message =
                            StreamMessage::try_from(message).map_err(|error| other(&error))?;
                        if message.sequence <= before.max(start) || message.sequence == u64::MAX {
                            return Err(other(&"messages came out of their order"));
                        }
                        page.push(message);
                    }
                }
            }
            Err(other(&"the connection was closed"))
        };
        match tokio::time::timeout(wait, answers).await {
            Ok(result) => result.map(|()| page),
            Err(_) => Err(self.explain_silence(&api, begun)),
        }
    }

    /// Why no answer came: a server only says beside it that something isn't permitted.
    pub fn explain_silence(&self, subject: &str, begun: Instant) -> ServerError {
        match self.told.complaint_about(subject, begun) {
            Some(reason) => ServerError::NotPermitted(reason),
            None => self
                .usable()
                .err()
                .unwrap_or_else(|| ServerError::TimedOut(subject.into())),
        }
    }
}

/// The sequence of the message of a page that the server has sent before this one; 0 for the first.
fn comes_behind(message: &Message) -> Option<u64> {
    message
        .headers
        .as_ref()?
        .get(NATS_LAST_SEQUENCE)?
        .as_str()
        .parse()
        .ok()
}

/// Why there is no connection, with the cause below it.
fn reason_of(error: &async_nats::ConnectError) -> String {
    use std::error::Error as _;
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation => "the server doesn't let this user in".into(),
        kind => error
            .source()
            .map_or_else(|| kind.to_string(), |cause| format!("{kind}: {cause}")),
    }
}

fn note_event(event: &Event, told: &Told, link: &watch::Sender<Link>) {
    match event {
        Event::Connected => {
            let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
            drop(link.send_replace(Link::Up(number)));
        }
        Event::Disconnected => {
            drop(link.send_replace(Link::Away("the connection was lost".into())))
        }
        Event::Closed => drop(link.send_replace(Link::Away("the connection was closed".into()))),
        Event::ServerError(Complaint::AuthorizationViolation) => {
            tracing::warn!("The server doesn't let this user in.");
            drop(link.send_replace(Link::Away("the server doesn't let this user in".into())));
        }
        Event::ServerError(Complaint::Other(text)) => {
            let text: String = text
                .chars()
                .filter(|character| !character.is_control())
                .take(400)
                .collect();
            if Pace::may_log(&told.logged) {
                tracing::warn!("The server says: {text}");
            }
            told.add_complaint(text);
        }
        Event::SlowConsumer(_) | Event::ServerError(Complaint::SlowConsumer(_)) => {
            if Pace::may_log(&told.losses) {
                tracing::warn!("A subscription is behind and has lost messages.");
            }
        }
        Event::ClientError(error) => {
            let news = error.to_string();
            // Each attempt to connect that fails says why.
            let is_news = link.send_if_modified(|link| match link {
                Link::Away(reason) if *reason != news => {
                    reason.clone_from(&news);
                    true
                }
                Link::Away(_) | Link::Up(_) => false,
            });
            if is_news {
                tracing::debug!("No connection: {news}");
            }
        }
        Event::LameDuckMode | Event::Draining => {}
    }
}

/// Numbers connections, so that each is another one than the one before.
static CONNECTIONS: AtomicU64 = AtomicU64::new(1);

/// What a stream's refusal means. On several replicas, a write that somebody else was faster with
/// has a second code.
fn refusal_error(
    subject: &str,
    error: &async_nats::jetstream::context::PublishError,
) -> ServerError {
    use std::error::Error as _;
    let told = error
        .source()
        .and_then(|source| source.downcast_ref::<async_nats::jetstream::Error>());
    let Some(told) = told else {
        return ServerError::Other(format!("{subject}: {error}"));
    };
    let reason = told.to_string();
    let code = told.error_code();
    if code == ErrorCode::STREAM_WRONG_LAST_SEQUENCE
        || code == ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT
    {
        ServerError::Conflict(subject.into())
    } else if reason.contains("maximum") {
        // One code stands for every limit, so the words are all that tells them apart.
        let limit = match reason.contains("per subject") {
            true => Limit::Subject,
            false => Limit::Stream,
        };
        ServerError::Full {
            subject: subject.into(),
            limit,
            reason,
        }
    } else {
        ServerError::Other(format!("{subject}: {reason}"))
    }
}

/// Whether a server's version is [`OLDEST`] or newer.
pub fn is_recent(version: &str) -> bool {
    is_at_least(version, OLDEST)
}

/// Whether a version is that one or newer. What can't be read isn't, and a version before a release
/// isn't that release.
pub(crate) fn is_at_least(version: &str, least: [u64; 3]) -> bool {
    let numbers = version_numbers(version);
    if version.contains('-') {
        numbers > Some(least)
    } else {
        numbers >= Some(least)
    }
}

/// The three numbers of a version.
pub(crate) fn version_numbers(version: &str) -> Option<[u64; 3]> {
    let (numbers, _) = version.split_once(['-', '+']).unwrap_or((version, ""));
    let mut parts = numbers.split('.');
    let mut number = || parts.next().and_then(|parts| parts.parse().ok());
    let found = [number()?, number()?, number()?];
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::{LOGGED, Pace, Settings, Told, is_recent};

    #[test]
    fn old_servers_are_known_by_their_version() {
        for (version, recent) in [
            ("2.12.7", true),
            ("2.15.1", true),
            ("3.0.0", true),
            ("2.14.0-RC.1", true),
            ("2.12.6", false),
            ("2.12.7-RC.2", false),
            ("2.9.10", false),
            ("", false),
            ("2.12", false),
            ("99999999999999999999.1.1", false),
        ] {
            assert_eq!(is_recent(version), recent, "{version}");
        }
    }

    #[test]
    fn a_flood_of_complaints_fills_no_log() {
        let told = Told::default();
        assert_eq!(
            (0..1000).filter(|_| Pace::may_log(&told.logged)).count(),
            LOGGED.0 as usize
        );
        assert!(Pace::may_log(&told.losses));
    }

    #[test]
    fn a_url_with_a_password_is_refused() {
        for (urls, servers) in [
            ("nats://a:4222", Some(vec!["nats://a:4222"])),
            ("nats://a,b:4333", Some(vec!["nats://a", "nats://b:4333"])),
            ("tls://a,b", Some(vec!["tls://a", "tls://b"])),
            ("nats://me:secret@a", None),
            ("nats://me@a", None),
            ("http://a", None),
            ("", None),
        ] {
            let read = Settings::from_urls(urls);
            if let Err(error) = &read {
                assert!(!error.to_string().contains("secret"), "{error}");
            }
            let expected =
                servers.map(|servers| servers.into_iter().map(str::to_string).collect::<Vec<_>>());
            assert_eq!(read.ok().map(|it| it.servers), expected, "{urls}");
        }
    }
}
