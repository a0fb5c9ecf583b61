//! The pages of the dashboard: rendered here, from the answers of the API.

mod text;
mod url;
mod markdown;
mod chart;
mod diff;
mod page;
mod overview;
mod skills;
mod skill;
mod versions;
mod catalog;
mod proposals;
mod events;
mod sessions;
mod sign_in;
mod routes;

pub(crate) use routes::{asset_routes, routes, secure};
pub(crate) use sign_in::{SignInPage, sign_in, sign_in_address};
pub(crate) use sign_in::{not_found, not_opened};
