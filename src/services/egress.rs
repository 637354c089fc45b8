//! The guarded HTTP client: every POST that a hook sends leaves through here.
//!
//! A hook's URL may come from a project nobody trusts, so a request goes to the
//! public internet and to what the operator granted, nowhere else. The text of
//! the URL is checked once; a host name is looked up once, at connection time,
//! and the connection uses exactly the addresses that were checked. Redirects
//! are walked here, hop by hop, never by the client below.
//!
//! Left to others: the deadline (callers wrap the future), bodies, the meaning
//! of a status, and who may grant what.

use std::{
    error::Error,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use reqwest::{
    Client, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{self, HeaderMap, HeaderName},
};

const MAX_URL_BYTES: usize = 8 * 1024;
const MAX_HOST_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// What a hook may reach beyond the public internet. Only the operator grants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grants {
    /// 127.0.0.0/8, ::1 and the `localhost` names, on every port that is not
    /// blocked for the public internet too.
    pub(crate) loopback: bool,
    /// Hosts as a URL names them, whatever they resolve to and whatever the port.
    pub(crate) hosts: Vec<HostPort>,
}

/// `host:port` in canonical form: `0x7f.1:9000` equals `127.0.0.1:9000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    host: String,
    port: u16,
}

/// What came back, of whatever status but 3xx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Finishes the sentence "failed to …". Names hosts and reasons, never a path,
/// a query or the value of a header: they may hold secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EgressError {
    /// The text is not a URL that may be used at all.
    Url(String),
    /// A header that only the client may set.
    Header(HeaderName),
    /// Policy says no; nothing was sent there.
    Refused { host: String, reason: String },
    /// Permitted, but the exchange did not succeed.
    Failed { host: String, reason: String },
}

/// Cheap to clone; clones share their connections.
#[derive(Clone)]
pub(crate) struct Egress {
    shared: Arc<Shared>,
    max_redirects: usize,
}

struct Shared {
    grants: Grants,
    lookup: Arc<dyn Resolve>,
    clients: [OnceLock<Client>; 4],
}

impl Egress {
    /// Redirects are errors.
    pub(crate) fn new(grants: Grants) -> Self {
        Self::with_lookup(grants, Arc::new(SystemLookup))
    }

    /// Follows at most so many redirects. A hop is checked like the first URL,
    /// stays a POST, never leaves https for http, and takes the caller's
    /// headers along only within the origin.
    #[cfg_attr(not(test), expect(dead_code, reason = "hooks refuse redirects; model services may need them"))]
    pub(crate) fn following(self, max_redirects: usize) -> Self {
        Self { max_redirects, ..self }
    }

    fn with_lookup(grants: Grants, lookup: Arc<dyn Resolve>) -> Self {
        let clients = Default::default();
        let shared = Arc::new(Shared { grants, lookup, clients });
        Self { shared, max_redirects: 0 }
    }

    /// A response of any status but 3xx is an `Ok`; one whose body is longer
    /// than `max_response` bytes is an error. Waits as long as the peer does.
    pub(crate) async fn post(
        &self,
        url: &str,
        mut headers: HeaderMap,
        body: Bytes,
        max_response: usize,
    ) -> Result<Response, EgressError> {
        if let Some(name) = headers.keys().find(|it| is_reserved(it)) {
            return Err(EgressError::Header(name.clone()));
        }
        let mut url = check_url(url, &self.shared.grants)?;
        let mut hops_left = self.max_redirects;
        loop {
            let response = self
                .client(&url)?
                .post(url.clone())
                .headers(headers.clone())
                .body(body.clone())
                .send()
                .await
                .map_err(|error| explain(&url, error))?;
            if !response.status().is_redirection() {
                return read(&url, response, max_response).await;
            }
            let next = next_hop(&url, &response, hops_left, &self.shared.grants)?;
            hops_left -= 1;
            if next.origin() != url.origin() {
                headers = headers_for_strangers(&headers);
            }
            url = next;
        }
    }

    /// A client for one URL, for protocols that are more than a POST: it takes no redirect and no
    /// proxy, and connects to permitted addresses only. It must be used for this URL alone.
    #[cfg(feature = "mcp")]
    pub(crate) fn client_for(&self, url: &str) -> Result<Client, EgressError> {
        self.client(&check_url(url, &self.shared.grants)?)
    }

    /// One client per kind of destination, because a resolver sees the name but
    /// not the port: only a granted `host:port` is sent to a client that takes
    /// any address. Plain http gets one of its own so that a machine without
    /// root certificates can still talk to its own services.
    fn client(&self, url: &Url) -> Result<Client, EgressError> {
        let granted = self.shared.grants.names(url);
        let tls = url.scheme() == "https";
        let cell = &self.shared.clients[usize::from(granted) * 2 + usize::from(tls)];
        if let Some(client) = cell.get() {
            return Ok(client.clone());
        }
        let guard = self.guard(granted);
        let built = build_client(guard, tls).map_err(|error| explain(url, error))?;
        Ok(cell.get_or_init(|| built).clone())
    }

    fn guard(&self, granted: bool) -> Guard {
        Guard { lookup: self.shared.lookup.clone(), loopback: self.shared.grants.loopback, granted }
    }
}

/// The part of the policy that needs no look-up. A name that passes may still
/// be refused for the addresses behind it.
pub(crate) fn check_url(text: &str, grants: &Grants) -> Result<Url, EgressError> {
    check_text(text)?;
    if raw_authority(text).contains('@') {
        return Err(bad_url("it carries a user name or a password"));
    }
    let url = Url::parse(text).map_err(|error| bad_url(&error.to_string()))?;
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

/// Headers that frame the message or choose another host behind the address:
/// the client sets them, `post` refuses them.
pub(crate) fn is_reserved(name: &HeaderName) -> bool {
    const RESERVED: [HeaderName; 8] = [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::EXPECT,
        header::HOST,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ];
    RESERVED.contains(name)
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
    fn names(&self, url: &Url) -> bool {
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

/// Looks a name up once and passes the answer on only if every address in it
/// is permitted. The client connects to what it gets from here, so nothing is
/// resolved a second time. It is not asked about IP literals.
struct Guard {
    lookup: Arc<dyn Resolve>,
    loopback: bool,
    granted: bool,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let (loopback, granted) = (self.loopback, self.granted);
        // RFC 6761: these names are loopback, whatever a name server says.
        let found = if is_localhost(without_dot(name.as_str())) {
            Box::pin(async { Ok(Box::new(LOCALHOST.map(at_any_port).into_iter()) as Addrs) })
        } else {
            self.lookup.resolve(name)
        };
        Box::pin(async move {
            let addresses: Vec<SocketAddr> = found.await?.collect();
            if addresses.is_empty() {
                return Err("it has no address".into());
            }
            for address in addresses.iter().filter(|_| !granted) {
                if let Some(kind) = refusal(address.ip(), loopback) {
                    return Err(Box::new(RefusedAddress(address.ip(), kind)) as _);
                }
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

struct SystemLookup;

impl Resolve for SystemLookup {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(found.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

/// How a guard's refusal travels through the layers of the client.
#[derive(Debug)]
struct RefusedAddress(IpAddr, &'static str);

impl fmt::Display for RefusedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it resolves to {}, {}", self.0, self.1)
    }
}

impl Error for RefusedAddress {}

fn build_client(guard: Guard, tls: bool) -> reqwest::Result<Client> {
    // An error means that the process already has a provider, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("hookwire/", env!("CARGO_PKG_VERSION")))
        // A proxy would resolve names for us, after our check.
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .dns_resolver(guard)
        // Below the five seconds after which common servers close an idle
        // connection: a POST that meets the close can't safely be repeated.
        .pool_idle_timeout(Duration::from_secs(4));
    let builder = if tls { builder } else { builder.tls_certs_only([]) };
    builder.build()
}

async fn read(url: &Url, mut response: reqwest::Response, max_response: usize) -> Result<Response, EgressError> {
    let too_large = || failed(url, format!("its response exceeds {max_response} bytes"));
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    if (response.content_length()).is_some_and(|announced| announced > max_response as u64) {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|it| explain(url, it))? {
        if chunk.len() > max_response - body.len() {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    let body = body.into();
    Ok(Response { status, headers, body })
}

fn next_hop(from: &Url, response: &reqwest::Response, hops_left: usize, grants: &Grants) -> Result<Url, EgressError> {
    let status = response.status().as_u16();
    let Some(location) = response.headers().get(header::LOCATION) else {
        return Err(failed(from, format!("it answered {status}")));
    };
    let next = std::str::from_utf8(location.as_bytes())
        .map_err(|_| bad_url("it is not UTF-8"))
        .and_then(|text| resolve_location(from, text));
    // 303 asks for a GET, which would be another request than the hook's.
    if hops_left == 0 || !matches!(status, 301 | 302 | 307 | 308) {
        let target = next.as_ref().map_or("an unreadable URL", host);
        let reason = format!("it redirects to {target} ({status}), which is not followed");
        return Err(refused(from, reason));
    }
    next.and_then(|next| check_hop(from, &next, grants))
        .map_err(|error| refused(from, format!("it redirects, and the hop failed to {error}")))
}

fn resolve_location(from: &Url, text: &str) -> Result<Url, EgressError> {
    check_text(text)?;
    from.join(text).map_err(|error| bad_url(&error.to_string()))
}

fn check_hop(from: &Url, next: &Url, grants: &Grants) -> Result<Url, EgressError> {
    let next = check_url(next.as_str(), grants)?;
    if from.scheme() == "https" && next.scheme() != "https" {
        return Err(refused(&next, "it would leave https for http".to_owned()));
    }
    Ok(next)
}

/// Any header of the caller may be a credential, so a new origin gets only
/// those that describe the body.
fn headers_for_strangers(headers: &HeaderMap) -> HeaderMap {
    [header::CONTENT_TYPE, header::ACCEPT]
        .into_iter()
        .filter_map(|name| headers.get(&name).cloned().map(|value| (name, value)))
        .collect()
}

/// Before parsing, because a WHATWG parser silently drops what is refused here.
fn check_text(text: &str) -> Result<(), EgressError> {
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
fn host(url: &Url) -> &str {
    without_dot(url.host_str().unwrap_or_default())
}

fn port(url: &Url) -> u16 {
    url.port_or_known_default().unwrap_or_default()
}

fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

fn literal(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[') {
        Some(rest) => Some(IpAddr::V6(rest.strip_suffix(']')?.parse().ok()?)),
        None => Some(IpAddr::V4(host.parse().ok()?)),
    }
}

const LOCALHOST: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

fn is_localhost(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

/// Port 0 stands for the port of the URL.
fn at_any_port(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, 0)
}

fn bad_url(reason: &str) -> EgressError {
    EgressError::Url(reason.to_owned())
}

fn refused(url: &Url, reason: String) -> EgressError {
    let host = host(url).to_owned();
    EgressError::Refused { host, reason }
}

fn failed(url: &Url, reason: String) -> EgressError {
    let host = host(url).to_owned();
    EgressError::Failed { host, reason }
}

fn not_granted(url: &Url, what: &str) -> EgressError {
    let (host, port) = (host(url), port(url));
    let reason = format!("{what}; allow it with --allow-host {host}:{port}");
    refused(url, reason)
}

/// The outer layers name the whole URL; the innermost one knows the reason.
fn explain(url: &Url, error: reqwest::Error) -> EgressError {
    let error = error.without_url();
    let mut innermost: &(dyn Error + 'static) = &error;
    while let Some(cause) = innermost.source() {
        if let Some(refusal) = cause.downcast_ref::<RefusedAddress>() {
            return not_granted(url, &refusal.to_string());
        }
        innermost = cause;
    }
    failed(url, innermost.to_string())
}

/// Why an address is out of reach; `None` when it is not.
fn refusal(ip: IpAddr, loopback: bool) -> Option<&'static str> {
    if loopback && ip.to_canonical().is_loopback() {
        return None;
    }
    special_kind(ip)
}

/// What sets an address apart from the public internet; `None` for a public one.
/// Forms that carry an IPv4 address are judged by it.
fn special_kind(ip: IpAddr) -> Option<&'static str> {
    let ip = match ip.to_canonical() {
        IpAddr::V4(ip) => return special_v4(ip),
        IpAddr::V6(ip) => ip,
    };
    let pair = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match ip.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => return special_v4(pair(high, low)),
        [0x2002, high, low, ..] => return special_v4(pair(high, low)),
        _ => {}
    }
    let listed = SPECIAL_V6.iter().find(|(net, bits, _)| (u128::from(ip) ^ u128::from(*net)) >> (128 - bits) == 0);
    match listed {
        Some((.., kind)) => Some(kind),
        // Only 2000::/3 has been given out.
        None if ip.segments()[0] >> 13 != 1 => Some("a reserved address"),
        None => None,
    }
}

fn special_v4(ip: Ipv4Addr) -> Option<&'static str> {
    SPECIAL_V4
        .iter()
        .find(|(net, bits, _)| (u32::from(ip) ^ u32::from(*net)) >> (32 - bits) == 0)
        .map(|(.., kind)| *kind)
}

const fn v4(a: u8, b: u8, c: u8, d: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, d)
}

/// The first row that fits names the kind.
const SPECIAL_V4: &[(Ipv4Addr, u32, &str)] = &[
    (v4(0, 0, 0, 0), 8, "an address of this host"),
    (v4(10, 0, 0, 0), 8, "a private address"),
    (v4(100, 64, 0, 0), 10, "a shared address"),
    (v4(127, 0, 0, 0), 8, "a loopback address"),
    (v4(168, 63, 129, 16), 32, "a cloud metadata address"),
    (v4(169, 254, 0, 0), 16, "a link-local address"),
    (v4(172, 16, 0, 0), 12, "a private address"),
    (v4(192, 0, 0, 0), 24, "a protocol address"),
    (v4(192, 0, 2, 0), 24, "a documentation address"),
    (v4(192, 168, 0, 0), 16, "a private address"),
    (v4(198, 18, 0, 0), 15, "a benchmarking address"),
    (v4(198, 51, 100, 0), 24, "a documentation address"),
    (v4(203, 0, 113, 0), 24, "a documentation address"),
    (v4(224, 0, 0, 0), 4, "a multicast address"),
    (v4(255, 255, 255, 255), 32, "the broadcast address"),
    (v4(240, 0, 0, 0), 4, "a reserved address"),
];

const fn v6(a: u16, b: u16, c: u16) -> Ipv6Addr {
    Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)
}

const SPECIAL_V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::LOCALHOST, 128, "a loopback address"),
    (Ipv6Addr::UNSPECIFIED, 128, "an address of this host"),
    (v6(0, 0, 0), 96, "an IPv4-compatible address"),
    (v6(0x64, 0xff9b, 1), 48, "a local NAT64 address"),
    (v6(0x2001, 0, 0), 32, "a Teredo address"),
    (v6(0x2001, 0, 0), 23, "a protocol address"),
    (v6(0x2001, 0xdb8, 0), 32, "a documentation address"),
    (v6(0x3fff, 0, 0), 20, "a documentation address"),
    (v6(0xfc00, 0, 0), 7, "a private address"),
    (v6(0xfe80, 0, 0), 10, "a link-local address"),
    (v6(0xff00, 0, 0), 8, "a multicast address"),
];

/// Sorted. The WHATWG list of bad ports, and beyond it data stores and control
/// planes that take a POST, or a stream that holds one, for commands: SQL
/// Server, Oracle, ZooKeeper, Docker, etcd, MySQL, PostgreSQL, CouchDB, Redis,
/// Cassandra, Kafka, Elasticsearch, kubelet, Memcached, MongoDB, RethinkDB.
#[rustfmt::skip]
const BLOCKED_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1433, 1521, 1719, 1720, 1723, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3659, 4045,
    4190, 5060, 5061, 5432, 5984, 6000, 6379, 6380, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
    9042, 9092, 9160, 9200, 9300, 10080, 10250, 11211, 27017, 27018, 27019, 28015,
];

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, sync::Mutex};

    use reqwest::header::HeaderValue;
    use serde_json::Value;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/corpora/ssrf_urls.jsonl");

    /// Answers from a row's `dns`: successive look-ups, the last one for good.
    #[derive(Clone, Default)]
    struct Stub(Arc<Mutex<HashMap<String, Vec<Vec<IpAddr>>>>>);

    impl Stub {
        fn new(dns: &Value) -> Self {
            let dns = if dns.is_null() { "{}".into() } else { dns.to_string() };
            Self(Arc::new(Mutex::new(serde_json::from_str(&dns).unwrap())))
        }
    }

    impl Resolve for Stub {
        fn resolve(&self, name: Name) -> Resolving {
            let mut names = self.0.lock().unwrap();
            let answer = match names.get_mut(without_dot(name.as_str())) {
                Some(answers) if answers.len() > 1 => Ok(answers.remove(0)),
                Some(answers) => Ok(answers[0].clone()),
                None => Err("no such name".into()),
            };
            let answer = answer.map(|it| Box::new(it.into_iter().map(at_any_port)) as Addrs);
            Box::pin(std::future::ready(answer))
        }
    }

    fn grants(hosts: &Value) -> Grants {
        let hosts = hosts.as_array().into_iter().flatten();
        let hosts = hosts.map(|it| it.as_str().unwrap().parse().unwrap()).collect();
        Grants { loopback: false, hosts }
    }

    /// The decision on a row without a connection: each hop's text, then the
    /// addresses that a client would be given.
    async fn decide(egress: &Egress, row: &Value) -> Result<(), EgressError> {
        let grants = &egress.shared.grants;
        let mut url = check_url(row["url"].as_str().unwrap(), grants)?;
        let hops = row["redirects"].as_array().map_or(&[][..], |it| it);
        for hop in [None].into_iter().chain(hops.iter().map(Some)) {
            if let Some(location) = hop {
                let next = resolve_location(&url, location.as_str().unwrap())?;
                url = check_hop(&url, &next, grants)?;
            }
            if literal(host(&url)).is_none() {
                let name = url.host_str().unwrap().parse().unwrap();
                let found = egress.guard(grants.names(&url)).resolve(name).await;
                let _ = found.map_err(|error| refused(&url, error.to_string()))?;
            }
        }
        match hops.len() {
            0..=3 => Ok(()),
            _ => Err(refused(&url, "too many hops".to_owned())),
        }
    }

    #[tokio::test]
    async fn corpus() {
        let (server, seen) = serve(vec!["HTTP/1.1 200 OK\r\n\r\n".into()]).await;
        let (mut n_rows, mut wrong) = (0, Vec::new());
        for line in std::fs::read_to_string(CORPUS).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let egress = Egress::with_lookup(grants(&row["allow"]), Arc::new(Stub::new(&row["dns"])));
            let decided = decide(&egress, &row).await;
            n_rows += 1;
            if decided.is_ok() != (row["expect"] == "allowed") {
                wrong.push(format!("{}: {decided:?}", row["id"]));
            }
            if row["expect"] == "allowed" || !row["redirects"].is_null() {
                continue;
            }
            // As written, then aimed at a port where somebody does listen.
            let mut urls = vec![row["url"].as_str().unwrap().to_owned()];
            let blocked_for_host = !matches!(row["class"].as_str(), Some("scheme" | "port" | "length"));
            if let (Ok(mut url), true) = (Url::parse(&urls[0]), blocked_for_host)
                && url.set_port(Some(server.port())).is_ok()
            {
                urls.push(url.into());
            }
            for url in urls {
                let sent = post(&egress, &url);
                if let Ok(Ok(_)) = tokio::time::timeout(Duration::from_secs(1), sent).await {
                    wrong.push(format!("{}: {url} was reached", row["id"]));
                }
            }
        }
        assert!(n_rows >= 80 && wrong.is_empty(), "{n_rows} rows, {wrong:#?}");
        assert_eq!(seen.lock().unwrap().len(), 0, "connections of blocked rows");
    }

    #[test]
    fn public_addresses() {
        let check = |public: bool, list: &str| {
            for ip in list.split_whitespace() {
                assert_eq!(special_kind(ip.parse().unwrap()).is_none(), public, "{ip}");
            }
        };
        check(
            false,
            "0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1
             127.255.255.255 168.63.129.16 169.254.0.0 169.254.255.255 172.16.0.0 172.31.255.255
             192.0.0.0 192.0.0.255 192.0.2.255 192.168.0.0 192.168.255.255 198.18.0.0
             198.19.255.255 198.51.100.7 203.0.113.255 224.0.0.1 239.255.255.255 240.0.0.0
             255.255.255.255 :: ::1 ::2 ::8.8.8.8 ::ffff:10.0.0.1 ::ffff:0:8.8.8.8 64:ff9b::10.0.0.1
             64:ff9b:1::8.8.8.8 64:ff9b:2::1 100::1 1fff:: 2001::1 2001:2::1 2001:1ff:ffff::
             2001:db8::1 2001:db8:ffff:: 2002:a00:1::1 2002:a9fe:a9fe:: 3fff::1 3fff:fff:ffff::
             4000:: 5f00::1 fc00:: fdff:: fd00:ec2::254 fe80::1 febf:: fec0::1 ff02::1",
        );
        check(
            true,
            "1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
             168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0
             191.255.255.255 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255
             198.20.0.0 198.51.99.255 203.0.114.0 223.255.255.255 ::ffff:8.8.8.8 64:ff9b::8.8.8.8
             2000:: 2001:200:: 2001:db7:ffff:: 2001:db9:: 2002:808:808:: 2003:: 3ffe:: 3fff:1000::",
        );
    }

    #[test]
    fn tables_are_in_order() {
        assert!(BLOCKED_PORTS.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn urls_and_their_errors() {
        let check = |url: &str, expected: &str| {
            let grants = Grants {
                loopback: false,
                hosts: vec!["0x7f.1:9000".parse().unwrap(), "es.corp.:9200".parse().unwrap()],
            };
            let said = check_url(url, &grants).map_or_else(|it| it.to_string(), |it| it.to_string());
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
        check("https://h.example\u{7f}/", "use the URL: it contains a control character");
        check("https://h.example/\u{a0}", "use the URL: it is surrounded by white space");
        check("https://h.example\\@127.0.0.1/", "use the URL: it contains a backslash, which not all read alike");
        for not_dns in [&label, &name, "https://a..example/", "https://*.example/"] {
            check(not_dns, "use the URL: its host is not a DNS name");
        }
        check(&long, "use the URL: it is longer than 8 KiB");
        check("file:///etc/passwd", "use the URL: its scheme is not http or https");
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

    #[tokio::test]
    async fn one_look_up_decides() {
        let stub = Stub::new(&serde_json::json!({
            "good.example": [["93.184.216.34"], ["127.0.0.1"]],
            "bad.example": [["127.0.0.1"], ["93.184.216.34"]],
        }));
        let resolve = async |loopback: bool, name: &str| {
            let egress = Egress::with_lookup(Grants { loopback, ..Grants::default() }, Arc::new(stub.clone()));
            match egress.guard(false).resolve(name.parse().unwrap()).await {
                Ok(found) => found.map(|it| it.ip().to_string()).collect::<Vec<_>>().join(" "),
                Err(error) => error.to_string(),
            }
        };
        assert_eq!(resolve(false, "good.example").await, "93.184.216.34");
        let refused = "it resolves to 127.0.0.1, a loopback address";
        assert_eq!(resolve(false, "bad.example").await, refused);
        assert_eq!(resolve(false, "a.localhost.").await, refused);
        assert_eq!(resolve(true, "a.localhost.").await, "127.0.0.1 ::1");
        assert_eq!(resolve(true, "good.example").await, "127.0.0.1");
    }

    type Seen = Arc<Mutex<Vec<String>>>;

    /// Gives each connection the next of `replies` (the last one for good) and
    /// keeps what was received.
    async fn serve(replies: Vec<String>) -> (SocketAddr, Seen) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Seen::default();
        let kept = seen.clone();
        tokio::spawn(async move {
            let mut replies = replies.into_iter().peekable();
            while let Ok((mut stream, _)) = listener.accept().await {
                kept.lock().unwrap().push(String::new());
                let mut request = vec![0; 4096];
                let mut n_read = 0;
                while !request[..n_read].ends_with(b"{}") {
                    match stream.read(&mut request[n_read..]).await {
                        Ok(0) | Err(_) => break,
                        Ok(n) => n_read += n,
                    }
                }
                let text = String::from_utf8_lossy(&request[..n_read]);
                *kept.lock().unwrap().last_mut().unwrap() = text.into_owned();
                let reply = replies.next_if(|_| true).unwrap_or_default();
                let port = address.port().to_string();
                let _ = stream.write_all(reply.replace("PORT", &port).as_bytes()).await;
                if reply.contains("DRIP") {
                    while stream.write_all(b"x").await.is_ok() {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                }
            }
        });
        (address, seen)
    }

    async fn post(egress: &Egress, url: &str) -> Result<Response, EgressError> {
        let headers = [
            (header::AUTHORIZATION, HeaderValue::from_static("Bearer t")),
            (header::CONTENT_TYPE, HeaderValue::from_static("text/x")),
        ];
        let headers = headers.into_iter().collect();
        egress.post(url, headers, "{}".into(), 16).await
    }

    fn loopback() -> Egress {
        Egress::new(Grants { loopback: true, hosts: Vec::new() })
    }

    const OK: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nfine";

    #[tokio::test]
    async fn a_granted_post_arrives() {
        let (server, seen) = serve(vec![OK.into(), OK.into()]).await;
        let granted = Egress::new(grants(&serde_json::json!([server.to_string()])));
        for egress in [loopback(), granted] {
            let url = format!("http://{server}/hook?key=secret");
            let response = post(&egress, &url).await.unwrap();
            assert_eq!((response.status, &response.body[..]), (200, &b"fine"[..]));
            let request = seen.lock().unwrap().pop().unwrap();
            assert!(request.starts_with("POST /hook?key=secret HTTP/1.1\r\n"), "{request}");
            assert!(request.contains("\r\nauthorization: Bearer t\r\n"), "{request}");
            assert!(request.ends_with("\r\ncontent-length: 2\r\n\r\n{}"), "{request}");
        }
    }

    #[tokio::test]
    async fn responses_that_are_errors() {
        let check = async |reply: &str, expected: &str| {
            let (server, _) = serve(vec![reply.to_owned()]).await;
            let url = format!("http://{server}/?key=secret");
            let egress = loopback();
            let sent = post(&egress, &url);
            let said = match tokio::time::timeout(Duration::from_millis(300), sent).await {
                Ok(Ok(response)) => format!("{response:?}"),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "deadline".to_owned(),
            };
            assert_eq!(said, expected, "{reply}");
        };
        let over = "reach 127.0.0.1: its response exceeds 16 bytes";
        check("HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n", over).await;
        check("HTTP/1.1 200 OK\r\n\r\nseventeen letters", over).await;
        check("HTTP/1.1 200 OK\r\n\r\n DRIP", over).await;
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
            "reach 127.0.0.1: end of file before message length reached",
        )
        .await;
        check("HTTP/1.1 200 OK\r\nDRIP", "deadline").await;
        check("", "reach 127.0.0.1: connection closed before message completed").await;
        check("HTTP/1.1 304 N\r\n\r\n", "reach 127.0.0.1: it answered 304").await;
        check(
            "HTTP/1.1 302 F\r\nlocation: https://h.example/?key=secret\r\n\r\n",
            "reach 127.0.0.1: it redirects to h.example (302), which is not followed",
        )
        .await;
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("secret"));
        let egress = loopback();
        let sent = egress.post("http://127.0.0.1/", headers, Bytes::new(), 0);
        let said = sent.await.unwrap_err().to_string();
        assert_eq!(said, "send the header host: the client sets it itself");
    }

    #[tokio::test]
    async fn checked_redirects() {
        // Each location is one hop; the outcome, then which requests carried
        // the authorization header.
        let check = async |locations: &[&str], expected: &str, authorized: &[bool]| {
            let hop = |it: &&str| format!("HTTP/1.1 302 F\r\nconnection: close\r\nlocation: {it}\r\n\r\n");
            let replies = locations.iter().map(hop).chain([OK.to_owned()]).collect();
            let (server, seen) = serve(replies).await;
            let url = format!("http://{server}/");
            let said = match post(&loopback().following(3), &url).await {
                Ok(response) => response.status.to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(said, expected, "{locations:?}");
            let seen = seen.lock().unwrap();
            assert!(seen.iter().all(|it| it.starts_with("POST /") && it.ends_with("{}")), "{seen:?}");
            let carried: Vec<bool> = seen.iter().map(|it| it.contains("Bearer t")).collect();
            assert_eq!(carried, authorized, "{locations:?}");
        };
        check(&["/a", "b", "//127.0.0.1:PORT/c"], "200", &[true; 4]).await;
        check(&["http://localhost:PORT/", "http://127.0.0.1:PORT/"], "200", &[true, false, false]).await;
        check(
            &["/", "/", "/", "/"],
            "reach 127.0.0.1: it redirects to 127.0.0.1 (302), which is not followed",
            &[true; 4],
        )
        .await;
        check(
            &["/a", "http://169.254.169.254/latest"],
            "reach 127.0.0.1: it redirects, and the hop failed to reach 169.254.169.254: it is \
             a link-local address; allow it with --allow-host 169.254.169.254:80",
            &[true, true],
        )
        .await;
    }
}
