//! Decisions and edits at the same time: exactly one wins, and nothing is lost.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::SystemTime;

use pollster::block_on;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use repertoire::certificates::Certificates;
use repertoire::proposal::review::{ReviewFault, Reviewer};
use repertoire::proposal::{ProposalRules, ProposalText, Proposer};
use repertoire::store::{LazyStore, Origin, ProposalState, Store, skill_files};
use repertoire::{ErrorKind, FsOptions, FsProvider, Policy, Registry};
use repertoire_model::patch::bundle;
use repertoire_store::open;

const HEAD: &str = "---\nname: greet\ndescription: Greets people. Use when someone says hello.\n---\n";

/// The number of proposals in a case, all of them against the same state of the skill.
const PROPOSALS: usize = 3;

/// One of the writers that act at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Actor {
    Approve(usize),
    Reject(usize),
    Edit,
}

/// The decisions that were carried out.
#[derive(Debug, Default)]
struct Outcome {
    approved: Vec<usize>,
    rejected: Vec<usize>,
}

fn actors() -> impl Strategy<Value = (Vec<Actor>, bool)> {
    let decision = prop_oneof![
        4 => (0..PROPOSALS).prop_map(Actor::Approve),
        1 => (0..PROPOSALS).prop_map(Actor::Reject),
    ];
    (proptest::collection::vec(decision, 2..6), any::<bool>())
}

fn text(line: &str) -> String {
    format!("{HEAD}# Greet\n\n{line}\n")
}

fn registry(root: &Path) -> Registry {
    let provider = FsProvider::new(FsOptions::new("test", root));
    block_on(Registry::open_for_inspection(vec![Arc::new(provider)], Policy::default()))
}

/// Returns the numbers of proposals that replace the last line of the skill, each by another one.
fn propose(root: &Path, store: Arc<dyn Store>) -> Vec<u64> {
    let proposer = Arc::new(Proposer::new(LazyStore::from(store), ProposalRules::default()));
    let registry = registry(root);
    let snapshot = registry.snapshot();
    let propose = |number: usize| {
        let diff = format!("--- a/SKILL.md\n+++ b/SKILL.md\n@@ -7 +7 @@\n-Base.\n+{}\n", line(number));
        let author = format!("agent:{number}");
        let proposal = ProposalText::new(author, "it is better", SystemTime::UNIX_EPOCH);
        block_on(proposer.propose_update(&registry, &snapshot.entries()[0], &diff, proposal)).unwrap().id
    };
    (0..PROPOSALS).map(propose).collect()
}

fn line(proposal: usize) -> String {
    format!("Proposal {proposal}.")
}

/// Lets `actors` act at the same time, each with a connection and a registry of its own.
fn act(root: &Path, location: &str, ids: &[u64], actors: &[Actor]) -> Outcome {
    let barrier = Barrier::new(actors.len());
    let act = |actor: Actor| {
        let (store, registry) = (open(location, &Certificates::none()).unwrap(), registry(root));
        let reviewer = Reviewer::new(&*store, &registry, "user:ann", SystemTime::UNIX_EPOCH);
        let edited = root.join(".edited");
        if actor == Actor::Edit {
            fs::write(&edited, text("Edited.")).unwrap();
        }
        barrier.wait();
        let decided = match actor {
            Actor::Approve(proposal) => reviewer.approve(ids[proposal]).map(drop),
            Actor::Reject(proposal) => reviewer.reject(ids[proposal], "no").map(drop),
            Actor::Edit => {
                fs::rename(&edited, root.join("greet/SKILL.md")).unwrap();
                return false;
            }
        };
        match decided {
            Ok(()) => true,
            Err(ReviewFault::State(..) | ReviewFault::Stale(_)) => false,
            // The edit came while the skill was read.
            Err(ReviewFault::Failed(error)) if error.kind() == ErrorKind::SkillChanged => false,
            Err(fault) => panic!("{actor:?}: {fault}"),
        }
    };
    let act = &act;
    let decided: Vec<bool> = thread::scope(|scope| {
        let threads: Vec<_> = actors.iter().map(|actor| scope.spawn(move || act(*actor))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut outcome = Outcome::default();
    for (actor, _) in actors.iter().zip(decided).filter(|(_, is_decided)| *is_decided) {
        match actor {
            Actor::Approve(proposal) => outcome.approved.push(*proposal),
            Actor::Reject(proposal) => outcome.rejected.push(*proposal),
            Actor::Edit => {}
        }
    }
    outcome
}

/// Checks that one of `actors` wins in the store at `location`, which is empty.
fn expect_one_winner(location: &str, actors: &[Actor]) -> Result<(), TestCaseError> {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    fs::create_dir(root.join("greet")).unwrap();
    fs::write(root.join("greet/SKILL.md"), text("Base.")).unwrap();
    let store = open(location, &Certificates::none()).unwrap();
    let ids = propose(&root, Arc::clone(&store));
    let outcome = act(&root, location, &ids, actors);

    let count = |kind: fn(&Actor) -> bool| actors.iter().filter(|actor| kind(actor)).count();
    let is_edited = count(|actor| *actor == Actor::Edit) > 0;
    let is_rejecting = count(|actor| matches!(actor, Actor::Reject(_))) > 0;
    prop_assert!(outcome.approved.len() <= 1, "{:?}", outcome);
    if !is_edited && !is_rejecting {
        prop_assert_eq!(outcome.approved.len(), 1);
    }
    for (proposal, id) in ids.iter().enumerate() {
        let state = store.proposal(*id).unwrap().unwrap().state;
        let approvals = outcome.approved.iter().filter(|approved| **approved == proposal).count();
        let rejections = outcome.rejected.iter().filter(|rejected| **rejected == proposal).count();
        prop_assert!(approvals + rejections <= 1, "{:?}", outcome);
        prop_assert_eq!(state == ProposalState::Applied, approvals == 1, "{}", state);
        prop_assert_eq!(state == ProposalState::Rejected, rejections == 1, "{}", state);
    }
    let now = fs::read_to_string(root.join("greet/SKILL.md")).unwrap();
    let expected = match outcome.approved.as_slice() {
        // An edit makes the approval fail, or comes after it.
        _ if is_edited => text("Edited."),
        [proposal] => text(&line(*proposal)),
        _ => text("Base."),
    };
    prop_assert_eq!(now, expected);
    let versions = store.versions(&root.join("greet").display().to_string()).unwrap();
    let approvals = versions.iter().filter(|version| version.origin == Origin::Proposal).count();
    prop_assert_eq!(approvals, outcome.approved.len());
    prop_assert!(versions.iter().map(|version| version.number).eq((1..=versions.len() as u64).rev()));
    for version in &versions {
        prop_assert_eq!(bundle(&skill_files(&*store, &version.digest).unwrap()).digest(), version.digest);
    }
    Ok(())
}

fn check(cases: u32, location: impl Fn() -> String) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&actors(), |(mut actors, is_edited)| {
        actors.extend(is_edited.then_some(Actor::Edit));
        expect_one_winner(&location(), &actors)
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn one_of_several_decisions_wins_in_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    check(24, || {
        let file = tempfile::NamedTempFile::new_in(&directory).unwrap();
        file.path().display().to_string()
    });
}

#[test]
fn one_of_several_decisions_wins_in_postgres() {
    let Some(server) = crate::server::shared() else { return };
    check(10, || server.database());
}
