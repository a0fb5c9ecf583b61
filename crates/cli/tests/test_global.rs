//! Tests that hold for every command.

use std::io::Read as _;
use std::process::Stdio;

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
    for arguments in [&[][..], &["nope"], &["show"], &["list", "--nope"], &["list", "--profile", "x"]] {
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
fn a_refused_library_prints_no_json() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/twin/SKILL.md", skill("alpha", "x\n"));
    sandbox.write("repertoire.toml", "duplicates = \"abort\"\n");
    for arguments in [&["list"][..], &["show", "alpha"], &["files", "alpha"], &["catalog"]] {
        let run = sandbox.run(&[arguments, &["--json"]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{arguments:?}");
        assert!(run.stderr.contains("the policy refuses this library"), "{}", run.stderr);
    }
    for arguments in [&["list", "--all"][..], &["explain", "alpha"]] {
        sandbox.json(&[arguments, &["--json"]].concat());
    }
}
