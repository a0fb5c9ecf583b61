//! The frame of every page, and its response.

use askama::Template;
use axum::response::{Html, IntoResponse as _, Response};

use super::text;
use crate::api::{ApiError, proposals};
use crate::dashboard::RequestContext;

pub(super) struct Page {
    pub(super) title: String,
    /// The section that is marked in the navigation.
    pub(super) section: &'static str,
    pub(super) library: String,
    /// The number of proposals that wait for a decision.
    pub(super) pending: usize,
    /// True if the sender may change something.
    pub(super) may_write: bool,
    /// The token of forms.
    pub(super) csrf: String,
    /// The name under which the sender decides.
    pub(super) who: String,
    /// The person without a token, as records have it and as pages show it.
    owner: (String, String),
    /// The name of the person that signed in, if the sender is one.
    pub(super) person: Option<String>,
    pub(super) version: String,
}

impl Page {
    /// Returns the frame of a page of `section` for the sender.
    pub(super) async fn new(ctx: &RequestContext, section: &'static str, title: impl Into<String>) -> Self {
        let person = &ctx.options().person;
        let login = ctx.options().workspace.as_ref().and_then(|workspace| workspace.env.display_name());
        let owner = (person.clone(), login.unwrap_or_else(|| text::actor(person).to_owned()));
        let mut page = Self {
            title: title.into(),
            section,
            library: ctx.options().title.clone(),
            pending: proposals::pending(ctx).await,
            may_write: ctx.write_refusal().is_none(),
            csrf: ctx.csrf().to_owned(),
            who: String::new(),
            owner,
            person: ctx.principal.name.as_deref().filter(|_| ctx.is_signed_in()).map(str::to_owned),
            version: ctx.server.options.version.clone(),
        };
        page.who = page.actor(&ctx.reviewer()).to_owned();
        page
    }

    /// Returns the name of a person or agent without its kind.
    pub(super) fn actor<'n>(&'n self, name: &'n str) -> &'n str {
        if name == self.owner.0 { &self.owner.1 } else { text::actor(name) }
    }

    /// Returns the name of a person or agent as people read it: `agent:x` is `agent x`.
    pub(super) fn author(&self, name: &str) -> String {
        match name.strip_prefix("agent:") {
            Some(agent) => format!("agent {agent}"),
            None => self.actor(name).to_owned(),
        }
    }

    /// Returns the attributes of the link to `section` in the navigation.
    pub(super) fn current(&self, section: &str) -> &'static str {
        if self.section == section { "page" } else { "false" }
    }
}

pub(super) type PageResult = Result<Response, ApiError>;

pub(super) fn html(template: &impl Template) -> PageResult {
    let text = template.render().map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(Html(text).into_response())
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    page: Page,
    heading: &'static str,
    message: String,
    /// The file with its conflicts marked, if there are any.
    conflict: Option<String>,
    hint: &'static str,
}

/// The sections of the navigation beside the overview, which their paths begin with.
const SECTIONS: [&str; 5] = ["skills", "catalog", "proposals", "events", "sessions"];

/// Returns the page of `error`, in place of the one at `path`.
pub(super) async fn error(ctx: &RequestContext, path: &str, error: ApiError) -> Response {
    let first = path.split('/').nth(1).unwrap_or_default();
    let section = SECTIONS.into_iter().find(|section| *section == first).unwrap_or("overview");
    let (heading, hint) = match error.code {
        "not_found" => ("Not found", "It may have been renamed, removed, or be outside of what you may see."),
        "no_store" => {
            ("Nothing is recorded", "With a store, this page shows events, versions and proposals.")
        }
        "store_unavailable" => {
            ("The store is away", "Skills are served all the same. Try again in a moment.")
        }
        "bad_address" => ("There is no such page", "Choose a section, or go back."),
        "invalid_request" => ("That cannot be shown", "Correct the address, or clear the filters."),
        "own_proposal" => ("It is your own proposal", "Somebody else has to approve it."),
        "read_only" => (
            "This page is read only",
            "Decide in `rep dashboard --allow-write`, or sign in to a server that has tokens.",
        ),
        "csrf" => ("The form is out of date", "Go back, reload the page, and try again."),
        "stale" => (
            "The skill changed meanwhile",
            "Rebase the proposal to repeat its change on the skill as it is now.",
        ),
        "conflict" => (
            "The changes contradict each other",
            "Reject the proposal, or ask its author to propose the change anew.",
        ),
        "state" => {
            ("It was decided already", "Somebody else was faster; reload the page to see the decision.")
        }
        "unrecorded_edits" => {
            ("There are changes that no version holds", "Tick the box to record and replace them.")
        }
        _ => ("That did not work", "Nothing was changed."),
    };
    let page = Page::new(ctx, section, heading).await;
    let (message, conflict) = match error.message.split_once('\n') {
        Some((message, conflict)) => (message.to_owned(), Some(conflict.to_owned())),
        None => (error.message, None),
    };
    let mut response = html(&ErrorPage { page, heading, message, conflict, hint }).into_response();
    *response.status_mut() = error.status;
    response
}
