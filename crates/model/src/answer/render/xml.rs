//! `xml`: content in elements that it cannot close. The default for models.

use std::collections::BTreeMap;

use super::guard::guard;
use super::{found, sentence};
use crate::answer::{
    Acknowledgement, Answer, Fault, FileList, FileText, ListedFile, LoadAnswer, LoadedSkill, SearchResults,
    SkillList, ToolResult, Wording,
};
use crate::escape::push_html;
use crate::text::{self, escape_xml as escaped};

pub(super) fn render(answer: &Answer, wording: &Wording) -> String {
    match answer {
        Answer::Loaded(loaded) => self::loaded(loaded, wording),
        Answer::Acknowledged(acknowledged) => self::acknowledged(acknowledged),
        Answer::Bucket(bucket) => {
            let files = bucket.files.iter().map(|(_, file)| self::file(file, wording));
            files.collect::<Vec<_>>().join("\n")
        }
        Answer::Unloaded(name) => format!("Skill `{name}` is unloaded: stop following its instructions."),
        Answer::NotLoaded(name) => format!("Skill `{name}` is not loaded."),
        Answer::File(file) => self::file(file, wording),
        Answer::Files(files) => self::files(files),
        Answer::Skills(skills) => self::skills(skills),
        Answer::Results(results) => self::results(results, wording),
        Answer::Tool(result) => tool_result(result),
        Answer::Custom { text, .. } => text.clone(),
        Answer::Fault(fault) => self::fault(fault, wording),
    }
}

fn loaded(loaded: &LoadAnswer, wording: &Wording) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(sentence::skills(loaded).map(instructions));
    parts.extend(sentence::skills(loaded).filter_map(|skill| resources(skill, wording)));
    for skill in sentence::skills(loaded) {
        parts.extend(tools(skill));
        parts.extend(sentence::call_tools(skill, wording).map(|advice| guard(&advice)));
        parts.extend(outline(skill));
        parts.extend(sentence::read_section(skill, wording).map(|advice| guard(&advice)));
    }
    parts.extend(sentence::notes(loaded).iter().map(|note| escaped(note)));
    parts.extend(sentence::usage(loaded, wording).map(|usage| guard(&usage)));
    parts.join("\n")
}

fn instructions(skill: &LoadedSkill) -> String {
    let mut tag = Tag::open("skill");
    tag.attribute("name", &skill.address);
    tag.optional("version", skill.version.as_deref());
    tag.attribute("digest", &skill.digest.to_stamp());
    tag.attribute("tokens", &format!("~{}", skill.tokens));
    tag.optional("source", sentence::source(&skill.source).as_deref());
    for (key, value) in sentence::stated_fields(skill) {
        tag.whole_attribute(key, &value);
    }
    if let Some(location) = sentence::location(skill) {
        tag.whole_attribute("location", location);
    }
    tag.around(&format!("\n{}\n", guard(&skill.body)))
}

fn resources(skill: &LoadedSkill, wording: &Wording) -> Option<String> {
    if skill.files.is_empty() && skill.more_files == 0 {
        return None;
    }
    let mut tag = Tag::open("skill_resources");
    tag.attribute("skill", &skill.address);
    let mut content = "\n".to_owned();
    for path in &skill.files {
        let description = skill.file_descriptions.get(path).map(String::as_str);
        let description = guard(&sentence::file_description(description));
        content.push_str(&format!("{}{description}\n", shown_path(path)));
    }
    push_line(&mut content, sentence::more_files(skill.more_files, wording));
    Some(tag.around(&content))
}

fn tools(skill: &LoadedSkill) -> Option<String> {
    let (schemas, more) = sentence::schemas(skill);
    if schemas.is_empty() && more == 0 {
        return None;
    }
    let mut tag = Tag::open("skill_tools");
    tag.attribute("skill", &skill.address);
    let mut content = "\n".to_owned();
    for schema in schemas {
        content.push_str(&guard(&schema));
        content.push('\n');
    }
    push_line(&mut content, sentence::more_schemas(more));
    Some(tag.around(&content))
}

fn tool_result(result: &ToolResult) -> String {
    let mut tag = Tag::open("skill_tool_result");
    tag.attribute("skill", &result.skill);
    tag.attribute("tool", &result.tool);
    tag.optional("source", sentence::source(&result.source).as_deref());
    tag.optional("error", result.error.as_deref());
    let mut parts = vec![sentence::UNTRUSTED_OUTPUT.to_owned()];
    let line_end = if result.text.is_empty() || result.text.ends_with('\n') { "" } else { "\n" };
    parts.push(tag.around(&format!("\n{}{line_end}", guard(&result.text))));
    parts.extend(result.notes.iter().map(|note| escaped(&sentence::note(note))));
    parts.join("\n")
}

fn outline(skill: &LoadedSkill) -> Option<String> {
    if skill.outline.is_empty() {
        return None;
    }
    let mut tag = Tag::open("skill_outline");
    tag.attribute("skill", &skill.address);
    tag.optional("soft_limit", skill.soft_limit.map(|limit| limit.to_string()).as_deref());
    let mut content = "\n".to_owned();
    for section in &skill.outline {
        let marks = "#".repeat(usize::from(section.level));
        let (first, last, tokens) = (section.first_line, section.last_line, section.tokens);
        let title = guard(&sentence::line(&section.title));
        content.push_str(&format!("{first}-{last} ~{tokens} tokens  {marks} {title}\n"));
    }
    Some(tag.around(&content))
}

fn acknowledged(acknowledged: &Acknowledgement) -> String {
    let mut tag = Tag::open("skill_active");
    tag.attribute("name", acknowledged.name.as_str());
    tag.optional("source", sentence::source(&acknowledged.source).as_deref());
    if !acknowledged.is_bound {
        tag.attribute("turn", &acknowledged.turn.to_string());
    }
    tag.optional("version", acknowledged.version.as_deref());
    let mut parts = vec![tag.around(&sentence::acknowledgement(acknowledged))];
    parts.extend(acknowledged.notes.iter().map(|note| escaped(&sentence::note(note))));
    parts.join("\n")
}

fn file(file: &FileText, wording: &Wording) -> String {
    let mut tag = Tag::open("skill_file");
    tag.attribute("skill", file.skill.as_str());
    tag.attribute("path", file.path.as_str());
    tag.optional("source", sentence::source(&file.source).as_deref());
    tag.optional("lines", sentence::lines(file).as_deref());
    tag.attribute("total_lines", &file.total_lines.to_string());
    tag.attribute("size", &file.size.to_string());
    let mut parts = Vec::new();
    if file.text.is_empty() {
        parts.push(tag.around(""));
    } else {
        let line_end = if file.text.ends_with('\n') { "" } else { "\n" };
        parts.push(sentence::UNTRUSTED.to_owned());
        parts.push(tag.around(&format!("\n{}{line_end}", guard(&file.text))));
    }
    parts.extend(sentence::reach(file, wording));
    parts.join("\n")
}

fn files(list: &FileList) -> String {
    let mut tag = Tag::open("skill_files");
    tag.attribute("skill", list.skill.as_str());
    tag.optional("directory", list.directory.as_deref());
    tag.optional("source", list.source.as_deref());
    tag.attribute("sizes", "bytes");
    let mut groups: BTreeMap<&str, Vec<(&str, &ListedFile)>> = BTreeMap::new();
    for file in &list.files {
        let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        groups.entry(directory).or_default().push((name, file));
    }
    let mut content = "\n".to_owned();
    if list.files.is_empty() {
        content.push_str("(none)\n");
    }
    for (directory, mut files) in groups {
        let indent = if directory.is_empty() { "" } else { "  " };
        if !directory.is_empty() {
            content.push_str(&format!("{}/\n", shown_path(directory)));
        }
        files.sort_unstable_by_key(|(name, _)| *name);
        for (name, file) in files {
            let description = guard(&sentence::file_description(file.description.as_deref()));
            let size = file.size.map(|size| format!(" {size}")).unwrap_or_default();
            content.push_str(&format!("{indent}{}{size}{description}\n", shown_path(name)));
        }
    }
    push_line(&mut content, sentence::more_listed_files(list.more));
    tag.around(&content)
}

fn skills(list: &SkillList) -> String {
    let mut tag = Tag::open("skills");
    tag.optional("query", list.query.as_deref());
    let mut content = "\n".to_owned();
    if list.skills.is_empty() {
        content.push_str("(none)\n");
    }
    for skill in &list.skills {
        let mut tag = Tag::open("skill");
        tag.attribute("name", skill.name.as_str());
        tag.optional("loaded", skill.loaded.then_some("true"));
        tag.optional("source", skill.source.as_deref());
        content.push_str(&tag.around(&escaped(&sentence::description(&skill.description))));
        content.push('\n');
    }
    push_line(&mut content, sentence::more_skills(list));
    tag.around(&content)
}

fn results(results: &SearchResults, wording: &Wording) -> String {
    if results.results.is_empty() {
        return escaped(&found::nothing(results, wording));
    }
    let mut tag = Tag::open("skill_results");
    tag.attribute("query", &results.query);
    tag.optional("tag", results.tag.as_deref());
    let mut content = "\n".to_owned();
    for result in &results.results {
        let mut tag = Tag::open("skill_result");
        tag.attribute("name", result.name.as_str());
        tag.attribute("score", &result.score.to_string());
        tag.attribute("confidence", &result.confidence.to_string());
        tag.optional("weak", result.is_weak().then_some("true"));
        tag.optional("loaded", result.loaded.then_some("true"));
        tag.optional("source", result.source.as_deref());
        if let Some(path) = found::path(results, result) {
            tag.whole_attribute("location", path);
        }
        let mut lines = vec![escaped(&result.summary()), escaped(&format!("why: {}", result.reasons()))];
        if let Some(section) = &result.section {
            let (file, title) = (sentence::line(&result.manifest_file), sentence::line(&section.title));
            let (range, tokens) = (found::lines(section), section.tokens);
            lines.push(escaped(&format!("section: lines {range} of {file}, ~{tokens} tokens: {title}")));
        }
        content.push_str(&tag.around(&format!("\n{}\n", lines.join("\n"))));
        content.push('\n');
    }
    let mut parts = vec![tag.around(&content)];
    parts.extend(found::note(results, wording).map(|advice| guard(&advice)));
    parts.join("\n")
}

fn fault(fault: &Fault, wording: &Wording) -> String {
    let mut tag = Tag::open("skill_error");
    tag.attribute("kind", fault.kind.as_str());
    tag.optional("source", fault.source.as_deref());
    tag.around(&escaped(&fault.message(wording)))
}

/// A tag that is being opened.
struct Tag {
    name: &'static str,
    text: String,
}

impl Tag {
    fn open(name: &'static str) -> Self {
        Self { name, text: format!("<{name}") }
    }

    fn attribute(&mut self, key: &str, value: &str) {
        self.whole_attribute(key, &sentence::line(value));
    }

    /// Adds an attribute whose value is one bounded line already.
    fn whole_attribute(&mut self, key: &str, value: &str) {
        self.text.push_str(&format!(" {key}=\""));
        push_html(&mut self.text, value);
        self.text.push('"');
    }

    fn optional(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.attribute(key, value);
        }
    }

    /// Returns the element with `content`, which cannot hold its end.
    fn around(self, content: &str) -> String {
        let Self { name, text } = self;
        format!("{text}>{content}</{name}>")
    }
}

/// Returns `path` as a model can hand it back: not escaped, for it is not a parser.
fn shown_path(path: &str) -> String {
    guard(&text::visible_line(path))
}

fn push_line(content: &mut String, line: Option<String>) {
    if let Some(line) = line {
        content.push_str(&line);
        content.push('\n');
    }
}
