//! `review_skill_proposals`: proposals read and decided about by an agent that was made a reviewer.

use repertoire_model::answer::FaultKind;
use serde_json::{Value, json};

use super::arguments::{Arguments, Parameter, bad};
use super::builtin::{Builtin, DefinitionContext};
use super::definition::{object, text};
use super::reply::{CallFailure, CallResult, EventDetails, ToolReply};
use crate::event::EventKind;
use crate::future::BoxFuture;
use crate::session::Session;

const ACTION: Parameter<'static> = Parameter { name: "action", aliases: &[] };
const ID: Parameter<'static> = Parameter { name: "id", aliases: &["proposal_id"] };
const REASON: Parameter<'static> = Parameter { name: "reason", aliases: &["why"] };

const ACTIONS: [&str; 4] = ["list", "show", "approve", "reject"];

pub(super) const TOOL: Builtin =
    Builtin { canonical: "review_skill_proposals", kind: EventKind::ProposalReviewed, define, call };

fn define(_: &DefinitionContext<'_>) -> (String, Value) {
    let properties = vec![
        (ACTION.name, json!({"type": "string", "enum": ACTIONS})),
        (ID.name, json!({"type": "integer", "description": "Proposal; not for list"})),
        (REASON.name, text("Why it is rejected")),
    ];
    ("Review changes of skills that others propose.".to_owned(), object(properties, &[ACTION.name]))
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, CallResult> {
    Box::pin(async move {
        arguments.only(&[ACTION, ID, REASON])?;
        let action = arguments.required_text(&ACTION)?.to_owned();
        let id = arguments.count(&ID)?.map(|id| id as u64);
        let reason = arguments.text(&REASON)?.map(str::to_owned);
        if !ACTIONS.contains(&action.as_str()) {
            return Err(bad(ACTION.name, &ACTIONS.join(", ")).into());
        }
        if action != "list" && id.is_none() {
            return Err(FaultKind::MissingArgument { name: ID.name.to_owned() }.into());
        }
        let (text, skill) =
            reviewed(session, arguments.principal, action, id.unwrap_or_default(), reason).await;
        let details = EventDetails { skill: skill.clone(), ..EventDetails::default() };
        match text {
            Ok(text) => Ok(ToolReply { details, ..ToolReply::text(text) }),
            Err(reason) => {
                let kind = FaultKind::Refused { reason };
                Err(CallFailure { kind, asked: skill, details: Box::new(details) })
            }
        }
    })
}

/// Carries out `action` and returns a text for the model, and the skill that it is about.
#[cfg(feature = "fs")]
async fn reviewed(
    session: &Session,
    principal: Option<&str>,
    action: String,
    id: u64,
    reason: Option<String>,
) -> (Result<String, String>, Option<String>) {
    use std::collections::HashMap;
    use std::sync::Arc;

    use repertoire_model::State;

    use crate::clock;
    use crate::proposal::review::{ReviewFault, Reviewer};
    use crate::proposal::{ProposalRefusal, markdown};
    use crate::registry::Entry;
    use crate::session::are_related;
    use crate::store::{Proposal, ProposalState};

    const MAX_LISTED: usize = 50;
    const MAX_SHOWN: usize = 40_000;

    let Some(proposer) = session.library().proposer().cloned() else {
        return (Err("proposals are turned off".to_owned()), None);
    };
    let (registry, name, scopes) =
        (session.registry().clone(), session.author(principal), session.lookup().scopes());
    let own_session = session.id().to_owned();
    // The sources of the skills, for the skills that the reviewer may see.
    let source_if_seen = |entry: &Entry| {
        let is_seen = entry.state != State::Disabled && session.lookup().sees(entry);
        is_seen.then(|| Arc::clone(&entry.source))
    };
    let sources: HashMap<String, Option<Arc<str>>> =
        registry.snapshot().entries().iter().map(|it| (it.record_identity(), source_if_seen(it))).collect();
    let asked = Arc::clone(&proposer);
    let work = move || -> Result<(String, Option<String>), String> {
        let store = proposer.store().map_err(|error| error.chain())?;
        let new_skills = proposer.rules().new_skills.as_deref();
        let mut reviewer = Reviewer::new(&*store, &registry, &name, clock::now());
        reviewer.new_skills = new_skills;
        let source = |it: &Proposal| sources.get(&it.content.skill).cloned().flatten().unwrap_or_default();
        let is_seen = |it: &Proposal| match sources.get(&it.content.skill) {
            Some(source) => source.is_some(),
            None => {
                reviewer.is_new_here(it) && scopes.iter().all(|scope| scope.allows_new("", &it.content.name))
            }
        };
        let found = |id| match store.proposal(id) {
            Ok(Some(proposal)) if is_seen(&proposal) => Ok(proposal),
            Ok(_) => Err(format!("there is no proposal {id}")),
            Err(error) => Err(error.chain()),
        };
        // Proposals of its sub-agents or of the agent that started it are its own, too.
        let of_others = |id| {
            let proposal = found(id)?;
            match &proposal.content.session {
                Some(session) if are_related(session, &own_session) => {
                    Err(ReviewFault::OwnProposal(name.clone()).to_string())
                }
                _ => Ok(proposal),
            }
        };
        match action.as_str() {
            "list" => {
                reviewer.find_stale().map_err(|fault| fault.to_string())?;
                let pending = store.proposals(&[ProposalState::Pending]).map_err(|error| error.chain())?;
                let line = |it: &Proposal| {
                    format!(
                        "{}: {} of {} by {}\n",
                        it.id, it.content.kind, it.content.name, it.content.author
                    )
                };
                let seen: Vec<&Proposal> = pending.iter().filter(|it| is_seen(it)).collect();
                let mut text: String = seen.iter().take(MAX_LISTED).map(|it| line(it)).collect();
                if seen.is_empty() {
                    text.push_str("No proposals are pending.");
                }
                if seen.len() > MAX_LISTED {
                    text.push_str(&format!("{} more wait behind these.\n", seen.len() - MAX_LISTED));
                }
                Ok((text, None))
            }
            "show" => {
                let proposal = found(id)?;
                let text = repertoire_model::text::shorten(&markdown(&proposal), MAX_SHOWN);
                Ok((text, Some(proposal.content.name)))
            }
            "approve" => {
                let proposal = of_others(id)?;
                let (name, source) = (&proposal.content.name, source(&proposal));
                if proposer.rules().locked.iter().any(|pattern| pattern.matches(&source, name)) {
                    return Err(ProposalRefusal::Locked(name.clone()).to_string());
                }
                if markdown(&proposal).chars().count() > MAX_SHOWN {
                    return Err(format!(
                        "proposal {id} is too long to be shown to you; a person decides about it"
                    ));
                }
                let (proposal, version) = reviewer.approve(id).map_err(|fault| fault.to_string())?;
                proposer.approved(&*store, &proposal, &version);
                let name = proposal.content.name;
                Ok((
                    format!("Proposal {id} is approved: `{name}` is at version {} now.", version.number),
                    Some(name),
                ))
            }
            _ => {
                of_others(id)?;
                let reason = reason.ok_or("a reason is missing")?;
                let proposal = reviewer.reject(id, &reason).map_err(|fault| fault.to_string())?;
                Ok((format!("Proposal {id} is rejected."), Some(proposal.content.name)))
            }
        }
    };
    let outcome = blocking::unblock(work).await;
    session.registry().reload().await;
    match outcome {
        Ok((text, skill)) => (Ok(text), skill),
        Err(text) => {
            let skill = move || Some(asked.store().ok()?.proposal(id).ok()??.content.name);
            (Err(text), blocking::unblock(skill).await)
        }
    }
}

#[cfg(not(feature = "fs"))]
async fn reviewed(
    _: &Session,
    _: Option<&str>,
    _: String,
    _: u64,
    _: Option<String>,
) -> (Result<String, String>, Option<String>) {
    (Err("skills of this library cannot be written".to_owned()), None)
}
