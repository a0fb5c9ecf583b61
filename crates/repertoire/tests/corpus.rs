//! Lists every skill of a corpus of real ones, where there is a corpus, and prints the share of each
//! diagnostic.
//!
//! `REPERTOIRE_CORPUS` may name a directory of skills. Otherwise archives in `../shared/corpus` beside the
//! repository are used.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // Tests may touch the world.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use repertoire::provider::fs::{FsOptions, FsProvider};
use repertoire::{Entry, Provider, Registry};
use repertoire_model::{Policy, RuleId, Severity, State};

/// The share of skills that can be parsed at all which must be active under the standard profile.
const MIN_ACTIVE_PERCENT: f64 = 99.5;

/// A corpus: its name and the directory of its skills. The directory lives as long as the value.
struct Corpus {
    name: String,
    root: PathBuf,
    _unpacked: Option<tempfile::TempDir>,
}

fn corpora() -> Vec<Corpus> {
    if let Some(root) = std::env::var_os("REPERTOIRE_CORPUS") {
        return vec![Corpus { name: "REPERTOIRE_CORPUS".to_owned(), root: root.into(), _unpacked: None }];
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let archives = std::fs::read_dir(beside).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut archives: Vec<PathBuf> =
        archives.filter(|path| path.to_string_lossy().ends_with(".tar.zst")).collect();
    archives.sort();
    archives.iter().filter_map(|archive| unpack(archive)).collect()
}

fn unpack(archive: &Path) -> Option<Corpus> {
    let directory = tempfile::tempdir().unwrap();
    let status =
        Command::new("tar").arg("--zstd").arg("-xf").arg(archive).arg("-C").arg(directory.path()).status();
    if !status.is_ok_and(|status| status.success()) {
        println!("SKIPPED: {} cannot be unpacked; tar with zstd is needed", archive.display());
        return None;
    }
    let name = archive.file_name().unwrap().to_string_lossy().into_owned();
    Some(Corpus { name, root: directory.path().join("skills"), _unpacked: Some(directory) })
}

/// Returns every directory that holds a file which is spelled like SKILL.md.
fn skill_directories(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            } else if entry.file_name().eq_ignore_ascii_case("skill.md") {
                found.push(directory.clone());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

#[test]
fn every_real_skill_is_listed_or_set_aside_with_a_reason() {
    let corpora = corpora();
    if corpora.is_empty() {
        println!("SKIPPED: there is no corpus; set REPERTOIRE_CORPUS to a directory of skills");
    }
    for corpus in corpora {
        check(&corpus);
    }
}

/// The results for a part of a corpus.
#[derive(Default)]
struct Tally {
    shares: BTreeMap<(Severity, RuleId), usize>,
    active: usize,
    unparseable: usize,
    set_aside: Vec<String>,
}

fn check(corpus: &Corpus) {
    let directories = skill_directories(&corpus.root);
    let part = directories.len().div_ceil(std::thread::available_parallelism().map_or(1, usize::from)).max(1);
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let parts: Vec<_> = directories.chunks(part).map(|part| scope.spawn(|| tally(part))).collect();
        for tally in parts.into_iter().map(|part| part.join().unwrap()) {
            for (rule, count) in tally.shares {
                *all.shares.entry(rule).or_default() += count;
            }
            all.active += tally.active;
            all.unparseable += tally.unparseable;
            all.set_aside.extend(tally.set_aside);
        }
    });
    let Tally { shares, active, unparseable, set_aside } = all;
    let total = directories.len();
    println!("{}: {total} skills, {active} active, {unparseable} not parseable", corpus.name);
    println!("{}", set_aside.join("\n"));
    for ((severity, rule), count) in shares.iter().rev() {
        println!("  {severity:<8} {rule:<26} {count:>6} {:>6.2} %", *count as f64 * 100.0 / total as f64);
    }
    let parseable = (total - unparseable).max(1);
    assert!(
        active as f64 * 100.0 / parseable as f64 >= MIN_ACTIVE_PERCENT,
        "{active} of {parseable} are active"
    );
}

fn tally(directories: &[PathBuf]) -> Tally {
    let mut tally = Tally::default();
    for directory in directories {
        let mut options = FsOptions::new(directory.to_string_lossy(), directory);
        // Some have further skills in groups below them; these have directories of their own in the list.
        options.limits.max_depth = 1;
        let provider: Arc<dyn Provider> = Arc::new(FsProvider::new(options));
        let registry = pollster::block_on(Registry::open_for_inspection(vec![provider], Policy::default()));
        let snapshot = registry.snapshot();
        // A directory that is not called like its skill may have further skills in it.
        let is_own = |entry: &&Entry| Path::new(entry.directory()) == directory;
        let Some(entry) = snapshot.entries().iter().find(is_own) else {
            assert!(!snapshot.problems().is_empty(), "{} is set aside without a reason", directory.display());
            continue;
        };
        let diagnostics = pollster::block_on(registry.check(entry));
        let rules: BTreeSet<(Severity, RuleId)> = diagnostics.iter().map(|d| (d.severity, d.rule)).collect();
        for rule in rules {
            *tally.shares.entry(rule).or_default() += 1;
        }
        if entry.state == State::Active {
            tally.active += 1;
            continue;
        }
        let reason = diagnostics.iter().max_by_key(|diagnostic| diagnostic.severity).expect("a reason");
        assert!(reason.help.is_some(), "{}: nothing to act on: {reason:?}", directory.display());
        tally.unparseable += usize::from(reason.rule.is_fatal());
        tally.set_aside.push(format!("  {}: {}: {}", directory.display(), reason.rule, reason.message));
    }
    tally
}
