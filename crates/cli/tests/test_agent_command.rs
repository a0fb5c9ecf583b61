//! Tests of `rep agent` against a scripted server.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::model_server::{Answer, Server, anthropic, chat, responses};
use crate::sandbox::{Sandbox, assert_run, in_every_sandbox, sandboxes, skill};

fn library() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", "/usr/bin:/bin");
    sandbox.write(".agents/skills/greet/SKILL.md", skill("greet", "Be warm.\n"));
    sandbox
}

/// Copies the skill `csv-report` of the sample library, and writes a table.
pub(crate) fn with_csv_report(sandbox: &Sandbox) {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills/csv-report");
    for file in ["SKILL.md", "schema.json", "tools.py"] {
        let text = std::fs::read_to_string(format!("{sample}/{file}")).unwrap();
        sandbox.write(&format!(".agents/skills/csv-report/{file}"), text);
    }
    sandbox.write("data/sales.csv", "month,amount\njan,10\nfeb,30\nmar,20\n");
}

/// Returns the calls with which a model answers a question about a table.
pub(crate) fn csv_script() -> Vec<Answer> {
    let query = json!({"path": "data/sales.csv", "group_by": "month", "sum": "amount"});
    let call = json!({"skill": "csv-report", "tool": "csv_query", "arguments": query});
    vec![
        chat("", &[("c1", "load_skill", json!({"name": "csv-report"}))]),
        chat("", &[("c2", "call_skill_tool", call)]),
        chat("February sold most.", &[]),
    ]
}

fn arguments<'a>(url: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["agent", "--model", "m", "--base-url", url], rest].concat()
}

/// Returns the last message of a request.
fn last(request: &str) -> Value {
    let request: Value = serde_json::from_str(request).unwrap();
    request["messages"].as_array().unwrap().last().unwrap().clone()
}

#[test]
fn a_task_is_done_with_nothing_but_a_skill_and_its_tool() {
    in_every_sandbox(|mut sandbox| {
        sandbox.set("PATH", "/usr/bin:/bin");
        with_csv_report(&sandbox);
        sandbox.run(&["approve", "csv-report", "--yes"]);
        let server = Server::start(csv_script());
        let url = format!("{}/v1", server.url);
        let run = sandbox.run(&arguments(&url, &["Which month sold most in data/sales.csv?"]));
        assert_eq!((run.code, run.stdout.as_str()), (0, "February sold most.\n"), "{}", run.stderr);
        assert!(run.stderr.contains("-> load_skill name=\"csv-report\""), "{}", run.stderr);
        assert!(
            run.stderr.contains("3 requests, 300 tokens in (180 from the cache, 60 %), 21 out"),
            "{}",
            run.stderr
        );
        let received = server.received();
        let table = last(&received[2].body)["content"].to_string();
        assert!(table.contains("feb,1,30"), "{table}");
        // The catalog and the tools stay the same bytes.
        let prefix = |body: &str| body[..body.find("\"role\":\"user\"").unwrap()].to_owned();
        assert!(received.iter().all(|request| prefix(&request.body) == prefix(&received[0].body)));
        // What was used is on record.
        let events = sandbox.run(&["events", "--json"]).stdout;
        assert!(
            events.contains("\"surface\":\"agent\"") || events.contains("\"surface\": \"agent\""),
            "{events}"
        );
    });
}

#[test]
fn a_tool_that_is_not_approved_is_told_without_a_terminal() {
    let sandbox = library();
    with_csv_report(&sandbox);
    let server = Server::start(csv_script());
    let url = format!("{}/v1", server.url);
    let run = sandbox.run(&arguments(&url, &["Which month sold most in data/sales.csv?"]));
    assert_eq!(run.code, 0);
    assert!(last(&server.received()[2].body)["content"].to_string().contains("approve"));
}

#[test]
fn the_three_apis_are_spoken() {
    let sandbox = library();
    for (provider, answer) in [
        ("anthropic", anthropic("Hi.", &[], json!({"input_tokens": 5}))),
        ("openai", chat("Hi.", &[])),
        ("openai-responses", responses("Hi.", &[])),
    ] {
        let server = Server::start(vec![answer]);
        let run = sandbox.run(&arguments(&server.url, &["--provider", provider, "Hello!"]));
        assert_eq!((run.code, run.stdout.as_str()), (0, "Hi.\n"), "{provider}: {}", run.stderr);
    }
}

#[test]
fn a_conversation_is_resumed() {
    let sandbox = library();
    let server = Server::start(vec![
        chat("", &[("c1", "load_skill", json!({"name": "greet"}))]),
        chat("Welcome!", &[]),
        chat("", &[("c2", "load_skill", json!({"name": "greet"}))]),
        chat("Welcome again!", &[]),
    ]);
    let first = sandbox.json(&arguments(&server.url, &["Hello!", "--json"]));
    assert_eq!(
        (&first["text"], &first["ending"], &first["loaded"]),
        (&json!("Welcome!"), &json!("done"), &json!(["greet"]))
    );
    let id = first["id"].as_str().unwrap();
    let second =
        sandbox.json(&["agent", "--base-url", &server.url, "--resume", id, "Hello again!", "--json"]);
    assert_eq!(
        (&second["text"], &second["model"], &second["id"]),
        (&json!("Welcome again!"), &json!("m"), &json!(id))
    );
    assert_eq!(second["loaded"], json!(["greet"]));
    let events = sandbox.events();
    assert!(events.len() >= 2 && events.iter().all(|event| event["session"] == id), "{events:?}");
    let received = server.received();
    let messages =
        |body: &str| serde_json::from_str::<Value>(body).unwrap()["messages"].as_array().unwrap().clone();
    let (before, after) = (messages(&received[1].body), messages(&received[2].body));
    assert_eq!(before, after[..before.len()]);
    assert_run!(sandbox.run(&["agent", "--base-url", &server.url, "--resume", "nothing", "Hello!"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: there is no conversation `nothing`
    hint: conversations are saved in [DIR]/home/.local/state/repertoire/conversations
    ");
}

#[test]
fn a_conversation_goes_on_with_the_model_that_it_had_last() {
    let sandbox = library();
    let server = Server::start((0..3).map(|_| chat("Hi.", &[])).collect());
    let url = ["--base-url", server.url.as_str()];
    sandbox.run(&[&["agent", "--model", "one", "Hello!"], &url[..]].concat());
    for options in [&["--model", "two"][..], &[]] {
        let run = sandbox.run(&[&["agent", "--resume", "last", "Hello!"], &url[..], options].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let model = |body: &str| serde_json::from_str::<Value>(body).unwrap()["model"].clone();
    let models: Vec<Value> = server.received().iter().map(|request| model(&request.body)).collect();
    assert_eq!(models, ["one", "two", "two"]);
}

#[test]
fn a_skill_that_is_not_there_is_warned_about() {
    let sandbox = library();
    let server = Server::start(vec![chat("Done.", &[])]);
    let url = format!("{}/v1", server.url);
    let run = sandbox.run(&arguments(&url, &["/gret do it"]));
    assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{}", run.stderr);
    let warning = "warning: there is no skill `gret` to load; did you mean `/greet`?\n";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
}

#[test]
fn the_length_of_an_answer_can_be_limited() {
    let sandbox = library();
    let server = Server::start(vec![chat("Hi.", &[]), anthropic("Hi.", &[], json!({}))]);
    sandbox.write("../home/.config/repertoire/config.toml", "model.max_output_tokens = 50\n");
    for options in [&["--max-output-tokens", "100", "Hello!"][..], &["--provider", "anthropic", "Hello!"]] {
        let run = sandbox.run(&arguments(&server.url, options));
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let received = server.received();
    let body = |index: usize| serde_json::from_str::<Value>(&received[index].body).unwrap();
    assert_eq!((&body(0)["max_completion_tokens"], &body(1)["max_tokens"]), (&json!(100), &json!(50)));
}

#[test]
fn a_failure_keeps_the_conversation_and_a_resume_answers_it() {
    let sandbox = library();
    let refused =
        json!({"error": {"message": "Incorrect API key provided", "type": "invalid_request_error"}});
    let server = Server::start(vec![Answer::Status(401, "", refused.to_string()), chat("Hi.", &[])]);
    let run = sandbox.run(&arguments(&server.url, &["Hello!"]));
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("answered with status 401: Incorrect API key provided"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: set OPENAI_API_KEY to a key of the service"), "{}", run.stderr);
    assert!(run.stderr.contains("rep agent --resume "), "{}", run.stderr);
    let run = sandbox.run(&arguments(&server.url, &["--resume", "last"]));
    assert_eq!((run.code, run.stdout.as_str()), (0, "Hi.\n"), "{}", run.stderr);
    assert_eq!(last(&server.received()[1].body)["content"], "Hello!");
}

#[test]
fn without_a_task_messages_are_read_from_standard_input() {
    let sandbox = library();
    let server = Server::start(vec![chat("One.", &[]), chat("Two.", &[])]);
    let mut command = sandbox.command(&arguments(&server.url, &[]));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"first\n\n/greet second\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "One.\nTwo.\n");
    let messages: Value = serde_json::from_str(&server.received()[1].body).unwrap();
    let messages = messages["messages"].as_array().unwrap().clone();
    assert_eq!(messages[messages.len() - 3]["content"], "/greet second");
    assert!(messages[messages.len() - 1]["content"].as_str().unwrap().contains("Be warm."));
}

#[test]
fn what_is_missing_is_told() {
    let sandbox = library();
    assert_run!(sandbox.run(&["agent", "Hello!"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: there is no model to talk to
    hint: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or pass --base-url with the address of a local server
    ");
    assert_run!(sandbox.run(&["agent", "--base-url", "http://127.0.0.1:9", "Hello!"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: no model is named
    hint: pass --model NAME, or set `model.name` in your configuration
    ");
    assert_run!(sandbox.run(&["agent", "--base-url", "localhost", "--model", "m", "Hello!"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `localhost` is not an address of a service
    hint: give one such as `http://127.0.0.1:8080/v1`
    ");
    assert_run!(sandbox.run(&["agent", "--provider", "anthropic", "--model", "m", "Hello!"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: ANTHROPIC_API_KEY is not set
    hint: set it, or pass --base-url with the address of a local server
    ");
}

#[test]
fn a_project_cannot_send_conversations_elsewhere() {
    let sandbox = library();
    sandbox.write("repertoire.toml", "[model]\nurl = \"http://evil.example\"\n");
    let run = sandbox.run(&["agent", "--model", "m", "Hello!"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("put it in your user configuration instead"), "{}", run.stderr);
}

#[test]
fn control_characters_of_a_model_reach_programs_and_no_terminal() {
    let sandbox = library();
    let server = Server::start(vec![
        chat("\u{1b}[31mred", &[("c1", "list_skills", json!({"query": "\u{1b}]0;x\u{7}"}))]),
        chat("Done.", &[]),
    ]);
    let run = sandbox.run(&arguments(&server.url, &["Hello!"]));
    assert!(!run.stderr.contains('\u{1b}'), "{:?}", run.stderr);
    assert!(run.stdout.contains("red"));
}

#[test]
fn the_tools_of_an_mcp_server_can_be_called() {
    let sandbox = library();
    sandbox.write("other/notes/SKILL.md", skill("notes", "Write them down.\n"));
    let program = env!("CARGO_BIN_EXE_rep");
    let servers = json!({"mcpServers": {
        "other": {"command": program, "args": ["--root", "${OTHER:-other}", "serve", "--stdio"], "env": {"OPENAI_API_KEY": "x"}},
        "off": {"command": "/no/such/program", "disabled": true},
    }});
    sandbox.write("servers.json", servers.to_string());
    let server = Server::start(vec![
        chat("", &[("c1", "other_load_skill", json!({"name": "notes"}))]),
        chat("Done.", &[]),
    ]);
    let run = sandbox.run(&arguments(&server.url, &["--mcp-config", "servers.json", "Take notes."]));
    assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{}", run.stderr);
    let received = server.received();
    assert!(last(&received[1].body)["content"].to_string().contains("Write them down."));
    sandbox.write("servers.json", "{\"mcpServers\": {\"gone\": {\"command\": \"/no/such/program\"}}}");
    let run = sandbox.run(&arguments(&server.url, &["--mcp-config", "servers.json", "Take notes."]));
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("the MCP server `gone` of servers.json cannot be used"), "{}", run.stderr);
    let http = json!({"mcpServers": {"far": {"url": "http://127.0.0.1:1/mcp", "headers": {"a b": "x"}}}});
    sandbox.write("servers.json", http.to_string());
    let run = sandbox.run(&arguments(&server.url, &["--mcp-config", "servers.json", "Take notes."]));
    assert!(run.stderr.contains("`a b` is not a valid name of an HTTP header"), "{}", run.stderr);
    sandbox.write("servers.json", "[]");
    let run = sandbox.run(&arguments(&server.url, &["--mcp-config", "servers.json", "Take notes."]));
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn the_sample_skills_git_and_file_ops_work_the_same_way() {
    let mut sandbox = library();
    let sample = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
    let root = sample.to_str().unwrap();
    for name in ["git", "file-ops"] {
        assert_eq!(sandbox.run(&["--root", root, "approve", name, "--yes"]).code, 0);
    }
    sandbox.write("notes.txt", "remember the milk\n");
    let git = sandbox.other("git", &["init", "-q"]).status().unwrap();
    assert!(git.success());
    for name in sandboxes() {
        sandbox.set("REPERTOIRE_EXEC_SANDBOX", &name);
        for (skill, tool, given, expect) in [
            ("git", "git_status", json!({}), "notes.txt"),
            ("file-ops", "file_search", json!({"text": "milk"}), "remember the milk"),
        ] {
            let call = json!({"skill": skill, "tool": tool, "arguments": given});
            let server = Server::start(vec![
                chat("", &[("c1", "load_skill", json!({"name": skill}))]),
                chat("", &[("c2", "call_skill_tool", call)]),
                chat("Done.", &[]),
            ]);
            let task = format!("/{skill} do it");
            let run = sandbox.run(&[&["--root", root], &*arguments(&server.url, &[&task])].concat());
            assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{name}: {}", run.stderr);
            let answer = last(&server.received()[2].body)["content"].to_string();
            assert!(answer.contains(expect), "{name} {skill}: {answer}");
        }
    }
}
