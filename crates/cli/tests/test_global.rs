//! Tests that hold for every command.

use std::io::Read as _;
use std::process::Stdio;

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_run, skill};

#[test]
fn a_closed_pipe_is_success() {
    let sandbox = Sandbox::new();
    for index in 0..300 {
        let name = format!("skill-{index}");
        sandbox.write(&format!("lib/{name}/SKILL.md"), skill(&name, &"long text\n".repeat(2000)));
    }
    for arguments in [
        &["list", "--root", "lib"][..],
        &["check", "--json", "--root", "lib"],
        &["show", "skill-1", "--root", "lib"],
    ] {
        let mut command = sandbox.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut byte = [0];
        stdout.read_exact(&mut byte).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?} {output:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("error"), "{output:?}");
    }
}

#[test]
fn the_locale_does_not_matter() {
    let mut sandbox = Sandbox::new();
    sandbox.write(".agents/skills/é-技/SKILL.md", skill("é-技", "naïve ünïcode\n"));
    let before = sandbox.run(&["list"]).stdout;
    sandbox.set("LC_ALL", "C");
    sandbox.set("LANG", "C");
    assert_eq!(sandbox.run(&["list"]).stdout, before);
    assert_eq!(sandbox.run(&["show", "é-技"]).stdout, "naïve ünïcode\n");
}

#[cfg(target_os = "linux")]
#[test]
fn paths_that_are_not_utf8_do_no_harm() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let sandbox = Sandbox::with_skills();
    let odd = sandbox.project().join(OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir_all(odd.join("a")).unwrap();
    std::fs::write(odd.join("a/SKILL.md"), skill("a", "x\n")).unwrap();
    for command in ["list", "check", "doctor", "catalog"] {
        let mut command = sandbox.command(&[command, "--root"]);
        command.arg(&odd);
        let run = sandbox.finish(command);
        assert!(matches!(run.code, 0 | 1), "{} {}", run.code, run.stderr);
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    }
    let inside = sandbox.project().join(".agents/skills").join(OsStr::from_bytes(b"b\xff"));
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::write(inside.join("SKILL.md"), skill("b", "x\n")).unwrap();
    let run = sandbox.run(&["check"]);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}

#[test]
fn colour_is_for_terminals_unless_asked_for() {
    let mut sandbox = Sandbox::with_skills();
    assert!(!sandbox.run(&["list"]).stdout.contains('\u{1b}'));
    assert!(sandbox.run(&["list", "--color", "always"]).stdout.contains('\u{1b}'));
    sandbox.set("REPERTOIRE_COLOR", "always");
    assert!(sandbox.run(&["list"]).stdout.contains('\u{1b}'));
    assert!(!sandbox.run(&["list", "--color", "never"]).stdout.contains('\u{1b}'));
}

#[test]
fn wrong_command_lines_are_usage_errors() {
    let sandbox = Sandbox::with_skills();
    for arguments in [&["nope"][..], &["show"], &["list", "--nope"], &["list", "--profile", "x"]] {
        let run = sandbox.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?} {}", run.stderr);
    }
    assert_run!(sandbox.run(&["--version"]), @r#"
    exit 0
    --- stdout
    rep 0.1.0
    --- stderr
    "#);
}

#[test]
fn roots_before_and_behind_the_command_both_count() {
    let sandbox = Sandbox::new();
    for root in ["a", "b", "c"] {
        sandbox.write(&format!("{root}/x/SKILL.md"), skill("x", "x\n"));
    }
    for (arguments, expect) in [
        (&["--root", "a", "list", "--all", "--json", "--root", "b"][..], &["root:a", "root:b"][..]),
        (
            &["--root", "b", "--root=c", "list", "--all", "--json", "--root", "a"],
            &["root:b", "root:c", "root:a"],
        ),
        (&["--root", "c", "list", "--all", "--json"], &["root:c"]),
        (&["list", "--all", "--json", "--root", "b"], &["root:b"]),
    ] {
        let listing = sandbox.json(arguments);
        let sources: Vec<&str> = listing["skills"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|skill| skill["source"].as_str())
            .collect();
        assert_eq!(sources, expect, "{arguments:?}");
    }
}

#[test]
fn a_refused_library_is_an_error() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/twin/SKILL.md", skill("alpha", "x\n"));
    sandbox.write("repertoire.toml", "duplicates = \"abort\"\n");
    for arguments in [&["list"][..], &["show", "alpha"], &["show", "alpha", "--files"], &["catalog"]] {
        let run = sandbox.run(&[arguments, &["--json"]].concat());
        assert_eq!(run.code, 1, "{arguments:?}");
        assert!(error(&run.stdout).starts_with("the policy refuses this library"), "{}", run.stdout);
        assert!(run.stderr.contains("the policy refuses this library"), "{}", run.stderr);
    }
    for arguments in [&["list", "--all"][..], &["explain", "alpha"]] {
        sandbox.json(&[arguments, &["--json"]].concat());
    }
}

/// Returns the message of the JSON document of a command that failed.
fn error(stdout: &str) -> String {
    let document: Value = serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
    assert!(document["causes"].is_array() && document["hints"].is_array(), "{stdout}");
    document["error"].as_str().unwrap().to_owned()
}

#[test]
fn errors_have_one_json_shape_in_every_command() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.set("REPERTOIRE_STATE_DIR", "state");
    sandbox.write("state/approvals.json", "broken");
    sandbox.write("not-text", b"\xff");
    let cases: &[(&str, &[&str])] = &[
        ("list", &["--root", "nowhere"]),
        ("search", &["x", "--source", "nowhere"]),
        ("show", &["nothing"]),
        ("show", &["alpha", "--file", "nothing"]),
        ("show", &["alpha", "--lines", "1000:"]),
        ("show", &["nothing", "--files"]),
        ("explain", &["nothing"]),
        ("list", &["nothing", "--origin", "--changed"]),
        ("list", &["nothing", "--duplicates"]),
        ("connect", &["--root", "nowhere"]),
        ("catalog", &["--agent", "nobody"]),
        ("cost", &["--root", "nowhere"]),
        ("prompt", &[]),
        ("watch", &["--root", "not-text"]),
        ("new", &["No Name"]),
        ("check", &["nothing"]),
        ("eval", &["triggers", "nowhere"]),
        ("pack", &["skill", "nothing"]),
        ("migrate", &["roles", "nowhere"]),
        ("init", &["--root", "nowhere"]),
        ("add", &["./nowhere"]),
        ("update", &["nothing"]),
        ("sync", &[]),
        ("sync", &["--import"]),
        ("remove", &["nothing"]),
        ("undo", &["9"]),
        ("connect", &["--yes"]),
        ("connect", &["cursor"]),
        ("link", &["claude-code"]),
        ("adopt", &["nothing"]),
        ("disable", &["nothing"]),
        ("enable", &["nothing"]),
        ("kit", &["use", "nothing"]),
        ("serve", &["--http", "nowhere"]),
        ("dashboard", &["--root", "nowhere"]),
        ("publish", &["nowhere"]),
        ("team", &["channel", "promote", "nothing"]),
        ("session", &["--agent", "nobody"]),
        ("agent", &["task"]),
        ("call", &["load_skill", "{"]),
        ("call", &["load_skill", "{\"name\": \"nothing\"}"]),
        ("doctor", &["--nope"]),
        ("completions", &["no-shell"]),
        ("run", &["nothing", "tool"]),
        ("run", &["alpha", "tool", "--args", "1"]),
        ("approve", &["nothing"]),
        ("revoke", &["nothing"]),
        ("approve", &["--list"]),
        ("events", &["--since", "never"]),
        ("stats", &["--since", "never"]),
        ("history", &["nothing"]),
        ("history", &["alpha", "--diff", "9"]),
        ("history", &["alpha", "--restore", "9", "--yes"]),
        ("proposal", &["new", "alpha", "--why", "reason"]),
        ("proposal", &["show", "9"]),
        ("team", &["token", "revoke", "nothing"]),
        ("self", &["man", "not-text/below"]),
    ];
    for (command, arguments) in cases {
        let run = sandbox.run(&[&["--json", command], *arguments].concat());
        assert!(matches!(run.code, 1..=3), "{command} {arguments:?}: {} {}", run.code, run.stdout);
        let message = error(&run.stdout);
        assert!(!message.is_empty() && !message.contains('\n'), "{command}: {message:?}");
        assert!(run.stderr.contains("error:"), "{command}: {}", run.stderr);
        let run = sandbox.run(&["--json", command, "--nope"]);
        assert_eq!(
            (run.code, error(&run.stdout).as_str()),
            (2, "unexpected argument '--nope' found"),
            "{command}"
        );
    }
    for command in sandbox.run(&["--help"]).stdout.lines().filter_map(|line| line.strip_prefix("  ")) {
        let name = command.split(' ').next().unwrap();
        let is_command = name.starts_with(|c: char| c.is_ascii_lowercase());
        // A hook that fails is silent.
        let has_case = name == "hook" || cases.iter().any(|(command, _)| *command == name);
        assert!(!is_command || has_case, "{name} has no case here");
    }
}

#[test]
fn hints_name_the_directories_of_the_command_line() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/skill-1/SKILL.md", skill("skill-1", "Do.\n"));
    let run = sandbox.run(&["--root", "lib", "show", "skill-1", "--file", "gone.md"]);
    assert!(run.stderr.contains("hint: run `rep --root lib show skill-1 --files` to see"), "{}", run.stderr);
    sandbox.write("lib/bad/SKILL.md", "---\nname: bad\n");
    let run = sandbox.run(&["--root", "lib", "list"]);
    assert!(run.stderr.contains("hint: run `rep --root lib check` to see"), "{}", run.stderr);
}

#[test]
fn a_root_that_is_no_directory_is_an_error_in_every_command() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("file", "x");
    for command in [
        &["list"][..],
        &["search", "x"],
        &["show", "alpha"],
        &["check"],
        &["catalog"],
        &["watch"],
        &["serve", "--stdio"],
        &["session"],
        &["approve", "--list"],
        &["new", "x"],
    ] {
        for (root, message) in
            [("/nope", "error: there is no directory /nope\n"), ("file", "error: file is not a directory\n")]
        {
            let run = sandbox.run(&[&["--root", root], command].concat());
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{command:?}");
            assert!(run.stderr.starts_with(message), "{command:?} {}", run.stderr);
        }
    }
}

#[test]
fn without_a_command_the_usual_ones_are_shown() {
    let sandbox = Sandbox::with_skills();
    let run = sandbox.run(&[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    insta::assert_snapshot!(run.stdout, @r"
    Repertoire 0.1.0: one library of skills for every AI agent

    Skills
      list       Every skill, which client gets it, what is wrong with it
      search     The skills that a task needs
      show       The instructions of a skill, and its files
      new        Start a skill
      check      Find mistakes and fix them
    From elsewhere
      add        From a repository, an archive, a package or a server
      update     Bring them up to date; your edits are kept
      remove     Take one away
      undo       Take back the last change
    Agents
      connect    Give your skills to Claude Code, Codex, Cursor and others
      disable    Switch a skill off, for all clients or for one
      approve    Let the tools of a skill run, in a sandbox
      agent      Work on a task with nothing but skills
    Looking back
      doctor     What needs attention, worst first
      stats      What is used and what is not
      dashboard  The same in a browser; proposals to review

    rep help --all: commands for scripts, for teams, for people who build agents
    ");
    let run = sandbox.run(&["--json"]);
    assert_eq!((run.code, run.stdout.contains("no command is given")), (2, true), "{}", run.stdout);
}

#[test]
fn help_is_a_command() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["help"]);
    assert!(run.code == 0 && run.stdout.contains("Clients and agents:"), "{}", run.stdout);
    assert_eq!(sandbox.run(&["help", "--all"]).stdout, run.stdout);
    let run = sandbox.run(&["help", "check"]);
    assert_eq!((run.code, run.stdout), (0, sandbox.run(&["check", "--help"]).stdout));
}

#[test]
fn an_old_word_is_a_usage_error_that_names_the_command_to_type() {
    let sandbox = Sandbox::new();
    assert_run!(sandbox.run(&["--root", "lib", "rollback", "git", "1", "--yes"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: unrecognized subcommand 'rollback'

      tip: type `rep --root lib history git --restore 1 --yes`

    Usage: rep [OPTIONS] [COMMAND]

    For more information, try '--help'.
    ");
    let run = sandbox.run(&["outdated", "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["hints"][0], "type `rep update --dry-run --json`");
    assert!(sandbox.run(&["help", "outdated"]).stderr.contains("type `rep update --dry-run`"));
    assert!(sandbox.run(&["update", "--check"]).stderr.contains("tip: type `rep update --dry-run`\n"));
    // A word below a command is another one.
    let run = sandbox.run(&["kit", "diff"]);
    assert!(run.code == 2 && !run.stderr.contains("type `"), "{}", run.stderr);
}

#[test]
fn negative_numbers_get_a_plain_error() {
    let sandbox = Sandbox::new();
    for arguments in
        [&["catalog", "--budget", "-5"][..], &["catalog", "--budget=-5"], &["search", "x", "--limit", "-1"]]
    {
        let run = sandbox.run(arguments);
        assert!(
            run.code == 2 && run.stderr.contains("is negative, and numbers here are not"),
            "{}",
            run.stderr
        );
        assert!(!run.stderr.contains("unexpected argument"), "{}", run.stderr);
    }
}
