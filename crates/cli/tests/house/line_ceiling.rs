//! The most lines of Rust that the crates may have, tests left out. A change that needs more raises the
//! number by its own budget and says why.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{read, sources};

/// The most lines of all crates together.
const ALL: usize = 122_356;

/// The most lines of single crates, by directory.
const CRATES: &[(&str, usize)] = &[("app", 8_705), ("cli", 20_115)];
/// Returns `true` for files that hold tests alone, benchmarks and examples.
fn is_test_file(path: &Path) -> bool {
    let mut directories = path.iter().filter_map(|part| part.to_str());
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    directories.any(|part| ["tests", "benches", "examples"].contains(&part))
        || ["tests.rs", "properties.rs"].contains(&name)
        || name.ends_with("_tests.rs")
}

/// Returns the number of lines of a file outside of items that only tests have.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let (mut count, mut at) = (0, 0);
    while at < lines.len() {
        let line = lines[at];
        let rest = line.trim_start();
        if !rest.starts_with("#[cfg(test)]") && !rest.starts_with("#[cfg(all(test") {
            (count, at) = (count + 1, at + 1);
            continue;
        }
        let end = format!("{}}}", &line[..line.len() - rest.len()]);
        let ends = |line: &str| line.strip_prefix(&end).is_some_and(|rest| rest.is_empty() || rest == ";");
        at += 1;
        while at < lines.len() && !lines[at].ends_with([';', '{']) {
            at += 1;
        }
        if lines.get(at).is_some_and(|line| line.ends_with('{')) {
            while at < lines.len() && !ends(lines[at]) {
                at += 1;
            }
        }
        at += 1;
    }
    count
}

#[test]
fn the_crates_stay_below_their_ceiling_of_lines() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in sources("crates").into_iter().filter(|path| !is_test_file(path)) {
        let directory = path.iter().nth(1).and_then(|part| part.to_str()).unwrap_or_default().to_owned();
        *counts.entry(directory).or_default() += lines_without_tests(&read(&path));
    }
    let all: usize = counts.values().sum();
    assert!(all <= ALL, "{all} lines, {ALL} are permitted: {counts:?}");
    for (directory, most) in CRATES {
        let found = counts.get(*directory).copied().unwrap_or_default();
        assert!(found <= *most, "crates/{directory} has {found} lines, {most} are permitted");
    }
}

/// The most methods of a session, all files together. What belongs to a part of it goes there, as to
/// `SkillLookup`.
const SESSION_METHODS: usize = 60;

#[test]
fn a_session_has_few_methods() {
    let mut names = Vec::new();
    for path in sources("crates/repertoire/src/session") {
        let text = read(&path);
        let mut lines = text.lines();
        while lines.any(|line| line == "impl Session {") {
            let body = lines.by_ref().take_while(|line| *line != "}");
            let methods = body.filter(|line| line.starts_with("    ") && !line.starts_with("     "));
            let names_of =
                methods.filter(|line| !line.contains("//")).filter_map(|line| line.split_once("fn "));
            names.extend(names_of.filter_map(|(_, rest)| rest.split(['(', '<']).next().map(str::to_owned)));
        }
    }
    let found = names.len();
    assert!(found <= SESSION_METHODS, "{found} methods, {SESSION_METHODS} are permitted: {names:?}");
    assert!(names.iter().any(|name| name == "call_from"), "{names:?}");
}

#[test]
fn items_of_tests_do_not_count() {
    let text = "fn a() {}\n#[cfg(test)]\nuse b::{\n    c,\n};\nfn d() {\n}\n#[cfg(test)]\nmod tests {\n    fn e() {\n    }\n}\n";
    assert_eq!(lines_without_tests(text), 3);
}
