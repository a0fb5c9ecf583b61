//! The footer with the number of skills that a catalog shortens or leaves out.

use super::options::{CatalogOptions, LIST_TOOL};

/// The number of skills that are shown with less than their description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShortenedCounts {
    pub(super) total: usize,
    pub(super) sentences: usize,
    pub(super) names: usize,
    pub(super) omitted: usize,
}

/// Returns the footer of a shortened catalog.
pub(super) fn shortened(options: &CatalogOptions, shortened: ShortenedCounts) -> Option<String> {
    let ShortenedCounts { total, sentences, names, omitted } = shortened;
    // The first number has the total.
    let of = if omitted == 0 { format!(" of {total} skills") } else { String::new() };
    let descriptions = match (sentences, names) {
        (0, 0) if omitted == 0 => return None,
        (0, 0) => String::new(),
        (_, 0) => format!("descriptions are cut to their first sentence for {sentences}{of}"),
        (0, _) => format!("descriptions are left out for {names}{of}"),
        _ => format!(
            "descriptions are cut to their first sentence for {sentences}{of} and left out for {names}"
        ),
    };
    let what = match omitted {
        0 => descriptions,
        _ if descriptions.is_empty() => format!("{omitted} of {total} skills are not listed"),
        _ => format!("{omitted} of {total} skills are not listed and {descriptions}"),
    };
    let pointer = match &options.search_tool {
        Some(tool) => format!("call `{tool}` to find skills by what they do"),
        None if omitted > 0 => format!("call `{LIST_TOOL}` to see them all"),
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
