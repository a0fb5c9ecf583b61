//! `text`: the sentences of the harness guide, word for word.
//!
//! What the guide does not know of stands before its documentation, which goes on to the end: required skills with their
//! length, and notes, a line each. Files are not listed.

use super::sentence;
use crate::answer::{Answer, Fault, FaultKind, FileList, FileText, Loaded, SkillList, Wording};
use crate::text;

pub(super) fn render(answer: &Answer, wording: &Wording) -> String {
    match answer {
        Answer::Loaded(loaded) => self::loaded(loaded),
        Answer::Acknowledged(acknowledged) => format!("Skill '{}' is already loaded.", acknowledged.name),
        Answer::Bucket(bucket) => file(&bucket.file, wording),
        Answer::Unloaded(name) => format!("Unloaded skill '{name}'."),
        Answer::NotLoaded(name) => format!("Skill '{name}' is not loaded."),
        Answer::File(file) => self::file(file, wording),
        Answer::Files(files) => self::files(files),
        Answer::Skills(skills) => self::skills(skills),
        Answer::Custom { text, .. } => text.clone(),
        Answer::Fault(fault) => self::fault(fault, wording),
    }
}

fn loaded(loaded: &Loaded) -> String {
    let mut out = String::new();
    for skill in &loaded.first {
        out.push_str(&format!(
            "Required skill '{}' ({} bytes):\n{}\n\n",
            skill.name,
            skill.body.len(),
            skill.body
        ));
    }
    let skill = &loaded.skill;
    let tools = skill.tools.iter().map(|tool| sentence::line(tool)).collect::<Vec<_>>().join(", ");
    out.push_str(&format!("Loaded skill '{}' with {} tools: {tools}\n\n", skill.name, skill.tools.len()));
    for note in sentence::notes(loaded) {
        out.push_str(&format!("Note: {note}\n\n"));
    }
    out.push_str("Documentation:\n");
    out.push_str(&skill.body);
    out
}

fn file(file: &FileText, wording: &Wording) -> String {
    match sentence::reach(file, wording) {
        Some(reach) if file.text.is_empty() => reach,
        Some(reach) => format!("{}\n\n{reach}", without_line_end(&file.text)),
        None => without_line_end(&file.text).to_owned(),
    }
}

fn without_line_end(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

fn files(list: &FileList) -> String {
    let mut lines: Vec<String> =
        list.files.iter().map(|file| format!("- {}", text::visible_line(&file.path))).collect();
    if lines.is_empty() {
        lines.push("No files.".to_owned());
    }
    lines.extend(sentence::more_listed_files(list.more));
    lines.join("\n")
}

fn skills(list: &SkillList) -> String {
    let mut lines: Vec<String> = Vec::new();
    for skill in &list.skills {
        let description = sentence::description(&skill.description);
        let description = unmarked(&description);
        let status = if skill.loaded { LOADED } else { "" };
        lines.push(format!("- {}: {description}{status}", skill.name));
    }
    if lines.is_empty() {
        lines.push("No skills.".to_owned());
    }
    lines.extend(sentence::more_skills(list.more));
    lines.join("\n")
}

const LOADED: &str = " [loaded]";

/// Returns `description` without a mark at its end that only the engine may set.
fn unmarked(mut description: &str) -> &str {
    while let Some(rest) = description.strip_suffix(LOADED.trim_start()) {
        description = rest.trim_end();
    }
    description
}

fn fault(fault: &Fault, wording: &Wording) -> String {
    let skill = sentence::line(fault.skill.as_deref().unwrap_or_default());
    let tool = sentence::line(&fault.tool);
    match fault.kind {
        FaultKind::UnknownSkill { .. } => format!("Error: Unknown skill '{skill}'. Check the skill menu."),
        FaultKind::UnknownTool { .. } => format!("Error: Tool '{tool}' not found. Is the skill loaded?"),
        _ => format!("Error: {}", fault.message(wording)),
    }
}
