//! What stands for language models, web services, a person and the clock while hooks are tested.
//!
//! Where a host has fakes, nobody outside of it is asked: a question that no fake answers is an
//! error of its hook, and is kept for whoever runs the test, because a hook that fails open would
//! hide it.

use super::approval::{Approval, ApprovalReply};
use super::conversation::{ModelReply, Request, ToolCall};
#[cfg(feature = "http")]
use bytes::Bytes;
use hookwire_base::support::amounts::millis;
use hookwire_base::support::visible::cut;
use hookwire_base::syntax::values::forms;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// What the fakes of a test answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answers {
    /// What the model of a hook says, by the hook's name.
    models: BTreeMap<String, ModelAnswers>,
    /// What a service replies, by the URL as the hook has it.
    http: BTreeMap<String, HttpAnswer>,
    /// What a person says to whoever asks.
    person: Option<Person>,
}

/// What a model says: the same each time, or one after the other.
#[derive(Clone, Debug)]
enum ModelAnswers {
    Always(ModelAnswer),
    InOrder(VecDeque<ModelAnswer>),
}

#[derive(Clone, Debug)]
enum ModelAnswer {
    /// The reply as it is.
    Text(String),
    /// A judge's verdict in the form that it was asked for.
    Verdict { decision: Judgement, reason: String },
    /// The tools that it wants called.
    Calls(Vec<FakeCall>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModelAnswer {
    decision: Option<Judgement>,
    reason: Option<String>,
    calls: Option<Vec<FakeCall>>,
}

/// What a judge may decide.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Judgement {
    Allow,
    Deny,
    Ask,
    None,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FakeCall {
    name: String,
    #[serde(default)]
    input: Value,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpAnswer {
    #[serde(default = "ok")]
    status: u16,
    /// A text is sent as it is, anything else as JSON.
    #[serde(default)]
    body: Option<Value>,
}

fn ok() -> u16 {
    200
}

/// What a person says.
#[derive(Clone, Debug)]
pub enum Person {
    /// Nothing, in time.
    Silent,
    /// An answer.
    Says(ApprovalReply),
}

forms! { ModelAnswer, "a text, or a map with `decision` or `calls`",
    text(text) => Ok(ModelAnswer::Text(text)),
    map(map: RawModelAnswer) => match map {
        RawModelAnswer { decision: Some(decision), reason, calls: None } => {
            Ok(ModelAnswer::Verdict { decision, reason: reason.unwrap_or_default() })
        }
        RawModelAnswer { decision: None, reason: None, calls: Some(calls) } => Ok(ModelAnswer::Calls(calls)),
        _ => Err("a model says a text, a `decision` with its `reason`, or `calls`".into()),
    },
}

forms! { ModelAnswers, "a text, a map with `decision` or `calls`, or a list of these",
    text(text) => Ok(ModelAnswers::Always(ModelAnswer::Text(text))),
    map(answer: ModelAnswer) => Ok(ModelAnswers::Always(answer)),
    list(answers: VecDeque<ModelAnswer>) => Ok(ModelAnswers::InOrder(answers)),
}

forms! { Person, "approve, deny, silent, or a map with `decision`",
    text(word) => {
        let says = |decision| Person::Says(ApprovalReply { decision, reason: None, subject: None, remember: false });
        match word.as_str() {
            "approve" => Ok(says(Approval::Approve)),
            "deny" => Ok(says(Approval::Deny)),
            "silent" => Ok(Person::Silent),
            _ => Err(format!("expected approve, deny, silent, or a map with `decision`, found `{}`", cut(&word, 60))),
        }
    },
    map(reply: ApprovalReply) => Ok(Person::Says(reply)),
}

impl Answers {
    /// These, and where they say nothing, the others.
    pub fn or(mut self, others: &Answers) -> Answers {
        for (hook, answers) in &others.models {
            self.models
                .entry(hook.clone())
                .or_insert_with(|| answers.clone());
        }
        for (url, answer) in &others.http {
            self.http
                .entry(url.clone())
                .or_insert_with(|| answer.clone());
        }
        self.person = self.person.or_else(|| others.person.clone());
        self
    }

    /// A person answers, so that an `ask` can be put to one.
    pub fn has_person(&self) -> bool {
        self.person.is_some()
    }

    /// The hooks for whose models they speak.
    pub fn hooks_with_models(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }
}

/// The time of day at which each case begins, wherever it is tried.
pub fn time_of_cases() -> SystemTime {
    SystemTime::UNIX_EPOCH + START
}

/// The fakes of a host that is under test.
#[derive(Debug, Default)]
pub struct Fakes {
    answers: Mutex<Answers>,
    /// How far the clock has been put forward, in milliseconds.
    ahead: AtomicU64,
    unanswered: Mutex<Vec<String>>,
}

/// 2026-01-01T00:00:00Z, when each case begins.
const START: Duration = Duration::from_secs(1_767_225_600);

impl Fakes {
    /// Answers this from now on. What nobody has answered so far is forgotten.
    pub fn answer(&self, answers: Answers) {
        *self.answers.lock() = answers;
        self.unanswered.lock().clear();
    }

    /// The questions that no fake has answered.
    pub fn unanswered(&self) -> Vec<String> {
        self.unanswered.lock().clone()
    }

    /// Puts the clock forward.
    pub fn pass(&self, time: Duration) {
        self.ahead.fetch_add(millis(time), Ordering::Relaxed);
    }

    /// How far the clock has been put forward, in milliseconds.
    pub fn ahead(&self) -> u64 {
        self.ahead.load(Ordering::Relaxed)
    }

    /// The time of day in a case that began when the clock was so far ahead: the same in every
    /// test.
    pub fn time(&self, began: u64) -> SystemTime {
        time_of_cases() + Duration::from_millis(self.ahead().saturating_sub(began))
    }

    /// Notes that nothing answers, and says what to write. The text stands behind "failed to ask
    /// somebody: ".
    fn miss(&self, who: &str, write: &str) -> String {
        let why = format!(
            "nothing is asked in a test, and no fake answers; write `fakes: {{ {write} }}`"
        );
        self.unanswered.lock().push(format!("{who}: {why}"));
        why
    }

    /// The status and the body that a service replies to a POST with.
    #[cfg(feature = "http")]
    pub fn post(&self, url: &str) -> Result<(u16, Bytes), String> {
        let Some(HttpAnswer { status, body }) = self.answers.lock().http.get(url).cloned() else {
            return Err(self.miss(url, &format!("http: {{ \"{url}\": {{ status: 200 }} }}")));
        };
        let body = match body {
            None => Bytes::new(),
            Some(Value::String(text)) => text.into(),
            Some(other) => other.to_string().into(),
        };
        Ok((status, body))
    }

    /// For what is more than a POST, which no fake stands for.
    #[cfg(feature = "mcp")]
    pub fn connect(&self, url: &str) -> String {
        let why = "nothing is asked in a test, and servers at a URL have no fake; name one that is started by a command";
        self.unanswered.lock().push(format!("{url}: {why}"));
        why.to_string()
    }

    /// What the model of a hook says.
    #[cfg(feature = "models")]
    pub fn complete(&self, hook: &str, request: &Request) -> Result<ModelReply, String> {
        let answer = match self.answers.lock().models.get_mut(hook) {
            Some(ModelAnswers::Always(answer)) => Some(answer.clone()),
            Some(ModelAnswers::InOrder(answers)) => answers.pop_front(),
            None => None,
        };
        let Some(answer) = answer else {
            let write = format!("models: {{ {hook}: {{ decision: deny, reason: ... }} }}");
            return Err(self.miss(&format!("the model of `{hook}`"), &write));
        };
        Ok(match answer {
            ModelAnswer::Text(text) => ModelReply {
                text,
                ..ModelReply::default()
            },
            ModelAnswer::Verdict { decision, reason } => {
                // A judge repeats the number at the end of its instructions.
                let nonce = request
                    .system
                    .rsplit_once("nonce: ")
                    .map_or("", |(_, nonce)| nonce);
                let text =
                    json!({ "reason": reason, "decision": decision, "nonce": nonce }).to_string();
                ModelReply {
                    text,
                    ..ModelReply::default()
                }
            }
            ModelAnswer::Calls(calls) => {
                let call = |(n, FakeCall { name, input }): (usize, FakeCall)| ToolCall {
                    id: format!("call-{n}"),
                    name,
                    input,
                    signature: None,
                };
                ModelReply {
                    calls: calls.into_iter().enumerate().map(call).collect(),
                    ..ModelReply::default()
                }
            }
        })
    }

    /// What a person says to a hook.
    pub fn person(&self, hook: &str) -> Result<Person, String> {
        let said = self.answers.lock().person.clone();
        said.ok_or_else(|| self.miss(&format!("a person, asked by `{hook}`"), "person: approve"))
    }
}
