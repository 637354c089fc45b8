//! Where a user's things are.
//!
//! The places that a command line names are all there are. Otherwise the password database says
//! which home directory is the user's, and the environment adds places to that. The environment
//! never takes a place away, because a repository can set it for the agents that work there.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The option that names a directory of definitions.
pub const USER_DIR: &str = "--user-dir";
/// The option that names a directory of what is kept.
pub const DATA_DIR: &str = "--data-dir";

/// Directories of a user's things, each of its kind, the first ones first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The user's definitions.
    pub user: Vec<PathBuf>,
    /// What is kept for the user: what was trusted.
    pub data: Vec<PathBuf>,
}

/// The places of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Where something is looked for.
    pub read: Places,
    /// Where something new is kept.
    pub written: Places,
}

impl Settled {
    /// The places of a process by what its command line names, or else by its user's home directory
    /// and the environment.
    pub fn new(named: Places, home: impl FnOnce() -> Option<PathBuf>) -> Settled {
        settle_places(
            named,
            &[],
            || Places::of_home(home().as_deref()),
            Places::of_environment(),
        )
    }

    /// The places of a process whose environment is an agent's: the environment adds definitions to
    /// those that the command line names, but never what was trusted, and nothing that
    /// `is_foreign`. Where something new is kept isn't the environment's to say: it is kept where
    /// the host of these places keeps it, whose command line names them all.
    pub fn for_agent(
        named: Places,
        is_foreign: impl Fn(&Path) -> bool,
        home: impl FnOnce() -> Option<PathBuf>,
    ) -> Settled {
        let mut environment = Places::of_environment();
        for places in [&mut environment.user, &mut environment.data] {
            places.retain(|place| !is_foreign(&real_path(place)));
        }
        let more = environment.user.clone();
        settle_places(
            named,
            &more,
            || Places::of_home(home().as_deref()),
            environment,
        )
        .keeping_where_it_reads()
    }

    /// The same, but for what is new: that is kept at the first place of those that are read.
    fn keeping_where_it_reads(self) -> Settled {
        let first = |dirs: &[PathBuf]| dirs.first().cloned().into_iter().collect();
        let written = Places {
            user: first(&self.read.user),
            data: first(&self.read.data),
        };
        Settled { written, ..self }
    }
}

/// The places, given those of the home directory and of the environment. `more` definitions are
/// read beside those that are named.
fn settle_places(
    named: Places,
    more: &[PathBuf],
    home: impl FnOnce() -> Places,
    environment: Places,
) -> Settled {
    // The password database may be at the other end of a network: it is asked only if something
    // isn't named.
    let home = if named.user.is_empty() || named.data.is_empty() {
        home()
    } else {
        Places::default()
    };
    let choose =
        |named: Vec<PathBuf>, more: &[PathBuf], home: Vec<PathBuf>, environment: Vec<PathBuf>| {
            if !named.is_empty() {
                let written = named.first().cloned();
                return (
                    without_twins(named.into_iter().chain(more.iter().cloned())),
                    written,
                );
            }
            let written = environment.first().or(home.first()).cloned();
            (without_twins(home.into_iter().chain(environment)), written)
        };
    let (user, written_user) = choose(named.user, more, home.user, environment.user);
    let (data, written_data) = choose(named.data, &[], home.data, environment.data);
    let written = Places {
        user: written_user.into_iter().collect(),
        data: written_data.into_iter().collect(),
    };
    Settled {
        read: Places { user, data },
        written,
    }
}

impl Places {
    /// The places on another command line: each with its option.
    pub fn to_args(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let user = self.user.iter().map(|dir| (USER_DIR, dir.as_path()));
        user.chain(self.data.iter().map(|dir| (DATA_DIR, dir.as_path())))
    }

    /// Paths that a command line names, in full.
    pub fn from_paths(user: &[PathBuf], data: &[PathBuf]) -> Places {
        let absolute = |dirs: &[PathBuf]| {
            dirs.iter()
                .filter_map(|dir| std::path::absolute(dir).ok())
                .collect()
        };
        Places {
            user: absolute(user),
            data: absolute(data),
        }
    }

    /// The places below a home directory, as the XDG base directories have them.
    fn of_home(home: Option<&Path>) -> Places {
        let below = |path: &str| home.iter().map(|home| home.join(path)).collect();
        Places {
            user: below(".config/hookwire"),
            data: below(".local/share/hookwire"),
        }
    }

    /// What the environment says.
    fn of_environment() -> Places {
        let home = Places::of_home(absolute("HOME").as_deref());
        let moved = |variable, other| match absolute(variable) {
            Some(moved) => vec![moved.join("hookwire")],
            None => other,
        };
        Places {
            user: moved("XDG_CONFIG_HOME", home.user),
            data: moved("XDG_DATA_HOME", home.data),
        }
    }
}

/// The path that a variable holds, if it is one that means the same everywhere.
pub fn absolute(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())?;
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    if goes_up {
        path.canonicalize().ok()
    } else {
        Some(path)
    }
}

/// A path without links, as far as it is there.
fn real_path(path: &Path) -> PathBuf {
    let there = path
        .ancestors()
        .find_map(|part| Some((part, part.canonicalize().ok()?)));
    let Some((part, real)) = there else {
        return path.to_path_buf();
    };
    path.strip_prefix(part).map_or_else(
        |_| real.clone(),
        |rest| real.components().chain(rest.components()).collect(),
    )
}

/// Paths that lead to different places: of those that lead to the same one, the first.
pub fn without_twins(places: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut known = BTreeSet::new();
    places
        .filter(|place| known.insert(real_path(place)))
        .collect()
}

/// The sockets of the user's hosts.
pub fn runtime() -> PathBuf {
    let given = absolute("XDG_RUNTIME_DIR").filter(|path| path.is_dir());
    let user = rustix::process::getuid().as_raw();
    given.map_or_else(
        || std::env::temp_dir().join(format!("hookwire-{user}")),
        |given| given.join("hookwire"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(user: &[&str], data: &[&str]) -> Places {
        let of = |places: &[&str]| places.iter().map(PathBuf::from).collect();
        Places {
            user: of(user),
            data: of(data),
        }
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
            (
                none(),
                &[],
                other(),
                places(&["/home/u/c", "/other/c"], &["/home/u/d", "/other/d"]),
                other(),
            ),
            (named(), &[], other(), named(), named()),
            // As an agent runs it: the environment makes nothing trusted.
            (
                named(),
                &["/other/c".into()],
                other(),
                places(&["/named/c", "/other/c"], &["/named/d"]),
                named(),
            ),
        ] {
            let settled = settle_places(named, more, home, environment);
            assert_eq!((settled.read, settled.written), (read, written));
        }
    }

    #[test]
    fn an_agents_environment_doesnt_say_where_something_is_kept() {
        let other = places(&["/other/c"], &["/other/d"]);
        for (named, expected) in [
            (places(&[], &[]), places(&["/home/u/c"], &["/home/u/d"])),
            (
                places(&["/named/c"], &["/named/d"]),
                places(&["/named/c"], &["/named/d"]),
            ),
        ] {
            let judged_here = settle_places(
                named,
                &[],
                || places(&["/home/u/c"], &["/home/u/d"]),
                other.clone(),
            )
            .keeping_where_it_reads();
            assert_eq!(judged_here.written, expected);
            // A host that it starts is told all places that are read.
            let host = settle_places(judged_here.read, &[], Places::default, other.clone());
            assert_eq!(host.written, expected);
        }
    }
}
