//! Published versions over HTTP: `/api/v1/skills/{name}/versions/{version}` takes and returns archives.

mod options;
mod put;
mod versions;
mod get;

pub(crate) use get::download;
pub use options::{PublishOptions, Unpack};
pub(crate) use put::PublishAnswer;
pub(crate) use put::{MAX_ARCHIVE_BYTES, PublishQuery, publish};
pub(crate) use versions::{channels_seen, published_versions, released_digests};
