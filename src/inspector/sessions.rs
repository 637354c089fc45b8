//! Who may use the page. The address that a browser is started with holds a start token, and any
//! process of this user can read the arguments of another: so it counts once, for a minute, and
//! gives the page a token of its own, which is in no address, no file and no argument.

use crate::http::Token;
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a start token may be used.
pub(super) const START_TIME: Duration = Duration::from_secs(60);
/// Start tokens that are remembered, and sessions that are open; the oldest goes.
const MOST: usize = 8;

/// See the module.
#[derive(Default)]
pub(super) struct Sessions(Mutex<State>);

#[derive(Default)]
struct State {
    starts: Vec<Start>,
    open: Vec<Session>,
}

struct Start {
    token: Token,
    until: Instant,
    /// The end of the session that it was exchanged for.
    gave: Option<CancellationToken>,
}

struct Session {
    token: Token,
    end: CancellationToken,
}

/// Why a start token gives no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoStart {
    /// There is none like it, or it is too old.
    Unknown,
    /// It was used already, perhaps by somebody else. The session that it gave has ended.
    Used,
    /// The system gives no random bits.
    NoToken,
}

impl fmt::Display for NoStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoStart::Unknown => "the link is old or was used; Enter in the terminal of `hookwire inspect` makes a new one",
            NoStart::Used => {
                "the link was used already, perhaps by somebody else, so its session has ended; Enter in the terminal of \
                 `hookwire inspect` makes a new link"
            }
            NoStart::NoToken => "the system gives no random bits",
        })
    }
}

impl Sessions {
    /// A new start token.
    ///
    /// # Errors
    /// The system gives no random bits.
    pub(super) fn make_start(&self) -> io::Result<String> {
        let (token, text) = Token::generate()?;
        let mut state = self.0.lock();
        make_room(&mut state.starts);
        state.starts.push(Start {
            token,
            until: Instant::now() + START_TIME,
            gave: None,
        });
        Ok(text)
    }

    /// Exchanges a start token for the token of a session.
    pub(super) fn exchange_start(&self, start: &str) -> Result<String, NoStart> {
        self.exchange_at(start, Instant::now())
    }

    /// Whether a start token is, or was, one.
    pub(super) fn knows_start(&self, start: &str) -> bool {
        self.0
            .lock()
            .starts
            .iter()
            .any(|it| it.token.matches_text(start))
    }

    fn exchange_at(&self, start: &str, now: Instant) -> Result<String, NoStart> {
        let mut state = self.0.lock();
        let State { starts, open } = &mut *state;
        starts.retain(|start| start.until > now);
        let start = starts
            .iter_mut()
            .find(|it| it.token.matches_text(start))
            .ok_or(NoStart::Unknown)?;
        if let Some(given) = &start.gave {
            // One of the two who have shown it isn't the person's browser, and which one can't be
            // told.
            given.cancel();
            return Err(NoStart::Used);
        }
        let (token, text) = Token::generate().map_err(|_| NoStart::NoToken)?;
        let end = CancellationToken::new();
        start.gave = Some(end.clone());
        open.retain(|open| !open.end.is_cancelled());
        if let Some(oldest) = make_room(open) {
            oldest.end.cancel();
        }
        open.push(Session { token, end });
        Ok(text)
    }

    /// The session of a token, by what tells its end.
    pub(super) fn find_session(&self, token: &str) -> Option<CancellationToken> {
        let state = self.0.lock();
        let session = state.open.iter().find(|it| it.token.matches_text(token))?;
        (!session.end.is_cancelled()).then(|| session.end.clone())
    }
}

/// Takes the oldest out where there are too many for one more.
fn make_room<T>(list: &mut Vec<T>) -> Option<T> {
    (list.len() >= MOST).then(|| list.remove(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_token_counts_once_and_for_a_minute() {
        let sessions = Sessions::default();
        let start = sessions.make_start().unwrap();
        assert_eq!(sessions.exchange_start("0"), Err(NoStart::Unknown));
        let now = Instant::now();
        assert_eq!(
            sessions.exchange_at(&start, now + START_TIME),
            Err(NoStart::Unknown),
            "too late"
        );
        let start = sessions.make_start().unwrap();
        assert!(sessions.knows_start(&start) && !sessions.knows_start(&start[1..]));
        assert!(
            sessions.find_session(&start).is_none(),
            "it opens nothing by itself"
        );
        let token = sessions.exchange_start(&start).unwrap();
        assert!(
            sessions.find_session(&token).is_some() && sessions.find_session(&token[1..]).is_none()
        );
        // Shown again while the browser may just have started: both lose.
        let end = sessions.find_session(&token).unwrap();
        assert_eq!(sessions.exchange_start(&start), Err(NoStart::Used));
        assert!(end.is_cancelled() && sessions.find_session(&token).is_none());
        // Shown again later, it harms nobody.
        let start = sessions.make_start().unwrap();
        let token = sessions.exchange_start(&start).unwrap();
        assert_eq!(
            sessions.exchange_at(&start, now + 2 * START_TIME),
            Err(NoStart::Unknown)
        );
        assert!(sessions.find_session(&token).is_some());
    }

    #[test]
    fn sessions_are_bounded() {
        let sessions = Sessions::default();
        let open = || {
            sessions
                .exchange_start(&sessions.make_start().unwrap())
                .unwrap()
        };
        let first = open();
        let end = sessions.find_session(&first).unwrap();
        let rest: Vec<String> = (0..MOST).map(|_| open()).collect();
        assert!(end.is_cancelled() && sessions.find_session(&first).is_none());
        assert!(
            rest.iter()
                .all(|token| sessions.find_session(token).is_some())
        );
        let starts: Vec<String> = (0..=MOST).map(|_| sessions.make_start().unwrap()).collect();
        assert_eq!(sessions.exchange_start(&starts[0]), Err(NoStart::Unknown));
        assert!(sessions.exchange_start(&starts[1]).is_ok());
    }
}
