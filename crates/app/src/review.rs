//! Versions and proposals of a workspace: interrupted approvals are completed, edits recorded, deleted skills
//! found.

use std::path::Path;
use std::time::SystemTime;

use repertoire::history::{capture, record};
use repertoire::proposal::review::Reviewer;
use repertoire::store::{Origin, ProposalState, Store};
use repertoire::{Entry, Registry};

use crate::error::Error;
use crate::workspace::{Library, Workspace};

/// Opens the library, after completing approvals that were interrupted.
pub fn recovered_library(workspace: &Workspace, store: &dyn Store) -> Result<Library, Error> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let (author, rules) = (workspace.person(), workspace.proposal_rules()?);
    let mut reviewer = Reviewer::new(store, &library.registry, &author, SystemTime::now());
    reviewer.new_skills = rules.new_skills.as_deref();
    let completed = match reviewer.recover() {
        Ok(completed) if completed.is_empty() => return Ok(library),
        Ok(completed) => completed,
        Err(fault) => {
            workspace.reporter.warn(&format!("an interrupted approval is not completed: {fault}"));
            return Ok(library);
        }
    };
    for id in completed {
        let is_applied = store.proposal(id)?.is_some_and(|proposal| proposal.state == ProposalState::Applied);
        workspace.reporter.warn(&if is_applied {
            format!("the interrupted approval of proposal {id} was completed")
        } else {
            format!("proposal {id} was approved, but the skill changed before it was written; it is stale")
        });
    }
    Ok(workspace.inspect(workspace.settings.policy.clone()))
}

/// Returns the identity of the recorded skill `name`, which is its directory, if it lay in a directory that
/// the library is read from.
pub fn deleted_skill(library: &Library, store: &dyn Store, name: &str) -> Result<Option<String>, Error> {
    let recorded = store.latest_digests()?;
    let is_called = |skill: &&String| Path::new(skill).file_name().is_some_and(|last| last == name);
    let mut roots = library.places.iter().filter_map(|place| place.root.path.canonicalize().ok());
    Ok(roots.find_map(|root| {
        let mut skills = recorded.iter().map(|(skill, _)| skill).filter(is_called);
        skills.find(|skill| Path::new(skill).starts_with(&root)).cloned()
    }))
}

/// Records a valid skill as it is now, if it changed since its newest version.
pub fn record_current(
    registry: &Registry,
    entry: &Entry,
    store: &dyn Store,
) -> Result<(), repertoire::Error> {
    if entry.is_broken() {
        return Ok(());
    }
    let (files, _) = pollster::block_on(capture(registry, entry))?;
    let skill = entry.record_identity();
    record(store, (&skill, entry.name().as_str()), &files, Origin::Edit, None, SystemTime::now())?;
    Ok(())
}
