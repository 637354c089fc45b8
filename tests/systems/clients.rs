//! The clients against a real host, with nothing installed but the languages themselves.

use crate::support::*;
use std::process::Command;

fn passes(program: &str, arguments: &[&str]) {
    if !is_there(program) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(repo("clients"))
        .env("HOOKWIRE", env!("CARGO_BIN_EXE_hookwire"))
        .env("XDG_CONFIG_HOME", dir.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn the_python_client() {
    passes("python3", &["-W", "error::ResourceWarning", "python/tests/test_client.py"]);
}

/// `clients/types` writes them.
#[test]
fn the_types_are_those_of_the_schema() {
    passes("python3", &["types", "--check"]);
}
