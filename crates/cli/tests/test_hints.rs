//! Follows the hints that commands print: each works as it is printed, and following them never leads back.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use repertoire_model::Digest;

use crate::git_repository::Repository;
use crate::sandbox::{Sandbox, skill};

/// The commands whose hints are followed.
const COMMANDS: &[&str] = &[
    "",
    "list",
    "list --all",
    "list --origin --changed",
    "list --duplicates",
    "search alpha",
    "search quantum",
    "show alpha",
    "show alhpa",
    "explain alpha",
    "explain alhpa",
    "check",
    "doctor",
    "connect",
    "connect --all --dry-run",
    "link --dry-run",
    "adopt --all --dry-run",
    "update --dry-run",
    "sync --frozen",
    "remove alhpa",
    "history alpha",
    "proposal list",
    "approve --list",
    "kit list",
    "kit use web",
    "disable alpha --dry-run",
    "enable alpha --dry-run",
    "stats",
    "events",
    "catalog",
    "cost",
    "prompt --role alpha",
    "call load_skill {\"name\":\"alhpa\"}",
    "undo --list",
];

/// The commands that ask before they change something.
const ASKING: &[&str] = &["add", "adopt", "approve", "connect", "link", "remove", "undo", "update"];

/// The commands that do not end, or that need a model.
const ENDLESS: &[&str] = &["agent", "dashboard", "serve", "session", "watch"];

/// The commands that take something back, whose hints are not followed.
const TAKING_BACK: &[&str] = &["enable", "undo"];

/// The most hints in a row.
const MOST_STEPS: usize = 5;

/// Returns the words of a command line in which `'` quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the commands in backticks that `text` names and that can be run as they are.
fn hints(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2).filter_map(|line| line.strip_prefix("rep "));
    let is_placeholder =
        |word: &str| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '.');
    let can_run = |line: &&str| {
        let words = words(line);
        let command = words.iter().find(|word| !word.starts_with('-'));
        // A sentence about `rep add` names the command alone.
        let is_name = words == ["add"] || words == ["link"];
        !is_name
            && !words.iter().any(|word| is_placeholder(word))
            && command.is_some_and(|command| !ENDLESS.contains(&command.as_str()))
    };
    quoted.filter(can_run).map(str::to_owned).collect()
}

/// Returns a digest of all files of the home directory and the project that are not ours.
fn state(sandbox: &Sandbox) -> Digest {
    let mut text = String::new();
    let mut pending = vec![sandbox.home(), sandbox.project()];
    while let Some(directory) = pending.pop() {
        let mut entries: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let is_own = path.ends_with(".local") || path.ends_with(".cache") || path.ends_with(".git");
            if path.is_dir() && !path.is_symlink() && !is_own {
                pending.push(path);
            } else if !is_own {
                let content = fs::read_link(&path).map(|to| to.into_os_string().into_encoded_bytes());
                let content = content.unwrap_or_else(|_| fs::read(&path).unwrap_or_default());
                text += &format!("{} {}\n", path.display(), String::from_utf8_lossy(&content));
            }
        }
    }
    let base = sandbox.home().parent().unwrap().display().to_string();
    Digest::of(text.replace(&base, "").as_bytes())
}

/// A home directory and a project, in which hints are followed.
struct Walk<'a> {
    home: &'a dyn Fn() -> Sandbox,
    /// The commands that were run, each in the state that it found.
    seen: BTreeSet<(String, String)>,
    faults: Vec<String>,
}

impl Walk<'_> {
    /// Runs `path` in a new home, and follows what its last command advises. Commands after the first are
    /// hints.
    fn follow(&mut self, path: &[String]) {
        let sandbox = (self.home)();
        let (mut found, mut states, mut output) = (String::new(), Vec::new(), String::new());
        for (step, line) in path.iter().enumerate() {
            states.push(state(&sandbox).to_string());
            let mut words = words(line);
            let command = words.iter().find(|word| !word.starts_with('-')).cloned().unwrap_or_default();
            let lists =
                ["--list", "--dry-run", "--yes"].iter().any(|option| words.iter().any(|it| it == option));
            if step > 0 && ASKING.contains(&command.as_str()) && !lists && words.len() > 1 {
                words.push("--yes".to_owned());
            }
            let run = sandbox.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
            let is_error = run.stderr.lines().any(|line| line.starts_with("error: "));
            if step > 0 && step + 1 == path.len() && (is_error || run.code > 1) {
                self.faults.push(format!("{path:?} fails: {}", run.stderr.trim()));
                return;
            }
            found = states[step].clone();
            let base = sandbox.home().parent().unwrap().display().to_string();
            output = (run.stdout + &run.stderr).replace("[DIR]", &base);
            if step > 0 && TAKING_BACK.contains(&command.as_str()) {
                return;
            }
        }
        let last = path.last().unwrap().clone();
        if path.iter().rev().skip(1).zip(states.iter().rev().skip(1)).any(|it| it == (&last, &found)) {
            return self.faults.push(format!("{path:?} leads back"));
        }
        if path.len() > MOST_STEPS {
            return self.faults.push(format!("{path:?} does not end"));
        }
        if !self.seen.insert((last, found)) {
            return;
        }
        for hint in hints(&output).into_iter().collect::<BTreeSet<_>>() {
            self.follow(&[path, &[hint]].concat());
        }
    }
}

/// Follows the hints of all commands in the home that `home` makes.
fn walk(home: impl Fn() -> Sandbox) {
    let mut walk = Walk { home: &home, seen: BTreeSet::new(), faults: Vec::new() };
    for command in COMMANDS {
        walk.follow(&[(*command).to_owned()]);
    }
    assert!(walk.faults.is_empty(), "{}", walk.faults.join("\n"));
}

/// Returns a sandbox in whose home there are the directories of `clients`.
fn with_clients(mut sandbox: Sandbox, clients: &[&str]) -> Sandbox {
    for client in clients {
        fs::create_dir_all(sandbox.home().join(client)).unwrap();
    }
    // The program that connections start.
    let path = Path::new(env!("CARGO_BIN_EXE_rep")).parent().unwrap().display().to_string();
    sandbox.set("PATH", &format!("{path}:/usr/bin:/bin"));
    sandbox
}

const FIVE: [&str; 5] = [".claude", ".cursor", ".codex", ".config/opencode", ".config/goose"];

#[test]
fn without_clients_and_skills() {
    walk(Sandbox::new);
}

#[test]
fn with_one_client() {
    walk(|| with_clients(Sandbox::with_skills(), &[".claude"]));
}

#[test]
fn with_five_clients() {
    walk(|| {
        let sandbox = with_clients(Sandbox::with_skills(), &FIVE);
        sandbox.write("../home/.claude/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
        sandbox.write("../home/.codex/skills/delta/SKILL.md", skill("delta", "# Delta\n"));
        sandbox
    });
}

#[test]
fn with_plugins() {
    walk(|| {
        let sandbox = with_clients(Sandbox::with_skills(), &[".claude", ".cursor"]);
        let root = "../home/.claude/plugins/cache/m/superpowers/1.0.0";
        sandbox.write(&format!("{root}/skills/planning/SKILL.md"), skill("planning", "# Planning\n"));
        sandbox.write(&format!("{root}/.claude-plugin/plugin.json"), r#"{"name": "superpowers"}"#);
        let path = sandbox.home().join(".claude/plugins/cache/m/superpowers/1.0.0");
        let installed = serde_json::json!({"version": 2, "plugins": {"superpowers@m": [
            {"scope": "user", "installPath": path, "version": "1.0.0"}]}});
        sandbox.write("../home/.claude/plugins/installed_plugins.json", installed.to_string());
        sandbox.write("../home/.claude/settings.json", r#"{"enabledPlugins": {"superpowers@m": true}}"#);
        sandbox
    });
}

#[test]
fn with_a_server_of_a_team() {
    walk(|| {
        let sandbox = with_clients(Sandbox::with_skills(), &[".cursor", ".codex"]);
        let run = sandbox.run(&["connect", "--http", "http://127.0.0.1:7437", "cursor", "--yes"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        sandbox
    });
}

#[test]
fn with_broken_files() {
    walk(|| {
        let sandbox = with_clients(Sandbox::with_skills(), &[".cursor", ".claude"]);
        sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
        sandbox.write("../home/.cursor/mcp.json", "{");
        std::os::unix::fs::symlink("nowhere", sandbox.project().join(".agents/skills/dangling")).unwrap();
        sandbox.write("repertoire.lock", "not a lock");
        sandbox
    });
}

#[test]
fn with_an_edited_skill() {
    let repository = Repository::with_skills();
    let url = repository.url();
    walk(|| {
        let sandbox = with_clients(Sandbox::with_skills(), &[".claude", ".cursor"]);
        let run = sandbox.run(&["add", &url, "--all", "--yes"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let skills = sandbox.project().join(".agents/skills");
        let names = fs::read_dir(&skills).unwrap().map(|entry| entry.unwrap().path());
        for path in names.map(|path| path.join("SKILL.md")) {
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text + "\nEdited.\n").unwrap();
        }
        sandbox
    });
}

#[test]
fn with_duplicates() {
    walk(|| {
        let sandbox = with_clients(Sandbox::with_skills(), &FIVE);
        for (directory, body) in [(".claude", "# Same\n"), (".codex", "# Same\n"), (".cursor", "# Other\n")] {
            sandbox.write(&format!("../home/{directory}/skills/gamma/SKILL.md"), skill("gamma", body));
            sandbox.write(&format!("{directory}/skills/alpha/SKILL.md"), skill("alpha", body));
        }
        sandbox
    });
}

#[test]
fn with_a_clone_in_the_project() {
    walk(|| {
        let sandbox = with_clients(Sandbox::with_skills(), &[".claude"]);
        sandbox.write("repertoire.toml", "disabled = [\"beta\"]\nroots = [\"skills\"]\n");
        sandbox.write(".agents/skills/clone/.git/config", "");
        sandbox.write(".agents/skills/clone/skills/deep/SKILL.md", skill("deep", "# Deep\n"));
        sandbox
    });
}

#[test]
fn with_a_home_that_cannot_be_written() {
    let of_other = || {
        let sandbox = Sandbox::of_other_user();
        fs::set_permissions(sandbox.home(), fs::Permissions::from_mode(0o555)).unwrap();
        sandbox
    };
    if !of_other().is_of_other_user() {
        eprintln!("SKIPPED: a home directory of somebody else, which needs a root that can be another user");
        return;
    }
    walk(of_other);
}
