//! `rep check --compat skills-ref` beside the Python reference, over generated skills and, if there is one, a corpus.
//!
//! Runs when `REPERTOIRE_SKILLS_REF` names an `agentskills` executable (`pip install skills-ref==0.1.1`), and over
//! the skills below the directory `REPERTOIRE_CORPUS` when that is set too.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How many mismatches are shown.
const MAX_SHOWN: usize = 20;

#[test]
fn rep_answers_as_the_reference() {
    let Some(reference) = std::env::var_os("REPERTOIRE_SKILLS_REF") else {
        eprintln!("SKIPPED: set REPERTOIRE_SKILLS_REF to an `agentskills` executable to compare with it");
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let mut command_lines = usage_command_lines();
    for directory in generated_skills(scratch.path()) {
        command_lines.extend(commands_for(&directory));
    }
    command_lines.extend(path_command_lines(scratch.path()));
    if let Some(corpus) = std::env::var_os("REPERTOIRE_CORPUS") {
        for directory in skills_below(Path::new(&corpus)) {
            command_lines.extend(commands_for(&directory));
        }
    }
    let mut mismatches = Vec::new();
    for arguments in &command_lines {
        let expected = answer(&run(&reference, arguments, scratch.path()));
        let mut ours: Vec<OsString> = ["check", "--compat", "skills-ref"].map(OsString::from).to_vec();
        ours.extend_from_slice(arguments);
        let actual = answer(&run(OsStr::new(env!("CARGO_BIN_EXE_rep")), &ours, scratch.path()));
        if expected != actual {
            mismatches.push(format!("{arguments:?}\n  reference {expected:?}\n  rep       {actual:?}"));
        }
    }
    let shown = mismatches.iter().take(MAX_SHOWN).cloned().collect::<Vec<_>>().join("\n");
    assert!(mismatches.is_empty(), "{} of {} differ:\n{shown}", mismatches.len(), command_lines.len());
    eprintln!("{} command lines agree with the reference", command_lines.len());
}

/// Returns what is compared: exit code, stdout and stderr, of a traceback only the last line.
fn answer(output: &Output) -> (Option<i32>, String, String) {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if stderr.starts_with("Traceback (most recent call last)") {
        stderr = format!("{}\n", stderr.trim_end().lines().last().unwrap_or_default());
    }
    (output.status.code(), stdout, stderr)
}

fn run(program: &OsStr, arguments: &[OsString], directory: &Path) -> Output {
    // The reference wraps its help to the terminal and picks its encoding from the locale.
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).env_remove("COLUMNS");
    command.env_remove("PYTHONIOENCODING").env("PYTHONUTF8", "1").env("LC_ALL", "C.UTF-8").output().unwrap()
}

fn commands_for(directory: &Path) -> Vec<Vec<OsString>> {
    ["validate", "read-properties", "to-prompt"]
        .map(|command| vec![command.into(), directory.into()])
        .to_vec()
}

fn skills_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        let mut is_skill = false;
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                _ => is_skill |= entry.file_name().eq_ignore_ascii_case("skill.md"),
            }
        }
        if is_skill {
            found.push(directory);
        }
    }
    found.sort();
    found
}

fn usage_command_lines() -> Vec<Vec<OsString>> {
    let lines: &[&[&str]] = &[
        &[],
        &["--"],
        &["--help"],
        &["--version"],
        &["--version", "--help"],
        &["--help", "bogus"],
        &["--help=3"],
        &["--hel"],
        &["--verhelp"],
        &["-h"],
        &["-"],
        &[""],
        &["bogus"],
        &["valid"],
        &["prompt"],
        &["read"],
        &["read-propertie"],
        &["--", "--help"],
        &["--", "validate", "."],
        &["--bogus", "validate"],
        &["validate"],
        &["validate", "--help"],
        &["validate", ".", "--help"],
        &["validate", "--help", "--bogus"],
        &["validate", "--help=x"],
        &["validate", "--"],
        &["validate", "--", "--x"],
        &["validate", "-x=3", "."],
        &["validate", ""],
        &["validate", "-"],
        &["validate", "nowhere"],
        &["validate", "it's nowhere"],
        &["validate", ".", "one"],
        &["validate", ".", "one", "two"],
        &["read-properties"],
        &["read-properties", "--help"],
        &["to-prompt"],
        &["to-prompt", "--help"],
        &["to-prompt", ".", "nowhere"],
    ];
    lines.iter().map(|line| line.iter().map(OsString::from).collect()).collect()
}

/// Writes one skill per recorded document and one per oddity of encoding, and returns their directories.
fn generated_skills(scratch: &Path) -> Vec<PathBuf> {
    let recorded = include_str!("../../model/testdata/skills_ref/recorded.json");
    let recorded: Vec<serde_json::Value> = serde_json::from_str(recorded).unwrap();
    let recorded = recorded.iter().map(|case| case["content"].as_str().unwrap().as_bytes().to_vec());
    let odd = [
        &b""[..],
        b"\xff\xfe",
        b"---\r\nname: a\r\ndescription: b\r\n---\r\n",
        b"---\rname: a\rdescription: b\r---\r",
        b"\xef\xbb\xbf---\nname: a\ndescription: b\n---\n",
        b"---\nname: a\ndescription: caf\xe9\n---\n",
        b"---\nname: a\ndescription: \xe2\x82",
        b"---\nname: a\ndescription: b\n---\n\xed\xa0\x80",
    ];
    let mut directories = Vec::new();
    for (number, content) in recorded.chain(odd.map(<[u8]>::to_vec)).enumerate() {
        let directory = scratch.join(format!("{number}/a"));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("SKILL.md"), content).unwrap();
        directories.push(directory);
    }
    directories
}

/// Lays out skills under odd paths and returns command lines that name them in odd ways.
fn path_command_lines(scratch: &Path) -> Vec<Vec<OsString>> {
    let skill = |name: &str| format!("---\nname: {name}\ndescription: Use <b> & 'c'\n---\n");
    for (path, content) in [
        ("plain/SKILL.md", skill("plain")),
        ("plain/README.md", String::new()),
        ("lower/skill.md", skill("lower")),
        ("mixed/Skill.md", skill("mixed")),
        ("both/SKILL.md", skill("both")),
        ("both/skill.md", skill("other")),
        ("café/SKILL.md", skill("cafe\u{301}")),
        ("<odd> & 'q'/SKILL.md", skill("odd")),
        ("folder/SKILL.md/x", String::new()),
        ("empty/x", String::new()),
        ("SKILL.md", skill("root")),
    ] {
        let path = scratch.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let paths = [
        "plain",
        "plain/",
        "./plain//",
        "plain/SKILL.md",
        "plain/../plain",
        "plain/README.md",
        "lower",
        "lower/skill.md",
        "mixed",
        "mixed/Skill.md",
        "both",
        "café",
        "<odd> & 'q'",
        "folder",
        "empty",
        "SKILL.md",
        ".",
        "./SKILL.md",
        "..",
        "/",
        "//",
    ];
    let mut lines: Vec<Vec<OsString>> = paths.iter().flat_map(|path| commands_for(Path::new(path))).collect();
    let several: &[&[&str]] = &[
        &["to-prompt", "plain", "lower/skill.md", "<odd> & 'q'"],
        &["to-prompt", "plain", "empty", "mixed"],
        &["to-prompt", "plain", "nowhere"],
    ];
    lines.extend(several.iter().map(|line| line.iter().map(OsString::from).collect::<Vec<_>>()));
    lines
}
