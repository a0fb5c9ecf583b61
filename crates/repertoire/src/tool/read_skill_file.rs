//! `read_skill_file`: a file of a skill, or some of its lines.

use repertoire_model::answer::{Answer, FaultKind, FileText, Truncation};
use repertoire_model::{Digest, LineRange, SkillPath, text};
use serde_json::{Value, json};

use super::arguments::{Arguments, Parameter, bad, quoted, recorded_path, tidy};
use super::builtin::{Builtin, DefinitionContext};
use super::definition::{object, text as text_schema};
use super::list_skill_files;
use super::names::{END_ALIASES, PATH_ALIASES, SKILL_ALIASES, START_ALIASES};
use super::reply::{CallFailure, CallResult, EventDetails, ToolReply};
use crate::event::EventKind;
use crate::future::BoxFuture;
use crate::provider::FileContent;
use crate::provider::content::media_type;
use crate::registry::Entry;
use crate::session::Session;
use crate::{Error, ErrorKind};

/// The most similar names that the answer to an unknown file lists.
const MAX_NEAR: usize = 5;

pub(super) const TOOL: Builtin =
    Builtin { canonical: "read_skill_file", kind: EventKind::FileRead, define, call };

fn define(context: &DefinitionContext<'_>) -> (String, Value) {
    let names = &context.options.tools.arguments;
    let line = |description: &str| json!({"type": "integer", "minimum": 1, "description": description});
    let properties = vec![
        (names.skill.as_str(), text_schema("Skill name")),
        (names.path.as_str(), text_schema("Path within the skill, such as references/guide.md")),
        (names.start_line.as_str(), line("First line to read")),
        (names.end_line.as_str(), line("Last line to read")),
    ];
    let description = "Read a file of a loaded skill, not of the project.";
    (description.to_owned(), object(properties, &[&names.skill, &names.path]))
}

struct ReadArguments<'a> {
    skill: &'a str,
    path: &'a str,
    lines: LineRange,
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, CallResult> {
    Box::pin(async move {
        let asked = parse(session, arguments)?;
        let entry = session.lookup().find(asked.skill).await?;
        reply(session, &entry, asked.skill, asked.path, asked.lines).await
    })
}

/// Answers the request of a model that calls the skill `asked` and its file `path`.
pub(super) async fn reply(
    session: &Session,
    entry: &Entry,
    asked: &str,
    path: &str,
    lines: LineRange,
) -> CallResult {
    let mut details = EventDetails { file: Some(recorded_path(path)), ..EventDetails::of(entry) };
    match read(session, entry, path, lines).await {
        Ok(file) => {
            details.tokens = session.loads().price(&file.text);
            details.digest = Some(Digest::of(file.text.as_bytes()));
            Ok(ToolReply { answer: Answer::File(file), details })
        }
        Err(kind) => {
            if session.options().tools.offered.read_directories()
                && path.ends_with('/')
                && !path.starts_with('/')
                && let Ok(list) = list_skill_files::list(session, entry, Some(path)).await
            {
                return Ok(ToolReply { answer: Answer::Files(list), details });
            }
            Err(CallFailure::of(asked, kind, details))
        }
    }
}

fn parse<'a>(session: &Session, arguments: Arguments<'a>) -> Result<ReadArguments<'a>, FaultKind> {
    let names = &session.options().tools.arguments;
    let skill = Parameter { name: &names.skill, aliases: SKILL_ALIASES };
    let path = Parameter { name: &names.path, aliases: PATH_ALIASES };
    let start = Parameter { name: &names.start_line, aliases: START_ALIASES };
    let end = Parameter { name: &names.end_line, aliases: END_ALIASES };
    arguments.only(&[skill, path, start, end])?;
    let lines = lines(&arguments, &start, &end)?;
    Ok(ReadArguments { skill: arguments.skill(&skill)?, path: arguments.required_text(&path)?, lines })
}

/// Returns the lines that the arguments `start` and `end` ask for.
pub(super) fn lines(
    arguments: &Arguments<'_>,
    start: &Parameter<'_>,
    end: &Parameter<'_>,
) -> Result<LineRange, FaultKind> {
    let lines = LineRange::new(arguments.line(start)?, arguments.line(end)?);
    if lines.is_empty() {
        return Err(bad(end.name, &format!("a line not before `{}`", start.name)));
    }
    Ok(lines)
}

/// Returns the lines `lines` of the file that a model calls `written`.
pub(super) async fn read(
    session: &Session,
    entry: &Entry,
    written: &str,
    lines: LineRange,
) -> Result<FileText, FaultKind> {
    let path = SkillPath::new(&tidy(written))
        .map_err(|fault| FaultKind::BadPath { path: quoted(written), reason: fault.to_string() })?;
    let content = match session.registry().read_in_force(entry, &path, lines).await {
        Ok(content) => content,
        Err(error) => return Err(kind_of(session, entry, &path, &error).await),
    };
    let Some(whole) = content.text() else {
        let kind = content.binary.unwrap_or_else(|| media_type(path.as_str(), &content.bytes)).to_owned();
        return Err(FaultKind::Binary { path: path.to_string(), media_type: kind, size: content.size });
    };
    let (shown, truncation) = cut(whole, session.options().tools.read_bytes, content.first_line);
    let lines_shown = if truncation.is_some() { shown.split_inclusive('\n').count() } else { content.lines };
    let text = shown.to_owned();
    let FileContent { size, first_line, total_lines, .. } = content;
    let is_range = lines != LineRange::default();
    let skill = entry.name().clone();
    Ok(FileText {
        skill,
        source: entry.told_source(),
        path,
        text,
        first_line,
        lines: lines_shown,
        total_lines,
        size,
        is_range,
        truncation,
    })
}

/// Returns the part of `text` within `cap` bytes, in whole lines if possible.
fn cut(text: &str, cap: usize, first_line: usize) -> (&str, Option<Truncation>) {
    if text.len() <= cap {
        return (text, None);
    }
    let end = (0..=cap).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    match text[..end].rfind('\n') {
        Some(last) => {
            let shown = &text[..=last];
            let next_line = first_line + shown.matches('\n').count();
            (shown, Some(Truncation { cap, next_line: Some(next_line) }))
        }
        None => (&text[..end], Some(Truncation { cap, next_line: None })),
    }
}

async fn kind_of(session: &Session, entry: &Entry, path: &SkillPath, error: &Error) -> FaultKind {
    if error.kind() != ErrorKind::FileNotFound {
        return session.lookup().kind_of(error, path.as_str());
    }
    let listing = session.registry().files(entry).await.unwrap_or_default();
    let near = text::ranked(path.as_str(), listing.files.iter().map(|file| file.path.as_str()), MAX_NEAR);
    FaultKind::NoFile { path: path.to_string(), near: near.into_iter().map(str::to_owned).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_as_they_are_meant() {
        for (written, meant) in [
            ("./references/a.md", "references/a.md"),
            ("references//a.md", "references/a.md"),
            ("././a.md", "a.md"),
            ("a/./b.md", "a/b.md"),
            ("a.md", "a.md"),
            ("/etc/passwd", "/etc/passwd"),
            ("./../a", "../a"),
            ("a/../b", "a/../b"),
            (".", "."),
            ("", ""),
        ] {
            assert_eq!(tidy(written), meant);
        }
    }

    #[test]
    fn a_cap_cuts_between_lines_where_it_can() {
        let check = |text: &str, cap: usize, shown: &str, next: Option<Option<usize>>| {
            let (found, truncation) = cut(text, cap, 5);
            assert_eq!(
                (found, truncation.map(|truncation| truncation.next_line)),
                (shown, next),
                "{text:?} {cap}"
            );
        };
        check("a\nb\nc\n", 6, "a\nb\nc\n", None);
        check("a\nb\nc\n", 5, "a\nb\n", Some(Some(7)));
        check("a\nb\nc\n", 4, "a\nb\n", Some(Some(7)));
        check("a\nb\nc\n", 3, "a\n", Some(Some(6)));
        check("abcdef", 3, "abc", Some(None));
        check("üüü", 3, "ü", Some(None));
    }
}
