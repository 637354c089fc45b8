//! Changed files, shown and written.

use super::super::Failure;
use super::super::kept::Kept;
use super::super::output::{Output, Tone, safe};
use super::plan::{Change, Kind};
use super::read::{is_link, read_file};
use hookwire_base::support::file::replace;
use hookwire_base::support::os_error::in_words;
use std::io::Error;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Shows the lines that change, those between the same beginning and the same end.
pub(in crate::cli) fn show_diff(before: Option<&str>, after: Option<&str>, out: &mut Output) {
    let lines = |text: Option<&str>| -> Vec<String> {
        text.iter()
            .flat_map(|text| text.lines())
            .map(str::to_string)
            .collect()
    };
    let (before, after) = (lines(before), lines(after));
    let start = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (&before[start..], &after[start..]);
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    for (sign, tone, lines) in [('-', Tone::Bad, old), ('+', Tone::Good, new)] {
        for line in lines {
            let line = out.tone(tone, &safe(&format!("{sign} {line}")));
            out.line(&format!("  {line}"));
        }
    }
}

impl Change {
    /// Writes the file at once or not at all, and keeps a copy of it as it was; where, unless what
    /// was there before hookwire is there again.
    ///
    /// Settings may be a link into somebody's collection of them. The link stays, and what it leads
    /// to is edited, but never removed: nothing says who made it, and the link would lead nowhere.
    /// A file that is hookwire's alone takes the place of a link, and what that leads to is left as
    /// it is: the link may have come with a clone.
    ///
    /// `dirs` gets the directories that were made for the file, if it goes.
    pub(super) fn write_file(
        &self,
        is_install: bool,
        dirs: &mut Vec<PathBuf>,
    ) -> std::io::Result<Option<PathBuf>> {
        let is_link = is_link(&self.path);
        let is_edited_behind_link = is_link && self.kind == Kind::Settings;
        let path = match is_edited_behind_link {
            true => self
                .path
                .canonicalize()
                .map_err(|_| Error::other("it is a link, and what it leads to isn't there"))?,
            false => self.path.clone(),
        };
        let is_replaced = is_link && !is_edited_behind_link && self.before.is_none();
        // One that leads to an entry of hookwire's isn't to come back.
        let link = if is_replaced && !self.had_own {
            Some(std::fs::read_link(&path)?)
        } else {
            None
        };
        let now = if is_replaced {
            None
        } else {
            read_file(&path).map_err(|Failure(problem)| Error::other(problem))?
        };
        if now != self.before {
            return Err(Error::other(
                "somebody has changed it meanwhile; nothing was written",
            ));
        }
        let mut kept = Kept::of_file(&path).ok_or_else(|| {
            Error::other("there is no place to keep a copy of it in: you have no home directory")
        })?;
        let dir = kept.dir().display().to_string();
        let unkept = |error| {
            Error::other(format!(
                "a copy of it can't be kept in {dir}: {}",
                in_words(&error)
            ))
        };
        let after = self
            .after
            .as_deref()
            .or(is_edited_behind_link.then_some("{}\n"));
        if is_install {
            let after = after.unwrap_or_default();
            let copy = kept
                .note_install(
                    now.as_deref(),
                    self.had_own,
                    link,
                    after,
                    self.commands.clone(),
                )
                .map_err(unkept)?;
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            replace(
                &path,
                after,
                if self.kind == Kind::Program {
                    0o755
                } else {
                    0o644
                },
            )?;
            return Ok(copy);
        }
        let before = now.as_deref().and_then(|now| kept.text_before(now));
        let copy = now
            .as_deref()
            .map(|now| kept.keep_copy(now))
            .transpose()
            .map_err(unkept)?;
        match after {
            Some(after) => replace(&path, after, 0o644)?,
            None => {
                std::fs::remove_file(&path)?;
                if let Some(link) = kept.link() {
                    symlink(link, &path)?;
                }
                dirs.extend_from_slice(kept.dirs());
            }
        }
        kept.note_uninstall()?;
        Ok(copy.filter(|_| before.is_none()))
    }
}
