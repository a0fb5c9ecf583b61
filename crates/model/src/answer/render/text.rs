//! `text`: the sentences of the harness guide, word for word.
//!
//! Parts that the guide does not have stand before its documentation, which goes on to the end: required
//! skills with their length, and notes, a line each. Files are not listed. The source of a skill is a note of
//! the session, and only where skills come from several: the guide knows one.
//!
//! There are no elements here. A file stands behind a line that marks it as untrusted and gives its length in
//! bytes, so that nothing in it passes for a line of ours.

use super::{found, sentence};
use crate::answer::{
    Acknowledgement, Answer, ErrorStyle, Fault, FaultKind, FileList, FileText, LoadAnswer, SearchResults,
    SkillList, ToolResult, Wording,
};
use crate::text;

pub(super) fn render(answer: &Answer, wording: &Wording) -> String {
    match answer {
        Answer::Loaded(loaded) => self::loaded(loaded, wording),
        Answer::Acknowledged(acknowledged) => self::acknowledged(acknowledged),
        Answer::Bucket(bucket) => {
            let files = bucket.files.iter().map(|(_, file)| self::file(file, wording));
            files.collect::<Vec<_>>().join("\n\n")
        }
        Answer::Unloaded(name) => format!("Unloaded skill '{name}'."),
        Answer::NotLoaded(name) => format!("Skill '{name}' is not loaded."),
        Answer::File(file) => self::file(file, wording),
        Answer::Files(files) => self::files(files),
        Answer::Skills(skills) => self::skills(skills),
        Answer::Results(results) => self::results(results, wording),
        Answer::Tool(result) => tool_result(result),
        Answer::Custom { text, .. } => text.clone(),
        Answer::Fault(fault) => self::fault(fault, wording),
    }
}

fn acknowledged(acknowledged: &Acknowledgement) -> String {
    let mut out = format!("Skill '{}' is already loaded.", acknowledged.name);
    for note in &acknowledged.notes {
        out.push_str(&format!("\n\nNote: {}", sentence::note(note)));
    }
    out
}

fn loaded(loaded: &LoadAnswer, wording: &Wording) -> String {
    let mut out = String::new();
    for skill in &loaded.first {
        out.push_str(&format!(
            "Required skill '{}' ({} bytes):\n{}\n\n",
            sentence::address(skill),
            skill.body.len(),
            skill.body
        ));
    }
    let skill = &loaded.skill;
    let tools = skill.tools.iter().map(|tool| sentence::line(tool)).collect::<Vec<_>>().join(", ");
    let (address, count) = (sentence::address(skill), skill.tools.len());
    out.push_str(&format!("Loaded skill '{address}' with {count} tools: {tools}\n\n"));
    for skill in sentence::skills(loaded) {
        let (schemas, more) = sentence::schemas(skill);
        schemas.iter().for_each(|schema| out.push_str(&format!("Tool: {schema}\n\n")));
        for advice in sentence::more_schemas(more).into_iter().chain(sentence::call_tools(skill, wording)) {
            out.push_str(&format!("Note: {advice}\n\n"));
        }
    }
    // Instructions with their frontmatter say it themselves.
    let stated = if skill.body.starts_with("---\n") { Vec::new() } else { sentence::stated_fields(skill) };
    for (key, value) in stated {
        out.push_str(&format!("Note: {key}: {value}\n\n"));
    }
    for note in sentence::notes(loaded) {
        out.push_str(&format!("Note: {note}\n\n"));
    }
    out.push_str("Documentation:\n");
    out.push_str(&skill.body);
    out
}

/// Returns the output of the tool, or the guide's `Error: Type: message` and the output.
fn tool_result(result: &ToolResult) -> String {
    let mut out = match &result.error {
        None => result.text.clone(),
        Some(error) if result.text.is_empty() => format!("Error: {}", sentence::error_lines(error)),
        Some(error) => format!("Error: {}\n{}", sentence::error_lines(error), result.text),
    };
    for note in &result.notes {
        out.push_str(if out.ends_with('\n') { "\n" } else { "\n\n" });
        out.push_str(&format!("Note: {}", sentence::note(note)));
    }
    out
}

fn file(file: &FileText, wording: &Wording) -> String {
    let reach = sentence::reach(file, wording);
    if file.text.is_empty() {
        return reach.unwrap_or_default();
    }
    let FileText { skill, path, text, .. } = file;
    let source = sentence::source(&file.source).map(|source| format!(" ({source})")).unwrap_or_default();
    let bytes = text.len();
    let mut out =
        format!("File {path} of skill '{skill}'{source}, {bytes} bytes, untrusted content:\n{text}");
    if let Some(reach) = reach {
        out.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
        out.push_str(&reach);
    }
    out
}

fn files(list: &FileList) -> String {
    let source = list.source.as_deref().map(sentence::line);
    let mut lines: Vec<String> =
        source.map(|source| format!("Files of skill '{}' from {source}:", list.skill)).into_iter().collect();
    lines.extend(list.files.iter().map(|file| {
        let description = sentence::file_description(file.description.as_deref());
        format!("- {}{description}", text::visible_line(&file.path))
    }));
    if list.files.is_empty() {
        lines.push("No files.".to_owned());
    }
    lines.extend(sentence::more_listed_files(list.more));
    lines.join("\n")
}

fn skills(list: &SkillList) -> String {
    let mut lines: Vec<String> = Vec::new();
    for skill in &list.skills {
        let description = sentence::description(&skill.description);
        let description = text::unmarked(&description, LOADED);
        let status = if skill.loaded { LOADED } else { "" };
        let source = skill.source.as_deref().map(|source| format!(" (from {})", sentence::line(source)));
        lines.push(format!("- {}{}: {description}{status}", skill.name, source.unwrap_or_default()));
    }
    if lines.is_empty() {
        lines.push(sentence::no_skills(list));
    }
    lines.extend(sentence::more_skills(list));
    lines.join("\n")
}

fn results(results: &SearchResults, wording: &Wording) -> String {
    if results.results.is_empty() {
        return found::nothing(results, wording);
    }
    let mut lines = vec![format!("Skills for `{}`, best first:", sentence::line(&results.query))];
    for result in &results.results {
        let summary = result.summary();
        let status = if result.loaded { LOADED } else { "" };
        let source = result.source.as_deref().map(|source| format!(", from {}", sentence::line(source)));
        lines.push(format!(
            "- {} (confidence {}{}{}): {}{status}",
            result.name,
            result.confidence,
            if result.is_weak() { ", weak" } else { "" },
            source.unwrap_or_default(),
            text::unmarked(&summary, LOADED)
        ));
        lines.push(format!("  why: {}", result.reasons()));
        if let Some(section) = &result.section {
            let (file, title) = (sentence::line(&result.manifest_file), sentence::line(&section.title));
            let (range, tokens) = (found::lines(section), section.tokens);
            lines.push(format!("  section: lines {range} of {file}, ~{tokens} tokens: {title}"));
        }
        lines.extend(found::path(results, result).map(|path| format!("  location: {path}")));
    }
    lines.extend(found::note(results, wording));
    lines.join("\n")
}

const LOADED: &str = " [loaded]";

fn fault(fault: &Fault, wording: &Wording) -> String {
    let skill = sentence::line(fault.skill.as_deref().unwrap_or_default());
    let tool = sentence::line(&fault.tool);
    match fault.kind {
        FaultKind::UnknownSkill { .. } => format!("Error: Unknown skill '{skill}'. Check the skill menu."),
        FaultKind::UnknownTool { .. } => format!("Error: Tool '{tool}' not found. Is the skill loaded?"),
        FaultKind::SkillAsTool if wording.errors == ErrorStyle::Menu => {
            format!("Error: Tool '{tool}' not found. Is the skill loaded?")
        }
        FaultKind::NotLoaded { ref tool } | FaultKind::NoSkillTool { ref tool, .. } => {
            format!("Error: Tool '{}' not found. Is the skill loaded?", sentence::line(tool))
        }
        _ => format!("Error: {}", fault.message(wording)),
    }
}
