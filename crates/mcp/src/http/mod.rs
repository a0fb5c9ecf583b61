//! MCP over HTTP: the endpoint of one caller, and its sessions.

mod media;
mod reply;
mod session;
mod portable_session;
mod sessions;
mod endpoint;

pub use endpoint::Endpoint;
pub use reply::EndpointResponse;
pub(crate) use sessions::AllSessions;
