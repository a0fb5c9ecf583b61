//! Tests of `rep self`, of `rep --version --verbose`, and of where `rep doctor` says the program comes from.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Returns the program as pipx installs it, below the home.
fn by_pipx(sandbox: &Sandbox) -> PathBuf {
    sandbox.write("../home/pipx/venvs/repertoire-cli/lib/python3.12/site-packages/repertoire_cli-0.1.0.dist-info/METADATA", "");
    let program = sandbox.home().join("pipx/venvs/repertoire-cli/bin/rep");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    if fs::hard_link(env!("CARGO_BIN_EXE_rep"), &program).is_err() {
        fs::copy(env!("CARGO_BIN_EXE_rep"), &program).unwrap();
    }
    program
}

#[test]
fn self_update_prints_the_command_of_the_installer() {
    let sandbox = Sandbox::new();
    let program = by_pipx(&sandbox).display().to_string();
    let run = sandbox.finish(sandbox.other(&program, &["self", "update"]));
    assert_eq!((run.code, &*run.stdout), (0, "pipx upgrade repertoire-cli\n"));
    assert!(run.stderr.contains("was installed with pipx; this updates it:"), "{}", run.stderr);
    let run = sandbox.finish(sandbox.other(&program, &["self", "update", "--json"]));
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["command"], "pipx upgrade repertoire-cli");
    assert_eq!(answer["installed"], "installed with pipx");
}

#[test]
fn doctor_names_the_installer_and_a_second_program_on_the_path() {
    let mut sandbox = Sandbox::with_skills();
    let program = by_pipx(&sandbox).display().to_string();
    let run = sandbox.finish(sandbox.other(&program, &["doctor", "--verbose"]));
    assert!(run.stdout.contains("pipx/venvs/repertoire-cli/bin/rep, installed with pipx"), "{}", run.stdout);
    let first = sandbox.home().join("bin");
    sandbox.write("../home/bin/rep", "#!/bin/sh\n");
    let own = PathBuf::from(&program).parent().unwrap().to_owned();
    let path = std::env::join_paths([&first, &own, &first]).unwrap();
    sandbox.set("PATH", path.to_str().unwrap());
    let run = sandbox.finish(sandbox.other(&program, &["doctor", "--json"]));
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    let checks = answer["checks"].as_array().unwrap();
    let warning =
        checks.iter().find(|check| check["topic"] == "installed" && check["status"] == "warn").unwrap();
    let expect = "a shell starts [DIR]/home/bin/rep, and finds \
                  [DIR]/home/pipx/venvs/repertoire-cli/bin/rep too";
    assert_eq!(warning["message"], expect);
}

#[test]
fn the_verbose_version_tells_how_the_program_was_built() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["--version"]).stdout, format!("rep {}\n", env!("CARGO_PKG_VERSION")));
    let run = sandbox.run(&["--version", "--verbose"]);
    assert_eq!(sandbox.run(&["--verbose", "-V"]).stdout, run.stdout);
    let keys: Vec<&str> =
        run.stdout.lines().skip(1).filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert_eq!((run.code, keys), (0, vec!["commit", "profile", "target", "features"]), "{}", run.stdout);
    assert!(!run.stdout.contains(": \n"), "{}", run.stdout);
    assert_eq!(sandbox.run(&["list", "--verbose", "--version"]).code, 2);
}

#[test]
fn self_man_writes_a_page_for_each_command() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["self", "man", "out/man"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (0, "wrote the manual to [DIR]/project/out/man\n"),
        "{}",
        run.stderr
    );
    for page in ["rep.1", "rep-list.1", "rep-kit-use.1"] {
        let text = sandbox.read(&format!("out/man/{page}"));
        assert!(text.contains(".SH NAME") && text.contains("rep"), "{page}: {text}");
    }
    let run = sandbox.run(&["self", "man", "out/man/rep.1"]);
    assert!(run.code == 3 && run.stderr.contains("out/man/rep.1"), "{} {}", run.code, run.stderr);
}
