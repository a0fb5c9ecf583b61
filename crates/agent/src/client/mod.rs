//! Clients of the services that models run behind.

mod error;
mod client;
mod provider;
mod sse;
mod decoder;
mod anthropic;
mod chat;
mod responses;
mod wire;
mod http;

pub use client::Client;
pub use client::{Response, StopReason};
pub use error::{ClientError, ClientErrorKind};
pub use http::{ModelClient, ModelClientOptions};
pub use provider::ModelApi;
