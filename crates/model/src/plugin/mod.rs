//! Agent Plugins 1.0.0 and marketplaces of plugins, from bytes to what a client may use of them, under the
//! specification's rules of failure: a fatal fault rejects the plugin, another one costs what it is about,
//! and everything is reported.

mod finding;
mod manifest;
mod mcp;
mod marketplace;

pub use finding::PluginFinding;
pub use manifest::{MANIFEST_SCHEMA, PluginManifest, is_plugin_name, read_manifest};
pub use marketplace::{Marketplace, MarketplacePlugin, read_marketplace};
pub use mcp::{MCP_SCHEMA, PluginServer, Transport, read_mcp};

/// The file that makes a directory a plugin.
pub const MANIFEST_FILE: &str = "plugin.json";

/// The file with the MCP servers of a plugin.
pub const MCP_FILE: &str = "mcp.json";

/// The directory of a plugin with its skills.
pub const SKILLS: &str = "skills";

/// The largest of these files that is read, in bytes.
pub const MAX_BYTES: u64 = 1024 * 1024;
