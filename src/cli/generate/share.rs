//! `hookwire generate share`: man pages and completion scripts, where shells and `man` look for
//! them.

use super::super::{Cli, Failure, Finding};
use super::completions::completion_script;
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(super) struct ShareArgs {
    /// The directory, such as `share` below the prefix of an installation.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Where each shell looks for the scripts of what is installed, below `share`.
const SCRIPTS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/hookwire"),
    (Shell::Zsh, "zsh/site-functions/_hookwire"),
    (Shell::Fish, "fish/vendor_completions.d/hookwire.fish"),
];

pub(super) fn run(args: &ShareArgs) -> Result<Finding, Failure> {
    let failed =
        |path: &Path, error: std::io::Error| Failure(format!("{}: {error}", path.display()));
    for (shell, place) in SCRIPTS {
        let path = args.dir.join(place);
        let dir = path.parent().unwrap_or(&args.dir);
        std::fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
        std::fs::write(&path, completion_script(shell)).map_err(|error| failed(&path, error))?;
    }
    let pages = args.dir.join("man/man1");
    std::fs::create_dir_all(&pages)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &pages))
        .map_err(|error| failed(&pages, error))?;
    Ok(Finding::Fine)
}
