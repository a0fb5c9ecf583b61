//! Serialisable answers, one type for each noun: `rep X --json`, `GET /api/v1/X` and embedders get the same one.

mod diagnostic;

pub use diagnostic::{DiagnosticView, path_of};
