//! Whether a person can be asked where an agent runs. Not every agent's payload says it, and one
//! that asks where nobody is may wait for ever.

/// The agents of which this is looked up, by their names: those with a condition on it.
pub const LOOKED_UP: [&str; 1] = ["gemini"];

/// Whether somebody may be at the terminal of the agent that has started this process; unknown if it
/// can't be told.
pub fn is_attended(agent: &str) -> Option<bool> {
    if !LOOKED_UP.contains(&agent) {
        return None;
    }
    // There agents ask nobody, whatever their terminal is.
    let is_ci = |name| std::env::var_os(name).is_some_and(|value| value == "true");
    linux::agent_of(std::process::id()).and_then(|agent| {
        let [is_asked, is_told] = [0, 1].map(|end| agent.is_terminal(end));
        let by_words = says_attended(&agent.words()?);
        match by_words {
            Some(is_attended) => Some(is_attended),
            None if is_ci("CI") || is_ci("GITHUB_ACTIONS") => Some(false),
            None => Some(is_asked? && is_told?),
        }
    })
}

/// Whether the words of a command line say that a person is there: one whose client asks (ACP) or
/// who goes on after the first prompt is, one who has given the only prompt isn't.
fn says_attended(words: &[String]) -> Option<bool> {
    let is_prompt = |word: &str| {
        let short = word
            .strip_prefix('-')
            .map(|rest| rest.trim_start_matches(['d', 's', 'y']));
        word == "--prompt"
            || word.starts_with("--prompt=")
            || short.is_some_and(|short| short.starts_with('p'))
    };
    let is_there = |word: &str| {
        ["-i", "--prompt-interactive", "--acp", "--experimental-acp"].contains(&word)
            || word.starts_with("--prompt-interactive=")
    };
    let mut said = None;
    for word in words.iter().take_while(|word| *word != "--") {
        if is_there(word) {
            return Some(true);
        }
        if is_prompt(word) {
            said = Some(false);
        }
    }
    said
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::file::read_small;
    use rustix::fs::{FileType, Mode, OFlags, Stat, open, stat};
    use std::fs::File;
    use std::io::IsTerminal;
    use std::path::{Path, PathBuf};

    /// How many shells may stand between an agent and what it starts.
    const MOST_SHELLS: usize = 8;
    /// The longest command line that is read, in bytes.
    const MAX_WORDS: u64 = 4 * 1024 * 1024;

    /// A process, by its directory.
    pub(super) struct Process(PathBuf);

    /// The agent that has started a process: the nearest one above that doesn't share its stdout,
    /// which is the agent's to read.
    pub(super) fn agent_of(pid: u32) -> Option<Process> {
        let mut process = Process(Path::new("/proc").join(pid.to_string()));
        let shared = process.end(1)?;
        for _ in 0..MOST_SHELLS {
            process = process.parent()?;
            let stdout = process.end(1)?;
            if (stdout.st_dev, stdout.st_ino) != (shared.st_dev, shared.st_ino) {
                return Some(process);
            }
        }
        None
    }

    impl Process {
        fn parent(&self) -> Option<Process> {
            let stat = read_small(&self.0.join("stat"), 64 * 1024).ok()?;
            let stat = String::from_utf8_lossy(&stat);
            // Its name stands in brackets, and may hold anything.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
            let parent: u32 = parent.parse().ok().filter(|parent| *parent > 0)?;
            Some(Process(self.0.with_file_name(parent.to_string())))
        }

        fn place(&self, end: u32) -> PathBuf {
            self.0.join("fd").join(end.to_string())
        }

        fn end(&self, end: u32) -> Option<Stat> {
            stat(self.place(end)).ok()
        }

        /// Whether its stdin (0) or stdout (1) is a terminal; unknown if it can't be looked at.
        pub(super) fn is_terminal(&self, end: u32) -> Option<bool> {
            if FileType::from_raw_mode(self.end(end)?.st_mode) != FileType::CharacterDevice {
                return Some(false);
            }
            let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let device = open(self.place(end), flags, Mode::empty()).ok()?;
            Some(File::from(device).is_terminal())
        }

        /// Its command line without the program.
        pub(super) fn words(&self) -> Option<Vec<String>> {
            let line = read_small(&self.0.join("cmdline"), MAX_WORDS).ok()?;
            let words = line.split(|byte| *byte == 0).skip(1);
            Some(
                words
                    .map(|word| String::from_utf8_lossy(word).into_owned())
                    .collect(),
            )
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    /// Of no process anything is known.
    pub(super) enum Process {}

    pub(super) fn agent_of(_: u32) -> Option<Process> {
        None
    }

    impl Process {
        pub(super) fn is_terminal(&self, _: u32) -> Option<bool> {
            match *self {}
        }

        pub(super) fn words(&self) -> Option<Vec<String>> {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_says_whether_somebody_is_there() {
        for (line, expected) in [
            ("/bin/gemini -p hi", Some(false)),
            ("/bin/gemini --prompt=hi -m gemini-pro", Some(false)),
            ("/bin/gemini -yp hi", Some(false)),
            ("/bin/gemini -i hi", Some(true)),
            ("/bin/gemini --acp", Some(true)),
            ("/bin/gemini --experimental-acp -p hi", Some(true)),
            ("/bin/gemini --approval-mode yolo -m gemini-pro", None),
            ("/bin/gemini -- -p", None),
            ("", None),
        ] {
            let words: Vec<String> = line.split(' ').map(String::from).collect();
            assert_eq!(says_attended(&words), expected, "{line}");
        }
        assert_eq!(is_attended("claude-code"), None);
    }
}
