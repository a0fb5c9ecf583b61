//! Tests of `rep update`, `rep sync` and `rep remove`.

use std::fs;

use crate::git_repository::{Repository, empty_project, static_server};
use crate::machine::skipped;
use crate::sandbox::{Sandbox, assert_run, skill};

const PDF: &str = ".agents/skills/pdf/SKILL.md";

/// Returns a repository with two skills, and a project that has them.
fn added() -> (Repository, Sandbox) {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    sandbox.json(&["add", &repository.url(), "--all", "--yes", "--json"]);
    (repository, sandbox)
}

fn edit(sandbox: &Sandbox, from: &str, to: &str) {
    let text = sandbox.read(PDF);
    assert!(text.contains(from), "{text}");
    sandbox.write(PDF, text.replace(from, to));
}

/// Removes the store, with the files of skills as they were added.
fn forget_contents(sandbox: &Sandbox) {
    for ending in ["db", "db-wal", "db-shm"] {
        let _ =
            fs::remove_file(sandbox.home().join(".local/state/repertoire/repertoire").with_extension(ending));
    }
}

/// Returns the JSON document of a dry run, which ends with the exit code `code`.
fn dry_run(sandbox: &Sandbox, code: i32) -> serde_json::Value {
    let run = sandbox.run(&["update", "--dry-run", "--json"]);
    assert_eq!(run.code, code, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// Returns the state of each skill in a JSON document.
fn states(document: &serde_json::Value) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let skills = document["skills"].as_array().unwrap().iter();
    skills.map(|skill| (text(&skill["name"]), text(&skill["state"]))).collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[test]
fn an_update_keeps_local_edits() {
    let (repository, sandbox) = added();
    assert_eq!(sandbox.run(&["update", "--dry-run"]).stdout, "everything is up to date\n");
    assert_eq!(sandbox.run(&["update", "--yes"]).stdout, "everything is up to date\n");
    repository.edit("skills/pdf/SKILL.md", "Third.", "Third, from the source.");
    repository.write("skills/pdf/scripts/two.sh", "echo two\n");
    repository.edit("skills/pdf/SKILL.md", "\nname:", "\nallowed-tools:\n  - Bash(git:*)\nname:");
    repository.commit();
    edit(&sandbox, "First.", "First, my way.");
    assert_eq!(states(&dry_run(&sandbox, 1)), pairs(&[("csv", "current"), ("pdf", "outdated")]));
    // A dry run writes nothing and says no.
    let before = sandbox.read(PDF);
    let run = sandbox.run(&["update", "--dry-run"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    for part in [
        "; your edits stay",
        "! new: script scripts/two.sh",
        "! new: asks for Bash(git:*)",
        "-Third.\n+Third, from the source.",
    ] {
        assert!(run.stdout.contains(part), "{}", run.stdout);
    }
    assert_eq!(sandbox.read(PDF), before);
    let run = sandbox.run(&["update"]);
    assert!(run.code == 1 && run.stderr.contains("`--yes` does it without asking"), "{}", run.stderr);
    let run = sandbox.run(&["update", "--yes"]);
    assert!(run.code == 0 && run.stdout.ends_with("updated pdf\n"), "{}", run.stdout);
    let after = before.replace("Third.", "Third, from the source.");
    assert_eq!(sandbox.read(PDF), after.replacen("\nname:", "\nallowed-tools:\n  - Bash(git:*)\nname:", 1));
    assert_eq!(sandbox.read(".agents/skills/pdf/scripts/two.sh"), "echo two\n");
    assert_eq!(sandbox.run(&["update", "--dry-run"]).stdout, "everything is up to date\n");
    // The base of the next merge is what the source has now.
    repository.edit("skills/pdf/SKILL.md", "Second.", "Second, from the source.");
    repository.commit();
    sandbox.json(&["update", "pdf", "--yes", "--json"]);
    let text = sandbox.read(PDF);
    for part in ["First, my way.", "Second, from the source.", "Third, from the source."] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn an_update_shows_new_findings_and_files_that_are_left_out() {
    let (repository, sandbox) = added();
    repository.edit("skills/pdf/SKILL.md", "Third.", &format!("{}\u{e0041}\u{e0042}", "More.\n".repeat(450)));
    std::os::unix::fs::symlink("SKILL.md", repository.path().join("skills/pdf/link.md")).unwrap();
    repository.commit();
    let run = sandbox.run(&["update", "--dry-run"]);
    let marked = run.stdout.lines().filter(|line| line.starts_with('!')).collect::<Vec<_>>();
    insta::assert_snapshot!(marked.join("\n"), @r#"
    ! new: warning: 2 invisible or direction-changing characters, the first is U+E0041 [invisible-characters]
    ! left out: `skills/pdf/link.md` is a symbolic link
    "#);
    let document = sandbox.json(&["update", "--yes", "--json"]);
    assert_eq!(document["skills"][1]["left_out"][0], "`skills/pdf/link.md` is a symbolic link");
    // What is here already is not new.
    repository.edit("skills/pdf/SKILL.md", "First.", "The first.");
    repository.commit();
    let document = sandbox.json(&["update", "--yes", "--json"]);
    assert_eq!(document["skills"][1]["findings"], serde_json::json!([]));
}

#[test]
fn edits_are_merged_without_the_stored_files() {
    let (repository, sandbox) = added();
    edit(&sandbox, "First.", "First, my way.");
    repository.edit("skills/pdf/SKILL.md", "Third.", "Third, from the source.");
    repository.commit();
    forget_contents(&sandbox);
    sandbox.json(&["update", "--yes", "--json"]);
    let text = sandbox.read(PDF);
    assert!(text.contains("First, my way.") && text.contains("Third, from the source."), "{text}");
}

#[test]
fn conflicts_go_to_a_copy_and_never_into_the_skill() {
    let (repository, sandbox) = added();
    edit(&sandbox, "Second.", "Second, my way.");
    repository.edit("skills/pdf/SKILL.md", "Second.", "Second, from the source.");
    repository.commit();
    let (before, lock) = (sandbox.read(PDF), sandbox.read("repertoire.lock"));
    let run = sandbox.run(&["update", "--yes"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("conflict: SKILL.md"), "{}", run.stdout);
    assert!(
        run.stderr.contains("a copy with the conflicts lies in .repertoire/conflicts/pdf"),
        "{}",
        run.stderr
    );
    assert_eq!((sandbox.read(PDF), sandbox.read("repertoire.lock")), (before.clone(), lock));
    let copy = ".repertoire/conflicts/pdf/SKILL.md";
    assert!(sandbox.read(copy).contains("<<<<<<< ours\nSecond, my way.\n"), "{}", sandbox.read(copy));
    assert_eq!(sandbox.read(".repertoire/.gitignore"), "*\n");
    // No agent is offered the copy, however deep it looks.
    let listed = sandbox.json(&["list", "--all", "--json"]);
    assert_eq!(listed["skills"].as_array().unwrap().len(), 2);
    assert!(!sandbox.run(&["list"]).stderr.contains("more skill"));
    let run = sandbox.run(&["update", "--resolved", "pdf", "--yes"]);
    assert!(run.code == 1 && run.stderr.contains("still has a conflict"), "{}", run.stderr);
    sandbox.write(copy, before.replace("Second, my way.", "Second, both ways."));
    let run = sandbox.run(&["update", "--resolved", "pdf", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(sandbox.read(PDF).contains("Second, both ways."));
    assert_eq!(sandbox.run(&["update", "--dry-run"]).stdout, "everything is up to date\n");
    assert!(!sandbox.project().join(".repertoire/conflicts/pdf").exists());
    // What was resolved is an edit from now on.
    repository.edit("skills/pdf/SKILL.md", "Third.", "Third, from the source.");
    repository.commit();
    sandbox.json(&["update", "--yes", "--json"]);
    assert!(
        sandbox.read(PDF).contains("Second, both ways.")
            && sandbox.read(PDF).contains("Third, from the source.")
    );
}

#[test]
fn files_without_markers_have_to_be_decided_on() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    repository.write("skills/pdf/data.bin", "\u{0}one");
    repository.write("skills/pdf/gone.md", "one\n");
    repository.commit();
    sandbox.json(&["add", &repository.url(), "--all", "--yes", "--json"]);
    repository.write("skills/pdf/data.bin", "\u{0}theirs");
    repository.write("skills/pdf/gone.md", "two\n");
    repository.commit();
    sandbox.write(".agents/skills/pdf/data.bin", "\u{0}mine");
    fs::remove_file(sandbox.project().join(".agents/skills/pdf/gone.md")).unwrap();
    let run = sandbox.run(&["update", "--yes"]);
    let conflicts = run.stdout.lines().filter(|line| line.starts_with("conflict:")).collect::<Vec<_>>();
    insta::assert_snapshot!(conflicts.join("\n"), @r#"
    conflict: data.bin (it cannot be merged; the copy has the source's, and yours stays in the skill)
    conflict: gone.md (you removed it; the copy has the source's)
    "#);
    let resolved = || sandbox.run(&["update", "--resolved", "pdf", "--yes"]);
    for (file, text) in [("data.bin", "\u{0}mine"), ("gone.md", "three\n")] {
        let run = resolved();
        assert!(run.code == 1 && run.stderr.contains("is as it was written"), "{}", run.stderr);
        assert!(run.stderr.contains(&format!("conflicts/pdf/{file}")), "{}", run.stderr);
        sandbox.write(&format!(".repertoire/conflicts/pdf/{file}"), text);
    }
    assert_eq!(resolved().code, 0);
    assert_eq!(sandbox.read(".agents/skills/pdf/data.bin"), "\u{0}mine");
    // The copy is taken as it is on demand.
    repository.write("skills/pdf/data.bin", "\u{0}newer");
    repository.commit();
    sandbox.run(&["update", "--yes"]);
    assert_eq!(resolved().code, 1);
    let run = sandbox.run(&["update", "--resolved", "pdf", "--yes", "--force"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(sandbox.read(".agents/skills/pdf/data.bin"), "\u{0}newer");
}

#[test]
fn a_bad_entry_of_an_index_does_not_block_the_update_of_others() {
    let sandbox = empty_project();
    let write = |text: &str| {
        for name in ["csv", "pdf"] {
            sandbox.write(&format!("source/{name}/SKILL.md"), skill(name, text));
        }
        assert_eq!(sandbox.run(&["publish", "source", "--to", "well-known", "site"]).code, 0);
    };
    write("one\n");
    let url = static_server(&sandbox.project().join("site"), None);
    sandbox.json(&["add", &url, "--all", "--yes", "--json"]);
    write("two\n");
    let index = "site/.well-known/agent-skills/index.json";
    let mut document: serde_json::Value = serde_json::from_str(&sandbox.read(index)).unwrap();
    for entry in document["skills"].as_array_mut().unwrap() {
        if entry["name"] == "csv" {
            entry["digest"] = "none".into();
        }
    }
    sandbox.write(index, document.to_string());
    let run = sandbox.run(&["update", "--yes", "--json"]);
    let document = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, states(&document)), (1, pairs(&[("csv", "broken"), ("pdf", "updated")])));
}

#[test]
fn an_update_fails_where_a_file_of_an_index_does_not_have_its_digest() {
    let sandbox = empty_project();
    for name in ["csv", "pdf"] {
        sandbox.write(&format!("source/{name}/SKILL.md"), skill(name, "one\n"));
    }
    assert_eq!(sandbox.run(&["publish", "source", "--to", "well-known", "site"]).code, 0);
    let url = static_server(&sandbox.project().join("site"), None);
    sandbox.json(&["add", &url, "--all", "--yes", "--json"]);
    let directory = "site/.well-known/agent-skills";
    let index: serde_json::Value =
        serde_json::from_str(&sandbox.read(&format!("{directory}/index.json"))).unwrap();
    let file = index["skills"][0]["url"].as_str().unwrap();
    sandbox.write(&format!("{directory}/{file}"), skill("csv", "other\n"));
    for arguments in [&["update", "--yes"][..], &["update", "--dry-run"], &["update", "csv", "--yes"]] {
        let run = sandbox.run(arguments);
        assert!(run.code == 1 && run.stderr.starts_with("broken: csv: "), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn a_missing_skill_whose_locked_state_is_gone_is_added_anew() {
    let sandbox = empty_project();
    sandbox.write("../plain/SKILL.md", skill("plain", "one\n"));
    sandbox.json(&["add", "../plain", "--yes", "--json"]);
    fs::remove_dir_all(sandbox.project().join(".agents/skills/plain")).unwrap();
    let run = sandbox.run(&["update", "--yes"]);
    assert!(run.code == 1 && run.stderr.starts_with("missing: plain"), "{}{}", run.stdout, run.stderr);
    // As in another clone of the project, after the source changed.
    sandbox.write("../plain/SKILL.md", skill("plain", "two\n"));
    forget_contents(&sandbox);
    assert_eq!(sandbox.run(&["update", "--yes"]).code, 1);
    assert_run!(sandbox.run(&["sync"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: ../plain does not have `plain` as the lock says (any more)
    hint: nothing was changed; `rep add ../plain --skill plain` takes the newest one, `rep remove plain` takes it out of the lock
    "#);
    assert_eq!(sandbox.run(&["add", "../plain", "--skill", "plain", "--yes"]).code, 0);
    assert_eq!(sandbox.run(&["sync", "--frozen"]).code, 0);
}

#[test]
fn a_commit_that_is_gone_is_reported_without_advice_to_write_it_in_full() {
    let (repository, sandbox) = added();
    let lock = sandbox.read("repertoire.lock");
    let commit = lock.lines().find_map(|line| line.strip_prefix("resolved = ")).unwrap().trim_matches('"');
    sandbox.write("repertoire.lock", lock.replace(commit, &"1".repeat(40)));
    fs::remove_dir_all(sandbox.project().join(".agents/skills/pdf")).unwrap();
    forget_contents(&sandbox);
    let run = sandbox.run(&["sync"]);
    assert!(run.code == 1 && !run.stderr.contains("written in full"), "{}", run.stderr);
    let command = format!("`rep add {} --skill pdf` takes the newest one", repository.url());
    assert!(run.stderr.contains(&command), "{}", run.stderr);
}

#[test]
fn an_edited_skill_whose_commit_is_gone_is_removed_by_force_and_added_anew() {
    let (repository, sandbox) = added();
    let lock = sandbox.read("repertoire.lock");
    let commit = lock.lines().find_map(|line| line.strip_prefix("resolved = ")).unwrap().trim_matches('"');
    sandbox.write("repertoire.lock", lock.replace(commit, &"1".repeat(40)));
    edit(&sandbox, "Second.", "Second, my way.");
    forget_contents(&sandbox);
    let run = sandbox.run(&["sync", "--force"]);
    let add = format!("rep add {} --skill pdf", repository.url());
    let advice = format!("`rep remove --force pdf` and then `{add}` takes the newest one");
    assert!(run.code == 1 && run.stderr.contains(&advice), "{}", run.stderr);
    assert_eq!(sandbox.run(&["remove", "--force", "pdf", "--yes"]).code, 0);
    assert_eq!(sandbox.run(&["add", &repository.url(), "--skill", "pdf", "--yes"]).code, 0);
    assert!(!sandbox.read(PDF).contains("my way"));
}

#[test]
fn a_conflict_copy_that_is_being_edited_and_later_edits_of_the_skill_are_kept() {
    let (repository, sandbox) = added();
    edit(&sandbox, "Second.", "Second, my way.");
    repository.edit("skills/pdf/SKILL.md", "Second.", "Second, from the source.");
    repository.commit();
    assert_eq!(sandbox.run(&["update", "--yes"]).code, 1);
    // A copy that nobody has touched is written anew.
    repository.edit("skills/pdf/SKILL.md", "from the source.", "from the source again.");
    repository.commit();
    assert_eq!(sandbox.run(&["update", "--yes"]).code, 1);
    let copy = ".repertoire/conflicts/pdf/SKILL.md";
    assert!(sandbox.read(copy).contains("from the source again."), "{}", sandbox.read(copy));
    // One that somebody edits stays.
    let half_done = sandbox.read(copy).replace("First.", "First, half done.");
    sandbox.write(copy, &half_done);
    assert_run!(sandbox.run(&["update", "--yes"]), @r#"
    exit 1
    --- stdout
    --- stderr
    conflict: pdf: a conflict copy is open, and stays as it is
    hint: finish it with `rep update --resolved pdf`, or delete it
    "#);
    let run = sandbox.run(&["update", "--yes", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["skills"][1]["reason"], "a conflict copy is open, and stays as it is");
    assert_eq!(sandbox.read(copy), half_done);
    // The copy does not replace what was edited in the skill after it was made.
    let before = sandbox.read(PDF);
    sandbox.write(copy, before.replace("Second, my way.", "Second, both ways."));
    edit(&sandbox, "Third.", "Third, later.");
    let run = sandbox.run(&["update", "--resolved", "pdf", "--yes"]);
    assert!(run.code == 1 && run.stderr.contains("was edited after the copy was made"), "{}", run.stderr);
    assert!(sandbox.read(PDF).contains("Third, later.") && sandbox.read(copy).contains("both ways"));
    sandbox.write(PDF, before);
    assert_eq!(sandbox.run(&["update", "--resolved", "pdf", "--yes"]).code, 0);
    assert!(sandbox.read(PDF).contains("Second, both ways."));
    assert_eq!(fs::read_dir(sandbox.project().join(".repertoire/conflicts")).unwrap().count(), 0);
    // A deleted copy is written anew.
    edit(&sandbox, "First.", "First, my way.");
    repository.edit("skills/pdf/SKILL.md", "First.", "First, from the source.");
    repository.commit();
    assert_eq!(sandbox.run(&["update", "--yes"]).code, 1);
    fs::remove_dir_all(sandbox.project().join(".repertoire/conflicts/pdf")).unwrap();
    assert_eq!(sandbox.run(&["update", "--yes"]).code, 1);
    assert!(sandbox.read(copy).contains("<<<<<<< ours"));
}

#[test]
fn skills_that_the_source_renamed_moved_or_removed_are_reported() {
    let (repository, sandbox) = added();
    repository.git(&["mv", "skills/pdf", "moved"]);
    repository.edit("moved/SKILL.md", "Third.", "Third!");
    repository.git(&["rm", "-rq", "skills/csv"]);
    repository.commit();
    assert_eq!(states(&dry_run(&sandbox, 1)), pairs(&[("csv", "removed"), ("pdf", "outdated")]));
    let run = sandbox.run(&["update", "--yes"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("it moved from skills/pdf to moved"), "{}", run.stdout);
    assert!(run.stderr.contains("removed: csv: the source does not have it any more"), "{}", run.stderr);
    assert!(sandbox.read(PDF).contains("Third!"));
    assert!(sandbox.project().join(".agents/skills/csv/SKILL.md").is_file());
    repository.edit("moved/SKILL.md", "name: pdf", "name: forms");
    repository.commit();
    let run = sandbox.run(&["update", "pdf", "--yes"]);
    assert!(
        run.code == 0 && run.stderr.contains("the source calls it forms now; `rep update --rename` takes"),
        "{}",
        run.stderr
    );
    assert_eq!(sandbox.run(&["update", "--dry-run"]).code, 0);
    // A source that is gone is reported, and everything stays.
    fs::remove_dir_all(repository.path().join(".git")).unwrap();
    let run = sandbox.run(&["update", "--yes"]);
    assert!(run.code == 1 && run.stderr.contains("there is no repository at"), "{}", run.stderr);
    assert_eq!(states(&dry_run(&sandbox, 1))[1].1, "unreachable");
    assert!(sandbox.read(PDF).contains("Third!"));
}

#[test]
fn a_skill_with_a_new_name_in_a_new_directory_is_found_and_renamed_by_choice() {
    let (repository, sandbox) = added();
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    sandbox.json(&["sync", "--json"]);
    edit(&sandbox, "First.", "First, my way.");
    repository.git(&["mv", "skills/pdf", "skills/forms"]);
    repository.edit("skills/forms/SKILL.md", "name: pdf", "name: forms");
    repository.edit("skills/forms/SKILL.md", "Third.", "Third!");
    // Another new skill, which is not like it.
    repository.write("skills/other/SKILL.md", skill("other", "# Other\n\nAnother one altogether.\n"));
    repository.commit();
    let document = dry_run(&sandbox, 0);
    assert_eq!(states(&document), pairs(&[("csv", "current"), ("pdf", "renamed")]));
    assert_eq!(document["skills"][1]["renamed_to"], "forms");
    let run = sandbox.run(&["update", "--yes"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    assert!(run.stderr.contains("renamed: pdf: the source calls it forms now"), "{}", run.stderr);
    assert!(sandbox.read(PDF).contains("my way"));
    // A name that would be taken over is a change; one that is only reported is not.
    assert_eq!(sandbox.run(&["update", "--dry-run"]).code, 0);
    assert_eq!(sandbox.run(&["update", "--rename", "--dry-run"]).code, 1);
    // What is in the way stays.
    sandbox.write(".agents/skills/forms/notes.md", "mine");
    let run = sandbox.run(&["update", "--rename", "--yes"]);
    assert!(
        run.code == 1 && run.stderr.contains("renamed: pdf stays: there is something at"),
        "{}",
        run.stderr
    );
    fs::remove_dir_all(sandbox.project().join(".agents/skills/forms")).unwrap();
    // So do files that a skill cannot have.
    sandbox.write(".agents/skills/pdf/.env", "mine");
    let run = sandbox.run(&["update", "--rename", "--yes"]);
    assert!(run.code == 1 && run.stderr.contains("it has other files, such as .env"), "{}", run.stderr);
    fs::remove_file(sandbox.project().join(".agents/skills/pdf/.env")).unwrap();
    let run = sandbox.run(&["update", "--rename", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("; it is called forms now"), "{}", run.stdout);
    assert!(run.stdout.contains("updated pdf to forms"), "{}", run.stdout);
    let text = sandbox.read(".agents/skills/forms/SKILL.md");
    assert!(text.contains("First, my way.") && text.contains("Third!") && text.contains("name: forms"));
    assert!(!sandbox.project().join(".agents/skills/pdf").exists());
    let links = sandbox.project().join(".claude/skills");
    assert!(links.join("forms").is_symlink() && !links.join("pdf").is_symlink());
    assert_eq!(sandbox.run(&["update", "--dry-run"]).stdout, "everything is up to date\n");
    let lock = sandbox.read("repertoire.lock");
    assert!(lock.contains("name = \"forms\"") && !lock.contains("name = \"pdf\""), "{lock}");
}

#[test]
fn sync_restores_what_the_lock_says() {
    let (repository, sandbox) = added();
    let (text, lock) = (sandbox.read(PDF), sandbox.read("repertoire.lock"));
    repository.edit("skills/pdf/SKILL.md", "Third.", "Third!");
    repository.commit();
    assert_run!(sandbox.run(&["sync", "--frozen"]), @r#"
    exit 0
    --- stdout
    everything is as the lock says
    --- stderr
    "#);
    let skills = sandbox.project().join(".agents/skills");
    fs::remove_dir_all(skills.join("pdf")).unwrap();
    assert_run!(sandbox.run(&["sync", "--frozen"]), @r#"
    exit 1
    --- stdout
    missing pdf
    --- stderr
    "#);
    // From the store, without the repository.
    let moved = repository.path().join(".git-away");
    fs::rename(repository.path().join(".git"), &moved).unwrap();
    assert_eq!(sandbox.run(&["sync"]).stdout, "restored pdf\n");
    fs::rename(&moved, repository.path().join(".git")).unwrap();
    assert_eq!(sandbox.read(PDF), text);
    // From the repository at the commit of then, without the store.
    fs::remove_dir_all(&skills).unwrap();
    fs::remove_dir_all(sandbox.home().join(".local")).unwrap();
    assert_eq!(sandbox.run(&["sync"]).stdout, "restored csv\nrestored pdf\n");
    assert_eq!((sandbox.read(PDF), sandbox.read("repertoire.lock")), (text.clone(), lock));
    // Edits stay, unless they are to be discarded.
    edit(&sandbox, "First.", "First, my way.");
    let run = sandbox.run(&["sync"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, "changed pdf\n"));
    assert!(sandbox.read(PDF).contains("my way"));
    assert_eq!(sandbox.run(&["sync", "--force"]).code, 0);
    assert_eq!(sandbox.read(PDF), text);
    // A lock that asks for other bytes than the source has.
    let changed = sandbox.read("repertoire.lock").replace("digest = \"sha256:", "digest = \"sha256:00");
    let changed: String = changed
        .lines()
        .map(|line| {
            let line = if line.starts_with("digest") {
                format!("{}\"", &line[..line.len() - 3])
            } else {
                line.to_owned()
            };
            line + "\n"
        })
        .collect();
    sandbox.write("repertoire.lock", changed);
    fs::remove_dir_all(&skills).unwrap();
    let run = sandbox.run(&["sync"]);
    assert!(run.code == 1 && run.stderr.contains("does not have `csv` as the lock says"), "{}", run.stderr);
    assert!(!skills.join("csv").exists());
}

#[test]
fn links_that_a_killed_command_did_not_make_are_made_by_the_next_one() {
    let (repository, sandbox) = added();
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    let link = sandbox.project().join(".claude/skills/pdf");
    assert_run!(sandbox.run(&["sync", "--frozen"]), @r#"
    exit 0
    --- stdout
    everything is as the lock says
    --- stderr
    warning: the link .claude/skills/csv is missing, which a client needs; `rep sync` makes it
    warning: the link .claude/skills/pdf is missing, which a client needs; `rep sync` makes it
    "#);
    assert!(!sandbox.project().join(".claude").exists());
    let shown = "linked for other clients: .claude/skills/csv, .claude/skills/pdf\n";
    sandbox.run(&["update", "--dry-run"]);
    assert!(!link.is_symlink());
    assert_eq!(sandbox.run(&["update", "--yes"]).stdout, format!("everything is up to date\n{shown}"));
    assert!(link.is_symlink());
    fs::remove_dir_all(sandbox.project().join(".claude")).unwrap();
    let run = sandbox.run(&["add", &repository.url(), "--all", "--yes"]);
    assert!(run.code == 0 && run.stdout.ends_with(shown), "{}", run.stdout);
    assert!(link.is_symlink());
    // Nothing links a skill that was disabled meanwhile.
    assert_eq!(sandbox.run(&["disable", "pdf", "--project"]).code, 0);
    assert!(!link.is_symlink());
    for command in [&["update", "--yes"][..], &["sync"]] {
        assert_eq!(sandbox.run(command).code, 0);
        assert!(!link.is_symlink(), "{command:?}");
    }
}

#[test]
fn a_lock_and_links_of_a_clone_neither_run_nor_write_anything_elsewhere() {
    let (repository, sandbox) = added();
    let lock = sandbox.read("repertoire.lock");
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let made = sandbox.project().join("made");
    sandbox.write(
        "repertoire.lock",
        lock.replace(commit.trim(), &format!("--upload-pack=touch${{IFS}}{};false", made.display())),
    );
    fs::remove_dir_all(sandbox.project().join(".agents/skills/pdf")).unwrap();
    let run = sandbox.run(&["sync"]);
    assert!(run.code != 0 && run.stderr.contains("has no valid reference"), "{}", run.stderr);
    assert!(!made.exists());
    // A link in the place of a skill is not written through.
    sandbox.write("repertoire.lock", &lock);
    let elsewhere = sandbox.home().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, sandbox.project().join(".agents/skills/pdf")).unwrap();
    assert_ne!(sandbox.run(&["sync", "--force"]).code, 0);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn skills_are_removed_by_name_and_by_source() {
    let (repository, sandbox) = added();
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    sandbox.json(&["sync", "--json"]);
    assert!(sandbox.project().join(".claude/skills/pdf").is_symlink());
    edit(&sandbox, "First.", "First, my way.");
    assert_run!(sandbox.run(&["remove", "pdf", "--yes"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: `pdf` was changed since it was added
    hint: nothing was removed; `--force` removes it all the same
    "#);
    assert_run!(sandbox.run(&["remove", "csv"]), @r#"
    exit 1
    --- stdout
    - .agents/skills/csv
    - .claude/skills/csv
    --- stderr
    error: nothing was changed; 1 skill would be removed
    hint: `--yes` does it without asking
    "#);
    // A part of the source means the skills in that part alone.
    for part in ["//skills/none", "#v1"] {
        let run = sandbox.run(&["remove", &format!("{}{part}", repository.url()), "--force", "--yes"]);
        assert!(run.code == 1 && run.stderr.contains("was added"), "{}", run.stderr);
    }
    sandbox.json(&["remove", &format!("{}//skills/csv", repository.url()), "--yes", "--json"]);
    assert!(sandbox.project().join(".agents/skills/pdf").is_dir());
    sandbox.json(&["remove", &repository.url(), "--force", "--yes", "--json"]);
    assert!(!sandbox.project().join("repertoire.lock").exists());
    for path in [".agents/skills/pdf", ".agents/skills/csv", ".claude/skills/pdf"] {
        assert!(sandbox.project().join(path).symlink_metadata().is_err(), "{path}");
    }
    assert!(sandbox.run(&["remove", "pdf", "--yes"]).stderr.contains("no skill or source `pdf` was added"));
    // Of a skill that something else put there, the directories are named.
    for place in [".claude/skills", "../home/.claude/skills"] {
        sandbox.write(&format!("{place}/mine/SKILL.md"), crate::sandbox::skill("mine", "x\n"));
    }
    assert_run!(sandbox.run(&["remove", "mine"]), @r#"
    exit 1
    --- stdout
    mine: no installer recorded it
      files: SKILL.md
    - .claude/skills/mine
    --- stderr
    error: nothing was changed; 1 skill would be removed
    hint: `--yes` does it without asking
    "#);
    insta::assert_snapshot!(sandbox.run(&["remove", "mien"]).stderr, @r"
    error: no skill or source `mien` was added
    hint: did you mean `mine`?
    hint: there are: mine
    hint: run `rep explain mien` to see why it is missing
    ");
    for place in [".claude", "../home/.claude"] {
        fs::remove_dir_all(sandbox.project().join(place).join("skills/mine")).unwrap();
    }
    // The link goes, too, if the directory was deleted by hand; that of another skill stays.
    sandbox.json(&["add", &repository.url(), "--all", "--yes", "--json"]);
    fs::remove_dir_all(sandbox.project().join(".agents/skills/pdf")).unwrap();
    sandbox.json(&["remove", "pdf", "--yes", "--json"]);
    assert!(!sandbox.project().join(".claude/skills/pdf").is_symlink());
    assert!(!sandbox.read(".agents/.repertoire-links.json").contains("pdf"));
    assert!(sandbox.project().join(".claude/skills/csv").is_symlink());
    sandbox.json(&["remove", "csv", "--yes", "--json"]);
    assert!(sandbox.run(&["sync"]).stderr.contains("there is no [DIR]/project/repertoire.lock"));
}

#[test]
fn the_lock_of_npx_skills_is_taken_over_and_kept_in_step() {
    use std::collections::BTreeMap;

    let (repository, sandbox) = added();
    // As if something else had put pdf there.
    fs::remove_file(sandbox.project().join("repertoire.lock")).unwrap();
    assert_eq!(sandbox.run(&["sync", "--import"]).code, 1);
    let mut files = BTreeMap::new();
    for path in ["SKILL.md", "scripts/run.sh"] {
        let bytes = fs::read(sandbox.project().join(".agents/skills/pdf").join(path)).unwrap();
        files.insert(
            repertoire_model::SkillPath::new(path).unwrap(),
            repertoire_model::patch::FileData { executable: false, bytes },
        );
    }
    let hash = repertoire_sources::folder_hash(&files);
    let entry = |hash: &str| serde_json::json!({"source": "x", "sourceUrl": repository.url(), "sourceType": "git", "computedHash": hash});
    let skills = serde_json::json!({"pdf": entry(&hash), "csv": entry("0"), "gone": entry("0"), "odd": {"source": "x", "sourceType": "node_modules"}});
    sandbox.write("skills-lock.json", serde_json::json!({"version": 1, "skills": skills}).to_string());
    let run = sandbox.run(&["sync", "--import", "--json"]);
    let expect = [("pdf", "imported"), ("csv", "changed"), ("gone", "missing"), ("odd", "unknown")];
    assert_eq!(states(&serde_json::from_str(&run.stdout).unwrap()), pairs(&expect));
    assert_eq!(run.code, 1);
    // It is followed from now on, and the other lock is kept in step.
    assert_eq!(sandbox.run(&["update", "--dry-run"]).stdout, "everything is up to date\n");
    repository.edit("skills/pdf/SKILL.md", "Third.", "Third!");
    repository.commit();
    sandbox.json(&["update", "--yes", "--json"]);
    let other: serde_json::Value = serde_json::from_str(&sandbox.read("skills-lock.json")).unwrap();
    assert_ne!(other["skills"]["pdf"]["computedHash"], hash.as_str());
    assert_eq!(other["skills"]["pdf"]["skillPath"], "skills/pdf/SKILL.md");
    assert_eq!(other["skills"]["csv"]["computedHash"], "0");
    sandbox.json(&["remove", "pdf", "--yes", "--json"]);
    let other: serde_json::Value = serde_json::from_str(&sandbox.read("skills-lock.json")).unwrap();
    assert!(other["skills"].get("pdf").is_none());
}

#[test]
fn the_locks_of_other_installers_are_taken_over() {
    let (repository, sandbox) = added();
    fs::remove_file(sandbox.project().join("repertoire.lock")).unwrap();
    let hash = |path: &str| {
        let bytes = fs::read(sandbox.project().join(".agents/skills/pdf").join(path)).unwrap();
        repertoire_model::Digest::of(&bytes).to_hex()
    };
    let commit = repository.commit();
    let lock = format!(
        "dependencies:\n- repo_url: {}\n  virtual_path: skills/pdf\n  resolved_commit: {commit}\n  deployed_file_hashes:\n    \
         .agents/skills/pdf/SKILL.md: {}\n    .agents/skills/pdf/scripts/run.sh: {}\n",
        repository.url(),
        hash("SKILL.md"),
        hash("scripts/run.sh")
    );
    sandbox.write("apm.lock.yaml", &lock);
    let run = sandbox.run(&["sync", "--import", "--json"]);
    assert_eq!(states(&serde_json::from_str(&run.stdout).unwrap()), pairs(&[("pdf", "imported")]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(sandbox.run(&["update", "--dry-run"]).stdout, "everything is up to date\n");
    // What was changed since is left alone.
    fs::remove_file(sandbox.project().join("repertoire.lock")).unwrap();
    sandbox.write(".agents/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Edited.\n---\n");
    let run = sandbox.run(&["sync", "--import", "--json"]);
    assert_eq!(states(&serde_json::from_str(&run.stdout).unwrap()), pairs(&[("pdf", "changed")]));
    assert_eq!(run.code, 1);
}

/// Runs `npx skills` in the project: the command of `REPERTOIRE_TEST_NPX_SKILLS`, or what npm has in its
/// cache.
pub(crate) fn npx_skills(sandbox: &Sandbox, arguments: &[&str]) -> Option<String> {
    let given = std::env::var("REPERTOIRE_TEST_NPX_SKILLS").ok();
    let words = given.unwrap_or_else(|| "npx --offline --yes skills@1.7.4".to_owned());
    let words: Vec<&str> = words.split(' ').collect();
    let mut command = sandbox.other(words[0], &[&words[1..], arguments].concat());
    let output = command.env("DISABLE_TELEMETRY", "1").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn npx_skills_and_rep_share_a_lock() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    if npx_skills(&sandbox, &["--version"]).is_none() {
        skipped("`npx skills`, which is not installed or does not run here");
        return;
    }
    let source = repository.path().display().to_string();
    npx_skills(&sandbox, &["add", &source, "-s", "pdf", "-y", "-a", "claude-code", "-a", "codex"]).unwrap();
    let imported = sandbox.json(&["sync", "--import", "--json"]);
    assert_eq!(states(&imported), pairs(&[("pdf", "imported")]));
    sandbox.json(&["add", &source, "--skill", "csv", "--yes", "--json"]);
    let lock = sandbox.read("skills-lock.json");
    // It reads the lock that we wrote, restores from it, and leaves it as it is.
    let listed = npx_skills(&sandbox, &["list"]).unwrap();
    assert!(listed.contains("csv") && listed.contains("pdf"), "{listed}");
    fs::remove_dir_all(sandbox.project().join(".agents/skills/csv")).unwrap();
    npx_skills(&sandbox, &["experimental_install"]).unwrap();
    assert_eq!(sandbox.read("skills-lock.json"), lock);
    assert_eq!(sandbox.run(&["sync", "--frozen"]).code, 0);
}
