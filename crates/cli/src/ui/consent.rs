//! Asks for consent before something is written.

use std::io::{self, BufRead as _, Write};

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
    /// Asks `question`, unless the answer was given beforehand with `yes`; anything but yes is no.
    pub(crate) fn consent(&mut self, question: &str, yes: bool) -> io::Result<Consent> {
        if yes {
            return Ok(Consent::Given);
        }
        if !self.is_interactive() {
            return Ok(Consent::Unasked);
        }
        self.flush()?;
        Ok(if confirm(self.err(), question)? { Consent::Given } else { Consent::Refused })
    }
}

impl Ui {
    /// Asks for a line of text; only for a person who can answer.
    pub(crate) fn ask(&mut self, question: &str) -> io::Result<String> {
        self.flush()?;
        write!(self.err(), "{question} ")?;
        self.err().flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(answer.trim().to_owned())
    }
}

/// Asks a yes-or-no question on `terminal`; anything but yes is no.
pub(crate) fn confirm(mut terminal: impl Write, question: &str) -> io::Result<bool> {
    write!(terminal, "{question} [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
