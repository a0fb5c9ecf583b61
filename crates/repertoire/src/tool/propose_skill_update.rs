//! `propose_skill_update`: a change of a skill, for a person to review.

use repertoire_model::answer::FaultKind;
use serde_json::{Value, json};

use super::arguments::{Arguments, Parameter};
use super::builtin::{Builtin, DefinitionContext};
use super::definition::{object, text};
use super::names::SKILL_ALIASES;
use super::reply::{CallFailure, CallResult, EventDetails, ToolReply};
use crate::clock;
use crate::event::EventKind;
use crate::future::BoxFuture;
use crate::proposal::{ProposalRefusal, ProposalText};
use crate::session::Session;
use crate::store::{Proposal, ProposalKind};

const SKILL: Parameter<'static> = Parameter { name: "skill_id", aliases: SKILL_ALIASES };
const DIFF: Parameter<'static> = Parameter { name: "diff", aliases: &["patch"] };
pub(super) const JUSTIFICATION: Parameter<'static> =
    Parameter { name: "justification", aliases: &["reason"] };
pub(super) const EVIDENCE: Parameter<'static> = Parameter { name: "evidence", aliases: &[] };

pub(super) const TOOL: Builtin =
    Builtin { canonical: "propose_skill_update", kind: EventKind::ProposalMade, define, call };

fn define(_: &DefinitionContext<'_>) -> (String, Value) {
    let description = "Propose a change of a skill that is wrong or incomplete. A person reviews it.";
    let properties = vec![
        (SKILL.name, json!({"type": "string"})),
        (DIFF.name, text("Unified diff, as in `--- a/SKILL.md`")),
        (JUSTIFICATION.name, json!({"type": "string"})),
        (EVIDENCE.name, text("Errors or feedback")),
    ];
    (description.to_owned(), object(properties, &[SKILL.name, DIFF.name, JUSTIFICATION.name]))
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, CallResult> {
    Box::pin(async move {
        arguments.only(&[SKILL, DIFF, JUSTIFICATION, EVIDENCE])?;
        let asked = arguments.skill(&SKILL)?;
        let diff = arguments.required_input(&DIFF)?;
        let proposal = proposal_text(session, &arguments)?;
        let entry = session.lookup().find(asked).await?;
        let details = EventDetails::of(&entry);
        let Some(proposer) = session.library().proposer() else {
            return Err(refused(asked, &ProposalRefusal::Off, details));
        };
        match proposer.propose_update(session.registry(), &entry, diff, proposal).await {
            Ok(proposal) => Ok(submitted(&proposal, details)),
            Err(refusal) => Err(refused(asked, &refusal, details)),
        }
    })
}

pub(super) fn proposal_text(session: &Session, arguments: &Arguments<'_>) -> Result<ProposalText, FaultKind> {
    Ok(ProposalText {
        justification: arguments.required_input(&JUSTIFICATION)?.to_owned(),
        evidence: arguments.input(&EVIDENCE)?.map(str::to_owned),
        author: session.author(arguments.principal),
        session: Some(arguments.conversation.to_owned()),
        time: clock::now(),
        replaces: None,
    })
}

/// Returns the reply about a proposal that waits for review.
pub(super) fn submitted(proposal: &Proposal, details: EventDetails) -> ToolReply {
    let name = &proposal.content.name;
    let until = match proposal.content.kind {
        ProposalKind::Create => "There is no such skill until a person approves it.",
        ProposalKind::Update => "The skill stays as it is until a person approves it.",
    };
    let text = format!("Proposal {} for the skill `{name}` waits for review. {until}", proposal.id);
    ToolReply { details, ..ToolReply::text(text) }
}

/// Returns the failure of a call that proposes something about the skill `asked`.
pub(super) fn refused(asked: &str, reason: &impl ToString, details: EventDetails) -> CallFailure {
    CallFailure::of(asked, FaultKind::Refused { reason: reason.to_string() }, details)
}
