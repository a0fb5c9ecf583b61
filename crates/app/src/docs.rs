//! Links to the documentation.

/// Returns the address of the page `page` of the documentation, as in `reference/json`.
pub fn docs(page: &str) -> String {
    format!("{}/blob/main/docs/{page}.md", env!("CARGO_PKG_REPOSITORY"))
}
