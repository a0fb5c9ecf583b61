//! Tests of `rep catalog`.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_run};

#[test]
fn exactly_the_text_and_nothing_else() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["catalog", "--format", "list"]), @r#"
    exit 0
    --- stdout
    Skills:
    - alpha: Does alpha things well. Use when alpha is asked for.
    - beta: Does beta things well. Use when beta is asked for.

    If the task matches a skill, load it first: {"name": "load_skill", "arguments": {"name": "beta"}}. If no skill matches, answer directly without this call.--- stderr
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

    If the task matches a skill, load it first: {"name": "load_skill", "arguments": {"name": "beta"}}. If no skill matches, answer directly without this call.

    To save space, descriptions are left out for 2 of 2 skills; call `search_skills` to find skills by what they do.--- stderr
    2 skills, 77 of 30 tokens (o200k_base)
    name only (2): alpha, beta
    warning: the catalog exceeds its budget: nothing in it can be shortened further
    "#);
    for (budget, over_budget) in [(80, false), (30, true)] {
        let catalog =
            sandbox.json(&["catalog", "--json", "--budget", &budget.to_string(), "--format", "list"]);
        assert_eq!((&catalog["tokenizer"], &catalog["budget"]), (&"o200k_base".into(), &budget.into()));
        assert_eq!(catalog["tokens"].as_i64() > Some(budget), over_budget, "{catalog}");
        assert_eq!(catalog["over_budget"], over_budget, "{catalog}");
    }
}

/// Returns a project of forty skills of three kinds.
fn shelves() -> Sandbox {
    let sandbox = Sandbox::new();
    for (number, about) in (0..40).zip(["poems", "invoices", "bird songs"].iter().cycle()) {
        let text = format!(
            "---\nname: shelf-{number:02}\ndescription: Handles {about} of shelf {number}. Use when {about} are at hand.\n---\nDo.\n"
        );
        sandbox.write(&format!(".agents/skills/shelf-{number:02}/SKILL.md"), text);
    }
    sandbox
}

#[test]
fn a_task_shows_matching_skills_with_reasons() {
    let sandbox = shelves();
    let command = ["catalog", "--format", "list", "--budget", "160", "--report", "--task", "write poems"];
    let run = sandbox.run(&command);
    let (first, report) = (run.stdout, run.stderr);
    assert!(first.matches("Handles poems of shelf").count() > 2, "{first}");
    assert!(first.contains("of 40 skills are not listed"), "{first}");
    let names: Vec<&str> = first.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    assert!(names.is_sorted(), "the order of the text is that of the names: {first}");
    for told in [
        "for the task (",
        " of 14 found):",
        "    1. shelf-",
        ", by poems: in full",
        "by turns (",
        "left out (",
    ] {
        assert!(report.contains(told), "{told}: {report}");
    }
    assert_eq!(sandbox.run(&command).stdout, first, "the same bytes");
    let next = sandbox.run(&[&command[..], &["--epoch", "1"]].concat()).stdout;
    assert_ne!(first, next);
    let mut child = sandbox
        .command(&["catalog", "--format", "list", "--budget", "160", "--task", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // A task that is not UTF-8 is accepted.
    child.stdin.take().unwrap().write_all(b"write poems \xff\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stdout).unwrap()), (Some(0), first.clone()));
    let plain = sandbox.run(&["catalog", "--format", "list", "--budget", "160"]).stdout;
    assert_eq!(sandbox.run(&["catalog", "--format", "list", "--budget", "160", "--task", " "]).stdout, plain);
    assert_eq!(plain.matches("\n- ").count(), 40);
    assert_eq!(sandbox.run(&["catalog", "--epoch", "1"]).code, 2);
}

#[test]
fn skills_that_the_task_does_not_need_are_named_in_one_line() {
    let sandbox = shelves();
    let command = ["catalog", "--budget", "700", "--report", "--task", "write poems"];
    let run = sandbox.run(&command);
    assert!((0..40).all(|number| run.stdout.contains(&format!("shelf-{number:02}"))), "{}", run.transcript());
    assert!(run.stdout.matches("<description>Handles poems").count() > 5, "{}", run.stdout);
    let line = run.stdout.lines().last().unwrap().strip_prefix("Other skills: ").unwrap();
    let told = format!("name only ({}): {line}\n", line.split(", ").count());
    assert!(run.stderr.contains(&told) && !run.stderr.contains("left out"), "{told}: {}", run.stderr);
}

#[test]
fn a_report_names_the_words_that_tell_and_a_bounded_number_of_skills() {
    let sandbox = shelves();
    for number in 40..160 {
        let text =
            format!("---\nname: other-{number}\ndescription: Paints wall {number} of a house.\n---\nDo.\n");
        sandbox.write(&format!(".agents/skills/other-{number}/SKILL.md"), text);
    }
    let command = ["catalog", "--format", "list", "--budget", "160", "--task", "the poems of a shelf"];
    let report = sandbox.run(&[&command[..], &["--report"]].concat()).stderr;
    assert!(report.contains(", by poems, shelf: in full"), "{report}");
    let left_out = report.lines().find(|line| line.starts_with("left out (")).unwrap();
    assert!(left_out.ends_with(" more; `--json` tells all of them"), "{left_out}");
    assert_eq!(left_out.matches(", ").count(), 49, "{left_out}");
    let json = sandbox.json(&[&command[..], &["--json"]].concat());
    let skills = json["skills"].as_array().unwrap();
    assert_eq!(skills.len(), 160);
    let best = skills.iter().find(|skill| skill["task"]["rank"] == 1).unwrap();
    assert_eq!(best["task"]["words"], serde_json::json!(["poems", "shelf"]));
}

#[test]
fn the_index_is_kept_for_all_commands() {
    let sandbox = shelves();
    assert_eq!(sandbox.run(&["catalog", "--task", "write poems"]).code, 0);
    let cache = std::fs::read_dir(sandbox.home().join(".cache/repertoire")).unwrap();
    let mut names = cache.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.any(|name| name.ends_with(".index")));
}

#[test]
fn the_best_skill_for_the_task_is_named_even_over_the_budget() {
    let sandbox = Sandbox::new();
    let text = "---\nname: pdf-forms\ndescription: Fills PDF forms.\n---\nDo.\n";
    sandbox.write(".agents/skills/pdf-forms/SKILL.md", text);
    for budget in ["10", "100"] {
        let run = sandbox.run(&["catalog", "--task", "fill a form", "--budget", budget]);
        assert!(run.stdout.ends_with("Other skills: pdf-forms"), "{}", run.transcript());
        assert!(run.stderr.contains("exceeds its budget"), "{}", run.stderr);
    }
}

#[test]
fn json_has_the_tier_and_reason_of_each_skill() {
    let sandbox = shelves();
    let plain = sandbox.json(&["catalog", "--json", "--format", "list", "--budget", "400"]);
    assert_eq!((&plain["omitted"], &plain["skills"][0]["reason"]), (&0.into(), &"tier".into()));
    assert!(plain.get("turns").is_none() && plain["skills"][0].get("task").is_none());
    let args =
        ["catalog", "--json", "--format", "list", "--budget", "160", "--task", "write poems", "--epoch"];
    // The first skill whose turn it is may be one that the task needs anyhow.
    let is_turn = |json: &serde_json::Value| json["skills"].to_string().contains("fair_share");
    let mut turns =
        ["0", "1", "2", "3", "4", "5"].iter().map(|epoch| sandbox.json(&[&args[..], &[epoch]].concat()));
    let json = turns.find(is_turn).expect("one of six skills is not needed");
    let skills = json["skills"].as_array().unwrap();
    let with = |reason: &str| skills.iter().filter(|skill| skill["reason"] == reason).collect::<Vec<_>>();
    assert_eq!(with("omitted").len() as u64, json["omitted"].as_u64().unwrap());
    assert!(!with("fair_share").is_empty() && with("task").len() > 2, "{json}");
    assert!(
        with("task").iter().all(|skill| skill["task"]["rank"].is_u64() && skill["task"]["score"].is_f64())
    );
    let first = skills.iter().find(|skill| skill["task"]["rank"] == 1).unwrap();
    assert_eq!((&first["shown"], &first["task"]["words"][0]), (&"full".into(), &"poems".into()));
    assert!(json["turns"].as_u64() > Some(10), "{}", json["turns"]);
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

#[test]
fn x97_the_budget_keeps_the_descriptions_of_used_skills() {
    let sandbox = Sandbox::new();
    let long =
        "Does something with a description that is a good deal longer than those of all other skills here.";
    let short =
        |number| (format!("s{number}"), format!("Does s{number} for everybody who has asked for it."));
    let skills = (1..=8).map(short).chain([("long".to_owned(), long.to_owned())]);
    for (name, description) in skills {
        sandbox.write(
            &format!(".agents/skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n"),
        );
    }
    sandbox.write(
        "repertoire.toml",
        "[catalog]\nprefer = \"used\"\nformat = \"menu\"\nusage = false\nbudget_tokens = 110\n",
    );
    let catalog = || sandbox.run(&["catalog"]).stdout;
    let unused = catalog();
    let is_listed = |text: &str| unused.contains(text);
    assert!(is_listed("Does s1") && !is_listed("Does s8") && !is_listed("Does something"), "{unused}");
    assert!(
        !sandbox.home().join(".local/state/repertoire/repertoire.db").exists(),
        "no store is made to read it"
    );

    sandbox.run(&["call", "load_skill", r#"{"name": "long"}"#]);
    // Another skill of the name, which is used more, does not count.
    sandbox.write("../other/.agents/skills/s8/SKILL.md", sandbox.read(".agents/skills/s8/SKILL.md"));
    for _ in 0..2 {
        assert_eq!(sandbox.run_in("../other", &["call", "load_skill", r#"{"name": "s8"}"#]).code, 0);
    }
    let used = catalog();
    assert!(used.contains(long) && !used.contains("Does s8"), "{used}");
    assert_eq!(catalog(), used);
    let short = sandbox.finish({
        let mut command = sandbox.command(&["catalog"]);
        command.env("REPERTOIRE_CATALOG_PREFER", "short");
        command
    });
    assert_eq!(short.stdout, unused);

    // A session keeps its catalog, whatever is loaded meanwhile.
    let mut command = sandbox.command(&["session"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let load = r#"{"op": "call", "tool": "load_skill", "arguments": {"name": "s8"}}"#;
    let requests = format!("{{\"op\": \"catalog\"}}\n{load}\n{load}\n{load}\n{{\"op\": \"catalog\"}}\n");
    child.stdin.take().unwrap().write_all(requests.as_bytes()).unwrap();
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let texts: Vec<Value> =
        output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].clone()).collect();
    assert_eq!((&texts[0], texts.len()), (&texts[4], 5));
    assert!(catalog().contains("Does s8"));
}
