//! Tests of `rep history`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::git_repository::{Repository, empty_project};
use crate::sandbox::{ALPHA, Run, Sandbox, assert_run, skill};

/// Returns a sandbox whose skill `alpha` has two versions; the second is on disk.
fn with_two_versions() -> Sandbox {
    let sandbox = Sandbox::with_author();
    assert_eq!(sandbox.run(&["history", "alpha"]).code, 0);
    sandbox.write(ALPHA, skill("alpha", "# Alpha\n\nDo it twice.\n"));
    assert_eq!(sandbox.run(&["history", "alpha"]).code, 0);
    sandbox
}

/// Returns the versions of `alpha` with these keys, the newest first.
fn versions(sandbox: &Sandbox, keys: &[&str]) -> Vec<Value> {
    versions_of(sandbox, "alpha", keys)
}

fn versions_of(sandbox: &Sandbox, name: &str, keys: &[&str]) -> Vec<Value> {
    let listed = sandbox.json(&["history", name, "--json"]);
    let pick = |version: &Value| keys.iter().map(|key| version[key].clone()).collect::<Value>();
    listed["versions"].as_array().unwrap().iter().map(pick).collect()
}

/// Returns the run without times.
pub(crate) fn undated(mut run: Run) -> Run {
    const TIME: &str = "YYYY-MM-DDTHH:MM:SS.mmmZ";
    let is_time = |text: &str| text.starts_with("20") && text.ends_with('Z') && text.as_bytes()[10] == b'T';
    for text in [&mut run.stdout, &mut run.stderr] {
        let starts: Vec<usize> = text.match_indices("20").map(|(at, _)| at).collect();
        for at in starts {
            if text.get(at..at + TIME.len()).is_some_and(is_time) {
                text.replace_range(at..at + TIME.len(), TIME);
            }
        }
    }
    run
}

#[test]
fn history_lists_versions_newest_first() {
    let sandbox = with_two_versions();
    assert_run!(undated(sandbox.run(&["history", "alpha"])), @r"
    exit 0
    --- stdout
    VERSION  TIME                      ORIGIN  AUTHOR  DIGEST
          2  YYYY-MM-DDTHH:MM:SS.mmmZ  edit    -       sha256:fa5793716398bb9f
          1  YYYY-MM-DDTHH:MM:SS.mmmZ  edit    -       sha256:5058f94751d43887
    --- stderr
    ");
    let listed = sandbox.json(&["history", "alpha", "--json"]);
    let newest = &listed["versions"][0];
    let keys: Vec<&String> = newest.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["number", "digest", "time", "origin", "author"]);
    assert_eq!(
        (&newest["number"], &newest["origin"], &newest["author"]),
        (&json!(2), &json!("edit"), &json!(null))
    );
    let current = sandbox.json(&["list", "--digest", "--json"]);
    assert_eq!(newest["digest"], current["skills"][0]["digest"]);
    assert_run!(sandbox.run(&["history", "alpa"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: there is no skill `alpa`
    hint: did you mean `alpha`?
    hint: there are: alpha, beta
    hint: run `rep explain alpa` to see why it is missing
    ");
}

#[test]
fn history_of_a_broken_skill_lists_its_versions() {
    let sandbox = with_two_versions();
    sandbox.write(ALPHA, "---\nname: [\n");
    assert_eq!(versions(&sandbox, &["number"]), [json!([2]), json!([1])]);
}

#[test]
fn diff_compares_versions_and_files() {
    let sandbox = with_two_versions();
    assert_run!(sandbox.run(&["history", "alpha", "--diff", "1", "2"]), @r"
    exit 0
    --- stdout
    diff --git a/SKILL.md b/SKILL.md
    --- a/SKILL.md
    +++ b/SKILL.md
    @@ -4,4 +4,4 @@
     ---
     # Alpha

    -Do alpha.
    +Do it twice.
    --- stderr
    ");
    assert_run!(sandbox.run(&["history", "alpha", "--diff"]), @r"
    exit 0
    --- stdout
    --- stderr
    no difference
    ");
    sandbox.write(".agents/skills/alpha/references/guide.md", "one\ntwo\nfour\n");
    assert_run!(sandbox.run(&["history", "alpha", "--diff"]), @r"
    exit 0
    --- stdout
    diff --git a/references/guide.md b/references/guide.md
    --- a/references/guide.md
    +++ b/references/guide.md
    @@ -1,3 +1,3 @@
     one
     two
    -three
    +four
    --- stderr
    ");
    let diff = sandbox.json(&["history", "alpha", "--diff", "1", "--json"]);
    assert_eq!((&diff["name"], &diff["from"], &diff["to"]), (&json!("alpha"), &json!(1), &json!(null)));
    let text = diff["diff"].as_str().unwrap();
    assert!(text.contains("+four") && text.contains("+Do it twice."), "{text}");
    assert_run!(sandbox.run(&["history", "alpha", "--diff", "7"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: alpha has no version 7
    hint: `rep history alpha` lists its versions
    ");
    assert_run!(sandbox.run(&["history", "beta", "--diff"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: beta has no versions yet
    hint: `rep history beta` records it as it is now
    ");
}

#[test]
fn rollback_restores_a_version_and_records_it() {
    let sandbox = with_two_versions();
    let script = sandbox.project().join(".agents/skills/alpha/scripts/run.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert_run!(sandbox.run(&["history", "alpha", "--restore", "1"]), @r"
    exit 1
    --- stdout
    diff --git a/SKILL.md b/SKILL.md
    --- a/SKILL.md
    +++ b/SKILL.md
    @@ -4,4 +4,4 @@
     ---
     # Alpha

    -Do it twice.
    +Do alpha.
    --- stderr
    error: nothing was restored: there is no terminal to ask on
    hint: pass --yes to restore it
    ");
    assert!(sandbox.read(ALPHA).contains("twice"));
    assert_run!(sandbox.run(&["history", "alpha", "--restore", "9", "--yes"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: alpha has no version 9
    hint: `rep history alpha` lists its versions
    ");
    assert_run!(sandbox.run(&["history", "alpha", "--restore", "1", "--yes"]), @r"
    exit 0
    --- stdout
    diff --git a/SKILL.md b/SKILL.md
    --- a/SKILL.md
    +++ b/SKILL.md
    @@ -4,4 +4,4 @@
     ---
     # Alpha

    -Do it twice.
    +Do alpha.
    alpha is as in version 1 again; this is version 3
    --- stderr
    ");
    assert_eq!(sandbox.read(ALPHA), skill("alpha", "# Alpha\n\nDo alpha.\n"));
    assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(
        versions(&sandbox, &["number", "origin", "author"]),
        [json!([3, "rollback", "user:ann"]), json!([2, "edit", null]), json!([1, "edit", null])]
    );
    let again = sandbox.json(&["history", "alpha", "--restore", "2", "--yes", "--json"]);
    assert_eq!((&again["restored"], &again["version"]["number"]), (&json!(2), &json!(4)));
}

#[test]
fn rollback_keeps_edits_that_no_version_holds_unless_forced() {
    let sandbox = with_two_versions();
    sandbox.write(ALPHA, skill("alpha", "# Alpha\n\nEdited.\n"));
    assert_run!(sandbox.run(&["history", "alpha", "--restore", "1", "--yes"]), @r"
    exit 1
    --- stdout
    diff --git a/SKILL.md b/SKILL.md
    --- a/SKILL.md
    +++ b/SKILL.md
    @@ -4,4 +4,4 @@
     ---
     # Alpha

    -Edited.
    +Do alpha.
    --- stderr
    error: alpha has edits that no version holds
    hint: `rep history alpha` records them as a version, and --force replaces them
    ");
    assert!(sandbox.read(ALPHA).contains("Edited."));
    assert_eq!(sandbox.run(&["history", "alpha", "--restore", "1", "--yes", "--force"]).code, 0);
    assert!(sandbox.read(ALPHA).contains("Do alpha."));
    assert_eq!(
        versions(&sandbox, &["number", "origin"]),
        [json!([4, "rollback"]), json!([3, "edit"]), json!([2, "edit"]), json!([1, "edit"])]
    );
}

#[test]
fn rollback_mends_a_broken_skill() {
    let sandbox = with_two_versions();
    sandbox.write(ALPHA, "---\nname: [\n");
    let run = sandbox.run(&["history", "alpha", "--restore", "2", "--yes", "--force"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(sandbox.read(ALPHA), skill("alpha", "# Alpha\n\nDo it twice.\n"));
    assert_eq!(sandbox.run(&["check"]).code, 0);
}

#[test]
fn a_recorded_version_that_is_served_for_a_broken_file_is_reported_everywhere() {
    let sandbox = with_two_versions();
    sandbox.write(ALPHA, "---\nname: alpha\n");
    let called = sandbox.run(&["call", "load_skill", r#"{"name": "alpha"}"#]);
    assert!(called.code == 0 && called.stdout.contains("Do it twice."), "{}", called.stderr);
    let finding = |skill: &Value| {
        let all = skill["diagnostics"].as_array().unwrap();
        all.iter().any(|found| found["rule"] == "last-good")
    };
    for arguments in [&["list", "--json"][..], &["list", "--all", "--json"]] {
        let listed = sandbox.json(arguments);
        let alpha = &listed["skills"][0];
        assert!(alpha["state"] == "active" && finding(alpha), "{alpha}");
    }
    let listed = sandbox.run(&["list", "--all"]);
    assert!(listed.stdout.contains("alpha  !  last good  "), "{}", listed.stdout);
    assert!(listed.stderr.starts_with("2 active, 1 broken on disk"), "{}", listed.stderr);
    let checked = sandbox.run(&["check", "--json"]);
    let report: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert!(checked.code == 1 && finding(&report["skills"][0]), "{report}");
    let checked = sandbox.run(&["check", "alpha"]);
    assert!(checked.stdout.contains("the last good version is in force"), "{}", checked.stdout);
    let doctor = sandbox.run(&["doctor", "--verbose"]);
    assert!(
        doctor.stdout.contains("alpha is broken on disk, agents get the last good version"),
        "{}",
        doctor.stdout
    );
    let counts = "2 active, 0 shadowed, 0 quarantined, 1 broken on disk";
    assert!(doctor.stdout.contains(counts), "{}", doctor.stdout);
}

#[test]
fn a_rollback_of_a_broken_skill_says_how_to_force_it() {
    let sandbox = with_two_versions();
    sandbox.write(ALPHA, "---\nname: [\n");
    let run = sandbox.run(&["history", "alpha", "--restore", "2", "--yes"]);
    assert_eq!(run.code, 1);
    insta::assert_snapshot!(run.stderr, @r"
    error: alpha has edits that no version holds
    hint: it is broken on disk; --force records it as it is, and restores the version
    ");
}

#[test]
fn a_deleted_skill_has_versions_and_comes_back() {
    let sandbox = with_two_versions();
    let directory = sandbox.project().join(".agents/skills/alpha");
    std::fs::remove_file(directory.join("SKILL.md")).unwrap();
    let run = sandbox.run(&["history", "alpha"]);
    assert_eq!((run.code, run.stdout.lines().count()), (0, 3), "{}", run.transcript());
    assert_eq!(run.stderr, "warning: alpha was deleted; `rep history alpha --restore VERSION` restores it\n");
    let rollback = |number: &str| {
        let run = sandbox.run(&["history", "alpha", "--restore", number, "--yes"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    rollback("2");
    assert_eq!(sandbox.read(ALPHA), skill("alpha", "# Alpha\n\nDo it twice.\n"));
    assert_eq!(versions(&sandbox, &["number"]).len(), 2, "it is as in the newest version");
    std::fs::remove_dir_all(&directory).unwrap();
    rollback("1");
    assert_eq!(sandbox.read(ALPHA), skill("alpha", "# Alpha\n\nDo alpha.\n"));
    assert_eq!(sandbox.read(".agents/skills/alpha/references/guide.md"), "one\ntwo\nthree\n");
    assert_eq!(versions(&sandbox, &["number", "origin"])[0], json!([3, "rollback"]));
    // What is left is only replaced if a version has it.
    std::fs::remove_file(directory.join("SKILL.md")).unwrap();
    sandbox.write(".agents/skills/alpha/references/guide.md", "edited\n");
    let run = sandbox.run(&["history", "alpha", "--restore", "1", "--yes"]);
    assert!(run.code != 0 && run.stderr.contains("hint: move what is left in "), "{}", run.stderr);
    assert_eq!(sandbox.read(".agents/skills/alpha/references/guide.md"), "edited\n");
}

#[test]
fn the_recorded_version_of_a_broken_skill_is_shown_wherever_it_is_served() {
    let sandbox = with_two_versions();
    assert_eq!(sandbox.run(&["call", "load_skill", r#"{"name": "alpha"}"#]).code, 0);
    sandbox.write(ALPHA, "---\nname: [\n");
    let told = "the last good version is in force";
    let explained = sandbox.run(&["explain", "alpha"]);
    assert!(
        explained.stdout.contains(told) && explained.stdout.contains("agents can load it"),
        "{}",
        explained.stdout
    );
    let found = sandbox.json(&["search", "alpha", "--json"]);
    assert_eq!(found["results"][0]["name"], "alpha");
    assert_eq!(sandbox.json(&["stats", "--json"])["skills"][0]["state"], "present");
    let shown = sandbox.run(&["show", "alpha"]);
    assert_eq!(shown.stdout, "# Alpha\n\nDo it twice.\n");
    assert!(shown.stderr.starts_with("warning: ") && shown.stderr.contains(told), "{}", shown.stderr);
    assert!(sandbox.run(&["show", "alpha", "--json"]).stderr.contains(told));
    assert!(sandbox.run(&["show", "alpha", "--file", "SKILL.md"]).stdout.contains("Do it twice."));
    let read = sandbox.run(&["call", "read_skill_file", r#"{"skill": "alpha", "path": "SKILL.md"}"#]);
    assert!(read.stdout.contains("Do it twice."), "{}", read.transcript());
}

const PDF: &str = ".agents/skills/pdf/SKILL.md";

#[test]
fn added_skills_have_versions_from_the_first_day() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    let origins = |expect: &[&str]| {
        let expect: Vec<Value> = expect.iter().map(|origin| json!([origin])).collect();
        assert_eq!(versions_of(&sandbox, "pdf", &["origin"]), expect);
    };
    sandbox.json(&["add", &repository.url(), "--all", "--yes", "--json"]);
    origins(&["add"]);
    sandbox.json(&["add", &repository.url(), "--all", "--yes", "--json"]);
    origins(&["add"]);
    repository.edit("skills/pdf/SKILL.md", "Third.", "Third, from the source.");
    repository.commit();
    sandbox.write(PDF, sandbox.read(PDF).replace("First.", "First, my way."));
    sandbox.json(&["update", "--yes", "--json"]);
    origins(&["update", "edit", "add"]);
    let diff = sandbox.run(&["history", "pdf", "--diff", "2", "3"]).stdout;
    assert!(diff.contains("-Third.\n+Third, from the source.\n") && !diff.contains("my way"), "{diff}");
    let rolled_back = sandbox.run(&["history", "pdf", "--restore", "1", "--yes"]);
    assert_eq!(rolled_back.code, 0, "{}", rolled_back.stderr);
    assert!(!sandbox.read(PDF).contains("my way") && !sandbox.read(PDF).contains("from the source"));
    // What is removed comes back, with edits that no command saw.
    sandbox.write(PDF, sandbox.read(PDF).replace("Second.", "Second, unseen."));
    assert_eq!(sandbox.run(&["remove", "pdf", "--force", "--yes"]).code, 0);
    origins(&["edit", "rollback", "update", "edit", "add"]);
    assert_eq!(sandbox.run(&["history", "pdf", "--restore", "5", "--yes"]).code, 0);
    assert!(sandbox.read(PDF).contains("Second, unseen."));
}

#[test]
fn added_skills_have_versions_in_a_store_elsewhere_and_their_files_here() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    sandbox.write("../home/.config/repertoire/config.toml", "store.url = \"elsewhere.db\"\n");
    sandbox.json(&["add", &repository.url(), "--all", "--yes", "--json"]);
    assert_eq!(versions_of(&sandbox, "pdf", &["origin"]), [json!(["add"])]);
    let state = sandbox.home().join(".local/state/repertoire");
    assert!(state.join("repertoire.db").is_file());
    // A store that is away is not a reason not to change skills.
    std::fs::remove_file(sandbox.project().join("elsewhere.db")).unwrap();
    std::fs::create_dir(sandbox.project().join("elsewhere.db")).unwrap();
    let run = sandbox.run(&["remove", "pdf", "--yes"]);
    assert!(
        run.code == 0 && run.stderr.contains("the new versions of the skills are not recorded"),
        "{}",
        run.stderr
    );
    assert!(!sandbox.project().join(PDF).is_file());
}
