//! Hosts, and the one grammar of patterns over them: `example.com`, `*.example.com`, `host:22`,
//! `10.0.0.0/8`, `[::1]:80`, `*`. Names are compared in small letters and in the form of IDNA;
//! nothing is looked up, so that a name and its address are two hosts, but for `localhost`.

use super::urls;
use std::fmt;
use std::net::IpAddr;
use url::{Host, Url};

/// A compiled pattern of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    host: Named,
    /// `None`: any.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Any,
    Name(String),
    /// Every host below this one, and not that one itself.
    Below(String),
    /// The addresses that begin with so many bits of this one.
    Addresses(IpAddr, u8),
}

/// A host that something connects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    At(Host<String>, Option<u16>),
    /// Some host below this one.
    Below(String),
    /// It isn't told, for this reason.
    Unclear(&'static str),
}

/// What a pattern has to do with a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fits {
    No,
    Perhaps,
    Yes,
}

const UNREADABLE: &str = "the host can't be read";

impl HostPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(pattern: &str) -> Result<HostPattern, String> {
        let pattern = pattern.trim();
        if pattern.contains(',') {
            return Err(
                "one rule names one host; several are a list: `[Connect(a), Connect(b)]`".into(),
            );
        }
        if let Some((_, rest)) = pattern.split_once("://") {
            let host = rest.split('/').next().unwrap_or_default();
            return Err(format!(
                "a host stands without a scheme or a path, as in `Connect({host})`"
            ));
        }
        if let Some(addresses) = of_addresses(pattern) {
            return addresses.map(|host| HostPattern { host, port: None });
        }
        if pattern.contains(['/', '@']) {
            return Err("a host stands without a user or a path".into());
        }
        let is_address = pattern.parse::<IpAddr>().is_ok();
        let (name, port) = match pattern.rsplit_once(':') {
            Some((name, port)) if !is_address && !port.contains(']') => (name, Some(port)),
            _ => (pattern, None),
        };
        let port = match port {
            None | Some("*") => None,
            Some(port) => Some(
                port.parse()
                    .map_err(|_| format!("`{port}` is no port of `{pattern}`"))?,
            ),
        };
        let host = match name.strip_prefix("*.") {
            _ if name == "*" => Named::Any,
            Some(below) => match host(below)? {
                Host::Domain(name) => Named::Below(name),
                _ => return Err("`*.` stands before a name, not before an address".into()),
            },
            None if name.contains('*') => {
                return Err("`*` stands for every host, or as `*.` for all below a name".into());
            }
            None => match host(name)? {
                Host::Domain(name) => Named::Name(name),
                Host::Ipv4(address) => Named::Addresses(address.into(), 32),
                Host::Ipv6(address) => whole(address.to_canonical()),
            },
        };
        Ok(HostPattern { host, port })
    }

    /// For what stops: whether it is about a host.
    pub(super) fn hits(&self, peer: &Peer) -> Fits {
        let is_any = self.host == Named::Any && self.port.is_none();
        match peer {
            Peer::Unclear(_) if is_any => Fits::Yes,
            Peer::Unclear(_) => Fits::Perhaps,
            Peer::At(host, port) => {
                let is_port = port.is_none() || self.port.is_none() || *port == self.port;
                match is_port && self.host.has(host) {
                    true => Fits::Yes,
                    false => Fits::No,
                }
            }
            Peer::Below(name) => match &self.host {
                Named::Any => Fits::Yes,
                Named::Below(own) if is_at_or_below(name, own) => Fits::Yes,
                Named::Below(own) | Named::Name(own) if is_below(own, name) => Fits::Perhaps,
                Named::Below(_) | Named::Name(_) | Named::Addresses(..) => Fits::No,
            },
        }
    }

    /// For what allows: whether it names all that the host may be.
    pub(super) fn covers(&self, peer: &Peer) -> bool {
        match peer {
            Peer::Unclear(_) => self.host == Named::Any && self.port.is_none(),
            Peer::At(host, port) => {
                (self.port.is_none() || *port == self.port) && self.host.has(host)
            }
            Peer::Below(name) => {
                self.port.is_none()
                    && match &self.host {
                        Named::Any => true,
                        Named::Below(own) => is_at_or_below(name, own),
                        Named::Name(_) | Named::Addresses(..) => false,
                    }
            }
        }
    }
}

impl Named {
    fn has(&self, host: &Host<String>) -> bool {
        let address: Option<IpAddr> = match host {
            Host::Ipv4(address) => Some((*address).into()),
            Host::Ipv6(address) => Some(address.to_canonical()),
            Host::Domain(_) => None,
        };
        match (self, host, address) {
            (Named::Any, ..) => true,
            (Named::Name(own), Host::Domain(name), _) => {
                own == name || own == LOCALHOST && is_below(name, LOCALHOST)
            }
            (Named::Name(own), _, Some(address)) => own == LOCALHOST && is_this_machine(address),
            (Named::Below(own), Host::Domain(name), _) => is_below(name, own),
            (Named::Addresses(own, bits), _, Some(address)) => has_address(*own, *bits, address),
            (Named::Addresses(own, bits), Host::Domain(name), _) => {
                let loopback: [IpAddr; 2] =
                    [[127, 0, 0, 1].into(), [0, 0, 0, 0, 0, 0, 0, 1].into()];
                name == LOCALHOST && loopback.iter().any(|it| has_address(*own, *bits, *it))
            }
            (Named::Name(_) | Named::Below(_) | Named::Addresses(..), ..) => false,
        }
    }
}

const LOCALHOST: &str = "localhost";

fn is_this_machine(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified()
}

fn is_below(name: &str, of: &str) -> bool {
    name.strip_suffix(of)
        .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

fn is_at_or_below(name: &str, of: &str) -> bool {
    name == of || is_below(name, of)
}

fn host(text: &str) -> Result<Host<String>, String> {
    let bare = text.strip_suffix('.').unwrap_or(text);
    if bare.is_empty() {
        return Err("the pattern names no host; `*` is any".into());
    }
    let bare = match bare.contains(':') && !bare.starts_with('[') {
        true => format!("[{bare}]"),
        false => bare.to_string(),
    };
    let host = Host::parse(&bare).map_err(|error| format!("`{text}` is no host: {error}"))?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match &host {
        Host::Domain(name) if !name.chars().all(is_plain) => Err(format!(
            "`{text}` is no host: it has other signs than a name has"
        )),
        _ => Ok(host),
    }
}

fn whole(address: IpAddr) -> Named {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    Named::Addresses(address, bits)
}

/// `10.0.0.0/8`
fn of_addresses(pattern: &str) -> Option<Result<Named, String>> {
    let (address, bits) = pattern.split_once('/')?;
    let address: IpAddr = address.trim_matches(['[', ']']).parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    Some(match bits.parse() {
        Ok(bits) if bits <= most => Ok(Named::Addresses(address, bits)),
        _ => Err(format!("`{bits}` is no number of bits from 0 to {most}")),
    })
}

fn has_address(own: IpAddr, bits: u8, address: IpAddr) -> bool {
    let (own, address, all): (u128, u128, u32) = match (own, address) {
        (IpAddr::V4(own), IpAddr::V4(address)) => {
            (u32::from(own).into(), u32::from(address).into(), u32::BITS)
        }
        (IpAddr::V6(own), IpAddr::V6(address)) => (own.into(), address.into(), u128::BITS),
        _ => return false,
    };
    let shift = all - u32::from(bits).min(all);
    own.checked_shr(shift) == address.checked_shr(shift)
}

impl Peer {
    /// The host of a URL, or of a text that is one without its scheme: `example.com/x`.
    pub(super) fn of_url(text: &str) -> Peer {
        let text = text.trim();
        let has_scheme = text.contains("://");
        let whole = match has_scheme {
            true => text.to_string(),
            false => format!("http://{text}"),
        };
        match Url::parse(&whole) {
            Ok(url) => Peer::of_parsed(&url, &whole, has_scheme),
            Err(_) => Peer::Unclear(UNREADABLE),
        }
    }

    fn of_parsed(url: &Url, text: &str, has_scheme: bool) -> Peer {
        if !urls::is_readable(text, url) {
            return Peer::Unclear(UNREADABLE);
        }
        let Some(name) = url.host_str() else {
            return Peer::Unclear(UNREADABLE);
        };
        let port = match has_scheme {
            true => url.port_or_known_default(),
            false => url.port(),
        };
        match host(name) {
            Ok(host) => Peer::At(host, port),
            Err(_) => Peer::Unclear(UNREADABLE),
        }
    }

    /// A pattern that names it, if it is told.
    pub(super) fn pattern(&self) -> Option<String> {
        match self {
            Peer::At(host, _) => Some(host.to_string()),
            Peer::Below(name) => Some(format!("*.{name}")),
            Peer::Unclear(_) => None,
        }
    }

    /// A host, behind which a port may stand.
    pub(super) fn of_host(text: &str) -> Peer {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                (name, port.parse().ok())
            }
            _ => (text, None),
        };
        match host(name) {
            Ok(host) => Peer::At(host, port),
            Err(_) => Peer::Unclear(UNREADABLE),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::At(host, None) => write!(f, "{host}"),
            Peer::At(host, Some(port)) => write!(f, "{host}:{port}"),
            Peer::Below(name) => write!(f, "a host below {name}"),
            Peer::Unclear(_) => f.write_str("some host"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_hosts() {
        for (pattern, hits, misses) in [
            ("*", "a.example 10.0.0.1 [::1]:80", ""),
            (
                "a.example",
                "a.example A.EXAMPLE. https://a.example/x http://u@a.example:8080 a.example:22",
                "b.a.example aa.example a.example.evil 10.0.0.1 https://evil/a.example",
            ),
            (
                "*.a.example",
                "b.a.example c.b.a.example",
                "a.example xa.example",
            ),
            (
                "a.example:22",
                "a.example a.example:22 ssh://a.example:22",
                "a.example:80 https://a.example",
            ),
            ("a.example:443", "https://a.example", "http://a.example"),
            (
                "b\u{fc}cher.example",
                "xn--bcher-kva.example B\u{dc}CHER.example",
                "bucher.example",
            ),
            (
                "10.0.0.0/8",
                "10.1.2.3 http://167772161/ [::ffff:10.0.0.1]",
                "11.0.0.1 a.example",
            ),
            ("0.0.0.0/0", "1.2.3.4", "a.example [::1]"),
            ("fd00::/8", "[fd00::1]:80", "[fe80::1] 10.0.0.1"),
            ("::1", "[::1] localhost", "[::2]"),
            ("[::1]:80", "[::1]:80", "[::1]:81"),
            (
                "127.0.0.1",
                "localhost http://localhost:3000 2130706433 0x7f.1",
                "localhost.evil",
            ),
            (
                "localhost",
                "127.0.0.1 [::1] 0.0.0.0 localhost:8080 127.1.2.3",
                "a.example",
            ),
        ] {
            let compiled = HostPattern::new(pattern).unwrap();
            let read = |text: &str| match text.contains("://") {
                true => Peer::of_url(text),
                false => Peer::of_host(text),
            };
            for text in hits.split_whitespace() {
                assert_eq!(compiled.hits(&read(text)), Fits::Yes, "{pattern}: {text}");
            }
            for text in misses.split_whitespace() {
                assert_eq!(compiled.hits(&read(text)), Fits::No, "{pattern}: {text}");
                assert!(!compiled.covers(&read(text)), "{pattern}: {text}");
            }
        }
    }

    #[test]
    fn what_is_open_is_covered_by_what_names_all_of_it() {
        let below = Peer::Below("a.example".into());
        let unclear = Peer::of_url("https://a\\b@c/");
        assert!(matches!(unclear, Peer::Unclear(_)));
        for (pattern, of_below, of_unclear) in [
            ("*", (Fits::Yes, true), (Fits::Yes, true)),
            ("*.a.example", (Fits::Yes, true), (Fits::Perhaps, false)),
            ("*.example", (Fits::Yes, true), (Fits::Perhaps, false)),
            (
                "x.a.example",
                (Fits::Perhaps, false),
                (Fits::Perhaps, false),
            ),
            (
                "*.x.a.example",
                (Fits::Perhaps, false),
                (Fits::Perhaps, false),
            ),
            ("a.example", (Fits::No, false), (Fits::Perhaps, false)),
            ("*:22", (Fits::Yes, false), (Fits::Perhaps, false)),
        ] {
            let compiled = HostPattern::new(pattern).unwrap();
            let found = |peer| (compiled.hits(peer), compiled.covers(peer));
            assert_eq!(found(&below), of_below, "{pattern}");
            assert_eq!(found(&unclear), of_unclear, "{pattern}");
        }
        // The port that a connection has by its program isn't told.
        let with_port = HostPattern::new("a.example:22").unwrap();
        assert!(!with_port.covers(&Peer::of_host("a.example")));
    }

    #[test]
    fn what_is_wrong_with_a_pattern_is_told() {
        for (pattern, why) in [
            (
                "https://a.example/x",
                "without a scheme or a path, as in `Connect(a.example)`",
            ),
            ("a.example/x", "without a user or a path"),
            ("u@a.example", "without a user"),
            ("a*.example", "`*` stands for every host"),
            ("a.example:x", "`x` is no port"),
            ("10.0.0.0/40", "`40` is no number of bits from 0 to 32"),
            ("*.10.0.0.1", "not before an address"),
            ("", "names no host"),
            ("a.example, b.example", "several are a list"),
            ("{a,b}.example", "several are a list"),
            ("*.*.example", "has other signs"),
            ("a{b}.example", "has other signs"),
            ("a b", "is no host"),
        ] {
            let told = HostPattern::new(pattern).unwrap_err();
            assert!(told.contains(why), "{pattern}: {told}");
        }
    }
}
