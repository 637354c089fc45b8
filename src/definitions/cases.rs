//! Cases of a definition file: events, and what its hooks are to say about them.
//!
//! `guard.test.yaml` beside `guard.yaml` is read by this file and never taken for definitions. It holds a list of
//! cases, each on a line:
//!
//! ```yaml
//! cases:
//!   - { bash: git push -f, expect: deny, reason: Force pushes are off }
//!   - { write: src/a.ts, content: x, expect: allow }
//!   - { event: { event: Stop }, cwd: failing, expect: deny }
//!   - { bash: npm i, expect: { command: pnpm i } }
//!   - { bash: ls, before: [{ bash: ls, times: 2 }], expect: deny }
//! ```
//!
//! Beside `cases` it may say how to set the scene (`setup`, a text for `sh -c`), and what the definitions are there
//! to stop (`act`, a regular expression), for those who hold them against other commands. Running the cases is up
//! to the caller.

use crate::event::Event;
use crate::syntax::diagnostic::{Diagnostic, LineIndex};
use crate::syntax::formats::{self, Format};
use crate::syntax::node::{DecodeError, Node, NodeValue, Span, decode};
use crate::syntax::problem::Problem;
use crate::verdict::{Decision, Verdict};
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// The cases of one definition file.
#[derive(Debug)]
pub struct Cases {
    /// Matches the commands that the definitions are there to stop.
    pub act: Option<Regex>,
    /// Run once by `sh -c`, in the empty directory in which the cases take place.
    pub setup: Option<String>,
    /// In the order of the file.
    pub cases: Vec<Case>,
}

/// One event, the events before it, and what is expected.
#[derive(Debug)]
pub struct Case {
    /// The line on which it begins, counted from 1.
    pub line: usize,
    /// What it is about: its name, else its command, path or event.
    pub name: String,
    before: Vec<Step>,
    step: Step,
    expected: Expected,
    reason: Option<String>,
}

#[derive(Debug)]
struct Step {
    event: Value,
    times: usize,
}

#[derive(Debug, PartialEq)]
enum Expected {
    Deny,
    Ask,
    /// Nobody objects, changes or adds anything.
    Allow,
    /// A hook can't tell whether it applies, and says so.
    Doubt,
    /// Allowed as this command.
    Command(String),
    /// Allowed, and the model is told this.
    Context(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    act: Option<String>,
    setup: Option<String>,
    // Decoded one by one, so that each mistake is found.
    #[serde(rename = "cases")]
    _cases: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawCase {
    name: Option<String>,
    bash: Option<String>,
    write: Option<String>,
    edit: Option<String>,
    read: Option<String>,
    fetch: Option<String>,
    event: Option<Value>,
    content: Option<String>,
    cwd: Option<String>,
    times: Option<usize>,
    before: Vec<RawCase>,
    expect: Option<RawExpected>,
    reason: Option<String>,
}

enum RawExpected {
    Word(String),
    More(RawMore),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMore {
    command: Option<String>,
    context: Option<String>,
}

impl<'de> Deserialize<'de> for RawExpected {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = RawExpected;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("deny, ask, allow, doubt, or a map with `command` or `context`")
            }

            fn visit_str<E>(self, text: &str) -> Result<RawExpected, E> {
                Ok(RawExpected::Word(text.to_string()))
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<RawExpected, A::Error> {
                RawMore::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(RawExpected::More)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Whether a file holds cases by its name: `*.test.yaml`, or the same in another format.
pub fn is_cases_file(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    Format::from_path(path).is_some() && stem.is_some_and(|stem| stem.to_ascii_lowercase().ends_with(".test"))
}

/// Whether a file holds definitions by its name.
pub fn is_definition_file(path: &Path) -> bool {
    Format::from_path(path).is_some() && !is_cases_file(path)
}

/// Reads a file of cases. The name's extension tells the format, YAML if it tells none.
///
/// # Errors
/// Every mistake with its place.
pub fn read(file: &str, text: &str) -> Result<Cases, Vec<Diagnostic>> {
    let lines = LineIndex::new(text);
    let format = Format::from_path(Path::new(file)).unwrap_or_default();
    let cases = formats::parse(text, format).and_then(|root| of_root(&root, &lines));
    cases.map_err(|problems| problems.iter().map(|problem| problem.to_diagnostic(file, &lines)).collect())
}

fn of_root(root: &Node, lines: &LineIndex<'_>) -> Result<Cases, Vec<Problem>> {
    let raw: RawFile = decode(root).map_err(|error| vec![mistake(error)])?;
    let items = match root.get("cases").map(|cases| &cases.value) {
        Some(NodeValue::Seq(items)) => items.as_slice(),
        _ => return Err(vec![wrong(&root.span, "a list of `cases` is expected")]),
    };
    let mut problems = Vec::new();
    let mut keep = |result: Result<Case, Problem>| result.map_err(|problem| problems.push(problem)).ok();
    let cases = items.iter().filter_map(|item| keep(case(item, lines))).collect();
    let place = |key: &str| root.get(key).map_or(root.span.clone(), |node| node.span.clone());
    let act = raw.act.map(|act| Regex::new(&act).map_err(|error| wrong(&place("act"), &error.to_string())));
    let act = act.transpose().map_err(|problem| problems.push(problem)).ok().flatten();
    if problems.is_empty() { Ok(Cases { act, setup: raw.setup, cases }) } else { Err(problems) }
}

fn case(node: &Node, lines: &LineIndex<'_>) -> Result<Case, Problem> {
    let raw: RawCase = decode(node).map_err(mistake)?;
    let at = |problem: String| wrong(&node.span, &problem);
    let place = |key: &str| node.get(key).map_or(node.span.clone(), |node| node.span.clone());
    let expected = match raw.expect.as_ref() {
        None => {
            return Err(
                at("`expect` is missing: deny, ask, allow, doubt, or a map with `command` or `context`".into()),
            );
        }
        Some(expected) => Expected::new(expected).map_err(|problem| wrong(&place("expect"), &problem))?,
    };
    if raw.times.is_some() {
        return Err(wrong(&place("times"), "`times` is for the events in `before`"));
    }
    if raw.reason.is_some() && !matches!(expected, Expected::Deny | Expected::Ask | Expected::Doubt) {
        return Err(wrong(&place("reason"), "only what isn't allowed has a reason"));
    }
    let mut before = Vec::new();
    for step in &raw.before {
        if step.expect.is_some() || step.reason.is_some() || !step.before.is_empty() {
            return Err(wrong(&place("before"), "of an event in `before`, nothing is expected"));
        }
        before.push(step.step().map_err(|problem| wrong(&place("before"), &problem))?);
    }
    let step = raw.step().map_err(at)?;
    let name = raw.name.clone().unwrap_or_else(|| raw.about());
    let line = lines.position(node.span.start).line;
    Ok(Case { line, name, before, step, expected, reason: raw.reason })
}

fn wrong(span: &Span, message: &str) -> Problem {
    Problem::error(span, "case", message)
}

fn mistake(error: DecodeError) -> Problem {
    let suggestion = error.suggestion().map(|right| format!("did you mean `{right}`?"));
    let problem = wrong(&error.span, &error.to_string());
    suggestion.map_or(problem.clone(), |help| problem.help(help))
}

impl RawCase {
    /// What happens, in a few words.
    fn about(&self) -> String {
        let words = [
            ("", &self.bash),
            ("write ", &self.write),
            ("edit ", &self.edit),
            ("read ", &self.read),
            ("fetch ", &self.fetch),
        ];
        let word = words.iter().find_map(|(verb, what)| Some(format!("{verb}{}", what.as_ref()?)));
        word.unwrap_or_else(|| self.event.as_ref().map(Value::to_string).unwrap_or_default())
    }

    fn step(&self) -> Result<Step, String> {
        let tool = |name: &str, input: Value| json!({"event": "PreToolUse", "tool": {"name": name, "input": input}});
        let content = self.content.as_deref().unwrap_or_default();
        let forms = [
            self.bash.as_ref().map(|it| tool("Bash", json!({"command": it}))),
            self.write.as_ref().map(|it| tool("Write", json!({"file_path": it, "content": content}))),
            self.edit
                .as_ref()
                .map(|it| tool("Edit", json!({"file_path": it, "old_string": "", "new_string": content}))),
            self.read.as_ref().map(|it| tool("Read", json!({"file_path": it}))),
            self.fetch.as_ref().map(|it| tool("WebFetch", json!({"url": it}))),
            self.event.clone(),
        ];
        let mut forms = forms.into_iter().flatten();
        let (Some(mut event), None) = (forms.next(), forms.next()) else {
            return Err("a case has one of `bash`, `write`, `edit`, `read`, `fetch` and `event`".into());
        };
        if self.content.is_some() && self.write.is_none() && self.edit.is_none() {
            return Err("`content` is for `write` and `edit`".into());
        }
        if let (Some(cwd), Some(members)) = (&self.cwd, event.as_object_mut()) {
            members.insert("cwd".into(), cwd.as_str().into());
        }
        Event::from_json(event.clone()).map_err(|problem| problem.to_string())?;
        Ok(Step { event, times: self.times.unwrap_or(1) })
    }
}

impl Expected {
    fn new(raw: &RawExpected) -> Result<Expected, String> {
        Ok(match raw {
            RawExpected::Word(word) => match word.as_str() {
                "deny" => Expected::Deny,
                "ask" => Expected::Ask,
                "allow" => Expected::Allow,
                "doubt" => Expected::Doubt,
                _ => return Err(format!("expected deny, ask, allow or doubt, found `{word}`")),
            },
            RawExpected::More(RawMore { command: Some(command), context: None }) => Expected::Command(command.clone()),
            RawExpected::More(RawMore { command: None, context: Some(context) }) => Expected::Context(context.clone()),
            RawExpected::More(_) => return Err("expected one of `command` and `context`".into()),
        })
    }
}

impl Case {
    /// The events of the case in order; the last one is the one that is judged. They take place in `dir`, in a
    /// session of their own. A path that begins with `~/` is one of `home`.
    pub fn events(&self, dir: &Path, home: &Path, session: &str) -> Vec<Value> {
        let steps = self.before.iter().chain([&self.step]);
        let mut events = Vec::new();
        for step in steps {
            let mut event = step.event.clone();
            let cwd = event["cwd"].as_str().map_or(dir.to_path_buf(), |cwd| dir.join(cwd));
            event["cwd"] = cwd.to_string_lossy().into();
            if event.get("session").is_none() {
                event["session"] = session.into();
            }
            if let Some(Value::String(path)) = event.pointer_mut("/tool/input/file_path")
                && let Some(inner) = path.strip_prefix("~/")
            {
                *path = home.join(inner).to_string_lossy().into_owned();
            }
            events.extend(std::iter::repeat_n(event, step.times));
        }
        events
    }

    /// How a verdict on the last event differs from what is expected; `None` if it doesn't.
    pub fn mismatch(&self, verdict: &Verdict) -> Option<String> {
        let doubt = verdict.outcomes.iter().find_map(|outcome| Some((&outcome.hook, outcome.opaque.as_deref()?)));
        let failed = verdict.outcomes.iter().find_map(|outcome| Some((&outcome.hook, outcome.error.as_deref()?)));
        let command = verdict.subject.as_ref().and_then(|subject| subject["command"].as_str());
        let found = if let Some(error) = verdict.errors.first() {
            format!("a broken definition: {error}")
        } else if let Some((hook, error)) = failed {
            format!("a failure of `{hook}`: {error}")
        } else if let (Some((hook, why)), true) = (doubt, self.expected != Expected::Doubt) {
            format!("`{hook}` in doubt: {why}")
        } else {
            let mut found = verdict.decision.as_str().to_string();
            if let Some(reason) = &verdict.reason {
                found.push_str(&format!(": {reason}"));
            }
            if let Some(subject) = &verdict.subject {
                found.push_str(&format!(", as {subject}"));
            }
            if !verdict.additional_context.is_empty() {
                found.push_str(&format!(", with the context {:?}", verdict.additional_context.join("\n")));
            }
            let is_plain = verdict.subject.is_none() && verdict.additional_context.is_empty();
            let says = |part: &str| verdict.reason.as_deref().is_some_and(|reason| reason.contains(part));
            let fits = match &self.expected {
                Expected::Deny => verdict.decision == Decision::Deny,
                Expected::Ask => verdict.decision == Decision::Ask,
                Expected::Allow => verdict.decision == Decision::Allow && is_plain,
                Expected::Doubt => doubt.is_some(),
                Expected::Command(expected) => {
                    verdict.decision == Decision::Allow && command == Some(expected.as_str())
                }
                Expected::Context(part) => {
                    let told = verdict.additional_context.iter().any(|text| text.contains(part.as_str()));
                    verdict.decision == Decision::Allow && told
                }
            };
            if fits && self.reason.as_deref().is_none_or(says) {
                return None;
            }
            found
        };
        let reason = self.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        Some(format!("{} expected{reason}, found {found}", self.expected))
    }
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expected::Deny => f.write_str("deny"),
            Expected::Ask => f.write_str("ask"),
            Expected::Allow => f.write_str("allow"),
            Expected::Doubt => f.write_str("doubt"),
            Expected::Command(command) => write!(f, "the command `{command}`"),
            Expected::Context(part) => write!(f, "a context with `{part}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_placed() {
        for (text, line, says) in [
            ("cases: [", 1, ""),
            ("{}", 1, "a list of `cases`"),
            ("case: []", 1, "unknown field `case`"),
            ("act: '['\ncases: []", 1, "regex"),
            ("cases:\n  - { bash: ls }", 2, "`expect` is missing"),
            ("cases:\n  - { bash: ls, expect: denied }", 2, "found `denied`"),
            ("cases:\n  - { bsah: ls, expect: deny }", 2, "unknown field `bsah`"),
            ("cases:\n  - { bash: ls, read: a, expect: deny }", 2, "one of `bash`"),
            ("cases:\n  - { expect: deny }", 2, "one of `bash`"),
            ("cases:\n  - { bash: ls, content: a, expect: deny }", 2, "`content` is for"),
            ("cases:\n  - { bash: ls, times: 2, expect: deny }", 2, "`times` is for"),
            ("cases:\n  - { bash: ls, expect: allow, reason: x }", 2, "has a reason"),
            ("cases:\n  - { bash: ls, expect: { command: a, context: b } }", 2, "one of `command`"),
            ("cases:\n  - { bash: ls, before: [{ bash: ls, expect: deny }], expect: deny }", 2, "nothing is expected"),
            ("cases:\n  - { event: { event: PreTolUse }, expect: deny }", 2, "unknown event `PreTolUse`"),
            ("cases:\n  - { bash: ls, expect: deny }\n  - { bash: 3, expect: deny }", 3, "expected a string"),
        ] {
            let problems = read("a.test.yaml", text).unwrap_err();
            let first = &problems[0];
            assert_eq!((problems.len(), first.range.start.line), (1, line), "{text}: {first:?}");
            assert!(first.message.contains(says), "{text}: {}", first.message);
        }
    }

    #[test]
    fn a_case_becomes_events() {
        let text = "cases:\n  - { read: ~/a, cwd: sub, before: [{ bash: ls, times: 2 }], expect: deny }";
        let cases = read("a.test.yaml", text).unwrap().cases;
        let events = cases[0].events(Path::new("/d"), Path::new("/home/u"), "s1");
        assert_eq!(events.len(), 3);
        assert_eq!(events[1]["tool"]["input"]["command"], "ls");
        let last = json!({"event": "PreToolUse", "session": "s1", "cwd": "/d/sub", "tool": {"name": "Read", "input": {"file_path": "/home/u/a"}}});
        assert_eq!((&events[2], &*cases[0].name, cases[0].line), (&last, "read ~/a", 2));
    }

    #[test]
    fn a_verdict_is_held_to_what_is_expected() {
        let verdict = |extra: Value| -> Verdict {
            let mut value = json!({"decision": "allow", "outcomes": [], "generation": 1, "hash": "", "eventId": ""});
            value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            serde_json::from_value(value).unwrap()
        };
        let outcome = |key: &str| json!({"decision": "ask", "outcomes": [{"hook": "h", "status": "blocking", key: "why", "durationMicros": 1}]});
        for (expected, extra, fits) in [
            ("allow", json!({}), true),
            ("deny", json!({}), false),
            ("deny", json!({"decision": "deny"}), true),
            ("deny", json!({"decision": "ask"}), false),
            ("deny, reason: off", json!({"decision": "deny", "reason": "pushes are off"}), true),
            ("deny, reason: off", json!({"decision": "deny", "reason": "no"}), false),
            ("ask", json!({"decision": "ask"}), true),
            ("ask", outcome("opaque"), false),
            ("ask", outcome("error"), false),
            ("doubt", outcome("opaque"), true),
            ("doubt", json!({"decision": "ask"}), false),
            ("allow", json!({"subject": {"command": "a"}}), false),
            ("{ command: a }", json!({"subject": {"command": "a"}}), true),
            ("{ command: a }", json!({"subject": {"command": "b"}}), false),
            ("{ context: a }", json!({"additionalContext": ["cab"]}), true),
            ("{ context: a }", json!({}), false),
            ("allow", json!({"additionalContext": ["a"]}), false),
            ("allow", json!({"errors": ["broken"]}), false),
        ] {
            let text = format!("cases: [{{ bash: ls, expect: {expected} }}]");
            let case = read("a.test.yaml", &text).unwrap().cases.remove(0);
            let mismatch = case.mismatch(&verdict(extra.clone()));
            assert_eq!(mismatch.is_none(), fits, "{expected} against {extra}: {mismatch:?}");
        }
    }

    #[test]
    fn cases_are_no_definitions() {
        for (name, is_cases, is_definition) in [
            ("a.yaml", false, true),
            ("a.test.yaml", true, false),
            ("d/a.TEST.YML", true, false),
            ("a.test.json", true, false),
            ("test.yaml", false, true),
            ("a.test", false, false),
        ] {
            let path = Path::new(name);
            assert_eq!((is_cases_file(path), is_definition_file(path)), (is_cases, is_definition), "{name}");
        }
    }
}
