//! `hookwire-run`: runs a command and has every program start below it judged by a hookwire host.
//!
//! A small program of its own, because it is started for each command and stays beside it. The rules, and the words of
//! a refusal, are the host's; this program only sees to it that nothing starts unasked. It works on Linux, where the
//! kernel lets a process without privileges judge the program starts of its children; elsewhere it says that it can't.
//!
//! It finds the project's host by itself, as `hookwire run` does. `hookwire-run hook AGENT` is another task, for which a
//! small program is needed, too: see [`hook`].

mod args;
#[cfg(target_os = "linux")]
mod hook;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod meant;
#[cfg(target_os = "linux")]
mod run;

#[cfg(target_os = "linux")]
use hookwire_ask::programs;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// What a wrong use of the program, or a system that can't hold anything, ends with.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    #[cfg(target_os = "linux")]
    if words.next_if(|word| word == "hook").is_some() {
        return hook::main(words.collect());
    }
    // Under the name that people type it is the large program in all but what it does quicker itself.
    #[cfg(target_os = "linux")]
    if programs::is_called(programs::TYPED) && words.peek().is_none_or(|word| word != "run") {
        let problem = meant::start_large(&words.collect::<Vec<OsString>>());
        return refuse(&problem);
    }
    if words.next_if(|word| word == "--version").is_some() {
        println!("hookwire-run {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    let words: Vec<OsString> = words.collect();
    let options = match args::names_host(&words) {
        #[cfg(target_os = "linux")]
        false => run::options(words.strip_prefix(&["run".into()]).unwrap_or(&words)),
        _ => args::parse(words.into_iter()),
    };
    let options = match options {
        Ok(options) => options,
        Err(problem) => return refuse(&problem),
    };
    #[cfg(target_os = "linux")]
    return linux::main(options);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = options;
        refuse("program starts can be judged on Linux only")
    }
}

/// Says why nothing was run.
fn refuse(problem: &str) -> ExitCode {
    say(problem);
    ExitCode::from(UNUSABLE)
}

/// Writes a message to stderr. If nobody reads it any more, what is held goes on all the same.
fn say(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "hookwire-run: {text}");
}
