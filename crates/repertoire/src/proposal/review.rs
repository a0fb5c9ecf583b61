//! The decisions of reviewers, and rollbacks: everything that changes files.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pollster::block_on;
use repertoire_model::Digest;
use repertoire_model::patch::{self, Conflict, SkillFiles};

use super::draft::draft_update;
use super::publish::{published_identity, released, source_channel};
use super::refusal::ProposalRefusal;
use crate::history::{capture, lock_skill, record, write_skill};
use crate::registry::{Entry, Registry};
use crate::store::{
    AGENT_PREFIX, NewProposal, Origin, Proposal, ProposalDecision, ProposalKind, ProposalLimits,
    ProposalState, Publication, ReleaseChange, Store, Submission, Version, put_skill, put_skill_safely,
    skill_files,
};
use crate::{Error, ErrorKind};

/// The reason that a decision is not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReviewFault {
    /// No proposal has this number.
    #[error("there is no proposal {0}")]
    NotFound(u64),
    /// It is not in a state in which this can be decided.
    #[error("proposal {0} is {1}")]
    State(u64, ProposalState),
    /// An agent decides about its own proposal.
    #[error("{0} cannot decide about a proposal of its own")]
    OwnProposal(String),
    /// The skill changed since; the proposal is stale.
    #[error("{0} changed since the proposal was made, which is stale now")]
    Stale(String),
    /// The skill is gone.
    #[error("the skill {0} is gone")]
    SkillGone(String),
    /// A file or directory stands where the new skill shall be.
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// There is no directory for new skills.
    #[error("there is no directory for new skills")]
    NoDirectory,
    /// The changes since and the proposal contradict each other in these files.
    #[error("the skill and the proposal changed the same lines of {}", paths(.0))]
    Conflicts(Vec<Conflict>),
    /// The proposal is a new skill, and there is nothing that it could be rebased on.
    #[error("proposal {0} is a new skill; only changes of a skill can be rebased")]
    NewSkill(u64),
    /// The rebased proposal is refused.
    #[error("{0}")]
    Refused(ProposalRefusal),
    /// The working copy has edits that no version holds.
    #[error("{0} has edits that no version holds")]
    UnrecordedEdits(String),
    /// No version has this number.
    #[error("{0} has no version {1}")]
    NoVersion(String, u64),
    /// The version of this skill was published with other content meanwhile.
    #[error("version {1} of {0} was published with other content meanwhile")]
    VersionExists(String, String),
    /// A version that is to be published cannot be rebased; its author publishes another one.
    #[error("proposal {0} is a version that was published; its author publishes another one to change it")]
    Published(u64),
    /// The store or the file system failed.
    #[error("{}", .0.chain())]
    Failed(Error),
}

impl From<Error> for ReviewFault {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Decides about proposals and restores versions.
#[non_exhaustive]
pub struct Reviewer<'a> {
    /// The store of proposals and versions.
    pub store: &'a dyn Store,
    /// The registry of the skills.
    pub registry: &'a Registry,
    /// The directory that new skills are written to.
    pub new_skills: Option<&'a Path>,
    /// The person or agent that decides: `user:NAME` or `agent:NAME`.
    pub name: &'a str,
    /// The current time.
    pub time: SystemTime,
    /// True if it may approve its own proposals, as a person alone at a terminal does.
    pub decides_own: bool,
}

impl<'a> Reviewer<'a> {
    /// Returns a reviewer `name` that writes no new skills; unless an agent, it approves its own proposals.
    pub fn new(store: &'a dyn Store, registry: &'a Registry, name: &'a str, time: SystemTime) -> Self {
        let decides_own = !name.starts_with(AGENT_PREFIX);
        Self { store, registry, new_skills: None, name, time, decides_own }
    }
}

impl Reviewer<'_> {
    fn proposal(&self, id: u64) -> Result<Proposal, ReviewFault> {
        self.store.proposal(id)?.ok_or(ReviewFault::NotFound(id))
    }

    fn decision(&self, reason: Option<&str>) -> ProposalDecision {
        ProposalDecision {
            reviewer: self.name.to_owned(),
            reason: reason.map(str::to_owned),
            time: self.time,
        }
    }

    fn expect_not_own(&self, proposal: &Proposal) -> Result<(), ReviewFault> {
        // One token proposes for an agent and decides as a person; providers change the case of addresses.
        let bare = |name: &str| name.split_once(':').map_or(name, |(_, bare)| bare).to_lowercase();
        if !self.decides_own && bare(&proposal.content.author) == bare(self.name) {
            Err(ReviewFault::OwnProposal(self.name.to_owned()))
        } else {
            Ok(())
        }
    }

    /// Approves the proposal: its files are written, and a version is recorded.
    pub fn approve(&self, id: u64) -> Result<(Proposal, Version), ReviewFault> {
        let proposal = self.proposal(id)?;
        self.expect_not_own(&proposal)?;
        // An approval that is being carried out holds the lock; what became of it is known afterwards.
        if !matches!(proposal.state, ProposalState::Pending | ProposalState::Approved) {
            return Err(ReviewFault::State(id, proposal.state));
        }
        if let Some(channel) = proposal.content.channel() {
            return self.approve_release(&proposal, channel);
        }
        let _lock = lock_skill(&self.directory(&proposal)?)?;
        let state = self.proposal(id)?.state;
        if state != ProposalState::Pending {
            return Err(ReviewFault::State(id, state));
        }
        let target = self.target(&proposal)?;
        if target.digest != proposal.content.base {
            self.store.decide(id, ProposalState::Pending, ProposalState::Stale, None)?;
            return Err(ReviewFault::Stale(proposal.content.name));
        }
        let after = skill_files(self.store, &proposal.content.result)?;
        let (pending, approved) = (ProposalState::Pending, ProposalState::Approved);
        if !self.store.decide(id, pending, approved, Some(&self.decision(None)))? {
            return Err(ReviewFault::State(id, self.proposal(id)?.state));
        }
        let version = self.apply(&proposal, &target, &after)?;
        Ok((self.proposal(id)?, version))
    }

    /// Approves a version of a channel's skill: it is released.
    fn approve_release(
        &self,
        proposal: &Proposal,
        channel: &str,
    ) -> Result<(Proposal, Version), ReviewFault> {
        let (id, pending) = (proposal.id, ProposalState::Pending);
        if proposal.state != pending {
            return Err(ReviewFault::State(id, proposal.state));
        }
        if released(self.store, channel, &proposal.content.name)? != proposal.content.base {
            self.store.decide(id, pending, ProposalState::Stale, None)?;
            return Err(ReviewFault::Stale(proposal.content.name.clone()));
        }
        if !self.store.decide(id, pending, ProposalState::Approved, Some(&self.decision(None)))? {
            return Err(ReviewFault::State(id, self.proposal(id)?.state));
        }
        let version = self.release(proposal, channel)?;
        Ok((self.proposal(id)?, version))
    }

    /// Releases the result of an approved proposal. Doing it twice does no harm.
    fn release(&self, proposal: &Proposal, channel: &str) -> Result<Version, ReviewFault> {
        let content = &proposal.content;
        let (identity, author) = (published_identity(&content.name), Some(content.author.as_str()));
        let files = skill_files(self.store, &content.result)?;
        if let Some(version) = content.version() {
            let publication = Publication {
                name: content.name.clone(),
                version: version.to_owned(),
                digest: content.result,
                author: Some(content.author.clone()),
                time: self.time,
            };
            if self.store.publish(&publication)?.0.digest != content.result {
                self.store.decide(proposal.id, ProposalState::Approved, ProposalState::Stale, None)?;
                return Err(ReviewFault::VersionExists(content.name.clone(), version.to_owned()));
            }
        }
        let names = (identity.as_str(), content.name.as_str());
        let (version, _) = record(self.store, names, &files, Origin::Publish, author, self.time)?;
        let change = ReleaseChange { name: content.name.clone(), digest: Some(content.result) };
        let base = content.base.as_ref();
        let release = self.store.release_over(channel, &change, base, author, self.time)?;
        // Another version was released since the proposal was looked at, unless it is this one.
        if release.is_none() && released(self.store, channel, &content.name)? != Some(content.result) {
            self.store.decide(proposal.id, ProposalState::Approved, ProposalState::Stale, None)?;
            return Err(ReviewFault::Stale(content.name.clone()));
        }
        self.store.decide(proposal.id, ProposalState::Approved, ProposalState::Applied, None)?;
        Ok(version)
    }

    /// Writes the files of an approved proposal.
    fn apply(
        &self,
        proposal: &Proposal,
        target: &Target,
        after: &SkillFiles,
    ) -> Result<Version, ReviewFault> {
        let (id, approved) = (proposal.id, ProposalState::Approved);
        if proposal.content.kind == ProposalKind::Update {
            // The old state can be restored even if nothing recorded it before.
            let names = (proposal.content.skill.as_str(), proposal.content.name.as_str());
            put_skill_safely(self.store, &target.files)?;
            record(self.store, names, &target.files, Origin::Edit, None, self.time)?;
        }
        if let Err(error) = write_skill(&target.directory, &target.files, after) {
            let is_stale = error.kind() == ErrorKind::SkillChanged;
            let state = if is_stale { ProposalState::Stale } else { ProposalState::Pending };
            self.store.decide(id, approved, state, None)?;
            return Err(if is_stale {
                ReviewFault::Stale(proposal.content.name.clone())
            } else {
                error.into()
            });
        }
        self.finish(proposal, &target.directory, after)
    }

    /// Records the version of a proposal whose files are written.
    fn finish(
        &self,
        proposal: &Proposal,
        directory: &Path,
        after: &SkillFiles,
    ) -> Result<Version, ReviewFault> {
        let content = &proposal.content;
        // A new skill is known by its directory from now on.
        let skill = match content.kind {
            ProposalKind::Create => resolved(directory),
            ProposalKind::Update => content.skill.clone(),
        };
        let (names, author) = ((skill.as_str(), content.name.as_str()), Some(content.author.as_str()));
        let (version, _) = record(self.store, names, after, Origin::Proposal, author, self.time)?;
        self.store.decide(proposal.id, ProposalState::Approved, ProposalState::Applied, None)?;
        Ok(version)
    }

    /// Completes approvals interrupted between the decision and its last step. Returns the proposals.
    pub fn recover(&self) -> Result<Vec<u64>, ReviewFault> {
        let mut completed = Vec::new();
        for proposal in self.store.proposals(&[ProposalState::Approved])? {
            if let Some(channel) = proposal.content.channel() {
                if self.release(&proposal, channel).is_ok() {
                    completed.push(proposal.id);
                }
                continue;
            }
            if proposal.content.kind == ProposalKind::Create && !self.is_new_here(&proposal) {
                continue;
            }
            let Ok(directory) = self.directory(&proposal) else { continue };
            // Another process that is about to complete it holds the lock until it has.
            let _lock = lock_skill(&directory)?;
            if self.proposal(proposal.id)?.state != ProposalState::Approved {
                continue;
            }
            // One that cannot be completed does not keep the others from it; it can be rejected.
            if self.complete(&proposal).is_ok() {
                completed.push(proposal.id);
            }
        }
        Ok(completed)
    }

    /// Completes an approval that was interrupted, or makes it stale if the skill changed since.
    fn complete(&self, proposal: &Proposal) -> Result<(), ReviewFault> {
        let after = skill_files(self.store, &proposal.content.result)?;
        let result = Some(proposal.content.result);
        match self.target(proposal) {
            Ok(target) if target.digest == result => {
                drop(self.finish(proposal, &target.directory, &after)?)
            }
            Ok(target) if target.digest == proposal.content.base => {
                drop(self.apply(proposal, &target, &after)?);
            }
            Err(ReviewFault::Exists(directory)) if directory_digest(&directory) == result => {
                drop(self.finish(proposal, &directory, &after)?);
            }
            Ok(_) | Err(ReviewFault::Exists(_)) => {
                self.store.decide(proposal.id, ProposalState::Approved, ProposalState::Stale, None)?;
            }
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    /// Marks pending proposals as stale whose skills changed since.
    pub fn find_stale(&self) -> Result<(), ReviewFault> {
        for proposal in self.store.proposals(&[ProposalState::Pending])? {
            let Ok(entry) = self.entry(&proposal) else { continue };
            let is_at = |base: &Digest| block_on(self.registry.is_at(&entry, base));
            if proposal.content.base.as_ref().is_some_and(|base| is_at(base).is_ok_and(|is_at| !is_at)) {
                self.store.decide(proposal.id, ProposalState::Pending, ProposalState::Stale, None)?;
            }
        }
        Ok(())
    }

    /// Rejects the proposal; the same one is not accepted again.
    pub fn reject(&self, id: u64, reason: &str) -> Result<Proposal, ReviewFault> {
        let proposal = self.proposal(id)?;
        self.expect_not_own(&proposal)?;
        let decision = self.decision(Some(reason));
        // An approval in progress holds the lock; one that cannot be completed may still be rejected.
        let directory = self.directory(&proposal).ok();
        let _lock = directory.map(|directory| lock_skill(&directory)).transpose()?;
        for from in [ProposalState::Pending, ProposalState::Stale, ProposalState::Approved] {
            if self.store.decide(id, from, ProposalState::Rejected, Some(&decision))? {
                return self.proposal(id);
            }
        }
        Err(ReviewFault::State(id, self.proposal(id)?.state))
    }

    /// Replaces the proposal by one with the same change of the skill as it is now. Returns its number.
    pub fn rebase(&self, id: u64) -> Result<u64, ReviewFault> {
        let proposal = self.proposal(id)?;
        let content = &proposal.content;
        let is_open = matches!(proposal.state, ProposalState::Pending | ProposalState::Stale);
        if !is_open {
            return Err(ReviewFault::State(id, proposal.state));
        }
        if content.channel().is_some() {
            return Err(ReviewFault::Published(id));
        }
        let Some(base) = content.base else { return Err(ReviewFault::NewSkill(id)) };
        let entry = self.entry(&proposal)?;
        let (ours, _) = block_on(capture(self.registry, &entry))?;
        let (base, theirs) = (skill_files(self.store, &base)?, skill_files(self.store, &content.result)?);
        let merged = patch::merge(&base, &ours, &theirs).map_err(ReviewFault::Conflicts)?;
        let diff = patch::diff(&ours, &merged);
        let policy = self.registry.policy();
        let draft = draft_update(&ours, &diff, entry.name(), &entry.manifest_file, policy)
            .map_err(ReviewFault::Refused)?;
        put_skill(self.store, &ours)?;
        let result = put_skill(self.store, &draft.files)?;
        let rebased = NewProposal {
            base: draft.base,
            result,
            diff: draft.diff,
            check: draft.check,
            time: self.time,
            replaces: Some(id),
            ..content.clone()
        };
        let unlimited = ProposalLimits { per_skill: u64::MAX, per_session: u64::MAX, total: u64::MAX };
        match self.store.submit(&rebased, unlimited)? {
            Submission::Accepted(id) | Submission::Duplicate(id) => Ok(id),
            Submission::Rejected(id) => Err(ReviewFault::Refused(ProposalRefusal::Rejected(id))),
            _ => Err(ReviewFault::State(id, proposal.state)),
        }
    }

    /// Restores the version `number`. `is_forced` also replaces unrecorded edits, after recording them.
    pub fn rollback(&self, entry: &Entry, number: u64, is_forced: bool) -> Result<Version, ReviewFault> {
        let (skill, name) = (entry.record_identity(), entry.name().to_string());
        let Some(directory) = entry.identity.as_deref() else {
            return self.rollback_release(entry, number);
        };
        let versions = self.store.versions(&skill)?;
        let wanted = versions.iter().find(|version| version.number == number);
        let Some(wanted) = wanted else { return Err(ReviewFault::NoVersion(name, number)) };
        let _lock = lock_skill(Path::new(directory))?;
        let (files, digest) = block_on(capture(self.registry, entry))?;
        let names = (skill.as_str(), name.as_str());
        if !is_forced && !versions.iter().any(|version| version.digest == digest) {
            return Err(ReviewFault::UnrecordedEdits(name));
        }
        let after = skill_files(self.store, &wanted.digest)?;
        // The only other copy of these files is about to be replaced.
        put_skill_safely(self.store, &files)?;
        record(self.store, names, &files, Origin::Edit, None, self.time)?;
        write_skill(Path::new(directory), &files, &after)?;
        let (version, _) = record(self.store, names, &after, Origin::Rollback, Some(self.name), self.time)?;
        self.undo(&skill, &versions, wanted, Origin::Proposal)?;
        Ok(version)
    }

    /// Releases the version `number` of a channel's skill again. Only versions that the channel had are
    /// restored, so that no version gets into it without the review that the channel asks for.
    fn rollback_release(&self, entry: &Entry, number: u64) -> Result<Version, ReviewFault> {
        let name = entry.name().to_string();
        let Some(channel) = source_channel(&entry.source) else { return Err(ReviewFault::SkillGone(name)) };
        let identity = published_identity(&name);
        let versions = self.store.versions(&identity)?;
        let releases = self.store.releases(channel, &name)?;
        let was_released = |digest| releases.iter().any(|release| release.change.digest == Some(digest));
        let wanted = versions.iter().find(|version| version.number == number && was_released(version.digest));
        let Some(wanted) = wanted else { return Err(ReviewFault::NoVersion(name, number)) };
        let files = skill_files(self.store, &wanted.digest)?;
        let (names, by) = ((identity.as_str(), name.as_str()), Some(self.name));
        let (version, _) = record(self.store, names, &files, Origin::Rollback, by, self.time)?;
        let change = ReleaseChange { name: name.clone(), digest: Some(wanted.digest) };
        self.store.release(channel, &[change], by, self.time)?;
        self.undo(&NewProposal::of_channel(channel, &name), &versions, wanted, Origin::Publish)?;
        Ok(version)
    }

    /// Marks as rolled back the proposals of `skill` applied after `restored`, as versions with this origin.
    fn undo(
        &self,
        skill: &str,
        versions: &[Version],
        restored: &Version,
        origin: Origin,
    ) -> Result<(), ReviewFault> {
        let undone: Vec<Digest> = versions
            .iter()
            .filter(|version| version.number > restored.number && version.origin == origin)
            .map(|version| version.digest)
            .filter(|digest| *digest != restored.digest)
            .collect();
        for proposal in self.store.proposals(&[ProposalState::Applied])? {
            if proposal.content.skill == skill && undone.contains(&proposal.content.result) {
                let (applied, undone) = (ProposalState::Applied, ProposalState::RolledBack);
                self.store.decide(proposal.id, applied, undone, None)?;
            }
        }
        Ok(())
    }

    /// Returns `true` if the proposal is a new skill for the directory of this reviewer's new skills.
    pub fn is_new_here(&self, proposal: &Proposal) -> bool {
        let parent = proposal.content.directory().map(|directory| directory.parent().map(resolved));
        let is_here = parent.is_none_or(|parent| parent == self.new_skills.map(resolved));
        proposal.content.channel().is_none() && proposal.content.kind == ProposalKind::Create && is_here
    }

    fn entry(&self, proposal: &Proposal) -> Result<Entry, ReviewFault> {
        let snapshot = self.registry.snapshot();
        let found = snapshot.entries().iter().find(|entry| entry.record_identity() == proposal.content.skill);
        found.cloned().ok_or_else(|| ReviewFault::SkillGone(proposal.content.name.clone()))
    }

    fn directory(&self, proposal: &Proposal) -> Result<PathBuf, ReviewFault> {
        match proposal.content.kind {
            _ if proposal.content.channel().is_some() => Err(ReviewFault::NoDirectory),
            ProposalKind::Create => match (proposal.content.directory(), self.new_skills) {
                (Some(directory), _) => Ok(directory.to_owned()),
                (None, Some(directory)) => Ok(directory.join(&proposal.content.name)),
                (None, None) => Err(ReviewFault::NoDirectory),
            },
            ProposalKind::Update => Ok(PathBuf::from(self.entry(proposal)?.directory())),
        }
    }

    /// Returns the directory that the proposal changes, as it is now.
    fn target(&self, proposal: &Proposal) -> Result<Target, ReviewFault> {
        let directory = self.directory(proposal)?;
        if proposal.content.kind == ProposalKind::Create {
            if directory.symlink_metadata().is_ok() {
                return Err(ReviewFault::Exists(directory));
            }
            return Ok(Target { directory, files: SkillFiles::new(), digest: None });
        }
        let entry = self.entry(proposal)?;
        let (files, digest) = block_on(capture(self.registry, &entry))?;
        Ok(Target { directory, files, digest: Some(digest) })
    }
}

/// The directory of a skill that is about to be changed.
struct Target {
    directory: PathBuf,
    files: SkillFiles,
    /// The digest of its bundle; `None` for a skill that does not exist yet.
    digest: Option<Digest>,
}

fn paths(conflicts: &[Conflict]) -> String {
    conflicts.iter().map(|conflict| conflict.path.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the path of `directory` without links, as a provider resolves it.
fn resolved(directory: &Path) -> String {
    std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned()).display().to_string()
}

fn directory_digest(directory: &Path) -> Option<Digest> {
    use crate::provider::fs::{FsOptions, FsProvider};

    let provider = FsProvider::new(FsOptions::new("new", directory.parent()?.to_owned()));
    let registry =
        block_on(Registry::open_for_inspection(vec![std::sync::Arc::new(provider)], Default::default()));
    let snapshot = registry.snapshot();
    let path = resolved(directory);
    let entry = snapshot.entries().iter().find(|entry| entry.identity.as_deref() == Some(&path))?;
    block_on(registry.digest(entry)).ok()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests read what was written")]
mod tests;
