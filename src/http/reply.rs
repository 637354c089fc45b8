//! What is sent back. Nothing of it is for other sites or for a cache, and no header lets a web
//! page read it.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};

pub(crate) type Reply = Response<Full<Bytes>>;

pub(crate) fn json_reply(text: impl Into<Bytes>) -> Reply {
    reply_with(StatusCode::OK, text, &[(CONTENT_TYPE, "application/json")])
}

/// There is nothing to say.
pub(crate) fn empty_reply() -> Reply {
    reply_with(StatusCode::NO_CONTENT, "", &[])
}

/// A "no" to the request itself, not a verdict. The connection ends: whoever has no business here
/// keeps none.
pub(crate) fn refuse_request(status: StatusCode, problem: &str) -> Reply {
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (CONNECTION, "close"),
        (WWW_AUTHENTICATE, "Bearer"),
    ];
    let n_headers = if status == StatusCode::UNAUTHORIZED {
        3
    } else {
        2
    };
    reply_with(status, format!("{problem}\n"), &headers[..n_headers])
}

/// A reply after which the connection ends.
pub(crate) fn close_after(mut reply: Reply) -> Reply {
    reply
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    reply
}

/// A reply with these headers.
pub(crate) fn reply_with(
    status: StatusCode,
    body: impl Into<Bytes>,
    headers: &[(HeaderName, &'static str)],
) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    let all = [
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
    ];
    for (name, value) in headers.iter().chain(&all) {
        reply
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    reply
}
