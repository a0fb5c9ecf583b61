//! What becomes of an index, of settings and of a bisection.

#![allow(clippy::disallowed_methods, reason = "what came of it is looked at plainly")]

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::super::carry::BISECTING;
use super::{made, output, repository, run};
use crate::exec::outcome::Aftermath;
use crate::exec::scratch::Scratch;

#[test]
fn settings_and_bisecting_are_for_one_run() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    for name in ["b", "c", "d", "e"] {
        fs::write(top.join(name), name).unwrap();
        assert!(run(&top, &[], &["add", "."]) && run(&top, &[], &["commit", "-qm", name]));
    }
    let left_out = |what: &[&str]| {
        let what = what.iter().map(|one| (*one).to_owned()).collect();
        Some(Aftermath::RepositoryLeftOut(repository.own.clone(), what))
    };
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    assert!(run(&top, &own, &["branch", "old"]) && run(&top, &own, &["branch", "-m", "old", "new"]));
    assert_eq!(stand_in.carry_over(None), None);
    assert!(
        run(&top, &[], &["rev-parse", "refs/heads/new"]) && !run(&top, &[], &["rev-parse", "refs/heads/old"])
    );
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    // Files would be missing, and nothing say why.
    assert!(!run(&top, &own, &["sparse-checkout", "set", "nothing"]) && top.join("b").is_file());
    assert!(run(&top, &own, &["config", "a.b", "c"]));
    assert_eq!(output(&top, &own, &["config", "a.b"]).unwrap(), "c\n");
    assert_eq!(stand_in.carry_over(None), left_out(&["config"]));
    assert!(!run(&top, &[], &["config", "a.b"]));
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["bisect", "start", "main", "main~4"]));
    let Some(Aftermath::RepositoryLeftOut(_, left)) = stand_in.carry_over(None) else { panic!("it is told") };
    assert!(left.contains(&BISECTING.to_owned()), "{left:?}");
    // The files are those of the commit that HEAD is at.
    assert_eq!(output(&top, &[], &["status", "--porcelain", "--branch"]).unwrap(), "## HEAD (no branch)\n");
    assert!(run(&top, &[], &["checkout", "-q", "-"]));
    assert_eq!(output(&top, &[], &["status", "--porcelain", "--branch"]).unwrap(), "## main\n");
}

#[test]
fn an_index_that_was_only_looked_at_is_no_change() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    let look = |variables: &[(String, String)]| {
        let later = SystemTime::now() + Duration::from_secs(3600);
        fs::File::options().write(true).open(top.join("a")).unwrap().set_modified(later).unwrap();
        assert!(run(&top, variables, &["status"]));
    };
    let before = fs::read(repository.own.join("index")).unwrap();
    look(&own);
    assert_ne!(fs::read(stand_in.own.path().join("index")).unwrap(), before);
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(fs::read(repository.own.join("index")).unwrap(), before);
    fs::write(top.join("b"), "b").unwrap();
    assert!(run(&top, &own, &["add", "b"]) && run(&top, &own, &["commit", "-qm", "second"]));
    look(&[]);
    assert_ne!(fs::read(repository.own.join("index")).unwrap(), before);
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(output(&top, &[], &["log", "--format=%s"]).unwrap(), "second\nfirst\n");
    assert_eq!(output(&top, &[], &["status", "--porcelain"]).unwrap(), "");
}

#[test]
fn an_index_is_no_later_than_it_was() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let time = |path: &Path| fs::metadata(path.join("index")).unwrap().modified().unwrap();
    let set = |path: &Path, time: SystemTime| {
        fs::File::options().write(true).open(path.join("index")).unwrap().set_modified(time).unwrap();
    };
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    set(&repository.own, then);
    let stand_in = made(&repository, &scratch);
    assert_eq!(time(stand_in.own.path()), then);
    fs::write(top.join("b"), "b").unwrap();
    assert!(run(&top, &stand_in.variables(), &["add", "b"]));
    let then = then + Duration::from_secs(10);
    set(stand_in.own.path(), then);
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(time(&repository.own), then);
    // One that is yet to come would hide what is changed until then.
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["rm", "-q", "--cached", "b"]));
    set(stand_in.own.path(), SystemTime::now() + Duration::from_secs(3600));
    assert_eq!(stand_in.carry_over(None), None);
    assert!(time(&repository.own) <= SystemTime::now());
}

#[test]
fn an_index_in_two_parts_becomes_one() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    assert!(run(&top, &[], &["update-index", "--split-index"]));
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    assert_eq!(output(&top, &own, &["ls-files"]).unwrap(), "a\n");
    assert_eq!(stand_in.carry_over(None), None);
    fs::write(top.join("b"), "b").unwrap();
    assert!(run(&top, &own, &["add", "b"]));
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(output(&top, &[], &["ls-files"]).unwrap(), "a\nb\n");
    assert_eq!(output(&top, &[], &["status", "--porcelain"]).unwrap(), "A  b\n");
}
