//! `hookwire init`: a commented starter directory.

use super::output::{Output, Tone};
use super::{Failure, Finding};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct InitArgs {
    /// Where; it must not hold definitions yet.
    #[arg(default_value = ".hookwire")]
    dir: PathBuf,
}

/// Checked by a test to load without a diagnostic.
const STARTER: &str = include_str!("starter.yaml");

pub(super) fn run(args: &InitArgs, out: &mut Output) -> Result<Finding, Failure> {
    let path = args.dir.join("guard.yaml");
    let at = |error: std::io::Error| Failure(format!("{}: {error}", path.display()));
    if args.dir.is_file() {
        return Err(Failure(format!("{}: it is a file; name a directory", args.dir.display())));
    }
    std::fs::create_dir_all(&args.dir).map_err(at)?;
    // An existing file is never replaced: it may hold guards.
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| match error
        .kind()
    {
        std::io::ErrorKind::AlreadyExists => {
            let (path, dir) = (path.display(), args.dir.display());
            Failure(format!("{path} is there already and stays as it is; `hookwire check --hooks {dir}` looks at it"))
        }
        _ => at(error),
    })?;
    std::io::Write::write_all(&mut file, STARTER.as_bytes()).map_err(at)?;
    let dir = args.dir.display();
    let done = out.tone(Tone::Good, &format!("Wrote {}.", path.display()));
    out.line(&done);
    out.line(&format!("  hookwire check --hooks {dir}"));
    out.line(&format!("  hookwire dispatch --hooks {dir} '{{\"event\":\"PreToolUse\",\"tool\":{{\"name\":\"Bash\",\"input\":{{\"command\":\"git push --force\"}}}}}}'"));
    out.line(&format!("  hookwire serve --hooks {dir}"));
    Ok(Finding::Fine)
}
