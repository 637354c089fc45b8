//! The limits of a process that judges.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// So many files are enough for whoever judges. Who is started inherits the limit, and there are
/// programs that close as many descriptors as they may have when they start.
const ENOUGH_FILES: u64 = 4096;

/// Lets this process open as many files as it may, as far as it can need them: one that can't open
/// a file judges nothing.
pub fn raise_files() {
    let now = getrlimit(Resource::Nofile);
    let Some(current) = now.current else { return };
    let wanted = now
        .maximum
        .map_or(ENOUGH_FILES, |most| most.min(ENOUGH_FILES));
    if current < wanted {
        // Where it can't be raised, looks that fail are told as such.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(wanted),
                maximum: now.maximum,
            },
        );
    }
}
