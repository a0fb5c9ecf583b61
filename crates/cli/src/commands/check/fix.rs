//! Safe repairs: shown first, written after consent.

use std::fs;
use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire::change::{FileKind, replace_file};
use repertoire_model::text::count;
use repertoire_model::toolbox::{PYTHON_FILE, TOOLBOX_FILE, Toolbox};
use repertoire_model::{Diagnostic, RuleId, fix};

use super::findings::{Findings, path_inside, text_of};
use super::sarif::FileFix;
use super::target::Target;
use crate::error::{CliError, not_written};
use crate::ui::{Consent, Ui, escape};
use crate::wire::{Library, Workspace};

/// A file with its repaired text.
struct Repair {
    path: PathBuf,
    /// `None` for a file that is not there yet.
    before: Option<String>,
    after: String,
}

/// The outcome of the repairs.
pub(crate) struct FixOutcome {
    /// The paths that were written.
    pub(crate) written: Vec<String>,
    /// The error that the repairs were refused, which follows the findings.
    pub(crate) refusal: Option<CliError>,
}

/// Shows all repairs, writes them if that is wanted, and returns the paths that were written.
pub(crate) fn run(
    ui: &mut Ui,
    workspace: &Workspace,
    targets: &[Target],
    yes: bool,
) -> Result<FixOutcome, CliError> {
    let (mut repairs, mut left) = (Vec::new(), Vec::new());
    for target in targets {
        for entry in target.entries() {
            let Some((repair, unsafe_repairs)) = repair(&target.library, entry) else { continue };
            repairs.extend(repair);
            let path = workspace.shown(&manifest(entry).to_string_lossy());
            left.extend(unsafe_repairs.iter().map(|(rule, reason)| format!("{path}: {rule}: {reason}")));
            repairs.extend(schema(ui, workspace, &target.library, entry)?);
        }
    }
    if !left.is_empty() {
        writeln!(
            ui.err(),
            "{} left to you, because no repair is safe to write:",
            count(left.len(), "finding")
        )?;
        for line in &left {
            writeln!(ui.err(), "  {}", escape(line))?;
        }
    }
    if repairs.is_empty() {
        let nothing =
            if left.is_empty() { "there is nothing to repair" } else { "nothing else can be repaired" };
        writeln!(ui.err(), "{nothing}")?;
        return Ok(FixOutcome { written: Vec::new(), refusal: None });
    }
    for repair in &repairs {
        let path = workspace.shown(&repair.path.display().to_string());
        ui.write_diff(&path, repair.before.as_deref(), &repair.after)?;
    }
    let files = count(repairs.len(), "file");
    let consent = ui.consent(&format!("write these repairs to {files}?"), yes)?;
    if consent != Consent::Given {
        let error = not_written(consent, format!("{files} can be repaired"));
        // With --json the findings follow all the same.
        if ui.is_json() {
            return Ok(FixOutcome { written: Vec::new(), refusal: Some(error) });
        }
        return Err(error);
    }
    let (written, failure) = write_all(&repairs);
    if let Some(error) = failure {
        for path in &written {
            writeln!(ui.err(), "repaired {}", escape(path))?;
        }
        return Err(error);
    }
    writeln!(ui.err(), "repaired {files}")?;
    Ok(FixOutcome { written, refusal: None })
}

/// Writes the repairs until one fails; returns the paths that were written, and why it stopped.
fn write_all(repairs: &[Repair]) -> (Vec<String>, Option<CliError>) {
    let mut written = Vec::new();
    for repair in repairs {
        if let Err(error) = write(repair) {
            return (written, Some(error));
        }
        written.push(repair.path.display().to_string());
    }
    (written, None)
}

/// The rule of a finding whose repair is not safe to write, and the reason.
type UnsafeRepair = (RuleId, String);

/// Returns the repair of the `SKILL.md` of `entry`, if there is one, and the repairs that are not safe.
fn repair(library: &Library, entry: &Entry) -> Option<(Option<Repair>, Vec<UnsafeRepair>)> {
    let before = text_of(library, entry, &entry.manifest_file)?;
    let listing = pollster::block_on(library.registry.files(entry)).ok();
    let files = listing.as_ref().map(|listing| &*listing.files).unwrap_or_default();
    let path = manifest(entry);
    let directory = path.parent().and_then(|directory| directory.file_name()?.to_str());
    let (after, unsafe_repairs) = fix::fix(&before, directory, files);
    Some((after.map(|after| Repair { path, before: Some(before), after }), unsafe_repairs))
}

fn manifest(entry: &Entry) -> PathBuf {
    Path::new(&*entry.path).join(&*entry.manifest_file)
}

/// Returns the repairs of the skills that have a finding with one, as changes of files.
pub(super) fn changes(findings: &Findings<'_>) -> Vec<FileFix> {
    let is_repairable = |found: &Diagnostic| found.rule.is_repairable();
    let skills = findings.skills.iter().filter(|skill| skill.diagnostics.iter().any(is_repairable));
    let repairs = skills.filter_map(|skill| repair(skill.library, skill.entry)?.0);
    let change = |repair: Repair| {
        let path = path_inside(&findings.project, &repair.path.to_string_lossy());
        Some(FileFix::new(path, &repair.before?, &repair.after))
    };
    repairs.filter_map(change).collect()
}

/// Returns the `schema.json` that a skill with a `tools.py` lacks, with the tools that Python's parser finds.
fn schema(
    ui: &mut Ui,
    workspace: &Workspace,
    library: &Library,
    entry: &Entry,
) -> Result<Option<Repair>, CliError> {
    let Ok(listing) = pollster::block_on(library.registry.files(entry)) else { return Ok(None) };
    let has = |name: &str| listing.files.iter().any(|file| file.path.as_str() == name);
    if !has(PYTHON_FILE) || has(TOOLBOX_FILE) {
        return Ok(None);
    }
    match workspace.python_tools(&library.registry, entry) {
        Ok((tools, _)) if !Toolbox::read(tools.schema.as_bytes()).0.is_empty() => {
            let path = Path::new(&*entry.path).join(TOOLBOX_FILE);
            Ok(Some(Repair { path, before: None, after: tools.schema }))
        }
        Ok(_) => Ok(None),
        Err(error) => {
            let (name, why) = (entry.name(), escape(error.message()).into_owned());
            ui.warn(&format!("no {TOOLBOX_FILE} can be written for `{name}`: {why}"))?;
            Ok(None)
        }
    }
}

/// Writes `repair` to its file.
fn write(repair: &Repair) -> Result<(), CliError> {
    let path = &repair.path;
    let failed = |error| CliError::io("write", path, error);
    let is_plain = |metadata: fs::Metadata| metadata.is_file();
    if repair.before.is_some() && !fs::symlink_metadata(path).map(is_plain).map_err(failed)? {
        return Err(CliError::no(format!("{} is a link and is left alone", path.display()))
            .hint("repair the file it leads to"));
    }
    let kind = FileKind::User { before: repair.before.as_ref().map(String::as_bytes) };
    Ok(replace_file(path, kind, Some(repair.after.as_bytes()))?)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "it looks at what was written")]
mod tests {
    use super::*;

    #[test]
    fn files_written_before_a_failure_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let repair = |name: &str, before: &str| {
            let path = directory.path().join(name);
            fs::write(&path, "before").unwrap();
            Repair { path, before: Some(before.to_owned()), after: "after".to_owned() }
        };
        let repairs = [repair("a", "before"), repair("b", "something else"), repair("c", "before")];
        let (written, failure) = write_all(&repairs);
        assert_eq!(written, [repairs[0].path.display().to_string()]);
        assert!(failure.unwrap().message().ends_with("b was changed meanwhile"));
        let texts = repairs.map(|repair| fs::read_to_string(repair.path).unwrap());
        assert_eq!(texts, ["after", "before", "before"]);
    }
}
