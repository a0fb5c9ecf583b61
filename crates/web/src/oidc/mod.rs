//! OpenID Connect: people prove to a provider who they are, and the server believes what the provider signed.

mod options;
mod fault;
mod keys;
mod jwt;
mod cached;
mod client;
mod flow;
mod person;
mod provider;

pub(crate) use client::error_code;
pub(crate) use fault::OidcFault;
pub(crate) use flow::{SignInFlow, random};
pub(crate) use jwt::is_jwt;
pub use options::OidcOptions;
pub(crate) use person::Person;
pub(crate) use provider::Provider;
