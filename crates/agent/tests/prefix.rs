//! Random conversations: the cached prefix of each request extends that of the one before, except where the
//! catalog is refreshed.

use std::path::Path;

use proptest::prelude::*;
use repertoire::Library;
use repertoire_agent::{Agent, AgentOptions, Message};
use serde_json::{Value, json};

use crate::conversation::{extends, messages};
use crate::support::{Script, calls, says, write_skill};

/// A step of a conversation.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The model loads a skill.
    Load(u8),
    /// The model unloads a skill.
    Unload(u8),
    /// The model starts a sub-agent.
    Subagent,
    /// A person edits a skill, or adds it.
    Edit(u8),
    /// A person removes a skill.
    Remove(u8),
    /// The library is read again.
    Reload,
    /// The conversation is compacted.
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6u8).prop_map(Step::Load),
        2 => (0..6u8).prop_map(Step::Unload),
        1 => Just(Step::Subagent),
        2 => (0..6u8).prop_map(Step::Edit),
        1 => (0..6u8).prop_map(Step::Remove),
        2 => Just(Step::Reload),
        1 => Just(Step::Compact),
    ]
}

fn name(number: u8) -> String {
    format!("skill-{number}")
}

/// Applies a step of a person.
fn apply(step: Step, directory: &Path, library: &Library, edits: &mut u32) {
    *edits += 1;
    match step {
        Step::Edit(number) => write_skill(directory, &name(number), &format!("Version {edits}.")),
        Step::Remove(number) => {
            // It may be gone already.
            let _ = std::fs::remove_dir_all(directory.join(name(number)));
        }
        Step::Reload => {
            pollster::block_on(library.reload());
        }
        _ => {}
    }
}

/// Returns what the model answers when it is asked to do `step`.
fn answer(step: Step, number: usize) -> Message {
    match step {
        Step::Load(skill) => calls(number, "load_skill", json!({"name": name(skill)})),
        Step::Unload(skill) => calls(number, "unload_skill", json!({"name": name(skill)})),
        Step::Subagent => calls(number, "run_subagent", json!({"task": "Say done."})),
        _ => says("Done."),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn x92_requests_only_extend(steps in prop::collection::vec(step(), 1..24)) {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..4 {
            write_skill(directory.path(), &name(number), "Version 0.");
        }
        let library = pollster::block_on(Library::builder().directory(directory.path()).open()).unwrap();
        let session = pollster::block_on(library.session()).unwrap();
        let wanted = std::sync::Arc::new(std::sync::Mutex::new(None));
        let script = std::sync::Arc::clone(&wanted);
        let (client, requests) = Script::new(move |number, request| {
            let last = request.messages.last().unwrap().text();
            if last.contains("Write that summary now") {
                return says("A summary.");
            }
            match script.lock().unwrap().take() {
                Some(step) => answer(step, number),
                None => says("Done."),
            }
        });
        let mut options = AgentOptions::new("m");
        options.subagents = true;
        let mut agent = Agent::new(client, session, options);
        let (mut edits, mut before): (u32, Option<Value>) = (0, None);
        for step in steps {
            apply(step, directory.path(), &library, &mut edits);
            let mut is_refreshed = false;
            if let Step::Compact = step {
                pollster::block_on(agent.compact(&|_| {})).unwrap();
                is_refreshed = true;
            }
            *wanted.lock().unwrap() = Some(step);
            let start = requests.lock().unwrap().len();
            pollster::block_on(agent.run("Next.", &|_| {})).unwrap();
            // Requests of sub-agents are conversations of their own, with one message at first.
            let own: Vec<Value> = requests.lock().unwrap()[start..]
                .iter()
                .filter(|request| request["messages"][0]["content"][0]["text"] != "Say done.")
                .cloned()
                .collect();
            for request in own {
                if let Some(before) = before.as_ref().filter(|_| !is_refreshed) {
                    prop_assert_eq!(&before["tools"], &request["tools"]);
                    prop_assert_eq!(&before["system"], &request["system"]);
                    prop_assert!(extends(&messages(before), &messages(&request)));
                }
                is_refreshed = false;
                before = Some(request);
            }
        }
    }
}
