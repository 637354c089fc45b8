//! The answer of a hook, the outcome of its run, and the verdict: the one combined answer to an
//! event.

use crate::support::visible::safe_lines;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// An enum whose variants are words on the wire: what serde, the schema, `as_str` and `from_word`
/// say comes from one table.
#[macro_export]
macro_rules! words {
    ($(#[$attribute:meta])* pub enum $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $name {
            $($(#[$about])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }

            /// The value that a word on the wire stands for.
            pub fn from_word(word: &str) -> Option<$name> {
                match word {
                    $($word => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

words! {
    /// What may happen next. The order is that of strength: a later one wins over an earlier one.
    #[derive(Default)]
    pub enum Decision {
        /// Go on.
        Allow = "allow",
        /// A person decides.
        Ask = "ask",
        /// Put the act off; the client resumes it later.
        Defer = "defer",
        /// Don't.
        // A verdict that nobody has filled in lets nothing through.
        #[default]
        Deny = "deny",
    }
}

/// The answer of a hook, whatever its handler. All members are optional; an empty answer is no
/// opinion. Unknown members are refused: a misspelt `decision` must not pass as an allow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Answer {
    /// Absent: no opinion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Why, for the person or the agent that meets the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The subject's new value; null is a value.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub subject: Option<Value>,
    /// Instead of `subject`: a JSON merge patch (RFC 7396) over it, so that what isn't named stays
    /// as it is; null removes a member. The subject must be an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<Value>,
    /// Use the new value as it is and run no further hooks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// End the run, for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// Shown to the person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub user_messages: Vec<String>,
    /// Given to the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_context: Vec<String>,
    /// A JSON merge patch (RFC 7396) over `metadata`, `messages`, `systemPrompt`, `responseFormat`,
    /// `tool`, `errors`, `eventMetadata` (gone after the event) and `state` (whatever else the
    /// agent has).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// What to do about a failed model call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// What was odd about a reply in another vocabulary: the verdict lists it under `errors`. Not
    /// part of the answer's form.
    #[serde(skip)]
    pub remarks: Vec<String>,
    /// The same as `stop` for systems that give the reason as a code. Not part of the answer's
    /// form.
    #[serde(skip)]
    pub signals: Vec<StopSignal>,
    /// The reply in the hook's own vocabulary, where its dialect makes more of it than the members
    /// above can hold. Not part of the answer's form.
    #[serde(skip)]
    pub said: Option<Value>,
}

/// A request to end the run, with its reason. (instructor.)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopSignal {
    /// In a word.
    pub reason: StopReason,
    /// For people.
    #[serde(default)]
    pub message: String,
    /// The numbers behind it.
    #[serde(default)]
    pub context: Map<String, Value>,
    /// The source of the request; the hook's name if it is absent.
    #[serde(default)]
    pub source: Option<String>,
}

words! {
    /// Why a run is to end. The order is that of strength: of several, the first is reported.
    // Those with another name as well: instructor-php's document calls them so.
    pub enum StopReason {
        /// Something failed.
        Error = "error",
        /// A hook or a tool asks.
        StopRequested = "stop_requested",
        /// The person asks.
        UserRequested = "user_requested",
        /// Too many steps.
        #[serde(alias = "StepsLimitReached")]
        StepsLimit = "steps_limit",
        /// Too many tokens.
        #[serde(alias = "TokenLimitReached")]
        TokenLimit = "token_limit",
        /// Too much time.
        #[serde(alias = "TimeLimitReached")]
        TimeLimit = "time_limit",
        /// Too many attempts.
        RetryLimit = "retry_limit",
        /// The model stopped for a reason that ends the run.
        FinishReason = "finish_reason",
        /// The work is done.
        Completed = "completed",
        /// No reason is known.
        Unknown = "unknown",
    }
}

impl StopSignal {
    /// What it asks for, in words.
    pub fn text(&self) -> &str {
        if self.message.is_empty() {
            self.reason.as_str()
        } else {
            &self.message
        }
    }
}

/// `Some(null)` for a member that is there and null; serde alone would say `None`.
pub fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A member that must be there, whatever its value; serde alone would take an absent one for null.
pub fn any<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Value::deserialize(deserializer)
}

impl Answer {
    /// Spells out in the texts that people read what would hide or reorder others there; their
    /// lines stay.
    pub fn make_readable(&mut self) {
        spell_out(self.reason.iter_mut().chain(&mut self.user_messages));
    }

    /// Yes, for this reason.
    pub fn allow(reason: impl Into<String>) -> Answer {
        Answer::decide(Decision::Allow, reason)
    }

    /// No, for this reason.
    pub fn deny(reason: impl Into<String>) -> Answer {
        Answer::decide(Decision::Deny, reason)
    }

    /// A person is to decide, for this reason.
    pub fn ask(reason: impl Into<String>) -> Answer {
        Answer::decide(Decision::Ask, reason)
    }

    /// The subject is to be this; later hooks see it.
    pub fn rewrite(subject: impl Into<Value>) -> Answer {
        Answer {
            subject: Some(subject.into()),
            ..Answer::default()
        }
    }

    /// These members of the subject are to be changed, by a JSON merge patch (RFC 7396): null
    /// removes one.
    pub fn patch(patch: impl Into<Value>) -> Answer {
        Answer {
            patch: Some(patch.into()),
            ..Answer::default()
        }
    }

    /// An answer that only decides.
    pub fn decide(decision: Decision, reason: impl Into<String>) -> Answer {
        Answer {
            decision: Some(decision),
            reason: Some(reason.into()),
            ..Answer::default()
        }
    }
}

/// A decision on a failed model call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retry {
    /// What to do.
    pub action: RetryAction,
    /// How long to wait first, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after_ms: Option<u64>,
    /// The model to fall back to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
}

/// In milliseconds, rounded up: a wait is not shorter than was asked for, and no bound becomes
/// zero.
pub fn millis_up(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

words! {
    /// See [`Retry`].
    pub enum RetryAction {
        /// Call the same model again.
        Retry = "retry",
        /// Give up.
        Fail = "fail",
        /// Call another model.
        Fallback = "fallback",
    }
}

words! {
    /// What one hook's run ended in.
    pub enum Status {
        /// It ran and doesn't stand in the way.
        Success = "success",
        /// It said no, asks a person or puts the act off.
        Blocking = "blocking",
        /// It failed: crash, unreadable reply, refused connection.
        NonBlockingError = "non_blocking_error",
        /// It was stopped: timeout, deadline or a cancelled request.
        Cancelled = "cancelled",
        /// It was selected but not run, for the reason given.
        Skipped = "skipped",
        /// It is `async`: it was started, and nobody waits for it. `hooks/ended` tells how it
        /// ended.
        Started = "started",
    }
}

/// What a hook that only observes would have done. It counts for nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Observed {
    /// The decision that would have counted, its failure direction's included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The hook would have changed the subject or the context.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rewrote: bool,
    /// The hook would have ended the run, for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// What it would have said about a failed model call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

words! {
    /// What a hook that observes would have come to, in a word. The order is that of strength.
    pub enum Would {
        /// Nothing would have been different.
        Allow = "allow",
        /// It would have said what to do about a failed model call.
        Retry = "retry",
        /// It would have changed something.
        Rewrite = "rewrite",
        /// It would have ended the run.
        Stop = "stop",
        /// It would have had a person asked.
        Ask = "ask",
        /// It would have put the act off.
        Defer = "defer",
        /// It would have denied it.
        Deny = "deny",
    }
}

impl Observed {
    /// What the hook would have come to.
    pub fn would(&self) -> Would {
        match self.decision {
            Some(Decision::Deny) => Would::Deny,
            Some(Decision::Defer) => Would::Defer,
            Some(Decision::Ask) => Would::Ask,
            Some(Decision::Allow) | None if self.stop.is_some() => Would::Stop,
            Some(Decision::Allow) | None if self.rewrote => Would::Rewrite,
            Some(Decision::Allow) | None if self.retry.is_some() => Would::Retry,
            Some(Decision::Allow) | None => Would::Allow,
        }
    }
}

/// One selected hook's part in a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The hook's name.
    pub hook: Arc<str>,
    /// What its run ended in.
    pub status: Status,
    /// The decision that counted, its failure direction's included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The hook's reason, or why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What went wrong; the decision then comes from the hook's failure direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why the hook's condition could be neither held nor refuted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opaque: Option<String>,
    /// The scripts that a condition has looked into, because the call runs them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub scripts: Vec<LookedInto>,
    /// The hook changed the subject or the context.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub rewrote: bool,
    /// The hook judged the final value after another hook's rewrite.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub rejudged: bool,
    /// The hook only observes: what it would have done. Of its decision, its rewrite and its
    /// messages, nothing is in the verdict.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub observed: Option<Observed>,
    /// What it did step by step, for the kinds that record it: sub-agents and judges.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub transcript: Vec<Value>,
    /// The answer's own words, for the dialect that knows them. Not part of the outcome's form.
    #[serde(skip)]
    pub said: Option<Value>,
    /// The answer's `stop`. Not part of the outcome's form.
    #[serde(skip)]
    pub stop: Option<String>,
    /// Why it wants the run to end, for hooks that give the reason as a code.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub stop_signals: Vec<StopSignal>,
    /// How long it ran, in microseconds.
    pub duration_micros: u64,
    /// The hook doesn't fail open. Not part of the outcome's form.
    #[serde(skip)]
    pub fails_closed: bool,
    /// When it began; absent when it wasn't run.
    #[serde(skip)]
    pub started_at: Option<SystemTime>,
}

/// A script as it was when it was looked into; it may have changed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LookedInto {
    /// Its path, as the call names it.
    pub path: String,
    /// The SHA-256 of its text, in hexadecimal digits.
    pub sha256: String,
}

impl Outcome {
    /// What it would have changed, if it only observes and would have changed something.
    pub fn would(&self) -> Option<Would> {
        self.observed
            .as_ref()
            .map(Observed::would)
            .filter(|would| *would != Would::Allow)
    }

    /// Why it came out so: the error, else the reason, be it that of what the hook would have done.
    pub fn why(&self) -> Option<&str> {
        let observed = self.observed.as_ref().and_then(|it| it.reason.as_ref());
        self.error
            .as_ref()
            .or(self.reason.as_ref())
            .or(observed)
            .map(String::as_str)
    }

    /// When the run began and when it ended, if it was run.
    pub fn times(&self) -> Option<(SystemTime, SystemTime)> {
        let start = self.started_at?;
        Some((start, start + Duration::from_micros(self.duration_micros)))
    }
}

/// The one combined answer to an event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// What may happen.
    pub decision: Decision,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The hook whose decision this is; absent when no hook had an opinion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Arc<str>>,
    /// The subject's new value; absent: unchanged, null is a value.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub subject: Option<Value>,
    /// The JSON merge patch (RFC 7396) from the event's subject to `subject`, if hooks only set
    /// members. Absent where the subject is not an object, where a member becomes null, and where
    /// one is removed: the patch would name it, and its name may be a secret.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub patch: Option<Value>,
    /// A hook gave `subject` as a replacement for whatever would have happened.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub replaced: bool,
    /// End the run, for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// For the person, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub user_messages: Vec<String>,
    /// For the model, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub additional_context: Vec<String>,
    /// Merge patch over what else hooks changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// What to do about a failed model call; the first hook's word wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// What the policies grant a tool call: `sandbox`, `timeoutMs`, `maxOutputBytes`, `callsLeft`.
    /// The agent that runs the tool keeps to it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grant: Option<Value>,
    /// Every selected hook, in the order of running.
    pub outcomes: Vec<Outcome>,
    /// Definitions that are broken, conflicts between rewrites, capped send-backs.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub errors: Vec<String>,
    /// The generation of the file definitions that judged.
    pub generation: u64,
    /// The content hash of those definitions.
    pub hash: Arc<str>,
    /// The generation of the connection's registered hooks, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_generation: Option<u64>,
    /// The event's identifier, as in the log.
    pub event_id: Arc<str>,
}

fn spell_out<'t>(texts: impl Iterator<Item = &'t mut String>) {
    for text in texts {
        if let Cow::Owned(readable) = safe_lines(text) {
            *text = readable;
        }
    }
}

impl Verdict {
    /// Whether an agent would do something else by the other one.
    pub fn differs(&self, other: &Verdict) -> bool {
        (self.decision, &self.subject, self.stop.is_some())
            != (other.decision, &other.subject, other.stop.is_some())
    }

    /// A decision that no hook made, under definitions of this generation and content.
    pub fn silent(
        decision: Decision,
        generation: u64,
        hash: Arc<str>,
        event_id: Arc<str>,
    ) -> Verdict {
        Verdict {
            decision,
            generation,
            hash,
            event_id,
            ..Verdict::default()
        }
    }

    /// The doubts that the decision could hang on: hooks that couldn't tell whether they apply, and
    /// why. There are none where another hook denies for certain, since then nothing that a doubt
    /// turns out to be would change it.
    pub fn doubts(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let is_certain = |outcome: &Outcome| {
            outcome.decision == Some(Decision::Deny) && outcome.opaque.is_none()
        };
        let is_open = self.decision != Decision::Deny || !self.outcomes.iter().any(is_certain);
        // Nothing hangs on a hook that only observes.
        let count = self.outcomes.iter().filter(|it| it.observed.is_none());
        let doubts = count.filter_map(|it| Some((&*it.hook, it.opaque.as_deref()?)));
        doubts.filter(move |_| is_open)
    }

    /// Spells out in the texts that people read what would hide or reorder others there; their
    /// lines stay.
    pub fn make_readable(&mut self) {
        self.make_own_words_readable();
        let reasons = self.outcomes.iter_mut().flat_map(|it| {
            let observed = it
                .observed
                .iter_mut()
                .flat_map(|it| [&mut it.reason, &mut it.stop]);
            std::iter::once(&mut it.reason).chain(observed)
        });
        let texts = [&mut self.reason, &mut self.stop]
            .into_iter()
            .chain(reasons)
            .flatten();
        spell_out(texts.chain(&mut self.user_messages));
    }

    /// The same in what hookwire itself says, which quotes what agents write. What hooks say goes
    /// to programs as it is.
    pub fn make_own_words_readable(&mut self) {
        let outcomes = self
            .outcomes
            .iter_mut()
            .flat_map(|it| [&mut it.error, &mut it.opaque])
            .flatten();
        spell_out(outcomes.chain(&mut self.errors));
    }

    /// The verdict as if the hooks that only observe weren't there: the one that agents of other
    /// vocabularies read.
    pub fn without_observers(&self) -> Cow<'_, Verdict> {
        let is_one = |it: &Outcome| it.observed.is_some();
        if !self.outcomes.iter().any(is_one) {
            return Cow::Borrowed(self);
        }
        let mut enforced = self.clone();
        enforced.outcomes.retain(|it| !is_one(it));
        Cow::Owned(enforced)
    }

    /// The outcomes of the hooks that changed something.
    pub fn rewriters(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.rewrote)
    }

    /// Begins a sentence that says which hooks changed something, and why.
    pub fn who_rewrote(&self) -> String {
        let describe = |outcome: &Outcome| match &outcome.reason {
            Some(reason) => format!("`{}` ({reason})", outcome.hook),
            None => format!("`{}`", outcome.hook),
        };
        let hooks: Vec<String> = self.rewriters().map(describe).collect();
        match &*hooks {
            [] => "a hook rewrote this".to_string(),
            [hook] => format!("hook {hook} rewrote this"),
            hooks => format!("hooks {} rewrote this", hooks.join(", ")),
        }
    }

    /// The hook that keeps the event from going on: the one that decided, or else the one that
    /// asked for the end of the run.
    pub fn refused_by(&self) -> Option<&Arc<str>> {
        match self.decision {
            Decision::Ask | Decision::Defer | Decision::Deny => self.decided_by.as_ref(),
            Decision::Allow => {
                let stops = self
                    .outcomes
                    .iter()
                    .find(|outcome| outcome.stop.is_some())
                    .map(|outcome| &outcome.hook);
                stops.or(self.decided_by.as_ref())
            }
        }
    }
}
