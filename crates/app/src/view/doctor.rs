//! The checks of the set-up.

use schemars::JsonSchema;
use serde::Serialize;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// It works.
    Ok,
    /// Something is not there or does not work, and need not.
    Info,
    /// It works in part.
    Warn,
    /// It does not work.
    Error,
}

/// A check of the set-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckView {
    /// The result: `ok`, `info` for something that is not there or does not work and need not, `warn` or
    /// `error`.
    #[schemars(with = "String")]
    pub status: CheckStatus,
    /// The subject.
    pub topic: &'static str,
    /// The result in words.
    pub message: String,
    /// The advice, where there is one.
    pub hint: Option<String>,
}

/// All checks of the set-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorView {
    /// True if no check has the status `error`.
    pub ok: bool,
    /// The version of the program.
    pub version: &'static str,
    /// The checks.
    pub checks: Vec<CheckView>,
}
