//! `rep session` with a host that begins with `hello`: many sessions, questions of the engine, notices.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// The pipe to a session.
struct Host {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Lines that came before the one that was waited for.
    kept: VecDeque<Value>,
    last: u64,
}

impl Host {
    fn start(sandbox: &Sandbox, arguments: &[&str], hello: Value) -> (Self, Value) {
        let mut command = sandbox.command(&[&["session"], arguments].concat());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut host = Self { child, input, output, kept: VecDeque::new(), last: 0 };
        let mut request = json!({"op": "hello", "protocol": 1});
        request.as_object_mut().unwrap().extend(hello.as_object().unwrap().clone());
        let answer = host.ask(request);
        (host, answer)
    }

    fn write(&mut self, line: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Sends a request and returns its id.
    fn send(&mut self, mut request: Value) -> u64 {
        self.last += 1;
        request["id"] = json!(self.last);
        self.write(&request);
        self.last
    }

    /// Returns the first line that `is_wanted`, whatever comes before it.
    fn wait(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.kept.iter().position(&is_wanted) {
            return self.kept.remove(index).unwrap();
        }
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            let line: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?} is not JSON"));
            if is_wanted(&line) {
                return line;
            }
            self.kept.push_back(line);
        }
    }

    fn answer(&mut self, id: u64) -> Value {
        self.wait(|line| line["id"] == json!(id) && line.get("ok").is_some())
    }

    fn ask(&mut self, request: Value) -> Value {
        let id = self.send(request);
        self.answer(id)
    }

    /// Returns the next question of the engine for `operation`.
    fn question(&mut self, operation: &str) -> Value {
        self.wait(|line| line["op"] == operation && line.get("request").is_some())
    }

    fn open(&mut self, mut request: Value) -> String {
        request["op"] = json!("open");
        let answer = self.ask(request);
        answer["session"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Ends the input, and returns the exit code.
    fn end(mut self) -> Option<i32> {
        self.input = None;
        self.child.wait().unwrap().code()
    }
}

fn greet() -> Value {
    json!({
        "frontmatter": {"name": "greet", "description": "Greets people. Use when someone says hello."},
        "body": "# Greet\n",
        "resources": {"a.md": "text\n", "b.md": {"base64": "Ynl0ZXMK"}, "c.md": {"lazy": true}},
    })
}

fn wait_tool() -> Value {
    json!({"name": "wait", "description": "Waits.", "input_schema": {"type": "object"}})
}

#[test]
fn sessions_share_a_process_and_answers_come_when_they_are_ready() {
    let sandbox = Sandbox::with_skills();
    let (mut host, hello) = Host::start(&sandbox, &[], json!({"protocol": 7, "tools": [wait_tool()]}));
    assert_eq!((&hello["ok"], &hello["protocol"]), (&json!(true), &json!(1)));
    let one = host.open(json!({}));
    let other = host.open(json!({"skills": ["beta"], "render": "json"}));
    let slow = host.send(json!({"op": "call", "session": one, "tool": "wait", "arguments": {"n": 1}}));
    let question = host.question("call_tool");
    assert_eq!((&question["arguments"], &question["session"]), (&json!({"n": 1}), &json!(one)));
    let load = json!({"op": "call", "session": one, "tool": "load_skill", "arguments": {"name": "alpha"}});
    assert_eq!(host.ask(load)["is_error"], false);
    assert_eq!(host.ask(json!({"op": "state", "session": other}))["loaded"], json!([]));
    let catalog = host.ask(json!({"op": "catalog", "session": other}));
    assert!(!catalog["text"].as_str().unwrap().contains("alpha"), "{catalog}");
    host.write(&json!({"op": "answer", "request": question["request"], "text": "done"}));
    assert_eq!(host.answer(slow)["text"], "done");
    let family = host.ask(json!({"op": "subagent", "session": one, "inherit": "catalog"}));
    assert_eq!(host.ask(json!({"op": "close", "session": one}))["ok"], true);
    for gone in [json!(one), family["session"].clone()] {
        let refused = host.ask(json!({"op": "catalog", "session": gone}));
        assert_eq!(refused["error"]["kind"], "bad_request", "{refused}");
    }
    assert_eq!(host.end(), Some(0));
}

#[test]
fn a_line_that_is_malformed_is_answered_with_the_id_that_it_begins_with() {
    let sandbox = Sandbox::with_skills();
    let (mut host, _) = Host::start(&sandbox, &[], json!({}));
    let deep = format!(r#"{{"id":7,"op":"open","skills":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    for (line, id) in
        [(&*deep, json!(7)), (r#"{"id": "a", NaN"#, json!("a")), (r#"{"op":"open"#, Value::Null)]
    {
        writeln!(host.input.as_mut().unwrap(), "{line}").unwrap();
        let answer = host.wait(|line| line["error"]["kind"] == "malformed");
        assert_eq!(answer["id"], id, "{answer}");
    }
    assert_eq!(host.end(), Some(0));
}

#[test]
fn a_request_can_be_cancelled_and_the_end_of_the_input_cancels_all() {
    let sandbox = Sandbox::with_skills();
    let (mut host, _) = Host::start(&sandbox, &[], json!({"tools": [wait_tool()]}));
    let session = host.open(json!({}));
    let call = json!({"op": "call", "session": session, "tool": "wait", "arguments": {}});
    let slow = host.send(call.clone());
    let question = host.question("call_tool");
    assert_eq!(host.ask(json!({"op": "cancel", "request": slow}))["ok"], true);
    assert_eq!(host.answer(slow)["error"]["kind"], "cancelled");
    let withdrawn = host.wait(|line| line["notice"] == "withdrawn");
    assert_eq!(withdrawn["request"], question["request"]);
    // An answer that comes too late is not an error.
    host.write(&json!({"op": "answer", "request": question["request"], "text": "done"}));
    let other = host.send(call);
    host.question("call_tool");
    host.write(&json!({"op": "end"}));
    assert_eq!(host.answer(other)["error"]["kind"], "cancelled");
    assert_eq!(host.child.wait().unwrap().code(), Some(0));
}

#[test]
fn requests_are_told_apart_and_bad_ones_are_refused() {
    let sandbox = Sandbox::with_skills();
    let (mut host, _) = Host::start(&sandbox, &[], json!({"tools": [wait_tool()]}));
    let session = host.open(json!({}));
    let slow = json!({"op": "call", "session": session, "tool": "wait", "id": "slow"});
    host.write(&slow);
    let question = host.question("call_tool");
    host.write(&slow);
    let refused = host.wait(|line| line["id"] == "slow");
    assert!(refused["error"]["message"].as_str().unwrap().contains("not answered yet"), "{refused}");
    let mut check = |line: &Value, words: &str| {
        host.write(line);
        let refused = host.wait(|line| line.get("ok").is_some());
        assert!(
            refused["error"]["message"].as_str().unwrap_or_default().contains(words),
            "{line}: {refused}"
        );
    };
    check(&json!({"op": "catalog", "session": session}), "has an `id`");
    check(&json!([]), "JSON object");
    check(&json!({"id": 90}), "`op` is missing");
    check(&json!({"op": "hello", "id": 90}), "already");
    check(&json!({"op": "nope", "id": 90, "session": session}), "no operation `nope`");
    check(&json!({"op": "catalog", "id": 90}), "`session` is missing");
    check(&json!({"op": "answer", "id": 90}), "`request`");
    check(&json!({"op": "open", "id": 90, "profile": "nope"}), "nope");
    check(&json!({"op": "open", "id": 90, "agent": "nobody"}), "no agent `nobody`");
    check(&json!({"op": "open", "id": 90, "skills": ["nope"]}), "`nope`");
    check(&json!({"op": "open", "id": 90, "skills": [7]}), "`skills`");
    check(&json!({"op": "open", "id": 90, "render": "nope"}), "`render`");
    check(&json!({"op": "subscribe", "id": 90, "events": "yes"}), "`events`");
    check(&json!({"op": "tools", "id": 90, "session": session, "format": "nope"}), "`format`");
    check(&json!({"op": "handle", "id": 90, "session": session, "call": {}}), "`call`");
    host.write(&json!({"op": "answer", "request": question["request"], "text": "done"}));
    assert_eq!(host.wait(|line| line["id"] == "slow")["text"], "done");
    assert_eq!(host.end(), Some(0));
}

#[test]
fn a_greeting_that_is_wrong_is_answered_and_ends_the_process() {
    let sandbox = Sandbox::with_skills();
    let check = |hello: Value, kind: &str, words: &str| {
        let (host, answer) = Host::start(&sandbox, &[], hello);
        assert_eq!(answer["error"]["kind"], kind, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{answer}");
        assert_eq!(host.end(), Some(0));
    };
    check(json!({"protocol": 0}), "bad_request", "`protocol`");
    check(json!({"protocol": null}), "bad_request", "`hello`");
    check(json!({"nope": 1}), "bad_request", "`nope`");
    let skill = |name: &str, resources: Value| json!({"skills": [{"frontmatter": {"name": name, "description": "Greets people. Use it."}, "body": "", "resources": resources}]});
    check(skill("Not A Name", json!({})), "invalid_skill", "Not A Name");
    check(skill("greet", json!({"../a": "x"})), "invalid_skill", "../a");
    check(skill("greet", json!({"a.bin": {"base64": "?"}})), "bad_request", "`a.bin` of `greet`");
    check(skill("greet", json!({"a.md": {"lazy": false}})), "bad_request", "`a.md` of `greet`");
    let tool = |name: &str, schema: Value| json!({"tools": [{"name": name, "description": "d", "input_schema": schema}]});
    check(tool("", json!({})), "bad_request", "name of a tool");
    check(tool("a \u{1b}[31m", json!({})), "bad_request", "`a \\u{1b}[31m`");
    check(tool("a", json!(5)), "bad_request", "`input_schema` of the tool `a`");
    let old = sandbox.run_with_input(&["session"], "{\"op\":\"tools\"}\n{\"op\":\"hello\",\"protocol\":1}\n");
    assert!(old.stdout.contains("needs a process whose first line is `hello`"), "{}", old.stdout);
}

#[test]
fn a_greeting_of_a_newer_host_is_understood() {
    let sandbox = Sandbox::with_skills();
    let text = "Greets\u{7f} people\u{fffe}. Use it.";
    let skill = json!({"frontmatter": {"name": "greet", "description": text}, "body": "Wave."});
    let hello = json!({"protocol": 99, "later": true, "skills": [skill]});
    let (mut host, answer) = Host::start(&sandbox, &[], hello);
    assert_eq!(answer["protocol"], 1, "{answer}");
    let session = host.open(json!({"skills": ["greet"]}));
    let catalog = host.ask(json!({"op": "catalog", "session": session}));
    assert!(catalog["text"].as_str().unwrap().contains("greet"), "{catalog}");
    let refused = host.ask(json!({"op": "open", "skills": ["nope"]}));
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("no skill matches `nope`"), "{refused}");
    assert_eq!(host.end(), Some(0));
}

#[test]
fn skills_in_code_have_files_that_the_host_is_asked_for_once() {
    let sandbox = Sandbox::with_skills();
    let hello =
        json!({"skills": [greet()], "directories": false, "handlers": [{"skill": "greet", "tool": "wave"}]});
    let (mut host, _) = Host::start(&sandbox, &[], hello);
    let session = host.open(json!({}));
    let catalog = host.ask(json!({"op": "catalog", "session": session}));
    let catalog = catalog["text"].as_str().unwrap();
    assert!(catalog.contains("greet") && !catalog.contains("alpha"), "{catalog}");
    let read = |path: &str| json!({"op": "call", "session": session, "tool": "read_skill_file", "arguments": {"skill": "greet", "path": path}});
    assert_eq!(host.ask(read("a.md"))["data"]["content"], "text\n");
    assert_eq!(host.ask(read("b.md"))["data"]["content"], "bytes\n");
    let lazy = host.send(read("c.md"));
    let question = host.question("read_file");
    assert_eq!((&question["skill"], &question["path"]), (&json!("greet"), &json!("c.md")));
    let failure = json!({"kind": "ValueError", "message": "away"});
    host.write(&json!({"op": "answer", "request": question["request"], "error": failure}));
    assert_eq!(host.answer(lazy)["is_error"], true);
    let lazy = host.send(read("c.md"));
    let question = host.question("read_file");
    host.write(&json!({"op": "answer", "request": question["request"], "base64": "bGF6eQo="}));
    assert_eq!(host.answer(lazy)["data"]["content"], "lazy\n");
    assert_eq!(host.ask(read("c.md"))["data"]["content"], "lazy\n");
    assert_eq!(host.end(), Some(0));
}

#[test]
fn events_and_changes_are_told_when_they_are_wanted() {
    let sandbox = Sandbox::with_skills();
    let (mut host, _) = Host::start(&sandbox, &[], json!({}));
    let session = host.open(json!({}));
    let load = |name: &str| json!({"op": "call", "session": session, "tool": "load_skill", "arguments": {"name": name}});
    host.ask(load("alpha"));
    assert_eq!(host.ask(json!({"op": "subscribe", "events": true, "changes": true}))["ok"], true);
    let id = host.send(load("beta"));
    let event = host.wait(|line| line["id"] == json!(id) || line["notice"] == "event");
    assert_eq!((&event["event"]["skill"], &event["event"]["session"]), (&json!("beta"), &json!(session)));
    host.answer(id);
    sandbox.write(
        ".agents/skills/new/SKILL.md",
        "---\nname: new\ndescription: New. Use when testing.\n---\nx\n",
    );
    host.ask(load("new"));
    let change = host.wait(|line| line["notice"] == "change");
    assert_eq!(change["added"], json!(["new"]));
    assert_eq!(host.end(), Some(0));
}
