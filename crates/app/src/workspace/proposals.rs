//! Proposals: their rules, where they are submitted to, and the record of approved ones.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use repertoire::change::{DoneChange, FileKind, JournalSkill, milliseconds, record_change, replace_file};
use repertoire::proposal::{self, ProposalRules, Proposer};
use repertoire::store::{Proposal, Store, Version, put_skills_safely, skill_files};
use repertoire_clients::{Owner, paths};
use repertoire_model::Pattern;
use repertoire_model::patch::SkillFiles;

use super::environment::Env;
use super::handle::Workspace;
use super::installation::ChangeSite;
use super::notify::Notifier;
use super::store::local_store;
use crate::error::Error;

impl Workspace {
    /// Returns the rules for proposals.
    pub fn proposal_rules(&self) -> Result<ProposalRules, Error> {
        let settings = &self.settings.proposals;
        let patterns = |key: &str, texts: &[String]| -> Result<Vec<Pattern>, Error> {
            let bad =
                |text: &str, fault| format!("proposals.{key}: `{text}` is not a name of a skill: {fault}");
            let pattern = |text: &String| {
                Pattern::new(text).map_err(|fault| Error::usage(bad(text, fault.to_string())))
            };
            texts.iter().map(pattern).collect()
        };
        let mut rules = ProposalRules::default();
        rules.mode = settings.mode;
        rules.locked = patterns("locked", &settings.locked)?;
        rules.always_review = patterns("always_review", &settings.always_review)?;
        rules.never_review = patterns("never_review", &settings.never_review)?;
        let new_skills = self.new_skills();
        rules.new_skills = new_skills.map(|directory| directory.canonicalize().unwrap_or(directory));
        Ok(rules)
    }

    /// Returns the directory that approved new skills are written to.
    fn new_skills(&self) -> Option<PathBuf> {
        if let Some(root) = self.options.roots.first() {
            return Some(self.env.working_directory().join(root));
        }
        let configured = &self.settings.proposals.directory;
        if !configured.is_empty() {
            return Some(self.env.working_directory().join(configured));
        }
        let project = self.env.working_directory().join(".agents/skills");
        let user = self.env.home().map(|home| home.join(".agents/skills"));
        if project.is_dir() { Some(project) } else { user.or(Some(project)) }
    }

    /// Returns what submits proposals to the store.
    pub fn proposer(&self) -> Result<Arc<Proposer>, Error> {
        let (submitting, approving) = (self.env.clone(), self.env.clone());
        let mut proposer = Proposer::new(self.lazy_store(), self.proposal_rules()?)
            .on_submit(move |proposal| write_proposal(&submitting, proposal))
            .on_approval(move |store, proposal, version| {
                // The files are written, also if `rep undo` will not know of it.
                if proposal.content.channel().is_none() {
                    let _ = record_approval(&approving, store, proposal, version);
                }
            });
        if let Some(notifier) = Notifier::of(self) {
            proposer = proposer.on_submit(move |proposal| notifier.tell(proposal));
        }
        Ok(Arc::new(proposer))
    }
}

/// Records that the files of `proposal` were written here as `version`, so that `rep undo` takes them back.
/// Of one that was released in a channel of `store`, the command that does it is recorded.
pub fn record_approval(
    env: &Env,
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
    let mut place = ChangeSite::of(env, Owner::Project)?.place();
    if !directory.starts_with(paths::resolved(&place.base)) {
        place = ChangeSite::of(env, Owner::User)?.place();
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
        put_skills_safely(&*local_store(env).get()?, &states)?;
        let (before, after, others) = (content.base, Some(content.result), Vec::new());
        change.skills.push(JournalSkill { directory, before, after, others });
    }
    Ok(record_change(&place, change)?)
}

/// Writes the proposal as a Markdown file for people. The store has it as well: a failure is not reported.
pub fn write_proposal(env: &Env, proposal: &Proposal) {
    let Some(state) = env.state_directory() else { return };
    let path = state.join("proposals").join(proposal::file_name(proposal));
    let _ = replace_file(&path, FileKind::Cache, Some(proposal::markdown(proposal).as_bytes()));
}
