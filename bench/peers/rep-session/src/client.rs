//! `load_skill` through `rep session`: one JSON object to a line, there and back.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::spread;

pub fn measure(rep: &str, library: &Path, calls: usize) {
    let entries = std::fs::read_dir(library).expect("the library is there");
    let names = entries.flatten().map(|entry| entry.file_name().into_string().expect("a name of a skill"));
    let names = spread(names.collect(), calls);
    let mut client = Client::start(rep, library);
    // The first answer comes when the library is read.
    client.ask(&request(json!({"name": names[0], "force": true})));
    let mut replies = Vec::new();
    let forced: Vec<String> =
        names.iter().map(|name| request(json!({"name": name, "force": true}))).collect();
    stopwatch::measure_calls("load_skill", &forced, |request| replies.push(client.ask(request)));
    let again: Vec<String> = names.iter().map(|name| request(json!({"name": name}))).collect();
    stopwatch::measure_calls("load_skill again", &again, |request| replies.push(client.ask(request)));
    client.end();
    replies.iter().for_each(|reply| check(reply));
}

fn request(arguments: Value) -> String {
    let request = json!({"op": "call", "tool": "load_skill", "arguments": arguments});
    format!("{request}\n")
}

fn check(reply: &str) {
    let value: Value = serde_json::from_str(reply).expect("an answer is JSON");
    assert_eq!((&value["ok"], &value["is_error"]), (&json!(true), &json!(false)), "{reply}");
    assert!(value["text"].as_str().is_some_and(|text| !text.is_empty()), "{reply}");
}

struct Client {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Client {
    fn start(rep: &str, library: &Path) -> Self {
        let mut command = Command::new(rep);
        command.arg("session").arg("--root").arg(library).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("rep starts");
        let requests = child.stdin.take().expect("stdin is piped");
        let replies = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Self { child, requests, replies }
    }

    fn ask(&mut self, request: &str) -> String {
        self.requests.write_all(request.as_bytes()).expect("rep listens");
        let mut reply = String::new();
        self.replies.read_line(&mut reply).expect("rep answers");
        reply
    }

    fn end(mut self) {
        drop(self.requests);
        assert!(self.child.wait().expect("rep ends").success());
    }
}
