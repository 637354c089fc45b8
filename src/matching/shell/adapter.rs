//! The judgement of command rules over [`parse`] and [`CommandPattern`]: what a rule list says of a text.

use super::{CommandPattern, base_name, parse};
use std::ops::Range;
use std::path::Path;

/// Which shell will read the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// GNU bash.
    Bash,
    /// dash and others that keep to POSIX.
    Posix,
    /// Z shell.
    Zsh,
    /// Some shell of the Bourne family: only what all read alike is certain.
    Unknown,
    /// fish, PowerShell, cmd: nothing of it is read.
    Other,
}

impl Shell {
    /// The shell of a program's name or path: `bash`, `/bin/sh`, `pwsh`.
    pub fn named(name: &str) -> Shell {
        let name = base_name(name);
        match name.strip_suffix(".exe").unwrap_or(name) {
            "bash" => Shell::Bash,
            "sh" | "dash" | "ash" => Shell::Posix,
            "zsh" => Shell::Zsh,
            "fish" | "pwsh" | "powershell" | "cmd" | "nu" | "csh" | "tcsh" | "xonsh" | "elvish" => Shell::Other,
            _ => Shell::Unknown,
        }
    }
}

/// A shell text that was read.
#[derive(Debug)]
pub struct Script {
    commands: Vec<Command>,
    doubt: Option<Doubt>,
}

/// A simple command that the text would run.
#[derive(Debug)]
pub struct Command {
    /// Its argv.
    pub words: Vec<Word>,
    /// Where it stands, in bytes of the text.
    pub span: Range<usize>,
    normal: String,
}

/// One word of a command.
#[derive(Debug)]
pub struct Word {
    /// Its value.
    pub text: String,
    /// Where it is written; `None` when it came from a nested text or an expansion.
    pub span: Option<Range<usize>>,
}

impl Command {
    /// Its words, joined by blanks.
    pub fn normal(&self) -> String {
        self.normal.clone()
    }
}

impl Script {
    /// The simple commands that the text would run, in order.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// Every name that the [program](CommandRule::program) of a rule must be one of for the rule to hold;
    /// `None` if any program could be run.
    pub fn programs(&self) -> Option<impl Iterator<Item = &str>> {
        let programs = self.commands.iter().filter_map(|it| it.normal.split(' ').next()).map(base_name);
        Some(programs).filter(|_| self.doubt.is_none())
    }
}

/// Reads a text.
pub fn read(text: &str, shell: Shell) -> Script {
    let whole = || 0..text.len();
    if shell == Shell::Other {
        let doubt = Doubt { why: "a shell with another syntax", at: whole() };
        return Script { commands: Vec::new(), doubt: Some(doubt) };
    }
    let read = parse(text);
    let command = |normal: String| {
        let span = text.find(&normal).map_or_else(whole, |at| at..at + normal.len());
        let words = normal.split(' ').map(|word| Word { text: word.to_string(), span: None }).collect();
        Command { words, span, normal }
    };
    let doubt = read.opaque.map(|why| Doubt { why, at: whole() });
    Script { commands: read.commands.into_iter().map(command).collect(), doubt }
}

/// The inside of `Bash(...)`, compiled.
#[derive(Clone, Debug)]
pub struct CommandRule {
    pattern: CommandPattern,
    program: Option<String>,
}

impl CommandRule {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(pattern: &str) -> Result<CommandRule, String> {
        let compiled = CommandPattern::new(pattern)?;
        let head = pattern.split_whitespace().next().unwrap_or_default();
        let name = base_name(head.strip_suffix(":*").unwrap_or(head));
        let program = (!head.is_empty() && !name.is_empty() && !name.contains('*')).then(|| name.to_string());
        Ok(CommandRule { pattern: compiled, program })
    }

    /// Whether one command is what the rule names.
    pub fn fits(&self, command: &Command) -> bool {
        self.pattern.matches(&command.normal)
    }

    /// The program that a command must run for the rule to hold, if it is one.
    pub fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }
}

/// Where a text would run: what paths and `~` are taken against.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "operands aren't resolved yet")]
pub struct Place<'a> {
    /// The working directory.
    pub cwd: &'a Path,
    /// The user's home directory.
    pub home: Option<&'a Path>,
}

/// Whether rules hold for a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// They don't.
    No,
    /// It runs code that the text doesn't show.
    #[allow(dead_code, reason = "the reader doesn't tell it from doubt yet")]
    Delegates(Doubt),
    /// It can't be told.
    Doubt(Doubt),
    /// They do: the indices of the commands that match.
    Yes(Vec<usize>),
}

/// What can't be told of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Why.
    pub why: &'static str,
    /// Where in the text.
    pub at: Range<usize>,
}

/// For deny, ask and handlers: some command matches one of `rules` and isn't covered by `unless`.
pub fn hits(rules: &[&CommandRule], unless: &[&CommandRule], script: &Script, _: &Place<'_>) -> Judgement {
    let is_of = |rules: &[&CommandRule], command: &Command| rules.iter().any(|it| it.pattern.matches(&command.normal));
    let is_hit = |command: &Command| is_of(rules, command) && !is_of(unless, command);
    let found: Vec<_> = (0..).zip(&script.commands).filter(|(_, it)| is_hit(it)).map(|(n, _)| n).collect();
    match &script.doubt {
        _ if !found.is_empty() => Judgement::Yes(found),
        Some(doubt) => Judgement::Doubt(doubt.clone()),
        None => Judgement::No,
    }
}

/// For allow: every command is certain and covered by one of `rules`, and none is hit by `unless`.
pub fn covers(rules: &[&CommandRule], unless: &[&CommandRule], script: &Script, place: &Place<'_>) -> Judgement {
    if let Some(doubt) = &script.doubt {
        return Judgement::Doubt(doubt.clone());
    }
    let is_covered = |command: &Command| rules.iter().any(|it| it.pattern.matches(&command.normal));
    let is_kept_out = hits(unless, &[], script, place) != Judgement::No;
    if script.commands.is_empty() || is_kept_out || !script.commands.iter().all(is_covered) {
        return Judgement::No;
    }
    Judgement::Yes((0..script.commands.len()).collect())
}
