//! Keeps `docs/reference/rules.md` the table of rules that is in force.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // Tests may touch the world.

use std::fmt::Write as _;

use repertoire_model::Severity;
use repertoire_model::validate::{MAX_FINDINGS_PER_RULE, RULES};

#[test]
fn the_reference_lists_every_rule() {
    let mut page = format!(
        "# Rules\n\n\
        All findings of `rep check`, with their severity under each profile. Every diagnostic names its rule.\n\
        `rep check` exits with 1 when a skill has an error; which rule is an error depends on\n\
        the profile, and `[rules]` in `repertoire.toml` changes one at a time, as the files of the other profiles do.\n\n\
        A rule marked † sets a skill aside under every profile, so it cannot be turned off. Of each rule a skill shows at most\n\
        {MAX_FINDINGS_PER_RULE} findings; the last of them says how many more there are.\n\n\
        The first word of a name is the group of the rule, for `--select` and `--ignore`. A comment in a skill suppresses a rule there:\n\
        [checks in pipelines](../guides/pipelines.md#findings-that-are-meant-to-be).\n\n\
        | rule | finds | standard | strict | lenient | publish |\n|---|---|---|---|---|---|\n",
    );
    for rule in RULES {
        let mark = if rule.id.is_fixed() { " †" } else { "" };
        write!(page, "| `{}`{mark} | {} |", rule.name, rule.summary).unwrap();
        for severity in rule.severities {
            write!(page, " {} |", severity.map_or("off", Severity::as_str)).unwrap();
        }
        page.push('\n');
    }
    page.push_str(
        "\n`field-unknown`, `name-reserved` and `name-directory` also follow their own keys: `frontmatter.unknown`,\n\
        `name.reserved_action` and `name_mismatch`.\n",
    );
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/rules.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), page, "run the tests with UPDATE_DOCS=1");
}
