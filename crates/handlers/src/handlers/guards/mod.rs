//! `guard`: built-in guards that need no code. One small file a guard, one row in the table below;
//! `check --list guards`, the schema, diagnostics and editors follow from the row.
//!
//! A guard is a `Kind` of its own, and a `GuardKind`: its file says which events it is for and acts
//! at, what its texts are and whether it counts. What is counted is `memory`'s matter; the simplest
//! guard to copy is `finish_reason.rs`, the simplest that counts is `step_limit.rs`.

mod approval;
mod audit_log;
mod context_config;
mod cost_limit;
mod fallback_model;
mod finish_reason;
mod fleet;
mod guard_kind;
mod loop_detector;
mod memory;
mod pattern_guard;
mod rate_limit;
mod raw;
mod read_places;
mod redact_secrets;
mod refusal;
mod secret_rules;
mod secrets;
mod self_defence;
mod step_limit;
mod time_limit;
mod token_limit;
mod usage;

use super::call::{Call, HookView};
use super::compile::{Compile, Mistake};
use super::effect::Effect;
use super::error::HandlerError;
use super::kind::{Kind, TextKind};
use super::means::{Means, Obstacle};
use super::members;
use super::said::Redactor;
use guard_kind::GuardKind;
use hookwire_base::event::{EventSpec, On};
use hookwire_base::support::nearest::closest;
use hookwire_base::syntax::node::{Node, NodeValue, decode};
use hookwire_base::syntax::source::Layer;
use hookwire_base::template::PATHS;
use hookwire_base::verdict::Answer;
use schemars::{JsonSchema, Schema, SchemaGenerator};
pub use secrets::without_secrets;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, Visitor};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// A row of the guard table.
#[derive(Debug)]
pub struct GuardRow {
    /// The guard's name.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Settings as a definition may have them.
    example: &'static str,
    /// The events of a hook that doesn't say `on`.
    pub events: &'static [&'static str],
    /// Whether the guard can do anything at an event.
    pub acts_at: fn(&EventSpec) -> bool,
    /// Whether the guard learns at an event what it acts on at others, if it must.
    pub learns_at: Option<fn(&EventSpec) -> bool>,
    /// Whether a hook with the guard may only observe.
    pub may_observe: bool,
    /// What a text of its settings is, by the way to it.
    text_kind: fn(&[&str]) -> Option<TextKind>,
}

macro_rules! guards {
    ($($name:literal, $about:literal => $variant:ident($kind:ty);)*) => {
        /// Every guard that a definition may name.
        pub static GUARDS: &[GuardRow] =
            &[$(GuardRow {
                name: $name,
                about: $about,
                example: <$kind as GuardKind>::EXAMPLE,
                events: <$kind as GuardKind>::EVENTS,
                acts_at: <$kind as GuardKind>::acts_at,
                learns_at: <$kind as GuardKind>::LEARNS_AT,
                may_observe: <$kind as GuardKind>::MAY_OBSERVE,
                text_kind: <$kind as Kind>::text_kind,
            }),*];

        const NAMES: &[&str] = &[$($name),*];

        /// A guard with its settings.
        #[derive(Debug)]
        pub enum Guard {
            $($variant($kind),)*
        }

        /// A guard's name, or a map of its name to its settings.
        pub enum RawGuard {
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
                let cx = Compile { dir, root: None, temporary: None, approved: None, real_dir: None, layer: Layer::Hooks, client: None, rules: None, model: None, signals_stops: false, placeholders: &PATHS, read: &read, lines: &lines };
                let schemas = [$((
                    generator.subschema_for::<<$kind as Kind>::Raw>(),
                    none::<_, serde::de::value::Error>().is_ok_and(|raw| <$kind as Kind>::compile(raw, &cx).is_ok()),
                )),*];
                GUARDS.iter().zip(schemas).map(|(row, (schema, may_be_bare))| (row, schema, may_be_bare)).collect()
            }
        }

        impl Kind for Guard {
            type Raw = RawGuard;

            fn text_kind(path: &[&str]) -> Option<TextKind> {
                let (name, path) = path.split_first()?;
                GUARDS.iter().find(|row| row.name == *name).and_then(|row| (row.text_kind)(path))
            }

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

            fn has_effects(&self) -> bool {
                match self {
                    $(Guard::$variant(it) => it.has_effects(),)*
                }
            }

            fn effect(&self) -> Option<Effect> {
                match self {
                    $(Guard::$variant(it) => it.effect(),)*
                }
            }

            fn obstacle(&self, hook: &HookView<'_>, means: &Means) -> Option<Obstacle> {
                match self {
                    $(Guard::$variant(it) => it.obstacle(hook, means),)*
                }
            }

            fn awaited(&self, _: &On) -> Option<&'static str> {
                match self {
                    // It writes, and answers nothing.
                    Guard::AuditLog(_) => None,
                    _ => Some("answer"),
                }
            }

            fn default_timeout(&self) -> Option<Duration> {
                match self {
                    $(Guard::$variant(it) => it.default_timeout(),)*
                }
            }

            fn is_idempotent(&self) -> bool {
                true
            }

            fn writes(&self) -> Option<&std::path::Path> {
                match self {
                    $(Guard::$variant(it) => it.writes(),)*
                }
            }

            fn redactor(&self) -> Option<Redactor> {
                match self {
                    $(Guard::$variant(it) => it.redactor(),)*
                }
            }

            fn counts(&self) -> bool {
                match self {
                    $(Guard::$variant(it) => it.counts(),)*
                }
            }

            fn judges_acts(&self) -> bool {
                match self {
                    $(Guard::$variant(it) => it.judges_acts(),)*
                }
            }

            fn judges_starts(&self) -> bool {
                match self {
                    $(Guard::$variant(it) => it.judges_starts(),)*
                }
            }
        }

        impl Guard {
            /// Whether it can do anything at an event, with its settings.
            pub fn acts_as_set(&self, spec: &EventSpec) -> bool {
                match self {
                    $(Guard::$variant(it) => it.acts_as_set(spec),)*
                }
            }

            /// The guard's name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Guard::$variant(_) => $name,)*
                }
            }
        }
    };
}

guards! {
    "step-limit", "ends a run after a number of steps, or of any other events" => StepLimit(step_limit::StepLimit);
    "token-limit", "ends a run that has used a number of tokens" => TokenLimit(token_limit::TokenLimit);
    "time-limit", "ends a run that has taken too long" => TimeLimit(time_limit::TimeLimit);
    "finish-reason", "ends a run when the model stops for one of these reasons" => FinishReason(finish_reason::FinishReason);
    "cost-limit", "ends a run whose model calls have cost an amount" => CostLimit(cost_limit::CostLimit);
    "rate-limit", "denies what comes too often within a time" => RateLimit(rate_limit::RateLimit);
    "loop-detector", "denies a call that the agent makes over and over" => LoopDetector(loop_detector::LoopDetector);
    "pattern-guard", "denies, asks about or redacts text that regexes match, on the way in and out" => PatternGuard(pattern_guard::PatternGuard);
    "redact-secrets", "replaces keys, tokens and passwords in what goes in and out, and asks about those in tool calls" => RedactSecrets(redact_secrets::RedactSecrets);
    "approval", "asks a person, and waits for the answer" => Approval(approval::Approval);
    "fallback-model", "decides on failed model calls: try again, take another model, give up" => FallbackModel(fallback_model::FallbackModel);
    "context-config", "sets the system prompt, the response format or metadata when a run begins" => ContextConfig(context_config::ContextConfig);
    "self-defense", "asks a person before a tool changes hookwire's own files or answers for them" => SelfDefense(self_defence::SelfDefense);
    "audit-log", "writes one JSON line an event into a file that is rotated" => AuditLog(audit_log::AuditLog);
}

impl Guard {
    /// Its row.
    pub fn row(&self) -> Option<&'static GuardRow> {
        GUARDS.iter().find(|row| row.name == self.name())
    }
}

/// The guard of a definition as written; the one that was probably meant, so that a broken one can
/// be stood in for. `None` when that can't be told.
pub fn meant(guard: &Node) -> Option<&'static GuardRow> {
    let name = guard
        .text()
        .or_else(|| Some(&guard.entries().first()?.key))?;
    let known = closest(name, NAMES.iter().copied())?;
    GUARDS.iter().find(|row| row.name == known)
}

/// How a guard is written, for one whose form is wrong.
pub fn written_as(guard: &Node) -> String {
    if let [first, second, ..] = guard.entries()
        && members::takes("guard", Some(&first.key), &second.key)
    {
        let (name, setting) = (&first.key, &second.key);
        return format!(
            "indent `{setting}` below `{name}`: `guard: {{ {name}: {{ {setting}: ... }} }}`"
        );
    }
    if let NodeValue::Seq(_) = &guard.value {
        return "a hook has one guard: write a hook for each".into();
    }
    let row = |name: &str| GUARDS.iter().find(|row| row.name == name);
    match meant(guard) {
        Some(row) => format!("write `{}`", row.written()),
        // It stands where a name is expected, so it may be a setting.
        None => {
            let of_a_guard = row("step-limit").map(GuardRow::written).unwrap_or_default();
            format!(
                "the guard's name comes first, as in `{of_a_guard}`; `hookwire check --list guards` lists the names"
            )
        }
    }
}

impl GuardRow {
    /// The guard with settings, as a hook has it.
    pub fn written(&self) -> String {
        format!("guard: {{ {}: {} }}", self.name, self.example)
    }

    /// The events of a guard without `on`.
    pub fn natural_events(&self) -> On {
        On::Names(self.events.iter().map(|event| Arc::from(*event)).collect())
    }
}

/// Settings of which none is given.
fn none<T: DeserializeOwned, E: Error>() -> Result<T, E> {
    static NONE: Node = Node {
        span: 0..0,
        value: NodeValue::Map(Vec::new()),
    };
    decode(&NONE).map_err(E::custom)
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
        known
            .map(|known| GuardName(known))
            .ok_or_else(|| D::Error::unknown_variant(&name, NAMES))
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
            properties.insert(
                row.name.into(),
                json!({ "description": row.about, "anyOf": forms }),
            );
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
