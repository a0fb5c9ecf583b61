//! The clients that read skills: where each keeps its configuration and skills, who reads which skill, and
//! edits of their files. A new client is a row in `table.rs`, and one in the core's table of directories.
//!
//! ```
//! use repertoire_clients::{CLIENTS, Environment, Owner, Places};
//!
//! let mut environment = Environment::new("/src/project");
//! environment.home = Some("/home/me".into());
//! let places = Places::new(environment);
//! let cursor = CLIENTS.iter().find(|client| client.id == "cursor").unwrap();
//! assert!(places.configuration(cursor, Owner::User)[0].ends_with(".cursor/mcp.json"));
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod error;
mod client;
pub mod hook;
pub mod listing;
mod table;
mod places;
mod readers;
mod library;
pub mod paths;
mod record_file;
mod disabled_clients;
mod edit;
pub mod connect;
pub mod link;
pub mod disable;
pub mod adopt;

pub use client::{Client, Format, Server, TokenReference};
pub use disabled_clients::{DisabledClient, client_readers, disabled_for_clients};
pub use edit::EditFault;
pub use error::{Error, ErrorKind};
pub use library::OpenLibrary;
pub use places::{Environment, Owner, Places};
pub use readers::{ClientReader, FileRoute, SkillOnDisk, projects};
pub use repertoire::discovery::CANONICAL;
pub use table::CLIENTS;

pub(crate) use client::SERVE;
pub(crate) use readers::{SearchedPlaces, readers, skills_in};
