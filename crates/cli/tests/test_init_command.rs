//! Tests of `rep init`.

use crate::sandbox::{Sandbox, assert_run};

#[test]
fn a_commented_file_is_written_once() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["init"]), @r#"
    exit 0
    --- stdout
    wrote [DIR]/project/repertoire.toml
    --- stderr
    "#);
    let written = sandbox.read("repertoire.toml");
    assert!(written.contains("/docs/reference/configuration.md\n"), "{written}");
    assert_eq!(written.lines().filter(|line| line.contains(" = ")).count(), 10, "{written}");
    assert_eq!(sandbox.run(&["list"]).code, 0);
    assert_run!(sandbox.run(&["init"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: [DIR]/project/repertoire.toml is already there
    hint: `--force` overwrites it
    "#);
    sandbox.write("repertoire.toml", "broken");
    assert_eq!(sandbox.run(&["init", "--force"]).code, 0);
    assert_eq!(sandbox.run(&["list"]).code, 0);
}
