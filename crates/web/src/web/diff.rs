//! Unified diffs as rows of a table, one below the other or side by side.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// In both.
    Same,
    /// Only in the new text.
    Added,
    /// Only in the old text.
    Removed,
}

impl LineKind {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }

    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Same => " ",
            Self::Added => "+",
            Self::Removed => "\u{2212}",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiffLine {
    pub(super) kind: LineKind,
    pub(super) old: Option<usize>,
    pub(super) new: Option<usize>,
    pub(super) text: String,
}

/// A row with a line of the old text and one of the new text side by side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SideRow {
    /// The line of the old text.
    pub(super) left: Option<DiffLine>,
    /// The line of the new text.
    pub(super) right: Option<DiffLine>,
}

/// A part of a file that changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// The heading, such as `@@ -1,3 +1,4 @@`.
    pub(super) heading: String,
    pub(super) lines: Vec<DiffLine>,
}

impl Hunk {
    /// Returns the lines side by side: removed ones beside the lines that take their place.
    pub(super) fn sides(&self) -> Vec<SideRow> {
        let mut rows = Vec::new();
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for line in &self.lines {
            match line.kind {
                LineKind::Removed if added.is_empty() => removed.push(line.clone()),
                LineKind::Added => added.push(line.clone()),
                _ => {
                    pair(&mut rows, &mut removed, &mut added);
                    if line.kind == LineKind::Removed {
                        removed.push(line.clone());
                    } else {
                        rows.push(SideRow { left: Some(line.clone()), right: Some(line.clone()) });
                    }
                }
            }
        }
        pair(&mut rows, &mut removed, &mut added);
        rows
    }
}

fn pair(rows: &mut Vec<SideRow>, removed: &mut Vec<DiffLine>, added: &mut Vec<DiffLine>) {
    let (mut left, mut right) = (removed.drain(..), added.drain(..));
    loop {
        let row = SideRow { left: left.next(), right: right.next() };
        if row == SideRow::default() {
            return;
        }
        rows.push(row);
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DiffFile {
    pub(super) path: String,
    /// `added`, `removed`, `changed`, or what else happened to it.
    pub(super) change: &'static str,
    /// The parts that changed.
    pub(super) hunks: Vec<Hunk>,
    /// Lines about the file that are not part of it, such as changed modes.
    pub(super) notes: Vec<String>,
}

pub(super) fn parse(diff: &str) -> Vec<DiffFile> {
    let mut files: Vec<DiffFile> = Vec::new();
    let (mut old, mut new) = (0, 0);
    // The lines of the hunk that are still to come; a line of a text may look like a heading.
    let (mut old_left, mut new_left) = (0, 0);
    for line in diff.lines() {
        if old_left > 0 || new_left > 0 {
            let Some(hunk) = files.last_mut().and_then(|file| file.hunks.last_mut()) else { continue };
            let kind = match line.as_bytes().first() {
                Some(b'+') => LineKind::Added,
                Some(b'-') => LineKind::Removed,
                Some(b'\\') => continue,
                _ => LineKind::Same,
            };
            let (in_old, in_new) = (kind != LineKind::Added, kind != LineKind::Removed);
            let text = line.get(1..).unwrap_or_default().to_owned();
            hunk.lines.push(DiffLine { kind, old: in_old.then_some(old), new: in_new.then_some(new), text });
            (old, new) = (old + usize::from(in_old), new + usize::from(in_new));
            old_left = usize::saturating_sub(old_left, usize::from(in_old));
            new_left = usize::saturating_sub(new_left, usize::from(in_new));
        } else if let Some(path) = line.strip_prefix("diff --git ") {
            let path = path.rsplit(" b/").next().unwrap_or(path);
            files.push(DiffFile { path: path.to_owned(), change: "changed", ..DiffFile::default() });
        } else if let Some((ranges, _)) = line.strip_prefix("@@ ").and_then(|rest| rest.split_once(" @@")) {
            if files.is_empty() {
                files.push(DiffFile { change: "changed", ..DiffFile::default() });
            }
            let mut ranges = ranges.split(' ').map(range);
            ((old, old_left), (new, new_left)) =
                (ranges.next().unwrap_or_default(), ranges.next().unwrap_or_default());
            if let Some(file) = files.last_mut() {
                file.hunks.push(Hunk { heading: line.to_owned(), lines: Vec::new() });
            }
        } else if let Some(path) = line.strip_prefix("--- ") {
            let is_new = files.last().is_none_or(|file| !file.hunks.is_empty());
            if is_new {
                let path = path.strip_prefix("a/").unwrap_or(path);
                files.push(DiffFile { path: path.to_owned(), change: "changed", ..DiffFile::default() });
            }
            if let Some(file) = files.last_mut().filter(|_| path == "/dev/null") {
                file.change = "added";
            }
        } else if let Some(path) = line.strip_prefix("+++ ") {
            if let Some(file) = files.last_mut() {
                if path == "/dev/null" {
                    file.change = "removed";
                } else {
                    file.path = path.strip_prefix("b/").unwrap_or(path).to_owned();
                }
            }
        } else if let Some(file) =
            files.last_mut().filter(|_| !line.is_empty() && !line.starts_with("index "))
        {
            file.notes.push(line.to_owned());
        }
    }
    files
}

/// Returns the first line and the number of lines of a range such as `-1,3`.
fn range(text: &str) -> (usize, usize) {
    let (start, lines) =
        text[1.min(text.len())..].split_once(',').unwrap_or((&text[1.min(text.len())..], "1"));
    (start.parse().unwrap_or(0), lines.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIFF: &str = "diff --git a/SKILL.md b/SKILL.md\n--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1,4 +1,4 @@\n one\n-two\n--- three\n+zwei\n+drei\n four\n\
        diff --git a/new.md b/new.md\nnew file mode 100644\n--- /dev/null\n+++ b/new.md\n@@ -0,0 +1 @@\n+hello\n";

    #[test]
    fn lines_are_numbered_and_lie_side_by_side() {
        let files = parse(DIFF);
        assert_eq!(
            files.iter().map(|file| (&*file.path, file.change)).collect::<Vec<_>>(),
            [("SKILL.md", "changed"), ("new.md", "added")]
        );
        let sides = files[0].hunks[0].sides();
        let text = |line: &Option<DiffLine>| line.as_ref().map(|line| line.text.clone()).unwrap_or_default();
        let rows: Vec<(String, String)> =
            sides.iter().map(|row| (text(&row.left), text(&row.right))).collect();
        let expect = [("one", "one"), ("two", "zwei"), ("-- three", "drei"), ("four", "four")];
        assert_eq!(rows, expect.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(files[0].hunks[0].lines[5].new, Some(4));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "([ +\\-@\\\\][^\n]{0,12}\n|@@ -1,2 \\+1,2 @@\n|--- a/x\n|\\+\\+\\+ b/x\n){0,30}") {
            for file in parse(&text) {
                for hunk in &file.hunks {
                    hunk.sides();
                }
            }
        }
    }
}
