//! A commented sample of a handler kind. Copy this file, rename, and add two lines to
//! `handlers/mod.rs`: its `mod`, and its row in the table. Help, schema, diagnostics and `list` follow from
//! the row. It is compiled and run by tests, so it can't go stale.
//!
//! The sample says no to events after a given number of characters in the prompt:
//!
//! ```yaml
//! - { name: short-prompts, on: UserPromptSubmit, sample: { maxChars: 200 } }
//! ```

use super::call::Call;
use super::compile::{Compile, Mistake};
use super::error::HandlerError;
use super::kind::Kind;
use crate::verdict::{Answer, Decision};
use schemars::JsonSchema;
use serde::Deserialize;

/// What was written. Derive `JsonSchema`: the docs of the fields become the schema's. No
/// `flatten`, `untagged` or `tag`: they lose the place of a mistake.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RawSample {
    /// The longest prompt that passes.
    max_chars: usize,
}

/// What was meant: nothing here can be wrong any more.
#[derive(Debug)]
pub(crate) struct Sample {
    max_chars: usize,
}

impl Kind for Sample {
    type Raw = RawSample;

    fn compile(raw: RawSample, _: &Compile<'_>) -> Result<Self, Mistake> {
        if raw.max_chars == 0 {
            // The field's name places the message at its value.
            return Err(Mistake::new("maxChars", "a limit of 0 would refuse every prompt"));
        }
        Ok(Sample { max_chars: raw.max_chars })
    }

    // It only answers. A kind that doesn't say so counts as one that does more.
    fn has_effects(&self) -> bool {
        false
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        // "No" is an answer; not being able to tell is an error, and what that means is up to the
        // hook's `fail`. Time limits and cancellation are the engine's: this future is dropped.
        let prompt = call.moment.event().text("/prompt").ok_or_else(|| HandlerError("find a prompt".into()))?;
        let length = prompt.chars().count();
        if length <= self.max_chars {
            return Ok(Answer::default());
        }
        Ok(Answer::decide(Decision::Deny, format!("{length} characters; at most {} are allowed", self.max_chars)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_works() {
        use crate::definitions::compile;
        use crate::dialects;
        use crate::engine::{Engine, Honours, HooksInForce, Question, decide};
        use crate::event::Event;
        use crate::hook_set::HookSet;
        use crate::support::file::read_named;
        use crate::syntax::diagnostic::LineIndex;
        use crate::syntax::formats;
        use crate::syntax::source::Layer;
        let load = |max: usize| {
            let text = format!(
                "hooks: [{{ name: short, on: UserPromptSubmit, fail: closed, sample: {{ maxChars: {max} }} }}]"
            );
            let root = formats::parse(&text, formats::Format::Yaml).unwrap();
            let origin = crate::definitions::origin::Origin::new("hooks.yaml", "/".as_ref(), Layer::Hooks, &read_named);
            compile::compile(&root, &origin, &LineIndex::new(&text))
        };
        assert_eq!(load(0).problems[0].message, "a limit of 0 would refuse every prompt");
        let hooks = load(3).hooks.into_iter().filter_map(|it| it.hook).collect();
        let files = std::sync::Arc::new(HookSet::new(hooks, 1, "hash".into(), Vec::new()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for (prompt, expected) in [("abc", Decision::Allow), ("abcd", Decision::Deny)] {
            let event = Event::from_json(serde_json::json!({"event": "UserPromptSubmit", "prompt": prompt})).unwrap();
            let question = Question {
                event: event.into(),
                deadline: None,
                hooks: HooksInForce { files: files.clone(), session: None },
                contract: &dialects::native().contract,
                honours: Honours::default(),
                client: None,
                early_deadline: Default::default(),
            };
            let engine = Engine::new(crate::handlers::Services::new("/".into(), Vec::new()));
            assert_eq!(runtime.block_on(decide(&engine, question)).decision, expected);
        }
    }
}
