//! `rep history --diff`.

use pollster::block_on;
use repertoire::history::capture;
use repertoire::store::{Store, skill_files};
use repertoire_app::view::VersionDiffView;
use repertoire_model::patch::{self, SkillFiles};

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Workspace;

/// Shows what changed between two of `versions`, or from one of them, or the newest, to the current files.
pub(super) fn run(
    ui: &mut Ui,
    workspace: &Workspace,
    name: &str,
    versions: &[u64],
) -> Result<Exit, CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let entry = library.find_any(name)?;
    let store = workspace.store()?;
    let skill = entry.record_identity();
    let newest = store.latest_version(&skill)?.map(|version| version.number);
    let Some(a) = versions.first().copied().or(newest) else {
        return Err(CliError::no(format!("{} has no versions yet", entry.name()))
            .hint(format!("`rep history {}` records it as it is now", entry.name())));
    };
    let before = files_of(&*store, &skill, a, entry.name().as_str())?;
    let b = versions.get(1).copied();
    let after = match b {
        Some(b) => files_of(&*store, &skill, b, entry.name().as_str())?,
        None => block_on(capture(&library.registry, entry))?.0,
    };
    let diff = patch::diff(&before, &after);
    if ui.is_json() {
        let name = entry.name().to_string();
        return Ok(ui.answer(&VersionDiffView { name, from: Some(a), to: b, diff })?);
    }
    if diff.is_empty() {
        writeln!(ui.err(), "no difference")?;
    }
    ui.write_diff_lines(&diff)?;
    Ok(Exit::Success)
}

/// Returns the files of the version `number` of a skill.
fn files_of(store: &dyn Store, skill: &str, number: u64, name: &str) -> Result<SkillFiles, CliError> {
    let versions = store.versions(skill)?;
    let version = versions.iter().find(|version| version.number == number).ok_or_else(|| {
        CliError::no(format!("{name} has no version {number}"))
            .hint(format!("`rep history {name}` lists its versions"))
    })?;
    Ok(skill_files(store, &version.digest)?)
}
