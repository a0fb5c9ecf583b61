//! The client of HTTP servers: it is given its certificates and its proxy, and reads no environment.

mod address;
mod agents;
mod body;
mod client;
mod error;
mod proxy;
mod request;

pub use address::{has_host, join, origin};
pub use body::{HttpBody, HttpResponse};
pub use client::HttpClient;
pub use error::{HttpError, HttpErrorKind};
pub use proxy::Proxy;
pub use request::HttpRequest;
