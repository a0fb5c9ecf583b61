//! Everything that was found, with places and fingerprints.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use repertoire::discovery::repository_root;
use repertoire::provider::Problem;
use repertoire_app::view::path_of;
use repertoire_model::{Diagnostic, Digest, LineRange, SkillPath};

use super::target::CheckedSkill;
use crate::wire::Workspace;

/// Everything that was found, and the number of findings that do not count.
pub(super) struct Findings<'a> {
    pub(super) skills: Vec<CheckedSkill<'a>>,
    /// The findings about sources.
    pub(super) problems: Vec<Problem>,
    /// The number of findings that comments in the skills suppress.
    pub(super) suppressed: usize,
    /// The number of findings that the baseline lists.
    pub(super) in_baseline: usize,
}

impl Findings<'_> {
    /// Returns every finding.
    pub(super) fn all(&self) -> impl Iterator<Item = &Diagnostic> {
        let in_skills = self.skills.iter().flat_map(|checked| &checked.diagnostics);
        in_skills.chain(self.problems.iter().map(|problem| &problem.diagnostic))
    }

    /// Returns every finding with its place, in order.
    pub(super) fn placed(&self, workspace: &Workspace) -> Vec<PlacedFinding<'_>> {
        let mut fingerprints = Fingerprints::new(workspace);
        let mut placed = Vec::new();
        for problem in &self.problems {
            let (path, fingerprint) = fingerprints.next(&problem.path, &problem.diagnostic);
            placed.push(PlacedFinding { found: &problem.diagnostic, path, fingerprint, region: None });
        }
        for checked in &self.skills {
            let mut texts = Texts::new(checked);
            for found in &checked.diagnostics {
                let (path, fingerprint) = fingerprints.next(&path_of(checked.entry, found), found);
                let region = texts.region(found);
                placed.push(PlacedFinding { found, path, fingerprint, region });
            }
        }
        placed
    }

    /// Removes the findings whose fingerprints `is_known` takes, and counts them.
    pub(super) fn remove_known(&mut self, workspace: &Workspace, mut is_known: impl FnMut(&str) -> bool) {
        let mut fingerprints = Fingerprints::new(workspace);
        let mut removed = 0;
        let mut is_new = |path: &str, found: &Diagnostic| {
            let is_known = is_known(&fingerprints.next(path, found).1);
            removed += usize::from(is_known);
            !is_known
        };
        self.problems.retain(|problem| is_new(&problem.path, &problem.diagnostic));
        for CheckedSkill { entry, diagnostics, .. } in &mut self.skills {
            diagnostics.retain(|found| is_new(&path_of(entry, found), found));
        }
        self.in_baseline += removed;
    }
}

/// A finding with its place in the project.
pub(super) struct PlacedFinding<'a> {
    pub(super) found: &'a Diagnostic,
    /// The file, relative to the project where it is inside.
    pub(super) path: String,
    /// The same for the same finding after edits elsewhere in the file.
    pub(super) fingerprint: String,
    /// The lines and columns, where the file was read.
    pub(super) region: Option<Region>,
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

/// Returns the directory to which paths are relative: the repository, or else the working directory.
pub(super) fn project(workspace: &Workspace) -> PathBuf {
    let here = workspace.env.working_directory();
    repository_root(here, workspace.env.home().as_deref()).unwrap_or_else(|| here.to_owned())
}

/// Returns `path` relative to `project`, with `/` between its parts, where it is inside.
pub(super) fn path_inside(project: &Path, path: &str) -> String {
    let inside = Path::new(path).strip_prefix(project).ok().filter(|path| !path.as_os_str().is_empty());
    let parts = inside.map(|path| path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>());
    parts.map_or_else(|| path.to_owned(), |parts| parts.join("/"))
}

/// Makes the fingerprints of findings, in order.
struct Fingerprints {
    root: PathBuf,
    /// The number of findings so far that are alike.
    seen: HashMap<String, usize>,
}

impl Fingerprints {
    fn new(workspace: &Workspace) -> Self {
        Self { root: project(workspace), seen: HashMap::new() }
    }

    /// Returns the path of the next finding in the project, and its fingerprint.
    ///
    /// Lines and numbers in messages, such as counts of tokens, play no part: they change with every edit.
    fn next(&mut self, path: &str, found: &Diagnostic) -> (String, String) {
        let path = path_inside(&self.root, path);
        let message: String = found.message.chars().filter(|c| !c.is_ascii_digit()).collect();
        let key = format!("{}\n{path}\n{message}", found.rule);
        let number = self.seen.entry(key.clone()).or_default();
        let digest = Digest::of(format!("{key}\n{number}").as_bytes()).to_hex();
        *number += 1;
        (path, digest[..16].to_owned())
    }
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
        let text = self.texts.entry(file.to_owned()).or_insert_with(|| {
            let path = SkillPath::new(file).ok()?;
            let content =
                pollster::block_on(library.registry.read(entry, &path, LineRange::default())).ok()?;
            String::from_utf8(content.bytes).ok()
        });
        text.as_deref()
    }

    /// Returns the region that `found` points at.
    pub(super) fn region(&mut self, found: &Diagnostic) -> Option<Region> {
        let span = found.span?;
        let start = span.start as usize;
        Region::of(self.get(found)?, start, start + span.length as usize)
    }
}
