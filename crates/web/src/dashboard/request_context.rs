//! The sender of a request to the dashboard, and its rights.

use std::sync::Arc;
use std::time::SystemTime;

use axum::http::HeaderMap;
use repertoire::event::{Event, Surface};
use repertoire::serve::{AgentView, MAX_NAME_CHARS, OUT_OF_SCOPE, Principal, UNKNOWN_SKILL};
use repertoire::store::Role;
use repertoire::{EventKind, Outcome};
use repertoire_app::workspace::Workspace;
use repertoire_model::Digest;
use repertoire_model::text::shorten;

use super::options::DashboardOptions;
use crate::server_state::ServerState;

/// The header that carries the token of the pages.
const CSRF_HEADER: &str = "x-csrf-token";

/// The reason that a request may not change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteRefusal {
    /// The server was started to be read only.
    ReadOnly,
    /// The agent of the token may not decide about proposals.
    NotReviewer,
    /// The request comes from a page of another origin, or does not have the token of the pages.
    Csrf,
}

/// The sender of a request to the dashboard.
#[derive(Clone)]
pub(crate) struct RequestContext {
    pub(crate) server: Arc<ServerState>,
    /// The part of the library that the sender may see.
    pub(crate) view: Arc<AgentView>,
    /// The token that the sender authenticated with, if any.
    pub(crate) principal: Principal,
    /// True if the request has an origin that is not the server's own.
    is_foreign: bool,
    /// The token of the pages, if the request has one in its headers.
    csrf: Option<String>,
    /// The token of the pages for a person that signed in. It is derived from the person's own, so that all
    /// servers of one store have the same.
    own_csrf: Option<String>,
    /// The method and the route of the request, without its parameters.
    route: Arc<str>,
}

impl RequestContext {
    /// Returns the sender of a request with `headers`, from a page of another origin if `is_foreign`.
    pub(crate) fn new(
        server: Arc<ServerState>,
        view: Arc<AgentView>,
        principal: Principal,
        headers: &HeaderMap,
        is_foreign: bool,
        route: Arc<str>,
    ) -> Self {
        Self {
            server,
            view,
            principal,
            is_foreign,
            csrf: headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned),
            own_csrf: None,
            route,
        }
    }

    /// Returns the sender as a person that signed in with the token `secret`, which browsers send themselves.
    pub(crate) fn signed_in(self, secret: &str) -> Self {
        let own_csrf = Digest::of(format!("csrf of {secret}").as_bytes()).to_hex();
        Self { own_csrf: Some(own_csrf), ..self }
    }

    /// Returns `true` if the sender is a person that signed in.
    pub(crate) fn is_signed_in(&self) -> bool {
        self.own_csrf.is_some()
    }

    /// Returns the token that forms of the sender's pages carry.
    pub(crate) fn csrf(&self) -> &str {
        self.own_csrf.as_deref().unwrap_or(&self.server.dashboard.csrf)
    }

    /// Records that the sender asked for `skill`, which it does not see.
    ///
    /// A skill that does not exist is recorded too, so that event numbers do not tell one from the other.
    pub(crate) fn record_unseen(&self, skill: &str, is_out_of_scope: bool) {
        self.record_refusal(Some(shorten(skill, MAX_NAME_CHARS)), is_out_of_scope);
    }

    /// Records that the sender asked for a proposal that does not exist.
    pub(crate) fn record_missing_proposal(&self) {
        self.record_refusal(None, false);
    }

    fn record_refusal(&self, skill: Option<String>, is_out_of_scope: bool) {
        if self.sees_all() {
            return;
        }
        let mut event = Event::new(EventKind::AccessRefused, &*self.route, "", SystemTime::now());
        event.surface = Surface::Http;
        event.skill = skill;
        event.principal = self.principal.name.as_deref().map(str::to_owned);
        event.agent = self.view.agent().map(|agent| agent.name.clone());
        let (outcome, error) = if is_out_of_scope {
            (Outcome::Denied, OUT_OF_SCOPE)
        } else {
            (Outcome::NotFound, UNKNOWN_SKILL)
        };
        (event.outcome, event.error) = (outcome, Some(error.to_owned()));
        self.view.shared.library.emit(&event);
    }

    pub(crate) fn options(&self) -> &DashboardOptions {
        &self.server.options.dashboard
    }

    /// Returns the workspace around the library, if there is one and the sender sees the whole library.
    pub(crate) fn workspace(&self) -> Option<Arc<Workspace>> {
        self.options().workspace.clone().filter(|_| self.sees_all())
    }

    /// Returns `true` if the sender sees the whole library.
    pub(crate) fn sees_all(&self) -> bool {
        self.view.is_unrestricted()
    }

    /// Returns the name under which the sender decides: `agent:NAME` or `user:NAME`.
    pub(crate) fn reviewer(&self) -> String {
        self.view.author(&self.principal).unwrap_or_else(|| self.options().person.clone())
    }

    /// Returns the name of the sender in events.
    pub(crate) fn principal_name(&self) -> String {
        self.principal.name.as_deref().map_or_else(|| self.reviewer(), str::to_owned)
    }

    /// Returns `true` if the sender may decide about its own proposals: a person at the machine, not a token.
    pub(crate) fn decides_own(&self) -> bool {
        self.view.agent().is_none() && self.principal.name.is_none()
    }

    /// Returns the reason that the sender may not change anything; `None` if it may.
    ///
    /// A token of a reviewer may write; without a token, the server must have been started for it.
    pub(crate) fn write_refusal(&self) -> Option<WriteRefusal> {
        match self.view.agent() {
            Some(agent) if !agent.reviews => Some(WriteRefusal::NotReviewer),
            _ if self.principal.role < Role::Reviewer => Some(WriteRefusal::NotReviewer),
            _ if self.principal.name.is_some() || self.options().allows_writes => None,
            _ => Some(WriteRefusal::ReadOnly),
        }
    }

    /// Fails unless the sender may change something, by a request that `form` is the token of: a form of a
    /// page has it as a field, and a script as a header.
    pub(crate) fn expect_write(&self, form: Option<&str>) -> Result<(), WriteRefusal> {
        if let Some(refusal) = self.write_refusal() {
            return Err(refusal);
        }
        if self.is_from_page(form) { Ok(()) } else { Err(WriteRefusal::Csrf) }
    }

    /// Returns `true` if the request comes from a page of this server, or has a bearer token. `form` is the
    /// token of the pages in a form.
    pub(crate) fn is_from_page(&self, form: Option<&str>) -> bool {
        // No page of another site has a bearer token that it could send. Everything else may be sent without
        // the person's knowledge.
        if self.principal.name.is_some() && !self.is_signed_in() {
            return true;
        }
        let given = form.or(self.csrf.as_deref()).unwrap_or_default();
        !self.is_foreign && is_equal(given.as_bytes(), self.csrf().as_bytes())
    }
}

/// Returns whether the two are equal, in a time that tells nothing about where they differ.
pub(crate) fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |difference, (a, b)| difference | (a ^ b));
    one.len() == other.len() && difference == 0
}
