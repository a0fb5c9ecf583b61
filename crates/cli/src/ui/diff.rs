//! Shows what would change in a file.

use std::io;

use repertoire_model::patch::unified;

use super::escape::escape;
use super::output::Ui;
use super::style::Style;

impl Ui {
    /// Writes the changes from `before` to `after` of the file at `path`; `before` is `None` for a new file.
    ///
    /// It is part of the result, except with `--json`, where it is a message.
    pub(crate) fn write_diff(&mut self, path: &str, before: Option<&str>, after: &str) -> io::Result<()> {
        let side =
            |side: &str| if path.starts_with('/') { path.to_owned() } else { format!("{side}/{path}") };
        let from = before.map_or("/dev/null".to_owned(), |_| side("a"));
        let diff = unified(&from, &side("b"), before.unwrap_or_default(), after);
        for line in diff.lines() {
            self.write_planned(Style::of_diff_line(line), line)?;
        }
        self.flush()
    }

    /// Writes a line of the plan to where [`Ui::write_diff`] writes.
    pub(crate) fn write_planned(&mut self, style: Option<Style>, line: &str) -> io::Result<()> {
        let escaped = escape(line);
        if self.is_json() {
            let line = style.map_or_else(|| escaped.to_string(), |style| self.paint_err(style, &escaped));
            return writeln!(self.err(), "{line}");
        }
        let line = style.map_or_else(|| escaped.to_string(), |style| self.paint(style, &escaped));
        writeln!(self.out(), "{line}")
    }
}
