//! Publishes versions of skills to a channel of a store: at once, or as a proposal that a reviewer approves.

use std::time::SystemTime;

use repertoire_model::patch::{self, SkillFiles};
use repertoire_model::{Digest, Pattern, Policy, SkillName};

use super::draft::{check_skill, draft_replacement};
use super::proposer::ProposalRules;
use super::refusal::ProposalRefusal;
use crate::Error;
use crate::history::record;
use crate::store::{
    NewProposal, Origin, ProposalKind, Publication, ReleaseChange, Role, Store, Submission, put_skill_safely,
    skill_files,
};

const MAX_VERSION_CHARS: usize = 64;

/// The way in which a new version gets into the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishMode {
    /// At once.
    Release,
    /// When a reviewer approves it.
    Propose,
}

impl PublishMode {
    /// Returns the way in which a version of the skill `name` gets into `channel` by `rules` if somebody with
    /// `role` publishes it; `None` if the role may not publish.
    pub fn of(rules: &ProposalRules, role: Role, channel: &str, name: &SkillName) -> Option<Self> {
        let source = channel_source(channel);
        let is_among =
            |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(&source, name.as_str()));
        match role {
            Role::Reader => None,
            _ if is_among(&rules.always_review) => Some(Self::Propose),
            _ if is_among(&rules.never_review) => Some(Self::Release),
            Role::Author => Some(Self::Propose),
            Role::Reviewer | Role::Admin => Some(Self::Release),
        }
    }
}

/// Returns the source of the skills of `channel`.
pub fn channel_source(channel: &str) -> String {
    format!("store:{channel}")
}

/// Returns the channel whose skills have this source, if it is the source of one.
pub fn source_channel(source: &str) -> Option<&str> {
    source.strip_prefix("store:")
}

/// Returns the identity under which the versions of a published skill are recorded.
pub fn published_identity(name: &str) -> String {
    format!("store:{name}")
}

/// A version of a skill to publish.
#[derive(Debug)]
#[non_exhaustive]
pub struct NewPublication<'a> {
    /// The channel.
    pub channel: &'a str,
    /// The name of the skill.
    pub name: &'a SkillName,
    /// The version, such as `1.4.0`.
    pub version: &'a str,
    /// The files.
    pub files: SkillFiles,
    /// The person or program that publishes it: `user:NAME` or `agent:NAME`.
    pub author: &'a str,
    /// The current time.
    pub time: SystemTime,
}

impl<'a> NewPublication<'a> {
    /// Returns the version `version` of the skill `name`, which has these files, for `channel`.
    pub fn new(
        channel: &'a str,
        (name, version): (&'a SkillName, &'a str),
        files: SkillFiles,
        author: &'a str,
        time: SystemTime,
    ) -> Self {
        Self { channel, name, version, files, author, time }
    }
}

/// The outcome of publishing a version.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishOutcome {
    /// The digest of the bundle.
    pub digest: Digest,
    /// The findings of the rules, one per line.
    pub findings: String,
    /// The number of the release; `None` if the channel has the version already, or it waits for a review.
    pub release: Option<u64>,
    /// The number of the proposal, if it waits for a review.
    pub proposal: Option<u64>,
    /// True if the proposal is a new one, and not one that waits already.
    pub is_new_proposal: bool,
}

impl PublishOutcome {
    fn unchanged(digest: Digest, findings: String) -> Self {
        Self { digest, findings, release: None, proposal: None, is_new_proposal: false }
    }
}

/// The reason that a version is not published.
#[derive(Debug)]
#[non_exhaustive]
pub enum PublishFault {
    /// The version has characters that it cannot have, or is too long.
    Version,
    /// The version exists with other content.
    Exists(Digest),
    /// The channel has the content already, as the version of this name; `None` if it has no name.
    ReleasedAs(Option<String>),
    /// The content waits for a review already, as the version of this name.
    WaitsAs {
        /// The version; `None` if it was proposed without one.
        version: Option<String>,
        /// The number of the proposal.
        proposal: u64,
    },
    /// The files are not a valid skill, or cannot be proposed.
    Refused(ProposalRefusal),
    /// The store failed.
    Failed(Error),
}

impl From<Error> for PublishFault {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<ProposalRefusal> for PublishFault {
    fn from(refusal: ProposalRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Publishes `new` to a channel of `store`, after checking it by `policy`. It blocks.
///
/// A version never changes once it is released; of several programs that publish one at a time, the first to
/// record it wins. Content that is released or under review as one version is not proposed as another one.
pub fn publish(
    store: &dyn Store,
    policy: &Policy,
    new: NewPublication<'_>,
    mode: PublishMode,
    rules: &ProposalRules,
) -> Result<PublishOutcome, PublishFault> {
    let NewPublication { channel, name, version, files, author, time } = new;
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".-_+".contains(c);
    if !(1..=MAX_VERSION_CHARS).contains(&version.len()) || !version.chars().all(is_allowed) {
        return Err(PublishFault::Version);
    }
    let findings = check_skill(&files, name, policy)?;
    let digest = patch::bundle(&files).digest();
    let publication = Publication {
        name: name.to_string(),
        version: version.to_owned(),
        digest,
        author: Some(author.to_owned()),
        time,
    };
    let known = store.publications(name.as_str())?;
    if let Some(known) = known.iter().find(|known| known.version == version && known.digest != digest) {
        return Err(PublishFault::Exists(known.digest));
    }
    let released = released(store, channel, name.as_str())?;
    if released == Some(digest) {
        // The name of a version is taken by a review, also if its content is there already.
        if mode == PublishMode::Release {
            recorded(store, &publication)?;
        } else if !known.iter().any(|known| known.version == version) {
            let same = known.into_iter().find(|known| known.digest == digest);
            return Err(PublishFault::ReleasedAs(same.map(|same| same.version)));
        }
        return Ok(PublishOutcome::unchanged(digest, findings));
    }
    if mode == PublishMode::Propose {
        let source = channel_source(channel);
        if rules.locked.iter().any(|pattern| pattern.matches(&source, name.as_str())) {
            return Err(ProposalRefusal::Locked(name.to_string()).into());
        }
        let base = released.map(|digest| skill_files(store, &digest)).transpose()?;
        let draft = draft_replacement(base.as_ref(), files, name, policy)?;
        let proposal = NewProposal {
            kind: if base.is_some() { ProposalKind::Update } else { ProposalKind::Create },
            skill: NewProposal::of_channel(channel, name.as_str()),
            name: name.to_string(),
            base: released,
            result: digest,
            diff: draft.diff,
            justification: NewProposal::of_version(version),
            evidence: None,
            check: draft.check,
            author: author.to_owned(),
            session: None,
            time,
            replaces: None,
        };
        // Nothing is stored of a proposal that is refused.
        if let Some(refusal) = store.refusal(&proposal, rules.limits)? {
            let (id, _) = submitted(store, refusal, version)?;
            return Ok(PublishOutcome { proposal: Some(id), ..PublishOutcome::unchanged(digest, findings) });
        }
        put_skill_safely(store, &draft.files)?;
        let (id, is_new_proposal) = submitted(store, store.submit(&proposal, rules.limits)?, version)?;
        // The version is taken once it is approved: one that is rejected can be mended.
        let unchanged = PublishOutcome::unchanged(digest, findings);
        return Ok(PublishOutcome { proposal: Some(id), is_new_proposal, ..unchanged });
    }
    put_skill_safely(store, &files)?;
    recorded(store, &publication)?;
    let identity = published_identity(name.as_str());
    record(store, (&identity, name.as_str()), &files, Origin::Publish, Some(author), time)?;
    let change = ReleaseChange { name: name.to_string(), digest: Some(digest) };
    let release = store.release(channel, &[change], Some(author), time)?;
    Ok(PublishOutcome { release, ..PublishOutcome::unchanged(digest, findings) })
}

/// Returns the number of the proposal of `version`, and `true` if it is new.
fn submitted(store: &dyn Store, submission: Submission, version: &str) -> Result<(u64, bool), PublishFault> {
    match submission {
        Submission::Accepted(id) => Ok((id, true)),
        Submission::Duplicate(id) => match store.proposal(id)? {
            Some(waiting) if waiting.content.version() != Some(version) => {
                let version = waiting.content.version().map(str::to_owned);
                Err(PublishFault::WaitsAs { version, proposal: id })
            }
            _ => Ok((id, false)),
        },
        Submission::Rejected(id) => Err(ProposalRefusal::Rejected(id).into()),
        _ => Err(ProposalRefusal::TooMany("for this skill wait for review").into()),
    }
}

/// Records `publication`; fails if another one took the version in the meantime.
fn recorded(store: &dyn Store, publication: &Publication) -> Result<(), PublishFault> {
    let (recorded, _) = store.publish(publication)?;
    if recorded.digest == publication.digest { Ok(()) } else { Err(PublishFault::Exists(recorded.digest)) }
}

pub(super) fn released(store: &dyn Store, channel: &str, name: &str) -> Result<Option<Digest>, Error> {
    let skills = store.released(channel)?;
    Ok(skills.into_iter().find(|skill| skill.name == name).map(|skill| skill.digest))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use repertoire_model::SkillPath;
    use repertoire_model::patch::FileData;

    use super::super::review::{ReviewFault, Reviewer};
    use super::*;
    use crate::provider::store::StoreProvider;
    use crate::registry::Registry;
    use crate::store::{
        LazyStore, MemoryStore, ProposalLimits, ProposalState, Proposals as _, Publications as _,
        Releases as _,
    };

    fn rules() -> ProposalRules {
        let limits = ProposalLimits { per_skill: 2, per_session: 2, total: 2 };
        ProposalRules { limits, ..ProposalRules::default() }
    }

    fn files(name: &str, body: &str) -> SkillFiles {
        let text =
            format!("---\nname: {name}\ndescription: Does it. Use when it is to be done.\n---\n{body}\n");
        let file = FileData { executable: false, bytes: text.into_bytes() };
        SkillFiles::from([(SkillPath::new("SKILL.md").unwrap(), file)])
    }

    fn put(
        store: &MemoryStore,
        version: &str,
        body: &str,
        mode: PublishMode,
    ) -> Result<PublishOutcome, PublishFault> {
        let name = SkillName::new("greet").unwrap();
        let time = SystemTime::UNIX_EPOCH;
        let new = NewPublication::new("stable", (&name, version), files("greet", body), "user:ann", time);
        publish(store, &Policy::default(), new, mode, &rules())
    }

    #[test]
    fn a_version_is_released_once_and_never_changes() {
        let store = MemoryStore::new();
        let first = put(&store, "1.0.0", "one", PublishMode::Release).unwrap();
        assert_eq!((first.release, first.proposal), (Some(1), None));
        let again = put(&store, "1.0.0", "one", PublishMode::Release).unwrap();
        assert_eq!((again.release, again.digest), (None, first.digest));
        let other = put(&store, "1.0.0", "two", PublishMode::Release);
        assert!(matches!(other, Err(PublishFault::Exists(digest)) if digest == first.digest));
        let second = put(&store, "1.1.0", "two", PublishMode::Release).unwrap();
        assert_eq!(store.released("stable").unwrap()[0].digest, second.digest);
        // An earlier version can be published again.
        assert_eq!(put(&store, "1.0.0", "one", PublishMode::Release).unwrap().release, Some(3));
        assert_eq!(store.publications("greet").unwrap().len(), 2);
    }

    #[test]
    fn a_proposed_version_is_released_by_the_approval_of_somebody_else() {
        let store = MemoryStore::new();
        let registry = pollster::block_on(Registry::open(Vec::new(), Policy::default())).unwrap();
        let reviewer = |name| Reviewer {
            decides_own: false,
            ..Reviewer::new(&store, &registry, name, SystemTime::UNIX_EPOCH)
        };
        let proposed = put(&store, "1.0.0", "one", PublishMode::Propose).unwrap();
        let id = proposed.proposal.unwrap();
        assert_eq!(store.released("stable").unwrap(), []);
        assert!(store.publications("greet").unwrap().is_empty(), "the version is free until it is approved");
        assert!(matches!(reviewer("user:ann").approve(id), Err(ReviewFault::OwnProposal(_))));
        assert!(matches!(reviewer("user:Ann").approve(id), Err(ReviewFault::OwnProposal(_))), "another case");
        let (applied, version) = reviewer("user:bob").approve(id).unwrap();
        assert_eq!((applied.state, version.digest), (ProposalState::Applied, proposed.digest));
        assert_eq!(store.released("stable").unwrap()[0].digest, proposed.digest);
        let published = &store.publications("greet").unwrap()[0];
        assert_eq!((published.version.as_str(), published.digest), ("1.0.0", proposed.digest));
        assert_eq!(published.author.as_deref(), Some("user:ann"));
        assert!(matches!(reviewer("user:bob").approve(id), Err(ReviewFault::State(..))));
        // A proposal is stale if another version was released since.
        let second = put(&store, "1.1.0", "two", PublishMode::Propose).unwrap().proposal.unwrap();
        assert!(store.proposal(second).unwrap().unwrap().content.diff.contains("-one\n+two"));
        put(&store, "2.0.0", "three", PublishMode::Release).unwrap();
        assert!(matches!(reviewer("user:bob").approve(second), Err(ReviewFault::Stale(_))));
        reviewer("user:bob").reject(second, "no").unwrap();
        assert!(matches!(
            put(&store, "1.1.0", "two", PublishMode::Propose),
            Ok(PublishOutcome { proposal: Some(_), .. }) | Err(PublishFault::Refused(_))
        ));
        assert!(reviewer("user:bob").recover().unwrap().is_empty());
    }

    #[test]
    fn a_version_of_released_content_is_not_taken_without_a_review() {
        let store = MemoryStore::new();
        let first = put(&store, "1.0.0", "one", PublishMode::Release).unwrap();
        let again = put(&store, "1.0.0", "one", PublishMode::Propose).unwrap();
        assert_eq!((again.release, again.proposal, again.digest), (None, None, first.digest));
        let renamed = put(&store, "1.4.0", "one", PublishMode::Propose);
        assert!(matches!(renamed, Err(PublishFault::ReleasedAs(Some(version))) if version == "1.0.0"));
        assert_eq!(store.publications("greet").unwrap().len(), 1);
        assert!(put(&store, "1.4.0", "two", PublishMode::Release).unwrap().release.is_some());
    }

    #[test]
    fn content_that_waits_for_a_review_is_not_proposed_as_another_version() {
        let store = MemoryStore::new();
        let id = put(&store, "1.0.0", "one", PublishMode::Propose).unwrap().proposal.unwrap();
        assert_eq!(put(&store, "1.0.0", "one", PublishMode::Propose).unwrap().proposal, Some(id));
        let renamed = put(&store, "1.4.0", "one", PublishMode::Propose);
        assert!(
            matches!(renamed, Err(PublishFault::WaitsAs { version: Some(version), proposal }) if version == "1.0.0" && proposal == id)
        );
    }

    #[test]
    fn a_version_that_the_channel_had_is_released_again_by_a_rollback() {
        let store = Arc::new(MemoryStore::new());
        let lazy = LazyStore::from(Arc::clone(&store) as Arc<dyn Store>);
        let first = put(&store, "1.0.0", "one", PublishMode::Release).unwrap();
        let proposed = put(&store, "2.0.0", "two", PublishMode::Propose).unwrap().proposal.unwrap();
        let provider = Arc::new(StoreProvider::new(lazy, "stable"));
        let registry = pollster::block_on(Registry::open(vec![provider], Policy::default())).unwrap();
        let reviewer = Reviewer::new(&*store, &registry, "user:bob", SystemTime::UNIX_EPOCH);
        reviewer.approve(proposed).unwrap();
        // Another channel gets a version that this one never had.
        let name = SkillName::new("greet").unwrap();
        let (content, time) = (files("greet", "three"), SystemTime::UNIX_EPOCH);
        let other = NewPublication::new("next", (&name, "3.0.0"), content, "user:cid", time);
        publish(&*store, &Policy::default(), other, PublishMode::Release, &rules()).unwrap();
        let snapshot = registry.snapshot();
        let entry = &snapshot.entries()[0];
        assert!(matches!(reviewer.rollback(entry, 3, false), Err(ReviewFault::NoVersion(_, 3))));
        let restored = reviewer.rollback(entry, 1, false).unwrap();
        assert_eq!((restored.number, restored.origin), (4, Origin::Rollback));
        assert_eq!(restored.author.as_deref(), Some("user:bob"));
        assert_eq!(store.released("stable").unwrap()[0].digest, first.digest);
        assert_eq!(store.proposal(proposed).unwrap().unwrap().state, ProposalState::RolledBack);
    }

    #[test]
    fn a_version_that_is_taken_meanwhile_cannot_be_approved_and_one_that_is_rejected_is_free() {
        let store = MemoryStore::new();
        let registry = pollster::block_on(Registry::open(Vec::new(), Policy::default())).unwrap();
        let reviewer = Reviewer::new(&store, &registry, "user:bob", SystemTime::UNIX_EPOCH);
        put(&store, "1.0.0", "one", PublishMode::Release).unwrap();
        // Another channel takes the version while a proposal for this one waits.
        let waiting = put(&store, "1.1.0", "two", PublishMode::Propose).unwrap().proposal.unwrap();
        let name = SkillName::new("greet").unwrap();
        let other = NewPublication::new(
            "next",
            (&name, "1.1.0"),
            files("greet", "three"),
            "user:cid",
            SystemTime::UNIX_EPOCH,
        );
        publish(&store, &Policy::default(), other, PublishMode::Release, &rules()).unwrap();
        assert!(matches!(reviewer.approve(waiting), Err(ReviewFault::VersionExists(..))));
        assert_eq!(store.proposal(waiting).unwrap().unwrap().state, ProposalState::Stale);
        let rejected = put(&store, "1.2.0", "four", PublishMode::Propose).unwrap().proposal.unwrap();
        reviewer.reject(rejected, "no").unwrap();
        assert!(put(&store, "1.2.0", "five", PublishMode::Propose).unwrap().proposal.is_some());
    }

    #[test]
    fn one_of_two_programs_that_publish_a_version_at_a_time_wins() {
        let store = MemoryStore::new();
        let outcomes: Vec<bool> = std::thread::scope(|scope| {
            let bodies = ["one", "two", "three", "four"];
            let threads =
                bodies.map(|body| scope.spawn(|| put(&store, "1.0.0", body, PublishMode::Release).is_ok()));
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(outcomes.iter().filter(|is_published| **is_published).count(), 1);
        let published = store.publications("greet").unwrap();
        assert_eq!((published.len(), published[0].digest), (1, store.released("stable").unwrap()[0].digest));
    }

    #[test]
    fn a_version_that_another_approval_overtook_is_stale() {
        let store = MemoryStore::new();
        let registry = pollster::block_on(Registry::open(Vec::new(), Policy::default())).unwrap();
        let reviewer = Reviewer::new(&store, &registry, "user:bob", SystemTime::UNIX_EPOCH);
        let slow = put(&store, "1.0.0", "one", PublishMode::Propose).unwrap().proposal.unwrap();
        let fast = put(&store, "1.1.0", "two", PublishMode::Propose).unwrap().proposal.unwrap();
        // The slow one was looked at and decided, and is about to be released.
        assert!(store.decide(slow, ProposalState::Pending, ProposalState::Approved, None).unwrap());
        let (_, version) = reviewer.approve(fast).unwrap();
        assert!(reviewer.recover().unwrap().is_empty());
        assert_eq!(store.proposal(slow).unwrap().unwrap().state, ProposalState::Stale);
        assert_eq!(store.released("stable").unwrap()[0].digest, version.digest);
    }

    #[test]
    fn an_approval_that_was_interrupted_is_completed() {
        let store = MemoryStore::new();
        let registry = pollster::block_on(Registry::open(Vec::new(), Policy::default())).unwrap();
        let id = put(&store, "1.0.0", "one", PublishMode::Propose).unwrap().proposal.unwrap();
        assert!(store.decide(id, ProposalState::Pending, ProposalState::Approved, None).unwrap());
        let mut reviewer = Reviewer::new(&store, &registry, "user:bob", SystemTime::UNIX_EPOCH);
        reviewer.new_skills = Some("/nonexistent".as_ref());
        assert_eq!(reviewer.recover().unwrap(), [id]);
        assert_eq!(store.released("stable").unwrap().len(), 1);
    }

    #[test]
    fn rules_decide_what_is_reviewed_before_roles_do() {
        use PublishMode::{Propose, Release};
        let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::new(text).unwrap()).collect();
        let rules = ProposalRules {
            always_review: patterns(&["store:stable:pay-*"]),
            never_review: patterns(&["store:next:*", "notes"]),
            ..ProposalRules::default()
        };
        let check = |role: Role, channel: &str, name: &str, expect: Option<PublishMode>| {
            let name = SkillName::new(name).unwrap();
            assert_eq!(PublishMode::of(&rules, role, channel, &name), expect, "{role} {channel} {name}");
        };
        check(Role::Reader, "next", "git", None);
        check(Role::Author, "stable", "git", Some(Propose));
        check(Role::Reviewer, "stable", "git", Some(Release));
        check(Role::Admin, "stable", "pay-out", Some(Propose));
        check(Role::Author, "next", "pay-out", Some(Release));
        check(Role::Author, "stable", "notes", Some(Release));
    }

    #[test]
    fn nothing_is_stored_of_a_proposal_that_is_refused() {
        let store = MemoryStore::new();
        for version in ["1", "2"] {
            let published = put(&store, version, version, PublishMode::Propose).unwrap();
            assert!(published.is_new_proposal);
            let again = put(&store, version, version, PublishMode::Propose).unwrap();
            assert_eq!((again.proposal, again.is_new_proposal), (published.proposal, false));
        }
        assert!(matches!(put(&store, "3", "3", PublishMode::Propose), Err(PublishFault::Refused(_))));
        let digest = patch::bundle(&files("greet", "3")).digest();
        assert!(skill_files(&store, &digest).is_err());
        let name = SkillName::new("greet").unwrap();
        let new = NewPublication::new(
            "stable",
            (&name, "4"),
            files("greet", "4"),
            "user:ann",
            SystemTime::UNIX_EPOCH,
        );
        let locked = ProposalRules { locked: vec![Pattern::new("gr*").unwrap()], ..ProposalRules::default() };
        let refused = publish(&store, &Policy::default(), new, PublishMode::Propose, &locked);
        assert!(matches!(refused, Err(PublishFault::Refused(ProposalRefusal::Locked(_)))));
    }

    #[test]
    fn broken_skills_and_bad_versions_are_refused() {
        let store = MemoryStore::new();
        let name = SkillName::new("other").unwrap();
        let publish = |version: &str, files: SkillFiles| {
            let new =
                NewPublication::new("stable", (&name, version), files, "user:ann", SystemTime::UNIX_EPOCH);
            super::publish(&store, &Policy::default(), new, PublishMode::Release, &rules())
        };
        for version in ["", "1 0", "../1", "é", &"1".repeat(65)] {
            assert!(matches!(publish(version, files("other", "x")), Err(PublishFault::Version)), "{version}");
        }
        assert!(matches!(
            publish("1", files("greet", "x")),
            Err(PublishFault::Refused(ProposalRefusal::Renamed(_)))
        ));
        assert!(matches!(
            publish("1", SkillFiles::new()),
            Err(PublishFault::Refused(ProposalRefusal::Broken(_)))
        ));
        assert!(store.publications("other").unwrap().is_empty() && store.channels().unwrap().is_empty());
    }
}
