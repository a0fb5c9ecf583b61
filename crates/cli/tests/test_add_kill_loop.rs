//! Kills `rep add`, `rep update`, `rep sync` and `rep remove` at random moments: no skill is ever half there,
//! and after the next command every lock matches the files.
//!
//! `REPERTOIRE_TEST_KILLS` sets the number of kills.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::git_repository::{Repository, empty_project};
use crate::sandbox::{Sandbox, skill};

/// The number of kills without the variable.
const KILLS: u64 = 40;

/// The skills, each with files that say which version they belong to.
const NAMES: [&str; 3] = ["csv", "forms", "pdf"];

struct KillLoop {
    sandbox: Sandbox,
    repository: Repository,
    /// The state of the random number generator.
    random: u64,
    /// The longest delays before a kill.
    longest: [Duration; 4],
    killed: u64,
    version: u64,
}

impl KillLoop {
    fn new(seed: u64) -> Self {
        let (sandbox, repository) = (empty_project(), Repository::new());
        sandbox.write("skills-lock.json", "{\"version\": 1, \"skills\": {}}\n");
        fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
        let mut it =
            Self { sandbox, repository, random: seed, longest: [Duration::ZERO; 4], killed: 0, version: 0 };
        it.release();
        it
    }

    /// Commits a new version of all skills.
    fn release(&mut self) {
        self.version += 1;
        let version = self.version;
        for name in NAMES {
            let text = skill(name, &format!("# {name}\n\nVersion {version}.\n"));
            self.repository.write(&format!("skills/{name}/SKILL.md"), text);
            for file in ["one", "two"] {
                self.repository
                    .write(&format!("skills/{name}/references/{file}.md"), format!("Version {version}.\n"));
            }
        }
        self.repository.commit();
    }

    /// Returns a number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit.max(1)
    }

    /// Runs a command and kills it at a random moment; the first time of each kind it measures how long it
    /// takes.
    fn kill(&mut self, kind: usize, arguments: &[&str]) {
        let mut command = self.sandbox.command(arguments);
        let start = Instant::now();
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        if self.longest[kind] == Duration::ZERO {
            assert!(child.wait().unwrap().success(), "{arguments:?}");
            self.longest[kind] = start.elapsed();
            return;
        }
        let longest = self.longest[kind].as_micros() as u64;
        // Most of the time goes to fetching; the change comes last.
        let delay = if self.below(3) == 0 { self.below(longest) } else { longest / 3 + self.below(longest) };
        thread::sleep(Duration::from_micros(delay));
        child.kill().unwrap();
        self.killed += u64::from(child.wait().unwrap().signal() == Some(9));
    }

    /// Expects that every skill that is there is whole, and that the next command that hands skills to a
    /// model makes the locks match.
    fn expect_sound(&self) {
        self.sandbox.run(&["catalog"]);
        let skills = self.sandbox.project().join(".agents/skills");
        for name in NAMES {
            let Ok(manifest) = fs::read_to_string(skills.join(name).join("SKILL.md")) else { continue };
            let version = manifest.lines().last().unwrap();
            for file in ["one", "two"] {
                let text =
                    fs::read_to_string(skills.join(name).join(format!("references/{file}.md"))).unwrap();
                assert_eq!(text.trim_end(), version, "{name} is torn");
            }
        }
        let listed = self.sandbox.json(&["list", "--all", "--json"]);
        let listed: Vec<&str> = listed["skills"]
            .as_array()
            .unwrap()
            .iter()
            .map(|skill| skill["name"].as_str().unwrap())
            .collect();
        let lock = fs::read_to_string(self.sandbox.project().join("repertoire.lock")).unwrap_or_default();
        let locked: Vec<&str> =
            lock.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"')).collect();
        assert_eq!(listed, locked);
        for name in &locked {
            let link = self.sandbox.project().join(".claude/skills").join(name);
            assert!(link.is_symlink(), "{name} has no link");
        }
        if !locked.is_empty() {
            let run = self.sandbox.run(&["sync", "--frozen"]);
            assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        }
        let other: serde_json::Value = serde_json::from_str(&self.sandbox.read("skills-lock.json")).unwrap();
        let other: Vec<&String> = other["skills"].as_object().unwrap().keys().collect();
        assert_eq!(other, locked);
    }

    fn run(mut self, kills: u64) {
        let url = self.repository.url();
        let mut round = 0;
        while self.killed < kills {
            match round % 4 {
                0 => self.kill(0, &["add", &url, "--all", "--yes"]),
                1 => {
                    self.sandbox.json(&["add", &url, "--all", "--yes", "--json"]);
                    for name in NAMES {
                        let link = self.sandbox.project().join(".claude/skills").join(name);
                        assert!(link.is_symlink(), "{name} has no link");
                    }
                    self.release();
                    self.kill(1, &["update", "--yes"]);
                }
                2 => {
                    fs::remove_dir_all(self.sandbox.project().join(".agents/skills/pdf")).unwrap();
                    self.kill(2, &["sync"]);
                    self.sandbox.json(&["sync", "--json"]);
                }
                _ => self.kill(3, &["remove", &url, "--yes"]),
            }
            self.expect_sound();
            if round % 4 == 3 && self.sandbox.project().join("repertoire.lock").exists() {
                self.sandbox.json(&["remove", &url, "--yes", "--json"]);
            }
            round += 1;
        }
    }
}

#[test]
fn kill_loop_of_changes_to_added_skills() {
    let kills = std::env::var("REPERTOIRE_TEST_KILLS").ok().and_then(|kills| kills.parse().ok());
    KillLoop::new(0x5eed).run(kills.unwrap_or(KILLS));
}
