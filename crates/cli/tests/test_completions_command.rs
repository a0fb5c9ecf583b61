//! Tests of `rep completions`.

use crate::sandbox::Sandbox;

#[test]
fn every_shell_has_a_script() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = sandbox.run(&["completions", shell]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stdout.contains("COMPLETE"), "{shell}: {}", run.stdout);
    }
    assert_eq!(sandbox.run(&["completions", "tcsh"]).code, 2);
}

#[test]
fn skill_names_are_completed() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.set("COMPLETE", "fish");
    let run = sandbox.run(&["--", "rep", "show", "al"]);
    assert_eq!((run.code, run.stdout.split('\t').next()), (0, Some("alpha")));
    sandbox.write("lib/omega/SKILL.md", crate::sandbox::skill("omega", "x\n"));
    let run = sandbox.run(&["--", "rep", "show", "--root", "lib", ""]);
    assert!(run.stdout.contains("omega") && !run.stdout.contains("alpha"), "{}", run.stdout);
}
