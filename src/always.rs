//! An answer for always: the exception that it is, as narrow as the call allows, what it would have
//! let pass of what is recorded, and how it is written into the file of the hook that asks.
//!
//! The host makes the proposal and changes nothing. Whoever has a person's word writes it.

use hookwire_base::event::Event;
use hookwire_base::support::below::{self, ANYWHERE};
use hookwire_base::support::digest;
use hookwire_base::support::file::{read_named, read_text};
use hookwire_base::support::visible::safe;
use hookwire_base::syntax::diagnostic::{Diagnostic, Severity};
use hookwire_base::syntax::formats::{Format, parse};
use hookwire_base::syntax::node::{Node, NodeValue, Step};
use hookwire_base::syntax::quoting::{Within, inline};
use hookwire_base::syntax::source::Layer;
use hookwire_base::syntax::writer::{At, Op, rewritten};
use hookwire_base::verdict::Decision;
use hookwire_engine::definitions::approved;
use hookwire_engine::definitions::check::check;
use hookwire_engine::hook::Hook;
use hookwire_engine::host::Host;
use hookwire_engine::trust;
use hookwire_handlers::services::approval::ApprovalRequest;
use hookwire_rules::matching::Facts;
use hookwire_rules::matching::rule::ToolRule;
use hookwire_rules::matching::tools::{self, ArgumentKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// So many exceptions are tried.
const MOST_TRIED: usize = 16;
/// The longest exception, in bytes.
const MAX_EXCEPTION: usize = 200;

/// What an answer for always would be: `approvals/always`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Always {
    /// The question.
    pub id: String,
    /// The exceptions, one for each hook that asks.
    pub exceptions: Vec<Exception>,
    /// The same for people, a line each, with what it would have changed of what is recorded.
    pub text: Vec<String>,
    /// What the exceptions are known by: whoever has them written names it, so that nothing else is
    /// written than what a person has seen.
    pub digest: String,
    /// What was asked about, as an event.
    pub event: Value,
}

/// An exception that a hook gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Exception {
    /// The hook.
    pub hook: String,
    /// Whose it is: `user` or `project`.
    pub layer: String,
    /// The file that it is written in.
    pub file: String,
    /// Its place there, counted from 0.
    pub position: usize,
    /// The rules that its `unless` gets.
    pub unless: Vec<String>,
}

/// The narrowest exceptions that let a call pass a hook: one rule, or those that it takes together.
/// Each is tried; `commands` are those that the call would run.
pub fn narrowest(hook: &Hook, facts: &Facts, commands: &[String]) -> Option<Vec<String>> {
    let texts = candidates(hook, facts, commands);
    let rules: Vec<ToolRule> = texts
        .iter()
        .filter_map(|it| ToolRule::new(it).ok())
        .collect();
    if let Some(rule) = rules.iter().find(|rule| hook.passes_with(&[*rule], facts)) {
        return Some(vec![rule.text().to_string()]);
    }
    let mut needed: Vec<&ToolRule> = rules.iter().collect();
    if !hook.passes_with(&needed, facts) {
        return None;
    }
    for rule in &rules {
        let without: Vec<&ToolRule> = needed
            .iter()
            .copied()
            .filter(|it| it.text() != rule.text())
            .collect();
        if !without.is_empty() && hook.passes_with(&without, facts) {
            needed = without;
        }
    }
    Some(needed.iter().map(|rule| rule.text().to_string()).collect())
}

/// Rules over what a call does, the most telling first.
fn candidates(hook: &Hook, facts: &Facts, commands: &[String]) -> Vec<String> {
    let is_about_hosts = hook.tools.rules.iter().any(|rule| rule.is_about_hosts());
    let hosts = match is_about_hosts {
        true => facts.hosts_told(),
        false => Vec::new(),
    };
    let hosts = hosts.iter().map(|host| format!("Connect({host})"));
    let of_files = hook.tools.rules.iter().filter(|rule| rule.is_about_files());
    let tools = of_files.filter_map(|rule| rule.literal_tools()).flatten();
    let tools: Vec<&str> = tools.collect();
    let paths = facts.paths_told();
    let files = paths
        .iter()
        .flat_map(|path| tools.iter().map(move |tool| format!("{tool}({path})")));
    let commands = commands.iter().map(|command| format!("Bash({command})"));
    let main = main_rule(facts);
    let mut found: Vec<String> = Vec::new();
    for text in hosts.chain(files).chain(commands).chain(main) {
        if is_plain(&text) && !found.contains(&text) && found.len() < MOST_TRIED {
            found.push(text);
        }
    }
    found
}

/// The tool with its URL or text, or with the only argument that it is given. Of a tool that isn't
/// known, each argument may matter: a payee without the amount would be too much.
fn main_rule(facts: &Facts) -> Option<String> {
    let tool = facts.tool()?;
    let input = facts.event.tool_input()?;
    let members = input.as_object()?;
    if members.len() > 1 && tools::known(tool).is_none() {
        return None;
    }
    if let Some((kind, text)) = tools::main_argument(tool, input) {
        return (!matches!(kind, ArgumentKind::Shell)).then(|| format!("{tool}({text})"));
    }
    match members.iter().next() {
        Some((name, Value::String(text))) => Some(format!("{tool}({name}={text})")),
        Some(_) => None,
        None => Some(tool.to_string()),
    }
}

/// Whether each character of what a rule names means itself there.
fn is_plain(rule: &str) -> bool {
    let Some((_, rest)) = rule.split_once('(') else {
        return true;
    };
    let inside = rest.strip_suffix(')').unwrap_or(rest);
    let inside = inside.strip_prefix("*.").unwrap_or(inside);
    inside.len() <= MAX_EXCEPTION
        && !inside.contains(['*', '?', '[', '{', '$', '`', '…', '(', ')', '|', '\n'])
}

/// The event that a question is about, as far as the question has it.
pub fn event_of(question: &ApprovalRequest) -> Value {
    let mut event = json!({ "event": question.event });
    if let Some(tool) = &question.tool {
        event["tool"] = json!({ "name": tool, "input": question.subject });
    }
    if let Some(cwd) = &question.cwd {
        event["cwd"] = json!(cwd);
    }
    event
}

/// What an answer for always to a question would be. `asking` are the hooks that ask it, and
/// `commands` what the call would run.
///
/// # Errors
/// It can't be an exception: for a person.
pub fn propose(
    question: &ApprovalRequest,
    asking: &[Arc<Hook>],
    facts: &Facts,
    commands: &[String],
    root: &Path,
) -> Result<Always, String> {
    if asking.is_empty() {
        return Err(format!(
            "`{}` isn't a hook of a file that is in force, so there is nothing to make an exception in",
            question.hook
        ));
    }
    let mut exceptions = Vec::new();
    for hook in asking {
        let name = &hook.name;
        let layer = match hook.source.layer {
            Layer::User => "user",
            Layer::Project => "project",
            Layer::Managed => {
                return Err(format!(
                    "`{name}` is the machine's, and only its owner makes an exception"
                ));
            }
            Layer::Fleet => {
                return Err(format!(
                    "`{name}` is the team's, and only who publishes it makes an exception"
                ));
            }
            Layer::Hooks | Layer::Session => {
                return Err(format!(
                    "`{name}` is neither yours nor the project's; write the exception where the hook is"
                ));
            }
        };
        let unless = narrowest(hook, facts, commands).ok_or_else(|| {
            format!("no rule that is as narrow as this call lets it pass `{name}`; write the exception yourself")
        })?;
        exceptions.push(Exception {
            hook: name.to_string(),
            layer: layer.into(),
            file: hook.source.file.to_string(),
            position: hook.source.position,
            unless,
        });
    }
    let mut text = Vec::new();
    for exception in &exceptions {
        let whose = match exception.layer.as_str() {
            "user" => "yours, for all projects",
            _ => "the project's",
        };
        let (hook, file) = (&exception.hook, shown_file(&exception.file, root));
        text.push(format!(
            "From now on `{hook}` ({file}, {whose}) doesn't ask about this any more:"
        ));
        let rules = exception.unless.iter();
        text.extend(rules.map(|rule| format!("  unless: {}", safe(rule))));
    }
    text.extend(past(asking, &exceptions, root));
    text.push("Other hooks are asked as before.".into());
    let named = serde_json::to_value(&exceptions).unwrap_or_default();
    Ok(Always {
        id: question.id.clone(),
        exceptions,
        digest: digest::of_value(&named),
        text,
        event: event_of(question),
    })
}

/// A file as people know it.
fn shown_file(file: &str, root: &Path) -> String {
    let below = Path::new(file).strip_prefix(root);
    safe(&below.map_or_else(|_| file.to_string(), |below| below.display().to_string()))
}

/// What the exceptions would have changed of what is recorded; for people.
#[cfg(feature = "history")]
fn past(asking: &[Arc<Hook>], exceptions: &[Exception], root: &Path) -> Vec<String> {
    use crate::history::{History, history_dir};
    use hookwire_base::support::amounts;
    use hookwire_base::support::visible::cut;
    use hookwire_engine::running::told;
    use std::ops::ControlFlow;
    use std::time::{Duration, Instant};

    // The record that is looked through: its time, its events, and how long that may take.
    const SINCE: &str = "since:30d";
    const MAX_LOOKED: usize = 20_000;
    const LOOK_TIME: Duration = Duration::from_secs(5);
    // So many calls of the record are shown, and so much of each.
    const MAX_SHOWN: usize = 5;
    const MAX_CALL: usize = 120;

    let Some(dir) = history_dir().filter(|dir| dir.is_dir()) else {
        return vec!["Nothing is recorded, so what this would have changed isn't known (`hookwire inspect` records).".into()];
    };
    let rules: Vec<Vec<ToolRule>> = exceptions
        .iter()
        .map(|it| {
            it.unless
                .iter()
                .filter_map(|text| ToolRule::new(text).ok())
                .collect()
        })
        .collect();
    let (mut passing, mut n_passing, mut n_asked) = (Vec::new(), 0_usize, 0_usize);
    let (began, mut is_whole) = (Instant::now(), true);
    let mut take = |line: &str| {
        let record = hookwire_base::support::json::parse(line).unwrap_or_default();
        if let Some(event) = told::event(&record) {
            let facts = Facts::new(Arc::new(event), root);
            let mut asked = asking
                .iter()
                .zip(&rules)
                .filter(|(hook, _)| hook.applies(&facts).is_ok());
            if let Some(first) = asked.next() {
                let passes = |(hook, rules): (&Arc<Hook>, &Vec<ToolRule>)| {
                    hook.passes_with(&rules.iter().collect::<Vec<_>>(), &facts)
                };
                if passes(first) && asked.all(passes) {
                    n_passing += 1;
                    let about = told::about(&record, Some(&facts.event)).unwrap_or_default();
                    let about = safe(&cut(&about, MAX_CALL));
                    if passing.len() < MAX_SHOWN && !passing.contains(&about) {
                        passing.push(about);
                    }
                } else {
                    n_asked += 1;
                }
            }
        }
        is_whole = began.elapsed() < LOOK_TIME;
        match is_whole {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    let looked = History::open(&dir).and_then(|history| {
        let behind = history.before_newest(MAX_LOOKED)?;
        history.each_found(SINCE, behind, |found| take(&found.line))
    });
    if let Err(problem) = looked {
        return vec![format!(
            "What this would have changed isn't known: {}",
            safe(&problem)
        )];
    }
    let part = if is_whole {
        ""
    } else {
        " (there was no time for all)"
    };
    let calls = amounts::number_of(n_passing, "call");
    let mut text = vec![format!(
        "Of the last 30 days{part}, {calls} that it asks about would have passed, and {n_asked} would be asked about still."
    )];
    text.extend(passing.into_iter().map(|call| format!("  {call}")));
    text
}

#[cfg(not(feature = "history"))]
fn past(_: &[Arc<Hook>], _: &[Exception], _: &Path) -> Vec<String> {
    vec!["Nothing is recorded, so what this would have changed isn't known.".into()]
}

/// What was written.
pub struct WrittenExceptions {
    /// The files.
    pub files: Vec<PathBuf>,
    /// Texts for people: what is still to be done.
    pub notes: Vec<String>,
}

/// What becomes of a project's trust.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trusting {
    /// A project that was trusted as it was stays trusted.
    Kept,
    /// To trust what was written is left to a terminal or an editor.
    Left,
}

/// Writes the exceptions into the hooks' files, with cases beside them.
///
/// # Errors
/// A file isn't as the host has read it, or can't be written: for a person.
pub fn write(
    always: &Always,
    root: &Path,
    trusting: Trusting,
) -> Result<WrittenExceptions, String> {
    let (mut files, mut notes) = (Vec::new(), Vec::new());
    for exception in &always.exceptions {
        let path = Path::new(&exception.file);
        let is_projects = exception.layer == "project";
        let below = if is_projects {
            root
        } else {
            Path::new(ANYWHERE)
        };
        let store = approved::store(root).filter(|_| is_projects);
        let was_trusted = store
            .as_ref()
            .filter(|_| trusting == Trusting::Kept)
            .is_some_and(|store| trust::review(store, root).is_ok_and(|it| it.is_as_before()));
        let failed = |problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
        let before = read_named(path).map_err(|problem| failed(&problem))?;
        let text = with_exception(&before, path, exception).map_err(|problem| failed(&problem))?;
        let layer = if is_projects {
            Layer::Project
        } else {
            Layer::User
        };
        let found = check(&exception.file, &text, layer, None).diagnostics;
        let mistake = found.iter().find(|it| it.severity == Severity::Error);
        let had_mistakes = check(&exception.file, &before, layer, None)
            .diagnostics
            .iter()
            .any(|it| it.severity == Severity::Error);
        if let Some(mistake) = mistake.filter(|_| !had_mistakes) {
            return Err(Diagnostic::one_line(mistake));
        }
        below::replace(path, below, &text, 0o666).map_err(|problem| failed(&problem))?;
        let mut own = vec![(path.to_path_buf(), text.clone())];
        match write_cases(path, below, &text, always, exception) {
            Ok(written) => own.extend(written),
            Err(problem) => notes.push(format!("no case was written: {problem}")),
        }
        if let Some(store) = store {
            let bytes = own.iter().filter_map(|(path, text)| {
                Some((
                    path.strip_prefix(root).ok()?.to_path_buf(),
                    Some(text.as_bytes()),
                ))
            });
            let is_kept = was_trusted
                && trust::review(&store, root).is_ok_and(|review| {
                    review.changes_only(&bytes.collect()) && review.approve(&store).is_ok()
                });
            if !is_kept {
                let note = "it is in force once you trust the project: `hookwire trust` shows what there is";
                notes.push(note.into());
            }
        }
        files.extend(own.into_iter().map(|(path, _)| path));
    }
    Ok(WrittenExceptions { files, notes })
}

/// A file's text with an exception more.
fn with_exception(text: &str, path: &Path, exception: &Exception) -> Result<String, String> {
    let format = Format::from_path(path).unwrap_or_default();
    let root = parse(text, format).map_err(|_| "it can't be read".to_string())?;
    let list = root.get("hooks").unwrap_or(&root);
    let hook = list
        .items()
        .get(exception.position)
        .filter(|hook| hook.get("name").and_then(Node::text) == Some(&exception.hook))
        .ok_or("the hook isn't where it was; look again")?;
    let mut way = Vec::new();
    if root.get("hooks").is_some() {
        way.push(Step::Key("hooks"));
    }
    way.push(Step::Index(exception.position));
    way.push(Step::Key("unless"));
    let rules = exception.unless.iter();
    let ops: Vec<(Vec<Step<'_>>, Op<'_>)> = match hook.get("unless").map(|it| &it.value) {
        Some(NodeValue::Seq(_)) => rules
            .map(|rule| (way.clone(), Op::Append(json!(rule))))
            .collect(),
        Some(NodeValue::String(before)) => {
            let all: Vec<&String> = [before].into_iter().chain(rules).collect();
            vec![(way, Op::Set(json!(all), At::Behind("if")))]
        }
        Some(_) => return Err("`unless` is no rule and no list of rules".into()),
        None => {
            let all = match &exception.unless[..] {
                [rule] => json!(rule),
                rules => json!(rules),
            };
            vec![(way, Op::Set(all, At::Behind("if")))]
        }
    };
    rewritten(text, format, &ops).ok_or_else(|| {
        let rules = exception.unless.join(", ");
        format!("the exception can't be put in there by itself; write `unless: {rules}`")
    })
}

/// The cases of an exception, into the file of cases beside a file of definitions: that the call
/// passes, and that one like it doesn't.
fn write_cases(
    path: &Path,
    below: &Path,
    text: &str,
    always: &Always,
    exception: &Exception,
) -> Result<Option<(PathBuf, String)>, String> {
    let cases = cases_of(path, text, always, exception)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let file = path.with_file_name(format!("{stem}.test.yaml"));
    let failed = |problem: &dyn std::fmt::Display| format!("{}: {problem}", file.display());
    let (before, is_there) = match read_text(&file) {
        Ok(text) => (text, true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (String::new(), false),
        Err(error) => return Err(failed(&error)),
    };
    let after = if is_there {
        let ops = cases
            .into_iter()
            .map(|case| (vec![Step::Key("cases")], Op::Append(case)));
        let after = rewritten(&before, Format::Yaml, &ops.collect::<Vec<_>>());
        after.ok_or_else(|| failed(&"a case can't be added to it"))?
    } else {
        let lines = cases.iter().map(|case| {
            let case = inline(case, Format::Yaml, Within::Line).unwrap_or_default();
            format!("  - {case}\n")
        });
        format!("cases:\n{}", lines.collect::<String>())
    };
    let written = if is_there {
        below::replace(&file, below, &after, 0o666)
    } else {
        below::write_new(&file, below, &after, 0o666)
    };
    written.map_err(|error| failed(&error))?;
    Ok(Some((file, after)))
}

/// The cases, with what the file's hooks alone say of them.
fn cases_of(
    path: &Path,
    text: &str,
    always: &Always,
    exception: &Exception,
) -> Result<Vec<Value>, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let hooks = scratch.path().join("hooks");
    std::fs::create_dir(&hooks).map_err(|error| error.to_string())?;
    let name = path.file_name().unwrap_or_default();
    std::fs::write(hooks.join(name), text).map_err(|error| error.to_string())?;
    let built = Host::builder()
        .root(scratch.path())
        .hooks(&hooks)
        .system(false)
        .build();
    let host = built.map_err(|problem| problem.to_string())?;
    let all = host.hooks();
    let applying = |event: &Value| -> Vec<(String, Option<Decision>, bool)> {
        let Ok(event) = Event::from_json(event.clone()) else {
            return Vec::new();
        };
        let facts = Facts::new(Arc::new(event), scratch.path());
        let hooks = all.hooks.iter().filter_map(|hook| {
            let doubt = hook.applies(&facts).ok()?;
            let decision = hook.handler.fixed().map(|(decision, _)| decision);
            Some((hook.name.to_string(), decision, doubt.is_some()))
        });
        hooks.collect()
    };
    let passing = case_of(&always.event);
    if !applying(&always.event).is_empty() {
        return Err("another hook of that file is about the call, too".into());
    }
    let mut cases = vec![json!({ "expect": "allow" })];
    merge(&mut cases[0], passing);
    // One like it, which the exception isn't for.
    let mut other = always.event.clone();
    if let Some(command) = other["tool"]["input"]["command"].as_str() {
        other["tool"]["input"] = json!({ "command": format!("{command} another-word") });
        if let [(hook, Some(decision), false)] = &applying(&other)[..]
            && *hook == exception.hook
        {
            let mut case = json!({ "expect": decision.as_str() });
            merge(&mut case, case_of(&other));
            cases.push(case);
        }
    }
    Ok(cases)
}

/// What happens, as a file of cases has it.
fn case_of(event: &Value) -> Value {
    let input = &event["tool"]["input"];
    let only = |name: &str| {
        input[name]
            .as_str()
            .filter(|_| event["tool"]["name"] == "Bash")
    };
    match only("command") {
        Some(command) => json!({ "bash": command }),
        None => {
            let mut event = event.clone();
            if let Some(members) = event.as_object_mut() {
                members.remove("cwd");
            }
            json!({ "event": event })
        }
    }
}

fn merge(case: &mut Value, more: Value) {
    if let (Some(case), Value::Object(more)) = (case.as_object_mut(), more) {
        case.extend(more);
    }
}
