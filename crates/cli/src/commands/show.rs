//! `rep show`.

use clap::Args;
use repertoire::provider::content::{is_binary, media_type};
use repertoire::registry::Resources;
use repertoire::{Entry, ErrorKind};
use repertoire_model::text::count;
use repertoire_model::{FileKind, LineRange, RuleId, SkillPath, State, document};
use serde::Serialize;

use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Ui, escape};
use crate::wire::{Library, Workspace};

/// Prints a skill's instructions, or one of its files
///
/// Without further options the instructions are printed byte for byte, without the frontmatter. On a terminal,
/// characters that would do harm there are shown as escapes.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The skill, as NAME or as SOURCE:NAME
    #[arg(add = skill_names())]
    name: String,
    /// Print this file of the skill's references directory
    #[arg(long, value_name = "FILE", group = "what")]
    reference: Option<String>,
    /// Print this file of the skill's scripts directory
    #[arg(long, value_name = "FILE", group = "what")]
    script: Option<String>,
    /// Print this file of the skill's assets directory
    #[arg(long, value_name = "FILE", group = "what")]
    asset: Option<String>,
    /// Print the file at this path in the skill
    #[arg(long, value_name = "PATH", group = "what")]
    file: Option<String>,
    /// Print these lines only: A:B, A:, :B or A
    #[arg(long, value_name = "A:B", value_parser = line_range)]
    lines: Option<LineRange>,
    /// Print the whole SKILL.md, frontmatter included
    #[arg(long, group = "what")]
    raw: bool,
}

/// The answer in the shape of Bernstein's `load_skill`, with every key always present.
#[derive(Default, Serialize)]
struct ShowJson {
    name: String,
    body: String,
    available_references: Vec<String>,
    available_scripts: Vec<String>,
    available_assets: Vec<String>,
    reference_content: Option<String>,
    script_content: Option<String>,
    asset_content: Option<String>,
    error: Option<String>,
    path: Option<String>,
    source: Option<String>,
    description: Option<String>,
    version: Option<String>,
    author: Option<String>,
    license: Option<String>,
    compatibility: Option<String>,
    allowed_tools: Vec<String>,
    /// Every key of the frontmatter, with its YAML type.
    frontmatter: serde_json::Map<String, serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_content: Option<String>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &ShowArgs) -> Result<Exit, CliError> {
    let library = workspace.open()?;
    if ui.is_json() {
        let mut answer = ShowJson { name: args.name.clone(), ..ShowJson::default() };
        let outcome = fill(&mut answer, &library, workspace, args);
        if let Ok(entry) = library.find(&args.name) {
            warn_if_broken(ui, entry)?;
        }
        ui.write_json(&answer)?;
        return outcome.map(|()| Exit::Success);
    }
    let entry = library.find(&args.name)?;
    let hidden: Vec<String> = library.snapshot.hidden_by(entry).map(Entry::qualified_name).collect();
    if entry.state == State::Active && !hidden.is_empty() {
        let note = format!("note: this is {}, which hides {}", entry.qualified_name(), hidden.join(", "));
        writeln!(ui.err(), "{}", escape(&note))?;
    }
    warn_if_broken(ui, entry)?;
    let asked = asked_for(args)?;
    let bytes = match &asked {
        Some((_, path)) => content(&library, entry, path, args)?,
        None => {
            let skill = pollster::block_on(library.registry.get(entry))?;
            let text = if wants_frontmatter(workspace, args) { &skill.text } else { skill.body() };
            let excerpt = lines(args).apply(text.as_bytes());
            expect_lines(args, excerpt.total_lines)?;
            excerpt.bytes.to_vec()
        }
    };
    if ui.out_is_terminal() && is_binary(&bytes) {
        let path = asked.as_ref().map_or(&*entry.manifest_file, |(_, path)| path.as_str());
        let kind = media_type(path, &bytes);
        return Err(CliError::no(format!("the file is binary ({kind}, {} bytes)", bytes.len()))
            .hint(format!("send it to a file: `rep show {} --file {path} > copy`", entry.name())));
    }
    ui.write_untrusted(&bytes)?;
    Ok(Exit::Success)
}

/// Warns if `SKILL.md` is broken on disk and its last good version is shown.
fn warn_if_broken(ui: &mut Ui, entry: &Entry) -> Result<(), CliError> {
    match entry.diagnostics().find(|found| found.rule == RuleId::LastGood) {
        Some(found) => Ok(ui.warn(&found.message)?),
        None => Ok(()),
    }
}

fn fill(
    answer: &mut ShowJson,
    library: &Library,
    workspace: &Workspace,
    args: &ShowArgs,
) -> Result<(), CliError> {
    let entry = library.find(&args.name)?;
    let skill = pollster::block_on(library.registry.get(entry))?;
    let document = &skill.document;
    let listing = pollster::block_on(library.registry.files(entry))?;
    answer.name = entry.name().to_string();
    answer.path = Some(entry.path.to_string());
    answer.source = Some(entry.source.to_string());
    answer.description = Some(document.description.to_string());
    answer.version.clone_from(&document.manifest.version);
    answer.author.clone_from(&document.manifest.author);
    answer.license.clone_from(&document.manifest.license);
    answer.compatibility.clone_from(&document.manifest.compatibility);
    answer.allowed_tools.clone_from(&document.manifest.allowed_tools);
    answer.frontmatter = document::frontmatter_json(&skill.text).unwrap_or_default();
    let resources = Resources::of(&document.manifest, &listing.files, &workspace.settings.policy);
    answer.available_references = resources.references;
    answer.available_scripts = resources.scripts;
    answer.available_assets = resources.assets;
    let asked = asked_for(args)?;
    // A reader of a file has the instructions already.
    if asked.is_none() {
        let text = if wants_frontmatter(workspace, args) { &skill.text } else { skill.body() };
        let excerpt = lines(args).apply(text.as_bytes());
        expect_lines(args, excerpt.total_lines)?;
        answer.body = lossy(excerpt.bytes);
    }
    if let Some((kind, path)) = asked {
        let bytes = content(library, entry, &path, args)?;
        if is_binary(&bytes) {
            let kind = media_type(path.as_str(), &bytes);
            return Err(CliError::no(format!("{path} is binary ({kind}, {} bytes)", bytes.len())));
        }
        let slot = match kind {
            FileKind::Reference => &mut answer.reference_content,
            FileKind::Script => &mut answer.script_content,
            FileKind::Asset => &mut answer.asset_content,
            FileKind::Manifest | FileKind::Other => &mut answer.file_content,
        };
        *slot = Some(lossy(&bytes));
    }
    Ok(())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn wants_frontmatter(workspace: &Workspace, args: &ShowArgs) -> bool {
    args.raw || workspace.settings.session.include_frontmatter
}

fn lines(args: &ShowArgs) -> LineRange {
    args.lines.unwrap_or_default()
}

/// Returns the file that the options name, if they name one.
fn asked_for(args: &ShowArgs) -> Result<Option<(FileKind, SkillPath)>, CliError> {
    let buckets = [
        (FileKind::Reference, &args.reference),
        (FileKind::Script, &args.script),
        (FileKind::Asset, &args.asset),
        (FileKind::Other, &args.file),
    ];
    let Some((kind, Some(file))) = buckets.into_iter().find(|(_, file)| file.is_some()) else {
        return Ok(None);
    };
    let path = match kind.directory() {
        // `--reference references/a.md` includes the directory already.
        Some(directory) if !file.starts_with(&format!("{directory}/")) => {
            // The problem of the file as it was given is a better message than that of the file in its
            // directory.
            SkillPath::new(file).and_then(|file| SkillPath::within(directory, file.as_str()))
        }
        _ => SkillPath::new(file),
    };
    path.map(|path| Some((kind, path)))
        .map_err(|fault| CliError::no(format!("`{file}` is no path in a skill")).because(fault))
}

/// Returns the requested lines of the file `path`.
fn content(library: &Library, entry: &Entry, path: &SkillPath, args: &ShowArgs) -> Result<Vec<u8>, CliError> {
    let content = pollster::block_on(library.registry.read_in_force(entry, path, lines(args)));
    let content = content.map_err(|error| {
        let is_missing = matches!(error.kind(), ErrorKind::FileNotFound | ErrorKind::IsDirectory);
        let error = CliError::from(error);
        if is_missing {
            error.hint(format!("run `rep files {}` to see its files", entry.name()))
        } else {
            error
        }
    })?;
    expect_lines(args, content.total_lines)?;
    Ok(content.bytes)
}

/// Returns an error if the requested lines begin after the last of `total`.
fn expect_lines(args: &ShowArgs, total: usize) -> Result<(), CliError> {
    match lines(args).start {
        Some(start) if start > total => {
            let lines = count(total, "line");
            Err(CliError::no(format!("line {start} is past the end: the text has only {lines}")))
        }
        _ => Ok(()),
    }
}

/// Parses `A:B`, `A:`, `:B` or `A`.
fn line_range(text: &str) -> Result<LineRange, String> {
    let number = |part: &str| match part {
        "" => Ok(None),
        _ => part.parse::<usize>().map(Some).map_err(|_| format!("`{part}` is no line number")),
    };
    let range = match text.split_once(':') {
        Some((start, end)) => LineRange::new(number(start)?, number(end)?),
        None => LineRange::new(number(text)?, number(text)?),
    };
    match (range.start, range.end) {
        (None, None) => Err("give a range as A:B, A:, :B or A".to_owned()),
        _ if range.is_empty() => {
            Err("lines are counted from 1, and a range does not end before it starts".to_owned())
        }
        _ => Ok(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ranges() {
        let range = |text| line_range(text).map(|range| (range.start, range.end));
        assert_eq!(range("2:5"), Ok((Some(2), Some(5))));
        assert_eq!(range("2:"), Ok((Some(2), None)));
        assert_eq!(range(":5"), Ok((None, Some(5))));
        assert_eq!(range("7"), Ok((Some(7), Some(7))));
        for bad in ["", ":", "a", "1:b", "0:3", "5:2", "1:2:3", "-1"] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }
}
