//! `GET /api/v1/listings`: the skills that clients read from files, as they list them to their models.

use repertoire_app::listing;
use repertoire_app::view::ListingView;
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ApiError;
use super::records::blocking;
use crate::dashboard::RequestContext;

/// The choice of listings.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ListingsQuery {
    /// Only that of this client, found on this machine or not.
    pub(crate) client: Option<String>,
    /// The tokens of its context window.
    #[schemars(extend("maximum" = 4_294_967_295_u32))]
    pub(crate) window: Option<u32>,
}

/// Returns the listings of the clients on this machine; none where the sender does not see the whole library.
pub(crate) async fn listings(
    ctx: &RequestContext,
    query: ListingsQuery,
) -> Result<Vec<ListingView>, ApiError> {
    let Some(workspace) = ctx.workspace() else { return Ok(Vec::new()) };
    let registry = ctx.view.shared.registry.clone();
    blocking(move || {
        let library = workspace.library_of(&registry);
        let one = |client: &String| listing::listing(&workspace, &library, client, query.window);
        let all = || listing::listings(&workspace, &library);
        Ok(query.client.as_ref().map_or_else(all, |client| one(client).into_iter().collect()))
    })
    .await
}
