//! Copies of the programs that agents start. A guard doesn't live in a cache: from one, the programs
//! are copied to the user's data, and the agent starts the copy.

use super::Failure;
use super::kept::written_files;
use hookwire_ask::programs::NAMES;
use hookwire_base::support::file::{self, new_beside};
use hookwire_base::support::{digest, places, shell_word};
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// The directory of the copies, below the user's data; in it is one for each version.
const PROGRAMS: &str = "programs";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The path that is written for a program: its copy's, if it is in a cache.
pub(super) fn lasting(program: &Path) -> Result<PathBuf, Failure> {
    if cache_of(program).is_none() {
        return Ok(program.to_path_buf());
    }
    let name = program.file_name().unwrap_or_default();
    Ok(copies()?.join(VERSION).join(name))
}

/// The directory of the copies.
fn copies() -> Result<PathBuf, Failure> {
    places::data()
        .map(|data| data.join(PROGRAMS))
        .ok_or_else(|| Failure("you have no home directory to copy the programs to".into()))
}

/// What a program is in that is emptied without a word to the person, if it is.
pub(super) fn cache_of(program: &Path) -> Option<&'static str> {
    // Where the home itself is in such a directory, there is no better place.
    if version_of_copy(program).is_some() {
        return None;
    }
    let homes = places::homes();
    let caches = homes
        .iter()
        .flat_map(|home| [home.join(".cache"), home.join("Library/Caches")])
        .chain(std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from))
        .filter(|dir| dir.is_absolute());
    cache_among(program, &Vec::from_iter(caches))
}

fn cache_among(program: &Path, caches: &[PathBuf]) -> Option<&'static str> {
    /// Where systems and package runners keep what is for the moment.
    const TEMPORARY: [&str; 5] = [
        "/tmp",
        "/var/tmp",
        "/dev/shm",
        "/private/tmp",
        "/var/folders",
    ];
    let names: Vec<&str> = program
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let has_pair = |first: &str, begin: &str| {
        names
            .windows(2)
            .any(|pair| pair[0] == first && pair[1].starts_with(begin))
    };
    if names.contains(&"_npx") {
        return Some("the cache of npx");
    }
    let of_uv = ["archive-v", "environments-v", "builds-v"];
    if of_uv.iter().any(|begin| has_pair("uv", begin)) {
        return Some("the cache of uvx");
    }
    if has_pair("pnpm", "dlx") || names.iter().any(|name| name.starts_with("bunx-")) {
        return Some("the cache of a package runner");
    }
    if caches.iter().any(|cache| program.starts_with(cache)) {
        return Some("a cache");
    }
    TEMPORARY
        .iter()
        .any(|dir| program.starts_with(dir))
        .then_some("a directory for temporary files")
}

/// The version of a program that is a copy which hookwire has made for this user.
pub(super) fn version_of_copy(program: &Path) -> Option<String> {
    let name = program.file_name()?.to_str()?;
    let (dir, version) = (program.parent()?.parent()?, program.parent()?.file_name()?);
    let is_ours = places::data_dirs().iter().any(|data| {
        let copies = data.join(PROGRAMS);
        dir == copies || copies.canonicalize().is_ok_and(|copies| dir == copies)
    });
    (is_ours && NAMES.contains(&name)).then(|| version.to_string_lossy().into_owned())
}

/// Copies the programs that stand beside this one, if that is in a cache, and removes copies that no
/// entry starts any more.
pub(super) fn keep_programs() -> Result<(), Failure> {
    let own = std::env::current_exe()?;
    if cache_of(&own).is_none() {
        return Ok(());
    }
    let copies = copies()?;
    let to = copies.join(VERSION);
    let at = |path: &Path, error: io::Error| {
        Failure(format!(
            "{} can't be copied to {}, where it would stay: {error}",
            own.display(),
            path.display()
        ))
    };
    DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(&to)
        .map_err(|error| at(&to, error))?;
    // The small one starts the large one that stands beside it.
    let beside = NAMES.iter().map(|name| own.with_file_name(name));
    let mut from: Vec<PathBuf> = beside.filter(|path| path.is_file()).collect();
    if !from.contains(&own) {
        from.push(own.clone());
    }
    for path in from {
        let copy = to.join(path.file_name().unwrap_or_default());
        copy_program(&path, &copy).map_err(|error| at(&copy, error))?;
    }
    remove_unused(&copies)
}

/// Puts a copy in the place of what is there, at once or not at all. What runs goes on.
fn copy_program(from: &Path, to: &Path) -> io::Result<()> {
    let is_same = || -> io::Result<bool> {
        let same_size = fs::metadata(from)?.len() == fs::metadata(to)?.len();
        Ok(same_size && digest::of_file(from)? == digest::of_file(to)?)
    };
    match is_same() {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut new = new_beside(to)?;
    let (mut program, _) = file::open(from)?;
    io::copy(&mut program, new.as_file_mut())?;
    new.as_file()
        .set_permissions(Permissions::from_mode(0o755))?;
    new.as_file().sync_all()?;
    new.persist(to).map(drop).map_err(|error| error.error)
}

/// Removes the copies of other versions that no entry starts.
fn remove_unused(copies: &Path) -> Result<(), Failure> {
    let started: Vec<PathBuf> = written_files()?
        .into_iter()
        .flat_map(|(_, commands)| commands)
        .filter_map(|command| shell_word::written(&command)?.into_iter().next())
        .map(PathBuf::from)
        .collect();
    let entries = match fs::read_dir(copies) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for entry in entries {
        let dir = entry?.path();
        if !dir.ends_with(VERSION) && !started.iter().any(|program| program.starts_with(&dir)) {
            fs::remove_dir_all(&dir)?;
        }
    }
    Ok(())
}

/// Removes the copies that no entry starts, and their directory once it is empty.
pub(super) fn forget_programs() -> Result<(), Failure> {
    for data in places::data_dirs() {
        let copies = data.join(PROGRAMS);
        let mut started = written_files()?
            .into_iter()
            .flat_map(|(_, commands)| commands)
            .filter_map(|command| shell_word::written(&command)?.into_iter().next());
        if started.any(|program| Path::new(&program).starts_with(&copies)) {
            continue;
        }
        match fs::remove_dir_all(&copies) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Failure(format!("{}: {error}", copies.display()))),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_emptied_is_a_cache() {
        let caches = [PathBuf::from("/home/dev/.cache")];
        for (program, expected) in [
            (
                "/home/dev/.npm/_npx/1a2b/node_modules/hookwire-linux-x64/bin/hookwire",
                Some("the cache of npx"),
            ),
            (
                "/home/dev/.cache/uv/archive-v0/Xy/bin/hookwire",
                Some("the cache of uvx"),
            ),
            (
                "/data/uv/archive-v0/Xy/bin/hookwire",
                Some("the cache of uvx"),
            ),
            (
                "/home/dev/.cache/pnpm/dlx/1/node_modules/hookwire/bin/hookwire",
                Some("the cache of a package runner"),
            ),
            (
                "/tmp/bunx-1000-hookwire/node_modules/.bin/hookwire",
                Some("the cache of a package runner"),
            ),
            ("/home/dev/.cache/pipx/1/bin/hookwire", Some("a cache")),
            (
                "/tmp/hookwire-0.1.0/bin/hookwire",
                Some("a directory for temporary files"),
            ),
            (
                "/home/dev/.local/share/uv/tools/hookwire/bin/hookwire",
                None,
            ),
            ("/home/dev/.cargo/bin/hookwire", None),
            ("/usr/bin/hookwire", None),
            ("/home/dev/tmp/bin/hookwire", None),
            ("/nix/store/0a-hookwire-0.1.0/bin/hookwire", None),
        ] {
            assert_eq!(
                cache_among(Path::new(program), &caches),
                expected,
                "{program}"
            );
        }
    }
}
