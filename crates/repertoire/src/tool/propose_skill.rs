//! `propose_skill`: a new skill, for a person to review.

use repertoire_model::answer::FaultKind;
use repertoire_model::name::Grammar;
use repertoire_model::patch::{FileData, SkillFiles};
use repertoire_model::{SkillName, SkillPath, State};
use serde_json::{Value, json};

use super::arguments::{Arguments, Parameter, bad};
use super::builtin::{Builtin, DefinitionContext};
use super::definition::object;
use super::names::SKILL_ALIASES;
use super::propose_skill_update::{EVIDENCE, JUSTIFICATION, proposal_text, refused, submitted};
#[cfg(feature = "fs")]
use super::reply::ToolReply;
use super::reply::{CallResult, EventDetails};
use crate::event::EventKind;
use crate::future::BoxFuture;
use crate::proposal::{ProposalMode, ProposalRefusal};
use crate::session::Session;

const NAME: Parameter<'static> = Parameter { name: "name", aliases: SKILL_ALIASES };
const FILES: Parameter<'static> = Parameter { name: "files", aliases: &[] };

pub(super) const TOOL: Builtin =
    Builtin { canonical: "propose_skill", kind: EventKind::ProposalMade, define, call };

fn define(_: &DefinitionContext<'_>) -> (String, Value) {
    let description = "Propose a new skill. A person reviews it.";
    let files = json!({
        "type": "object",
        "description": "Text by path, SKILL.md among them",
        "additionalProperties": {"type": "string"},
    });
    let properties = vec![
        (NAME.name, json!({"type": "string"})),
        (FILES.name, files),
        (JUSTIFICATION.name, json!({"type": "string"})),
    ];
    (description.to_owned(), object(properties, &[NAME.name, FILES.name, JUSTIFICATION.name]))
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, CallResult> {
    Box::pin(async move {
        arguments.only(&[NAME, FILES, JUSTIFICATION, EVIDENCE])?;
        let asked = arguments.skill(&NAME)?;
        let name = SkillName::new(asked).ok_or_else(|| bad(NAME.name, Grammar::AgentSkills.in_words()))?;
        let details = EventDetails { skill: Some(name.to_string()), ..EventDetails::default() };
        if session.lookup().scopes().iter().any(|scope| !scope.allows_new("", name.as_str())) {
            // Before anything else is looked at, so that the answer does not tell which of these names exist.
            return Err(refused(asked, &ProposalRefusal::NameUnusable(name.to_string()), details));
        }
        let files = files(&arguments)?;
        let proposal = proposal_text(session, &arguments)?;
        let Some(proposer) = session.library().proposer() else {
            return Err(refused(asked, &ProposalRefusal::Off, details));
        };
        let proposal = match proposer.propose_skill(session.registry(), &name, files, proposal).await {
            Ok(proposal) => proposal,
            Err(refusal) => return Err(refused(asked, &neutral(session, &name, refusal), details)),
        };
        if proposer.rules().mode == ProposalMode::Free {
            return promoted(session, &proposal, details).await;
        }
        Ok(submitted(&proposal, details))
    })
}

/// Returns the files of the argument: an object of texts by path.
fn files(arguments: &Arguments<'_>) -> Result<SkillFiles, FaultKind> {
    if !arguments.is_given(&FILES) {
        return Err(FaultKind::MissingArgument { name: FILES.name.to_owned() });
    }
    let mut files = SkillFiles::new();
    for (path, text) in arguments.object(&FILES)? {
        let Value::String(text) = text else { return Err(bad(FILES.name, "an object of texts by path")) };
        let path = SkillPath::new(&path)
            .map_err(|_| bad(FILES.name, "an object whose keys are paths of files in the skill"))?;
        let executable = text.starts_with("#!");
        files.insert(path, FileData { executable, bytes: text.into_bytes() });
    }
    Ok(files)
}

/// Returns `refusal`, without what it would tell of a skill that the session's agent does not see.
fn neutral(session: &Session, name: &SkillName, refusal: ProposalRefusal) -> ProposalRefusal {
    let is_about_name = matches!(refusal, ProposalRefusal::Exists(_) | ProposalRefusal::Locked(_));
    let snapshot = session.registry().snapshot();
    let is_seen = snapshot
        .entries()
        .iter()
        .any(|entry| entry.name() == name && entry.state != State::Disabled && session.lookup().sees(entry));
    if is_about_name && !is_seen { ProposalRefusal::NameUnusable(name.to_string()) } else { refusal }
}

/// Writes a new skill at once, where agents are free to make skills.
#[cfg(feature = "fs")]
async fn promoted(session: &Session, proposal: &crate::store::Proposal, details: EventDetails) -> CallResult {
    use crate::clock;
    use crate::proposal::review::{ReviewFault, Reviewer};
    use crate::store::FREE_RULE;

    let Some(proposer) = session.library().proposer().cloned() else {
        return Ok(submitted(proposal, details));
    };
    let name = &proposal.content.name;
    let (registry, id) = (session.registry().clone(), proposal.id);
    let approved = blocking::unblock(move || {
        let store = proposer.store().map_err(ReviewFault::from)?;
        let new_skills = proposer.rules().new_skills.as_deref();
        let reviewer = Reviewer { new_skills, ..Reviewer::new(&*store, &registry, FREE_RULE, clock::now()) };
        let (proposal, version) = reviewer.approve(id)?;
        proposer.approved(&*store, &proposal, &version);
        Ok(())
    });
    match approved.await {
        Ok(_) => {
            session.registry().reload().await;
            let is_seen = session.lookup().find(name).await.is_ok();
            let use_it = if is_seen { "load it to use it" } else { "you may not load it, others may" };
            let text = format!("The skill `{name}` is there now; {use_it}.");
            Ok(ToolReply { details, ..ToolReply::text(text) })
        }
        Err(ReviewFault::Exists(_)) => {
            Err(refused(name, &ProposalRefusal::NameUnusable(name.clone()), details))
        }
        Err(fault) => Err(refused(name, &fault, details)),
    }
}

#[cfg(not(feature = "fs"))]
async fn promoted(_: &Session, proposal: &crate::store::Proposal, details: EventDetails) -> CallResult {
    Ok(submitted(proposal, details))
}
