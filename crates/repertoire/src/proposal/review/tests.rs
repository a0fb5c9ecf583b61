//! Tests of decisions and rollbacks.

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

    fn propose(&self, from: &str, to: &str) -> Result<Proposal, ProposalRefusal> {
        let diff = format!("--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1 +1 @@\n-{from}\n+{to}\n");
        block_on(self.proposer.propose_update(self.library.registry(), &self.entry(), &diff, self.text()))
    }

    fn reviewer<'a>(&'a self, name: &'a str) -> Reviewer<'a> {
        block_on(self.library.reload());
        let registry = self.library.registry();
        let reviewer = Reviewer::new(&*self.store, registry, name, SystemTime::UNIX_EPOCH);
        Reviewer { new_skills: Some(self.root.path()), ..reviewer }
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
    // A token that proposes for an agent does not approve it as a person.
    let token = Reviewer { decides_own: false, ..setting.reviewer("user:helper") };
    assert!(matches!(token.approve(proposal.id), Err(ReviewFault::OwnProposal(_))));
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
    assert!(matches!(setting.propose("Two.", "2."), Err(ProposalRefusal::Rejected(id)) if id == proposal.id));
    assert!(setting.body().contains("Two."));
}

#[test]
fn a_rejected_change_is_not_accepted_again_after_an_edit_elsewhere() {
    let setting = Setting::new();
    let proposal = setting.propose("Two.", "2.").unwrap();
    setting.reviewer("user:ann").reject(proposal.id, "no").unwrap();
    fs::write(setting.root.path().join("greet/notes.md"), "Unrelated.\n").unwrap();
    assert!(matches!(setting.propose("Two.", "2."), Err(ProposalRefusal::Rejected(id)) if id == proposal.id));
    assert!(setting.propose("Two.", "II.").is_ok());
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
    assert!(matches!(reviewer.rebase(proposal.id), Err(ReviewFault::Conflicts(files)) if files.len() == 1));
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
    assert!(matches!(refused(&new_file("../other/SKILL.md")), ProposalRefusal::Diff(_)));
    assert!(matches!(refused(&new_file("/etc/x")), ProposalRefusal::Diff(_)));
    for hidden in [".git/hooks/x", ".env", "references/.x"] {
        let refusal = refused(&new_file(hidden));
        assert!(
            matches!(refusal, ProposalRefusal::Hidden(_) | ProposalRefusal::Diff(_)),
            "{hidden}: {refusal}"
        );
    }
    assert!(matches!(
        setting.propose("name: greet", "name: other"),
        Err(ProposalRefusal::Broken(_) | ProposalRefusal::Renamed(_))
    ));
    let unclosed = "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -3,2 +3 @@\n description: Greets people. Use when someone says hello.\n----\n";
    assert!(matches!(refused(unclosed), ProposalRefusal::Broken(_)));
    assert!(matches!(setting.propose("One.", "One."), Err(ProposalRefusal::Unchanged)));
    let pattern = repertoire_model::scope::Pattern::new("greet").unwrap();
    let rules = ProposalRules { locked: vec![pattern], ..ProposalRules::default() };
    let lazy = LazyStore::from(Arc::clone(&setting.store) as Arc<dyn Store>);
    let locked = Arc::new(Proposer::new(lazy, rules));
    let diff = "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1 +1 @@\n-One.\n+1.\n";
    let outcome =
        block_on(locked.propose_update(setting.library.registry(), &setting.entry(), diff, setting.text()));
    assert!(matches!(outcome, Err(ProposalRefusal::Locked(_))));
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
    let proposal = block_on(setting.proposer.propose_skill(registry, &name, files, setting.text())).unwrap();
    assert_eq!(block_on(setting.library.reload()).active().count(), 1);
    let (_, version) = setting.reviewer("user:ann").approve(proposal.id).unwrap();
    let snapshot = block_on(setting.library.reload());
    let entry = snapshot.active().find(|entry| entry.name() == &name).unwrap();
    assert_eq!(version.skill, entry.record_identity());
}

#[test]
fn i7_an_earlier_version_is_restored() {
    let setting = Setting::new();
    let (files, _) = block_on(capture(setting.library.registry(), &setting.entry())).unwrap();
    let skill = setting.entry().record_identity();
    record(&*setting.store, (&skill, "greet"), &files, Origin::Edit, None, SystemTime::UNIX_EPOCH).unwrap();
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

#[test]
fn a_change_that_a_reviewer_could_not_read_is_refused() {
    let setting = Setting::new();
    let propose = |diff: &str| {
        let registry = setting.library.registry();
        block_on(setting.proposer.propose_update(registry, &setting.entry(), diff, setting.text()))
    };
    let new_file = |path: &str, line: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n");
    assert!(matches!(propose(&new_file("scripts/s.sh", "echo \0")), Err(ProposalRefusal::NotText(_))));
    assert!(matches!(
        setting.propose("Two.", "2.\0"),
        Err(ProposalRefusal::NotText(_) | ProposalRefusal::Broken(_))
    ));
    fs::create_dir(setting.root.path().join("greet/references")).unwrap();
    fs::write(setting.root.path().join("greet/references/a.md"), "# A\n").unwrap();
    for path in ["references/a.md/b.md", "References/A.md", "skill.md"] {
        let outcome = propose(&new_file(path, "x"));
        assert!(matches!(outcome, Err(ProposalRefusal::Clash(..))), "{path}: {outcome:?}");
    }
    let name = repertoire_model::SkillName::new("farewell").unwrap();
    let file = |path: &str, text: &str| {
        (repertoire_model::SkillPath::new(path).unwrap(), patch::FileData::new(text.to_owned()))
    };
    let text = HEAD.replace("greet", "farewell") + "# Farewell\n";
    let files = SkillFiles::from([file("SKILL.md", &text), file("scripts/run.sh", "echo\0")]);
    let registry = setting.library.registry();
    let outcome = block_on(setting.proposer.propose_skill(registry, &name, files, setting.text()));
    assert!(matches!(outcome, Err(ProposalRefusal::NotText(_))), "{outcome:?}");
}

#[test]
fn the_check_of_a_change_says_what_is_new_and_what_is_gone() {
    let setting = Setting::new();
    let reference = setting.root.path().join("greet/references/a.md");
    fs::create_dir(reference.parent().unwrap()).unwrap();
    fs::write(&reference, "# A\n").unwrap();
    let path = setting.root.path().join("greet/SKILL.md");
    fs::write(&path, format!("{HEAD}# Greet\n\n[a](references/a.md) [b](references/b.md)\nTwo.\n")).unwrap();
    let diff = "--- a/references/a.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-# A\n";
    let registry = setting.library.registry();
    let proposal =
        block_on(setting.proposer.propose_update(registry, &setting.entry(), diff, setting.text())).unwrap();
    let check = proposal.content.check;
    let new: Vec<&str> = check.lines().filter(|line| line.starts_with("new: ")).collect();
    assert!(new.len() == 1 && new[0].contains("references/a.md"), "{check}");
    assert!(
        check.lines().any(|line| line.starts_with("SKILL.md:") && line.contains("references/b.md")),
        "{check}"
    );
    let mended =
        setting.propose("[a](references/a.md) [b](references/b.md)", "[a](references/a.md)").unwrap();
    assert!(mended.content.check.starts_with("no longer: SKILL.md:"), "{}", mended.content.check);
}

#[test]
fn a_skill_that_is_damaged_in_the_store_is_stored_again_before_it_is_replaced() {
    let setting = Setting::new();
    let proposal = setting.propose("Two.", "2.").unwrap();
    setting.reviewer("user:ann").approve(proposal.id).unwrap();
    let bytes = fs::read(setting.root.path().join("greet/SKILL.md")).unwrap();
    let damaged = crate::store::Blob { digest: Digest::of(&bytes), bytes: b"damaged".to_vec() };
    setting.store.put_blobs(&[damaged]).unwrap();
    assert!(skill_files(&*setting.store, &proposal.content.result).is_err());
    setting.reviewer("user:ann").rollback(&setting.entry(), 1, false).unwrap();
    setting.reviewer("user:ann").rollback(&setting.entry(), 2, false).unwrap();
    assert!(setting.body().contains("2."));
}

#[test]
fn an_approval_that_cannot_be_completed_can_be_rejected() {
    let setting = Setting::new();
    let approve_only = |id| {
        let (pending, approved) = (ProposalState::Pending, ProposalState::Approved);
        assert!(crate::store::Proposals::decide(&*setting.store, id, pending, approved, None).unwrap());
    };
    let proposal = setting.propose("Two.", "2.").unwrap();
    approve_only(proposal.id);
    fs::remove_dir_all(setting.root.path().join("greet")).unwrap();
    let reviewer = setting.reviewer("user:ann");
    assert_eq!(reviewer.recover().unwrap(), [0; 0]);
    assert_eq!(reviewer.reject(proposal.id, "the skill is gone").unwrap().state, ProposalState::Rejected);
    // Another directory stands where a new skill shall be.
    let name = repertoire_model::SkillName::new("farewell").unwrap();
    let text = HEAD.replace("greet", "farewell") + "# Farewell\n";
    let files = SkillFiles::from([(
        repertoire_model::SkillPath::new("SKILL.md").unwrap(),
        patch::FileData::new(text),
    )]);
    let registry = setting.library.registry();
    let proposal = block_on(setting.proposer.propose_skill(registry, &name, files, setting.text())).unwrap();
    approve_only(proposal.id);
    fs::create_dir(setting.root.path().join("farewell")).unwrap();
    assert_eq!(setting.reviewer("user:ann").recover().unwrap(), [proposal.id]);
    assert_eq!(setting.reviewer("x").proposal(proposal.id).unwrap().state, ProposalState::Stale);
    assert_eq!(fs::read_dir(setting.root.path().join("farewell")).unwrap().count(), 0);
}

#[test]
fn a_rollback_undoes_every_later_proposal() {
    let setting = Setting::new();
    let first = setting.propose("Two.", "2.").unwrap();
    setting.reviewer("user:ann").approve(first.id).unwrap();
    let second = setting.propose("Three.", "3.").unwrap();
    setting.reviewer("user:ann").approve(second.id).unwrap();
    setting.reviewer("user:ann").rollback(&setting.entry(), 1, false).unwrap();
    for id in [first.id, second.id] {
        assert_eq!(setting.reviewer("x").proposal(id).unwrap().state, ProposalState::RolledBack, "{id}");
    }
}

#[test]
fn outdated_proposals_are_listed_as_stale_and_new_skills_are_not_rebased() {
    let setting = Setting::new();
    let proposal = setting.propose("Two.", "2.").unwrap();
    let reviewer = setting.reviewer("user:ann");
    reviewer.find_stale().unwrap();
    assert_eq!(reviewer.proposal(proposal.id).unwrap().state, ProposalState::Pending);
    assert_eq!(reviewer.rebase(proposal.id).unwrap(), proposal.id, "it is up to date");
    fs::write(setting.root.path().join("greet/SKILL.md"), format!("{HEAD}# Greet\n\nOther.\nTwo.\n"))
        .unwrap();
    let reviewer = setting.reviewer("user:ann");
    reviewer.find_stale().unwrap();
    assert_eq!(reviewer.proposal(proposal.id).unwrap().state, ProposalState::Stale);
}

#[test]
fn refused_proposals_store_nothing() {
    let setting = Setting::new();
    for number in 0..5 {
        setting.propose("Two.", &format!("{number}.")).unwrap();
    }
    assert!(matches!(setting.propose("Two.", "one too many"), Err(ProposalRefusal::TooMany(_))));
    let text = format!("{HEAD}# Greet\n\nOne.\none too many\nThree.\n");
    assert_eq!(setting.store.raw_blob(&Digest::of(text.as_bytes())).unwrap(), None);
}
