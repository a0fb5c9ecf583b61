//! Commands of git that run outside of the sandbox.

#![allow(clippy::disallowed_methods, reason = "its repositories and processes are its own")]

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::*;

/// Answers every request with the same verdict and records the command lines.
#[derive(Debug)]
struct RecordingApprover(ApprovalVerdict, Mutex<Vec<String>>);

impl RecordingApprover {
    fn new(verdict: ApprovalVerdict) -> Arc<Self> {
        Arc::new(Self(verdict, Mutex::default()))
    }
}

impl Approver for RecordingApprover {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalVerdict> {
        assert!(request.is_on_host);
        let (_, command) = request.call.clone().unwrap();
        self.1.lock().unwrap().push(command);
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

/// Returns a world with a skill of host commands, whose working directory is a checkout with a remote
/// `origin`.
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
        r#"[{"name": "commit", "description": "Commits.", "host": "git commit"},
            {"name": "push", "description": "Pushes.", "host": "git push"},
            {"name": "rebase", "description": "Rebases.", "host": "git rebase"},
            {"name": "stash", "description": "Stashes.", "host": "git stash"},
            {"name": "pop", "description": "Applies the stash.", "host": "git stash pop"}]"#,
    );
    (world, remote)
}

fn options(world: &World) -> ExecutorOptions {
    let work = world.work.path().canonicalize().unwrap();
    let mut options = world.options();
    (options.directory, options.repository) = (Some(work.clone()), Some(work));
    let names = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
    options.variables.extend(names.map(|name| (name.to_owned(), "a@example.org".to_owned())));
    options.variables.push(("GIT_CONFIG_GLOBAL".to_owned(), "/dev/null".to_owned()));
    // Neither of these leads git away from the checkout.
    options.variables.push(("GIT_DIR".to_owned(), "/nonexistent".to_owned()));
    options.variables.push(("GIT_CONFIG_COUNT".to_owned(), "1".to_owned()));
    options
}

fn session(world: &World, approver: Option<Arc<RecordingApprover>>) -> Session {
    session_within(world, approver, Duration::from_secs(60))
}

fn session_within(world: &World, approver: Option<Arc<RecordingApprover>>, timeout: Duration) -> Session {
    let mut options = options(world);
    options.approver = approver.map(|approver| approver as Arc<dyn Approver>);
    options.limits.timeout = timeout;
    let session = world.session_of(options, SessionOptions::default());
    load(&session, "git");
    session
}

#[test]
fn git_push_runs_on_the_host_and_every_call_is_approved() {
    let (world, remote) = world();
    git(world.work.path(), &["tag", "--annotate", "--message", "1", "v1"]);
    git(world.work.path(), &["branch", "other"]);
    git(world.work.path(), &["config", "push.followTags", "true"]);
    git(world.work.path(), &["config", "remote.origin.push", "refs/heads/*:refs/heads/*"]);
    let refused = call(&session(&world, None), "git", "push", json!({}));
    assert!(refused.contains("a person approves every call"), "{refused}");
    let refused = call(
        &session(&world, Some(RecordingApprover::new(ApprovalVerdict::Refused))),
        "git",
        "push",
        json!({}),
    );
    assert!(refused.contains("did not want"), "{refused}");
    let always = RecordingApprover::new(ApprovalVerdict::Always);
    let session = session(&world, Some(Arc::clone(&always)));
    for _ in 0..2 {
        let reply = call(&session, "git", "push", json!({}));
        assert!(!reply.contains("error"), "{reply}");
    }
    let head = git(world.work.path(), &["rev-parse", "HEAD"]);
    let shown = |flag: &str| {
        let top = world.work.path().canonicalize().unwrap();
        let (top, head) = (top.display(), &head[..12]);
        format!(
            "git push --no-follow-tags --recurse-submodules=no{flag} origin refs/heads/main:refs/heads/main (in {top}, main at {head})"
        )
    };
    assert_eq!(*always.1.lock().unwrap(), [shown(" --set-upstream"), shown("")], "an approval is never kept");
    let refs = git(remote.path(), &["for-each-ref", "--format=%(refname) %(objectname)"]);
    assert_eq!(refs, format!("refs/heads/main {}", git(world.work.path(), &["rev-parse", "HEAD"])));
    assert_eq!(world.sandbox.jobs.lock().unwrap().len(), 0, "nothing ran in the sandbox");
}

#[test]
fn git_commit_shows_message_paths_and_hooks_and_takes_paths_literally() {
    use std::os::unix::fs::PermissionsExt as _;
    let (world, _remote) = world();
    let work = world.work.path();
    let hook = work.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho \"${GIT_LITERAL_PATHSPECS-unset}\" > hooked\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    for path in ["staged", "--all", ":(glob)**", "sub", "gone"] {
        fs::write(work.join(path), "text\n").unwrap();
    }
    git(work, &["add", "staged"]);
    let message = "feat: two\n\nhooks: none";
    let arguments = json!({"message": message, "paths": ["--all", ":(glob)**"]});
    let refused = call(&session(&world, None), "git", "commit", arguments.clone());
    assert!(refused.contains("Leave it to the user"), "{refused}");
    let once = RecordingApprover::new(ApprovalVerdict::Once);
    let session = session(&world, Some(Arc::clone(&once)));
    let head = git(work, &["rev-parse", "HEAD"]);
    let reply = call(&session, "git", "commit", arguments);
    assert!(reply.contains("feat: two") && !reply.contains("error"), "{reply}");
    let top = work.canonicalize().unwrap().display().to_string();
    let shown = format!(
        "git commit (in {top}, main at {})\nmessage:\n    feat: two\n    \n    hooks: none\npaths:\n    --all\n    :(glob)**\n\
        hooks in {top}/.git/hooks, which run outside of the sandbox too: pre-commit",
        &head[..12]
    );
    assert_eq!(*once.1.lock().unwrap(), [shown]);
    assert_eq!(git(work, &["log", "-1", "--format=%B"]), message);
    assert_eq!(git(work, &["show", "--format=", "--name-only"]), "--all\n:(glob)**");
    assert_eq!(git(work, &["diff", "--cached", "--name-only"]), "staged", "other files are not committed");
    assert_eq!(fs::read_to_string(work.join("hooked")).unwrap(), "unset\n");
    for (path, why) in [
        ("../out", "is outside repository"),
        ("/etc/passwd", "is outside repository"),
        ("none", "did not match"),
    ] {
        let reply = call(&session, "git", "commit", json!({"message": "feat: x", "paths": [path]}));
        assert!(reply.contains("`git commit` failed") && reply.contains(why), "{path}: {reply}");
    }
    let reply = call(&session, "git", "commit", json!({"message": "feat: index"}));
    assert!(!reply.contains("error"), "{reply}");
    assert_eq!(git(work, &["show", "--format=", "--name-only"]), "staged");
    let reply = call(&session, "git", "commit", json!({"message": "feat: index"}));
    assert!(reply.contains("nothing is staged"), "{reply}");
    assert_eq!(world.sandbox.jobs.lock().unwrap().len(), 0, "nothing ran in the sandbox");
}

#[test]
fn git_commit_begins_a_branch_and_refuses_a_changed_index_and_an_unfinished_merge() {
    let (world, _remote) = world();
    let work = world.work.path();
    let mut options = options(&world);
    options.approver = Some(Arc::new(StagingApprover(work.to_owned())));
    let changing = world.session_of(options, SessionOptions::default());
    load(&changing, "git");
    fs::write(work.join("a"), "2\n").unwrap();
    git(work, &["add", "a"]);
    let reply = call(&changing, "git", "commit", json!({"message": "feat: two"}));
    assert!(reply.contains("the repository changed since the call was approved"), "{reply}");
    let session = session(&world, Some(RecordingApprover::new(ApprovalVerdict::Once)));
    git(work, &["checkout", "--quiet", "--orphan", "other"]);
    let reply = call(&session, "git", "commit", json!({"message": "feat: begin", "paths": ["."]}));
    assert!(!reply.contains("error"), "{reply}");
    assert_eq!(git(work, &["log", "--format=%s %P"]), "feat: begin");
    fs::write(work.join(".git/MERGE_HEAD"), git(work, &["rev-parse", "main"])).unwrap();
    let reply = call(&session, "git", "commit", json!({"message": "feat: merged"}));
    assert!(reply.contains("is unfinished (MERGE_HEAD)"), "{reply}");
}

/// Stages a file while the question is open, and says yes.
#[derive(Debug)]
struct StagingApprover(PathBuf);

impl Approver for StagingApprover {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalVerdict> {
        fs::write(self.0.join("later"), "").unwrap();
        git(&self.0, &["add", "later"]);
        Box::pin(async { ApprovalVerdict::Once })
    }
}

#[test]
fn git_push_goes_to_the_push_remote_of_the_branch_and_needs_a_branch() {
    let (world, remote) = world();
    let once = RecordingApprover::new(ApprovalVerdict::Once);
    let session = session(&world, Some(Arc::clone(&once)));
    let work = world.work.path();
    git(work, &["remote", "rename", "origin", "fork"]);
    git(work, &["config", "remote.pushDefault", "fork"]);
    let reply = call(&session, "git", "push", json!({}));
    assert!(!reply.contains("error"), "{reply}");
    assert_eq!(git(remote.path(), &["rev-parse", "main"]), git(work, &["rev-parse", "HEAD"]));
    git(work, &["checkout", "--quiet", "--detach"]);
    let reply = call(&session, "git", "push", json!({}));
    assert!(reply.contains("no branch is checked out"), "{reply}");
    assert_eq!(once.1.lock().unwrap().len(), 1);
}

#[test]
fn a_rebase_with_conflicts_is_aborted_and_a_stash_comes_back() {
    let (world, _remote) = world();
    let session = session(&world, Some(RecordingApprover::new(ApprovalVerdict::Once)));
    let work = world.work.path();
    call(&session, "git", "push", json!({}));
    git(work, &["config", "rebase.backend", "apply"]);
    // A second commit on the remote, and another one here that does not fit.
    fs::write(work.join("a"), "2\n").unwrap();
    git(work, &["commit", "--quiet", "--all", "--message", "two"]);
    call(&session, "git", "push", json!({}));
    git(work, &["reset", "--quiet", "--hard", "HEAD~1"]);
    fs::write(work.join("a"), "3\n").unwrap();
    git(work, &["commit", "--quiet", "--all", "--message", "three"]);
    let head = git(work, &["rev-parse", "HEAD"]);
    let reply = call(&session, "git", "rebase", json!({}));
    assert!(reply.contains("`git rebase` failed") && reply.contains("The rebase was aborted"), "{reply}");
    assert_eq!(git(work, &["rev-parse", "HEAD"]), head);
    assert!(!work.join(".git/rebase-merge").exists());
    let reply = call(&session, "git", "push", json!({}));
    assert!(reply.contains("`git push` failed"), "a push is never forced: {reply}");

    fs::write(work.join("new"), "x").unwrap();
    call(&session, "git", "stash", json!({}));
    assert!(!work.join("new").exists());
    call(&session, "git", "pop", json!({}));
    assert!(work.join("new").exists());

    // A rebase of the user is never touched.
    fs::create_dir(work.join(".git/rebase-merge")).unwrap();
    for tool in ["rebase", "stash", "push"] {
        let reply = call(&session, "git", tool, json!({}));
        assert!(reply.contains("is unfinished (rebase-merge)"), "{reply}");
    }
    assert!(work.join(".git/rebase-merge").exists() && work.join("new").exists());
}

/// Commits a file without a checkout, as a command in the sandbox could.
fn commit_unseen(work: &Path, path: &str, text: &str) {
    fs::write(work.join("blob"), text).unwrap();
    let blob = git(work, &["hash-object", "-w", "blob"]);
    fs::remove_file(work.join("blob")).unwrap();
    git(work, &["update-index", "--add", "--cacheinfo", &format!("100755,{blob},{path}")]);
    git(work, &["commit", "--quiet", "--message", path]);
}

#[test]
fn neither_stash_nor_rebase_checks_out_files_that_are_obeyed() {
    let (world, _remote) = world();
    let session = session(&world, Some(RecordingApprover::new(ApprovalVerdict::Once)));
    let work = world.work.path();
    call(&session, "git", "push", json!({}));
    git(work, &["config", "core.hooksPath", "tools/hooks"]);
    for path in ["AGENTS.md", ".husky/post-commit", "tools/hooks/post-commit", "bare/HEAD"] {
        commit_unseen(work, path, "#!/bin/sh\ntouch ran\n");
        for tool in ["stash", "rebase"] {
            let reply = call(&session, "git", tool, json!({}));
            assert!(reply.contains(&format!("it would write `{path}`")), "{tool}: {reply}");
        }
        assert!(!work.join(path).exists() && !work.join("ran").exists(), "{path}");
        git(work, &["reset", "--quiet", "--hard", "HEAD~1"]);
    }
    // A list of files that is longer than what a model reads is checked whole.
    let long = "n".repeat(200);
    let names: Vec<String> = (0..600).map(|number| format!("z/{number}-{long}")).collect();
    fs::create_dir(work.join("z")).unwrap();
    names.iter().for_each(|name| fs::write(work.join(name), "").unwrap());
    git(work, &["add", "z"]);
    commit_unseen(work, "AGENTS.md", "obey\n");
    fs::remove_dir_all(work.join("z")).unwrap();
    let reply = call(&session, "git", "stash", json!({}));
    assert!(reply.contains("it would write `AGENTS.md`"), "{reply}");
    assert!(!work.join("AGENTS.md").exists());
}

#[test]
fn git_push_needs_a_remote_by_name() {
    let (world, _remote) = world();
    let session = session(&world, Some(RecordingApprover::new(ApprovalVerdict::Once)));
    let work = world.work.path();
    git(work, &["remote", "remove", "origin"]);
    for remote in [None, Some("."), Some("https://ada:s3cr3t@host.invalid/x.git")] {
        if let Some(remote) = remote {
            git(work, &["config", "branch.main.remote", remote]);
        }
        let reply = call(&session, "git", "push", json!({}));
        assert!(reply.contains("no remote that is configured by name"), "{reply}");
    }
}

/// Commits while the question is open, and says yes.
#[derive(Debug)]
struct SlowApprover(PathBuf);

impl Approver for SlowApprover {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalVerdict> {
        commit_unseen(&self.0, "b", "later\n");
        Box::pin(async { ApprovalVerdict::Once })
    }
}

#[test]
fn a_repository_that_changed_after_the_approval_is_not_pushed() {
    let (world, remote) = world();
    let mut options = options(&world);
    options.approver = Some(Arc::new(SlowApprover(world.work.path().to_owned())));
    let session = world.session_of(options, SessionOptions::default());
    load(&session, "git");
    let reply = call(&session, "git", "push", json!({}));
    assert!(reply.contains("the repository changed since the call was approved"), "{reply}");
    assert_eq!(git(remote.path(), &["for-each-ref"]), "");
}

#[test]
fn a_hook_that_hangs_is_killed_with_git_at_the_timeout() {
    use std::os::unix::fs::PermissionsExt as _;
    let (world, _remote) = world();
    let hook = world.work.path().join(".git/hooks/pre-push");
    let mark = world.work.path().join("mark");
    fs::write(&hook, format!("#!/bin/sh\necho $$ > {}\nsleep 600\n", mark.display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let approver = RecordingApprover::new(ApprovalVerdict::Once);
    let session = session_within(&world, Some(approver), Duration::from_secs(1));
    let reply = call(&session, "git", "push", json!({}));
    assert!(reply.contains("git took too long"), "{reply}");
    let process = fs::read_to_string(&mark).unwrap();
    let state = || fs::read_to_string(format!("/proc/{}/stat", process.trim()));
    while state().is_ok_and(|state| !state.contains(") Z")) {
        std::thread::yield_now();
    }
}

#[test]
fn a_command_of_the_host_does_not_run_beside_a_tool_that_writes() {
    let (world, _remote) = world();
    let session = session(&world, Some(RecordingApprover::new(ApprovalVerdict::Once)));
    call(&session, "git", "push", json!({}));
    let mut files = fs::read_dir(world.options().state).unwrap().map(|entry| entry.unwrap().path());
    let lock = files.find(|path| path.extension().is_some_and(|ending| ending == "lock")).unwrap();
    let lock = fs::File::options().append(true).open(lock).unwrap();
    lock.lock_shared().unwrap();
    let reply = call(&session, "git", "push", json!({}));
    assert!(reply.contains("another call works in the checkout"), "{reply}");
    lock.unlock().unwrap();
    assert!(!call(&session, "git", "push", json!({})).contains("error"));
}
