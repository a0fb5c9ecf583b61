//! All sources together: providers merged by precedence under a policy, published as numbered snapshots.

mod open;
mod snapshot;
mod catalog;
mod check;
mod remember;
#[cfg(test)]
mod tests;

pub use open::Registry;
pub use snapshot::{Entry, Lookup, Route, Snapshot};
