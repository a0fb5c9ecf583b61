//! Tests of `rep init`.

use crate::sandbox::{Sandbox, assert_run};

#[test]
fn a_commented_file_is_written_once() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["init"]), @r#"
    exit 0
    --- stdout
    wrote [DIR]/project/repertoire.toml
    --- stderr
    "#);
    insta::assert_snapshot!(sandbox.read("repertoire.toml"), @r#"
    # Configuration of Repertoire for this project. Every key is here with its default; take the mark away to
    # change it. Paths are relative to this file. `rep doctor` tells what is in force.

    # The set of choices that all others start from. Takes: standard, strict, lenient, harness. Flag:
    # --profile.
    # profile = "standard"

    # Directories of skills beside those that are discovered; earlier ones win, and the project's come
    # before the user's. Takes: a list of directories. Flag: --root (replaces them).
    # roots = []

    # What happens to skills of several sources that share a name; of twins within one source all but one
    # are quarantined, whatever is chosen here. Takes: quarantine, abort, last_wins, first_wins.
    # duplicates = "quarantine"

    # What happens to a skill that cannot be understood. Takes: quarantine, abort.
    # on_invalid = "quarantine"

    # What happens when a skill's name differs from its directory. Takes: warn, quarantine, abort,
    # dir_wins.
    # name_mismatch = "warn"

    [name]
    # The grammar that names are held against. Takes: agentskills, bernstein, relaxed.
    # grammar = "agentskills"

    # Words that a name should not hold. Takes: a list of strings.
    # reserved = ["anthropic", "claude"]

    # How loudly a reserved word in a name is reported. Takes: warn, error, ignore.
    # reserved_action = "warn"

    [description]
    # The shortest description that is not reported, in characters. Takes: a whole number, at least 0.
    # min = 20

    # The longest description that is not reported, in characters. Takes: a whole number, at least 1.
    # max = 1024

    [frontmatter]
    # How loudly an unknown key in a frontmatter is reported. Takes: warn, error, ignore.
    # unknown = "warn"

    # Whether a missing frontmatter is reported. Takes: true, false.
    # required = true

    [resources]
    # Which files a skill is said to have: those found, those declared, or both. Takes: walk, declared,
    # both.
    # listing = "walk"

    # The most files that are listed when a skill is loaded. Takes: a whole number, at least 0.
    # max_listed = 200

    [catalog]
    # The shape of the catalog. Takes: xml, list, menu, bracket, markdown, json, compat. Flag: catalog
    # --format.
    # format = "xml"

    # The most tokens the catalog may have; 0 for any number. Takes: a whole number, at least 0. Flag:
    # catalog --budget.
    # budget_tokens = 0

    # What happens to a catalog over its budget. Takes: tiers, search_only, verbatim.
    # over_budget = "tiers"

    # Whether the `menu` catalog may mark loaded skills; it defeats prompt caching. Takes: true, false.
    # show_loaded = false

    [load]
    # Whether a skill's frontmatter is shown with its instructions. Takes: true, false. Flag: show --raw.
    # include_frontmatter = false

    [tokens]
    # What tokens are counted with. Takes: o200k_base, cl100k_base, chars4.
    # estimator = "o200k_base"

    [scan]
    # How many levels below a root skills are looked for. Takes: a whole number, 1 to 6.
    # max_depth = 1

    # The most directories of a root that are looked at. Takes: a whole number, at least 1.
    # max_directories = 100000

    # The most directory entries of a root that are read. Takes: a whole number, at least 1.
    # max_entries = 1000000

    # Whether skills inside other skills are looked for. Takes: true, false.
    # nested = false

    # Where a symbolic link directly below a root may lead: anywhere, or only into the roots that are
    # looked at. Takes: anywhere, roots.
    # links = "anywhere"

    [discovery]
    # Whether `.agents/skills`, `.claude/skills` and the like are looked for from the working directory up
    # to the repository root. Takes: true, false.
    # project = true

    # Whether the same directories are looked for under the home directory. Takes: true, false.
    # user = true

    [packs]
    # Directories whose every sub-directory is a pack of skills. Takes: a list of directories.
    # directories = []

    [rules]
    # The severity of one rule; every rule is listed in docs/reference/rules.md. Takes: off, info,
    # warning, error.
    # description-when = "info"
    "#);
    assert_eq!(sandbox.run(&["list"]).code, 0);
    assert_run!(sandbox.run(&["init"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: [DIR]/project/repertoire.toml is already there
    hint: `--force` overwrites it
    "#);
    sandbox.write("repertoire.toml", "broken");
    assert_eq!(sandbox.run(&["init", "--force"]).code, 0);
    assert_eq!(sandbox.run(&["list"]).code, 0);
}
