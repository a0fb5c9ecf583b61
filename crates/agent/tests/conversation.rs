//! Conversations: skills by name, limits, compaction, sub-agents, and transcripts.

use std::sync::Mutex;

use repertoire::{BoxFuture, Inherit, Library, Tool, ToolCall, ToolReply};
use repertoire_agent::{
    Agent, AgentError, AgentOptions, Block, Cancellation, Header, Message, ModelApi, Progress, Role,
    TurnEnding,
};
use serde_json::{Value, json};

use crate::support::{Script, calls, library, says, session, write_skill};

fn names(agent: &Agent) -> Vec<String> {
    agent.session().context().loaded().iter().map(ToString::to_string).collect()
}

fn run(agent: &mut Agent, task: &str) -> Result<repertoire_agent::TurnOutcome, AgentError> {
    pollster::block_on(agent.run(task, &|_| {}))
}

#[test]
fn a_person_loads_a_skill_by_its_name() {
    let (client, requests) = Script::new(|_, _| says("Done."));
    let mut agent = Agent::new(client, session(), AgentOptions::new("m"));
    run(&mut agent, "/greet our guests, and $count them").unwrap();
    assert_eq!(names(&agent), ["count", "greet"]);
    let messages = requests.lock().unwrap()[0]["messages"].clone();
    assert_eq!(messages[0]["content"][0]["text"], "/greet our guests, and $count them");
    assert_eq!(messages[1]["content"][0]["input"], json!({"name": "greet"}));
    assert!(messages[2]["content"][0]["content"].as_str().unwrap().contains("Be warm."));
    assert!(messages[2]["content"][1]["content"].as_str().unwrap().contains("Count twice."));
}

#[test]
fn a_task_ends_at_the_limit_of_requests_and_of_tokens() {
    let endless = || Script::new(|number, _| calls(number, "list_skills", json!({}))).0;
    let mut options = AgentOptions::new("m");
    options.limits.requests = 3;
    let mut agent = Agent::new(endless(), session(), options.clone());
    let outcome = run(&mut agent, "Go on.").unwrap();
    assert_eq!((outcome.ending, outcome.usage.requests), (TurnEnding::RequestLimit, 3));
    options.limits.tokens = Some(1);
    let mut agent = Agent::new(endless(), session(), options);
    let outcome = run(&mut agent, "Go on.").unwrap();
    assert_eq!((outcome.ending, outcome.usage.requests), (TurnEnding::TokenLimit, 1));
    // The conversation can go on.
    assert_eq!(agent.messages().len(), 3);
}

#[test]
fn a_compaction_keeps_the_task_and_the_skills_and_renews_the_catalog() {
    let directory = tempfile::tempdir().unwrap();
    write_skill(directory.path(), "greet", "Be warm.");
    let library = pollster::block_on(Library::builder().directory(directory.path()).open()).unwrap();
    let session = pollster::block_on(library.session()).unwrap();
    let (client, requests) = Script::new(|number, request| {
        let asks_for_summary = request.messages.last().unwrap().text().contains("Write that summary now");
        match number {
            0 => calls(0, "load_skill", json!({"name": "greet"})),
            _ if asks_for_summary => says("The user was greeted."),
            _ => says("Done."),
        }
    });
    let mut options = AgentOptions::new("m");
    options.compact_at = 1;
    let mut agent = Agent::new(client, session, options);
    write_skill(directory.path(), "later", "Be late.");
    pollster::block_on(library.reload());
    let compactions = Mutex::new(0);
    let outcome = pollster::block_on(agent.run("Greet me.", &|progress| {
        if let Progress::Compaction { messages } = progress {
            assert_eq!(messages, 3);
            *compactions.lock().unwrap() += 1;
        }
    }));
    assert_eq!(outcome.unwrap().text, "Done.");
    assert_eq!(*compactions.lock().unwrap(), 1);
    assert_eq!(names(&agent), ["greet"], "its instructions were put back");
    let requests = requests.lock().unwrap();
    let last = requests.last().unwrap();
    let text = last["messages"].to_string();
    for part in ["The user was greeted.", "Be warm.", "Greet me."] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    // The request for the summary has the prefix of the one before; the catalog is renewed after it, and not
    // earlier.
    assert_eq!(requests[0]["system"], requests[1]["system"]);
    assert_eq!(requests[0]["tools"], requests[1]["tools"]);
    assert!(!requests[1]["system"].to_string().contains("later"));
    assert!(last["system"].to_string().contains("later"));
}

#[test]
fn changes_of_the_library_are_appended_to_the_next_task() {
    let directory = tempfile::tempdir().unwrap();
    write_skill(directory.path(), "greet", "Be warm.");
    let library = pollster::block_on(Library::builder().directory(directory.path()).open()).unwrap();
    let (client, requests) = Script::new(|_, _| says("Done."));
    let session = pollster::block_on(library.session()).unwrap();
    let mut agent = Agent::new(client, session, AgentOptions::new("m"));
    run(&mut agent, "One.").unwrap();
    write_skill(directory.path(), "later", "Be late.");
    pollster::block_on(library.reload());
    run(&mut agent, "Two.").unwrap();
    let requests = requests.lock().unwrap();
    assert_eq!(requests[0]["system"], requests[1]["system"]);
    assert_eq!(requests[0]["tools"], requests[1]["tools"]);
    let content = &requests[1]["messages"][2]["content"];
    assert!(content[0]["text"].as_str().unwrap().contains("later"));
    assert_eq!(content[1]["text"], "Two.");
}

#[test]
fn a_transcript_is_resumed_with_its_loaded_skills() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jsonl");
    let library = library();
    let open = || pollster::block_on(library.session()).unwrap();
    let (client, before) = Script::new(|number, _| match number {
        0 => calls(0, "load_skill", json!({"name": "greet"})),
        _ => says("Welcome!"),
    });
    let mut agent = Agent::new(client, open(), AgentOptions::new("m"));
    agent.save(&path, &Header::new("a", ModelApi::Anthropic, "m", None)).unwrap();
    run(&mut agent, "Hello!").unwrap();
    let usage = agent.usage();
    drop(agent);

    let (client, after) = Script::new(|_, _| says("Again: welcome!"));
    let mut agent = Agent::new(client, open(), AgentOptions::new("m"));
    agent.resume(&path).unwrap();
    assert_eq!(names(&agent), ["greet"]);
    assert_eq!(agent.usage(), usage);
    run(&mut agent, "Hello again!").unwrap();
    let (before, after) = (before.lock().unwrap(), after.lock().unwrap());
    let (last, next) = (before.last().unwrap(), &after[0]);
    assert_eq!((&last["tools"], &last["system"]), (&next["tools"], &next["system"]));
    assert!(extends(&messages(last), &messages(next)));
}

#[test]
fn calls_that_a_crash_left_unanswered_are_answered_with_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jsonl");
    let (client, _) = Script::new(|_, _| says(""));
    let mut agent = Agent::new(client, session(), AgentOptions::new("m"));
    agent.save(&path, &Header::new("a", ModelApi::Anthropic, "m", None)).unwrap();
    drop(agent);
    let lines = [Message::user("Hello!"), calls(1, "load_skill", json!({"name": "greet"}))];
    let lines: String =
        lines.iter().map(|message| format!("{}\n", json!({"type": "message", "message": message}))).collect();
    let text = std::fs::read_to_string(&path).unwrap() + &lines;
    std::fs::write(&path, text).unwrap();
    let (client, requests) = Script::new(|_, _| says("Welcome!"));
    let mut agent = Agent::new(client, session(), AgentOptions::new("m"));
    agent.resume(&path).unwrap();
    assert!(names(&agent).is_empty());
    pollster::block_on(agent.go_on(&|_| {})).unwrap();
    let result = requests.lock().unwrap()[0]["messages"][2]["content"][0].clone();
    assert_eq!((&result["tool_use_id"], &result["is_error"]), (&json!("call_1"), &json!(true)));
}

#[test]
fn a_subagent_has_a_session_of_its_own_and_returns_its_result() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jsonl");
    let (client, requests) = Script::new(|number, _| match number {
        0 => calls(0, "run_subagent", json!({"task": "Count the guests."})),
        1 => says("There are 7 guests."),
        _ => says("Seven."),
    });
    let mut options = AgentOptions::new("m");
    options.subagents = true;
    let mut agent = Agent::new(client, session(), options);
    agent.save(&path, &Header::new("a", ModelApi::Anthropic, "m", None)).unwrap();
    let outcome = run(&mut agent, "How many guests are there?").unwrap();
    assert_eq!((outcome.text.as_str(), outcome.usage.requests), ("Seven.", 3));
    let requests = requests.lock().unwrap();
    assert_eq!(requests[1]["messages"].as_array().unwrap().len(), 1, "it knows its task alone");
    assert_eq!(requests[1]["tools"], Value::Null, "it inherits no skills, and starts no agents");
    assert_eq!(requests[2]["messages"][2]["content"][0]["content"], "There are 7 guests.");
    assert_eq!(
        (&requests[0]["tools"], &requests[0]["system"]),
        (&requests[2]["tools"], &requests[2]["system"])
    );
    assert!(directory.path().join("a.1.jsonl").is_file());
}

#[test]
fn a_subagent_without_a_task_and_one_that_is_unknown_are_answers() {
    let (client, requests) = Script::new(|number, _| match number {
        0 => calls(0, "run_subagent", json!({})),
        1 => calls(1, "run_subagent", json!({"task": "x", "agent": "nobody"})),
        _ => says("I give up."),
    });
    let mut options = AgentOptions::new("m");
    options.subagents = true;
    run(&mut Agent::new(client, session(), options), "Go.").unwrap();
    let requests = requests.lock().unwrap();
    let last = &requests.last().unwrap()["messages"];
    assert_eq!(last[2]["content"][0]["content"], "Error: run_subagent needs `task`, a text.");
    assert!(last[4]["content"][0]["content"].as_str().unwrap().contains("nobody"));
}

/// A tool of the host that never ends.
struct Endless(Cancellation);

impl Tool for Endless {
    fn name(&self) -> &str {
        "wait"
    }

    fn description(&self) -> String {
        "Waits.".to_owned()
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn call<'a>(&'a self, _call: ToolCall<'a>) -> BoxFuture<'a, ToolReply> {
        self.0.cancel();
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_cancelled_call_leaves_a_conversation_that_can_go_on() {
    let cancellation = Cancellation::new();
    let tool = Endless(cancellation.clone());
    let library = pollster::block_on(Library::builder().tool(tool).open()).unwrap();
    let session = pollster::block_on(library.session()).unwrap();
    let (client, requests) = Script::new(|number, _| match number {
        0 => calls(0, "wait", json!({})),
        _ => says("Stopped."),
    });
    let mut agent = Agent::new(client, session, AgentOptions::new("m"));
    agent.set_cancellation(cancellation);
    assert!(matches!(run(&mut agent, "Wait."), Err(AgentError::Cancelled)));
    agent.set_cancellation(Cancellation::new());
    assert_eq!(run(&mut agent, "Stop.").unwrap().text, "Stopped.");
    let requests = requests.lock().unwrap();
    let messages = &requests[1]["messages"];
    assert_eq!(messages[2]["content"][0]["is_error"], true);
    assert_eq!(messages[3]["content"][0]["text"], "Stop.");
}

#[test]
fn a_subagent_without_an_answer_is_said_to_have_none() {
    let (client, requests) = Script::new(|number, _| match number {
        0 => calls(0, "run_subagent", json!({"task": "Count."})),
        1 => Message { role: Role::Assistant, content: Vec::new() },
        _ => says("Done."),
    });
    let mut options = AgentOptions::new("m");
    options.subagents = true;
    let mut agent = Agent::new(client, session(), options);
    run(&mut agent, "Go.").unwrap();
    let requests = requests.lock().unwrap();
    let result = &requests.last().unwrap()["messages"][2]["content"][0]["content"];
    assert_eq!(result, "Error: the sub-agent failed: the model answered without content");
}

#[test]
fn a_skill_that_is_named_first_and_is_not_there_is_reported() {
    let check = |task: &str, expect: Option<(&str, Option<&str>)>| {
        let (client, _) = Script::new(|_, _| says("Done."));
        let mut agent = Agent::new(client, session(), AgentOptions::new("m"));
        let seen = Mutex::new(None);
        let outcome = pollster::block_on(agent.run(task, &|progress| {
            if let Progress::UnknownSkill { name, nearest } = progress {
                *seen.lock().unwrap() = Some((name.to_owned(), nearest.map(str::to_owned)));
            }
        }));
        assert_eq!(outcome.unwrap().text, "Done.", "the task goes on");
        let seen = seen.lock().unwrap();
        let seen = seen.as_ref().map(|(name, nearest)| (name.as_str(), nearest.as_deref()));
        assert_eq!(seen, expect, "{task}");
    };
    check("/nosuch do it", Some(("nosuch", None)));
    check("/gret, do it", Some(("gret", Some("greet"))));
    check("/greet do it", None);
    check("/usr/bin/gret is gone", None);
    check("say /gret", None);
}

#[test]
fn a_subagent_does_not_load_what_is_kept_for_people() {
    let deploy = "---\nname: deploy\ndescription: Deploys. Use when asked to.\ndisable-model-invocation: true\n---\nPush it.\n";
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("deploy")).unwrap();
    std::fs::write(directory.path().join("deploy/SKILL.md"), deploy).unwrap();
    write_skill(directory.path(), "greet", "Be warm.");
    let builder = Library::builder().directory(directory.path()).inherit(Inherit::Catalog);
    let library = pollster::block_on(builder.open()).unwrap();
    let (client, requests) = Script::new(|number, _| match number {
        0 => calls(0, "run_subagent", json!({"task": "/deploy it"})),
        _ => says("Done."),
    });
    let mut options = AgentOptions::new("m");
    options.subagents = true;
    let session = pollster::block_on(library.session()).unwrap();
    run(&mut Agent::new(client, session, options), "Go.").unwrap();
    let requests = requests.lock().unwrap();
    assert_eq!(requests[1]["messages"].as_array().unwrap().len(), 1);
    assert!(!requests[1].to_string().contains("Push it."));
}

#[test]
fn a_resumed_conversation_starts_more_subagents_and_knows_what_a_person_invoked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jsonl");
    let mut options = AgentOptions::new("m");
    options.subagents = true;
    for _ in 0..2 {
        let (client, _) = Script::new(|number, request| match request.messages[0].text().as_str() {
            "Count." => says("Seven."),
            _ if number == 0 => calls(0, "run_subagent", json!({"task": "Count."})),
            _ => says("Done."),
        });
        let mut agent = Agent::new(client, session(), options.clone());
        if path.is_file() {
            agent.resume(&path).unwrap();
            let greet = agent.session().lookup().invocable("greet").unwrap();
            assert!(agent.session().lookup().is_invoked(&greet));
            assert!(agent.resume(&path).unwrap_err().to_string().ends_with("another program is using it"));
        } else {
            agent.save(&path, &Header::new("a", ModelApi::Anthropic, "m", None)).unwrap();
        }
        run(&mut agent, "/greet Go.").unwrap();
    }
    assert!(directory.path().join("a.1.jsonl").is_file() && directory.path().join("a.2.jsonl").is_file());
}

#[test]
fn answers_that_services_refuse_are_not_sent_back() {
    let (client, requests) = Script::new(|number, _| match number {
        0 => Message { role: Role::Assistant, content: vec![Block::text(" \n")] },
        1 => calls(1, "functions.load skill", Value::String("{oops".to_owned())),
        _ => says("Done."),
    });
    let mut agent = Agent::new(client, session(), AgentOptions::new("m"));
    run(&mut agent, "One.").unwrap_err();
    run(&mut agent, "Two.").unwrap();
    let last = requests.lock().unwrap().last().unwrap()["messages"].clone();
    let roles: Vec<&str> =
        last.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "user", "assistant", "user"], "the blank answer is left out");
    assert_eq!(last[2]["content"][0]["name"], "functions_load_skill");
    assert_eq!(last[2]["content"][0]["input"], json!({}));
}

#[test]
fn a_second_compaction_repeats_the_task_once() {
    let (client, requests) = Script::new(|_, request| {
        let is_asked = request.messages.last().unwrap().text().contains("Write that summary now");
        says(if is_asked { "A summary." } else { "Done." })
    });
    let mut agent = Agent::new(client, session(), AgentOptions::new("m"));
    run(&mut agent, "Greet me.").unwrap();
    pollster::block_on(agent.compact(&|_| {})).unwrap();
    pollster::block_on(agent.compact(&|_| {})).unwrap();
    pollster::block_on(agent.go_on(&|_| {})).unwrap();
    let text = requests.lock().unwrap().last().unwrap()["messages"].to_string();
    assert_eq!(text.matches("The user's last message was:").count(), 1, "{text}");
    assert!(text.contains("Greet me."));
}

#[test]
fn a_model_that_repeats_its_call_has_to_answer() {
    let (client, requests) = Script::new(|number, request| {
        if request.without_calls {
            says("Welcome!")
        } else {
            calls(number, "load_skill", json!({"name": "greet"}))
        }
    });
    let mut agent = Agent::new(client, session(), AgentOptions::new("m"));
    assert_eq!(run(&mut agent, "Hello!").unwrap().text, "Welcome!");
    let requests = requests.lock().unwrap();
    let choices: Vec<&Value> = requests.iter().map(|request| &request["tool_choice"]).collect();
    assert_eq!(choices, [&Value::Null, &Value::Null, &json!({"type": "none"})]);
}

/// Returns the messages of a request without the markers of the cache.
pub(crate) fn messages(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter();
    messages
        .map(|message| message.to_string().replace(",\"cache_control\":{\"type\":\"ephemeral\"}", ""))
        .collect()
}

/// Returns whether `longer` starts with everything in `shorter`.
pub(crate) fn extends(shorter: &[String], longer: &[String]) -> bool {
    longer.starts_with(shorter)
}
