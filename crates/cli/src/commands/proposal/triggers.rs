//! The effect of a proposal on trigger evals: which queries find their skill before and after it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use repertoire::history::write_skill;
use repertoire::store::{Proposal, ProposalKind, ProposalState};
use repertoire::{Error, FsOptions, FsProvider, Provider, Registry, SkillName, Snapshot, State};
use repertoire_app::view::{ChangedQueryView, TriggerEffectView};
use repertoire_model::patch::SkillFiles;
use repertoire_model::policy::Duplicates;
use repertoire_search::evals::{SkillEvals, TriggerOutcome, TriggerQuery};

use crate::error::CliError;
use crate::ui::{Progress, Style, Ui, escape};
use crate::wire::{Library, Workspace};

/// The number of skills that a query shows, as in `rep eval triggers`.
const SHOWN: usize = 5;

/// The most queries that a person is shown.
const MAX_SHOWN_CASES: usize = 20;

/// The name of the source that the proposed skill is read from.
const SOURCE: &str = "proposal";

/// The answers to queries, by the name of the skill and the query.
type Outcomes = BTreeMap<(String, String), (TriggerOutcome, Option<String>)>;

/// Returns the effect of `proposal`, which leads to `files`, on the trigger evals of `library`; `None` if it
/// does not have one, or if the proposal does not wait for a decision about a skill that is served.
pub(super) fn effect(
    workspace: &Workspace,
    library: &Library,
    proposal: &Proposal,
    files: &SkillFiles,
) -> Result<Option<TriggerEffectView>, CliError> {
    let content = &proposal.content;
    let is_open = matches!(proposal.state, ProposalState::Pending | ProposalState::Stale);
    let mut entries = library.snapshot.entries().iter();
    let is_served = match content.kind {
        ProposalKind::Create => true,
        ProposalKind::Update => {
            entries.any(|entry| entry.state == State::Active && entry.record_identity() == content.skill)
        }
    };
    if !is_open || !is_served {
        return Ok(None);
    }
    // It becomes the name of a directory.
    let Some(name) = SkillName::new(&content.name) else { return Ok(None) };
    let progress = Progress::start(&workspace.env, "asking");
    let scratch = tempfile::tempdir()?;
    let registry = proposed(workspace, library, scratch.path(), &name, files)?;
    let snapshot = registry.snapshot();
    let queries = SkillEvals::read_all(&registry, snapshot.entries()).queries;
    if queries.is_empty() {
        return Ok(None);
    }
    let before = outcomes(workspace, library, &library.registry, &library.snapshot, &queries);
    let after = outcomes(workspace, library, &registry, &snapshot, &queries);
    drop(progress);
    Ok(Some(compare(&before, &after)))
}

/// Returns the library with the proposed skill, which is written to `scratch`, in place of its present form.
fn proposed(
    workspace: &Workspace,
    library: &Library,
    scratch: &Path,
    name: &SkillName,
    files: &SkillFiles,
) -> Result<Registry, Error> {
    write_skill(&scratch.join(name.as_str()), &SkillFiles::new(), files)?;
    let proposed: Arc<dyn Provider> = Arc::new(FsProvider::new(FsOptions::new(SOURCE, scratch)));
    let policy = library.registry.policy().clone();
    let mut providers = workspace.present_providers(&library.places, &policy, None);
    let place = if policy.duplicates == Duplicates::LastWins { providers.len() } else { 0 };
    providers.insert(place, proposed);
    Ok(pollster::block_on(Registry::open_for_inspection(providers, policy)))
}

fn outcomes(
    workspace: &Workspace,
    library: &Library,
    registry: &Registry,
    snapshot: &Arc<Snapshot>,
    queries: &[TriggerQuery],
) -> Outcomes {
    let searcher = workspace.searcher(&library.places, registry.policy());
    let report = searcher.evaluate_triggers(registry, snapshot, queries, SHOWN);
    let name = |entry: usize| snapshot.entries()[entry].name().to_string();
    let of_skills = report.skills.into_iter().flat_map(|skill| {
        let skill_name = name(skill.entry);
        skill.outcomes.into_iter().map(move |outcome| (skill_name.clone(), outcome))
    });
    of_skills
        .map(|(skill, outcome)| {
            let first = outcome.first.map(name);
            ((skill, outcome.query.clone()), (outcome, first))
        })
        .collect()
}

/// Returns the difference of the answers to the queries that both have; a new skill has no answers before.
fn compare(before: &Outcomes, after: &Outcomes) -> TriggerEffectView {
    let mut effect = TriggerEffectView::default();
    for ((skill, query), (was, _)) in before {
        let Some((is, first)) = after.get(&(skill.clone(), query.clone())) else { continue };
        for (side, outcome) in [(&mut effect.before, was), (&mut effect.after, is)] {
            side.of += 1;
            side.right += usize::from(outcome.is_right());
        }
        if was.is_right() != is.is_right() || was.rank.is_some() != is.rank.is_some() {
            // A query that should trigger is worse further down, another one further up.
            let place = |outcome: &TriggerOutcome| outcome.rank.unwrap_or(usize::MAX);
            effect.changed.push(ChangedQueryView {
                skill: skill.clone(),
                query: query.clone(),
                should_trigger: is.should_trigger,
                rank_before: was.rank,
                rank_after: is.rank,
                worse: (place(is) > place(was)) == is.should_trigger,
                first: first.clone(),
            });
        }
    }
    effect.changed.sort_by_key(|changed| !changed.worse);
    effect
}

/// Writes the effect on trigger evals for people.
pub(super) fn write(ui: &mut Ui, effect: &TriggerEffectView) -> Result<(), CliError> {
    let (before, after, queries) = (effect.before.right, effect.after.right, effect.after.of);
    writeln!(ui.out(), "triggers: {before} of {queries} queries right before, {after} after")?;
    for changed in effect.changed.iter().take(MAX_SHOWN_CASES) {
        let (word, style) = if changed.worse { ("worse", Style::Error) } else { ("better", Style::Good) };
        let word = ui.paint(style, word);
        let rank = |rank: Option<usize>| rank.map_or("not shown".to_owned(), |rank| format!("rank {rank}"));
        let not = if changed.should_trigger { "" } else { " (should not trigger)" };
        let line = format!(
            "{}: \"{}\"{not}: {} before, {} after",
            changed.skill,
            changed.query,
            rank(changed.rank_before),
            rank(changed.rank_after)
        );
        let first = changed.first.as_ref().filter(|first| **first != changed.skill);
        let first = first.map(|first| format!(", {first} is first")).unwrap_or_default();
        writeln!(ui.out(), "triggers: {word}: {}", escape(&(line + &first)))?;
    }
    let more = effect.changed.len().saturating_sub(MAX_SHOWN_CASES);
    if more > 0 {
        writeln!(ui.out(), "triggers: and {more} more queries; `--json` tells all of them")?;
    }
    Ok(())
}
