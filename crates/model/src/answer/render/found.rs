//! Sentences that the renderings of search results share.

use super::sentence::{self, line};
use crate::answer::{SearchResult, SearchResults, Section, Wording};

/// Returns the lines of a section, as `9-11`.
pub(super) fn lines(section: &Section) -> String {
    format!("{}-{}", section.first_line, section.last_line)
}

/// Returns the path of the skill, if the model may know it and it can be written verbatim.
pub(super) fn path<'r>(results: &SearchResults, result: &'r SearchResult) -> Option<&'r str> {
    results.shows_paths.then_some(result.path.as_str()).and_then(sentence::whole_place)
}

pub(super) fn nothing(results: &SearchResults, wording: &Wording) -> String {
    let tag = results.tag.as_deref().map(|tag| format!(" with the tag `{}`", line(tag))).unwrap_or_default();
    let query = match line(&results.query) {
        query if query.trim().is_empty() => String::new(),
        query => format!(" for `{query}`"),
    };
    let list = wording.list.as_ref();
    let list = list.map(|tool| format!(", or call `{tool}` to see what there is")).unwrap_or_default();
    let ignored = ignored_tag(results).map(|sentence| sentence + " ").unwrap_or_default();
    format!("{ignored}No skill{tag} was found{query}. Say in other words what is to be done{list}.")
}

/// Returns the note behind the results: the tag that was ignored, and the next steps.
pub(super) fn note(results: &SearchResults, wording: &Wording) -> Option<String> {
    let sentences: Vec<String> =
        ignored_tag(results).into_iter().chain(how_to_go_on(results, wording)).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn ignored_tag(results: &SearchResults) -> Option<String> {
    let tag = results.ignored_tag.as_deref().map(line)?;
    Some(format!("No skill has the tag `{tag}`, so it was ignored."))
}

/// Returns the next steps: how to load one of the skills, and how to read only its section. A weak result is
/// not to be loaded unseen.
fn how_to_go_on(results: &SearchResults, wording: &Wording) -> Option<String> {
    if !results.results.is_empty() && results.results.iter().all(SearchResult::is_weak) {
        return Some("These are weak matches: use one only if its description fits the task.".to_owned());
    }
    let result = results.results.iter().find(|result| !result.loaded && !result.is_weak())?;
    let Wording { load, name, skill, path, start_line, end_line, .. } = wording;
    let mut sentence =
        format!("To use one, call `{load}` with {}", serde_json::json!({ name: result.name.as_str() }));
    if let (Some(tool), Some(section)) = (&wording.read_file, &result.section) {
        let arguments = serde_json::json!({
            skill: result.name.as_str(),
            path: line(&result.manifest_file),
            start_line: section.first_line,
            end_line: section.last_line,
        });
        sentence.push_str(&format!("; to read its section alone, `{tool}` with {arguments}"));
    }
    sentence.push('.');
    Some(sentence)
}
