//! `guard`: built-in guards that need no code. One small file a guard, one row in the table below;
//! `list --guards`, the schema and diagnostics follow from the row.
//!
//! A guard is a `Kind` of its own. What it counts is `memory`'s matter; the simplest guard to
//! copy is `finish_reason.rs`, the simplest that counts is `step_limit.rs`.

mod approval;
mod audit_log;
mod context_config;
mod cost_limit;
mod fallback_model;
mod finish_reason;
mod loop_detector;
mod memory;
mod pattern_guard;
mod rate_limit;
mod raw;
mod redact_secrets;
mod secret_rules;
mod secrets;
mod step_limit;
mod text;
mod time_limit;
mod token_limit;

use super::{Call, Compile, Effect, HandlerError, Kind, Mistake};
use crate::contract::Tally;
use crate::event::On;
use crate::event::{Event, EventSpec, Phase};
use crate::support::nearest::closest;
use crate::syntax::node::{Node, NodeValue};
use crate::syntax::source::Layer;
use crate::template::PATHS;
use crate::verdict::{Answer, Decision, StopReason, StopSignal};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A row of the guard table.
#[derive(Debug)]
pub struct GuardRow {
    /// The guard's name.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// The events of a hook that doesn't say `on`.
    pub events: &'static [&'static str],
    /// Whether the guard can do anything at an event.
    pub acts_at: fn(&EventSpec) -> bool,
}

macro_rules! guards {
    ($($name:literal, $about:literal, on $events:expr, at $acts_at:expr => $variant:ident($kind:ty);)*) => {
        /// Every guard that a definition may name.
        pub static GUARDS: &[GuardRow] =
            &[$(GuardRow { name: $name, about: $about, events: &$events, acts_at: $acts_at }),*];

        const NAMES: &[&str] = &[$($name),*];

        /// A guard with its settings.
        #[derive(Debug)]
        pub(crate) enum Guard {
            $($variant($kind),)*
        }

        /// A guard's name, or a map of its name to its settings.
        pub(crate) enum RawGuard {
            $($variant(<$kind as Kind>::Raw),)*
        }

        impl RawGuard {
            fn with_defaults<E: Error>(name: &str) -> Result<RawGuard, E> {
                match name {
                    $($name => none().map(RawGuard::$variant),)*
                    _ => Err(E::unknown_variant(name, NAMES)),
                }
            }

            fn with_settings<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<RawGuard, A::Error> {
                match name {
                    $($name => match map.next_value::<Option<_>>()? {
                        Some(settings) => Ok(RawGuard::$variant(settings)),
                        None => none().map(RawGuard::$variant),
                    },)*
                    _ => Err(A::Error::unknown_variant(name, NAMES)),
                }
            }

            fn schemas(generator: &mut SchemaGenerator) -> Vec<(&'static GuardRow, Schema, bool)> {
                let (read, lines) = (|_: &std::path::Path| Err(String::new()), |_: &str| Vec::new());
                let dir = std::path::Path::new(".");
                let cx = Compile { dir, layer: Layer::Hooks, client: None, model: None, placeholders: &PATHS, read: &read, lines: &lines };
                let schemas = [$((
                    generator.subschema_for::<<$kind as Kind>::Raw>(),
                    none::<_, serde::de::value::Error>().is_ok_and(|raw| <$kind as Kind>::compile(raw, &cx).is_ok()),
                )),*];
                GUARDS.iter().zip(schemas).map(|(row, (schema, may_be_bare))| (row, schema, may_be_bare)).collect()
            }
        }

        impl Kind for Guard {
            type Raw = RawGuard;

            fn compile(raw: RawGuard, cx: &Compile<'_>) -> Result<Self, Mistake> {
                match raw {
                    $(RawGuard::$variant(raw) => <$kind as Kind>::compile(raw, cx)
                        .map(Guard::$variant)
                        .map_err(|mistake| Mistake { within: Some($name), ..mistake }),)*
                }
            }

            async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
                match self {
                    $(Guard::$variant(it) => it.run(call).await,)*
                }
            }

            fn effect(&self) -> Option<Effect> {
                match self {
                    $(Guard::$variant(it) => it.effect(),)*
                }
            }
        }

        impl Guard {
            /// The guard's name.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $(Guard::$variant(_) => $name,)*
                }
            }
        }
    };
}

guards! {
    "step-limit", "ends a run after a number of steps, or of any other events",
        on ["StepStart"], at decides => StepLimit(step_limit::StepLimit);
    "token-limit", "ends a run that has used a number of tokens",
        on ["PostModelCall", "PreModelCall"], at decides => TokenLimit(token_limit::TokenLimit);
    "time-limit", "ends a run that has taken too long",
        on ["RunStart", "UserPromptSubmit", "StepStart", "PreModelCall", "PreToolUse"], at decides => TimeLimit(time_limit::TimeLimit);
    "finish-reason", "ends a run when the model stops for one of these reasons",
        on ["PostModelCall"], at knows_finish => FinishReason(finish_reason::FinishReason);
    "cost-limit", "ends a run whose model calls have cost an amount",
        on ["PostModelCall", "PreModelCall"], at decides => CostLimit(cost_limit::CostLimit);
    "rate-limit", "denies what comes too often within a time",
        on ["PreToolUse"], at gates => RateLimit(rate_limit::RateLimit);
    "loop-detector", "denies a call that the agent makes over and over",
        on ["PreToolUse"], at gates_with_subject => LoopDetector(loop_detector::LoopDetector);
    "pattern-guard", "denies, asks about or redacts text that regexes match, on the way in and out",
        on ["PreToolUse", "PostToolUse", "UserPromptSubmit"], at has_subject => PatternGuard(pattern_guard::PatternGuard);
    "redact-secrets", "replaces keys, tokens and passwords in what goes in and out",
        on ["PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit"], at has_subject => RedactSecrets(redact_secrets::RedactSecrets);
    "approval", "asks a person, and waits for the answer",
        on ["PreToolUse"], at gates => Approval(approval::Approval);
    "fallback-model", "decides on failed model calls: try again, take another model, give up",
        on ["ModelCallError"], at model_errors => FallbackModel(fallback_model::FallbackModel);
    "context-config", "sets the system prompt, the response format or metadata when a run begins",
        on ["RunStart"], at decides => ContextConfig(context_config::ContextConfig);
    "audit-log", "writes one JSON line an event into a file that is rotated",
        on ["PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SessionStart", "SessionEnd"],
        at any => AuditLog(audit_log::AuditLog);
}

fn any(_: &EventSpec) -> bool {
    true
}

fn decides(spec: &EventSpec) -> bool {
    spec.phase != Phase::Note
}

fn gates(spec: &EventSpec) -> bool {
    spec.phase == Phase::Gate && !is_rest(spec.name)
}

fn has_subject(spec: &EventSpec) -> bool {
    spec.subject.is_some()
}

fn gates_with_subject(spec: &EventSpec) -> bool {
    gates(spec) && has_subject(spec)
}

fn knows_finish(spec: &EventSpec) -> bool {
    matches!(spec.name, "PostModelCall" | "StepEnd")
}

fn model_errors(spec: &EventSpec) -> bool {
    spec.name == "ModelCallError"
}

/// Where a deny sends the agent back to work.
fn is_rest(event: &str) -> bool {
    matches!(event, "Stop" | "SubagentStop")
}

impl Guard {
    /// How long a run may take where the hook doesn't say, if longer than others.
    pub(crate) fn patience(&self) -> Option<std::time::Duration> {
        match self {
            Guard::Approval(approval) => Some(approval.patience()),
            _ => None,
        }
    }

    /// Whether its answer depends on what it has counted or seen before.
    pub(crate) fn counts(&self) -> bool {
        match self {
            Guard::StepLimit(_)
            | Guard::TokenLimit(_)
            | Guard::TimeLimit(_)
            | Guard::CostLimit(_)
            | Guard::RateLimit(_)
            | Guard::LoopDetector(_) => true,
            Guard::FinishReason(_)
            | Guard::PatternGuard(_)
            | Guard::RedactSecrets(_)
            | Guard::Approval(_)
            | Guard::FallbackModel(_)
            | Guard::ContextConfig(_)
            | Guard::AuditLog(_) => false,
        }
    }

    /// Its row.
    pub(crate) fn row(&self) -> Option<&'static GuardRow> {
        GUARDS.iter().find(|row| row.name == self.name())
    }
}

/// The events of a guard without `on`, from its definition as written; those of the guard that was
/// probably meant, so that a broken one can be stood in for. `None` when that can't be told.
pub fn natural_events(guard: &Node) -> Option<On> {
    let name = match &guard.value {
        NodeValue::String(name) => name,
        NodeValue::Map(entries) => &entries.first()?.key,
        NodeValue::Null
        | NodeValue::Bool(_)
        | NodeValue::Int(_)
        | NodeValue::UInt(_)
        | NodeValue::Float(_)
        | NodeValue::Seq(_) => return None,
    };
    let known = closest(name, NAMES.iter().copied())?;
    let row = GUARDS.iter().find(|row| row.name == known)?;
    Some(On::Names(row.events.iter().map(|event| Arc::from(*event)).collect()))
}

/// Settings of which none is given.
fn none<'de, T: Deserialize<'de>, E: Error>() -> Result<T, E> {
    T::deserialize(MapDeserializer::new(std::iter::empty::<(StrDeserializer<'de, E>, StrDeserializer<'de, E>)>()))
}

impl<'de> Deserialize<'de> for RawGuard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct GuardVisitor;

        impl<'de> Visitor<'de> for GuardVisitor {
            type Value = RawGuard;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a guard's name, or a map of its name to its settings")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<RawGuard, E> {
                RawGuard::with_defaults(name)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawGuard, A::Error> {
                let Some(GuardName(name)) = map.next_key()? else {
                    return Err(A::Error::custom("a guard has a name, such as `step-limit`"));
                };
                let guard = RawGuard::with_settings(name, &mut map)?;
                match map.next_key::<String>()? {
                    None => Ok(guard),
                    Some(second) => Err(A::Error::custom(format_args!(
                        "a hook has one guard, this has `{name}` and `{second}`; write another hook for it"
                    ))),
                }
            }
        }
        deserializer.deserialize_any(GuardVisitor)
    }
}

/// A known guard's name; as a type, so that a mistake is placed at the key.
struct GuardName(&'static str);

impl<'de> Deserialize<'de> for GuardName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = NAMES.iter().find(|known| **known == name);
        known.map(|known| GuardName(known)).ok_or_else(|| D::Error::unknown_variant(&name, NAMES))
    }
}

impl JsonSchema for RawGuard {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Guard".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        let mut bare = Vec::new();
        for (row, schema, may_be_bare) in RawGuard::schemas(generator) {
            let mut forms = vec![json!(schema)];
            if may_be_bare {
                forms.push(json!({ "type": "null" }));
                bare.push(json!({ "const": row.name, "description": row.about }));
            }
            properties.insert(row.name.into(), json!({ "description": row.about, "anyOf": forms }));
        }
        schemars::json_schema!({
            "description": "A guard's name, or a map of its name to its settings.",
            "anyOf": [
                { "oneOf": bare },
                { "type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1, "maxProperties": 1 },
            ],
        })
    }
}

/// No, and the run ends. A deny of Stop would send the agent back to work: there the end is enough,
/// and so it is in systems whose guards only signal.
fn end_run(call: &Call<'_>, reason: StopReason, refusal: Refusal) -> Answer {
    let event = call.moment.event();
    let Refusal { message, facts: context } = refusal;
    let denies = event.spec.phase == Phase::Gate && !is_rest(&event.name) && call.hook.contract.tally.is_none();
    Answer {
        decision: denies.then_some(Decision::Deny),
        reason: Some(message.clone()),
        stop: Some(message.clone()),
        signals: vec![StopSignal { reason, message, context, source: None }],
        ..Answer::default()
    }
}

/// What stands against an event, and the numbers behind it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Refusal {
    message: String,
    facts: Map<String, Value>,
}

impl Refusal {
    fn new<const N: usize>(message: String, facts: [(&str, Value); N]) -> Refusal {
        Refusal { message, facts: facts.into_iter().map(|(key, value)| (key.to_string(), value)).collect() }
    }
}

impl From<String> for Refusal {
    fn from(message: String) -> Refusal {
        Refusal { message, facts: Map::new() }
    }
}

/// What the agent itself tells of the run, where it does.
fn tally(call: &Call<'_>) -> Option<Tally> {
    call.hook.contract.tally.map(|tally| tally(call.moment.event()))
}

/// No to an after-event: what happened can't be undone, but what came of it is withheld.
fn deny(event: &Event, message: String) -> Answer {
    let answer = Answer::decide(Decision::Deny, message);
    match event.spec.phase {
        Phase::Gate | Phase::Note => answer,
        Phase::After => Answer { subject: Some(Value::Null), replace: true, ..answer },
    }
}

/// The name of the model that an event is about, wherever its agent says it.
fn model_name(event: &Event) -> Option<&str> {
    ["/model/name", "/model/response/model", "/model/request/model"].into_iter().find_map(|at| event.text(at))
}

/// The tokens of a model call: input and output.
fn usage(event: &Event) -> Result<(u64, u64), HandlerError> {
    let usage = event.at("/model/usage");
    let tokens = |key: &str| match usage.and_then(|usage| usage.get(key)) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => whole(value).map(Some).ok_or_else(|| {
            HandlerError(format!("count tokens: model.usage.{key} of {} is not a whole number", event.name))
        }),
    };
    match (tokens("inputTokens")?, tokens("outputTokens")?) {
        (None, None) => Err(HandlerError(format!(
            "count tokens: {} has no model.usage with inputTokens and outputTokens",
            event.name
        ))),
        (input, output) => Ok((input.unwrap_or_default(), output.unwrap_or_default())),
    }
}

/// A whole number, however it is written.
fn whole(value: &Value) -> Option<u64> {
    let float = || value.as_f64().filter(|it| it.fract() == 0.0 && (0.0..9e15).contains(it)).map(|it| it as u64);
    value.as_u64().or_else(float)
}

/// Whether an event is one at which a model call's tokens are told.
fn tells_usage(event: &Event) -> bool {
    &*event.name == "PostModelCall" || event.spec.phase == Phase::After && event.at("/model/usage").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_acts_at_its_natural_events() {
        for row in GUARDS {
            for event in row.events {
                let spec = crate::event::spec(event).unwrap_or_else(|| panic!("{}: {event}", row.name));
                assert!((row.acts_at)(spec), "{} at {event}", row.name);
            }
        }
    }
}
