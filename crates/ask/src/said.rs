//! What a command says to the agent that runs it.

use rustix::fs::FileType;
use std::io::{Error, Result, Write};

/// What a command says to the agent that runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// On its standard output.
    pub stdout: String,
    /// On its standard error.
    pub stderr: String,
    /// The exit code.
    pub exit: i32,
}

impl Said {
    /// A "no" by the exit code.
    pub fn no_by_exit(reason: &str) -> Said {
        Said {
            stderr: reason.into(),
            exit: 2,
            ..Said::default()
        }
    }

    /// Says it; gives the exit code.
    pub fn say(&self) -> u8 {
        if !self.stderr.is_empty() {
            write_stderr(&self.stderr);
        }
        match self.write_out() {
            Ok(()) => u8::try_from(self.exit).unwrap_or(2),
            // What can't be said must not pass for silence.
            Err(error) => {
                write_stderr(&format!(
                    "hookwire: failed to write the reply, so this is denied: {error}"
                ));
                2
            }
        }
    }

    /// Says it and ends this process at once, whatever its other threads wait for or hold.
    pub fn say_and_end(&self) -> ! {
        let code = self.say();
        #[cfg(target_os = "linux")]
        #[expect(
            unsafe_code,
            reason = "a function of the C library that has no safe form"
        )]
        // SAFETY: it takes a number and doesn't return.
        unsafe {
            libc::_exit(code.into());
        }
        #[cfg(not(target_os = "linux"))]
        std::process::exit(code.into())
    }

    fn write_out(&self) -> Result<()> {
        let mut stdout = std::io::stdout().lock();
        match self.stdout.as_str() {
            "" => Ok(()),
            _ if nobody_reads() => Err(Error::other("nobody reads stdout")),
            text => writeln!(stdout, "{text}").and_then(|()| stdout.flush()),
        }
    }
}

/// Writes a line to stderr; nobody may read it.
fn write_stderr(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Whether stdout leads nowhere. Where it was closed, it is `/dev/null` by now.
fn nobody_reads() -> bool {
    let device = |about: rustix::fs::Stat| (FileType::from_raw_mode(about.st_mode), about.st_rdev);
    let stdout = rustix::fs::fstat(std::io::stdout()).map(device);
    stdout.is_ok_and(|stdout| {
        stdout.0 == FileType::CharacterDevice
            && rustix::fs::stat("/dev/null").map(device) == Ok(stdout)
    })
}
