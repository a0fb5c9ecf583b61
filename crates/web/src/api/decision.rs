//! Errors and events of decisions: approvals, rejections, rollbacks.

use std::time::SystemTime;

use repertoire::event::{Event, Surface};
use repertoire::proposal::review::ReviewFault;
use repertoire::{EventKind, Outcome};

use super::error::ApiError;
use crate::dashboard::RequestContext;

/// Maximum characters of files with marked conflicts in a message.
const MAX_CONFLICT_CHARS: usize = 20_000;

/// Returns the error of a decision that was not carried out.
pub(crate) fn fault(fault: ReviewFault) -> ApiError {
    let message = fault.to_string();
    match fault {
        ReviewFault::NotFound(_) | ReviewFault::NoVersion(..) => ApiError::not_found(message),
        ReviewFault::State(..) => ApiError::conflict("state", message),
        ReviewFault::OwnProposal(_) => ApiError::conflict("own_proposal", message),
        ReviewFault::Stale(_) => ApiError::conflict("stale", message),
        ReviewFault::SkillGone(_) => ApiError::conflict("skill_gone", message),
        ReviewFault::Exists(_) => ApiError::conflict("exists", message),
        ReviewFault::Conflicts(conflicts) => {
            let marked = conflicts.iter().filter_map(|conflict| conflict.marked.as_deref());
            let marked: String = marked.flat_map(str::chars).take(MAX_CONFLICT_CHARS).collect();
            ApiError::conflict("conflict", format!("{message}\n{marked}").trim_end().to_owned())
        }
        ReviewFault::VersionExists(..) => ApiError::conflict("version_exists", message),
        ReviewFault::UnrecordedEdits(_) => ApiError::conflict("unrecorded_edits", message),
        ReviewFault::Failed(error) => error.into(),
        _ => ApiError::conflict("refused", message),
    }
}

/// Records a decision about the skill called `skill`, carried out or not.
pub(crate) fn audit(ctx: &RequestContext, decision: &str, skill: &str, error: Option<&ApiError>) {
    record(ctx, EventKind::ProposalReviewed, decision, skill, error);
}

/// Records a decision of this kind about the skill called `skill`, carried out or not.
pub(crate) fn record(
    ctx: &RequestContext,
    kind: EventKind,
    decision: &str,
    skill: &str,
    error: Option<&ApiError>,
) {
    let mut event = Event::new(kind, decision, "", SystemTime::now());
    event.skill = Some(skill.to_owned());
    event.surface = Surface::Http;
    event.principal = Some(ctx.principal_name());
    event.agent = ctx.view.agent().map(|agent| agent.name.clone());
    if let Some(error) = error {
        (event.outcome, event.error) = (Outcome::Error, Some(error.code.to_owned()));
    }
    ctx.view.shared.library.emit(&event);
}
