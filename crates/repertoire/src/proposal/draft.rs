//! A change of a skill, applied in memory and checked.

use repertoire_model::patch::{self, SkillFiles};
use repertoire_model::{Digest, Document, Policy, Severity, SkillName, Source, Standing};

use super::refusal::Refusal;

/// The largest diff of a proposal, and the largest skill that one may create, in bytes.
pub const MAX_DIFF_BYTES: usize = 256 * 1024;

/// The longest justification and evidence, in bytes.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;

/// The name of the file that makes a directory a skill.
const MANIFEST: &str = "SKILL.md";

/// A proposed state of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The digest of the state it is made of; `None` for a new skill.
    pub base: Option<Digest>,
    /// Its files.
    pub files: SkillFiles,
    /// The change as a unified diff.
    pub diff: String,
    /// The findings of the rules, one per line.
    pub check: String,
}

/// Returns the state of the skill `name` that `diff` leads to from `files`. `manifest_file` is the spelling of its `SKILL.md`.
///
/// Fails if the diff does not apply, changes nothing, renames the skill or breaks it.
pub fn draft_update(
    files: &SkillFiles,
    diff: &str,
    name: &SkillName,
    manifest_file: &str,
    policy: &Policy,
) -> Result<Draft, Refusal> {
    if diff.len() > MAX_DIFF_BYTES {
        return Err(Refusal::TooLarge { what: "the diff", limit: MAX_DIFF_BYTES });
    }
    let after = patch::apply(files, diff, name.as_str()).map_err(Refusal::Diff)?;
    if after == *files {
        return Err(Refusal::Unchanged);
    }
    if let Some(path) = after.keys().find(|path| path.is_hidden()) {
        return Err(Refusal::Hidden(path.to_string()));
    }
    let check = check(&after, name, manifest_file, policy)?;
    let base = Some(patch::bundle(files).digest());
    Ok(Draft { base, diff: patch::diff(files, &after), files: after, check })
}

/// Returns a new skill `name` of these files.
///
/// Fails if they are no valid skill of that name.
pub fn draft_skill(files: SkillFiles, name: &SkillName, policy: &Policy) -> Result<Draft, Refusal> {
    if files.values().map(|file| file.bytes.len()).sum::<usize>() > MAX_DIFF_BYTES {
        return Err(Refusal::TooLarge { what: "the skill", limit: MAX_DIFF_BYTES });
    }
    if let Some(path) = files.keys().find(|path| path.is_hidden()) {
        return Err(Refusal::Hidden(path.to_string()));
    }
    let check = check(&files, name, MANIFEST, policy)?;
    Ok(Draft { base: None, diff: patch::diff(&SkillFiles::new(), &files), files, check })
}

/// Returns the findings of the rules in the `SKILL.md` of `files`, one per line; fails if it is broken or has another name.
fn check(
    files: &SkillFiles,
    name: &SkillName,
    manifest_file: &str,
    policy: &Policy,
) -> Result<String, Refusal> {
    let manifest = files.iter().find(|(path, _)| path.as_str() == manifest_file);
    let Some((_, file)) = manifest else { return Err(Refusal::Broken(format!("it has no {manifest_file}"))) };
    let source = Source { bytes: &file.bytes, directory: Some(name.as_str()), file_name: manifest_file };
    let document = Document::parse(source, policy);
    if document.standing != Standing::Sound {
        let errors = document.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        let errors: Vec<&str> = errors.map(|found| found.message.as_str()).take(3).collect();
        return Err(Refusal::Broken(errors.join("; ")));
    }
    if document.name != *name {
        return Err(Refusal::Renamed(document.name.to_string()));
    }
    let lines = document.diagnostics.iter().map(|found| {
        let line = found.span.map(|span| format!("{manifest_file}:{}: ", span.line)).unwrap_or_default();
        format!("{line}{}: {} ({})\n", found.severity, found.message, found.rule)
    });
    Ok(lines.collect())
}
