//! Kills commands that change files of clients at random moments: after the next command the change is made
//! or not, whole, every client has every skill, and what takes the change back does so to the byte.
//!
//! `REPERTOIRE_TEST_KILLS` sets the number of kills.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, skill};

/// The number of kills without the variable.
const KILLS: u64 = 12;

/// The directories, each with a copy of every skill but for some.
const DIRECTORIES: [&str; 4] = [".claude/skills", ".cursor/skills", ".codex/skills", ".windsurf/skills"];

const NAMES: [&str; 12] =
    ["api", "csv", "data", "devops", "docs", "forms", "git", "html", "lint", "pdf", "sql", "test"];

/// Returns the copies: every skill in one directory at least.
fn copies() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.iter().enumerate().flat_map(|(index, name)| {
        let directories =
            DIRECTORIES.iter().enumerate().filter(move |(number, _)| (index + 1) & (1 << number) != 0);
        directories.map(|(_, directory)| (*directory, *name))
    })
}

/// Returns every file and link below `directory`, with its content.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut pending) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                pending.push(path);
            } else {
                let link = fs::read_link(&path).map(|to| to.into_os_string().into_encoded_bytes());
                found.insert(path.display().to_string(), link.unwrap_or_else(|_| fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// Kills commands at random moments.
struct Killer {
    /// The state of the random number generator.
    random: u64,
    /// The time that each command takes, from its first run.
    longest: BTreeMap<String, Duration>,
    killed: u64,
    kills: u64,
}

impl Killer {
    fn new() -> Self {
        let kills = std::env::var("REPERTOIRE_TEST_KILLS").ok().and_then(|kills| kills.parse().ok());
        Self { random: 0x5eed, longest: BTreeMap::new(), killed: 0, kills: kills.unwrap_or(KILLS) }
    }

    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 1
    }

    /// Runs a command and kills it; the first time it measures how long it takes.
    fn kill(&mut self, sandbox: &Sandbox, arguments: &[&str]) {
        let start = Instant::now();
        let mut command = sandbox.command(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        if let Some(longest) = self.longest.get(&arguments.join(" ")).copied() {
            thread::sleep(Duration::from_micros(self.next() % longest.as_micros() as u64));
            child.kill().unwrap();
            self.killed += u64::from(child.wait().unwrap().signal() == Some(9));
        } else {
            assert!(child.wait().unwrap().success());
            self.longest.insert(arguments.join(" "), start.elapsed());
        }
    }
}

#[test]
fn kill_loop_of_adopt() {
    let sandbox = Sandbox::new();
    for (directory, name) in copies() {
        sandbox.write(&format!("{directory}/{name}/SKILL.md"), skill(name, "x\n"));
    }
    let before = files(&sandbox.project());
    let one_place = sandbox.project().join(".agents/skills");
    let is_gathered = |name: &str| one_place.join(name).join("SKILL.md").is_file();
    let mut killer = Killer::new();
    while killer.killed < killer.kills {
        let is_undo = killer.next().is_multiple_of(2);
        if is_undo {
            assert_eq!(sandbox.run(&["adopt", "--all", "--yes"]).code, 0);
        }
        killer.kill(&sandbox, if is_undo { &["undo", "--yes"] } else { &["adopt", "--all", "--yes"] });
        // A command that hands skills to a model completes what was begun.
        assert_eq!(sandbox.run(&["catalog"]).code, 0);
        for (directory, name) in copies() {
            let path = sandbox.project().join(directory).join(name).join("SKILL.md");
            assert!(path.is_file() || is_gathered(name), "{} is missing", path.display());
        }
        let run = sandbox.run(&["adopt", "--all", "--yes"]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        assert!(!run.stderr.contains("interrupted"), "{}", run.stderr);
        for (directory, name) in copies() {
            let path = sandbox.project().join(directory).join(name);
            // Claude Code does not read the one place.
            let is_right = if directory == ".claude/skills" { path.is_symlink() } else { !path.is_dir() };
            assert!((is_right || path.is_symlink()) && is_gathered(name), "{}", path.display());
        }
        let run = sandbox.run(&["undo", "--yes"]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        assert_eq!(files(&sandbox.project()), before, "temporary files stay, or a copy is elsewhere");
    }
}

/// Commands that change files of clients, each with the one that takes it back.
const CHANGES: [(&[&str], &[&str]); 3] = [
    (&["connect", "--yes", "claude-code", "codex", "cursor"], &["undo", "--yes"]),
    (&["link", "--yes", "claude-code"], &["undo", "--yes"]),
    (&["disable", "alpha", "beta"], &["enable", "alpha", "beta"]),
];

#[test]
fn kill_loop_of_connect_link_and_disable() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/settings.json", "{\n  // Mine.\n  \"model\": \"opus\"\n}\n");
    sandbox.write("../home/.claude.json", "{\"mcpServers\": {}}\n");
    sandbox.write("../home/.codex/config.toml", "# Mine.\nmodel = \"x\"\n");
    sandbox.write("../home/.cursor/mcp.json", "{ \"mcpServers\": {} }\n");
    sandbox.write("../home/.config/repertoire/config.toml", "# Mine.\n");
    let state = || {
        let mut found = files(&sandbox.home());
        found.retain(|path, _| !path.contains(".local/state"));
        found.extend(files(&sandbox.project()));
        // What showed that links can be made is removed the next time.
        found.retain(|path, _| !path.ends_with("/.rep-staging-link"));
        found
    };
    let mut killer = Killer::new();
    while killer.killed < killer.kills {
        let (change, undo) = CHANGES[killer.next() as usize % CHANGES.len()];
        let before = state();
        assert_eq!(sandbox.run(change).code, 0);
        let after = state();
        let (killed, begin) =
            if killer.next().is_multiple_of(2) { (undo, &after) } else { (change, &before) };
        if killed == change {
            assert_eq!(sandbox.run(undo).code, 0);
        }
        assert_eq!(state(), *begin, "{killed:?}");
        killer.kill(&sandbox, killed);
        assert_eq!(sandbox.run(&["catalog"]).code, 0);
        let found = state();
        assert!(
            found == before || found == after,
            "{killed:?} is half done: {:?}",
            (
                before.keys().collect::<Vec<_>>(),
                found.keys().collect::<Vec<_>>(),
                after.keys().collect::<Vec<_>>()
            )
        );
        if found == after {
            assert_eq!(sandbox.run(undo).code, 0);
        }
        assert_eq!(state(), before, "{undo:?}");
    }
}
