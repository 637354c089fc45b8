//! The listener: an address of this machine's own, and its connections.

use super::Service;
use super::access::Access;
use crate::transport::guests::{Guests, MAX_AGENTS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::fmt;
use std::io::{ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// How long the head of a request may take, and how long a connection is kept for a next one.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 16 * 1024;
const PREFIX: &str = "http://";

/// Where to listen: on this machine only.
#[derive(Clone, Debug)]
pub struct Address {
    /// As it was written, without the port.
    host: &'static str,
    port: u16,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Address, String> {
        let rest = text.strip_prefix(PREFIX).map(|rest| rest.strip_suffix('/').unwrap_or(rest));
        let (host, port) = rest.and_then(|rest| rest.rsplit_once(':')).ok_or("write http://127.0.0.1:PORT")?;
        let known = ["127.0.0.1", "[::1]", "localhost"].into_iter().find(|it| it.eq_ignore_ascii_case(host));
        let host = known.ok_or_else(|| {
            format!("{host}: hookwire listens on this machine's own addresses only, 127.0.0.1, [::1] or localhost")
        })?;
        let port = port.parse().map_err(|_| format!("{port}: a port is a number up to 65535; 0 is any"))?;
        Ok(Address { host, port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}:{}", self.host, self.port)
    }
}

/// A bound address.
pub struct Listener {
    listeners: Vec<TcpListener>,
    address: Address,
    guests: Arc<Guests>,
}

impl Listener {
    /// Binds an address. `localhost` is both of the machine's own, or another user could take the other one and be
    /// shown the token.
    ///
    /// # Errors
    /// It can't be bound.
    pub async fn bind(mut address: Address) -> Result<Listener> {
        let (v4, v6) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST));
        let mut listeners = Vec::new();
        let wanted = match address.host {
            "127.0.0.1" => &[v4][..],
            "[::1]" => &[v6],
            _ => &[v4, v6],
        };
        for ip in wanted {
            match TcpListener::bind(SocketAddr::new(*ip, address.port)).await {
                Ok(listener) => {
                    address.port = listener.local_addr()?.port();
                    listeners.push(listener);
                }
                // Not every machine has both.
                Err(error) if error.kind() == ErrorKind::AddrNotAvailable && !listeners.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Listener { listeners, address, guests: Guests::new() })
    }

    /// Where it listens, with the port that it got.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What tells the files of this listener from those of others.
    pub fn name(&self) -> String {
        format!("http-{}", self.address.port)
    }

    /// Serves whoever connects, on the service's runtime; gives who is connected.
    pub fn serve(self, service: Service) -> Arc<Guests> {
        let (service, access) = (Arc::new(service), Access { port: self.address.port });
        for listener in self.listeners {
            let accept = accept(listener, service.clone(), access, self.guests.clone());
            service.runtime.spawn(accept);
        }
        self.guests
    }
}

async fn accept(listener: TcpListener, service: Arc<Service>, access: Access, guests: Arc<Guests>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely there are no descriptors left: asking again at once would not help.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (place, before) = guests.enter();
        if before >= MAX_AGENTS {
            tracing::warn!("A connection over HTTP was refused: {before} are open.");
            continue;
        }
        service.runtime.spawn(serve(stream, service.clone(), access, Arc::new(place)));
    }
}

async fn serve(stream: TcpStream, service: Arc<Service>, access: Access, place: Arc<impl Send + Sync + 'static>) {
    // A reply is written at once; without this it may wait for the acknowledgement of what was sent before.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(|request| {
        let (service, place) = (service.clone(), place.clone());
        async move { Ok::<_, Infallible>(service.answer(request, &access, place).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MAX_HEAD);
    let connection = http.serve_connection(TokioIo::new(stream), answer).with_upgrades();
    if let Err(error) = connection.await {
        tracing::debug!(%error, "A connection over HTTP ended.");
    }
}
