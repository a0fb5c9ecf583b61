//! `list_skills`: the skills there are, and which of them are loaded.

use repertoire_model::answer::{Answer, ListedSkill, SkillList};
use serde_json::Value;

use super::arguments::{Arguments, Parameter};
use super::definition::Answered;
use super::table::{Builtin, View, object, text};
use crate::event::EventKind;
use crate::provider::BoxFuture;
use crate::registry::Entry;
use crate::session::Session;

/// The most skills that one answer lists.
const MAX_LISTED: usize = 100;

const QUERY: Parameter<'static> = Parameter { name: "query", aliases: &[] };

pub(super) const TOOL: Builtin = Builtin {
    canonical: "list_skills",
    name: |names| &names.list,
    kind: EventKind::SkillsListed,
    define,
    call,
};

fn define(_: &View<'_>) -> (String, Value) {
    let query = text("Only skills with this in their name, tags or description");
    ("List the available skills with their descriptions.".to_owned(), object(vec![("query", query)], &[]))
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, Answered> {
    Box::pin(async move {
        match arguments.only(&[QUERY]).and_then(|()| arguments.text(&QUERY)) {
            Ok(query) => list(session, query.map(str::trim).filter(|query| !query.is_empty())).into(),
            Err(kind) => session.fault(TOOL.canonical, None, kind).into(),
        }
    })
}

fn list(session: &Session, query: Option<&str>) -> Answer {
    let folded = query.map(str::to_lowercase);
    let snapshot = session.registry().snapshot();
    let active = session.active();
    let mut skills = Vec::new();
    let mut more = 0;
    for entry in session.offered(&snapshot) {
        if !folded.as_deref().is_none_or(|query| matches(entry, query)) {
            continue;
        }
        if skills.len() == MAX_LISTED {
            more += 1;
            continue;
        }
        skills.push(ListedSkill {
            name: entry.name().clone(),
            description: entry.document.description.to_string(),
            tags: entry.document.manifest.tags.clone(),
            loaded: active.contains(entry.name()),
        });
    }
    Answer::Skills(SkillList { query: query.map(super::quoted), skills, more })
}

/// Returns whether the name, a tag, a keyword or the description of the skill holds `query`, which is in lower case.
fn matches(entry: &Entry, query: &str) -> bool {
    let manifest = &entry.document.manifest;
    let words = manifest.tags.iter().chain(&manifest.trigger_keywords).map(String::as_str);
    let own = [entry.name().as_str(), &*entry.document.description];
    own.into_iter().chain(words).any(|word| word.to_lowercase().contains(query))
}
