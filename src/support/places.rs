//! Where a user's things are.
//!
//! The places that a command line names are all there are. Otherwise the password database says which home directory is
//! the user's, and the environment adds places to that. The environment never takes a place away, because a repository
//! can set it for the agents that work there.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{LazyLock, OnceLock};
use uzers::os::unix::UserExt;

/// Directories of a user's things, each of its kind, the first ones first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The user's definitions.
    pub user: Vec<PathBuf>,
    /// What is kept for the user: what was trusted.
    pub data: Vec<PathBuf>,
}

/// The places of this process.
struct Settled {
    read: Places,
    /// Where something new is kept.
    written: Places,
}

static SETTLED: OnceLock<Settled> = OnceLock::new();

/// The user's home directory as the password database has it.
static PASSWORD_HOME: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let user = uzers::get_user_by_uid(rustix::process::getuid().as_raw())?;
    Some(user.home_dir().to_path_buf()).filter(|home| home.is_absolute())
});

/// Settles the places of this process by what its command line names, or else by the password database and the
/// environment. Only the first call counts.
pub fn settle(named: Places) {
    let _ = SETTLED.set(settled(named, &[], password_home, Places::of_environment()));
}

/// Settles the places of a process whose environment is an agent's: the environment adds definitions to those that the
/// command line names, but never what was trusted, and nothing that `is_foreign`.
pub fn settle_for_agent(named: Places, is_foreign: impl Fn(&Path) -> bool) {
    let mut environment = Places::of_environment();
    for places in [&mut environment.user, &mut environment.data] {
        places.retain(|place| !is_foreign(&real(place)));
    }
    let more = environment.user.clone();
    let _ = SETTLED.set(settled(named, &more, password_home, environment));
}

/// The places, given those of the home directory and of the environment. `more` definitions are read beside those that are
/// named.
fn settled(named: Places, more: &[PathBuf], home: impl FnOnce() -> Places, environment: Places) -> Settled {
    // The password database may be at the other end of a network: it is asked only if something isn't named.
    let home = if named.user.is_empty() || named.data.is_empty() { home() } else { Places::default() };
    let choose = |named: Vec<PathBuf>, more: &[PathBuf], home: Vec<PathBuf>, environment: Vec<PathBuf>| {
        if !named.is_empty() {
            let written = named.first().cloned();
            return (without_twins(named.into_iter().chain(more.iter().cloned())), written);
        }
        let written = environment.first().or(home.first()).cloned();
        (without_twins(home.into_iter().chain(environment)), written)
    };
    let (user, written_user) = choose(named.user, more, home.user, environment.user);
    let (data, written_data) = choose(named.data, &[], home.data, environment.data);
    let written = Places { user: written_user.into_iter().collect(), data: written_data.into_iter().collect() };
    Settled { read: Places { user, data }, written }
}

fn password_home() -> Places {
    Places::of_home(PASSWORD_HOME.as_deref())
}

fn get() -> &'static Settled {
    SETTLED.get_or_init(|| settled(Places::default(), &[], password_home, Places::of_environment()))
}

impl Places {
    /// The places below a home directory, as the XDG base directories have them.
    fn of_home(home: Option<&Path>) -> Places {
        let below = |path: &str| home.iter().map(|home| home.join(path)).collect();
        Places { user: below(".config/hookwire"), data: below(".local/share/hookwire") }
    }

    /// What the environment says.
    fn of_environment() -> Places {
        let home = Places::of_home(absolute("HOME").as_deref());
        let moved = |variable, other| match absolute(variable) {
            Some(moved) => vec![moved.join("hookwire")],
            None => other,
        };
        Places { user: moved("XDG_CONFIG_HOME", home.user), data: moved("XDG_DATA_HOME", home.data) }
    }
}

/// The path that a variable holds, if it is one that means the same everywhere.
fn absolute(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())?;
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    if goes_up { path.canonicalize().ok() } else { Some(path) }
}

/// A path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let Some((part, real)) = there else { return path.to_path_buf() };
    path.strip_prefix(part).map_or_else(|_| real.clone(), |rest| real.components().chain(rest.components()).collect())
}

fn without_twins(places: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut known = BTreeSet::new();
    places.filter(|place| known.insert(real(place))).collect()
}

/// The user's home directory: what the environment says, else the password database.
pub fn home() -> Option<PathBuf> {
    absolute("HOME").or_else(|| PASSWORD_HOME.clone())
}

/// The directories that are the user's home: as the environment and as the password database have it.
pub fn homes() -> Vec<PathBuf> {
    without_twins(absolute("HOME").into_iter().chain(PASSWORD_HOME.clone()))
}

/// The directories of the user's definitions.
pub fn user_dirs() -> &'static [PathBuf] {
    &get().read.user
}

/// The directories of what is kept for the user: what was trusted.
pub fn data_dirs() -> &'static [PathBuf] {
    &get().read.data
}

/// Where a new definition of the user's is written.
pub fn config() -> Option<PathBuf> {
    get().written.user.first().cloned()
}

/// Where something new is kept for the user.
pub fn data() -> Option<PathBuf> {
    get().written.data.first().cloned()
}

/// The sockets of the user's hosts.
pub fn runtime() -> PathBuf {
    let given = absolute("XDG_RUNTIME_DIR").filter(|path| path.is_dir());
    let user = rustix::process::getuid().as_raw();
    given.map_or_else(|| std::env::temp_dir().join(format!("hookwire-{user}")), |given| given.join("hookwire"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(user: &[&str], data: &[&str]) -> Places {
        let of = |places: &[&str]| places.iter().map(PathBuf::from).collect();
        Places { user: of(user), data: of(data) }
    }

    #[test]
    fn the_environment_adds_places_and_takes_none_away() {
        let none = || places(&[], &[]);
        let home = || places(&["/home/u/c"], &["/home/u/d"]);
        let other = || places(&["/other/c"], &["/other/d"]);
        let named = || places(&["/named/c"], &["/named/d"]);
        for (named, more, environment, read, written) in [
            (none(), &[][..], none(), home(), home()),
            (none(), &[], home(), home(), home()),
            (none(), &[], other(), places(&["/home/u/c", "/other/c"], &["/home/u/d", "/other/d"]), other()),
            (named(), &[], other(), named(), named()),
            // As an agent runs it: the environment makes nothing trusted.
            (named(), &["/other/c".into()], other(), places(&["/named/c", "/other/c"], &["/named/d"]), named()),
        ] {
            let settled = settled(named, more, home, environment);
            assert_eq!((settled.read, settled.written), (read, written));
        }
    }
}
