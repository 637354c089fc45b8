//! Where a user's things are, for this process.
//!
//! `hookwire_ask::places` says how they are found.

pub use hookwire_ask::places::{Places, runtime};

use hookwire_ask::places::{Settled, absolute, without_twins};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};
use uzers::os::unix::UserExt;

/// The directory of the machine's definitions and settings.
pub const MACHINE: &str = "/etc/hookwire";

static SETTLED: OnceLock<Settled> = OnceLock::new();

/// The user's home directory as the password database has it.
static PASSWORD_HOME: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let user = uzers::get_user_by_uid(rustix::process::getuid().as_raw())?;
    Some(user.home_dir().to_path_buf()).filter(|home| home.is_absolute())
});

fn password_home() -> Option<PathBuf> {
    PASSWORD_HOME.clone()
}

/// Settles the places of this process by what its command line names, or else by the password database and the
/// environment. Only the first call counts.
pub fn settle(named: Places) {
    let _ = SETTLED.set(Settled::new(named, password_home));
}

/// Settles the places of a process whose environment is an agent's; nothing that `is_foreign` is added.
pub fn settle_for_agent(named: Places, is_foreign: impl Fn(&Path) -> bool) {
    let _ = SETTLED.set(Settled::for_agent(named, is_foreign, password_home));
}

/// The places of a process that an agent starts in this environment.
pub fn as_agent(named: Places) -> Places {
    Settled::for_agent(named, |_| false, password_home).read
}

fn get() -> &'static Settled {
    SETTLED.get_or_init(|| Settled::new(Places::default(), password_home))
}

/// The user's home directory: what the environment says, else the password database.
pub fn home() -> Option<PathBuf> {
    absolute("HOME").or_else(password_home)
}

/// The directories that are the user's home: as the environment and as the password database have it.
pub fn homes() -> Vec<PathBuf> {
    without_twins(absolute("HOME").into_iter().chain(password_home()))
}

/// The places of this process.
pub fn all() -> &'static Places {
    &get().read
}

/// The directories of the user's definitions.
pub fn user_dirs() -> &'static [PathBuf] {
    &all().user
}

/// The directories of what is kept for the user: what was trusted.
pub fn data_dirs() -> &'static [PathBuf] {
    &all().data
}

/// Where a new definition of the user's is written.
pub fn config() -> Option<PathBuf> {
    get().written.user.first().cloned()
}

/// Where something new is kept for the user.
pub fn data() -> Option<PathBuf> {
    get().written.data.first().cloned()
}
