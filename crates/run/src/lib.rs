//! `hookwire-run`: runs a command and has every program start below it judged by a hookwire host.
//!
//! A small program of its own, because it is started for each command and stays beside it. The
//! rules, and the words of a refusal, are the host's; this program only sees to it that nothing
//! starts unasked. It works on Linux, where the kernel lets a process without privileges judge the
//! program starts of its children; elsewhere it says that it can't.
//!
//! It finds the project's host by itself, as `hookwire run` does. `hookwire-run hook AGENT` is
//! another task, for which a small program is needed, too: see `hook`.

#[cfg(target_os = "linux")]
mod absent;
mod args;
#[cfg(target_os = "linux")]
mod hook;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod meant;
#[cfg(target_os = "linux")]
mod run;

use hookwire_ask::programs;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// What a wrong use of the program, or a system that can't hold anything, ends with.
const UNUSABLE: u8 = 2;

/// Does what this process was started for.
pub fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    #[cfg(target_os = "linux")]
    if words.next_if(|word| word == "hook").is_some() {
        return hook::main(words.collect());
    }
    #[cfg(target_os = "linux")]
    if words.next_if(|word| word == "apart").is_some() {
        return linux::apart::main(words.collect());
    }
    // Under the name that people type it is the large program in all but what it does quicker
    // itself.
    if programs::is_called(programs::TYPED) && words.peek().is_none_or(|word| word != "run") {
        return refuse_run(&start_large(&words.collect::<Vec<OsString>>()));
    }
    // `hookwire run` is this program by its own name.
    words.next_if(|word| word == "run");
    if words.next_if(|word| word == "--version").is_some() {
        println!("hookwire-run {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    let words: Vec<OsString> = words.collect();
    let options = match args::names_host(&words) {
        #[cfg(target_os = "linux")]
        false => run::parse_options(&words),
        // The large program says what it can't do here, too.
        #[cfg(not(target_os = "linux"))]
        false if programs::is_called(programs::TYPED) => {
            return refuse(&start_large(&[&["run".into()], &*words].concat()));
        }
        _ => args::parse(words.into_iter()),
    };
    let options = match options {
        Ok(options) => options,
        Err(problem) => return refuse_run(&problem),
    };
    #[cfg(target_os = "linux")]
    return linux::main(options);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = options;
        refuse("program starts can be judged on Linux only")
    }
}

/// Has the large program take the place of this one; why it can't.
fn start_large(words: &[OsString]) -> String {
    match programs::large_program() {
        Err(place) => format!("{} isn't there", place.display()),
        Ok(program) => format!(
            "{} can't be started: {}",
            program.display(),
            Command::new(&program).args(words).exec()
        ),
    }
}

/// Says why nothing was run.
fn refuse_run(problem: &str) -> ExitCode {
    say_message(problem);
    ExitCode::from(UNUSABLE)
}

/// Writes a message to stderr. If nobody reads it any more, what is held goes on all the same.
fn say_message(text: impl std::fmt::Display) {
    let name = if programs::is_called(programs::TYPED) {
        programs::TYPED
    } else {
        programs::SMALL
    };
    let _ = writeln!(std::io::stderr(), "{name}: {text}");
}
