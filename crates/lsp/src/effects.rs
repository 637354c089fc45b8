//! What running a hook would do to the world, in words.

use super::plain_text::one_line;
use hookwire_engine::hook::Hook;
use hookwire_handlers::handlers::{Effect, Program};
use hookwire_rules::matching::shell::{self, Shell};
use std::path::Path;

/// How much of what a definition says stands in a sentence, in characters.
const MAX_QUOTED: usize = 40;
/// The longest call that is told whole, in characters.
const MAX_CALL: usize = 40;
/// The longest name of a program, in characters.
const MAX_NAME: usize = 16;
/// The most programs of a shell text that are named.
const MAX_PROGRAMS: usize = 3;
/// Shells have these built in, and all that they do is to print and to decide.
const HARMLESS: [&str; 9] = [
    "echo", "printf", "test", "[", "[[", "true", "false", "exit", ":",
];

/// Finishes the sentence "running it ..."; `None` when it only looks at the event.
pub(super) fn of_running(hook: &Hook) -> Option<String> {
    let dir = Path::new(&*hook.source.file)
        .parent()
        .unwrap_or(Path::new(""));
    Some(match hook.handler.effect()? {
        Effect::Command(command) => format!("starts {}", describe_program(&command, dir)),
        Effect::Worker("", worker) => {
            format!("starts a worker: {}", describe_program(&worker, dir))
        }
        Effect::Worker(runtime, worker) => {
            format!(
                "starts a {runtime} worker: {}",
                describe_program(&worker, dir)
            )
        }
        Effect::Post(url) => format!("POSTs to {}", one_line(&url, MAX_QUOTED)),
        Effect::Model(Some(name)) => format!("asks the model {}", one_line(&name, MAX_QUOTED)),
        Effect::Model(None) => "asks the default model".into(),
        Effect::Agent(tools) if tools.is_empty() => "runs a sub-agent without tools".into(),
        Effect::Agent(tools) => format!(
            "runs a sub-agent with tools {}",
            one_line(&tools.join(", "), MAX_QUOTED)
        ),
        Effect::McpTool {
            tool,
            starts: Some(server),
            ..
        } => {
            format!(
                "starts the MCP server {} and calls {}",
                describe_program(&server, dir),
                one_line(&tool, MAX_QUOTED)
            )
        }
        Effect::McpTool {
            tool,
            server,
            starts: None,
        } => {
            format!(
                "calls {} of the MCP server {}",
                one_line(&tool, MAX_QUOTED),
                one_line(&server, MAX_QUOTED)
            )
        }
        Effect::Appends(file) => {
            let file = file
                .strip_prefix(dir)
                .unwrap_or(&file)
                .display()
                .to_string();
            format!("appends to {}", one_line(&file, MAX_QUOTED))
        }
        Effect::Person => "asks you here in the editor".into(),
    })
}

/// Whether a hook is a guard that counts.
pub(super) fn is_counting(hook: &Hook) -> bool {
    hook.handler.counts()
}

/// The program that is started, or those that a shell text names, with the settings that can change
/// what they do.
fn describe_program(Program { text, sets, cwd }: &Program, dir: &Path) -> String {
    let mut told = describe_programs(text);
    if !sets.is_empty() {
        told.push_str(&format!(
            " with {} set",
            one_line(&sets.join(", "), MAX_QUOTED)
        ));
    }
    if let Some(cwd) = cwd {
        let cwd = cwd.strip_prefix(dir).unwrap_or(cwd).display().to_string();
        told.push_str(&format!(
            " in {}",
            one_line(if cwd.is_empty() { "." } else { &cwd }, MAX_QUOTED)
        ));
    }
    told
}

/// A short call as it is, and of anything else every program by its name: what matters may be at
/// its end.
fn describe_programs(text: &str) -> String {
    let script = shell::read(text, Shell::Unknown);
    if let [call] = script.commands()
        && script.names_all()
        && text.get(call.span.clone()) == Some(text.trim())
        && text.chars().count() <= MAX_CALL
        && !call.words.first().is_some_and(|words| {
            words
                .as_constant()
                .is_some_and(|name| HARMLESS.contains(&name))
        })
    {
        return one_line(text, MAX_CALL);
    }
    let mut names: Vec<String> = Vec::new();
    for name in script
        .commands()
        .iter()
        .filter_map(|command| command.words.first()?.as_constant())
    {
        let name = one_line(name.rsplit('/').next().unwrap_or(name), MAX_NAME);
        if !names.contains(&name) && !HARMLESS.contains(&name.as_str()) {
            names.push(name);
        }
    }
    // What can't be read can start anything.
    if names.is_empty()
        || !script.names_all()
        || script
            .commands()
            .iter()
            .any(|command| command.words.is_empty())
    {
        return match text.trim().lines().count() {
            0 | 1 => "a shell command".into(),
            lines => format!("a shell script of {lines} lines"),
        };
    }
    let more = names.len().saturating_sub(MAX_PROGRAMS);
    names.truncate(MAX_PROGRAMS);
    let names = names.join(", ");
    if more == 0 {
        names
    } else {
        format!("{names} and {more} more")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_base::syntax::source::Layer;
    use hookwire_engine::definitions::check::check;

    fn effect(dir: &Path, definition: &str) -> String {
        let text = format!("hooks:\n- {{ name: a, on: PreToolUse, {definition} }}\n");
        let checked = check(
            &dir.join("a.yaml").display().to_string(),
            &text,
            Layer::Hooks,
            None,
        );
        let hook = checked
            .file
            .as_ref()
            .and_then(|file| file.hooks[0].hook.as_ref());
        let hook = hook.unwrap_or_else(|| panic!("{definition}: {:?}", checked.diagnostics));
        of_running(hook).unwrap_or_default()
    }

    #[test]
    fn effects() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["guards.py", "a.mjs", "worker"] {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        for (definition, expected) in [
            ("deny: no", ""),
            ("ask: really?", ""),
            ("guard: loop-detector", ""),
            ("command: [python3, check.py]", "starts python3 check.py"),
            (
                "command: { run: \"a\\nb\", env: { KEY: s3cret, LD_PRELOAD: ./x.so } }",
                "starts a, b with KEY, LD_PRELOAD set",
            ),
            (
                "command: { run: [git, status], cwd: sub }",
                "starts git status in sub",
            ),
            (
                "command: \"set -e\\n\\n  rm -rf build\\n\"",
                "starts set, rm",
            ),
            // Nothing hides what is started.
            (
                "command: { run: 'touch it', env: { A: 'touch it' } }",
                "starts touch it with A set",
            ),
            (
                "command: 'check                                                          ; touch it'",
                "starts check, touch",
            ),
            (
                "command: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; touch it'",
                "starts aaaaaaaaaaaaaaaa…, touch",
            ),
            (
                "command: 'sh .hookwire/no-secrets.sh'",
                "starts sh .hookwire/no-secrets.sh",
            ),
            (
                "command: 'cat >> \"$HOOKWIRE_PROJECT_DIR/audit.log\"'",
                "starts cat >> \"$HOOKWIRE_PROJECT_DIR/audit.log\"",
            ),
            (
                "command: 'jq -r .tool | grep -q x && { echo no; exit 2; }; curl x; wget y'",
                "starts jq, grep, curl and 1 more",
            ),
            (
                "command: '! grep -q KEY || { echo no >&2; exit 2; }'",
                "starts grep",
            ),
            ("command: 'echo no >&2; exit 2'", "starts a shell command"),
            ("command: 'exit 3'", "starts a shell command"),
            (
                "callable: { python: 'guards.py:check' }",
                "starts a Python worker: guards.py:check",
            ),
            (
                "callable: { node: './a.mjs#b' }",
                "starts a Node worker: ./a.mjs#b",
            ),
            (
                "callable: { command: [./worker, -x] }",
                "starts a worker: ./worker -x",
            ),
            (
                "http: { url: 'https://example.com:8443/a/b?key=s3cret#x', headers: { authorization: s3cret } }",
                "POSTs to https://example.com:8443/a/b",
            ),
            (
                "guard: { audit-log: { file: logs/a.jsonl } }",
                "appends to logs/a.jsonl",
            ),
            (
                "guard: { audit-log: { file: /var/log/a.jsonl } }",
                "appends to /var/log/a.jsonl",
            ),
            ("guard: approval", "asks you here in the editor"),
            #[cfg(feature = "script")]
            ("script: 'return {}'", ""),
            #[cfg(feature = "models")]
            (
                "prompt: { text: is it?, model: 'openai:gpt-5-mini' }",
                "asks the model openai:gpt-5-mini",
            ),
            #[cfg(feature = "models")]
            ("prompt: is it?", "asks the default model"),
            #[cfg(feature = "models")]
            (
                "agent: { task: look, tools: [grep, read_file] }",
                "runs a sub-agent with tools grep, read_file",
            ),
            #[cfg(feature = "mcp")]
            (
                "mcp: { server: { command: [npx, some-server, --key, s3cret] }, tool: scan }",
                "starts the MCP server npx, some-server and calls scan",
            ),
        ] {
            assert_eq!(effect(dir.path(), definition), expected, "{definition}");
        }
    }
}
