//! `hookwire fleet key`: the key that signs, and how its passphrase comes.

use super::super::output::{Output, say_on_stderr};
use super::super::{Failure, Finding, output};
use hookwire_base::support::file;
use hookwire_fleet::key::{SecretKey, describe_file};
use serde_json::json;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub(super) struct KeyArgs {
    /// Where the key is, or is to be: for you alone to read.
    file: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Write the key without a passphrase: whoever reads the file signs for you.
    #[arg(long, conflicts_with = "passphrase_file")]
    no_passphrase: bool,
}

#[derive(clap::Args)]
pub(super) struct PassphraseArgs {
    /// A file with the passphrase on its first line. Without it, HOOKWIRE_PASSPHRASE counts, else
    /// you are asked.
    #[arg(long, value_name = "FILE")]
    pub(super) passphrase_file: Option<PathBuf>,
}

/// The variable that may hold the passphrase: an argument list can be read by every user of the
/// machine.
const PASSPHRASE: &str = "HOOKWIRE_PASSPHRASE";
/// A passphrase that is shorter is guessed.
const MIN_LENGTH: usize = 12;

pub(super) fn run(args: &KeyArgs, out: &mut Output) -> Result<Finding, Failure> {
    let (public, sealed) = if args.file.exists() {
        describe_file(&args.file)?
    } else {
        let passphrase = if args.no_passphrase {
            None
        } else {
            Some(args.passphrase.new_one()?)
        };
        let key = SecretKey::generate()?;
        key.write_file(&args.file, passphrase.as_deref())?;
        say_on_stderr(format_args!(
            "made {}; keep a copy where it is safe: nobody can make it again",
            args.file.display()
        ));
        (key.public(), passphrase.is_some())
    };
    if out.json {
        out.json(&json!({ "public": public.to_string(), "id": public.id(), "passphrase": sealed }));
    } else {
        out.line(&public.to_string());
    }
    Ok(Finding::Fine)
}

impl PassphraseArgs {
    /// Reads keys; a passphrase is asked for once and tried for each.
    pub(super) fn read_keys(&self, files: &[PathBuf]) -> Result<Vec<SecretKey>, Failure> {
        let mut keys = Vec::new();
        for file in files {
            let key = SecretKey::read_file(file, || {
                self.given()
                    .or_else(|| ask_hidden(&format!("Passphrase of {}: ", file.display())).ok())
            })
            .map_err(|error| match error {
                hookwire_fleet::key::KeyError::File(problem) => Failure(problem),
                error => Failure(format!("{}: {error}", file.display())),
            });
            keys.push(key?);
        }
        Ok(keys)
    }

    fn given(&self) -> Option<String> {
        match &self.passphrase_file {
            Some(path) => file::read_given(path)
                .ok()
                .map(|text| text.lines().next().unwrap_or_default().to_string()),
            None => std::env::var(PASSPHRASE).ok(),
        }
    }

    fn new_one(&self) -> Result<String, Failure> {
        if let Some(path) = &self.passphrase_file {
            check_file(path)?;
        }
        let passphrase = match self.given() {
            Some(passphrase) => passphrase,
            None => {
                let first = ask_hidden("A passphrase for the key: ")?;
                if ask_hidden("The same again: ")? != first {
                    return Err(Failure("these were two".into()));
                }
                first
            }
        };
        if passphrase.chars().count() < MIN_LENGTH {
            return Err(Failure(format!(
                "a passphrase has at least {MIN_LENGTH} characters; several words are easy to keep"
            )));
        }
        Ok(passphrase)
    }
}

fn check_file(path: &Path) -> Result<(), Failure> {
    Ok(hookwire_fleet::server::check_private(path)?)
}

/// Asks on the terminal, which doesn't show what is typed.
fn ask_hidden(question: &str) -> Result<String, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure(format!(
            "nobody is there to type a passphrase; set {PASSPHRASE}, name --passphrase-file, or make a key with --no-passphrase"
        )));
    }
    output::prompt_person(question)?;
    let hidden = Hidden::begin();
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    drop(hidden);
    say_on_stderr("");
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_string())
}

/// The terminal shows nothing of what is typed, until it goes.
struct Hidden;

impl Hidden {
    fn begin() -> Hidden {
        run_stty("-echo");
        Hidden
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        run_stty("echo");
    }
}

fn run_stty(what: &str) {
    // Where there is none, a passphrase is seen while it is typed.
    let _ = Command::new("stty")
        .arg(what)
        .stdin(Stdio::inherit())
        .stderr(Stdio::null())
        .status();
}
