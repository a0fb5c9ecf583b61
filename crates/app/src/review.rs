//! Versions and proposals of a workspace: interrupted approvals are completed, edits recorded, deleted skills
//! found.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use repertoire::change::{DoneChange, JournalSkill, milliseconds, record_change};
use repertoire::history::{capture, record};
use repertoire::proposal::review::Reviewer;
use repertoire::store::{Origin, Proposal, ProposalState, Store, Version, put_skills_safely, skill_files};
use repertoire::{Entry, Registry};
use repertoire_clients::{Owner, paths};
use repertoire_model::patch::SkillFiles;

use crate::error::Error;
use crate::workspace::{ChangeSite, Library, Workspace};

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

/// Records that the files of `proposal` were written here as `version`, so that `rep undo` takes them back.
/// Of one that was released in a channel of `store`, the command that does it is recorded.
pub fn record_approval(
    workspace: &Workspace,
    store: &dyn Store,
    proposal: &Proposal,
    version: &Version,
) -> Result<(), Error> {
    let content = &proposal.content;
    let mut change = DoneChange {
        time: milliseconds(SystemTime::now()),
        command: "rep proposal approve".to_owned(),
        about: vec![proposal.id.to_string(), content.name.clone()],
        ..DoneChange::default()
    };
    let directory = PathBuf::from(&version.skill);
    let mut place = ChangeSite::of(&workspace.env, Owner::Project)?.place();
    if !directory.starts_with(paths::resolved(&place.base)) {
        place = ChangeSite::of(&workspace.env, Owner::User)?.place();
    }
    if let Some(channel) = content.channel() {
        let versions = store.versions(&version.skill)?;
        let before = versions.iter().find(|version| Some(version.digest) == content.base);
        change.instead = Some(match before {
            Some(before) => format!("rep history {} --restore {}", content.name, before.number),
            None => format!("rep team channel rollback {} --channel {channel}", content.name),
        });
    } else {
        let before = content.base.map(|base| skill_files(store, &base)).transpose()?;
        let after = skill_files(store, &content.result)?;
        let states: Vec<&SkillFiles> = before.iter().chain([&after]).collect();
        put_skills_safely(&*workspace.content_store().get()?, &states)?;
        let (before, after, others) = (content.base, Some(content.result), Vec::new());
        change.skills.push(JournalSkill { directory, before, after, others });
    }
    Ok(record_change(&place, change)?)
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
