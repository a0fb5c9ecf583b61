//! Asks whether what was shown may be written.

use std::io;

use super::Ui;
use crate::error::CliError;

/// Whether what was shown may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// It may.
    Given,
    /// Somebody said no.
    Refused,
    /// Nobody is there to ask.
    Unasked,
}

impl Ui {
    /// Asks `question`, unless the answer was given beforehand with `yes`.
    pub(crate) fn consent(&mut self, question: &str, yes: bool) -> io::Result<Consent> {
        if yes {
            return Ok(Consent::Given);
        }
        if !self.is_interactive() {
            return Ok(Consent::Unasked);
        }
        Ok(if self.confirm(question)? { Consent::Given } else { Consent::Refused })
    }
}

impl Consent {
    /// Returns the error that tells that nothing was written of `what`, with what to do where nobody could be asked.
    pub(crate) fn nothing_written(self, what: &str, hint: &str) -> CliError {
        let error = CliError::no(format!("nothing was written: {what}"));
        if self == Self::Unasked { error.hint(hint) } else { error }
    }
}
