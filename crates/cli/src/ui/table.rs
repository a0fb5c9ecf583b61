//! Aligned tables.

use std::borrow::Cow;
use std::io;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::escape::escape;
use super::output::Ui;
use super::style::Style;

/// The blanks between two columns.
const GAP: usize = 2;

/// The fewest columns of the screen that a text behind the names is cut to, before they are.
const MIN_READABLE: usize = 16;

/// The same of the text that gives way first.
const MIN_ELASTIC: usize = 11;

/// The fewest columns of the screen that any text is cut to.
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

/// The heading of a column, the side on which its cells stand, and their style.
type Column = (&'static str, Align, Option<Style>);

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
        let headings: Vec<Cow<'_, str>> =
            self.columns.iter().map(|(heading, ..)| (*heading).into()).collect();
        let mut line = String::new();
        self.line(&headings, &widths, Some(Style::Faint), ui, &mut line);
        ui.out().write_all(line.as_bytes())?;
        for row in self.rows() {
            line.clear();
            self.line(row, &widths, None, ui, &mut line);
            ui.out().write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn rows(&self) -> impl Iterator<Item = &[Cow<'a, str>]> {
        self.cells.chunks(self.columns.len().max(1))
    }

    fn widths(&self, available: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|(heading, ..)| heading.width()).collect();
        for row in self.rows() {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(columns(cell));
            }
        }
        let gaps = GAP * widths.len().saturating_sub(1);
        // The description gives way first, then the widest other text, the names last; numbers stay whole.
        let names = self.columns.iter().position(|(_, align, _)| *align == Align::Left).unwrap_or_default();
        let (elastic, both) = (&[Align::Elastic][..], &[Align::Elastic, Align::Left][..]);
        for (first, give_way, least) in [
            (0, elastic, MIN_READABLE),
            (names + 1, both, MIN_READABLE),
            (0, elastic, MIN_ELASTIC),
            (0, both, MIN_TEXT),
        ] {
            while widths.iter().sum::<usize>() + gaps > available {
                let texts = self.columns.iter().zip(&mut widths).skip(first);
                let texts =
                    texts.filter(|((_, align, _), width)| give_way.contains(align) && **width > least);
                let Some((_, widest)) = texts.max_by_key(|(_, width)| **width) else { break };
                *widest -= 1;
            }
        }
        widths
    }

    /// Appends a row to `line`, a buffer of all rows. Without a `style`, cells have that of their column.
    fn line(
        &self,
        cells: &[Cow<'_, str>],
        widths: &[usize],
        style: Option<Style>,
        ui: &Ui,
        line: &mut String,
    ) {
        // Even the least widths may be too much for a very narrow screen, which shows the first columns.
        let mut room = ui.width();
        for (index, (((_, align, own), width), cell)) in
            self.columns.iter().zip(widths).zip(cells).enumerate()
        {
            if room == 0 {
                break;
            }
            let width = (*width).min(room);
            room = room.saturating_sub(width + GAP);
            let cut = cut(cell, width);
            let padding = width.saturating_sub(columns(&cut));
            let is_last = index + 1 == self.columns.len();
            if *align == Align::Right {
                blanks(padding, line);
            }
            match style.or(*own).filter(|_| ui.is_coloured()) {
                Some(style) => line.push_str(&ui.paint(style, &cut)),
                None => line.push_str(&cut),
            }
            if *align != Align::Right && !is_last {
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
    fn descriptions_give_way_before_names() {
        let mut table = Table::new(vec![
            ("NAME", Align::Left, None),
            ("TOKENS", Align::Right, None),
            ("SOURCE", Align::Left, None),
            ("DESCRIPTION", Align::Elastic, None),
        ]);
        for width in [30, 9, 20, 60] {
            table.cell("x".repeat(width));
        }
        for (available, expect) in [
            (200, [30, 9, 20, 60]),
            (90, [30, 9, 20, 25]),
            (80, [30, 9, 19, 16]),
            (72, [30, 9, 16, 11]),
            (60, [18, 9, 16, 11]),
            (40, [9, 9, 8, 8]),
        ] {
            assert_eq!(table.widths(available), expect, "{available}");
        }
    }

    #[test]
    fn cutting_counts_columns_of_the_screen() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("技能技能", 5), "技能…");
        assert_eq!(cut("ab cd", 4), "ab…");
    }
}
