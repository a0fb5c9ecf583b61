//! The JSON API of the dashboard, one file per noun.

mod error;
mod request;
mod records;
mod route;
mod openapi;
mod decision;
pub(crate) mod skills;
pub(crate) mod skill;
pub(crate) mod update;
pub(crate) mod explain;
pub(crate) mod versions;
pub(crate) mod switch;
pub(crate) mod search;
pub(crate) mod catalog;
pub(crate) mod listing;
pub(crate) mod proposals;
pub(crate) mod events;
pub(crate) mod sessions;
pub(crate) mod overview;
pub(crate) mod health;
mod changes;
mod table;

pub(crate) use error::ApiError;
pub(crate) use request::Params;
pub(crate) use table::routes;
