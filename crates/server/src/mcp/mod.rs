//! MCP: the library as tools, prompts, resources and through the Skills extension.

mod decode;
mod protocol;
mod cursor;
mod uri;
mod skills;
mod tools;
mod prompts;
mod resources;
mod notify;
mod roots;
mod handler;
mod in_flight;
mod output;
pub mod stdio;

pub(crate) use decode::{DecodedMessage, decode, id_in_use};
pub(crate) use handler::Handler;
pub use handler::methods;
pub(crate) use protocol::SUPPORTED_VERSIONS;
pub(crate) use tools::Disconnection;
