//! Tests of tracking the context and of changes in it.

use crate::session::LoadOptions;
use pollster::block_on;
use std::time::Instant;

use super::*;

#[test]
fn a_removed_skill_is_not_to_be_loaded_again() {
    for is_edited_before in [false, true] {
        let library = SkillDirectory::new(&["alpha", "beta"]);
        let session = library.session();
        load(&session, "alpha");
        // Its state on disk was looked at before.
        assert_eq!(block_on(session.delta()).text, "");
        if is_edited_before {
            library.skill("alpha", "", "Edited.\n");
            block_on(session.context().look());
        }
        fs::remove_dir_all(library.directory.path().join("alpha")).unwrap();
        let note = block_on(session.delta()).text;
        assert!(note.contains("Removed, no longer available: alpha"), "{note}");
        assert!(!note.contains("load again"), "{note}");
    }
}

#[test]
fn p1_skills_are_offered_once_for_the_files_that_they_are_about() {
    let library = SkillDirectory::new(&["alpha"]);
    library.skill("rust", "paths: [\"src/**/*.rs\", Cargo.toml]\n", "Borrow.\n");
    library.skill("docs", "paths: docs/\n", "Write.\n");
    library.skill("kept", "paths: \"*.rs\"\ndisable-model-invocation: true\n", "Keep.\n");
    let session = library.session();
    let catalog = session.catalog();
    assert_eq!(session.focus(&["README.md"]).text, "");
    let note = session.focus(&["src/a/b.rs", "README.md"]).text;
    assert!(note.contains("- rust: Does rust things.") && !note.contains("docs"), "{note}");
    assert!(!note.contains("kept") && !note.contains("alpha"), "{note}");
    assert_eq!(session.focus(&["src/main.rs"]).text, "", "once is enough");
    load(&session, "docs");
    assert_eq!(session.focus(&["docs/a.md"]).text, "", "it is loaded");
    block_on(session.compacted(&KeptContext::Skills(Vec::new())));
    assert!(session.focus(&["Cargo.toml", "docs/a.md"]).text.contains("- docs: "));
    assert_eq!(session.catalog(), catalog);
    let none: [&str; 0] = [];
    assert_eq!(session.focus(&none).text, "");
}

#[test]
fn p1_skills_that_were_given_are_not_offered_to_a_host_without_a_transcript() {
    let library = SkillDirectory::new(&["alpha"]);
    library.skill("rust", "paths: \"*.rs\"\n", "Borrow.\n");
    library.skill("cargo", "paths: Cargo.toml\nrequires: [rust]\n", "Build.\n");
    let options = SessionOptions {
        loading: LoadOptions {
            account: Account::None,
            requires: Requires::AutoLoad,
            ..LoadOptions::default()
        },
        ..SessionOptions::default()
    };
    let session = library.session_with(options);
    load(&session, "alpha");
    load(&session, "cargo");
    assert_eq!(session.focus(&["Cargo.toml", "main.rs"]).text, "");
}

#[test]
fn p1_a_shadowed_skill_that_was_given_is_not_taken_for_the_one_that_hides_it() {
    let library = SkillDirectory::new(&[]);
    library.skill("rust", "paths: \"*.rs\"\n", "Borrow.\n");
    let other = SkillDefinition::new("rust", "Does other things. Use when asked.", "Lend.\n");
    let builder = library.builder().provider(Arc::new(MemoryProvider::new("other", vec![other])));
    let session = block_on(block_on(builder.open()).unwrap().session()).unwrap();
    assert!(load(&session, "other:rust").contains("Lend."));
    assert!(session.focus(&["main.rs"]).text.contains("- rust: "));
}

#[test]
fn p1_skills_that_do_not_fit_into_one_note_are_offered_by_the_next() {
    let library = SkillDirectory::new(&[]);
    for index in 0..60 {
        library.skill(&format!("rust-{index:02}"), "paths: \"*.rs\"\n", "Borrow.\n");
    }
    let session = library.session();
    let lines = || session.focus(&["a.rs"]).text.lines().filter(|line| line.starts_with("- ")).count();
    assert_eq!((lines(), lines(), lines()), (50, 10, 0));
}

#[test]
fn a_refresh_reloads_even_if_nothing_else_does() {
    let library = SkillDirectory::new(&["alpha", "beta"]);
    let session = library.session();
    let watcher = session.registry().watch(ReloadOptions::of(ReloadMode::Off)).unwrap();
    fs::remove_dir_all(library.directory.path().join("beta")).unwrap();
    assert_eq!(block_on(session.delta()).text, "");
    assert!(session.catalog().text.contains("beta"));
    assert!(!block_on(session.refresh()).text.contains("beta"));
    drop(watcher);
}

#[test]
fn added_skills_are_loadable_at_once_and_announced_once() {
    let library = SkillDirectory::new(&["alpha"]);
    let session = library.session();
    let (catalog, tools) = (session.catalog(), session.tools());
    library.skill("beta", "", "# Beta\n\nDo beta.\n");
    assert!(is_body(&load(&session, "beta")));
    assert_eq!((session.catalog(), session.tools()), (catalog.clone(), tools));
    let note = block_on(session.delta());
    assert!(note.text.contains("beta") && !note.text.contains("alpha"), "{}", note.text);
    assert_eq!(block_on(session.delta()).text, "");
    fs::remove_dir_all(library.directory.path().join("alpha")).unwrap();
    let note = block_on(session.delta());
    assert!(note.text.contains("alpha"), "{}", note.text);
    assert_eq!(session.catalog(), catalog, "nothing but a refresh changes the catalog");
    let gone = block_on(session.call("load_skill", &json!({"name": "alpha"})));
    assert!(gone.is_error() && gone.text().contains("gone"), "{}", gone.text());
    let fresh = block_on(session.refresh());
    assert!(fresh.text.contains("beta") && !fresh.text.contains("alpha"), "{}", fresh.text);
}

#[test]
fn a_session_is_renewed_without_writing_its_catalog() {
    let library = SkillDirectory::new(&["alpha"]);
    let session = library.session();
    session.catalog();
    library.skill("beta", "", "# Beta\n\nDo beta.\n");
    pollster::block_on(session.renew());
    assert!(session.state().text.is_none(), "nobody asked for it");
    assert!(session.catalog().text.contains("beta"));
}

#[test]
fn compacted_skills_can_be_reattached() {
    let library = SkillDirectory::new(&["alpha", "beta"]);
    let session = library.session();
    load(&session, "alpha");
    load(&session, "beta");
    library.skill("gamma", "", "# Gamma\n");
    block_on(session.compacted(&KeptContext::Skills(vec![SkillName::new("beta").unwrap()])));
    assert!(session.catalog().text.contains("gamma"), "the catalog follows at a compaction");
    assert_eq!(session.context().loaded(), [SkillName::new("beta").unwrap()]);
    assert!(!is_body(&load(&session, "beta")));
    let back = block_on(session.reattach(10_000));
    assert!(back.text.contains("Do alpha.") && !back.text.contains("Do beta."), "{}", back.text);
    assert!(!is_body(&load(&session, "alpha")));
    block_on(session.compacted(&KeptContext::Skills(Vec::new())));
    assert!(is_body(&load(&session, "alpha")));
}

#[test]
fn a_transcript_is_the_truth() {
    let library = SkillDirectory::new(&["alpha"]);
    // Of `body`, the model sees nothing but the instructions.
    for render in Render::ALL.into_iter().filter(|render| *render != Render::Body) {
        let session = library.session_with(SessionOptions { render, ..SessionOptions::default() });
        let text = load(&session, "alpha");
        let messages = |result: &str| {
            vec![
                json!({"role": "assistant", "content": [
                    {"type": "tool_use", "id": "t1", "name": "load_skill", "input": {"name": "alpha"}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": result}]}),
            ]
        };
        let replayed = library.session_with(SessionOptions { render, ..SessionOptions::default() });
        replayed.observe(&messages(&text));
        assert_eq!(replayed.context().loaded().len(), 1, "{render:?}");
        assert_ne!(load(&replayed, "alpha"), text, "{render:?}");
        replayed.observe(&[]);
        assert_eq!(load(&replayed, "alpha"), text, "{render:?}");
        let foreign = library.session();
        foreign.observe(&messages("instructions of another loader"));
        assert_eq!(foreign.context().loaded().len(), 1);
        assert!(is_body(&load(&foreign, "alpha")), "in doubt, the body");
    }
}

#[test]
fn changes_of_loaded_skills_on_disk_are_noticed() {
    let library = SkillDirectory::new(&["alpha", "beta", "gamma"]);
    let session = library.session();
    for name in ["alpha", "beta", "gamma"] {
        load(&session, name);
    }
    library.skill("alpha", "", "# alpha\n\nDo it otherwise.\n");
    library.write("beta/SKILL.md", "---\nname: beta\ndescription: [broken\nEVIL\n");
    library.write(
        "gamma/SKILL.md",
        "---\nname: delta\ndescription: Is called otherwise. Use when asked.\n---\nMoved.\n",
    );
    let note = block_on(session.delta()).text;
    assert!(note.contains("alpha") && note.contains("delta"), "{note}");
    assert_eq!(block_on(session.delta()).text, "");
    let presence = |name: &str| {
        session.context().skills().iter().find(|skill| skill.name.as_str() == name).unwrap().record.presence
    };
    assert_eq!(presence("alpha"), repertoire_model::ledger::Presence::Stale);
    assert!(
        block_on(session.call("load_skill", &json!({"name": "gamma"}))).is_error(),
        "it has another name now"
    );
    block_on(session.compacted(&KeptContext::Skills(Vec::new())));
    let back = block_on(session.reattach(10_000)).text;
    assert!(
        back.contains("Do it otherwise.") && !back.contains("EVIL") && !back.contains("Moved."),
        "{back}"
    );
}

#[test]
fn notes_that_a_compaction_took_away_are_due_again() {
    let library = SkillDirectory::new(&["alpha"]);
    let session =
        library.session_with(SessionOptions { refresh: Refresh::Session, ..SessionOptions::default() });
    library.skill("beta", "", "# Beta\n");
    assert!(block_on(session.delta()).text.contains("beta"));
    block_on(session.compacted(&KeptContext::Skills(Vec::new())));
    assert!(!session.catalog().text.contains("beta"));
    assert!(block_on(session.delta()).text.contains("beta"));
}

#[test]
fn a_host_without_a_cache_may_have_its_catalog_follow_at_once() {
    let library = SkillDirectory::new(&["alpha"]);
    let session =
        library.session_with(SessionOptions { refresh: Refresh::Immediate, ..SessionOptions::default() });
    assert!(!session.catalog().text.contains("beta"));
    library.skill("beta", "", "# Beta\n");
    let schema = |session: &Session| {
        let tools = session.tools();
        tools.iter().find(|tool| tool.name == "load_skill").unwrap().input_schema.to_string()
    };
    // If a check took long, as it may on a busy machine, the next one waits a moment.
    let deadline = Instant::now() + Duration::from_secs(30);
    while !schema(&session).contains("beta") {
        assert!(Instant::now() < deadline, "{}", schema(&session));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(session.catalog().text.contains("beta"));
}
