//! What can't be tried on a machine: said at the end of a test program, and a failure where
//! everything can.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Mutex;

static SKIPPED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Says that the test at hand, or a part of it, can't be tried here. Where `CI` is set, that is a
/// failure.
pub fn skip(why: impl Display) {
    assert!(std::env::var_os("CI").is_none(), "SKIPPED: {why}");
    tried_elsewhere(why);
}

/// The same of what another step of `.ci/run` tries: no failure anywhere.
pub fn tried_elsewhere(why: impl Display) {
    let thread = std::thread::current();
    let line = format!("{}: {why}", thread.name().unwrap_or("a test"));
    // Where each test is a process of its own, whoever runs them has them put together.
    if let Some(file) = std::env::var_os("HOOKWIRE_SKIPPED") {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(file);
        file.and_then(|mut it| it.write_all(format!("{line}\n").as_bytes()))
            .unwrap();
    }
    let mut skipped = SKIPPED.lock().unwrap();
    if skipped.is_empty() {
        say_at_exit();
    }
    skipped.insert(line);
}

/// Whether a program that a test needs is there. Where everything must be there, its absence is a
/// failure.
pub fn is_there(program: &str) -> bool {
    // Some are scripts that look for a version first: to start one for each test that needs it
    // takes its time.
    let is_program = |path: PathBuf| {
        path.metadata()
            .is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&dirs).any(|dir| is_program(dir.join(program)));
    if !found {
        skip(format_args!("{program} is missing"));
    }
    found
}

/// The harness keeps what passing tests print, and tells nobody when the last one has ended.
#[allow(
    unsafe_code,
    reason = "libc's atexit takes a function without arguments that doesn't unwind, which `say` is"
)]
fn say_at_exit() {
    unsafe extern "C" {
        safe fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
    }
    atexit(say);
}

extern "C" fn say() {
    let Ok(skipped) = SKIPPED.lock() else { return };
    let lines: String = skipped.iter().map(|line| format!("  {line}\n")).collect();
    // Not by a macro: that would be the harness' to show.
    let _ = write!(
        std::io::stderr(),
        "\nSKIPPED, because it can't be tried here:\n{lines}"
    );
}
