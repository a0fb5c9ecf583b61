//! Measures how often a catalog within a budget shows the skill that a task needs in full, beside other ways.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use bench::figures::quantile;
use bench::pool::{self, Labelled, Skill};
use clap::Parser;
use pollster::block_on;
use repertoire::{Library, MemoryProvider, SkillDefinition, Snapshot, Task, Visibility};
use repertoire_model::Policy;
use repertoire_model::catalog::{CatalogEntry, CatalogOptions, Tier, Tokenizer, render};
use repertoire_search::SkillSearch;
use serde::Serialize;

/// Measures how often a catalog within a budget shows in full what a task needs
#[derive(Parser)]
struct Arguments {
    /// A directory that holds `skills/`
    #[arg(long, value_name = "DIR")]
    pool: PathBuf,
    /// The tasks: lines of {"query": TEXT, "gold": [PATH, …]}
    #[arg(long, value_name = "FILE.jsonl")]
    queries: PathBuf,
    /// How many skills the library has: those that are needed, and others in the order of their paths
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    skills: usize,
    /// The most tokens of a catalog
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    budget: usize,
    /// Take every Nth task only
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: usize,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// The figures of one way to keep to the budget.
#[derive(Serialize)]
struct Figures {
    catalog: &'static str,
    /// The share of tasks whose skill is shown with its full description.
    recall: f64,
    /// The average number of skills shown in full.
    full: f64,
    /// The average number of tokens of the text.
    tokens: f64,
    /// The median time of a catalog in milliseconds, ranking included; `None` if the text is always the same.
    p50_ms: Option<f64>,
    skills: usize,
    tasks: usize,
    budget: usize,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let pool = pool::skills(&[&arguments.pool])?;
    let queries = pool::queries(&arguments.queries)?;
    let skills = library(&pool, &queries, arguments.skills);
    let names: HashMap<&str, &str> =
        skills.iter().map(|skill| (skill.path.as_str(), skill.document.name.as_str())).collect();
    let tasks: Vec<(&str, Vec<&str>)> = queries
        .iter()
        .step_by(arguments.every.max(1))
        .map(|query| {
            let gold = query.gold.iter().filter_map(|path| names.get(path.as_str()).copied());
            (query.query.as_str(), gold.collect())
        })
        .filter(|(_, gold): &(_, Vec<&str>)| !gold.is_empty())
        .collect();
    let library = open(&skills)?;
    let snapshot = library.snapshot();
    let figures = |catalog, shown: &[Shown], p50_ms| {
        let mean = |of: fn(&Shown) -> f64| shown.iter().map(of).sum::<f64>() / shown.len().max(1) as f64;
        Figures {
            catalog,
            recall: mean(|shown| shown.recall),
            full: mean(|shown| shown.full as f64),
            tokens: mean(|shown| shown.tokens as f64),
            p50_ms,
            skills: skills.len(),
            tasks: tasks.len(),
            budget: arguments.budget,
        }
    };
    let (shown, p50_ms) = for_tasks(&library, &snapshot, &tasks, arguments.budget)?;
    let mut table = vec![figures("for the task", &shown, Some(p50_ms))];
    for (catalog, (full, tokens)) in [
        ("shortened evenly", shortened_evenly(&skills, arguments.budget)?),
        ("cut by alphabet", cut_by_alphabet(&skills, arguments.budget)?),
    ] {
        let shown = tasks.iter().map(|(_, gold)| Shown::of(&full, gold, tokens));
        table.push(figures(catalog, &shown.collect::<Vec<_>>(), None));
    }
    if arguments.json {
        for figures in &table {
            println!("{}", serde_json::to_string(figures)?);
        }
        return Ok(());
    }
    println!(
        "{} skills, {} of {} tasks, {} tokens\n",
        skills.len(),
        tasks.len(),
        queries.len(),
        arguments.budget
    );
    println!("{:<20} {:>8} {:>10} {:>8} {:>8}", "catalog", "recall", "in full", "tokens", "p50 ms");
    for Figures { catalog, recall, full, tokens, p50_ms, .. } in &table {
        let p50_ms = p50_ms.map(|ms| format!("{ms:.1}")).unwrap_or_default();
        println!("{catalog:<20} {recall:>8.4} {full:>10.1} {tokens:>8.0} {p50_ms:>8}");
    }
    Ok(())
}

/// The skills that one catalog shows.
struct Shown {
    recall: f64,
    full: usize,
    tokens: usize,
}

impl Shown {
    fn of(full: &HashSet<String>, gold: &[&str], tokens: usize) -> Self {
        let found = gold.iter().filter(|name| full.contains(**name)).count();
        Self { recall: found as f64 / gold.len().max(1) as f64, full: full.len(), tokens }
    }
}

/// Returns the skills that are needed and then others, each with a name of its own, at most `most`.
fn library<'a>(pool: &'a [Skill], queries: &[Labelled], most: usize) -> Vec<&'a Skill> {
    let gold: HashSet<&str> = queries.iter().flat_map(|query| &query.gold).map(String::as_str).collect();
    let (needed, others): (Vec<&Skill>, Vec<&Skill>) =
        pool.iter().partition(|skill| gold.contains(skill.path.as_str()));
    let mut names = HashSet::new();
    let distinct = |skill: &&Skill| {
        // A skill without a description has nothing that could be shown in full.
        !skill.document.description.trim().is_empty() && names.insert(skill.document.name.clone())
    };
    needed.into_iter().chain(others).filter(distinct).take(most).collect()
}

/// Opens a library of the skills.
fn open(skills: &[&Skill]) -> Result<Library> {
    let definition = |skill: &&Skill| {
        let (name, description) = (skill.document.name.as_str(), &*skill.document.description);
        let mut definition = SkillDefinition::new(name, description, &*skill.body);
        definition.manifest.tags.clone_from(&skill.document.manifest.tags);
        definition.manifest.trigger_keywords.clone_from(&skill.document.manifest.trigger_keywords);
        definition
    };
    let provider = MemoryProvider::new("pool", skills.iter().map(definition).collect());
    let library = Library::builder().provider(provider).policy(Policy::default());
    block_on(library.searcher(SkillSearch::default()).open()).context("the skills cannot be served")
}

/// Returns the skills that the catalog of each task shows, and the median time in milliseconds.
fn for_tasks(
    library: &Library,
    snapshot: &Arc<Snapshot>,
    tasks: &[(&str, Vec<&str>)],
    budget: usize,
) -> Result<(Vec<Shown>, f64)> {
    // The first search builds the index.
    block_on(library.rank_for_task(snapshot, &Task::new("index"), Visibility::All));
    let (mut times, mut shown) = (Vec::new(), Vec::new());
    for (number, (text, gold)) in tasks.iter().enumerate() {
        let started = Instant::now();
        let mut task = Task::new(*text);
        task.epoch = number as u64;
        let ranking = block_on(library.rank_for_task(snapshot, &task, Visibility::All)).to_catalog();
        let catalog = snapshot.catalog(&options(budget, Some(ranking)))?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        let full = catalog.report.tiers.iter().filter(|skill| skill.tier == Tier::Full);
        let full: HashSet<String> = full.map(|skill| skill.name.clone()).collect();
        shown.push(Shown::of(&full, gold, catalog.tokens()));
    }
    times.sort_by(f64::total_cmp);
    Ok((shown, quantile(&times, 0.5)))
}

fn options(budget: usize, ranking: Option<repertoire_model::catalog::Ranking>) -> CatalogOptions {
    let mut options = CatalogOptions::default();
    (options.budget_tokens, options.ranking) = (Some(budget), ranking);
    options
}

/// Returns the text of a catalog that shows what `description` makes of each description, and its tokens.
fn tokens_of<'a>(skills: &[&'a Skill], description: impl Fn(&'a str) -> &'a str) -> Result<usize> {
    let entry = |skill: &&'a Skill| CatalogEntry {
        name: skill.document.name.as_str(),
        description: description(&skill.document.description),
        location: None,
    };
    let entries: Vec<CatalogEntry<'_>> = skills.iter().map(entry).collect();
    Ok(Tokenizer::default().count(&render(&entries, &CatalogOptions::default())?.text))
}

/// Returns the complete descriptions if each is cut to the same number of characters, the most that fits, and
/// the tokens.
fn shortened_evenly(skills: &[&Skill], budget: usize) -> Result<(HashSet<String>, usize)> {
    let cut = |description: &'_ str, most: usize| {
        description.char_indices().nth(most).map_or(description.len(), |(end, _)| end)
    };
    let tokens = |most: usize| tokens_of(skills, |text| &text[..cut(text, most)]);
    let (mut low, mut high) = (0_usize, 2_048_usize);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if tokens(middle)? <= budget { low = middle } else { high = middle - 1 }
    }
    let is_whole = |skill: &&&Skill| {
        let description = &skill.document.description;
        cut(description, low) == description.len()
    };
    let whole = skills.iter().filter(is_whole).map(|skill| skill.document.name.to_string());
    Ok((whole.collect(), tokens(low)?))
}

/// Returns the skills listed if full descriptions are listed in name order until none fits, and the tokens.
fn cut_by_alphabet(skills: &[&Skill], budget: usize) -> Result<(HashSet<String>, usize)> {
    let mut sorted = skills.to_vec();
    sorted.sort_by_key(|skill| skill.document.name.as_str());
    let (mut low, mut high) = (0, sorted.len().min(budget));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if tokens_of(&sorted[..middle], |text| text)? <= budget { low = middle } else { high = middle - 1 }
    }
    let listed = sorted[..low].iter().map(|skill| skill.document.name.to_string());
    Ok((listed.collect(), tokens_of(&sorted[..low], |text| text)?))
}
