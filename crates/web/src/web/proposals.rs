//! The pages of proposals: the list, the review, and the decisions.

use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::{Extension, Form};
use repertoire_app::view::{ProposalDetailView, ProposalListView, ProposalView, TokenChangeView};
use serde::Deserialize;

use super::diff::{self, DiffFile};
use super::page::{self, Page};
use super::text::{self, NumberText, TimeText};
use super::url;
use crate::api::Params;
use crate::api::proposals::{self, ProposalsQuery};
use crate::dashboard::RequestContext;

#[derive(Template)]
#[template(path = "proposals.html")]
struct ProposalsPage {
    page: Page,
    list: ProposalListView,
    query: ProposalsQuery,
}

impl ProposalsPage {
    fn state(&self) -> &str {
        self.query.state.as_deref().filter(|state| !state.is_empty()).unwrap_or("open")
    }

    fn next(&self) -> Option<String> {
        let cursor = self.list.next_cursor.as_deref()?;
        Some(format!("/proposals{}", url::query(&[("state", self.state()), ("cursor", cursor)])))
    }
}

pub(super) async fn get(
    Extension(ctx): Extension<RequestContext>,
    Params(query): Params<ProposalsQuery>,
) -> page::PageResult {
    let list = proposals::list(&ctx, &query).await?;
    let page = Page::new(&ctx, "proposals", "Proposals").await;
    page::html(&ProposalsPage { page, list, query })
}

/// The view of a review.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReviewQuery {
    /// `split` for the old and the new text side by side.
    view: Option<String>,
    /// The decision that led here.
    done: Option<String>,
}

#[derive(Template)]
#[template(path = "proposal.html")]
struct ProposalPage {
    page: Page,
    detail: ProposalDetailView,
    files: Vec<DiffFile>,
    is_side_by_side: bool,
    /// True if the sender is the author, and may not approve it.
    is_own: bool,
    done: Option<String>,
}

impl ProposalPage {
    fn proposal(&self) -> &ProposalView {
        &self.detail.proposal
    }

    fn is_open(&self) -> bool {
        matches!(self.proposal().state, "pending" | "stale")
    }

    /// Returns whether the proposal has to be rebased before it can be approved.
    fn is_stale(&self) -> bool {
        self.is_open() && (self.proposal().state == "stale" || self.detail.changed_since == Some(true))
    }

    fn here(&self) -> String {
        let view = if self.is_side_by_side { "split" } else { "" };
        // An update leaves the notice of the decision that led here.
        let done = self.done.as_deref().unwrap_or_default();
        format!("/proposals/{}{}", self.proposal().id, url::query(&[("view", view), ("done", done)]))
    }

    /// Returns the number of findings on the side of the change `change`, findings that stay included.
    fn findings(&self, change: &str) -> usize {
        self.detail.check.iter().filter(|line| line.change == change || line.change == "same").count()
    }

    fn tokens(&self) -> TokenChangeView {
        self.detail.tokens.unwrap_or_default()
    }

    fn token_change(&self) -> String {
        let TokenChangeView { before, after, .. } = self.tokens();
        if after >= before { format!("+{}", after - before) } else { format!("\u{2212}{}", before - after) }
    }
}

pub(super) async fn get_one(
    Extension(ctx): Extension<RequestContext>,
    Path(id): Path<u64>,
    Params(query): Params<ReviewQuery>,
) -> page::PageResult {
    let detail = proposals::detail(&ctx, id).await?;
    let page = Page::new(&ctx, "proposals", format!("Proposal {id}")).await;
    let files = diff::parse(&detail.diff);
    let is_side_by_side = query.view.as_deref() == Some("split");
    let is_own = !ctx.decides_own() && detail.proposal.author == ctx.reviewer();
    page::html(&ProposalPage { page, detail, files, is_side_by_side, is_own, done: query.done })
}

#[derive(Debug, Deserialize)]
pub(super) struct DecisionForm {
    csrf: String,
    #[serde(default)]
    reason: String,
}

pub(super) async fn post_approve(
    Extension(ctx): Extension<RequestContext>,
    Path(id): Path<u64>,
    Form(form): Form<DecisionForm>,
) -> page::PageResult {
    ctx.expect_write(Some(&form.csrf))?;
    Ok(decided(&proposals::approve(&ctx, id).await?, "approved"))
}

pub(super) async fn post_reject(
    Extension(ctx): Extension<RequestContext>,
    Path(id): Path<u64>,
    Form(form): Form<DecisionForm>,
) -> page::PageResult {
    ctx.expect_write(Some(&form.csrf))?;
    Ok(decided(&proposals::reject(&ctx, id, &form.reason).await?, "rejected"))
}

pub(super) async fn post_rebase(
    Extension(ctx): Extension<RequestContext>,
    Path(id): Path<u64>,
    Form(form): Form<DecisionForm>,
) -> page::PageResult {
    ctx.expect_write(Some(&form.csrf))?;
    Ok(decided(&proposals::rebase(&ctx, id).await?, "rebased"))
}

/// Leads to the proposal after a decision.
fn decided(proposal: &ProposalView, word: &str) -> Response {
    let done = url::query(&[("done", word)]);
    Redirect::to(&format!("/proposals/{}{done}", proposal.id)).into_response()
}
