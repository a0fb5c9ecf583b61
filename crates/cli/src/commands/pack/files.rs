//! The files of skills to be packed.

use pollster::block_on;
use repertoire::Entry;
use repertoire::history::capture;
use repertoire_model::patch::SkillFiles;
use repertoire_model::{Severity, State};

use crate::error::CliError;
use crate::wire::{Library, Workspace};

/// Reads all skills as strictly as clients of a published library do.
pub(super) fn library(workspace: &Workspace) -> Library {
    workspace.inspect(workspace.settings.policy.clone().for_publishing())
}

/// Returns the files of `entry`, or an error if the skill breaks a rule.
pub(super) fn files(library: &Library, entry: &Entry) -> Result<SkillFiles, CliError> {
    if entry.state == State::Quarantined {
        return Err(refused(entry, "it is quarantined"));
    }
    let found = block_on(library.registry.check(entry));
    if let Some(error) = found.iter().find(|found| found.severity == Severity::Error) {
        return Err(refused(entry, &error.message));
    }
    Ok(block_on(capture(&library.registry, entry))?.0)
}

/// Returns the error that `entry` cannot be packed.
pub(super) fn refused(entry: &Entry, reason: &str) -> CliError {
    CliError::no(format!("`{}` cannot be packed: {reason}", entry.name()))
        .hint(format!("`rep check --publish {}` shows what is wrong", entry.name()))
}
