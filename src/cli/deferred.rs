//! Arguments that clap hears of once their command is the one that was named: a process that
//! answers one event would spend a quarter of its time on the options of all the others.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use std::ops::Deref;

pub(super) struct Deferred<T>(T);

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Deferred)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| keep_about(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| keep_about(command, T::augment_args_for_update))
    }
}

/// Arguments bring a description of their own, which the command's own comes after if nothing is
/// deferred. With the description come its examples.
fn keep_about(command: Command, augment: fn(Command) -> Command) -> Command {
    let (about, long_about) = (
        command.get_about().cloned(),
        command.get_long_about().cloned(),
    );
    let examples = super::help::command_examples(&command);
    let command = augment(command).long_about(None);
    let command = examples.into_iter().fold(command, Command::after_help);
    let command = about.into_iter().fold(command, Command::about);
    long_about.into_iter().fold(command, Command::long_about)
}
