//! Registers the MCP server in the configuration of clients, and tells which clients are connected.

mod names;
mod server;
mod own_entries;
mod connections;
mod plan;
mod overlap;

pub use connections::{Connection, broken_files, connections, connections_in_words};
pub use names::{DEFAULT_NAME, http_url, server_name, variable_name};
pub use overlap::{ClientFiles, connected_to_all, offered_names, present, skills_by_name, warn_of_second};
pub use own_entries::OwnEntries;
pub use plan::{ConnectAction, ConnectOptions, ConnectPlan, ConnectStep, plan, removal};
pub use server::{ServerOptions, server};

pub(crate) use own_entries::is_program_name;
pub(crate) use plan::{REPAIR, broken, file_at};
