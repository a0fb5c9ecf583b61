//! All sources together: providers merged by precedence under a policy, published as numbered snapshots.

mod open;
mod remember;
mod snapshot;

pub use open::Registry;
pub use snapshot::{Entry, Lookup, Route, Snapshot};
