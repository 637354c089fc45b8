//! The arguments of the program.

use std::ffi::OsString;
use std::path::PathBuf;

const USAGE: &str = "usage: hookwire-run [--socket PATH [--host WORD]... [--session ID] [--data-dir DIR]...] [--for EVENT] [--end-tree] \
[--best-effort] [--allow-debuggers] -- COMMAND [ARG]... | hookwire-run --probe | hookwire-run hook AGENT | hookwire-run --version";

/// What the program is to do.
#[derive(Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "read where something can be held")
)]
pub struct Options {
    /// The socket of the host that is asked.
    pub socket: PathBuf,
    /// The command that starts a host again where none answers any more; it prints the path of its
    /// socket.
    pub host: Vec<OsString>,
    /// Where it is kept when something was held, beside the places that this command names.
    pub data: Vec<PathBuf>,
    /// The event whose tool call the command is.
    pub tool_event: Option<String>,
    /// What the events' session is called.
    pub session: Option<String>,
    /// Nothing that the command started outlives it.
    pub end_tree: bool,
    /// Where the kernel can't hold anything, or not all, the command runs all the same.
    pub best_effort: bool,
    /// Debuggers may trace programs below; a start under a debugger is judged before it only.
    pub allow_debuggers: bool,
    /// Only say what the kernel can hold here.
    pub probe: bool,
    /// The command with its arguments; empty for a probe only.
    pub command: Vec<OsString>,
}

impl Options {
    /// The directories of what is kept for the user that are named here.
    #[cfg(target_os = "linux")]
    pub fn data_dirs(&self) -> Vec<PathBuf> {
        let of_host = self
            .host
            .windows(2)
            .filter(|it| it[0] == hookwire_ask::places::DATA_DIR);
        self.data
            .iter()
            .cloned()
            .chain(of_host.map(|of_host| PathBuf::from(&of_host[1])))
            .collect()
    }
}

/// Whether the arguments name the host, or need none. Otherwise it is the project's.
pub fn names_host(args: &[OsString]) -> bool {
    let mut own = args.iter().take_while(|arg| *arg != "--");
    own.any(|arg| arg == "--socket" || arg == "--probe")
}

/// Reads the arguments, without the program's own name.
///
/// # Errors
/// They can't be obeyed; the text is for a person.
pub fn parse(args: impl Iterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut args = args.peekable();
    while let Some(arg) = args.next() {
        let mut value = || {
            args.next()
                .ok_or_else(|| format!("{} needs a value; {USAGE}", arg.display()))
        };
        match arg.to_str() {
            Some("--socket") => options.socket = value()?.into(),
            Some("--host") => options.host.push(value()?),
            Some("--data-dir") => options.data.push(value()?.into()),
            Some("--for") => options.tool_event = Some(into_text(value()?)?),
            Some("--session") => options.session = Some(into_text(value()?)?),
            Some("--end-tree") => options.end_tree = true,
            Some("--best-effort") => options.best_effort = true,
            Some("--allow-debuggers") => options.allow_debuggers = true,
            Some("--probe") => options.probe = true,
            Some("--") => {
                options.command = args.by_ref().collect();
                break;
            }
            _ => return Err(format!("unknown argument {}; {USAGE}", arg.display())),
        }
    }
    if options.probe {
        return Ok(options);
    }
    if options.command.is_empty() {
        return Err(format!("no command; {USAGE}"));
    }
    if options.socket.as_os_str().is_empty() {
        return Err(format!("no --socket, so there is nobody to ask; {USAGE}"));
    }
    Ok(options)
}

fn into_text(value: OsString) -> Result<String, String> {
    value
        .into_string()
        .map_err(|value| format!("{} is not valid UTF-8", value.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options, String> {
        parse(text.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_end_at_the_command() {
        let options = read("--socket /s --end-tree --for e1 -- sh -c --probe").unwrap();
        assert_eq!(options.command, ["sh", "-c", "--probe"]);
        assert!(options.end_tree && !options.probe);
        assert_eq!(options.tool_event.as_deref(), Some("e1"));
    }

    #[test]
    fn what_cannot_be_obeyed_is_named() {
        for (text, problem) in [
            ("-- true", "no --socket"),
            ("--socket /s", "no command"),
            ("--socket", "--socket needs a value"),
            ("--socket /s true", "unknown argument true"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(problem), "{text}: {error}");
        }
    }
}
