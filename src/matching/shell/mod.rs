//! Which simple commands a shell text would run, and patterns over them.
//!
//! [`parse`] reads a text the way bash 5 does, as far as that can be told without running it, and lists
//! every simple command on any control path in a normal form: argv joined by single spaces, quotes and
//! leading assignments gone, wrapper programs such as `env` or `timeout` taken off. Whatever it can't
//! decide sets `opaque`; it errs towards that, because an unnoticed command is the one mistake that a
//! guard can't afford. Unsupported syntax is read loosely: it may list a command that bash would refuse
//! to run.
//!
//! What opaque means for a rule (ask, deny, no opinion) is left to the caller, and so are the programs
//! themselves: `npm test` and `./build.sh` are commands by that name, whatever their files hold, and so is
//! a long git verb that the user's configuration may have made an alias.
//!
//! Two normal forms are listed where one would mislead an allow rule: a program outside the standard
//! directories (`./git push` and `git push`), and wrappers that change who or where the command is
//! (`sudo ls` and `ls`), as well as shells that are given text (`sh -c ls` and `ls`).

mod adapter;
mod commands;
mod pattern;
mod syntax;
mod tables;
#[cfg(test)]
mod tests;
mod words;

pub use adapter::{Command, CommandRule, Judgement, Place, Script, Shell, covers, hits, read};
pub use pattern::CommandPattern;
pub use words::words;

use commands::*;
use std::collections::HashSet;
use syntax::*;
use tables::*;

/// What a shell text would run, as far as it can be told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellText {
    /// Normalised simple commands in order of appearance, without repetition.
    pub commands: Vec<String>,
    /// Why something could not be decided; the first reason found.
    pub opaque: Option<&'static str>,
}

/// Lists what `text` would run.
pub fn parse(text: &str) -> ShellText {
    let mut found = Found::default();
    if text.len() > MAX_TEXT {
        found.opaque("the text is too long");
    } else if text.contains('\0') {
        found.opaque("the text holds a NUL byte");
    } else {
        found.allowance = text.len() * WORK_PER_BYTE + 4096;
        Parser::new(text, 0, &mut found).list(End::Text);
        found.check_written_programs();
    }
    ShellText { commands: found.commands, opaque: found.opaque }
}

const MAX_TEXT: usize = 256 * 1024;
const MAX_DEPTH: usize = 24;
const MAX_COMMANDS: usize = 20_000;
/// Among so many commands a walk is faster than a set.
const FEW: usize = 16;
/// Texts inside texts (`sh -c`, back-quotes) are read again, once per level: this bounds the sum.
const WORK_PER_BYTE: usize = 40;

/// What has been gathered over all nested texts.
#[derive(Default)]
struct Found {
    commands: Vec<String>,
    /// The same, once there are more than a few.
    known: HashSet<String>,
    opaque: Option<&'static str>,
    allowance: usize,
    written: HashSet<String>,
    writes_unknown: bool,
    started: HashSet<String>,
    started_by_path: bool,
}

impl Found {
    fn opaque(&mut self, reason: &'static str) {
        self.opaque.get_or_insert(reason);
    }

    fn push(&mut self, command: String) {
        if self.commands.len() >= MAX_COMMANDS {
            self.opaque("there are too many commands");
            self.allowance = 0;
        } else if self.commands.len() < FEW {
            if !self.commands.contains(&command) {
                self.commands.push(command);
            }
        } else {
            if self.known.is_empty() {
                self.known.extend(self.commands.iter().cloned());
            }
            if self.known.insert(command.clone()) {
                self.commands.push(command);
            }
        }
    }

    fn wrote(&mut self, path: &str) {
        if path.starts_with("/dev/") {
            return;
        }
        if path.contains(".git/") || base_name(path) == ".gitconfig" {
            self.opaque("git's configuration or hooks are written");
        }
        self.written.insert(base_name(path).to_string());
    }

    /// A program or script that the same text may have made can be anything.
    fn check_written_programs(&mut self) {
        let made = self.started.iter().any(|name| self.written.contains(name));
        if made || (self.writes_unknown && self.started_by_path) {
            self.opaque("it runs a file that it may have written itself");
        }
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
