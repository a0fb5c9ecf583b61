//! `rep diff`.

use clap::Args;
use pollster::block_on;
use repertoire::history::capture;
use repertoire::store::{Store, skill_files};
use repertoire_app::view::VersionDiffView;
use repertoire_model::patch::{self, SkillFiles};

use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui};
use crate::wire::Workspace;

/// Shows what changed between two versions of a skill
///
/// With one version, or none for the newest, it is compared with the files as they are now.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The skill, as NAME or as SOURCE:NAME
    #[arg(add = skill_names())]
    name: String,
    /// The older version; `rep history` lists them
    a: Option<u64>,
    /// The newer version
    b: Option<u64>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &DiffArgs) -> Result<Exit, CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let entry = library.find_any(&args.name)?;
    let store = workspace.store()?;
    let skill = entry.record_identity();
    let newest = store.latest_version(&skill)?.map(|version| version.number);
    let Some(a) = args.a.or(newest) else {
        return Err(CliError::no(format!("{} has no versions yet", entry.name()))
            .hint(format!("`rep history {}` records it as it is now", entry.name())));
    };
    let before = files_of(&*store, &skill, a, entry.name().as_str())?;
    let after = match args.b {
        Some(b) => files_of(&*store, &skill, b, entry.name().as_str())?,
        None => block_on(capture(&library.registry, entry))?.0,
    };
    let diff = patch::diff(&before, &after);
    if ui.is_json() {
        let name = entry.name().to_string();
        ui.write_json(&VersionDiffView { name, from: Some(a), to: args.b, diff })?;
        return Ok(Exit::Success);
    }
    if diff.is_empty() {
        writeln!(ui.err(), "no difference")?;
    }
    for line in diff.lines() {
        ui.write_planned(Style::of_diff_line(line), line)?;
    }
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
