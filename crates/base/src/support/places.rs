//! Where a user's things are, for this process.
//!
//! `hookwire_ask::places` says how they are found.

pub use hookwire_ask::places::{Places, runtime};

use hookwire_ask::places::{Settled, absolute, without_twins};
use lru::LruCache;
use parking_lot::Mutex;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};
use uzers::User;
use uzers::os::unix::UserExt;

/// The directory of the machine's definitions and settings.
pub const MACHINE: &str = "/etc/hookwire";

static SETTLED: OnceLock<Settled> = OnceLock::new();

/// The user as the password database has it.
static USER: LazyLock<Option<User>> =
    LazyLock::new(|| uzers::get_user_by_uid(rustix::process::getuid().as_raw()));

fn password_home() -> Option<PathBuf> {
    absolute_home(USER.as_ref()?)
}

fn absolute_home(user: &User) -> Option<PathBuf> {
    Some(user.home_dir().to_path_buf()).filter(|home| home.is_absolute())
}

/// What the password database says of a variable that tells of the user.
pub fn of_password_database(variable: &str) -> Option<String> {
    match variable {
        "HOME" => password_home()?.into_os_string().into_string().ok(),
        "USER" | "LOGNAME" => USER.as_ref()?.name().to_str().map(str::to_string),
        "UID" => Some(rustix::process::getuid().as_raw().to_string()),
        _ => None,
    }
}

/// Where a user lives, by the name; nothing if there is no such user. The password database is
/// asked once for each of the names that were asked last, and only where there is time for it.
pub fn home_of(user: &str, has_time: impl FnOnce() -> bool) -> Option<String> {
    const KEPT: NonZeroUsize = NonZeroUsize::new(64).unwrap();
    static HOMES: LazyLock<Mutex<LruCache<String, Option<String>>>> =
        LazyLock::new(|| Mutex::new(LruCache::new(KEPT)));
    if let Some(home) = HOMES.lock().get(user) {
        return home.clone();
    }
    if !has_time() {
        return None;
    }
    let home = uzers::get_user_by_name(user)
        .and_then(|it| absolute_home(&it)?.into_os_string().into_string().ok());
    HOMES.lock().put(user.to_string(), home.clone());
    home
}

/// Settles the places of this process by what its command line names, or else by the password
/// database and the environment. Only the first call counts.
pub fn settle(named: Places) {
    let _ = SETTLED.set(Settled::new(named, password_home));
}

/// Settles the places of a process whose environment is an agent's; nothing that `is_foreign` is
/// added.
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

/// The directories that are the user's home: as the environment and as the password database have
/// it.
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
