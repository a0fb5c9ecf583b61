//! A repository that stands in for another, with git at work in it.

#![allow(clippy::disallowed_methods, reason = "what came of it is looked at plainly")]

use super::*;
use crate::exec::git_refs::PACKED;

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
    StandIn::make(repository, scratch, &repository.places()).unwrap()
}

fn output(top: &Path, variables: &[(String, String)], words: &[&str]) -> Option<String> {
    let mut git = std::process::Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=e"]).args(words).current_dir(top);
    let done = git.envs(variables.iter().cloned()).output().ok()?;
    done.status.success().then(|| String::from_utf8(done.stdout).unwrap())
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
    assert_eq!(stand_in.carry_over(), None);
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
    assert_eq!(stand_in.carry_over(), None);
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
    assert_eq!(stand_in.carry_over(), None);
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
    assert_eq!(stand_in.carry_over(), changed);
    assert!(repository.own.join("index.lock").exists(), "the lock is another's");
    fs::remove_file(repository.own.join("index.lock")).unwrap();
    assert!(run(&top, &[], &["commit", "-q", "--allow-empty", "-m", "theirs"]));
    assert_eq!(stand_in.carry_over(), changed);
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
        spoil(&repository.own, &stand_in.path);
        assert!(stand_in.carry_over().is_some(), "{number}");
        let _ = fs::remove_file(repository.own.join("index.lock"));
        assert!(run(&top, &[], &["stash", "apply", "-q", "refs/repertoire/left/stash"]), "{number}");
        assert_eq!(fs::read_to_string(top.join("a")).unwrap(), "not committed", "{number}");
    }
}

#[test]
fn there_is_an_end_to_carrying_over() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let top = repository.top.clone();
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", "second"]));
    let late = stand_in.carry_over_within(Duration::ZERO);
    assert!(matches!(late, Some(Aftermath::RepositoryNotWritten(..))), "{late:?}");
    assert_eq!(output(&top, &[], &["log", "--format=%s"]).unwrap(), "first\n");
    assert_eq!(stand_in.carry_over(), None);
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
    assert_eq!(stand_in.carry_over(), None);
    assert_eq!(output(&top, &[], &["log", "--format=%s"]).unwrap(), "mine\nfirst\n");
    assert_eq!(output(&top, &[], &["log", "--format=%s", "theirs"]).unwrap(), "theirs\nfirst\n");
    assert!(run(&top, &[], &["fsck", "--strict", "--full"]));
    // Whoever packs all the same is told.
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    fs::remove_file(stand_in.path.join("objects/pack")).unwrap();
    assert!(run(&top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", "packed"]));
    assert!(run(&top, &stand_in.variables(), &["gc", "-q"]));
    let Some(Aftermath::RepositoryNotWritten(_, why)) = stand_in.carry_over() else { panic!() };
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
        assert_eq!(stand_in.carry_over(), None);
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
    let error = StandIn::make(&outer, &scratch, &outer.places()).unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::Repository);
    assert!(error.to_string().contains("borrows objects"), "{error}");
    // One that is said as seen from where it is said.
    fs::write(outer.own.join("objects/info/alternates"), "../../../top/inner/.git/objects\n").unwrap();
    let stand_in = StandIn::make(&outer, &scratch, &[root]).unwrap();
    let own = stand_in.variables();
    assert_eq!(stand_in.stores.len(), 3, "{stand_in:?}");
    assert!(run(&outer.top, &own, &["commit", "-q", "--allow-empty", "-m", "second"]));
    assert!(run(&outer.top, &own, &["branch", "old", "HEAD^"]) && run(&outer.top, &own, &["fsck"]));
    assert_eq!(stand_in.carry_over(), None);
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
    assert_eq!(stand_in.carry_over(), None);
    // Whoever makes one all the same is told.
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    fs::remove_file(stand_in.path.join(LINKED)).unwrap();
    assert!(run(&top, &stand_in.variables(), &["worktree", "add", "-q", "-b", "new", "linked"]));
    let told = Aftermath::RepositoryLeftOut(repository.own.clone(), vec![LINKED.to_owned()]);
    assert_eq!(stand_in.carry_over(), Some(told));
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
        assert_eq!(stand_in.carry_over(), failed, "{words:?}");
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
    assert_eq!(stand_in.carry_over(), None);
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
        evil(&stand_in.path);
        let carried = stand_in.carry_over();
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
        fs::write(stand_in.path.join("refs/heads").join(name), format!("{}\n", "1".repeat(40))).unwrap();
    }
    let left_out = ["refs/heads/main", "refs/heads/tag-less"].map(str::to_owned).to_vec();
    let told = Aftermath::RepositoryLeftOut(repository.own.clone(), left_out);
    assert_eq!(stand_in.carry_over(), Some(told));
    assert_eq!(output(&top, &[], &["log", "--format=%s", "mine"]).unwrap(), "second\nfirst\n");
    assert_eq!(output(&top, &[], &["log", "--format=%s", "main"]).unwrap(), "first\n");
    assert!(run(&top, &[], &["fsck", "--strict"]));
    // What somebody wrote leads nowhere.
    let message = "1".repeat(40);
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["commit", "-q", "--allow-empty", "-m", &message]));
    assert_eq!(stand_in.carry_over(), None);
    // Nothing else leads there either, and nothing of that is kept.
    for (file, text) in
        [("HEAD", "1".repeat(40)), ("MERGE_HEAD", "1".repeat(40)), ("HEAD", "ref: refs/heads/new".into())]
    {
        let scratch = Scratch::create(scratch.path()).unwrap();
        let stand_in = made(&repository, &scratch);
        fs::write(stand_in.path.join("refs/heads/new"), format!("{}\n", "1".repeat(40))).unwrap();
        fs::write(stand_in.path.join(file), text + "\n").unwrap();
        let Some(Aftermath::RepositoryNotWritten(_, why)) = stand_in.carry_over() else { panic!("{file}") };
        assert_eq!(why, format!("{file} leads to an object that is not there"));
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
        fs::write(stand_in.path.join("logs/refs/stash"), format!("{line}{before}")).unwrap();
        fs::write(stand_in.path.join(name), format!("{}\n", "1".repeat(40))).unwrap();
        assert_eq!(stand_in.carry_over().is_some(), name == "refs/stash");
        assert_eq!(fs::read_to_string(&log).unwrap(), before);
    }
}

#[test]
fn names_that_a_command_made_up_are_told_in_short() {
    let names: Vec<String> = (0..120).map(|_| "\u{1b}[2J".repeat(100)).collect();
    let told = told(&names);
    assert_eq!((told.len(), told[0].chars().count(), told[100].as_str()), (101, 200, "20 more"));
    assert!(!told[0].contains('\u{1b}'));
}

#[test]
fn what_git_would_obey_is_left_behind() {
    let Some((_directory, repository, scratch)) = repository() else { return };
    let stand_in = made(&repository, &scratch);
    let own = stand_in.variables();
    assert!(run(&repository.top, &own, &["commit", "-q", "--allow-empty", "-m", "mine"]));
    for name in ["MERGE_RR", "config", "config.worktree", "info/attributes", "remotes", "FETCH_HEAD"] {
        fs::write(stand_in.path.join(name), "evil").unwrap();
    }
    fs::remove_file(stand_in.path.join("hooks")).unwrap();
    fs::create_dir_all(stand_in.path.join("hooks")).unwrap();
    fs::create_dir_all(stand_in.path.join("refs/replace")).unwrap();
    fs::write(stand_in.path.join("refs/replace/x"), format!("{}\n", "1".repeat(40))).unwrap();
    fs::create_dir_all(stand_in.path.join("logs/refs")).unwrap();
    fs::remove_dir_all(stand_in.path.join("logs/refs")).unwrap();
    std::os::unix::fs::symlink("/etc", stand_in.path.join("logs/refs")).unwrap();
    let left_out = vec!["refs/replace/x".to_owned(), "config".to_owned()];
    assert_eq!(stand_in.carry_over(), Some(Aftermath::RepositoryLeftOut(repository.own.clone(), left_out)));
    for name in ["MERGE_RR", "config.worktree", "info/attributes", "remotes", "FETCH_HEAD", "refs/replace"] {
        assert!(!repository.own.join(name).exists(), "{name}");
    }
    assert!(run(&repository.top, &[], &["fsck", "--strict"]));
}

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
    assert_eq!(stand_in.carry_over(), None);
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
    assert_eq!(stand_in.carry_over(), left_out(&["config"]));
    assert!(!run(&top, &[], &["config", "a.b"]));
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["bisect", "start", "main", "main~4"]));
    let Some(Aftermath::RepositoryLeftOut(_, left)) = stand_in.carry_over() else { panic!("it is told") };
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
        let later = std::time::SystemTime::now() + Duration::from_secs(3600);
        fs::File::options().write(true).open(top.join("a")).unwrap().set_modified(later).unwrap();
        assert!(run(&top, variables, &["status"]));
    };
    let before = fs::read(repository.own.join("index")).unwrap();
    look(&own);
    assert_ne!(fs::read(stand_in.path.join("index")).unwrap(), before);
    assert_eq!(stand_in.carry_over(), None);
    assert_eq!(fs::read(repository.own.join("index")).unwrap(), before);
    fs::write(top.join("b"), "b").unwrap();
    assert!(run(&top, &own, &["add", "b"]) && run(&top, &own, &["commit", "-qm", "second"]));
    look(&[]);
    assert_ne!(fs::read(repository.own.join("index")).unwrap(), before);
    assert_eq!(stand_in.carry_over(), None);
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
    assert_eq!(time(&stand_in.path), then);
    fs::write(top.join("b"), "b").unwrap();
    assert!(run(&top, &stand_in.variables(), &["add", "b"]));
    let then = then + Duration::from_secs(10);
    set(&stand_in.path, then);
    assert_eq!(stand_in.carry_over(), None);
    assert_eq!(time(&repository.own), then);
    // One that is yet to come would hide what is changed until then.
    let scratch = Scratch::create(scratch.path()).unwrap();
    let stand_in = made(&repository, &scratch);
    assert!(run(&top, &stand_in.variables(), &["rm", "-q", "--cached", "b"]));
    set(&stand_in.path, SystemTime::now() + Duration::from_secs(3600));
    assert_eq!(stand_in.carry_over(), None);
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
    assert_eq!(stand_in.carry_over(), None);
    fs::write(top.join("b"), "b").unwrap();
    assert!(run(&top, &own, &["add", "b"]));
    assert_eq!(stand_in.carry_over(), None);
    assert_eq!(output(&top, &[], &["ls-files"]).unwrap(), "a\nb\n");
    assert_eq!(output(&top, &[], &["status", "--porcelain"]).unwrap(), "A  b\n");
}
