//! `rep search`.

use clap::Args;
use repertoire::{Agent, Entry, SearchRequest, Visibility};
use repertoire_app::view::{FoundSkillView, SearchView};
use repertoire_model::answer::SearchResult;
use repertoire_model::catalog::Tokenizer;
use repertoire_model::tokens::approximate;

use crate::complete::agent_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::standard_input;
use crate::ui::{Progress, Style, Ui, cut, escape};
use crate::wire::{Library, SearchableLibrary, Workspace};

/// The most results that can be requested.
const MAX_RESULTS: i64 = 100;

/// The columns between two words of a result, before its details, and of their labels.
const GAP: usize = 2;
const INDENT: usize = 7;
const LABEL: usize = 7;

/// Finds the skills that a task needs
///
/// Ranks the skills that agents are offered, by the words and the meaning of the query, and tells why each
/// was found and which section of its instructions to read. Any text will do; there is no syntax. See
/// https://github.com/repertoire-rs/repertoire/blob/main/docs/guides/searching.md.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// The task in any words, which need no quotes; - reads it from standard input
    #[arg(value_name = "QUERY", required = true, num_args = 1..)]
    query: Vec<String>,
    /// Show at most this many skills, 1 to 100
    #[arg(short = 'n', long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=MAX_RESULTS))]
    limit: u16,
    /// Only skills with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only skills of this source, as `rep list` names it
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Only skills that this agent of the configuration may see
    #[arg(long, value_name = "NAME", add = agent_names())]
    agent: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &SearchArgs) -> Result<Exit, CliError> {
    let mut request = SearchRequest::new(query(args)?, usize::from(args.limit));
    request.tag = args.tag.as_deref().map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned);
    request.source = args.source.clone();
    let agent = args.agent.as_deref().map(|name| workspace.agent(name)).transpose()?;
    workspace.expect_search()?;
    let searchable = workspace.open_to_search()?;
    let library = &searchable.library;
    if let Some(source) = &request.source {
        expect_source(library, source)?;
    }
    let results = search(workspace, &searchable, &request, agent.as_ref());
    if ui.is_json() {
        let results =
            results.iter().map(|(entry, result)| FoundSkillView::new(result, &entry.source)).collect();
        ui.write_json(&SearchView { query: request.query, results })?;
    } else {
        for (_, result) in &results {
            write(ui, workspace, result)?;
        }
        if results.is_empty() {
            writeln!(ui.err(), "no skill was found")?;
            match request.tag.as_deref().filter(|tag| !is_tagged(library, agent.as_ref(), tag)) {
                Some(tag) => ui.hint(&format!("no skill has the tag `{tag}`"))?,
                None => ui.hint("say it in other words, or run `rep list` to see what there is")?,
            }
        }
    }
    ui.flush()?;
    // The process ends here; freeing a large library piece by piece would only take time.
    std::mem::forget(searchable);
    Ok(Exit::Success)
}

/// Returns the query: the words, or the text of standard input.
fn query(args: &SearchArgs) -> Result<String, CliError> {
    if args.query != ["-"] {
        return Ok(args.query.join(" "));
    }
    standard_input::read_text("query")
}

/// Returns whether models are offered a skill with `tag`, of the skills that the agent may see.
fn is_tagged(library: &Library, agent: Option<&Agent>, tag: &str) -> bool {
    let tag = tag.to_lowercase();
    let mut offered = library.snapshot.entries().iter().filter(|entry| entry.is_offered());
    offered.any(|entry| {
        agent.is_none_or(|agent| agent.sees(entry))
            && entry.document.manifest.tags.iter().any(|other| other.to_lowercase() == tag)
    })
}

fn expect_source(library: &Library, source: &str) -> Result<(), CliError> {
    let labels = || library.places.iter().map(|place| place.root.label.as_str());
    if labels().any(|label| label == source) {
        return Ok(());
    }
    let mut there: Vec<&str> = library.snapshot.entries().iter().map(|entry| &*entry.source).collect();
    there.sort_unstable();
    there.dedup();
    let error = CliError::no(format!("there is no source `{source}`"));
    Err(if there.is_empty() { error } else { error.hint(format!("there are: {}", there.join(", "))) })
}

/// Returns the skills that were found, best first, and keeps the index for the next run.
fn search<'l>(
    workspace: &Workspace,
    searchable: &'l SearchableLibrary,
    request: &SearchRequest,
    agent: Option<&Agent>,
) -> Vec<(&'l Entry, SearchResult)> {
    let SearchableLibrary { library, handle, searcher } = searchable;
    let snapshot = &library.snapshot;
    {
        let progress = Progress::start(&workspace.env, "indexing skills");
        searcher.prepare(&library.registry, snapshot, &|done, of| progress.advance(done, of));
    }
    let visible = agent.map(|agent| snapshot.visible(|entry| agent.sees(entry)));
    let visibility = visible.as_ref().map_or(Visibility::All, Visibility::Of);
    let hits = pollster::block_on(handle.search_reranked(snapshot, request, visibility));
    let price = |text: &str| match workspace.settings.session.catalog.tokenizer {
        Tokenizer::Chars4 => Tokenizer::Chars4.count(text),
        // As in sessions: about how many is enough, and takes no time.
        _ => approximate(text),
    };
    let results = hits.into_iter().map(|hit| {
        let entry = &snapshot.entries()[hit.entry.index()];
        (entry, pollster::block_on(handle.search_result(&request.query, hit, &price)))
    });
    let results = results.collect();
    pollster::block_on(handle.save());
    results
}

/// Writes a result for people: a line with its name, and below it its path, reasons and section.
fn write(ui: &mut Ui, workspace: &Workspace, result: &SearchResult) -> Result<(), CliError> {
    // Every line is cut to the screen, so that the results fit on one.
    let score = result.score.to_string();
    let name = escape(result.name.as_str()).into_owned();
    let weak = if result.is_weak() { "(weak) " } else { "" };
    let room = ui.width().saturating_sub(score.len() + name.len() + weak.len() + 2 * GAP);
    let summary = escape(&result.summary()).into_owned();
    let name = ui.paint(Style::Name, &name);
    writeln!(ui.out(), "{score}  {name}  {weak}{}", cut(&summary, room))?;
    let mut lines = vec![("path", workspace.shown(&result.path)), ("why", result.reasons())];
    if let Some(section) = &result.section {
        let (first, last, tokens) = (section.first_line, section.last_line, section.tokens);
        let file = &result.manifest_file;
        lines.push((
            "section",
            format!("{}, lines {first}-{last} of {file}, ~{tokens} tokens", section.title),
        ));
    }
    let room = ui.width().saturating_sub(INDENT + LABEL + GAP);
    for (label, text) in lines {
        let label = ui.paint(Style::Faint, &format!("{label:<LABEL$}"));
        let text = ui.shown(&text);
        writeln!(ui.out(), "{:INDENT$}{label}  {}", "", cut(&text, room))?;
    }
    Ok(())
}
