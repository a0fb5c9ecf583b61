//! The catalog for a task, and how well loads could be foreseen.

use pollster::block_on;
use repertoire::model::{Pattern, Scope};
use repertoire::session::{KeptContext, PinnedCatalog};
use repertoire::{Agent, Session, SessionOptions, SessionRequest, Task};
use serde_json::json;

use crate::skill_directory::SkillDirectory;

/// Returns a library whose descriptions, and then whose names, are too much for small budgets.
fn large() -> SkillDirectory {
    let library = SkillDirectory::new();
    let about = ["invoices", "photographs", "kubernetes clusters", "poems", "tax returns", "bird songs"];
    for (number, about) in (0..120).zip(about.iter().cycle()) {
        let name = format!("{}-{number:03}", about.split(' ').next().unwrap());
        let text = format!(
            "---\nname: {name}\ndescription: Handles {about} of shelf {number}. Use when {about} are at hand.\n---\nDo.\n"
        );
        library.write(&format!("{name}/SKILL.md"), &text);
    }
    library
}

fn with_budget(library: &SkillDirectory, budget: usize) -> Session {
    let mut options = SessionOptions::default();
    options.catalog.budget_tokens = Some(budget);
    library.session_with(options)
}

/// Returns the number of skills about `word` that are described in full.
fn described(catalog: &PinnedCatalog, word: &str) -> usize {
    catalog.text.matches(&format!("Handles {word} of")).count()
}

#[test]
fn a_task_decides_which_skills_are_shown_in_full() {
    let library = large();
    let session = with_budget(&library, 900);
    let plain = session.catalog();
    let songs = block_on(session.catalog_for_task(&Task::new("record some bird songs")));
    assert!(described(&songs, "bird songs") > 10 && songs.text != plain.text, "{}", songs.text);
    assert!(described(&songs, "bird songs") > described(&songs, "poems") + 5, "{}", songs.text);
    assert!(songs.text.contains("of 120 skills are not listed"), "{}", songs.text);
    // It is pinned: later calls return it, with the task or without.
    assert_eq!(block_on(session.catalog_for_task(&Task::new("record some bird songs"))), songs);
    assert_eq!(session.catalog(), songs);
    assert!(block_on(session.prompt()).unwrap().ends_with(&*songs.text));
    let poems = block_on(session.catalog_for_task(&Task::new("write poems")));
    assert!(described(&poems, "poems") > 10, "{}", poems.text);
    assert!(block_on(session.prompt()).unwrap().ends_with(&*poems.text));
    // Another process has the same result, another turn does not.
    let other = with_budget(&library, 900);
    assert_eq!(block_on(other.catalog_for_task(&Task::new("write poems"))).text, poems.text);
    let mut next = Task::new("write poems");
    next.epoch = 1;
    assert_ne!(block_on(other.catalog_for_task(&next)).text, poems.text);
    // Blank is not a task.
    assert_eq!(block_on(session.catalog_for_task(&Task::new(" \n"))).text, plain.text);
}

#[test]
fn the_task_stays_when_the_library_changes() {
    let library = large();
    let session = with_budget(&library, 900);
    let before = block_on(session.catalog_for_task(&Task::new("review tax returns")));
    library.write(
        "returns-of-tax/SKILL.md",
        "---\nname: returns-of-tax\ndescription: Reviews tax returns. Use for the review of tax returns.\n---\nDo.\n",
    );
    assert_eq!(session.catalog(), before);
    let after = block_on(session.refresh());
    assert!(after.text.contains("Reviews tax returns.") && described(&after, "tax returns") > 8);
    block_on(session.compacted(&KeptContext::Skills(Vec::new())));
    assert_eq!(session.catalog().text, after.text);
}

#[test]
fn an_earlier_task_has_the_bytes_of_then_until_the_catalog_is_refreshed() {
    // The newest snapshot was once ranked, and the result shown for the pinned one.
    let library = large();
    let session = with_budget(&library, 900);
    let songs = Task::new("record some bird songs");
    let before = block_on(session.catalog_for_task(&songs));
    block_on(session.catalog_for_task(&Task::new("write poems")));
    for number in 0..3 {
        let text = format!(
            "---\nname: songs-{number}\ndescription: Records bird songs.\n---\n# Record some bird songs\n"
        );
        library.write(&format!("songs-{number}/SKILL.md"), &text);
    }
    for number in (5..35).step_by(6) {
        let name = format!("bird-{number:03}");
        let text = format!("---\nname: {name}\ndescription: Cooks soup.\n---\nCook.\n");
        library.write(&format!("{name}/SKILL.md"), &text);
    }
    block_on(session.registry().reload());
    // A search brings the index up to date.
    block_on(session.call("search_skills", &json!({"query": "cook soup"})));
    let first_asked = block_on(session.catalog_for_task(&Task::new("sort photographs")));
    let after = block_on(session.catalog_for_task(&songs));
    assert_eq!(after, before);
    assert!(!first_asked.text.contains("Records bird songs"), "{}", first_asked.text);
    let refreshed = block_on(session.refresh());
    assert!(refreshed.snapshot > before.snapshot && refreshed.text.contains("Records bird songs"));
}

#[test]
fn skills_outside_the_scope_are_not_ranked() {
    let library = large();
    let mut options = SessionOptions::default();
    options.catalog.budget_tokens = Some(900);
    let mut agent = Agent::new("poet");
    agent.scope = Scope { deny: vec![Pattern::new("bird-*").unwrap()], ..Scope::default() };
    let opened = block_on(library.builder().session_options(options).agent(agent).open()).unwrap();
    let session = block_on(opened.open_session(&SessionRequest::of("poet"))).unwrap();
    let catalog = block_on(session.catalog_for_task(&Task::new("record some bird songs")));
    assert!(!catalog.text.contains("bird"), "{}", catalog.text);
}

#[test]
fn events_tell_how_well_a_load_was_foreseen() {
    let library = large();
    let session = library.session();
    let measured = |name: &str| {
        block_on(session.call("load_skill", &json!({"name": name, "force": true})));
        let event = library.sink.events().pop().unwrap();
        (event.rank, event.ranked)
    };
    assert_eq!(measured("poems-003"), (None, None));
    block_on(session.working_on("poems of shelf 63"));
    let plain = session.catalog();
    let (rank, ranked) = measured("poems-063");
    assert_eq!(rank, Some(1));
    assert!(ranked.is_some_and(|ranked| (20..=100).contains(&ranked)), "{ranked:?}");
    assert_eq!(session.catalog(), plain, "nothing that the model reads changes");
    // A load that the ranking did not predict has no rank; events other than loads never have one.
    let (rank, ranked) = measured("kubernetes-002");
    assert!(rank.is_none_or(|rank| rank > 20) && ranked.is_some(), "{rank:?}");
    assert_eq!(measured("nope"), (None, None));
    block_on(session.call("list_skills", &json!({})));
    assert_eq!(library.sink.events().pop().unwrap().ranked, None);
    // The last task counts.
    block_on(session.catalog_for_task(&Task::new("kubernetes clusters of shelf 2")));
    assert_eq!(measured("kubernetes-002").0, Some(1));
    block_on(session.working_on(""));
    assert_eq!(measured("kubernetes-002"), (None, None));
}
