//! Changes of added skills that meet what others do at the same time: nothing of theirs is lost, and nothing is left half done.

use std::fs;
use std::os::unix::fs::symlink;

use crate::git_repository::{Repository, empty_project};
use crate::sandbox::Sandbox;
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
    assert_eq!(sandbox.run(&["outdated"]).stdout, "everything is up to date\n");
    repository.edit("skills/pdf/SKILL.md", "Third.", "Third, from the source.");
    repository.commit();
    sandbox.json(&["update", "--yes", "--json"]);
    assert!(sandbox.read(PDF).contains("from the source"));
}
