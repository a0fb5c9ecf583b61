//! Tests of `rep eval`.

use crate::sandbox::{Sandbox, assert_run};

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n")
}

/// Returns a library of three skills, one of which has evals.
fn library() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write(".agents/skills/deploy/SKILL.md", skill("deploy", "Deploys services to Kubernetes clusters."));
    sandbox.write(".agents/skills/pdf-forms/SKILL.md", skill("pdf-forms", "Fills forms in PDF files."));
    sandbox.write(".agents/skills/pdf-merge/SKILL.md", skill("pdf-merge", "Merges PDF files into one."));
    sandbox.write(
        ".agents/skills/pdf-forms/eval_queries.json",
        r#"[
            {"query": "fill the forms in this PDF", "should_trigger": true},
            {"query": "merge these PDF files into one", "should_trigger": true},
            {"query": "deploy services to a kubernetes cluster", "should_trigger": false}
        ]"#,
    );
    sandbox
}

#[test]
fn queries_are_asked_of_the_library() {
    assert_run!(library().run(&["eval", "triggers"]), @r#"
    exit 0
    --- stdout
    NAME       HIT  RATE    95 %  SHOWN  FALSE  FIRST INSTEAD
    pdf-forms  1/2  50 %  9-91 %    2/2    0/1  pdf-merge 1
    pdf-forms loses 1 query to pdf-merge
      words of the lost queries that pdf-forms does not describe: merge
      words that pdf-forms describes and pdf-merge does not: forms, fills
    --- stderr
    "#);
}

#[test]
fn json_tells_every_query() {
    let sandbox = library();
    insta::assert_snapshot!(sandbox.run(&["eval", "triggers", "-k", "2", "--json"]).stdout, @r#"
    {
      "ok": true,
      "k": 2,
      "skills": [
        {
          "name": "pdf-forms",
          "path": "[DIR]/project/.agents/skills/pdf-forms",
          "hits": {
            "count": 1,
            "of": 2,
            "rate": 0.5,
            "interval": [
              0.0945,
              0.9055
            ]
          },
          "shown": {
            "count": 2,
            "of": 2,
            "rate": 1.0,
            "interval": [
              0.3424,
              1.0
            ]
          },
          "false_triggers": {
            "count": 0,
            "of": 1,
            "rate": 0.0,
            "interval": [
              0.0,
              0.7935
            ]
          },
          "false_shown": {
            "count": 0,
            "of": 1,
            "rate": 0.0,
            "interval": [
              0.0,
              0.7935
            ]
          },
          "confusions": [
            {
              "name": "pdf-merge",
              "queries": 1
            }
          ],
          "queries": [
            {
              "query": "fill the forms in this PDF",
              "should_trigger": true,
              "ok": true,
              "rank": 1,
              "first": "pdf-forms"
            },
            {
              "query": "merge these PDF files into one",
              "should_trigger": true,
              "ok": false,
              "rank": 2,
              "first": "pdf-merge"
            },
            {
              "query": "deploy services to a kubernetes cluster",
              "should_trigger": false,
              "ok": true,
              "rank": null,
              "first": "deploy"
            }
          ]
        }
      ],
      "totals": {
        "hits": {
          "count": 1,
          "of": 2,
          "rate": 0.5,
          "interval": [
            0.0945,
            0.9055
          ]
        },
        "shown": {
          "count": 2,
          "of": 2,
          "rate": 1.0,
          "interval": [
            0.3424,
            1.0
          ]
        },
        "false_triggers": {
          "count": 0,
          "of": 1,
          "rate": 0.0,
          "interval": [
            0.0,
            0.7935
          ]
        },
        "false_shown": {
          "count": 0,
          "of": 1,
          "rate": 0.0,
          "interval": [
            0.0,
            0.7935
          ]
        }
      },
      "confused": [
        {
          "skill": "pdf-forms",
          "other": "pdf-merge",
          "queries": 1,
          "of_other": 0,
          "missing_words": [
            "merge"
          ],
          "own_words": [
            "forms",
            "fills"
          ]
        }
      ],
      "thresholds": [],
      "unknown": [],
      "problems": []
    }
    "#);
}

#[test]
fn the_most_confused_skills_are_shown_within_bounds() {
    let sandbox = library();
    for number in 0..7 {
        let name = format!("audit-{number}");
        sandbox.write(
            &format!(".agents/skills/{name}/SKILL.md"),
            skill(&name, "Audits the accounts of a firm."),
        );
        let query = format!(r#"[{{"query": "deploy services to cluster number{number}"}}]"#);
        sandbox.write(&format!(".agents/skills/{name}/eval_queries.json"), query);
    }
    let run = sandbox.run(&["eval", "triggers"]);
    assert_eq!(run.stdout.matches(" loses 1 query to ").count(), 5, "{}", run.transcript());
    assert!(run.stdout.ends_with("and 3 more; `--json` tells all of them\n"), "{}", run.transcript());
    let json = sandbox.json(&["eval", "triggers", "--json"]);
    assert_eq!(json["confused"].as_array().unwrap().len(), 8, "{json}");
}

#[test]
fn the_number_of_shown_skills_is_validated() {
    for k in ["0", "101", "18446744073709551616", "-1", "many"] {
        let run = library().run(&["eval", "triggers", "-k", k]);
        assert_eq!(run.code, 2, "{k}");
        assert!(k == "-1" || run.stderr.contains("it takes a number from 1 to 100"), "{}", run.stderr);
    }
}

#[test]
fn rates_that_are_missed_fail() {
    let sandbox = library();
    let run = |arguments: &[&str]| sandbox.run(&[&["eval", "triggers"], arguments].concat()).code;
    assert_eq!(run(&["--min-hit", "0.5", "--min-shown", "1", "--max-false", "0"]), 0);
    assert_eq!(run(&["--min-hit", "0.51"]), 1);
    assert_eq!(run(&["--min-shown", "1", "-k", "1"]), 1);
    assert_eq!(run(&["--min-hit", "1.1"]), 2);
    assert_eq!(run(&["-k", "100"]), 0);
    assert_run!(sandbox.run(&["eval", "triggers", "--min-hit", "0.9"]), @r#"
    exit 1
    --- stdout
    NAME       HIT  RATE    95 %  SHOWN  FALSE  FIRST INSTEAD
    pdf-forms  1/2  50 %  9-91 %    2/2    0/1  pdf-merge 1
    pdf-forms loses 1 query to pdf-merge
      words of the lost queries that pdf-forms does not describe: merge
      words that pdf-forms describes and pdf-merge does not: forms, fills
    --min-hit 0.9: missed (1 of 2)
    --- stderr
    "#);
}

#[test]
fn a_gate_that_measures_nothing_is_closed() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["eval", "triggers"]), @r#"
    exit 0
    --- stdout
    no evals to measure by
    --- stderr
    hint: write eval_queries.json beside a SKILL.md: a list of {"query", "should_trigger"}
    "#);
    assert_eq!(sandbox.run(&["eval", "triggers", "--min-hit", "0"]).code, 1);
    assert_eq!(sandbox.run(&["eval", "triggers", "--max-false", "1"]).code, 1);
}

#[test]
fn paths_select_the_evals() {
    let sandbox = library();
    sandbox.write("evals/forms.json", r#"{"skill_name": "pdf-forms", "evals": [{"prompt": "fill forms"}]}"#);
    sandbox.write("evals/nameless.json", r#"[{"query": "fill forms"}]"#);
    sandbox
        .write("evals/gone.json", r#"{"skill_name": "gone", "evals": [{"prompt": "a"}, {"prompt": "b"}]}"#);
    let count =
        |path: &str| sandbox.json(&["eval", "triggers", path, "--json"])["totals"]["hits"]["of"].clone();
    assert_eq!(count(".agents/skills/pdf-forms"), 2);
    assert_eq!(count(".agents/skills/pdf-forms/SKILL.md"), 2);
    assert_eq!(count(".agents/skills/pdf-forms/eval_queries.json"), 2);
    assert_eq!(count(".agents"), 2);
    assert_eq!(count("evals/forms.json"), 1);
    assert_eq!(sandbox.run(&["eval", "triggers", "nowhere"]).code, 2);
    assert_eq!(sandbox.run(&["eval", "triggers", "evals"]).code, 1);
    assert_run!(sandbox.run(&["eval", "triggers", "evals/nameless.json"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: [DIR]/project/evals/nameless.json does not say which skill it is about, and lies in none
    hint: add `"skill_name": "NAME"` to it
    "#);
    assert_run!(sandbox.run(&["eval", "triggers", "evals/gone.json"]), @r#"
    exit 0
    --- stdout
    no evals to measure by
    --- stderr
    warning: models are offered no skill `gone` here; 2 queries for it are left out
    "#);
    let elsewhere = sandbox.run_in("..", &["eval", "triggers", "--root", "project/.agents/skills"]);
    assert!(elsewhere.stdout.contains("pdf-forms"), "{}", elsewhere.transcript());
}

#[test]
fn invalid_evals_are_reported_and_the_rest_is_run() {
    let sandbox = library();
    sandbox.write(".agents/skills/pdf-forms/evals/axis.config.json", r#"{"agents": []}"#);
    sandbox.write(".agents/skills/pdf-forms/evals/broken.json", "[");
    sandbox
        .write(".agents/skills/pdf-forms/evals/evals.json", r#"{"evals": [{"prompt": "fill forms"}, {}]}"#);
    assert_run!(sandbox.run(&["eval", "triggers"]), @r#"
    exit 0
    --- stdout
    NAME       HIT  RATE     95 %  SHOWN  FALSE  FIRST INSTEAD
    pdf-forms  2/3  67 %  21-94 %    3/3    0/1  pdf-merge 1
    pdf-forms loses 1 query to pdf-merge
      words of the lost queries that pdf-forms does not describe: merge
      words that pdf-forms describes and pdf-merge does not: forms, fills
    --- stderr
    warning: .agents/skills/pdf-forms/evals/broken.json: it is not JSON: EOF while parsing a list at line 1 column 1
    warning: .agents/skills/pdf-forms/evals/evals.json: 1 of its evals have no `query` or `prompt` of reasonable length
    "#);
}

#[test]
fn a_gate_is_closed_where_not_all_was_understood() {
    // A broken file among good ones once left every threshold met.
    let sandbox = library();
    sandbox.write(".agents/skills/deploy/eval_queries.json", r#"[{"query": "x", "should_trigger": "true"}]"#);
    assert_run!(sandbox.run(&["eval", "triggers", "--min-hit", "0.5"]), @r#"
    exit 1
    --- stdout
    NAME       HIT  RATE    95 %  SHOWN  FALSE  FIRST INSTEAD
    pdf-forms  1/2  50 %  9-91 %    2/2    0/1  pdf-merge 1
    pdf-forms loses 1 query to pdf-merge
      words of the lost queries that pdf-forms does not describe: merge
      words that pdf-forms describes and pdf-merge does not: forms, fills
    --min-hit 0.5: missed (1 of 2, and not all evals were understood)
    --- stderr
    warning: .agents/skills/deploy/eval_queries.json: 1 of its evals have a `should_trigger` that is neither true nor false
    "#);
    assert_eq!(sandbox.run(&["eval", "triggers"]).code, 0);
    let run = sandbox.run(&["eval", "triggers", "--min-hit", "0.5", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &json["ok"], &json["thresholds"][0]["ok"]), (1, &false.into(), &false.into()));
}

#[test]
fn unknown_names_in_evals_are_reported_within_bounds() {
    let sandbox = library();
    let eval =
        |number: usize| format!(r#"{{"query": "a", "expected_skill": "{}-{number:03}"}}"#, "x".repeat(400));
    let evals: Vec<String> = (0..300).map(eval).collect();
    sandbox.write(".agents/skills/deploy/eval_queries.json", format!("[{}]", evals.join(",")));
    let run = sandbox.run(&["eval", "triggers"]);
    assert_eq!((run.code, run.stderr.lines().count()), (0, 21), "{}", run.stderr);
    assert!(run.stderr.lines().all(|line| line.chars().count() < 200), "{}", run.stderr);
    assert!(
        run.stderr.contains("and 280 more names that no skill has; `--json` tells all"),
        "{}",
        run.stderr
    );
    assert_eq!(sandbox.json(&["eval", "triggers", "--json"])["unknown"].as_array().unwrap().len(), 300);
}

#[test]
fn a_server_that_is_gone_leaves_words() {
    let mut sandbox = library();
    let config = "[search]\nembeddings = \"http\"\nurl = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n";
    sandbox.write("../home/.config/repertoire/config.toml", config);
    sandbox.set("REPERTOIRE_SEARCH_KEY_ENV", "NOT_SET");
    assert_run!(sandbox.run(&["eval", "triggers"]), @r#"
    exit 0
    --- stdout
    NAME       HIT  RATE    95 %  SHOWN  FALSE  FIRST INSTEAD
    pdf-forms  1/2  50 %  9-91 %    2/2    0/1  pdf-merge 1
    pdf-forms loses 1 query to pdf-merge
      words of the lost queries that pdf-forms does not describe: merge
      words that pdf-forms describes and pdf-merge does not: forms, fills
    --- stderr
    warning: skills are found by their words alone: the variable NOT_SET of `search.key_env` is not set
    "#);
    sandbox.set("REPERTOIRE_SEARCH_KEY_ENV", "");
    let run = sandbox.run(&["eval", "triggers"]);
    assert_eq!((run.code, run.stderr.lines().count()), (0, 1), "{}", run.transcript());
    let warning = "warning: skills are found by their words alone: input or output failed: http://127.0.0.1:1/v1/embeddings: ";
    assert!(run.stderr.starts_with(warning), "{}", run.stderr);
    assert!(run.stdout.contains("1/2"), "{}", run.stdout);
    sandbox.set("REPERTOIRE_SEARCH_URL", "elsewhere");
    assert_run!(sandbox.run(&["eval", "triggers"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: `search.embeddings = "http"` does not work
      because: the address must be http://HOST/PATH or https://HOST/PATH, without a user
    hint: `search.url` and `search.model` say which server and model; see https://github.com/repertoire-rs/repertoire/blob/main/docs/guides/search-by-meaning.md
    "#);
}
