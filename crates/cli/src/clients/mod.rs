//! The clients that Repertoire knows: where each keeps its configuration, how a server is written down there, and where
//! it reads skills from. A new client is a row in `table.rs`.

mod row;
mod table;
mod places;

pub(crate) use places::{Owner, Places};
pub(crate) use row::{Client, Format, Server};
pub(crate) use table::{CANONICAL, CLIENTS};
