//! The skills that a task needs, which decide who keeps the full description.

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
    /// The skills that the task needs, best first; unknown names are passed over. None where there is no task.
    pub names: Vec<String>,
    /// Moves the turns of the skills: each number shows the next few, and after some all have been shown.
    pub epoch: u64,
}
