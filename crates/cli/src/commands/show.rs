//! `rep show`.

mod files;

use clap::Args;
use repertoire::provider::content::{is_binary, media_type};
use repertoire::{Entry, ErrorKind, Skill};
use repertoire_app::view::{ShownFileView, SkillDetailView};
use repertoire_model::text::count;
use repertoire_model::{FileKind, LineRange, RuleId, SkillPath, State};
use serde_json::{Value, json};

use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Ui, escape};
use crate::wire::{Library, Workspace};

/// Prints a skill's instructions, one of its files, or the list of them
///
/// Without further options the instructions are printed byte for byte, without the frontmatter. On a
/// terminal, characters that would do harm there are shown as escapes.
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
    /// List the files of the skill, or those below this directory of it
    ///
    /// Paths are relative to the skill, sorted. The description of a file is its first heading or comment, if
    /// that says more than the name of the file. Hidden files, links and special files are left out.
    #[arg(long, value_name = "DIRECTORY", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(group = "what", conflicts_with = "lines")]
    files: Option<String>,
    /// Print these lines only: A:B, A:, :B or A
    #[arg(long, value_name = "A:B", value_parser = line_range)]
    lines: Option<LineRange>,
    /// Print the whole SKILL.md, frontmatter included
    #[arg(long, group = "what")]
    raw: bool,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &ShowArgs) -> Result<Exit, CliError> {
    let library = workspace.open()?;
    if let Some(directory) = &args.files {
        return files::write(ui, &library, library.find(&args.name)?, directory);
    }
    if ui.is_json() {
        let shown = detail(&library, workspace, args);
        if let Ok(entry) = library.find(&args.name) {
            warn_if_broken(ui, entry)?;
        }
        return match shown {
            Ok((answer, outcome)) => {
                ui.write_json(&answer)?;
                outcome.map(|()| Exit::Success)
            }
            Err(error) => {
                ui.write_json(&nothing(&args.name))?;
                Err(error)
            }
        };
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
            text(&skill, workspace, args)?
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

/// Returns the keys of the answer about a skill that cannot be shown.
fn nothing(name: &str) -> Value {
    json!({
        "name": name, "body": "", "available_references": [], "available_scripts": [], "available_assets": [],
        "reference_content": null, "script_content": null, "asset_content": null,
    })
}

/// Returns the skill in detail, and the error about the file or the lines that were asked for.
fn detail(
    library: &Library,
    workspace: &Workspace,
    args: &ShowArgs,
) -> Result<(SkillDetailView, Result<(), CliError>), CliError> {
    let entry = library.find(&args.name)?;
    let skill = pollster::block_on(library.registry.get(entry))?;
    let listing = pollster::block_on(library.registry.files(entry))?;
    let mut answer = SkillDetailView::new(entry, Some(&skill), &listing.files, &workspace.settings.policy);
    // A reader of a file has the instructions already.
    answer.body.clear();
    let mut shown = ShownFileView::default();
    let outcome = match asked_for(args) {
        Ok(None) => text(&skill, workspace, args).map(|bytes| answer.body = lossy(&bytes)),
        Ok(Some((kind, path))) => file_text(library, entry, &path, args).map(|text| {
            let slot = match kind {
                FileKind::Reference => &mut shown.reference_content,
                FileKind::Script => &mut shown.script_content,
                FileKind::Asset => &mut shown.asset_content,
                FileKind::Manifest | FileKind::Other => &mut shown.file_content,
            };
            *slot = Some(text);
        }),
        Err(error) => Err(error),
    };
    answer.content = Some(shown);
    Ok((answer, outcome))
}

/// Returns the requested lines of the instructions of `skill`, or of its whole `SKILL.md`.
fn text(skill: &Skill, workspace: &Workspace, args: &ShowArgs) -> Result<Vec<u8>, CliError> {
    let is_whole = args.raw || workspace.settings.session.loading.include_frontmatter;
    let text = if is_whole { &skill.text } else { skill.body() };
    let excerpt = lines(args).apply(text.as_bytes());
    expect_lines(args, excerpt.total_lines)?;
    Ok(excerpt.bytes.to_vec())
}

/// Returns the requested lines of the file `path`, which has to be text.
fn file_text(
    library: &Library,
    entry: &Entry,
    path: &SkillPath,
    args: &ShowArgs,
) -> Result<String, CliError> {
    let bytes = content(library, entry, path, args)?;
    if is_binary(&bytes) {
        let kind = media_type(path.as_str(), &bytes);
        return Err(CliError::no(format!("{path} is binary ({kind}, {} bytes)", bytes.len())));
    }
    Ok(lossy(&bytes))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
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
            // The problem of the file as given is a better message than that of the file in its directory.
            SkillPath::new(file).and_then(|file| SkillPath::within(directory, file.as_str()))
        }
        _ => SkillPath::new(file),
    };
    path.map(|path| Some((kind, path)))
        .map_err(|fault| CliError::no(format!("`{file}` is not a path in a skill")).because(fault))
}

/// Returns the requested lines of the file `path`.
fn content(library: &Library, entry: &Entry, path: &SkillPath, args: &ShowArgs) -> Result<Vec<u8>, CliError> {
    let content = pollster::block_on(library.registry.read_in_force(entry, path, lines(args)));
    let content = content.map_err(|error| {
        let is_missing = matches!(error.kind(), ErrorKind::FileNotFound | ErrorKind::IsDirectory);
        let error = CliError::from(error);
        if is_missing {
            error.hint(format!("run `rep show {} --files` to see its files", entry.name()))
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
        _ => part.parse::<usize>().map(Some).map_err(|_| format!("`{part}` is not a line number")),
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
