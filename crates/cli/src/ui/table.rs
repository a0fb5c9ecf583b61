//! Aligned tables.

use std::borrow::Cow;
use std::io;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::escape::escape;
use super::output::Ui;
use super::style::Style;

/// The blanks between two columns.
const GAP: usize = 2;

/// The fewest columns of the screen a column that gives way is cut to.
const MIN_ELASTIC: usize = 16;

/// The fewest columns of the screen that any other text is cut to.
const MIN_TEXT: usize = 6;

/// On which side a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// On the left, as text does.
    Left,
    /// On the right, as numbers do.
    Right,
    /// On the left, and cut where the screen is too narrow.
    Elastic,
}

/// The heading and shape of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    /// The heading.
    pub heading: &'static str,
    /// The alignment of its cells.
    pub align: Align,
    /// The style of its cells.
    pub style: Option<Style>,
}

/// Rows of untrusted text under columns.
pub(crate) struct Table<'a> {
    columns: Vec<Column>,
    /// Row by row, one for each column.
    cells: Vec<Cow<'a, str>>,
}

impl<'a> Table<'a> {
    /// Returns an empty table.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self { columns, cells: Vec::new() }
    }

    /// Adds a cell, which is escaped here; a row ends when every column has one.
    pub(crate) fn cell(&mut self, text: impl Into<Cow<'a, str>>) {
        self.cells.push(match text.into() {
            Cow::Borrowed(text) => escape(text),
            Cow::Owned(text) => Cow::Owned(escape(&text).into_owned()),
        });
    }

    /// Writes the table, headings first.
    pub(crate) fn write(&self, ui: &mut Ui) -> io::Result<()> {
        let widths = self.widths(ui.width());
        let headings: Vec<Cow<'_, str>> = self.columns.iter().map(|column| column.heading.into()).collect();
        let mut line = String::new();
        self.line(&headings, &widths, |_| Some(Style::Faint), ui, &mut line);
        ui.out().write_all(line.as_bytes())?;
        for row in self.rows() {
            line.clear();
            self.line(row, &widths, |column| column.style, ui, &mut line);
            ui.out().write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn rows(&self) -> impl Iterator<Item = &[Cow<'a, str>]> {
        self.cells.chunks(self.columns.len().max(1))
    }

    fn widths(&self, available: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|column| column.heading.width()).collect();
        for row in self.rows() {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(columns(cell));
            }
        }
        let gaps = GAP * widths.len().saturating_sub(1);
        // The description gives way first, then the widest of the other texts; numbers stay whole.
        for (give_way, least) in
            [(&[Align::Elastic][..], MIN_ELASTIC), (&[Align::Elastic, Align::Left], MIN_TEXT)]
        {
            while widths.iter().sum::<usize>() + gaps > available {
                let texts = self.columns.iter().zip(&mut widths);
                let texts =
                    texts.filter(|(column, width)| give_way.contains(&column.align) && **width > least);
                let Some((_, widest)) = texts.max_by_key(|(_, width)| **width) else { break };
                *widest -= 1;
            }
        }
        widths
    }

    /// Appends a row to `line`, a buffer that all rows share.
    fn line(
        &self,
        cells: &[Cow<'_, str>],
        widths: &[usize],
        style: impl Fn(&Column) -> Option<Style>,
        ui: &Ui,
        line: &mut String,
    ) {
        // Even the least widths may be too much for a very narrow screen, which shows the first columns.
        let mut room = ui.width();
        for (index, ((column, width), cell)) in self.columns.iter().zip(widths).zip(cells).enumerate() {
            if room == 0 {
                break;
            }
            let width = (*width).min(room);
            room = room.saturating_sub(width + GAP);
            let cut = cut(cell, width);
            let padding = width.saturating_sub(columns(&cut));
            let is_last = index + 1 == self.columns.len();
            if column.align == Align::Right {
                blanks(padding, line);
            }
            match style(column).filter(|_| ui.is_coloured()) {
                Some(style) => line.push_str(&ui.paint(style, &cut)),
                None => line.push_str(&cut),
            }
            if column.align != Align::Right && !is_last {
                blanks(padding, line);
            }
            if !is_last {
                blanks(GAP, line);
            }
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
    }
}

fn blanks(count: usize, line: &mut String) {
    line.extend(std::iter::repeat_n(' ', count));
}

/// Returns the number of columns that `text` takes on the screen; every byte of escaped ASCII takes one.
fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// Returns as much of `text` as fits `width` columns of the screen, with an ellipsis where it was cut.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let mut room = width.saturating_sub(1);
    let mut end = 0;
    for (index, c) in text.char_indices() {
        let taken = c.width().unwrap_or(0);
        if taken > room {
            break;
        }
        room -= taken;
        end = index + c.len_utf8();
    }
    Cow::Owned(format!("{}…", text[..end].trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_counts_columns_of_the_screen() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("技能技能", 5), "技能…");
        assert_eq!(cut("ab cd", 4), "ab…");
    }
}
