//! `load_skill`: a skill's instructions, or an acknowledgement that they are in the context already.

use std::sync::Arc;

use repertoire_model::answer::{
    Acknowledged, Answer, Available, BucketText, Fault, FaultKind, Loaded, LoadedSkill, Occasion,
};
use repertoire_model::ledger::{Decision, Presence};
use repertoire_model::{Digest, FileKind, LineRange, Severity, SkillPath, Standing, outline};
use serde_json::{Value, json};

use super::arguments::{Arguments, Parameter, quoted};
use super::definition::{About, Answered};
use super::names::SKILL_ALIASES;
use super::table::{Builtin, View, object, skill_name, text};
use super::{loaded, read_skill_file, requires};
use crate::event::EventKind;
use crate::provider::{BoxFuture, OpenedSkill};
use crate::registry::{Entry, Resources};
use crate::session::{Account, FoundSkill, Opened, Remembered, Session};

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
    if view.options.account == Account::Kept {
        properties.push((
            FORCE.name,
            json!({"type": "boolean", "description": "Return the instructions even if they were returned before"}),
        ));
    }
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
            Err(kind) => return misused(session, arguments, kind).await.into(),
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
        match outcome {
            Ok(answered) => answered,
            Err((kind, about)) => {
                let answer = session.fault(TOOL.canonical, Some(asked.skill), kind);
                let resources = session.registry().resources(&entry).await.unwrap_or_default();
                Answered { answer: with_files(answer, resources), about }
            }
        }
    })
}

/// Answers a call whose arguments are wrong; what it says of the skill is right all the same.
async fn misused(session: &Session, arguments: Arguments<'_>, kind: FaultKind) -> Answer {
    let skill = arguments.skill(&name(session)).ok();
    let answer = session.fault(TOOL.canonical, skill, kind);
    let Some(skill) = skill else { return answer };
    match session.find(skill).await {
        Ok(entry) => with_files(answer, session.registry().resources(&entry).await.unwrap_or_default()),
        Err(_) => answer,
    }
}

/// Returns `answer` with the files that the skill has, which whoever asked for one it has not wants to know.
fn with_files(answer: Answer, resources: Resources) -> Answer {
    let Answer::Fault(fault) = answer else { return answer };
    let Resources { references, scripts, assets } = resources;
    Answer::Fault(Fault { available: Some(Box::new(Available { references, scripts, assets })), ..fault })
}

/// The argument that names the skill.
fn name(session: &Session) -> Parameter<'_> {
    Parameter { name: &session.options().arguments.name, aliases: SKILL_ALIASES }
}

fn asked<'a>(session: &Session, arguments: Arguments<'a>) -> Result<Asked<'a>, FaultKind> {
    let options = session.options();
    let name = name(session);
    let mut parameters = vec![name];
    // Where no account is kept nobody is told of it, and it does no harm.
    if options.account == Account::Kept || arguments.is_given(&FORCE) {
        parameters.push(FORCE);
    }
    if options.bucket_arguments {
        parameters.extend(BUCKETS.map(|(_, parameter)| parameter));
    }
    arguments.only(&parameters)?;
    let skill = arguments.skill(&name)?;
    let mut file = None;
    for (kind, parameter) in &BUCKETS {
        let Some(written) = arguments.text(parameter)?.filter(|_| options.bucket_arguments) else { continue };
        if file.is_some() {
            let expected = "Give only one of reference, script, asset".to_owned();
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
    let tidied = read_skill_file::tidy(written);
    let written: &str = &tidied;
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
///
/// Whatever has to be waited for comes first; then all is decided and recorded at once.
async fn load(
    session: &Session,
    entry: &FoundSkill,
    force: bool,
    mut about: About,
) -> Result<Answered, (FaultKind, About)> {
    let is_accounted = session.is_accounted(entry);
    if let Some((decision, remembered)) = session.unchanged(entry, force).filter(|_| is_accounted) {
        about.digest = Some(remembered.digest);
        let mut notes = requires::missing(session, entry, &entry.document.manifest.requires);
        notes.extend(session.expose_loaded(entry).await);
        return Ok(Answered { answer: acknowledged(entry, decision, &remembered, notes), about });
    }
    let opened = match open(session, entry).await {
        Ok(opened) => opened,
        Err(kind) => return Err((kind, about)),
    };
    let address = session.address(entry);
    let skill = LoadedSkill { address, ..loaded_skill(session, entry, &opened) };
    let (skill, toolbox, tool_notes) = session.with_tools(skill, entry, &opened.files.files).await;
    about.digest = Some(skill.digest);
    let requires = &opened.skill.document.manifest.requires;
    let gathered = requires::gather(session, entry, requires).await;
    let remembered = Arc::new(Remembered::of(entry, &skill, opened.mark.clone()));
    let (decision, given) = if is_accounted {
        let opened = Opened { name: entry.name().clone(), remembered: Arc::clone(&remembered) };
        session.settle(&opened, &gathered.opened, force)
    } else {
        // Two skills of one name cannot be told apart in a context, so one that does not hold it is always given; and where no
        // account is kept, so is everything.
        (Decision::Give(Presence::Absent), vec![!session.keeps_account(); gathered.opened.len()])
    };
    session.expose(skill.address.clone(), toolbox);
    let Decision::Give(presence) = decision else {
        let mut notes = requires::missing(session, entry, requires);
        notes.extend(session.expose_loaded(entry).await);
        return Ok(Answered { answer: acknowledged(entry, decision, &remembered, notes), about });
    };
    let required = gathered.given(&given);
    about.tokens = skill.tokens + required.loaded.iter().map(|skill| skill.tokens).sum::<usize>();
    let occasion = occasion(presence, force);
    let (first, mut notes) = (required.loaded, required.notes);
    let (first, first_notes) = with_tools(session, first).await;
    notes.extend(first_notes);
    notes.extend(tool_notes);
    Ok(Answered { answer: Answer::Loaded(Box::new(Loaded { first, skill, occasion, notes })), about })
}

/// Returns `skills`, which were loaded because another one requires them, with their tools, and what to note of these.
async fn with_tools(session: &Session, skills: Vec<LoadedSkill>) -> (Vec<LoadedSkill>, Vec<String>) {
    let mut notes = Vec::new();
    if !session.offers_skill_tools() {
        return (skills, notes);
    }
    let snapshot = session.registry().snapshot();
    let mut equipped = Vec::with_capacity(skills.len());
    for skill in skills {
        let Some(entry) = session.visible(&snapshot, skill.name.as_str()) else {
            equipped.push(skill);
            continue;
        };
        let files = session.registry().files(entry).await.map(|listing| listing.files).unwrap_or_default();
        let (skill, toolbox, own_notes) = session.with_tools(skill, entry, &files).await;
        notes.extend(own_notes.into_iter().map(|note| format!("Of skill `{}`: {note}", skill.name)));
        session.expose(skill.name.to_string(), toolbox);
        equipped.push(skill);
    }
    (equipped, notes)
}

/// Returns the skill with its text and files, unless it is gone or broken by now.
pub(crate) async fn open(session: &Session, entry: &Entry) -> Result<OpenedSkill, FaultKind> {
    let opened = session
        .registry()
        .open_skill(entry)
        .await
        .map_err(|error| session.kind_of(&error, &entry.manifest_file))?;
    let document = &opened.skill.document;
    // What has another name by now, or is kept for people, is not what was asked for.
    let is_kept = document.manifest.disable_model_invocation && !session.is_invoked(entry.name());
    if document.standing == Standing::Sound && (document.name != *entry.name() || is_kept) {
        return Err(FaultKind::Gone);
    }
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

fn acknowledged(entry: &Entry, decision: Decision, remembered: &Remembered, notes: Vec<String>) -> Answer {
    let (turn, is_bound) = match decision {
        Decision::Acknowledge { turn, is_bound } => (turn, is_bound),
        _ => (0, false),
    };
    let Resources { references, scripts, assets } = remembered.resources.clone();
    let version = remembered.version.clone();
    let acknowledged = Acknowledged::new(entry.name().clone(), turn);
    let acknowledged = Acknowledged { is_bound, notes, version, references, scripts, assets, ..acknowledged };
    Answer::Acknowledged(acknowledged)
}

/// Returns the digest of what of the skill is given.
pub(crate) fn digest(session: &Session, opened: &OpenedSkill) -> Digest {
    Digest::of(given(session, opened).as_bytes())
}

/// Returns what of the skill is given: its instructions, or the whole file where the host wants the frontmatter too.
pub(crate) fn given<'s>(session: &Session, opened: &'s OpenedSkill) -> &'s str {
    loaded::body(opened, session.options().include_frontmatter)
}

/// Returns the skill as it is given to a model, with an outline where it is large.
pub(crate) fn loaded_skill(session: &Session, entry: &Entry, opened: &OpenedSkill) -> LoadedSkill {
    let price = |text: &str| session.price(text);
    let include_frontmatter = session.options().include_frontmatter;
    let skill = loaded::loaded(entry, opened, session.registry().policy(), include_frontmatter, &price);
    let soft_limit = session.exceeded_limit(&skill.body, skill.tokens);
    let outline = match soft_limit {
        Some(_) => outline::outline(&opened.skill.text, opened.skill.document.body.offset, price),
        None => Vec::new(),
    };
    let location = session.options().show_location.then(|| entry.directory().to_owned());
    LoadedSkill { outline, soft_limit, location, ..skill }
}
