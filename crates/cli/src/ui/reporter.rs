//! Messages of a workspace on standard error.

use std::any::Any;
use std::io::Write as _;

use repertoire_app::workspace::{Env, Reporter};

use super::escape::escape;
use super::output::Ui;
use super::progress::Progress;
use super::say::say;
use super::style::Style;
use super::wrap::wrap_indented;

/// Writes messages of a workspace to standard error.
#[derive(Debug)]
pub(crate) struct TerminalReporter {
    shows_progress: bool,
    is_coloured: bool,
    width: usize,
}

impl TerminalReporter {
    /// Returns the reporter that writes as `ui` does.
    pub(crate) fn new(ui: &Ui, env: &Env) -> Self {
        Self {
            shows_progress: Progress::is_shown(env),
            is_coloured: ui.is_err_coloured(),
            width: ui.err_width(),
        }
    }
}

impl Reporter for TerminalReporter {
    fn warn(&self, text: &str) {
        let word = "warning:";
        let text = wrap_indented(&escape(text), self.width, word.len() + 1);
        let line = format!("{} {text}\n", Style::Warning.paint(word, self.is_coloured));
        // Nothing can be reported when stderr is closed.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn note(&self, text: &str) {
        say(text);
    }

    fn progress(&self, what: &'static str) -> Box<dyn Any> {
        if self.shows_progress { Box::new(Progress::show(what)) } else { Box::new(()) }
    }
}
