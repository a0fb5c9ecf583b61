//! `markdown`: fenced instructions below their price and a comment with their digest, lists and fenced files.
//!
//! All text of a skill that has lines stands between fences that it cannot close, everything else of a skill
//! on one line of ours. So a body cannot end early, and cannot pass for the header of another skill.

use super::{found, sentence};
use crate::answer::{
    Answer, FileList, FileText, LoadAnswer, LoadedSkill, SearchResults, SkillList, ToolResult, Wording,
};
use crate::text;

pub(super) fn render(answer: &Answer, wording: &Wording) -> String {
    match answer {
        Answer::Loaded(loaded) => self::loaded(loaded, wording),
        Answer::Acknowledged(acknowledged) => {
            let sentence = sentence::acknowledgement(acknowledged);
            let mut parts = vec![format!("Skill loaded before: {}\n{sentence}", acknowledged.name)];
            parts.extend(source(&acknowledged.source));
            parts.extend(quoted(acknowledged.notes.iter().map(|note| sentence::note(note))));
            parts.join("\n\n")
        }
        Answer::Bucket(bucket) => {
            let files = bucket.files.iter().map(|(_, file)| self::file(file, wording));
            files.collect::<Vec<_>>().join("\n\n")
        }
        Answer::Unloaded(name) => format!("Skill unloaded: {name}"),
        Answer::NotLoaded(name) => format!("Skill not loaded: {name}"),
        Answer::File(file) => self::file(file, wording),
        Answer::Files(files) => self::files(files),
        Answer::Skills(skills) => self::skills(skills),
        Answer::Results(results) => self::results(results, wording),
        Answer::Tool(result) => tool_result(result),
        Answer::Custom { text, .. } => text.clone(),
        Answer::Fault(fault) => format!("**Error:** {}", fault.message(wording)),
    }
}

fn loaded(loaded: &LoadAnswer, wording: &Wording) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(sentence::skills(loaded).map(instructions));
    parts.extend(sentence::skills(loaded).filter_map(stated_fields));
    parts.extend(sentence::skills(loaded).filter_map(|skill| resources(skill, wording)));
    for skill in sentence::skills(loaded) {
        parts.extend(tools(skill));
        parts.extend(sentence::call_tools(skill, wording));
        parts.extend(outline(skill));
        parts.extend(sentence::read_section(skill, wording));
    }
    parts.extend(quoted(sentence::notes(loaded)));
    parts.extend(sentence::usage(loaded, wording));
    parts.join("\n\n")
}

/// Returns `notes`, if there are any, with a mark before each that keeps it from posing as anything else.
fn quoted(notes: impl IntoIterator<Item = String>) -> Option<String> {
    let notes: Vec<String> = notes.into_iter().map(|note| format!("> {note}")).collect();
    (!notes.is_empty()).then(|| notes.join("\n>\n"))
}

fn instructions(skill: &LoadedSkill) -> String {
    let LoadedSkill { name, body, digest, tokens, .. } = skill;
    let (address, digest, bytes) = (sentence::address(skill), digest.to_stamp(), body.len());
    let source = source(&skill.source).map(|source| format!("{source}\n")).unwrap_or_default();
    // The comment has the name alone: an address may hold what would end it.
    format!(
        "Skill loaded: {address} (approx. {tokens} tokens)\n{source}<!-- skill {name} {digest} {bytes} bytes -->\n\n{}",
        fenced("", body)
    )
}

fn stated_fields(skill: &LoadedSkill) -> Option<String> {
    let fields = sentence::stated_fields(skill);
    let lines = fields.iter().map(|(key, value)| format!("- {key}: {}", code_as_written(value)));
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty())
        .then(|| format!("Fields of skill {}:\n\n{}", sentence::address(skill), lines.join("\n")))
}

/// Returns the line that names the source of a skill, if it is known.
fn source(source: &str) -> Option<String> {
    sentence::source(source).map(|source| format!("Source: {}", code(&source)))
}

fn resources(skill: &LoadedSkill, wording: &Wording) -> Option<String> {
    if skill.files.is_empty() && skill.more_files == 0 {
        return None;
    }
    let place = sentence::location(skill).map(|place| format!(" in {}", code(place))).unwrap_or_default();
    let mut lines = vec![format!("Files of skill {}{place}:", sentence::address(skill)), String::new()];
    lines.extend(skill.files.iter().map(|path| {
        let description = skill.file_descriptions.get(path).map(String::as_str);
        format!("- {}{}", code(path), sentence::file_description(description))
    }));
    lines.extend(sentence::more_files(skill.more_files, wording).map(|more| format!("- {more}")));
    Some(lines.join("\n"))
}

fn tools(skill: &LoadedSkill) -> Option<String> {
    let (schemas, more) = sentence::schemas(skill);
    if schemas.is_empty() && more == 0 {
        return None;
    }
    let mut lines = vec![format!("Tools of skill {}:", sentence::address(skill)), String::new()];
    lines.push(fenced("json", &schemas.join("\n")));
    lines.extend(sentence::more_schemas(more));
    Some(lines.join("\n"))
}

fn tool_result(result: &ToolResult) -> String {
    let ToolResult { skill, tool, text, .. } = result;
    let mut parts = match &result.error {
        Some(error) => vec![format!("**Error:** {}", sentence::note(error))],
        None => {
            vec![format!("Result of {} of skill {}:", code(&sentence::line(tool)), sentence::line(skill))]
        }
    };
    parts.extend(source(&result.source));
    if !text.is_empty() {
        parts.push(sentence::UNTRUSTED_OUTPUT.to_owned());
        parts.push(fenced("", text));
    }
    parts.extend(quoted(result.notes.iter().map(|note| sentence::note(note))));
    parts.join("\n\n")
}

fn outline(skill: &LoadedSkill) -> Option<String> {
    if skill.outline.is_empty() {
        return None;
    }
    let (address, manifest) = (sentence::address(skill), sentence::line(&skill.manifest_file));
    let mut lines = vec![format!("Sections of skill {address}, by lines of {manifest}:"), String::new()];
    lines.extend(skill.outline.iter().map(|section| {
        let indent = "  ".repeat(usize::from(section.level.saturating_sub(1)));
        let (first, last, tokens) = (section.first_line, section.last_line, section.tokens);
        format!("{indent}- {first}-{last} ~{tokens} tokens: {}", sentence::line(&section.title))
    }));
    Some(lines.join("\n"))
}

fn file(file: &FileText, wording: &Wording) -> String {
    let lines = sentence::lines(file).map(|lines| format!(", lines {lines} of {}", file.total_lines));
    let mut parts = vec![format!(
        "File {} of skill {}{} ({} bytes)",
        code(file.path.as_str()),
        file.skill,
        lines.unwrap_or_default(),
        file.size
    )];
    parts.extend(source(&file.source));
    if !file.text.is_empty() {
        parts.push(sentence::UNTRUSTED.to_owned());
        parts.push(fenced("", &file.text));
    }
    parts.extend(sentence::reach(file, wording));
    parts.join("\n\n")
}

/// Returns `text` between fences longer than any run of backticks in it; `language` follows the first fence.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{line_end}{fence}")
}

fn files(list: &FileList) -> String {
    let below = list.directory.as_ref().map(|directory| format!(" below {}", code(directory)));
    let source = in_parentheses(list.source.as_deref().map(shown_source).into_iter());
    let mut lines =
        vec![format!("Files of skill {}{source}{}:", list.skill, below.unwrap_or_default()), String::new()];
    lines.extend(list.files.iter().map(|file| {
        let description = sentence::file_description(file.description.as_deref());
        let size = file.size.map(|size| format!(" ({size} bytes)")).unwrap_or_default();
        format!("- {}{size}{description}", code(&file.path))
    }));
    if list.files.is_empty() {
        lines.push("- none".to_owned());
    }
    lines.extend(sentence::more_listed_files(list.more).map(|more| format!("- {more}")));
    lines.join("\n")
}

fn skills(list: &SkillList) -> String {
    let mut lines: Vec<String> = Vec::new();
    for skill in &list.skills {
        let description = sentence::description(&skill.description);
        let loaded = skill.loaded.then(|| "loaded".to_owned()).into_iter();
        let status = in_parentheses(loaded.chain(skill.source.as_deref().map(shown_source)));
        lines.push(format!("- **{}**{status}: {description}", skill.name));
    }
    if lines.is_empty() {
        lines.push(sentence::no_skills(list));
    }
    lines.extend(sentence::more_skills(list).map(|more| format!("- {more}")));
    lines.join("\n")
}

fn results(results: &SearchResults, wording: &Wording) -> String {
    if results.results.is_empty() {
        return found::nothing(results, wording);
    }
    let mut lines =
        vec![format!("Skills for {}, best first:", code(&sentence::line(&results.query))), String::new()];
    for result in &results.results {
        let loaded = result.loaded.then(|| "loaded".to_owned());
        let source = result.source.as_deref().map(shown_source);
        let weak = result.is_weak().then(|| "weak".to_owned());
        let facts =
            [format!("confidence {}", result.confidence)].into_iter().chain(weak).chain(loaded).chain(source);
        let status = in_parentheses(facts);
        lines.push(format!("- **{}**{status}: {}", result.name, result.summary()));
        lines.push(format!("  - why: {}", result.reasons()));
        if let Some(section) = &result.section {
            let (file, title) =
                (code(&sentence::line(&result.manifest_file)), sentence::line(&section.title));
            let (range, tokens) = (found::lines(section), section.tokens);
            lines.push(format!("  - section: lines {range} of {file}, ~{tokens} tokens: {title}"));
        }
        lines.extend(found::path(results, result).map(|path| format!("  - location: {}", code(path))));
    }
    lines.extend(found::note(results, wording).map(|advice| format!("\n{advice}")));
    lines.join("\n")
}

/// Returns the source of a skill in a list.
fn shown_source(source: &str) -> String {
    format!("from {}", code(&sentence::line(source)))
}

/// Returns `parts` behind a blank and in parentheses, or nothing if there are not any.
fn in_parentheses(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// Returns `line` as code with its backticks, between runs of more backticks than it has.
fn code_as_written(line: &str) -> String {
    match line.split(|c| c != '`').map(str::len).max() {
        None | Some(0) => format!("`{line}`"),
        Some(longest) => {
            let mark = "`".repeat(longest + 1);
            format!("{mark} {line} {mark}")
        }
    }
}

/// Returns `text` as code; a backtick would end it and becomes an apostrophe.
fn code(text: &str) -> String {
    format!("`{}`", text::visible_line(text).replace('`', "'"))
}
