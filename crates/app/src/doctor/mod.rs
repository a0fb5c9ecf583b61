//! Checks the set-up and says what to do.

mod checks;
mod clients;
mod following;
mod health;
mod sandboxes;
mod store;

pub use checks::checks;
pub use health::{HealthItem, HealthState, following, sandbox};
