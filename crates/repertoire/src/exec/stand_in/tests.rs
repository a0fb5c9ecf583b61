//! A repository that stands in for another, with git at work in it.

#![allow(clippy::disallowed_methods, reason = "what came of it is looked at plainly")]

use std::fs;

use super::*;
use crate::exec::git_refs::PACKED;
use crate::exec::outcome::Aftermath;

mod index;

/// A checkout that git made, with one commit; nothing where there is no git.
fn repository() -> Option<(tempfile::TempDir, Repository, Scratch)> {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap().join("top");
    fs::create_dir_all(&top).unwrap();
    let scratch = Scratch::create(directory.path()).unwrap();
    if !run(&top, &[], &["init", "-q", "-b", "main", "."]) {
        eprintln!("SKIPPED: git is not installed");
        return None;
    }
    fs::write(top.join("a"), "a").unwrap();
    assert!(run(&top, &[], &["add", "."]) && run(&top, &[], &["commit", "-qm", "first"]));
    Some((directory, Repository::at(&top).unwrap(), scratch))
}

fn made(repository: &Repository, scratch: &Scratch) -> StandIn {
    StandIn::make(repository, scratch, &repository.places(), None).unwrap()
}

fn output(top: &Path, variables: &[(String, String)], words: &[&str]) -> Option<String> {
    let mut git = std::process::Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=e"]).args(words).current_dir(top);
    let done = git.envs(variables.iter().cloned()).output().ok()?;
    done.status.success().then(|| String::from_utf8(done.stdout).unwrap())
}

/// Returns what is kept aside, oldest first.
fn left(top: &Path) -> Vec<String> {
    let refs = output(top, &[], &["for-each-ref", "--format=%(refname)", "refs/repertoire/left"]).unwrap();
    refs.lines().map(str::to_owned).collect()
}

fn run(top: &Path, variables: &[(String, String)], words: &[&str]) -> bool {
    output(top, variables, words).is_some()
}

#[test]
fn what_git_did_is_carried_over() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    assert!(run(&top, &[], &["tag", "old"]) && run(&top, &[], &["pack-refs", "--all"]));
    let stand_in = made(&repository, &scratch);
    assert_eq!(stand_in.carry_over(None), None);
    let own = stand_in.variables();
    fs::write(top.join("b"), "b").unwrap();
    for words in [
        &["checkout", "-qb", "topic/x"][..],
        &["add", "b"],
        &["commit", "-qm", "second"],
        &["tag", "-a", "-m", "m", "new"],
        &["tag", "-d", "old"],
    ] {
        assert!(run(&top, &own, words), "{words:?}");
    }
    fs::write(top.join("b"), "c").unwrap();
    assert!(run(&top, &own, &["stash", "-q"]));
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(output(&top, &[], &["log", "--format=%s", "topic/x"]).unwrap(), "second\nfirst\n");
    assert_eq!(output(&top, &[], &["status", "--porcelain", "--branch"]).unwrap(), "## topic/x\n");
    assert_eq!(output(&top, &[], &["tag"]).unwrap(), "new\n");
    assert!(output(&top, &[], &["reflog", "-2", "HEAD"]).unwrap().contains("second"));
    assert!(output(&top, &[], &["stash", "list"]).unwrap().starts_with("stash@{0}"));
    assert!(run(&top, &[], &["fsck", "--strict", "--full"]));
    // And back again, from a repository that has it.
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    assert!(run(&top, &own, &["stash", "pop", "-q"]) && run(&top, &own, &["checkout", "-q", "-f", "main"]));
    assert!(run(&top, &own, &["branch", "-q", "-D", "topic/x"]));
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(output(&top, &[], &["branch", "--format=%(refname)"]).unwrap(), "refs/heads/main\n");
    assert_eq!(output(&top, &[], &["stash", "list"]).unwrap(), "");
    assert!(!top.join(".git/index.lock").exists());
}

#[test]
fn nothing_is_carried_over_what_others_changed() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    assert!(run(&top, &own, &["commit", "-q", "--allow-empty", "-m", "mine"]));
    let changed = Some(Aftermath::RepositoryChanged(repository.own.clone()));
    fs::write(repository.own.join("index.lock"), "").unwrap();
    assert_eq!(stand_in.carry_over(None), changed);
    assert!(repository.own.join("index.lock").exists(), "the lock is another's");
    fs::remove_file(repository.own.join("index.lock")).unwrap();
    assert!(run(&top, &[], &["commit", "-q", "--allow-empty", "-m", "theirs"]));
    assert_eq!(stand_in.carry_over(None), changed);
    assert_eq!(output(&top, &[], &["log", "--format=%s"]).unwrap(), "theirs\nfirst\n");
    assert!(!repository.own.join("index.lock").exists());
    assert!(!repository.own.join("refs/heads/main.lock").exists());
}

#[test]
fn work_is_kept_where_it_cannot_be_carried_over() {
    type Spoil = fn(&Path, &Path);
    let spoilers: &[Spoil] = &[
        |real, _| fs::write(real.join("index.lock"), "").unwrap(),
        |_, git| fs::create_dir(git.join("rebase-merge")).unwrap(),
        |_, git| {
            let main = fs::read_to_string(git.join(PACKED)).unwrap();
            fs::create_dir_all(git.join("refs/heads/main")).unwrap();
            fs::write(git.join("refs/heads/main/below"), &main[..40]).unwrap();
        },
    ];
    for (number, spoil) in spoilers.iter().enumerate() {
        let Some((_directory, repository, scratch)) = repository() else { return };
        let top = repository.top.clone();
        fs::write(top.join("a"), "not committed").unwrap();
        let stand_in = made(&repository, &scratch);
        assert!(run(&top, &stand_in.variables(), &["stash", "-q"]));
        assert_eq!(fs::read_to_string(top.join("a")).unwrap(), "a");
        spoil(&repository.own, stand_in.own.path());
        assert!(stand_in.carry_over(None).is_some(), "{number}");
        let _ = fs::remove_file(repository.own.join("index.lock"));
        let left = left(&top);
        let stash = left.iter().find(|name| name.ends_with("/stash/1")).unwrap();
        assert!(run(&top, &[], &["stash", "apply", "-q", stash]), "{number}");
        assert_eq!(fs::read_to_string(top.join("a")).unwrap(), "not committed", "{number}");
    }
}

#[test]
fn there_is_an_end_to_carrying_over() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", "second"]));
    let late = stand_in.carry_over_within(Duration::ZERO, None);
    assert!(matches!(late, Some(Aftermath::RepositoryNotWritten(..))), "{late:?}");
    assert_eq!(output(&top, &[], &["log", "--format=%s"]).unwrap(), "first\n");
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(output(&top, &[], &["log", "--format=%s"]).unwrap(), "second\nfirst\n");
}

#[test]
fn nothing_is_packed_so_nothing_is_lost() {
    let Some((directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let other = directory.path().join("other");
    let there = other.to_str().unwrap();
    assert!(run(directory.path(), &[], &["clone", "-q", "top", "other"]));
    assert!(run(&other, &[], &["commit", "-q", "--allow-empty", "-m", "theirs"]));
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    fs::write(top.join("b"), "b").unwrap();
    assert!(run(&top, &own, &["-c", "core.fsyncMethod=batch", "add", "b"]));
    assert!(run(&top, &own, &["commit", "-q", "-m", "mine"]));
    // Git says that it cannot, and nothing else happens.
    assert!(!run(&top, &own, &["gc", "-q"]) && !run(&top, &own, &["repack", "-q", "-a", "-d"]));
    assert!(run(&top, &own, &["fetch", "-q", there, "HEAD:theirs"]));
    assert!(run(&top, &own, &["fsck", "--strict"]) && run(&top, &own, &["prune"]));
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(output(&top, &[], &["log", "--format=%s"]).unwrap(), "mine\nfirst\n");
    assert_eq!(output(&top, &[], &["log", "--format=%s", "theirs"]).unwrap(), "theirs\nfirst\n");
    assert!(run(&top, &[], &["fsck", "--strict", "--full"]));
    // Whoever packs all the same is told.
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    fs::remove_file(stand_in.own.path().join("objects/pack")).unwrap();
    assert!(run(&top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", "packed"]));
    assert!(run(&top, &stand_in.variables(), &["gc", "-q"]));
    let Some(Aftermath::RepositoryNotWritten(_, why)) = stand_in.carry_over(None) else { panic!() };
    assert!(why.contains("packed"), "{why}");
}

#[test]
fn a_branch_takes_the_place_of_a_directory_and_the_other_way_round() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    assert!(run(&top, &[], &["checkout", "-q", "-b", "a/b"]));
    for (old, new) in [("a/b", "a"), ("a", "a/b/c")] {
        let scratch = Scratch::create(scratch.path()).unwrap();
        let stand_in = made(&repository, &scratch);
        let own = stand_in.variables();
        // It ends badly, because settings cannot be changed, once the branch is renamed.
        run(&top, &own, &["branch", "-m", old, new]);
        assert!(run(&top, &own, &["commit", "-q", "--allow-empty", "-m", new]));
        assert_eq!(stand_in.carry_over(None), None);
        let branches = output(&top, &[], &["branch", "--format=%(refname:short)"]).unwrap();
        assert_eq!(branches, format!("{new}\nmain\n"));
        assert_eq!(output(&top, &[], &["status", "--porcelain", "-b"]).unwrap(), format!("## {new}\n"));
        let log = output(&top, &[], &["reflog", "--format=%gs", &format!("refs/heads/{new}")]).unwrap();
        assert!(log.contains(&format!("commit: {new}")) && log.contains("Branch: renamed"), "{log}");
    }
    assert!(run(&top, &[], &["fsck", "--strict"]));
}

#[test]
fn borrowed_objects_are_seen_where_they_may_be_read() {
    let Some((directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    assert!(run(&top, &[], &["clone", "-q", "--shared", ".", "inner"]));
    assert!(run(directory.path(), &[], &["clone", "-q", "--reference", "top/inner", "top", "outer"]));
    let root = top.parent().unwrap();
    let outer = Repository::at(&root.join("outer")).unwrap();
    let error = StandIn::make(&outer, &scratch, &outer.places(), None).unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::Repository);
    assert!(error.to_string().contains("borrows objects"), "{error}");
    // One that is said as seen from where it is said.
    fs::write(outer.own.join("objects/info/alternates"), "../../../top/inner/.git/objects\n").unwrap();
    let stand_in = StandIn::make(&outer, &scratch, &[root], None).unwrap();
    let own = stand_in.variables();
    assert_eq!(stand_in.stores.len(), 3, "{stand_in:?}");
    assert!(run(&outer.top, &own, &["commit", "-q", "--allow-empty", "-m", "second"]));
    assert!(run(&outer.top, &own, &["branch", "old", "HEAD^"]) && run(&outer.top, &own, &["fsck"]));
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(output(&outer.top, &[], &["log", "--format=%s", "-2"]).unwrap(), "second\nfirst\n");
    assert_eq!(output(&outer.top, &[], &["log", "--format=%s", "old"]).unwrap(), "first\n");
}

#[test]
fn a_linked_checkout_is_not_made() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    assert!(!run(&top, &own, &["worktree", "add", "-q", "--detach", "linked"]));
    assert!(!top.join("linked").exists());
    assert!(run(&top, &own, &["worktree", "list"]) && run(&top, &own, &["worktree", "prune"]));
    assert!(run(&top, &own, &["branch", "other"]) && run(&top, &own, &["checkout", "-q", "other"]));
    assert_eq!(stand_in.carry_over(None), None);
    // Whoever makes one all the same is told.
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    fs::remove_file(stand_in.own.path().join(LINKED)).unwrap();
    assert!(run(&top, &stand_in.variables(), &["worktree", "add", "-q", "-b", "new", "linked"]));
    let told = Aftermath::RepositoryLeftOut(repository.own.clone(), vec![LINKED.to_owned()]);
    assert_eq!(stand_in.carry_over(None), Some(told));
    assert!(run(&top, &[], &["rev-parse", "-q", "--verify", "new"]) && !repository.own.join(LINKED).exists());
}

#[test]
fn branches_of_other_checkouts_are_theirs() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    assert!(run(&top, &[], &["worktree", "add", "-q", "-b", "side", "../side"]));
    for words in
        [&["branch", "-f", "side", "HEAD"][..], &["branch", "-D", "side"], &["checkout", "-q", "side"]]
    {
        let scratch = Scratch::create(scratch.path()).unwrap();
        let stand_in = made(&repository, &scratch);
        assert!(run(&top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", "x"]));
        assert!(run(&top, &stand_in.variables(), words), "{words:?}");
        let why = "another checkout is on one of the branches".to_owned();
        let failed = Some(Aftermath::RepositoryNotWritten(repository.own.clone(), why));
        assert_eq!(stand_in.carry_over(None), failed, "{words:?}");
    }
    assert!(run(&top, &[], &["rev-parse", "-q", "--verify", "side"]));
}

#[test]
fn what_is_dropped_from_the_stash_is_gone() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    for text in ["one", "two"] {
        fs::write(top.join("a"), text).unwrap();
        assert!(run(&top, &[], &["stash", "push", "-q", "-m", text]));
    }
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["stash", "drop", "-q", "stash@{1}"]));
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(output(&top, &[], &["stash", "list"]).unwrap(), "stash@{0}: On main: two\n");
}

#[test]
fn what_is_not_what_it_has_to_be_is_not_carried_over() {
    type Evil = fn(&Path);
    let evils: &[Evil] = &[
        |git| fs::write(git.join("HEAD"), "nonsense").unwrap(),
        |git| fs::write(git.join("HEAD"), "ref: refs/heads/../../hooks/x\n").unwrap(),
        |git| fs::write(git.join("index"), "no index").unwrap(),
        |git| fs::write(git.join("ORIG_HEAD"), "../../x\n").unwrap(),
        |git| {
            fs::remove_file(git.join("index")).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", git.join("index")).unwrap();
        },
        |git| {
            fs::rename(git, git.with_extension("x")).unwrap();
            std::os::unix::fs::symlink(git.with_extension("x"), git).unwrap();
        },
        |git| {
            fs::write(git.join("refs/heads/other"), format!("{}\n", "1".repeat(40))).unwrap();
            fs::create_dir_all(git.join("objects/11")).unwrap();
            fs::write(git.join("objects/11").join("1".repeat(38)), "no object").unwrap();
        },
    ];
    for (number, evil) in evils.iter().enumerate() {
        let Some((_directory, repository, scratch)) = repository() else { return };
        let stand_in = made(&repository, &scratch);
        let before =
            ["HEAD", "index", "refs/heads/main"].map(|name| fs::read(repository.own.join(name)).unwrap());
        evil(stand_in.own.path());
        let carried = stand_in.carry_over(None);
        assert!(matches!(carried, Some(Aftermath::RepositoryNotWritten(..))), "{number} {carried:?}");
        let after =
            ["HEAD", "index", "refs/heads/main"].map(|name| fs::read(repository.own.join(name)).unwrap());
        assert!(before == after && !repository.own.join("refs/heads/other").exists(), "{number}");
        assert!(!repository.own.join("index.lock").exists(), "{number}");
    }
}

#[test]
fn a_ref_to_nothing_is_left_out_and_the_others_are_not() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    assert!(run(&top, &own, &["checkout", "-q", "-b", "mine"]));
    assert!(run(&top, &own, &["commit", "-q", "--allow-empty", "-m", "second"]));
    for name in ["main", "tag-less"] {
        fs::write(stand_in.own.path().join("refs/heads").join(name), format!("{}\n", "1".repeat(40)))
            .unwrap();
    }
    let left_out = ["refs/heads/main", "refs/heads/tag-less"].map(str::to_owned).to_vec();
    let told = Aftermath::RepositoryLeftOut(repository.own.clone(), left_out);
    assert_eq!(stand_in.carry_over(None), Some(told));
    assert_eq!(output(&top, &[], &["log", "--format=%s", "mine"]).unwrap(), "second\nfirst\n");
    assert_eq!(output(&top, &[], &["log", "--format=%s", "main"]).unwrap(), "first\n");
    assert!(run(&top, &[], &["fsck", "--strict"]));
    // What somebody wrote leads nowhere.
    let message = "1".repeat(40);
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", &message]));
    assert_eq!(stand_in.carry_over(None), None);
    // Nothing else leads there either, and nothing of that is kept.
    for (file, text) in
        [("HEAD", "1".repeat(40)), ("MERGE_HEAD", "1".repeat(40)), ("HEAD", "ref: refs/heads/new".into())]
    {
        let scratch = Scratch::create(scratch.path()).unwrap();
        let stand_in = made(&repository, &scratch);
        fs::write(stand_in.own.path().join("refs/heads/new"), format!("{}\n", "1".repeat(40))).unwrap();
        fs::write(stand_in.own.path().join(file), text + "\n").unwrap();
        let Some(Aftermath::RepositoryNotWritten(_, why)) = stand_in.carry_over(None) else {
            panic!("{file}")
        };
        assert_eq!(why, format!("{file} leads to an object that is not there, or not what it has to be"));
        assert!(!repository.own.join("refs/repertoire").exists(), "{file}");
    }
}

#[test]
fn nothing_is_stashed_that_is_not_there() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    fs::write(top.join("a"), "stashed").unwrap();
    assert!(run(&top, &[], &["stash", "-q"]));
    let log = repository.own.join("logs/refs/stash");
    let before = fs::read_to_string(&log).unwrap();
    let line = format!("{} {} n <e> 1 +0000\tx\n", "0".repeat(40), "1".repeat(40));
    for name in ["refs/stash", "nothing"] {
        let scratch = Scratch::create(scratch.path()).unwrap();
        let stand_in = made(&repository, &scratch);
        fs::write(stand_in.own.path().join("logs/refs/stash"), format!("{line}{before}")).unwrap();
        fs::write(stand_in.own.path().join(name), format!("{}\n", "1".repeat(40))).unwrap();
        let told = Aftermath::RepositoryLeftOut(repository.own.clone(), vec!["refs/stash".to_owned()]);
        assert_eq!(stand_in.carry_over(None), Some(told));
        assert_eq!(fs::read_to_string(&log).unwrap(), before);
    }
}

#[test]
fn what_is_stashed_is_carried_over_whatever_commits_are_called() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    assert!(run(&top, &[], &["checkout", "-qb", "a/-b"]));
    assert!(run(&top, &[], &["commit", "-q", "--allow-empty", "-m", "a \u{1b}[1m subject"]));
    fs::write(top.join("a"), "mine").unwrap();
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    assert!(
        run(&top, &own, &["stash", "-q"])
            && run(&top, &own, &["commit", "-q", "--allow-empty", "-m", "more"])
    );
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(output(&top, &[], &["log", "-1", "--format=%s"]).unwrap(), "more\n");
    assert!(run(&top, &[], &["stash", "pop", "-q"]));
    assert_eq!(fs::read_to_string(top.join("a")).unwrap(), "mine");
}

#[test]
fn a_stash_that_is_not_whole_is_kept_aside_as_far_as_it_is() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    fs::write(top.join("a"), "mine").unwrap();
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["stash", "-q"]));
    let log = stand_in.own.path().join("logs/refs/stash");
    let broken = [fs::read(&log).unwrap(), b"nonsense\n".to_vec()].concat();
    fs::write(&log, broken).unwrap();
    let told = Aftermath::RepositoryLeftOut(repository.own.clone(), vec!["refs/stash".to_owned()]);
    assert_eq!(stand_in.carry_over(None), Some(told));
    let [kept] = &left(&top)[..] else { panic!("one stash is kept") };
    assert_eq!(output(&top, &[], &["show", &format!("{kept}:a")]).unwrap(), "mine");
}

#[test]
fn it_is_told_where_nothing_can_be_kept() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", "mine"]));
    assert!(run(&top, &[], &["update-ref", "refs/repertoire", "HEAD"]));
    assert!(run(&top, &[], &["commit", "-q", "--allow-empty", "-m", "theirs"]));
    let Some(Aftermath::RepositoryNotWritten(_, why)) = stand_in.carry_over(None) else { panic!() };
    assert!(why.contains("nor could all be kept"), "{why}");
}

#[test]
fn what_git_would_obey_is_left_behind() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    assert!(run(&repository.top, &own, &["commit", "-q", "--allow-empty", "-m", "mine"]));
    for name in ["MERGE_RR", "config", "config.worktree", "info/attributes", "remotes", "FETCH_HEAD"] {
        fs::write(stand_in.own.path().join(name), "evil").unwrap();
    }
    fs::remove_file(stand_in.own.path().join("hooks")).unwrap();
    fs::create_dir_all(stand_in.own.path().join("hooks")).unwrap();
    fs::create_dir_all(stand_in.own.path().join("refs/replace")).unwrap();
    fs::write(stand_in.own.path().join("refs/replace/x"), format!("{}\n", "1".repeat(40))).unwrap();
    fs::remove_dir_all(stand_in.own.path().join("logs/refs/heads")).unwrap();
    std::os::unix::fs::symlink("/etc", stand_in.own.path().join("logs/refs/heads")).unwrap();
    let left_out = ["refs/replace/x", "config", "logs/refs/heads/main"].map(str::to_owned).to_vec();
    assert_eq!(
        stand_in.carry_over(None),
        Some(Aftermath::RepositoryLeftOut(repository.own.clone(), left_out))
    );
    for name in ["MERGE_RR", "config.worktree", "info/attributes", "remotes", "FETCH_HEAD", "refs/replace"] {
        assert!(!repository.own.join(name).exists(), "{name}");
    }
    assert!(run(&repository.top, &[], &["fsck", "--strict"]));
}

/// A repository that nobody granted, with a secret in it, and what it is called there.
fn private(root: &Path) -> (std::path::PathBuf, String) {
    let private = root.join("private");
    fs::create_dir_all(&private).unwrap();
    assert!(run(&private, &[], &["init", "-q", "-b", "secret", "."]));
    fs::write(private.join("secret"), "secret").unwrap();
    assert!(run(&private, &[], &["add", "."]) && run(&private, &[], &["commit", "-qm", "secret"]));
    let name = output(&private, &[], &["rev-parse", "HEAD:secret"]).unwrap().trim().to_owned();
    (private.join(".git"), name)
}

#[test]
fn nothing_of_another_repository_comes_in_by_a_link() {
    type Evil = fn(&Path, &Path);
    let evils: &[Evil] = &[
        |git, private| {
            fs::rename(git, git.with_extension("old")).unwrap();
            std::os::unix::fs::symlink(private, git).unwrap();
        },
        |git, private| {
            fs::rename(git, git.with_extension("old")).unwrap();
            fs::rename(private, git).unwrap();
        },
        |git, private| {
            fs::remove_dir_all(git.join("objects")).unwrap();
            std::os::unix::fs::symlink(private.join("objects"), git.join("objects")).unwrap();
            fs::write(git.join("refs/heads/x"), fs::read(private.join("refs/heads/secret")).unwrap())
                .unwrap();
        },
        |git, private| {
            fs::remove_dir_all(git.join("refs")).unwrap();
            std::os::unix::fs::symlink(private.join("refs"), git.join("refs")).unwrap();
        },
    ];
    for (number, evil) in evils.iter().enumerate() {
        let Some((directory, repository, scratch)) = repository() else { return };
        let (private, secret) = private(directory.path());
        let stand_in = made(&repository, &scratch);
        assert!(run(&repository.top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", "x"]));
        evil(stand_in.own.path(), &private);
        stand_in.carry_over(None);
        assert!(!run(&repository.top, &[], &["cat-file", "-e", &secret]), "{number}");
        let refs = output(&repository.top, &[], &["for-each-ref"]).unwrap();
        assert!(!refs.contains("secret"), "{number} {refs}");
    }
}

#[test]
fn a_repository_reads_and_writes_nothing_outside_of_itself() {
    let Some((directory, repository, scratch)) = repository() else { return };
    let (top, root) = (repository.top.clone(), directory.path().canonicalize().unwrap());
    let victim = root.join("victim");
    fs::create_dir_all(&victim).unwrap();
    fs::write(victim.join("id_rsa"), "key").unwrap();
    let head = output(&top, &[], &["rev-parse", "HEAD"]).unwrap();
    // By a name that leads upwards.
    let name = "refs/../../../victim/id_rsa";
    fs::write(root.join("id_rsa"), "PWNED").unwrap();
    fs::create_dir_all(top.join("victim")).unwrap();
    fs::write(top.join("victim/id_rsa"), "PWNED").unwrap();
    fs::write(
        repository.own.join(PACKED),
        format!("{} {name}\n{} refs/heads/id_rsa\n", head.trim(), head.trim()),
    )
    .unwrap();
    let first = made(&repository, &scratch);
    assert!(run(&top, &first.variables(), &["branch", "new"]));
    assert_eq!(first.carry_over(None), None);
    assert_eq!(fs::read_to_string(victim.join("id_rsa")).unwrap(), "key");
    // By a link in the logs, to be read and to be written.
    let logs = repository.own.join("logs/refs/heads");
    fs::rename(&logs, root.join("logs")).unwrap();
    std::os::unix::fs::symlink(&victim, &logs).unwrap();
    let scratch = Scratch::create(scratch.path()).unwrap();
    let error = StandIn::make(&repository, &scratch, &repository.places(), None).unwrap_err();
    assert!(error.to_string().contains("a link is in its place"), "{error}");
    // And by one that came to be meanwhile.
    for name in ["logs/refs/heads", "refs/heads", "objects/pack"] {
        let path = repository.own.join(name);
        let _ = fs::remove_file(&logs);
        fs::create_dir_all(&logs).unwrap();
        let scratch = Scratch::create(scratch.path()).unwrap();
        let stand_in = made(&repository, &scratch);
        assert!(run(&top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", name]));
        assert!(run(&top, &stand_in.variables(), &["branch", "-f", "authorized_keys"]));
        fs::rename(&path, root.join("kept")).unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        stand_in.carry_over(None);
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 1, "{name}");
        fs::remove_file(&path).unwrap();
        fs::rename(root.join("kept"), &path).unwrap();
    }
}

#[test]
fn what_somebody_stashes_meanwhile_is_theirs() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let stash = |variables: &[(String, String)], text: &str| {
        fs::write(top.join("a"), text).unwrap();
        assert!(run(&top, variables, &["stash", "push", "-q", "-m", text]));
    };
    let list = || output(&top, &[], &["stash", "list", "--format=%gs"]).unwrap();
    stash(&[], "old");
    // The command has nothing to do with it.
    let stand_in = made(&repository, &scratch);
    stash(&[], "precious");
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(list(), "On main: precious\nOn main: old\n");
    // It stashes, too; only the log tells that somebody else did.
    for (words, text) in [(&["stash", "drop", "-q", "stash@{1}"][..], "more"), (&["stash", "clear"], "most")]
    {
        let scratch = Scratch::create(scratch.path()).unwrap();
        let stand_in = made(&repository, &scratch);
        stash(&[], text);
        assert!(run(&top, &stand_in.variables(), words));
        assert!(matches!(stand_in.carry_over(None), Some(Aftermath::RepositoryChanged(_))), "{words:?}");
        assert!(
            list().starts_with(&format!("On main: {text}\n"))
                && list().ends_with("On main: precious\nOn main: old\n")
        );
    }
    assert!(!repository.own.join("refs/stash.lock").exists());
}

#[test]
fn all_work_of_every_run_is_kept() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    assert!(run(&top, &[], &["checkout", "-q", "--detach"]));
    for round in 1..=2 {
        let scratch = Scratch::create(scratch.path()).unwrap();
        let stand_in = made(&repository, &scratch);
        let own = stand_in.variables();
        for text in ["one", "two"] {
            fs::write(top.join("a"), text).unwrap();
            assert!(run(&top, &own, &["stash", "push", "-q", "-m", text]));
        }
        assert!(run(&top, &own, &["commit", "-q", "--allow-empty", "-m", "detached"]));
        assert!(run(&top, &own, &["branch", "-f", "branch"]));
        // One that cannot be read is no reason to lose the others.
        fs::write(stand_in.own.path().join("refs/heads/main"), [b'x'; 5000]).unwrap();
        fs::write(repository.own.join("index.lock"), "").unwrap();
        assert!(matches!(stand_in.carry_over(None), Some(Aftermath::RepositoryChanged(_))));
        fs::remove_file(repository.own.join("index.lock")).unwrap();
        let left = left(&top);
        assert_eq!(left.len(), 4 * round, "{left:?}");
        for end in ["/detached", "/heads/branch", "/stash/1", "/stash/2"] {
            assert_eq!(left.iter().filter(|name| name.ends_with(end)).count(), round, "{left:?}");
        }
    }
    assert!(run(&top, &[], &["fsck", "--strict"]));
}

#[test]
fn logs_are_carried_over_as_far_as_they_are_of_use() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    let git = stand_in.own.path().to_owned();
    assert!(run(&top, &own, &["branch", "first"]));
    let logs = git.join("logs/refs/heads");
    let line = fs::read_to_string(logs.join("first")).unwrap();
    // More than all logs together may be, and under many names.
    fs::write(logs.join("long"), line.repeat((17 << 20) / line.len())).unwrap();
    fs::write(logs.join("one"), line.repeat((9 << 20) / line.len())).unwrap();
    fs::copy(logs.join("one"), logs.join("two")).unwrap();
    fs::write(logs.join("linked"), &line).unwrap();
    fs::hard_link(logs.join("linked"), logs.join("other")).unwrap();
    for name in ["long", "one", "two", "linked", "other"] {
        fs::write(git.join("refs/heads").join(name), &line[41..81]).unwrap();
    }
    let left_out = ["linked", "long", "other", "two"].map(|name| format!("logs/refs/heads/{name}")).to_vec();
    let told = Aftermath::RepositoryLeftOut(repository.own.clone(), left_out);
    assert_eq!(stand_in.carry_over(None), Some(told));
    let real = repository.own.join("logs/refs/heads");
    assert_eq!(fs::read_to_string(real.join("first")).unwrap(), line);
    for name in ["long", "two", "linked", "other"] {
        assert!(!real.join(name).exists(), "{name}");
        assert!(run(&top, &[], &["rev-parse", "-q", "--verify", name]));
    }
}

#[test]
fn history_is_not_cut_off() {
    let Some((directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let other = directory.path().join("other");
    assert!(run(directory.path(), &[], &["clone", "-q", "top", "other"]));
    for _ in 0..2 {
        assert!(run(&other, &[], &["commit", "-q", "--allow-empty", "-m", "theirs"]));
    }
    let there = format!("file://{}", other.display());
    let fetch = ["fetch", "-q", "--depth=1", &there, "main:refs/remotes/o/main"];
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    assert!(!run(&top, &own, &fetch), "git says that it cannot");
    assert!(run(&top, &own, &["commit", "-q", "--allow-empty", "-m", "mine"]));
    assert_eq!(stand_in.carry_over(None), None);
    // Whoever does so all the same is told, and nothing of it is kept.
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    fs::remove_file(stand_in.own.path().join("shallow.lock")).unwrap();
    assert!(run(&top, &stand_in.variables(), &fetch));
    let Some(Aftermath::RepositoryNotWritten(_, why)) = stand_in.carry_over(None) else { panic!() };
    assert!(why.starts_with("history was cut off"), "{why}");
    assert!(run(&top, &[], &["fsck", "--strict"]) && left(&top).is_empty());
    // One that was cut off before can be worked in.
    assert!(run(directory.path(), &[], &["clone", "-q", "--depth=1", &there, "shallow"]));
    let shallow = Repository::at(&directory.path().canonicalize().unwrap().join("shallow")).unwrap();
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&shallow, &scratch);
    assert!(run(&shallow.top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", "mine"]));
    assert!(run(&other, &[], &["commit", "-q", "--allow-empty", "-m", "more"]));
    assert!(run(&shallow.top, &stand_in.variables(), &["fetch", "-q"]));
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(output(&shallow.top, &[], &["log", "--format=%s"]).unwrap(), "mine\ntheirs\n");
}

#[test]
fn a_branch_need_not_be_utf8() {
    use std::os::unix::ffi::OsStrExt as _;

    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let mut git = std::process::Command::new("git");
    if !git.args(["checkout", "-q", "-b"]).arg(name).current_dir(&top).status().unwrap().success() {
        return; // Not every file system has such names.
    }
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", "mine"]));
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(output(&top, &[], &["log", "--format=%s"]).unwrap(), "mine\nfirst\n");
    assert!(run(&top, &[], &["fsck", "--strict"]));
}

#[test]
fn branches_and_heads_are_commits() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    assert!(run(&top, &[], &["tag", "-a", "-m", "m", "v1"]));
    let tree = output(&top, &[], &["rev-parse", "HEAD^{tree}"]).unwrap();
    let tag = output(&top, &[], &["rev-parse", "v1"]).unwrap();
    let blob = output(&top, &[], &["rev-parse", "HEAD:a"]).unwrap();
    let stand_in = made(&repository, &scratch);
    let refs = stand_in.own.path().join("refs");
    fs::create_dir_all(refs.join("tags")).unwrap();
    for (name, value) in [
        ("heads/tree", &tree),
        ("heads/tag", &tag),
        ("heads/blob", &blob),
        ("tags/tree", &tree),
        ("tags/x", &blob),
    ] {
        fs::write(refs.join(name), value).unwrap();
    }
    let left_out = ["blob", "tag", "tree"].map(|name| format!("refs/heads/{name}")).to_vec();
    let told = Aftermath::RepositoryLeftOut(repository.own.clone(), left_out);
    assert_eq!(stand_in.carry_over(None), Some(told));
    assert_eq!(output(&top, &[], &["tag"]).unwrap(), "tree\nv1\nx\n");
    for (file, text) in [("HEAD", &tree), ("HEAD", &tag), ("MERGE_HEAD", &blob), ("AUTO_MERGE", &blob)] {
        let scratch = Scratch::create(scratch.path()).unwrap();
        let stand_in = made(&repository, &scratch);
        fs::write(stand_in.own.path().join(file), text).unwrap();
        assert!(matches!(stand_in.carry_over(None), Some(Aftermath::RepositoryNotWritten(..))), "{file}");
    }
    assert!(left(&top).is_empty());
}

#[test]
fn files_are_only_as_long_as_they_need_be() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let head = output(&top, &[], &["rev-parse", "HEAD"]).unwrap();
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", "mine"]));
    fs::write(stand_in.own.path().join("SQUASH_MSG"), "x".repeat(2 << 20)).unwrap();
    let told = Aftermath::RepositoryLeftOut(repository.own.clone(), vec!["SQUASH_MSG".to_owned()]);
    assert_eq!(stand_in.carry_over(None), Some(told));
    assert_eq!(output(&top, &[], &["log", "--format=%s"]).unwrap(), "mine\nfirst\n");
    type Evil = fn(&Path, &str);
    let evils: &[Evil] = &[
        |git, head| fs::write(git.join("ORIG_HEAD"), head.repeat(2000)).unwrap(),
        |git, head| {
            fs::write(git.join("ORIG_HEAD"), head).unwrap();
            fs::hard_link(git.join("ORIG_HEAD"), git.join("MERGE_HEAD")).unwrap();
        },
    ];
    for evil in evils {
        let scratch = Scratch::create(scratch.path()).unwrap();
        let stand_in = made(&repository, &scratch);
        evil(stand_in.own.path(), &head);
        assert!(matches!(stand_in.carry_over(None), Some(Aftermath::RepositoryNotWritten(..))));
        assert!(!repository.own.join("MERGE_HEAD").exists());
    }
}

#[test]
fn nothing_is_written_by_halves() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let stand_in = made(&repository, &scratch);
    fs::write(top.join("b"), "b").unwrap();
    assert!(run(&top, &stand_in.variables(), &["add", "b"]));
    assert!(run(&top, &stand_in.variables(), &["commit", "-q", "-m", "mine"]));
    // The last of all locks cannot be had.
    fs::write(repository.own.join("refs/heads/main.lock"), "").unwrap();
    assert!(matches!(stand_in.carry_over(None), Some(Aftermath::RepositoryChanged(_))));
    assert_eq!(output(&top, &[], &["status", "--porcelain"]).unwrap(), "?? b\n");
    for lock in ["index.lock", "HEAD.lock", "COMMIT_EDITMSG.lock"] {
        assert!(!repository.own.join(lock).exists(), "{lock}");
    }
    fs::remove_file(repository.own.join("refs/heads/main.lock")).unwrap();
    assert_eq!(stand_in.carry_over(None), None);
    assert_eq!(output(&top, &[], &["status", "--porcelain"]).unwrap(), "");
}

#[test]
fn whoever_cancels_does_not_wait_long_and_loses_little() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", "mine"]));
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(stand_in.carry_over(Some(&cancel)), None);
    assert_eq!(output(&top, &[], &["log", "--format=%s"]).unwrap(), "mine\nfirst\n");
}
