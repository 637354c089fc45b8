//! A person's approval: asked through the client where it can ask, else kept until a person answers
//! from another terminal or the time is up. Answers may be remembered for a session.
//!
//! What waits here belongs to its event, not to the definitions: a reload changes nothing about it.

use crate::services::approval::{ApprovalReply, ApprovalRequest, ApprovalsChanged};
use crate::services::client::{self, Client};
use crate::services::fakes::{Fakes, Person};
use crate::services::state::{Scope, Store};
use hookwire_base::event::Event;
use hookwire_base::support::amounts::millis;
use hookwire_base::support::digest;
use hookwire_base::support::looks::look;
use hookwire_base::verdict::Decision;
use hookwire_rules::matching::globbed::{WILDCARDS, through_links};
use hookwire_rules::matching::paths;
use parking_lot::{Mutex, MutexGuard};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::sync::{oneshot, watch};

/// What counts as the same question when an answer is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Remember {
    /// The same question about the same tool of the same agent with the same input, in the same
    /// directory and shell.
    #[default]
    Input,
    /// The same tool of the same agent, with any input and anywhere.
    Tool,
    /// None is: every time is asked.
    Never,
}

/// A question before it has a name.
pub struct Question<'a> {
    /// The hook that asks, or all that do.
    pub hook: &'a str,
    /// The file that it is written in.
    pub file: &'a str,
    /// The hashes of their definitions: a hook that was edited asks something else.
    pub definitions: Vec<u64>,
    /// Why.
    pub message: String,
    /// What is asked about.
    pub event: &'a Event,
    /// The files that it runs: a script that was edited does something else.
    pub files: Vec<PathBuf>,
    /// The paths that it may name: a link that was turned leads it elsewhere. `None`: there are too
    /// many to say, and no answer is remembered.
    pub paths: Option<Vec<PathBuf>>,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// What is said if none comes in time.
    pub unanswered: Decision,
    /// What counts as the same question.
    pub remember: Remember,
}

/// An answer, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The answer.
    pub reply: ApprovalReply,
    /// Who gave it, where that is known for sure: by a signature.
    pub by: Option<String>,
}

impl Answered {
    /// The decision that it comes to, and why; see [`ApprovalReply::decided`].
    pub fn decided(&self, question: &str, is_native: bool) -> (Decision, String) {
        self.reply.decided(question, is_native, self.by.as_deref())
    }
}

impl From<ApprovalReply> for Answered {
    fn from(reply: ApprovalReply) -> Answered {
        Answered { reply, by: None }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// No answer came in time. The text ends a sentence.
    Silence(String),
    /// It could not be asked or understood; finishes "failed to ...".
    Error(String),
}

/// How long an answer is remembered: longer than a session lasts.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 3600);
/// How long a file system may take to say which directory a path leads to, and what stands in
/// scripts.
const READ_WITHIN: Duration = Duration::from_secs(2);
/// The scripts of a question that are read.
const MAX_FILES: usize = 16;
/// Questions that may wait at once.
const MAX_WAITING: usize = 1000;

/// The questions that wait for a person. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub struct Approvals(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<BTreeMap<String, Waiting>>,
    changed: watch::Sender<ApprovalsChanged>,
    ids: RandomState,
    /// How many were asked: hooks of one name have questions of their own.
    asked: AtomicU64,
    /// The person of a test.
    fakes: Option<Arc<Fakes>>,
    /// What happens has happened already, and nobody waits for it.
    is_replay: bool,
}

struct Waiting {
    request: ApprovalRequest,
    answer: oneshot::Sender<Answered>,
}

impl Approvals {
    /// Asks nobody but the person of a test.
    pub fn faked(fakes: Arc<Fakes>) -> Approvals {
        Approvals(Arc::new(Shared {
            fakes: Some(fakes),
            ..Shared::default()
        }))
    }

    /// Asks nobody, because what is judged has happened already.
    pub fn of_replay() -> Approvals {
        Approvals(Arc::new(Shared {
            is_replay: true,
            ..Shared::default()
        }))
    }

    /// Asks, and gives the answer or why there is none. Dropping the future takes the question
    /// back.
    ///
    /// # Errors
    /// No answer came in time, the client can't tell, or too many questions wait.
    pub async fn ask(
        &self,
        question: Question<'_>,
        state: &Store,
        client: Option<&Arc<dyn Client>>,
    ) -> Result<Answered, NoAnswer> {
        if self.0.is_replay {
            return Err(NoAnswer::Silence("a replay asks nobody".into()));
        }
        let key = remembered_key(&question).await;
        if let Some(reply) = key.as_ref().and_then(|key| state.get(&Scope::Guards, key)) {
            return serde_json::from_value(reply)
                .map(ApprovalReply::into)
                .map_err(|error| NoAnswer::Error(format!("recall an approval: {error}")));
        }
        let (timeout, remember) = (question.timeout, question.remember);
        let silence = || {
            NoAnswer::Silence(format!(
                "nobody answered within {}",
                humantime::format_duration(timeout)
            ))
        };
        let said = self
            .0
            .fakes
            .as_ref()
            .map(|fakes| fakes.person(question.hook))
            .transpose();
        let said =
            match said.map_err(|error| NoAnswer::Error(format!("ask for approval: {error}")))? {
                Some(Person::Silent) => return Err(silence()),
                Some(Person::Says(reply)) => Some(reply),
                None => None,
            };
        let request = self.request(question);
        let answered = async {
            if let Some(reply) = said {
                return Ok(reply.into());
            }
            match client.filter(|client| client.answers().approvals) {
                Some(client) => {
                    let params =
                        serde_json::to_value(&request).map_err(|error| error.to_string())?;
                    let reply = client.request(client::APPROVE, params).await;
                    let reply = reply.map_err(|error| format!("ask for approval: {error}"))?;
                    let reply = serde_json::from_value(reply).map(ApprovalReply::into);
                    reply.map_err(|error| format!("read the approval: {error}"))
                }
                None => self.wait(request).await,
            }
        };
        let answered: Answered = tokio::time::timeout(timeout, answered)
            .await
            .map_err(|_| silence())?
            .map_err(NoAnswer::Error)?;
        let reply = &answered.reply;
        // An answer that replaces the input doesn't fit another input.
        let fits_others = remember != Remember::Tool || reply.subject.is_none();
        if let Some(key) = key.filter(|_| reply.remember && fits_others) {
            let value = serde_json::to_value(reply).unwrap_or_default();
            if let Err(error) = state.set(&Scope::Guards, &key, value, Some(REMEMBERED)) {
                tracing::warn!(%error, "An approval is not remembered.");
            }
        }
        Ok(answered)
    }

    /// The questions that wait, oldest first.
    pub fn list(&self) -> Vec<ApprovalRequest> {
        let mut waiting: Vec<_> = self
            .waiting()
            .values()
            .map(|it| it.request.clone())
            .collect();
        waiting.sort_by_key(|request| request.asked_at);
        waiting
    }

    /// Tells of each change of what waits. Whoever is slow hears of the last one only.
    pub fn changes(&self) -> watch::Receiver<ApprovalsChanged> {
        self.0.changed.subscribe()
    }

    /// Answers a question. The first answer counts, wherever it comes from.
    ///
    /// # Errors
    /// None of that name waits.
    pub fn answer(&self, id: &str, answered: impl Into<Answered>) -> Result<(), String> {
        let waiting = self.waiting().remove(id);
        waiting
            .and_then(|waiting| waiting.answer.send(answered.into()).ok())
            .ok_or_else(|| {
                format!("no approval `{id}` waits; it was answered, taken back or ran out of time")
            })
    }

    async fn wait(&self, request: ApprovalRequest) -> Result<Answered, String> {
        struct Guard<'a>(&'a Approvals, String);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                let mut waiting = self.0.waiting();
                waiting.remove(&self.1);
                self.0.announce(&waiting);
            }
        }
        let (answer, reply) = oneshot::channel();
        let id = request.id.clone();
        tracing::info!(
            id,
            hook = request.hook,
            "An approval is waited for: `hookwire approvals list` lists it."
        );
        {
            let mut waiting = self.waiting();
            if waiting.len() >= MAX_WAITING {
                return Err(format!(
                    "ask for approval: {MAX_WAITING} questions wait already"
                ));
            }
            waiting.insert(id.clone(), Waiting { request, answer });
            self.announce(&waiting);
        }
        let _guard = Guard(self, id);
        reply
            .await
            .map_err(|_| "get an approval: the question was taken back".to_string())
    }

    fn request(&self, question: Question<'_>) -> ApprovalRequest {
        let event = question.event;
        let asked_at = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        ApprovalRequest {
            id: format!(
                "{:08x}",
                self.0
                    .ids
                    .hash_one(self.0.asked.fetch_add(1, Ordering::Relaxed)) as u32
            ),
            hook: question.hook.to_string(),
            message: question.message,
            event: event.name.to_string(),
            session: event.session().to_string(),
            agent: event.text("/agent/name").map(str::to_string),
            tool: event.tool_name().map(str::to_string),
            cwd: event.cwd().map(str::to_string),
            subject: event.subject().cloned().unwrap_or_default(),
            timeout_ms: millis(question.timeout),
            unanswered: Some(question.unanswered),
            asked_at: millis(asked_at),
        }
    }

    /// Says that others wait now. The lock is held, so that the last one who says it is right.
    fn announce(&self, waiting: &BTreeMap<String, Waiting>) {
        self.0.changed.send_replace(ApprovalsChanged {
            waiting: waiting.len(),
        });
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<String, Waiting>> {
        self.0.waiting.lock()
    }
}

/// The directory that an event is in, as it is written and where it leads: a link may lead
/// elsewhere tomorrow. With it where the paths lead that the event names, and the texts of the
/// scripts that run there. None if the file system doesn't say, or not in time.
async fn place(question: &Question<'_>) -> Option<String> {
    let cwd = question.event.cwd().unwrap_or_default().to_string();
    let (path, files, paths) = (
        PathBuf::from(&cwd),
        question.files.clone(),
        question.paths.clone()?,
    );
    let read = look(move || {
        let leads: Vec<Vec<PathBuf>> = paths
            .iter()
            .map(|path| leads_to(path))
            .collect::<Option<_>>()?;
        let leads = leads
            .concat()
            .into_iter()
            .map(|path| path.into_os_string().into_encoded_bytes());
        let resolved = std::fs::canonicalize(path).unwrap_or_default();
        let scripts = files
            .iter()
            .take(MAX_FILES)
            .map(|file| paths::script(&file.to_string_lossy(), Path::new("/")));
        let scripts: Vec<Option<String>> = scripts
            .map(|text| text.known().ok())
            .collect::<Option<_>>()?;
        let scripts = scripts
            .into_iter()
            .map(|text| text.unwrap_or_default().into_bytes());
        let seen = [resolved.into_os_string().into_encoded_bytes()]
            .into_iter()
            .chain(leads)
            .chain(scripts);
        Some(
            seen.map(|bytes| digest::of_bytes(&bytes))
                .collect::<Vec<_>>(),
        )
    });
    let seen = tokio::time::timeout(READ_WITHIN, read).await.ok()???;
    let texts: Vec<&str> = [&*cwd]
        .into_iter()
        .chain(seen.iter().map(String::as_str))
        .collect();
    Some(digest::hex(&digest::of_texts(&texts)))
}

/// Where a path leads, and a pattern of names through the links that it comes across. `None` if
/// that would take too much.
fn leads_to(path: &Path) -> Option<Vec<PathBuf>> {
    let mut leads: Vec<PathBuf> = match path.to_str().filter(|text| text.contains(WILDCARDS)) {
        Some(pattern) => through_links(
            &pattern
                .split('/')
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>(),
        )?,
        None => Vec::new(),
    };
    leads.sort();
    leads.push(paths::resolved(path).unwrap_or_default());
    Some(leads)
}

/// Where the answer to the same question would be kept. None without a session.
async fn remembered_key(question: &Question<'_>) -> Option<String> {
    let event = question.event;
    let digest_at = |pointer: &str| event.at(pointer).map(digest::of_value).unwrap_or_default();
    // What an input does depends on where, and on what reads it: `rm -rf .` in a scratch directory
    // is no approval for another one. What a person was told is part of what they said yes to.
    let what = match question.remember {
        Remember::Input => {
            let subject = event.subject().map(digest::of_value).unwrap_or_default();
            [
                subject,
                place(question).await?,
                digest_at("/shell"),
                question.message.clone(),
            ]
        }
        Remember::Tool => Default::default(),
        Remember::Never => return None,
    };
    let definitions = question
        .definitions
        .iter()
        .map(|it| format!("{it:x} "))
        .collect::<String>();
    let session = Some(event.session()).filter(|session| !session.is_empty())?;
    let (tool, agent) = (event.tool_name().unwrap_or_default(), digest_at("/agent"));
    let by = [question.file, question.hook, &definitions];
    let about = [session, &event.name, tool, &agent]
        .into_iter()
        .chain(what.iter().map(String::as_str));
    let key = digest::of_texts(&about.chain(by).collect::<Vec<_>>());
    Some(format!("approval {}", digest::hex(&key)))
}
