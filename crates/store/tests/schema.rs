//! Databases that earlier migrations wrote are opened, and keep what they hold.
//!
//! `testdata/` has one for each number of the schema. After a new migration,
//! `cargo test -p repertoire-store --test store write_testdata -- --ignored` adds one; existing ones are
//! never written again.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use repertoire::certificates::Certificates;
use repertoire::event::{Event, EventKind};
use repertoire::store::{
    EventQuery, Journal as _, NewProposal, NewVersion, Origin, ProposalDecision, ProposalKind,
    ProposalLimits, ProposalState, Publication, ReleaseChange, Role, Store, TokenRecord, put_skill,
    skill_files,
};
use repertoire_model::SkillPath;
use repertoire_model::patch::{FileData, SkillFiles};
use repertoire_store::SqliteStore;

const TIME: SystemTime = UNIX_EPOCH;

/// Puts one of everything into an empty store.
fn fill(store: &dyn Store) {
    let file = FileData { executable: false, bytes: b"# A\n".to_vec() };
    let files = SkillFiles::from([(SkillPath::new("SKILL.md").unwrap(), file)]);
    let digest = put_skill(store, &files).unwrap();
    let mut event = Event::new(EventKind::SkillLoaded, "load_skill", "s1", TIME + Duration::from_secs(60));
    (event.skill, event.agent, event.tokens) = (Some("a".to_owned()), Some("reviewer".to_owned()), 7);
    event.identity = Some("/a".to_owned());
    store.append(&[event.clone(), event]).unwrap();
    let (skill, name, author) = ("/a".to_owned(), "a".to_owned(), Some("ann".to_owned()));
    store.add_version(&NewVersion { skill, name, digest, time: TIME, origin: Origin::Add, author }).unwrap();
    let proposal = NewProposal {
        kind: ProposalKind::Update,
        skill: "/a".to_owned(),
        name: "a".to_owned(),
        base: Some(digest),
        result: digest,
        diff: "+ä\n".to_owned(),
        justification: "it is wrong".to_owned(),
        evidence: None,
        check: String::new(),
        author: "agent".to_owned(),
        session: Some("s1".to_owned()),
        time: TIME,
        replaces: None,
    };
    store.submit(&proposal, ProposalLimits { per_skill: 1, per_session: 1, total: 1 }).unwrap();
    let decision = ProposalDecision { reviewer: "ann".to_owned(), reason: Some("no".to_owned()), time: TIME };
    assert!(store.decide(1, ProposalState::Pending, ProposalState::Rejected, Some(&decision)).unwrap());
    let change = ReleaseChange { name: "a".to_owned(), digest: Some(digest) };
    store.release("stable", &[change], Some("ann"), TIME).unwrap();
    let mut token = TokenRecord::new("rep_1", "ann", Role::Author, TIME);
    token.scope.kits = vec!["web".to_owned()];
    store.add_token(&token).unwrap();
    let (name, version) = ("a".to_owned(), "1.0.0".to_owned());
    store.publish(&Publication { name, version, digest, author: None, time: TIME }).unwrap();
}

/// Checks that everything that [`fill`] put there still is, and that there can be more. The data is of the
/// schema with this `number`.
fn check(store: &dyn Store, number: u32) {
    let version = store.latest_version("/a").unwrap().unwrap();
    assert_eq!((version.number, version.origin, version.author.as_deref()), (1, Origin::Add, Some("ann")));
    let files = skill_files(store, &version.digest).unwrap();
    assert_eq!(files.values().next().unwrap().bytes, b"# A\n");
    let usage = store.usage(None).unwrap();
    assert_eq!(
        (usage.len(), usage[0].calls, usage[0].tokens, usage[0].agent.as_deref()),
        (1, 2, 14, Some("reviewer"))
    );
    assert_eq!(usage[0].identity.as_deref(), (number > 2).then_some("/a"), "usage was of a name alone");
    let mut event = Event::new(EventKind::SkillLoaded, "load_skill", "s1", TIME);
    (event.skill, event.identity) = (Some("a".to_owned()), Some("/a".to_owned()));
    store.append(&[event]).unwrap();
    let own: Vec<u64> = store
        .usage(None)
        .unwrap()
        .iter()
        .filter(|usage| usage.identity.is_some() && usage.agent.is_none())
        .map(|usage| usage.calls)
        .collect();
    assert_eq!(own, [1]);
    let mut query = EventQuery::default();
    query.agent = Some("reviewer".to_owned());
    assert_eq!(store.events(&query).unwrap().len(), 2);
    let proposal = store.proposal(1).unwrap().unwrap();
    assert_eq!((proposal.state, &*proposal.content.diff), (ProposalState::Rejected, "+ä\n"));
    assert_eq!(proposal.decision.unwrap().reason.as_deref(), Some("no"));
    assert_eq!(store.released("stable").unwrap()[0].digest, version.digest);
    assert_eq!(store.releases("stable", "a").unwrap()[0].author.as_deref(), Some("ann"));
    let change = ReleaseChange { name: "a".to_owned(), digest: Some(version.digest) };
    assert_eq!(store.release("next", &[change], None, TIME).unwrap(), Some(2));
    store.append(&[Event::new(EventKind::SkillsListed, "list_skills", "s1", TIME)]).unwrap();
    // Databases of the first schema had no tokens.
    if let Some(token) = store.tokens().unwrap().first() {
        assert_eq!((&*token.name, token.role, &*token.scope.kits[0]), ("ann", Role::Author, "web"));
        assert_eq!(store.publications("a").unwrap()[0].digest, version.digest);
    }
    store.add_token(&TokenRecord::new("rep_2", "bob", Role::Reader, TIME)).unwrap();
}

/// Returns the files of `testdata/` with this extension.
fn testdata(extension: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    assert!(!files.is_empty());
    files
}

/// Returns the number of the schema of a file of `testdata/`.
fn number_of(file: &Path) -> u32 {
    let name = file.file_stem().unwrap().to_str().unwrap();
    name.strip_prefix("schema-").unwrap().parse().unwrap()
}

/// The skills of two channels were told apart by their source before they had an identity, and a server of
/// the version before goes on writing as it did.
#[cfg(unix)]
#[test]
fn usage_of_channels_is_identified_and_a_server_of_the_version_before_goes_on_counting() {
    let Some(server) = crate::server::shared() else { return };
    let url = server.database();
    let mut earlier = crate::server::connect(&url);
    let script = testdata("sql").into_iter().find(|file| number_of(file) == 2).unwrap();
    earlier.batch_execute(&std::fs::read_to_string(script).unwrap()).unwrap();
    let mut count = |key: &str, source: &str| {
        let statement = format!(
            "SET search_path TO repertoire; \
             INSERT INTO usage_keys (key, kind, outcome, skill, source, file, agent) \
             VALUES ('{key}', 'skill_loaded', 'ok', 'deploy', '{source}', NULL, NULL) ON CONFLICT (key) DO NOTHING; \
             INSERT INTO usage (key, day, calls, tokens, last_ms) VALUES ('{key}', 1, 1, 0, 1) \
             ON CONFLICT (key, day) DO UPDATE SET calls = usage.calls + excluded.calls"
        );
        earlier.batch_execute(&statement).unwrap();
    };
    count("k1", "store:stable");
    count("k2", "store:next");
    count("k3", "user:~/.agents/skills");
    let store = repertoire_store::PostgresStore::open(&url, &Certificates::none()).unwrap();
    count("k1", "store:stable");
    count("k4", "project:.agents/skills");
    let mut found: Vec<(Option<String>, u64)> = store
        .usage(None)
        .unwrap()
        .into_iter()
        .filter(|usage| usage.skill == "deploy")
        .map(|usage| (usage.identity, usage.calls))
        .collect();
    found.sort();
    let channel = |name: &str, calls| (Some(format!("store:{name}:deploy")), calls);
    assert_eq!(found, [(None, 1), (None, 1), channel("next", 1), channel("stable", 2)]);
}

#[test]
fn sqlite_files_of_earlier_migrations_are_opened() {
    for file in testdata("db") {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        std::fs::copy(&file, &path).unwrap();
        check(&SqliteStore::open(&path).unwrap(), number_of(&file));
    }
}

#[cfg(unix)]
#[test]
fn postgres_databases_of_earlier_migrations_are_opened() {
    let Some(server) = crate::server::shared() else { return };
    for file in testdata("sql") {
        let url = server.database();
        let script = std::fs::read_to_string(&file).unwrap();
        crate::server::connect(&url).batch_execute(&script).unwrap();
        check(&repertoire_store::PostgresStore::open(&url, &Certificates::none()).unwrap(), number_of(&file));
    }
}

#[cfg(unix)]
#[test]
#[ignore = "writes a database of the newest schema into testdata/"]
fn write_testdata() {
    let server = crate::server::shared().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    fill(&store);
    let number = store.schema_version().unwrap();
    drop(store);
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    std::fs::copy(path, target.join(format!("schema-{number}.db"))).unwrap();
    let url = server.database();
    fill(&repertoire_store::PostgresStore::open(&url, &Certificates::none()).unwrap());
    std::fs::write(target.join(format!("schema-{number}.sql")), server.dump(&url)).unwrap();
}
