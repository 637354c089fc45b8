//! Files that are written below a project's root. Whoever has made the project may have put links
//! there: what is named below the root is written below it, or nowhere.
//!
//! A path is resolved first and then walked from the root, one directory at a time and without
//! following a link. So a directory that becomes a link meanwhile is a failure, on every system.

use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fchmod, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Component, Path, PathBuf};

/// Opens a directory to look names up in it. To list it may be forbidden.
#[cfg(target_os = "linux")]
const LOOK_UP: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const LOOK_UP: OFlags = OFlags::empty();

/// Where there is no project.
pub const ANYWHERE: &str = "/";

/// Writes a file that isn't there yet, and makes the directories that it is in.
///
/// # Errors
/// It can't be written, leads out of the project, or something is there already: then
/// [`ErrorKind::AlreadyExists`].
pub fn write_new(path: &Path, root: &Path, text: &str, mode: u32) -> Result<()> {
    let (dir, name) = place(path, root, Missing::Made(0o777))?;
    create(&dir, &name, mode)?.write_all(text.as_bytes())
}

/// Puts a text in the place of a file's, at once or not at all. Who may do what with a file that is
/// there stays.
///
/// # Errors
/// It can't be written, or leads out of the project; then it is as it was.
pub fn replace(path: &Path, root: &Path, text: &str, new_mode: u32) -> Result<()> {
    // It may be a link to another file of the project.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let (dir, name) = place(&path, root, Missing::Told)?;
    let mode = match statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(about) if FileType::from_raw_mode(about.st_mode).is_file() => {
            Mode::from_raw_mode(about.st_mode)
        }
        Ok(_) => return Err(Error::other("it is not a regular file")),
        Err(_) => Mode::from_raw_mode(new_mode as rustix::fs::RawMode),
    };
    let random = getrandom::u64().map_err(Error::other)?;
    // Who looks for definitions passes over names with a dot.
    let new = OsString::from(format!(".hookwire-{random:016x}"));
    let mut file = create(&dir, &new, 0o600)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| Ok(fchmod(&file, mode)?))
        .and_then(|()| file.sync_all())
        .and_then(|()| Ok(renameat(&dir, &new, &dir, &name)?));
    if written.is_err() {
        let _ = unlinkat(&dir, &new, AtFlags::empty());
    }
    written
}

/// Makes a directory, and those that it is in, unless it is there.
///
/// # Errors
/// It can't be made, or leads out of the project.
pub fn make_dir(path: &Path, root: &Path, mode: u32) -> Result<()> {
    directory(&std::path::absolute(path)?, root, Missing::Made(mode)).map(drop)
}

/// Whether what a path leads to is below a root, as far as it is there.
///
/// # Errors
/// It leads out of the project.
pub fn stays(path: &Path, root: &Path) -> Result<()> {
    match path.canonicalize() {
        Ok(real) if !real.starts_with(root.canonicalize()?) => Err(leads_out(&real)),
        Err(_) if path.is_symlink() => Err(Error::other("it is a link that leads nowhere")),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// What becomes of a directory that isn't there.
#[derive(Clone, Copy)]
enum Missing {
    Told,
    /// With this mode.
    Made(u32),
}

/// The directory that a file is in, and the file's name there.
fn place(path: &Path, root: &Path, missing: Missing) -> Result<(OwnedFd, OsString)> {
    let path = std::path::absolute(path)?;
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => Ok((directory(dir, root, missing)?, name.to_os_string())),
        _ => Err(Error::new(ErrorKind::IsADirectory, "it is a directory")),
    }
}

fn directory(path: &Path, root: &Path, missing: Missing) -> Result<OwnedFd> {
    let there = path
        .ancestors()
        .find_map(|it| Some((it.canonicalize().ok()?, path.strip_prefix(it).ok()?)));
    let (there, rest) = there.ok_or(ErrorKind::NotFound)?;
    let root = if root == Path::new(ANYWHERE) {
        there.clone()
    } else {
        root.canonicalize()?
    };
    let inner = there.strip_prefix(&root).map_err(|_| leads_out(&there))?;
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | LOOK_UP;
    let mut dir = openat(CWD, &root, flags, Mode::empty())?;
    let made = |name| (name, Some(missing));
    for (name, missing) in inner
        .components()
        .map(|name| (name, None))
        .chain(rest.components().map(made))
    {
        // What isn't there has no directory above it either.
        let Component::Normal(name) = name else {
            return Err(ErrorKind::NotFound.into());
        };
        if let Some(Missing::Made(mode)) = missing {
            match mkdirat(&dir, name, Mode::from_raw_mode(mode as rustix::fs::RawMode)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        dir =
            openat(&dir, name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(
                |error| match error {
                    Errno::LOOP | Errno::NOTDIR => {
                        let name = PathBuf::from(name);
                        Error::other(format!(
                            "`{}` is a file, or a link that leads nowhere",
                            name.display()
                        ))
                    }
                    error => error.into(),
                },
            )?;
    }
    Ok(dir)
}

fn create(dir: &OwnedFd, name: &OsStr, mode: u32) -> Result<File> {
    // No link is followed: it would be something that is there already.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(
        dir,
        name,
        flags,
        Mode::from_raw_mode(mode as rustix::fs::RawMode),
    )?
    .into())
}

fn leads_out(to: &Path) -> Error {
    let problem = format!("it leads out of the project, to {}", to.display());
    Error::new(ErrorKind::PermissionDenied, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Each row: links of the project, a path in it, and what becomes of a write there.
    #[test]
    fn nothing_is_written_out_of_the_project() {
        for (links, path, expected) in [
            (&[][..], "a/b/new", "written"),
            (&[], "kept/new", "written"),
            (&[("in", "kept")], "in/new", "written"),
            (&[("in", "$/project/kept")], "in/new", "written"),
            (&[("in", "kept/../kept")], "in/deep/new", "written"),
            (&[], "kept/../kept/new", "written"),
            (
                &[("out", "../other")],
                "out/new",
                "it leads out of the project, to $/other",
            ),
            (
                &[("out", "../other")],
                "out/deep/new",
                "it leads out of the project, to $/other",
            ),
            (
                &[("out", "$/other")],
                "out/new",
                "it leads out of the project, to $/other",
            ),
            (
                &[("out", "../..")],
                "out/new",
                "it leads out of the project, to ",
            ),
            (
                &[("one", "kept/two"), ("kept/two", "../../other")],
                "one/new",
                "it leads out of the project, to $/other",
            ),
            (
                &[("out", "../nowhere")],
                "out/new",
                "`out` is a file, or a link that leads nowhere",
            ),
            (&[("new", "../other/new")], "new", "it is there already"),
            (&[("new", "../other/file")], "new", "it is there already"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            let root = top.join("project");
            fs::create_dir_all(root.join("kept")).unwrap();
            fs::create_dir(top.join("other")).unwrap();
            fs::write(top.join("other/file"), "theirs").unwrap();
            for (link, to) in links {
                symlink(to.replace('$', top.to_str().unwrap()), root.join(link)).unwrap();
            }
            let said = match write_new(&root.join(path), &root, "x", 0o644) {
                Ok(()) => "written".to_string(),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    "it is there already".into()
                }
                Err(error) => error.to_string().replace(top.to_str().unwrap(), "$"),
            };
            assert!(said.starts_with(expected), "{links:?} {path}: {said}");
            assert_eq!(
                said == "written",
                root.join(path).is_file() && !root.join(path).is_symlink(),
                "{path}"
            );
            assert_eq!(
                fs::read_dir(top.join("other")).unwrap().count(),
                1,
                "{links:?} {path}"
            );
        }
    }

    /// Each row: what `file` is a link to, and what it holds when it was replaced.
    #[test]
    fn a_file_is_replaced_where_it_is() {
        for (link, expected) in [
            (None, Ok("new")),
            (Some("kept/real"), Ok("new")),
            (
                Some("../other/real"),
                Err("it leads out of the project, to $/other"),
            ),
            (Some("kept"), Err("it is not a regular file")),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            let (root, file) = (top.join("project"), top.join("project/file"));
            fs::create_dir_all(root.join("kept")).unwrap();
            fs::create_dir(top.join("other")).unwrap();
            fs::write(root.join("kept/real"), "old").unwrap();
            fs::write(top.join("other/real"), "old").unwrap();
            match link {
                Some(to) => symlink(to, &file).unwrap(),
                None => fs::write(&file, "old").unwrap(),
            }
            let done = replace(&file, &root, "new", 0o644);
            let done = done.map(|()| fs::read_to_string(&file).unwrap());
            let done = done.map_err(|error| error.to_string().replace(top.to_str().unwrap(), "$"));
            assert_eq!(
                done.as_deref().map_err(String::as_str),
                expected,
                "{link:?}"
            );
            assert_eq!(fs::read_to_string(top.join("other/real")).unwrap(), "old");
            assert_eq!(file.is_symlink(), link.is_some());
            let left = fs::read_dir(&root)
                .unwrap()
                .chain(fs::read_dir(root.join("kept")).unwrap())
                .count();
            assert_eq!(left, 3, "{link:?}");
        }
    }
}
