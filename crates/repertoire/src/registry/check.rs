//! Everything the rules find in a skill.

use std::path::{Path, PathBuf};

use repertoire_model::toolbox::{PYTHON_FILE, TOOLBOX_FILE, Toolbox};
use repertoire_model::validate::{self, BundleCheck, BundleFacts, LinkedSkill, Reporter, ToolFacts};
use repertoire_model::{Diagnostic, FileKind, LineRange, RuleId, Severity, SkillPath, State};

use super::{Entry, Registry, Snapshot, requires};
use crate::provider::{FileListing, OpenedSkill, Skill};
use crate::{Error, ErrorKind};

/// The most reference files that are read when a skill's links are checked.
const MAX_REFERENCES_READ: usize = 64;
/// The largest reference file that is read when a skill's links are checked, in bytes.
const MAX_REFERENCE_BYTES: u64 = 256 * 1024;
/// The most bytes of reference files that are read when a skill's links are checked.
const MAX_REFERENCES_BYTES: u64 = 4 * 1024 * 1024;

impl Registry {
    /// Returns everything the rules find in the skill, the files beside its `SKILL.md` included.
    ///
    /// An unreadable file is a finding like any other. Links are followed only in the first, not too large
    /// references.
    pub async fn check(&self, entry: &Entry) -> Vec<Diagnostic> {
        let mut diagnostics: Vec<Diagnostic> = entry.diagnostics().cloned().collect();
        match self.open_skill(entry).await {
            Ok(OpenedSkill { skill, files }) => {
                diagnostics.extend(files.problems.iter().cloned());
                diagnostics.extend(self.check_bundle(entry, &skill, &files).await);
                diagnostics = merged(skill.document.diagnostics, diagnostics);
            }
            Err(error) => self.report_unreadable(&mut diagnostics, &error),
        }
        diagnostics.extend(requires::check(entry, &self.snapshot(), self.policy()));
        diagnostics
    }

    /// Returns an error if the policy refuses the library; it names the first few skills that are the reason.
    ///
    /// Under a policy that refuses every error, such as `strict`, all files of all skills are checked for it.
    pub async fn accepted(&self) -> Result<(), Error> {
        let snapshot = self.snapshot();
        snapshot.accepted()?;
        let mut refusals = Vec::new();
        let is_judged =
            |entry: &&Entry| entry.state != State::Disabled && self.policy().refuses_errors_of(&entry.source);
        for entry in snapshot.entries().iter().filter(is_judged) {
            let found = self.check(entry).await.into_iter();
            let error = found.max_by_key(|found| found.severity).filter(|it| it.severity == Severity::Error);
            refusals.extend(error.map(|error| (entry, error)));
        }
        Snapshot::refused(refusals.iter().map(|(entry, error)| (*entry, error)))
    }

    async fn check_bundle(&self, entry: &Entry, skill: &Skill, listing: &FileListing) -> Vec<Diagnostic> {
        let snapshot = self.snapshot();
        let facts = BundleFacts {
            document: &skill.document,
            text: &skill.text,
            manifest_file: &entry.manifest_file,
            files: &listing.files,
            skill_at: &|path| linked_skill(entry, &snapshot, path),
        };
        let mut check = BundleCheck::new(facts, self.policy());
        let mut room = MAX_REFERENCES_BYTES;
        let references = listing.files.iter().filter(|file| {
            file.kind == FileKind::Reference
                && file.path.as_str().ends_with(".md")
                && file.size.is_some_and(|size| size <= MAX_REFERENCE_BYTES)
        });
        for file in references.take(MAX_REFERENCES_READ) {
            let Some(rest) = room.checked_sub(file.size.unwrap_or_default()) else { break };
            room = rest;
            // A file that vanished or is not text has no links to follow.
            if let Ok(content) = self.read(entry, &file.path, LineRange::default()).await
                && let Ok(text) = String::from_utf8(content.bytes)
            {
                check.reference(&file.path, &text);
            }
        }
        let mut found = check.finish();
        found.extend(self.check_tools(entry, listing).await);
        // A provider that cut the list short has reported that; the count of the rest is useless.
        if listing.problems.iter().any(|problem| problem.rule == RuleId::FileCount) {
            found.retain(|diagnostic| diagnostic.rule != RuleId::FileCount);
        }
        found
    }

    /// Returns the diagnostics of the tools that the skill brings along.
    async fn check_tools(&self, entry: &Entry, listing: &FileListing) -> Vec<Diagnostic> {
        let has = |name: &str| listing.files.iter().any(|file| file.path.as_str() == name);
        if has(PYTHON_FILE) && !has(TOOLBOX_FILE) {
            return self.report_python();
        }
        let Some(declared) = self.small_file(entry, listing, TOOLBOX_FILE).await else { return Vec::new() };
        let python = self.small_file(entry, listing, PYTHON_FILE).await;
        let python = python.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
        let facts = ToolFacts { declared: &declared, python, files: &listing.files };
        let snapshot = self.snapshot();
        validate::tools(facts, |name| !snapshot.named(name).is_empty(), self.policy())
    }

    /// Returns the finding about a `tools.py` without a `schema.json`. Which of its functions are tools only
    /// Python's parser knows.
    fn report_python(&self) -> Vec<Diagnostic> {
        let mut reporter = Reporter::new(self.policy());
        let message = format!("the functions of {PYTHON_FILE} become tools when a person approves the skill");
        let help = format!("run `rep check --fix` to write a {TOOLBOX_FILE}, or leave it to `rep approve`");
        reporter.report(RuleId::ToolsPython, message).help(help).in_file(PYTHON_FILE);
        reporter.finish()
    }

    async fn small_file(&self, entry: &Entry, listing: &FileListing, name: &str) -> Option<Vec<u8>> {
        let file = listing.files.iter().find(|file| file.path.as_str() == name)?;
        self.read(entry, &file.path, LineRange::default()).await.ok().map(|content| content.bytes)
    }

    /// Returns the tools that the skill declares, even if nothing here can run them.
    pub async fn toolbox(&self, entry: &Entry) -> Toolbox {
        let Ok(path) = SkillPath::new(TOOLBOX_FILE) else { return Toolbox::default() };
        match self.read(entry, &path, LineRange::default()).await {
            Ok(content) => Toolbox::read(&content.bytes).0,
            Err(_) => Toolbox::default(),
        }
    }

    /// Reports that the skill cannot be read, unless that was reported already.
    fn report_unreadable(&self, diagnostics: &mut Vec<Diagnostic>, error: &Error) {
        if diagnostics.iter().any(|diagnostic| diagnostic.rule == RuleId::FileUnreadable) {
            return;
        }
        let help = match error.kind() {
            ErrorKind::SkillNotFound | ErrorKind::FileNotFound => {
                "it was moved or removed meanwhile; check again, or put it back"
            }
            _ => "let its users read the directory and everything in it",
        };
        let mut reporter = Reporter::new(self.policy());
        let message = format!("the skill cannot be read: {}", error.chain());
        reporter.report(RuleId::FileUnreadable, message).help(help);
        diagnostics.extend(reporter.finish());
    }
}

/// Returns the skill that `path`, from the directory of `entry`, leads to: an active one, or `entry` itself.
fn linked_skill(entry: &Entry, snapshot: &Snapshot, path: &str) -> Option<LinkedSkill> {
    let mut target = PathBuf::from(&*entry.path);
    for part in path.split('/') {
        match part {
            ".." => {
                target.pop();
            }
            part => target.push(part),
        }
    }
    let own = Path::new(&*entry.path);
    let skill = target.ancestors().find_map(|directory| {
        if directory == own { Some(entry) } else { snapshot.active_at(directory.to_str()?) }
    })?;
    let path = target.strip_prefix(&*skill.path).ok()?.to_str()?.to_owned();
    Some(LinkedSkill { name: skill.name().clone(), path })
}

/// Returns the diagnostics of an opened skill, some missing in a listing, then the `others` that it lacks.
fn merged(mut opened: Vec<Diagnostic>, others: Vec<Diagnostic>) -> Vec<Diagnostic> {
    // A listing counts the characters of the frontmatter alone, so its message may differ.
    let is_there = |found: &Diagnostic| {
        let is_same = |other: &Diagnostic| other.rule == found.rule && other.file == found.file;
        opened.iter().any(|other| {
            other == found || (is_same(other) && found.span.is_some() && other.span == found.span)
        })
    };
    let missing: Vec<Diagnostic> = others.into_iter().filter(|found| !is_there(found)).collect();
    opened.extend(missing);
    opened
}
