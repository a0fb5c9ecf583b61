//! The pages of versions: a difference, and restoring one.

use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Redirect};
use axum::{Extension, Form};
use repertoire_app::view::VersionDiffView;
use serde::Deserialize;

use super::diff::{self, DiffFile};
use super::page::{self, Page};
use super::url;
use crate::api::Params;
use crate::api::versions::{self, RollbackRequest};
use crate::dashboard::RequestContext;

#[derive(Template)]
#[template(path = "version.html")]
struct VersionPage {
    page: Page,
    version: VersionDiffView,
    number: u64,
    files: Vec<DiffFile>,
    is_side_by_side: bool,
}

/// The versions of a difference, and how it is shown.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct DiffView {
    against: Option<u64>,
    view: Option<String>,
}

pub(super) async fn get(
    Extension(ctx): Extension<RequestContext>,
    Path((name, number)): Path<(String, u64)>,
    Params(query): Params<DiffView>,
) -> page::PageResult {
    let version = versions::diff(&ctx, &name, number, query.against).await?;
    let page = Page::new(&ctx, "skills", format!("Version {number} of {name}")).await;
    let files = diff::parse(&version.diff);
    let is_side_by_side = query.view.as_deref() == Some("split");
    page::html(&VersionPage { page, version, number, files, is_side_by_side })
}

/// The form that restores a version.
#[derive(Debug, Deserialize)]
pub(super) struct RollbackForm {
    csrf: String,
    version: u64,
    #[serde(default)]
    force: Option<String>,
}

pub(super) async fn post_rollback(
    Extension(ctx): Extension<RequestContext>,
    Path(name): Path<String>,
    Form(form): Form<RollbackForm>,
) -> page::PageResult {
    ctx.expect_write(Some(&form.csrf))?;
    let request = RollbackRequest { version: form.version, force: form.force.is_some() };
    versions::rollback(&ctx, &name, request).await?;
    let done = url::query(&[("done", &format!("version {} is restored", form.version))]);
    Ok(Redirect::to(&format!("{}{done}", url::skill(&name))).into_response())
}
