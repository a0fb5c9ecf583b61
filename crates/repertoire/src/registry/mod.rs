//! All sources together: providers merged by precedence under a policy, published as numbered snapshots.

mod open;
mod listings;
mod builder;
mod snapshot;
mod catalog;
mod check;
mod requires;
mod resources;
mod remember;
#[cfg(test)]
mod tests;

pub use builder::RegistryBuilder;
pub use open::Registry;
pub use resources::Resources;
pub use snapshot::{Entry, Lookup, Route, Snapshot};
pub(crate) use requires::cycle;
pub(crate) use snapshot::{holder, nearest_among};
