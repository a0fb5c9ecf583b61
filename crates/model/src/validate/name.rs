//! Rules about names, and the choice of the name a skill is addressed by.

use unicode_normalization::UnicodeNormalization;

use super::{Reporter, RuleId};
use crate::name::{self, Grammar, SkillName};
use crate::policy::NameMismatch;
use crate::{Span, text};

/// The names of the built-in tools; a skill of the same name would be confused with one.
pub const TOOL_NAMES: &[&str] = &[
    "call_skill_tool",
    "list_skill_files",
    "list_skills",
    "load_skill",
    "propose_skill_update",
    "read_skill_file",
    "run_skill_script",
    "search_skills",
    "unload_skill",
];

/// The name of a skill that has neither a usable `name` nor a usable directory.
const NAMELESS: &str = "unnamed-skill";

/// The facts about a skill's name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameFacts<'a> {
    /// The `name` of the frontmatter.
    pub(crate) written: Option<&'a str>,
    /// Its place.
    pub(crate) span: Option<Span>,
    /// The directory, where there is one.
    pub(crate) directory: Option<&'a str>,
    /// True if there is a frontmatter that could hold a name.
    pub(crate) has_frontmatter: bool,
}

/// The name a skill is addressed by, and what its standing depends on, whether or not the rules report it.
#[derive(Debug, Clone)]
pub(crate) struct ChosenName {
    pub(crate) name: SkillName,
    /// True if the written name differs from the directory.
    pub(crate) is_mismatch: bool,
    pub(crate) is_tool: bool,
}

/// Chooses the name a skill is addressed by and reports its problems.
pub(crate) fn choose_name(facts: NameFacts<'_>, reporter: &mut Reporter<'_>) -> ChosenName {
    let directory = facts
        .directory
        .and_then(|directory| SkillName::new(directory).or_else(|| SkillName::slug(directory)));
    let written = facts.written.map(str::trim).filter(|written| !written.is_empty());
    let chosen = match written {
        None => {
            if facts.has_frontmatter {
                report_missing(directory.as_ref(), facts.span, reporter);
            }
            directory.clone()
        }
        // Most skills are called like their directories.
        Some(written) if directory.as_ref().is_some_and(|name| name.as_str() == written) => directory.clone(),
        Some(written) => {
            SkillName::new(written).or_else(|| substitute(written, facts, directory.as_ref(), reporter))
        }
    };
    let is_written = written.is_some() && chosen.is_some();
    let is_usable = written.is_some_and(|written| SkillName::new(written).is_some());
    let mut chosen =
        chosen.or_else(|| SkillName::new(NAMELESS)).unwrap_or_else(|| unreachable!("a constant is a name"));
    let mut is_mismatch = false;
    if is_written {
        // The substitute of an unusable name is reported with the name to write.
        if is_usable {
            report_grammar(&chosen, facts.span, reporter);
        }
        if let Some(directory_text) = facts.directory
            && chosen.as_str() != directory_text
            && !chosen.as_str().nfkc().eq(directory_text.nfkc())
        {
            is_mismatch = true;
            report_mismatch(&chosen, is_usable, directory_text, facts.span, reporter);
        }
    }
    if reporter.policy().name_mismatch == NameMismatch::DirWins
        && let Some(directory) = directory
    {
        chosen = directory;
    }
    report_reserved(&chosen, facts.span, reporter);
    let is_tool = TOOL_NAMES.contains(&chosen.as_str());
    if is_tool {
        reporter
            .report(RuleId::NameTool, format!("`{chosen}` is the name of a tool that agents call"))
            .help("give the skill another name")
            .at(facts.span);
    }
    ChosenName { name: chosen, is_mismatch, is_tool }
}

fn report_missing(directory: Option<&SkillName>, span: Option<Span>, reporter: &mut Reporter<'_>) {
    let finding = match directory {
        Some(directory) => reporter
            .report(RuleId::NameMissing, format!("there is no `name`; the directory's is used: {directory}"))
            .help(format!("add: name: {directory}")),
        None => reporter
            .report(RuleId::NameMissing, "there is no `name`")
            .help("add a `name` of a-z, 0-9 and hyphens"),
    };
    finding.at(span);
}

/// Returns the name to use instead of one that cannot be used.
fn substitute(
    written: &str,
    facts: NameFacts<'_>,
    directory: Option<&SkillName>,
    reporter: &mut Reporter<'_>,
) -> Option<SkillName> {
    let name = SkillName::slug(written).or_else(|| directory.cloned())?;
    let advised = facts.directory.filter(|directory| is_standard(directory)).map(str::to_owned);
    let advised = advised.or_else(|| slug_of(&name, Grammar::AgentSkills).map(|name| name.to_string()));
    reporter
        .report(
            RuleId::NameUnusable,
            format!("`{}` cannot be used as a name; `{name}` is used instead", text::shorten(written, 80)),
        )
        .help(match advised {
            Some(advised) => format!("write: name: {advised}"),
            None => format!("use {}", Grammar::AgentSkills.in_words()),
        })
        .at(facts.span);
    Some(name)
}

/// Returns the name nearest to `name` that both the open standard and `grammar` allow.
fn slug_of(name: &SkillName, grammar: Grammar) -> Option<SkillName> {
    let slug = SkillName::slug(&name.as_str().replace(['_', '.'], "-"))?;
    let is_allowed = |grammar| name::grammar_faults(slug.as_str(), grammar).is_empty();
    (is_allowed(Grammar::AgentSkills) && is_allowed(grammar)).then_some(slug)
}

fn report_grammar(name: &SkillName, span: Option<Span>, reporter: &mut Reporter<'_>) {
    let grammar = reporter.policy().name_grammar;
    let faults = name::grammar_faults(name.as_str(), grammar);
    if faults.is_empty() {
        return;
    }
    let reasons: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let form = grammar.in_words();
    let help = match slug_of(name, grammar) {
        Some(slug) if grammar == Grammar::AgentSkills => format!("write: name: {slug}"),
        Some(slug) => format!("write: name: {slug}; a name has {form}"),
        None => format!("use {form}"),
    };
    reporter
        .report(RuleId::NameGrammar, format!("the name `{name}` {}", reasons.join(", ")))
        .help(help)
        .at(span);
}

/// Returns whether the open standard allows `name`.
fn is_standard(name: &str) -> bool {
    name::grammar_faults(name, Grammar::AgentSkills).is_empty()
}

/// Reports that `name` differs from the directory. Where it is not what is written, because that is unusable,
/// the directory's is better.
fn report_mismatch(
    name: &SkillName,
    is_written: bool,
    directory: &str,
    span: Option<Span>,
    reporter: &mut Reporter<'_>,
) {
    let help = match (is_standard(name.as_str()), is_standard(directory)) {
        (true, true) if is_written => {
            format!("rename the directory to `{name}`, or write: name: {directory}")
        }
        (_, true) => format!("write: name: {directory}"),
        (true, false) => format!("rename the directory to `{name}`"),
        (false, false) => match slug_of(name, Grammar::AgentSkills) {
            Some(slug) => format!("write: name: {slug}, and rename the directory to that"),
            None => format!("use one name for both, of {}", Grammar::AgentSkills.in_words()),
        },
    };
    let directory = text::shorten(directory, 80);
    reporter
        .report(RuleId::NameDirectory, format!("the name `{name}` differs from the directory `{directory}`"))
        .help(help)
        .at(span);
}

fn report_reserved(name: &SkillName, span: Option<Span>, reporter: &mut Reporter<'_>) {
    let folded = name.as_str().to_lowercase();
    let word =
        reporter.policy().reserved_words.iter().find(|word| folded.contains(word.to_lowercase().as_str()));
    if let Some(word) = word {
        reporter
            .report(RuleId::NameReserved, format!("the name `{name}` holds the reserved word `{word}`"))
            .help("some hosts refuse such names; choose another")
            .at(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn helps(written: &str, directory: &str) -> Vec<String> {
        let policy = crate::Policy::default();
        let mut reporter = Reporter::new(&policy);
        let facts = NameFacts {
            written: Some(written),
            span: None,
            directory: Some(directory),
            has_frontmatter: true,
        };
        choose_name(facts, &mut reporter);
        let found = reporter.finish().into_iter();
        found.map(|found| format!("{}: {}", found.rule, found.help.unwrap_or_default())).collect()
    }

    #[test]
    fn advised_names_are_valid() {
        let long = "x-".repeat(40) + "y";
        assert_eq!(
            helps("Garry Tan's", "garry-tans"),
            ["name-unusable: write: name: garry-tans", "name-directory: write: name: garry-tans"]
        );
        assert_eq!(
            helps("run with tldw_serve", &long),
            [
                "name-unusable: write: name: run-with-tldw-serve",
                "name-directory: write: name: run-with-tldw-serve, and rename the directory to that"
            ]
        );
        assert_eq!(helps("a", "b"), ["name-directory: rename the directory to `a`, or write: name: b"]);
        assert_eq!(helps("a", "B c"), ["name-directory: rename the directory to `a`"]);
    }
}
