//! Tests of `rep catalog`.

use crate::sandbox::{Sandbox, assert_run};

#[test]
fn exactly_the_text_and_nothing_else() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["catalog", "--format", "list"]), @r#"
    exit 0
    --- stdout
    Skills:
    - alpha: Does alpha things well. Use when alpha is asked for.
    - beta: Does beta things well. Use when beta is asked for.--- stderr
    "#);
    assert_eq!(sandbox.run(&["catalog"]).stdout, sandbox.run(&["catalog", "--format", "xml"]).stdout);
    let empty = Sandbox::new().run(&["catalog"]);
    assert_eq!((empty.code, empty.stdout.as_str(), empty.stderr.as_str()), (0, "", ""));
}

#[test]
fn skills_kept_for_people_are_left_out() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(
        ".agents/skills/secret/SKILL.md",
        "---\nname: secret\ndescription: Is secret. Use when people ask.\ndisable-model-invocation: true\n---\nx\n",
    );
    assert!(!sandbox.run(&["catalog"]).stdout.contains("secret"));
    assert_eq!(sandbox.run(&["show", "secret"]).code, 0);
    assert_eq!(sandbox.run(&["catalog", "--highlight", "secret"]).code, 1);
}

#[test]
fn a_budget_shortens_and_reports() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["catalog", "--format", "list", "--budget", "30", "--report"]), @r#"
    exit 0
    --- stdout
    Skills:
    - alpha
    - beta

    To save space, descriptions are left out for 2 of 2 skills; call `search_skills` to find skills by what they do.--- stderr
    2 skills, 38 of 30 tokens (o200k_base)
    name only (2): alpha, beta
    warning: the catalog is over its budget even so
    "#);
    for (budget, over_budget) in [(40, false), (30, true)] {
        let catalog =
            sandbox.json(&["catalog", "--json", "--budget", &budget.to_string(), "--format", "list"]);
        assert_eq!((&catalog["tokenizer"], &catalog["budget"]), (&"o200k_base".into(), &budget.into()));
        assert_eq!(catalog["tokens"].as_i64() > Some(budget), over_budget, "{catalog}");
        assert_eq!(catalog["over_budget"], over_budget, "{catalog}");
    }
}

#[test]
fn highlights_and_loaded_marks() {
    let sandbox = Sandbox::with_skills();
    let run = sandbox.run(&["catalog", "--format", "list", "--highlight", "beta"]);
    assert!(run.stdout.find("beta") < run.stdout.find("alpha"), "{}", run.stdout);
    assert_run!(sandbox.run(&["catalog", "--highlight", "betta"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: there is no skill `betta` in the catalog to highlight
    hint: did you mean `beta`?
    "#);
    assert_run!(sandbox.run(&["catalog", "--loaded", "alpha"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: --loaded needs `catalog.show_loaded = true` in the configuration
    hint: marking loaded skills changes the catalog and so defeats prompt caching
    "#);
    sandbox.write("repertoire.toml", "[catalog]\nshow_loaded = true\nformat = \"menu\"\n");
    assert!(sandbox.run(&["catalog", "--loaded", "alpha"]).stdout.contains("[loaded]"));
}

#[test]
fn a_file_instead_of_the_output() {
    let sandbox = Sandbox::with_skills();
    let expect = sandbox.run(&["catalog"]).stdout;
    assert_eq!(sandbox.run(&["catalog", "--output", "catalog.txt"]).stdout, "");
    assert_eq!(sandbox.read("catalog.txt"), expect);
}

#[test]
fn a_file_for_the_json_too() {
    let sandbox = Sandbox::with_skills();
    let expect = sandbox.run(&["catalog", "--json"]).stdout;
    assert_eq!(sandbox.run(&["catalog", "--json", "-o", "catalog.json"]).stdout, "");
    assert_eq!(sandbox.read("catalog.json"), expect);
}
