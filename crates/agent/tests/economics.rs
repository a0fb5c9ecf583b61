//! The cost of a library's skills in every way of putting them before a model.

use std::path::Path;

use repertoire::{Library, SessionOptions};
use repertoire_agent::Prices;
use repertoire_agent::economics::{
    CacheRules, Comparison, Disclosure, Script, ScriptedConversation, WholeLibrary, compare,
};
use repertoire_model::tokens::Tokenizer;
use serde_json::json;

use crate::support::write_skill;

const TOOLS: &str = r#"[{"name": "NAME_run", "description": "Runs NAME.", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}]"#;

/// Writes ten skills, each with a file and a tool.
fn write_skills(directory: &Path) {
    for name in ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay"] {
        write_skill(directory, name, &format!("# {name}\n\n{}", "Do it with care.\n".repeat(200)));
        std::fs::write(directory.join(name).join("schema.json"), TOOLS.replace("NAME", name)).unwrap();
        std::fs::write(directory.join(name).join("notes.md"), "Some notes.\n").unwrap();
    }
}

fn open(directory: &Path, disclosure: Disclosure) -> Library {
    let options = disclosure.options(&SessionOptions::default());
    let builder = Library::builder().directory(directory).session_options(options);
    pollster::block_on(builder.open()).unwrap()
}

fn compared(model: &str, turns: u32) -> Comparison {
    let directory = tempfile::tempdir().unwrap();
    write_skills(directory.path());
    let libraries = Disclosure::ALL.map(|way| (way, open(directory.path(), way)));
    pollster::block_on(async {
        let whole = WholeLibrary::load(&libraries[0].1).await.unwrap();
        assert_eq!(whole.names().count(), 10);
        let script = Script::of_turns(turns).unwrap();
        let script = whole.usual_script(script, Tokenizer::O200kBase).await;
        let prices = Prices::of(model).unwrap();
        compare(&libraries, &whole, &script, &prices, Tokenizer::O200kBase).await.unwrap()
    })
}

#[test]
fn h16_h17_loading_on_demand_costs_less_than_everything_upfront() {
    for model in ["claude-sonnet-5", "gpt-5"] {
        let comparison = compared(model, 30);
        let outlay = |way| comparison.outlays.iter().find(|outlay| outlay.disclosure == way).unwrap();
        let [upfront, marked, stable, append, dynamic] = Disclosure::ALL.map(outlay);
        for outlay in &comparison.outlays {
            assert_eq!(outlay.measurement.failure, None, "{outlay:?}");
        }
        // One request for each turn, and one more for each call: three loads, one unload, one file.
        assert_eq!(stable.measurement.usage.requests, 35);
        assert_eq!(upfront.measurement.usage.requests, 31);
        assert!(upfront.measurement.prefix_tokens > 3 * stable.measurement.prefix_tokens);
        assert!(stable.cost < upfront.cost, "{model}: {} {}", stable.cost, upfront.cost);
        assert!(stable.cost < dynamic.cost && append.cost < dynamic.cost, "{model}");
        assert!(stable.cost < marked.cost, "{model}: {} {}", stable.cost, marked.cost);
        // Every load and unload changes what stands first in a request.
        let changes = [upfront, marked, stable, append, dynamic].map(|o| o.measurement.prefix_changes);
        assert_eq!(changes, [0, 4, 0, 3, 4]);
    }
}

#[test]
fn binding_a_skill_pays_only_if_nearly_every_session_uses_it() {
    let break_even = compared("claude-sonnet-5", 30).break_even.unwrap();
    assert!(break_even.without < break_even.bound && break_even.bound < break_even.loaded, "{break_even:?}");
    let sessions = break_even.sessions_of_100().unwrap();
    assert!((50.0..100.0).contains(&sessions), "{sessions}");
}

#[test]
fn x92_loading_unloading_editing_and_reloading_leave_tools_and_system_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    write_skills(directory.path());
    let library = open(directory.path(), Disclosure::Stable);
    let session = pollster::block_on(library.session()).unwrap();
    let rules = CacheRules::Breakpoints { minimum: 1024 };
    let mut conversation = ScriptedConversation::new(session, rules, Tokenizer::O200kBase);
    let load = |name: &str| ("load_skill".to_owned(), json!({"name": name}));
    let unload = |name: &str| ("unload_skill".to_owned(), json!({"name": name}));
    let mut read = 0;
    for calls in [
        vec![load("ant"), load("bee")],
        vec![unload("ant"), load("ant")],
        // Edited, and loaded again.
        vec![load("bee")],
        // Added.
        vec![load("new")],
    ] {
        pollster::block_on(conversation.turn("Go on.", &calls, "Done.")).unwrap();
        let measurement = conversation.measurement();
        assert_eq!((measurement.prefix_changes, &measurement.failure), (0, &None));
        assert!(measurement.usage.cache_read >= read + measurement.prefix_tokens * calls.len() as u64);
        read = measurement.usage.cache_read;
        write_skill(directory.path(), "bee", "Other instructions.");
        write_skill(directory.path(), "new", "New instructions.");
        pollster::block_on(library.reload());
    }
}
