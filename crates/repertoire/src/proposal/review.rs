//! The decisions of reviewers, and rollbacks: everything that changes files.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pollster::block_on;
use repertoire_model::patch::{self, Conflict, SkillFiles};

use super::draft::draft_update;
use super::refusal::Refusal;
use crate::history::{capture, identity, lock_skill, record, write_skill};
use crate::registry::{Entry, Registry};
use crate::store::{
    Decision, NewProposal, Origin, Proposal, ProposalKind, ProposalLimits, ProposalState, Store, Submission,
    Version, put_skill, skill_files,
};
use crate::{Error, ErrorKind};

/// The reason that a decision is not carried out.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReviewFault {
    /// No proposal has this number.
    NotFound(u64),
    /// It is not in a state in which this can be decided.
    State(u64, ProposalState),
    /// An agent decides about its own proposal.
    OwnProposal(String),
    /// The skill changed since; the proposal is stale.
    Stale(String),
    /// The skill is gone.
    SkillGone(String),
    /// A file or directory stands where the new skill shall be.
    Exists(PathBuf),
    /// There is no directory for new skills.
    NoDirectory,
    /// The changes since and the proposal contradict each other in these files.
    Conflicts(Vec<Conflict>),
    /// The rebased proposal is refused.
    Refused(Refusal),
    /// The working copy has edits that no version holds.
    UnrecordedEdits(String),
    /// No version has this number.
    NoVersion(String, u64),
    /// The store or the file system failed.
    Failed(Error),
}

impl fmt::Display for ReviewFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(id) => write!(f, "there is no proposal {id}"),
            Self::State(id, state) => write!(f, "proposal {id} is {state}"),
            Self::OwnProposal(author) => write!(f, "{author} cannot decide about a proposal of its own"),
            Self::Stale(name) => write!(f, "{name} changed since the proposal was made, which is stale now"),
            Self::SkillGone(name) => write!(f, "the skill {name} is gone"),
            Self::Exists(path) => write!(f, "{} exists", path.display()),
            Self::NoDirectory => f.write_str("there is no directory for new skills"),
            Self::Conflicts(conflicts) => {
                let paths: Vec<&str> = conflicts.iter().map(|conflict| conflict.path.as_str()).collect();
                write!(f, "the skill and the proposal changed the same lines of {}", paths.join(", "))
            }
            Self::Refused(refusal) => refusal.fmt(f),
            Self::UnrecordedEdits(name) => write!(f, "{name} has edits that no version holds"),
            Self::NoVersion(name, number) => write!(f, "{name} has no version {number}"),
            Self::Failed(error) => f.write_str(&error.chain()),
        }
    }
}

impl std::error::Error for ReviewFault {}

impl From<Error> for ReviewFault {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Decides about proposals and restores versions.
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
}

impl Reviewer<'_> {
    fn proposal(&self, id: u64) -> Result<Proposal, ReviewFault> {
        self.store.proposal(id)?.ok_or(ReviewFault::NotFound(id))
    }

    fn decision(&self, reason: Option<&str>) -> Decision {
        Decision { reviewer: self.name.to_owned(), reason: reason.map(str::to_owned), time: self.time }
    }

    fn expect_not_own(&self, proposal: &Proposal) -> Result<(), ReviewFault> {
        let is_own = self.name.starts_with("agent:") && proposal.content.author == self.name;
        if is_own { Err(ReviewFault::OwnProposal(self.name.to_owned())) } else { Ok(()) }
    }

    /// Approves the proposal: its files are written, and a version is recorded.
    pub fn approve(&self, id: u64) -> Result<(Proposal, Version), ReviewFault> {
        let proposal = self.proposal(id)?;
        self.expect_not_own(&proposal)?;
        if proposal.state != ProposalState::Pending {
            return Err(ReviewFault::State(id, proposal.state));
        }
        let _lock = lock_skill(&self.directory(&proposal)?);
        // Another reviewer may have decided in the meantime.
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

    /// Completes approvals that were interrupted between the decision and its last step. Returns the proposals.
    pub fn recover(&self) -> Result<Vec<u64>, ReviewFault> {
        let mut completed = Vec::new();
        for proposal in self.store.proposals(&[ProposalState::Approved])? {
            let Ok(directory) = self.directory(&proposal) else { continue };
            // Another process that is about to complete it holds the lock until it has.
            let _lock = lock_skill(&directory);
            if self.proposal(proposal.id)?.state != ProposalState::Approved {
                continue;
            }
            let after = skill_files(self.store, &proposal.content.result)?;
            let target = match self.target(&proposal) {
                Ok(target) => target,
                Err(ReviewFault::Exists(directory)) => {
                    let written = directory_digest(&directory);
                    if written == Some(proposal.content.result) {
                        self.finish(&proposal, &directory, &after)?;
                        completed.push(proposal.id);
                    }
                    continue;
                }
                Err(_) => continue,
            };
            if target.digest == Some(proposal.content.result) {
                self.finish(&proposal, &target.directory, &after)?;
            } else if target.digest == proposal.content.base {
                self.apply(&proposal, &target, &after)?;
            } else {
                self.store.decide(proposal.id, ProposalState::Approved, ProposalState::Stale, None)?;
            }
            completed.push(proposal.id);
        }
        Ok(completed)
    }

    /// Rejects the proposal; the same one is not accepted again.
    pub fn reject(&self, id: u64, reason: &str) -> Result<Proposal, ReviewFault> {
        let proposal = self.proposal(id)?;
        self.expect_not_own(&proposal)?;
        let decision = self.decision(Some(reason));
        for from in [ProposalState::Pending, ProposalState::Stale] {
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
        let (true, Some(base)) = (is_open, content.base) else {
            return Err(ReviewFault::State(id, proposal.state));
        };
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
        let unlimited = ProposalLimits { per_skill: u64::MAX, per_session: u64::MAX };
        match self.store.submit(&rebased, unlimited)? {
            Submission::Accepted(id) | Submission::Duplicate(id) => Ok(id),
            Submission::Rejected(id) => Err(ReviewFault::Refused(Refusal::Rejected(id))),
            Submission::TooManyForSkill | Submission::TooManyForSession => {
                Err(ReviewFault::State(id, proposal.state))
            }
        }
    }

    /// Restores the version `number` of the skill. `is_forced` also replaces edits that no version holds, after recording them.
    pub fn rollback(&self, entry: &Entry, number: u64, is_forced: bool) -> Result<Version, ReviewFault> {
        let (skill, name) = (identity(entry), entry.name().to_string());
        let Some(directory) = entry.identity.as_deref() else { return Err(ReviewFault::SkillGone(name)) };
        let versions = self.store.versions(&skill)?;
        let wanted = versions.iter().find(|version| version.number == number);
        let Some(wanted) = wanted else { return Err(ReviewFault::NoVersion(name, number)) };
        let _lock = lock_skill(Path::new(directory));
        let (files, digest) = block_on(capture(self.registry, entry))?;
        let names = (skill.as_str(), name.as_str());
        if !versions.iter().any(|version| version.digest == digest) {
            if !is_forced {
                return Err(ReviewFault::UnrecordedEdits(name));
            }
            record(self.store, names, &files, Origin::Edit, None, self.time)?;
        }
        let after = skill_files(self.store, &wanted.digest)?;
        write_skill(Path::new(directory), &files, &after)?;
        // A version that is in force already stays what it was.
        let is_changed = wanted.digest != digest;
        let origin = if is_changed { Origin::Rollback } else { Origin::Edit };
        let author = is_changed.then_some(self.name);
        let (version, _) = record(self.store, names, &after, origin, author, self.time)?;
        for proposal in self.store.proposals(&[ProposalState::Applied])? {
            if proposal.content.skill == skill && proposal.content.result == digest && digest != wanted.digest
            {
                let (applied, undone) = (ProposalState::Applied, ProposalState::RolledBack);
                self.store.decide(proposal.id, applied, undone, None)?;
            }
        }
        Ok(version)
    }

    fn entry(&self, proposal: &Proposal) -> Result<Entry, ReviewFault> {
        let snapshot = self.registry.snapshot();
        let found = snapshot.entries().iter().find(|entry| identity(entry) == proposal.content.skill);
        found.cloned().ok_or_else(|| ReviewFault::SkillGone(proposal.content.name.clone()))
    }

    /// Returns the directory that the proposal changes.
    fn directory(&self, proposal: &Proposal) -> Result<PathBuf, ReviewFault> {
        match proposal.content.kind {
            ProposalKind::Create => {
                Ok(self.new_skills.ok_or(ReviewFault::NoDirectory)?.join(&proposal.content.name))
            }
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
    digest: Option<repertoire_model::Digest>,
}

/// Returns the path of `directory` without links, as a provider resolves it.
fn resolved(directory: &Path) -> String {
    std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned()).display().to_string()
}

/// Returns the digest of the skill in `directory`, if there is one.
fn directory_digest(directory: &Path) -> Option<repertoire_model::Digest> {
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
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::super::{ProposalRules, ProposalText, Proposer};
    use super::*;
    use crate::library::Library;
    use crate::store::{LazyStore, MemoryStore, Versions};

    const HEAD: &str = "---\nname: greet\ndescription: Greets people. Use when someone says hello.\n---\n";

    struct Setting {
        root: tempfile::TempDir,
        library: Library,
        store: Arc<MemoryStore>,
        proposer: Arc<Proposer>,
    }

    impl Setting {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir_all(root.path().join("greet")).unwrap();
            fs::write(root.path().join("greet/SKILL.md"), format!("{HEAD}# Greet\n\nOne.\nTwo.\nThree.\n"))
                .unwrap();
            let library = block_on(Library::builder().directory(root.path()).open()).unwrap();
            let store = Arc::new(MemoryStore::new());
            let lazy = LazyStore::from(Arc::clone(&store) as Arc<dyn Store>);
            let proposer = Arc::new(Proposer::new(lazy, ProposalRules::default()));
            Self { root, library, store, proposer }
        }

        fn entry(&self) -> Entry {
            block_on(self.library.reload());
            self.library
                .snapshot()
                .entries()
                .iter()
                .find(|entry| entry.name().as_str() == "greet")
                .unwrap()
                .clone()
        }

        fn text(&self) -> ProposalText {
            ProposalText {
                justification: "it is wrong".to_owned(),
                evidence: None,
                author: "agent:helper".to_owned(),
                session: Some("s1".to_owned()),
                time: SystemTime::UNIX_EPOCH,
                replaces: None,
            }
        }

        fn propose(&self, from: &str, to: &str) -> Result<Proposal, Refusal> {
            let diff = format!("--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1 +1 @@\n-{from}\n+{to}\n");
            block_on(self.proposer.propose_update(self.library.registry(), &self.entry(), &diff, self.text()))
        }

        fn reviewer<'a>(&'a self, name: &'a str) -> Reviewer<'a> {
            block_on(self.library.reload());
            Reviewer {
                store: &*self.store,
                registry: self.library.registry(),
                new_skills: Some(self.root.path()),
                name,
                time: SystemTime::UNIX_EPOCH,
            }
        }

        fn body(&self) -> String {
            fs::read_to_string(self.root.path().join("greet/SKILL.md")).unwrap().replace(HEAD, "")
        }
    }

    #[test]
    fn i2_i3_only_an_approval_changes_the_skill() {
        let setting = Setting::new();
        let proposal = setting.propose("Two.", "2.").unwrap();
        assert!(setting.body().contains("Two."));
        let own = setting.reviewer("agent:helper").approve(proposal.id).unwrap_err();
        assert!(matches!(own, ReviewFault::OwnProposal(_)));
        let (applied, version) = setting.reviewer("user:ann").approve(proposal.id).unwrap();
        assert_eq!((applied.state, version.origin), (ProposalState::Applied, Origin::Proposal));
        assert_eq!(version.author.as_deref(), Some("agent:helper"));
        assert_eq!(applied.decision.unwrap().reviewer, "user:ann");
        assert_eq!(version.number, 2, "the state before can be restored");
        assert_eq!(setting.body(), "# Greet\n\nOne.\n2.\nThree.\n");
        let again = setting.reviewer("user:bob").approve(proposal.id).unwrap_err();
        assert!(matches!(again, ReviewFault::State(_, ProposalState::Applied)));
    }

    #[test]
    fn i3_a_rejected_proposal_is_not_accepted_again() {
        let setting = Setting::new();
        let proposal = setting.propose("Two.", "2.").unwrap();
        setting.reviewer("user:ann").reject(proposal.id, "no").unwrap();
        assert!(matches!(setting.propose("Two.", "2."), Err(Refusal::Rejected(id)) if id == proposal.id));
        assert!(setting.body().contains("Two."));
    }

    #[test]
    fn i4_a_stale_proposal_is_rebased_or_conflicts() {
        let setting = Setting::new();
        let proposal = setting.propose("Three.", "3.").unwrap();
        let path = setting.root.path().join("greet/SKILL.md");
        fs::write(&path, format!("{HEAD}# Greet all\n\nOne.\nTwo.\nThree.\n")).unwrap();
        let reviewer = setting.reviewer("user:ann");
        assert!(matches!(reviewer.approve(proposal.id), Err(ReviewFault::Stale(_))));
        let rebased = reviewer.rebase(proposal.id).unwrap();
        assert_eq!(reviewer.proposal(proposal.id).unwrap().state, ProposalState::Superseded);
        reviewer.approve(rebased).unwrap();
        assert_eq!(setting.body(), "# Greet all\n\nOne.\nTwo.\n3.\n");
        let proposal = setting.propose("One.", "1.").unwrap();
        fs::write(&path, format!("{HEAD}# Greet all\n\nI.\nTwo.\n3.\n")).unwrap();
        let reviewer = setting.reviewer("user:ann");
        assert!(
            matches!(reviewer.rebase(proposal.id), Err(ReviewFault::Conflicts(files)) if files.len() == 1)
        );
    }

    #[test]
    fn i5_i8_bad_changes_and_locked_skills_are_refused() {
        let setting = Setting::new();
        let refused = |diff: &str| {
            let registry = setting.library.registry();
            block_on(setting.proposer.propose_update(registry, &setting.entry(), diff, setting.text()))
                .unwrap_err()
        };
        let new_file = |path: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
        assert!(matches!(refused(&new_file("../other/SKILL.md")), Refusal::Diff(_)));
        assert!(matches!(refused(&new_file("/etc/x")), Refusal::Diff(_)));
        for hidden in [".git/hooks/x", ".env", "references/.x"] {
            let refusal = refused(&new_file(hidden));
            assert!(matches!(refusal, Refusal::Hidden(_) | Refusal::Diff(_)), "{hidden}: {refusal}");
        }
        assert!(matches!(
            setting.propose("name: greet", "name: other"),
            Err(Refusal::Broken(_) | Refusal::Renamed(_))
        ));
        let unclosed = "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -3,2 +3 @@\n description: Greets people. Use when someone says hello.\n----\n";
        assert!(matches!(refused(unclosed), Refusal::Broken(_)));
        assert!(matches!(setting.propose("One.", "One."), Err(Refusal::Unchanged)));
        let pattern = repertoire_model::scope::Pattern::new("greet").unwrap();
        let rules = ProposalRules { locked: vec![pattern], ..ProposalRules::default() };
        let lazy = LazyStore::from(Arc::clone(&setting.store) as Arc<dyn Store>);
        let locked = Arc::new(Proposer::new(lazy, rules));
        let diff = "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1 +1 @@\n-One.\n+1.\n";
        let outcome = block_on(locked.propose_update(
            setting.library.registry(),
            &setting.entry(),
            diff,
            setting.text(),
        ));
        assert!(matches!(outcome, Err(Refusal::Locked(_))));
    }

    #[test]
    fn i6_a_new_skill_is_nowhere_until_it_is_approved() {
        let setting = Setting::new();
        let name = repertoire_model::SkillName::new("farewell").unwrap();
        let text = HEAD.replace("greet", "farewell") + "# Farewell\n";
        let files = SkillFiles::from([(
            repertoire_model::SkillPath::new("SKILL.md").unwrap(),
            patch::FileData::new(text),
        )]);
        let registry = setting.library.registry();
        let proposal =
            block_on(setting.proposer.propose_skill(registry, &name, files, setting.text())).unwrap();
        assert_eq!(block_on(setting.library.reload()).active().count(), 1);
        let (_, version) = setting.reviewer("user:ann").approve(proposal.id).unwrap();
        let snapshot = block_on(setting.library.reload());
        let entry = snapshot.active().find(|entry| entry.name() == &name).unwrap();
        assert_eq!(version.skill, identity(entry));
    }

    #[test]
    fn i7_an_earlier_version_is_restored() {
        let setting = Setting::new();
        let (files, _) = block_on(capture(setting.library.registry(), &setting.entry())).unwrap();
        let skill = identity(&setting.entry());
        record(&*setting.store, (&skill, "greet"), &files, Origin::Edit, None, SystemTime::UNIX_EPOCH)
            .unwrap();
        let proposal = setting.propose("Two.", "2.").unwrap();
        setting.reviewer("user:ann").approve(proposal.id).unwrap();
        let version = setting.reviewer("user:ann").rollback(&setting.entry(), 1, false).unwrap();
        assert_eq!((version.number, version.origin), (3, Origin::Rollback));
        assert_eq!(setting.body(), "# Greet\n\nOne.\nTwo.\nThree.\n");
        let state = setting.store.as_ref();
        assert_eq!(
            crate::store::Proposals::proposal(state, proposal.id).unwrap().unwrap().state,
            ProposalState::RolledBack
        );
        // Edits that no version holds are kept, and recorded when they are overwritten by force.
        let path = setting.root.path().join("greet/SKILL.md");
        fs::write(&path, format!("{HEAD}# Edited\n")).unwrap();
        let refused = setting.reviewer("user:ann").rollback(&setting.entry(), 2, false);
        assert!(matches!(refused, Err(ReviewFault::UnrecordedEdits(_))));
        assert_eq!(setting.body(), "# Edited\n");
        setting.reviewer("user:ann").rollback(&setting.entry(), 2, true).unwrap();
        assert!(setting.body().contains("2."));
        assert_eq!(setting.store.versions(&skill).unwrap().len(), 5);
        let missing = setting.reviewer("user:ann").rollback(&setting.entry(), 9, false);
        assert!(matches!(missing, Err(ReviewFault::NoVersion(_, 9))));
    }

    #[test]
    fn interrupted_approvals_are_completed() {
        let setting = Setting::new();
        let decide = |id| {
            let (pending, approved) = (ProposalState::Pending, ProposalState::Approved);
            crate::store::Proposals::decide(&*setting.store, id, pending, approved, None).unwrap()
        };
        // Before the files were written.
        let first = setting.propose("Two.", "2.").unwrap();
        assert!(decide(first.id));
        assert_eq!(setting.reviewer("user:ann").recover().unwrap(), [first.id]);
        assert!(setting.body().contains("2."));
        // After the files were written.
        let second = setting.propose("2.", "II.").unwrap();
        assert!(decide(second.id));
        let path = setting.root.path().join("greet/SKILL.md");
        fs::write(&path, fs::read_to_string(&path).unwrap().replace("2.", "II.")).unwrap();
        assert_eq!(setting.reviewer("user:ann").recover().unwrap(), [second.id]);
        assert_eq!(setting.reviewer("user:ann").recover().unwrap(), [0; 0]);
        for id in [first.id, second.id] {
            assert_eq!(setting.reviewer("x").proposal(id).unwrap().state, ProposalState::Applied);
        }
    }
}
