//! `rep eval triggers`.

use std::path::{Path, PathBuf};

use clap::Args;
use repertoire::{Registry, regular_file};
use repertoire_search::evals::{MAX_EVAL_BYTES, MAX_SHOWN, Share, SkillEvals, TriggerQuery, TriggerReport};

use super::report::{self, Evaluation, Threshold};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Progress, Ui};
use crate::wire::{SearchableLibrary, Workspace, skill_directory};

/// The most queries of one run.
const MAX_QUERIES: usize = 100_000;
/// The most directories between a file of evals and its skill.
const MAX_LEVELS: usize = 4;

/// The arguments of `rep eval triggers`.
#[derive(Debug, Args)]
pub(crate) struct TriggersArgs {
    /// A file of evals, a skill, or a directory of skills at any depth; by default, every skill of the
    /// library
    ///
    /// The skills must be in the library, which the queries search.
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    path: Option<PathBuf>,
    /// Show this many skills for each query, at most 100
    #[arg(short = 'k', value_name = "K", default_value = "5", value_parser = shown)]
    shown: usize,
    /// Fail unless this share of the queries that should trigger finds its skill first, from 0 to 1
    #[arg(long, value_name = "RATE", value_parser = rate)]
    min_hit: Option<f64>,
    /// Fail unless this share of the queries that should trigger finds its skill among the first K
    #[arg(long, value_name = "RATE", value_parser = rate)]
    min_shown: Option<f64>,
    /// Fail if more than this share of the queries that should not trigger finds the skill first
    #[arg(long, value_name = "RATE", value_parser = rate)]
    max_false: Option<f64>,
}

pub(super) fn run(ui: &mut Ui, workspace: &Workspace, args: &TriggersArgs) -> Result<Exit, CliError> {
    workspace.expect_search()?;
    let SearchableLibrary { library, handle, searcher } = workspace.open_to_search()?;
    let snapshot = &library.snapshot;
    let progress = Progress::start(&workspace.env, "asking");
    let evals = match &args.path {
        Some(path) => at(workspace, path)?,
        None => SkillEvals::read_all(&library.registry, snapshot.entries()),
    };
    if evals.queries.len() > MAX_QUERIES {
        let message = format!("there are {} queries, more than {MAX_QUERIES}", evals.queries.len());
        return Err(CliError::no(message).hint("name a PATH with fewer of them"));
    }
    let report = searcher.evaluate_triggers(&library.registry, snapshot, &evals.queries, args.shown);
    drop(progress);
    pollster::block_on(handle.save());
    let thresholds = thresholds(args, &report, evals.problems.is_empty());
    let is_met = thresholds.iter().all(|threshold| threshold.is_met);
    let evaluation = Evaluation {
        entries: snapshot.entries(),
        shown: args.shown,
        report,
        problems: evals.problems,
        thresholds,
    };
    if ui.is_json() {
        report::write_json(ui, &evaluation)?;
    } else {
        report::write(ui, workspace, &evaluation)?;
    }
    Ok(if is_met { Exit::Success } else { Exit::No })
}

fn shown(text: &str) -> Result<usize, String> {
    let shown = text.parse::<usize>().ok().filter(|shown| (1..=MAX_SHOWN).contains(shown));
    shown.ok_or_else(|| format!("it takes a number from 1 to {MAX_SHOWN}"))
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| "it takes a share from 0 to 1, as in 0.8".to_owned())
}

/// Returns the requested rates. They are not met unless all evals were understood.
fn thresholds(args: &TriggersArgs, report: &TriggerReport, is_whole: bool) -> Vec<Threshold> {
    let threshold = |option, asked: Option<f64>, found: Share, is_good: fn(&f64, &f64) -> bool| {
        asked.map(|asked| {
            let is_met = is_whole && found.value().is_some_and(|value| is_good(&value, &asked));
            Threshold { option, asked, found, is_met }
        })
    };
    let thresholds = [
        threshold("--min-hit", args.min_hit, report.total(|skill| skill.hits), f64::ge),
        threshold("--min-shown", args.min_shown, report.total(|skill| skill.shown), f64::ge),
        threshold("--max-false", args.max_false, report.total(|skill| skill.false_triggers), f64::le),
    ];
    thresholds.into_iter().flatten().collect()
}

fn at(workspace: &Workspace, given: &Path) -> Result<SkillEvals, CliError> {
    let path = workspace.env.working_directory().join(given);
    let metadata = path.metadata().map_err(|error| {
        CliError::usage(format!("cannot read evals from {}", given.display())).because(error)
    })?;
    let directory = skill_directory(&path);
    if !metadata.is_dir() && directory == path {
        return of_file(workspace, &path);
    }
    let registry = open(workspace, directory);
    let snapshot = registry.snapshot();
    if snapshot.entries().is_empty() {
        return Err(CliError::no(format!("there is no skill at {}", given.display()))
            .hint("a skill is a directory with a SKILL.md; its evals lie beside it or in evals/"));
    }
    Ok(SkillEvals::read_all(&registry, snapshot.entries()))
}

fn of_file(workspace: &Workspace, path: &Path) -> Result<SkillEvals, CliError> {
    let bytes = regular_file::read(path, MAX_EVAL_BYTES).map_err(|error| {
        CliError::usage(format!("cannot read evals from {}", path.display())).because(error)
    })?;
    let mut evals = SkillEvals::default();
    evals.add(&path.display().to_string(), &bytes, skill_of(workspace, path).as_deref());
    if evals.queries.iter().any(|TriggerQuery { skill, .. }| skill.is_none()) {
        let message = format!("{} does not say which skill it is about, and lies in none", path.display());
        return Err(CliError::no(message).hint("add `\"skill_name\": \"NAME\"` to it"));
    }
    Ok(evals)
}

/// Returns the name of the skill that contains the file at `path`.
fn skill_of(workspace: &Workspace, path: &Path) -> Option<String> {
    let is_skill = |directory: &&Path| directory.join("SKILL.md").is_file();
    let directory = path.ancestors().skip(1).take(MAX_LEVELS).find(is_skill)?;
    let snapshot = open(workspace, directory).snapshot();
    snapshot.entries().first().map(|entry| entry.name().to_string())
}

/// Opens the skills below `directory`, however deep they lie.
fn open(workspace: &Workspace, directory: &Path) -> Registry {
    workspace.inspect_deeply(directory, workspace.settings.policy.clone())
}
