//! The footer with the number of skills that a catalog shortens or leaves out.

use super::options::CatalogOptions;

/// The number of skills that are shown with less than their description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShortenedCounts {
    pub(super) total: usize,
    pub(super) sentences: usize,
    pub(super) names: usize,
    pub(super) omitted: usize,
}

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
    let pointer = match (&options.search_tool, &options.list_tool) {
        (Some(tool), _) => format!("; call `{tool}` to find skills by what they do"),
        (None, Some(tool)) if omitted > 0 => format!("; call `{tool}` to see them all"),
        (None, Some(tool)) => format!("; call `{tool}` to read them in full"),
        (None, None) => String::new(),
    };
    Some(format!("To save space, {what}{pointer}."))
}

/// Returns `note` with the line of `names`, which are separated by commas.
pub(super) fn with_names(note: &str, names: &str) -> String {
    format!("{note}\nOther skills: {names}")
}

/// Returns the text that stands in place of all entries.
pub(super) fn search_only(options: &CatalogOptions, total: usize) -> String {
    let load = &options.tool_name;
    let pointer = match (&options.search_tool, &options.list_tool) {
        (Some(tool), _) => {
            format!("call `{tool}` to find skills that match the task, then `{load}` with the name")
        }
        (None, Some(tool)) => format!("call `{tool}` to see them, then `{load}` with the name"),
        (None, None) => format!("call `{load}` with the name of one that you know"),
    };
    format!("Skills available but not listed here, to save space: {total}; {pointer}.")
}
