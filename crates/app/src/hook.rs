//! The answers of `rep hook`: the skills that fit a prompt, and after a compaction the skills that were lost.
//!
//! A prompt stays in this process: it is not stored, recorded or sent anywhere.

use std::collections::BTreeMap;

use repertoire::config::Embeddings;
use repertoire::{Entry, SearchHit, SearchRequest, Visibility, regular_file};
use repertoire_clients::connect::{OwnEntries, connections};
use repertoire_clients::hook::HookEvent;
use repertoire_clients::{Client, SkillOnDisk, client_readers};
use repertoire_model::answer::MatchedWord;
use serde_json::Value;

use crate::stats::mentioned_skills;
use crate::workspace::{SearchableLibrary, Workspace};

/// The confidence from which a skill is named, and the words of the prompt that its name, description or
/// keywords must have: one rare word, such as a language, says too little. Measured in `bench/README.md`.
const MIN_CONFIDENCE: f32 = 0.65;
const MIN_CLAIMED: usize = 2;

/// The most skills that are named for a prompt.
const MAX_NAMED: usize = 2;

/// The most skills that are named after a compaction.
const MAX_LOST: usize = 8;

/// The most bytes of a transcript; a longer one counts as empty.
const MAX_TRANSCRIPT: u64 = 16 << 20;

/// Tells `say` the text for the model in answer to `event` of `client`, of at most two lines, if there is
/// something to say, and keeps the index for the next run. Errors are silence.
pub fn answer(
    workspace: &Workspace,
    client: &'static Client,
    event: &HookEvent,
    say: &dyn Fn(Option<String>),
) {
    let bytes = event.transcript.as_deref().and_then(|path| regular_file::read(path, MAX_TRANSCRIPT).ok());
    let (loaded, lost) = loaded_and_lost(client, &String::from_utf8_lossy(&bytes.unwrap_or_default()));
    let Some(prompt) = &event.prompt else { return say(lost_text(&lost)) };
    // A server of embeddings would be sent the prompt.
    if workspace.settings.search.embeddings == Embeddings::Http {
        return;
    }
    if let Ok(searchable) = workspace.open_to_search() {
        say(fitting(workspace, &searchable, client, prompt, &loaded));
        pollster::block_on(searchable.handle.save());
    }
}

/// Reads all skills and builds their index, so that hooks find it.
pub fn prepare(workspace: &Workspace) {
    if let Ok(library) = workspace.open_to_search() {
        library.searcher.prepare(&library.library.registry, &library.library.snapshot, &|_, _| ());
        pollster::block_on(library.handle.save());
    }
}

/// Returns the text that names the skills which fit `prompt`, the client gets and are not in `loaded`.
fn fitting(
    workspace: &Workspace,
    searchable: &SearchableLibrary,
    client: &'static Client,
    prompt: &str,
    loaded: &[String],
) -> Option<String> {
    let SearchableLibrary { library, handle, .. } = searchable;
    let request = SearchRequest::new(prompt, MAX_NAMED);
    let hits = pollster::block_on(handle.search(&library.snapshot, &request, Visibility::All));
    let is_claimed = |word: &&MatchedWord| {
        word.fields.iter().any(|it| ["name", "description", "keywords"].contains(&it.as_str()))
    };
    let fits = |hit: &SearchHit| {
        hit.confidence >= MIN_CONFIDENCE && hit.words.iter().filter(is_claimed).count() >= MIN_CLAIMED
    };
    let mut hits = hits.into_iter().filter(fits).peekable();
    hits.peek()?;
    let places = workspace.env.places();
    let readers = client_readers(&places, &library.places, BTreeMap::new(), &[client.id]);
    let reader = readers.iter().find(|reader| reader.client.id == client.id);
    let is_connected = connections(&OwnEntries::new(&places), &places)
        .iter()
        .any(|connection| connection.client.id == client.id && !connection.is_off);
    let named = hits.filter_map(|hit| {
        let entry: &Entry = &library.snapshot.entries()[hit.entry.index()];
        let skill = SkillOnDisk::of(entry);
        let route = reader.and_then(|reader| Some((reader, reader.routes_in_use(&skill).next()?)));
        let (name, way) = match route {
            Some((reader, route)) => {
                (reader.name_of(route, &skill), route.path.join("SKILL.md").display().to_string())
            }
            None if is_connected => (entry.name().to_string(), "load_skill".to_owned()),
            None => return None,
        };
        let is_loaded = loaded.iter().any(|other| *other == name || other == entry.name().as_str());
        (!is_loaded && is_plain(&name) && is_plain(&way)).then_some((name, way))
    });
    let lines = named.enumerate().map(|(number, (name, way))| match number {
        0 => format!("The skill `{name}` fits this request: load it ({way}) before you start."),
        _ => format!("The skill `{name}` ({way}) may fit as well."),
    });
    Some(lines.collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty())
}

/// Returns `true` if `text`, a name or path, cannot be taken for instructions: it is one line without quotes.
fn is_plain(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || matches!(c, '`' | '\u{2028}' | '\u{2029}'))
}

/// Returns the text that names the skills `lost` by a compaction.
fn lost_text(lost: &[String]) -> Option<String> {
    let names = lost.iter().filter(|name| is_plain(name)).rev().take(MAX_LOST);
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "The conversation was compacted. These skills were in use before: {}.\n\
             Load each of them again before you go on with its task, unless its instructions are still here.",
            names.join(", ")
        )
    })
}

/// Returns the skills that the transcript `text` of `client` shows loaded since the last compaction, and the
/// skills that were loaded before it or, if it is not yet in the transcript, until now; the last one last.
fn loaded_and_lost(client: &Client, text: &str) -> (Vec<String>, Vec<String>) {
    let (mut loaded, mut lost) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if ["\"compact_boundary\"", "\"type\":\"compacted\""].iter().any(|mark| line.contains(mark)) {
            lost = std::mem::take(&mut loaded);
        } else if line.contains("SKILL.md") || line.contains("\"Skill\"") {
            let line = serde_json::from_str::<Value>(line).unwrap_or_default();
            for name in mentioned_skills(client.id, &line) {
                loaded.retain(|other| *other != name);
                loaded.push(name);
            }
        }
    }
    if !loaded.is_empty() {
        lost.clone_from(&loaded);
    }
    (loaded, lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(skill: &str) -> String {
        format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","name":"Skill","input":{{"skill":"{skill}"}}}}]}}}}"#
        )
    }

    fn read(lines: &[&str]) -> (String, String) {
        let claude = Client::named("claude-code").unwrap();
        let (loaded, lost) = loaded_and_lost(claude, &lines.join("\n"));
        (loaded.join(" "), lost.join(" "))
    }

    #[test]
    fn skills_that_were_loaded_before_a_compaction_are_lost() {
        let boundary = r#"{"type":"system","subtype":"compact_boundary"}"#;
        let talk = r#"{"type":"assistant","message":{"content":"x"}}"#;
        let (git, pdf) = (&*call("git"), &*call("pdf"));
        let pair = |loaded: &str, lost: &str| (loaded.to_owned(), lost.to_owned());
        // The compaction is not yet in the transcript.
        assert_eq!(read(&[git, talk, pdf, git]), pair("pdf git", "pdf git"));
        assert_eq!(read(&[git, boundary]), pair("", "git"));
        assert_eq!(read(&[git, boundary, talk, pdf, talk]), pair("pdf", "pdf"));
        assert_eq!(read(&[git, boundary, talk, pdf, boundary]), pair("", "pdf"));
        assert_eq!(read(&["{", "", r#""Skill""#]), pair("", ""));
    }

    #[test]
    fn the_text_after_a_compaction_has_two_lines() {
        let names = |count: usize| (0..count).map(|number| format!("s{number}")).collect::<Vec<_>>();
        assert_eq!(lost_text(&[]), None);
        assert_eq!(lost_text(&["a\nb".to_owned()]), None);
        let text = lost_text(&names(20)).unwrap();
        assert_eq!((text.lines().count(), text.matches('`').count()), (2, 2 * MAX_LOST));
        assert!(text.contains("`s19`, `s18`"), "{text}");
    }
}
