//! The commands of a tool call that the hook's `if` names, changed in their place.

use super::in_place::{self, Change};
use super::{HandlerError, within_subject, written};
use crate::handlers::HookView;
use hookwire_base::support::shell_word;
use hookwire_rules::matching::Facts;
use hookwire_rules::matching::shell::{self, Shell};
use hookwire_rules::matching::tools::{SHELL_OPTIONS, shell_text};
use serde_json::Value;

/// A text that takes longer to read than other events may wait for is not changed, in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// The tool's input with its commands changed; `None` if there is nothing to change.
pub(super) fn rewrite(
    facts: &Facts,
    hook: &HookView<'_>,
    change: &Change,
) -> Result<Option<Value>, HandlerError> {
    let event = &facts.event;
    let pointer = event.spec.subject.unwrap_or_default();
    if within_subject("tool.input", pointer).is_none_or(|rest| !rest.is_empty()) {
        let why = format!("hooks can rewrite `{}` at {}", written(pointer), event.name);
        return Err(HandlerError(format!("change the command: {why}")));
    }
    let Some(input) = event.subject() else {
        return Ok(None);
    };
    let row = facts.row(hook.source.layer);
    let places = row
        .shell_arguments(input)
        .map_err(|why| HandlerError(format!("change the command: {why}")))?;
    let change = |text: &str, shell: Shell| {
        if text.len() > MAX_TEXT {
            return Err(HandlerError(format!(
                "change the command: its text has more than {MAX_TEXT} bytes"
            )));
        }
        let script = shell::read(text, shell);
        let hits = hook.tools.hit_commands(&script, facts, hook.asker());
        in_place::change(text, shell, &script, &hits, change).map_err(HandlerError)
    };
    let mut after = input.clone();
    for place in places {
        let Some(value) = input.pointer(&place) else {
            continue;
        };
        let changed = match value.as_array().map(Vec::as_slice) {
            // A shell with its text: `[bash, -lc, text]`.
            Some(
                [
                    Value::String(program),
                    Value::String(option),
                    Value::String(text),
                ],
            ) if SHELL_OPTIONS.contains(&option.as_str())
                && Shell::named(program) != Shell::Other =>
            {
                change(text, Shell::named(program))?
                    .map(|text| Value::from([program.clone(), option.clone(), text].to_vec()))
            }
            Some(_) => {
                let text = shell_text(value)
                    .map(|text| change(&text, facts.shell(row)))
                    .transpose()?
                    .flatten();
                let words = text.map(|text| shell_word::words(&text)).transpose();
                words
                    .map_err(|why| HandlerError(format!("change the command: {why}")))?
                    .map(Value::from)
            }
            None => value
                .as_str()
                .map(|text| change(text, facts.shell(row)))
                .transpose()?
                .flatten()
                .map(Value::from),
        };
        if let (Some(changed), Some(value)) = (changed, after.pointer_mut(&place)) {
            *value = changed;
        }
    }
    Ok(Some(after).filter(|after| after != input))
}
