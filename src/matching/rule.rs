//! `if: Tool(pattern)`: a tool and what its main, or a named, argument must look like.
//!
//! For shell tools the pattern is held against every command that the text would run, for file
//! tools it is a glob on the path, otherwise a glob on the argument's text.

use super::tools::{self, ArgumentKind};
use super::{Facts, Truth, paths::PathPattern, shell::CommandPattern};
use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

/// How many of an event's views must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Views {
    /// One is enough: for deny, ask and every handler that runs.
    Any,
    /// All must, and none may be opaque: for a fixed allow.
    All,
}

/// A compiled rule.
#[derive(Debug)]
pub struct ToolRule {
    /// The tool's name; `*` in it stands for any characters.
    pub tool: String,
    /// What stands in the parentheses.
    pub pattern: Option<String>,
    tool_glob: Option<GlobMatcher>,
    argument: Option<Argument>,
}

#[derive(Debug)]
enum Argument {
    /// The main argument of a tool that the table knows.
    Command(CommandPattern),
    Path(PathPattern),
    Text(GlobMatcher),
    /// The main argument of a tool that nobody knows: read by its shape.
    ByShape {
        command: Option<CommandPattern>,
        path: Option<PathPattern>,
        text: GlobMatcher,
    },
    /// `name=pattern`.
    Named {
        name: String,
        text: GlobMatcher,
    },
}

/// What an index can use: a necessary condition for a rule to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// Nothing is known.
    None,
    /// Some command of the shell text begins with this, or the text is opaque.
    CommandPrefix(&'a str),
    /// The path, relative to the event's directory, begins with this in one of its views.
    PathPrefix(&'a str),
}

impl ToolRule {
    /// Compiles `Tool`, `Tool(pattern)` or `Tool(name=pattern)`.
    ///
    /// # Errors
    /// What is wrong, with an example where the form is.
    pub fn new(text: &str) -> Result<ToolRule, String> {
        let form = || "a rule is written `Tool(pattern)`, such as `Bash(git push*)`".to_string();
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool.trim(), Some(rest.strip_suffix(')').ok_or_else(form)?)),
        };
        if tool.is_empty() || tool.contains(|c: char| c.is_whitespace() || c == ')') {
            return Err(form());
        }
        let tool_glob = if tool.contains('*') { Some(glob(tool)?) } else { None };
        let argument = match pattern {
            None | Some("" | "*") => None,
            Some(pattern) => Some(Argument::new(tool, pattern)?),
        };
        Ok(ToolRule { tool: tool.to_string(), pattern: pattern.map(str::to_string), tool_glob, argument })
    }

    /// The tool's name if it is a plain one.
    pub fn literal_tool(&self) -> Option<&str> {
        self.tool_glob.is_none().then_some(self.tool.as_str())
    }

    /// Whether the rule holds for the event's tool call.
    pub fn holds(&self, facts: &Facts, views: Views) -> Truth {
        let Some(name) = facts.event.tool_name() else { return Truth::No };
        let tool_matches = match &self.tool_glob {
            Some(glob) => glob.is_match(name),
            None => self.tool == name,
        };
        match (&self.argument, tool_matches) {
            (_, false) => Truth::No,
            (None, true) => Truth::Yes,
            (Some(argument), true) => argument.holds(name, facts, views),
        }
    }

    /// A necessary condition for an index.
    pub fn key(&self) -> Key<'_> {
        match &self.argument {
            Some(Argument::Command(pattern)) => Key::CommandPrefix(pattern.literal_prefix()),
            Some(Argument::Path(pattern)) => match pattern.literal_prefix() {
                (false, prefix) => Key::PathPrefix(prefix),
                (true, _) => Key::None,
            },
            Some(Argument::Text(_) | Argument::ByShape { .. } | Argument::Named { .. }) | None => Key::None,
        }
    }
}

impl Argument {
    fn new(tool: &str, pattern: &str) -> Result<Argument, String> {
        let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let kind = tools::known(tool).map(|tool| tool.kind);
        if let Some((name, pattern)) = pattern.split_once('=')
            && is_word(name)
            && kind != Some(ArgumentKind::Shell)
        {
            return Ok(Argument::Named { name: name.to_string(), text: glob(pattern)? });
        }
        Ok(match kind {
            Some(ArgumentKind::Shell) => Argument::Command(CommandPattern::new(pattern)?),
            Some(ArgumentKind::Path) => Argument::Path(PathPattern::new(pattern)?),
            Some(ArgumentKind::Text) => Argument::Text(glob(pattern)?),
            None => Argument::ByShape {
                command: CommandPattern::new(pattern).ok(),
                path: PathPattern::new(pattern).ok(),
                text: glob(pattern)?,
            },
        })
    }

    fn holds(&self, tool: &str, facts: &Facts, views: Views) -> Truth {
        let input = facts.event.at("/tool/input").unwrap_or(&Value::Null);
        match self {
            Argument::Command(pattern) => command_holds(pattern, facts, views),
            Argument::Path(pattern) => path_holds(pattern, facts, views),
            Argument::Text(pattern) => match tools::main_argument(tool, input) {
                Some((_, text)) => truth(pattern.is_match(text)),
                None => no_argument(tool),
            },
            Argument::Named { name, text } => match input.get(name) {
                Some(Value::String(value)) => truth(text.is_match(value)),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => truth(text.is_match(value.to_string())),
                Some(Value::Null) | None => Truth::No,
                Some(_) => Truth::Opaque(format!("argument `{name}` is not plain text").into()),
            },
            Argument::ByShape { command, path, text } => match tools::main_argument(tool, input) {
                Some((ArgumentKind::Shell, _)) => match command {
                    Some(pattern) => command_holds(pattern, facts, views),
                    None => Truth::Opaque("the pattern doesn't fit a command".into()),
                },
                Some((ArgumentKind::Path, _)) => match path {
                    Some(pattern) => path_holds(pattern, facts, views),
                    None => Truth::Opaque("the pattern doesn't fit a path".into()),
                },
                Some((ArgumentKind::Text, value)) => truth(text.is_match(value)),
                None => no_argument(tool),
            },
        }
    }
}

fn command_holds(pattern: &CommandPattern, facts: &Facts, views: Views) -> Truth {
    let Some(shell) = facts.shell() else { return no_argument(facts.event.tool_name().unwrap_or_default()) };
    let matches = |command: &String| pattern.matches(command);
    match (views, shell.opaque) {
        (Views::Any, _) if shell.commands.iter().any(matches) => Truth::Yes,
        (_, Some(reason)) => Truth::Opaque(reason.into()),
        (Views::Any, None) => Truth::No,
        (Views::All, None) => truth(!shell.commands.is_empty() && shell.commands.iter().all(matches)),
    }
}

fn path_holds(pattern: &PathPattern, facts: &Facts, views: Views) -> Truth {
    let Some(path) = facts.path() else { return no_argument(facts.event.tool_name().unwrap_or_default()) };
    truth(match views {
        Views::Any => pattern.matches_any(path),
        Views::All => pattern.matches_all(path),
    })
}

fn no_argument(tool: &str) -> Truth {
    Truth::Opaque(format!("no one main argument in the input of `{tool}`").into())
}

fn truth(holds: bool) -> Truth {
    if holds { Truth::Yes } else { Truth::No }
}

/// A glob over text that is no path: `*` crosses slashes.
fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(false).backslash_escape(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use serde_json::json;
    use std::path::Path;
    use std::sync::Arc;

    fn holds(rule: &str, tool: &str, input: Value, views: Views) -> &'static str {
        let event =
            Event::from_json(json!({"event": "PreToolUse", "cwd": "/p", "tool": {"name": tool, "input": input}}))
                .unwrap();
        match ToolRule::new(rule).unwrap().holds(&Facts::new(Arc::new(event), Path::new("/")), views) {
            Truth::Yes => "yes",
            Truth::No => "no",
            Truth::Opaque(_) => "opaque",
        }
    }

    #[test]
    fn rules() {
        use Views::{All, Any};
        for (rule, tool, input, views, expected) in [
            ("Bash", "Bash", json!({}), Any, "yes"),
            ("Bash(*)", "Bash", json!({"command": "x"}), Any, "yes"),
            ("Bash(git push*)", "Bash", json!({"command": "npm test && git push -f"}), Any, "yes"),
            ("Bash(git push*)", "Bash", json!({"command": "npm test && git push -f"}), All, "no"),
            ("Bash(git push*)", "Bash", json!({"command": "git push && git push -f"}), All, "yes"),
            ("Bash(git push*)", "Bash", json!({"command": "echo 'git push'"}), Any, "no"),
            ("Bash(git push*)", "Bash", json!({"command": "$X"}), Any, "opaque"),
            ("Bash(git push*)", "Bash", json!({"command": 3}), Any, "opaque"),
            ("Bash(git push*)", "Write", json!({"command": "git push"}), Any, "no"),
            ("Write(src/**/*.ts)", "Write", json!({"file_path": "/p/src/a/b.ts"}), Any, "yes"),
            ("Write(src/**/*.ts)", "Write", json!({"path": "src/a.ts"}), All, "yes"),
            ("Write(src/**/*.ts)", "Write", json!({"path": "other/a.ts"}), Any, "no"),
            ("WebFetch(https://*.example.com/*)", "WebFetch", json!({"url": "https://a.example.com/x/y"}), Any, "yes"),
            ("mcp__pay__*(to=bob*)", "mcp__pay__send", json!({"to": "bobby"}), Any, "yes"),
            ("mcp__pay__*(to=bob*)", "mcp__pay__send", json!({"to": "al"}), Any, "no"),
            ("mcp__pay__*(amount=1??)", "mcp__pay__send", json!({"amount": 150}), Any, "yes"),
            ("shell(rm *)", "shell", json!({"cmd": "ls; rm x"}), Any, "yes"),
            ("unknown(a*)", "unknown", json!({"x": 1}), Any, "opaque"),
            // Which of two the tool takes can't be told.
            ("Write(/etc/**)", "Write", json!({"file_path": "ok", "path": "/etc/passwd"}), Any, "opaque"),
            ("Write(/p/**)", "Write", json!({"file_path": "ok", "path": "ok"}), All, "yes"),
            ("shell(rm *)", "shell", json!({"command": "ls", "cmd": "rm x"}), Any, "opaque"),
        ] {
            assert_eq!(holds(rule, tool, input.clone(), views), expected, "{rule} on {input}");
        }
        for bad in ["", "Bash(x", "Ba sh(x)", "(x)", "WebFetch([)"] {
            assert!(ToolRule::new(bad).is_err(), "{bad}");
        }
    }
}
