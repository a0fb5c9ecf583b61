//! Services that fail: what is tried again, what is told, and that the conversation is kept.

use std::sync::Mutex;
use std::time::Duration;

use repertoire_agent::{
    Agent, AgentError, AgentOptions, Cancellation, ClientErrorKind, ModelApi, ModelClient,
    ModelClientOptions, Progress,
};
use serde_json::json;

use crate::support::{Answer, Server, anthropic, chat, session};

fn agent(url: &str, timeout: Duration) -> Agent {
    let mut http = ModelClientOptions::default();
    http.base_url = Some(url.to_owned());
    http.first_pause = Duration::from_millis(1);
    http.timeout = timeout;
    Agent::new(ModelClient::new(ModelApi::Anthropic, http), session(), AgentOptions::new("model-1"))
}

const LONG: Duration = Duration::from_secs(60);

fn fault(server: &Server) -> (ClientErrorKind, String) {
    let error = pollster::block_on(agent(&server.url, LONG).run("Hello!", &|_| {})).unwrap_err();
    let AgentError::Client(error) = error else { panic!("{error}") };
    (error.kind(), error.to_string().replace(&server.url, "URL"))
}

fn overloaded() -> Answer {
    let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    Answer::Status(529, "retry-after: 0\r\n", body.to_string())
}

#[test]
fn overload_is_tried_again_with_the_same_bytes() {
    let server = Server::start(vec![overloaded(), overloaded(), anthropic("Hi.", &[], json!({}))]);
    let retries = Mutex::new(0);
    let outcome = pollster::block_on(agent(&server.url, LONG).run("Hello!", &|progress| {
        if let Progress::Retry { .. } = progress {
            *retries.lock().unwrap() += 1;
        }
    }));
    assert_eq!(outcome.unwrap().text, "Hi.");
    assert_eq!(*retries.lock().unwrap(), 2);
    let received = server.received();
    assert_eq!(received.len(), 3);
    assert!(received.iter().all(|request| request.body == received[0].body));
}

#[test]
fn an_overload_that_lasts_is_an_error() {
    let server = Server::start((0..5).map(|_| overloaded()).collect());
    assert_eq!(fault(&server).0, ClientErrorKind::Overloaded);
    assert_eq!(server.received().len(), 5);
}

#[test]
fn a_bad_key_and_a_wrong_model_are_told_at_once() {
    let body =
        json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    let server = Server::start(vec![Answer::Status(401, "", body.to_string())]);
    let (kind, message) = fault(&server);
    assert_eq!(kind, ClientErrorKind::Unauthorized);
    assert_eq!(message, "URL/v1/messages answered with status 401: invalid x-api-key");
    let server = Server::start(vec![Answer::Status(404, "", "no such model".to_owned())]);
    let (kind, message) = fault(&server);
    assert_eq!(kind, ClientErrorKind::NotFound);
    assert_eq!(message, "URL/v1/messages answered with status 404: no such model");
}

#[test]
fn an_account_without_money_is_told_at_once() {
    let body = json!({"error": {"message": "You exceeded your quota", "type": "insufficient_quota"}});
    let server = Server::start(vec![Answer::Status(429, "", body.to_string())]);
    let expect = "URL/v1/messages answered with status 429: You exceeded your quota";
    assert_eq!(fault(&server), (ClientErrorKind::Rejected, expect.to_owned()));
}

#[test]
fn a_server_that_repeats_the_key_does_not_make_us_show_it() {
    let server = Server::start(vec![Answer::Status(401, "", "bad key sk-secret-1".to_owned())]);
    let mut http = ModelClientOptions::default();
    (http.base_url, http.key) = (Some(server.url.clone()), Some("sk-secret-1".to_owned()));
    let mut agent = Agent::new(ModelClient::new(ModelApi::OpenAi, http), session(), AgentOptions::new("m"));
    let error = pollster::block_on(agent.run("Hello!", &|_| {})).unwrap_err().to_string();
    assert!(error.ends_with("bad key [key]"), "{error}");
}

#[test]
fn a_redirect_does_not_get_the_key() {
    let elsewhere = Server::start(vec![anthropic("Hi.", &[], json!({}))]);
    let header: &'static str =
        Box::leak(format!("location: {}/v1/messages\r\n", elsewhere.url).into_boxed_str());
    let server = Server::start(vec![Answer::Status(307, header, String::new())]);
    assert_eq!(fault(&server).0, ClientErrorKind::Rejected);
    assert!(elsewhere.received().is_empty());
}

#[test]
fn a_stream_that_is_cut_before_any_text_is_tried_again() {
    let server = Server::start(vec![Answer::Cut(vec![]), anthropic("Hi.", &[], json!({}))]);
    assert_eq!(pollster::block_on(agent(&server.url, LONG).run("Hello!", &|_| {})).unwrap().text, "Hi.");
}

#[test]
fn a_stream_that_is_cut_later_is_an_error_and_the_conversation_goes_on() {
    let Answer::Events(mut events) = anthropic("Welcome to this place.", &[], json!({})) else {
        unreachable!()
    };
    events.truncate(3);
    let server = Server::start(vec![Answer::Cut(events), anthropic("Hi.", &[], json!({}))]);
    let mut agent = agent(&server.url, LONG);
    let error = pollster::block_on(agent.run("Hello!", &|_| {})).unwrap_err();
    let message = error.to_string().replace(&server.url, "URL");
    assert_eq!(
        message,
        "the answer of URL/v1/messages was cut off after 11 characters: the connection was closed"
    );
    assert_eq!(agent.messages().len(), 1, "half an answer is not kept");
    assert_eq!(pollster::block_on(agent.go_on(&|_| {})).unwrap().text, "Hi.");
}

#[test]
fn an_error_in_the_stream_is_told() {
    let event =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}});
    let server = Server::start(vec![Answer::Events(vec![event.to_string()])]);
    let (kind, message) = fault(&server);
    assert_eq!(kind, ClientErrorKind::Rejected);
    assert_eq!(message, "the service ended the answer: prompt is too long (invalid_request_error)");
}

#[test]
fn answers_that_are_no_stream_are_told() {
    let server = Server::start(vec![Answer::Status(200, "content-type: text/html\r\n", "<p>".to_owned())]);
    let (kind, message) = fault(&server);
    assert_eq!(kind, ClientErrorKind::Malformed);
    assert_eq!(message, "URL/v1/messages answered with `text/html` and not with a stream of events");
    let server = Server::start(vec![Answer::Events(vec!["{oops".to_owned()])]);
    assert!(fault(&server).1.starts_with("the service sent an event that is not JSON"));
}

#[test]
fn a_service_that_is_away_is_told() {
    let error = pollster::block_on(agent("http://127.0.0.1:9", LONG).run("Hello!", &|_| {})).unwrap_err();
    assert!(error.to_string().starts_with("http://127.0.0.1:9/v1/messages cannot be reached: "), "{error}");
}

#[test]
fn silence_ends_with_the_timeout() {
    let server = Server::start((0..5).map(|_| Answer::Silence).collect());
    let error = pollster::block_on(agent(&server.url, Duration::from_millis(100)).run("Hello!", &|_| {}));
    let Err(AgentError::Client(error)) = error else { panic!("{error:?}") };
    assert_eq!(error.kind(), ClientErrorKind::Timeout);
}

#[test]
fn cancelling_ends_a_request_that_waits() {
    let server = Server::start(vec![Answer::Silence, anthropic("Hi.", &[], json!({}))]);
    let mut agent = agent(&server.url, LONG);
    let cancellation = agent.cancellation();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while server.received().is_empty() {
                std::thread::yield_now();
            }
            cancellation.cancel();
        });
        let outcome = pollster::block_on(agent.run("Hello!", &|_| {}));
        assert!(matches!(outcome, Err(AgentError::Cancelled)));
    });
    agent.set_cancellation(Cancellation::new());
    assert_eq!(pollster::block_on(agent.go_on(&|_| {})).unwrap().text, "Hi.");
}

#[test]
fn calls_without_ids_or_numbers_are_understood() {
    let calls = json!([{"function": {"name": "load_skill", "arguments": {"name": "greet"}}}]);
    let event = json!({"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]});
    let server = Server::start(vec![Answer::Events(vec![event.to_string()]), chat("Welcome!", &[])]);
    let mut http = ModelClientOptions::default();
    http.base_url = Some(server.url.clone());
    let mut agent = Agent::new(ModelClient::new(ModelApi::OpenAi, http), session(), AgentOptions::new("m"));
    assert_eq!(pollster::block_on(agent.run("Hello!", &|_| {})).unwrap().text, "Welcome!");
    assert_eq!(agent.session().context().loaded().len(), 1);
}

#[test]
fn an_answer_without_content_is_an_error_and_is_not_kept() {
    let server = Server::start(vec![anthropic("", &[], json!({})), anthropic("Hi.", &[], json!({}))]);
    let mut agent = agent(&server.url, LONG);
    let Err(AgentError::Client(error)) = pollster::block_on(agent.run("Hello!", &|_| {})) else { panic!() };
    let expect = (ClientErrorKind::Empty, "the model answered without content".to_owned());
    assert_eq!((error.kind(), error.to_string()), expect);
    assert_eq!(agent.messages().len(), 1);
    assert_eq!(pollster::block_on(agent.go_on(&|_| {})).unwrap().text, "Hi.");
}
