//! `rep catalog`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use repertoire::{Agent, Entry, RankedSkill, Task, TaskRanking, Visibility};
use repertoire_app::view::CatalogView;
use repertoire_model::catalog::{
    Catalog, CatalogError, CatalogOptions, CatalogReport, Format, Reason, SkillTier, Tier,
};
use repertoire_model::delta::for_files;
use repertoire_model::file_glob::FileMatcher;
use repertoire_model::scope::Scope;
use serde_json::Value;

use crate::complete::{agent_names, skill_names};
use crate::error::CliError;
use crate::exit::Exit;
use crate::standard_input;
use crate::ui::{Progress, Style, Ui, escape};
use crate::wire::{self, Library, SearchableLibrary, Workspace, narrowed};

/// The most names of a kind that a person is shown.
const MAX_NAMES_SHOWN: usize = 50;

/// Prints the catalog to put before an agent
///
/// Exactly the text and nothing else goes to the output: it is the same for the same skills and budget,
/// whatever the machine, except in the format compat, which tells where each skill lies. Skills whose author
/// kept them for people (disable-model-invocation) are left out.
#[derive(Debug, Args)]
pub(crate) struct CatalogArgs {
    /// The format of the catalog
    #[arg(long, value_name = "FORMAT", value_parser = Format::ALL.map(Format::as_str))]
    format: Option<String>,
    /// The most tokens the catalog may have; 0 for any number
    ///
    /// Over it, descriptions are cut to their first sentence, then to the name; no name is left out, unless
    /// there is a task.
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,
    /// Show the skills for this task in full if the budget is too small for all; `-` reads it from standard
    /// input
    ///
    /// The others are named in one line. If the names take more than half of the room, skills that the task
    /// does not need are left out, and the catalog says how many.
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// Choose which of the other skills get their turn: each number shows the next few
    ///
    /// A part of the budget goes to all skills by turns, so that each is shown at some time. The same number
    /// always gives the same catalog.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "task")]
    epoch: u64,
    /// Put this skill first and mark it as the primary one
    #[arg(long, value_name = "NAME", add = skill_names())]
    highlight: Option<String>,
    /// Show only skills that this agent of the configuration may see
    #[arg(long, value_name = "NAME", add = agent_names())]
    agent: Option<String>,
    /// Show only these skills: names or patterns such as `git-*`, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', add = skill_names())]
    skills: Vec<String>,
    /// Also offer the skills whose `paths` match one of these files, separated by commas, in a note behind
    /// the catalog
    ///
    /// Files are relative to the working directory. In the format json the note is the field
    /// `skills_for_files`.
    #[arg(long, value_name = "FILES", value_delimiter = ',', value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<String>,
    /// Mark this skill as loaded; may be given several times
    ///
    /// A catalog that changes defeats prompt caching, so this needs `catalog.show_loaded = true`.
    #[arg(long, value_name = "NAME", add = skill_names())]
    loaded: Vec<String>,
    /// Also report how the budget and the task shaped the catalog
    #[arg(long)]
    report: bool,
    /// Write the catalog to this file; with --json, the JSON
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &CatalogArgs) -> Result<Exit, CliError> {
    let agent = args.agent.as_deref().map(|name| workspace.agent(name)).transpose()?;
    let mut options = options(workspace, args, agent.as_ref())?;
    let mut task = Task::new(task_text(args)?);
    task.epoch = args.epoch;
    let (library, needed) = if args.task.is_some() {
        workspace.expect_search()?;
        let searchable = workspace.open_to_search()?;
        let scope = narrowed(&searchable.library.snapshot, &args.skills)?;
        let seen = SeenSkills { agent: agent.as_ref(), scope: scope.as_ref() };
        let needed = (!task.is_blank()).then(|| rank(workspace, &searchable, seen, &task));
        (searchable.library, needed)
    } else {
        (workspace.open()?, None)
    };
    options.ranking = needed.as_ref().map(TaskRanking::to_catalog);
    let scope = narrowed(&library.snapshot, &args.skills)?;
    let seen = SeenSkills { agent: agent.as_ref(), scope: scope.as_ref() };
    if let Some(agent) = &agent {
        workspace.expect_enabled(&library.snapshot, agent)?;
    }
    let catalog = render_seen(&library, seen, &options)?;
    let about: Vec<&Entry> = library.snapshot.held(|entry| seen.has(entry)).collect();
    let files: Vec<String> = args.paths.iter().map(|path| workspace.project_path(path)).collect();
    let files = FileMatcher::new(&files);
    let about = about.into_iter().filter(|entry| entry.allows_models() && entry.is_about(&files));
    let about: Vec<(&str, &str)> =
        about.map(|entry| (entry.name().as_str(), &*entry.document.description)).collect();
    let note = for_files(&about, &options.tool_name);
    if ui.is_json() {
        let progress = Progress::start(&workspace.env, "counting tokens");
        let mut answer = CatalogView::new(catalog, &options, needed.as_ref());
        drop(progress);
        answer.note = Some(note).filter(|note| !note.is_empty());
        match &args.output {
            Some(path) => write(path, &(serde_json::to_string_pretty(&answer)? + "\n"))?,
            None => ui.write_json(&answer)?,
        }
        wire::report(ui, workspace, &library.snapshot, &library.problems)?;
        return Ok(Exit::Success);
    }
    let text = match note.as_str() {
        "" => catalog.text.clone(),
        note if options.format == Format::Json => with_field(&catalog.text, note),
        note => format!("{}\n\n{note}\n", catalog.text.trim_end()),
    };
    match &args.output {
        Some(path) => write(path, &text)?,
        None => ui.write_untrusted(text.as_bytes())?,
    }
    ui.flush()?;
    if catalog.report.over_budget && !args.report {
        warn_over_budget(ui)?;
    }
    if args.report {
        report(ui, workspace, &catalog, &options, needed.as_ref())?;
    }
    wire::report(ui, workspace, &library.snapshot, &library.problems)?;
    Ok(Exit::Success)
}

/// Returns the text of the task; nothing without a task.
fn task_text(args: &CatalogArgs) -> Result<String, CliError> {
    match args.task.as_deref() {
        Some("-") => standard_input::read_text("task"),
        text => Ok(text.unwrap_or_default().to_owned()),
    }
}

/// The skills that a catalog is limited to.
#[derive(Clone, Copy)]
struct SeenSkills<'a> {
    agent: Option<&'a Agent>,
    scope: Option<&'a Scope>,
}

impl SeenSkills<'_> {
    fn has(&self, entry: &Entry) -> bool {
        self.agent.is_none_or(|agent| agent.sees(entry))
            && self.scope.is_none_or(|scope| entry.is_within(scope))
    }
}

/// Returns the visible skills that `task` needs, and keeps the index for the next run.
fn rank(
    workspace: &Workspace,
    searchable: &SearchableLibrary,
    seen: SeenSkills<'_>,
    task: &Task,
) -> TaskRanking {
    let SearchableLibrary { library, handle, .. } = searchable;
    let _progress = Progress::start(&workspace.env, "searching skills");
    let is_limited = seen.agent.is_some() || seen.scope.is_some();
    let visible = is_limited.then(|| library.snapshot.visible(|entry| seen.has(entry)));
    let visibility = visible.as_ref().map_or(Visibility::All, Visibility::Of);
    let ranking = pollster::block_on(handle.rank_for_task(&library.snapshot, task, visibility));
    pollster::block_on(handle.save());
    ranking
}

/// Returns the skills that a task needs, with their places.
fn ranked(needed: Option<&TaskRanking>) -> impl Iterator<Item = (usize, &RankedSkill)> {
    (1..).zip(needed.map(TaskRanking::skills).unwrap_or_default())
}

/// Returns `catalog`, a JSON object, with `note` in its field `skills_for_files`, behind the others.
fn with_field(catalog: &str, note: &str) -> String {
    let others = catalog.trim_end().strip_suffix('}').map_or_else(|| "{".to_owned(), |it| format!("{it},"));
    format!("{others}\"skills_for_files\":{}}}", Value::from(note))
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    fs::write(path, text).map_err(|error| CliError::io("write", path, error))
}

/// Returns the catalog of the skills of `library` that are `seen`.
fn render_seen(
    library: &Library,
    seen: SeenSkills<'_>,
    options: &CatalogOptions,
) -> Result<Catalog, CliError> {
    if let Some(agent) = seen.agent {
        repertoire::prompt::check(&library.snapshot, agent)?;
    }
    highlighted(library.snapshot.catalog_of(options, |entry| seen.has(entry)), options)
}

/// Returns `catalog`, unless it is an error or lacks the skill to highlight; an empty one need not have it.
fn highlighted(
    catalog: Result<Catalog, CatalogError>,
    options: &CatalogOptions,
) -> Result<Catalog, CliError> {
    let catalog = catalog?;
    match &options.highlight {
        Some(name) if catalog.report.tiers.is_empty() => {
            Err(CatalogError::UnknownHighlight { name: name.clone(), nearest: None }.into())
        }
        _ => Ok(catalog),
    }
}

fn options(
    workspace: &Workspace,
    args: &CatalogArgs,
    agent: Option<&Agent>,
) -> Result<CatalogOptions, CliError> {
    if !args.loaded.is_empty() && !workspace.settings.session.show_loaded {
        return Err(CliError::usage("--loaded needs `catalog.show_loaded = true` in the configuration")
            .hint("marking loaded skills changes the catalog and so defeats prompt caching"));
    }
    let session = &workspace.settings.session;
    let mut options = match agent {
        Some(agent) => session.with_tools(&agent.tools).catalog_options(),
        None => session.catalog_options(),
    };
    if let Some(format) = args.format.as_deref().and_then(Format::parse) {
        options.format = format;
    }
    if let Some(budget) = args.budget {
        options.budget_tokens = Some(budget).filter(|budget| *budget > 0);
    }
    options.highlight.clone_from(&args.highlight);
    options.loaded.clone_from(&args.loaded);
    Ok(options)
}

fn exact_tokens(workspace: &Workspace, catalog: &Catalog, options: &CatalogOptions) -> usize {
    let _progress = Progress::start(&workspace.env, "counting tokens");
    catalog.report.tokens.unwrap_or_else(|| options.tokenizer.count(&catalog.text))
}

fn report(
    ui: &mut Ui,
    workspace: &Workspace,
    catalog: &Catalog,
    options: &CatalogOptions,
    needed: Option<&TaskRanking>,
) -> Result<(), CliError> {
    let CatalogReport { tiers, over_budget, clipped, .. } = &catalog.report;
    let tokens = exact_tokens(workspace, catalog, options);
    let of = options.budget_tokens.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let skills = tiers.len();
    let line = format!("{skills} skills, {tokens}{of} tokens ({})", options.tokenizer.as_str());
    let line = ui.paint_err(Style::Heading, &line);
    writeln!(ui.err(), "{line}")?;
    report_task(ui, &catalog.report, needed)?;
    for tier in [Tier::FirstSentence, Tier::NameOnly, Tier::Omitted] {
        let names: Vec<&str> =
            tiers.iter().filter(|skill| skill.tier == tier).map(|skill| skill.name.as_str()).collect();
        if !names.is_empty() {
            let what = tier_words(tier);
            writeln!(ui.err(), "{what} ({}): {}", names.len(), listed(&names))?;
        }
    }
    if *clipped > 0 {
        writeln!(ui.err(), "{clipped} descriptions were longer than a catalog shows")?;
    }
    if *over_budget {
        warn_over_budget(ui)?;
    }
    Ok(())
}

/// Reports the skills that are shown because of the task and by turns.
fn report_task(ui: &mut Ui, report: &CatalogReport, needed: Option<&TaskRanking>) -> Result<(), CliError> {
    let Some(ranking) = needed else { return Ok(()) };
    let shown: HashMap<&str, &SkillTier> =
        report.tiers.iter().map(|skill| (skill.name.as_str(), skill)).collect();
    let gained = |skill: &SkillTier| matches!(skill.reason, Reason::Task { .. });
    let of_task = ranked(needed).filter_map(|(rank, skill)| {
        let tier = shown.get(skill.name.as_str()).filter(|tier| gained(tier) || report.turns.is_none())?;
        Some((rank, skill, tier.tier))
    });
    let of_task: Vec<(usize, &RankedSkill, Tier)> = of_task.collect();
    writeln!(ui.err(), "for the task ({} of {} found):", of_task.len(), ranking.skills().len())?;
    for (rank, skill, tier) in of_task {
        let why = match skill.words.as_slice() {
            [] => "near in meaning".to_owned(),
            words => format!("by {}", words.join(", ")),
        };
        let (name, score, tier) = (escape(skill.name.as_str()), skill.score, tier_words(tier));
        writeln!(ui.err(), "{rank:>5}. {name}, {score:.3}, {}: {tier}", escape(&why))?;
    }
    if let Some(turns) = report.turns {
        let is_turn = |skill: &&SkillTier| skill.reason == Reason::FairShare;
        let names: Vec<&str> = report.tiers.iter().filter(is_turn).map(|skill| skill.name.as_str()).collect();
        let (count, epoch) = (names.len(), ranking.task().epoch);
        // Without names, all skills of this turn are shown for the task.
        let names = if names.is_empty() { String::new() } else { format!(": {}", listed(&names)) };
        writeln!(ui.err(), "by turns ({count}, epoch {epoch}, all within {turns}){names}")?;
    }
    Ok(())
}

/// Returns the first of `names`, and how many more there are.
fn listed(names: &[&str]) -> String {
    let shown = &names[..names.len().min(MAX_NAMES_SHOWN)];
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more; `--json` tells all of them"),
    };
    format!("{}{more}", escape(&shown.join(", ")))
}

fn tier_words(tier: Tier) -> &'static str {
    match tier {
        Tier::Full => "in full",
        Tier::FirstSentence => "first sentence only",
        Tier::NameOnly => "name only",
        Tier::Omitted => "left out",
    }
}

fn warn_over_budget(ui: &mut Ui) -> Result<(), CliError> {
    Ok(ui.warn("the catalog exceeds its budget: nothing in it can be shortened further")?)
}
