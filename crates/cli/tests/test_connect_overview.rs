//! Tests of `rep connect` without a client, and of the one advice that `doctor`, `connect` and `link` give.

use std::fs;

use crate::sandbox::{Sandbox, assert_run, skill};

fn sandbox(clients: &[&str]) -> Sandbox {
    let mut sandbox = Sandbox::with_skills();
    for client in clients {
        fs::create_dir_all(sandbox.home().join(client)).unwrap();
    }
    // The program that connections start.
    let path = std::path::Path::new(env!("CARGO_BIN_EXE_rep")).parent().unwrap().display();
    sandbox.set("PATH", &format!("{path}:/usr/bin:/bin"));
    sandbox
}

#[test]
fn clients_are_shown_with_the_skills_that_they_get() {
    let sandbox = sandbox(&[".claude", ".cursor", ".kiro"]);
    sandbox.write(".claude/skills/beta/SKILL.md", skill("beta", "other\n"));
    assert_eq!(sandbox.run(&["connect", "--yes", "kiro"]).code, 0);
    assert_run!(sandbox.run(&["connect"]), @r#"
    exit 0
    --- stdout
    Claude Code: 1 from files, 1 not at all; run `rep connect claude-code`
    Cursor: 1 from files, 1 twice; Claude Code needs [DIR]/project/.claude/skills: run `rep list --duplicates` to make the copies one skill
    Kiro: 2 over MCP
    --- stderr
    "#);
    assert_run!(sandbox.run(&["list"]), @r#"
    exit 0
    --- stdout
    NAME   CLIENTS       SOURCE          DESCRIPTION
    alpha  cursor, kiro  project:agents  Does alpha things well. Use when alpha is asked for.
    beta   cursor, kiro  project:agents  Does beta things well. Use when beta is asked for.
    --- stderr
    2 active, 1 shadowed, 1 with warnings
    hint: run `rep check` to see what is wrong; it reads instructions and files too
    hint: run `rep list --all` to see all
    "#);
    let answer = sandbox.json(&["connect", "--json"]);
    assert_eq!(
        answer["clients"][1]["skills"][1],
        serde_json::json!({"name": "beta", "disabled": false, "files": 2, "mcp": false, "way": "twice"})
    );
    assert_eq!(
        answer["clients"][2]["skills"][0],
        serde_json::json!({"name": "alpha", "disabled": false, "files": 0, "mcp": true, "way": "mcp"})
    );
}

#[test]
fn no_client_is_no_error() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["connect"]).stdout, "there is no sign of a client on this machine\n");
}

/// Returns the commands that the hints about clients name, in order.
fn advised(sandbox: &Sandbox) -> Vec<Vec<String>> {
    let run = sandbox.run(&["doctor", "--verbose"]);
    let mut lines = run.stdout.lines();
    let mut commands = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with("warn  client") {
            let hint = lines.next().unwrap();
            let quoted = hint.split('`').skip(1).step_by(2).filter(|word| word.starts_with("rep "));
            commands.extend(quoted.map(|word| word.split(' ').skip(1).map(str::to_owned).collect()));
        }
    }
    commands
}

/// Follows the advice of `rep doctor` until there is no more advice, and returns the number of rounds.
fn follow(sandbox: &Sandbox) -> usize {
    for round in 0..5 {
        let commands = advised(sandbox);
        if commands.is_empty() {
            return round;
        }
        for command in commands {
            let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
            if words == ["undo", "--list"] {
                assert_eq!(sandbox.undo("rep link").code, 0);
                continue;
            }
            let shown = sandbox.run(&["list", "--duplicates"]).stderr;
            if words[0] == "list" {
                let gathers = shown.split('`').find_map(|word| word.strip_prefix("rep adopt")).unwrap();
                words = ["adopt"].into_iter().chain(gathers.split_whitespace()).collect();
            }
            words.push("--yes");
            let run = sandbox.run(&words);
            assert_eq!(run.code, 0, "{words:?} {}", run.stderr);
        }
    }
    panic!("the advice of `rep doctor` goes in a circle");
}

#[cfg(unix)]
#[test]
fn following_the_advice_of_doctor_ends() {
    // Connected, and reads some skills from files: that is as it should be.
    let connected = sandbox(&[".claude"]);
    connected.write(".claude/skills/gamma/SKILL.md", skill("gamma", "x\n"));
    assert_eq!(connected.run(&["connect", "--yes", "claude-code"]).code, 0);
    assert_eq!(follow(&connected), 0);
    // Linked for one client, so that another reads skills twice.
    let linked = sandbox(&[".claude", ".cursor"]);
    assert_eq!(linked.run(&["link", "--yes", "claude-code"]).code, 0);
    assert_eq!(follow(&linked), 1);
    // Copied for one client, so that another reads skills twice.
    let copied = sandbox(&[".claude", ".cursor"]);
    copied.write(".claude/skills/beta/SKILL.md", skill("beta", "# Beta\n\nDo beta.\n"));
    assert_eq!(follow(&copied), 2);
    // Links of another installer are not ours to remove.
    let foreign = sandbox(&[".claude", ".cursor"]);
    fs::create_dir_all(foreign.project().join(".claude/skills")).unwrap();
    std::os::unix::fs::symlink("../../.agents/skills/beta", foreign.project().join(".claude/skills/beta"))
        .unwrap();
    assert!(foreign.run(&["doctor", "--verbose"]).stdout.contains("another program made the links"));
    assert_eq!(follow(&foreign), 0);
    // In a directory that no other client reads.
    let own = sandbox(&[".cursor"]);
    own.write(".cursor/skills/beta/SKILL.md", skill("beta", "# Beta\n\nDo beta.\n"));
    assert!(own.run(&["doctor", "--verbose"]).stdout.contains("no other client needs"));
}

#[cfg(unix)]
#[test]
fn one_directory_under_two_names_is_read_once() {
    let sandbox = sandbox(&[".claude", ".cursor"]);
    fs::create_dir_all(sandbox.project().join(".claude")).unwrap();
    std::os::unix::fs::symlink("../.agents/skills", sandbox.project().join(".claude/skills")).unwrap();
    assert_run!(sandbox.run(&["connect"]), @r#"
    exit 0
    --- stdout
    Claude Code: 2 from files
    Cursor: 2 from files
    --- stderr
    "#);
    assert!(!sandbox.run(&["doctor", "--verbose"]).stdout.contains("more than once"));
}

#[cfg(unix)]
#[test]
fn links_for_a_connected_client_are_given_up_by_one_advice() {
    let sandbox = sandbox(&[".claude", ".cursor"]);
    assert_eq!(sandbox.run(&["link", "claude-code", "--yes"]).code, 0);
    assert_eq!(sandbox.run(&["connect", "claude-code", "--yes"]).code, 0);
    let run = sandbox.run(&["connect"]);
    let advice: Vec<&str> = run.stdout.lines().filter(|line| line.contains("; ")).collect();
    assert_eq!(advice.len(), 1, "{}", run.stdout);
    assert!(advice[0].ends_with("take them back by their number in `rep undo --list`"), "{}", run.stdout);
    assert_eq!(follow(&sandbox), 1);
}

#[cfg(unix)]
#[test]
fn advice_about_links_of_the_home_directory_can_be_followed_in_a_project() {
    let sandbox = sandbox(&[".claude", ".cursor"]);
    sandbox.write("../home/.agents/skills/gamma/SKILL.md", skill("gamma", "x\n"));
    assert_eq!(sandbox.run(&["link", "--user", "claude-code", "--yes"]).code, 0);
    assert_eq!(advised(&sandbox)[0], ["undo", "--list"]);
    follow(&sandbox);
    assert!(!sandbox.home().join(".claude/skills/gamma").exists());
}

#[cfg(unix)]
#[test]
fn skills_that_a_client_has_switched_off_are_shown() {
    let sandbox = sandbox(&[".codex"]);
    assert_eq!(sandbox.run(&["disable", "--client", "codex", "alpha"]).code, 0);
    assert_run!(sandbox.run(&["connect"]), @r#"
    exit 0
    --- stdout
    Codex: 1 from files, 1 switched off
    --- stderr
    "#);
    let run = sandbox.run(&["explain", "alpha"]);
    assert!(run.stdout.contains("clients  switched off for Codex\n"), "{}", run.stdout);
    let answer = sandbox.json(&["connect", "--json"]);
    assert_eq!(answer["clients"][0]["skills"][0]["files"], 0);
}

/// Writes skills that are named otherwise than their directories, one of them in a plugin of Claude Code.
fn write_other_names(sandbox: &Sandbox) {
    let home = |path: &str| format!("../home/{path}/SKILL.md");
    sandbox.write(&home(".claude/skills/brainstorming"), skill("Brainstorming Ideas Into Designs", "x\n"));
    sandbox.write(&home(".agents/skills/linear"), skill("Linear", "x\n"));
    let plugin = sandbox.home().join(".claude/plugins/cache/m/superpowers/1");
    sandbox.write(
        &home(".claude/plugins/cache/m/superpowers/1/skills/sdd"),
        skill("subagent-driven-development", "x\n"),
    );
    let installed =
        serde_json::json!({"version": 2, "plugins": {"superpowers@m": [{"installPath": plugin}]}});
    sandbox.write("../home/.claude/plugins/installed_plugins.json", installed.to_string());
    sandbox.write("../home/.claude/settings.json", r#"{"enabledPlugins": {"superpowers@m": true}}"#);
}

#[test]
fn skills_are_found_by_their_directories_whatever_their_names() {
    let sandbox = sandbox(&[".cursor", ".codex", ".config/goose"]);
    write_other_names(&sandbox);
    assert_eq!(sandbox.run(&["disable", "Linear"]).code, 0);
    assert_run!(sandbox.run(&["connect"]), @r#"
    exit 0
    --- stdout
    Claude Code: 2 from files, 2 not at all; run `rep connect claude-code`
    Cursor: 4 from files, 1 not at all; run `rep connect cursor`
    Codex: 2 from files, 1 switched off, 2 not at all; run `rep connect codex`
    Goose: 4 from files, 1 not at all; run `rep connect goose`
    --- stderr
    "#);
    let linear = &sandbox.json(&["connect", "--json"])["clients"][1]["skills"][0];
    assert_eq!(
        *linear,
        serde_json::json!({"name": "Linear", "disabled": true, "files": 1, "mcp": false, "way": "files"})
    );
    let explain = |name: &str| {
        let text = sandbox.run(&["explain", name]).stdout;
        text.lines().find(|line| line.contains("     clients  ")).unwrap_or_default().trim().to_owned()
    };
    insta::assert_snapshot!(explain("brainstorming-ideas-into-designs"), @"clients  read by Claude Code as `brainstorming`, Cursor, Goose; not seen by Codex");
    insta::assert_snapshot!(explain("subagent-driven-development"), @"clients  read by Claude Code as `superpowers:subagent-driven-development`; not seen by Cursor, Codex, Goose");
    insta::assert_snapshot!(explain("Linear"), @"clients  read by Cursor, Goose; switched off for Codex; not seen by Claude Code");
}

#[cfg(unix)]
#[test]
fn a_link_under_another_name_is_not_made_again() {
    let sandbox = sandbox(&[".claude", ".cursor"]);
    sandbox.write(".agents/skills/linear/SKILL.md", skill("Linear", "x\n"));
    fs::create_dir_all(sandbox.project().join(".claude/skills")).unwrap();
    let link = sandbox.project().join(".claude/skills/issues");
    std::os::unix::fs::symlink("../../.agents/skills/linear", &link).unwrap();
    let linked = sandbox.json(&["link", "--yes", "--json", "--skill", "Linear"]);
    assert_eq!(linked["links"], serde_json::json!([]));
    fs::remove_file(&link).unwrap();
    let linked = sandbox.json(&["link", "--yes", "--json", "--skill", "Linear", "claude-code"]);
    assert_eq!(linked["links"].as_array().unwrap().len(), 1, "none in .agents/skills, where it is: {linked}");
    assert_eq!(
        fs::canonicalize(sandbox.project().join(".claude/skills/Linear")).unwrap(),
        sandbox.project().join(".agents/skills/linear")
    );
}

/// After `rep connect --all` there is nothing to do, whatever the clients read from files.
#[cfg(unix)]
#[test]
fn after_connecting_all_clients_there_is_nothing_to_say() {
    let repository = crate::git_repository::Repository::new();
    repository.write("skills/pdf/SKILL.md", skill("pdf", "# Pdf\n\nDo pdf.\n"));
    repository.commit();
    for home in [
        &[][..],
        &[".claude/skills"],
        &[".claude/skills", ".codex/skills", ".cursor/skills"],
        &[".agents/skills", ".config/goose/skills", ".config/opencode/skills"],
    ] {
        let sandbox = sandbox(&[".claude", ".cursor", ".codex", ".config/opencode", ".config/goose"]);
        for (number, directory) in home.iter().enumerate() {
            let name = format!("own-{number}");
            sandbox.write(&format!("../home/{directory}/{name}/SKILL.md"), skill(&name, "# Own\n\nDo it.\n"));
        }
        assert_eq!(sandbox.run(&["connect", "--all", "--yes"]).code, 0);
        for round in 0..2 {
            let shown = sandbox.run(&["connect"]).stdout;
            assert_eq!(shown.lines().count(), 5, "{shown}");
            assert!(!shown.contains(';') && !shown.contains("not at all"), "{shown}");
            let doctor = sandbox.run(&["doctor"]).stdout;
            assert!(doctor.starts_with("nothing to do"), "{doctor}");
            if round == 0 {
                let run = sandbox.run(&["add", &repository.url(), "--all", "--yes"]);
                assert_eq!(run.code, 0, "{}", run.stderr);
                assert!(!run.stderr.contains("hint:") && !run.stderr.contains("warning:"), "{}", run.stderr);
            }
        }
    }
}
