//! The programs, and where they stand.
//!
//! The large program, [`HOST`], does everything. The small one asks a host that runs and holds what
//! starts, because loading the large one takes longer than either. People type the small one's
//! name, `hookwire`; it has the large one do what it doesn't do itself. Packages for Linux have it
//! as [`SMALL`], too. Where `hookwire` stands alone, as in some containers, it is the large one.

use std::path::PathBuf;

/// What people type.
pub const TYPED: &str = "hookwire";
/// The large program, where the small one has the name that people type.
pub const HOST: &str = "hookwire-host";
/// The small program.
pub const SMALL: &str = "hookwire-run";
/// All names.
pub const NAMES: [&str; 3] = [TYPED, HOST, SMALL];

/// The large program beside the one that runs.
///
/// # Errors
/// There is none; names where it was looked for.
pub fn large_program() -> Result<PathBuf, PathBuf> {
    program_beside(HOST).or_else(|place| {
        if is_called(TYPED) {
            Err(place)
        } else {
            program_beside(TYPED)
        }
    })
}

/// The small program beside the one that runs. It takes `run` as its first word.
///
/// # Errors
/// There is none; names where it was looked for.
pub fn small_program() -> Result<PathBuf, PathBuf> {
    // A `hookwire` beside the large program is the small one.
    program_beside(SMALL).or_else(|place| {
        if is_called(HOST) {
            program_beside(TYPED)
        } else {
            Err(place)
        }
    })
}

/// Whether the program that runs has this name, wherever links lead.
pub fn is_called(name: &str) -> bool {
    own_program().file_name().is_some_and(|it| it == name)
}

fn own_program() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.canonicalize().unwrap_or(own)
}

fn program_beside(name: &str) -> Result<PathBuf, PathBuf> {
    let beside = own_program().with_file_name(name);
    match beside.canonicalize() {
        Ok(program) if program.is_file() => Ok(program),
        _ => Err(beside),
    }
}
