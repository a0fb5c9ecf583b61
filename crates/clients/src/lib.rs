//! The clients that read skills: where each keeps its configuration and its skills, who reads which skill, and edits of their
//! files. A new client is a row in `table.rs`, and one in the core's table of the directories that clients read skills from.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod client;
mod table;
mod places;
mod readers;
pub mod edit;

pub use client::{Client, Format, SERVE, Server};
pub use places::{Environment, Owner, Places};
pub use readers::{
    ClientReader, FileRoute, SearchedPlaces, SkillOnDisk, has_installed, projects, readers, skills_in,
};
pub use repertoire::discovery::CANONICAL;
pub use table::CLIENTS;
