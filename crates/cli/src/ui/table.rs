//! Aligned tables.

use std::io;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{Style, Ui, escape};

/// The blanks between two columns.
const GAP: usize = 2;

/// The fewest columns of the screen a column that gives way is cut to.
const MIN_ELASTIC: usize = 16;

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
    /// What stands above it.
    pub heading: &'static str,
    /// How its cells stand.
    pub align: Align,
    /// How its cells look.
    pub style: Option<Style>,
}

/// Rows of untrusted text under columns.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns an empty table.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; its cells are escaped here.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| escape(&cell).into_owned()).collect());
    }

    /// Writes the table, headings first.
    pub(crate) fn write(&self, ui: &mut Ui) -> io::Result<()> {
        let widths = self.widths(ui.width());
        let headings: Vec<String> = self.columns.iter().map(|column| column.heading.to_owned()).collect();
        let line = self.line(&headings, &widths, |_| Some(Style::Faint), ui);
        ui.out().write_all(line.as_bytes())?;
        for row in &self.rows {
            let line = self.line(row, &widths, |column| column.style, ui);
            ui.out().write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn widths(&self, available: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|column| column.heading.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(columns(cell));
            }
        }
        let total: usize = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let excess = total.saturating_sub(available);
        if let Some(elastic) = self.columns.iter().position(|column| column.align == Align::Elastic) {
            widths[elastic] = widths[elastic].saturating_sub(excess).max(MIN_ELASTIC.min(widths[elastic]));
        }
        widths
    }

    fn line(
        &self,
        cells: &[String],
        widths: &[usize],
        style: impl Fn(&Column) -> Option<Style>,
        ui: &Ui,
    ) -> String {
        let mut line = String::new();
        for (index, ((column, width), cell)) in self.columns.iter().zip(widths).zip(cells).enumerate() {
            let cut = cut(cell, *width);
            let padding = " ".repeat(width.saturating_sub(columns(&cut)));
            let painted = style(column).map_or_else(|| cut.clone(), |style| ui.paint(style, &cut));
            let is_last = index + 1 == self.columns.len();
            match column.align {
                Align::Right => line.push_str(&format!("{padding}{painted}")),
                _ if is_last => line.push_str(&painted),
                _ => line.push_str(&format!("{painted}{padding}")),
            }
            if !is_last {
                line.push_str(&" ".repeat(GAP));
            }
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }
}

/// Returns how many columns of the screen `text` takes; of escaped ASCII every byte takes one.
fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// Returns as much of `text` as fits `width` columns of the screen, with an ellipsis where it was cut.
fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
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
    format!("{}…", text[..end].trim_end())
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
