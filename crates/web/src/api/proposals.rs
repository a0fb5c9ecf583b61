//! `/api/v1/proposals`: changes of skills that wait for a decision.

use std::time::SystemTime;

use repertoire::proposal::channel_source;
use repertoire::proposal::review::{ReviewFault, Reviewer};
use repertoire::store::{Proposal, ProposalKind, ProposalState, Store, Version, skill_files};
use repertoire::{Entry, Snapshot};
use repertoire_app::view::{
    ProposalDetailView, ProposalListView, ProposalView, TokenChangeView, VersionView,
};
use repertoire_app::workspace::record_approval;
use schemars::JsonSchema;
use serde::Deserialize;

use super::decision::{audit, fault};
use super::error::ApiError;
use super::records::with_store;
use super::request::part;
use crate::dashboard::RequestContext;

const PAGE: usize = 50;

/// The filters of a list of proposals.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ProposalsQuery {
    /// Only proposals in this state: `pending`, `stale`, `applied`, `rejected` and others; `open` for the
    /// proposals that wait, which is the default, `all` for all.
    #[schemars(extend("enum" = ["", "open", "all", "pending", "approved", "applied", "rejected", "stale", "superseded", "rolled_back"]))]
    pub(crate) state: Option<String>,
    /// Only proposals about the skill of this name.
    pub(crate) skill: Option<String>,
    /// The most proposals of the answer, from 1 to 500.
    #[schemars(extend("minimum" = 1, "maximum" = 500))]
    pub(crate) limit: Option<usize>,
    /// The `next_cursor` of the answer before.
    #[schemars(extend("pattern" = "^[0-9]{0,15}$"))]
    pub(crate) cursor: Option<String>,
}

/// An approval or a rebase: nothing has to be told.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ApproveRequest {}

/// A rejection.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct RejectRequest {
    /// The reason, which the author is told.
    #[schemars(extend("pattern" = "[^\\s]"))]
    pub(crate) reason: String,
}

pub(crate) async fn list(ctx: &RequestContext, query: &ProposalsQuery) -> Result<ProposalListView, ApiError> {
    use ProposalState::{Approved, Pending, Stale};
    let states = match query.state.as_deref() {
        None | Some("" | "open") => vec![Pending, Stale, Approved],
        Some("all") => Vec::new(),
        Some(word) => vec![
            ProposalState::ALL
                .into_iter()
                .find(|state| state.as_str() == word)
                .ok_or_else(|| ApiError::invalid("state: open, all, or the state of a proposal"))?,
        ],
    };
    let found = with_store(ctx, move |store| Ok(store.proposals(&states)?)).await?;
    let snapshot = ctx.view.shared.registry.snapshot();
    let skill = query.skill.as_deref().filter(|skill| !skill.is_empty());
    let rows = found.iter().filter(|proposal| {
        skill.is_none_or(|skill| proposal.content.name == skill) && is_visible(ctx, &snapshot, proposal)
    });
    let page = part(rows.map(ProposalView::new).collect(), query.cursor.as_deref(), query.limit, PAGE)?;
    let (total, next_cursor) = (Some(page.total), page.next);
    Ok(ProposalListView { proposals: page.items, elsewhere: None, total, next_cursor })
}

/// Returns the number of proposals that wait for a decision.
pub(crate) async fn pending(ctx: &RequestContext) -> usize {
    let query = ProposalsQuery { limit: Some(1), ..ProposalsQuery::default() };
    list(ctx, &query).await.ok().and_then(|list| list.total).unwrap_or_default()
}

/// Returns whether the proposal is about a skill of this library that the sender may see, or about a new
/// skill for it.
fn is_visible(ctx: &RequestContext, snapshot: &Snapshot, proposal: &Proposal) -> bool {
    let content = &proposal.content;
    if let Some(channel) = content.channel() {
        let publish = ctx.server.options.publish.as_ref();
        return publish.is_some_and(|publish| publish.channels.iter().any(|served| served == channel))
            && ctx.view.may_change(snapshot, &channel_source(channel), &content.name);
    }
    let mut entries = snapshot.entries().iter();
    let is_seen = |entry: &Entry| ctx.sees_all() || ctx.view.sees(entry);
    if entries.any(|entry| is_of(entry, &content.skill) && is_seen(entry)) {
        return true;
    }
    if !ctx.sees_all() {
        return content.author == ctx.reviewer();
    }
    let new_skills =
        ctx.view.shared.library.proposer().and_then(|proposer| proposer.rules().new_skills.clone());
    let parent = content.directory().and_then(|directory| directory.parent());
    let is_new = content.kind == ProposalKind::Create;
    let is_here = is_new && (parent.is_none() || parent == new_skills.as_deref());
    // A skill of this library that is gone, or a new one that was written since.
    is_here || content.directory().is_some_and(|directory| is_among(snapshot, directory))
}

/// Returns whether `skill` is the identity of `entry`, without making a text of each of thousands of them.
fn is_of(entry: &Entry, skill: &str) -> bool {
    entry.identity.as_deref().map_or_else(|| entry.qualified_name() == skill, |identity| identity == skill)
}

/// Returns whether a skill of `snapshot` lies beside `directory`.
fn is_among(snapshot: &Snapshot, directory: &std::path::Path) -> bool {
    let parent = directory.parent();
    snapshot.entries().iter().any(|entry| std::path::Path::new(entry.directory()).parent() == parent)
}

/// Returns the proposal with the number `id` if the sender may see it.
async fn find(ctx: &RequestContext, id: u64) -> Result<Proposal, ApiError> {
    let missing = || ApiError::not_found(format!("there is no proposal {id}"));
    let proposal = with_store(ctx, move |store| Ok(store.proposal(id)?)).await?;
    let snapshot = ctx.view.shared.registry.snapshot();
    match proposal {
        Some(proposal) if is_visible(ctx, &snapshot, &proposal) => return Ok(proposal),
        Some(proposal) => ctx.record_unseen(&proposal.content.name, true),
        None => ctx.record_missing_proposal(),
    }
    Err(missing())
}

/// Returns everything about the proposal with the number `id`.
pub(crate) async fn detail(ctx: &RequestContext, id: u64) -> Result<ProposalDetailView, ApiError> {
    let proposal = find(ctx, id).await?;
    let registry = &ctx.view.shared.registry;
    let snapshot = registry.snapshot();
    let entry = snapshot.entries().iter().find(|entry| is_of(entry, &proposal.content.skill));
    let current = match entry {
        Some(entry) => registry.digest(entry).await.ok(),
        None => None,
    };
    let is_open = matches!(proposal.state, ProposalState::Pending | ProposalState::Stale);
    let (base, result) = (proposal.content.base, proposal.content.result);
    with_store(ctx, move |store| {
        let before = base.map(|base| skill_files(store, &base)).transpose()?.unwrap_or_default();
        let current = match proposal.content.channel() {
            Some(channel) => {
                let mut released = store.released(channel)?.into_iter();
                released.find(|skill| skill.name == proposal.content.name).map(|skill| skill.digest)
            }
            None => current,
        };
        let mut view = ProposalDetailView::new(&proposal);
        view.tokens = Some(TokenChangeView::new(&before, &skill_files(store, &result)?));
        view.changed_since = Some(is_open && base.is_some() && current.is_some() && current != base);
        Ok(view)
    })
    .await
}

pub(crate) async fn approve(ctx: &RequestContext, id: u64) -> Result<ProposalView, ApiError> {
    let workspace = ctx.workspace();
    decide(ctx, id, "approve", move |reviewer| {
        let (proposal, version) = reviewer.approve(id)?;
        if let Some(workspace) = workspace.filter(|_| proposal.content.channel().is_none()) {
            // The files are written, also if `rep undo` will not know of it.
            let _ = record_approval(&workspace.env, reviewer.store, &proposal, &version);
        }
        Ok((proposal, Some(version)))
    })
    .await
}

pub(crate) async fn reject(ctx: &RequestContext, id: u64, reason: &str) -> Result<ProposalView, ApiError> {
    let reason = reason.trim().to_owned();
    if reason.is_empty() {
        return Err(ApiError::invalid("reason: say why, so that the author can do better"));
    }
    decide(ctx, id, "reject", move |reviewer| Ok((reviewer.reject(id, &reason)?, None))).await
}

/// Replaces the proposal with the number `id` by one with the same change of the skill as it is now.
pub(crate) async fn rebase(ctx: &RequestContext, id: u64) -> Result<ProposalView, ApiError> {
    decide(ctx, id, "rebase", move |reviewer| {
        let rebased = reviewer.rebase(id)?;
        let proposal = reviewer.store.proposal(rebased)?.ok_or(ReviewFault::NotFound(rebased))?;
        Ok((proposal, None))
    })
    .await
}

/// Carries out a decision about the proposal with the number `id`, and records it.
async fn decide(
    ctx: &RequestContext,
    id: u64,
    word: &'static str,
    decision: impl FnOnce(&Reviewer<'_>) -> Result<(Proposal, Option<Version>), ReviewFault> + Send + 'static,
) -> Result<ProposalView, ApiError> {
    let proposal = find(ctx, id).await?;
    let name = ctx.reviewer();
    // The person at the machine may approve a change of their own, as on the command line.
    let decides_own = ctx.decides_own();
    let library = ctx.view.shared.library.clone();
    let decided = with_store(ctx, move |store: &dyn Store| {
        let new_skills = library.proposer().and_then(|proposer| proposer.rules().new_skills.clone());
        let (registry, new_skills) = (library.registry(), new_skills.as_deref());
        let mut reviewer = Reviewer::new(store, registry, &name, SystemTime::now());
        (reviewer.new_skills, reviewer.decides_own) = (new_skills, decides_own);
        decision(&reviewer).map_err(fault)
    })
    .await;
    audit(ctx, word, &proposal.content.name, decided.as_ref().err());
    let (proposal, version) = decided?;
    ctx.view.shared.registry.reload().await;
    let mut view = ProposalView::new(&proposal);
    view.version = version.as_ref().map(VersionView::new);
    Ok(view)
}
