//! `hookwire-run -- COMMAND`: what `hookwire run -- COMMAND` does, without loading the large
//! program where the project's host runs. Everything out of the ordinary is for the large program,
//! which then takes the place of this one.

use super::args::Options;
use super::meant::{Meant, is_varied, option_value, set_once};
use super::start_large;
use hookwire_ask::socket;
use std::ffi::OsString;

/// What is to be held, with the host that is asked; words are those of `hookwire run`, without
/// `run`. Otherwise the large program takes over; why it can't.
pub fn parse_options(words: &[OsString]) -> Result<Options, String> {
    read_options(words).ok_or_else(|| start_large(&[&["run".into()], words].concat()))
}

fn read_options(words: &[OsString]) -> Option<Options> {
    let (mut options, mut meant) = (Options::default(), Meant::default());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.to_str()? {
            "--" => {
                options.command = words.by_ref().cloned().collect();
                break;
            }
            "--end-tree" => set_once(&mut options.end_tree)?,
            "--best-effort" => set_once(&mut options.best_effort)?,
            "--allow-debuggers" => set_once(&mut options.allow_debuggers)?,
            "--for" if options.tool_event.is_none() => {
                options.tool_event = Some(option_value(&mut words)?.to_str()?.to_string());
            }
            option => meant.take_option(option, &mut words)?.then_some(())?,
        }
    }
    if options.command.is_empty() || is_varied() {
        return None;
    }
    let host = meant.host_of_run()?;
    drop(socket::connect(&host.socket).ok()?);
    options.host = meant.start_command(&host);
    options.socket = host.socket;
    Some(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_the_ordinary_is_for_the_large_program() {
        for words in [
            "",
            "--end-tree",
            "--end-tree --end-tree -- true",
            "--idle-exit 5m -- true",
            "--for -- true",
            "--hooks nowhere -- true",
            "--state-file x -- true",
            "true",
        ] {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            assert!(read_options(&words).is_none(), "{words:?}");
        }
    }
}
