//! A list of tools in a response, of which some are left out or shown as they were.

use super::message::{Message, place_of, spliced};
use serde_json::Value;
use serde_json::value::RawValue;

/// A list of tools.
pub struct Listed {
    /// Each tool as it is to be sent, with its name if it has one.
    pub tools: Vec<(Option<String>, String)>,
    is_changed: bool,
}

impl Listed {
    /// The list in a response, with the value of each tool.
    pub fn read<'m>(message: &'m Message<'_>) -> Option<(Listed, &'m [Value])> {
        let values = message.get("/result/tools")?.as_array()?;
        let mut listed = Listed::in_text(message.text)?;
        // Half of a surrogate pair in a name is read in the same way as in the name of a call.
        for ((name, _), value) in listed.tools.iter_mut().zip(values) {
            *name = value["name"].as_str().map(str::to_string);
        }
        (listed.tools.len() == values.len()).then_some((listed, values))
    }

    fn in_text(text: &str) -> Option<Listed> {
        let place = place_of(text, &["result", "tools"])?;
        let parts: Vec<&RawValue> = serde_json::from_str(text.get(place)?).ok()?;
        let tools = parts.iter().map(|part| {
            let name = place_of(part.get(), &["name"]).and_then(|place| part.get().get(place));
            (
                name.and_then(|name| serde_json::from_str(name).ok()),
                part.get().to_string(),
            )
        });
        Some(Listed {
            tools: tools.collect(),
            is_changed: false,
        })
    }

    /// Shows a tool so.
    pub fn show(&mut self, at: usize, definition: &str) {
        if let Some((_, text)) = self.tools.get_mut(at) {
            *text = definition.into();
            self.is_changed = true;
        }
    }

    /// The response with this list.
    pub fn put_into(&self, text: &str) -> Option<String> {
        if !self.is_changed {
            return Some(text.into());
        }
        let place = place_of(text, &["result", "tools"])?;
        let tools: Vec<&str> = self.tools.iter().map(|(_, tool)| tool.as_str()).collect();
        spliced(text, place, &format!("[{}]", tools.join(",")))
    }
}

/// The response with only those tools of its list that may be called; without a name they stay.
pub fn without(text: &str, keeps: impl Fn(&str) -> bool) -> Option<String> {
    let mut listed = Listed::in_text(text)?;
    let before = listed.tools.len();
    listed
        .tools
        .retain(|(name, _)| name.as_deref().is_none_or(&keeps));
    listed.is_changed = listed.tools.len() != before;
    listed.put_into(text)
}
