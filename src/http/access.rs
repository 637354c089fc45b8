//! Who may ask. A port of this machine is open to every user of it and to every web page in a
//! browser, so a request has to show a token; and a page that has its own name point to this
//! machine is known by that name.

use hookwire_base::support::digest::hex;
use hyper::Request;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::http::uri::Authority;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;
use subtle::ConstantTimeEq;

/// In a WebSocket's list of protocols, what comes before the token: JavaScript can set no other
/// header.
const TOKEN_PROTOCOL: &str = "hookwire.token.";
/// The shortest token, in characters.
const SHORTEST: usize = 32;

/// What every request has to show. Only its digest is kept, so that a comparison tells nothing of
/// it.
pub struct Token([u8; 32]);

impl Token {
    /// A new one, of 256 random bits, and its text.
    ///
    /// # Errors
    /// The system gives no random bits.
    pub fn generate() -> std::io::Result<(Token, String)> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits).map_err(std::io::Error::other)?;
        let text = hex(&bits);
        Ok((Token::from_text(&text), text))
    }

    /// One that was given.
    ///
    /// # Errors
    /// It is short, or has characters that no header takes.
    pub fn parse(text: &str) -> Result<Token, String> {
        match text.trim() {
            text if text.len() < SHORTEST => {
                Err(format!("a token has at least {SHORTEST} characters"))
            }
            text if !text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-._~+/=".contains(c)) =>
            {
                Err("a token has letters, digits and `-._~+/=` only".to_string())
            }
            text => Ok(Token::from_text(text)),
        }
    }

    fn from_text(text: &str) -> Token {
        Token(Sha256::digest(text).into())
    }

    /// Whether a text is this one.
    pub(crate) fn matches_text(&self, text: &str) -> bool {
        Token::from_text(text).0.ct_eq(&self.0).into()
    }
}

/// Where a web page comes from: `scheme://host` with its port, as browsers write it.
#[derive(Clone, Debug)]
pub struct Origin(String);

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Origin, String> {
        let origin = url::Url::parse(text)
            .map_err(|error| error.to_string())?
            .origin();
        let written = origin.ascii_serialization();
        let is_whole =
            origin.is_tuple() && text.trim_end_matches('/').eq_ignore_ascii_case(&written);
        if is_whole {
            Ok(Origin(written))
        } else {
            Err("write https://HOST or https://HOST:PORT".into())
        }
    }
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Host,
    Origin,
    Token,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Host => "its Host is not this host's address",
            Refused::Origin => "its Origin, a web page's, is not among those of --origin",
            Refused::Token => "its token is missing or wrong",
        })
    }
}

/// The address that requests are sent to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) port: u16,
}

impl Access {
    /// Looks at a request's head.
    pub(super) fn check_head<B>(
        self,
        request: &Request<B>,
        token: &Token,
        origins: &[Origin],
    ) -> Result<(), Refused> {
        let headers = request.headers();
        let host = only_header(headers, &HOST).and_then(|it| it.parse().ok());
        // A request to a proxy names the host in its first line.
        let others = request.uri().authority().into_iter();
        if !host.iter().chain(others).all(|it| self.is_own(it)) || host.is_none() {
            return Err(Refused::Host);
        }
        if !headers.get_all(ORIGIN).iter().all(|value| {
            origins
                .iter()
                .any(|origin| origin.0.as_bytes() == value.as_bytes())
        }) {
            return Err(Refused::Origin);
        }
        match shown_token(headers) {
            Some(shown) if token.matches_text(shown) => Ok(()),
            Some(_) | None => Err(Refused::Token),
        }
    }

    fn is_own(self, authority: &Authority) -> bool {
        let host = authority.host();
        let is_here = ["127.0.0.1", "[::1]", "localhost"]
            .iter()
            .any(|name| host.eq_ignore_ascii_case(name));
        let has_no_user = !authority.as_str().contains('@');
        is_here && has_no_user && authority.port_u16().unwrap_or(80) == self.port
    }
}

/// A header that is there once.
pub(crate) fn only_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then(|| value.to_str().ok())?
}

/// The token that the header for it shows.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = only_header(headers, &AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim())
}

fn shown_token(headers: &HeaderMap) -> Option<&str> {
    if headers.contains_key(AUTHORIZATION) {
        return bearer_token(headers);
    }
    super::websocket::offered_protocols(headers)
        .find_map(|protocol| protocol.strip_prefix(TOKEN_PROTOCOL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_others_are_refused() {
        let (token, text) = Token::generate().unwrap();
        assert_eq!(text.len(), 64);
        let origins = ["https://ide.example".parse().unwrap()];
        let bearer = format!("Bearer {text}");
        let (host, good) = (("host", "127.0.0.1:8129"), ("authorization", &*bearer));
        let protocols = format!("hookwire, hookwire.token.{text}");
        let longer = format!("{bearer}0");
        for (uri, headers, expected) in [
            ("/", &[host, good][..], Ok(())),
            ("/", &[("host", "LOCALHOST:8129"), good], Ok(())),
            ("/", &[("host", "[::1]:8129"), good], Ok(())),
            ("/", &[host, ("sec-websocket-protocol", &protocols)], Ok(())),
            (
                "/",
                &[host, good, ("origin", "https://ide.example")],
                Ok(()),
            ),
            ("http://127.0.0.1:8129/", &[host, good], Ok(())),
            ("http://evil.example/", &[host, good], Err(Refused::Host)),
            ("/", &[good], Err(Refused::Host)),
            ("/", &[host, host, good], Err(Refused::Host)),
            ("/", &[("host", "127.0.0.1:8130"), good], Err(Refused::Host)),
            ("/", &[("host", "127.0.0.1"), good], Err(Refused::Host)),
            (
                "/",
                &[("host", "evil.example:8129"), good],
                Err(Refused::Host),
            ),
            (
                "/",
                &[("host", "127.0.0.1.evil.example:8129"), good],
                Err(Refused::Host),
            ),
            (
                "/",
                &[("host", "a@127.0.0.1:8129"), good],
                Err(Refused::Host),
            ),
            ("/", &[host, good, ("origin", "null")], Err(Refused::Origin)),
            (
                "/",
                &[host, good, ("origin", "http://127.0.0.1:8129")],
                Err(Refused::Origin),
            ),
            (
                "/",
                &[
                    host,
                    good,
                    ("origin", "https://ide.example"),
                    ("origin", "null"),
                ],
                Err(Refused::Origin),
            ),
            ("/", &[host], Err(Refused::Token)),
            (
                "/",
                &[host, ("authorization", &longer)],
                Err(Refused::Token),
            ),
            (
                "/",
                &[host, ("authorization", &bearer[..bearer.len() - 1])],
                Err(Refused::Token),
            ),
            ("/", &[host, good, good], Err(Refused::Token)),
            ("/", &[host, ("authorization", &text)], Err(Refused::Token)),
            (
                "/",
                &[host, ("sec-websocket-protocol", &text)],
                Err(Refused::Token),
            ),
        ] {
            let mut request = Request::builder().uri(uri);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let request = request.body(()).unwrap();
            assert_eq!(
                Access { port: 8129 }.check_head(&request, &token, &origins),
                expected,
                "{uri} {headers:?}"
            );
        }
    }

    #[test]
    fn tokens_and_origins_that_are_given() {
        for (text, is_token) in [
            ("0123456789abcdef0123456789ABCD+/=\n", true),
            ("short", false),
        ] {
            assert_eq!(Token::parse(text).is_ok(), is_token, "{text}");
        }
        assert!(Token::parse(&"ä".repeat(32)).is_err());
        for (text, is_origin) in [
            ("https://a.example", true),
            ("http://localhost:3000", true),
            ("vscode-webview://x", false),
            ("null", false),
            ("*", false),
            ("https://a.example/path", false),
            ("https://me@a.example", false),
        ] {
            assert_eq!(text.parse::<Origin>().is_ok(), is_origin, "{text}");
        }
    }
}
