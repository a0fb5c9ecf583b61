//! Tests of the records of links, gathered and disabled skills, kits and approvals, and of the records that
//! earlier versions wrote.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, assert_run, skill};

/// The state directory of a user.
const STATE: &str = "../home/.local/state/repertoire";

/// Returns a sandbox with the records of links, gathered and disabled skills that earlier versions kept in
/// `base`.
fn sandbox(base: &str) -> Sandbox {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/settings.json", "{}\n");
    sandbox.write(&format!("{base}/.claude/skills/spread/SKILL.md"), skill("spread", "x\n"));
    let link =
        json!({"path": ".claude/skills/old", "to": "../../.agents/skills/old", "clients": ["claude-code"]});
    let adopted = json!({"name": "old", "path": ".codex/skills/old", "to": null, "moved": true});
    let switch = json!({"client": "claude-code", "skill": "old"});
    let disabled = json!({"pattern": "old", "links": [link], "switches": [switch]});
    for (kind, entry) in [("links", link), ("adopted", adopted), ("disabled", disabled)] {
        let record = json!({"version": 1, kind: [entry]}).to_string();
        sandbox.write(&format!("{base}/.agents/.repertoire-{kind}.json"), record);
    }
    sandbox
}

/// Runs the command `arguments`, and returns the entries of the record of `kind` at `path` after it.
#[track_caller]
fn entries_after(sandbox: &Sandbox, arguments: &[&str], kind: &str, path: &str) -> Value {
    let run = sandbox.run(arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut record: Value = serde_json::from_str(&sandbox.read(path)).unwrap();
    assert_eq!((&record["kind"], &record["version"]), (&json!(kind), &json!(2)));
    record["entries"].take()
}

/// Returns the values of `key` in `entries`.
fn values<'e>(entries: &'e Value, key: &str) -> Vec<&'e str> {
    entries.as_array().unwrap().iter().map(|entry| entry[key].as_str().unwrap()).collect()
}

#[test]
fn records_that_earlier_versions_kept_for_a_user_move_to_the_state_directory() {
    let sandbox = sandbox("../home");
    let place = |kind: &str| format!("{STATE}/{kind}.json");
    let after = |arguments: &[&str], kind| entries_after(&sandbox, arguments, kind, &place(kind));
    let adopted = after(&["adopt", "spread", "--user", "--yes"], "adopted");
    assert_eq!(values(&adopted, "name"), ["spread", "old"]);
    sandbox.write("../home/.codex/config.toml", "model = \"x\"\n");
    let disabled = after(&["disable", "alpha"], "disabled");
    assert_eq!(values(&disabled, "pattern"), ["old", "alpha"]);
    assert_eq!(
        (&disabled[0]["switches"][0]["skill"], &disabled[0]["links"][0]["clients"][0]),
        (&json!("old"), &json!("claude-code"))
    );
    let links: Value = serde_json::from_str(&sandbox.read(&place("links"))).unwrap();
    assert_eq!(values(&links["entries"], "path"), [".claude/skills/old", ".claude/skills/spread"]);
    for kind in ["links", "adopted", "disabled"] {
        let former = sandbox.home().join(format!(".agents/.repertoire-{kind}.json"));
        assert!(!former.exists(), "{kind}");
    }
    // The records that were in the state directory already.
    sandbox.write("repertoire.toml", "[kits.first]\nskills = [\"al*\"]\n");
    let (home, project) = (sandbox.home().display().to_string(), sandbox.project().display().to_string());
    sandbox.write(&place("kits"), json!({"version": 1, "projects": {&home: ["first"]}}).to_string());
    let kits = after(&["kit", "use", "first"], "kits");
    assert_eq!(kits, json!({&home: ["first"], &project: ["first"]}));
    let approval = |name: &str| {
        json!({
            "name": name, "directory": "/d", "source": "s", "digest": format!("sha256:{}", "0".repeat(64)), "capabilities": {},
            "files": {}, "executables": [], "tools": [], "schema": null, "seconds": 1,
        })
    };
    let record = json!({"version": 1, "approvals": [approval("alpha"), approval("beta")]});
    sandbox.write(&place("approvals"), record.to_string());
    assert_eq!(after(&["revoke", "beta"], "approvals"), json!([approval("alpha")]));
}

#[test]
fn records_that_earlier_versions_kept_for_a_project_are_rewritten_where_they_are() {
    let sandbox = sandbox(".");
    let after = |arguments: &[&str], kind| {
        entries_after(&sandbox, arguments, kind, &format!(".agents/.repertoire-{kind}.json"))
    };
    let adopted = after(&["adopt", "spread", "--yes"], "adopted");
    assert_eq!(values(&adopted, "name"), ["spread", "old"]);
    let links = after(&["link", "claude-code", "--skill", "beta", "--yes"], "links");
    let expect = [".claude/skills/beta", ".claude/skills/old", ".claude/skills/spread"];
    assert_eq!(values(&links, "path"), expect);
    let disabled = after(&["disable", "--project", "beta"], "disabled");
    assert_eq!(values(&disabled, "pattern"), ["old", "beta"]);
    // They never become the user's.
    for kind in ["links", "adopted", "disabled"] {
        assert!(!sandbox.project().join(STATE).join(format!("{kind}.json")).exists(), "{kind}");
    }
}

#[test]
fn a_record_of_a_newer_version_is_left_alone() {
    let sandbox = sandbox("../home");
    let (path, newer) = (format!("{STATE}/links.json"), r#"{"kind": "links", "version": 3, "made": []}"#);
    sandbox.write(&path, newer);
    assert_run!(sandbox.run(&["adopt", "spread", "--user", "--yes"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: cannot read the record [DIR]/home/.local/state/repertoire/links.json
      because: a newer `rep` wrote it, in version 3 of the format
    hint: mend the file, or use the newer `rep` that wrote it; if you remove it, all that it records is forgotten
    ");
    assert_eq!(sandbox.read(&path), newer);
    assert!(sandbox.read("../home/.claude/skills/spread/SKILL.md").contains("spread"));
}

#[test]
fn a_user_who_works_in_the_home_directory_has_one_record() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.agents/skills/mine/SKILL.md", skill("mine", "x\n"));
    let run = sandbox.run_in("../home", &["link", "claude-code", "--yes"]);
    assert!(sandbox.read(&format!("{STATE}/links.json")).contains(".claude/skills/mine"), "{}", run.stderr);
    fs::remove_file(sandbox.project().join(STATE).join("changes.json")).unwrap();
    let run = sandbox.undo("rep link claude-code");
    assert!(run.stdout.contains("\n- [DIR]/home/.claude/skills/mine\n"), "{}", run.stdout);
}
