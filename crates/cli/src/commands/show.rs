//! `rep show`.

use std::collections::BTreeSet;

use clap::Args;
use repertoire::Entry;
use repertoire::provider::FileListing;
use repertoire_model::policy::ResourceListing;
use repertoire_model::{FileKind, LineRange, Manifest, Policy, SkillPath};
use serde::Serialize;

use crate::cli::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::{Context, Library};

/// How much of a file is looked at to tell text from binary.
const SNIFFED_BYTES: usize = 8 * 1024;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    file_content: Option<String>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ShowArgs) -> Result<Exit, CliError> {
    let library = context.open()?;
    if ui.is_json() {
        let mut answer = ShowJson { name: args.name.clone(), ..ShowJson::default() };
        let outcome = fill(&mut answer, &library, context, args);
        answer.error = outcome.as_ref().err().map(|error| error.message().to_owned());
        ui.write_json(&answer)?;
        return outcome.map(|()| Exit::Success);
    }
    let entry = library.find(&args.name)?;
    let bytes = match asked_for(args)? {
        Some((_, path)) => content(&library, entry, &path, lines(args))?,
        None => {
            let skill = pollster::block_on(library.registry.get(entry))?;
            let text = if wants_frontmatter(context, args) { &skill.text } else { skill.body() };
            lines(args).apply(text.as_bytes()).bytes.to_vec()
        }
    };
    if ui.out_is_terminal() && is_binary(&bytes) {
        let kind = media_type(&bytes);
        return Err(CliError::no(format!("the file is binary ({kind}, {} bytes)", bytes.len()))
            .hint("send it to a file: `rep show NAME --file PATH > copy`"));
    }
    ui.write_untrusted(&bytes)?;
    Ok(Exit::Success)
}

fn fill(
    answer: &mut ShowJson,
    library: &Library,
    context: &Context,
    args: &ShowArgs,
) -> Result<(), CliError> {
    let entry = library.find(&args.name)?;
    let skill = pollster::block_on(library.registry.get(entry))?;
    let document = &skill.document;
    let listing = pollster::block_on(library.registry.files(entry))?;
    answer.name = entry.name().to_string();
    answer.path = Some(entry.path.clone());
    answer.source = Some(entry.source.to_string());
    answer.description = Some(document.description.clone());
    answer.version.clone_from(&document.manifest.version);
    answer.available_references =
        available(&context.settings.policy, &document.manifest, &listing, FileKind::Reference);
    answer.available_scripts =
        available(&context.settings.policy, &document.manifest, &listing, FileKind::Script);
    answer.available_assets =
        available(&context.settings.policy, &document.manifest, &listing, FileKind::Asset);
    let asked = asked_for(args)?;
    // A range is about the file that was asked for, if one was.
    let body_lines = if asked.is_some() { LineRange::default() } else { lines(args) };
    let text = if wants_frontmatter(context, args) { &skill.text } else { skill.body() };
    answer.body = lossy(body_lines.apply(text.as_bytes()).bytes);
    if let Some((kind, path)) = asked {
        let bytes = content(library, entry, &path, lines(args))?;
        if is_binary(&bytes) {
            let kind = media_type(&bytes);
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

fn wants_frontmatter(context: &Context, args: &ShowArgs) -> bool {
    args.raw || context.settings.include_frontmatter
}

fn lines(args: &ShowArgs) -> LineRange {
    args.lines.unwrap_or_default()
}

/// Returns the files of one kind that the skill is said to have, as the option for that kind takes them.
fn available(policy: &Policy, manifest: &Manifest, listing: &FileListing, kind: FileKind) -> Vec<String> {
    let directory = format!("{}/", kind.directory().unwrap_or_default());
    let found = listing.files.iter().filter(|file| file.kind == kind).map(|file| file.path.as_str());
    // A declaration may be written with its directory or without.
    let name = |path| str::strip_prefix(path, directory.as_str()).unwrap_or(path);
    let found = found.map(name);
    let declared = match kind {
        FileKind::Reference => manifest.references.as_slice(),
        FileKind::Script => &manifest.scripts,
        FileKind::Asset => &manifest.assets,
        FileKind::Manifest | FileKind::Other => &[],
    };
    let declared = declared.iter().map(String::as_str).map(name);
    let files: BTreeSet<&str> = match policy.resource_listing {
        ResourceListing::Walk => found.collect(),
        ResourceListing::Declared => declared.collect(),
        ResourceListing::Both => found.chain(declared).collect(),
    };
    files.into_iter().take(policy.max_listed).map(str::to_owned).collect()
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
        // `--reference references/a.md` means what it says.
        Some(directory) if !file.starts_with(&format!("{directory}/")) => SkillPath::within(directory, file),
        _ => SkillPath::new(file),
    };
    path.map(|path| Some((kind, path)))
        .map_err(|fault| CliError::no(format!("`{file}` is no path in a skill")).because(fault))
}

fn content(
    library: &Library,
    entry: &Entry,
    path: &SkillPath,
    lines: LineRange,
) -> Result<Vec<u8>, CliError> {
    Ok(pollster::block_on(library.registry.read(entry, path, lines))?.bytes)
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

/// Returns whether `bytes` are not text: they hold a NUL, or are not UTF-8.
fn is_binary(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    let is_text = match std::str::from_utf8(start) {
        Ok(_) => true,
        // The end of what is looked at may cut a character in two.
        Err(error) => error.error_len().is_none() && start.len() < bytes.len(),
    };
    !is_text || start.contains(&0)
}

/// Returns what the first bytes say a file is.
fn media_type(bytes: &[u8]) -> &'static str {
    const MAGIC: &[(&[u8], &str)] = &[
        (b"\x89PNG", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"%PDF", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b", "application/gzip"),
        (b"\x7fELF", "application/x-executable"),
        (b"wOF2", "font/woff2"),
        (b"\0asm", "application/wasm"),
        (b"SQLite format 3", "application/vnd.sqlite3"),
    ];
    MAGIC
        .iter()
        .find(|(magic, _)| bytes.starts_with(magic))
        .map_or("application/octet-stream", |(_, kind)| kind)
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
