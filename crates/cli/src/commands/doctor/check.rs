//! One line of `rep doctor`.

use serde::Serialize;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Ok,
    Warn,
    Error,
}

/// One line of `rep doctor`.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) status: Status,
    pub(super) topic: &'static str,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}
