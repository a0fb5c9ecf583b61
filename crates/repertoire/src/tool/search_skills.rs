//! `search_skills`: the skills that a task needs, best first.

use repertoire_model::answer::{Answer, FaultKind, SearchResult, SearchResults};
use serde_json::{Value, json};

use super::arguments::{Arguments, Parameter, quoted};
use super::builtin::{Builtin, DefinitionContext};
use super::definition::{object, text};
use super::reply::{CallResult, EventDetails, ToolReply};
use crate::Entry;
use crate::event::EventKind;
use crate::future::BoxFuture;
use crate::searcher::SearchRequest;
use crate::session::Session;

/// The default number of skills of an answer.
const DEFAULT_LIMIT: usize = 5;
/// The most skills of an answer, even if the model requests more.
const MAX_LIMIT: usize = 20;

const QUERY: Parameter<'static> = Parameter { name: "query", aliases: &[] };
const LIMIT: Parameter<'static> = Parameter { name: "limit", aliases: &[] };
const TAG: Parameter<'static> = Parameter { name: "tag", aliases: &[] };

pub(super) const TOOL: Builtin =
    Builtin { canonical: "search_skills", kind: EventKind::SkillsSearched, define, call };

fn define(_: &DefinitionContext<'_>) -> (String, Value) {
    let limit = json!({
        "type": "integer",
        "description": "How many skills at most",
        "minimum": 1,
        "maximum": MAX_LIMIT,
        "default": DEFAULT_LIMIT,
    });
    let properties = vec![
        (QUERY.name, text("The task in your own words; there is no syntax")),
        (LIMIT.name, limit),
        (TAG.name, text("Only skills with this tag")),
    ];
    let description = "Find the skills that a task needs, best first, by words and by meaning.";
    (description.to_owned(), object(properties, &[QUERY.name]))
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, CallResult> {
    Box::pin(async move { Ok(search(session, request(&arguments)?).await) })
}

fn request(arguments: &Arguments<'_>) -> Result<SearchRequest, FaultKind> {
    arguments.only(&[QUERY, LIMIT, TAG])?;
    let query = arguments.query(&QUERY)?;
    let query = query.ok_or_else(|| FaultKind::MissingArgument { name: QUERY.name.to_owned() })?;
    let limit = arguments.count(&LIMIT)?.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
    let tag = arguments.text(&TAG)?.map(str::trim).filter(|tag| !tag.is_empty());
    Ok(SearchRequest { tag: tag.map(str::to_owned), ..SearchRequest::new(query, limit) })
}

async fn search(session: &Session, mut request: SearchRequest) -> ToolReply {
    let snapshot = session.registry().snapshot();
    // Models make tags up; one that no skill has would hide every skill.
    let is_known = session.lookup().offered(&snapshot).any(|entry| request.admits(entry));
    let ignored_tag = if is_known { None } else { request.tag.take().as_deref().map(quoted) };
    let hits = session.lookup().search_reranked(&snapshot, &request).await;
    let active = session.context().loaded();
    let price = |text: &str| session.loads().price(text);
    let entries: Vec<&Entry> = hits.iter().map(|hit| &*hit.entry).collect();
    let sources = session.lookup().listed_sources(&snapshot, &entries);
    let mut results = Vec::with_capacity(hits.len());
    for (hit, source) in hits.into_iter().zip(sources) {
        let result = session.library().search_result(&request.query, hit, &price).await;
        results.push(SearchResult { loaded: active.contains(&result.name), source, ..result });
    }
    let query = quoted(request.query.trim());
    let details = EventDetails {
        query: Some(query.clone()),
        results: Some(results.len() as u64),
        ..EventDetails::default()
    };
    let tag = request.tag.as_deref().map(quoted);
    let shows_paths = session.options().loading.show_location;
    let results = SearchResults { query, tag, ignored_tag, results, shows_paths };
    ToolReply { answer: Answer::Results(results), details }
}
