//! `hookwire test --update`: what came out becomes what is expected, and nothing else in the file changes.

use crate::definitions::cases::{self, CameOut, Expected};
use crate::support::changes::{Change, apply};
use crate::syntax::formats::{self, Format};
use crate::syntax::node::{Node, NodeValue};
use serde_json::Value;
use std::path::Path;

/// A file of cases in which each of these cases, by its position, expects what came out.
pub(super) fn updated(file: &str, text: &str, news: &[(usize, CameOut)]) -> Result<String, String> {
    let format = Format::from_path(Path::new(file)).unwrap_or_default();
    let by_hand = || "what came out can't be written into it; change the cases by hand".to_string();
    let root = formats::parse(text, format).map_err(|_| by_hand())?;
    let items = cases::items(&root).ok_or_else(by_hand)?;
    let mut changes = Vec::new();
    for (position, came_out) in news {
        let case = items.get(*position).ok_or_else(by_hand)?;
        changes.extend(Writer { text, format, case }.changes(came_out).ok_or_else(by_hand)?);
    }
    let updated = apply(text, &changes);
    // Whatever the file looks like, what is written must mean what came out.
    let (cases, _) = cases::read_unfinished(file, &updated).map_err(|_| by_hand())?;
    let is_written =
        |(position, news): &(usize, CameOut)| cases.cases.get(*position).is_some_and(|it| it.expects(news));
    if news.iter().all(is_written) { Ok(updated) } else { Err(by_hand()) }
}

/// Writes the members of one case.
struct Writer<'a> {
    text: &'a str,
    format: Format,
    case: &'a Node,
}

impl Writer<'_> {
    /// `None` if the case isn't a map.
    fn changes(&self, news: &CameOut) -> Option<Vec<Change>> {
        let NodeValue::Map(members) = &self.case.value else { return None };
        let text = |text: &Option<String>| text.as_ref().map(|text| self.scalar(text));
        let outcomes: Vec<String> = news
            .outcomes
            .iter()
            .map(|(hook, part)| self.member(&self.scalar(hook), &self.scalar(part.as_str())))
            .collect();
        let wanted = [
            ("expect", Some(self.expected(&news.expected))),
            ("reason", text(&news.reason)),
            ("failure", text(&news.failure)),
            ("outcomes", (!outcomes.is_empty()).then(|| format!("{{ {} }}", outcomes.join(", ")))),
            ("observed", news.observed.map(|would| self.scalar(would.as_str()))),
        ];
        let mut changes = Vec::new();
        let mut new = Vec::new();
        for (key, value) in wanted {
            match (self.case.entry(key), value) {
                (Some(member), Some(value)) => changes.push((member.value.span.clone(), value)),
                (Some(member), None) => {
                    changes.push((self.extent(member.key_span.start, member.value.span.end), String::new()))
                }
                (None, Some(value)) => new.push(self.member(key, &value)),
                (None, None) => {}
            }
        }
        if !new.is_empty() {
            // Behind `expect`, else behind the last member.
            let end = self.case.get("expect").or(members.last().map(|it| &it.value))?.span.end;
            changes.push(self.insertion(end, &new));
        }
        Some(changes)
    }

    /// `{ a: 1, b: 2 }` or a map over several lines.
    fn is_flow(&self) -> bool {
        self.text.get(self.case.span.start..).is_some_and(|text| text.starts_with('{'))
    }

    fn insertion(&self, end: usize, members: &[String]) -> Change {
        if self.is_flow() {
            return (end..end, format!(", {}", members.join(", ")));
        }
        let end = self.text.get(..end).map_or(end, |text| text.trim_end().len());
        let end = end + self.text.get(end..).map_or(0, |rest| rest.find(['\r', '\n']).unwrap_or(rest.len()));
        let first = match &self.case.value {
            NodeValue::Map(members) => members.first().map_or(0, |it| it.key_span.start),
            _ => 0,
        };
        let line = self.text.get(..first).map_or(0, |text| text.rfind('\n').map_or(0, |at| at + 1));
        let indent = " ".repeat(first.saturating_sub(line));
        (end..end, members.iter().map(|member| format!("\n{indent}{member}")).collect())
    }

    /// A member with what separates it from the others.
    fn extent(&self, start: usize, end: usize) -> std::ops::Range<usize> {
        let (before, after) = (self.text.get(..start).unwrap_or_default(), self.text.get(end..).unwrap_or_default());
        if !self.is_flow() {
            let rest = after.find('\n').map_or(after.len(), |at| at + 1);
            let is_first = before.trim_end_matches(' ').ends_with('-');
            let line = before.trim_end_matches(' ').len();
            // What stands behind the hyphen of a list is the next member then.
            let skipped = after.get(rest..).map_or(0, |next| next.len() - next.trim_start_matches(' ').len());
            return if is_first { start..end + rest + skipped } else { line..end + rest };
        }
        let spaces = after.len() - after.trim_start().len();
        if let Some(rest) = after.trim_start().strip_prefix(',') {
            return start..end + spaces + 1 + (rest.len() - rest.trim_start_matches(' ').len());
        }
        let trimmed = before.trim_end();
        trimmed.strip_suffix(',').map_or(start, str::len)..end
    }

    fn member(&self, key: &str, value: &str) -> String {
        match self.format {
            Format::Yaml => format!("{key}: {value}"),
            Format::Toml => format!("{key} = {value}"),
            Format::Json => format!("\"{key}\": {value}"),
        }
    }

    fn expected(&self, expected: &Expected) -> String {
        let map = |key: &str, value: &str| format!("{{ {} }}", self.member(key, value));
        match expected {
            Expected::Command(command) => map("command", &self.scalar(command)),
            Expected::Subject(subject) => map("subject", &subject.to_string()),
            Expected::Context(context) => map("context", &self.scalar(context)),
            Expected::Deny | Expected::Ask | Expected::Allow | Expected::Doubt => self.scalar(&expected.to_string()),
        }
    }

    /// A text as the format writes it. In YAML, what is plainly words needs no quotes.
    fn scalar(&self, text: &str) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " ./_-;()'`".contains(c);
        let starts_plain = text.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_word = matches!(text.to_ascii_lowercase().as_str(), "true" | "false" | "null");
        match self.format {
            Format::Yaml if starts_plain && !is_word && text.chars().all(is_plain) && !text.ends_with(' ') => {
                text.into()
            }
            Format::Yaml | Format::Toml | Format::Json => Value::from(text).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_expected_changes() {
        let deny = || CameOut {
            expected: Expected::Deny,
            reason: Some("Off: no.".into()),
            failure: None,
            outcomes: [].into(),
            observed: None,
        };
        let allow =
            || CameOut { expected: Expected::Allow, reason: None, failure: None, outcomes: [].into(), observed: None };
        let failed = || CameOut {
            expected: Expected::Ask,
            reason: None,
            failure: Some("status 503".into()),
            outcomes: [].into(),
            observed: None,
        };
        let command = || CameOut {
            expected: Expected::Command("pnpm i".into()),
            reason: None,
            failure: None,
            outcomes: [].into(),
            observed: None,
        };
        for (file, before, news, after) in [
            (
                "a.yaml",
                "cases: # all\n  - { bash: ls, expect: allow } # one\n",
                deny(),
                "cases: # all\n  - { bash: ls, expect: deny, reason: \"Off: no.\" } # one\n",
            ),
            (
                "a.yaml",
                "cases:\n  - { reason: x, bash: ls, expect: deny }\n",
                allow(),
                "cases:\n  - { bash: ls, expect: allow }\n",
            ),
            (
                "a.yaml",
                "cases:\n  - { bash: ls, expect: deny, reason: x }\n",
                allow(),
                "cases:\n  - { bash: ls, expect: allow }\n",
            ),
            ("a.yaml", "cases: [{ bash: ls }]", allow(), "cases: [{ bash: ls, expect: allow }]"),
            (
                "a.yaml",
                "cases:\n  - bash: ls # list\n    expect: allow # no\n    # why\n    before:\n      - bash: a\n",
                deny(),
                "cases:\n  - bash: ls # list\n    expect: deny # no\n    reason: \"Off: no.\"\n    # why\n    before:\n      - bash: a\n",
            ),
            (
                "a.yaml",
                "cases:\n  - bash: |\n      ls\n    # last\n  - { bash: a, expect: deny }\n",
                failed(),
                "cases:\n  - bash: |\n      ls\n    expect: ask\n    failure: status 503\n    # last\n  - { bash: a, expect: deny }\n",
            ),
            (
                "a.yaml",
                "cases:\n  - reason: x\n    bash: ls\n    expect: deny\n",
                allow(),
                "cases:\n  - bash: ls\n    expect: allow\n",
            ),
            (
                "a.yaml",
                "cases:\n  - bash: ls\n    reason: x # y\n    expect: deny\n",
                command(),
                "cases:\n  - bash: ls\n    expect: { command: pnpm i }\n",
            ),
            (
                "a.json",
                "{\"cases\": [{\"bash\": \"ls\", \"expect\": \"deny\", // b\n\"reason\": \"x\"}]}",
                allow(),
                "{\"cases\": [{\"bash\": \"ls\", \"expect\": \"allow\", // b\n}]}",
            ),
            (
                "a.toml",
                "[[cases]]\nbash = \"ls\"\nexpect = \"allow\"\n",
                deny(),
                "[[cases]]\nbash = \"ls\"\nexpect = \"deny\"\nreason = \"Off: no.\"\n",
            ),
            (
                "a.toml",
                "cases = [{ bash = \"ls\", expect = \"allow\" }]",
                command(),
                "cases = [{ bash = \"ls\", expect = { command = \"pnpm i\" } }]",
            ),
        ] {
            assert_eq!(updated(file, before, &[(0, news)]).as_deref(), Ok(after), "{before}");
        }
        let folded = "cases:\n  - bash: ls\n    expect: deny\n    reason: >-\n      a\n      b\n";
        assert!(updated("a.yaml", folded, &[(0, deny())]).is_err_and(|error| error.contains("by hand")));
    }
}
