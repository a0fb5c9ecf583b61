//! `load_skill`: a skill's instructions, or an acknowledgement that they are in the context already.

use repertoire_model::answer::{Answer, AvailableFiles, BucketText, Fault, FaultKind};
use repertoire_model::{Digest, FileKind, LineRange, SkillPath};
use serde_json::{Value, json};

use super::arguments::{Arguments, Parameter, quoted, recorded_path, tidy};
use super::builtin::{Builtin, DefinitionContext, skill_name};
use super::definition::{object, text};
use super::names::{END_ALIASES, PATH_ALIASES, SKILL_ALIASES, START_ALIASES};
use super::read_skill_file;
use super::reply::{CallResult, EventDetails, ToolReply};
use super::surface::FILE_ARGUMENT;
use crate::event::EventKind;
use crate::future::BoxFuture;
use crate::registry::Entry;
use crate::session::{Account, Session};

const FORCE: Parameter<'static> = Parameter { name: "force", aliases: &[] };

/// The arguments that name a file in the directory of its kind.
const BUCKETS: [(FileKind, Parameter<'static>); 3] = [
    (FileKind::Reference, Parameter { name: "reference", aliases: &[] }),
    (FileKind::Script, Parameter { name: "script", aliases: &[] }),
    (FileKind::Asset, Parameter { name: "asset", aliases: &[] }),
];

pub(crate) const TOOL: Builtin =
    Builtin { canonical: "load_skill", kind: EventKind::SkillLoaded, define, call };

fn define(context: &DefinitionContext<'_>) -> (String, Value) {
    let name = context.options.tools.arguments.name.as_str();
    let mut properties = vec![(name, skill_name(context))];
    if context.options.tools.offered.load_reads_files() {
        let description = "Path of a file of the skill to return instead, such as references/guide.md";
        properties.push((FILE_ARGUMENT, text(description)));
    }
    if context.options.tools.bucket_arguments {
        properties.push(("reference", text("Return this file of references/ instead")));
        properties.push(("script", text("Return the text of this file of scripts/ instead; nothing is run")));
        properties.push(("asset", text("Return this file of assets/ instead")));
    }
    if context.options.loading.account == Account::Kept {
        properties.push((
            FORCE.name,
            json!({"type": "boolean", "description": "Return the instructions even if they were returned before"}),
        ));
    }
    let description = "Load the instructions of a skill by name.";
    (description.to_owned(), object(properties, &[name]))
}

struct LoadArguments<'a> {
    skill: &'a str,
    files: Vec<(FileKind, &'a str)>,
    /// The arguments for a file by its path, and its lines.
    file: Option<(&'a str, LineRange)>,
    force: bool,
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, CallResult> {
    Box::pin(async move {
        let asked = match parse(session, arguments) {
            Ok(asked) => asked,
            Err(kind) => return Ok(misused(session, arguments, kind).await.into()),
        };
        let entry = session.lookup().find(asked.skill).await?;
        let mut details = EventDetails::of(&entry);
        if let Some((path, lines)) = asked.file {
            return read_skill_file::reply(session, &entry, asked.skill, path, lines).await;
        }
        let answer = match asked.files.as_slice() {
            files @ [_, ..] => bucket(session, &entry, files, &mut details).await,
            [] => session.loads().load(&entry, asked.force).await.map(|loaded| {
                details.digest = Some(loaded.digest);
                details.tokens = loaded.tokens;
                details.more = loaded.required;
                loaded.answer
            }),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(kind) => {
                let fault = session.fault(TOOL.canonical, Some(asked.skill), kind);
                about(fault, &entry, session.registry().resources(&entry).await.unwrap_or_default())
            }
        };
        Ok(ToolReply { answer, details })
    })
}

/// Answers a call with wrong arguments; lists the files of the skill if that is known.
async fn misused(session: &Session, arguments: Arguments<'_>, kind: FaultKind) -> Answer {
    let skill = arguments.skill(&name(session)).ok();
    let answer = session.fault(TOOL.canonical, skill, kind);
    let Some(skill) = skill else { return answer };
    match session.lookup().find(skill).await {
        Ok(entry) => about(answer, &entry, session.registry().resources(&entry).await.unwrap_or_default()),
        Err(_) => answer,
    }
}

/// Returns `answer`, if it is a fault, with the source of the skill and the files that it has.
fn about(answer: Answer, entry: &Entry, available: AvailableFiles) -> Answer {
    let Answer::Fault(fault) = answer else { return answer };
    Answer::Fault(Fault { source: Some(entry.told_source()), available: Some(Box::new(available)), ..fault })
}

fn name(session: &Session) -> Parameter<'_> {
    Parameter { name: &session.options().tools.arguments.name, aliases: SKILL_ALIASES }
}

fn parse<'a>(session: &Session, arguments: Arguments<'a>) -> Result<LoadArguments<'a>, FaultKind> {
    let options = session.options();
    let name = name(session);
    let mut parameters = vec![name];
    // Without an account of the context the argument is not documented, but it does no harm.
    if options.loading.account == Account::Kept || arguments.is_given(&FORCE) {
        parameters.push(FORCE);
    }
    if options.tools.bucket_arguments {
        parameters.extend(BUCKETS.map(|(_, parameter)| parameter));
    }
    let names = &options.tools.arguments;
    let file = Parameter { name: FILE_ARGUMENT, aliases: PATH_ALIASES };
    let start = Parameter { name: &names.start_line, aliases: START_ALIASES };
    let end = Parameter { name: &names.end_line, aliases: END_ALIASES };
    if options.tools.offered.load_reads_files() {
        parameters.extend([file, start, end]);
    }
    arguments.only(&parameters)?;
    let skill = arguments.skill(&name)?;
    // Some models fill in every argument.
    let file = match arguments.text(&file)?.filter(|file| !file.trim().is_empty()) {
        Some(file) if options.tools.offered.load_reads_files() => {
            Some((file, read_skill_file::lines(&arguments, &start, &end)?))
        }
        _ => None,
    };
    let mut files = Vec::new();
    for (kind, parameter) in &BUCKETS {
        let written = arguments.text(parameter)?.filter(|_| options.tools.bucket_arguments);
        files.extend(written.map(|written| (*kind, written)));
    }
    Ok(LoadArguments { skill, files, file, force: arguments.switch(&FORCE)? })
}

/// Returns the files that were requested by their kinds, all of them or none.
async fn bucket(
    session: &Session,
    entry: &Entry,
    asked: &[(FileKind, &str)],
    details: &mut EventDetails,
) -> Result<Answer, FaultKind> {
    let mut files = Vec::with_capacity(asked.len());
    for (kind, written) in asked {
        let path = path_of(*kind, written);
        details.file = Some(recorded_path(&path));
        // The problem of the file as it was given is a better message than that of the file in its directory.
        if let Err(fault) = SkillPath::new(&tidy(written)) {
            return Err(FaultKind::BadPath { path: quoted(written), reason: fault.to_string() });
        }
        files.push((*kind, read_skill_file::read(session, entry, &path, LineRange::default()).await?));
    }
    let mut parts = files.iter().map(|(_, file)| EventDetails {
        file: Some(file.path.to_string()),
        tokens: session.loads().price(&file.text),
        digest: Some(Digest::of(file.text.as_bytes())),
        bytes: file.text.len(),
        ..details.clone()
    });
    if let Some(first) = parts.next() {
        let more = parts.collect();
        *details = EventDetails { more, ..first };
    }
    Ok(Answer::Bucket(Box::new(BucketText {
        skill: entry.name().clone(),
        version: entry.document.manifest.version.clone(),
        files,
        available: session.registry().resources(entry).await.unwrap_or_default(),
    })))
}

/// Returns the path of the file of `kind` that a model calls `written`.
fn path_of(kind: FileKind, written: &str) -> String {
    let directory = kind.directory().unwrap_or_default();
    let file = tidy(written);
    // `references/a.md` includes the directory already.
    let has_directory = file.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    if has_directory { file.into_owned() } else { format!("{directory}/{file}") }
}
