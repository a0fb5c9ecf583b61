//! `load_skill`: a skill's instructions, or an acknowledgement that they are in the context already.

use std::sync::Arc;

use repertoire_model::answer::{Acknowledged, Answer, BucketText, FaultKind, Loaded, LoadedSkill, Occasion};
use repertoire_model::ledger::{Decision, Presence};
use repertoire_model::policy::ResourceListing;
use repertoire_model::{Digest, FileKind, LineRange, Severity, SkillPath, Standing, outline};
use serde_json::{Value, json};

use super::arguments::{Arguments, Parameter, quoted};
use super::definition::{About, Answered};
use super::names::SKILL_ALIASES;
use super::table::{Builtin, View, object, skill_name, text};
use super::{read_skill_file, requires};
use crate::event::EventKind;
use crate::provider::{BoxFuture, OpenedSkill};
use crate::registry::{Entry, Resources};
use crate::session::{Remembered, Session};

const FORCE: Parameter<'static> = Parameter { name: "force", aliases: &[] };

/// The arguments that name a file in the directory of its kind.
const BUCKETS: [(FileKind, Parameter<'static>); 3] = [
    (FileKind::Reference, Parameter { name: "reference", aliases: &[] }),
    (FileKind::Script, Parameter { name: "script", aliases: &[] }),
    (FileKind::Asset, Parameter { name: "asset", aliases: &[] }),
];

pub(super) const TOOL: Builtin = Builtin {
    canonical: "load_skill",
    name: |names| &names.load,
    kind: EventKind::SkillLoaded,
    define,
    call,
};

fn define(view: &View<'_>) -> (String, Value) {
    let name = view.options.arguments.name.as_str();
    let mut properties = vec![(name, skill_name(view))];
    if view.options.bucket_arguments {
        properties.push(("reference", text("Return this file of references/ instead")));
        properties.push(("script", text("Return the text of this file of scripts/ instead; nothing is run")));
        properties.push(("asset", text("Return this file of assets/ instead")));
    }
    properties.push((
        FORCE.name,
        json!({"type": "boolean", "description": "Return the instructions even if they were returned before"}),
    ));
    let description = "Load the instructions of a skill by name. Nothing is executed.";
    (description.to_owned(), object(properties, &[name]))
}

/// What a call asks for.
struct Asked<'a> {
    skill: &'a str,
    file: Option<(FileKind, &'a str)>,
    force: bool,
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, Answered> {
    Box::pin(async move {
        let asked = match asked(session, arguments) {
            Ok(asked) => asked,
            Err(kind) => return session.fault(TOOL.canonical, None, kind).into(),
        };
        let entry = match session.find(asked.skill).await {
            Ok(entry) => entry,
            Err(missed) => return missed.answered(session, TOOL.canonical, asked.skill),
        };
        let about = About {
            skill: Some(entry.name().to_string()),
            source: Some(entry.source.clone()),
            ..About::default()
        };
        let outcome = match asked.file {
            Some((kind, file)) => bucket(session, &entry, kind, file, about).await,
            None => load(session, &entry, asked.force, about).await,
        };
        outcome.unwrap_or_else(|(kind, about)| {
            let answer = session.fault(TOOL.canonical, Some(asked.skill), kind);
            Answered { answer, about }
        })
    })
}

fn asked<'a>(session: &Session, arguments: Arguments<'a>) -> Result<Asked<'a>, FaultKind> {
    let options = session.options();
    let name = Parameter { name: &options.arguments.name, aliases: SKILL_ALIASES };
    let mut parameters = vec![name, FORCE];
    if options.bucket_arguments {
        parameters.extend(BUCKETS.map(|(_, parameter)| parameter));
    }
    arguments.only(&parameters)?;
    let skill = arguments.skill(&name)?;
    let mut file = None;
    for (kind, parameter) in &BUCKETS {
        let Some(written) = arguments.text(parameter)?.filter(|_| options.bucket_arguments) else { continue };
        if file.is_some() {
            let expected = "to be given alone: one file a call".to_owned();
            return Err(FaultKind::BadArgument { name: parameter.name.to_owned(), expected });
        }
        file = Some((*kind, written));
    }
    Ok(Asked { skill, file, force: arguments.switch(&FORCE)? })
}

/// Returns a file that was asked for by its kind.
async fn bucket(
    session: &Session,
    entry: &Entry,
    kind: FileKind,
    written: &str,
    mut about: About,
) -> Result<Answered, (FaultKind, About)> {
    about.file = Some(quoted(written));
    let directory = kind.directory().unwrap_or_default();
    // `references/a.md` means what it says.
    let has_directory = written.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    let path = if has_directory { written.to_owned() } else { format!("{directory}/{written}") };
    // What is wrong with the file as it was given says more than what is wrong with it in its directory.
    if let Err(fault) = SkillPath::new(written) {
        return Err((FaultKind::BadPath { path: quoted(written), reason: fault.to_string() }, about));
    }
    let file = match read_skill_file::read(session, entry, &path, LineRange::default()).await {
        Ok(file) => file,
        Err(kind) => return Err((kind, about)),
    };
    about.tokens = session.price(&file.text);
    about.digest = Some(Digest::of(file.text.as_bytes()));
    let Resources { references, scripts, assets } =
        session.registry().resources(entry).await.unwrap_or_default();
    let answer = Answer::Bucket(Box::new(BucketText { kind, file, references, scripts, assets }));
    Ok(Answered { answer, about })
}

/// Returns the skill's instructions, or the acknowledgement that they are in the context.
async fn load(
    session: &Session,
    entry: &Entry,
    force: bool,
    mut about: About,
) -> Result<Answered, (FaultKind, About)> {
    if let Some((turn, remembered)) = session.unchanged(entry, force) {
        about.digest = Some(remembered.digest);
        return Ok(Answered { answer: acknowledged(entry, turn, &remembered), about });
    }
    let opened = match open(session, entry).await {
        Ok(opened) => opened,
        Err(kind) => return Err((kind, about)),
    };
    let skill = loaded_skill(session, entry, &opened);
    about.digest = Some(skill.digest);
    let remembered = Arc::new(Remembered::of(entry, &skill, opened.mark.clone()));
    let presence = match session.settle(entry, Arc::clone(&remembered), force) {
        Decision::Acknowledge { turn, .. } => {
            return Ok(Answered { answer: acknowledged(entry, turn, &remembered), about });
        }
        Decision::Give(presence) => presence,
    };
    about.tokens = skill.tokens;
    let required = requires::of(session, entry, &opened.skill.document.manifest.requires).await;
    about.tokens += required.loaded.iter().map(|skill| skill.tokens).sum::<usize>();
    let occasion = occasion(presence, force);
    let (first, notes) = (required.loaded, required.notes);
    Ok(Answered { answer: Answer::Loaded(Box::new(Loaded { first, skill, occasion, notes })), about })
}

/// Returns the skill with its text and files, unless it is gone or broken by now.
pub(super) async fn open(session: &Session, entry: &Entry) -> Result<OpenedSkill, FaultKind> {
    let opened = session
        .registry()
        .open_skill(entry)
        .await
        .map_err(|error| session.kind_of(&error, &entry.manifest_file))?;
    let document = &opened.skill.document;
    if document.standing != Standing::Sound {
        let errors = document.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        let reason = errors.map(|found| found.message.clone()).next().unwrap_or_default();
        return Err(FaultKind::Broken { reason });
    }
    Ok(opened)
}

fn occasion(presence: Presence, force: bool) -> Occasion {
    match presence {
        Presence::Absent => Occasion::First,
        Presence::Stale => Occasion::Changed,
        _ if force => Occasion::Forced,
        Presence::Active | Presence::Evictable | Presence::Lost => Occasion::Again,
    }
}

fn acknowledged(entry: &Entry, turn: u64, remembered: &Remembered) -> Answer {
    let Resources { references, scripts, assets } = remembered.resources.clone();
    let version = remembered.version.clone();
    let acknowledged = Acknowledged::new(entry.name().clone(), turn);
    Answer::Acknowledged(Acknowledged { version, references, scripts, assets, ..acknowledged })
}

/// Returns what of the skill is given: its instructions, or the whole file where the host wants the frontmatter too.
pub(crate) fn given<'s>(session: &Session, opened: &'s OpenedSkill) -> &'s str {
    if session.options().include_frontmatter { &opened.skill.text } else { opened.skill.body() }
}

/// Returns the skill as it is given to a model.
pub(crate) fn loaded_skill(session: &Session, entry: &Entry, opened: &OpenedSkill) -> LoadedSkill {
    let manifest = &opened.skill.document.manifest;
    let policy = session.registry().policy();
    let body = given(session, opened);
    let tokens = session.price(body);
    let soft_limit = session.exceeded_limit(body, tokens);
    let outline = match soft_limit {
        Some(_) => {
            let offset = opened.skill.document.body.offset;
            outline::outline(&opened.skill.text, offset, |text| session.price(text))
        }
        None => Vec::new(),
    };
    let (files, more_files) = listed_files(opened, policy.resource_listing, policy.max_listed);
    let Resources { references, scripts, assets } = Resources::of(manifest, &opened.files.files, policy);
    LoadedSkill {
        manifest_file: entry.manifest_file.to_string(),
        tokens,
        version: manifest.version.clone(),
        license: manifest.license.clone(),
        compatibility: manifest.compatibility.clone(),
        allowed_tools: manifest.allowed_tools.clone(),
        files,
        more_files,
        references,
        scripts,
        assets,
        outline,
        soft_limit,
        ..LoadedSkill::new(entry.name().clone(), body)
    }
}

/// Returns the files that the skill is said to have, as many as are listed, and how many more there are.
fn listed_files(opened: &OpenedSkill, listing: ResourceListing, most: usize) -> (Vec<String>, usize) {
    let manifest = &opened.skill.document.manifest;
    let found = opened.files.files.iter().filter(|file| file.kind != FileKind::Manifest);
    let found = found.map(|file| file.path.to_string());
    let kinds = [FileKind::Reference, FileKind::Script, FileKind::Asset];
    let declared = kinds.into_iter().flat_map(|kind| manifest.declared(kind));
    let mut files: Vec<String> = match listing {
        ResourceListing::Walk => found.collect(),
        ResourceListing::Declared => declared.collect(),
        ResourceListing::Both => found.chain(declared).collect(),
    };
    files.sort_unstable();
    files.dedup();
    let more = files.len().saturating_sub(most);
    files.truncate(most);
    (files, more)
}
