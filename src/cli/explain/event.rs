//! An event as a person gives it: as JSON, or by an option that stands for a call.

use super::super::output::{safe, say_on_stderr};
use super::super::{Failure, dialect_parser};
use hookwire_base::event::Event;
use hookwire_base::support::file;
use hookwire_base::support::json::parse_event;
use hookwire_base::support::os_error::in_words;
use hookwire_base::support::shell_word;
use hookwire_dialects::recorded::unwrap_capture;
use hookwire_dialects::{Dialect, NATIVE};
use hookwire_engine::definitions::slips;
use serde_json::{Value, json};
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(super) struct EventArgs {
    /// The event as JSON, a file that holds it, or - for stdin.
    #[arg(default_value = "-")]
    event: String,
    /// The call of a shell with this command, before it runs, instead of an event as JSON.
    #[arg(long, value_name = "COMMAND", group = "call", conflicts_with_all = ["event", "dialect"])]
    bash: Option<String>,
    /// The same for a call that writes this file.
    #[arg(long, value_name = "PATH", group = "call", conflicts_with_all = ["event", "dialect"])]
    write: Option<PathBuf>,
    /// The same for a call that reads this file.
    #[arg(long, value_name = "PATH", group = "call", conflicts_with_all = ["event", "dialect"])]
    read: Option<PathBuf>,
    /// The vocabulary of the event.
    #[arg(long, default_value = NATIVE, value_parser = dialect_parser())]
    pub(super) dialect: &'static Dialect,
}

impl EventArgs {
    /// The event of a call that an option stands for.
    fn call(&self) -> Option<Value> {
        let input = |path: &Path| json!({ "file_path": std::path::absolute(path).unwrap_or_else(|_| path.into()) });
        let (tool, input) = match self {
            EventArgs {
                bash: Some(command),
                ..
            } => ("Bash", json!({ "command": command })),
            EventArgs {
                write: Some(path), ..
            } => ("Write", {
                let mut input = input(path);
                input["content"] = json!("");
                input
            }),
            EventArgs {
                read: Some(path), ..
            } => ("Read", input(path)),
            EventArgs { .. } => return None,
        };
        Some(json!({ "event": "PreToolUse", "tool": { "name": tool, "input": input } }))
    }

    pub(super) fn read_event(&self) -> Result<Event, Failure> {
        if let Some(call) = self.call() {
            return Event::from_json(call).map_err(|error| Failure(error.to_string()));
        }
        let text = if self.event == "-" {
            if std::io::stdin().is_terminal() {
                say_on_stderr(format_args!("waiting for an event on stdin, as JSON"));
            }
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            if text.trim().is_empty() {
                let event = "there is no event on stdin; write --bash 'git push -f', --write PATH or --read PATH, or give an \
                             event as JSON: as an argument, in a file that you name, or on stdin";
                return Err(Failure(event.into()));
            }
            text
        } else if self.event.trim_start().starts_with('{') {
            self.event.clone()
        } else {
            file::read_given(Path::new(&self.event)).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    let command = shell_word::argument(&self.event);
                    Failure(format!(
                        "{}: there is no such file; for a command, write --bash {command}",
                        self.event
                    ))
                }
                _ => Failure(format!("{}: {}", self.event, in_words(&error))),
            })?
        };
        let value = parse_event(&text)
            .map_err(|error| Failure(format!("the event is not JSON: {error}")))?;
        if self.dialect.name() == NATIVE {
            for (wrong, meant) in slips::of_event(&value) {
                say_on_stderr(format_args!(
                    "no event has `{}`; did you mean `{}`?",
                    safe(&wrong),
                    safe(&meant)
                ));
            }
        }
        self.dialect
            .read_event(unwrap_capture(value))
            .map_err(|error| Failure(error.to_string()))
    }
}
