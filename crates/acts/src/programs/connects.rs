//! Which hosts a program connects to, as the table `connects.txt` says.

use super::super::names::base_name;
use super::super::word::{Openness, Word, tail};
use super::clause::OfColumn;
use super::parsed::Item;
use super::sheet::Sheet;
use std::sync::LazyLock;

words_of_table! {
    /// What a word says of where a program connects to.
    enum Place {
        None = "none",
        Url = "url",
        Request = "request",
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
        Setting = "setting",
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
    /// The remote that a repository of git has for it.
    Remote,
    /// Every remote that a repository of git has.
    Remotes,
    /// It isn't told, for this reason.
    Unclear(&'static str),
}

impl To {
    /// The host of what git takes for a repository; none if it is a path of this machine.
    pub fn of_repository(text: &str) -> Option<To> {
        file(text, true)
    }
}

const COMPUTED: &str = "the host that it connects to is computed";
const ELSEWHERE: &str = "what it connects to is written elsewhere";

/// Whether a command of git is none that git or the table knows, and may stand for anything.
pub(in super::super) fn may_be_alias_of_git(words: &[Word]) -> bool {
    let is_git = words
        .first()
        .is_some_and(|head| base_name(&head.text) == "git");
    let verb = || {
        super::git_verb(words)
            .0
            .and_then(|at| words[at].as_constant())
    };
    is_git
        && verb().is_some_and(|verb| {
            let runs = super::git_runs(verb);
            !["own", "named", "instead", "again"]
                .iter()
                .any(|it| runs.has(it))
        })
}

/// Whether the table has a program by this name.
pub(in super::super) fn connect(name: &str) -> bool {
    SHEET.has(name)
}

/// The programs that the table has.
pub(in super::super) fn connecting() -> impl Iterator<Item = &'static str> {
    SHEET.programs()
}

/// Where a command connects to, by its words; nothing if the table says nothing of it.
pub(in super::super) fn connects(words: &[Word]) -> Option<Vec<To>> {
    let (program, args) = words.split_first()?;
    let Some(program) = program.as_constant() else {
        // Whatever runs, it is told these.
        let urls = args.iter().filter(|word| word.beginning().contains("://"));
        let told = urls.filter_map(|word| {
            let (text, is_all) = told(word);
            url(&text, is_all)
        });
        return Some(told.collect());
    };
    // A package that a runner fetches.
    if program.contains("://") {
        return Some(url(program, true).into_iter().collect());
    }
    let name = base_name(program);
    let found = SHEET.find(name, args)?;
    let asks_itself = |item: &Item| matches!(&*item.word.text, "--help" | "--version");
    if found.given.options.iter().any(asks_itself) {
        return Some(Vec::new());
    }
    let (clause, mut all) = (found.clause, Vec::new());
    let mut is_requested = false;
    found.each(|kind, word| match kind {
        // The first word that isn't a method is the URL, and what follows are its items.
        Place::Request => {
            let is_method = word.is_constant() && word.text.chars().all(|c| c.is_ascii_uppercase());
            if !is_method && !std::mem::replace(&mut is_requested, true) {
                add(Place::Url, word, &mut all);
            }
        }
        kind => add(kind, word, &mut all),
    });
    // An option that isn't known may say where.
    let unknown = found.given.options.iter().filter(|item| !item.known);
    all.extend(unknown.filter_map(|item| {
        let (_, value) = item.word.text.split_once('=')?;
        value
            .contains("://")
            .then(|| url(value, item.word.is_constant()))?
    }));
    all.extend(clause.to.iter().map(|host| match host.strip_prefix("*.") {
        Some(host) => To::Below(host.to_string()),
        None => To::Host((*host).to_string()),
    }));
    all.extend(clause.to_remote.then_some(To::Remote));
    all.extend(clause.to_remotes.then_some(To::Remotes));
    all.extend(clause.to_unclear.then_some(To::Unclear(ELSEWHERE)));
    // Of several files of which one is another machine's, what is computed is this one's.
    let is_file = |kind: &Place| matches!(kind, Place::File);
    if clause.repeated.as_ref().is_some_and(is_file)
        && all.iter().any(|to| !matches!(to, To::Unclear(_)))
    {
        all.retain(|to| !matches!(to, To::Unclear(COMPUTED)));
    }
    Some(all)
}

/// Variables by which programs are sent elsewhere, in small letters; `*` is any text.
const VARIABLES: [(&str, Place); 30] = [
    ("*_proxy", Place::Url),
    ("aws_endpoint_url*", Place::Url),
    ("cargo_registries_*_index", Place::Url),
    ("curl_home", Place::Unclear),
    ("docker_context", Place::Unclear),
    ("docker_host", Place::Host),
    ("gh_host", Place::Host),
    ("git_config*", Place::Unclear),
    ("git_dir", Place::Unclear),
    ("git_proxy_command", Place::Unclear),
    ("git_ssh", Place::Unclear),
    ("git_ssh_command", Place::Unclear),
    ("gitlab_host", Place::Url),
    ("goproxy", Place::Hosts),
    ("home", Place::Unclear),
    ("kubeconfig", Place::Unclear),
    ("mysql_host", Place::Host),
    ("npm_config_*registry", Place::Url),
    ("npm_config_userconfig", Place::Unclear),
    ("pghost", Place::Host),
    ("pghostaddr", Place::Host),
    ("pgservice*", Place::Unclear),
    ("pip_config_file", Place::Unclear),
    ("pip_*index_url", Place::Url),
    ("pip_find_links", Place::Package),
    ("uv_*index*", Place::Url),
    ("rsync_rsh", Place::Unclear),
    ("wgetrc", Place::Unclear),
    ("xdg_config_home", Place::Unclear),
    ("yarn_*registry*", Place::Url),
];

/// Whether a variable says where programs connect to.
pub(in super::super) fn connects_by_variable(name: &str) -> bool {
    place_of(name).is_some()
}

fn place_of(name: &str) -> Option<Place> {
    let name = name.to_ascii_lowercase();
    let is_one = |pattern: &str| match pattern.split_once('*') {
        // Of two, the second stands at the end.
        Some((before, after)) => {
            name.strip_prefix(before)
                .is_some_and(|rest| match after.strip_suffix('*') {
                    Some(part) => rest.contains(part),
                    None => rest.ends_with(after),
                })
        }
        None => name == pattern,
    };
    let found = VARIABLES.iter().find(|(pattern, _)| is_one(pattern));
    found
        .map(|(_, place)| *place)
        .filter(|_| name != "no_proxy")
}

/// Where `NAME=value` before a command has it connect to.
pub(in super::super) fn connects_by_setting(word: &Word) -> Option<To> {
    let (name, value) = word.text.split_once('=')?;
    let place = place_of(name).filter(|_| !value.is_empty())?;
    let mut found = Vec::new();
    let value = tail(word, name.len() + 1);
    match place {
        // A path of a cache may be among them.
        Place::Hosts => {
            let lists = value.text.split([',', '|']);
            let hosts = lists.filter(|it| !matches!(*it, "direct" | "off"));
            found.extend(hosts.filter_map(|it| url(it, value.is_constant())));
        }
        place => add(place, &value, &mut found),
    }
    found.into_iter().next()
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
        Place::Request => {}
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
        Place::File => match file(text, is_all) {
            Some(to) => all.push(to),
            None if is_all => {}
            None => all.push(unclear),
        },
        Place::Repository => all.push(match file(text, is_all) {
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
                _ if text.contains("://") || text.contains('@') => all.extend(file(text, true)),
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
        Place::Address => all.extend(addresses(text, is_all)),
        Place::Conninfo => all.extend(conninfo(text, is_all)),
        Place::Ssh => {
            let (name, value) = setting(text);
            match &*name {
                "hostname" => all.extend(host(value, is_all)),
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
        Place::Setting => {
            let (name, value) = setting(text);
            let is_place = ["registr", "source", "index", "replace-with"]
                .iter()
                .any(|part| name.contains(part));
            match &*name {
                "" if is_all => {}
                "" => all.push(unclear),
                _ if name.contains("proxy") && matches!(value, "on" | "off" | "no" | "yes") => {}
                _ if name.contains("proxy") => all.extend(url(value, is_all)),
                "input" | "base" | "config" => all.push(To::Unclear(ELSEWHERE)),
                _ if is_place => all.push(To::Unclear(ELSEWHERE)),
                _ => {}
            }
        }
    }
}

/// `name=value`, as ssh and others read it: the name in small letters, both without quotes.
fn setting(text: &str) -> (String, &str) {
    let text = text.trim();
    let is_quote = |c: char| matches!(c, '"' | '\'');
    let end = text.find(|c: char| c == '=' || c.is_whitespace());
    let (name, value) = end.map_or((text, ""), |end| text.split_at(end));
    let is_between = |c: char| c == '=' || c.is_whitespace();
    let value = value.trim_start_matches(is_between).trim_matches(is_quote);
    (name.trim_matches(is_quote).to_ascii_lowercase(), value)
}

/// What PostgreSQL's programs are told of a database: a URL, words such as `host=h`, a name.
fn conninfo(text: &str, is_all: bool) -> Vec<To> {
    let mut found = Vec::new();
    if let Some((_, query)) = text.split_once('?').filter(|_| text.contains("://")) {
        let hosts = query.split('&').filter_map(|pair| {
            pair.strip_prefix("host=")
                .or(pair.strip_prefix("hostaddr="))
        });
        found.extend(
            hosts
                .flat_map(|host| host.split(','))
                .flat_map(|it| host(it, true)),
        );
    }
    if text.contains("://") {
        found.extend(url(text.split('?').next().unwrap_or(text), is_all));
        return found;
    }
    // `host = h`
    let joined = text.replace(" =", "=").replace("= ", "=");
    for word in joined.split_whitespace() {
        let named = word
            .strip_prefix("host=")
            .or(word.strip_prefix("hostaddr="));
        let hosts = named
            .into_iter()
            .flat_map(|hosts| hosts.trim_matches('\'').split(','));
        found.extend(hosts.flat_map(|it| host(it, is_all)));
    }
    if !is_all && (text.is_empty() || text.contains('=')) {
        found.push(To::Unclear(COMPUTED));
    }
    found
}

/// Whether a text is a path of this machine wherever a host could be named.
fn is_path(text: &str) -> bool {
    matches!(text, "." | ".." | "~") || text.starts_with(['/']) || {
        let mut begins = ["./", "../", "~/"].iter();
        begins.any(|it| text.starts_with(it))
    }
}

/// The part of a URL that is known with its host.
fn url(text: &str, is_all: bool) -> Option<To> {
    let is_local = text.starts_with("file:") || text.contains(":///");
    if is_local || is_all && (text.is_empty() || text == "-" || is_path(text)) {
        return None;
    }
    let authority = match text.find("://") {
        Some(at) => at + 3,
        // `http:/x` is read as `http://x` by some.
        None => text.find(":/").map_or(0, |at| at + 2),
    };
    let rest = &text[authority..];
    let end = rest.find(['/', '?', '#']).filter(|end| *end > 0);
    // Patterns of curl.
    let is_pattern = |authority: &str| authority.contains(['{', '}']);
    match end {
        _ if is_pattern(&rest[..end.unwrap_or(rest.len())]) => Some(To::Unclear(COMPUTED)),
        _ if is_all && text.starts_with(':') => Some(To::Url(format!("localhost{text}"))),
        _ if is_all && authority > 0 && !text.contains("://") => {
            Some(To::Url(format!("http://{rest}")))
        }
        _ if is_all => Some(To::Url(text.to_string())),
        Some(end) => Some(To::Url(text[..authority + end].to_string())),
        None => Some(To::Unclear(COMPUTED)),
    }
}

/// `user@host:port`, or the same with a scheme or a path.
fn host(text: &str, is_all: bool) -> Option<To> {
    if text.contains("://") {
        return url(text, is_all);
    }
    if is_path(text) || is_all && text.is_empty() {
        return None;
    }
    // What follows may have an `@`, behind which the host stands.
    if !is_all {
        return Some(To::Unclear(COMPUTED));
    }
    let text = text.rsplit_once('@').map_or(text, |(_, host)| host);
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (format!("[{address}]"), rest.strip_prefix(':')),
        None => match text.split_once(':') {
            // An address of IPv6 has several colons.
            Some((_, rest)) if rest.contains(':') && !rest.contains('/') => {
                (format!("[{text}]"), None)
            }
            Some((name, port)) => (name.to_string(), Some(port)),
            None => (text.to_string(), None),
        },
    };
    // Behind the colon a path may stand.
    let port = port.filter(|port| port.parse::<u16>().is_ok());
    Some(To::Host(match port {
        Some(port) => format!("{name}:{port}"),
        None => name,
    }))
}

/// A file of another machine: a URL, or `user@host:path`, where no slash stands before the colon.
/// What stands behind the colon needn't be known.
fn file(text: &str, is_all: bool) -> Option<To> {
    if text.contains("://") {
        return url(text, is_all);
    }
    // A helper of git's: `ext::command`.
    if text.contains("::") && !text.contains(['@', '[', '/']) && is_helper(text) {
        return Some(To::Unclear("a helper of git connects"));
    }
    let (name, _) = match text.split_once('[').zip(text.find(']')) {
        Some((_, end)) if text[end..].starts_with("]:") => (&text[..=end], ""),
        _ => text.split_once(':')?,
    };
    let is_name = !name.is_empty() && !name.contains('/') && !is_path(text);
    is_name.then(|| host(name, true))?
}

/// Whether a text names a helper of git, and not a module of rsync's.
fn is_helper(text: &str) -> bool {
    ["ext", "fd", "http", "https", "ftp", "transport"]
        .iter()
        .any(|name| text.split("::").next() == Some(name))
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
    // Who is given nothing that is known may be given a URL.
    if !is_all && text.is_empty() {
        return Some(To::Unclear(COMPUTED));
    }
    if text.contains('@') && text.contains(':') && !text.starts_with('@') && !text.contains("@npm:")
    {
        let address = text.trim_start_matches("git+");
        if let Some(to) = file(address, is_all) {
            return Some(to);
        }
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

/// Addresses of socat: `TCP:host:port`, `OPENSSL:host:port`, `PROXY:proxy:host:port`, two of them
/// with `!!` between.
fn addresses(text: &str, is_all: bool) -> Vec<To> {
    const CONNECTING: [&str; 7] = ["tcp", "udp", "sctp", "dccp", "ssl", "socks", "proxy"];
    const LISTENING: [&str; 5] = ["listen", "recv", "-l", "accept", "datagram"];
    let one = |text: &str| {
        let Some((kind, rest)) = text.split_once(':') else {
            return (!is_all && text.is_empty()).then_some(To::Unclear(COMPUTED));
        };
        let kind = kind.to_ascii_lowercase();
        let is_of = |parts: &[&str]| parts.iter().any(|part| kind.contains(part));
        if !is_of(&CONNECTING) || is_of(&LISTENING) {
            return None;
        }
        let rest = rest.split(',').next().unwrap_or_default();
        // The server stands before what it is to connect to.
        let rest = match is_of(&["socks", "proxy"]) {
            true => rest.split(':').next().unwrap_or_default(),
            false => rest,
        };
        host(rest, is_all)
    };
    text.split("!!").filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shell, read};

    /// What a text connects to: `?` is unclear, `~` a remote, `~~` all, `=x` what git takes for a repository.
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
                To::Remotes => "~~".to_string(),
                To::Unclear(_) => "?".to_string(),
            })
            .zip(connections)
            .map(|(shown, it)| match it.doubt {
                Some(_) => format!("({shown})"),
                None => shown,
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
