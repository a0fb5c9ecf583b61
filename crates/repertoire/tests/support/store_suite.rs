//! The conformance suite of stores.
//!
//! [`check`] takes a function that opens an empty store, and panics at the first departure. Every
//! implementation runs it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    unreachable_pub,
    reason = "it is a module of several tests"
)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use repertoire::ErrorKind;
use repertoire::event::{Event, EventKind, Outcome, jsonl};
use repertoire::store::{
    Blob, DailyLoads, ENDED_TOKEN_TIME, EventQuery, FREE_RULE, NewProposal, NewVersion, Origin,
    ProposalDecision, ProposalKind, ProposalLimits, ProposalState, Publication, ReleaseChange, Retention,
    Role, Store, Submission, TokenRecord, blob, bundle, put_skill, skill_files,
};
use repertoire_model::SkillPath;
use repertoire_model::bundle::Digest;
use repertoire_model::patch::{FileData, SkillFiles};
use repertoire_model::scope::{Pattern, Scope};

/// The number of writers in tests of concurrency.
const WRITERS: u64 = 4;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Holds the stores that `open` returns, each of them empty, to the contract.
pub fn check(open: &dyn Fn() -> Arc<dyn Store>) {
    events_are_selected_in_order(&*open());
    usage_is_counted_by_day_and_survives_pruning(&*open());
    usage_of_skills_with_one_name_is_kept_apart(&*open());
    hostile_texts_are_kept(&*open());
    blobs_are_checked(&*open());
    skills_are_stored_once(&*open());
    content_that_nothing_names_is_removed(&*open());
    versions_are_numbered(&*open());
    writers_get_different_numbers(&open());
    proposals_pass_through_their_states(&*open());
    proposals_are_limited(&*open());
    new_skills_that_a_rule_approved_count_for_their_session(&*open());
    one_of_several_decisions_wins(&open());
    releases_replace_and_remove(&*open());
    a_release_over_another_digest_changes_nothing(&*open());
    a_release_wakes_those_who_wait(&open());
    published_versions_never_change(&*open());
    tokens_are_revoked_once(&*open());
}

/// Returns `value` after `change`.
fn changed<T>(mut value: T, change: impl FnOnce(&mut T)) -> T {
    change(&mut value);
    value
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn loaded(skill: &str, time: SystemTime) -> Event {
    let mut event = Event::new(EventKind::SkillLoaded, "load_skill", "s1", time);
    event.skill = Some(skill.to_owned());
    event
}

fn events_are_selected_in_order(store: &dyn Store) {
    assert_eq!(store.events(&EventQuery::default()).unwrap(), []);
    store.append(&[]).unwrap();
    let agent = |agent: &str, event: Event| changed(event, |it| it.agent = Some(agent.to_owned()));
    let all = [
        loaded("a", at(10)),
        agent("x", loaded("b", at(20))),
        agent("x", loaded("a", at(30))),
        agent("y", loaded("a", at(40))),
        Event::new(EventKind::SkillsListed, "list_skills", "s1", at(50)),
    ];
    store.append(&all[..2]).unwrap();
    store.append(&all[2..]).unwrap();
    let select = |query: EventQuery| -> Vec<usize> {
        let found = store.events(&query).unwrap();
        assert!(found.is_sorted_by_key(|line| line.id));
        let position = |json: &str| all.iter().position(|event| jsonl::line(event).unwrap() == json);
        found.iter().map(|line| position(&line.json).expect("a line of an event")).collect()
    };
    let query = EventQuery::default;
    assert_eq!(select(query()), [0, 1, 2, 3, 4]);
    assert_eq!(select(changed(query(), |it| it.limit = 2)), [3, 4]);
    assert_eq!(select(changed(query(), |it| it.skill = Some("a".into()))), [0, 2, 3]);
    assert_eq!(select(changed(query(), |it| it.agent = Some("x".into()))), [1, 2]);
    let both = changed(query(), |it| {
        it.skill = Some("a".into());
        it.agent = Some("x".into());
    });
    assert_eq!(select(both), [2]);
    assert_eq!(select(changed(query(), |it| it.since = Some(at(30)))), [2, 3, 4]);
    let first = store.events(&query()).unwrap()[0].id;
    assert_eq!(
        select(changed(query(), |it| {
            it.after = Some(first);
            it.limit = 2;
        })),
        [1, 2]
    );
    assert_eq!(
        select(changed(query(), |it| {
            it.after = Some(0);
            it.limit = 0;
        })),
        [0; 0]
    );
    let last = store.events(&query()).unwrap()[4].id;
    assert_eq!(
        select(changed(query(), |it| {
            it.before = Some(last);
            it.limit = 2;
        })),
        [2, 3]
    );
    assert_eq!(
        select(changed(query(), |it| {
            it.after = Some(first);
            it.before = Some(last);
        })),
        [1, 2, 3]
    );
}

fn usage_is_counted_by_day_and_survives_pruning(store: &dyn Store) {
    let day = |days: u32| UNIX_EPOCH + DAY * days + Duration::from_millis(5);
    let tokens = |tokens, event: Event| changed(event, |it| it.tokens = tokens);
    let mut failed = loaded("a", day(3));
    failed.outcome = Outcome::NotFound;
    let mut read = Event::new(EventKind::FileRead, "read_skill_file", "s1", day(3));
    (read.skill, read.file) = (Some("a".into()), Some("references/x.md".into()));
    store.append(&[tokens(10, loaded("a", day(1))), tokens(20, loaded("a", day(3)))]).unwrap();
    store.append(&[tokens(5, loaded("a", day(2))), failed, read, loaded("b", day(2))]).unwrap();
    store.append(&[Event::new(EventKind::SkillsListed, "list_skills", "s1", day(3))]).unwrap();
    // A file that came with a load is not a load.
    store.append(&[changed(loaded("c", day(2)), |it| it.file = Some("references/x.md".into()))]).unwrap();
    let count = |since, skill: &str, kind, outcome| {
        let usage = store.usage(since).unwrap();
        let mut rows =
            usage.iter().filter(|row| (&*row.skill, row.kind, row.outcome) == (skill, kind, outcome));
        let row = rows.next();
        assert!(rows.next().is_none(), "one row for each kind and outcome");
        row.map(|row| (row.calls, row.tokens, row.last))
    };
    let (load, file) = (EventKind::SkillLoaded, EventKind::FileRead);
    let check = || {
        assert_eq!(count(None, "a", load, Outcome::Ok), Some((3, 35, day(3))));
        assert_eq!(
            count(Some(day(2) + Duration::from_secs(9)), "a", load, Outcome::Ok),
            Some((2, 25, day(3)))
        );
        assert_eq!(count(None, "a", load, Outcome::NotFound), Some((1, 0, day(3))));
        assert_eq!(count(None, "a", file, Outcome::Ok), Some((1, 0, day(3))));
        assert_eq!(count(Some(day(3)), "b", load, Outcome::Ok), Some((0, 0, day(2))));
        let loads =
            |skill: &str, day, loads| DailyLoads { skill: skill.to_owned(), identity: None, day, loads };
        assert_eq!(
            store.daily_loads(day(2)).unwrap(),
            [loads("a", 2, 1), loads("a", 3, 1), loads("b", 2, 1)]
        );
    };
    check();
    let keep = |age, events| Retention { age, events };
    assert_eq!(store.prune(keep(DAY * 100, 100), day(3)).unwrap(), 0);
    assert_eq!(store.prune(keep(DAY, 100), day(3)).unwrap(), 1);
    assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 7);
    assert_eq!(store.prune(keep(DAY, 2), day(3)).unwrap(), 5);
    let left = store.events(&EventQuery::default()).unwrap();
    assert!(left[0].json.contains("skills_listed"), "{left:?}");
    check();
    // Names that were not found are counted no longer than events are kept.
    store.prune(keep(DAY, 100), day(9)).unwrap();
    assert_eq!(count(None, "a", load, Outcome::NotFound), None);
    assert_eq!(count(None, "a", load, Outcome::Ok), Some((3, 35, day(3))));
    // The name in a request that was refused may be mistyped.
    let mut refused = Event::new(EventKind::AccessRefused, "GET /api/v1/skills/{name}", "", day(9));
    refused.skill = Some("typo".into());
    store.append(&[refused]).unwrap();
    assert!(store.usage(None).unwrap().iter().all(|row| row.skill != "typo"));
    // It is unknown whether a model reads a download.
    let mut download = Event::new(EventKind::SkillDownloaded, "download", "", day(9));
    download.skill = Some("downloaded".into());
    store.append(&[download]).unwrap();
    assert!(store.usage(None).unwrap().iter().all(|row| row.skill != "downloaded"));
}

fn usage_of_skills_with_one_name_is_kept_apart(store: &dyn Store) {
    let of = |name: &str, identity: Option<&str>, seconds| {
        changed(loaded(name, at(seconds)), |it| it.identity = identity.map(str::to_owned))
    };
    let (one, two) = (Some("/one/deploy"), Some("store:stable:deploy"));
    store.append(&[of("deploy", one, 1), of("deploy", two, 2), of("deploy", None, 3)]).unwrap();
    // A skill that is called otherwise later is the same skill.
    store.append(&[of("deploy", one, 4), of("ship", one, 5)]).unwrap();
    let mut rows: Vec<(String, Option<String>, u64, SystemTime)> = store
        .usage(None)
        .unwrap()
        .into_iter()
        .map(|row| (row.skill, row.identity, row.calls, row.last))
        .collect();
    rows.sort();
    let row = |name: &str, identity: Option<&str>, calls: u64, last| {
        (name.to_owned(), identity.map(str::to_owned), calls, at(last))
    };
    let expect = [row("deploy", None, 1, 3), row("deploy", one, 2, 4), row("deploy", two, 1, 2)];
    assert_eq!(rows[..3], expect);
    assert_eq!(rows[3..], [row("ship", one, 1, 5)]);
    let loads: Vec<(String, Option<String>, u64)> = store
        .daily_loads(at(0))
        .unwrap()
        .into_iter()
        .map(|loads| (loads.skill, loads.identity, loads.loads))
        .collect();
    assert_eq!(loads, rows.into_iter().map(|row| (row.0, row.1, row.2)).collect::<Vec<_>>());
}

fn hostile_texts_are_kept(store: &dyn Store) {
    for text in
        ["", "'; DROP TABLE events; --", "a\0b\u{1b}[2J\u{202e}", "\u{10ffff}é表", &"x".repeat(100_000)]
    {
        let mut event = loaded(text, UNIX_EPOCH - Duration::from_secs(1));
        (event.agent, event.file, event.source) = (Some(text.into()), Some(text.into()), Some(text.into()));
        event.identity = Some(text.into());
        (event.tokens, event.bytes, event.duration) = (u64::MAX, u64::MAX, Duration::MAX);
        store.append(&[event.clone(), event.clone()]).unwrap();
        let line = store.events(&changed(EventQuery::default(), |it| it.limit = 1)).unwrap().remove(0);
        assert_eq!(line.json, jsonl::line(&event).unwrap());
    }
    assert_eq!(store.usage(None).unwrap().iter().map(|row| row.calls).sum::<u64>(), 10);
}

fn blobs_are_checked(store: &dyn Store) {
    let known = Blob::new(b"known".to_vec());
    let damaged = Blob { digest: Digest::of(b"something else"), bytes: b"damaged".to_vec() };
    let unknown = Digest::of(b"unknown");
    store.put_blobs(&[known.clone(), damaged.clone()]).unwrap();
    store.put_blobs(std::slice::from_ref(&known)).unwrap();
    assert_eq!(blob(store, &known.digest).unwrap(), b"known");
    assert_eq!(blob(store, &damaged.digest).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(blob(store, &unknown).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(store.raw_blob(&unknown).unwrap(), None);
    assert_eq!(bundle(store, &known.digest).unwrap_err().kind(), ErrorKind::Corrupt);
    let digests = [known.digest, unknown, unknown];
    assert_eq!(store.missing_blobs(&digests).unwrap(), [unknown]);
    assert_eq!(store.raw_blobs(&digests).unwrap(), [(known.digest, b"known".to_vec())]);
    // Writing the right bytes once more repairs a damaged blob.
    store.put_blobs(&[Blob::new(b"something else".to_vec())]).unwrap();
    assert_eq!(blob(store, &damaged.digest).unwrap(), b"something else");
}

fn skills_are_stored_once(store: &dyn Store) {
    let file = |path: &str, executable, text: &str| {
        (SkillPath::new(path).unwrap(), FileData { executable, bytes: text.as_bytes().to_vec() })
    };
    let files = SkillFiles::from([
        file("SKILL.md", false, "# A\n"),
        file("scripts/a.sh", true, "true\n"),
        file("scripts/b.sh", true, "true\n"),
        file("assets/empty", false, ""),
    ]);
    let digest = put_skill(store, &files).unwrap();
    assert_eq!(put_skill(store, &files).unwrap(), digest);
    assert_eq!(skill_files(store, &digest).unwrap(), files);
}

fn content_that_nothing_names_is_removed(store: &dyn Store) {
    let put = |text: &str| {
        let files = [("SKILL.md", text), ("LICENSE", "the same in all")];
        let file = |(path, text): (&str, &str)| (SkillPath::new(path).unwrap(), FileData::new(text));
        put_skill(store, &files.map(file).into()).unwrap()
    };
    let [unnamed, named, versioned, base, result, released, published] =
        ["unnamed", "named", "versioned", "base", "result", "released", "published"].map(put);
    store.add_version(&NewVersion { digest: versioned, ..version("/a", "", 1) }).unwrap();
    accepted(store, &NewProposal { base: Some(base), result, ..proposal("/b", "", "s1") });
    let change = |digest| ReleaseChange { name: "c".to_owned(), digest };
    store.release("stable", &[change(Some(released))], None, at(1)).unwrap();
    store.release("stable", &[change(None)], None, at(2)).unwrap();
    let (name, version) = ("d".to_owned(), "1.0.0".to_owned());
    store.publish(&Publication { name, version, digest: published, author: None, time: at(1) }).unwrap();
    let kept = [versioned, base, result, released, published];
    let none = BTreeSet::new();
    let now = SystemTime::now();
    let is_there = |digest| skill_files(store, &digest).is_ok();
    store.collect_garbage(&none, now - DAY).unwrap();
    assert!(is_there(unnamed), "it is new");
    store.collect_garbage(&BTreeSet::from([named]), now + DAY).unwrap();
    assert!(!is_there(unnamed) && is_there(named));
    store.collect_garbage(&none, now + DAY).unwrap();
    assert!(!is_there(named), "the caller alone named it");
    assert!(kept.into_iter().all(is_there));
    assert!(is_there(put("unnamed")));
}

fn version(skill: &str, content: &str, seconds: u64) -> NewVersion {
    NewVersion {
        skill: skill.to_owned(),
        name: "pdf".to_owned(),
        digest: Digest::of(content.as_bytes()),
        time: at(seconds),
        origin: Origin::Edit,
        author: Some("ann".to_owned()),
    }
}

fn versions_are_numbered(store: &dyn Store) {
    assert_eq!(store.versions("/a").unwrap(), []);
    assert_eq!(store.latest_version("/a").unwrap(), None);
    let (first, is_new) = store.add_version(&version("/a", "1", 1)).unwrap();
    assert_eq!((first.number, is_new, first.time, first.origin), (1, true, at(1), Origin::Edit));
    let (same, is_new) = store.add_version(&version("/a", "1", 2)).unwrap();
    assert_eq!((&same, is_new), (&first, false));
    store
        .add_version(&NewVersion { origin: Origin::Rollback, author: None, ..version("/a", "2", 3) })
        .unwrap();
    let (third, _) = store.add_version(&version("/a", "1", 4)).unwrap();
    store.add_versions(&[version("/b", "1", 5), version("/b", "1", 6)]).unwrap();
    assert_eq!(store.versions("/b").unwrap().len(), 1);
    let all = store.versions("/a").unwrap();
    assert_eq!(all.iter().map(|version| version.number).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!((all[1].origin, &all[1].author, &*all[1].name), (Origin::Rollback, &None, "pdf"));
    assert_eq!((all[0].author.as_deref(), &all[0]), (Some("ann"), &third));
    assert_eq!(store.latest_version("/a").unwrap(), Some(third));
    let one = Digest::of(b"1");
    assert_eq!(store.latest_digests().unwrap(), [("/a".to_owned(), one), ("/b".to_owned(), one)]);
}

fn writers_get_different_numbers(store: &Arc<dyn Store>) {
    let each = 10;
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for round in 0..each {
                    let (_, is_new) =
                        store.add_version(&version("/a", &format!("{writer} {round}"), 1)).unwrap();
                    assert!(is_new);
                    store.append(&[loaded("a", at(1))]).unwrap();
                }
            });
        }
    });
    let numbers: BTreeSet<u64> = store.versions("/a").unwrap().iter().map(|version| version.number).collect();
    assert_eq!(numbers, (1..=WRITERS * each).collect());
    assert_eq!(store.usage(None).unwrap()[0].calls, WRITERS * each);
}

fn proposal(skill: &str, content: &str, session: &str) -> NewProposal {
    NewProposal {
        kind: ProposalKind::Update,
        skill: skill.to_owned(),
        name: "pdf".to_owned(),
        base: Some(Digest::of(b"base")),
        result: Digest::of(content.as_bytes()),
        diff: format!("--- a\n+++ b\n+{content}\n"),
        justification: "it is wrong".to_owned(),
        evidence: None,
        check: String::new(),
        author: "agent:a".to_owned(),
        session: Some(session.to_owned()),
        time: at(7),
        replaces: None,
    }
}

const LIMITS: ProposalLimits = ProposalLimits { per_skill: 2, per_session: 3, total: 8 };

fn accepted(store: &dyn Store, proposal: &NewProposal) -> u64 {
    match store.submit(proposal, LIMITS).unwrap() {
        Submission::Accepted(id) => id,
        other => panic!("not accepted: {other:?}"),
    }
}

fn proposals_pass_through_their_states(store: &dyn Store) {
    assert_eq!(store.proposal(1).unwrap(), None);
    let new = NewProposal { evidence: Some("a log".to_owned()), ..proposal("/a", "1", "s1") };
    let id = accepted(store, &new);
    let found = store.proposal(id).unwrap().unwrap();
    assert_eq!(
        (found.id, &found.content, found.state, &found.decision),
        (id, &new, ProposalState::Pending, &None)
    );
    assert_eq!(store.submit(&new, LIMITS).unwrap(), Submission::Duplicate(id));
    let decision =
        ProposalDecision { reviewer: "ann".to_owned(), reason: Some("no".to_owned()), time: at(9) };
    let (pending, rejected) = (ProposalState::Pending, ProposalState::Rejected);
    assert!(!store.decide(id, ProposalState::Stale, rejected, Some(&decision)).unwrap());
    assert!(store.decide(id, pending, rejected, Some(&decision)).unwrap());
    assert!(!store.decide(id, pending, rejected, Some(&decision)).unwrap());
    let found = store.proposal(id).unwrap().unwrap();
    assert_eq!((found.state, found.decision), (rejected, Some(decision)));
    assert_eq!(store.submit(&new, LIMITS).unwrap(), Submission::Rejected(id));
    let elsewhere =
        NewProposal { base: Some(Digest::of(b"edited")), result: Digest::of(b"edited, too"), ..new };
    assert_eq!(store.submit(&elsewhere, LIMITS).unwrap(), Submission::Rejected(id));

    let create =
        NewProposal { kind: ProposalKind::Create, base: None, session: None, ..proposal("new", "2", "") };
    let second = accepted(store, &create);
    assert_eq!(store.proposal(second).unwrap().unwrap().content, create);
    assert!(store.decide(second, pending, ProposalState::Stale, None).unwrap());
    let rebased = NewProposal { replaces: Some(second), ..proposal("new", "3", "s1") };
    let third = accepted(store, &rebased);
    assert_eq!(store.proposal(second).unwrap().unwrap().state, ProposalState::Superseded);
    let ids = |states: &[ProposalState]| -> Vec<u64> {
        store.proposals(states).unwrap().iter().map(|proposal| proposal.id).collect()
    };
    assert_eq!(ids(&[]), [third, second, id]);
    assert_eq!(ids(&[pending, rejected]), [third, id]);
    assert_eq!(ids(&[ProposalState::Applied]), [0; 0]);
}

fn proposals_are_limited(store: &dyn Store) {
    let first = accepted(store, &proposal("/a", "1", "s1"));
    accepted(store, &proposal("/a", "2", "s1"));
    assert_eq!(store.submit(&proposal("/a", "3", "s2"), LIMITS).unwrap(), Submission::TooManyForSkill);
    let replacing = NewProposal { replaces: Some(first), ..proposal("/a", "3", "s1") };
    accepted(store, &replacing);
    accepted(store, &proposal("/b", "1", "s1"));
    assert_eq!(store.submit(&proposal("/c", "1", "s1"), LIMITS).unwrap(), Submission::TooManyForSession);
    let without_session = |skill| NewProposal { session: None, ..proposal(skill, "1", "") };
    for skill in ["/d", "/e", "/f", "/g", "/h"] {
        accepted(store, &without_session(skill));
    }
    let one_more = without_session("/i");
    let of_person = NewProposal { author: "user:ann".to_owned(), ..without_session("/j") };
    assert_eq!(store.refusal(&of_person, LIMITS).unwrap(), None);
    assert_eq!(store.refusal(&one_more, LIMITS).unwrap(), Some(Submission::TooMany));
    assert_eq!(store.submit(&one_more, LIMITS).unwrap(), Submission::TooMany);
    let replacing = NewProposal { replaces: Some(first + 1), ..without_session("/i") };
    assert_eq!(store.refusal(&replacing, LIMITS).unwrap(), None);
}

fn new_skills_that_a_rule_approved_count_for_their_session(store: &dyn Store) {
    let create = |name: &str| NewProposal {
        kind: ProposalKind::Create,
        base: None,
        ..proposal(&NewProposal::new_skill(None, name), name, "s1")
    };
    for (name, reviewer) in [("a", FREE_RULE), ("b", FREE_RULE), ("c", "user:ann"), ("d", FREE_RULE)] {
        let id = accepted(store, &create(name));
        let decision = ProposalDecision { reviewer: reviewer.to_owned(), reason: None, time: at(1) };
        assert!(store.decide(id, ProposalState::Pending, ProposalState::Applied, Some(&decision)).unwrap());
    }
    assert_eq!(store.submit(&create("e"), LIMITS).unwrap(), Submission::TooManyForSession);
}

fn one_of_several_decisions_wins(store: &Arc<dyn Store>) {
    let id = accepted(&**store, &proposal("/a", "1", "s1"));
    let wins: u64 = thread::scope(|scope| {
        let decide = |reviewer: u64| {
            let to =
                if reviewer.is_multiple_of(2) { ProposalState::Approved } else { ProposalState::Rejected };
            let decision = ProposalDecision { reviewer: reviewer.to_string(), reason: None, time: at(1) };
            store.decide(id, ProposalState::Pending, to, Some(&decision)).unwrap()
        };
        let reviewers: Vec<_> = (0..WRITERS).map(|reviewer| scope.spawn(move || decide(reviewer))).collect();
        reviewers.into_iter().map(|reviewer| u64::from(reviewer.join().unwrap())).sum()
    });
    assert_eq!(wins, 1);
}

fn releases_replace_and_remove(store: &dyn Store) {
    assert_eq!((store.newest_release().unwrap(), store.channels().unwrap()), (0, Vec::<String>::new()));
    let change = |name: &str, content: Option<&str>| ReleaseChange {
        name: name.to_owned(),
        digest: content.map(|content| Digest::of(content.as_bytes())),
    };
    let first = store
        .release("stable", &[change("b", Some("1")), change("a", Some("1"))], Some("ann"), at(1))
        .unwrap()
        .unwrap();
    let second = store.release("next", &[change("a", Some("2"))], None, at(2)).unwrap().unwrap();
    // Changes that change nothing are left out.
    let changes = [change("b", None), change("c", Some("1")), change("a", Some("1")), change("d", None)];
    let third = store.release("stable", &changes, None, at(3)).unwrap().unwrap();
    assert_eq!(store.release("stable", &changes, None, at(4)).unwrap(), None);
    assert!(first < second && second < third);
    assert_eq!(store.newest_release().unwrap(), third);
    let released = |channel: &str| -> Vec<(String, Digest, u64)> {
        let skills = store.released(channel).unwrap();
        skills.into_iter().map(|skill| (skill.name, skill.digest, skill.release)).collect()
    };
    let (one, two) = (Digest::of(b"1"), Digest::of(b"2"));
    assert_eq!(released("stable"), [("a".to_owned(), one, first), ("c".to_owned(), one, third)]);
    assert_eq!(released("next"), [("a".to_owned(), two, second)]);
    assert_eq!(released("none"), []);
    assert_eq!(store.channels().unwrap(), ["next", "stable"]);
    assert_eq!(store.newest_names("stable").unwrap(), ["b", "c"]);
    assert_eq!(store.newest_names("none").unwrap(), Vec::<String>::new());
    let first: Vec<_> = [("a", 1), ("b", 1), ("c", 3)].map(|(name, time)| (name.to_owned(), at(time))).into();
    assert_eq!(store.first_releases("stable").unwrap(), first);
    assert_eq!(store.first_releases("none").unwrap(), []);
    let history = store.releases("stable", "b").unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(
        (&history[0].change, history[0].number, &history[0].author),
        (&change("b", None), third, &None)
    );
    assert_eq!((&history[1].change, history[1].time), (&change("b", Some("1")), at(1)));
    assert_eq!(history[1].author.as_deref(), Some("ann"));
}

fn a_release_over_another_digest_changes_nothing(store: &dyn Store) {
    let (one, two) = (Digest::of(b"1"), Digest::of(b"2"));
    let change = |digest: Digest| ReleaseChange { name: "a".to_owned(), digest: Some(digest) };
    let over = |digest: Digest, base: Option<&Digest>| {
        store.release_over("stable", &change(digest), base, Some("ann"), at(1)).unwrap()
    };
    assert_eq!(over(one, Some(&two)), None);
    let first = over(one, None);
    assert!(first.is_some());
    assert_eq!((over(two, None), over(one, Some(&one))), (None, None));
    assert!(over(two, Some(&one)) > first);
    assert_eq!(store.released("stable").unwrap()[0].digest, two);
}

fn a_release_wakes_those_who_wait(store: &Arc<dyn Store>) {
    assert_eq!(store.wait_for_release(0, Duration::ZERO).unwrap(), 0);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| store.wait_for_release(0, Duration::from_secs(60)).unwrap());
        let change = ReleaseChange { name: "a".to_owned(), digest: Some(Digest::of(b"1")) };
        let number = store.release("stable", &[change], None, at(1)).unwrap().unwrap();
        assert_eq!(waiting.join().unwrap(), number);
        assert_eq!(store.wait_for_release(0, Duration::MAX).unwrap(), number);
    });
}

fn published_versions_never_change(store: &dyn Store) {
    assert_eq!(store.publications("a").unwrap(), []);
    let publication = |version: &str, content: &str, seconds| Publication {
        name: "a".to_owned(),
        version: version.to_owned(),
        digest: Digest::of(content.as_bytes()),
        author: Some("ann".to_owned()),
        time: at(seconds),
    };
    let first = publication("1.0.0", "1", 1);
    assert_eq!(store.publish(&first).unwrap(), (first.clone(), true));
    assert_eq!(store.publish(&publication("1.0.0", "2", 2)).unwrap(), (first.clone(), false));
    let second = Publication { author: None, ..publication("0.9.0", "1", 3) };
    assert_eq!(store.publish(&second).unwrap(), (second.clone(), true));
    let other = Publication { name: "b".to_owned(), ..publication("1.0.0", "1", 4) };
    assert!(store.publish(&other).unwrap().1);
    assert_eq!(store.publications("a").unwrap(), [second, first]);
}

fn tokens_are_revoked_once(store: &dyn Store) {
    assert_eq!(store.tokens().unwrap(), []);
    let first = TokenRecord::new("rep_1", "ann", Role::Reader, at(2));
    let mut second = TokenRecord::new("rep_2", "ann", Role::Admin, at(1));
    let pattern = Pattern::new("user:*:git-*").unwrap();
    second.scope.scope = Scope { allow: Some(vec![pattern.clone()]), deny: vec![pattern] };
    second.scope.kits = vec!["web".to_owned()];
    (second.agent, second.author) = (Some("builder".to_owned()), Some("user:root".to_owned()));
    second.expires = Some(at(9));
    let third = TokenRecord::new("rep_3", "Ann", Role::Author, at(3));
    for token in [&first, &second, &third] {
        store.add_token(token).unwrap();
    }
    assert_eq!(store.add_token(&first).unwrap_err().kind(), ErrorKind::Store);
    assert_eq!(store.tokens().unwrap(), [third.clone(), second.clone(), first.clone()]);
    assert!(second.is_valid(at(8)) && !second.is_valid(at(9)));
    assert!(store.revoke_token(&first.digest, at(5)).unwrap());
    assert!(!store.revoke_token(&first.digest, at(6)).unwrap());
    assert!(!store.revoke_token(&Digest::of(b"rep_4"), at(6)).unwrap());
    assert_eq!(store.active_tokens(at(8)).unwrap(), [third.clone(), second.clone()]);
    assert_eq!(store.active_tokens(at(9)).unwrap(), [third]);
    let revoked = store.tokens().unwrap().pop().unwrap();
    assert_eq!((revoked.revoked, revoked.is_valid(at(4))), (Some(at(5)), false));
    // Tokens that ended long ago are removed when one is added.
    let kept = 9 + ENDED_TOKEN_TIME.as_secs();
    store.add_token(&TokenRecord::new("rep_5", "bob", Role::Reader, at(kept - 1))).unwrap();
    assert!(store.tokens().unwrap().contains(&second));
    store.add_token(&TokenRecord::new("rep_6", "bob", Role::Reader, at(kept))).unwrap();
    assert!(!store.tokens().unwrap().contains(&second));
    assert_eq!(store.tokens().unwrap().len(), 4);
}
