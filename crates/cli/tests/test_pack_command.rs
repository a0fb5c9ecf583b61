//! Tests of `rep pack`, and of plugins in `rep check`, `rep list` and `rep explain`.

use std::path::Path;

use crate::sandbox::{ALPHA, Sandbox, assert_run, skill};

#[test]
fn a_skill_is_packed_for_claude_ai() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["pack", "skill", "alpha"]), @r#"
    exit 0
    --- stdout
    packed 3 files into alpha.skill
    --- stderr
    "#);
    let bytes = std::fs::read(sandbox.project().join("alpha.skill")).unwrap();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&bytes)).unwrap();
    let names: Vec<String> = (0..archive.len())
        .map(|index| archive.by_index(index).unwrap().name().unwrap().into_owned())
        .collect();
    assert_eq!(names, ["alpha/SKILL.md", "alpha/references/guide.md", "alpha/scripts/run.sh"]);
    // What is there is not overwritten, and the same skill is the same archive.
    assert_eq!(sandbox.run(&["pack", "skill", "alpha"]).code, 1);
    assert_eq!(sandbox.run(&["pack", "skill", "alpha", "--force"]).code, 0);
    assert_eq!(std::fs::read(sandbox.project().join("alpha.skill")).unwrap(), bytes);
    sandbox.write(
        ALPHA,
        "---\nname: alpha\ndescription: Does alpha. Use when asked.\npaths: ['*.rs']\n---\nx\n",
    );
    let run = sandbox.run(&["pack", "skill", "alpha", "--force"]);
    assert!(run.stderr.contains("claude.ai does not know the field `paths`"), "{}", run.stderr);
    sandbox.write(ALPHA, "---\nname: alpha\ndescription: Does <alpha>. Use when asked.\n---\nx\n");
    let run = sandbox.run(&["pack", "skill", "alpha", "--force"]);
    assert!(run.stderr.contains("no angle brackets"), "{}", run.stderr);
}

#[test]
fn a_packed_plugin_is_checked_listed_and_discovered() {
    let sandbox = Sandbox::with_skills();
    let run = sandbox.run(&[
        "pack",
        "plugin",
        "team",
        "--skill",
        "alpha",
        "--plugin-version",
        "1.0",
        "-o",
        "plugins/team",
    ]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "packed 1 skill into plugins/team\n"), "{}", run.stderr);
    assert_eq!(sandbox.run(&["pack", "plugin", "team", "-o", "plugins/team"]).code, 3);
    assert_eq!(sandbox.run(&["pack", "plugin", "Team"]).code, 2);
    assert_eq!(sandbox.run(&["check", "plugins/team"]).code, 0);
    let run = sandbox.run(&["pack", "marketplace", "--owner", "Me"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "listed 1 plugin in .claude-plugin/marketplace.json\n"),
        "{}",
        run.stderr
    );
    let marketplace = sandbox.read(".claude-plugin/marketplace.json");
    assert!(marketplace.contains("\"source\": \"./plugins/team\""), "{marketplace}");
    assert_eq!(sandbox.run(&["check"]).code, 0);
    // As a pack it is a plugin, with its servers.
    sandbox.write("repertoire.toml", "packs.directories = [\"plugins\"]\n[discovery]\nproject = false\n");
    sandbox.write("plugins/team/skills/alpha/nested/deep/SKILL.md", skill("deep", "x\n"));
    sandbox.write("plugins/team/skills/group/deep/SKILL.md", skill("deep", "x\n"));
    sandbox.write(
        "plugins/team/mcp.json",
        r#"{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
            "mcpServers": {"files": {"type": "stdio", "command": "node"}, "bad": {"type": "stdio", "command": "../x"}}}"#,
    );
    let run = sandbox.run(&["list"]);
    assert!(run.stdout.contains("alpha  plugin:team") && !run.stdout.contains("deep"), "{}", run.stdout);
    assert!(run.stderr.contains("the MCP server `bad` is ignored"), "{}", run.stderr);
    let run = sandbox.run(&["explain", "alpha"]);
    let told =
        "plugin  team 1.0 in plugins/team; it brings MCP servers along, which are not started: files (stdio)";
    assert!(run.stdout.contains(told), "{}", run.stdout);
}

#[test]
fn a_broken_plugin_is_rejected_and_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("repertoire.toml", "packs.directories = [\"plugins\"]\n");
    sandbox.write("plugins/bad/plugin.json", r#"{"name": "bad"}"#);
    sandbox.write("plugins/bad/skills/a/SKILL.md", skill("a", "x\n"));
    sandbox.write("plugins/good/skills/b/SKILL.md", skill("b", "x\n"));
    let run = sandbox.run(&["list"]);
    assert!(!run.stdout.contains("plugin:bad") && run.stdout.contains("pack:good"), "{}", run.stdout);
    assert!(run.stderr.contains("`$schema` is missing"), "{}", run.stderr);
    let run = sandbox.run(&["check", "plugins/bad"]);
    assert_eq!(run.code, 1);
    sandbox.write(
        ".claude-plugin/marketplace.json",
        r#"{"name": "m", "owner": {"name": "o"}, "plugins": [{"name": "x", "source": "./nowhere"}]}"#,
    );
    let answer: serde_json::Value = serde_json::from_str(&sandbox.run(&["check", "--json"]).stdout).unwrap();
    let rules: Vec<&str> = answer["problems"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|problem| problem["rule"].as_str())
        .collect();
    assert!(rules.contains(&"marketplace-invalid") && rules.contains(&"plugin-invalid"), "{rules:?}");
}

#[cfg(unix)]
#[test]
fn nothing_outside_of_a_plugin_is_read() {
    use std::os::unix::fs::symlink;

    let sandbox = Sandbox::new();
    sandbox.write("repertoire.toml", "packs.directories = [\"plugins\"]\n");
    sandbox.write("elsewhere/out/SKILL.md", skill("out", "x\n"));
    sandbox.write(
        "plugins/p/plugin.json",
        r#"{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "p"}"#,
    );
    sandbox.write("plugins/p/own/in/SKILL.md", skill("in", "x\n"));
    std::fs::create_dir_all(sandbox.project().join("plugins/p/skills")).unwrap();
    symlink("../../../elsewhere/out", sandbox.project().join("plugins/p/skills/out")).unwrap();
    symlink("../own/in", sandbox.project().join("plugins/p/skills/in")).unwrap();
    let run = sandbox.run(&["list"]);
    assert!(run.stdout.contains("in    plugin:p") || run.stdout.contains("in  "), "{}", run.stdout);
    assert!(!run.stdout.contains("out"), "{}", run.stdout);
}

#[test]
fn plugins_of_clients_and_packages_are_found_as_configured() {
    let sandbox = Sandbox::new();
    let plugin = sandbox.home().join(".claude/plugins/cache/m/p/1.0");
    sandbox.write(
        "../home/.claude/plugins/cache/m/p/1.0/skills/from-plugin/SKILL.md",
        skill("from-plugin", "x\n"),
    );
    let installed =
        serde_json::json!({"version": 2, "plugins": {"p@m": [{"scope": "user", "installPath": plugin}]}});
    sandbox.write("../home/.claude/plugins/installed_plugins.json", installed.to_string());
    sandbox.write("node_modules/@scope/lib/skills/from-npm/SKILL.md", skill("from-npm", "x\n"));
    sandbox.write(
        ".venv/lib/python3.12/site-packages/lib/.agents/skills/from-pip/SKILL.md",
        skill("from-pip", "x\n"),
    );
    let names = || {
        let answer = sandbox.json(&["list", "--json"]);
        let skills = answer["skills"].as_array().unwrap().iter();
        skills
            .map(|skill| format!("{} {}", skill["source"].as_str().unwrap(), skill["name"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(), [""; 0]);
    sandbox.write("../home/.claude/settings.json", r#"{"enabledPlugins": {"p@m": true}}"#);
    assert_eq!(names(), ["plugin:p@m from-plugin"]);
    let answer = sandbox.json(&["list", "--origin", "--json"]);
    assert_eq!(answer["skills"][0]["origins"][0]["installer"], "claude-plugin");
    // The client has the plugin itself, so it needs no second offer.
    assert_eq!(sandbox.run(&["connect", "--yes", "claude-code"]).code, 0);
    assert_eq!(sandbox.run(&["connect"]).stdout, "Claude Code: 1 from files\n");
    sandbox.write("repertoire.toml", "[discovery]\npackages = true\nplugins = false\n");
    assert_eq!(names(), ["npm:@scope/lib from-npm", "python:lib from-pip"]);
}

#[test]
fn this_repository_is_a_plugin_and_a_marketplace() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["check", "--json", root.to_str().unwrap()]);
    let answer: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let problems = answer["problems"].as_array().unwrap();
    assert!(
        !problems.iter().any(|problem| problem["path"].as_str().unwrap().contains("plugin")),
        "{problems:?}"
    );
    let read = |path: &str| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(root.join(path)).unwrap()).unwrap()
    };
    let (plugin, marketplace) = (read("plugin.json"), read(".claude-plugin/marketplace.json"));
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(marketplace["plugins"][0]["version"], plugin["version"]);
    assert_eq!(marketplace["plugins"][0]["name"], plugin["name"]);
}
