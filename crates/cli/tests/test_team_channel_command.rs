//! `rep team channel`.

use crate::sandbox::{ALPHA, Sandbox, assert_run, skill};

#[test]
fn a_version_is_promoted_and_rolled_back() {
    let sandbox = Sandbox::with_skills();
    let publish = |channel: &str| {
        let run = sandbox.run(&["publish", ".agents/skills", "--to", "fleet.db", "--channel", channel]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    let channel = |arguments: &[&str]| {
        sandbox.run(&[&["team", "channel"], arguments, &["--store", "fleet.db"]].concat())
    };
    let digests = |channel: &str| {
        let shown = sandbox.json(&["team", "channel", "show", channel, "--store", "fleet.db", "--json"]);
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
    hint: run `rep team channel show next --store fleet.db` to see the skills
    ");
}

#[test]
fn an_unknown_channel_is_an_error() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["publish", ".agents/skills", "--to", "fleet.db"]).code, 0);
    for arguments in [
        &["show", "stabel"][..],
        &["promote", "--all", "--from", "stabel", "--to", "stable"],
        &["promote", "alpha", "--from", "stabel"],
        &["rollback", "--channel", "stabel"],
    ] {
        let run = sandbox.run(&[&["team", "channel"], arguments, &["--store", "fleet.db"]].concat());
        assert_eq!(
            (run.code, &*run.stderr),
            (1, "error: there is no channel stabel in [DIR]/project/fleet.db\nhint: there are: stable\n"),
            "{arguments:?}"
        );
    }
}

#[test]
fn removals_are_promoted() {
    let sandbox = Sandbox::with_skills();
    let publish = |arguments: &[&str]| {
        let run = sandbox.run(&[&["publish", "--to", "fleet.db"], arguments].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    publish(&[".agents/skills"]);
    // `next` has alpha and had beta; `stable` alone has gamma.
    publish(&[".agents/skills", "--channel", "next"]);
    sandbox.write(".agents/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    publish(&[".agents/skills/gamma"]);
    publish(&["--remove", "beta", "--channel", "next"]);
    assert_run!(sandbox.run(&["team", "channel", "promote", "--all", "--store", "fleet.db"]), @"
    exit 0
    --- stdout
    - beta
    release 5: 1 change of stable in [DIR]/project/fleet.db
    --- stderr
    ");
}

#[test]
fn only_rep_publish_makes_a_store() {
    let sandbox = Sandbox::with_skills();
    for arguments in [
        &["team", "channel", "list"][..],
        &["team", "channel", "rollback"],
        &["serve", "--stdio"],
        &["session"],
        &["call", "list_skills"],
    ] {
        let run = sandbox.run(&[arguments, &["--store", "typo.db"]].concat());
        assert_eq!(
            (run.code, &*run.stderr),
            (
                1,
                "error: there is no store at [DIR]/project/typo.db\nhint: `rep publish DIR --to [DIR]/project/typo.db` makes it\n"
            ),
            "{arguments:?}"
        );
        assert!(!sandbox.project().join("typo.db").exists());
    }
}
