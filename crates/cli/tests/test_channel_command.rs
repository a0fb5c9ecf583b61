//! `rep channel`.

use crate::sandbox::{ALPHA, Sandbox, assert_run, skill};

#[test]
fn a_version_is_promoted_and_rolled_back() {
    let sandbox = Sandbox::with_skills();
    let publish = |channel: &str| {
        let run = sandbox.run(&["publish", ".agents/skills", "--to", "fleet.db", "--channel", channel]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    let channel =
        |arguments: &[&str]| sandbox.run(&[&["channel"], arguments, &["--store", "fleet.db"]].concat());
    let digests = |channel: &str| {
        let shown = sandbox.json(&["channel", "show", channel, "--store", "fleet.db", "--json"]);
        shown["skills"].as_array().unwrap().iter().map(|skill| skill["digest"].clone()).collect::<Vec<_>>()
    };
    publish("stable");
    let old = digests("stable");
    sandbox.write(ALPHA, skill("alpha", "# New\n"));
    publish("next");
    let new = digests("next");
    assert_run!(channel(&["list"]), @"
    exit 0
    --- stdout
    CHANNEL  SKILLS  RELEASE
    next          2        2
    stable        2        1
    --- stderr
    ");
    assert_run!(channel(&["promote", "--all"]), @"
    exit 0
    --- stdout
    ~ alpha
    release 3: 1 change of stable in [DIR]/project/fleet.db
    --- stderr
    ");
    assert_eq!(digests("stable"), new);
    assert_run!(channel(&["promote", "alpha", "beta"]), @"
    exit 0
    --- stdout
    stable in [DIR]/project/fleet.db is up to date
    --- stderr
    ");
    assert_run!(channel(&["rollback", "alpha"]), @"
    exit 0
    --- stdout
    ~ alpha
    release 4: 1 change of stable in [DIR]/project/fleet.db
    --- stderr
    ");
    assert_eq!(digests("stable"), old);
    // Without names the whole newest release is undone, removed skills included.
    sandbox.write(".agents/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    let gamma = [".agents/skills/gamma", "--to", "fleet.db", "--prune"];
    assert_eq!(sandbox.run(&[&["publish"], &gamma[..]].concat()).code, 0);
    assert_run!(channel(&["rollback"]), @"
    exit 0
    --- stdout
    + alpha
    + beta
    - gamma
    release 6: 3 changes of stable in [DIR]/project/fleet.db
    --- stderr
    ");
    assert_eq!(digests("stable"), old);
    // A skill that was added goes away, and comes back.
    for _ in 0..2 {
        assert_eq!(channel(&["rollback", "beta", "--channel", "next"]).code, 0);
    }
    assert_eq!(digests("next"), new);
    assert_run!(channel(&["promote", "gamma"]), @"
    exit 1
    --- stdout
    --- stderr
    error: there is no skill `gamma` in the channel next
    hint: run `rep channel show next` to see the skills
    ");
    assert_run!(channel(&["show", "empty"]), @"
    exit 0
    --- stdout
    --- stderr
    the channel empty has no skills
    ");
}
