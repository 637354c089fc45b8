//! The listener: an address of this machine's own, and its connections.

use super::owner;
use bytes::Bytes;
use hookwire_base::transport::guests::{Guests, Place};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::io::{ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// How long the head of a request may take, and how long a connection is kept for a next one.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// How long a stranger has its place before one of the same user may take it.
const OLD: Duration = Duration::from_secs(1);
/// How long one that must leave may go on before its place counts as taken.
const LEAVE_TIME: Duration = Duration::from_millis(100);
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
        let rest = text
            .strip_prefix(PREFIX)
            .map(|rest| rest.strip_suffix('/').unwrap_or(rest));
        let (host, port) = rest
            .and_then(|rest| rest.rsplit_once(':'))
            .ok_or("write http://127.0.0.1:PORT")?;
        let known = ["127.0.0.1", "[::1]", "localhost"]
            .into_iter()
            .find(|it| it.eq_ignore_ascii_case(host));
        let host = known.ok_or_else(|| {
            format!("{host}: hookwire listens on this machine's own addresses only, 127.0.0.1, [::1] or localhost")
        })?;
        let port = port
            .parse()
            .map_err(|_| format!("{port}: a port is a number up to 65535; 0 is any"))?;
        Ok(Address { host, port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}:{}", self.host, self.port)
    }
}

impl Address {
    /// The port; 0 is any.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// A bound address.
pub struct Listener {
    listeners: Vec<TcpListener>,
    address: Address,
    guests: Arc<Guests>,
}

impl Listener {
    /// Binds an address. `localhost` is both of the machine's own, or another user could take the
    /// other one and be shown the token.
    ///
    /// # Errors
    /// It can't be bound.
    pub async fn bind(mut address: Address) -> Result<Listener> {
        let (v4, v6) = (
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        );
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
                Err(error)
                    if error.kind() == ErrorKind::AddrNotAvailable && !listeners.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Listener {
            listeners,
            address,
            guests: Guests::new(),
        })
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
    pub(crate) fn serve<S: Answers>(self, service: S) -> Arc<Guests> {
        let service = Arc::new(service);
        for listener in self.listeners {
            service.runtime().spawn(accept_callers(
                listener,
                service.clone(),
                self.guests.clone(),
            ));
        }
        self.guests
    }
}

/// What answers requests.
pub(crate) trait Answers: Send + Sync + 'static {
    /// The body of a reply.
    type Body: Body<Data = Bytes, Error = Infallible> + Send + 'static;
    /// How many may be connected; without those of [`STRANGERS`](Answers::STRANGERS), if there is
    /// such a number.
    const MOST: usize;
    /// How many may be connected that haven't shown yet who they are, in places of their own. Where
    /// these are taken, one of the user leaves who has most of them, so that nobody can keep the
    /// others out.
    const STRANGERS: Option<usize> = None;

    /// Where requests are answered: a runtime with several threads.
    fn runtime(&self) -> &Handle;

    /// Answers one.
    fn answer(
        &self,
        request: Request<Incoming>,
        caller: Arc<Caller>,
    ) -> impl Future<Output = Response<Self::Body>> + Send;
}

/// Who has connected. It keeps the connection's place for as long as somebody holds it.
pub(crate) struct Caller {
    /// Where from.
    pub(crate) theirs: SocketAddr,
    /// Where to.
    pub(crate) ours: SocketAddr,
    is_known: AtomicBool,
    end: CancellationToken,
    _place: Place,
}

impl Caller {
    /// It has shown who it is.
    pub(crate) fn mark_known(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }
}

/// One that is connected and hasn't shown yet who it is.
struct Stranger {
    caller: Weak<Caller>,
    /// The user who has connected; `None` if that can't be told.
    user: Option<u32>,
    since: Instant,
}

/// Those, the one that came first at the front.
#[derive(Default)]
struct Strangers(VecDeque<Stranger>);

impl Strangers {
    /// How many there are now.
    fn count_now(&mut self) -> usize {
        self.0.retain(|place| {
            place
                .caller
                .upgrade()
                .is_some_and(|it| !it.is_known.load(Ordering::Relaxed))
        });
        self.0.len()
    }

    /// Takes one more in, unless its user has all the places that there are for a user. If there
    /// are as many as may be, one leaves, and then its place is free, too.
    async fn take_in(&mut self, caller: &Arc<Caller>, user: Option<u32>, most: usize) -> bool {
        let now = Instant::now();
        if self.count_now() >= most {
            let own = Some(rustix::process::geteuid().as_raw());
            let there: Vec<_> = self
                .0
                .iter()
                .map(|it| (it.user, now.duration_since(it.since)))
                .collect();
            let Some(leaving) =
                who_leaves(&there, user, own).and_then(|leaves| self.0.remove(leaves))
            else {
                return false;
            };
            if let Some(leaving) = leaving.caller.upgrade() {
                leaving.end.cancel();
            }
            let until = now + LEAVE_TIME;
            while leaving.caller.strong_count() > 0 && Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        self.0.push_back(Stranger {
            caller: Arc::downgrade(caller),
            user,
            since: now,
        });
        true
    }
}

/// Who leaves for a newcomer, where all places are taken: of the user who has most of them, the one
/// that came first. Others than this process's own user keep themselves out: a newcomer of theirs
/// gets no place that is new itself.
fn who_leaves(
    there: &[(Option<u32>, Duration)],
    newcomer: Option<u32>,
    own: Option<u32>,
) -> Option<usize> {
    let count = |user: Option<u32>| there.iter().filter(|it| it.0 == user).count();
    let most = there.iter().map(|it| count(it.0)).max()?;
    let is_of_newcomer = count(newcomer) == most;
    let first = there.iter().position(|place| {
        if is_of_newcomer {
            place.0 == newcomer
        } else {
            count(place.0) == most
        }
    })?;
    let is_free =
        !is_of_newcomer || newcomer == own || newcomer.is_none() || there.get(first)?.1 >= OLD;
    is_free.then_some(first)
}

async fn accept_callers<S: Answers>(listener: TcpListener, service: Arc<S>, guests: Arc<Guests>) {
    let mut strangers = Strangers::default();
    loop {
        let accepted = match listener.accept().await {
            Ok((stream, theirs)) => stream.local_addr().map(|ours| (stream, theirs, ours)),
            Err(error) => Err(error),
        };
        let Ok((stream, theirs, ours)) = accepted else {
            // Most likely there are no descriptors left: asking again at once would not help.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (place, before) = guests.enter();
        let before = before.saturating_sub(strangers.count_now());
        if before >= S::MOST {
            tracing::warn!("A connection over HTTP was refused: {before} are open.");
            continue;
        }
        let (is_known, end) = (
            AtomicBool::new(S::STRANGERS.is_none()),
            CancellationToken::new(),
        );
        let caller = Arc::new(Caller {
            theirs,
            ours,
            is_known,
            end,
            _place: place,
        });
        if let Some(most) = S::STRANGERS
            && !strangers
                .take_in(&caller, owner::user_of(theirs, ours), most)
                .await
        {
            tracing::debug!(
                "A connection over HTTP was refused: others of its user are open and new."
            );
            continue;
        }
        service
            .runtime()
            .spawn(serve_caller(stream, service.clone(), caller));
    }
}

async fn serve_caller<S: Answers>(stream: TcpStream, service: Arc<S>, caller: Arc<Caller>) {
    // A reply is written at once; without this it may wait for the acknowledgement of what was sent
    // before.
    let _ = stream.set_nodelay(true);
    let end = caller.end.clone();
    let answer = service_fn(|request| {
        let (service, caller) = (service.clone(), caller.clone());
        async move { Ok::<_, Infallible>(service.answer(request, caller).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_HEAD);
    let connection = http
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades();
    tokio::select! {
        ended = connection => if let Err(error) = ended {
            tracing::debug!(%error, "A connection over HTTP ended.");
        },
        () = end.cancelled() => tracing::debug!("A connection over HTTP made room for others."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leaves_is_of_the_user_who_has_most_places() {
        let (old, new) = (OLD, Duration::ZERO);
        let (own, other, third, unknown) = (Some(1000), Some(65534), Some(7), None);
        for (there, newcomer, expected) in [
            // Another user's flood makes room for the person, and for nobody else.
            (&[(other, new), (other, new), (own, new)][..], own, Some(0)),
            (&[(own, old), (other, new), (other, new)], own, Some(1)),
            (&[(own, old), (other, new), (other, new)], third, Some(1)),
            (&[(own, old), (other, new), (other, new)], other, None),
            (&[(own, old), (other, old), (other, new)], other, Some(1)),
            // One's own connections, and those of nobody knows whom, take turns.
            (&[(own, new), (own, new), (other, old)], own, Some(0)),
            (&[(unknown, new), (unknown, new)], unknown, Some(0)),
            (&[(own, old), (other, old), (third, old)], unknown, Some(0)),
        ] {
            assert_eq!(
                who_leaves(there, newcomer, own),
                expected,
                "{there:?} {newcomer:?}"
            );
        }
    }
}
