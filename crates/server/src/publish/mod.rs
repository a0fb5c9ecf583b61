//! Publishing over HTTP: `PUT /api/v1/skills/{name}/versions/{version}` with an archive.

mod options;
mod put;

pub use options::{PublishOptions, Unpack};
pub(crate) use put::{MAX_ARCHIVE_BYTES, publish};
