//! A change of a skill, applied in memory and checked.

use std::collections::BTreeMap;

use repertoire_model::patch::{self, FileData, SkillFiles};
use repertoire_model::validate::{BundleCheck, BundleFacts};
use repertoire_model::{
    Diagnostic, Digest, Document, FileEntry, FileKind, ManifestSource, Policy, Severity, SkillName,
    SkillPath, Standing,
};

use super::refusal::ProposalRefusal;

/// The largest diff of a proposal, and the largest skill that one may create, in bytes.
pub const MAX_DIFF_BYTES: usize = 256 * 1024;

/// The longest justification and evidence, in bytes.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;

/// The name of the file that makes a directory a skill.
const MANIFEST: &str = "SKILL.md";

/// A proposed state of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Draft {
    /// The digest of the state it is made of; `None` for a new skill.
    pub base: Option<Digest>,
    /// Its files.
    pub files: SkillFiles,
    /// The change as a unified diff.
    pub diff: String,
    /// The findings of the rules, one per line: those of a change are marked where it brings or removes them.
    pub check: String,
}

/// Returns the skill `name` that `diff` makes of `files`. `manifest_file` is the spelling of its `SKILL.md`.
///
/// Fails if the diff does not apply, changes nothing, renames the skill or breaks it.
pub fn draft_update(
    files: &SkillFiles,
    diff: &str,
    name: &SkillName,
    manifest_file: &str,
    policy: &Policy,
) -> Result<Draft, ProposalRefusal> {
    if diff.len() > MAX_DIFF_BYTES {
        return Err(ProposalRefusal::TooLarge { what: "the diff", limit: MAX_DIFF_BYTES });
    }
    let after = patch::apply(files, diff, name.as_str()).map_err(ProposalRefusal::Diff)?;
    if after == *files {
        return Err(ProposalRefusal::Unchanged);
    }
    expect_reviewable(files, &after)?;
    let check = change_of_check(
        &findings(files, name, manifest_file, policy).unwrap_or_default(),
        &findings(&after, name, manifest_file, policy)?,
    );
    let base = Some(patch::bundle(files).digest());
    Ok(Draft { base, diff: patch::diff(files, &after), files: after, check })
}

/// Returns a new skill `name` of these files.
///
/// Fails if they are not a valid skill of that name.
pub fn draft_skill(files: SkillFiles, name: &SkillName, policy: &Policy) -> Result<Draft, ProposalRefusal> {
    if files.values().map(|file| file.bytes.len()).sum::<usize>() > MAX_DIFF_BYTES {
        return Err(ProposalRefusal::TooLarge { what: "the skill", limit: MAX_DIFF_BYTES });
    }
    expect_reviewable(&SkillFiles::new(), &files)?;
    let check = findings(&files, name, MANIFEST, policy)?.iter().map(Finding::line).collect();
    Ok(Draft { base: None, diff: patch::diff(&SkillFiles::new(), &files), files, check })
}

/// Returns the state `after` of the skill `name`, which takes the place of `before`.
///
/// Fails if the files are not a valid skill of that name, or if a reviewer could not read the change.
pub fn draft_replacement(
    before: Option<&SkillFiles>,
    after: SkillFiles,
    name: &SkillName,
    policy: &Policy,
) -> Result<Draft, ProposalRefusal> {
    let Some(before) = before else { return draft_skill(after, name, policy) };
    let diff = patch::diff(before, &after);
    if diff.len() > MAX_DIFF_BYTES {
        return Err(ProposalRefusal::TooLarge { what: "the diff", limit: MAX_DIFF_BYTES });
    }
    expect_reviewable(before, &after)?;
    let check = change_of_check(
        &findings(before, name, MANIFEST, policy).unwrap_or_default(),
        &findings(&after, name, MANIFEST, policy)?,
    );
    Ok(Draft { base: Some(patch::bundle(before).digest()), diff, files: after, check })
}

/// Returns the findings of the rules in a skill `name` of these files, one per line.
///
/// Fails if there is an error among them.
pub fn check_skill(files: &SkillFiles, name: &SkillName, policy: &Policy) -> Result<String, ProposalRefusal> {
    let findings = findings(files, name, MANIFEST, policy)?;
    let errors: Vec<&str> =
        findings.iter().filter(|found| found.is_error).map(|found| found.text.as_str()).take(3).collect();
    if errors.is_empty() {
        Ok(findings.iter().map(Finding::line).collect())
    } else {
        Err(ProposalRefusal::Broken(errors.join("; ")))
    }
}

/// Fails if `after` has hidden files, files that clash, or new content that the diff would not show.
fn expect_reviewable(before: &SkillFiles, after: &SkillFiles) -> Result<(), ProposalRefusal> {
    let mut folded: BTreeMap<String, &SkillPath> = BTreeMap::new();
    for (path, file) in after {
        if path.is_hidden() {
            return Err(ProposalRefusal::Hidden(path.to_string()));
        }
        if before.get(path) != Some(file) && file.text().is_none() {
            return Err(ProposalRefusal::NotText(path.to_string()));
        }
        if let Some(other) = folded.insert(path.as_str().to_lowercase(), path) {
            return Err(ProposalRefusal::Clash(other.to_string(), path.to_string()));
        }
    }
    for (folded_path, path) in &folded {
        let directories = folded_path.match_indices('/').map(|(end, _)| &folded_path[..end]);
        if let Some(other) = directories.filter_map(|directory| folded.get(directory)).next() {
            return Err(ProposalRefusal::Clash(other.to_string(), path.to_string()));
        }
    }
    Ok(())
}

struct Finding {
    /// The file and line, if it is about one.
    place: String,
    /// Everything but the place, which changes when lines are added above it.
    text: String,
    is_error: bool,
}

impl Finding {
    fn line(&self) -> String {
        format!("{}{}\n", self.place, self.text)
    }
}

/// Returns the findings `after` a change, one per line, marked as new if they are not among those `before`
/// it; and the ones that are gone.
fn change_of_check(before: &[Finding], after: &[Finding]) -> String {
    let is_in = |list: &[Finding], finding: &Finding| list.iter().any(|other| other.text == finding.text);
    let remaining = after
        .iter()
        .map(|finding| format!("{}{}", if is_in(before, finding) { "" } else { "new: " }, finding.line()));
    let gone = before.iter().filter(|finding| !is_in(after, finding));
    remaining.chain(gone.map(|finding| format!("no longer: {}", finding.line()))).collect()
}

/// Returns the findings of the rules in `files`; fails if its `SKILL.md` is broken or has another name.
fn findings(
    files: &SkillFiles,
    name: &SkillName,
    manifest_file: &str,
    policy: &Policy,
) -> Result<Vec<Finding>, ProposalRefusal> {
    let manifest = files.iter().find(|(path, _)| path.as_str() == manifest_file);
    let Some((_, file)) = manifest else {
        return Err(ProposalRefusal::Broken(format!("it has no {manifest_file}")));
    };
    let source =
        ManifestSource { bytes: &file.bytes, directory: Some(name.as_str()), file_name: manifest_file };
    let document = Document::parse(source, policy);
    if document.standing != Standing::Sound {
        let errors = document.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        let errors: Vec<&str> = errors.map(|found| found.message.as_str()).take(3).collect();
        return Err(ProposalRefusal::Broken(errors.join("; ")));
    }
    if document.name != *name {
        return Err(ProposalRefusal::Renamed(document.name.to_string()));
    }
    let text = String::from_utf8_lossy(&file.bytes);
    let mut found = document.diagnostics.clone();
    found.extend(check_files(files, &document, &text, manifest_file, policy));
    Ok(found
        .iter()
        .map(|found| Finding {
            place: match (&found.file, found.span) {
                (None, None) => String::new(),
                (file, None) => format!("{}: ", file.as_deref().unwrap_or(manifest_file)),
                (file, Some(span)) => format!("{}:{}: ", file.as_deref().unwrap_or(manifest_file), span.line),
            },
            text: format!("{}: {} ({})", found.severity, found.message, found.rule),
            is_error: found.severity == Severity::Error,
        })
        .collect())
}

/// Returns the findings about the files beside the `SKILL.md`.
fn check_files(
    files: &SkillFiles,
    document: &Document,
    text: &str,
    manifest_file: &str,
    policy: &Policy,
) -> Vec<Diagnostic> {
    let entry = |(path, file): (&SkillPath, &FileData)| FileEntry {
        path: path.clone(),
        size: Some(file.bytes.len() as u64),
        kind: FileKind::of(path, manifest_file),
        executable: file.executable,
    };
    let entries: Vec<FileEntry> = files.iter().map(entry).collect();
    let facts = BundleFacts { document, text, manifest_file, files: &entries, skill_at: &|_| None };
    let mut check = BundleCheck::new(facts, policy);
    for (path, file) in files {
        if FileKind::of(path, manifest_file) == FileKind::Reference
            && path.as_str().ends_with(".md")
            && let Some(text) = file.text()
        {
            check.reference(path, text);
        }
    }
    check.finish()
}
