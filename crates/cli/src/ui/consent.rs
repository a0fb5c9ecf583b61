//! Asks for consent before something is written.

use std::io;

use super::output::Ui;

/// The answer to a question whether something may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// Yes.
    Given,
    /// No.
    Refused,
    /// There is no terminal to ask on.
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
