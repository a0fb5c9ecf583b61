//! `rep catalog`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use repertoire::tokens::TokenMemory;
use repertoire::{Agent, binding};
use repertoire_model::catalog::{Catalog, CatalogError, CatalogOptions, Format, Report, Tier};
use serde::Serialize;

use crate::cli::{agent_names, skill_names};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Progress, Style, Ui, escape};
use crate::wire::{Context, Library};

/// Prints the catalog to put before an agent
///
/// Exactly the text and nothing else goes to the output: it is the same for the same skills and budget, whatever the
/// machine, except in the format compat, which tells where each skill lies. Skills whose author kept them for people (disable-model-invocation) are left out.
#[derive(Debug, Args)]
pub(crate) struct CatalogArgs {
    /// The shape of the catalog
    #[arg(long, value_name = "FORMAT", value_parser = Format::ALL.map(Format::as_str))]
    format: Option<String>,
    /// The most tokens the catalog may have; 0 for any number
    ///
    /// Over it, descriptions are cut to their first sentence, then to the name; no name is ever left out.
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,
    /// Put this skill first and mark it as the primary one
    #[arg(long, value_name = "NAME", add = skill_names())]
    highlight: Option<String>,
    /// Show what this agent of the configuration may see
    #[arg(long, value_name = "NAME", add = agent_names())]
    agent: Option<String>,
    /// Mark this skill as loaded; may be given several times
    ///
    /// A catalog that changes defeats prompt caching, so this needs `catalog.show_loaded = true`.
    #[arg(long, value_name = "NAME", add = skill_names())]
    loaded: Vec<String>,
    /// Tell what the budget did, beside the catalog
    #[arg(long)]
    report: bool,
    /// Write the catalog to this file; with --json, the JSON
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct CatalogJson<'a> {
    text: &'a str,
    format: &'static str,
    tokenizer: &'static str,
    tokens: usize,
    budget: Option<usize>,
    over_budget: bool,
    shortened: usize,
    clipped: usize,
    skills: Vec<TierJson<'a>>,
}

#[derive(Serialize)]
struct TierJson<'a> {
    name: &'a str,
    shown: &'static str,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &CatalogArgs) -> Result<Exit, CliError> {
    let options = options(context, args)?;
    let library = context.open()?;
    let catalog = match &args.agent {
        Some(name) => render_for(&library, &context.agent(name)?, &options)?,
        None => render(&library, &options)?,
    };
    if ui.is_json() {
        let tokens = exact_tokens(context, &catalog, &options);
        let answer = CatalogJson {
            text: &catalog.text,
            format: options.format.as_str(),
            tokenizer: options.tokenizer.name(),
            tokens,
            budget: options.budget_tokens,
            over_budget: catalog.report.over_budget,
            shortened: catalog.report.shortened(),
            clipped: catalog.report.clipped,
            skills: catalog
                .report
                .tiers
                .iter()
                .map(|skill| TierJson { name: &skill.name, shown: skill.tier.as_str() })
                .collect(),
        };
        match &args.output {
            Some(path) => write(path, &(serde_json::to_string_pretty(&answer)? + "\n"))?,
            None => ui.write_json(&answer)?,
        }
        return Ok(Exit::Success);
    }
    match &args.output {
        Some(path) => write(path, &catalog.text)?,
        None => ui.write_untrusted(catalog.text.as_bytes())?,
    }
    ui.flush()?;
    if catalog.report.over_budget && !args.report {
        warn_over_budget(ui)?;
    }
    if args.report {
        report(ui, context, &catalog, &options)?;
    }
    Ok(Exit::Success)
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    fs::write(path, text).map_err(|error| CliError::io("write", path, error))
}

/// Returns the catalog of `library`.
pub(crate) fn render(library: &Library, options: &CatalogOptions) -> Result<Catalog, CliError> {
    highlighted(library.snapshot.catalog(options), options)
}

/// Returns the catalog of what `agent` may see of `library`.
pub(crate) fn render_for(
    library: &Library,
    agent: &Agent,
    options: &CatalogOptions,
) -> Result<Catalog, CliError> {
    binding::check(&library.snapshot, agent)?;
    highlighted(library.snapshot.catalog_for(agent, options), options)
}

/// Returns `catalog`, unless it is an error or lacks the skill to highlight, which an empty one is not asked for.
fn highlighted(
    catalog: Result<Catalog, CatalogError>,
    options: &CatalogOptions,
) -> Result<Catalog, CliError> {
    let catalog = catalog.map_err(told)?;
    match &options.highlight {
        Some(name) if catalog.report.tiers.is_empty() => {
            Err(told(CatalogError::UnknownHighlight { name: name.clone(), nearest: None }))
        }
        _ => Ok(catalog),
    }
}

fn told(error: CatalogError) -> CliError {
    match &error {
        CatalogError::UnknownHighlight { name, nearest } => {
            let error = CliError::no(format!("there is no skill `{name}` in the catalog to highlight"));
            match nearest {
                Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
                None => error.hint("run `rep list` to see the skills"),
            }
        }
        _ => CliError::no(error.to_string()),
    }
}

/// Returns the choices of the configuration for a catalog.
pub(crate) fn configured(context: &Context) -> CatalogOptions {
    let settings = &context.settings;
    CatalogOptions {
        format: settings.catalog_format,
        budget_tokens: Some(settings.catalog_budget).filter(|budget| *budget > 0),
        over_budget: settings.catalog_over_budget,
        tokenizer: settings.estimator,
        tool_name: settings.session.names.load.clone(),
        name_argument: settings.session.arguments.name.clone(),
        file_tool: Some(settings.session.names.read_file.clone()),
        search_tool: Some(settings.session.names.search.clone()),
        ..CatalogOptions::default()
    }
}

fn options(context: &Context, args: &CatalogArgs) -> Result<CatalogOptions, CliError> {
    if !args.loaded.is_empty() && !context.settings.catalog_show_loaded {
        return Err(CliError::usage("--loaded needs `catalog.show_loaded = true` in the configuration")
            .hint("marking loaded skills changes the catalog and so defeats prompt caching"));
    }
    let mut options = configured(context);
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

pub(crate) fn exact_tokens(context: &Context, catalog: &Catalog, options: &CatalogOptions) -> usize {
    let _progress = Progress::start(&context.env, "counting tokens");
    let memory = TokenMemory::new(context.cache_directory());
    catalog.report.tokens.unwrap_or_else(|| memory.count(options.tokenizer, &catalog.text))
}

fn report(
    ui: &mut Ui,
    context: &Context,
    catalog: &Catalog,
    options: &CatalogOptions,
) -> Result<(), CliError> {
    let Report { tiers, over_budget, clipped, .. } = &catalog.report;
    let tokens = exact_tokens(context, catalog, options);
    let of = options.budget_tokens.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let skills = tiers.len();
    let line = format!("{skills} skills, {tokens}{of} tokens ({})", options.tokenizer.name());
    let line = ui.paint_err(Style::Heading, &line);
    writeln!(ui.err(), "{line}")?;
    for tier in [Tier::FirstSentence, Tier::NameOnly, Tier::Omitted] {
        let names: Vec<&str> =
            tiers.iter().filter(|skill| skill.tier == tier).map(|skill| skill.name.as_str()).collect();
        if !names.is_empty() {
            let what = match tier {
                Tier::FirstSentence => "first sentence only",
                Tier::NameOnly => "name only",
                _ => "left out",
            };
            writeln!(ui.err(), "{what} ({}): {}", names.len(), escape(&names.join(", ")))?;
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

fn warn_over_budget(ui: &mut Ui) -> Result<(), CliError> {
    let word = ui.paint_err(Style::Warning, "warning:");
    writeln!(ui.err(), "{word} the catalog is over its budget even so")?;
    Ok(())
}
