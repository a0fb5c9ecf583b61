//! The words with which the catalog owns up to what it leaves out.

use super::options::{CatalogOptions, LIST_TOOL};

/// Returns the footer of a shortened catalog.
pub(super) fn shortened(
    options: &CatalogOptions,
    total: usize,
    sentences: usize,
    names: usize,
) -> Option<String> {
    let what = match (sentences, names) {
        (0, 0) => return None,
        (_, 0) => format!("descriptions are cut to their first sentence for {sentences} of {total} skills"),
        (0, _) => format!("descriptions are left out for {names} of {total} skills"),
        _ => format!(
            "descriptions are cut to their first sentence for {sentences} of {total} skills and left out for {names}"
        ),
    };
    let pointer = match &options.search_tool {
        Some(tool) => format!("call `{tool}` to find skills by what they do"),
        None => format!("call `{LIST_TOOL}` to read them in full"),
    };
    Some(format!("To save space, {what}; {pointer}."))
}

/// Returns the text that stands in place of all entries.
pub(super) fn search_only(options: &CatalogOptions, total: usize) -> String {
    let pointer = match &options.search_tool {
        Some(tool) => format!("call `{tool}` to find those that match the task"),
        None => format!("call `{LIST_TOOL}` to see them"),
    };
    let load = &options.tool_name;
    format!(
        "Skills available but not listed here, to save space: {total}; {pointer}, then `{load}` with the name."
    )
}
