//! The pages of the dashboard: rendered here, from the answers of the API.

mod text;
mod url;
mod markdown;
mod chart;
mod diff;
mod page;
mod assets;
mod overview;
mod skills;
mod skill;
mod versions;
mod catalog;
mod proposals;
mod events;
mod sessions;
mod economics;
mod routes;

pub(crate) use routes::routes;
