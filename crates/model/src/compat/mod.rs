//! Other tools' behaviour, reproduced so that a project can swap them for this one without noticing.
//!
//! Nothing here is used by the rest of the crate: these modules keep another tool's answers, faults included, and
//! the crate's own answers live elsewhere.

pub mod skills_ref;
