use crate::sandbox::{Sandbox, assert_run};

#[test]
fn files_are_listed_with_size_and_kind() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["files", "alpha"]), @"");
    assert_run!(sandbox.run(&["files", "alpha", "references"]), @"");
    insta::assert_snapshot!(sandbox.run(&["files", "beta", "--json"]).stdout, @"");
}

#[test]
fn wrong_directories() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["files", "alpha", "assets"]), @"");
    assert_run!(sandbox.run(&["files", "alpha", "SKILL.md"]), @"");
    assert_run!(sandbox.run(&["files", "alpha", "../beta"]), @"");
}
