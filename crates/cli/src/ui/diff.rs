//! Shows what would change in a file.

use std::io;

use repertoire_model::patch::{SkillFiles, diff, unified};

use super::output::Ui;
use super::style::Style;

/// The most lines of a diff that are shown.
const MAX_LINES: usize = 400;

impl Ui {
    /// Writes the changes from `before` to `after` of the file at `path`; `before` is `None` for a new file.
    ///
    /// It is part of the result, except with `--json`, where it is a message.
    pub(crate) fn write_diff(&mut self, path: &str, before: Option<&str>, after: &str) -> io::Result<()> {
        let side =
            |side: &str| if path.starts_with('/') { path.to_owned() } else { format!("{side}/{path}") };
        let from = before.map_or("/dev/null".to_owned(), |_| side("a"));
        let diff = unified(&from, &side("b"), before.unwrap_or_default(), after);
        self.write_diff_lines(&diff)?;
        self.flush()
    }

    /// Writes the lines of a `diff`, where [`Ui::write_diff`] writes.
    pub(crate) fn write_diff_lines(&mut self, diff: &str) -> io::Result<()> {
        diff.lines().try_for_each(|line| self.write_planned(Style::of_diff_line(line), line))
    }

    /// Writes the first differences between two states of a skill, where [`Ui::write_diff`] writes.
    pub(crate) fn write_skill_diff(&mut self, before: &SkillFiles, after: &SkillFiles) -> io::Result<()> {
        let diff = diff(before, after);
        let number = diff.lines().count();
        let shown: Vec<&str> = diff.lines().take(MAX_LINES).collect();
        self.write_diff_lines(&shown.join("\n"))?;
        if number > MAX_LINES {
            let more = format!("and {} more lines", number - MAX_LINES);
            self.write_planned(Some(Style::Faint), &more)?;
        }
        Ok(())
    }

    /// Writes a line of the plan to where [`Ui::write_diff`] writes.
    pub(crate) fn write_planned(&mut self, style: Option<Style>, line: &str) -> io::Result<()> {
        let escaped = self.shown(line);
        if self.is_json() {
            let line = style.map_or_else(|| escaped.clone(), |style| self.paint_err(style, &escaped));
            return writeln!(self.err(), "{line}");
        }
        let line = style.map_or_else(|| escaped.clone(), |style| self.paint(style, &escaped));
        writeln!(self.out(), "{line}")
    }
}
