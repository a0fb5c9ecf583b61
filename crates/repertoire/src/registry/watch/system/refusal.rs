//! Why a directory is not watched.

use std::fmt;
use std::io;

/// Why a directory is not watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Refusal {
    /// It is not there, or may not be read; whoever lists it tells that.
    Absent,
    /// The system has no more room for watches.
    Full(String),
}

impl Refusal {
    /// Returns what `error` on watching a directory means.
    #[cfg_attr(target_os = "linux", allow(dead_code, reason = "the system's own numbers are used there"))]
    pub(super) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied => {
                Self::Absent
            }
            _ => Self::Full(error.to_string()),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("the directory cannot be watched"),
            Self::Full(why) => write!(f, "the system refuses more watches: {why}"),
        }
    }
}
