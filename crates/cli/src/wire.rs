//! The composition root: configuration and global options in, libraries and sessions out.

mod agents;
mod context;
mod disabled;
mod executor;
mod installation;
mod library;
mod notices;
mod notify;
mod origins;
mod places;
mod python_tools;
mod rerank;
mod search;
mod sessions;
mod store;
mod traces;

pub(crate) use context::Context;
pub(crate) use disabled::{enable_command, kits_in_use, shell_word};
pub(crate) use executor::{ExecRequest, finish_interrupted_runs};
pub(crate) use installation::finish_interrupted_changes;
pub(crate) use library::{Library, SearchableLibrary, skill_directory};
pub(crate) use notices::{notices, report};
pub(crate) use origins::{ComparedOrigin, MODE_CHANGED, OriginJson, compared_origins, origin_json, routes};
pub(crate) use places::expect_directories;
pub(crate) use sessions::narrowed;
