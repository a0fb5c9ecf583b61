//! The table of all routes.

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Router};
use repertoire_app::view::{
    CatalogView, ExplanationView, ListingView, ProposalDetailView, ProposalListView, ProposalView,
    RollbackView, SearchView, SkillDetailView, UpdateView, VersionDiffView, VersionListView,
};
use serde_json::Value;

use super::error::ApiError;
use super::request::{Answer, JsonBody, Params, PathParams};
use super::route::Route;
use super::{catalog, changes, events, explain, health, listing, openapi, overview};
use super::{proposals, search, sessions, skill, skills, switch, update, versions};
use crate::dashboard::RequestContext;
use crate::publish::{PublishAnswer, PublishQuery};

const DOCUMENT: &str = "/api/v1/openapi.json";

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

/// A route whose answer is JSON: the method, the path, the id, the statuses of errors, the summary, and the
/// function that answers.
/// Only senders that may write get an answer to a POST.
macro_rules! route {
    (get $path:literal $id:literal $errors:tt $summary:literal,
        ($ctx:ident $(, path $part:tt: $part_type:ty)? $(, query $query:ident: $query_type:ty)?) -> $answer:ty = $call:expr) => {
        Route::get::<$answer>($path, $id, $summary, get(
            |Extension($ctx): Extension<RequestContext> $(, PathParams($part): PathParams<$part_type>)?
                $(, Params($query): Params<$query_type>)?| async move { Ok::<_, ApiError>(Answer::<$answer>($call.await?)) },
        ))
        $(.query::<$query_type>())?
        .errors(&$errors)
    };
    (post $path:literal $id:literal $summary:literal,
        ($ctx:ident, path $part:ident: $part_type:ty, body $body:tt: $body_type:ty) -> $answer:ty = $call:expr) => {
        Route::post::<$body_type, $answer>($path, $id, $summary, post(
            |Extension($ctx): Extension<RequestContext>, PathParams($part): PathParams<$part_type>,
                JsonBody($body): JsonBody<$body_type>| async move {
                $ctx.expect_write(None)?;
                Ok::<_, ApiError>(Answer::<$answer>($call.await?))
            },
        ))
    };
}

pub(super) fn table<S: Clone + Send + Sync + 'static>() -> Vec<Route<S>> {
    vec![
        route!(get "/api/v1/overview" "overview" [] "The library at a glance: skills, catalog, use and proposals",
            (ctx) -> overview::Overview = overview::overview(&ctx)),
        route!(get "/api/v1/skills" "listSkills" [400, 404] "The skills, filtered and searched",
            (ctx, query query: skills::SkillsQuery) -> skills::SkillList = skills::list(&ctx, &query)),
        route!(get "/api/v1/skills/{name}" "getSkill" [404] "A skill: instructions, files, findings, tools and use",
            (ctx, path name: String) -> SkillDetailView = skill::detail(&ctx, &name)),
        route!(get "/api/v1/skills/{name}/files/{*path}" "getSkillFile" [404, 409] "A file of a skill",
            (ctx, path (name, path): (String, String)) -> skill::FileText = skill::file(&ctx, &name, &path)),
        route!(get "/api/v1/skills/{name}/explain" "explainSkill" [404]
            "Every decision about a skill, and what each agent gets of it",
            (ctx, path name: String) -> ExplanationView = explain::explanation(&ctx, name)),
        route!(get "/api/v1/skills/{name}/update" "getSkillUpdate" [400, 404, 409]
            "The newest version of a skill in its source, which is asked for it",
            (ctx, path name: String) -> UpdateView = update::update(&ctx, &name)),
        route!(get "/api/v1/skills/{name}/versions" "listVersions" [400, 404, 503] "The versions of a skill, the newest first",
            (ctx, path name: String, query query: versions::VersionsQuery) -> VersionListView = versions::list(&ctx, &name, &query)),
        route!(get "/api/v1/skills/{name}/versions/{version}/diff" "diffVersion" [400, 404, 503] "The changes of a version",
            (ctx, path (name, version): (String, u64), query query: versions::DiffQuery) -> VersionDiffView
                = versions::diff(&ctx, &name, version, query.against)),
        route!(post "/api/v1/skills/{name}/rollback" "rollbackSkill" "Restores a version of a skill",
            (ctx, path name: String, body request: versions::RollbackRequest) -> RollbackView
                = versions::rollback(&ctx, &name, request)),
        route!(post "/api/v1/skills/{name}/switch" "switchSkill" "Switches a skill off or on for all agents",
            (ctx, path name: String, body request: switch::SwitchRequest) -> switch::SwitchAnswer
                = switch::switch(&ctx, &name, request.on)),
        route!(get "/api/v1/search" "search" [400] "The skills that a text is about, best first",
            (ctx, query query: search::SearchQuery) -> SearchView = search::search(&ctx, query)),
        route!(get "/api/v1/catalog" "getCatalog" [400, 404] "The catalog for an agent, a budget, a task and a format",
            (ctx, query query: catalog::CatalogQuery) -> CatalogView = catalog::catalog(&ctx, &query)),
        route!(get "/api/v1/listings" "listListings" [400] "The skills that clients read from files, as they list them to their models",
            (ctx, query query: listing::ListingsQuery) -> Vec<ListingView> = listing::listings(&ctx, query)),
        route!(get "/api/v1/proposals" "listProposals" [400, 503] "Changes of skills that agents and people propose",
            (ctx, query query: proposals::ProposalsQuery) -> ProposalListView = proposals::list(&ctx, &query)),
        route!(get "/api/v1/proposals/{id}" "getProposal" [400, 404, 503] "A proposal with its change and its findings",
            (ctx, path id: u64) -> ProposalDetailView = proposals::detail(&ctx, id)),
        route!(post "/api/v1/proposals/{id}/approve" "approveProposal" "Approves a proposal: its files are written",
            (ctx, path id: u64, body _: proposals::ApproveRequest) -> ProposalView = proposals::approve(&ctx, id)),
        route!(post "/api/v1/proposals/{id}/reject" "rejectProposal" "Rejects a proposal; the same one is not accepted again",
            (ctx, path id: u64, body request: proposals::RejectRequest) -> ProposalView
                = proposals::reject(&ctx, id, &request.reason)),
        route!(post "/api/v1/proposals/{id}/rebase" "rebaseProposal"
            "Replaces a proposal by one with the same change of the skill as it is now",
            (ctx, path id: u64, body _: proposals::ApproveRequest) -> ProposalView = proposals::rebase(&ctx, id)),
        route!(get "/api/v1/events" "listEvents" [400, 503] "The journal of events, the newest first",
            (ctx, query query: events::EventsQuery) -> events::EventList = events::list(&ctx, &query)),
        Route::get::<String>(
            "/api/v1/events/export",
            "exportEvents",
            "The journal as lines of JSON, the oldest first",
            get(events::get_export),
        )
        .query::<events::ExportQuery>()
        .errors(&[400, 503])
        .media_type("application/x-ndjson"),
        route!(get "/api/v1/sessions" "listSessions" [400, 503]
            "The sessions of the last three days, and what each has loaded",
            (ctx, query query: sessions::SessionsQuery) -> sessions::SessionList = sessions::list(&ctx, &query)),
        route!(get "/api/v1/health" "health" [] "The state of the parts of the server",
            (ctx) -> health::Health = health::health(&ctx)),
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
