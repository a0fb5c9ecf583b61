//! Options of the catalog, and their errors.

use std::fmt;

use super::Tokenizer;

/// The default name of the tool that loads a skill.
pub const LOAD_TOOL: &str = "load_skill";

/// The default name of the tool that reads a file of a skill.
pub const READ_TOOL: &str = "read_skill_file";

/// The tool that a shortened catalog points at when there is not one to search with.
pub const LIST_TOOL: &str = "list_skills";

/// The tool that finds skills by what they do.
pub const SEARCH_TOOL: &str = "search_skills";

crate::words! {
    /// The shape of the text.
    #[derive(Default)]
    Format {
        /// Guidance on how to use skills, then `<available_skills>` with one `<skill>` a line; the default.
        #[default]
        Xml "xml",
        /// `Skills:` and `- name: description` lines.
        List "list",
        /// `Available skills (use load_skill to activate):`, a blank line, `- name: description` lines.
        Menu "menu",
        /// `[Available Skills]`, bullets with the name in backticks, closing lines on how to load a skill.
        Bracket "bracket",
        /// `## Available Skills` and a list with bold names.
        Markdown "markdown",
        /// `{"skills":[{"name":…,"description":…}]}` for programs: one skill a line, `primary`, `usage` and
        /// `note` where they apply.
        Json "json",
        /// The block that `skills-ref to-prompt` prints, for hosts that let the model read files by location.
        Compat "compat",
    }
}

crate::words! {
    /// The treatment of a catalog whose full text is over the budget.
    #[derive(Default)]
    OverBudget {
        /// Descriptions give way, names stay, unless there is a [`Ranking`]; the default.
        #[default]
        Tiers "tiers",
        /// Nothing is listed; the text has the number of skills and says how to search them.
        SearchOnly "search_only",
        /// The text stays whole and the report marks it as over budget.
        Verbatim "verbatim",
    }
}

crate::options! {
    /// The choices a catalog is rendered by.
    ///
    /// Tool names are the host's own and stand in the text as they are given.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct CatalogOptions {
        /// The shape of the text.
        pub format: Format,
        /// The most tokens the text may have, frame and footer included; without it nothing is counted.
        pub budget_tokens: Option<usize>,
        /// The treatment of a catalog whose full text is over the budget.
        pub over_budget: OverBudget,
        /// The skill that comes first, marked as primary.
        pub highlight: Option<String>,
        /// Skills that keep their description before others, most important first; unknown names are ignored.
        pub priority: Vec<String>,
        /// The skills that the task needs, and the epoch. Without it every name is listed in any budget.
        pub ranking: Option<Ranking>,
        /// Skills marked ` [loaded]`. Only [`Format::Menu`] does so; do not set it if prompts are cached.
        pub loaded: Vec<String>,
        /// Shows the call that loads a skill, and what to do if none matches; [`Format::Compat`] never does.
        pub usage: bool = true,
        /// Skills whose instructions are in the prompt already, and so never the example of one to load.
        pub bound: Vec<String>,
        /// The tokenizer of all counts.
        pub tokenizer: Tokenizer,
        /// The tool that loads a skill.
        pub tool_name: String = LOAD_TOOL.to_owned(),
        /// Its argument for the name of the skill.
        pub name_argument: String = "name".to_owned(),
        /// The tool that reads a file of a skill, where there is one.
        pub file_tool: Option<String> = Some(READ_TOOL.to_owned()),
        /// The tool that searches skills, where there is one.
        pub search_tool: Option<String> = Some(SEARCH_TOOL.to_owned()),
        /// The tool that lists skills, if any; a shortened catalog points at it if no tool searches.
        pub list_tool: Option<String> = Some(LIST_TOOL.to_owned()),
    }
}

/// A choice that does not fit the given skills.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatalogError {
    /// The skill to highlight is not among the entries.
    UnknownHighlight {
        /// The requested name.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// [`Format::Compat`] needs the location of each skill, and this one has no location.
    MissingLocation {
        /// The skill.
        name: String,
    },
}

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownHighlight { name, nearest: Some(nearest) } => {
                write!(f, "no skill {name:?} to highlight; did you mean {nearest:?}?")
            }
            Self::UnknownHighlight { name, nearest: None } => write!(f, "no skill {name:?} to highlight"),
            Self::MissingLocation { name } => {
                write!(f, "skill {name:?} has no location, which the compat format lists")
            }
        }
    }
}

impl std::error::Error for CatalogError {}

/// The share of the cost of descriptions, in percent, that goes to skills by turns, independent of the task.
pub const FAIR_PERCENT: usize = 15;

/// The skills that a task needs, and whose turn it is among all others.
///
/// A catalog that has one lists names without a description in one line, and leaves some out if they take
/// more than half of the room; see [the rule](super#with-a-ranking).
///
/// ```
/// use repertoire_model::catalog::{CatalogEntry, CatalogOptions, Ranking, Reason, render};
///
/// let names: Vec<String> = (0..1000).map(|number| format!("skill-{number}")).collect();
/// let entry = |name| CatalogEntry { name, description: "Does something that few need.", location: None };
/// let entries: Vec<_> = names.iter().map(|name| entry(name.as_str())).collect();
/// let ranking = Some(Ranking { names: vec!["skill-77".to_owned()], epoch: 0 });
/// let mut options = CatalogOptions::default();
/// options.budget_tokens = Some(800);
/// options.ranking = ranking;
/// let catalog = render(&entries, &options).unwrap();
/// assert!(!catalog.report.over_budget && catalog.text.contains("skills are not listed"));
/// let skill = catalog.report.tiers.iter().find(|skill| skill.name == "skill-77").unwrap();
/// assert_eq!(skill.reason, Reason::Task { rank: 1 });
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranking {
    /// The skills that the task needs, best first; unknown names are ignored. Empty where there is no task.
    pub names: Vec<String>,
    /// Moves the turns of the skills: each number shows the next few, and after some all have been shown.
    pub epoch: u64,
}
