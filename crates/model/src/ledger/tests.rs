//! One test per event, each over all presences.

use super::*;
use crate::{Digest, SkillName};

fn git() -> SkillName {
    SkillName::new("git").unwrap()
}

fn digest(version: u8) -> Digest {
    Digest::of(&[version])
}

fn seen(version: u8, turn: u64) -> SeenSkill {
    SeenSkill {
        name: git(),
        digest: Some(digest(version)),
        is_certain: true,
        turn,
        order: 0,
        unloaded: false,
    }
}

/// Returns a ledger at turn 3 in which version 1 of `git` was given at turn 2 and is in this state.
fn in_state(presence: Presence) -> Ledger {
    let mut ledger = Ledger::new();
    ledger.advance();
    ledger.advance();
    if presence != Presence::Absent {
        ledger.loaded(&git(), digest(1));
    }
    match presence {
        Presence::Absent | Presence::Active => (),
        Presence::Stale => ledger.changed(&git(), &digest(2)),
        Presence::Evictable => assert!(ledger.unloaded(&git())),
        Presence::Lost => ledger.compacted(&[]),
    }
    ledger.advance();
    assert_eq!(presence_of_git(&ledger), presence);
    ledger
}

fn presence_of_git(ledger: &Ledger) -> Presence {
    ledger.record(&git()).map_or(Presence::Absent, |record| record.presence)
}

const ALL: [Presence; 5] =
    [Presence::Absent, Presence::Active, Presence::Stale, Presence::Evictable, Presence::Lost];

/// Checks one row of the table: what `event` makes of each presence, in the order of [`ALL`].
fn check(event: impl Fn(&mut Ledger), expect: [Presence; 5]) {
    for (before, expect) in ALL.into_iter().zip(expect) {
        let mut ledger = in_state(before);
        event(&mut ledger);
        assert_eq!(presence_of_git(&ledger), expect, "from {before:?}");
        assert_eq!(
            ledger.record(&git()).is_none(),
            expect == Presence::Absent,
            "no record of what is absent"
        );
    }
}

use Presence::{Absent, Active, Evictable, Lost, Stale};

#[test]
fn given_skills_are_active() {
    check(|ledger| ledger.loaded(&git(), digest(1)), [Active; 5]);
    check(|ledger| ledger.bound(&git(), digest(1)), [Active; 5]);
    let mut ledger = in_state(Lost);
    ledger.loaded(&git(), digest(2));
    let expect = LedgerRecord {
        presence: Active,
        digest: Some(digest(2)),
        turn: 3,
        is_bound: false,
        is_certain: true,
    };
    assert_eq!(ledger.record(&git()), Some(&expect));
    ledger.bound(&git(), digest(3));
    let expect =
        LedgerRecord { presence: Active, digest: Some(digest(3)), turn: 0, is_bound: true, is_certain: true };
    assert_eq!(ledger.record(&git()), Some(&expect));
}

#[test]
fn unloaded_skills_are_evictable() {
    check(|ledger| _ = ledger.unloaded(&git()), [Absent, Evictable, Evictable, Evictable, Lost]);
    let was_active = ALL.map(|presence| in_state(presence).unloaded(&git()));
    assert_eq!(was_active, [false, true, true, false, false]);
}

#[test]
fn evicted_skills_are_lost_and_not_reattached() {
    check(|ledger| ledger.evicted(&git()), [Absent, Lost, Lost, Lost, Lost]);
    let mut ledger = in_state(Active);
    ledger.evicted(&git());
    assert!(ledger.lost_by_recency().is_empty());
    ledger.loaded(&git(), digest(1));
    ledger.compacted(&[]);
    assert_eq!(ledger.lost_by_recency().len(), 1);
    ledger.evicted(&git());
    assert_eq!(ledger.lost_by_recency().len(), 1, "what is lost cannot be evicted");
}

#[test]
fn changed_skills_are_stale_until_they_change_back() {
    check(|ledger| ledger.changed(&git(), &digest(2)), [Absent, Stale, Stale, Evictable, Lost]);
    check(|ledger| ledger.changed(&git(), &digest(1)), [Absent, Active, Active, Evictable, Lost]);
    check(|ledger| ledger.removed(&git()), [Absent, Stale, Stale, Evictable, Lost]);
    let mut ledger = Ledger::new();
    ledger.observed(&[SeenSkill { digest: None, ..seen(1, 1) }], 1);
    ledger.changed(&git(), &digest(1));
    assert_eq!(presence_of_git(&ledger), Active, "whether unknown instructions changed is unknown");
}

#[test]
fn the_transcript_is_the_truth() {
    check(|ledger| ledger.observed(&[], 3), [Absent, Lost, Lost, Absent, Lost]);
    check(|ledger| ledger.observed(&[seen(1, 2)], 3), [Active, Active, Stale, Evictable, Active]);
    check(|ledger| ledger.observed(&[seen(1, 3)], 3), [Active, Active, Stale, Evictable, Active]);
    let again = |ledger: &mut Ledger| {
        ledger.observed(&[seen(1, 2)], 3);
        ledger.observed(&[seen(1, 3)], 3);
    };
    check(again, [Active, Active, Stale, Active, Active]);
    check(|ledger| ledger.observed(&[seen(3, 2)], 3), [Active; 5]);
    check(|ledger| ledger.observed(&[SeenSkill { unloaded: true, ..seen(1, 2) }], 3), [Evictable; 5]);
    let mut ledger = in_state(Active);
    ledger.observed(&[seen(7, 5), seen(1, 2), seen(8, 5), seen(3, 4)], 6);
    let expect = LedgerRecord {
        presence: Active,
        digest: Some(digest(8)),
        turn: 5,
        is_bound: false,
        is_certain: true,
    };
    assert_eq!((ledger.record(&git()), ledger.turn()), (Some(&expect), 6), "the newest sighting counts");
}

#[test]
fn a_compaction_drops_skills_that_are_not_kept() {
    check(|ledger| ledger.compacted(&[]), [Absent, Lost, Lost, Absent, Lost]);
    check(|ledger| ledger.compacted(&[git()]), ALL);
}

#[test]
fn the_prompt_outlives_every_compaction() {
    let bound = || {
        let mut ledger = Ledger::new();
        ledger.bound(&git(), digest(1));
        ledger.advance();
        ledger
    };
    let record = |ledger: &Ledger| {
        let record = ledger.record(&git()).unwrap();
        assert!(record.is_bound);
        (record.presence, record.digest.unwrap(), record.turn)
    };
    let drops: [fn(&mut Ledger); 2] = [|ledger| ledger.compacted(&[]), |ledger| ledger.observed(&[], 1)];
    for drop in drops {
        let mut ledger = bound();
        drop(&mut ledger);
        assert_eq!(record(&ledger), (Active, digest(1), 0));
        assert!(ledger.unloaded(&git()));
        drop(&mut ledger);
        assert_eq!(record(&ledger), (Evictable, digest(1), 0));

        let mut ledger = bound();
        ledger.loaded(&git(), digest(2));
        assert_eq!(record(&ledger), (Active, digest(2), 1));
        drop(&mut ledger);
        assert_eq!(record(&ledger), (Stale, digest(1), 0), "the old prompt is all that is left");
        ledger.changed(&git(), &digest(1));
        assert_eq!(record(&ledger), (Active, digest(1), 0));
    }
    let mut ledger = bound();
    ledger.observed(&[seen(2, 1)], 1);
    assert_eq!(record(&ledger), (Active, digest(2), 1));
    ledger.evicted(&git());
    assert_eq!(record(&ledger), (Evictable, digest(1), 0));
}

#[test]
fn only_certain_and_current_skills_are_acknowledged() {
    let ack = LoadDecision::Acknowledge { turn: 2, is_bound: false };
    let decide = |force, reload, version: u8| {
        ALL.map(|presence| in_state(presence).decide(&git(), &digest(version), force, reload))
    };
    let give = ALL.map(LoadDecision::Give);
    let give_changed = [Absent, Stale, Stale, Stale, Lost].map(LoadDecision::Give);
    assert_eq!(decide(false, Reload::Auto, 1), [give[0], ack, give[2], give[3], give[4]]);
    assert_eq!(decide(false, Reload::Auto, 2), give_changed);
    assert_eq!(decide(false, Reload::ShortAck, 1), [give[0], ack, ack, give[3], give[4]]);
    assert_eq!(decide(false, Reload::ShortAck, 2), [give[0], ack, ack, give_changed[3], give[4]]);
    assert_eq!(decide(false, Reload::AlwaysBody, 1), give);
    assert_eq!(decide(false, Reload::AlwaysBody, 2), give_changed);
    for reload in [Reload::Auto, Reload::ShortAck, Reload::AlwaysBody] {
        assert_eq!(decide(true, reload, 1), give);
        assert_eq!(decide(true, reload, 2), give_changed);
    }
    let mut ledger = Ledger::new();
    ledger.observed(&[SeenSkill { digest: None, ..seen(1, 1) }], 1);
    for reload in [Reload::Auto, Reload::ShortAck] {
        assert_eq!(ledger.decide(&git(), &digest(1), false, reload), LoadDecision::Give(Active));
    }
    assert!(!ledger.is_sure(&git()) && ledger.active().count() == 1);
}

#[test]
fn uncertain_instructions_are_acknowledged_only_if_equal_to_disk() {
    let mut ledger = Ledger::new();
    ledger.observed(&[SeenSkill { is_certain: false, ..seen(1, 1) }], 1);
    let ack = LoadDecision::Acknowledge { turn: 1, is_bound: false };
    for reload in [Reload::Auto, Reload::ShortAck] {
        assert_eq!(ledger.decide(&git(), &digest(1), false, reload), ack);
        assert_eq!(
            ledger.decide(&git(), &digest(2), false, reload),
            LoadDecision::Give(Lost),
            "nobody knows that it changed"
        );
    }
    assert!(!ledger.is_sure(&git()));
    ledger.changed(&git(), &digest(2));
    assert_eq!(ledger.decide(&git(), &digest(2), false, Reload::ShortAck), LoadDecision::Give(Lost));
    ledger.changed(&git(), &digest(1));
    assert!(ledger.is_sure(&git()), "what has the digest of the disk is whole");
    ledger.observed(&[SeenSkill { is_certain: false, ..seen(1, 1) }], 1);
    assert_eq!(ledger.decide(&git(), &digest(2), false, Reload::ShortAck), ack, "and it stays so");
    assert_eq!(ledger.decide(&git(), &digest(2), false, Reload::Auto), LoadDecision::Give(Stale));
    for (presence, is_sure) in ALL.into_iter().zip([false, true, true, false, false]) {
        assert_eq!(in_state(presence).is_sure(&git()), is_sure);
    }
}

#[test]
fn an_acknowledgement_says_which_copy_is_meant() {
    let mut ledger = Ledger::new();
    ledger.bound(&git(), digest(1));
    let decide = |ledger: &Ledger| ledger.decide(&git(), &digest(1), false, Reload::Auto);
    assert_eq!(decide(&ledger), LoadDecision::Acknowledge { turn: 0, is_bound: true });
    ledger.observed(&[seen(1, 0)], 0);
    assert_eq!(
        decide(&ledger),
        LoadDecision::Acknowledge { turn: 0, is_bound: false },
        "put back before the first turn"
    );
    ledger.observed(&[], 0);
    assert_eq!(decide(&ledger), LoadDecision::Acknowledge { turn: 0, is_bound: true });
    ledger.advance();
    ledger.loaded(&git(), digest(1));
    assert_eq!(decide(&ledger), LoadDecision::Acknowledge { turn: 1, is_bound: false });
    ledger.compacted(&[]);
    assert_eq!(decide(&ledger), LoadDecision::Acknowledge { turn: 0, is_bound: true });
}

#[test]
fn bound_skills_are_not_acknowledged_if_another_version_may_follow() {
    let mut ledger = Ledger::new();
    ledger.bound(&git(), digest(1));
    ledger.loaded(&git(), digest(2));
    ledger.loaded(&git(), digest(1));
    // The newest is gone; the one before it may be there.
    ledger.compacted(&[]);
    let decide = |ledger: &Ledger| ledger.decide(&git(), &digest(1), false, Reload::Auto);
    assert!(matches!(decide(&ledger), LoadDecision::Give(_)));
    ledger.observed(&[], 0);
    ledger.changed(&git(), &digest(1));
    assert_eq!(decide(&ledger), LoadDecision::Acknowledge { turn: 0, is_bound: true });
}

#[test]
fn recency_does_not_depend_on_how_turns_are_counted() {
    let name = |text: &str| SkillName::new(text).unwrap();
    let lost = |ledger: &Ledger| {
        let mut ledger = ledger.clone();
        ledger.compacted(&[]);
        ledger.lost_by_recency().iter().map(|(name, _)| name.as_str().to_owned()).collect::<Vec<_>>()
    };
    let mut ledger = Ledger::new();
    // Three calls in one message of the assistant, and one in the next.
    for skill in ["c", "b", "a"] {
        ledger.advance();
        ledger.loaded(&name(skill), digest(1));
    }
    assert_eq!(lost(&ledger), ["a", "b", "c"]);
    let seen = |skill: &str, turn, order| SeenSkill { name: name(skill), order, ..seen(1, turn) };
    ledger.observed(&[seen("a", 1, 3), seen("b", 1, 2), seen("c", 1, 1)], 1);
    assert_eq!(lost(&ledger), ["a", "b", "c"], "seen in the order in which they were given");
    ledger.advance();
    ledger.loaded(&name("z"), digest(1));
    ledger.loaded(&name("y"), digest(1));
    assert_eq!(lost(&ledger), ["y", "z", "a", "b", "c"], "the one that was asked for is the last");
    assert_eq!(ledger.record(&name("z")).unwrap().turn, ledger.record(&name("y")).unwrap().turn);
    let before = ledger.clone();
    ledger.observed(&[seen("b", 1, 1), seen("a", 1, 2), seen("c", 3, 3)], 3);
    assert_eq!(lost(&ledger), ["c", "y", "z", "a", "b"], "the transcript is the truth");
    let mut fresh = Ledger::new();
    fresh.observed(&[seen("b", 1, 1), seen("a", 1, 2), seen("c", 3, 3)], 3);
    assert_eq!(lost(&fresh), ["c", "a", "b"]);
    assert_ne!(before, ledger);
}

#[test]
fn the_active_are_sorted_and_the_lost_newest_first() {
    let name = |text: &str| SkillName::new(text).unwrap();
    let mut ledger = Ledger::new();
    for (index, skill) in ["b", "d", "a", "c"].into_iter().enumerate() {
        if index < 3 {
            ledger.advance();
        }
        ledger.loaded(&name(skill), digest(1));
    }
    ledger.unloaded(&name("d"));
    ledger.changed(&name("c"), &digest(2));
    assert_eq!(ledger.active().map(SkillName::as_str).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(ledger.records().count(), 4);

    let names = |ledger: &Ledger| {
        ledger.lost_by_recency().iter().map(|(name, _)| name.as_str().to_owned()).collect::<Vec<_>>()
    };
    let mut inherited = ledger.inherited();
    assert_eq!((names(&inherited), inherited.turn()), (["c", "a", "b"].map(str::to_owned).to_vec(), 0));
    inherited.advance();
    inherited.loaded(&name("z"), digest(1));
    inherited.compacted(&[]);
    assert_eq!(names(&inherited), ["z", "c", "a", "b"], "the sub-agent's turns are newer than its parent's");

    ledger.observed(&[], 1);
    ledger.loaded(&name("z"), digest(1));
    ledger.compacted(&[]);
    assert_eq!(names(&ledger), ["z", "c", "a", "b"], "counting anew does not make old turns new");
}

#[test]
fn an_acknowledgement_is_a_use_and_being_put_back_is_not() {
    let name = |text: &str| SkillName::new(text).unwrap();
    let lost = |ledger: &mut Ledger| {
        ledger.compacted(&[]);
        ledger.lost_by_recency().iter().map(|(name, _)| name.as_str().to_owned()).collect::<Vec<_>>()
    };
    let mut ledger = Ledger::new();
    ["a", "b", "c", "d"].iter().for_each(|skill| ledger.loaded(&name(skill), digest(1)));
    ledger.acknowledged(&name("b"));
    for budget in [4, 0, 1, 3, 2] {
        let order = lost(&mut ledger);
        assert_eq!(order, ["b", "d", "c", "a"]);
        order.iter().take(budget).for_each(|skill| ledger.reattached(&name(skill), digest(1)));
    }
    ledger.bound(&name("z"), digest(1));
    ledger.acknowledged(&name("z"));
    ledger.loaded(&name("e"), digest(1));
    let mut inherited = ledger.inherited();
    inherited.reattached(&name("z"), digest(1));
    assert_eq!(
        lost(&mut inherited),
        ["e", "b", "d", "z"],
        "a sub-agent loses what was in its parent's prompt last"
    );
}
