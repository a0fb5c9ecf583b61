//! Commands of git that run outside of the sandbox.

#![allow(clippy::disallowed_methods, reason = "it makes repositories with git and looks at their files")]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Answers every request with the same verdict and counts the requests.
#[derive(Debug)]
struct CountingApprover(Verdict, AtomicUsize);

impl Approver for CountingApprover {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { self.0 })
    }
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];
    let output = Command::new("git")
        .args(identity)
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Returns a world with a skill of host commands, whose working directory is a checkout with a remote `origin`.
fn world() -> (World, tempfile::TempDir) {
    let world = World::new();
    let remote = tempfile::tempdir().unwrap();
    git(remote.path(), &["init", "--quiet", "--bare"]);
    let work = world.work.path();
    git(work, &["init", "--quiet"]);
    git(work, &["remote", "add", "origin", remote.path().to_str().unwrap()]);
    fs::write(work.join("a"), "1\n").unwrap();
    git(work, &["add", "a"]);
    git(work, &["commit", "--quiet", "--message", "one"]);
    world.skill("git");
    world.write(
        "git/schema.json",
        r#"[{"name": "push", "description": "Pushes.", "host": "git push"},
            {"name": "rebase", "description": "Rebases.", "host": "git rebase"},
            {"name": "stash", "description": "Stashes.", "host": "git stash"},
            {"name": "pop", "description": "Applies the stash.", "host": "git stash pop"}]"#,
    );
    (world, remote)
}

fn session(world: &World, approver: Option<Arc<CountingApprover>>) -> Session {
    let work = world.work.path().canonicalize().unwrap();
    let mut options = world.options();
    (options.directory, options.repository) = (Some(work.clone()), Some(work));
    options.approver = approver.map(|approver| approver as Arc<dyn Approver>);
    let names = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
    options.variables.extend(names.map(|name| (name.to_owned(), "a@example.org".to_owned())));
    options.variables.push(("GIT_CONFIG_GLOBAL".to_owned(), "/dev/null".to_owned()));
    let session = world.session_of(options, SessionOptions::default());
    load(&session, "git");
    session
}

#[test]
fn git_push_runs_on_the_host_and_every_call_is_approved() {
    let (world, remote) = world();
    let refused = call(&session(&world, None), "git", "push", json!({}));
    assert!(refused.contains("a person approves every call"), "{refused}");
    let no = Arc::new(CountingApprover(Verdict::Refused, AtomicUsize::new(0)));
    let refused = call(&session(&world, Some(no)), "git", "push", json!({}));
    assert!(refused.contains("did not want"), "{refused}");
    let always = Arc::new(CountingApprover(Verdict::Always, AtomicUsize::new(0)));
    let session = session(&world, Some(Arc::clone(&always)));
    for calls in 1..=2 {
        let reply = call(&session, "git", "push", json!({}));
        assert!(!reply.contains("error"), "{reply}");
        assert_eq!(always.1.load(Ordering::Relaxed), calls, "an approval is never kept");
    }
    let head = git(world.work.path(), &["rev-parse", "HEAD"]);
    assert_eq!(git(remote.path(), &["rev-parse", "main"]), head);
    assert_eq!(world.sandbox.jobs.lock().unwrap().len(), 0, "nothing ran in the sandbox");
}

#[test]
fn a_rebase_with_conflicts_is_aborted_and_a_stash_comes_back() {
    let (world, _remote) = world();
    let once = Arc::new(CountingApprover(Verdict::Once, AtomicUsize::new(0)));
    let session = session(&world, Some(once));
    let work = world.work.path();
    call(&session, "git", "push", json!({}));
    // A second commit on the remote, and another one here that does not fit.
    fs::write(work.join("a"), "2\n").unwrap();
    git(work, &["commit", "--quiet", "--all", "--message", "two"]);
    call(&session, "git", "push", json!({}));
    git(work, &["reset", "--quiet", "--hard", "HEAD~1"]);
    fs::write(work.join("a"), "3\n").unwrap();
    git(work, &["commit", "--quiet", "--all", "--message", "three"]);
    let head = git(work, &["rev-parse", "HEAD"]);
    let reply = call(&session, "git", "rebase", json!({}));
    assert!(reply.contains("`git rebase` failed"), "{reply}");
    assert_eq!(git(work, &["rev-parse", "HEAD"]), head);
    assert!(!work.join(".git/rebase-merge").exists());
    let reply = call(&session, "git", "push", json!({}));
    assert!(reply.contains("`git push` failed"), "a push is never forced: {reply}");

    fs::write(work.join("new"), "x").unwrap();
    call(&session, "git", "stash", json!({}));
    assert!(!work.join("new").exists());
    call(&session, "git", "pop", json!({}));
    assert!(work.join("new").exists());
}
