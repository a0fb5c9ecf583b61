//! Changes of skills as unified diffs: made, applied and merged in memory.
//!
//! [`apply`] is for diffs that models write: it counts the lines of hunks itself, finds hunks that moved, and
//! takes names of files with or without `a/` and `b/`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use diffy::Patch;

use crate::bundle::{Bundle, BundleFile, Digest};
use crate::path::{PathFault, SkillPath};

/// The name that a diff has for the missing side of a new or removed file.
const NO_FILE: &str = "/dev/null";

/// A file of a skill with its bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct FileData {
    /// True if its owner may execute it.
    pub executable: bool,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl FileData {
    /// Returns a file that is not executable with these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self { executable: false, bytes: bytes.into() }
    }

    /// Returns its text, unless it is binary.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().filter(|text| !text.contains('\0'))
    }
}

impl fmt::Debug for FileData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy(&self.bytes);
        f.debug_struct("FileData").field("executable", &self.executable).field("bytes", &text).finish()
    }
}

/// The files of a skill with their bytes.
pub type SkillFiles = BTreeMap<SkillPath, FileData>;

/// Returns the bundle of `files`.
pub fn bundle(files: &SkillFiles) -> Bundle {
    let listed = files.iter().map(|(path, file)| BundleFile {
        path: path.clone(),
        size: file.bytes.len() as u64,
        executable: file.executable,
        digest: Digest::of(&file.bytes),
    });
    Bundle::new(listed.collect())
}

/// The reason that a diff cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatchFault {
    /// It has no hunks.
    Empty,
    /// A hunk stands before the name of a file.
    NoHeader,
    /// It renames or copies files, or changes binary ones.
    Unsupported(String),
    /// It names a file that a skill cannot have.
    Path(String, PathFault),
    /// It changes a file that is not there.
    NoFile(SkillPath),
    /// It creates a file that is there.
    Exists(SkillPath),
    /// It changes a file that is not text.
    Binary(SkillPath),
    /// A hunk does not match the file.
    Mismatch(SkillPath, String),
}

impl fmt::Display for PatchFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the diff has no hunks; write it as `diff -u` does"),
            Self::NoHeader => {
                f.write_str("a hunk comes before the lines `--- a/FILE` and `+++ b/FILE` that name its file")
            }
            Self::Unsupported(line) => {
                write!(f, "`{line}` is not supported; remove the one file and add the other")
            }
            Self::Path(path, fault) => write!(f, "`{path}` is not a file of a skill: {fault}"),
            Self::NoFile(path) => write!(f, "the skill has no file {path}"),
            Self::Exists(path) => write!(f, "the skill already has a file {path}"),
            Self::Binary(path) => write!(f, "{path} is not text"),
            Self::Mismatch(path, why) => {
                write!(f, "the diff does not match {path} ({why}); read the file again")
            }
        }
    }
}

impl std::error::Error for PatchFault {}

/// The part of a diff that is about one file.
#[derive(Debug, Default)]
struct FileDiff<'a> {
    original: &'a str,
    modified: &'a str,
    /// The mode that the file gets, if the diff says so.
    executable: Option<bool>,
    hunks: Vec<HunkLines<'a>>,
}

/// A hunk as it is written.
#[derive(Debug)]
struct HunkLines<'a> {
    /// The first line in the original.
    start: usize,
    lines: Vec<&'a str>,
}

/// Returns `files` after the unified diff `diff` was applied to them. The paths in it are those of files in
/// the skill, which is called `name`.
pub fn apply(files: &SkillFiles, diff: &str, name: &str) -> Result<SkillFiles, PatchFault> {
    let mut changed = files.clone();
    let parts = file_diffs(diff)?;
    if parts.is_empty() {
        return Err(PatchFault::Empty);
    }
    for part in parts {
        apply_file(&mut changed, &part, name)?;
    }
    Ok(changed)
}

fn apply_file(files: &mut SkillFiles, part: &FileDiff<'_>, name: &str) -> Result<(), PatchFault> {
    let path = |text: &str| {
        let path = within_skill(text, files, name);
        SkillPath::new(path).map_err(|fault| PatchFault::Path(text.to_owned(), fault))
    };
    let target = path(if part.modified == NO_FILE { part.original } else { part.modified })?;
    if part.original != NO_FILE && path(part.original)? != target {
        return Err(PatchFault::Unsupported(format!("--- {} and +++ {}", part.original, part.modified)));
    }
    let only_adds = part.hunks.iter().flat_map(|hunk| &hunk.lines).all(|line| line.starts_with(['+', '\\']));
    let is_new = part.original == NO_FILE || (!files.contains_key(&target) && only_adds);
    let file = match files.get(&target) {
        Some(_) if is_new => return Err(PatchFault::Exists(target)),
        None if !is_new => return Err(PatchFault::NoFile(target)),
        file => file.cloned().unwrap_or_else(|| FileData::new([])),
    };
    let Some(text) = file.text() else { return Err(PatchFault::Binary(target)) };
    let text = patched(text, part).map_err(|why| PatchFault::Mismatch(target.clone(), why))?;
    if part.modified == NO_FILE {
        if !text.is_empty() {
            return Err(PatchFault::Mismatch(
                target,
                "it removes the file, but not all of its lines".to_owned(),
            ));
        }
        files.remove(&target);
        return Ok(());
    }
    let executable = part.executable.unwrap_or(file.executable);
    files.insert(target, FileData { executable, bytes: text.into_bytes() });
    Ok(())
}

/// Returns the path of a file in the skill that a diff calls `text`.
fn within_skill<'t>(text: &'t str, files: &SkillFiles, name: &str) -> &'t str {
    let is_known = |path: &str| SkillPath::new(path).is_ok_and(|path| files.contains_key(&path));
    let mut path = text;
    if let Some(rest) = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"))
        && !is_known(path)
    {
        path = rest;
    }
    match path.split_once(&format!("{name}/")) {
        Some((before, rest)) if !is_known(path) && (before.is_empty() || before.ends_with('/')) => rest,
        _ => path,
    }
}

/// Returns `text` with the hunks of `part`; fails with the reason.
fn patched(text: &str, part: &FileDiff<'_>) -> Result<String, String> {
    let lines = || part.hunks.iter().flat_map(|hunk| hunk.lines.iter());
    // Models write lines that end in LF, and no note about a missing line end.
    let has_crlf = text.contains("\r\n") && !lines().any(|line| line.ends_with('\r'));
    let mut base = if has_crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
    if !base.is_empty() && !base.ends_with('\n') && !lines().any(|line| line.starts_with('\\')) {
        base.push('\n');
    }
    let mut patch = "--- a\n+++ b\n".to_owned();
    let mut moved = 0_isize;
    for HunkLines { start, lines } in &part.hunks {
        let count = |sides: [char; 2]| lines.iter().filter(|line| line.starts_with(sides)).count();
        let (old, new) = (count([' ', '-']), count([' ', '+']));
        let first = |count: usize, start: usize| if count == 0 { start.saturating_sub(1) } else { start };
        let new_start = start.saturating_add_signed(moved);
        patch += &format!("@@ -{},{old} +{},{new} @@\n", first(old, *start), first(new, new_start));
        for line in lines {
            patch += line;
            patch.push('\n');
        }
        moved += new as isize - old as isize;
    }
    let patch = Patch::from_str(&patch).map_err(|error| error.to_string())?;
    let text = diffy::apply(&base, &patch).map_err(|error| error.to_string())?;
    Ok(if has_crlf { text.replace('\n', "\r\n") } else { text })
}

fn file_diffs(diff: &str) -> Result<Vec<FileDiff<'_>>, PatchFault> {
    let mut parts: Vec<FileDiff<'_>> = Vec::new();
    let mut executable = None;
    let mut lines = diff.lines().peekable();
    // Lines belong to a hunk until a line that cannot.
    let mut is_in_hunk = false;
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        if let (Some(original), Some(modified)) = (line.strip_prefix("--- "), next.strip_prefix("+++ ")) {
            lines.next();
            let (original, modified) = (file_name(original), file_name(modified));
            parts.push(FileDiff { original, modified, executable: executable.take(), hunks: Vec::new() });
            is_in_hunk = false;
        } else if line.starts_with("@@") {
            let Some(part) = parts.last_mut() else { return Err(PatchFault::NoHeader) };
            part.hunks.push(HunkLines { start: start_line(line), lines: Vec::new() });
            is_in_hunk = true;
        } else if let Some(mode) =
            line.strip_prefix("new file mode ").or_else(|| line.strip_prefix("new mode "))
        {
            executable = Some(mode.trim() == "100755");
            is_in_hunk = false;
        } else if ["rename ", "copy ", "Binary files ", "GIT binary patch"]
            .iter()
            .any(|start| line.starts_with(start))
            && !is_in_hunk
        {
            return Err(PatchFault::Unsupported(line.chars().take(120).collect()));
        } else if is_in_hunk && (line.is_empty() || line.starts_with([' ', '+', '-', '\\'])) {
            let hunk = parts.last_mut().and_then(|part| part.hunks.last_mut());
            if let Some(hunk) = hunk {
                hunk.lines.push(if line.is_empty() { " " } else { line });
            }
        } else {
            is_in_hunk = false;
        }
    }
    parts.retain(|part| !part.hunks.is_empty());
    for hunk in parts.iter_mut().flat_map(|part| &mut part.hunks) {
        // Blank lines at the end stand between hunks or after the diff.
        while hunk.lines.last() == Some(&" ") {
            hunk.lines.pop();
        }
    }
    Ok(parts)
}

/// Returns the name of the file in a header line, without the time that may follow.
fn file_name(text: &str) -> &str {
    text.split('\t').next().unwrap_or_default().trim().trim_matches('"')
}

/// Returns the first line of a hunk in the original, as its header says; 1 where it does not.
fn start_line(header: &str) -> usize {
    let numbers = header.trim_start_matches('@').trim_start().strip_prefix('-').unwrap_or_default();
    let end = numbers.find(|c: char| !c.is_ascii_digit()).unwrap_or(numbers.len());
    numbers[..end].parse().unwrap_or(1).max(1)
}

/// Returns the difference between two states of a skill as a unified diff, sorted by path; empty if equal.
pub fn diff(before: &SkillFiles, after: &SkillFiles) -> String {
    let paths: BTreeSet<&SkillPath> = before.keys().chain(after.keys()).collect();
    let mut text = String::new();
    for path in paths {
        let (old, new) = (before.get(path), after.get(path));
        if old == new {
            continue;
        }
        text += &file_diff(path, old, new);
    }
    text
}

fn file_diff(path: &SkillPath, old: Option<&FileData>, new: Option<&FileData>) -> String {
    let mut text = format!("diff --git a/{path} b/{path}\n");
    let mode = |file: &FileData| if file.executable { "100755" } else { "100644" };
    match (old, new) {
        (None, Some(new)) => text += &format!("new file mode {}\n", mode(new)),
        (Some(old), None) => text += &format!("deleted file mode {}\n", mode(old)),
        (Some(old), Some(new)) if old.executable != new.executable => {
            text += &format!("old mode {}\nnew mode {}\n", mode(old), mode(new));
        }
        _ => {}
    }
    let name = |side: char, file: Option<&FileData>| match file {
        Some(_) => format!("{side}/{path}"),
        None => NO_FILE.to_owned(),
    };
    let (old_name, new_name) = (name('a', old), name('b', new));
    let content =
        |file: Option<&FileData>| file.map_or(Some(String::new()), |file| file.text().map(str::to_owned));
    let (Some(before), Some(after)) = (content(old), content(new)) else {
        return text + &format!("Binary files {old_name} and {new_name} differ\n");
    };
    text + &unified(&old_name, &new_name, &before, &after)
}

/// Returns the unified diff from `before`, in a file called `old_name`, to `after`; empty if they are equal.
pub fn unified(old_name: &str, new_name: &str, before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    let mut options = diffy::DiffOptions::new();
    options.set_original_filename(old_name.to_owned()).set_modified_filename(new_name.to_owned());
    options.create_patch(before, after).to_string()
}

/// A file that two sides changed in different ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The file.
    pub path: SkillPath,
    /// Its text with both changes between markers; `None` if one side removed it, or it is not text.
    pub marked: Option<String>,
}

/// Returns `ours` with the changes from `base` to `theirs`; fails with the files that conflict.
pub fn merge(base: &SkillFiles, ours: &SkillFiles, theirs: &SkillFiles) -> Result<SkillFiles, Vec<Conflict>> {
    let paths: BTreeSet<&SkillPath> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let mut merged = SkillFiles::new();
    let mut conflicts = Vec::new();
    for path in paths {
        match merge_file(base.get(path), ours.get(path), theirs.get(path)) {
            Ok(Some(file)) => {
                merged.insert(path.clone(), file);
            }
            Ok(None) => {}
            Err(marked) => conflicts.push(Conflict { path: path.clone(), marked }),
        }
    }
    if conflicts.is_empty() { Ok(merged) } else { Err(conflicts) }
}

fn merge_file(
    base: Option<&FileData>,
    ours: Option<&FileData>,
    theirs: Option<&FileData>,
) -> Result<Option<FileData>, Option<String>> {
    if ours == theirs || base == theirs {
        return Ok(ours.cloned());
    }
    if base == ours {
        return Ok(theirs.cloned());
    }
    let (Some(our_file), Some(their_file)) = (ours, theirs) else { return Err(None) };
    let (Some(our_text), Some(their_text)) = (our_file.text(), their_file.text()) else { return Err(None) };
    let base_text = base.map_or(Some(""), FileData::text).ok_or(None)?;
    let bytes = diffy::merge(base_text, our_text, their_text).map_err(Some)?.into_bytes();
    let was_executable = base.is_some_and(|base| base.executable);
    let changed = |file: &FileData| file.executable != was_executable;
    let executable = if changed(our_file) { our_file.executable } else { their_file.executable };
    Ok(Some(FileData { executable, bytes }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> SkillPath {
        SkillPath::new(text).unwrap()
    }

    fn files(list: &[(&str, &str)]) -> SkillFiles {
        list.iter().map(|(name, text)| (path(name), FileData::new(*text))).collect()
    }

    const BODY: &str = "---\nname: pdf\n---\n# PDF\n\none\ntwo\nthree\n";

    fn applied(diff: &str) -> Result<String, PatchFault> {
        let changed = apply(&files(&[("SKILL.md", BODY)]), diff, "pdf")?;
        Ok(String::from_utf8(changed[&path("SKILL.md")].bytes.clone()).unwrap())
    }

    #[test]
    fn diffs_as_models_write_them_are_applied() {
        let expect = BODY.replace("two", "2");
        for diff in [
            "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -6,3 +6,3 @@\n one\n-two\n+2\n three\n",
            // Wrong counts, wrong lines, no line end.
            "--- SKILL.md\n+++ SKILL.md\n@@ -1,9 +1,1 @@\n one\n-two\n+2\n three",
            // No numbers, text around it, blank lines after it.
            "Here is it:\n\n--- a/pdf/SKILL.md\n+++ b/pdf/SKILL.md\n@@\n one\n-two\n+2\n\n\n```\n",
            "--- skills/pdf/SKILL.md\t2026-01-01\n+++ skills/pdf/SKILL.md\t2026-01-02\n@@ -7 +7 @@\n-two\n+2\n",
            // An empty line instead of a blank one.
            "diff --git a/SKILL.md b/SKILL.md\nindex 1..2 100644\n--- a/SKILL.md\n+++ b/SKILL.md\n@@ -4,4 +4,4 @@ x\n # PDF\n\n one\n-two\n+2\n",
        ] {
            assert_eq!(applied(diff).as_deref(), Ok(&*expect), "{diff}");
        }
    }

    #[test]
    fn two_hunks_are_applied_to_one_file() {
        let diff = "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -2 +2,2 @@\n name: pdf\n+version: 2\n@@ -8 +9 @@\n-three\n+3\n";
        assert_eq!(
            applied(diff).unwrap(),
            BODY.replace("three", "3").replace("name: pdf\n", "name: pdf\nversion: 2\n")
        );
    }

    #[test]
    fn faults_say_what_is_wrong() {
        let check = |diff: &str, expect: &str| {
            let fault = applied(diff).unwrap_err().to_string();
            assert!(fault.contains(expect), "{diff}: {fault}");
        };
        check("", "no hunks");
        check("just text\n", "no hunks");
        check("@@ -1 +1 @@\n-a\n+b\n", "before the lines");
        check("--- a/SKILL.md\n+++ b/SKILL.md\n@@ -7 +7 @@\n-zwei\n+2\n", "does not match SKILL.md");
        check("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", "not a file of a skill");
        check("--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n", "not a file of a skill");
        check("--- a/no.md\n+++ b/no.md\n@@ -1 +1 @@\n-a\n+b\n", "has no file no.md");
        check("--- /dev/null\n+++ b/SKILL.md\n@@ -0,0 +1 @@\n+a\n", "already has");
        check("--- a/SKILL.md\n+++ /dev/null\n@@ -1 +0,0 @@\n----\n", "not all of its lines");
        check("diff --git a/x b/y\nrename from x\nrename to y\n", "not supported");
        check("--- a/SKILL.md\n+++ b/other.md\n@@ -7 +7 @@\n-two\n+2\n", "not supported");
        check("diff --git a/x b/x\nBinary files a/x and b/x differ\n", "not supported");
    }

    #[test]
    fn files_are_created_and_removed_with_their_mode() {
        let base = files(&[("SKILL.md", BODY), ("references/a.md", "a\n")]);
        let diff = "--- /dev/null\n+++ b/references/b.md\n@@ -0,0 +1 @@\n+b\n--- a/references/a.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\
                    diff --git a/scripts/x.sh b/scripts/x.sh\nnew file mode 100755\n--- /dev/null\n+++ b/scripts/x.sh\n@@ -0,0 +1 @@\n+true\n";
        let changed = apply(&base, diff, "pdf").unwrap();
        let mut expect = files(&[("SKILL.md", BODY), ("references/b.md", "b\n"), ("scripts/x.sh", "true\n")]);
        expect.get_mut(&path("scripts/x.sh")).unwrap().executable = true;
        assert_eq!(changed, expect);
    }

    #[test]
    fn line_ends_stay_as_they_are() {
        let base = files(&[("SKILL.md", "one\r\ntwo\r\nthree")]);
        let diff = "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
        let changed = apply(&base, diff, "pdf").unwrap();
        assert_eq!(changed, files(&[("SKILL.md", "one\r\n2\r\nthree\r\n")]));
    }

    #[test]
    fn merges_keep_both_changes_and_report_conflicts() {
        let base = files(&[("SKILL.md", BODY), ("a", "a\n"), ("b", "b\n")]);
        let ours = files(&[
            ("SKILL.md", &BODY.replace("# PDF", "# PDFs")),
            ("a", "a\n"),
            ("b", "b2\n"),
            ("c", "c\n"),
        ]);
        let theirs = files(&[("SKILL.md", &BODY.replace("three", "3")), ("b", "b\n"), ("d", "d\n")]);
        let both = BODY.replace("# PDF", "# PDFs").replace("three", "3");
        assert_eq!(
            merge(&base, &ours, &theirs).unwrap(),
            files(&[("SKILL.md", &both), ("b", "b2\n"), ("c", "c\n"), ("d", "d\n")])
        );
        let theirs = files(&[("SKILL.md", &BODY.replace("# PDF", "# P")), ("a", "a\n")]);
        let conflicts = merge(&base, &ours, &theirs).unwrap_err();
        assert_eq!(conflicts.len(), 2);
        assert!(conflicts[0].marked.as_ref().is_some_and(|text| text.contains("<<<<<<<")));
        assert_eq!((conflicts[1].path.as_str(), &conflicts[1].marked), ("b", &None));
    }

    proptest! {
        #[test]
        fn a_diff_leads_from_one_state_to_the_other(
            before in "([a-c ]{0,3}\n){0,12}", after in "([a-c ]{0,3}\n){0,12}", is_new: bool
        ) {
            let (old, new) = (files(&[("SKILL.md", &before)]), files(&[("SKILL.md", &after)]));
            let old = if is_new { SkillFiles::new() } else { old };
            let text = diff(&old, &new);
            if text.lines().any(|line| line.starts_with("@@")) {
                prop_assert_eq!(apply(&old, &text, "pdf").unwrap(), new);
            }
        }

        #[test]
        fn no_text_makes_it_panic(diff in "((--- a/SKILL.md|\\+\\+\\+ b/SKILL.md|@@ -1 \\+1 @@|[ +-]?[a-c]{0,2}|\\\\ No newline|new file mode 100755)\n){0,14}") {
            let _ = applied(&diff);
        }
    }
}
