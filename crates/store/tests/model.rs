//! Random sequences of operations have the same results in memory and in databases.

use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use repertoire::certificates::Certificates;
use repertoire::store::{
    NewProposal, NewVersion, Origin, ProposalDecision, ProposalKind, ProposalLimits, ProposalState,
    ReleaseChange, Store,
};
use repertoire_model::bundle::Digest;
use repertoire_store::SqliteStore;

use crate::memory_store::MemoryStore;

const LIMITS: ProposalLimits = ProposalLimits { per_skill: 2, per_session: 3, total: 5 };

/// An operation, with small numbers for names and contents so that they meet.
#[derive(Debug, Clone)]
enum Operation {
    Submit { skill: u8, base: Option<u8>, result: u8, session: Option<u8>, replaces: Option<u64> },
    Decide { id: u64, from: ProposalState, to: ProposalState, reviewer: Option<Option<String>> },
    AddVersion { skill: u8, content: u8 },
    Release { channel: u8, changes: Vec<(u8, Option<u8>)> },
}

fn operation() -> impl Strategy<Value = Operation> {
    let state = || proptest::sample::select(&ProposalState::ALL[..]);
    prop_oneof![
        4 => (0..2_u8, proptest::option::of(0..2_u8), 0..4_u8, proptest::option::of(0..2_u8), proptest::option::of(1..6_u64))
            .prop_map(|(skill, base, result, session, replaces)| Operation::Submit { skill, base, result, session, replaces }),
        4 => (1..6_u64, prop_oneof![3 => Just(ProposalState::Pending), 1 => state()], state(), proptest::option::of(proptest::option::of(".{0,8}")))
            .prop_map(|(id, from, to, reviewer)| Operation::Decide { id, from, to, reviewer }),
        2 => (0..2_u8, 0..3_u8).prop_map(|(skill, content)| Operation::AddVersion { skill, content }),
        2 => (0..2_u8, proptest::collection::vec((0..3_u8, proptest::option::of(0..3_u8)), 0..4))
            .prop_map(|(channel, changes)| Operation::Release { channel, changes }),
    ]
}

fn digest(content: u8) -> Digest {
    Digest::of(&[content])
}

/// Returns the result of `operation`, as text.
fn apply(store: &dyn Store, operation: &Operation) -> String {
    let time = UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
    match operation.clone() {
        Operation::Submit { skill, base, result, session, replaces } => {
            let proposal = NewProposal {
                kind: if base.is_some() { ProposalKind::Update } else { ProposalKind::Create },
                skill: skill.to_string(),
                name: "a".to_owned(),
                base: base.map(digest),
                result: digest(result),
                diff: "+a\n".to_owned(),
                justification: String::new(),
                evidence: None,
                check: String::new(),
                author: if result == 0 { "user:ann" } else { "agent:a" }.to_owned(),
                session: session.map(|session| session.to_string()),
                time,
                replaces,
            };
            format!("{:?}", store.submit(&proposal, LIMITS).unwrap())
        }
        Operation::Decide { id, from, to, reviewer } => {
            let decision = reviewer.map(|reason| ProposalDecision {
                reviewer: "ann".to_owned(),
                reason: reason.map(|reason| reason.replace('\0', "")),
                time,
            });
            format!("{:?}", store.decide(id, from, to, decision.as_ref()).unwrap())
        }
        Operation::AddVersion { skill, content } => {
            let version = NewVersion {
                skill: skill.to_string(),
                name: "a".to_owned(),
                digest: digest(content),
                time,
                origin: Origin::Edit,
                author: None,
            };
            format!("{:?}", store.add_version(&version).unwrap())
        }
        Operation::Release { channel, changes } => {
            let changes: Vec<ReleaseChange> = changes
                .into_iter()
                .map(|(name, content)| ReleaseChange { name: name.to_string(), digest: content.map(digest) })
                .collect();
            format!("{:?}", store.release(&channel.to_string(), &changes, Some("ann"), time).unwrap())
        }
    }
}

/// Returns everything but the journal that `store` holds, as text.
fn content(store: &dyn Store) -> String {
    let proposals = store.proposals(&[]).unwrap();
    let versions =
        (store.latest_digests().unwrap(), store.versions("0").unwrap(), store.versions("1").unwrap());
    let channels = store.channels().unwrap();
    let released =
        (store.released("0").unwrap(), store.released("1").unwrap(), store.releases("0", "0").unwrap());
    format!("{proposals:#?} {versions:#?} {channels:?} {released:#?} {}", store.newest_release().unwrap())
}

/// Holds the stores that `open` returns to the store in memory.
fn check(cases: u32, open: impl Fn() -> Box<dyn Store>) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let sequences = proptest::collection::vec(operation(), 1..40);
    let outcome = runner.run(&sequences, |operations| {
        let (memory, store) = (MemoryStore::new(), open());
        for operation in &operations {
            prop_assert_eq!(apply(&*store, operation), apply(&memory, operation), "{:?}", operation);
        }
        prop_assert_eq!(content(&*store), content(&memory));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn sqlite_and_memory_agree() {
    let directory = tempfile::tempdir().unwrap();
    check(64, || {
        let path = tempfile::NamedTempFile::new_in(&directory).unwrap();
        Box::new(SqliteStore::open(path.path()).unwrap())
    });
}

#[cfg(unix)]
#[test]
fn postgres_and_memory_agree() {
    let Some(server) = crate::server::shared() else { return };
    check(12, || {
        Box::new(repertoire_store::PostgresStore::open(&server.database(), &Certificates::none()).unwrap())
    });
}
