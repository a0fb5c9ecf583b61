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
mod offered;
mod options;
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
mod handle;

pub use disabled::{enable_command, kits_in_use, shell_word};
pub use environment::Env;
pub use executor::ExecRequest;
pub use handle::Workspace;
pub use installation::{ChangeSite, InterruptedChange, finish_interrupted_changes};
pub use library::{Library, SearchableLibrary, skill_directory};
pub use notices::notices;
pub use offered::names_offered_by;
pub use options::WorkspaceOptions;
pub use places::{expect_directories, new_skill_place};
pub use python_tools::left_out;
pub use reporter::Reporter;
pub use sessions::narrowed;
pub use unreadable_state::UnreadableState;
