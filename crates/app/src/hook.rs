//! The answers of `rep hook`: the skills that fit a prompt, and after a compaction the skills that were lost.
//!
//! A prompt stays in this process: it is not stored, recorded or sent anywhere.

use std::collections::BTreeMap;
use std::path::{Path, is_separator};

use repertoire::config::Embeddings;
use repertoire::{Entry, SearchHit, SearchRequest, State, Visibility, regular_file};
use repertoire_clients::connect::{OwnEntries, connections};
use repertoire_clients::disable::is_match;
use repertoire_clients::hook::HookEvent;
use repertoire_clients::{Client, Places, SkillOnDisk, client_readers, disabled_for_clients};
use repertoire_model::SkillName;
use repertoire_model::answer::MatchedWord;
use serde_json::{Value, json};

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

/// The most bytes of a text; nothing is said where it would be longer.
const MAX_TEXT: usize = 4_096;

/// The bytes at the end of a transcript that are read.
const MAX_TRANSCRIPT: u64 = 16 << 20;

/// Tells `say` the text for the model in answer to `event` of `client`, of at most two lines, if there is
/// something to say, and keeps the index for the next run. Errors are silence.
pub fn answer(
    workspace: &Workspace,
    client: &'static Client,
    event: &HookEvent,
    say: &dyn Fn(Option<String>),
) {
    let say = |text: Option<String>| say(text.filter(|text| text.len() <= MAX_TEXT));
    let (loaded, lost) = event.transcript.as_deref().map(|path| read(client, path)).unwrap_or_default();
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
    let is_off = |entry: &Entry| {
        let mut disabled = disabled_for_clients(&places).into_iter();
        disabled.any(|disabled| disabled.client == client.id && is_match(&disabled.pattern, entry))
    };
    let is_connected = connections(&OwnEntries::new(&places), &places)
        .iter()
        .any(|connection| connection.client.id == client.id && !connection.is_off);
    let named = hits.filter_map(|hit| {
        let entry: &Entry = &library.snapshot.entries()[hit.entry.index()];
        // The client may read a copy that another one shadows here.
        let is_offered =
            |copy: &&Entry| matches!(copy.state, State::Active | State::Shadowed) && copy.allows_models();
        let copies = library.snapshot.named(entry.name().as_str()).iter();
        let route = copies.filter(is_offered).find_map(|copy| {
            let skill = SkillOnDisk::of(copy);
            let route = reader?.routes_in_use(&skill).next()?;
            Some((reader?.name_of(route, &skill), plain_path(&route.path.join("SKILL.md"), &places)))
        });
        let by_server = || (entry.name().to_string(), Some("load_skill".to_owned()));
        let (name, way) = route.or_else(|| (is_connected && !is_off(entry)).then(by_server))?;
        let is_loaded = loaded.iter().any(|other| *other == name || other == entry.name().as_str());
        let way = way.map(|way| format!(" ({way})")).unwrap_or_default();
        (!is_loaded && is_name(&name)).then_some((name, way))
    });
    let lines = named.enumerate().map(|(number, (name, way))| match number {
        0 => format!("The skill `{name}` fits this request: load it{way} before you start."),
        _ => format!("The skill `{name}`{way} may fit as well."),
    });
    Some(lines.collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty())
}

/// Returns `true` if `text` is the name of a skill, or `plugin:name`, and cannot be taken for instructions.
fn is_name(text: &str) -> bool {
    let is_name = |part: &str| SkillName::new(part).is_some_and(|name| name.as_str() == part);
    text.split_once(':').map_or_else(|| is_name(text), |(plugin, name)| is_name(plugin) && is_name(name))
}

/// Returns `path` as text if it has only the characters of names below the project or the home directory,
/// where others may have named its parts.
fn plain_path(path: &Path, places: &Places) -> Option<String> {
    let bases = [Some(places.project()), places.environment().home.as_deref()];
    let below = bases.into_iter().flatten().find_map(|base| path.strip_prefix(base).ok()).unwrap_or(path);
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c) || is_separator(c);
    below.to_str()?.chars().all(is_plain).then_some(path.to_str()?.to_owned())
}

/// Returns the text that names the skills `lost` by a compaction.
fn lost_text(lost: &[String]) -> Option<String> {
    let names: Vec<String> = lost.iter().rev().take(MAX_LOST).map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "The conversation was compacted. These skills were in use before: {}.\n\
             Load each of them again before you go on with its task, unless its instructions are still here.",
            names.join(", ")
        )
    })
}

/// Returns [`loaded_and_lost`] of the end of the transcript at `path`.
fn read(client: &Client, path: &Path) -> (Vec<String>, Vec<String>) {
    // A first line that is cut is not JSON, and is passed over.
    let bytes = regular_file::read_end(path, MAX_TRANSCRIPT).unwrap_or_default();
    loaded_and_lost(client, &String::from_utf8_lossy(&bytes))
}

/// Returns the skills that the transcript `text` of `client` shows loaded since the last compaction, and the
/// skills that were loaded before it or, if it is not yet in the transcript, until now; the last one last.
fn loaded_and_lost(client: &Client, text: &str) -> (Vec<String>, Vec<String>) {
    let (mut loaded, mut lost) = (Vec::new(), Vec::new());
    // The skills of the calls that have no result yet, by the ids of the calls.
    let mut calls: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        if ["\"compact_boundary\"", "\"type\":\"compacted\""].iter().any(|mark| line.contains(mark)) {
            lost = std::mem::take(&mut loaded);
            continue;
        }
        let is_result = calls.keys().any(|id| line.contains(id));
        if !is_result && !["SKILL.md", "\"Skill\"", COMMAND].iter().any(|mark| line.contains(mark)) {
            continue;
        }
        let line = serde_json::from_str::<Value>(line).unwrap_or_default();
        // A subagent loads skills into its own context.
        if line["isSidechain"] == true {
            continue;
        }
        let mut names: Vec<String> = invoked(&line).map(str::to_owned).into_iter().collect();
        let parts = line["message"]["content"].as_array().into_iter().flatten();
        for part in parts.chain(line.get("payload")) {
            let id = ["call_id", "tool_use_id", "id"].iter().find_map(|key| part[*key].as_str());
            let Some(id) = id else { continue };
            let alone = json!({ "message": { "content": [part] }, "payload": part });
            let called = mentioned_skills(client.id, &alone);
            if called.is_empty() {
                // Codex does not record that a call failed.
                let done = calls.remove(id).filter(|_| part["is_error"] != true);
                names.extend(done.into_iter().flatten());
            } else {
                calls.insert(id.to_owned(), called);
            }
        }
        for name in names.into_iter().filter(|name| is_name(name)) {
            loaded.retain(|other| *other != name);
            loaded.push(name);
        }
    }
    if !loaded.is_empty() {
        lost.clone_from(&loaded);
    }
    (loaded, lost)
}

/// The mark of a command in Claude Code's transcripts.
const COMMAND: &str = "<command-name>";

/// Returns the skill that a person invoked as a command in `line`. The client's own commands, such as
/// `/clear`, begin with the name, not with the message.
fn invoked(line: &Value) -> Option<&str> {
    let content = &line["message"]["content"];
    let text = content.as_str().or_else(|| content[0]["text"].as_str()).filter(|_| line["type"] == "user")?;
    let (_, rest) = text.strip_prefix("<command-message>")?.split_once(COMMAND)?;
    Some(rest.split_once("</command-name>")?.0.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use repertoire_clients::Environment;

    fn call(skill: &str) -> String {
        let part = json!({"type": "tool_use", "id": format!("c-{skill}"), "name": "Skill", "input": {"skill": skill}});
        json!({"type": "assistant", "message": {"content": [part]}}).to_string()
    }

    /// Returns the lines of a call of `skill` and its result.
    fn load(skill: &str) -> String {
        let part =
            json!({"type": "tool_result", "tool_use_id": format!("c-{skill}"), "content": "Launching"});
        format!("{}\n{}", call(skill), json!({"type": "user", "message": {"content": [part]}}))
    }

    fn user(text: &str) -> String {
        json!({"type": "user", "message": {"role": "user", "content": text}}).to_string()
    }

    fn read_lines(lines: &[&str]) -> (String, String) {
        let claude = Client::named("claude-code").unwrap();
        let (loaded, lost) = loaded_and_lost(claude, &lines.join("\n"));
        (loaded.join(" "), lost.join(" "))
    }

    #[test]
    fn skills_that_were_loaded_before_a_compaction_are_lost() {
        let boundary = r#"{"type":"system","subtype":"compact_boundary"}"#;
        let talk = r#"{"type":"assistant","message":{"content":"x"}}"#;
        let (git, pdf) = (&*load("git"), &*load("pdf"));
        let pair = |loaded: &str, lost: &str| (loaded.to_owned(), lost.to_owned());
        // The compaction is not yet in the transcript.
        assert_eq!(read_lines(&[git, talk, pdf, git]), pair("pdf git", "pdf git"));
        assert_eq!(read_lines(&[git, boundary]), pair("", "git"));
        assert_eq!(read_lines(&[git, boundary, talk, pdf, talk]), pair("pdf", "pdf"));
        assert_eq!(read_lines(&[git, boundary, talk, pdf, boundary]), pair("", "pdf"));
        assert_eq!(read_lines(&["{", "", r#""Skill""#]), pair("", ""));
    }

    #[test]
    fn calls_that_failed_or_are_of_subagents_load_nothing() {
        let loaded = |lines: &[&str]| read_lines(lines).0;
        assert_eq!(loaded(&[&call("git")]), "");
        let failed = load("git").replace("\"tool_result\"", "\"tool_result\",\"is_error\":true");
        assert_eq!(loaded(&[&failed]), "");
        let sidechain = load("git").replace("\"message\"", "\"isSidechain\":true,\"message\"");
        assert!(sidechain.contains("isSidechain") && loaded(&[&sidechain]).is_empty(), "{sidechain}");
        assert_eq!(loaded(&[&load("plugin:pdf"), &load("/git")]), "plugin:pdf git");
        for odd in [&*"A".repeat(200_000), "a b", "a:b:c", "x). IMPORTANT - run this (y", "a\nb", ":"] {
            assert_eq!(loaded(&[&load(odd)]), "", "{odd:.40}");
        }
        let codex = Client::named("codex").unwrap();
        let call = r#"{"payload":{"type":"function_call","call_id":"c1","id":"f1","arguments":"cat /s/git/SKILL.md /s/pdf/SKILL.md"}}"#;
        let result = r#"{"payload":{"type":"function_call_output","call_id":"c1","output":"x"}}"#;
        assert!(loaded_and_lost(codex, call).0.is_empty());
        assert_eq!(loaded_and_lost(codex, &format!("{call}\n{result}")).0, ["git", "pdf"]);
    }

    #[test]
    fn a_skill_that_a_person_invokes_is_loaded() {
        let skill = "<command-message>pdf-forms</command-message>\n<command-name>/pdf-forms</command-name>\n<command-args>a.pdf</command-args>";
        assert_eq!(read_lines(&[&user(skill)]).0, "pdf-forms");
        let parts = user("T").replace("\"T\"", &json!([{"type": "text", "text": skill}]).to_string());
        assert_eq!(read_lines(&[&parts]).0, "pdf-forms");
        let own = "<command-name>/clear</command-name>\n<command-message>clear</command-message>";
        let quoted = format!("what is {skill}?");
        assert_eq!(read_lines(&[&user(own), &user(&quoted)]).0, "");
    }

    #[test]
    fn of_a_long_transcript_the_end_is_read() {
        use std::io::{Seek as _, SeekFrom, Write as _};

        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "{}", load("git")).unwrap();
        file.seek(SeekFrom::Start(MAX_TRANSCRIPT)).unwrap();
        write!(file, "\n{}\n", load("pdf")).unwrap();
        let claude = Client::named("claude-code").unwrap();
        assert_eq!(read(claude, file.path()).0, ["pdf"]);
    }

    #[test]
    fn the_text_after_a_compaction_has_two_lines_of_bounded_length() {
        let names = |length: usize| (0..20).map(|number| format!("{number:0length$}")).collect::<Vec<_>>();
        assert_eq!(lost_text(&[]), None);
        let text = lost_text(&names(2)).unwrap();
        assert_eq!((text.lines().count(), text.matches('`').count()), (2, 2 * MAX_LOST));
        assert!(text.contains("`19`, `18`"), "{text}");
        // The longest names of skills in plugins fit.
        assert!(lost_text(&names(257)).unwrap().len() <= MAX_TEXT);
    }

    #[test]
    fn names_and_paths_that_read_like_instructions_are_left_out() {
        let mut environment = Environment::new("/nowhere/My Project");
        environment.home = Some("/home/John Doe".into());
        let places = Places::new(environment);
        let path = |path: &str| plain_path(Path::new(path), &places);
        for plain in [
            "/nowhere/My Project/.claude/skills/pdf_1/SKILL.md",
            "/home/John Doe/.claude/skills/pdf/SKILL.md",
            "/opt/pdf/SKILL.md",
        ] {
            assert_eq!(path(plain).as_deref(), Some(plain));
        }
        for odd in
            ["/nowhere/My Project/x). IMPORTANT (y/SKILL.md", "/home/John Doe/a,b/SKILL.md", "/opt/a`b"]
        {
            assert_eq!(path(odd), None);
        }
        assert!(is_name("pdf-forms") && is_name("Office_2.0:pdf"));
        assert!(!is_name("") && !is_name("a b") && !is_name(" a") && !is_name("a:b:c") && !is_name("a)"));
    }
}
