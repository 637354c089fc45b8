//! How it is done on Linux: seccomp asks the supervisor about each `execve`, ptrace holds the new
//! program still while it is looked at again.
//!
//! ```text
//! front       the caller's child: waits, passes signals on and ends as the command ends
//! └ supervisor  own process group; judges, lives until nothing is left below
//!   └ command   in the caller's process group; [user namespace] → Landlock scopes → seccomp → exec
//! ```

pub mod apart;
mod arch;
mod asking;
mod command;
mod daemons;
mod filter;
mod front;
mod holding;
mod host;
mod judging;
mod lookup;
mod obeyed;
mod pool;
mod probe;
mod programs;
mod remote;
mod runs;
mod start;
mod supervisor;
mod sys;
mod told;
mod tree;
mod watch;
mod words;

use crate::args::Options;
use std::process::ExitCode;

/// Does what the arguments say.
pub fn main(options: Options) -> ExitCode {
    if options.probe {
        return probe::main();
    }
    if let Some(problem) = daemons::outside(&options.command) {
        return crate::refuse_run(&problem);
    }
    match front::run_front(options) {
        Ok(code) => code,
        Err(problem) => crate::refuse_run(&problem),
    }
}
