//! The guarded HTTP client: every POST that a hook sends leaves through here.
//!
//! A hook's URL may come from a project that isn't trusted, so a request goes to
//! the public internet and to what the operator granted, nowhere else. The text
//! of the URL is checked once; a host name is looked up once, at connection time,
//! and the connection uses exactly the addresses that were checked. A redirect is
//! an error, because it would lead to a URL that the hook doesn't name.
//!
//! Left to others: the deadline (callers wrap the future), bodies, the meaning
//! of a status, and who may grant what.

mod addresses;
#[cfg(feature = "http")]
mod client;
mod url;

#[cfg(feature = "http")]
pub use client::{Egress, EgressByLayer, Response, is_reserved};
pub use url::HostPort;
pub use url::{EgressError, Grants, check_url};
