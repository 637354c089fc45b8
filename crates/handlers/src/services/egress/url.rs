//! The part of the policy that needs no look-up: what a URL may say, and what the operator grants.

use super::addresses::{BLOCKED_PORTS, refusal};
use ::url::Url;
use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

const MAX_URL_BYTES: usize = 8 * 1024;
const MAX_HOST_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// What a hook may reach beyond the public internet. Only the operator grants.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// 127.0.0.0/8, ::1 and the `localhost` names, on every port that is not
    /// blocked for the public internet too.
    pub loopback: bool,
    /// Hosts as a URL names them, whatever they resolve to and whatever the port.
    pub hosts: Vec<HostPort>,
}

/// `host:port` in canonical form: `0x7f.1:9000` equals `127.0.0.1:9000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    host: String,
    port: u16,
}

/// Finishes the sentence "failed to …". Names hosts and reasons, never a path,
/// a query or the value of a header: they may hold secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EgressError {
    /// The text is not a URL that may be used at all.
    Url(String),
    /// A header that only the client may set.
    Header(String),
    /// Policy says no; nothing was sent there.
    Refused { host: String, reason: String },
    /// Permitted, but the exchange did not succeed.
    Failed { host: String, reason: String },
}

const NO_SCHEME: &str = "it begins with no scheme: write http:// or https:// before it";

/// Checks a URL without a look-up. A name that passes may still be refused for
/// the addresses behind it.
pub fn check_url(text: &str, grants: &Grants) -> Result<Url, EgressError> {
    check_text(text)?;
    if raw_authority(text).contains('@') {
        return Err(bad_url("it carries a user name or a password"));
    }
    let url = Url::parse(text).map_err(|error| match text {
        _ if !text.contains("://") => bad_url(NO_SCHEME),
        _ if text.contains(' ') => bad_url("it contains a blank"),
        _ => bad_url(&error.to_string()),
    })?;
    // `localhost:9000/x`, whose host looks like a scheme.
    if is_localhost(url.scheme()) && !text.contains("://") {
        return Err(bad_url(NO_SCHEME));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad_url("its scheme is not http or https"));
    }
    if url.as_str().len() > MAX_URL_BYTES {
        return Err(bad_url("it is longer than 8 KiB"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad_url("it carries a user name or a password"));
    }
    let host = host(&url);
    let literal = literal(host);
    if literal.is_none() && !is_dns_name(host) {
        return Err(bad_url("its host is not a DNS name"));
    }
    if grants.names(&url) {
        return Ok(url);
    }
    let port = port(&url);
    if BLOCKED_PORTS.binary_search(&port).is_ok() {
        let what = format!("port {port} belongs to another protocol or a data store");
        return Err(not_granted(&url, &what));
    }
    let address = literal.or_else(|| is_localhost(host).then_some(LOCALHOST[0]));
    match address.and_then(|it| refusal(it, grants.loopback)) {
        Some(kind) => Err(not_granted(&url, &format!("it is {kind}"))),
        None => Ok(url),
    }
}

impl EgressError {
    /// Whether it depends on grants and name servers, not on the text alone.
    pub(crate) fn is_about_address(&self) -> bool {
        match self {
            Self::Url(_) | Self::Header(_) | Self::Failed { .. } => false,
            Self::Refused { .. } => true,
        }
    }
}

impl Grants {
    pub(super) fn names(&self, url: &Url) -> bool {
        let (host, port) = (host(url), port(url));
        (self.hosts.iter()).any(|granted| granted.host == host && granted.port == port)
    }
}

impl FromStr for HostPort {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected host:port, such as 127.0.0.1:9000 or [::1]:9000";
        let (_, port) = text.rsplit_once(':').ok_or(EXPECTED)?;
        let port = port.parse().map_err(|_| EXPECTED)?;
        let whole = format!("http://{text}/");
        check_text(&whole).map_err(|_| EXPECTED)?;
        let url = Url::parse(&whole).map_err(|_| EXPECTED)?;
        let host = host(&url);
        let is_host = literal(host).is_some() || is_dns_name(host);
        // Anything but a bare authority ends up in another part of the URL.
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if port == 0 || !is_host || !bare || text.contains('@') {
            return Err(EXPECTED);
        }
        let host = host.to_owned();
        Ok(Self { host, port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl fmt::Display for EgressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(reason) => write!(f, "use the URL: {reason}"),
            Self::Header(name) => write!(f, "send the header {name}: the client sets it itself"),
            Self::Refused { host, reason } | Self::Failed { host, reason } => {
                write!(f, "reach {host}: {reason}")
            }
        }
    }
}

impl Error for EgressError {}

/// Before parsing, because a WHATWG parser silently drops what is refused here.
pub(super) fn check_text(text: &str) -> Result<(), EgressError> {
    if text.len() > MAX_URL_BYTES {
        Err(bad_url("it is longer than 8 KiB"))
    } else if text.chars().any(char::is_control) {
        Err(bad_url("it contains a control character"))
    } else if text.trim() != text {
        Err(bad_url("it is surrounded by white space"))
    } else if text.contains('\\') {
        Err(bad_url("it contains a backslash, which not all read alike"))
    } else {
        Ok(())
    }
}

/// A parser forgets an empty user name: `https://@host/`.
fn raw_authority(text: &str) -> &str {
    let rest = text.split_once(':').map_or("", |(_, rest)| rest);
    let rest = rest.trim_start_matches('/');
    &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())]
}

fn is_dns_name(host: &str) -> bool {
    host.len() <= MAX_HOST_BYTES
        && host.split('.').all(|label| {
            (1..=MAX_LABEL_BYTES).contains(&label.len())
                && (label.bytes()).all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'))
        })
}

/// As the parser left it: lower case, IDNA applied; without the root's dot.
pub(super) fn host(url: &Url) -> &str {
    without_dot(url.host_str().unwrap_or_default())
}

pub(super) fn port(url: &Url) -> u16 {
    url.port_or_known_default().unwrap_or_default()
}

pub(super) fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

pub(super) fn literal(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[') {
        Some(rest) => Some(IpAddr::V6(rest.strip_suffix(']')?.parse().ok()?)),
        None => Some(IpAddr::V4(host.parse().ok()?)),
    }
}

pub(super) const LOCALHOST: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
];

pub(super) fn is_localhost(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

fn bad_url(reason: &str) -> EgressError {
    EgressError::Url(reason.to_owned())
}

pub(super) fn refused(url: &Url, reason: String) -> EgressError {
    let host = host(url).to_owned();
    EgressError::Refused { host, reason }
}

pub(super) fn failed(url: &Url, reason: String) -> EgressError {
    let host = host(url).to_owned();
    EgressError::Failed { host, reason }
}

pub(super) fn not_granted(url: &Url, what: &str) -> EgressError {
    let (host, port) = (host(url), port(url));
    let reason = format!("{what}; allow it with --allow-host {host}:{port}");
    refused(url, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_their_errors() {
        let check = |url: &str, expected: &str| {
            let grants = Grants {
                loopback: false,
                hosts: vec![
                    "0x7f.1:9000".parse().unwrap(),
                    "es.corp.:9200".parse().unwrap(),
                ],
            };
            let said =
                check_url(url, &grants).map_or_else(|it| it.to_string(), |it| it.to_string());
            assert_eq!(said, expected);
        };
        let long = format!("https://h.example/{}", "a".repeat(8 * 1024));
        let label = format!("https://{}.example/", "a".repeat(64));
        let name = format!("https://{}example/", "a.".repeat(130));
        check(
            "http://0x7f.1:9001/hook?key=secret",
            "reach 127.0.0.1: it is a loopback address; allow it with --allow-host 127.0.0.1:9001",
        );
        check(
            "https://[fd00::1]/",
            "reach [fd00::1]: it is a private address; allow it with --allow-host [fd00::1]:443",
        );
        check(
            "http://db.example:6379",
            "reach db.example: port 6379 belongs to another protocol or a data store; \
             allow it with --allow-host db.example:6379",
        );
        check("http://0177.0.0.1:9000/", "http://127.0.0.1:9000/");
        check("http://ES.corp:9200/", "http://es.corp:9200/");
        check("https://h.example/a b?x", "https://h.example/a%20b?x");
        check("https://h.example/@x", "https://h.example/@x");
        let userinfo = "use the URL: it carries a user name or a password";
        check("https://@h.example/", userinfo);
        check("https:k@h.example", userinfo);
        check(
            "https://h.example\u{7f}/",
            "use the URL: it contains a control character",
        );
        check(
            "https://h.example/\u{a0}",
            "use the URL: it is surrounded by white space",
        );
        check(
            "https://h.example\\@127.0.0.1/",
            "use the URL: it contains a backslash, which not all read alike",
        );
        for not_dns in [&label, &name, "https://a..example/", "https://*.example/"] {
            check(not_dns, "use the URL: its host is not a DNS name");
        }
        check(&long, "use the URL: it is longer than 8 KiB");
        check(
            "file:///etc/passwd",
            "use the URL: its scheme is not http or https",
        );
    }

    #[test]
    fn host_ports() {
        let check = |text: &str, expected: Option<&str>| {
            let parsed = text.parse::<HostPort>().ok().map(|it| it.to_string());
            assert_eq!(parsed.as_deref(), expected, "{text}");
        };
        check("LOCALHOST.:80", Some("localhost:80"));
        check("[0:0::1]:9000", Some("[::1]:9000"));
        check("2130706433:1", Some("127.0.0.1:1"));
        check("bücher.example:443", Some("xn--bcher-kva.example:443"));
        for bad in [
            "",
            ":1",
            "a",
            "a:",
            "a:0",
            "a:65536",
            "a:b",
            "::1:9000",
            "a:1:2",
            "a/b:1",
            "a?:1",
            "a#:1",
            "a@b:1",
            "@b:1",
            "*:80",
            "a b:1",
            "\ta:1",
            "a:+1",
            "http://a:1",
        ] {
            check(bad, None);
        }
    }
}
