//! The `hookwire-conformance` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    match hookwire_conformance::run(std::env::args_os(), &mut std::io::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("hookwire-conformance: {problem}");
            ExitCode::from(2)
        }
    }
}
