//! The client that keeps to what a URL may be and where a name leads.

use super::addresses::refusal;
use super::url::{EgressError, Grants, HostPort, check_url};
use super::url::{
    LOCALHOST, check_text, failed, host, is_localhost, not_granted, port, refused, without_dot,
};
use crate::services::fakes::Fakes;
use ::url::Url;
use bytes::Bytes;
use hookwire_base::support::os_error::in_words;
use hookwire_base::syntax::source::Layer;
use http::header::{self, HeaderMap, HeaderName};
use reqwest::Client;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::error::Error;
use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A response of any status but 3xx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Egress(Arc<Shared>);

struct Shared {
    grants: Grants,
    lookup: Arc<dyn Resolve>,
    clients: [OnceLock<Client>; 4],
    /// What replies in a test, where nothing may leave.
    fakes: Option<Arc<Fakes>>,
}

/// What a layer's requests may reach, made for the first of them.
#[derive(Clone, Default)]
pub struct EgressByLayer {
    /// What the operator lets every layer reach.
    grants: Arc<[HostPort]>,
    untrusted: Arc<OnceLock<Egress>>,
    trusted: Arc<OnceLock<Egress>>,
    fakes: Option<Arc<Fakes>>,
}

impl EgressByLayer {
    /// With what the operator lets every layer reach.
    pub fn new(grants: Vec<HostPort>) -> EgressByLayer {
        EgressByLayer {
            grants: grants.into(),
            ..EgressByLayer::default()
        }
    }

    /// Lets nothing out: fakes reply.
    pub fn faked(fakes: Arc<Fakes>) -> EgressByLayer {
        EgressByLayer {
            fakes: Some(fakes),
            ..EgressByLayer::default()
        }
    }

    /// What a layer may reach.
    pub(crate) fn for_layer(&self, layer: Layer) -> &Egress {
        let loopback = layer.reaches_loopback();
        let made = if loopback {
            &self.trusted
        } else {
            &self.untrusted
        };
        let grants = || Grants {
            loopback,
            hosts: self.grants.to_vec(),
        };
        made.get_or_init(|| Egress::made(grants(), Arc::new(SystemLookup), self.fakes.clone()))
    }
}

impl Egress {
    /// Permits what is granted.
    #[cfg(test)]
    pub fn new(grants: Grants) -> Self {
        Self::made(grants, Arc::new(SystemLookup), None)
    }

    /// What reaches an address that a person has named.
    #[cfg(feature = "mcp")]
    pub(crate) fn reaching(grants: Grants) -> Self {
        Self::made(grants, Arc::new(SystemLookup), None)
    }

    fn made(grants: Grants, lookup: Arc<dyn Resolve>, fakes: Option<Arc<Fakes>>) -> Self {
        Self(Arc::new(Shared {
            grants,
            lookup,
            clients: Default::default(),
            fakes,
        }))
    }

    /// A response of any status but 3xx is an `Ok`; one whose body is longer
    /// than `max_response` bytes is an error. Waits as long as the peer does.
    pub async fn post(
        &self,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
        max_response: usize,
    ) -> Result<Response, EgressError> {
        if let Some(name) = headers.keys().find(|it| is_reserved(it)) {
            return Err(EgressError::Header(name.to_string()));
        }
        if let Some(fakes) = &self.0.fakes {
            let replied = fakes.post(url).map_err(|reason| EgressError::Failed {
                host: url.to_string(),
                reason,
            });
            return replied.map(|(status, body)| Response {
                status,
                headers: HeaderMap::new(),
                body,
            });
        }
        let url = check_url(url, &self.0.grants)?;
        let request = self
            .client(&url)?
            .post(url.clone())
            .headers(headers)
            .body(body);
        let response = request.send().await.map_err(|error| explain(&url, error))?;
        match response.status().is_redirection() {
            true => Err(redirected(&url, &response)),
            false => read(&url, response, max_response).await,
        }
    }

    /// A client for one URL, for protocols that are more than a POST: it takes no redirect and no
    /// proxy, and connects to permitted addresses only. It must be used for this URL alone.
    #[cfg(feature = "mcp")]
    pub(crate) fn client_for(&self, url: &str) -> Result<Client, EgressError> {
        if let Some(fakes) = &self.0.fakes {
            return Err(EgressError::Failed {
                host: url.to_string(),
                reason: fakes.connect(url),
            });
        }
        self.client(&check_url(url, &self.0.grants)?)
    }

    /// One client per kind of destination, because a resolver sees the name but
    /// not the port: only a granted `host:port` is sent to a client that takes
    /// any address. Plain http gets one of its own so that a machine without
    /// root certificates can still talk to its own services.
    fn client(&self, url: &Url) -> Result<Client, EgressError> {
        let granted = self.0.grants.names(url);
        let tls = url.scheme() == "https";
        let cell = &self.0.clients[usize::from(granted) * 2 + usize::from(tls)];
        if let Some(client) = cell.get() {
            return Ok(client.clone());
        }
        let guard = self.guard(granted);
        let built = build_client(guard, tls).map_err(|error| explain(url, error))?;
        Ok(cell.get_or_init(|| built).clone())
    }

    fn guard(&self, granted: bool) -> Guard {
        Guard {
            lookup: self.0.lookup.clone(),
            loopback: self.0.grants.loopback,
            granted,
        }
    }
}

/// Headers that frame the message or choose another host behind the address:
/// the client sets them, `post` refuses them.
pub fn is_reserved(name: &HeaderName) -> bool {
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
    let builder = if tls {
        builder
    } else {
        builder.tls_certs_only([])
    };
    builder.build()
}

async fn read(
    url: &Url,
    mut response: reqwest::Response,
    max_response: usize,
) -> Result<Response, EgressError> {
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
    Ok(Response {
        status,
        headers,
        body,
    })
}

fn redirected(from: &Url, response: &reqwest::Response) -> EgressError {
    let status = response.status().as_u16();
    let Some(location) = response.headers().get(header::LOCATION) else {
        return failed(from, format!("it answered {status}"));
    };
    let text = std::str::from_utf8(location.as_bytes())
        .ok()
        .filter(|text| check_text(text).is_ok());
    let target = text.and_then(|text| from.join(text).ok());
    let target = target.as_ref().map_or("an unreadable URL", host);
    refused(
        from,
        format!("it redirects to {target} ({status}), which is not followed"),
    )
}

/// Port 0 stands for the port of the URL.
fn at_any_port(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, 0)
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
    failed(
        url,
        match innermost.downcast_ref::<std::io::Error>() {
            Some(error) if error.kind() == ErrorKind::ConnectionRefused => {
                format!(
                    "nothing listens on port {}; is the service started?",
                    port(url)
                )
            }
            Some(error) => in_words(error),
            None => innermost.to_string(),
        },
    )
}

#[cfg(test)]
mod tests;
