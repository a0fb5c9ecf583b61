//! Tests of `rep approve`, `rep revoke` and `rep approvals`.

use serde_json::json;

use crate::sandbox::{Sandbox, assert_run, skill};

const TOOLS: &str = r#"[
  {"name": "fetch", "description": "Fetches.", "network": true, "env": ["TOKEN"], "command": ["echo"]},
  {"name": "save", "description": "Saves.", "write": ["out"], "ask": true, "command": ["echo"]}
]"#;

fn with_tools() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/tools/SKILL.md", skill("tools", "# Tools\n"));
    sandbox.write(".agents/skills/tools/schema.json", TOOLS);
    sandbox.write(".agents/skills/tools/scripts/a\u{1b}[31m.sh", "");
    sandbox.write(".agents/skills/tools/scripts/run.sh", "echo\n");
    sandbox
}

#[test]
fn what_a_skill_will_be_able_to_do_is_shown_first() {
    let sandbox = with_tools();
    assert_run!(sandbox.run(&["approve", "tools"]), @"");
    assert_run!(sandbox.run(&["approvals"]), @"");
    assert_eq!(sandbox.run(&["approve", "tools", "--yes"]).code, 0);
    assert_run!(sandbox.run(&["approve", "tools", "--yes"]), @"");
    assert_run!(sandbox.run(&["approvals"]), @"");
}

#[test]
fn what_changed_since_is_shown() {
    let sandbox = with_tools();
    sandbox.run(&["approve", "tools", "--tool", "save", "--yes"]);
    let approvals = sandbox.json(&["approvals", "--json"]);
    assert_eq!(
        (&approvals["approvals"][0]["tools"], &approvals["approvals"][0]["state"]),
        (&json!(["save"]), &json!("approved"))
    );
    sandbox.write(
        ".agents/skills/tools/schema.json",
        TOOLS.replace("[\"out\"]", "[\".\"]").replace(", \"env\": [\"TOKEN\"]", ""),
    );
    sandbox.write(".agents/skills/tools/scripts/new.py", "");
    std::fs::remove_file(sandbox.project().join(".agents/skills/tools/scripts/run.sh")).unwrap();
    assert_eq!(sandbox.json(&["approvals", "--json"])["approvals"][0]["state"], "changed since");
    assert_run!(sandbox.run(&["approve", "tools", "--yes"]), @"");
    // What was approved by name was so for other files.
    assert_eq!(sandbox.json(&["approvals", "--json"])["approvals"][0]["tools"], json!([]));
}

#[test]
fn approvals_are_taken_back() {
    let sandbox = with_tools();
    assert_run!(sandbox.run(&["revoke", "tools"]), @"");
    sandbox.run(&["approve", "tools", "--yes"]);
    std::fs::remove_dir_all(sandbox.project().join(".agents/skills/tools")).unwrap();
    assert_eq!(sandbox.json(&["approvals", "--json"])["approvals"][0]["state"], "not in this library");
    assert_run!(sandbox.run(&["revoke", "tools"]), @"");
    assert_eq!(sandbox.json(&["approvals", "--json"])["approvals"], json!([]));
}

#[test]
fn what_makes_no_sense_is_told() {
    let sandbox = with_tools();
    sandbox.write(".agents/skills/plain/SKILL.md", skill("plain", "# Plain\n"));
    assert_run!(sandbox.run(&["approve", "plain", "--yes"]), @"");
    assert_run!(sandbox.run(&["approve", "tools", "--tool", "fetch", "--yes"]), @"");
    sandbox.write("../home/.config/repertoire/config.toml", "exec.trust_project = \"never\"\n");
    assert_run!(sandbox.run(&["approve", "tools", "--yes"]), @"");
    sandbox.write("repertoire.toml", "exec.trust_project = \"trusted\"\n");
    assert!(
        sandbox.run(&["approvals"]).stderr.contains("a project's file may not have `exec.trust_project`")
    );
    std::fs::remove_file(sandbox.project().join("repertoire.toml")).unwrap();
    sandbox.write("../home/.local/state/repertoire/approvals.json", "{");
    assert_run!(sandbox.run(&["approvals"]), @"");
    assert_eq!(sandbox.read("../home/.local/state/repertoire/approvals.json"), "{");
}
