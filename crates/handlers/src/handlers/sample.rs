//! A commented sample of a handler kind. Copy this file, rename, and add two lines to
//! `handlers/mod.rs`: its `mod`, and its row in the table. Help, schema, diagnostics and `check
//! --list` follow from the row. It is compiled and run by tests, so it can't go stale.
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
use hookwire_base::verdict::{Answer, Decision};
use schemars::JsonSchema;
use serde::Deserialize;

/// What was written. Derive `JsonSchema`: the docs of the fields become the schema's. No
/// `flatten`, `untagged` or `tag`: they lose the place of a mistake.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawSample {
    /// The longest prompt that passes.
    max_chars: usize,
}

/// What was meant: nothing here can be wrong any more.
#[derive(Debug)]
pub struct Sample {
    max_chars: usize,
}

impl Kind for Sample {
    type Raw = RawSample;

    fn compile(raw: RawSample, _: &Compile<'_>) -> Result<Self, Mistake> {
        if raw.max_chars == 0 {
            // The field's name places the message at its value.
            return Err(Mistake::new(
                "maxChars",
                "a limit of 0 would refuse every prompt",
            ));
        }
        Ok(Sample {
            max_chars: raw.max_chars,
        })
    }

    // It only answers. A kind that doesn't say so counts as one that does more.
    fn has_effects(&self) -> bool {
        false
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        // "No" is an answer; not being able to tell is an error, and what that means is up to the
        // hook's `fail`. Time limits and cancellation are the engine's: this future is dropped.
        let prompt = call
            .moment
            .event()
            .text("/prompt")
            .ok_or_else(|| HandlerError("find a prompt".into()))?;
        Ok(self.judge(prompt))
    }
}

impl Sample {
    /// The answer to one prompt.
    fn judge(&self, prompt: &str) -> Answer {
        let length = prompt.chars().count();
        if length <= self.max_chars {
            return Answer::default();
        }
        Answer::decide(
            Decision::Deny,
            format!(
                "{length} characters; at most {} are allowed",
                self.max_chars
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_base::syntax::source::Layer;
    use hookwire_base::template::PATHS;

    /// The kind, as a definition file has it.
    fn compile(text: &str) -> Result<Sample, Mistake> {
        let cx = Compile {
            dir: "/".as_ref(),
            root: None,
            temporary: None,
            approved: None,
            real_dir: None,
            layer: Layer::Hooks,
            client: None,
            rules: None,
            model: None,
            signals_stops: false,
            placeholders: &PATHS,
            read: &|_| Err("a sample reads no file".into()),
            lines: &|_| Vec::new(),
        };
        Sample::compile(serde_json::from_str(text).unwrap(), &cx)
    }

    #[test]
    fn the_sample_works() {
        let mistake = compile(r#"{ "maxChars": 0 }"#).unwrap_err();
        assert_eq!(mistake.message, "a limit of 0 would refuse every prompt");
        let sample = compile(r#"{ "maxChars": 3 }"#).unwrap();
        for (prompt, expected) in [("abc", None), ("abcd", Some(Decision::Deny))] {
            assert_eq!(sample.judge(prompt).decision, expected, "{prompt}");
        }
    }
}
