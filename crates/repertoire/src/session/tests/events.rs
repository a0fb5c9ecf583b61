//! The ways in which skills reach a model through a session: each has its event.

use super::*;
use std::collections::BTreeSet;

use crate::event::{CallOrigin, Event, Surface, Via};
use crate::session::LoadOptions;
use crate::tool::BUILTINS;

/// A skill with files, one that requires it, one that is bound to an agent, and one that is broken.
fn skills() -> SkillDirectory {
    let library = SkillDirectory::new(&["alpha", "bound"]);
    library.write("alpha/references/guide.md", "one\ntwo\n");
    library.write("alpha/scripts/run.sh", "echo\n");
    library.skill("top", "requires: [alpha]\n", "# Top\n\nUse alpha.\n");
    library
}

/// Returns the parts of an event that every row of a table has.
pub(super) fn row(event: &Event) -> String {
    let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "-".to_owned());
    let Event { kind, skill, source, file, outcome, via, .. } = event;
    format!("{kind} {} {} {} {outcome} {via}", word(skill), word(source), word(file))
}

fn rows(library: &SkillDirectory) -> Vec<String> {
    library.sink.take().iter().map(row).collect()
}

#[test]
fn every_built_in_tool_has_an_event() {
    let library = skills();
    let session = library.session();
    let mut listed = BTreeSet::new();
    let mut check = |tool: &'static str, arguments: Value, expect: &[&str]| {
        block_on(session.call(tool, &arguments));
        assert_eq!(rows(&library), expect, "{tool} {arguments}");
        listed.insert(tool);
    };
    let guide = "file_read alpha test references/guide.md ok call";
    for path in ["references/guide.md", "./references//guide.md"] {
        check("read_skill_file", json!({"skill": "alpha", "path": path}), &[guide]);
    }
    check(
        "read_skill_file",
        json!({"skill": "alpha", "path": "x"}),
        &["file_read alpha test x not_found call"],
    );
    check("read_skill_file", json!({"skill": "alpha"}), &["file_read alpha test - invalid call"]);
    check("read_skill_file", json!({"skill": "nope"}), &["file_read nope - - invalid call"]);
    check("load_skill", json!({"name": "alpha"}), &["skill_loaded alpha test - ok call"]);
    check("load_skill", json!({"name": "nope"}), &["skill_loaded nope - - not_found call"]);
    check("load_skill", json!({"name": "alpha", "x": 1}), &["skill_loaded alpha test - invalid call"]);
    check("load_skill", json!({"name": 1}), &["skill_loaded - - - invalid call"]);
    for reference in ["guide.md", "./guide.md", "references/guide.md"] {
        let arguments = json!({"name": "alpha", "reference": reference});
        check("load_skill", arguments, &["skill_loaded alpha test references/guide.md ok call"]);
    }
    let both = [
        "skill_loaded alpha test references/guide.md ok call",
        "skill_loaded alpha test scripts/run.sh ok call",
    ];
    check("load_skill", json!({"name": "alpha", "reference": "guide.md", "script": "run.sh"}), &both);
    check(
        "load_skill",
        json!({"name": "alpha", "reference": "guide.md", "script": "no.sh"}),
        &["skill_loaded alpha test scripts/no.sh not_found call"],
    );
    check("list_skill_files", json!({"skill": "alpha"}), &["files_listed alpha test - ok call"]);
    let scripts = ["files_listed alpha test scripts ok call"];
    check("list_skill_files", json!({"skill": "alpha", "directory": "./scripts/"}), &scripts);
    check("list_skills", json!({}), &["skills_listed - - - ok call"]);
    check("search_skills", json!({"query": "alpha"}), &["skills_searched - - - ok call"]);
    check("unload_skill", json!({"name": "alpha"}), &["skill_unloaded alpha - - ok call"]);
    // Without a runner the two that run something are not offered; their calls are of unknown tools.
    for tool in ["call_skill_tool", "run_skill_script"] {
        check(tool, json!({"skill": "alpha"}), &["tool_called - - - denied call"]);
    }
    // The same without a store for proposals; with one, `proposals.rs` has their rows.
    for tool in ["propose_skill", "propose_skill_update", "review_skill_proposals"] {
        check(tool, json!({"name": "alpha"}), &["tool_called - - - not_found call"]);
    }
    let tools: BTreeSet<&str> = BUILTINS.iter().map(|tool| tool.canonical).collect();
    assert_eq!(listed, tools, "every tool of the table has its rows here");
}

#[test]
fn every_way_of_a_session_has_an_event_with_all_its_fields() {
    let library = skills();
    let options = SessionOptions {
        surface: Surface::Session,
        loading: LoadOptions { requires: Requires::AutoLoad, ..LoadOptions::default() },
        ..SessionOptions::default()
    };
    let agent = Agent { uses_skills: vec!["bound".to_owned()], ..Agent::new("builder") };
    let opened = block_on(library.builder().session_options(options).agent(agent).open()).unwrap();
    let session = block_on(opened.open_session(&SessionRequest::of("builder"))).unwrap();
    let mut seen = library.sink.take();
    assert_eq!(seen.iter().map(row).collect::<Vec<_>>(), ["skill_loaded bound test - ok bound"]);
    block_on(session.prompt()).unwrap();
    assert_eq!(rows(&library), [""; 0], "the model has it already");

    let origin = CallOrigin { principal: Some("laptop".into()), ..CallOrigin::default() };
    let reply = block_on(session.call_from(&origin, "load_skill", &json!({"name": "top"})));
    let loaded = library.sink.take();
    assert_eq!(
        loaded.iter().map(row).collect::<Vec<_>>(),
        ["skill_loaded top test - ok call", "skill_loaded alpha test - ok required"]
    );
    assert_eq!(loaded.iter().map(|event| event.bytes).sum::<u64>(), reply.text().len() as u64);
    assert!(loaded.iter().all(|event| event.principal.as_deref() == Some("laptop")));
    seen.extend(loaded);

    block_on(session.compacted(&KeptContext::Skills(Vec::new())));
    block_on(session.reattach(10_000));
    let back = library.sink.take();
    let names: Vec<String> = back.iter().map(row).collect();
    assert!(names.contains(&"skill_loaded top test - ok reattached".to_owned()), "{names:?}");
    assert!(names.contains(&"skill_loaded alpha test - ok reattached".to_owned()), "{names:?}");
    seen.extend(back);

    let resolver = RoleResolver::new(opened.registry().clone(), Vec::new(), RoleOptions::default());
    session.record().prompt_shown(&block_on(resolver.resolve("alpha")).unwrap().bound);
    let role = library.sink.take();
    assert_eq!(role.iter().map(row).collect::<Vec<_>>(), ["skill_loaded alpha test - ok role"]);
    seen.extend(role);

    for event in &seen {
        assert_eq!((event.surface, event.agent.as_deref()), (Surface::Session, Some("builder")));
        assert_eq!(event.session, session.id());
        assert!(event.digest.is_some() && event.tokens > 0 && event.bytes > 0, "{event:?}");
        let directory =
            library.directory.path().join(event.skill.as_deref().unwrap()).canonicalize().unwrap();
        assert_eq!(event.identity.as_deref(), directory.to_str());
    }
    // The server has the others; its tests list them.
    let servers = [Via::Prompt, Via::Resource, Via::Download];
    let ways: BTreeSet<&str> = seen.iter().map(|event| event.via.as_str()).collect();
    let expect = Via::ALL.into_iter().filter(|via| !servers.contains(via)).map(Via::as_str);
    assert_eq!(ways, expect.collect());
}

#[test]
fn a_bound_skill_has_another_event_when_its_text_changed() {
    let library = skills();
    let agent = Agent { uses_skills: vec!["bound".to_owned()], ..Agent::new("builder") };
    let opened = block_on(library.builder().agent(agent).open()).unwrap();
    let session = block_on(opened.open_session(&SessionRequest::of("builder"))).unwrap();
    block_on(session.prompt()).unwrap();
    library.skill("bound", "", "# Other\n\nDo it in another way.\n");
    block_on(session.refresh());
    block_on(session.prompt()).unwrap();
    let expect = "skill_loaded bound test - ok bound";
    assert_eq!(rows(&library), [expect, expect]);
}

#[test]
fn x104_a_changed_library_has_an_event_with_the_tokens_that_a_prompt_cache_loses() {
    let library = skills();
    let session = library.session();
    block_on(session.refresh());
    assert_eq!(rows(&library), [""; 0], "nothing changed");
    library.skill("zeta", "", "# Zeta\n");
    let whole = session.loads().price(&session.catalog().text) as u64;
    block_on(session.refresh());
    let events = library.sink.take();
    assert_eq!(events.iter().map(row).collect::<Vec<_>>(), ["catalog_changed - - - ok call"]);
    // The names in the schema of `load_skill`, which comes before the catalog, changed too.
    assert!(events[0].tokens > whole, "{}", events[0].tokens);
}

#[test]
fn a_session_that_is_not_opened_for_want_of_a_bound_skill_has_an_event() {
    let library = skills();
    let agent = Agent { uses_skills: vec!["bound".to_owned()], ..Agent::new("builder") };
    let opened = block_on(library.builder().agent(agent).open()).unwrap();
    std::fs::remove_dir_all(library.directory.path().join("bound")).unwrap();
    assert!(block_on(opened.open_session(&SessionRequest::of("builder").without_reload())).is_err());
    let events = library.sink.take();
    assert_eq!(events.iter().map(row).collect::<Vec<_>>(), ["skill_loaded bound test - error bound"]);
    assert_eq!((events[0].agent.as_deref(), events[0].error.as_deref()), (Some("builder"), Some("broken")));
}

#[test]
fn a_library_with_another_sink_shares_its_skills() {
    let library = skills();
    let opened = block_on(library.builder().open()).unwrap();
    let other = Arc::new(MemorySink::new());
    let session = block_on(opened.with_sink(other.clone()).session()).unwrap();
    load(&session, "alpha");
    assert_eq!((library.sink.take().len(), other.take().len()), (1, 1));
}
