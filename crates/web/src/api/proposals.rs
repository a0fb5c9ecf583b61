//! `/api/v1/proposals`: changes of skills that wait for a decision.

use std::time::SystemTime;

use axum::Extension;
use repertoire::event::jsonl::rfc3339;
use repertoire::proposal::channel_source;
use repertoire::proposal::review::{ReviewFault, Reviewer};
use repertoire::store::{Proposal, ProposalKind, ProposalState, Store, skill_files};
use repertoire::{Entry, Snapshot};
use repertoire_model::patch::SkillFiles;
use repertoire_model::tokens::approximate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::{audit, fault};
use super::error::ApiError;
use super::records::with_store;
use super::request::{Answer, JsonBody, Params, PathParams, part};
use crate::dashboard::Asker;

/// The number of proposals on a page.
const PAGE: usize = 50;

/// The filters of a list of proposals.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ProposalsQuery {
    /// Only proposals in this state: `pending`, `stale`, `applied`, `rejected` and others; `open` for those that wait, which is the
    /// default, `all` for all.
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

/// A proposal in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ProposalRow {
    /// The number.
    pub(crate) id: u64,
    /// The name of the skill.
    pub(crate) skill: String,
    /// The kind: `update` or `create`.
    pub(crate) kind: String,
    /// The state.
    pub(crate) state: String,
    /// The person or agent that proposes it.
    pub(crate) author: String,
    /// The time, in RFC 3339.
    pub(crate) time: String,
    /// The reason for the change.
    pub(crate) justification: String,
    /// The lines that it adds.
    pub(crate) added: usize,
    /// The lines that it removes.
    pub(crate) removed: usize,
}

/// A list of proposals, the newest first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ProposalList {
    /// The proposals.
    pub(crate) proposals: Vec<ProposalRow>,
    /// The number of proposals that fit the filters.
    pub(crate) total: usize,
    /// The cursor of the next part; absent for the last one.
    pub(crate) next_cursor: Option<String>,
}

/// Everything about one proposal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ProposalDetail {
    /// The proposal as in lists.
    #[serde(flatten)]
    pub(crate) row: ProposalRow,
    /// The change as a unified diff.
    pub(crate) diff: String,
    /// Errors, test failures or feedback that support it.
    pub(crate) evidence: Option<String>,
    /// The session it was proposed in.
    pub(crate) session: Option<String>,
    /// The directory that it changes.
    pub(crate) directory: Option<String>,
    /// The findings of the rules before and after the change.
    pub(crate) check: Vec<CheckLine>,
    /// The tokens of `SKILL.md` before the change.
    pub(crate) tokens_before: u64,
    /// The tokens of `SKILL.md` after the change.
    pub(crate) tokens_after: u64,
    /// True if the skill changed since.
    pub(crate) changed_since: bool,
    /// The last decision.
    pub(crate) decision: Option<DecisionRecord>,
    /// The proposal that this one took the place of.
    pub(crate) replaces: Option<u64>,
}

/// A finding of the rules before or after a change.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct CheckLine {
    /// The effect of the change: `new`, `gone` or `same`.
    pub(crate) change: String,
    /// The finding.
    pub(crate) text: String,
}

impl CheckLine {
    /// Returns the finding that `line` of a stored check tells.
    fn of(line: &str) -> Self {
        let marks = [("new: ", "new"), ("no longer: ", "gone")];
        let marked = marks.iter().find_map(|(mark, change)| Some((*change, line.strip_prefix(mark)?)));
        let (change, text) = marked.unwrap_or(("same", line));
        Self { change: change.to_owned(), text: text.to_owned() }
    }
}

/// A decision about a proposal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct DecisionRecord {
    /// The person or agent that decided.
    pub(crate) reviewer: String,
    /// The reason.
    pub(crate) reason: Option<String>,
    /// The time, in RFC 3339.
    pub(crate) time: String,
}

/// The result of a decision.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ReviewOutcome {
    /// The proposal; after a rebase, the one that takes the place of the old one.
    pub(crate) id: u64,
    /// Its state.
    pub(crate) state: String,
    /// The version that an approval made.
    pub(crate) version: Option<u64>,
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

/// Answers with the proposals.
pub(crate) async fn get(
    Extension(asker): Extension<Asker>,
    Params(query): Params<ProposalsQuery>,
) -> Result<Answer<ProposalList>, ApiError> {
    Ok(Answer(list(&asker, &query).await?))
}

/// Answers with a proposal.
pub(crate) async fn get_one(
    Extension(asker): Extension<Asker>,
    PathParams(id): PathParams<u64>,
) -> Result<Answer<ProposalDetail>, ApiError> {
    Ok(Answer(detail(&asker, id).await?))
}

/// Approves a proposal.
pub(crate) async fn post_approve(
    Extension(asker): Extension<Asker>,
    PathParams(id): PathParams<u64>,
    JsonBody(ApproveRequest {}): JsonBody<ApproveRequest>,
) -> Result<Answer<ReviewOutcome>, ApiError> {
    asker.expect_write(None)?;
    Ok(Answer(approve(&asker, id).await?))
}

/// Rejects a proposal.
pub(crate) async fn post_reject(
    Extension(asker): Extension<Asker>,
    PathParams(id): PathParams<u64>,
    JsonBody(request): JsonBody<RejectRequest>,
) -> Result<Answer<ReviewOutcome>, ApiError> {
    asker.expect_write(None)?;
    Ok(Answer(reject(&asker, id, &request.reason).await?))
}

/// Rebases a proposal.
pub(crate) async fn post_rebase(
    Extension(asker): Extension<Asker>,
    PathParams(id): PathParams<u64>,
    JsonBody(ApproveRequest {}): JsonBody<ApproveRequest>,
) -> Result<Answer<ReviewOutcome>, ApiError> {
    asker.expect_write(None)?;
    Ok(Answer(rebase(&asker, id).await?))
}

/// Returns the proposals that `query` selects.
pub(crate) async fn list(asker: &Asker, query: &ProposalsQuery) -> Result<ProposalList, ApiError> {
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
    let found = with_store(asker, move |store| Ok(store.proposals(&states)?)).await?;
    let snapshot = asker.view.shared.registry.snapshot();
    let skill = query.skill.as_deref().filter(|skill| !skill.is_empty());
    let rows = found.iter().filter(|proposal| {
        skill.is_none_or(|skill| proposal.content.name == skill) && is_visible(asker, &snapshot, proposal)
    });
    let page = part(rows.map(row).collect(), query.cursor.as_deref(), query.limit, PAGE)?;
    Ok(ProposalList { proposals: page.items, total: page.total, next_cursor: page.next })
}

/// Returns the number of proposals that wait for a decision.
pub(crate) async fn pending(asker: &Asker) -> usize {
    let query = ProposalsQuery { limit: Some(1), ..ProposalsQuery::default() };
    list(asker, &query).await.map_or(0, |list| list.total)
}

/// Returns whether the proposal is about a skill of this library that the sender may see, or about a new skill for it.
fn is_visible(asker: &Asker, snapshot: &Snapshot, proposal: &Proposal) -> bool {
    let content = &proposal.content;
    if let Some(channel) = content.channel() {
        let publish = asker.server.options.publish.as_ref();
        return publish.is_some_and(|publish| publish.channels.iter().any(|served| served == channel))
            && asker.view.may_change(snapshot, &channel_source(channel), &content.name);
    }
    let mut entries = snapshot.entries().iter();
    let is_seen = |entry: &Entry| asker.sees_all() || asker.view.sees(entry);
    if entries.any(|entry| is_of(entry, &content.skill) && is_seen(entry)) {
        return true;
    }
    if !asker.sees_all() {
        return content.author == asker.reviewer();
    }
    let new_skills =
        asker.view.shared.library.proposer().and_then(|proposer| proposer.rules().new_skills.clone());
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

fn row(proposal: &Proposal) -> ProposalRow {
    let content = &proposal.content;
    let lines = |sign: char, head: &str| {
        content.diff.lines().filter(|line| line.starts_with(sign) && !line.starts_with(head)).count()
    };
    ProposalRow {
        id: proposal.id,
        skill: content.name.clone(),
        kind: content.kind.as_str().to_owned(),
        state: proposal.state.as_str().to_owned(),
        author: content.author.clone(),
        time: rfc3339(content.time),
        justification: content.justification.clone(),
        added: lines('+', "+++"),
        removed: lines('-', "---"),
    }
}

/// Returns the proposal with the number `id` if the sender may see it.
async fn find(asker: &Asker, id: u64) -> Result<Proposal, ApiError> {
    let missing = || ApiError::not_found(format!("there is no proposal {id}"));
    let proposal = with_store(asker, move |store| Ok(store.proposal(id)?)).await?;
    let snapshot = asker.view.shared.registry.snapshot();
    match proposal {
        Some(proposal) if is_visible(asker, &snapshot, &proposal) => return Ok(proposal),
        Some(proposal) => asker.record_unseen(&proposal.content.name, true),
        None => asker.record_missing_proposal(),
    }
    Err(missing())
}

/// Returns everything about the proposal with the number `id`.
pub(crate) async fn detail(asker: &Asker, id: u64) -> Result<ProposalDetail, ApiError> {
    let proposal = find(asker, id).await?;
    let registry = &asker.view.shared.registry;
    let snapshot = registry.snapshot();
    let entry = snapshot.entries().iter().find(|entry| is_of(entry, &proposal.content.skill));
    let current = match entry {
        Some(entry) => registry.digest(entry).await.ok(),
        None => None,
    };
    let is_open = matches!(proposal.state, ProposalState::Pending | ProposalState::Stale);
    let (base, result) = (proposal.content.base, proposal.content.result);
    let channel = proposal.content.channel().map(str::to_owned);
    let name = proposal.content.name.clone();
    let (before, after, current) = with_store(asker, move |store| {
        let before = base.map(|base| skill_files(store, &base)).transpose()?.unwrap_or_default();
        let current = match channel {
            Some(channel) => store.released(&channel)?.into_iter().find(|skill| skill.name == name),
            None => return Ok((tokens(&before), tokens(&skill_files(store, &result)?), current)),
        };
        let current = current.map(|skill| skill.digest);
        Ok((tokens(&before), tokens(&skill_files(store, &result)?), current))
    })
    .await?;
    let changed_since = is_open && base.is_some() && current.is_some() && current != base;
    let content = &proposal.content;
    Ok(ProposalDetail {
        row: row(&proposal),
        diff: content.diff.clone(),
        evidence: content.evidence.clone(),
        session: content.session.clone(),
        directory: content.directory().map(|directory| directory.display().to_string()),
        check: content.check.lines().map(CheckLine::of).collect(),
        tokens_before: before,
        tokens_after: after,
        changed_since,
        decision: proposal.decision.as_ref().map(|decision| DecisionRecord {
            reviewer: decision.reviewer.clone(),
            reason: decision.reason.clone(),
            time: rfc3339(decision.time),
        }),
        replaces: content.replaces,
    })
}

/// Returns the tokens of the `SKILL.md` among `files`.
fn tokens(files: &SkillFiles) -> u64 {
    let manifest = files.iter().find(|(path, _)| path.as_str().eq_ignore_ascii_case("SKILL.md"));
    manifest.map_or(0, |(_, file)| approximate(&String::from_utf8_lossy(&file.bytes)) as u64)
}

/// Approves the proposal with the number `id`.
pub(crate) async fn approve(asker: &Asker, id: u64) -> Result<ReviewOutcome, ApiError> {
    decide(asker, id, "approve", move |reviewer| {
        let (proposal, version) = reviewer.approve(id)?;
        Ok((proposal, Some(version.number)))
    })
    .await
}

/// Rejects the proposal with the number `id`.
pub(crate) async fn reject(asker: &Asker, id: u64, reason: &str) -> Result<ReviewOutcome, ApiError> {
    let reason = reason.trim().to_owned();
    if reason.is_empty() {
        return Err(ApiError::invalid("reason: say why, so that the author can do better"));
    }
    decide(asker, id, "reject", move |reviewer| Ok((reviewer.reject(id, &reason)?, None))).await
}

/// Replaces the proposal with the number `id` by one with the same change of the skill as it is now.
pub(crate) async fn rebase(asker: &Asker, id: u64) -> Result<ReviewOutcome, ApiError> {
    decide(asker, id, "rebase", move |reviewer| {
        let rebased = reviewer.rebase(id)?;
        let proposal = reviewer.store.proposal(rebased)?.ok_or(ReviewFault::NotFound(rebased))?;
        Ok((proposal, None))
    })
    .await
}

/// Carries out a decision about the proposal with the number `id`, and records it.
async fn decide(
    asker: &Asker,
    id: u64,
    word: &'static str,
    decision: impl FnOnce(&Reviewer<'_>) -> Result<(Proposal, Option<u64>), ReviewFault> + Send + 'static,
) -> Result<ReviewOutcome, ApiError> {
    let proposal = find(asker, id).await?;
    let name = asker.reviewer();
    // The person at the machine may approve a change of their own, as on the command line.
    let decides_own = asker.decides_own();
    let library = asker.view.shared.library.clone();
    let decided = with_store(asker, move |store: &dyn Store| {
        let new_skills = library.proposer().and_then(|proposer| proposer.rules().new_skills.clone());
        let (registry, new_skills) = (library.registry(), new_skills.as_deref());
        let mut reviewer = Reviewer::new(store, registry, &name, SystemTime::now());
        (reviewer.new_skills, reviewer.decides_own) = (new_skills, decides_own);
        decision(&reviewer).map_err(fault)
    })
    .await;
    audit(asker, word, &proposal.content.name, decided.as_ref().err());
    let (proposal, version) = decided?;
    asker.view.shared.registry.reload().await;
    Ok(ReviewOutcome { id: proposal.id, state: proposal.state.as_str().to_owned(), version })
}
