//! The parts that the servers of one library share: the views of its agents, the senders of requests, and the
//! skills that clients get.
//!
//! `repertoire-mcp` and `repertoire-web` are built on it and never import each other. It needs tokio, and
//! knows neither MCP nor HTTP.

mod notice;
pub mod media_type;
mod url_path;
mod stop;
mod principal;
mod record;
mod published_skills;
mod served_library;
mod agent_view;
mod caller;

pub use agent_view::{AgentView, CatalogSize, ListVersions, PUBLISHED_AT_ONCE, ViewLimits};
pub use caller::Caller;
pub use notice::{Notice, Notices};
pub use principal::RequestLimits;
pub use principal::{Principal, RunLimit, without_kind};
pub use published_skills::{PublishResult, PublishedSkill, PublishedSkills};
pub use record::{MAX_NAME_CHARS, OUT_OF_SCOPE, OVERLOADED, RequestRecord, UNKNOWN_SKILL};
pub use served_library::ServedLibrary;
pub use stop::Stop;
pub use url_path::encode_path;
