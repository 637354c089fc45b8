//! Tries the cases of a bundle, in a process of its own: whatever they do, it ends in time, and
//! nothing of it stays in the host.

use super::super::scratch::scratch_dir;
use hookwire_base::support::file;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long all cases of a bundle may take.
const WAIT: Duration = Duration::from_secs(120);
/// How often is looked whether they have ended.
const PAUSE: Duration = Duration::from_millis(20);
/// How much is told of what isn't as expected, in bytes.
const MAX_TOLD: u64 = 2000;

/// Tries the cases in a directory.
///
/// # Errors
/// What isn't as expected, or why that isn't known.
pub(super) fn try_cases(files: &Path) -> Result<(), String> {
    let untried = |error: std::io::Error| format!("its cases can't be tried: {error}");
    // Somewhere else, because the project around the directory is copied with it, and the home
    // directory may be one.
    let place = scratch_dir("fleet").map_err(untried)?;
    let copy = place.path().join("bundle");
    copy_all(files, &copy).map_err(untried)?;
    let said = place.path().join("said");
    let program = std::env::current_exe().map_err(untried)?;
    let mut command = Command::new(program);
    command
        .args(["test", "--color", "never"])
        .arg(&copy)
        .current_dir(place.path());
    let output = File::create(&said).map_err(untried)?;
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(untried)?)
        .stderr(output);
    let mut child = command.spawn().map_err(untried)?;
    let end = Instant::now() + WAIT;
    let status = loop {
        match child.try_wait().map_err(untried)? {
            Some(status) => break status,
            None if Instant::now() < end => std::thread::sleep(PAUSE),
            None => {
                // It ends its own hooks when it is asked to.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("its cases took more than {} s", WAIT.as_secs()));
            }
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut text = String::new();
    let _ = file::open(&said).and_then(|(file, _)| file.take(MAX_TOLD).read_to_string(&mut text));
    let text = text.replace(&format!("{}/", copy.display()), "");
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    Err(format!(
        "its cases aren't as expected: {}",
        lines.join("; ")
    ))
}

/// Copies a directory of regular files and directories, whose size is bounded where it comes from.
fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut dirs = vec![(from.to_path_buf(), to.to_path_buf())];
    while let Some((from, to)) = dirs.pop() {
        fs::create_dir(&to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let to = to.join(entry.file_name());
            match entry.file_type()? {
                kind if kind.is_dir() => dirs.push((entry.path(), to)),
                kind if kind.is_file() => drop(fs::copy(entry.path(), to)?),
                _ => {}
            }
        }
    }
    Ok(())
}
