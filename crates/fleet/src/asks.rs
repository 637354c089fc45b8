//! Questions that wait for a person, answered from anywhere.
//!
//! A host publishes a question; whoever may answer reads it and publishes one signed answer. The
//! stream takes one answer a question, so of many that come at once one wins. An answer counts only
//! if a key has signed it that the asking host has pinned; the signature is over the digest of the
//! question's bytes and the decision, so that it answers nothing else. The host's account can't
//! publish answers, and a key of the host's own never counts: an agent runs as the host's user.
//!
//! An answer that doesn't count takes the place of one that would. So the host asks again under
//! another name, a few times.

use crate::digest::Sha256;
use crate::envelope::{self, Signers};
use crate::key::{PublicKey, SecretKey};
use crate::name::{Identity, Name};
use crate::notices::Notices;
use crate::retry::publish_surely;
use crate::server::{Limit, Server, ServerError};
use crate::spool::new_id;
use crate::streams;
use async_nats::HeaderMap;
use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::message::StreamMessage;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// The type of an answer's payload.
pub(crate) const ANSWER: &str = "application/vnd.hookwire.answer+json";
/// How long one exchange with the server may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a question is asked, if answers come that don't count.
const MAX_ASKED: usize = 3;
/// How often the server is asked for an answer whose notice may have been lost.
const LOOK: Duration = Duration::from_secs(2);
/// The end of the name under which a host says that a question is over.
const OVER: &str = "-over";
/// The part of a message that is left for its headers and the frame of a question, in bytes.
const FRAME: usize = 2048;
/// The longest text of an answer, in bytes.
const MAX_REASON: usize = 4000;
/// The most questions that are read.
const MAX_QUESTIONS: usize = 10_000;

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Go on.
    Approve,
    /// Don't.
    Deny,
}

/// A question as it is on the bus.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    /// Nobody can prepare an answer to a question that they know beforehand.
    nonce: String,
    /// How long an answer is waited for, in milliseconds. The server says since when, because the
    /// host's clock may be wrong.
    waits: u64,
    /// Whose answer counts.
    approvers: Vec<PublicKey>,
    /// What hookwire asks.
    question: Box<RawValue>,
}

/// Why nobody can answer any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Over {
    over: String,
}

/// What is signed.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Signed {
    host: Name,
    instance: Name,
    ask: Name,
    /// Of the question's bytes.
    digest: Sha256,
    decision: Decision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// An answer that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Yes or no.
    pub decision: Decision,
    /// Why.
    pub reason: Option<String>,
    /// Whose it is.
    pub by: PublicKey,
}

/// What a host asks with.
#[derive(Clone, Debug)]
pub struct Asker {
    server: Server,
    who: Identity,
    approvers: Signers,
}

impl Asker {
    /// Answers count that one of these keys has signed, unless it is one of the host's own.
    ///
    /// # Errors
    /// No key is left, or there are too many.
    pub fn new(
        server: Server,
        instance: Name,
        approvers: impl IntoIterator<Item = PublicKey>,
        own: &[PublicKey],
    ) -> Result<Asker, envelope::BadSigners> {
        let approvers = Signers::new(approvers.into_iter().filter(|key| !own.contains(key)), 1)?;
        let who = Identity {
            host: server.host().clone(),
            instance,
        };
        Ok(Asker {
            server,
            who,
            approvers,
        })
    }

    /// Publishes a question, a JSON value, and waits for an answer that counts, for as long as is
    /// said. Dropping the future leaves the question there until it expires; [`close_question`](Self::close_question)
    /// takes it back. `asked` is told each name of it.
    ///
    /// # Errors
    /// It is too long, can't be published, or all its answers don't count.
    pub async fn ask(
        &self,
        question: &RawValue,
        within: Duration,
        mut asked: impl FnMut(&Name),
    ) -> Result<Option<Answer>, ServerError> {
        let until = tokio::time::Instant::now() + within;
        let mut problem = ServerError::Other("no answer counts".into());
        for _ in 0..MAX_ASKED {
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            let (ask, digest) = self.publish_question(question, left).await?;
            asked(&ask);
            match tokio::time::timeout_at(until, self.wait_for_answer(&ask, digest)).await {
                Err(_) => return Ok(None),
                Ok(Ok(answer)) => return Ok(Some(answer)),
                Ok(Err(refused)) => {
                    tracing::warn!(%ask, problem = %refused, "An answer doesn't count; the question is asked again.");
                    let _ = self.close_question(&ask, "its answer didn't count").await;
                    problem = refused;
                }
            }
        }
        Err(problem)
    }

    async fn publish_question(
        &self,
        question: &RawValue,
        within: Duration,
    ) -> Result<(Name, Sha256), ServerError> {
        let nameless =
            |error: &dyn std::fmt::Display| ServerError::Other(format!("name a question: {error}"));
        let id = new_id().map_err(|error| nameless(&error))?;
        let ask: Name = id.parse().map_err(|error| nameless(&error))?;
        let asked = Asked {
            nonce: new_id().map_err(|error| nameless(&error))?,
            waits: u64::try_from(within.as_millis()).unwrap_or(u64::MAX),
            approvers: self.approvers.keys().copied().collect(),
            question: question.to_owned(),
        };
        let bytes =
            serde_json::to_vec(&asked).map_err(|error| ServerError::Other(error.to_string()))?;
        let most = streams::MAX_ASK - FRAME;
        if bytes.len() > most {
            return Err(ServerError::Other(format!(
                "the question has {} bytes, and at most {most} are asked",
                bytes.len()
            )));
        }
        let digest = Sha256::of_bytes(&bytes);
        self.put_question(&ask, bytes, within).await?;
        Ok((ask, digest))
    }

    async fn put_question(
        &self,
        ask: &Name,
        bytes: Vec<u8>,
        within: Duration,
    ) -> Result<(), ServerError> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, format!("{}.{ask}", self.who));
        let subject = streams::ask_subject(&self.who, ask);
        publish_surely(
            &self.server,
            &subject,
            &headers,
            &Bytes::from(bytes),
            within.min(PATIENCE),
        )
        .await
        .map(drop)
    }

    /// Waits for the answer to a question.
    async fn wait_for_answer(&self, ask: &Name, digest: Sha256) -> Result<Answer, ServerError> {
        let (told, subject) = (
            streams::told_subject(&self.who, ask),
            streams::answer_subject(&self.who, ask),
        );
        let mut notices = Notices::new(&self.server, [told]);
        loop {
            notices.subscribe_anew().await;
            // A notice says only that there is one. What counts is what the stream has.
            match self
                .server
                .last_message(streams::ANSWER, &subject, PATIENCE)
                .await
            {
                Ok(Some(stored)) => {
                    return read_answer(&stored.payload, &self.who, ask, digest, &self.approvers);
                }
                Ok(None) => {}
                Err(error @ ServerError::NotPermitted(_)) => return Err(error),
                Err(error) => tracing::debug!(%error, "Answers can't be read now."),
            }
            notices.wait_at_most(LOOK).await;
        }
    }

    /// Says that a question is over, and why, so that nobody is shown it any more.
    ///
    /// # Errors
    /// It can't be published. The question is shown until it expires.
    pub async fn close_question(&self, ask: &Name, why: &str) -> Result<(), ServerError> {
        let name: Name = format!("{ask}{OVER}")
            .parse()
            .map_err(|_| ServerError::Other("the name is too long".into()))?;
        let over = Over {
            over: why.chars().take(200).collect(),
        };
        self.put_question(
            &name,
            serde_json::to_vec(&over).unwrap_or_default(),
            PATIENCE,
        )
        .await
    }
}

/// What an answer to a question says, if it counts.
pub(crate) fn read_answer(
    bytes: &[u8],
    who: &Identity,
    ask: &Name,
    digest: Sha256,
    approvers: &Signers,
) -> Result<Answer, ServerError> {
    let wrong =
        |problem: &dyn std::fmt::Display| ServerError::Other(format!("the answer: {problem}"));
    let (payload, by) = envelope::open_envelope(bytes, streams::MAX_ANSWER, ANSWER, approvers)
        .map_err(|error| wrong(&error))?;
    let signed: Signed = serde_json::from_slice(&payload).map_err(|error| wrong(&error))?;
    let Signed {
        host,
        instance,
        ask: answered,
        digest: of,
        decision,
        reason,
    } = signed;
    if (&host, &instance, &answered, of) != (&who.host, &who.instance, ask, digest) {
        return Err(wrong(&"it is the answer to another question"));
    }
    if reason
        .as_ref()
        .is_some_and(|reason| reason.len() > MAX_REASON)
    {
        return Err(wrong(&"its reason is too long"));
    }
    let by = by
        .into_iter()
        .next()
        .ok_or_else(|| wrong(&"nobody has signed it"))?;
    Ok(Answer {
        decision,
        reason,
        by,
    })
}

/// A question that waits, as somebody reads it who may answer.
#[derive(Clone, Debug)]
pub struct Question {
    /// The host that asks.
    pub who: Identity,
    /// Its name; 16 digits.
    pub ask: Name,
    /// When the server stored it, in milliseconds since 1970.
    pub at: u64,
    /// Until when an answer is waited for, by the server's clock, in milliseconds since 1970.
    pub expires: u64,
    /// Whose answer counts, as the host says.
    pub approvers: Vec<PublicKey>,
    /// What hookwire asks; what a host says, and no more.
    pub question: Box<RawValue>,
    digest: Sha256,
}

impl Question {
    /// Of its bytes: no two questions have the same.
    pub fn digest(&self) -> Sha256 {
        self.digest
    }
}

/// Tells that questions or answers are there which weren't before.
pub fn question_notices(server: &Server) -> Notices {
    Notices::new(
        server,
        [streams::ASKED_EACH, streams::TOLD_EACH].map(String::from),
    )
}

/// The questions that wait, the oldest first. Which expired meanwhile is told by this machine's
/// clock.
///
/// # Errors
/// The account may not read them, or the server doesn't answer.
pub async fn waiting_questions(server: &Server) -> Result<Vec<Question>, ServerError> {
    Waiting::new(server).read_waiting().await
}

/// The questions that wait, for whoever looks again and again: each look reads what is new.
pub struct Waiting {
    server: Server,
    open: BTreeMap<(Identity, Name), Question>,
    /// The sequence from which on nothing was read.
    from: u64,
}

impl Waiting {
    /// Nothing is read so far.
    pub fn new(server: &Server) -> Waiting {
        Waiting {
            server: server.clone(),
            open: BTreeMap::new(),
            from: 1,
        }
    }

    /// As [`waiting_questions`], now.
    ///
    /// # Errors
    /// The account may not read them, or the server doesn't answer. The next look goes on.
    pub async fn read_waiting(&mut self) -> Result<Vec<Question>, ServerError> {
        let now = unix_millis(SystemTime::now());
        let mut n_read = 0;
        loop {
            let page = self
                .server
                .read_page(streams::ASK, streams::ALL_ASKS, self.from, PATIENCE)
                .await?;
            let Some(last) = page.last() else { break };
            self.from = last.sequence.saturating_add(1);
            for message in page {
                n_read += 1;
                self.take_message(&message, now);
            }
            // Nobody can be shown so many, however many looks they came in: the next one begins
            // anew.
            let is_full = self.open.len() > 2 * MAX_QUESTIONS;
            if is_full {
                *self = Waiting::new(&self.server);
            }
            if is_full || n_read > 2 * MAX_QUESTIONS {
                return Err(ServerError::Other(format!(
                    "more than {MAX_QUESTIONS} questions are there"
                )));
            }
        }
        self.open.retain(|_, question| question.expires > now);
        let mut answered = Vec::new();
        for (key, question) in &self.open {
            // The host may not have said yet that it has its answer.
            let answer = streams::answer_subject(&question.who, &question.ask);
            if self
                .server
                .last_message(streams::ANSWER, &answer, PATIENCE)
                .await?
                .is_some()
            {
                answered.push(key.clone());
            }
        }
        answered.iter().for_each(|key| drop(self.open.remove(key)));
        let mut waiting: Vec<Question> = self.open.values().cloned().collect();
        waiting.sort_by_key(|waiting| waiting.at);
        Ok(waiting)
    }

    fn take_message(&mut self, message: &StreamMessage, now: u64) {
        let Some((who, ask)) = parse_subject(&message.subject) else {
            return;
        };
        match ask
            .as_str()
            .strip_suffix(OVER)
            .and_then(|ask| ask.parse().ok())
        {
            Some(ask) => drop(self.open.remove(&(who, ask))),
            None => {
                let question =
                    read_question(who.clone(), ask.clone(), message).filter(|it| it.expires > now);
                self.open
                    .extend(question.map(|question| ((who, ask), question)));
            }
        }
    }
}

pub(crate) fn parse_subject(subject: &str) -> Option<(Identity, Name)> {
    let [host, instance, ask] =
        <[Name; 3]>::try_from(streams::names_below("hw.ask", subject)?).ok()?;
    Some((Identity { host, instance }, ask))
}

pub(crate) fn read_question(who: Identity, ask: Name, message: &StreamMessage) -> Option<Question> {
    if message.payload.len() > streams::MAX_ASK {
        return None;
    }
    let Asked {
        waits,
        approvers,
        question,
        ..
    } = serde_json::from_slice(&message.payload).ok()?;
    let at = u64::try_from(message.time.unix_timestamp_nanos() / 1_000_000).ok()?;
    let expires = at.saturating_add(waits);
    Some(Question {
        who,
        ask,
        at,
        expires,
        approvers,
        question,
        digest: Sha256::of_bytes(&message.payload),
    })
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It is the one.
    First,
    /// Somebody was faster.
    TooLate,
}

/// Answers a question.
///
/// # Errors
/// The account may not, the key is none of those that the host believes, or the server doesn't
/// answer.
pub async fn answer_question(
    server: &Server,
    question: &Question,
    decision: Decision,
    reason: Option<&str>,
    key: &SecretKey,
) -> Result<Answered, ServerError> {
    let public = key.public();
    if !question.approvers.contains(&public) {
        return Err(ServerError::Other(format!(
            "the host {} doesn't believe the key {}; its approvers are set in its managed configuration",
            question.who.host,
            public.id()
        )));
    }
    if reason.is_some_and(|reason| reason.len() > MAX_REASON) {
        return Err(ServerError::Other(format!(
            "a reason has at most {MAX_REASON} bytes"
        )));
    }
    let Question {
        who, ask, digest, ..
    } = question;
    let Identity { host, instance } = who.clone();
    let signed = Signed {
        host,
        instance,
        ask: ask.clone(),
        digest: *digest,
        decision,
        reason: reason.map(str::to_string),
    };
    let payload =
        serde_json::to_vec(&signed).map_err(|error| ServerError::Other(error.to_string()))?;
    let bytes = Bytes::from(envelope::sign_payload(ANSWER, &payload, &[key]));
    let subject = streams::answer_subject(who, ask);
    let mut headers = HeaderMap::new();
    headers.insert(NATS_MESSAGE_ID, format!("{who}.{ask}.{}", public.id()));
    match publish_surely(server, &subject, &headers, &bytes, PATIENCE).await {
        Ok(_) => Ok(Answered::First),
        Err(ServerError::Full {
            limit: Limit::Subject,
            ..
        }) => {
            // It may be this one, whose acknowledgement was lost.
            let stored = server
                .last_message(streams::ANSWER, &subject, PATIENCE)
                .await?;
            let is_ours = stored.is_some_and(|stored| stored.payload == bytes);
            Ok(if is_ours {
                Answered::First
            } else {
                Answered::TooLate
            })
        }
        Err(error) => Err(error),
    }
}

fn unix_millis(at: SystemTime) -> u64 {
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
