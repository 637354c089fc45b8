//! One run of a hook: what a handler gets, and how it fails.

use super::environment::Variables;
use super::error::HandlerError;
use super::services::Services;
use crate::services::client::Client;
#[cfg(feature = "models")]
use crate::services::models::{Bound, ModelRef};
use crate::services::state::Occasion;
use bytes::Bytes;
use hookwire_base::event::{Event, On, Phase};
use hookwire_base::syntax::source::{Layer, Source};
use hookwire_base::template::{self, Style};
use hookwire_base::verdict::Verdict;
use hookwire_rules::contract::{Contract, Fail, NATIVE};
use hookwire_rules::matching::rule::Condition;
use hookwire_rules::matching::tools::{self, ArgumentKind, Found, MainArgument};
use hookwire_rules::matching::{Asker, Facts, patience};
use parking_lot::Mutex;
use serde_json::Value;
use std::cell::RefCell;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// One run of one hook.
pub struct Call<'a> {
    /// The hook.
    pub hook: HookView<'a>,
    /// The event as the hook is to see it.
    pub moment: &'a Arc<Moment>,
    /// What handlers share.
    pub services: &'a Services,
    /// The client that sent the event, if it can be asked.
    pub client: Option<&'a Arc<dyn Client>>,
    /// The steps of the run, for the outcome.
    pub transcript: &'a Transcript,
    /// The way back to the hooks, for what the handler itself is about to do.
    pub judge: &'a dyn Judge,
}

/// What a handler knows of the hook that it carries out.
#[derive(Clone, Copy)]
pub struct HookView<'a> {
    /// Names it in verdicts, logs and diagnostics.
    pub name: &'a Arc<str>,
    /// For people.
    pub description: Option<&'a str>,
    /// Which events.
    pub on: &'a On,
    /// `if` and `unless`.
    pub tools: &'a Condition,
    /// A hash of its definition.
    pub fingerprint: u64,
    /// For one run.
    pub timeout: Duration,
    /// Started and forgotten.
    pub detached: bool,
    /// For people and tools.
    pub tags: &'a [String],
    /// The vocabulary it is written for.
    pub contract: &'static Contract,
    /// Where it is written.
    pub source: &'a Source,
    /// Its rules are held against what a call does by any means.
    pub judges_acts: bool,
    /// It is a fixed deny or ask.
    pub is_verdict: bool,
    /// What it says itself of a failure.
    pub fail: Option<Fail>,
}

impl HookView<'_> {
    /// Who asks, for what a tool is called.
    pub fn asker(&self) -> Asker {
        // Hooks of other systems are for the tools that their documents name.
        let guesses = self.contract.dialect == NATIVE;
        let (acts, any_depth) = (guesses && self.judges_acts, guesses && self.is_verdict);
        Asker {
            layer: self.source.layer,
            naming: self.contract.tool_naming,
            guesses,
            acts,
            any_depth,
        }
    }
}

/// The hooks in force, as a handler that acts can ask them. The engine implements it.
pub trait Judge: Send + Sync {
    /// Judges an event of the handler's own.
    fn judge(&self, event: Event) -> Pin<Box<dyn Future<Output = Verdict> + Send + '_>>;

    /// How many handlers' own acts this run is within; 0 for what a client sent.
    fn depth(&self) -> u8;

    /// Whether a person is asked nothing, because what the hook says counts for nothing.
    fn asks_nobody(&self) -> bool;
}

impl Call<'_> {
    /// Does work that looks at the event: here if it hardly takes time, else on a thread apart,
    /// which this waits for. The work heeds its [patience], so that neither an event nor a disk
    /// keeps this thread from the next message.
    ///
    /// # Errors
    /// It has panicked.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        work: impl Fn(&Facts) -> T + Send + 'static,
    ) -> Result<T, HandlerError> {
        if let Some(done) = patience::quickly(|| work(&self.moment.facts)) {
            return Ok(done);
        }
        let moment = self.moment.clone();
        let done = self.services.aside.run(move || work(&moment.facts)).await;
        done.ok_or_else(|| {
            HandlerError("judge the call: a panic; this is a bug in hookwire".into())
        })
    }

    /// What this run counts for, as no other does.
    pub(super) fn occasion(&self) -> Occasion {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed).to_string();
        Occasion {
            event: self.moment.event().id.clone(),
            hook: self.hook.name.clone(),
            run: run.into(),
        }
    }

    /// Whether an agent waits for the run before it acts.
    pub(super) fn is_at_gate(&self) -> bool {
        !self.hook.detached && self.moment.event().spec.phase == Phase::Gate
    }

    /// Fills something in with what the placeholders of the hook's vocabulary stand for.
    ///
    /// # Errors
    /// A placeholder is for what the call is about, and it can't be told what that is: the tool may
    /// take another argument than the handler would be shown.
    pub(super) fn filled<T>(
        &self,
        fill: impl FnOnce(&dyn Fn(&str) -> Option<Value>) -> T,
    ) -> Result<T, HandlerError> {
        let placeholders = &self.hook.contract.placeholders;
        let unclear = RefCell::new(None);
        let filled = fill(&|name| match placeholders.style {
            Style::Paths => {
                if self.main_argument(name) == Some(MainArgument::Unclear) {
                    unclear.borrow_mut().get_or_insert_with(|| name.to_string());
                }
                self.path(name)
            }
            Style::Braces | Style::Dollars => (placeholders.value)(self.moment.event(), name),
        });
        match unclear.into_inner() {
            None => Ok(filled),
            Some(name) => Err(HandlerError(format!(
                "fill in `{name}`: the call has several, or gives none as a text"
            ))),
        }
    }

    /// What a path of hookwire's own vocabulary stands for.
    pub(super) fn path(&self, path: &str) -> Option<Value> {
        match (path, self.main_argument(path)) {
            ("hook", _) => Some(self.hook.name.to_string().into()),
            (_, Some(MainArgument::Is(argument))) => Some(argument.into()),
            (_, Some(MainArgument::Unclear | MainArgument::Absent)) => None,
            (_, None) => (template::PATHS.value)(self.moment.event(), path),
        }
    }

    /// What the call is about, if that is what a [name](template::OF_CALLS) stands for, or a member
    /// that another agent has for it: `tool.input.path` where this one says `file_path`.
    fn main_argument(&self, name: &str) -> Option<MainArgument<'_>> {
        let facts = &self.moment.facts;
        let input = facts.event.at("/tool/input")?;
        let row = facts.row(Layer::Session);
        if let Some(member) = name.strip_prefix("tool.input.") {
            return row
                .main_by_name(member, input)
                .filter(|_| input.get(member).is_none());
        }
        if !template::OF_CALLS.iter().any(|(it, _)| *it == name) {
            return None;
        }
        Some(match name {
            "path" => row.main_path(input),
            "url" => match row.find(input) {
                Found::Values(ArgumentKind::Url, values) => match &values[..] {
                    // A text may hold several.
                    [Value::String(url)] if !url.contains(char::is_whitespace) => {
                        MainArgument::Is(url.into())
                    }
                    _ => MainArgument::Unclear,
                },
                Found::Values(..) | Found::Patch(_) | Found::Nothing => MainArgument::Absent,
            },
            _ => match (
                row.main_command(input),
                facts
                    .tool()
                    .and_then(|tool| tools::main_argument(tool, input)),
            ) {
                // A list of words is one command.
                (MainArgument::Unclear, Some((ArgumentKind::Shell, text))) => {
                    MainArgument::Is(text)
                }
                (command, _) => command,
            },
        })
    }
}

#[cfg(feature = "models")]
impl Call<'_> {
    /// The model to ask: the hook's, else the host's, else the client's own, else a small one.
    pub(super) fn model<'a>(
        &'a self,
        named: Option<&'a ModelRef>,
    ) -> Result<Bound<'a>, HandlerError> {
        let egress = self.services.egress.for_layer(self.hook.source.layer);
        let deadline = tokio::time::Instant::now() + self.hook.timeout;
        // A test needs no model.
        static FAKED: ModelRef = ModelRef::CLIENT;
        let fake = self
            .services
            .fakes
            .as_deref()
            .map(|fakes| (fakes, &**self.hook.name));
        let small = match fake {
            Some(_) => Some(&FAKED),
            None if self.hook.contract.has_small_model => ModelRef::small(),
            None => None,
        };
        let named = [named, self.services.model.as_deref()];
        Ok(Bound::new(named, small, egress, self.client, deadline)
            .map_err(HandlerError::from)?
            .faked(fake))
    }
}

/// What a run did, step by step, as the outcome shows it.
#[derive(Default)]
pub struct Transcript(Mutex<Vec<Value>>);

impl Transcript {
    /// The most steps; what is beyond is left out.
    const MAX_STEPS: usize = 200;

    /// Notes a step.
    pub fn note(&self, step: Value) {
        let mut steps = self.0.lock();
        if steps.len() < Transcript::MAX_STEPS {
            steps.push(step);
        }
    }

    /// The steps so far.
    pub fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.0.lock())
    }
}

/// One version of an event with what handlers derive from it, each made once.
pub struct Moment {
    /// The facts that conditions and handlers read.
    pub facts: Facts,
    native: OnceLock<Bytes>,
    pub(super) environment: OnceLock<Variables>,
}

impl std::fmt::Debug for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Moment").field(self.event()).finish()
    }
}

impl Moment {
    /// A version of an event.
    pub fn new(event: Arc<Event>, root: &Path) -> Moment {
        Moment::of(Facts::new(event, root))
    }

    /// This moment, with nothing known of its call, for this reason.
    pub fn unread(&self, why: &'static str) -> Moment {
        Moment::of(self.facts.unread(why))
    }

    /// The next version of it.
    pub fn rewritten(&self, event: Arc<Event>) -> Moment {
        Moment::of(self.facts.rewritten(event))
    }

    /// The version of an event that facts are about.
    pub fn of(facts: Facts) -> Moment {
        Moment {
            facts,
            native: OnceLock::new(),
            environment: OnceLock::new(),
        }
    }

    /// The event.
    pub fn event(&self) -> &Arc<Event> {
        &self.facts.event
    }

    /// The event as JSON, in the vocabulary of the hook's dialect.
    pub(super) fn payload(&self, contract: &Contract) -> Bytes {
        self.encoded(contract, contract.payload)
    }

    /// The payload for a command's stdin.
    pub(super) fn stdin(&self, contract: &Contract) -> Bytes {
        self.encoded(contract, contract.stdin.unwrap_or(contract.payload))
    }

    fn encoded(&self, contract: &Contract, payload: fn(&Event) -> Value) -> Bytes {
        let encode = || Bytes::from(payload(self.event()).to_string());
        if contract.dialect == NATIVE {
            self.native.get_or_init(encode).clone()
        } else {
            encode()
        }
    }
}
