//! The sample skill `git` over MCP: loaded, called on a real repository, unloaded, gone.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, confining_sandboxes, in_every_sandbox, sandboxes};

/// A client of `rep serve --stdio`.
pub(crate) struct Client {
    pub(crate) child: Child,
    pub(crate) input: ChildStdin,
    pub(crate) output: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    pub(crate) fn start(sandbox: &Sandbox, flags: &[&str]) -> Self {
        let arguments: Vec<&str> = ["serve", "--stdio", "--exec"].iter().chain(flags).copied().collect();
        let mut command = sandbox.command(&arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Self { child, input, output, next: 1 };
        let about = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about});
        client.request("initialize", params);
        writeln!(client.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .unwrap();
        client
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        writeln!(self.input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .unwrap();
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server is gone");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }

    /// Returns the text of the tool, and whether it is an error.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let result = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        (text, result["isError"].as_bool().unwrap_or_default())
    }

    fn git(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        self.call("call_skill_tool", json!({"skill": "git", "tool": tool, "arguments": arguments}))
    }

    pub(crate) fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in ["SKILL.md", "schema.json", "tools.py"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

/// Makes a repository where `directory` is.
fn init(directory: &Path) {
    let _ = std::fs::remove_dir_all(directory.join(".git"));
    git(directory, &["init", "--quiet", "--initial-branch=main", "."]);
    git(directory, &["config", "user.name", "Tester"]);
    git(directory, &["config", "user.email", "tester@example.com"]);
}

/// Returns a sandbox with the skill `git`, approved with all its tools, and a repository with one commit.
fn with_git() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", "/usr/local/bin:/usr/bin:/bin");
    let skills = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills/git");
    copy(&skills, &sandbox.home().join(".agents/skills/git"));
    assert_eq!(sandbox.run(&["approve", "git", "--yes"]).code, 0);
    init(&sandbox.project());
    sandbox.write("first.txt", "one\n");
    git(&sandbox.project(), &["add", "first.txt"]);
    git(&sandbox.project(), &["commit", "--quiet", "-m", "feat: first"]);
    sandbox
}

#[test]
fn git_works_below_the_top_and_in_a_linked_worktree() {
    let sandbox = with_git();
    let linked = sandbox.project().with_file_name("linked");
    git(&sandbox.project(), &["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    for (number, name) in sandboxes().into_iter().enumerate() {
        for place in ["src/deep", "../linked", "../linked/src"] {
            let file = format!("{number}.txt");
            sandbox.write(&format!("{place}/{file}"), "text\n");
            let run = sandbox.run_in(place, &["run", "git", "git_status", "--sandbox", &name]);
            assert!(run.stdout.contains(&file), "{name} {place}: {} {}", run.stdout, run.stderr);
        }
    }
}

#[test]
fn git_takes_no_repository_that_does_not_name_the_checkout() {
    let sandbox = with_git();
    sandbox.write("../thief/.git", format!("gitdir: {}\n", sandbox.project().join(".git").display()));
    for name in &confining_sandboxes() {
        let run = sandbox.run_in("../thief", &["run", "git", "git_log", "--sandbox", name]);
        assert!(run.stderr.contains("does not name this checkout"), "{name}: {} {}", run.stdout, run.stderr);
    }
}

#[test]
fn git_says_why_there_is_no_repository() {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", "/usr/local/bin:/usr/bin:/bin");
    let repository = sandbox.project();
    let skills = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills/git");
    copy(&skills, &sandbox.home().join(".agents/skills/git"));
    assert_eq!(sandbox.run(&["approve", "git", "--yes"]).code, 0);
    let _ = std::fs::remove_dir_all(repository.join(".git"));
    for name in sandboxes() {
        let run = sandbox.run(&["run", "git", "git_status", "--sandbox", &name]);
        assert!(
            run.stderr.contains("there is no repository around the working directory"),
            "{name}: {}",
            run.stderr
        );
    }
}

#[test]
fn git_works_on_a_repository_while_it_is_loaded() {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", "/usr/local/bin:/usr/bin:/bin");
    let repository = sandbox.project();
    std::fs::remove_dir(repository.join(".git")).unwrap();
    git(&repository, &["init", "--quiet", "--initial-branch=main", "."]);
    git(&repository, &["config", "user.name", "Tester"]);
    git(&repository, &["config", "user.email", "tester@example.com"]);
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills/git"),
        &sandbox.home().join(".agents/skills/git"),
    );

    for (number, name) in sandboxes().into_iter().enumerate() {
        sandbox.set("REPERTOIRE_EXEC_SANDBOX", &name);
        let _ = sandbox.run(&["revoke", "git"]);
        let mut client = Client::start(&sandbox, &[]);
        let tools = client.request("tools/list", json!({}));
        assert!(client.git("git_status", json!({})).0.contains("is not loaded"), "{name}");
        let (loaded, _) = client.call("load_skill", json!({"name": "git"}));
        assert!(
            loaded.contains("\"name\":\"git_commit\"") && loaded.contains("call_skill_tool"),
            "{name}: {loaded}"
        );
        assert!(client.git("git_status", json!({})).0.contains("rep approve git"), "{name}");
        assert_eq!(sandbox.run(&["approve", "git", "--yes"]).code, 0);

        let file = format!("file-{number}.txt");
        sandbox.write(&file, "text\n");
        let (status, is_error) = client.git("git_status", json!({}));
        assert!(!is_error && status.contains(&format!("?? {file}")), "{name}: {status}");
        let (refused, is_error) = client.git("git_commit", json!({"message": "stuff", "paths": [file]}));
        assert!(is_error && refused.contains("`message` must match the pattern"), "{refused}");
        let (wrong, _) = client.git("git_commit", json!({"paths": [file]}));
        assert!(wrong.contains("`message` is missing"), "{name}: {wrong}");
        let message = format!("feat: add {file}");
        let (refused, is_error) = client.git("git_commit", json!({"message": message, "paths": [file]}));
        assert!(is_error && refused.contains("Leave it to the user"), "{name}: {refused}");
        git(&repository, &["add", &file]);
        git(&repository, &["commit", "--quiet", "-m", &message]);
        assert!(client.git("git_log", json!({"count": 1})).0.contains(&message), "{name}");

        client.call("unload_skill", json!({"name": "git"}));
        let (gone, is_error) = client.git("git_status", json!({}));
        assert!(is_error && gone.contains("is not loaded"), "{name}: {gone}");
        assert_eq!(client.request("tools/list", json!({})), tools, "{name}");
        client.end();
    }
}

#[test]
fn json_output_is_structured_content() {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", "/usr/bin:/bin");
    sandbox.write(".agents/skills/data/SKILL.md", crate::sandbox::skill("data", "# Data\n"));
    let schema = r#"[
        {"name": "object", "description": "O.", "output": "json", "command": ["echo", "{\"rows\": [1, 2.5, null]}"]},
        {"name": "list", "description": "L.", "output": "json", "command": ["echo", "[1]"]},
        {"name": "broken", "description": "B.", "output": "json", "command": ["echo", "{"]},
        {"name": "plain", "description": "P.", "command": ["echo", "{\"rows\": 1}"]}]"#;
    sandbox.write(".agents/skills/data/schema.json", schema);
    assert_eq!(sandbox.run(&["approve", "data", "--yes"]).code, 0);
    for name in sandboxes() {
        sandbox.set("REPERTOIRE_EXEC_SANDBOX", &name);
        let mut client = Client::start(&sandbox, &[]);
        client.call("load_skill", json!({"name": "data"}));
        let mut call = |tool: &str| {
            let arguments = json!({"skill": "data", "tool": tool, "arguments": {}});
            client.request("tools/call", json!({"name": "call_skill_tool", "arguments": arguments}))
        };
        let object = call("object");
        assert_eq!(object["structuredContent"], json!({"rows": [1, 2.5, null]}), "{name}: {object}");
        assert!(object["content"][0]["text"].as_str().unwrap().contains("\"rows\""), "{name}: {object}");
        // MCP has objects there and nothing else.
        for tool in ["list", "broken", "plain"] {
            let other = call(tool);
            assert_eq!(other.get("structuredContent"), None, "{name} {tool}: {other}");
            let says = other["content"][0]["text"].as_str().unwrap().contains("but it is not");
            assert_eq!(says, tool == "broken", "{name} {tool}: {other}");
        }
        client.end();
    }
}

/// A client that is gone takes what runs for it along.
#[cfg(target_os = "linux")]
#[test]
fn running_tools_end_with_their_client() {
    // No other process sleeps for as long. A sandbox may hide the number of the process from the tool.
    let is_running = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines.any(|line| line.ends_with(b"sleep\x0055.25\0"))
    };
    let until = |what: &str, is_so: &dyn Fn() -> bool| {
        let start = std::time::Instant::now();
        while !is_so() {
            assert!(start.elapsed().as_secs() < 30, "{what}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    in_every_sandbox(|mut sandbox| {
        sandbox.set("PATH", "/usr/bin:/bin");
        sandbox.write(".agents/skills/slow/SKILL.md", crate::sandbox::skill("slow", "# Slow\n"));
        let schema = r#"[{"name": "wait", "description": "Waits.", "command": ["sleep", "55.25"]}]"#;
        sandbox.write(".agents/skills/slow/schema.json", schema);
        assert_eq!(sandbox.run(&["approve", "slow", "--yes"]).code, 0);
        let mut client = Client::start(&sandbox, &[]);
        client.call("load_skill", json!({"name": "slow"}));
        let arguments = json!({"skill": "slow", "tool": "wait", "arguments": {}});
        let call = json!({"name": "call_skill_tool", "arguments": arguments});
        writeln!(
            client.input,
            "{}",
            json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": call})
        )
        .unwrap();
        until("it never started", &is_running);
        client.end();
        until("it still runs", &|| !is_running());
    });
}
