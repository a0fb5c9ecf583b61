//! The table of all routes.

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Router};
use repertoire_app::view::{
    CatalogView, ExplanationView, ProposalDetailView, ProposalListView, ProposalView, RollbackView,
    SearchView, SkillDetailView, UpdateView, VersionDiffView, VersionListView,
};
use serde_json::Value;

use super::error::ApiError;
use super::request::Answer;
use super::route::Route;
use super::{catalog, changes, events, explain, health, openapi, overview};
use super::{proposals, search, sessions, skill, skills, switch, update, versions};
use crate::dashboard::RequestContext;
use crate::publish::{PublishAnswer, PublishQuery};

/// The path of the document.
const DOCUMENT: &str = "/api/v1/openapi.json";

/// Returns the routes of the API.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let mut router = Router::new();
    for route in table::<S>() {
        router = router.route(route.path, route.handler);
    }
    router
        .route("/api/v1/{*rest}", axum::routing::any(unknown))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn(no_store))
}

/// Keeps caches from answering with what one sender may see, and browsers from taking an answer for a page.
async fn no_store(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    );
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

async fn unknown() -> ApiError {
    ApiError::not_found(format!("there is no such route; {DOCUMENT} lists them"))
}

async fn wrong_method() -> Response {
    let error = ApiError::invalid(format!("there is no such method; {DOCUMENT} lists them"));
    ApiError { status: StatusCode::METHOD_NOT_ALLOWED, code: "method_not_allowed", ..error }.into_response()
}

async fn document(Extension(ctx): Extension<RequestContext>) -> Answer<Value> {
    let mut routes = table::<()>();
    routes.extend(published());
    Answer(openapi::document(&routes, &ctx.server.options.version))
}

/// Returns the routes of published versions, which are answered without the dashboard, too.
fn published() -> [Route<()>; 2] {
    let path = "/api/v1/skills/{name}/versions/{version}";
    let get = Route::get::<()>(
        path,
        "getVersion",
        "A published version of a skill, as an archive; it never changes",
        MethodRouter::new(),
    );
    let put = Route::put_archive::<PublishAnswer>(
        path,
        "publishVersion",
        "Publishes a version of a skill, or proposes it for a review; the body is an archive of at most 10 MiB",
        MethodRouter::new(),
    );
    [
        get.archive().errors(&[404, 503]),
        put.query::<PublishQuery>().errors(&[400, 403, 404, 409, 413, 422, 503]),
    ]
}

pub(super) fn table<S: Clone + Send + Sync + 'static>() -> Vec<Route<S>> {
    vec![
        Route::get::<overview::Overview>(
            "/api/v1/overview",
            "overview",
            "The library at a glance: skills, catalog, use and proposals",
            get(overview::get),
        ),
        Route::get::<skills::SkillList>(
            "/api/v1/skills",
            "listSkills",
            "The skills, filtered and searched",
            get(skills::get),
        )
        .query::<skills::SkillsQuery>()
        .errors(&[400, 404]),
        Route::get::<SkillDetailView>(
            "/api/v1/skills/{name}",
            "getSkill",
            "A skill: instructions, files, findings, tools and use",
            get(skill::get),
        )
        .errors(&[404]),
        Route::get::<skill::FileText>(
            "/api/v1/skills/{name}/files/{*path}",
            "getSkillFile",
            "A file of a skill",
            get(skill::get_file),
        )
        .errors(&[404, 409]),
        Route::get::<ExplanationView>(
            "/api/v1/skills/{name}/explain",
            "explainSkill",
            "Every decision about a skill, and what each agent gets of it",
            get(explain::get),
        )
        .errors(&[404]),
        Route::get::<UpdateView>(
            "/api/v1/skills/{name}/update",
            "getSkillUpdate",
            "The newest version of a skill in its source, which is asked for it",
            get(update::get),
        )
        .errors(&[400, 404, 409]),
        Route::get::<VersionListView>(
            "/api/v1/skills/{name}/versions",
            "listVersions",
            "The versions of a skill, the newest first",
            get(versions::get),
        )
        .query::<versions::VersionsQuery>()
        .errors(&[400, 404, 503]),
        Route::get::<VersionDiffView>(
            "/api/v1/skills/{name}/versions/{version}/diff",
            "diffVersion",
            "The changes of a version",
            get(versions::get_diff),
        )
        .query::<versions::DiffQuery>()
        .errors(&[400, 404, 503]),
        Route::post::<versions::RollbackRequest, RollbackView>(
            "/api/v1/skills/{name}/rollback",
            "rollbackSkill",
            "Restores a version of a skill",
            post(versions::post_rollback),
        ),
        Route::post::<switch::SwitchRequest, switch::SwitchAnswer>(
            "/api/v1/skills/{name}/switch",
            "switchSkill",
            "Switches a skill off or on for all agents",
            post(switch::post),
        ),
        Route::get::<SearchView>(
            "/api/v1/search",
            "search",
            "The skills that a text is about, best first",
            get(search::get),
        )
        .query::<search::SearchQuery>()
        .errors(&[400]),
        Route::get::<CatalogView>(
            "/api/v1/catalog",
            "getCatalog",
            "The catalog for an agent, a budget, a task and a format",
            get(catalog::get),
        )
        .query::<catalog::CatalogQuery>()
        .errors(&[400, 404]),
        Route::get::<ProposalListView>(
            "/api/v1/proposals",
            "listProposals",
            "Changes of skills that agents and people propose",
            get(proposals::get),
        )
        .query::<proposals::ProposalsQuery>()
        .errors(&[400, 503]),
        Route::get::<ProposalDetailView>(
            "/api/v1/proposals/{id}",
            "getProposal",
            "A proposal with its change and its findings",
            get(proposals::get_one),
        )
        .errors(&[400, 404, 503]),
        Route::post::<proposals::ApproveRequest, ProposalView>(
            "/api/v1/proposals/{id}/approve",
            "approveProposal",
            "Approves a proposal: its files are written",
            post(proposals::post_approve),
        ),
        Route::post::<proposals::RejectRequest, ProposalView>(
            "/api/v1/proposals/{id}/reject",
            "rejectProposal",
            "Rejects a proposal; the same one is not accepted again",
            post(proposals::post_reject),
        ),
        Route::post::<proposals::ApproveRequest, ProposalView>(
            "/api/v1/proposals/{id}/rebase",
            "rebaseProposal",
            "Replaces a proposal by one with the same change of the skill as it is now",
            post(proposals::post_rebase),
        ),
        Route::get::<events::EventList>(
            "/api/v1/events",
            "listEvents",
            "The journal of events, the newest first",
            get(events::get),
        )
        .query::<events::EventsQuery>()
        .errors(&[400, 503]),
        Route::get::<String>(
            "/api/v1/events/export",
            "exportEvents",
            "The journal as lines of JSON, the oldest first",
            get(events::get_export),
        )
        .query::<events::ExportQuery>()
        .errors(&[400, 503])
        .media_type("application/x-ndjson"),
        Route::get::<sessions::SessionList>(
            "/api/v1/sessions",
            "listSessions",
            "The sessions of the last three days, and what each has loaded",
            get(sessions::get),
        )
        .query::<sessions::SessionsQuery>()
        .errors(&[400, 503]),
        Route::get::<health::Health>(
            "/api/v1/health",
            "health",
            "The state of the parts of the server",
            get(health::get),
        ),
        Route::get::<changes::ChangeNotice>(
            "/api/v1/changes",
            "changes",
            "A stream of notices that skills, proposals or events changed",
            get(changes::get),
        )
        .media_type("text/event-stream"),
        Route::get::<Value>(DOCUMENT, "openapi", "This document", get(document)),
    ]
}
