//! `list_skill_files`: the files of a skill.

use repertoire_model::answer::{Answer, FaultKind, FileList, ListedFile};
use repertoire_model::{FileEntry, SkillPath};
use serde_json::Value;

use super::arguments::{Arguments, Parameter, quoted, recorded_path, tidy};
use super::builtin::{Builtin, DefinitionContext};
use super::definition::{object, text};
use super::names::{DIRECTORY_ALIASES, SKILL_ALIASES};
use super::reply::{CallFailure, CallResult, EventDetails, ToolReply};
use crate::event::EventKind;
use crate::future::BoxFuture;
use crate::registry::Entry;
use crate::session::Session;

const MAX_LISTED: usize = 500;

const DIRECTORY: Parameter<'static> = Parameter { name: "directory", aliases: DIRECTORY_ALIASES };

pub(super) const TOOL: Builtin =
    Builtin { canonical: "list_skill_files", kind: EventKind::FilesListed, define, call };

fn define(context: &DefinitionContext<'_>) -> (String, Value) {
    let skill = context.options.tools.arguments.skill.as_str();
    let properties = vec![
        (skill, text("Skill name")),
        (DIRECTORY.name, text("Only files below this directory of the skill")),
    ];
    ("List the files of a skill, not of the project.".to_owned(), object(properties, &[skill]))
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, CallResult> {
    Box::pin(async move {
        let skill = Parameter { name: &session.options().tools.arguments.skill, aliases: SKILL_ALIASES };
        arguments.only(&[skill, DIRECTORY])?;
        let (asked, directory) = (arguments.skill(&skill)?, arguments.text(&DIRECTORY)?);
        let entry = session.lookup().find(asked).await?;
        let details = EventDetails { file: directory.and_then(recorded), ..EventDetails::of(&entry) };
        match list(session, &entry, directory).await {
            Ok(list) => Ok(ToolReply { answer: Answer::Files(list), details }),
            Err(kind) => Err(CallFailure::of(asked, kind, details)),
        }
    })
}

/// Returns the path recorded for the directory that a model calls `written`; `None` for the skill itself.
fn recorded(written: &str) -> Option<String> {
    let path = recorded_path(written.trim_end_matches('/'));
    (!matches!(path.as_str(), "" | ".")).then_some(path)
}

/// Returns the files of the skill, or those below `directory`.
pub(super) async fn list(
    session: &Session,
    entry: &Entry,
    directory: Option<&str>,
) -> Result<FileList, FaultKind> {
    let directory = directory.map(tidy);
    let directory = directory.as_deref().map(|written| written.trim_end_matches('/'));
    let directory = directory.filter(|written| !matches!(*written, "" | "."));
    let directory = match directory.map(SkillPath::new) {
        None => None,
        Some(Ok(directory)) if directory.is_hidden() => {
            return Err(FaultKind::Forbidden { path: directory.to_string() });
        }
        Some(Ok(directory)) => Some(directory),
        Some(Err(fault)) => {
            let path = quoted(directory.unwrap_or_default());
            return Err(FaultKind::BadPath { path, reason: fault.to_string() });
        }
    };
    let listing = session
        .registry()
        .files(entry)
        .await
        .map_err(|error| session.lookup().kind_of(&error, entry.name().as_str()))?;
    let chosen: Vec<&FileEntry> = match &directory {
        None => listing.files.iter().collect(),
        Some(directory) => below(&listing.files, directory)?,
    };
    let listed = &chosen[..chosen.len().min(MAX_LISTED)];
    let mut descriptions = session.registry().describe_files(entry, listed).await;
    let file = |file: &&FileEntry| {
        let description = descriptions.remove(file.path.as_str());
        ListedFile { path: file.path.to_string(), size: file.size, kind: file.kind, description }
    };
    Ok(FileList {
        skill: entry.name().clone(),
        directory: directory.map(|directory| directory.to_string()),
        files: listed.iter().map(file).collect(),
        more: chosen.len().saturating_sub(MAX_LISTED),
        source: Some(entry.told_source()),
    })
}

fn below<'f>(files: &'f [FileEntry], directory: &SkillPath) -> Result<Vec<&'f FileEntry>, FaultKind> {
    if files.iter().any(|file| file.path == *directory) {
        return Err(FaultKind::NotDirectory { path: directory.to_string() });
    }
    let is_below = |file: &&FileEntry| {
        file.path.as_str().strip_prefix(directory.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let found: Vec<&FileEntry> = files.iter().filter(is_below).collect();
    if found.is_empty() { Err(FaultKind::NoDirectory { path: directory.to_string() }) } else { Ok(found) }
}
