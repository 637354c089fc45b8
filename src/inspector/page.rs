//! The page: the files that were built from `inspector/`, compiled in.

use crate::http::reply::{self, Reply};
use bytes::Bytes;
use hookwire_base::support::file;
use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY};

/// Nothing but these files runs in the page, it speaks to nobody else, and nobody shows it in a
/// frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'";

/// A file of the page.
struct File {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

macro_rules! files {
    ($($path:literal, $name:literal, $kind:literal;)*) => {
        static FILES: &[File] = &[
            $(File { path: $path, kind: $kind, bytes: include_bytes!(concat!("../../inspector/dist/", $name)) },)*
        ];
    };
}

files! {
    "/", "index.html", "text/html; charset=utf-8";
    "/app.js", "app.js", "text/javascript; charset=utf-8";
    "/app.css", "app.css", "text/css; charset=utf-8";
    "/editor.js", "editor.js", "text/javascript; charset=utf-8";
    "/icon.svg", "icon.svg", "image/svg+xml";
}

/// The file at a path.
pub(super) fn file_at(path: &str) -> Option<Reply> {
    let file = FILES.iter().find(|file| file.path == path)?;
    let headers = [
        (CONTENT_TYPE, file.kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    Some(reply::reply_with(StatusCode::OK, bytes_of(file), &headers))
}

#[cfg(not(debug_assertions))]
fn bytes_of(file: &File) -> Bytes {
    Bytes::from_static(file.bytes)
}

/// Whoever works on the page sees what they have just built.
#[cfg(debug_assertions)]
fn bytes_of(file: &File) -> Bytes {
    let name = if file.path == "/" {
        "index.html"
    } else {
        file.path.trim_start_matches('/')
    };
    let built = std::env::var_os("HOOKWIRE_INSPECTOR_PAGE")
        .map(|dir| std::path::Path::new(&dir).join(name));
    built
        .and_then(|path| file::read_small(&path, file::MAX_FILE).ok())
        .map_or(Bytes::from_static(file.bytes), Bytes::from)
}
