//! Tests of `rep kit`.

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_run};

const KITS: &str = "[kits.first]\nskills = [\"al*\"]\n\n[kits.both]\nskills = [\"alpha\", \"beta\"]\n";

#[test]
fn a_kit_in_use_disables_the_other_skills() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", KITS);
    assert_run!(sandbox.run(&["kit", "use", "first"]), @r#"
    exit 0
    --- stdout
    in [DIR]/project the kit first is in use: 1 of 2 skills
    --- stderr
    hint: `rep kit use --none` uses all skills again
    hint: restart running sessions and servers to apply this
    "#);
    assert_run!(sandbox.run(&["list", "--all"]), @r#"
    exit 0
    --- stdout
    NAME   STATE     SOURCE          DISABLED BY                               DESCRIPTION
    alpha  active    project:agents                                            Does alpha things well. Use when alpha is asked for.
    beta   disabled  project:agents  the kit in use (first, by `rep kit use`)  Does beta things well. Use when beta is asked for.
    --- stderr
    1 active, 1 disabled
    hint: run `rep explain beta` to see why
    "#);
    assert_run!(sandbox.run(&["explain", "beta"]), @r#"
    exit 0
    --- stdout
    beta from project:.agents/skills is disabled
           found  in .agents/skills/beta by project:.agents/skills, a place of the project
            name  taken from the frontmatter
     description  taken from the frontmatter, 50 characters
           state  disabled by the kit in use (first, by `rep kit use`): `beta` does not exist for agents
          enable  run `rep kit use --none`
         catalog  left out, because it is disabled
          origin  no installer recorded it
    --- stderr
    "#);
    let catalog = sandbox.run(&["catalog"]).stdout;
    assert!(catalog.contains("alpha") && !catalog.contains("beta"), "{catalog}");
    let listed: Value = serde_json::from_str(&sandbox.run(&["list", "--all", "--json"]).stdout).unwrap();
    assert_eq!(listed["skills"][0].get("outside_kits"), None);
    assert_eq!(listed["skills"][1]["outside_kits"][0], "first");
    assert!(
        sandbox
            .run(&["doctor", "--verbose"])
            .stdout
            .contains("beta is disabled by the kit in use (first, by `rep kit use`)")
    );
    assert_eq!(
        sandbox.run_with_input(&["serve", "--stdio"], "").stderr,
        "rep: 1 skill disabled by the kit in use (first, by `rep kit use`); `rep list --all` shows which\n"
    );
    assert_run!(sandbox.run(&["enable", "beta"]), @r#"
    exit 0
    --- stdout
    beta is not disabled
    --- stderr
    warning: beta is still disabled by the kit in use (first, by `rep kit use`)
    "#);
    assert_run!(sandbox.run(&["kit", "list"]), @r#"
    exit 0
    --- stdout
    KIT    SKILLS  IN USE            PATTERNS
    both        2  -                 alpha, beta
    first       1  by `rep kit use`  al*
    --- stderr
    "#);
    // Another project has its own choice.
    sandbox.write("../other/.agents/skills/beta/SKILL.md", crate::sandbox::skill("beta", "# Beta\n"));
    assert!(sandbox.run_in("../other", &["list"]).stdout.contains("beta"));
    assert_run!(sandbox.run(&["kit", "use", "--none"]), @r#"
    exit 0
    --- stdout
    no kit is in use in [DIR]/project
    --- stderr
    hint: restart running sessions and servers to apply this
    "#);
    assert!(sandbox.run(&["list"]).stdout.contains("beta"));
}

#[test]
fn a_shell_has_its_own_choice() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", KITS);
    assert_run!(sandbox.run(&["kit", "use", "--shell", "first", "both"]), @r#"
    exit 0
    --- stdout
    export REPERTOIRE_KITS='first,both'
    --- stderr
    "#);
    assert_eq!(sandbox.run(&["kit", "use", "--shell", "--none"]).stdout, "unset REPERTOIRE_KITS\n");
    assert_eq!(sandbox.run(&["kit", "use", "--shell"]).code, 2);
    sandbox.set("REPERTOIRE_KITS", "first");
    assert!(!sandbox.run(&["list"]).stdout.contains("beta"));
    assert_run!(sandbox.run(&["kit", "use", "both"]), @r#"
    exit 0
    --- stdout
    in [DIR]/project the kit both is in use: 2 of 2 skills
    --- stderr
    warning: in this shell REPERTOIRE_KITS says otherwise: first
    hint: `rep kit use --none` uses all skills again
    hint: restart running sessions and servers to apply this
    "#);
    let shown: Value = serde_json::from_str(&sandbox.run(&["kit", "list", "--json"]).stdout).unwrap();
    assert_eq!(shown["in_use"][0], "first");
    assert_eq!(shown["chosen_by"], "REPERTOIRE_KITS");
    assert_eq!(shown["kits"][0]["name"], "both");
    assert_eq!(shown["kits"][0]["matched"], 2);
}

#[test]
fn a_kit_is_made_and_can_be_used() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.config/repertoire/config.toml", "# Mine.\ndisabled = []\n");
    assert_run!(sandbox.run(&["kit", "new", "web", "alpha", "css-*"]), @r"
    exit 0
    --- stdout
    made the kit web with 1 skill in [DIR]/home/.config/repertoire/config.toml
    --- stderr
    hint: run `rep kit use web` to switch to it
    ");
    assert_eq!(
        sandbox.read("../home/.config/repertoire/config.toml"),
        "# Mine.\ndisabled = []\n\n[kits.web]\nskills = [\"alpha\", \"css-*\"]\n"
    );
    assert_run!(sandbox.run(&["kit", "new", "web", "beta"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: there is a kit `web` already
    hint: edit `kits` in [DIR]/home/.config/repertoire/config.toml
    ");
    let unknown = sandbox.run(&["kit", "new", "other", "alhpa"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("alpha"), "{}", unknown.stderr);
    assert_eq!(sandbox.run(&["kit", "new", "--project", "ours", "beta"]).code, 0);
    assert_eq!(sandbox.run(&["kit", "use", "ours"]).code, 0);
    assert_eq!(sandbox.json(&["list", "--json"])["skills"][0]["name"], "beta");
}

#[test]
fn an_unknown_kit_is_an_error_with_the_nearest_name() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", KITS);
    assert_run!(sandbox.run(&["kit", "use", "frist"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: there is no kit `frist`
    hint: did you mean `first`?
    "#);
    sandbox.run(&["kit", "use", "first"]);
    sandbox.write("repertoire.toml", "[kits.last]\nskills = [\"beta\"]\n");
    assert_run!(sandbox.run(&["list"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: there is no kit `first`, which `rep kit use` chose
    hint: kits are: last
    hint: run `rep kit list` to see the kits, `rep kit use --none` to use none
    "#);
    assert_run!(sandbox.run(&["kit", "list"]), @r#"
    exit 0
    --- stdout
    KIT   SKILLS  IN USE  PATTERNS
    last       1  -       beta
    --- stderr
    warning: the kit `first` is in use and not configured any more
    hint: run `rep kit use --none`, or configure it again
    "#);
    assert_eq!(sandbox.run(&["kit", "use", "--none"]).code, 0);
    assert_eq!(sandbox.run(&["list"]).code, 0);
    sandbox.set("REPERTOIRE_KITS", "bogus");
    let run = sandbox.run(&["list"]);
    assert!(run.stderr.contains("`unset REPERTOIRE_KITS` to use none"), "{}", run.stderr);
}
