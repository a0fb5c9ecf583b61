//! Exchanges in the three wire formats: what is sent, byte for byte, and what is understood of the answers.

use std::sync::Mutex;

use repertoire_agent::{
    Agent, AgentOptions, ModelApi, ModelClient, ModelClientOptions, Progress, TurnEnding,
};
use serde_json::json;

use crate::support::{Answer, Server, anthropic, chat, responses, session};

fn agent(provider: ModelApi, server: &Server) -> Agent {
    let mut http = ModelClientOptions::default();
    let version = if provider == ModelApi::Anthropic { "" } else { "/v1" };
    http.base_url = Some(format!("{}{version}", server.url));
    http.key = Some("secret".to_owned());
    Agent::new(ModelClient::new(provider, http), session(), AgentOptions::new("model-1"))
}

/// Runs a task in which the model loads a skill and then answers, and returns the requests as they were sent.
fn converse(provider: ModelApi, answers: Vec<Answer>) -> (Agent, String) {
    let server = Server::start(answers);
    let mut agent = agent(provider, &server);
    let seen = Mutex::new(String::new());
    let outcome = pollster::block_on(agent.run("Hello!", &|progress| match progress {
        Progress::Text(text) => seen.lock().unwrap().push_str(text),
        Progress::Call { name, input } => seen.lock().unwrap().push_str(&format!("[{name} {input}]")),
        _ => {}
    }))
    .unwrap();
    assert_eq!((outcome.ending, outcome.text.as_str()), (TurnEnding::Done, "Welcome!"));
    assert_eq!(*seen.lock().unwrap(), "One moment.[load_skill {\"name\":\"greet\"}]Welcome!");
    assert_eq!(
        agent.session().context().loaded().iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["greet"]
    );
    let requests = server.received();
    let text = requests.iter().map(|request| {
        let headers = request.headers.iter().filter(|line| {
            ["content-type", "accept:", "x-api-key", "authorization", "anthropic"]
                .iter()
                .any(|key| line.starts_with(key))
        });
        let headers: Vec<&str> = headers.map(String::as_str).collect();
        format!("{}\n{}\n\n{}\n", request.line, headers.join("\n"), request.body)
    });
    let text: Vec<String> = text.collect();
    // The second request extends the first one, but for the markers of the cache.
    let [first, second] = [&requests[0], &requests[1]]
        .map(|request| request.body.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", ""));
    let shared = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    assert!(first[shared..].len() < 130, "the requests differ from here on: {}", &first[shared..]);
    (agent, text.join("\n"))
}

#[test]
fn anthropic_messages() {
    let load = ("toolu_1", "load_skill", json!({"name": "greet"}));
    let (agent, requests) = converse(
        ModelApi::Anthropic,
        vec![
            anthropic("One moment.", &[load], json!({"input_tokens": 3, "cache_creation_input_tokens": 900})),
            anthropic(
                "Welcome!",
                &[],
                json!({"input_tokens": 4, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 50}),
            ),
        ],
    );
    insta::assert_snapshot!(requests);
    let usage = agent.usage();
    assert_eq!(
        (usage.requests, usage.input, usage.cache_read, usage.cache_write, usage.output),
        (2, 7, 900, 950, 14)
    );
}

#[test]
fn openai_chat_completions() {
    let load = ("call_1", "load_skill", json!({"name": "greet"}));
    let (agent, requests) =
        converse(ModelApi::OpenAi, vec![chat("One moment.", &[load]), chat("Welcome!", &[])]);
    insta::assert_snapshot!(requests);
    let usage = agent.usage();
    assert_eq!(
        (usage.requests, usage.input, usage.cache_read, usage.cache_write, usage.output),
        (2, 80, 120, 0, 14)
    );
}

#[test]
fn openai_responses() {
    let load = ("call_1", "load_skill", json!({"name": "greet"}));
    let (_, requests) = converse(
        ModelApi::OpenAiResponses,
        vec![responses("One moment.", &[load]), responses("Welcome!", &[])],
    );
    insta::assert_snapshot!(requests);
}

#[test]
fn an_answer_is_complete_although_the_service_keeps_the_stream_open() {
    let answers = [
        (ModelApi::Anthropic, anthropic("Welcome!", &[], json!({}))),
        (ModelApi::OpenAi, chat("Welcome!", &[])),
        (ModelApi::OpenAiResponses, responses("Welcome!", &[])),
    ];
    for (provider, answer) in answers {
        let Answer::Events(events) = answer else { panic!("{answer:?}") };
        let server = Server::start(vec![Answer::Open(events)]);
        // The time limit is ten minutes.
        let outcome = pollster::block_on(agent(provider, &server).run("Hello!", &|_| {})).unwrap();
        assert_eq!(outcome.text, "Welcome!");
    }
}
