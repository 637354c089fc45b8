//! The places that are guarded, and what a path is to them: one of them or in it, a directory that
//! holds one, a directory in which whatever is put may become one.

use compact_str::CompactString;
use hookwire_ask::programs;
use hookwire_base::support::places as user;
use hookwire_rules::agents::AGENTS;
use hookwire_rules::matching::paths;
use hookwire_rules::matching::shell::meeting::{self, Token};
use regex::Regex;
use std::path::{Component, Path, PathBuf};

/// One name of a path, or what stands for some.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Any number of names.
    Any,
    Name(CompactString),
    /// A pattern of one name. `dots`: a wildcard at its beginning stands for a dot, too.
    Pattern {
        tokens: Vec<Token>,
        dots: bool,
    },
}

/// A path from the root, which a call names. Some of it may be a pattern, or unknown.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) parts: Vec<Part>,
    /// What follows isn't told.
    pub(super) is_open: bool,
}

/// A guarded place.
#[derive(Debug)]
struct Place {
    parts: Vec<Part>,
    /// It stands at any depth.
    is_anywhere: bool,
    /// All that it holds belongs to it.
    is_tree: bool,
    /// Its name is like many others', so that a pattern that fits it means it only where it stands.
    is_plain: bool,
    what: What,
}

/// What is done to something, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    /// It is shown, or copied elsewhere.
    Shown,
    /// The file is changed, or may be.
    File,
    /// Something is put into the directory by a name that isn't told.
    Filled,
    /// It is taken away with all that it holds.
    Taken,
}

/// What a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Definitions, and what was trusted.
    Guards,
    /// What decides which hooks an agent asks.
    Settings,
    /// Where hosts are spoken to.
    Sockets,
    /// The program.
    Program,
}

/// The places that are known when the guard is compiled.
#[derive(Debug)]
pub(super) struct Places {
    all: Vec<Place>,
    /// The folders of agents: some of what they hold is guarded.
    folders: Vec<Place>,
    /// The directories that hold those of several programs, one of which is hookwire's:
    /// `~/.config`.
    shared: Vec<Place>,
    /// The programs that are there.
    programs: Vec<PathBuf>,
    /// Every place has one of these in its path; without them, any text may name one.
    keys: Option<Regex>,
}

impl Part {
    pub(super) fn of_pattern(name: &str, dots: bool) -> Part {
        match name {
            _ if name.contains(['*', '?', '[']) => Part::Pattern {
                tokens: meeting::tokens(name),
                dots,
            },
            _ => Part::Name(name.into()),
        }
    }

    /// Whether a name of a call may be this one of a place.
    fn fits(&self, named: &Part) -> bool {
        let literal = |name: &str| name.chars().map(Token::Is).collect::<Vec<_>>();
        match (self, named) {
            (Part::Any, _) | (_, Part::Any) => true,
            (Part::Name(own), Part::Name(name)) => own == name,
            (Part::Pattern { tokens, .. }, Part::Name(name)) => {
                meeting::characters_meet(tokens, &literal(name))
            }
            (Part::Name(own), Part::Pattern { tokens, dots }) => {
                let is_hidden =
                    own.starts_with('.') && !matches!(tokens.first(), Some(Token::Is('.')));
                (*dots || !is_hidden) && meeting::characters_meet(&literal(own), tokens)
            }
            (Part::Pattern { tokens: own, .. }, Part::Pattern { tokens, .. }) => {
                meeting::characters_meet(own, tokens)
            }
        }
    }
}

/// The names of a path without links, `.` and `..`.
pub(super) fn parts_of(path: &Path) -> Vec<Part> {
    let names = path.components().filter_map(|it| match it {
        Component::Normal(name) => Some(Part::Name(name.to_string_lossy().into())),
        _ => None,
    });
    names.collect()
}

pub(super) fn meet(one: &[Part], other: &[Part]) -> bool {
    let is_any = |part: &Part| matches!(part, Part::Any);
    if !one.iter().chain(other).any(is_any) {
        return one.len() == other.len()
            && one.iter().zip(other).all(|(one, other)| one.fits(other));
    }
    meeting::meet(one, other, is_any, |i, j| one[i].fits(&other[j]))
}

impl Named {
    /// A path that is told.
    pub(super) fn path(path: &Path) -> Named {
        Named {
            parts: parts_of(&paths::normalise(path)),
            is_open: false,
        }
    }

    /// The path, if all of it is told.
    pub(super) fn as_path(&self) -> Option<PathBuf> {
        let name = |part: &Part| match part {
            Part::Name(name) => Some(name.clone()),
            Part::Any | Part::Pattern { .. } => None,
        };
        let names: Option<Vec<CompactString>> = self.parts.iter().map(name).collect();
        let names = names.filter(|_| !self.is_open)?;
        Some(
            std::iter::once("/")
                .chain(names.iter().map(CompactString::as_str))
                .collect(),
        )
    }

    /// Whether it is a file or a directory that the file is in.
    pub(super) fn reaches(&self, file: &Path) -> bool {
        let parts = parts_of(file);
        (0..=parts.len()).any(|n| meet(&parts[..n], &self.parts))
    }

    /// Whether the last name has this in it.
    fn says(&self, text: &str) -> bool {
        let Some(Part::Pattern { tokens, .. }) = self.parts.last() else {
            return false;
        };
        let known: String = tokens
            .iter()
            .filter_map(|it| {
                if let Token::Is(c) = it {
                    Some(*c)
                } else {
                    None
                }
            })
            .collect();
        known.contains(text)
    }
}

impl Place {
    fn new(path: &Path, is_tree: bool, what: What) -> Place {
        Place {
            parts: parts_of(path),
            is_anywhere: false,
            is_tree,
            is_plain: false,
            what,
        }
    }

    /// A pattern as rules have it, with `~` for each of the homes.
    fn of_pattern(pattern: &str, homes: &[PathBuf], what: What) -> Vec<Place> {
        let (text, is_tree) = pattern
            .strip_suffix("/**")
            .map_or((pattern, false), |text| (text, true));
        let (starts, rest, is_anywhere) = match (text.strip_prefix("**/"), text.strip_prefix("~/"))
        {
            (Some(rest), _) => (vec![Vec::new()], rest, true),
            (None, Some(rest)) => (
                homes.iter().map(|home| parts_of(home)).collect(),
                rest,
                false,
            ),
            (None, None) => (vec![Vec::new()], text, false),
        };
        let rest = rest
            .split('/')
            .filter(|name| !name.is_empty())
            .map(|name| Part::of_pattern(name, true));
        let rest: Vec<Part> = rest.collect();
        let place = |start: Vec<Part>| {
            let parts = [start, rest.clone()].concat();
            let begins_hidden =
                matches!(parts.first(), Some(Part::Name(name)) if name.starts_with('.'));
            let is_plain = what == What::Sockets || is_anywhere && !begins_hidden;
            Place {
                parts,
                is_anywhere,
                is_tree,
                is_plain,
                what,
            }
        };
        starts.into_iter().map(place).collect()
    }

    /// Whether a path is this place, or lies in it.
    fn has(&self, named: &Named) -> bool {
        let n = self.parts.len();
        if self.is_plain
            && matches!(named.parts.last(), Some(Part::Pattern { .. }))
            && !named.says("hookwire")
        {
            return false;
        }
        if named.is_open || named.parts.iter().any(|it| matches!(it, Part::Any)) {
            let own =
                [self.is_anywhere, self.is_tree].map(|it| if it { &[Part::Any][..] } else { &[] });
            let own = [own[0], &self.parts, own[1]].concat();
            let open = if named.is_open { &[Part::Any][..] } else { &[] };
            return meet(&own, &[&named.parts, open].concat());
        }
        let Some(last) = named.parts.len().checked_sub(n) else {
            return false;
        };
        // What stands for any name says nothing of a place that stands anywhere.
        let says = |part: &Part| match part {
            Part::Pattern { tokens, .. } => tokens.iter().any(|it| matches!(it, Token::Is(_))),
            Part::Name(_) | Part::Any => true,
        };
        let is_at = |start: usize| {
            (!self.is_anywhere || named.parts.get(start).is_some_and(says))
                && meet(&self.parts, &named.parts[start..start + n])
        };
        match (self.is_anywhere, self.is_tree) {
            (true, true) => (0..=last).any(is_at),
            (true, false) => is_at(last),
            (false, is_tree) => (is_tree || last == 0) && is_at(0),
        }
    }

    /// Whether a path is a directory that holds this place.
    fn is_below(&self, named: &Named) -> bool {
        !named.is_open
            && !self.is_anywhere
            && (0..self.parts.len()).any(|n| meet(&self.parts[..n], &named.parts))
    }

    /// A literal name that stands in every path of the place.
    fn key(&self) -> Option<&str> {
        if self.what == What::Sockets {
            return Some("hookwire");
        }
        let mut names = self.parts.iter().filter_map(|part| match part {
            Part::Name(name) => Some(name.as_str()),
            Part::Any | Part::Pattern { .. } => None,
        });
        let own = names.clone().find(|name| name.contains("hookwire"));
        own.or_else(|| {
            if self.is_anywhere {
                names.next()
            } else {
                names.next_back()
            }
        })
    }
}

/// The programs by the names of hookwire that a shell would find, this one, and those beside it.
fn own_programs() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::env::current_exe().ok();
    let dirs = std::env::split_paths(&path).chain(
        own.iter()
            .filter_map(|own| Some(own.parent()?.to_path_buf())),
    );
    let named = dirs
        .filter(|dir| dir.is_absolute())
        .flat_map(|dir| programs::NAMES.map(|name| dir.join(name)));
    let found: Vec<PathBuf> = named.filter(|file| file.is_file()).collect();
    own.into_iter().chain(found).collect()
}

/// A path as it is written, and as links lead.
pub(super) fn both(path: &Path) -> Vec<PathBuf> {
    let written = paths::normalise(path);
    let resolved = paths::resolved(path).filter(|it| *it != written);
    std::iter::once(written).chain(resolved).collect()
}

impl Places {
    /// `more`: patterns beside the guard's own, as in `Write(...)`.
    pub(super) fn new(more: &[String]) -> Places {
        let homes = user::homes();
        let mut all = Vec::new();
        let mut add = |path: &Path, is_tree: bool, what: What| {
            all.extend(
                both(path)
                    .iter()
                    .map(|path| Place::new(path, is_tree, what)),
            );
        };
        let usual = homes
            .iter()
            .flat_map(|home| [".config", ".local/share"].map(|it| home.join(it).join("hookwire")));
        let of_user: Vec<PathBuf> = user::user_dirs()
            .iter()
            .chain(user::data_dirs())
            .cloned()
            .chain(usual)
            .collect();
        of_user.iter().for_each(|dir| add(dir, true, What::Guards));
        add(Path::new("/etc/hookwire"), true, What::Guards);
        add(&user::runtime(), true, What::Sockets);
        let programs = own_programs();
        programs
            .iter()
            .for_each(|file| add(file, false, What::Program));
        // Where the runtime directory is without XDG_RUNTIME_DIR.
        let temporary = format!("/tmp/hookwire-{}/**", rustix::process::getuid().as_raw());
        let patterns = [
            ("**/.hookwire/**", What::Guards),
            ("/run/user/*/hookwire/**", What::Sockets),
            (&*temporary, What::Sockets),
        ];
        all.extend(
            patterns
                .iter()
                .flat_map(|(text, what)| Place::of_pattern(text, &homes, *what)),
        );
        let installed = programs::NAMES.map(|name| format!("**/bin/{name}"));
        all.extend(
            installed
                .iter()
                .flat_map(|text| Place::of_pattern(text, &homes, What::Program)),
        );
        let is_told =
            |text: &&String| !text.contains(['{', '\\']) && text.starts_with(['/', '~', '*']);
        all.extend(
            more.iter()
                .filter(is_told)
                .flat_map(|text| Place::of_pattern(text, &homes, What::Guards)),
        );
        let mut folders = Vec::new();
        for agent in AGENTS.iter() {
            all.extend(
                agent
                    .settings
                    .iter()
                    .flat_map(|it| Place::of_pattern(it, &homes, What::Settings)),
            );
            let own = agent.folders.iter().map(|it| format!("**/{it}"));
            folders.extend(own.flat_map(|it| Place::of_pattern(&it, &homes, What::Settings)));
            let moved = agent.moved_folders();
            for (dir, settings) in moved
                .iter()
                .flat_map(|(dir, settings)| both(dir).into_iter().map(move |it| (it, settings)))
            {
                folders.push(Place::new(&dir, false, What::Settings));
                for rest in settings {
                    let rest =
                        Place::of_pattern(&format!("/{rest}"), &homes, What::Settings).into_iter();
                    let parts =
                        |rest: Place| parts_of(&dir).into_iter().chain(rest.parts).collect();
                    all.extend(rest.map(|rest| Place {
                        is_tree: rest.is_tree,
                        parts: parts(rest),
                        ..Place::new(&dir, false, What::Settings)
                    }));
                }
            }
        }
        // In a directory for temporary files, sockets are among others' files.
        let runtime = user::runtime();
        let runtime = Some(&runtime).filter(|dir| dir.ends_with("hookwire"));
        let shared = of_user
            .iter()
            .chain(runtime)
            .filter_map(|dir| dir.parent())
            .flat_map(both);
        let shared: Vec<Place> = shared
            .map(|dir| Place::new(&dir, false, What::Guards))
            .collect();
        let mut keys: Vec<String> = all
            .iter()
            .chain(&folders)
            .filter_map(Place::key)
            .map(regex::escape)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let keys = Regex::new(&keys.join("|")).ok();
        Places {
            all,
            folders,
            shared,
            programs,
            keys,
        }
    }

    /// The programs that are there.
    pub(super) fn programs(&self) -> impl Iterator<Item = PathBuf> {
        self.programs.iter().cloned()
    }

    /// Whether a text may name a place by its name.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.is_match(text))
    }

    /// The place that a path is, or lies in.
    pub(super) fn at(&self, named: &Named) -> Option<What> {
        self.all
            .iter()
            .find(|place| place.has(named))
            .map(|place| place.what)
    }

    /// Whether a path is an agent's folder.
    pub(super) fn is_folder(&self, named: &Named) -> bool {
        !named.is_open && self.folders.iter().any(|place| place.has(named))
    }

    /// Whether a path is a directory that holds the places of a user or the program.
    pub(super) fn holds(&self, named: &Named) -> bool {
        // Sockets come and go: a host that is gone is started again, and people clean up temporary
        // directories.
        let stays = |place: &&Place| place.what != What::Sockets;
        self.all
            .iter()
            .filter(stays)
            .any(|place| place.is_below(named))
    }

    /// Whether what is put into a directory by a name that isn't told may become a place.
    pub(super) fn receives(&self, named: &Named) -> bool {
        !named.is_open
            && (self.is_folder(named) || self.shared.iter().any(|place| place.has(named)))
    }

    /// Whether what an open path names may be a place: the names before are a directory of
    /// hookwire's or an agent's own, or, for what takes away, one that holds a place.
    pub(super) fn may_open_to(&self, named: &Named, takes_away: bool) -> bool {
        let mut known = named.parts.clone();
        // What isn't told is one name at least.
        if matches!(known.last(), Some(Part::Any | Part::Pattern { .. })) {
            known.pop();
        }
        let directory = Named {
            parts: known,
            is_open: false,
        };
        let of_settings = |place: &&Place| place.what == What::Settings && place.is_anywhere;
        self.all.iter().any(|place| place.has(&directory))
            || self.is_folder(&directory)
                && self
                    .all
                    .iter()
                    .filter(of_settings)
                    .any(|place| place.has(named))
            || takes_away && self.shared.iter().any(|place| place.has(&directory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &str) -> Named {
        let parts = path
            .split('/')
            .filter(|it| !it.is_empty())
            .map(|it| Part::of_pattern(it, false));
        Named {
            parts: parts.collect(),
            is_open: false,
        }
    }

    #[test]
    fn a_path_is_a_place_lies_in_it_or_holds_it() {
        let home = user::home().unwrap();
        let of = |path: &str| named(&path.replace('~', home.to_str().unwrap()));
        let places = Places::new(&[]);
        for path in [
            "/p/.hookwire",
            "/p/.hookwire/a/b.yaml",
            "/p/.claude/settings.json",
            "/p/.claude/s*.json",
            "/p/.c*/*",
        ] {
            assert!(places.at(&of(path)).is_some(), "{path}");
        }
        for path in [
            "/p/.claude",
            "/p/.claude/commands/a.md",
            "/p/*/settings.json",
            "/p/hookwire",
            "/p/.claude/*.md",
        ] {
            assert!(places.at(&of(path)).is_none(), "{path}");
        }
        assert!(places.is_folder(&of("/p/.claude")) && places.is_folder(&of("/p/.c*")));
        assert!(places.holds(&of("~")) && places.holds(&of("/")) && !places.holds(&of("/p")));
        assert!(places.receives(&of("/p/.codex")) && !places.receives(&of("~")));
    }
}
