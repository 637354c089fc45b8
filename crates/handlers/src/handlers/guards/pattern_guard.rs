//! `pattern-guard`: holds regexes against the texts that go in and come out.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::{Kind, TextKind};
use super::super::pattern::Pattern;
use super::super::said::Redactor;
use super::super::text::{self, Abandoned, Place};
use super::guard_kind::{GuardKind, has_subject};
use super::read_places::{changed, places};
use super::refusal::deny;
use hookwire_base::event::{Event, EventSpec, Phase};
use hookwire_base::syntax::values::OneOrMany;
use hookwire_base::verdict::{Answer, Decision};
use regex::NoExpand;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// At gates the regexes are held against what goes in, at after-events against what comes out: each
/// text within it by itself. `deny` and `ask` look at keys too, `redact` only at values.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "PatternGuard")]
pub struct RawPatternGuard {
    /// What matches one of these is denied; at after-events, withheld.
    #[serde(default)]
    deny: Vec<Pattern>,
    /// What matches one of these is put to a person. At after-events there is nothing to ask about
    /// any more: it is withheld.
    #[serde(default)]
    ask: Vec<Pattern>,
    /// What these match is replaced.
    #[serde(default)]
    redact: Vec<Pattern>,
    /// What stands in for it.
    #[serde(default = "default_replacement")]
    replacement: String,
    /// `input`, `output` or both, which it is if not said.
    r#in: Option<OneOrMany>,
    /// Told instead of the regex that matched.
    reason: Option<String>,
}

fn default_replacement() -> String {
    "[redacted]".into()
}

#[derive(Debug)]
pub struct PatternGuard(Arc<Rules>);

#[derive(Debug)]
struct Rules {
    deny: Vec<Pattern>,
    ask: Vec<Pattern>,
    redact: Vec<Pattern>,
    replacement: String,
    input: bool,
    output: bool,
    reason: Option<String>,
}

impl GuardKind for PatternGuard {
    const EXAMPLE: &'static str = "{ deny: [BEGIN PRIVATE KEY] }";

    const EVENTS: &'static [&'static str] = &["PreToolUse", "PostToolUse", "UserPromptSubmit"];

    fn acts_at(spec: &EventSpec) -> bool {
        has_subject(spec)
    }

    fn acts_as_set(&self, spec: &EventSpec) -> bool {
        Self::acts_at(spec)
            && if spec.phase == Phase::Gate {
                self.0.input
            } else {
                self.0.output
            }
    }
}

impl Kind for PatternGuard {
    type Raw = RawPatternGuard;

    const TEXTS: &'static [(&'static str, TextKind)] = &[
        ("deny.*", TextKind::Regex),
        ("ask.*", TextKind::Regex),
        ("redact.*", TextKind::Regex),
    ];

    fn compile(raw: RawPatternGuard, _: &Compile<'_>) -> Result<Self, Mistake> {
        let RawPatternGuard {
            deny,
            ask,
            redact,
            replacement,
            r#in,
            reason,
        } = raw;
        if deny.is_empty() && ask.is_empty() && redact.is_empty() {
            return Err(Mistake::whole("a pattern guard needs regexes")
                .help("add `deny`, `ask` or `redact` with a list, e.g. `deny: ['rm\\s+-rf']`"));
        }
        let (mut input, mut output) = (r#in.is_none(), r#in.is_none());
        for word in r#in.iter().flat_map(OneOrMany::iter) {
            match word {
                "input" => input = true,
                "output" => output = true,
                other => {
                    return Err(Mistake::new(
                        "in",
                        format!("`in` is `input`, `output` or both, found `{other}`"),
                    ));
                }
            }
        }
        if !input && !output {
            return Err(
                Mistake::new("in", "`in` is empty").help("leave it out for both input and output")
            );
        }
        Ok(PatternGuard(Arc::new(Rules {
            deny,
            ask,
            redact,
            replacement,
            input,
            output,
            reason,
        })))
    }

    fn redactor(&self) -> Option<Redactor> {
        let rules = self.0.clone();
        let redactor = move |value: &Value, abandoned: &Abandoned| {
            rules.rewrite(value, abandoned, &mut Vec::new())
        };
        (!self.0.redact.is_empty()).then(|| Arc::new(redactor) as Redactor)
    }

    fn has_effects(&self) -> bool {
        false
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let event = call.moment.event();
        let wanted = match event.spec.phase {
            Phase::Gate => self.0.input,
            Phase::After => self.0.output,
            Phase::Note => false,
        };
        let Some(largest) = places(event)
            .filter(|_| wanted)
            .map(|(_, value)| value)
            .max_by_key(|it| text::size(it))
        else {
            return Ok(Answer::default());
        };
        let (rules, shared) = (self.0.clone(), event.clone());
        text::look_through(largest, move |abandoned| rules.judge(&shared, abandoned)).await
    }
}

impl Rules {
    fn judge(&self, event: &Event, abandoned: &Abandoned) -> Answer {
        let describe = |pattern: &Pattern| {
            let what = if event.spec.phase == Phase::After {
                "output"
            } else {
                "input"
            };
            self.reason
                .clone()
                .unwrap_or_else(|| format!("The {what} matches `{}`", pattern.0.as_str()))
        };
        if let Some(pattern) = first(&self.deny, event, abandoned) {
            return deny(event, describe(pattern));
        }
        if let Some(pattern) = first(&self.ask, event, abandoned) {
            return match event.spec.phase {
                Phase::Gate | Phase::Note => Answer::decide(Decision::Ask, describe(pattern)),
                Phase::After => deny(event, describe(pattern)),
            };
        }
        let mut matched: Vec<&str> = Vec::new();
        let rewritten =
            |(place, value)| Some((place, self.rewrite(value, abandoned, &mut matched)?));
        let changes = places(event).filter_map(rewritten).collect();
        let reason =
            (!matched.is_empty()).then(|| format!("Redacted what matches {}", matched.join(", ")));
        Answer {
            reason,
            ..changed(event, changes)
        }
    }

    /// Keys mostly are a tool's own words: they are judged, and stay.
    fn rewrite<'r>(
        &'r self,
        value: &Value,
        abandoned: &Abandoned,
        matched: &mut Vec<&'r str>,
    ) -> Option<Value> {
        text::rewrite(value, &mut |place, text| match place {
            Place::Value(_) if !abandoned.is_set() => self.redacted(text, matched),
            Place::Value(_) | Place::Key => None,
        })
    }

    fn redacted<'r>(&'r self, text: &str, matched: &mut Vec<&'r str>) -> Option<String> {
        let mut changed: Option<String> = None;
        for Pattern(regex) in &self.redact {
            let before = changed.as_deref().unwrap_or(text);
            if regex.is_match(before) {
                changed = Some(
                    regex
                        .replace_all(before, NoExpand(&self.replacement))
                        .into_owned(),
                );
                if !matched.contains(&regex.as_str()) {
                    matched.push(regex.as_str());
                }
            }
        }
        changed
    }
}

/// The first pattern that matches a text of an event that the model reads.
fn first<'p>(patterns: &'p [Pattern], event: &Event, abandoned: &Abandoned) -> Option<&'p Pattern> {
    patterns.iter().find(|pattern| {
        let mut found = false;
        for (_, value) in places(event) {
            text::each(value, &mut |text| {
                found = found || !abandoned.is_set() && pattern.0.is_match(text)
            });
        }
        found
    })
}
