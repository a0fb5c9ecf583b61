use crate::sandbox::{Sandbox, assert_run};

#[test]
fn a_commented_file_is_written_once() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["init"]), @"");
    insta::assert_snapshot!(sandbox.read("repertoire.toml"), @"");
    assert_eq!(sandbox.run(&["list"]).code, 0);
    assert_run!(sandbox.run(&["init"]), @"");
    sandbox.write("repertoire.toml", "broken");
    assert_eq!(sandbox.run(&["init", "--force"]).code, 0);
    assert_eq!(sandbox.run(&["list"]).code, 0);
}
