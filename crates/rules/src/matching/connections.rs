//! Rules over hosts held against what a call connects to, however it does so: by a command of a
//! shell, by a tool for the web, by a URL that another tool is given.

use super::call::{Subject, Thing};
use super::hosts::Peer;
use super::located::directories_of;
use super::repository::{Head, Repository, Settings};
use super::shell::{self, Command, GitAct, Script, To, UNKNOWN};
use super::{Asker, Facts, noted, paths, patience, urls};
use serde_json::Value;
use smallvec::SmallVec;
use std::path::PathBuf;

/// How many texts of a call's input are looked at.
const MOST_TEXTS: usize = 1024;
/// How many hosts of one call are told apart.
const MOST: usize = 256;
/// How much of what a call says is kept with each connection, in characters.
const MOST_CAUSE: usize = 100;
/// The members that hold a place without a scheme.
const PLACES: [&str; 14] = [
    "url", "uri", "link", "href", "host", "hostname", "domain", "endpoint", "server", "proxy",
    "address", "baseUrl", "base_url", "origin",
];
/// The members that hold what is written or said, and no place.
const CONTENTS: [&str; 10] = [
    "content",
    "contents",
    "text",
    "body",
    "message",
    "description",
    "title",
    "query",
    "prompt",
    "comment",
];
/// So much of a text is looked at: a host stands at its beginning.
const MOST_TEXT: usize = 4096;

/// What a call connects to by one command, or by one text of its input.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: Peer,
    /// What the call says.
    pub(super) cause: String,
    /// Why it is in doubt whether it is made.
    pub(super) doubt: Option<&'static str>,
    /// The command that makes it: which of the call's shell texts, and which command there.
    pub(super) by: Option<(usize, usize)>,
}

impl Facts {
    /// What the call connects to, as a definition reads it. Nothing where there is no time to look.
    pub(super) fn connections(&self, asker: Asker) -> Option<&[Connection]> {
        let known = &self.connections[usize::from(self.declared(asker.layer).is_some())];
        if let Some((connections, grounds)) = known.get() {
            grounds.note();
            return Some(connections);
        }
        let found = (self.unread.is_none())
            .then(|| noted::found_by(|| self.look_for_connections(asker)))
            .filter(|_| patience::was_enough())?;
        Some(&known.get_or_init(|| found).0)
    }

    /// The shell texts of a call.
    pub(super) fn shell_texts(&self, asker: Asker) -> impl Iterator<Item = (&Script, &str)> {
        let calls = [Some(self.call(asker.layer)), self.as_shell(asker.layer)];
        calls
            .into_iter()
            .flatten()
            .flat_map(|call| call.alternatives.iter().chain(&call.others))
            .filter_map(|subject| match subject {
                Subject::Shell { text, script } => Some((&***script, &**text)),
                Subject::Items(_) | Subject::Unclear(_) => None,
            })
    }

    /// What a call connects to, for people.
    pub fn connections_told(&self, asker: Asker) -> Vec<String> {
        let all = self.connections(asker).unwrap_or_default().iter();
        let tell = |it: &Connection| match it.doubt {
            Some(why) => format!("{} (perhaps: {why})", it.peer),
            None => it.peer.to_string(),
        };
        let mut told: Vec<String> = all.map(tell).collect();
        told.dedup();
        told
    }

    fn look_for_connections(&self, asker: Asker) -> Vec<Connection> {
        let mut all: Vec<Connection> = Vec::new();
        for (n, (script, text)) in self.shell_texts(asker).enumerate() {
            for found in script.connections() {
                let peers = self.peers(script, found).into_iter();
                let cause = text.get(found.at.clone()).unwrap_or(text);
                all.extend(peers.map(|peer| Connection {
                    peer,
                    cause: cause.chars().take(MOST_CAUSE).collect(),
                    doubt: found.doubt,
                    by: found.by.map(|at| (n, at)),
                }));
            }
        }
        let mut add = |peer: Peer, text: &str| {
            all.push(Connection {
                peer,
                cause: text.chars().take(MOST_CAUSE).collect(),
                doubt: None,
                by: None,
            });
        };
        let families = self.families(asker);
        if families.contains(&"WebFetch") {
            let call = self.call(asker.layer);
            for subject in call.alternatives.iter().chain(&call.others) {
                match subject {
                    Subject::Items(items) => {
                        for item in items {
                            match &item.value {
                                Thing::Url(url) => add(Peer::of_url(url.as_str()), url.as_str()),
                                Thing::Text(text) => of_text(text, &mut add),
                                Thing::Path(_) | Thing::Names(_) => {}
                            }
                        }
                    }
                    Subject::Unclear(_) => {
                        add(Peer::Unclear("what it fetches can't be read"), "");
                    }
                    Subject::Shell { .. } => {}
                }
            }
        } else if families.is_empty()
            && let Some(input) = self.event.tool_input()
        {
            let mut n_texts = 0;
            walk("", input, &mut |member, text| {
                n_texts += 1;
                if n_texts <= MOST_TEXTS
                    && let Some(peer) = of_member(member, text)
                {
                    add(peer, text);
                }
            });
            if n_texts > MOST_TEXTS {
                add(Peer::Unclear("it is given too many texts"), "");
            }
        }
        if all.len() > MOST {
            all.truncate(MOST);
            all.push(Connection {
                peer: Peer::Unclear("it connects to too many hosts"),
                cause: String::new(),
                doubt: None,
                by: None,
            });
        }
        all
    }

    /// The hosts of one connection of a text; none if it is a repository of this machine.
    pub(super) fn peers(
        &self,
        script: &Script,
        connection: &shell::Connection,
    ) -> SmallVec<[Peer; 1]> {
        let of_repository = |meant: Meant<'_>| {
            let command = connection
                .by
                .and_then(|at| Some((at, script.commands().get(at)?)));
            match command {
                Some((at, command)) => {
                    let before = script.commands().get(..at).unwrap_or_default();
                    let found = Remotes::new(self, before, command);
                    match found.and_then(|remotes| remotes.peers(meant)) {
                        Ok(peers) => peers.into_iter().collect(),
                        Err(why) => [Peer::Unclear(why)].into_iter().collect(),
                    }
                }
                None => SmallVec::new(),
            }
        };
        match &connection.to {
            To::Url(text) => one(Peer::of_url(text)),
            To::Host(text) => one(Peer::of_host(text)),
            To::Below(name) => one(Peer::Below(name.clone())),
            To::Unclear(why) => one(Peer::Unclear(why)),
            To::Repository(name) => of_repository(Meant::Named(name)),
            To::Remote => of_repository(Meant::ForIt),
            To::Remotes => of_repository(Meant::All),
        }
    }
}

fn one(peer: Peer) -> SmallVec<[Peer; 1]> {
    [peer].into_iter().collect()
}

/// The hosts of a text that a tool for the web is given.
fn of_text(text: &str, add: &mut impl FnMut(Peer, &str)) {
    let is_one = !text.trim().contains(char::is_whitespace);
    let text = if is_one { beginning(text) } else { text };
    match urls::urls(text) {
        Some(urls) => {
            for url in urls.iter().filter(|url| url.has_host()) {
                add(Peer::of_url(url.as_str()), url.as_str());
            }
        }
        None if text.contains("://") => add(Peer::Unclear("a URL can't be read"), text),
        None if !text.trim().contains(char::is_whitespace) && text.contains('.') => {
            add(Peer::of_url(text), text);
        }
        None => {}
    }
}

/// The first bytes of a long text.
fn beginning(text: &str) -> &str {
    let mut end = text.len().min(MOST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The host that a member of an unknown tool's input names.
fn of_member(member: &str, text: &str) -> Option<Peer> {
    let text = beginning(text.trim());
    let is_content = CONTENTS
        .iter()
        .any(|name| member.eq_ignore_ascii_case(name));
    if text.is_empty() || is_content || text.contains(char::is_whitespace) {
        return None;
    }
    let is_place = PLACES.iter().any(|name| member.eq_ignore_ascii_case(name));
    if let Some(rest) = text.strip_prefix("//").filter(|_| is_place) {
        return Some(Peer::of_url(rest));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        let is_scheme = scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+');
        let is_host = is_scheme && !scheme.eq_ignore_ascii_case("file") && !rest.starts_with('/');
        return is_host.then(|| Peer::of_url(text));
    }
    let is_host = text.contains('.') || text.starts_with("localhost");
    (is_place && is_host && !text.starts_with(['/', '.'])).then(|| Peer::of_url(text))
}

/// The texts of a value, each with the member that holds it.
fn walk(member: &str, value: &Value, each: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => each(member, text),
        Value::Array(items) => items.iter().for_each(|item| walk(member, item, each)),
        Value::Object(members) => members
            .iter()
            .for_each(|(name, value)| walk(name, value, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Which remotes a command of git connects to.
#[derive(Clone, Copy)]
enum Meant<'n> {
    /// The one of this name, or at this address.
    Named(&'n str),
    /// The one that is meant without a name.
    ForIt,
    All,
}

/// Where a command of git may be: the repository, if there is one, and the settings in force there,
/// of which the last one of a name counts.
type Place = (Option<Repository>, Vec<(String, String)>);

/// The remotes of the repositories that a command of git may be in.
struct Remotes {
    is_push: bool,
    is_of_submodules: bool,
    places: Vec<Place>,
    /// Remotes that the text itself has named before.
    named: Vec<(String, String)>,
}

impl Remotes {
    fn new(facts: &Facts, before: &[Command], command: &Command) -> Result<Remotes, &'static str> {
        let act = match command.git_act() {
            Some(act) => act?,
            None => return Err("where its remotes are written isn't known"),
        };
        // Whoever has no time for the disk is given no answer.
        if !patience::allows_slow() {
            return Err("there is no time to look");
        }
        let directories =
            directories_of(facts, command, Some(&act)).ok_or("the directory is computed")?;
        let (mut own, mut named) = (Vec::new(), Vec::new());
        for earlier in before {
            let act = match earlier.git_act() {
                Some(act) => act?,
                None if writes_settings(earlier) => {
                    return Err("settings of git may be written before");
                }
                None => continue,
            };
            let is_of_settings = matches!(&*act.verb, "config" | "remote");
            if is_of_settings && act.words.iter().any(|word| word.contains(UNKNOWN)) {
                return Err("a setting of git is computed");
            }
            own.extend(setting_of(&act));
            named.extend(remote_of(&act));
        }
        let of_clone = match &*act.verb {
            "clone" => values_of(&act.words, &["-c", "--config"]),
            _ => Vec::new(),
        };
        let given = act.settings.iter().chain(&of_clone);
        let given = given.filter_map(|it| it.split_once('='));
        own.extend(given.map(|(name, value)| (small(name), value.to_string())));
        let general = general_settings()?;
        let place = |directory: PathBuf| -> Result<Place, &'static str> {
            let repository = match directory.exists() && act.verb != "clone" {
                true => Repository::find(&directory)?,
                false => None,
            };
            let mut settings = general.clone();
            if let Some(repository) = &repository {
                repository.all_settings(&mut settings)?;
            }
            let mut settings = settings.found;
            settings.extend(own.iter().cloned());
            if settings.iter().any(is_another_way) {
                return Err("settings of git may send it elsewhere");
            }
            Ok((repository, settings))
        };
        Ok(Remotes {
            is_push: act.verb == "push",
            is_of_submodules: act.verb == "submodule",
            places: directories
                .into_iter()
                .map(place)
                .collect::<Result<_, _>>()?,
            named,
        })
    }

    /// The hosts of what git takes for a repository: a URL, a path, the name of a remote. Without
    /// any, that of the remote that is meant.
    fn peers(&self, meant: Meant<'_>) -> Result<Vec<Peer>, &'static str> {
        let mut peers = Vec::new();
        for (repository, settings) in &self.places {
            let values = |name: &str| {
                let found = settings.iter().filter(move |(it, _)| it == name);
                found.map(|(_, value)| value.clone()).collect::<Vec<_>>()
            };
            let is_group = |name: &str| {
                let group = format!("remotes.{name}");
                settings.iter().any(|(it, _)| *it == group)
            };
            let fetches_all = settings.iter().any(|(name, _)| name == "fetch.all");
            let names = match meant {
                Meant::Named(name) if !is_group(name) => vec![name.to_string()],
                Meant::ForIt if !fetches_all => self.meant(repository.as_ref(), settings),
                Meant::Named(_) | Meant::ForIt | Meant::All => self.all(settings),
            };
            let has_old = |name: &str| {
                let is_name = !name.contains(['/', ':']) && !name.starts_with('.');
                is_name
                    && repository
                        .as_ref()
                        .is_some_and(|it| it.has_old_settings(Some(name)))
            };
            let mut addresses: Vec<(String, bool)> = Vec::new();
            if self.is_of_submodules {
                let mut modules = Settings::default();
                if let Some(repository) = repository {
                    modules.add(&repository.root.join(".gitmodules"))?;
                }
                let all = modules.found.iter().chain(settings);
                let of_modules = all
                    .filter(|(name, _)| name.starts_with("submodule.") && name.ends_with(".url"));
                addresses.extend(of_modules.map(|(_, address)| (address.clone(), false)));
            }
            for name in &names {
                if has_old(name) {
                    return Err("git's older files may say where it goes");
                }
                let of_text = self.named.iter().filter(|(it, _)| it == name);
                addresses.extend(of_text.map(|(_, address)| (address.clone(), false)));
                let pushed = match self.is_push {
                    true => values(&format!("remote.{name}.pushurl")),
                    false => Vec::new(),
                };
                let fetched = values(&format!("remote.{name}.url"));
                let own = if pushed.is_empty() { &fetched } else { &pushed };
                addresses.extend(own.iter().map(|it| (it.clone(), !pushed.is_empty())));
                if own.is_empty() && !self.named.iter().any(|(it, _)| it == name) {
                    addresses.push((name.clone(), false));
                }
            }
            let mut is_by_http = false;
            for (address, is_explicit) in addresses {
                let address = self.rewritten(&address, is_explicit, settings);
                is_by_http |= address.starts_with("http");
                match To::of_repository(&address) {
                    Some(To::Url(text)) => peers.push(Peer::of_url(&text)),
                    Some(To::Host(text)) => peers.push(Peer::of_host(&text)),
                    Some(To::Unclear(why)) => return Err(why),
                    // A path of this machine.
                    _ => {}
                }
            }
            let is_proxy = |name: &str| {
                (name.starts_with("http.") || name.starts_with("remote."))
                    && name.ends_with(".proxy")
            };
            let proxies = settings
                .iter()
                .filter(|(name, value)| is_by_http && is_proxy(name) && !value.is_empty());
            peers.extend(proxies.map(|(_, value)| Peer::of_url(value)));
        }
        Ok(peers)
    }

    /// The remotes that a command without a name may go to.
    fn meant(&self, repository: Option<&Repository>, settings: &[(String, String)]) -> Vec<String> {
        let last = |name: &str| {
            let found = settings.iter().rev().find(|(it, _)| it == name);
            found.map(|(_, value)| value.clone())
        };
        let of_branch = |what: &str| match repository.map(Repository::head) {
            Some(Ok(Head::Branch(branch))) => last(&format!("branch.{branch}.{what}")),
            _ => None,
        };
        let for_push = || of_branch("pushremote").or_else(|| last("remote.pushdefault"));
        let meant = for_push()
            .filter(|_| self.is_push)
            .or_else(|| of_branch("remote"));
        meant.map_or_else(
            || {
                let mut all = self.all(settings);
                let has_origin = all.iter().any(|name| name == "origin");
                all.retain(|name| !has_origin || name == "origin");
                all
            },
            |name| vec![name],
        )
    }

    /// All remotes that there are.
    fn all(&self, settings: &[(String, String)]) -> Vec<String> {
        let of_settings = settings.iter().filter_map(|(name, _)| {
            let name = name.strip_prefix("remote.")?;
            let name = name
                .strip_suffix(".url")
                .or(name.strip_suffix(".pushurl"))?;
            Some(name.to_string())
        });
        let of_text = self.named.iter().map(|(name, _)| name.clone());
        let mut all: Vec<String> = of_settings.chain(of_text).collect();
        all.sort();
        all.dedup();
        all
    }

    /// An address as `url.BASE.insteadOf` has it written anew; the longest beginning counts.
    fn rewritten(&self, address: &str, is_explicit: bool, settings: &[(String, String)]) -> String {
        let longest = |what: &str| {
            let found = settings.iter().filter_map(|(name, value)| {
                let base = name.strip_prefix("url.")?.strip_suffix(what)?;
                let rest = address.strip_prefix(&**value)?;
                Some((value.len(), format!("{base}{rest}")))
            });
            found.max_by_key(|(length, _)| *length)
        };
        let for_push = match self.is_push && !is_explicit {
            true => longest(".pushinsteadof"),
            false => None,
        };
        let found = for_push.or_else(|| longest(".insteadof"));
        found.map_or_else(|| address.to_string(), |(_, address)| address)
    }
}

/// A setting's name with its first and last part in small letters.
fn small(name: &str) -> String {
    match (name.find('.'), name.rfind('.')) {
        (Some(first), Some(last)) if first < last => format!(
            "{}{}{}",
            name[..first].to_ascii_lowercase(),
            &name[first..last],
            name[last..].to_ascii_lowercase()
        ),
        _ => name.to_ascii_lowercase(),
    }
}

/// Whether a setting has git connect by another program than ssh as it is.
fn is_another_way((name, value): &(String, String)) -> bool {
    match &**name {
        "core.gitproxy" => true,
        "core.sshcommand" => {
            let mut words = value.split_whitespace();
            let is_ssh = words
                .next()
                .is_some_and(|it| it == "ssh" || it.ends_with("/ssh"));
            let leads = |word: &str| {
                ["-o", "-J", "-F", "-W"]
                    .iter()
                    .any(|it| word.starts_with(it))
            };
            !is_ssh || words.any(leads)
        }
        name => name.starts_with("include"),
    }
}

/// Whether a command of another program writes, or may write, into files of git's settings.
fn writes_settings(command: &Command) -> bool {
    let is_one = |path: &str| {
        path.contains(".git/") || path.ends_with(".gitconfig") || path.contains("git/config")
    };
    command.paths().any(|path| is_one(&path))
        || command.written().iter().any(|word| is_one(&word.text))
}

/// The values of an option, behind it or attached.
fn values_of(words: &[String], options: &[&str]) -> Vec<String> {
    let mut values = Vec::new();
    for (at, word) in words.iter().enumerate() {
        for option in options {
            if word == option {
                values.extend(words.get(at + 1).cloned());
            } else if let Some(rest) = word.strip_prefix(option) {
                values.push(rest.trim_start_matches('=').to_string());
            }
        }
    }
    values
}

/// What `git config NAME VALUE` sets, in whichever file.
fn setting_of(act: &GitAct) -> Option<(String, String)> {
    if act.verb != "config" {
        return None;
    }
    let mut words = act.operands_but(&["-f", "--file", "--type", "--blob", "--comment"]);
    words.retain(|word| *word != "set");
    match words.as_slice() {
        [name, value, ..] => Some((small(name), (*value).to_string())),
        _ => None,
    }
}

/// The remote that `git remote add NAME URL` or `set-url` names.
fn remote_of(act: &GitAct) -> Option<(String, String)> {
    if act.verb != "remote" {
        return None;
    }
    match act
        .operands_but(&["-t", "--track", "-m", "--master"])
        .as_slice()
    {
        ["add" | "set-url", name, address, ..] => Some(((*name).into(), (*address).into())),
        _ => None,
    }
}

/// The settings of the user and of the machine.
fn general_settings() -> Result<Settings, &'static str> {
    let mut settings = Settings::default();
    settings.add("/etc/gitconfig".as_ref())?;
    if let Some(home) = paths::home() {
        settings.add(&home.join(".config/git/config"))?;
        settings.add(&home.join(".gitconfig"))?;
    }
    Ok(settings)
}
