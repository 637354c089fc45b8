//! An event made for a hook that has seen no real one yet.

use hookwire_base::event::On;
use hookwire_base::event::{Event, at_pointer, set_pointer, spec};
use hookwire_dialects as dialects;
use hookwire_engine::hook::Hook;
use hookwire_rules::contract::Target;
use hookwire_rules::matching::rule::Key;
use hookwire_rules::matching::tools::{ArgumentKind, TOOLS, known};
use hookwire_rules::matching::{Facts, Matcher};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

/// The name of the event that [`event_for`] makes.
pub(super) fn event_name(hook: &Hook) -> &str {
    const USUAL: &str = "PreToolUse";
    match &hook.on {
        On::Every => matched_parts(hook)
            .and_then(|parts| canonical_name(hook, parts.first()?))
            .unwrap_or(USUAL),
        On::Names(names) => names.first().map_or(USUAL, |name| name),
    }
}

/// The parts of a matcher of `Event:Step:Tool` or less.
fn matched_parts(hook: &Hook) -> Option<Vec<String>> {
    let Some(Matcher::Pattern { regex, .. }) = &hook.matcher else {
        return None;
    };
    if !hook.contract.matcher_names_events {
        return None;
    }
    Some(
        regex
            .as_str()
            .split(':')
            .take(4)
            .map(|part| {
                part.replace(".*", "x")
                    .replace(".+", "x")
                    .replace(['^', '$', '\\'], "")
            })
            .collect(),
    )
}

/// The canonical name of an event that a text names in the hook's vocabulary.
fn canonical_name(hook: &Hook, name: &str) -> Option<&'static str> {
    let dialect = dialects::by_name(hook.contract.dialect).ok()?;
    dialect
        .events
        .iter()
        .find(|row| row.name == name)
        .map(|row| row.meant())
}

/// An event at which the hook runs, if one is found; else one that comes near.
///
/// # Errors
/// None could be made; for people.
pub(super) fn event_for(hook: &Hook, root: &Path) -> Result<Arc<Event>, String> {
    let (mut nearest, mut opaque) = (None, None);
    for texts in subject_texts(hook) {
        for tool in likely_tools(hook) {
            let event = Event::from_json(event_data(hook, &tool, &texts, root))
                .map_err(|error| error.to_string())?;
            let event = Arc::new(event);
            match hook.applies(&Facts::new(event.clone(), root)) {
                Ok(None) => return Ok(event),
                Ok(Some(_)) => opaque = opaque.or(Some(event)),
                Err(_) => nearest = nearest.or(Some(event)),
            }
        }
    }
    opaque
        .or(nearest)
        .ok_or_else(|| "no event could be made for it".into())
}

/// Candidates for the subject of an event: what the pattern of `if` stands for, what it begins
/// with, what `when` compares with, and `None` for what is usual.
fn subject_texts(hook: &Hook) -> Vec<Option<String>> {
    let rules = &hook.tools.rules;
    let patterns = rules
        .iter()
        .filter_map(|rule| rule.pattern())
        .map(glob_instance);
    let prefixes = rules.iter().filter_map(|rule| match rule.key() {
        Key::Program(program) => Some(program.to_string()),
        Key::PathPrefix(prefix) if prefix.is_empty() || prefix.ends_with('/') => {
            Some(format!("{prefix}x"))
        }
        Key::PathPrefix(path) => Some(path.to_string()),
        Key::None => None,
    });
    let compared = hook
        .when
        .as_ref()
        .map(|when| quoted_texts(when.source()))
        .unwrap_or_default();
    let mut texts: Vec<_> = patterns
        .chain(prefixes)
        .filter(|text| !text.is_empty())
        .map(Some)
        .collect();
    // Usual values satisfy more conditions than a text that stands somewhere in a condition.
    texts.push(None);
    texts.extend(compared.into_iter().map(Some));
    texts
}

/// The first few texts between quotes.
fn quoted_texts(expression: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = expression;
    while let Some((_, after)) = rest.split_once(['\'', '"'])
        && texts.len() < 5
    {
        let quote = rest
            .as_bytes()
            .get(rest.len() - after.len() - 1)
            .copied()
            .unwrap_or(b'"');
        let Some((text, behind)) = after.split_once(char::from(quote)) else {
            break;
        };
        texts.extend(Some(text.to_string()).filter(|it| !it.is_empty()));
        rest = behind;
    }
    texts
}

/// The names of tools, or of whatever else the matcher is about, the likeliest first.
fn likely_tools(hook: &Hook) -> Vec<String> {
    let of_parts = matched_parts(hook).and_then(|parts| {
        parts
            .into_iter()
            .next_back()
            .filter(|part| !part.is_empty())
    });
    let of_rules = hook
        .tools
        .rules
        .iter()
        .flat_map(|rule| rule.tools())
        .map(|(tool, _)| glob_instance(tool));
    let of_matcher = match &hook.matcher {
        Some(Matcher::Names(names)) => names.iter().take(10).cloned().collect(),
        Some(Matcher::Prefix(prefix) | Matcher::Pattern { prefix, .. }) if !prefix.is_empty() => {
            vec![prefix.clone(), format!("{prefix}x")]
        }
        Some(Matcher::Prefix(_) | Matcher::Pattern { .. }) | None => Vec::new(),
    };
    let usual = TOOLS.iter().map(|tool| tool.name.to_string());
    let mut tools: Vec<_> = of_rules
        .chain(of_parts)
        .chain(of_matcher)
        .chain(usual)
        .collect();
    if hook.tools.rules.is_empty() && hook.matcher.is_none() {
        tools.truncate(1);
        // A text that `when` compares with may be a tool.
        tools.extend(
            hook.when
                .as_ref()
                .map(|when| quoted_texts(when.source()))
                .unwrap_or_default(),
        );
    }
    tools
}

fn event_data(hook: &Hook, tool: &str, text: &Option<String>, root: &Path) -> Value {
    let name = event_name(hook);
    let agent = hook
        .agents
        .first()
        .map_or("agent".into(), |glob| glob_instance(glob.glob().glob()));
    let mut data = json!({
        "event": name,
        "session": "sample",
        "run": "sample",
        "step": 1,
        "cwd": root,
        "agent": { "name": agent },
    });
    for (pointer, value) in plausible_members(name) {
        set_pointer(&mut data, pointer, value);
    }
    if let Target::Member(pointer) = (hook.contract.matched)(name)
        && hook.matcher.is_some()
    {
        set_pointer(&mut data, pointer, tool.into());
    }
    if let Some([_, step, _]) = matched_parts(hook).as_deref()
        && !step.is_empty()
    {
        set_pointer(&mut data, "/stepName", step.as_str().into());
    }
    if let (Some(text), Some(subject)) = (text, spec(name).and_then(|it| it.subject))
        && at_pointer(&data, subject).is_some_and(Value::is_string)
    {
        set_pointer(&mut data, subject, text.as_str().into());
    }
    if spec(name).is_some_and(|spec| spec.tool) {
        set_pointer(&mut data, "/tool/name", tool.into());
        set_pointer(&mut data, "/tool/callId", "sample".into());
        set_pointer(
            &mut data,
            "/tool/input",
            tool_input(tool, text.as_deref(), root),
        );
    }
    data
}

/// The data that an agent would plausibly send with an event.
fn plausible_members(event: &str) -> Vec<(&'static str, Value)> {
    let usage = || json!({ "inputTokens": 1200, "outputTokens": 80 });
    let message = || json!("The work is done.");
    let prompt = || json!("Please run the tests and fix what fails.");
    match event {
        "PreExec" => vec![("/exec/argv", json!(["git", "push"]))],
        "SessionStart" => vec![("/source", json!("startup"))],
        "SessionEnd" => vec![("/reason", json!("other"))],
        "Setup" | "PostCompact" => vec![("/trigger", json!("manual"))],
        "UserPromptSubmit" | "RunStart" | "SubagentStart" | "UserPromptExpansion" => {
            vec![("/prompt", prompt())]
        }
        "RunEnd" => vec![
            ("/prompt", prompt()),
            ("/result", message()),
            ("/usage", usage()),
        ],
        "RunError" => vec![
            ("/prompt", prompt()),
            ("/error", json!("the model can't be reached")),
        ],
        "StepEnd" | "Stop" | "SubagentStop" | "MessageDisplay" => {
            vec![("/lastMessage", message()), ("/stopActive", json!(false))]
        }
        "PreModelCall" => vec![
            ("/model/name", json!("sample")),
            (
                "/model/request",
                json!({ "messages": [{ "role": "user", "content": prompt() }] }),
            ),
        ],
        "PostModelCall" => vec![
            ("/model/name", json!("sample")),
            (
                "/model/response",
                json!({ "role": "assistant", "content": message() }),
            ),
            ("/model/usage", usage()),
            ("/model/finishReason", json!("stop")),
        ],
        "ModelCallError" => vec![
            ("/model/name", json!("sample")),
            (
                "/model/error",
                json!({ "message": "overloaded", "status": 529 }),
            ),
            ("/model/attempt", json!(1)),
        ],
        "PostToolUse" => vec![
            ("/tool/output", json!("sample output")),
            ("/tool/durationMs", json!(12)),
        ],
        "PostToolUseFailure" => vec![
            ("/tool/error", json!("it failed")),
            ("/tool/durationMs", json!(12)),
        ],
        "PreCompact" => vec![("/trigger", json!("auto")), ("/compaction", json!({}))],
        "Notification" => vec![("/message", json!("The agent waits for you."))],
        custom if custom.starts_with(hookwire_base::event::CUSTOM_PREFIX) => {
            vec![("/data", json!({}))]
        }
        _ => Vec::new(),
    }
}

/// A call's input whose main argument is this text.
fn tool_input(tool: &str, text: Option<&str>, root: &Path) -> Value {
    let row = known(tool);
    // `name=pattern` is about that argument; in a command a `=` is part of the text.
    let named = text
        .and_then(|text| text.split_once('='))
        .filter(|(name, _)| {
            row.is_none_or(|row| row.kind != ArgumentKind::Shell)
                && !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
    let mut input = Map::new();
    let Some(row) = row else {
        match (named, text) {
            (Some((name, value)), _) => input.insert(name.into(), value.into()),
            (None, text) => input.insert("input".into(), text.unwrap_or("sample").into()),
        };
        return Value::Object(input);
    };
    let argument = row.arguments.first().copied().unwrap_or_default();
    let main = match (row.kind, argument, text.filter(|_| named.is_none())) {
        (ArgumentKind::Shell, _, text) => text.unwrap_or("echo hello").to_string(),
        (ArgumentKind::Path, _, text) => {
            root.join(text.unwrap_or("README.md")).display().to_string()
        }
        (ArgumentKind::Url, _, text) => text.unwrap_or("https://example.com/").into(),
        (ArgumentKind::Text, _, text) => text.unwrap_or("sample").into(),
    };
    input.insert(argument.into(), main.into());
    match tool {
        "Write" => drop(input.insert("content".into(), "hello\n".into())),
        "Edit" => {
            input.insert("old_string".into(), "hello".into());
            input.insert("new_string".into(), "hello there".into());
        }
        _ => {}
    }
    if let Some((name, value)) = named {
        input.insert(name.into(), value.into());
    }
    Value::Object(input)
}

/// A text that a glob matches, in most cases.
fn glob_instance(glob: &str) -> String {
    let mut text = String::new();
    let mut rest = glob.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => text.extend(rest.next()),
            '?' => text.push('x'),
            '*' => {
                while rest.next_if_eq(&'*').is_some() {}
                match rest.peek() {
                    // `**/` may be no directory at all.
                    Some('/') if text.is_empty() || text.ends_with('/') => drop(rest.next()),
                    None if !text.is_empty() && !text.ends_with('/') => {}
                    _ => text.push('x'),
                }
            }
            '[' => {
                // The first of a set may be the bracket itself.
                if rest.next_if_eq(&']').is_some() {
                    text.push(']');
                    let _ = rest.by_ref().find(|c| *c == ']');
                    continue;
                }
                let set: String = rest.by_ref().take_while(|c| *c != ']').collect();
                text.push(
                    set.chars()
                        .next()
                        .filter(|c| !matches!(c, '!' | '^'))
                        .unwrap_or('_'),
                );
            }
            '{' => {
                let choices: String = rest.by_ref().take_while(|c| *c != '}').collect();
                text.push_str(choices.split(',').next().unwrap_or_default());
            }
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_base::event::EVENTS;
    use hookwire_base::syntax::source::Layer;
    use hookwire_engine::definitions::check::check;

    fn hook(definition: &str) -> Arc<Hook> {
        let checked = check(
            "/p/a.yaml",
            &format!("hooks:\n- {{ name: a, {definition} }}\n"),
            Layer::Hooks,
            None,
        );
        let hook = checked
            .file
            .and_then(|file| file.hooks.into_iter().next()?.hook);
        hook.unwrap_or_else(|| panic!("{definition}: {:?}", checked.diagnostics))
    }

    #[test]
    fn a_sample_is_one_that_the_hook_is_for() {
        for (definition, expected) in [
            ("on: PreToolUse, deny: no", "Bash echo hello"),
            ("on: '*', deny: no", "Bash echo hello"),
            (
                "on: PreToolUse, if: 'Bash(git push*)', deny: no",
                "Bash git push",
            ),
            ("on: PreToolUse, if: 'Bash(git:*)', deny: no", "Bash git"),
            (
                "on: PreToolUse, if: 'Bash(* --force)', deny: no",
                "Bash x --force",
            ),
            (
                "on: PreToolUse, if: 'Write(src/**/*.ts)', deny: no",
                "Write /p/src/x.ts",
            ),
            (
                "on: PreToolUse, if: 'Read(/etc/**)', deny: no",
                "Read /etc/x",
            ),
            (
                "on: PreToolUse, if: 'WebFetch(https://*.example.com/*)', deny: no",
                "WebFetch https://x.example.com/x",
            ),
            (
                "on: PreToolUse, if: 'mcp__pay__*(to=bob*)', deny: no",
                "mcp__pay__ bob",
            ),
            (
                "on: PreToolUse, if: 'Grep(path=src/*)', deny: no",
                "Grep sample",
            ),
            (
                "on: PreToolUse, matcher: 'Write|Edit', deny: no",
                "Write /p/README.md",
            ),
            (
                "on: PreToolUse, matcher: 'mcp__pay__.*', deny: no",
                "mcp__pay__ sample",
            ),
            (
                "on: PreToolUse, matcher: '(Web).*', deny: no",
                "WebFetch https://example.com/",
            ),
            (
                "on: PreToolUse, agents: 'coder-*', deny: no",
                "Bash echo hello",
            ),
            (
                "on: [PostToolUse, Stop], dialect: claude-code, matcher: Edit, command: x",
                "Edit /p/README.md",
            ),
            (
                "on: SessionStart, dialect: claude-code, matcher: 'resume', command: x",
                "",
            ),
            ("on: 'custom:Deploy', command: x", ""),
            (
                "on: PreToolUse, when: 'tool.input.command == \"rm -r build\"', deny: no",
                "Bash rm -r build",
            ),
            (
                "on: PreToolUse, when: 'tool.name == \"curl\"', deny: no",
                "curl sample",
            ),
            (
                "on: UserPromptSubmit, when: \"prompt.contains('password')\", deny: no",
                "",
            ),
            (
                "dialect: workflow-framework, matcher: 'PreToolCall:.*:delete_.*', command: x",
                "delete_x sample",
            ),
            (
                "dialect: workflow-framework, matcher: '^PostToolCall:copy$', command: x",
                "copy sample",
            ),
            (
                "dialect: workflow-framework, matcher: '^StepCompleted', command: x",
                "",
            ),
            (
                "dialect: workflow-framework, matcher: ':deny$', command: x",
                "deny sample",
            ),
        ] {
            let hook = hook(definition);
            let event = event_for(&hook, Path::new("/p")).unwrap();
            hook.applies(&Facts::new(event.clone(), Path::new("/p")))
                .unwrap_or_else(|miss| panic!("{definition}: {miss:?}"));
            assert_eq!(&*event.name, event_name(&hook), "{definition}");
            let tool = event.tool_name().unwrap_or_default();
            let main = event
                .at("/tool/input")
                .and_then(|input| hookwire_rules::matching::tools::main_argument(tool, input));
            assert_eq!(
                format!("{tool} {}", main.map(|it| it.1).unwrap_or_default()).trim(),
                expected,
                "{definition}"
            );
        }
    }

    /// In every vocabulary, and where nothing can satisfy the hook.
    #[test]
    fn there_is_a_sample_of_every_event() {
        for event in EVENTS {
            for dialect in hookwire_dialects::DIALECTS
                .iter()
                .filter(|dialect| dialect.name() != "sample")
            {
                let hook = hook(&format!(
                    "on: {}, dialect: {}, command: x",
                    event.name,
                    dialect.name()
                ));
                let sample = event_for(&hook, Path::new("/p")).unwrap();
                assert_eq!(&*sample.name, event.name);
                (hook.contract.payload)(&sample);
            }
        }
        let hook = hook("on: PreToolUse, when: '1 > 2', deny: no");
        assert_eq!(
            event_for(&hook, Path::new("/p")).unwrap().tool_name(),
            Some("Bash")
        );
    }

    #[test]
    fn instances() {
        for (glob, expected) in [
            ("git push*", "git push"),
            ("**/*.rs", "x.rs"),
            ("src/**", "src/x"),
            ("a/**/b", "a/b"),
            ("[!a]b?", "_bx"),
            ("*.{ts,js}", "x.ts"),
            ("\\*", "*"),
            ("[", "_"),
            ("{", ""),
            ("*", "x"),
            ("team [[]a[]]*", "team [a]"),
        ] {
            assert_eq!(glob_instance(glob), expected, "{glob}");
        }
    }
}
