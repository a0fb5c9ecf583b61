//! Everything that was found, with places and fingerprints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire::discovery::repository_root;
use repertoire::provider::Problem;
use repertoire_app::view::path_of;
use repertoire_model::text::one_line;
use repertoire_model::{Diagnostic, LineRange, SkillPath};

use super::target::CheckedSkill;
use crate::wire::{Library, Workspace};

/// Everything that was found, and the number of findings that do not count.
pub(super) struct Findings<'a> {
    /// The directory to which paths are relative: the repository, or else the working directory.
    pub(super) project: PathBuf,
    pub(super) skills: Vec<CheckedSkill<'a>>,
    /// The findings about sources.
    pub(super) problems: Vec<Problem>,
    /// The number of findings that comments in the skills suppress.
    pub(super) suppressed: usize,
    /// The number of findings that the baseline lists.
    pub(super) in_baseline: usize,
}

impl<'a> Findings<'a> {
    pub(super) fn new(workspace: &Workspace, skills: Vec<CheckedSkill<'a>>, problems: Vec<Problem>) -> Self {
        let here = workspace.env.working_directory();
        let project =
            repository_root(here, workspace.env.home().as_deref()).unwrap_or_else(|| here.to_owned());
        Self { project, skills, problems, suppressed: 0, in_baseline: 0 }
    }

    /// Returns every finding.
    pub(super) fn all(&self) -> impl Iterator<Item = &Diagnostic> {
        let in_skills = self.skills.iter().flat_map(|checked| &checked.diagnostics);
        in_skills.chain(self.problems.iter().map(|problem| &problem.diagnostic))
    }

    /// Returns every finding with its place, in order.
    pub(super) fn placed(&self) -> Vec<PlacedFinding<'_>> {
        let place = |path: &str, found, region| {
            let path = path_inside(&self.project, path);
            PlacedFinding { found, path, region }
        };
        let problems = self.problems.iter();
        let mut placed: Vec<_> =
            problems.map(|problem| place(&problem.path, &problem.diagnostic, None)).collect();
        for checked in &self.skills {
            let mut texts = Texts::new(checked);
            placed.extend(checked.diagnostics.iter().map(|found| {
                let region = texts.region(found);
                place(&path_of(checked.entry, found), found, region)
            }));
        }
        placed
    }

    /// Keeps the findings whose lines `is_new` takes, and counts the others.
    pub(super) fn retain_new(&mut self, mut is_new: impl FnMut(&str) -> bool) {
        let before = self.all().count();
        let Self { project, skills, problems, .. } = self;
        let mut keeps = |path: &str, found: &Diagnostic| is_new(&line(&path_inside(project, path), found));
        problems.retain(|problem| keeps(&problem.path, &problem.diagnostic));
        for CheckedSkill { entry, diagnostics, .. } in skills {
            diagnostics.retain(|found| keeps(&path_of(entry, found), found));
        }
        self.in_baseline += before - self.all().count();
    }
}

/// A finding with its place in the project.
pub(super) struct PlacedFinding<'a> {
    pub(super) found: &'a Diagnostic,
    /// The file, relative to the project where it is inside.
    pub(super) path: String,
    /// The lines and columns, where the file was read.
    pub(super) region: Option<Region>,
}

impl PlacedFinding<'_> {
    /// Returns the message with the advice behind it.
    pub(super) fn message(&self) -> String {
        let Diagnostic { message, help, .. } = self.found;
        help.as_ref().map_or_else(|| message.clone(), |help| format!("{message}\nhelp: {help}"))
    }
}

/// Returns the finding `found` in the file at `path` as a line of a baseline.
pub(super) fn line(path: &str, found: &Diagnostic) -> String {
    one_line(&format!("{path}: {}: {}", found.rule, found.message))
}

/// Returns `line` without figures, such as counts of tokens, which change with every edit.
pub(super) fn without_digits(line: &str) -> String {
    line.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Returns `path` relative to `project`, with `/` between its parts, where it is inside.
pub(super) fn path_inside(project: &Path, path: &str) -> String {
    let inside = Path::new(path).strip_prefix(project).ok().filter(|path| !path.as_os_str().is_empty());
    let parts = inside.map(|path| path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>());
    parts.map_or_else(|| path.to_owned(), |parts| parts.join("/"))
}

/// A part of a text in lines and columns, from 1; columns count characters, and the end is behind the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) end_line: usize,
    pub(super) end_column: usize,
}

impl Region {
    /// Returns the region of the bytes from `start` to `end` of `text`.
    pub(super) fn of(text: &str, start: usize, end: usize) -> Option<Self> {
        let place = |offset: usize| {
            let before = text.get(..offset)?;
            let line_start = before.rfind('\n').map_or(0, |index| index + 1);
            Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
        };
        let ((line, column), (end_line, end_column)) = (place(start)?, place(end)?);
        Some(Self { line, column, end_line, end_column })
    }
}

/// Returns the text of the file `file` of a skill, if it is one.
pub(super) fn text_of(library: &Library, entry: &Entry, file: &str) -> Option<String> {
    let path = SkillPath::new(file).ok()?;
    let content = pollster::block_on(library.registry.read(entry, &path, LineRange::default())).ok()?;
    String::from_utf8(content.bytes).ok()
}

/// The texts of the files that findings point into, each read once.
pub(super) struct Texts<'a> {
    checked: &'a CheckedSkill<'a>,
    texts: BTreeMap<String, Option<String>>,
}

impl<'a> Texts<'a> {
    pub(super) fn new(checked: &'a CheckedSkill<'a>) -> Self {
        Self { checked, texts: BTreeMap::new() }
    }

    pub(super) fn get(&mut self, found: &Diagnostic) -> Option<&str> {
        found.span?;
        let CheckedSkill { library, entry, .. } = self.checked;
        let file = found.file.as_deref().unwrap_or(&entry.manifest_file);
        self.texts.entry(file.to_owned()).or_insert_with(|| text_of(library, entry, file)).as_deref()
    }

    /// Returns the region that `found` points at.
    pub(super) fn region(&mut self, found: &Diagnostic) -> Option<Region> {
        let span = found.span?;
        let start = span.start as usize;
        Region::of(self.get(found)?, start, start + span.length as usize)
    }
}
