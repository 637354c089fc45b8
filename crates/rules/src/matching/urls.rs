//! URLs and patterns over them, part by part: `https://*.example.com/*` is about the host, wherever
//! else that text may stand in a URL.

use super::text_glob as glob;
use globset::GlobMatcher;
use url::Url;

/// A compiled `WebFetch(...)` pattern.
#[derive(Debug, Clone)]
pub enum UrlPattern {
    /// `scheme://host:port/path`, or `domain:host`.
    Parts {
        /// `None`: any.
        scheme: Option<GlobMatcher>,
        /// Lower case.
        host: GlobMatcher,
        /// What is said of the port.
        port: Port,
        /// `None`: the pattern ends with its host. With `*` at that end, any path.
        path: Option<GlobMatcher>,
    },
    /// A glob over the whole text, for a pattern that names no scheme.
    Text(GlobMatcher),
}

/// The port that a pattern names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// None. To deny, any; to allow, the scheme's default.
    Unsaid,
    /// `*`, or whatever a `domain:` is served on.
    Any,
    /// This one.
    Is(u16),
}

impl UrlPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(pattern: &str) -> Result<UrlPattern, String> {
        if let Some(host) = pattern.strip_prefix("domain:") {
            if let Some(host) = host_of_url(host) {
                return Err(format!(
                    "`domain:` stands before a host alone, as in `domain:{host}`"
                ));
            }
            let parts = (None, host_glob(host)?, Port::Any, Some(glob("*")?));
            return Ok(UrlPattern::Parts {
                scheme: parts.0,
                host: parts.1,
                port: parts.2,
                path: parts.3,
            });
        }
        let Some((scheme, rest)) = pattern.split_once("://") else {
            return Ok(UrlPattern::Text(glob(pattern)?));
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => (&rest[..at], Some(&rest[at..])),
            None => (rest, None),
        };
        if authority.contains('@') {
            return Err("a pattern names no user; leave out what stands before `@`".into());
        }
        // The colons of an IPv6 address stand in brackets.
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let default = match &*scheme.to_ascii_lowercase() {
            "https" => Some(443),
            "http" => Some(80),
            _ => None,
        };
        let port = match port {
            None => Port::Unsaid,
            Some("*") => Port::Any,
            Some(port) => match port.parse() {
                Ok(port) if Some(port) == default => Port::Unsaid,
                Ok(port) => Port::Is(port),
                Err(_) => return Err(format!("`{port}` is no port")),
            },
        };
        let path = match path {
            None if host.ends_with('*') => Some("*"),
            path => path,
        };
        let scheme = Some(glob(&scheme.to_ascii_lowercase())?);
        Ok(UrlPattern::Parts {
            scheme,
            host: host_glob(host)?,
            port,
            path: path.map(glob).transpose()?,
        })
    }

    /// The host, where it is written without wildcards.
    pub fn host(&self) -> Option<&str> {
        match self {
            UrlPattern::Parts { host, .. } => {
                let host = host.glob().glob();
                (!host.contains(['*', '?', '[', '{', '\\'])).then_some(host)
            }
            UrlPattern::Text(_) => None,
        }
    }

    /// Whether it is a glob over the whole text.
    pub fn is_text(&self) -> bool {
        matches!(self, UrlPattern::Text(_))
    }

    /// To deny, ask or run: the query may be left out, and a pattern that ends with its host is
    /// about all of it.
    pub fn hits(&self, url: &Url) -> bool {
        let mapped = match url.host() {
            Some(url::Host::Ipv6(address)) => address.to_ipv4_mapped(),
            _ => None,
        };
        // An IPv4 address in the form of IPv6 is the same host.
        let plain = mapped.and_then(|address| {
            let mut plain = url.clone();
            plain.set_ip_host(address.into()).ok().map(|()| plain)
        });
        self.hits_as_written(url) || plain.is_some_and(|plain| self.hits_as_written(&plain))
    }

    fn hits_as_written(&self, url: &Url) -> bool {
        self.parts_match(
            url,
            |port| port == Port::Unsaid || port == Port::Any,
            |path| {
                let fits = |path: &GlobMatcher| {
                    let plain = plain_path(url.path());
                    [
                        url.path(),
                        path_and_query(url),
                        &plain,
                        &with_query(&plain, url),
                    ]
                    .iter()
                    .any(|it| path.is_match(it))
                };
                path.is_none_or(fits)
            },
        )
    }

    /// To allow: every part must be named. A URL with a user or a password never is.
    pub fn covers(&self, url: &Url) -> bool {
        let is_plain = url.username().is_empty() && url.password().is_none();
        is_plain
            && self.parts_match(
                url,
                |port| port == Port::Any || port == Port::Unsaid && url.port().is_none(),
                |path| {
                    let whole = path_and_query(url);
                    // Who writes escapes in a pattern means them.
                    let fits = |path: &GlobMatcher| {
                        let is_escaped = || path.glob().glob().contains('%');
                        path.is_match(whole)
                            && (is_escaped()
                                || path.is_match(with_query(&plain_path(url.path()), url)))
                    };
                    path.map_or(whole == "/", fits)
                },
            )
    }

    fn parts_match(
        &self,
        url: &Url,
        takes: impl Fn(Port) -> bool,
        fits: impl Fn(Option<&GlobMatcher>) -> bool,
    ) -> bool {
        match self {
            UrlPattern::Text(text) => text.is_match(url.as_str()),
            UrlPattern::Parts {
                scheme,
                host,
                port,
                path,
            } => {
                let of_url = url.host_str().unwrap_or_default();
                scheme
                    .as_ref()
                    .is_none_or(|scheme| scheme.is_match(url.scheme()))
                    && host.is_match(of_url.strip_suffix('.').unwrap_or(of_url))
                    && (takes(*port)
                        || matches!(port, Port::Is(port) if url.port_or_known_default() == Some(*port)))
                    && fits(path.as_ref())
            }
        }
    }
}

/// The URLs of an argument: the argument itself, those that stand in its text, or both where it can
/// be read both ways. `None`: there is none, or programs read it differently.
pub fn urls(text: &str) -> Option<Vec<Url>> {
    let whole = Url::parse(text).ok().filter(|url| is_readable(text, url));
    if whole.is_some() && !text.trim().contains(char::is_whitespace) {
        return whole.map(|url| vec![url]);
    }
    let is_edge = |c: char| "<>()[]{}\"'`,;".contains(c);
    let words = text
        .split(|c: char| c.is_whitespace() || is_edge(c))
        .filter(|word| word.contains("://"));
    let parse = |word: &str| Url::parse(word).ok().filter(|url| is_readable(word, url));
    let mut urls = words.map(parse).collect::<Option<Vec<_>>>()?;
    // What fetches the argument as one URL drops tabs and line breaks within.
    urls.extend(whole);
    (!urls.is_empty()).then_some(urls)
}

/// Whether all programs agree on the host. They don't on a `\\` or several `@` before the path, nor
/// on what a scheme without a host is about: `localhost:8080`, `view-source:https://a.b`.
pub(super) fn is_readable(text: &str, url: &Url) -> bool {
    const WITHOUT_HOST: [&str; 5] = ["file", "data", "about", "javascript", "mailto"];
    if !url.has_host() {
        return WITHOUT_HOST.contains(&url.scheme());
    }
    let rest = text
        .split_once(':')
        .map_or(text, |(_, rest)| rest)
        .trim_start_matches('/');
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    !authority.contains('\\') && authority.matches('@').count() < 2
}

/// What a server may take a path for: without escapes of plain characters, however often they are
/// escaped, without empty names, `.` and `..`.
fn plain_path(path: &str) -> String {
    const MAX_ESCAPES: usize = 3;
    let mut plain = path.to_string();
    for _ in 0..MAX_ESCAPES {
        if !plain.contains('%') {
            break;
        }
        plain = unescaped(&plain);
    }
    let mut names: Vec<&str> = Vec::new();
    let parts = || plain.split(['/', '\\']);
    for name in parts() {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    let end = if !names.is_empty() && matches!(parts().next_back(), Some("" | "." | "..")) {
        "/"
    } else {
        ""
    };
    format!("/{}{end}", names.join("/"))
}

/// A path without the escapes of characters that need none, and of `/`, `\` and `%`.
fn unescaped(path: &str) -> String {
    let plain = |digits: &str| {
        let byte = u8::from_str_radix(digits, 16).ok()?;
        (byte.is_ascii_alphanumeric() || b"-._~/\\%".contains(&byte)).then_some(char::from(byte))
    };
    let mut parts = path.split('%');
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        match part.get(..2).and_then(plain) {
            Some(c) => {
                text.push(c);
                text.push_str(&part[2..]);
            }
            None => {
                text.push('%');
                text.push_str(part);
            }
        }
    }
    text
}

fn with_query(path: &str, url: &Url) -> String {
    format!(
        "{path}{}",
        &url[url::Position::AfterPath..url::Position::AfterQuery]
    )
}

fn path_and_query(url: &Url) -> &str {
    &url[url::Position::BeforePath..url::Position::AfterQuery]
}

/// The host of what stands behind `domain:`, if that isn't a host alone: `https://example.com/x`.
pub fn host_of_url(text: &str) -> Option<&str> {
    let (is_url, rest) = text
        .split_once("://")
        .map_or((false, text), |(_, rest)| (true, rest));
    let (host, has_path) = rest
        .split_once('/')
        .map_or((rest, false), |(host, _)| (host, true));
    ((is_url || has_path) && !host.is_empty()).then_some(host)
}

/// A name with `*`, in the form that a parsed URL has it in.
fn host_glob(host: &str) -> Result<GlobMatcher, String> {
    if host.is_empty() {
        return Err("the pattern names no host; `*` is any".into());
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    if !host.contains(['*', '?', '{']) {
        let parsed =
            url::Host::parse(host).map_err(|error| format!("`{host}` is no host: {error}"))?;
        return glob(&globset::escape(&parsed.to_string()));
    }
    glob(&host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
