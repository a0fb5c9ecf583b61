//! Tests of `rep check`.

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_run, skill};

const REPAIRABLE: &str =
    "---\nname: colon\ndescription: Use when: a colon is written, by anyone at all.\n---\nx\n";

#[test]
fn a_sound_library_is_clean() {
    assert_run!(Sandbox::with_skills().run(&["check"]), @r#"
    exit 0
    --- stdout
    2 skills, nothing to report
    --- stderr
    "#);
}

#[test]
fn findings_are_shown_with_their_source() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    sandbox.write(
        ".agents/skills/odd/SKILL.md",
        "---\nname: odd\ndescription: Does odd things. Use when odd.\nlicence: MIT\n---\nSee [x](references/x.md).\n",
    );
    assert_run!(sandbox.run(&["check"]), @r#"
    exit 1
    --- stdout
    broken [quarantined] (.agents/skills/broken)

    error[frontmatter-unterminated]: the frontmatter is never closed
     --> .agents/skills/broken/SKILL.md:1:1
      |
    1 | ---
      | ^^^
      |
      = help: close it with a line of exactly `---` before the instructions

    odd (.agents/skills/odd)

    warning[field-unknown]: unknown key `licence`; did you mean `license`?
     --> .agents/skills/odd/SKILL.md:4:1
      |
    4 | licence: MIT
      | ^^^^^^^
      |
      = help: write `license`, or put a key of your own under `metadata`

    warning[link-broken]: the link to references/x.md leads to no file of the skill
     --> .agents/skills/odd/SKILL.md:6:5
      |
    6 | See [x](references/x.md).
      |     ^^^^^^^^^^^^^^^^^^^^
      |
      = help: add the file, or correct the link; paths are relative to the skill directory

    1 error, 2 warnings in 2 skills
    --- stderr
    "#);
}

#[test]
fn json_counts_and_columns() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/dir/SKILL.md", skill("other", "x\n"));
    insta::assert_snapshot!(sandbox.run(&["check", "--json"]).stdout, @r#"
    {
      "skills": [
        {
          "name": "other",
          "path": "[DIR]/project/.agents/skills/dir",
          "state": "active",
          "diagnostics": [
            {
              "rule": "name-directory",
              "severity": "warning",
              "message": "the name `other` differs from the directory `dir`",
              "path": "[DIR]/project/.agents/skills/dir/SKILL.md",
              "line": 2,
              "column": 7,
              "help": "rename the directory to `other`, or write: name: dir"
            }
          ]
        }
      ],
      "problems": [],
      "fixed": [],
      "summary": {
        "errors": 0,
        "warnings": 1,
        "infos": 0,
        "suppressed": 0,
        "in_baseline": 0,
        "rules": {
          "name-directory": 1
        }
      }
    }
    "#);
}

#[test]
fn paths_are_skills_manifests_or_directories_of_skills() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/good/SKILL.md", skill("good", "x\n"));
    sandbox.write("lib/broken/SKILL.md", "---\nname: broken\n");
    let code = |path: &str| sandbox.run(&["check", path]).code;
    assert_eq!([code("lib"), code("lib/good"), code("lib/good/SKILL.md"), code("lib/broken")], [1, 0, 0, 1]);
    assert_eq!([code("nowhere"), code("./nowhere"), code("lib/good/../../.git")], [1, 2, 1]);
    let run = sandbox.run(&["check", "--json", "lib/good", "lib/broken/SKILL.md"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, report["skills"].as_array().unwrap().len()), (1, 2));
}

#[test]
fn names_are_skills_of_the_library() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "other\n"));
    sandbox.write("beta/README.md", "no skill");
    let states = |arguments: &[&str]| -> Vec<String> {
        let run = sandbox.run(&[&["check", "--json"], arguments].concat());
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let skills = report["skills"].as_array().unwrap();
        skills.iter().map(|skill| format!("{} {}", skill["name"], skill["state"])).collect()
    };
    assert_eq!(states(&["beta"]), [r#""beta" "active""#]);
    assert_eq!(states(&["alpha"]), [r#""alpha" "active""#, r#""alpha" "shadowed""#]);
    assert_eq!(states(&["user:.claude/skills:alpha"]), [r#""alpha" "shadowed""#]);
    assert_eq!(states(&["broken"]), [r#""broken" "quarantined""#]);
    assert_eq!(states(&["broken", ".agents/skills/alpha"]).len(), 2);
    let run = sandbox.run(&["check", "alhpa"]);
    assert!(run.code == 1 && run.stderr.contains("did you mean `alpha`?"), "{}", run.stderr);
}

#[test]
fn a_file_in_utf_16_is_recognised() {
    let sandbox = Sandbox::with_skills();
    let utf16: Vec<u8> = "\u{feff}---\nname: wide\n---\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    sandbox.write(".agents/skills/wide/SKILL.md", &utf16);
    sandbox.write(".agents/skills/bare/SKILL.md", &utf16[2..]);
    sandbox.write(".agents/skills/alpha/references/wide.md", &utf16);
    for name in ["wide", "bare"] {
        let run = sandbox.run(&["check", name]);
        assert!(run.code == 1 && run.stdout.contains("the file is UTF-16"), "{}", run.stdout);
        assert!(run.stdout.contains("save the file as UTF-8"), "{}", run.stdout);
    }
    let run = sandbox.run(&["show", "alpha", "--reference", "wide.md", "--json"]);
    assert!(run.code == 1 && run.stdout.contains("charset=utf-16"), "{}", run.stdout);
}

#[test]
fn skills_that_are_too_deep_to_be_found_are_hinted_at() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/1/2/3/4/5/good/SKILL.md", skill("good", "x\n"));
    assert_run!(sandbox.run(&["check", "lib"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: there is no skill at lib
    hint: there are skills 6 levels below it, deeper than is looked; set scan.max_depth = 6, or name the directory they are in
    "#);
    sandbox.write("repertoire.toml", "[scan]\nmax_depth = 6\n");
    assert_eq!(sandbox.run(&["check", "lib"]).code, 0);
}

#[test]
fn publishing_asks_for_more() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/dir/SKILL.md", skill("other", "x\n"));
    assert_eq!(sandbox.run(&["check"]).code, 0);
    assert_eq!(sandbox.run(&["check", "--publish"]).code, 1);
}

#[test]
fn a_repair_is_shown_first_and_written_only_when_wanted() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/colon/SKILL.md", REPAIRABLE);
    assert_run!(sandbox.run(&["check", "--fix"]), @r#"
    exit 1
    --- stdout
    --- a/.agents/skills/colon/SKILL.md
    +++ b/.agents/skills/colon/SKILL.md
    @@ -1,5 +1,5 @@
     ---
     name: colon
    -description: Use when: a colon is written, by anyone at all.
    +description: "Use when: a colon is written, by anyone at all."
     ---
     x
    --- stderr
    error: nothing was changed; 1 file can be repaired
    hint: `--yes` does it without asking
    "#);
    assert_eq!(sandbox.read(".agents/skills/colon/SKILL.md"), REPAIRABLE);
    assert_run!(sandbox.run(&["check", "--fix", "--yes"]), @r#"
    exit 0
    --- stdout
    --- a/.agents/skills/colon/SKILL.md
    +++ b/.agents/skills/colon/SKILL.md
    @@ -1,5 +1,5 @@
     ---
     name: colon
    -description: Use when: a colon is written, by anyone at all.
    +description: "Use when: a colon is written, by anyone at all."
     ---
     x
    1 skill, nothing to report
    --- stderr
    repaired 1 file
    "#);
    assert!(sandbox.read(".agents/skills/colon/SKILL.md").contains("description: \"Use when:"));
    assert_run!(sandbox.run(&["check", "--fix", "--yes"]), @r#"
    exit 0
    --- stdout
    1 skill, nothing to report
    --- stderr
    there is nothing to repair
    "#);
}

#[test]
fn fix_quotes_version_numbers() {
    let sandbox = Sandbox::new();
    let text = skill("numbered", "x\n").replacen("---\n", "---\nversion: 1.0\n", 1);
    sandbox.write(".agents/skills/numbered/SKILL.md", &text);
    assert!(sandbox.run(&["check"]).stdout.contains("version-number"));
    assert_eq!(sandbox.run(&["check", "--fix", "--yes"]).code, 0);
    let fixed = text.replace("version: 1.0", "version: \"1.0\"");
    assert_eq!(sandbox.read(".agents/skills/numbered/SKILL.md"), fixed);
    assert!(!sandbox.run(&["check"]).stdout.contains("version-number"));
}

#[cfg(unix)]
#[test]
fn a_repair_keeps_the_mode_and_leaves_nothing_behind() {
    use std::os::unix::fs::PermissionsExt as _;

    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/colon/SKILL.md", REPAIRABLE);
    let directory = sandbox.project().join(".agents/skills/colon");
    let path = directory.join("SKILL.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(sandbox.run(&["check", "--fix", "--yes"]).code, 0);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(directory.read_dir().unwrap().count(), 1);
}

#[test]
fn the_reference_library_is_another_command_line() {
    let sandbox = Sandbox::with_skills();
    let run = sandbox.run(&["check", "--compat", "skills-ref", "validate", ".agents/skills/alpha"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Valid skill: .agents/skills/alpha\n"));
    assert_eq!(sandbox.run(&["check", "--compat", "skills-ref", "validate", "nowhere"]).code, 2);
    assert_eq!(sandbox.run(&["check", "--compat", "skills-ref"]).code, 2);
    assert_eq!(sandbox.run(&["check", "--compat", "skills-ref", "validate"]).code, 2);
    assert_eq!(sandbox.run(&["check", "--compat", "skills-ref", "unknown", "."]).code, 2);
    assert_eq!(sandbox.run(&["check", "--compat", "other"]).code, 2);
    // The paths of files, either spelling of the manifest, and what is missing.
    sandbox.write("lower/skill.md", skill("upper", "x\n"));
    sandbox.write("empty/x", "");
    assert_run!(sandbox.run(&["check", "--compat", "skills-ref", "validate", "lower/skill.md"]), @r#"
    exit 1
    --- stdout
    --- stderr
    Validation failed for lower:
      - Directory name 'lower' must match skill name 'upper'
    "#);
    assert_run!(sandbox.run(&["check", "--compat", "skills-ref", "validate", "empty"]), @r#"
    exit 1
    --- stdout
    --- stderr
    Validation failed for empty:
      - Missing required file: SKILL.md
    "#);
    assert_run!(sandbox.run(&["check", "--compat", "skills-ref", "read-properties", "empty"]), @r#"
    exit 1
    --- stdout
    --- stderr
    Error: SKILL.md not found in [DIR]/project/empty
    "#);
    let run = sandbox.run(&["check", "--compat", "skills-ref", "to-prompt", ".agents/skills/alpha", "lower"]);
    assert_eq!(run.code, 0);
    assert_eq!(run.stdout.matches("<skill>\n").count(), 2, "{}", run.stdout);
    assert!(run.stdout.contains("<location>\n[DIR]/project/lower/skill.md\n</location>"), "{}", run.stdout);
}

#[test]
fn a_person_is_shown_so_many_findings() {
    let sandbox = Sandbox::new();
    let links: String =
        (0..70).map(|index| format!("[x](missing-{index}.md) [y](../up-{index}.md)\n")).collect();
    let fields: String = (0..70).map(|_| "odd: x\n").collect();
    let text = skill("a", &links).replacen("---\n", &format!("---\n{fields}"), 1);
    sandbox.write(".agents/skills/a/SKILL.md", text);
    let run = sandbox.run(&["check"]);
    assert_eq!(run.stdout.matches("\nwarning[").count(), 50, "{}", run.stdout);
    assert!(run.stdout.contains("and 11 more; `--json` tells all of them"), "{}", run.stdout);
    let report = sandbox.json(&["check", "--json"]);
    assert_eq!(report["skills"][0]["diagnostics"].as_array().unwrap().len(), 61, "twenty of each rule");
}

#[cfg(target_os = "linux")]
#[test]
fn the_reference_does_not_wait_for_a_pipe() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let sandbox = Sandbox::new();
    sandbox.write("a/x", "");
    mknodat(CWD, sandbox.project().join("a/SKILL.md"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for command in ["validate", "read-properties", "to-prompt"] {
        let run = sandbox.run(&["check", "--compat", "skills-ref", command, "a"]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.stderr);
        assert!(run.stderr.contains("it is not a regular file"), "{}", run.stderr);
    }
}

#[test]
fn skills_that_could_be_mixed_up_are_found_when_asked_for() {
    let sandbox = Sandbox::new();
    let skill = |name: &str, from: &str| {
        let when = "Use when a PDF form is to be filled.";
        format!("---\nname: {name}\ndescription: Fills PDF forms from {from} data. {when}\n---\n# Fill\n")
    };
    sandbox.write(".agents/skills/pdf-fill/SKILL.md", skill("pdf-fill", "JSON"));
    sandbox.write(".agents/skills/pdf-forms/SKILL.md", skill("pdf-forms", "CSV"));
    assert_eq!(sandbox.run(&["check"]).stdout, "2 skills, nothing to report\n");
    assert_run!(sandbox.run(&["check", "--confusable"]), @r#"
    exit 0
    --- stdout
    pdf-fill (.agents/skills/pdf-fill)

    warning[confusable]: `pdf-fill` and `pdf-forms` could be mixed up: 79 % alike, and neither says when to use the other; both say pdf, fill, forms, data
    --> .agents/skills/pdf-fill/SKILL.md
     = help: say in `pdf-fill`: "Not for csv: use pdf-forms instead."; say in `pdf-forms`: "Not for json: use pdf-fill instead."

    1 warning in 2 skills; nothing else was checked
    --- stderr
    "#);
    let json = sandbox.json(&["check", "--confusable", "--json"]);
    assert_eq!(json["summary"]["warnings"], 1);
    assert_eq!(json["confusable"][0]["kind"], "alike");
    assert_eq!(json["confusable"][0]["first"]["name"], "pdf-fill");
    assert_eq!(json["confusable"][0]["first"]["only"], serde_json::json!(["json"]));
    assert_eq!(json["confusable"][0]["first"]["missing"], "Not for csv: use pdf-forms instead.");
    // Findings of other rules are not printed.
    let sound = sandbox.run(&["check", "--confusable"]).stdout;
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    assert_eq!(sandbox.run(&["check"]).code, 1);
    let run = sandbox.run(&["check", "--confusable"]);
    assert_eq!((run.code, run.stdout), (0, sound.replace("in 2 skills", "in 3 skills")));
    std::fs::remove_dir_all(sandbox.project().join(".agents/skills/broken")).unwrap();
    sandbox.write("repertoire.toml", "[rules]\nconfusable = \"error\"\n");
    assert_eq!(sandbox.run(&["check", "--confusable"]).code, 1);
    assert_eq!(sandbox.run(&["check"]).code, 0);
}

#[test]
fn identical_copies_are_reported_among_confusable_skills() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", sandbox.read(".agents/skills/alpha/SKILL.md"));
    sandbox.write("../home/.claude/skills/beta/SKILL.md", skill("beta", "another text\n"));
    let run = sandbox.run(&["check", "--confusable"]);
    assert!(
        run.stdout.contains("the skill is a copy of [DIR]/project/.agents/skills/alpha"),
        "{}",
        run.stdout
    );
    assert_eq!(run.stdout.matches("is a copy of").count(), 1, "{}", run.stdout);
}

#[test]
fn p1_malformed_globs_are_errors_with_their_place() {
    let sandbox = Sandbox::new();
    let text = skill("rust", "Borrow.\n").replace("---\nBorrow", "paths: [src/*.rs, \"{a,b\"]\n---\nBorrow");
    sandbox.write(".agents/skills/rust/SKILL.md", text);
    assert_run!(sandbox.run(&["check"]), @r#"
    exit 1
    --- stdout
    rust (.agents/skills/rust)

    error[paths-glob]: `{a,b` in `paths` is not a glob: it has a `{` without the other bracket
     --> .agents/skills/rust/SKILL.md:4:19
      |
    4 | paths: [src/*.rs, "{a,b"]
      |                   ^^^^^^
      |
      = help: write paths in the project, as in "src/**/*.{ts,tsx}"

    1 error in 1 skill
    --- stderr
    "#);
    let doctor = sandbox.run(&["doctor", "--verbose"]).stdout;
    assert!(doctor.contains("rust has errors: `{a,b` in `paths` is not a glob"), "{doctor}");
}

#[test]
fn b12_the_help_for_a_name_says_what_names_look_like() {
    let sandbox = Sandbox::new();
    for (name, help) in [
        ("Bad_Name", "write: name: bad-name; a name has a letter of a-z first, then a-z, 0-9 and hyphens"),
        ("1password", "use a letter of a-z first, then a-z, 0-9 and hyphens"),
    ] {
        sandbox.write(&format!(".agents/skills/{name}/SKILL.md"), skill(name, "Do.\n"));
        let run = sandbox.run(&["check", &format!(".agents/skills/{name}"), "--profile", "bernstein"]);
        assert!(run.stdout.contains(&format!("= help: {help}\n")), "{}", run.stdout);
        assert_eq!(
            run.stdout.contains("does not start with a letter"),
            name == "1password",
            "{}",
            run.stdout
        );
    }
}

#[test]
fn links_to_other_skills_are_advised_with_the_names_these_are_loaded_by() {
    let sandbox = Sandbox::new();
    let body = "[o](../oauth/SKILL.md) [r](../oauth/references/r.md) [t](../../../tools/) [f](../a/references/f.md)\n";
    sandbox.write(".agents/skills/a/SKILL.md", skill("a", body));
    sandbox.write(".agents/skills/a/references/f.md", "x\n");
    sandbox.write(".agents/skills/oauth/SKILL.md", skill("zoom-oauth", "x\n"));
    let json = sandbox.json(&["check", "a", "--json"]);
    let helps = json["skills"][0]["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["help"].as_str().unwrap());
    insta::assert_snapshot!(helps.collect::<Vec<_>>().join("\n"), @r#"
    an agent loads another skill by its name: write the name `zoom-oauth` without a link
    an agent reads only the skill's own files; bring the file in, or name the skill `zoom-oauth`, to which it belongs
    an agent reads only the skill's own files; bring the file in, or name the skill that has it
    paths are relative to the skill directory: write `references/f.md`
    "#);
}

#[cfg(unix)]
#[test]
fn skills_in_a_linked_hidden_directory_are_hinted_at_with_their_path() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("shared/grp/x/SKILL.md", skill("x", "x\n"));
    std::os::unix::fs::symlink("../../shared/grp", sandbox.project().join(".agents/skills/.linked")).unwrap();
    let hint = "1 more skill too deep or in hidden directories below a root (.agents/skills/.linked/x): add";
    let run = sandbox.run(&["check"]);
    assert!(run.stderr.contains(hint), "{}", run.transcript());
}

#[test]
fn strict_demands_strings_in_metadata_and_license() {
    let sandbox = Sandbox::with_skills();
    for keys in ["metadata: {a: 1}", "metadata: {a: [1]}", "license: 3"] {
        let text = skill("alpha", "x\n").replace("---\nx", &format!("{keys}\n---\nx"));
        sandbox.write(".agents/skills/alpha/SKILL.md", text);
        let run = sandbox.run(&["--profile", "strict", "check"]);
        assert!(run.stdout.contains("1 error"), "{keys}: {}", run.transcript());
    }
}

#[test]
fn a_hard_link_in_a_skill_is_reported_once() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.npmrc", "//registry.example/:_authToken=secret\n");
    for name in ["one.md", "two.md"] {
        let link = sandbox.project().join(".agents/skills/alpha/references").join(name);
        std::fs::hard_link(sandbox.home().join(".npmrc"), link).unwrap();
    }
    let run = sandbox.run(&["check", "alpha"]);
    let found = "warning[file-hard-link]: `references/one.md` is a hard link: the same file has another path (and 1 more)\n";
    assert_eq!((run.code, run.stdout.matches(found).count()), (0, 1), "{}", run.stdout);
    assert!(sandbox.run(&["call", "load_skill", "{\"name\": \"alpha\"}"]).code == 0, "it is not refused");
}

/// Returns a sandbox whose project is a repository with a commit of three skills: `broken` has a finding,
/// `user` requires `base`.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::remove_dir_all(sandbox.project().join(".git")).unwrap();
    let linked = skill("broken", "See [x](references/x.md).\n");
    sandbox.write(".agents/skills/broken/SKILL.md", linked);
    sandbox.write(".agents/skills/base/SKILL.md", skill("base", "x\n"));
    let user = skill("user", "x\n").replacen("---\n", "---\nrequires: [base]\n", 1);
    sandbox.write(".agents/skills/user/SKILL.md", user);
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(sandbox.project()).env("GIT_CONFIG_GLOBAL", "/dev/null").args(arguments);
        assert!(command.output().unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x"]);
    sandbox
}

fn json(run: &crate::sandbox::Run) -> Value {
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", run.stdout, run.stderr))
}

#[test]
fn changed_checks_changed_skills_and_skills_that_require_them() {
    let sandbox = repository();
    let names = |arguments: &[&str]| -> Vec<String> {
        let report = json(&sandbox.run(&[&["check", "--json"], arguments].concat()));
        let skills = report["skills"].as_array().unwrap();
        skills.iter().map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&["--changed"]), [""; 0]);
    sandbox.write(".agents/skills/base/scripts/new.sh", "echo\n");
    assert_eq!(names(&["--changed"]), ["base", "user"]);
    assert_eq!(names(&["--changed=main", ".agents/skills"]), ["base", "user"]);
    sandbox.write(".agents/skills/broken/SKILL.md", skill("broken", "y\n"));
    assert_eq!(names(&["--changed"]), ["base", "broken", "user"]);
    std::fs::remove_dir_all(sandbox.project().join(".agents/skills/base")).unwrap();
    assert_eq!(names(&["--changed", "--select", "requires"]), ["broken", "user"]);
    let run = sandbox.run(&["check", "--changed=nowhere"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("git cannot tell what changed since nowhere"), "{}", run.stderr);
    assert_eq!(sandbox.run(&["check", "--changed=--output=x"]).code, 3);
    sandbox.write("repertoire.toml", "");
    assert_eq!(names(&["--changed"]).len(), 2, "all that are left");
}

#[test]
fn rules_and_groups_are_selected_ignored_and_suppressed() {
    let sandbox = Sandbox::new();
    let odd = "---\nname: odd\ndescription: Does odd things. Use when odd.\nlicence: MIT\n---\nSee [x](references/x.md).\n";
    sandbox.write(".agents/skills/odd/SKILL.md", odd);
    sandbox.write(".agents/skills/empty/SKILL.md", "---\nname: empty\n");
    let rules = |arguments: &[&str]| -> Vec<String> {
        let report = json(&sandbox.run(&[&["check", "--json"], arguments].concat()));
        report["summary"]["rules"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(rules(&[]), ["field-unknown", "frontmatter-unterminated", "link-broken"]);
    assert_eq!(rules(&["--select", "link"]), ["frontmatter-unterminated", "link-broken"]);
    assert_eq!(
        rules(&["--select", "field,link", "--ignore", "link-broken"]),
        ["field-unknown", "frontmatter-unterminated"]
    );
    let run = sandbox.run(&["check", "--select", "lin"]);
    assert!(run.code == 2 && run.stderr.contains("no rule and no group"), "{}", run.stderr);

    let suppressed = odd.replace("See", "<!-- rep-ignore: link-broken: built later -->\nSee");
    sandbox.write(".agents/skills/odd/SKILL.md", &suppressed);
    assert_run!(sandbox.run(&["check", "odd", "--ignore", "field"]), @r#"
    exit 0
    --- stdout
    1 skill, nothing to report; 1 suppressed by comments
    --- stderr
    "#);
    sandbox.write(".agents/skills/odd/SKILL.md", suppressed.replace("[x](references/x.md)", "x"));
    assert_eq!(rules(&["odd"]), ["field-unknown", "suppression-unused"]);
}

#[test]
fn a_baseline_leaves_out_what_was_there() {
    let sandbox = repository();
    let with = |arguments: &[&str]| sandbox.run(&[&["check", "--baseline", "known.txt"], arguments].concat());
    let run = with(&[]);
    assert!(run.code == 2 && run.stderr.contains("--write-baseline"), "{}", run.stderr);
    assert_eq!(with(&["--write-baseline"]).stderr, "wrote 1 finding to [DIR]/project/known.txt\n");
    insta::assert_snapshot!(sandbox.read("known.txt"), @r#"
    .agents/skills/broken/SKILL.md: link-broken: the link to references/x.md leads to no file of the skill
    "#);
    assert_eq!(with(&["--max-warnings", "0"]).code, 0);
    // Lines before it do not matter; the same finding once more does.
    sandbox.write(
        ".agents/skills/broken/SKILL.md",
        skill("broken", "\n\nSee [x](references/x.md), [y](references/y.md).\n"),
    );
    assert_run!(with(&["--max-warnings", "0"]), @r#"
    exit 1
    --- stdout
    broken (.agents/skills/broken)

    warning[link-broken]: the link to references/y.md leads to no file of the skill
     --> .agents/skills/broken/SKILL.md:7:27
      |
    7 | See [x](references/x.md), [y](references/y.md).
      |                           ^^^^^^^^^^^^^^^^^^^^
      |
      = help: add the file, or correct the link; paths are relative to the skill directory

    1 warning in 3 skills, no errors; 1 in the baseline
    --- stderr
    warning: 1 warning, more than the 0 of --max-warnings
    "#);
    sandbox.write(".agents/skills/broken/SKILL.md", skill("broken", "y\n"));
    assert_run!(with(&[]), @r#"
    exit 0
    --- stdout
    3 skills, nothing to report
    --- stderr
    "#);
}

#[test]
fn findings_are_annotations_for_github() {
    let sandbox = repository();
    assert_run!(sandbox.run(&["check", "--format", "github"]), @r#"
    exit 0
    --- stdout
    ::warning file=.agents/skills/broken/SKILL.md,line=5,col=5,title=link-broken::the link to references/x.md leads to no file of the skill%0Ahelp: add the file, or correct the link; paths are relative to the skill directory
    1 warning in 3 skills, no errors
    --- stderr
    "#);
    assert_eq!(sandbox.run(&["check", "--format", "json"]).stdout, sandbox.run(&["check", "--json"]).stdout);
    let run = sandbox.run(&["check", "--json", "--format", "github"]);
    assert!(run.code == 2 && run.stderr.contains("--format"), "{}", run.stderr);
}

#[test]
fn sarif_has_regions_fingerprints_and_fixes() {
    let sandbox = repository();
    sandbox.write(".agents/skills/colon/SKILL.md", REPAIRABLE);
    let log = json(&sandbox.run(&["check", "--format", "sarif"]));
    assert_eq!(log["version"], "2.1.0");
    let driver = &log["runs"][0]["tool"]["driver"];
    assert_eq!((&driver["name"], driver["rules"].as_array().unwrap().len()), (&Value::from("rep"), 2));
    let results = &log["runs"][0]["results"];
    insta::assert_snapshot!(serde_json::to_string_pretty(results).unwrap(), @r#"
    [
      {
        "ruleId": "link-broken",
        "level": "warning",
        "message": {
          "text": "the link to references/x.md leads to no file of the skill\nhelp: add the file, or correct the link; paths are relative to the skill directory"
        },
        "locations": [
          {
            "physicalLocation": {
              "artifactLocation": {
                "uri": ".agents/skills/broken/SKILL.md",
                "uriBaseId": "%SRCROOT%"
              },
              "region": {
                "startLine": 5,
                "startColumn": 5,
                "endLine": 5,
                "endColumn": 25
              }
            }
          }
        ],
        "ruleIndex": 1,
        "partialFingerprints": {
          "rep/v1": "66e686dd86927a40"
        }
      },
      {
        "ruleId": "frontmatter-repaired",
        "level": "warning",
        "message": {
          "text": "the value of `description` is not valid YAML: mapping values are not allowed in this context\nhelp: write: description: \"Use when: a colon is written, by anyone at all.\""
        },
        "locations": [
          {
            "physicalLocation": {
              "artifactLocation": {
                "uri": ".agents/skills/colon/SKILL.md",
                "uriBaseId": "%SRCROOT%"
              },
              "region": {
                "startLine": 3,
                "startColumn": 1,
                "endLine": 3,
                "endColumn": 61
              }
            }
          }
        ],
        "fixes": [
          {
            "description": {
              "text": "the repairs of `rep check --fix` in this file"
            },
            "artifactChanges": [
              {
                "artifactLocation": {
                  "uri": ".agents/skills/colon/SKILL.md",
                  "uriBaseId": "%SRCROOT%"
                },
                "replacements": [
                  {
                    "deletedRegion": {
                      "startLine": 3,
                      "startColumn": 1,
                      "endLine": 4,
                      "endColumn": 1
                    },
                    "insertedContent": {
                      "text": "description: \"Use when: a colon is written, by anyone at all.\"\n"
                    }
                  }
                ]
              }
            ]
          }
        ],
        "ruleIndex": 0,
        "partialFingerprints": {
          "rep/v1": "be76e97c8db8e6ae"
        }
      }
    ]
    "#);
    for result in results.as_array().unwrap() {
        let rule = &driver["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["help"]["text"].as_str().unwrap().contains("repertoire.toml"));
    }
}

#[test]
fn repairs_that_are_not_safe_are_named_with_the_reason() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/dir/SKILL.md", skill("other", "See [x](references/Guide).\n"));
    sandbox.write(".agents/skills/dir/references/guide.md", "x\n");
    sandbox.write(".agents/skills/open/SKILL.md", "---\nname: open\n");
    assert_run!(sandbox.run(&["check", "--fix", "--yes"]), @r#"
    exit 1
    --- stdout
    --- a/.agents/skills/dir/SKILL.md
    +++ b/.agents/skills/dir/SKILL.md
    @@ -2,4 +2,4 @@
     name: other
     description: Does other things well. Use when other is asked for.
     ---
    -See [x](references/Guide).
    +See [x](references/guide.md).
    open [quarantined] (.agents/skills/open)

    error[frontmatter-unterminated]: the frontmatter is never closed
     --> .agents/skills/open/SKILL.md:1:1
      |
    1 | ---
      | ^^^
      |
      = help: close it with a line of exactly `---` before the instructions

    other (.agents/skills/dir)

    warning[name-directory]: the name `other` differs from the directory `dir`
     --> .agents/skills/dir/SKILL.md:2:7
      |
    2 | name: other
      |       ^^^^^
      |
      = help: rename the directory to `other`, or write: name: dir

    1 error, 1 warning in 2 skills
    --- stderr
    2 findings left to you, because no repair is safe to write:
      .agents/skills/open/SKILL.md: frontmatter-unterminated: it is not clear where the frontmatter ends
      .agents/skills/dir/SKILL.md: name-directory: only you know if `other` or the directory is right, and who uses the name
    repaired 1 file
    "#);
}
