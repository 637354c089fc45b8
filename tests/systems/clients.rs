//! The clients against a real host, with nothing installed but the languages themselves.

use crate::support::*;
use std::process::{Command, Output};

fn run(program: &str, arguments: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    Command::new(program)
        .args(arguments)
        .current_dir(repo("clients"))
        .env("HOOKWIRE", env!("CARGO_BIN_EXE_hookwire"))
        .env("XDG_CONFIG_HOME", dir.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap()
}

fn passes(program: &str, arguments: &[&str]) {
    let Output { status, stdout, stderr } = run(program, arguments);
    assert!(status.success(), "{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
}

#[test]
fn the_python_client() {
    if is_there("python3") {
        passes("python3", &["-W", "error::ResourceWarning", "python/tests/test_client.py"]);
    }
}

/// `.ci/frameworks` runs it with any Node, after it has compiled it.
#[test]
fn the_typescript_client() {
    const AS_IT_IS: [&str; 2] = ["--experimental-strip-types", "--no-warnings"];
    if !is_there("node") {
        return;
    }
    if run("node", &[AS_IT_IS[0], AS_IT_IS[1], "--eval", "0"]).status.success() {
        passes("node", &[AS_IT_IS[0], AS_IT_IS[1], "--test", "typescript/test/client.test.ts"]);
    } else {
        println!("SKIPPED: this Node runs no TypeScript; run .ci/frameworks");
    }
}

/// A release takes its version from `Cargo.toml`; npm's packages name it themselves.
#[test]
fn npm_has_the_version_of_the_program() {
    let text = std::fs::read_to_string(repo("clients/typescript/package.json")).unwrap();
    let package: serde_json::Value = serde_json::from_str(&text).unwrap();
    let programs = package["optionalDependencies"].as_object().unwrap();
    for version in programs.values().chain([&package["version"]]) {
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }
}

/// `clients/types` writes them.
#[test]
fn the_types_are_those_of_the_schema() {
    if is_there("python3") {
        passes("python3", &["types", "--check"]);
    }
}
