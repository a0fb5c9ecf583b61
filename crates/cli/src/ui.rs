//! Output to a person or a program: streams, colour, width, tables, diffs and questions.

mod consent;
mod diff;
mod escape;
mod home;
mod output;
mod progress;
mod reporter;
mod say;
mod snippet;
mod style;
mod table;
mod wrap;

pub(crate) use consent::{Consent, confirm};
pub(crate) use escape::{escape, escape_lines};
pub(crate) use output::Ui;
pub(crate) use progress::Progress;
pub(crate) use reporter::TerminalReporter;
#[cfg(test)]
pub(crate) use say::line;
pub(crate) use say::{log, say};
pub(crate) use snippet::{Note, render as render_note};
pub(crate) use style::Style;
pub(crate) use table::{Align, Table, cut};
pub(crate) use wrap::wrap_indented;
