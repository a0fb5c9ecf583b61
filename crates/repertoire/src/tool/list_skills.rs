//! `list_skills`: the skills there are, and which of them are loaded.

use std::collections::HashSet;
use std::sync::Arc;

use repertoire_model::answer::{Answer, SkillList, SkillListItem};
use serde_json::Value;

use super::arguments::{Arguments, Parameter};
use super::builtin::{Builtin, DefinitionContext};
use super::definition::{object, text};
use super::reply::CallResult;
use crate::event::EventKind;
use crate::future::BoxFuture;
use crate::registry::{Entry, Snapshot};
use crate::searcher::{SearchHit, SearchRequest};
use crate::session::Session;

const MAX_LISTED: usize = 100;
/// The most skills that are listed because they are about the query, though none of their lines holds it.
const MAX_RANKED: usize = 10;
/// The lowest score of such a skill, as a share of the best score.
const LEAST_SHARE: f32 = 0.5;

const QUERY: Parameter<'static> = Parameter { name: "query", aliases: &[] };

pub(super) const TOOL: Builtin =
    Builtin { canonical: "list_skills", kind: EventKind::SkillsListed, define, call };

fn define(_: &DefinitionContext<'_>) -> (String, Value) {
    let query = text("Only skills with this in their name, tags or description, or that are about it");
    ("List the available skills with their descriptions.".to_owned(), object(vec![("query", query)], &[]))
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, CallResult> {
    Box::pin(async move {
        arguments.only(&[QUERY])?;
        let query = arguments.query(&QUERY)?.map(str::trim).filter(|query| !query.is_empty());
        Ok(list(session, query).await.into())
    })
}

/// Lists the skills that hold `query`, by name, and behind them the skills that are about it, best first,
/// unless it is one word that some hold.
async fn list(session: &Session, query: Option<&str>) -> Answer {
    let folded = query.map(str::to_lowercase);
    let snapshot = session.registry().snapshot();
    let holds = |entry: &&Entry| folded.as_deref().is_none_or(|query| matches(entry, query));
    let mut entries: Vec<&Entry> = session.lookup().offered(&snapshot).filter(holds).collect();
    let more = entries.len().saturating_sub(MAX_LISTED);
    entries.truncate(MAX_LISTED);
    // One word that some skill contains is a filter; several words are a search.
    let is_filter = |query: &str| !entries.is_empty() && query.split_whitespace().nth(1).is_none();
    if let Some(query) = query.filter(|query| entries.len() < MAX_LISTED && !is_filter(query)) {
        entries.extend(about(session, &snapshot, query, &entries).await);
    }
    let active = session.context().loaded();
    let sources = session.lookup().listed_sources(&snapshot, &entries);
    let listed = |(entry, source): (&&Entry, Option<String>)| SkillListItem {
        name: entry.name().clone(),
        description: entry.document.description.to_string(),
        tags: entry.document.manifest.tags.clone(),
        loaded: active.contains(entry.name()),
        source,
    };
    let skills = entries.iter().zip(sources).map(listed).collect();
    Answer::Skills(SkillList { query: query.map(super::quoted), skills, more })
}

/// Returns the skills that are about `query` and none of `listed`, best first, as many as there is room for.
async fn about<'s>(
    session: &Session,
    snapshot: &'s Arc<Snapshot>,
    query: &str,
    listed: &[&Entry],
) -> Vec<&'s Entry> {
    let known: HashSet<usize> = listed.iter().filter_map(|entry| snapshot.index_of(entry)).collect();
    let request = SearchRequest::new(query, known.len() + MAX_RANKED);
    let hits = session.search(snapshot, &request).await;
    let least = hits.first().map_or(0.0, |best| best.score * LEAST_SHARE);
    // Of skills that share no word with it, some are always the nearest; a list is not a place for them.
    let is_about = |hit: &&SearchHit| !hit.words.is_empty() && hit.score >= least;
    let new = hits.iter().filter(|hit| is_about(hit) && !known.contains(&hit.entry.index()));
    let room = MAX_RANKED.min(MAX_LISTED - listed.len());
    new.take(room).map(|hit| &snapshot.entries()[hit.entry.index()]).collect()
}

/// Returns whether the name, a tag, a keyword or the description of the skill holds the lower-case `query`.
fn matches(entry: &Entry, query: &str) -> bool {
    let manifest = &entry.document.manifest;
    let words = manifest.tags.iter().chain(&manifest.trigger_keywords).map(String::as_str);
    let own = [entry.name().as_str(), &*entry.document.description];
    own.into_iter().chain(words).any(|word| word.to_lowercase().contains(query))
}
