//! Kills `rep adopt` and `rep adopt --undo` at random moments: after the next command every client has every skill, and `--undo` puts all back.
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

/// Returns every file below `directory`, with its content.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut pending) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                pending.push(path);
            } else {
                found.insert(path.display().to_string(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn kill_loop_of_adopt() {
    let kills = std::env::var("REPERTOIRE_TEST_KILLS").ok().and_then(|kills| kills.parse().ok());
    let kills: u64 = kills.unwrap_or(KILLS);
    let sandbox = Sandbox::new();
    for (directory, name) in copies() {
        sandbox.write(&format!("{directory}/{name}/SKILL.md"), skill(name, "x\n"));
    }
    let before = files(&sandbox.project());
    let (mut killed, mut random, mut longest) = (0, 0x5eed_u64, [Duration::ZERO; 2]);
    while killed < kills {
        let (kind, way) = if random % 2 == 0 { (0, "--all") } else { (1, "--undo") };
        if kind == 1 {
            assert_eq!(sandbox.run(&["adopt", "--all", "--yes"]).code, 0);
        }
        let start = Instant::now();
        let mut command = sandbox.command(&["adopt", way, "--yes"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if longest[kind] == Duration::ZERO {
            assert!(child.wait().unwrap().success());
            longest[kind] = start.elapsed();
        } else {
            thread::sleep(Duration::from_micros((random >> 1) % longest[kind].as_micros() as u64));
            child.kill().unwrap();
            killed += u64::from(child.wait().unwrap().signal() == Some(9));
        }
        // Any command completes what was begun.
        assert_eq!(sandbox.run(&["list"]).code, 0);
        for (directory, name) in copies() {
            let path = sandbox.project().join(directory).join(name).join("SKILL.md");
            assert!(path.is_file(), "{} is missing", path.display());
        }
        let run = sandbox.run(&["adopt", "--all", "--yes"]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        assert!(!run.stderr.contains("interrupted"), "{}", run.stderr);
        for (directory, name) in copies() {
            let path = sandbox.project().join(directory).join(name);
            assert!(path.is_symlink() && path.join("SKILL.md").is_file(), "{}", path.display());
        }
        let run = sandbox.run(&["adopt", "--undo", "--yes"]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        assert_eq!(files(&sandbox.project()), before, "temporary files stay, or a copy is elsewhere");
    }
}
