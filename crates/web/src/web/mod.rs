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

pub(crate) use routes::{asset_routes, not_found, routes, secure};
pub(crate) use sign_in::not_opened;
pub(crate) use sign_in::{SignInPage, sign_in, sign_in_address};
