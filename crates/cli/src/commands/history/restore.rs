//! `rep history --restore`.

use std::path::Path;
use std::time::SystemTime;

use clap::Args;
use pollster::block_on;
use repertoire::Entry;
use repertoire::history::{capture, lock_skill, record, write_skill};
use repertoire::proposal::review::{ReviewFault, Reviewer};
use repertoire::store::{Origin, Store, skill_files};
use repertoire_app::view::{RollbackView, VersionView};
use repertoire_model::patch::{self, SkillFiles};

use crate::error::{CliError, expect_consent};
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Workspace;
use repertoire_app::review::{deleted_skill, recovered_library};

/// The options that restore a version.
#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// Restore this version
    #[arg(id = "restore", long = "restore", value_name = "VERSION")]
    pub(super) version: Option<u64>,
    /// With --restore: also replace edits that no version holds; they are recorded as a version first
    #[arg(long, requires = "restore")]
    force: bool,
    /// With --restore: do not ask
    #[arg(long, short, requires = "restore")]
    yes: bool,
}

/// Restores the version `number` of the skill called `wanted`.
pub(super) fn run(
    ui: &mut Ui,
    workspace: &Workspace,
    wanted: &str,
    number: u64,
    args: &RestoreArgs,
) -> Result<Exit, CliError> {
    let store = workspace.store()?;
    let library = recovered_library(workspace, &*store)?;
    let (entry, skill, name) = match library.find_any(wanted) {
        Ok(entry) => (Some(entry), entry.record_identity(), entry.name().as_str()),
        Err(error) => (None, deleted_skill(&library, &*store, wanted)?.ok_or(error)?, wanted),
    };
    let versions = store.versions(&skill)?;
    let Some(wanted) = versions.iter().find(|version| version.number == number) else {
        return Err(ReviewFault::NoVersion(name.to_owned(), number).into());
    };
    let after = skill_files(&*store, &wanted.digest)?;
    let before = match entry {
        Some(entry) => block_on(capture(&library.registry, entry))?.0,
        None => files_left(&*store, &skill)?,
    };
    let diff = patch::diff(&before, &after);
    if !ui.is_json() {
        ui.write_diff_lines(&diff)?;
    }
    let consent = ui.consent(&format!("Restore version {number} of {name}?"), args.yes)?;
    expect_consent(consent, "nothing was restored", "pass --yes to restore it")?;
    let author = workspace.person();
    let time = SystemTime::now();
    let version = if let Some(entry) = entry {
        let reviewer = Reviewer::new(&*store, &library.registry, &author, time);
        reviewer.rollback(entry, number, args.force).map_err(|fault| restore_error(fault, entry))?
    } else {
        let directory = Path::new(&skill);
        let _lock = lock_skill(directory)?;
        write_skill(directory, &before, &after).map_err(|error| {
            CliError::from(error).hint(format!("move what is left in {skill} away, and try again"))
        })?;
        record(&*store, (&skill, name), &after, Origin::Rollback, Some(&author), time)?.0
    };
    if ui.is_json() {
        let version = VersionView::new(&version);
        ui.write_json(&RollbackView { name: name.to_owned(), restored: number, version })?;
    } else {
        let now = version.number;
        writeln!(ui.out(), "{name} is as in version {number} again; this is version {now}")?;
    }
    Ok(Exit::Success)
}

/// Returns the files of the newest version that are still in the directory of a deleted skill.
fn files_left(store: &dyn Store, skill: &str) -> Result<SkillFiles, CliError> {
    let Some(newest) = store.latest_version(skill)? else { return Ok(SkillFiles::new()) };
    let mut files = skill_files(store, &newest.digest)?;
    files.retain(|path, _| Path::new(skill).join(path.as_str()).symlink_metadata().is_ok());
    Ok(files)
}

/// Returns the error of a restoration. `rep history` does not record a broken skill, so its hint is another.
fn restore_error(fault: ReviewFault, entry: &Entry) -> CliError {
    if entry.is_broken() && matches!(fault, ReviewFault::UnrecordedEdits(_)) {
        return CliError::no(fault.to_string())
            .hint("it is broken on disk; --force records it as it is, and restores the version");
    }
    fault.into()
}
