//! The most lines of Rust that the crates may have, tests left out. A change that needs more raises the
//! number by its own budget and says why.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{read, sources};

/// The most lines of all crates together.
const ALL: usize = 118_830;

/// The most lines of single crates, by directory.
const CRATES: &[(&str, usize)] = &[("app", 7_922), ("cli", 18_900)];

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

#[test]
fn items_of_tests_do_not_count() {
    let text = "fn a() {}\n#[cfg(test)]\nuse b::{\n    c,\n};\nfn d() {\n}\n#[cfg(test)]\nmod tests {\n    fn e() {\n    }\n}\n";
    assert_eq!(lines_without_tests(text), 3);
}
