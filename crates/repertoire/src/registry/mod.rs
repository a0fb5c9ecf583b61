//! All sources together: providers merged by precedence under a policy, published as numbered snapshots.

mod open;
mod snapshot;
mod catalog;
mod check;
mod resources;
mod remember;
#[cfg(test)]
mod tests;

pub use open::Registry;
pub use resources::Resources;
pub use snapshot::{Entry, Lookup, Route, Snapshot};
