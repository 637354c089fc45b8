//! Which hosts a program connects to, as the table `connects.txt` says.

use super::super::names::base_name;
use super::super::word::{Openness, Word};
use super::clause::OfColumn;
use super::parsed::Item;
use super::sheet::Sheet;
use std::sync::LazyLock;

words_of_table! {
    /// What a word says of where a program connects to.
    enum Place {
        None = "none",
        Url = "url",
        PerhapsUrl = "perhaps-url",
        Host = "host",
        Name = "name",
        Hosts = "hosts",
        File = "file",
        Repository = "repository",
        Package = "package",
        Npm = "npm",
        Image = "image",
        Gh = "gh",
        ConnectTo = "connect-to",
        Resolve = "resolve",
        Address = "address",
        Conninfo = "conninfo",
        Ssh = "ssh",
        Wgetrc = "wgetrc",
        Unclear = "unclear",
    }
}

impl OfColumn for Place {
    const NOTHING: Place = Place::None;

    fn of_column(word: &str) -> Option<Place> {
        let place = Place::named(word);
        debug_assert!(place.is_some(), "{word}");
        place
    }
}

static SHEET: LazyLock<Sheet<Place>> = LazyLock::new(|| Sheet::new(include_str!("connects.txt")));

/// Where a command connects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// A URL, or a host with a path.
    Url(String),
    /// A host, which may have a port behind a colon.
    Host(String),
    /// Some host below this one.
    Below(String),
    /// What git takes for a repository: a URL, `host:path`, a path, the name of a remote.
    Repository(String),
    /// The remote that a repository of git has.
    Remote,
    /// It isn't told, for this reason.
    Unclear(&'static str),
}

impl To {
    /// The host of what git takes for a repository; none if it is a path of this machine.
    pub fn of_repository(text: &str) -> Option<To> {
        file(text)
    }
}

const COMPUTED: &str = "the host that it connects to is computed";
const ELSEWHERE: &str = "what it connects to is written elsewhere";

/// Whether the table has a program by this name.
pub(in super::super) fn connect(name: &str) -> bool {
    SHEET.has(name)
}

/// The programs that the table has.
pub(in super::super) fn connecting() -> impl Iterator<Item = &'static str> {
    SHEET.programs()
}

/// Where a command connects to, by its words.
pub(in super::super) fn connects(words: &[Word]) -> Vec<To> {
    let Some((program, args)) = words.split_first() else {
        return Vec::new();
    };
    let Some(program) = program.as_constant() else {
        // Whatever runs, it is told these.
        let urls = args.iter().filter(|word| word.beginning().contains("://"));
        return urls
            .filter_map(|word| {
                let (text, is_all) = told(word);
                url(&text, is_all)
            })
            .collect();
    };
    let name = base_name(program);
    let Some(found) = SHEET.find(name, args) else {
        return Vec::new();
    };
    let asks_itself = |item: &Item| matches!(&*item.word.text, "--help" | "--version");
    if found.given.options.iter().any(asks_itself) {
        return Vec::new();
    }
    let (clause, mut all) = (found.clause, Vec::new());
    found.each(|kind, word| add(kind, word, &mut all));
    all.extend(clause.to.iter().map(|host| match host.strip_prefix("*.") {
        Some(host) => To::Below(host.to_string()),
        None => To::Host((*host).to_string()),
    }));
    all.extend(clause.to_remote.then_some(To::Remote));
    all.extend(clause.to_unclear.then_some(To::Unclear(ELSEWHERE)));
    // Of several files of which one is another machine's, what is computed is this one's.
    let is_file = |kind: &Place| matches!(kind, Place::File);
    if clause.repeated.as_ref().is_some_and(is_file)
        && all.iter().any(|to| !matches!(to, To::Unclear(_)))
    {
        all.retain(|to| !matches!(to, To::Unclear(COMPUTED)));
    }
    all
}

/// A word as far as it is told, and whether that is all of it.
fn told(word: &Word) -> (String, bool) {
    match word.openness {
        Openness::Constant => (word.path().into_owned(), true),
        // A pattern that fits no file stays what it is.
        Openness::Files(_) => (word.text.to_string(), true),
        Openness::Operand(_) | Openness::Computed(..) => (word.beginning().to_string(), false),
    }
}

fn add(kind: Place, word: &Word, all: &mut Vec<To>) {
    let (text, is_all) = told(word);
    let text = text.trim();
    let unclear = To::Unclear(COMPUTED);
    match kind {
        Place::None => {}
        Place::Unclear if is_all && text.is_empty() => {}
        Place::Unclear => all.push(To::Unclear(ELSEWHERE)),
        Place::Url => all.extend(url(text, is_all)),
        Place::PerhapsUrl => {
            let is_method = text.chars().all(|c| c.is_ascii_uppercase());
            let is_item = !text.contains("://") && text.contains('=');
            if !is_method && !is_item {
                all.extend(url(text, is_all));
            } else if !is_all {
                all.push(unclear);
            }
        }
        Place::Host => all.extend(host(text, is_all)),
        Place::Name => {
            if !is_all || text.contains(['.', ':']) {
                all.extend(host(text, is_all));
            }
        }
        Place::Hosts if is_all => {
            all.extend(text.split(',').flat_map(|text| host(text, true)));
        }
        Place::Hosts => all.push(unclear),
        Place::File => match file(text) {
            Some(to) => all.push(to),
            None if is_all => {}
            None => all.push(unclear),
        },
        Place::Repository => all.push(match file(text) {
            // Settings of git may send it elsewhere.
            _ if is_all => To::Repository(text.to_string()),
            Some(to) => to,
            None => unclear,
        }),
        Place::Package | Place::Npm => all.extend(package(kind, text, is_all)),
        Place::Image => all.push(match image(text) {
            _ if !is_all && !text.contains('/') => unclear,
            Some(registry) => To::Host(registry.to_string()),
            None => To::Host("docker.io".to_string()),
        }),
        Place::Gh if is_all => {
            let parts: Vec<&str> = text.split('/').collect();
            match parts.as_slice() {
                _ if text.contains("://") || text.contains('@') => all.extend(file(text)),
                [host, _, _] => all.push(To::Host((*host).to_string())),
                _ => {}
            }
        }
        Place::Gh => all.push(unclear),
        // The address stands behind the first two parts, which are a host with its port.
        Place::ConnectTo | Place::Resolve if is_all => {
            let rest = text.splitn(3, ':').nth(2).unwrap_or_default();
            let addresses = rest.split(',').filter(|it| !it.is_empty() && *it != ":");
            all.extend(addresses.flat_map(|it| host(it.trim_end_matches(':'), true)));
        }
        Place::ConnectTo | Place::Resolve => all.push(unclear),
        Place::Address => all.extend(address(text, is_all)),
        Place::Conninfo => {
            let named = text.split_whitespace().find_map(|it| {
                it.strip_prefix("host=")
                    .or_else(|| it.strip_prefix("hostaddr="))
            });
            match named {
                _ if text.contains("://") => all.extend(url(text, is_all)),
                Some(name) => all.extend(host(name.trim_matches('\''), is_all)),
                // The name of a database.
                None if is_all || !text.is_empty() => {}
                None => all.push(unclear),
            }
        }
        Place::Ssh => {
            let (name, value) = text.split_once(['=', ' ']).unwrap_or((text, ""));
            match &*name.trim().to_ascii_lowercase() {
                "hostname" => all.extend(host(value.trim(), is_all)),
                "proxyjump" if is_all => {
                    all.extend(value.split(',').flat_map(|text| host(text.trim(), true)));
                }
                "proxyjump" | "proxycommand" | "include" => {
                    all.push(To::Unclear("a setting of ssh says where it connects to"));
                }
                "" if !is_all => all.push(unclear),
                _ => {}
            }
        }
        Place::Wgetrc => match text.split_once('=') {
            Some((name, value)) if name.to_ascii_lowercase().contains("proxy") => {
                if !matches!(value.trim(), "on" | "off" | "no" | "yes") {
                    all.extend(url(value.trim(), is_all));
                }
            }
            Some((name, _)) if matches!(name.trim(), "input" | "base" | "config") => {
                all.push(To::Unclear(ELSEWHERE));
            }
            Some(_) => {}
            None if is_all => {}
            None => all.push(unclear),
        },
    }
}

/// The part of a URL that is known with its host.
fn url(text: &str, is_all: bool) -> Option<To> {
    if is_all {
        let is_none = text.is_empty() || text == "-" || text.starts_with(['/', '.', '~']);
        return (!is_none).then(|| To::Url(text.to_string()));
    }
    let authority = text.find("://").map_or(0, |at| at + 3);
    match text[authority..].find(['/', '?', '#']) {
        Some(end) if end > 0 => Some(To::Url(text[..authority + end].to_string())),
        _ if text.starts_with("file://") => None,
        _ => Some(To::Unclear(COMPUTED)),
    }
}

/// `user@host:port`, or the same with a scheme or a path.
fn host(text: &str, is_all: bool) -> Option<To> {
    if text.contains("://") {
        return url(text, is_all);
    }
    let text = text.rsplit_once('@').map_or(text, |(_, host)| host);
    // A socket, or a file of this machine.
    if text.starts_with(['/', '.', '~']) || is_all && text.is_empty() {
        return None;
    }
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (format!("[{address}]"), rest.strip_prefix(':')),
        None => match text.split_once(':') {
            // An address of IPv6 has several colons.
            Some((_, rest)) if rest.contains(':') && !rest.contains('/') => {
                (format!("[{text}]"), None)
            }
            Some((name, port)) => (name.to_string(), Some(port)),
            None if !is_all => return Some(To::Unclear(COMPUTED)),
            None => (text.to_string(), None),
        },
    };
    // Behind the colon a path may stand.
    let port = port.filter(|port| is_all && port.parse::<u16>().is_ok());
    Some(To::Host(match port {
        Some(port) => format!("{name}:{port}"),
        None => name,
    }))
}

/// A file of another machine: a URL, or `user@host:path`, where no slash stands before the colon.
fn file(text: &str) -> Option<To> {
    if text.contains("://") {
        return url(text, !text.ends_with("://")).filter(|to| *to != To::Unclear(COMPUTED));
    }
    let (name, _) = match text.split_once('[').zip(text.find(']')) {
        Some((_, end)) if text[end..].starts_with("]:") => (&text[..=end], ""),
        _ => text.split_once(':')?,
    };
    let is_name = !name.is_empty() && !name.contains('/') && !text.starts_with(['/', '.', '~']);
    is_name.then(|| host(name, true))?
}

/// A package that is given by a URL, or by its name with one, or as GitHub's.
fn package(kind: Place, text: &str, is_all: bool) -> Option<To> {
    const HOSTING: [(&str, &str); 3] = [
        ("github:", "github.com"),
        ("gitlab:", "gitlab.com"),
        ("bitbucket:", "bitbucket.org"),
    ];
    if let Some(at) = text.find("://") {
        let scheme = text[..at].rfind(|c: char| !c.is_ascii_alphanumeric() && c != '+');
        let begin = scheme.map_or(0, |at| at + 1);
        let address = text[begin..].trim_start_matches("git+");
        return match address.starts_with("file:") {
            true => None,
            false => url(address, is_all),
        };
    }
    if kind == Place::Npm {
        let named = HOSTING.iter().find(|(prefix, _)| text.starts_with(prefix));
        let is_short = || {
            text.matches('/').count() == 1
                && !text.starts_with(['@', '.', '/', '~'])
                && !text.contains(':')
        };
        return match named {
            Some((_, host)) => Some(To::Host((*host).to_string())),
            None if is_short() => Some(To::Host("github.com".to_string())),
            None => None,
        };
    }
    None
}

/// The registry before the name of an image.
fn image(text: &str) -> Option<&str> {
    let (first, _) = text.split_once('/')?;
    (first.contains(['.', ':']) || first == "localhost").then_some(first)
}

/// An address of socat: `TCP:host:port`, `OPENSSL:host:port`, `PROXY:proxy:host:port`.
fn address(text: &str, is_all: bool) -> Option<To> {
    const CONNECTING: [&str; 14] = [
        "tcp",
        "tcp4",
        "tcp6",
        "tcp-connect",
        "tcp4-connect",
        "tcp6-connect",
        "udp",
        "udp4",
        "udp-connect",
        "openssl",
        "openssl-connect",
        "ssl",
        "proxy",
        "socks4",
    ];
    let Some((kind, rest)) = text.split_once(':') else {
        return (!is_all).then_some(To::Unclear(COMPUTED));
    };
    if !CONNECTING.contains(&&*kind.to_ascii_lowercase()) {
        return None;
    }
    let rest = rest.split(',').next().unwrap_or_default();
    host(rest, is_all || rest.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shell, read};

    /// What a text connects to: `?` is unclear, `~` a remote, `=x` what git takes for a repository.
    fn told(text: &str) -> String {
        let script = read(text, Shell::Bash);
        let connections = script.connections();
        let shown: Vec<String> = connections
            .iter()
            .map(|it| match &it.to {
                To::Url(url) => url.clone(),
                To::Host(host) => host.clone(),
                To::Below(host) => format!("*.{host}"),
                To::Repository(name) => format!("={name}"),
                To::Remote => "~".to_string(),
                To::Unclear(_) => "?".to_string(),
            })
            .collect();
        shown.join(" ")
    }

    #[test]
    fn where_programs_connect_to_is_known() {
        let lines = include_str!("connects-cases.txt").lines();
        let wrong = lines.filter_map(|line| {
            let (text, expected) = line.split_once('\t').unwrap_or((line, ""));
            let told = told(text);
            (told != expected).then(|| format!("{text}: {told}"))
        });
        assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn every_line_is_of_a_program_in_order() {
        let lines = include_str!("connects.txt").lines();
        let paths: Vec<&str> = lines
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_once('\t').unwrap().0)
            .collect();
        assert!(paths.is_sorted(), "{paths:#?}");
    }
}
