//! One client of a server that it started.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::calls::{Calls, print, print_percentiles};

pub fn measure(calls: &Calls, count: usize, command: &[&str]) {
    let start = Instant::now();
    let mut client = Client::start(command);
    let about = json!({"name": "mcp-load", "version": "0"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about});
    client.send(
        &json!({"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": params}).to_string(),
    );
    client.receive();
    print("first answer ms", start.elapsed().as_secs_f64() * 1e3);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
    client.send(&calls.request(0, None).0);
    calls.check(client.receive().as_bytes());
    print("first skill ms", start.elapsed().as_secs_f64() * 1e3);
    let mut wall_ms = Vec::with_capacity(count);
    for number in 1..=count {
        let (request, _) = calls.request(number, None);
        let start = Instant::now();
        client.send(&request);
        let answer = client.receive();
        wall_ms.push(start.elapsed().as_secs_f64() * 1e3);
        calls.check(answer.as_bytes());
    }
    print_percentiles("call", wall_ms);
    print("resident MB", memory_mb(client.child.id(), "VmRSS:"));
    // A server that does not know the tool answers with an error, which does no harm.
    let search = json!({"name": "search_skills", "arguments": {"query": "review a pull request"}});
    client.send(&json!({"jsonrpc": "2.0", "id": "search", "method": "tools/call", "params": search}).to_string());
    client.receive();
    print("anonymous MB", memory_mb(client.child.id(), "RssAnon:"));
    client.end();
}

/// Returns the memory of a process and its children, from `field` of its status.
fn memory_mb(pid: u32, field: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or("0 kB");
    let own: f64 = line.trim().trim_end_matches(" kB").trim().parse().unwrap_or(0.0);
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    own / 1024.0 + children.map(|pid| memory_mb(pid, field)).sum::<f64>()
}

struct Client {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Client {
    fn start(command: &[&str]) -> Self {
        let mut child = Command::new(command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let requests = child.stdin.take().expect("stdin is piped");
        let answers = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Self { child, requests, answers }
    }

    fn send(&mut self, message: &str) {
        self.requests.write_all(format!("{message}\n").as_bytes()).expect("the server listens");
    }

    /// Returns the next answer; notifications and requests of the server are skipped.
    fn receive(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).expect("the server answers") > 0, "the server ended");
            // Only short lines can be notifications.
            let is_notification = line.len() < 1_000
                && serde_json::from_str(&line).is_ok_and(|message: Value| message.get("id").is_none());
            if !is_notification {
                return line;
            }
        }
    }

    fn end(mut self) {
        drop(self.requests);
        let _ = self.child.wait();
    }
}
