//! Changes of added skills that meet what others do at the same time: nothing of theirs is lost, and nothing
//! is left half done.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::git_repository::{Repository, empty_project};
use crate::sandbox::Sandbox;
use crate::test_interruption::is_ignored;
use crate::test_terminal::answering_after;

const PDF: &str = ".agents/skills/pdf/SKILL.md";

/// Returns a project with all skills of a repository.
fn added() -> (Repository, Sandbox) {
    let (repository, mut sandbox) = (Repository::with_skills(), empty_project());
    sandbox.set("REPERTOIRE_COLOR", "never");
    sandbox.json(&["add", &repository.url(), "--all", "--yes", "--json"]);
    (repository, sandbox)
}

/// Returns the same with a conflict copy of `pdf` whose conflicts are resolved.
fn with_resolved_copy() -> (Repository, Sandbox) {
    let (repository, sandbox) = added();
    let mine = sandbox.read(PDF).replace("Second.", "Second, my way.");
    sandbox.write(PDF, &mine);
    repository.edit("skills/pdf/SKILL.md", "Second.", "Second, from the source.");
    repository.commit();
    assert_eq!(sandbox.run(&["update", "--yes"]).code, 1);
    sandbox.write(COPY, mine.replace("my way", "both ways"));
    (repository, sandbox)
}

const COPY: &str = ".repertoire/conflicts/pdf/SKILL.md";

#[test]
fn files_made_or_edited_while_remove_asks_are_kept() {
    for (path, text) in [("notes.md", "mine"), (".env", "mine"), ("SKILL.md", "edited")] {
        let (_repository, sandbox) = added();
        let file = format!(".agents/skills/pdf/{path}");
        let lock = sandbox.read("repertoire.lock");
        let shown =
            answering_after(&sandbox, &["remove", "pdf", "csv"], Some("y\n"), || sandbox.write(&file, text));
        assert!(shown.contains("pdf was changed meanwhile"), "{shown}");
        assert_eq!((sandbox.read(&file), sandbox.read("repertoire.lock")), (text.to_owned(), lock));
        // The other skill is there again, too.
        assert!(sandbox.project().join(".agents/skills/csv/SKILL.md").is_file());
        assert_eq!(fs::read_dir(sandbox.project().join(".agents/skills")).unwrap().count(), 2);
    }
}

#[test]
fn a_copy_that_is_edited_while_update_asks_is_kept() {
    let (_repository, sandbox) = with_resolved_copy();
    let before = sandbox.read(PDF);
    let later = sandbox.read(COPY).replace("Third.", "Third, later.");
    let arguments = ["update", "--resolved", "pdf"];
    let shown = answering_after(&sandbox, &arguments, Some("y\n"), || sandbox.write(COPY, &later));
    assert!(shown.contains("conflicts/pdf was changed meanwhile"), "{shown}");
    assert_eq!((sandbox.read(PDF), sandbox.read(COPY)), (before, later.clone()));
    assert_eq!(sandbox.run(&["update", "--resolved", "pdf", "--yes"]).code, 0);
    assert_eq!(sandbox.read(PDF), later);
    assert!(!sandbox.project().join(COPY).exists());
}

#[test]
fn other_files_in_a_copy_are_kept() {
    let (_repository, sandbox) = with_resolved_copy();
    sandbox.write(".repertoire/conflicts/pdf/.notes", "mine");
    let run = sandbox.run(&["update", "--resolved", "pdf", "--yes"]);
    assert!(run.code == 0 && run.stderr.contains("has other files too"), "{}", run.stderr);
    assert_eq!(sandbox.read(".repertoire/conflicts/pdf/.notes"), "mine");
}

#[test]
fn nothing_is_written_through_a_link_called_gitignore() {
    let (repository, sandbox) = added();
    sandbox.write("../home/profile", "mine\n");
    fs::create_dir(sandbox.project().join(".repertoire")).unwrap();
    symlink("../../home/profile", sandbox.project().join(".repertoire/.gitignore")).unwrap();
    sandbox.write(PDF, sandbox.read(PDF).replace("Second.", "Second, my way."));
    repository.edit("skills/pdf/SKILL.md", "Second.", "Second, from the source.");
    repository.commit();
    assert_eq!(sandbox.run(&["update", "--yes"]).code, 1);
    assert!(sandbox.project().join(COPY).is_file());
    assert_eq!(sandbox.read("../home/profile"), "mine\n");
}

#[test]
fn settings_of_the_project_are_not_read_when_sources_are_asked_for_their_versions() {
    let (repository, sandbox) = added();
    // A repository around the working directory that would send git elsewhere.
    let elsewhere = format!("[url \"file:///nowhere/\"]\n\tinsteadOf = {}\n", repository.url());
    let git = |arguments: &[&str]| {
        assert!(sandbox.other("git", arguments).output().unwrap().status.success());
    };
    git(&["init", "-q"]);
    sandbox.write(".git/config", format!("[core]\n\trepositoryformatversion = 0\n{elsewhere}"));
    let asked = sandbox.other("git", &["ls-remote", &repository.url()]).output().unwrap();
    assert!(!asked.status.success(), "the settings would count in the project");
    assert_eq!(sandbox.run(&["update", "--dry-run"]).stdout, "everything is up to date\n");
    repository.edit("skills/pdf/SKILL.md", "Third.", "Third, from the source.");
    repository.commit();
    sandbox.json(&["update", "--yes", "--json"]);
    assert!(sandbox.read(PDF).contains("from the source"));
}

/// Starts `rep` with its output captured.
fn start(sandbox: &Sandbox, arguments: &[&str]) -> Child {
    let mut command = sandbox.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Types Ctrl-C, and returns the exit code and the messages.
fn interrupted(child: Child, then: impl FnOnce()) -> (Option<i32>, String) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    then();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn ctrl_c_before_a_change_leaves_everything_as_it_was() {
    if is_ignored(Signal::INT) {
        return;
    }
    let sandbox = empty_project();
    // A server that never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let child = start(&sandbox, &["add", &format!("http://{}", listener.local_addr().unwrap()), "--yes"]);
    let _connection = listener.accept().unwrap();
    let (code, messages) = interrupted(child, || {});
    assert_eq!(code, Some(130), "{messages}");
    assert!(messages.contains("rep: interrupted; everything is as it was\n"), "{messages}");
    assert!(!sandbox.project().join("repertoire.lock").exists());
    assert!(!sandbox.project().join(".agents").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_during_a_change_completes_it() {
    if is_ignored(Signal::INT) {
        return;
    }
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    let skills = sandbox.project().join(".agents/skills");
    fs::create_dir_all(&skills).unwrap();
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    // The change waits for another program that writes skills.
    let other = File::open(&skills).unwrap();
    other.lock().unwrap();
    let child = start(&sandbox, &["add", &repository.url(), "--all", "--yes"]);
    let files = format!("/proc/{}/fd", child.id());
    let is_lock = |file: fs::DirEntry| {
        fs::read_link(file.path()).is_ok_and(|path| path.extension().is_some_and(|it| it == "lock"))
    };
    let since = Instant::now();
    while !fs::read_dir(&files).unwrap().flatten().any(is_lock) {
        assert!(since.elapsed() < Duration::from_secs(60), "the change never began");
        std::thread::sleep(Duration::from_millis(1));
    }
    let (code, messages) = interrupted(child, || other.unlock().unwrap());
    assert_eq!(code, Some(130), "{messages}");
    assert!(messages.contains("interrupted; the change had begun, and was completed"), "{messages}");
    for name in ["csv", "pdf"] {
        assert!(skills.join(name).join("SKILL.md").is_file());
        assert!(sandbox.project().join(".claude/skills").join(name).is_symlink());
    }
    let run = sandbox.run(&["sync", "--frozen"]);
    assert!(run.code == 0 && run.stderr.is_empty(), "{}", run.stderr);
}
