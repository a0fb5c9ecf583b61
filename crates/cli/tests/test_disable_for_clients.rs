//! Tests of `rep disable` and `rep enable` for clients that read skills from files.

#![cfg(unix)]

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_run, skill};

const CLAUDE: &str = "{\n  // Mine.\n  \"model\": \"opus\"\n}\n";
const CODEX: &str = "# Mine.\nmodel = \"x\"\n";
const OPENCODE: &str = "{\n  \"permission\": { \"bash\": \"ask\" }\n}\n";

/// Returns a sandbox with the configuration of three clients.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/settings.json", CLAUDE);
    sandbox.write("../home/.codex/config.toml", CODEX);
    sandbox.write("../home/.config/opencode/opencode.json", OPENCODE);
    sandbox
}

/// Returns every file and link below `directory`, with its content.
fn files(directory: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let content = match fs::read_link(&path) {
            Ok(to) => format!("-> {}", to.display()),
            Err(_) if path.is_dir() => {
                found.extend(files(&path));
                continue;
            }
            Err(_) => fs::read_to_string(&path).unwrap_or_default(),
        };
        found.push((path.display().to_string(), content));
    }
    found.sort();
    found
}

/// Returns the files of the project and of the home that a person would miss.
fn all_files(sandbox: &Sandbox) -> Vec<(String, String)> {
    let mut found = files(&sandbox.project());
    found.extend(files(&sandbox.home()));
    found.retain(|(path, content)| !content.is_empty() && !path.contains(".local/state"));
    found
}

#[test]
fn links_and_switches_are_changed_and_taken_back_to_the_byte() {
    let sandbox = sandbox();
    sandbox.run(&["link", "--yes", "claude-code"]);
    let before = all_files(&sandbox);
    assert_run!(sandbox.run(&["disable", "--dry-run", "alpha"]), @r#"
    exit 0
    --- stdout
    would disable alpha in [DIR]/home/.config/repertoire/config.toml
    would set skillOverrides.alpha = "off" in [DIR]/home/.claude/settings.json, for Claude Code
    would set skills.config of alpha: enabled = false in [DIR]/home/.codex/config.toml, for Codex
    would set permission.skill.alpha = "deny" in [DIR]/home/.config/opencode/opencode.json, for opencode
    --- stderr
    hint: links of this project stay; `rep disable --project` removes them
    hint: this holds in all projects; `--project` disables a skill in this one only
    hint: Codex switches off the skill at its path; for a copy in another project, run it there too
    hint: restart running sessions and servers to apply this
    "#);
    assert_eq!(all_files(&sandbox), before);
    assert_run!(sandbox.run(&["disable", "alpha"]), @r#"
    exit 0
    --- stdout
    disabled alpha in [DIR]/home/.config/repertoire/config.toml
    set skillOverrides.alpha = "off" in [DIR]/home/.claude/settings.json, for Claude Code
    set skills.config of alpha: enabled = false in [DIR]/home/.codex/config.toml, for Codex
    set permission.skill.alpha = "deny" in [DIR]/home/.config/opencode/opencode.json, for opencode
    --- stderr
    hint: links of this project stay; `rep disable --project` removes them
    hint: this holds in all projects; `--project` disables a skill in this one only
    hint: Codex switches off the skill at its path; for a copy in another project, run it there too
    hint: restart running sessions and servers to apply this
    "#);
    assert_eq!(
        sandbox.read("../home/.claude/settings.json"),
        "{\n  // Mine.\n  \"model\": \"opus\",\n  \"skillOverrides\": {\n    \"alpha\": \"off\"\n  }\n}\n"
    );
    let skill = sandbox.project().join(".agents/skills/alpha/SKILL.md");
    let table = format!("\n[[skills.config]]\npath = \"{}\"\nenabled = false\n", skill.display());
    assert_eq!(sandbox.read("../home/.codex/config.toml"), format!("{CODEX}{table}"));
    let opencode: Value =
        serde_json::from_str(&sandbox.read("../home/.config/opencode/opencode.json")).unwrap();
    assert_eq!(opencode["permission"]["skill"]["alpha"], "deny");
    assert_run!(sandbox.run(&["enable", "alpha"]), @r#"
    exit 0
    --- stdout
    enabled alpha in [DIR]/home/.config/repertoire/config.toml
    took back skillOverrides.alpha = "off" in [DIR]/home/.claude/settings.json, for Claude Code
    took back skills.config of alpha: enabled = false in [DIR]/home/.codex/config.toml, for Codex
    took back permission.skill.alpha = "deny" in [DIR]/home/.config/opencode/opencode.json, for opencode
    --- stderr
    hint: restart running sessions and servers to apply this
    "#);
    assert_eq!(all_files(&sandbox), before);
}

#[test]
fn a_project_disables_by_its_own_links_and_settings() {
    let sandbox = sandbox();
    sandbox.run(&["link", "--yes", "claude-code"]);
    let before = all_files(&sandbox);
    assert_run!(sandbox.run(&["disable", "--project", "alpha", "beta"]), @r#"
    exit 0
    --- stdout
    disabled alpha, beta in repertoire.toml
    removed the link .claude/skills/alpha, for Claude Code
    set permission.skill.alpha = "deny" in opencode.json, for opencode
    removed the link .claude/skills/beta, for Claude Code
    set permission.skill.beta = "deny" in opencode.json, for opencode
    --- stderr
    warning: Codex still reads alpha: it has this switch only in the user's configuration
    warning: Codex still reads beta: it has this switch only in the user's configuration
    hint: restart running sessions and servers to apply this
    "#);
    assert!(!sandbox.project().join(".claude/skills/alpha").is_symlink());
    assert_eq!(sandbox.read("repertoire.toml"), "disabled = [\"alpha\", \"beta\"]\n");
    assert_eq!(sandbox.read("../home/.claude/settings.json"), CLAUDE);
    assert_eq!(sandbox.run(&["enable", "--project", "beta"]).code, 0);
    assert!(sandbox.project().join(".claude/skills/beta").is_symlink());
    assert_eq!(sandbox.run(&["enable", "--project", "alpha"]).code, 0);
    assert_eq!(all_files(&sandbox), before);
}

#[test]
fn one_client_can_be_meant_alone() {
    let sandbox = sandbox();
    let before = all_files(&sandbox);
    assert_run!(sandbox.run(&["disable", "--client", "opencode", "alpha"]), @r#"
    exit 0
    --- stdout
    set permission.skill.alpha = "deny" in [DIR]/home/.config/opencode/opencode.json, for opencode
    --- stderr
    "#);
    assert_run!(sandbox.run(&["disable", "--client", "opencode", "alpha"]), @r#"
    exit 0
    --- stdout
    alpha is already disabled for opencode
    --- stderr
    "#);
    assert_eq!(sandbox.read("../home/.codex/config.toml"), CODEX);
    assert_run!(sandbox.run(&["list", "--all"]), @r#"
    exit 0
    --- stdout
    NAME   STATE   CLIENTS          SOURCE          DISABLED BY           DESCRIPTION
    alpha  active  codex            project:agents  switches of opencode  Does alpha things well. Use when alpha is asked for.
    beta   active  codex, opencode  project:agents                        Does beta things well. Use when beta is asked for.
    --- stderr
    2 active
    "#);
    let listed: Value = serde_json::from_str(&sandbox.run(&["list", "--all", "--json"]).stdout).unwrap();
    assert_eq!(listed["skills"][0]["disabled_for"][0], "opencode");
    let explained = sandbox.run(&["explain", "alpha"]).stdout;
    let line = "disabled for opencode alone; `rep enable --client opencode alpha` enables it";
    assert!(explained.contains(line), "{explained}");
    assert_run!(sandbox.run(&["enable", "--client", "codex", "alpha"]), @r#"
    exit 0
    --- stdout
    alpha is not disabled for Codex alone
    --- stderr
    "#);
    assert_run!(sandbox.run(&["enable", "--client", "opencode", "alpha"]), @r#"
    exit 0
    --- stdout
    took back permission.skill.alpha = "deny" in [DIR]/home/.config/opencode/opencode.json, for opencode
    --- stderr
    "#);
    assert_eq!(all_files(&sandbox), before);
    assert_run!(sandbox.run(&["disable", "--client", "kiro", "alpha"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: Kiro does not read `alpha` from files, or has it switched off
    hint: a client of the MCP server has a scope: `skills.deny` in `[agents.NAME]`, see `rep connect --agent`
    "#);
}

#[test]
fn a_skill_that_is_disabled_for_a_client_is_not_linked_for_it_again() {
    let sandbox = sandbox();
    sandbox.run(&["link", "--yes", "claude-code"]);
    assert_eq!(sandbox.run(&["disable", "--project", "--client", "claude-code", "alpha"]).code, 0);
    let link = sandbox.project().join(".claude/skills/alpha");
    assert!(!link.is_symlink());
    assert_run!(sandbox.run(&["link", "--yes", "claude-code"]), @r#"
    exit 0
    --- stdout
    --- stderr
    left out: alpha is disabled for Claude Code; enable it for this client first
    "#);
    assert!(!link.is_symlink());
    assert_eq!(sandbox.run(&["enable", "--project", "--client", "claude-code", "alpha"]).code, 0);
    assert!(link.is_symlink());
}

#[test]
fn a_file_that_cannot_be_changed_does_not_keep_the_others_from_it() {
    let sandbox = sandbox();
    sandbox.write("../home/.config/opencode/opencode.json", "{ \"permission\": \"allow\" }\n");
    assert_run!(sandbox.run(&["disable", "alpha"]), @r#"
    exit 1
    --- stdout
    disabled alpha in [DIR]/home/.config/repertoire/config.toml
    set skills.config of alpha: enabled = false in [DIR]/home/.codex/config.toml, for Codex
    --- stderr
    warning: [DIR]/home/.config/opencode/opencode.json of opencode is not changed for alpha: `permission` is not an object
    hint: this holds in all projects; `--project` disables a skill in this one only
    hint: Codex switches off the skill at its path; for a copy in another project, run it there too
    hint: restart running sessions and servers to apply this
    "#);
    assert!(sandbox.read("../home/.codex/config.toml").contains("skills.config"));
    // Changed by hand since: it is the user's from now on.
    sandbox.write("../home/.codex/config.toml", CODEX);
    assert_run!(sandbox.run(&["enable", "alpha"]), @r#"
    exit 0
    --- stdout
    enabled alpha in [DIR]/home/.config/repertoire/config.toml
    --- stderr
    warning: [DIR]/home/.codex/config.toml of Codex is not changed for alpha: it was changed since
    hint: restart running sessions and servers to apply this
    "#);
    assert_eq!(sandbox.read("../home/.codex/config.toml"), CODEX);
}

#[test]
fn a_switch_that_could_not_be_taken_back_stays_recorded() {
    use std::os::unix::fs::PermissionsExt as _;

    let sandbox = sandbox();
    let before = all_files(&sandbox);
    assert_eq!(sandbox.run(&["disable", "alpha"]).code, 0);
    let settings = sandbox.home().join(".codex/config.toml");
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o444)).unwrap();
    assert_run!(sandbox.run(&["enable", "alpha"]), @r#"
    exit 1
    --- stdout
    enabled alpha in [DIR]/home/.config/repertoire/config.toml
    took back permission.skill.alpha = "deny" in [DIR]/home/.config/opencode/opencode.json, for opencode
    --- stderr
    warning: [DIR]/home/.codex/config.toml of Codex is not changed for alpha: [DIR]/home/.codex/config.toml is read-only and left alone
    hint: what could not be changed stays recorded; run the command again when it can be
    hint: restart running sessions and servers to apply this
    "#);
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o644)).unwrap();
    assert_run!(sandbox.run(&["enable", "alpha"]), @r#"
    exit 0
    --- stdout
    took back skills.config of alpha: enabled = false in [DIR]/home/.codex/config.toml, for Codex
    --- stderr
    "#);
    assert_eq!(all_files(&sandbox), before);
}

#[test]
fn a_link_that_could_not_be_made_again_stays_recorded() {
    let sandbox = sandbox();
    sandbox.run(&["link", "--yes", "claude-code"]);
    let before = all_files(&sandbox);
    assert_eq!(sandbox.run(&["disable", "--project", "alpha"]).code, 0);
    // Nothing can be made in a file, not even by root.
    let (skills, kept) = (sandbox.project().join(".claude/skills"), sandbox.project().join("kept"));
    fs::rename(&skills, &kept).unwrap();
    fs::write(&skills, "").unwrap();
    assert_run!(sandbox.run(&["enable", "--project", "alpha"]), @r#"
    exit 1
    --- stdout
    enabled alpha in repertoire.toml
    took back permission.skill.alpha = "deny" in opencode.json, for opencode
    --- stderr
    warning: the link .claude/skills/alpha is left alone: its directory cannot be written
    hint: what could not be changed stays recorded; run the command again when it can be
    hint: restart running sessions and servers to apply this
    "#);
    fs::remove_file(&skills).unwrap();
    fs::rename(&kept, &skills).unwrap();
    assert_eq!(sandbox.run(&["enable", "--project", "alpha"]).code, 0);
    assert_eq!(all_files(&sandbox), before);
}

#[test]
fn clients_without_a_switch_are_named() {
    let sandbox = Sandbox::with_skills();
    fs::create_dir_all(sandbox.home().join(".cursor")).unwrap();
    assert_run!(sandbox.run(&["disable", "alpha"]), @r#"
    exit 0
    --- stdout
    disabled alpha in [DIR]/home/.config/repertoire/config.toml
    --- stderr
    warning: Cursor still reads alpha: it has no switch for skills
    hint: this holds in all projects; `--project` disables a skill in this one only
    hint: restart running sessions and servers to apply this
    "#);
    assert_run!(sandbox.run(&["disable", "--client", "cursor", "beta"]), @r#"
    exit 1
    --- stdout
    --- stderr
    warning: Cursor still reads beta: it has no switch for skills
    "#);
}

#[test]
fn a_link_whose_skill_is_gone_is_not_made_again() {
    let sandbox = sandbox();
    sandbox.run(&["link", "--yes", "claude-code"]);
    sandbox.run(&["disable", "--project", "alpha"]);
    fs::remove_dir_all(sandbox.project().join(".agents/skills/alpha")).unwrap();
    assert_run!(sandbox.run(&["enable", "--project", "alpha"]), @r#"
    exit 1
    --- stdout
    enabled alpha in repertoire.toml
    took back permission.skill.alpha = "deny" in opencode.json, for opencode
    --- stderr
    warning: the link .claude/skills/alpha is left alone: its skill is gone
    hint: restart running sessions and servers to apply this
    "#);
    assert!(!sandbox.project().join(".claude/skills/alpha").is_symlink());
}

#[test]
fn a_record_that_came_with_a_clone_changes_nothing_outside_the_project() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.home().join(".claude/skills")).unwrap();
    let link = |path: &str| format!(r#"{{"path": "{path}", "to": "/", "clients": ["claude-code"]}}"#);
    let links = [link("../home/.claude/skills/x"), link(".git/hooks"), link(".claude/skills/x")].join(",");
    let switch = r#"{"client": "claude-code", "skill": "model"}"#;
    sandbox.write(
        ".agents/.repertoire-disabled.json",
        format!(r#"{{"version": 1, "disabled": [{{"pattern": "alpha", "links": [{links}], "switches": [{switch}]}}]}}"#),
    );
    // The directory of the client leads out of the project.
    std::os::unix::fs::symlink(sandbox.home().join(".claude"), sandbox.project().join(".claude")).unwrap();
    let run = sandbox.run(&["enable", "--project", "alpha"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert_eq!(run.stderr.matches("the link").count(), 3, "{}", run.stderr);
    assert_eq!(sandbox.read("../home/.claude/settings.json"), CLAUDE);
    assert!(fs::read_dir(sandbox.home().join(".claude/skills")).unwrap().next().is_none());
    assert!(!sandbox.project().join(".git/hooks").is_symlink());
}

#[test]
fn a_switch_goes_by_the_name_that_its_client_knows() {
    let sandbox = sandbox();
    let text = skill("Brainstorming Ideas", "x\n");
    sandbox.write("../home/.claude/skills/brainstorming/SKILL.md", text);
    sandbox.write("../home/.agents/skills/linear/SKILL.md", skill("Linear", "x\n"));
    fs::create_dir_all(sandbox.home().join(".config/goose")).unwrap();
    let before = all_files(&sandbox);
    assert_run!(sandbox.run(&["disable", "brainstorming-ideas", "Linear"]), @r#"
    exit 0
    --- stdout
    disabled brainstorming-ideas, Linear in [DIR]/home/.config/repertoire/config.toml
    set skillOverrides.brainstorming = "off" in [DIR]/home/.claude/settings.json, for Claude Code
    set permission.skill.Brainstorming Ideas = "deny" in [DIR]/home/.config/opencode/opencode.json, for opencode
    set skills.config of Linear: enabled = false in [DIR]/home/.codex/config.toml, for Codex
    set permission.skill.Linear = "deny" in [DIR]/home/.config/opencode/opencode.json, for opencode
    --- stderr
    warning: Goose still reads brainstorming-ideas: it has no switch for skills
    warning: Goose still reads Linear: it has no switch for skills
    hint: this holds in all projects; `--project` disables a skill in this one only
    hint: Codex switches off the skill at its path; for a copy in another project, run it there too
    hint: restart running sessions and servers to apply this
    "#);
    let seen = sandbox.json(&["connect", "--json"])["clients"][0]["skills"].clone();
    let mut disabled = seen.as_array().unwrap().iter().filter(|skill| skill["disabled"] == true);
    assert!(disabled.any(|skill| skill["name"] == "brainstorming-ideas"), "{seen}");
    let json: Value = serde_json::from_str(&sandbox.read("../home/.config/opencode/opencode.json")).unwrap();
    assert_eq!(json["permission"]["skill"]["Brainstorming Ideas"], "deny");
    assert_eq!(sandbox.run(&["enable", "brainstorming-ideas", "Linear"]).code, 0);
    assert_eq!(all_files(&sandbox), before);
}

#[test]
fn a_skill_of_a_plugin_has_no_switch_of_its_own_in_claude_code() {
    let sandbox = Sandbox::with_skills();
    let plugin = sandbox.home().join(".claude/plugins/cache/m/superpowers/1");
    let path = "../home/.claude/plugins/cache/m/superpowers/1/skills/sdd/SKILL.md";
    sandbox.write(path, skill("subagent-driven-development", "x\n"));
    let installed =
        serde_json::json!({"version": 2, "plugins": {"superpowers@m": [{"installPath": plugin}]}});
    sandbox.write("../home/.claude/plugins/installed_plugins.json", installed.to_string());
    sandbox.write("../home/.claude/settings.json", r#"{"enabledPlugins": {"superpowers@m": true}}"#);
    assert_run!(sandbox.run(&["disable", "subagent-driven-development", "--client", "claude-code"]), @r#"
    exit 1
    --- stdout
    --- stderr
    warning: Claude Code still reads subagent-driven-development: it has no switch for single skills of the plugin `superpowers`; `/plugin` switches all of it
    "#);
    assert_eq!(
        sandbox.read("../home/.claude/settings.json"),
        r#"{"enabledPlugins": {"superpowers@m": true}}"#
    );
}
