//! Tests of `rep watch`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::{Sandbox, skill};

/// A `rep watch` that runs.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// Returns the next line, which has to come.
    fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(20)).unwrap()
    }

    /// Returns the lines up to the one that ends the account of a change.
    fn change(&self) -> Vec<String> {
        let mut lines = vec![self.line()];
        // The list of followed sources comes first, a line for each.
        while !lines[0].starts_with(['+', '-', '~']) {
            lines[0] = self.line();
        }
        while !lines.last().unwrap().starts_with("  catalog ") {
            lines.push(self.line());
        }
        lines
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Replaces a file in one step, so that no half of it is seen.
fn replace(sandbox: &Sandbox, path: &str, text: &str) {
    sandbox.write("new-text", text);
    fs::rename(sandbox.project().join("new-text"), sandbox.project().join(path)).unwrap();
}

#[test]
fn a_library_that_the_policy_refuses_is_not_followed() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/alpha/SKILL.md", "---\nname: alpha\n---\nNo description.\n");
    let list = sandbox.run(&["--profile", "strict", "list"]);
    let watch = sandbox.run(&["--profile", "strict", "watch"]);
    assert_eq!((watch.code, watch.stdout.as_str()), (1, ""));
    assert_eq!((watch.code, watch.stderr), (list.code, list.stderr));
}

#[test]
fn changes_are_printed_as_they_are_seen() {
    let sandbox = Sandbox::with_skills();
    let watching = Watching::start(&sandbox, &["watch"]);
    let heading = watching.line();
    assert!(heading.starts_with("following 2 skills, "), "{heading}");
    assert_eq!(watching.line(), "  project:.agents/skills: 3 directories watched");
    let line = watching.line();
    assert!(line.ends_with(" sources without skills so far, watched"), "{line}");
    sandbox.write(".agents/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    let lines = watching.change();
    assert_eq!(lines[0], "+ gamma");
    assert!(lines[1].contains(" -> ") && lines[1].contains("(+"), "{lines:?}");
    replace(
        &sandbox,
        ".agents/skills/alpha/SKILL.md",
        "---\nname: alpha\ndescription: Evil \u{1b}[31m text.\n---\n# Alpha\n",
    );
    let lines = watching.change();
    assert!(lines[0].starts_with("~ alpha (description"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("  new warning[")), "{lines:?}");
    assert!(!lines.concat().contains('\u{1b}'));
    replace(&sandbox, ".agents/skills/alpha/SKILL.md", &skill("alpha", "# Alpha\n"));
    assert!(watching.change().iter().any(|line| line.starts_with("  resolved warning[")));
    fs::remove_dir_all(sandbox.project().join(".agents/skills/beta")).unwrap();
    assert_eq!(watching.change()[0], "- beta");
}

#[test]
fn programs_get_one_object_per_line() {
    let sandbox = Sandbox::with_skills();
    let watching = Watching::start(&sandbox, &["watch", "--json"]);
    let first = watching.json();
    assert_eq!((&first["skills"], &first["snapshot"]), (&2.into(), &1.into()), "{first}");
    assert!(first["sources"].as_array().unwrap().iter().any(|source| source["watches"] == 3), "{first}");
    sandbox.write(".agents/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    let change = watching.json();
    assert_eq!(change["added"], serde_json::json!(["gamma"]));
    assert_eq!(change["catalog_tokens"]["before"], first["catalog_tokens"]);
    assert!(change["catalog_tokens"]["after"].as_u64() > change["catalog_tokens"]["before"].as_u64());
    assert!(change["took_ms"].is_number() && change["time"].as_str().unwrap().ends_with('Z'));
    // In one step, so that no half of it is a change of its own.
    sandbox.write("gamma.md", skill("gamma", "# Gamma, at length\n"));
    let file = sandbox.project().join(".agents/skills/gamma/SKILL.md");
    std::fs::rename(sandbox.project().join("gamma.md"), file).unwrap();
    let change = watching.json();
    assert_eq!(change["changed"], serde_json::json!([{"name": "gamma", "what": ["instructions"]}]));
}

#[test]
fn skills_counted_at_the_start_are_not_reported_again() {
    for delay in [0, 5, 10, 15, 20, 30, 50] {
        let sandbox = Sandbox::with_skills();
        let watching = Watching::start(&sandbox, &["watch", "--json"]);
        std::thread::sleep(Duration::from_millis(delay));
        sandbox.write(".agents/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
        let mut known = watching.json()["skills"].as_u64().unwrap();
        sandbox.write(".agents/skills/delta/SKILL.md", skill("delta", "# Delta\n"));
        loop {
            let added = watching.json()["added"].as_array().unwrap().clone();
            known += added.len() as u64;
            if added.contains(&"delta".into()) {
                break;
            }
        }
        assert_eq!(known, 4, "after {delay} ms");
    }
}

#[test]
fn watch_reports_changes_in_every_reload_mode() {
    for (mode, others) in
        [("off", Some("do not")), ("lazy", Some("look when they are used")), ("watch", None)]
    {
        let mut sandbox = Sandbox::with_skills();
        sandbox.set("REPERTOIRE_RELOAD_MODE", mode);
        let mut watching = Watching::start(&sandbox, &["watch", "--json"]);
        watching.json();
        sandbox.write(".agents/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
        assert_eq!(watching.json()["added"], serde_json::json!(["gamma"]));
        watching.child.kill().unwrap();
        let errors = std::io::read_to_string(watching.child.stderr.take().unwrap()).unwrap();
        let hint = |others| {
            let this = format!("`reload.mode` is \"{mode}\": this command watches all the same");
            format!("hint: {this}; sessions and servers {others}\n")
        };
        assert_eq!(errors, others.map(hint).unwrap_or_default());
    }
}

#[test]
fn a_root_that_is_no_directory_cannot_be_watched() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("notes.md", "x");
    let output = sandbox.command(&["watch", "--root", "notes.md"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: notes.md is not a directory\nhint: `--root` takes a directory of skills\n"
    );
    sandbox.write("repertoire.toml", "roots = [\"notes.md\"]\n");
    let run = sandbox.run(&["watch"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("notes.md is not a directory"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn an_interruption_is_a_good_end() {
    let sandbox = Sandbox::with_skills();
    let mut watching = Watching::start(&sandbox, &["watch", "--json"]);
    watching.json();
    let id = rustix::process::Pid::from_child(&watching.child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(watching.child.wait().unwrap().code(), Some(0));
}
