//! Tests of `rep approve` and `rep revoke`.

use serde_json::json;

use crate::sandbox::{Sandbox, assert_run, in_every_sandbox, skill};

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
fn approve_shows_capabilities_first() {
    let sandbox = with_tools();
    assert_run!(sandbox.run(&["approve", "tools"]), @r"
    exit 1
    --- stdout
    tools (project:.agents/skills) in [DIR]/project/.agents/skills/tools
    sha256:4c116bd6189dd12ee5e74d343557296406537cdf0f3d29a3a1fa28540699ca3c

    Its tools, each in a sandbox unless the line says otherwise:
      fetch: runs the command `echo`
      fetch: uses the network
      fetch: reads the environment variable TOKEN
      save: runs the command `echo`
      save: reads the working directory
      save: writes out in the working directory
      save: asks a person before every call
    Its scripts, each in a sandbox, with no more than the configuration gives to scripts:
      scripts/run.sh

    --- stderr
    error: nothing was approved: there is no terminal to ask on
    hint: a person has to run this command in a terminal
    ");
    assert_run!(sandbox.run(&["approve", "--list"]), @r"
    exit 0
    --- stdout
    --- stderr
    no skill is approved
    ");
    assert_eq!(sandbox.run(&["approve", "tools", "--yes"]).code, 0);
    assert_run!(sandbox.run(&["approve", "tools", "--yes"]), @r"
    exit 0
    --- stdout
    tools: approved already
    --- stderr
    ");
    assert_run!(sandbox.run(&["approve", "--list"]), @r"
    exit 0
    --- stdout
    tools ([DIR]/project/.agents/skills/tools): approved
      fetch: runs the command `echo`
      fetch: uses the network
      fetch: reads the environment variable TOKEN
      save: runs the command `echo`
      save: reads the working directory
      save: writes out in the working directory
      save: asks a person before every call
    --- stderr
    ");
}

#[test]
fn approve_shows_changes_since_the_last_approval() {
    let sandbox = with_tools();
    sandbox.run(&["approve", "tools", "--tool", "save", "--yes"]);
    let approvals = sandbox.json(&["approve", "--list", "--json"]);
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
    assert_eq!(sandbox.json(&["approve", "--list", "--json"])["approvals"][0]["state"], "changed since");
    assert_run!(sandbox.run(&["approve", "tools", "--yes"]), @r#"
    exit 0
    --- stdout
    tools (project:.agents/skills) in [DIR]/project/.agents/skills/tools
    sha256:140a64c1580b7c39478d8766ee392107fa797945fe258ed58f3c56ef4c71f639

    Its tools, each in a sandbox unless the line says otherwise:
      fetch: runs the command `echo`
      fetch: uses the network
      save: runs the command `echo`
      save: reads the working directory
      save: writes anywhere in the working directory
      save: asks a person before every call
    Its scripts, each in a sandbox, with no more than the configuration gives to scripts:
      scripts/new.py

    Since it was approved:
    + save: writes anywhere in the working directory
    - fetch: reads the environment variable TOKEN
    - save: writes out in the working directory
    new file:     scripts/new.py
    changed file: schema.json
    gone file:    scripts/run.sh

    --- a/schema.json
    +++ b/schema.json
    @@ -1,4 +1,4 @@
     [
    -  {"name": "fetch", "description": "Fetches.", "network": true, "env": ["TOKEN"], "command": ["echo"]},
    -  {"name": "save", "description": "Saves.", "write": ["out"], "ask": true, "command": ["echo"]}
    +  {"name": "fetch", "description": "Fetches.", "network": true, "command": ["echo"]},
    +  {"name": "save", "description": "Saves.", "write": ["."], "ask": true, "command": ["echo"]}
     ]
    \ No newline at end of file
    --- a/scripts/run.sh
    +++ /dev/null
    @@ -1 +0,0 @@
    -echo

    tools: approved
    --- stderr
    "#);
    // Approvals by name were for other files.
    assert_eq!(sandbox.json(&["approve", "--list", "--json"])["approvals"][0]["tools"], json!([]));
}

#[test]
fn approvals_are_taken_back() {
    let sandbox = with_tools();
    assert_run!(sandbox.run(&["revoke", "tools"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: no skill `tools` is approved
    hint: run `rep approve --list` to see which are
    ");
    sandbox.run(&["approve", "tools", "--yes"]);
    std::fs::remove_dir_all(sandbox.project().join(".agents/skills/tools")).unwrap();
    assert_eq!(
        sandbox.json(&["approve", "--list", "--json"])["approvals"][0]["state"],
        "not in this library"
    );
    assert_run!(sandbox.run(&["revoke", "tools"]), @r"
    exit 0
    --- stdout
    tools: revoked ([DIR]/project/.agents/skills/tools)
    --- stderr
    ");
    assert_eq!(sandbox.json(&["approve", "--list", "--json"])["approvals"], json!([]));
}

#[test]
fn approve_refuses_invalid_requests() {
    let sandbox = with_tools();
    sandbox.write(".agents/skills/plain/SKILL.md", skill("plain", "# Plain\n"));
    assert_run!(sandbox.run(&["approve", "plain", "--yes"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: the skill `plain` has nothing that could run
    ");
    assert_run!(sandbox.run(&["approve", "tools", "--tool", "fetch", "--yes"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: `tools` has no tool `fetch` with `"ask": true`
    hint: these do: save
    "#);
    sandbox.write("../home/.config/repertoire/config.toml", "exec.trust.project = \"never\"\n");
    assert_run!(sandbox.run(&["approve", "tools", "--yes"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: skills of project:.agents/skills may not run anything
    hint: `exec.trust` of your configuration says so
    ");
    sandbox.write("repertoire.toml", "exec.trust.project = \"trusted\"\n");
    assert!(
        sandbox
            .run(&["approve", "--list"])
            .stderr
            .contains("a project's file may not have `exec.trust.project`")
    );
    std::fs::remove_file(sandbox.project().join("repertoire.toml")).unwrap();
    sandbox.write("../home/.local/state/repertoire/approvals.json", "{");
    assert_run!(sandbox.run(&["approve", "--list"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: cannot read the record [DIR]/home/.local/state/repertoire/approvals.json
      because: EOF while parsing an object at line 1 column 1
    hint: mend the file, or use the newer `rep` that wrote it; if you remove it, all that it records is forgotten
    ");
    assert_eq!(sandbox.read("../home/.local/state/repertoire/approvals.json"), "{");
}

#[test]
fn approve_shows_a_diff_of_text_files() {
    let sandbox = with_tools();
    sandbox.write(".agents/skills/tools/data.bin", b"\0\x01");
    sandbox.run(&["approve", "tools", "--yes"]);
    sandbox.write(".agents/skills/tools/data.bin", b"\0\x02");
    sandbox.write(".agents/skills/tools/scripts/run.sh", "echo\ncurl \u{1b}[8mevil\n");
    sandbox.write(".agents/skills/tools/scripts/long.sh", "echo\n".repeat(1000));
    let shown = sandbox.run(&["approve", "tools"]).stdout;
    for part in [
        "--- a/scripts/run.sh\n+++ b/scripts/run.sh\n@@ -1 +1,2 @@\n echo\n+curl \\u{1b}[8mevil\n",
        "--- /dev/null\n+++ b/scripts/long.sh\n@@ -0,0 +1,1000 @@\n+echo\n",
        " more lines of differences are not shown\n",
        "no difference can be shown of data.bin\n",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.lines().count() < 450, "{shown}");
    let json = sandbox.json(&["approve", "tools", "--yes", "--json"]);
    assert!(json["difference"]["diff"].as_str().unwrap().contains("\n+curl \u{1b}[8mevil\n"));
    // The stored copy is not trusted if it differs from what was approved.
    let kept = sandbox.home().join(".local/state/repertoire/approved");
    for entry in std::fs::read_dir(kept).unwrap() {
        std::fs::write(entry.unwrap().path(), r#"{"scripts/run.sh": "forged"}"#).unwrap();
    }
    sandbox.write(".agents/skills/tools/scripts/run.sh", "echo again\n");
    let shown = sandbox.run(&["approve", "tools"]).stdout;
    assert!(
        shown.contains("no difference can be shown of scripts/run.sh\n") && !shown.contains("forged"),
        "{shown}"
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_became_executable_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = with_tools();
    assert_eq!(sandbox.run(&["approve", "tools", "--yes"]).code, 0);
    let script = sandbox.project().join(".agents/skills/tools/scripts/run.sh");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(sandbox.json(&["approve", "--list", "--json"])["approvals"][0]["state"], "changed since");
    let shown = sandbox.run(&["approve", "tools", "--yes"]).stdout;
    assert!(shown.contains("\nmode changed: scripts/run.sh: executable now\n"), "{shown}");
}

#[test]
fn h5_approving_reads_the_functions_of_a_tools_py() {
    in_every_sandbox(|mut sandbox| {
        sandbox.write(".agents/skills/calc/SKILL.md", skill("calc", "# Calc\n"));
        let module = "open('/nope/ran', 'w')\n\ndef add(a: int, b: int = 2):\n    \"\"\"Adds.\"\"\"\n    return a + b\n";
        sandbox.write(".agents/skills/calc/tools.py", module);
        sandbox.set("PATH", "/nowhere");
        let missing = sandbox.run(&["approve", "calc"]);
        let expect =
            "warning: the functions of tools.py are not offered as tools: `python3` is not installed here";
        assert!(missing.stderr.contains(expect), "{}", missing.stderr);
        sandbox.set("PATH", "/usr/bin:/bin:/usr/local/bin");
        let early = sandbox.run(&["run", "calc", "add", "--args", "{\"a\": 3}"]);
        assert!(early.stderr.contains("hint: run `rep approve calc`"), "{}", early.stderr);
        let shown = sandbox.run(&["approve", "calc", "--yes"]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        assert!(shown.stdout.contains("Its tools are the functions of its tools.py"), "{}", shown.stdout);
        assert!(shown.stdout.contains("  add: "), "{}", shown.stdout);
        assert_eq!(sandbox.run(&["approve", "calc", "--yes"]).stdout, "calc: approved already\n");
        let module = module.replace("open('/nope/ran', 'w')\n", "");
        sandbox.write(".agents/skills/calc/tools.py", &module);
        let stale = sandbox.run(&["run", "calc", "add", "--args", "{\"a\": 3}"]);
        assert_eq!(stale.code, 1, "{}", stale.stdout);
        assert_eq!(sandbox.run(&["approve", "calc", "--yes"]).code, 0);
        let ran = sandbox.run(&["run", "calc", "add", "--args", "{\"a\": 3}"]);
        assert_eq!(ran.stdout, "5\n", "{}", ran.stderr);
    });
}

#[test]
fn h5_functions_that_become_no_tools_are_named() {
    in_every_sandbox(|mut sandbox| {
        sandbox.set("PATH", "/usr/bin:/bin:/usr/local/bin");
        sandbox.write(".agents/skills/calc/SKILL.md", skill("calc", "# Calc\n"));
        sandbox.write(
        ".agents/skills/calc/tools.py",
        "def add(a: int):\n    \"\"\"Adds.\"\"\"\n\ndef root(a, /):\n    pass\n\ndef load_skill():\n    pass\n\ndef calc():\n    \"\"\"Calculates.\"\"\"\n",
    );
        let root = "a function of tools.py becomes no tool: `root`: it has a positional-only parameter without a default";
        let load =
            "a function of tools.py becomes no tool: `load_skill` is the name of a tool that every agent has";
        let checked = sandbox.run(&["check"]);
        assert_eq!(checked.code, 0, "{}", checked.stdout);
        let tools = "info[tools-python]: the functions of tools.py become tools when a person approves the skill: add\n";
        assert!(checked.stdout.contains(tools), "{}", checked.stdout);
        let own =
            "info[tools-python]: a function of tools.py becomes no tool: `calc` is the name of a skill\n";
        assert!(checked.stdout.contains(own), "{}", checked.stdout);
        let approved = sandbox.run(&["approve", "calc", "--yes"]);
        assert_eq!(approved.code, 0, "{}", approved.stderr);
        for line in [root, load] {
            assert!(checked.stdout.contains(&format!("info[tools-python]: {line}\n")), "{}", checked.stdout);
            assert!(approved.stderr.contains(&format!("warning: {line}\n")), "{}", approved.stderr);
        }
        let ran = sandbox.run(&["run", "calc", "root"]);
        assert!(
            ran.stderr.ends_with(
                "hint: run `rep check calc`, which says which functions of its tools.py are tools\n"
            )
        );
        sandbox.write(".agents/skills/calc/tools.py", "def add(");
        let broken = sandbox.run(&["check"]).stdout;
        assert!(broken.contains("the functions of tools.py cannot be read as tools: "), "{broken}");
        assert!(!broken.contains("become tools"), "{broken}");
    });
}

#[test]
fn h5_check_fix_writes_the_schema_of_a_tools_py() {
    in_every_sandbox(|mut sandbox| {
        sandbox.set("PATH", "/usr/bin:/bin:/usr/local/bin");
        sandbox.write(".agents/skills/calc/SKILL.md", skill("calc", "# Calc\n"));
        sandbox.write(
            ".agents/skills/calc/tools.py",
            "def add(a: int, b: int = 2):\n    \"\"\"Adds.\"\"\"\n    return a + b\n",
        );
        let fixed = sandbox.run(&["check", "--fix", "--yes"]);
        assert_eq!(fixed.code, 0, "{}", fixed.stderr);
        let schema: serde_json::Value =
            serde_json::from_str(&sandbox.read(".agents/skills/calc/schema.json")).unwrap();
        assert_eq!(
            (&schema[0]["name"], &schema[0]["parameters"]["required"]),
            (&json!("add"), &json!(["a"]))
        );
        assert!(sandbox.run(&["check", "--fix"]).stderr.contains("there is nothing to repair"));
    });
}
