use crate::sandbox::{Sandbox, assert_run};

#[test]
fn exactly_the_text_and_nothing_else() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["catalog", "--format", "list"]), @"");
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
    assert_run!(sandbox.run(&["catalog", "--format", "list", "--budget", "40", "--report"]), @"");
    let catalog = sandbox.json(&["catalog", "--json", "--budget", "40", "--format", "list"]);
    assert_eq!((&catalog["tokenizer"], &catalog["budget"]), (&"o200k_base".into(), &40.into()));
    assert!(catalog["tokens"].as_u64() <= Some(40) || catalog["over_budget"] == true, "{catalog}");
}

#[test]
fn highlights_and_loaded_marks() {
    let sandbox = Sandbox::with_skills();
    let run = sandbox.run(&["catalog", "--format", "list", "--highlight", "beta"]);
    assert!(run.stdout.find("beta") < run.stdout.find("alpha"), "{}", run.stdout);
    assert_run!(sandbox.run(&["catalog", "--highlight", "betta"]), @"");
    assert_run!(sandbox.run(&["catalog", "--loaded", "alpha"]), @"");
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
