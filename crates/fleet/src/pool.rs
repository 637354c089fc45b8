//! A pool: hosts that answer for clients which have none of their own.
//!
//! Every member is in one queue group, so the server gives each request to one of them. A request
//! carries how long its client waits; the member says at once that it has the request, again and
//! again while it works, and in the end the answer or why there is none. So a client knows a member
//! that has died from one that takes long, and asks once more while there is time. It never takes
//! silence, or anything but an answer, for one.
//!
//! Which messages are believed is up to the server's permissions: a client's inbox can't be
//! guessed, only the client may read it, and a member may publish only where it was asked to reply.
//! Requests and answers are bytes here.
//!
//! | header | in | what |
//! |---|---|---|
//! | `Hookwire-Wait` | a request | how many milliseconds the client still waits |
//! | `Hookwire-State` | a reply | `working`, `done`: the payload is the answer, or `refused`: the payload says why |
//! | `Hookwire-Host` | a reply | the member's name, for people |

use crate::name::Name;
use crate::server::{Server, ServerError, inbox_prefix};
use crate::streams;
use async_nats::{HeaderMap, Message, StatusCode, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use std::fmt::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout, timeout_at};

/// The queue group that members of a pool are in.
pub const GROUP: &str = "hosts";
/// The longest that a request may take.
pub const MAX_WAIT: Duration = Duration::from_secs(600);
/// How long a request may take that doesn't say.
const DEFAULT_WAIT: Duration = Duration::from_secs(30);
/// What headers and the protocol may take of a message, in bytes.
const OVERHEAD: usize = 1024;
/// How long a client lets a pool without members find one.
const PAUSE: Duration = Duration::from_millis(250);
/// How long a connection may take before somebody hears of it, and a message to be handed to it.
const SENDING: Duration = Duration::from_secs(5);
/// The longest reason of a refusal that is passed on, in characters.
pub(crate) const MAX_REASON: usize = 1000;

pub(crate) const WAIT: &str = "Hookwire-Wait";
pub(crate) const STATE: &str = "Hookwire-State";
pub(crate) const HOST: &str = "Hookwire-Host";
const WORKING: &str = "working";
const DONE: &str = "done";
const REFUSED: &str = "refused";

/// How often a member says that it works on a request whose client waits so long.
fn pulse_interval(wait: Duration) -> Duration {
    (wait / 8).clamp(Duration::from_millis(50), Duration::from_secs(1))
}

/// How long a member may be silent before its client takes it for dead.
fn max_silence(wait: Duration) -> Duration {
    (wait / 3).clamp(Duration::from_millis(200), Duration::from_secs(3))
}

/// Why a pool has given no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The pool has no member.
    #[error("no host answers for the pool {0}; one does by `hookwire serve --fleet F --pool {0}`")]
    Nobody(Name),
    /// Members had the request, and have died or hang.
    #[error("{asked} of the hosts of the pool {pool} had the event and fell silent")]
    Silent {
        /// The pool.
        pool: Name,
        /// How many were asked.
        asked: usize,
    },
    /// A member works on it still.
    #[error("no answer of the pool {pool} within {} ms", waited.as_millis())]
    Late {
        /// The pool.
        pool: Name,
        /// The deadline.
        waited: Duration,
    },
    /// A member says why not.
    #[error("the host {host} of the pool {pool} refuses: {reason}")]
    Refused {
        /// The pool.
        pool: Name,
        /// The member, as it says itself.
        host: Name,
        /// Why.
        reason: String,
    },
    /// The request is larger than the server takes.
    #[error(
        "the event has {size} bytes, and the server takes {most} (`max_payload` in its configuration)"
    )]
    TooLarge {
        /// Bytes.
        size: usize,
        /// Bytes.
        most: usize,
    },
    /// The connection.
    #[error(transparent)]
    Server(#[from] ServerError),
}

/// Asks a pool, once more if a member dies, hangs or refuses, or if there is none; all of it within
/// the deadline.
///
/// The member that is asked second may do again what the first had begun. Dropping the future
/// doesn't stop a member.
///
/// # Errors
/// Nobody has answered. What a member has done all the same isn't known.
pub async fn ask_pool(
    server: &Server,
    pool: &Name,
    request: Bytes,
    deadline: Duration,
) -> Result<Bytes, AskError> {
    let wait = deadline.min(MAX_WAIT);
    let begun = Instant::now();
    server.usable()?;
    let most = server.max_payload().saturating_sub(OVERHEAD);
    if request.len() > most {
        return Err(AskError::TooLarge {
            size: request.len(),
            most,
        });
    }
    let inbox = format!("{}.{}", inbox_prefix(server.host()), make_nonce()?);
    let subscribed = timeout(wait, server.client().subscribe(format!("{inbox}.*"))).await;
    let replies = subscribed.map_err(|_| AskError::Late {
        pool: pool.clone(),
        waited: wait,
    })?;
    let replies = replies.map_err(|error| ServerError::Other(error.to_string()))?;
    Asking {
        server,
        pool,
        request,
        inbox,
        replies,
        wait,
        end: begun + wait,
        asked: 0,
    }
    .run()
    .await
}

/// What can't be guessed by whoever may publish to inboxes.
fn make_nonce() -> Result<String, ServerError> {
    let mut bytes = [0; 16];
    let filled = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    filled.map_err(|_| ServerError::Other("the system gives no random numbers".into()))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// A request on its way.
struct Asking<'a> {
    server: &'a Server,
    pool: &'a Name,
    request: Bytes,
    inbox: String,
    replies: Subscriber,
    wait: Duration,
    end: Instant,
    asked: usize,
}

/// What a message in the inbox of a request says.
pub(crate) enum Said {
    Working,
    Done(Bytes),
    Refused {
        host: Name,
        reason: String,
    },
    Nobody,
    /// Nothing that a member says.
    Other,
}

impl Asking<'_> {
    async fn run(mut self) -> Result<Bytes, AskError> {
        self.send_request().await?;
        let mut quiet = Instant::now() + max_silence(self.wait);
        loop {
            let heard = timeout_at(quiet.min(self.end), self.replies.next()).await;
            let problem = match heard {
                Err(_) => match self.late() {
                    AskError::Late { .. } if Instant::now() < self.end => AskError::Silent {
                        pool: self.pool.clone(),
                        asked: self.asked,
                    },
                    error => return Err(error),
                },
                Ok(None) => {
                    return Err(ServerError::Other("the connection was closed".into()).into());
                }
                Ok(Some(message)) => {
                    // The member that was asked first may still answer, but its end is no news.
                    let is_last = message.subject.strip_prefix(&*self.inbox)
                        == Some(&*format!(".{}", self.asked));
                    match read_reply(message) {
                        Said::Done(answer) => return Ok(answer),
                        Said::Working => {
                            quiet = Instant::now() + max_silence(self.wait);
                            continue;
                        }
                        Said::Nobody if is_last => AskError::Nobody(self.pool.clone()),
                        Said::Refused { host, reason } if is_last => AskError::Refused {
                            pool: self.pool.clone(),
                            host,
                            reason,
                        },
                        Said::Nobody | Said::Refused { .. } | Said::Other => continue,
                    }
                }
            };
            if self.asked > 1 {
                return Err(problem);
            }
            if matches!(problem, AskError::Nobody(_)) {
                let left = self.end.saturating_duration_since(Instant::now());
                tokio::time::sleep(PAUSE.min(left / 4)).await;
            }
            tracing::debug!("Asking once more: {problem}");
            self.send_request().await?;
            quiet = Instant::now() + max_silence(self.wait);
        }
    }

    async fn send_request(&mut self) -> Result<(), AskError> {
        self.asked += 1;
        let left = self.end.saturating_duration_since(Instant::now());
        let mut headers = HeaderMap::new();
        headers.insert(WAIT, left.as_millis().to_string());
        let reply = format!("{}.{}", self.inbox, self.asked);
        let subject = streams::dispatch_subject(self.pool);
        // While the connection is away, the client would keep the request and send it some time
        // later.
        self.server.usable()?;
        let client = self.server.client();
        let sent =
            client.publish_with_reply_and_headers(subject, reply, headers, self.request.clone());
        match timeout(left, sent).await {
            Ok(sent) => sent.map_err(|error| ServerError::Other(error.to_string()).into()),
            Err(_) => Err(self.late()),
        }
    }

    /// Why nothing comes: a server says only beside it that something isn't permitted.
    fn late(&self) -> AskError {
        let begun = self
            .end
            .checked_sub(self.wait)
            .unwrap_or(self.end)
            .into_std();
        match self
            .server
            .explain_silence(&streams::dispatch_subject(self.pool), begun)
        {
            ServerError::TimedOut(_) => AskError::Late {
                pool: self.pool.clone(),
                waited: self.wait,
            },
            error => error.into(),
        }
    }
}

pub(crate) fn read_reply(message: Message) -> Said {
    if message.status == Some(StatusCode::NO_RESPONDERS) {
        return Said::Nobody;
    }
    let header = |name: &str| {
        message
            .headers
            .as_ref()
            .and_then(|headers| headers.get(name))
            .map(|it| it.as_str())
    };
    match header(STATE) {
        Some(WORKING) => Said::Working,
        Some(DONE) => Said::Done(message.payload),
        Some(REFUSED) => {
            let reason = String::from_utf8_lossy(&message.payload);
            let reason = reason
                .chars()
                .filter(|character| !character.is_control())
                .take(MAX_REASON)
                .collect();
            Said::Refused {
                host: Name::nearest(header(HOST).unwrap_or_default()),
                reason,
            }
        }
        Some(_) | None => Said::Other,
    }
}

/// What a member takes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// So many requests are judged at once.
    pub in_flight: usize,
    /// So many more wait for that, half of their clients' time at most. For a further one the
    /// member says that it is busy, and the client asks another member.
    pub waiting: usize,
    /// How long what it has begun may take once it is to leave.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            in_flight: 64,
            waiting: 192,
            drain: Duration::from_secs(20),
        }
    }
}

/// Answers for a pool until `stop` is done; then it takes no more, finishes what it has begun, and
/// leaves. `ready` is called when it begins to answer. `judge` gets a request and the time for it,
/// and gives the answer or why there is none.
///
/// # Errors
/// The connection was closed.
pub async fn serve_pool<Judging>(
    server: &Server,
    pool: &Name,
    limits: Limits,
    ready: impl FnOnce(),
    judge: impl Fn(Bytes, Duration) -> Judging + Send + Sync + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), ServerError>
where
    Judging: Future<Output = Result<Vec<u8>, String>> + Send + 'static,
{
    let mut stop = pin!(stop);
    let mut told = None;
    loop {
        let is_ready = tokio::select! {
            () = &mut stop => return Ok(()),
            it = server.wait_until_ready(SENDING) => it,
        };
        let Err(error) = is_ready else { break };
        if told.as_ref() != Some(&error) {
            tracing::warn!("This host doesn't answer for the pool {pool} yet: {error}");
        }
        told = Some(error);
        tokio::select! {
            () = &mut stop => return Ok(()),
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
    let subscribed = server
        .client()
        .queue_subscribe(streams::dispatch_subject(pool), GROUP.into())
        .await;
    let mut requests = subscribed.map_err(|error| ServerError::Other(error.to_string()))?;
    ready();
    let leaves = watch::Sender::new(false);
    let mut running = JoinSet::new();
    let (places, judge) = (Arc::new(Semaphore::new(limits.in_flight)), Arc::new(judge));
    let member = Member {
        server: server.clone(),
    };
    loop {
        let message = tokio::select! {
            biased;
            () = &mut stop => break,
            Some(_) = running.join_next() => continue,
            message = requests.next() => message,
        };
        let Some(message) = message else {
            return Err(ServerError::Other("the connection was closed".into()));
        };
        let Some(request) = Request::from_message(message) else {
            continue;
        };
        if running.len() < limits.in_flight + limits.waiting {
            let judging = request.judge_in_turn(places.clone(), judge.clone());
            running.spawn(request.answer_with(member.clone(), judging, leaves.subscribe()));
        } else {
            member
                .send_reply(&request.reply, REFUSED, BUSY.into())
                .await;
        }
    }
    drain_requests(&member, requests, running, &leaves, limits.drain).await;
    Ok(())
}

/// Leaves: takes nothing more, and ends what has begun, with its answer while there is time.
async fn drain_requests(
    member: &Member,
    mut requests: Subscriber,
    mut running: JoinSet<()>,
    leaves: &watch::Sender<bool>,
    most: Duration,
) {
    let end = Instant::now() + most;
    let mut is_open = requests.drain().await.is_ok();
    while is_open || !running.is_empty() {
        tokio::select! {
            () = sleep_until(end) => break,
            Some(_) = running.join_next() => {}
            message = requests.next(), if is_open => match message.map(Request::from_message) {
                // It was on its way; another member can have it.
                Some(Some(request)) => member.send_reply(&request.reply, REFUSED, LEAVING.into()).await,
                Some(None) => {}
                None => is_open = false,
            },
        }
    }
    leaves.send_replace(true);
    let last = async {
        while running.join_next().await.is_some() {}
        let _ = member.server.client().flush().await;
    };
    let _ = timeout(SENDING, last).await;
}

const BUSY: &str = "it is busy with other events";
const LEAVING: &str = "it is about to end";

/// A host that answers.
#[derive(Clone)]
struct Member {
    server: Server,
}

/// A request that a member has got.
pub(crate) struct Request {
    pub(crate) reply: String,
    payload: Bytes,
    pub(crate) wait: Duration,
    due: Instant,
}

impl Member {
    async fn send_reply(&self, to: &str, state: &str, payload: Bytes) {
        // Kept until the connection is there again, it would come too late.
        if self.server.usable().is_err() {
            return;
        }
        let mut headers = HeaderMap::new();
        headers.insert(STATE, state);
        headers.insert(HOST, self.server.host().as_str());
        let sent = timeout(
            SENDING,
            self.server
                .client()
                .publish_with_headers(to.to_string(), headers, payload),
        )
        .await;
        if !matches!(sent, Ok(Ok(()))) {
            tracing::debug!("A reply to a client of the pool couldn't be sent.");
        }
    }
}

/// Whether a subject is an inbox: a member with the right to reply must not be made to publish a
/// verdict, an answer or a report by a client that names that as the place for its reply.
pub(crate) fn is_inbox(subject: &str) -> bool {
    subject.len() <= 256
        && subject.starts_with("_INBOX.")
        && subject.split('.').all(|text| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() && byte != b'*' && byte != b'>')
        })
}

impl Request {
    /// Reads a request. `None`: nothing that can be answered.
    pub(crate) fn from_message(message: Message) -> Option<Request> {
        let reply = message
            .reply
            .map(|reply| reply.to_string())
            .filter(|it| is_inbox(it))?;
        let wait = message
            .headers
            .as_ref()
            .and_then(|headers| headers.get(WAIT)?.as_str().parse().ok());
        let wait = wait
            .map_or(DEFAULT_WAIT, Duration::from_millis)
            .min(MAX_WAIT);
        Some(Request {
            reply,
            payload: message.payload,
            wait,
            due: Instant::now() + wait,
        })
    }

    /// Judges once there is a place.
    fn judge_in_turn<Judging>(
        &self,
        places: Arc<Semaphore>,
        judge: Arc<impl Fn(Bytes, Duration) -> Judging + Send + Sync + 'static>,
    ) -> impl Future<Output = Result<Vec<u8>, String>> + Send + 'static
    where
        Judging: Future<Output = Result<Vec<u8>, String>> + Send + 'static,
    {
        let Request {
            payload, wait, due, ..
        } = self;
        let (payload, wait, due) = (payload.clone(), *wait, *due);
        async move {
            let place = timeout(wait / 2, places.acquire_owned()).await;
            let Ok(Ok(_place)) = place else {
                return Err(BUSY.into());
            };
            // The answer must still come in time.
            let last = due - (wait / 10).min(Duration::from_millis(500));
            judge(payload, last.saturating_duration_since(Instant::now())).await
        }
    }

    async fn answer_with(
        self,
        member: Member,
        judging: impl Future<Output = Result<Vec<u8>, String>>,
        mut leaves: watch::Receiver<bool>,
    ) {
        member.send_reply(&self.reply, WORKING, Bytes::new()).await;
        let pulse = pulse_interval(self.wait);
        let mut pulses = interval_at(Instant::now() + pulse, pulse);
        pulses.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut judging = pin!(judging);
        let judged = loop {
            tokio::select! {
                biased;
                judged = &mut judging => break judged,
                () = sleep_until(self.due) => break Err(format!("no verdict within {} ms", self.wait.as_millis())),
                _ = leaves.changed() => break Err(LEAVING.into()),
                _ = pulses.tick() => member.send_reply(&self.reply, WORKING, Bytes::new()).await,
            }
        };
        let most = member.server.max_payload().saturating_sub(OVERHEAD);
        let (state, payload) = match judged {
            Ok(answer) if answer.len() <= most => (DONE, answer),
            Ok(answer) => (
                REFUSED,
                format!(
                    "the verdict has {} bytes, and the server takes {most}",
                    answer.len()
                )
                .into(),
            ),
            Err(reason) => (
                REFUSED,
                reason
                    .chars()
                    .take(MAX_REASON)
                    .collect::<String>()
                    .into_bytes(),
            ),
        };
        member.send_reply(&self.reply, state, payload.into()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::{is_inbox, max_silence, pulse_interval};
    use std::time::Duration;

    #[test]
    fn a_reply_goes_to_an_inbox_only() {
        for (subject, is_one) in [
            ("_INBOX.thin-a.0123.1", true),
            ("_INBOX.x", true),
            ("hw.answer.host-a.p1.q1", false),
            ("$KV.hw_defs.channel.main", false),
            ("_INBOX.", false),
            ("_INBOX.a.>", false),
            ("_INBOX.*.a", false),
            ("_INBOX.a b", false),
            ("_INBOX.a\r\nPUB x 0", false),
        ] {
            assert_eq!(is_inbox(subject), is_one, "{subject}");
        }
    }

    /// A member that works is heard several times before its client would give it up.
    #[test]
    fn a_member_is_heard_in_time() {
        for millis in [300, 1000, 5000, 50_000, 600_000] {
            let wait = Duration::from_millis(millis);
            assert!(pulse_interval(wait) * 2 < max_silence(wait), "{wait:?}");
        }
    }
}
