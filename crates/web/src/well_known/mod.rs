//! The well-known index of skills, so that installers take them from a running server.
//!
//! `/.well-known/agent-skills/index.json` is version 0.2.0 of the discovery draft: skills of one file as they
//! are, others as archives, all with digests. `/.well-known/skills/` is version 0.1.0, for older installers.
//!
//! `/.claude-plugin/marketplace.json` lists the same skills as plugins.

mod archive;
mod index;
mod marketplace;
mod routes;

pub(crate) use archive::Archives;
pub use archive::pack_files;
pub(crate) use routes::{archive_response, file_routes, index_routes};
