//! The workspace: settings, places of skills and state of a user in a directory; libraries and sessions come out of it.

mod agents;
mod disabled;
pub mod environment;
mod executor;
mod installation;
pub mod kit_choice;
mod library;
mod notices;
mod notify;
mod origins;
mod places;
mod python_tools;
mod reporter;
mod rerank;
mod search;
mod sessions;
pub mod settings;
mod store;
mod traces;
mod unreadable_state;
mod workspace;

pub use disabled::{enable_command, kits_in_use, shell_word};
pub use environment::Env;
pub use executor::ExecRequest;
pub use installation::{InterruptedChange, finish_interrupted_changes};
pub use library::{Library, SearchableLibrary, skill_directory};
pub use notices::notices;
pub use origins::{ComparedOrigin, MODE_CHANGED, OriginJson, compared_origins, origin_json, routes};
pub use places::expect_directories;
pub use reporter::Reporter;
pub use sessions::narrowed;
pub use unreadable_state::UnreadableState;
pub use workspace::{Workspace, WorkspaceOptions};
