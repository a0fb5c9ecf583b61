//! The clients that Repertoire connects: where each keeps its configuration, and how a server is written down there. A new
//! client is a row in `table.rs`, and one in the core's table of the directories that clients read skills from.

mod row;
mod table;
mod places;
mod readers;

pub(crate) use places::{Owner, Places};
pub(crate) use readers::{
    ClientReader, FileRoute, SearchedPlaces, SkillOnDisk, has_installed, readers, skills_in,
};
pub(crate) use repertoire::discovery::CANONICAL;
pub(crate) use row::{Client, Format, Server};
pub(crate) use table::CLIENTS;
