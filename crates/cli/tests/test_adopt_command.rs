//! Tests of `rep adopt`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, assert_run, skill};

const BETA: &str = "# Beta\n\nDo beta.\n";

/// Returns every file and link below `directory`, with its content and mode.
fn tree(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(directory).unwrap().display().to_string();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_symlink() {
                found.insert(name, format!("-> {}", fs::read_link(&path).unwrap().display()));
            } else if metadata.is_dir() {
                pending.push(path);
            } else {
                let mode = metadata.permissions().mode() & 0o777;
                found.insert(name, format!("{mode:o} {:?}", fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// Returns a sandbox with `beta` in two directories and `gamma` in a third one alone.
fn scattered() -> Sandbox {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".claude/skills/beta/SKILL.md", skill("beta", BETA));
    sandbox.write(".kiro/skills/gamma/SKILL.md", skill("gamma", "x\n"));
    sandbox.write(".kiro/skills/gamma/.hidden", "h");
    sandbox.write(".kiro/skills/gamma/scripts/x.sh", "echo\n");
    let script = sandbox.project().join(".kiro/skills/gamma/scripts/x.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o750)).unwrap();
    sandbox
}

#[test]
fn adopt_gathers_copies_and_undo_puts_them_back_byte_for_byte() {
    let sandbox = scattered();
    let before = tree(&sandbox.project());
    assert_run!(sandbox.run(&["adopt", "--all", "--dry-run"]), @r#"
    exit 0
    --- stdout
    + .claude/skills/beta -> ../../.agents/skills/beta
    - .claude/skills/beta is kept as .agents/.repertoire-adopted/.claude/skills/beta
    > .kiro/skills/gamma is moved to .agents/skills/gamma
    + .kiro/skills/gamma -> ../../.agents/skills/gamma
    --- stderr
    "#);
    assert_eq!(sandbox.run(&["adopt", "--all"]).code, 1, "nobody agreed");
    assert_eq!(tree(&sandbox.project()), before);
    let run = sandbox.run(&["adopt", "--all", "--yes"]);
    assert_eq!((run.code, run.stdout.lines().last()), (0, Some("2 skills gathered")), "{}", run.stderr);
    let after = tree(&sandbox.project());
    assert_eq!(after[".claude/skills/beta"], "-> ../../.agents/skills/beta");
    assert_eq!(after[".agents/skills/gamma/scripts/x.sh"], before[".kiro/skills/gamma/scripts/x.sh"]);
    assert!(sandbox.run(&["list", "--duplicates"]).stderr.starts_with("no skill is there more than once"));
    assert!(!sandbox.run(&["list"]).stdout.contains("repertoire-adopted"));
    assert_eq!(sandbox.run(&["adopt", "--all", "--yes"]).stdout, "every skill is in one place already\n");
    let run = sandbox.run(&["undo", "--yes"]);
    let last = run.stdout.lines().last();
    assert_eq!((run.code, last), (0, Some("took back rep adopt beta gamma")), "{}", run.stderr);
    assert_eq!(tree(&sandbox.project()), before);
    assert_eq!(sandbox.run(&["undo", "--yes"]).stdout, "there is nothing to undo\n");
}

#[test]
fn copies_that_differ_are_left_alone_until_one_is_chosen() {
    let sandbox = scattered();
    sandbox.write(".claude/skills/beta/SKILL.md", skill("beta", "other\n"));
    let before = tree(&sandbox.project());
    assert_run!(sandbox.run(&["adopt", "beta", "--yes"]), @r#"
    exit 1
    --- stdout
    --- stderr
    left alone: beta: its copies differ (.agents/skills/beta, .claude/skills/beta)
    hint: `--from DIR` chooses the copy that counts, and `rep list --duplicates --diff` compares them
    "#);
    let answer = sandbox.json(&["adopt", "beta", "--yes", "--from", ".claude/skills", "--json"]);
    assert_eq!(answer["skills"][0]["moved"], ".claude/skills/beta");
    assert!(sandbox.read(".agents/skills/beta/SKILL.md").ends_with("other\n"));
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 0);
    assert_eq!(tree(&sandbox.project()), before);
}

#[test]
fn copies_that_differ_in_hidden_files_or_links_are_left_alone() {
    let sandbox = scattered();
    let adopt = || sandbox.run(&["adopt", "beta", "--yes"]);
    sandbox.write(".claude/skills/beta/.env", "KEY=1");
    let before = tree(&sandbox.project());
    assert_run!(adopt(), @r#"
    exit 1
    --- stdout
    --- stderr
    left alone: beta: its copies (.agents/skills/beta, .claude/skills/beta) have hidden files or links that differ or could not be compared: .env
    hint: `--from DIR` chooses the copy that counts, and `rep list --duplicates --diff` compares them
    "#);
    sandbox.write(".agents/skills/beta/.env", "KEY=2");
    assert_eq!(adopt().code, 1, "another content");
    fs::remove_file(sandbox.project().join(".agents/skills/beta/.env")).unwrap();
    assert_eq!(tree(&sandbox.project()), before);
    sandbox.write(".agents/skills/beta/.env", "KEY=1");
    assert_eq!(adopt().code, 0);
}

#[test]
fn copies_with_the_same_hidden_directories_are_gathered() {
    let sandbox = scattered();
    let adopt = || sandbox.run(&["adopt", "beta", "--yes"]);
    for place in [".agents", ".claude"] {
        sandbox.write(&format!("{place}/skills/beta/.venv/lib/a"), "same");
        fs::create_dir(sandbox.project().join(format!("{place}/skills/beta/.venv/empty"))).unwrap();
    }
    sandbox.write(".claude/skills/beta/.venv/lib/b", "one copy has it");
    let run = adopt();
    assert!(run.code == 1 && run.stderr.contains("compared: .venv/lib/b\n"), "{}", run.stderr);
    fs::remove_file(sandbox.project().join(".claude/skills/beta/.venv/lib/b")).unwrap();
    assert_eq!(adopt().code, 0);
}

#[test]
fn copies_in_groups_and_behind_links_are_compared_and_named() {
    let sandbox = scattered();
    let text = skill("nested", "one\n");
    sandbox.write(".claude/skills/group/nested/SKILL.md", text.clone() + "more\n");
    sandbox.write(".cursor/skills/nested/SKILL.md", text.clone());
    let before = tree(&sandbox.project());
    assert_run!(sandbox.run(&["adopt", "nested", "--yes"]), @r#"
    exit 1
    --- stdout
    --- stderr
    left alone: nested: its copies differ (.claude/skills/group/nested, .cursor/skills/nested)
    hint: `--from DIR` chooses the copy that counts, and `rep list --duplicates --diff` compares them
    "#);
    assert_run!(sandbox.run(&["adopt", "nested", "--yes", "--from", ".claude/skills/group"]), @r#"
    exit 1
    --- stdout
    --- stderr
    left alone: nested: .claude/skills/group/nested cannot be moved: it does not lie directly in a directory of a client
    "#);
    assert_eq!(tree(&sandbox.project()), before);
    sandbox.write(".claude/skills/group/nested/SKILL.md", text);
    assert_run!(sandbox.run(&["adopt", "nested", "--yes"]), @r#"
    exit 1
    --- stdout
    > .cursor/skills/nested is moved to .agents/skills/nested
    1 skill gathered
    --- stderr
    left alone: nested: .claude/skills/group/nested stays: it does not lie directly in a directory of a client
    "#);
    // A link to a directory elsewhere is a copy, and a link to a copy is not.
    sandbox.write("elsewhere/linked/SKILL.md", skill("linked", "other\n"));
    sandbox.write(".cursor/skills/linked/SKILL.md", skill("linked", "x\n"));
    symlink("../../elsewhere/linked", sandbox.project().join(".claude/skills/linked")).unwrap();
    assert_run!(sandbox.run(&["adopt", "linked", "--yes"]), @r#"
    exit 1
    --- stdout
    --- stderr
    left alone: linked: its copies differ (.claude/skills/linked, .cursor/skills/linked)
    hint: `--from DIR` chooses the copy that counts, and `rep list --duplicates --diff` compares them
    "#);
}

#[test]
fn a_link_is_made_where_a_client_of_this_machine_needs_one() {
    let sandbox = Sandbox::new();
    for sign in [".claude", ".codex"] {
        sandbox.write(&format!("../home/{sign}/skills/spread/SKILL.md"), skill("spread", "x\n"));
    }
    let links = || {
        let run = sandbox.run(&["adopt", "spread", "--user", "--dry-run", "--json"]);
        serde_json::from_str::<Value>(&run.stdout).unwrap()["skills"][0]["links"].clone()
    };
    // Codex reads the one place.
    assert_eq!(links(), json!([".claude/skills/spread"]));
    assert_eq!(sandbox.run(&["connect", "claude-code", "--yes"]).code, 0);
    assert_eq!(links(), json!([]));
    // From a project, the directory is that of the home.
    sandbox.write("../home/.codex/skills/spread/SKILL.md", skill("spread", "y\n"));
    let run = sandbox.run(&["adopt", "spread", "--user", "--from", ".codex/skills", "--dry-run"]);
    assert!(run.stdout.contains("> .codex/skills/spread is moved"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn copies_with_hidden_files_that_are_too_large_to_compare_count_as_different() {
    let sandbox = scattered();
    for (place, letter) in [(".agents", "a"), (".claude", "b")] {
        sandbox.write(&format!("{place}/skills/beta/.data"), letter.repeat((1 << 20) + 1));
    }
    let run = sandbox.run(&["adopt", "beta", "--yes"]);
    assert!(run.code == 1 && run.stderr.contains("could not be compared: .data\n"), "{}", run.stderr);
    assert!(sandbox.project().join(".claude/skills/beta/.data").is_file());
}

#[test]
fn undo_leaves_no_empty_directories() {
    let sandbox = scattered();
    fs::remove_dir_all(sandbox.project().join(".agents")).unwrap();
    assert_eq!(sandbox.run(&["adopt", "gamma", "--yes"]).code, 0);
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 0);
    assert!(!sandbox.project().join(".agents").exists());
    // With nothing to undo, empty directories are the user's.
    fs::create_dir_all(sandbox.project().join(".agents/skills")).unwrap();
    assert_eq!(sandbox.run(&["undo", "--yes"]).stdout, "there is nothing to undo\n");
    assert!(sandbox.project().join(".agents/skills").is_dir());
}

#[test]
fn a_directory_without_copies_cannot_be_chosen() {
    let sandbox = scattered();
    let before = tree(&sandbox.project());
    assert_run!(sandbox.run(&["adopt", "beta", "--yes", "--from", "nowhere"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: no copy lies in nowhere
    hint: `rep list --duplicates` shows where the copies are
    "#);
    assert_eq!(tree(&sandbox.project()), before);
}

#[test]
fn a_copy_is_chosen_by_its_own_path_too() {
    let sandbox = scattered();
    sandbox.write(".claude/skills/beta/SKILL.md", skill("beta", "other\n"));
    let shown = sandbox.run(&["list", "--duplicates"]).stdout;
    let path =
        shown.lines().find_map(|line| line.split_whitespace().find(|word| word.starts_with(".claude")));
    assert_eq!(path, Some(".claude/skills/beta"), "{shown}");
    let answer = sandbox.json(&["adopt", "beta", "--yes", "--from", path.unwrap(), "--json"]);
    assert_eq!(answer["skills"][0]["moved"], ".claude/skills/beta");
    assert!(sandbox.read(".agents/skills/beta/SKILL.md").ends_with("other\n"));
}

#[test]
fn what_was_changed_since_is_left_alone_by_undo() {
    let sandbox = scattered();
    assert_eq!(sandbox.run(&["adopt", "--all", "--yes"]).code, 0);
    let link = sandbox.project().join(".claude/skills/beta");
    fs::remove_file(&link).unwrap();
    sandbox.write(".claude/skills/beta/SKILL.md", "mine");
    let run = sandbox.run(&["undo", "--yes"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("/project/.claude/skills/beta: was replaced since"), "{}", run.stderr);
    assert_eq!(sandbox.read(".claude/skills/beta/SKILL.md"), "mine");
    assert!(sandbox.read(".agents/.repertoire-adopted/.claude/skills/beta/SKILL.md").contains("Do beta."));
    // Without what stands in the way, it is put back after all.
    fs::remove_dir_all(&link).unwrap();
    assert_eq!(sandbox.undo("rep adopt beta").code, 0);
    assert!(sandbox.read(".claude/skills/beta/SKILL.md").contains("Do beta."));
}

#[test]
fn a_record_of_a_cloned_repository_moves_nothing_elsewhere() {
    let sandbox = scattered();
    for path in ["../home/.ssh", "src/x", ".agents/skills/../../x", "/etc/x", ".claude/skills/.git"] {
        let record = format!(
            r#"{{"version": 1, "adopted": [{{"name": "x", "path": "{path}", "to": null, "moved": true}}]}}"#
        );
        sandbox.write(".agents/.repertoire-adopted.json", record);
        sandbox.write(".agents/skills/x/SKILL.md", skill("x", "x\n"));
        let files = || {
            let mut files = tree(&sandbox.project());
            files.remove(".agents/.repertoire-adopted.json");
            files
        };
        let before = files();
        let run = sandbox.undo("rep adopt x");
        assert_eq!(run.code, 1, "{path} {}", run.stdout);
        assert_eq!(files(), before, "{path}");
    }
}

#[test]
fn adopt_needs_names_that_have_copies() {
    let sandbox = scattered();
    assert_eq!(sandbox.run(&["adopt"]).code, 2);
    sandbox.write("../home/.claude/skills/mine/SKILL.md", skill("mine", "x\n"));
    let run = sandbox.run(&["adopt", "mine", "--yes"]);
    assert!(run.stderr.contains("hint: gather it in the home directory"), "{}", run.stderr);
    assert_eq!(sandbox.run(&["adopt", "mine", "--user", "--yes"]).code, 0);
    assert_eq!(
        fs::read_link(sandbox.home().join(".claude/skills/mine")).unwrap(),
        Path::new("../../.agents/skills/mine")
    );
}

#[test]
fn an_interrupted_adoption_is_completed_before_commands_that_write_or_serve() {
    let sandbox = scattered();
    sandbox.write(".claude/skills/beta/SKILL.md", skill("beta", "other\n"));
    let before = tree(&sandbox.project());
    let run = sandbox.run(&["adopt", "beta", "--yes", "--from", ".claude/skills"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let after = tree(&sandbox.project());
    // As if it had been killed when the copy in the one place was put aside, and before the other one was
    // moved there.
    let changes = sandbox.home().join(".local/state/repertoire/changes");
    let record: Value =
        serde_json::from_str(&sandbox.read("../home/.local/state/repertoire/changes.json")).unwrap();
    let change = &record["entries"][0];
    let step = |step: &Value| match step["record"]["path"].as_str() {
        Some(path) => {
            json!({"record": {"path": path, "before": null, "after": fs::read_to_string(path).unwrap()}})
        }
        None => step.clone(),
    };
    let steps: Vec<Value> = change["steps"].as_array().unwrap().iter().map(step).collect();
    let journal =
        json!({"version": 4, "command": "rep adopt", "time": change["time"], "skills": [], "steps": steps});
    let name = format!("{}.json", change["place"].as_str().unwrap());
    fs::write(changes.join(name), journal.to_string()).unwrap();
    fs::remove_file(changes.with_file_name("changes.json")).unwrap();
    for record in [".agents/.repertoire-links.json", ".agents/.repertoire-adopted.json"] {
        fs::remove_file(sandbox.project().join(record)).unwrap();
    }
    sandbox.write(".agents/..repertoire-adopted.json.2147483646.rep.tmp", "{");
    fs::remove_file(sandbox.project().join(".claude/skills/beta")).unwrap();
    fs::rename(sandbox.project().join(".agents/skills/beta"), sandbox.project().join(".claude/skills/beta"))
        .unwrap();
    // Commands that only read leave it as it is.
    let readers = [
        &["list"][..],
        &["search", "alpha"],
        &["show", "alpha"],
        &["check"],
        &["list", "--duplicates"],
        &["connect"],
    ];
    for reader in readers {
        assert!(!sandbox.run(reader).stderr.contains("interrupted"), "{reader:?}");
    }
    let run = sandbox.run(&["catalog"]);
    assert!(run.stderr.contains("a `rep adopt` that was interrupted is completed"), "{}", run.stderr);
    assert_eq!(tree(&sandbox.project()), after);
    assert!(!sandbox.run(&["catalog"]).stderr.contains("interrupted"));
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 0);
    assert_eq!(tree(&sandbox.project()), before);
}

#[test]
fn a_clone_whose_links_lead_out_moves_nothing_across_the_border() {
    let sandbox = Sandbox::new();
    sandbox.write("../home/.agents/skills/mine/SKILL.md", skill("mine", "x\n"));
    sandbox.write("../home/documents/letter.txt", "x");
    sandbox.write("../home/kept/skills/beta/SKILL.md", skill("beta", "x\n"));
    sandbox.write(".claude/skills/evil/SKILL.md", skill("evil", "x\n"));
    sandbox.write(
        ".agents/.repertoire-adopted.json",
        r#"{"version": 1, "adopted": [
            {"name": "documents", "path": ".claude/skills/documents", "to": null, "moved": true},
            {"name": "beta", "path": ".claude/skills/beta", "to": null, "moved": false}
        ]}"#,
    );
    // The record may be written anew.
    let all = || {
        let mut all = [tree(&sandbox.project()), tree(&sandbox.home())];
        all.iter_mut()
            .for_each(|tree| tree.retain(|path, _| path.ends_with(".md") || path.ends_with(".txt")));
        all
    };
    let before = all();
    let stays = |args: &[&str]| {
        let run = sandbox.run(args);
        assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
        assert_eq!(all(), before);
        run.stderr
    };
    let skills = sandbox.project().join(".agents/skills");
    for target in ["../../home/.agents/skills", "../../home"] {
        symlink(target, &skills).unwrap();
        let error = stays(&["adopt", "--all", "--yes"]);
        assert!(error.contains(".agents/skills leads out of the project"), "{error}");
        assert_eq!(sandbox.run(&["undo", "--list"]).stdout, "there is nothing to undo\n");
        fs::remove_file(&skills).unwrap();
    }
    let originals = sandbox.project().join(".agents/.repertoire-adopted");
    fs::create_dir(&originals).unwrap();
    symlink("../../../home/kept", originals.join(".claude")).unwrap();
    assert_eq!(sandbox.undo("rep adopt beta").code, 1);
    assert_eq!(all(), before);
}
