//! Which host of a project is meant, by the options that the large program has for it.

use hookwire_ask::WITHOUT_MACHINE;
use hookwire_ask::places::{DATA_DIR, Places, Settled, USER_DIR};
use hookwire_ask::programs::large_program;
use hookwire_ask::project::{find_project, for_agents, foreign_projects, has_own, is_left_out};
use hookwire_ask::warm::{Wanted, Warm};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Variables by which the large program does something else.
const VARIABLES: [&str; 2] = ["HOOKWIRE_LOG", "HOOKWIRE_MODEL"];

/// What the options say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Meant {
    root: Option<PathBuf>,
    user_dirs: Vec<PathBuf>,
    data_dirs: Vec<PathBuf>,
    hooks: Vec<PathBuf>,
    pub project: bool,
    isolated: bool,
    no_self_defense: bool,
}

/// Whether a variable has the large program do something else.
pub fn is_varied() -> bool {
    VARIABLES
        .iter()
        .any(|name| std::env::var_os(name).is_some())
}

/// Sets a flag that may be given once.
pub fn set_once(flag: &mut bool) -> Option<()> {
    (!std::mem::replace(flag, true)).then_some(())
}

/// The value of an option.
pub fn option_value<'a>(rest: &mut impl Iterator<Item = &'a OsString>) -> Option<&'a OsString> {
    rest.next()
        .filter(|it| !it.is_empty() && !it.as_encoded_bytes().starts_with(b"-"))
}

impl Meant {
    /// Takes an option with its value from the rest: whether it is one of these. Nothing if it
    /// isn't as `hookwire install` writes it.
    pub fn take_option<'a>(
        &mut self,
        option: &str,
        rest: &mut impl Iterator<Item = &'a OsString>,
    ) -> Option<bool> {
        match option {
            "--live" => set_once(&mut self.project)?,
            "--isolated" => set_once(&mut self.isolated)?,
            "--no-self-defense" => set_once(&mut self.no_self_defense)?,
            "--root" if self.root.is_none() => self.root = Some(option_value(rest)?.into()),
            "--hooks" => self.hooks.push(option_value(rest)?.into()),
            USER_DIR => self.user_dirs.push(option_value(rest)?.into()),
            DATA_DIR => self.data_dirs.push(option_value(rest)?.into()),
            _ => return Some(false),
        }
        Some(true)
    }

    /// The user's home directory, if the user's places aren't all named: in a team's file none is.
    /// Nothing if it can't be told.
    fn home(&self) -> Option<Option<PathBuf>> {
        let names_all = !self.user_dirs.is_empty() && !self.data_dirs.is_empty();
        if names_all {
            Some(None)
        } else {
            home_dir().map(Some)
        }
    }

    /// The host that `hookwire hook` would ask.
    pub fn host_of_hook(&self) -> Option<Warm> {
        let (root, home) = (self.root(), self.home()?);
        let projects = foreign_projects(&root);
        self.warm_host(
            &root,
            &Settled::for_agent(
                self.named_places(),
                |place| projects.iter().any(|project| place.starts_with(project)),
                || home,
            )
            .read,
        )
    }

    /// The user's own host, where the machine's judges first; nothing if the user has nothing of
    /// their own.
    ///
    /// # Errors
    /// It can't be told.
    pub fn host_beside_machine(&self) -> Result<Option<Warm>, ()> {
        let (root, home) = (self.root(), self.home().ok_or(())?);
        let projects = foreign_projects(&root);
        let is_foreign = |place: &Path| projects.iter().any(|project| place.starts_with(project));
        let places = Settled::for_agent(self.named_places(), is_foreign, || home).read;
        let more = vec![WITHOUT_MACHINE.into()];
        let host = self.wanted_host(&root, &places, more).ok_or(())?;
        Ok(has_own(&host.root, &places.user, &places.data).then_some(host))
    }

    /// The host that `hookwire run` would ask, if it would say nothing of its definitions.
    pub fn host_of_run(&self) -> Option<Warm> {
        let home = self.home()?;
        let places = Settled::new(self.named_places(), || home).read;
        let host = self.warm_host(&self.root(), &places)?;
        let are_there = self.hooks.iter().all(|hooks| hooks.is_dir());
        let is_quiet = !is_left_out(
            &host.root,
            self.project,
            self.isolated,
            &self.hooks,
            &places.data,
        );
        (are_there && is_quiet).then_some(host)
    }

    /// The command that has the large program start this host.
    pub fn start_command(&self, host: &Warm) -> Vec<OsString> {
        host.start_command("30m", !self.no_self_defense)
    }

    fn root(&self) -> PathBuf {
        self.root.clone().unwrap_or_else(find_project)
    }

    fn named_places(&self) -> Places {
        Places::from_paths(&self.user_dirs, &self.data_dirs)
    }

    fn warm_host(&self, root: &Path, places: &Places) -> Option<Warm> {
        self.wanted_host(root, places, Vec::new())
    }

    fn wanted_host(&self, root: &Path, places: &Places, more: Vec<OsString>) -> Option<Warm> {
        let wanted = Wanted {
            root: for_agents(root, !self.project && !self.isolated, &places.data).ok()?,
            hooks: self.hooks.clone(),
            project: self.project,
            isolated: self.isolated,
            self_defense: !self.no_self_defense,
            more,
        };
        Warm::new(large_program().ok()?, wanted, places).ok()
    }
}

/// The user's home directory by the file of users. Who isn't in that file is looked for by the
/// large program, which knows more ways.
pub fn home_dir() -> Option<PathBuf> {
    let users = std::fs::read("/etc/passwd").ok()?;
    let user = rustix::process::getuid().as_raw().to_string();
    let home = users.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        fields.nth(2).filter(|id| *id == user.as_bytes())?;
        fields.nth(2)
    })?;
    Some(PathBuf::from(OsStr::from_bytes(home))).filter(|home| home.is_absolute())
}
