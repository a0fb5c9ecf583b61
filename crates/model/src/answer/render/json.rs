//! `json`: one object, every key always present, in this order.
//!
//! Answers of `load_skill`, its faults included: `name`, `body`, `available_references`, `available_scripts`,
//! `available_assets`, `reference_content`, `script_content`, `asset_content`, `error`, `digest`, `tokens`,
//! `version`, `note`, `source`; and `required`, a list of `name`, `body`, `digest`, `source`, where other
//! skills were loaded first, `location` where the host lets models know where the skill lies, `author`,
//! `license`, `compatibility` and `allowed_tools` where its author states them, `descriptions` of files by
//! path where they have some, `tools` (each `name`, `description`, `parameters`) where it brings some that
//! can be called, and `untrusted`, which is true, where there is the content of a file.
//!
//! | answer | keys |
//! |---|---|
//! | a file | `skill`, `path`, `content`, `first_line`, `lines`, `total_lines`, `size`, `truncated`, `next_line`, `note`, `error`, `source`, `untrusted` |
//! | files | `skill`, `directory`, `files` (each `path`, `size`, `kind`, and `description` where it has one), `more`, `error` |
//! | skills | `query`, `skills` (each `name`, `description`, `tags`, `loaded`), `more`, `note`, `error` |
//! | search results | `query`, `tag`, `results` (each `name`, `description`, `path`, `score`, `confidence`, `why`, `section`, `lines`, `tokens`, `loaded`), `note`, `error` |
//! | an unload | `name`, `unloaded`, `error` |
//! | a tool or script of a skill | `skill`, `tool`, `result`, `structured`, `note`, `error`, `source`, `untrusted` |
//! | a host's own tool | `result`, `error` |
//! | any other fault | `error`, `kind`, `source` where the skill was found, and the three `available_…` where its files are known |

use serde_json::{Map, Value, json};

use super::{found, sentence};
use crate::answer::{
    Acknowledgement, Answer, AvailableFiles, BucketText, Fault, FileList, FileText, LoadAnswer, LoadedSkill,
    SearchResult, SearchResults, SkillList, ToolResult, Wording,
};
use crate::{FileKind, text};

pub(super) fn shape(answer: &Answer, wording: &Wording) -> Value {
    match answer {
        Answer::Loaded(loaded) => self::loaded(loaded),
        Answer::Acknowledged(acknowledged) => self::acknowledged(acknowledged),
        Answer::Bucket(bucket) => self::bucket(bucket, wording),
        Answer::Unloaded(name) => json!({ "name": name.as_str(), "unloaded": true, "error": null }),
        Answer::NotLoaded(name) => json!({ "name": name.as_str(), "unloaded": false, "error": null }),
        Answer::File(file) => self::file(file, wording),
        Answer::Files(files) => self::files(files),
        Answer::Skills(skills) => self::skills(skills),
        Answer::Results(results) => self::results(results, wording),
        Answer::Tool(result) => tool_result(result),
        Answer::Custom { text, is_error: false } => json!({ "result": text, "error": null }),
        Answer::Custom { text, is_error: true } => json!({ "result": null, "error": text }),
        Answer::Fault(fault) => self::fault(fault, wording),
    }
}

/// An answer of `load_skill`; missing parts are empty.
#[derive(Default)]
struct Load<'a> {
    name: &'a str,
    body: &'a str,
    available: Option<&'a AvailableFiles>,
    content: Vec<(FileKind, &'a str)>,
    error: Option<String>,
    digest: Option<String>,
    tokens: Option<usize>,
    version: Option<&'a str>,
    note: Option<String>,
    source: Option<String>,
}

impl Load<'_> {
    fn object(self) -> Map<String, Value> {
        let none = AvailableFiles::default();
        let AvailableFiles { references, scripts, assets } = self.available.unwrap_or(&none);
        let content = |kind: FileKind| self.content.iter().find(|(of, _)| *of == kind).map(|(_, text)| *text);
        let object = json!({
            "name": self.name,
            "body": self.body,
            "available_references": references,
            "available_scripts": scripts,
            "available_assets": assets,
            "reference_content": content(FileKind::Reference),
            "script_content": content(FileKind::Script),
            "asset_content": content(FileKind::Asset),
            "error": self.error,
            "digest": self.digest,
            "tokens": self.tokens,
            "version": self.version,
            "note": self.note,
            "source": self.source,
        });
        match object {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }
}

fn loaded(loaded: &LoadAnswer) -> Value {
    let skill = &loaded.skill;
    let notes = sentence::notes(loaded);
    let address = sentence::address(skill);
    let mut object = Load {
        name: &address,
        body: &skill.body,
        available: Some(&skill.available),
        digest: Some(skill.digest.to_string()),
        tokens: Some(skill.tokens),
        version: skill.version.as_deref(),
        note: (!notes.is_empty()).then(|| notes.join("\n")),
        source: sentence::source(&skill.source),
        ..Load::default()
    }
    .object();
    if !loaded.first.is_empty() {
        object.insert("required".to_owned(), loaded.first.iter().map(required).collect());
    }
    if !skill.schemas.is_empty() {
        object.insert("tools".to_owned(), tools(skill));
    }
    let stated =
        [("author", &skill.author), ("license", &skill.license), ("compatibility", &skill.compatibility)];
    let stated = stated.into_iter().filter_map(|(key, value)| {
        let value = text::shorten(value.as_deref()?, sentence::MAX_NOTE_CHARS);
        Some((key, value.into()))
    });
    let tools = skill.allowed_tools.as_ref().map(|written| ("allowed_tools", bounded(written)));
    object.extend(stated.chain(tools).map(|(key, value): (&str, Value)| (key.to_owned(), value)));
    if !skill.file_descriptions.is_empty() {
        object.insert("descriptions".to_owned(), json!(skill.file_descriptions));
    }
    if let Some(location) = sentence::location(skill) {
        object.insert("location".to_owned(), location.into());
    }
    object.into()
}

/// Returns the tools that a skill may use as they were written, or a text that is cut where it is too long.
fn bounded(tools: &Value) -> Value {
    let text = tools.as_str().map_or_else(|| tools.to_string(), str::to_owned);
    if text.len() <= sentence::MAX_NOTE_CHARS {
        tools.clone()
    } else {
        text::shorten(&text, sentence::MAX_NOTE_CHARS).into()
    }
}

fn required(skill: &LoadedSkill) -> Value {
    let mut object = json!({
        "name": sentence::address(skill),
        "body": skill.body,
        "digest": skill.digest.to_string(),
        "source": sentence::source(&skill.source),
    });
    if !skill.schemas.is_empty() {
        object["tools"] = tools(skill);
    }
    object
}

fn tools(skill: &LoadedSkill) -> Value {
    let (shown, _) = sentence::schemas(skill);
    skill.schemas.iter().take(shown.len()).map(sentence::schema).collect()
}

fn tool_result(result: &ToolResult) -> Value {
    let notes: Vec<String> = result.notes.iter().map(|note| sentence::note(note)).collect();
    json!({
        "skill": sentence::line(&result.skill),
        "tool": sentence::line(&result.tool),
        "result": result.text,
        "structured": result.structured,
        "note": (!notes.is_empty()).then(|| notes.join("\n")),
        "error": result.error.as_deref().map(sentence::note),
        "source": sentence::source(&result.source),
        "untrusted": true,
    })
}

fn acknowledged(acknowledged: &Acknowledgement) -> Value {
    let mut notes = vec![sentence::acknowledgement(acknowledged)];
    notes.extend(acknowledged.notes.iter().map(|note| sentence::note(note)));
    let load = Load {
        name: acknowledged.name.as_str(),
        available: Some(&acknowledged.available),
        version: acknowledged.version.as_deref(),
        note: Some(notes.join("\n")),
        source: sentence::source(&acknowledged.source),
        ..Load::default()
    };
    load.object().into()
}

fn bucket(bucket: &BucketText, wording: &Wording) -> Value {
    // There are three places for content; a file of another kind is treated as a reference.
    let place = |kind: FileKind| match kind {
        FileKind::Script | FileKind::Asset => kind,
        FileKind::Reference | FileKind::Manifest | FileKind::Other => FileKind::Reference,
    };
    let notes: Vec<String> = match bucket.files.as_slice() {
        [(_, file)] => sentence::reach(file, wording).into_iter().collect(),
        files => {
            let notes = files.iter().filter_map(|(_, file)| Some((file, sentence::reach(file, wording)?)));
            notes.map(|(file, note)| format!("{}: {note}", file.path)).collect()
        }
    };
    let load = Load {
        name: bucket.skill.as_str(),
        available: Some(&bucket.available),
        version: bucket.version.as_deref(),
        content: bucket.files.iter().map(|(kind, file)| (place(*kind), file.text.as_str())).collect(),
        note: (!notes.is_empty()).then(|| notes.join("\n")),
        source: bucket.files.first().and_then(|(_, file)| sentence::source(&file.source)),
        ..Load::default()
    };
    let mut object = load.object();
    object.insert("untrusted".to_owned(), true.into());
    object.into()
}

fn file(file: &FileText, wording: &Wording) -> Value {
    json!({
        "skill": file.skill.as_str(),
        "path": file.path.as_str(),
        "content": file.text,
        "first_line": file.first_line,
        "lines": file.lines,
        "total_lines": file.total_lines,
        "size": file.size,
        "truncated": file.truncation.is_some(),
        "next_line": file.truncation.and_then(|truncation| truncation.next_line),
        "note": sentence::reach(file, wording),
        "error": null,
        "source": sentence::source(&file.source),
        "untrusted": true,
    })
}

fn files(list: &FileList) -> Value {
    let files = list.files.iter();
    let files = files
        .map(|file| {
            let mut object = json!({ "path": file.path, "size": file.size, "kind": file.kind.as_str() });
            if let Some(description) = &file.description {
                object["description"] = description.as_str().into();
            }
            object
        })
        .collect::<Value>();
    let list_object = json!({
        "skill": list.skill.as_str(), "directory": list.directory, "files": files, "more": list.more, "error": null,
    });
    with_source(list_object, list.source.as_deref())
}

fn with_source(mut object: Value, source: Option<&str>) -> Value {
    if let Some(source) = source {
        object["source"] = sentence::line(source).into();
    }
    object
}

fn skills(list: &SkillList) -> Value {
    let skills = list.skills.iter();
    let skills = skills
        .map(|skill| {
            let object = json!({
                "name": skill.name.as_str(),
                "description": sentence::description(&skill.description),
                "tags": skill.tags,
                "loaded": skill.loaded,
            });
            with_source(object, skill.source.as_deref())
        })
        .collect::<Value>();
    let note = sentence::more_skills(list);
    json!({ "query": list.query, "skills": skills, "more": list.more, "note": note, "error": null })
}

fn results(results: &SearchResults, wording: &Wording) -> Value {
    let result = |result: &SearchResult| {
        let section = result.section.as_ref();
        let object = json!({
            "name": result.name.as_str(),
            "description": result.summary(),
            "path": found::path(results, result),
            "score": result.score.value(),
            "confidence": result.confidence.value(),
            "why": result.reasons(),
            "section": section.map(|section| sentence::line(&section.title)),
            "lines": section.map(|section| [section.first_line, section.last_line]),
            "tokens": section.map(|section| section.tokens),
            "loaded": result.loaded,
        });
        with_source(object, result.source.as_deref())
    };
    let note = if results.results.is_empty() {
        Some(found::nothing(results, wording))
    } else {
        found::note(results, wording)
    };
    json!({
        "query": sentence::line(&results.query),
        "tag": results.tag.as_deref().map(sentence::line),
        "results": results.results.iter().map(result).collect::<Value>(),
        "note": note,
        "error": null,
    })
}

fn fault(fault: &Fault, wording: &Wording) -> Value {
    let message = fault.message(wording);
    let available = fault.available.as_deref();
    let source = fault.source.as_deref().map(sentence::line);
    if fault.tool != wording.load {
        let mut object = json!({ "error": message, "kind": fault.kind.as_str() });
        if let Some(source) = source {
            object["source"] = source.into();
        }
        if let Some(AvailableFiles { references, scripts, assets }) = available {
            object["available_references"] = references.as_slice().into();
            object["available_scripts"] = scripts.as_slice().into();
            object["available_assets"] = assets.as_slice().into();
        }
        return object;
    }
    let name = sentence::line(fault.skill.as_deref().unwrap_or_default());
    Load { name: &name, available, error: Some(message), source, ..Load::default() }.object().into()
}
