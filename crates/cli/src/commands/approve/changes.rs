//! Differences of the files of a skill since it was approved, line by line.

use std::collections::BTreeMap;

use repertoire::{Entry, Registry};
use repertoire_exec::approval::Difference;
use repertoire_model::{Bundle, LineRange, patch};

use crate::error::CliError;
use crate::ui::{Style, Ui};

/// The most files of one kind that are named one by one.
const MAX_FILES_SHOWN: usize = 20;
/// The most lines of differences that are shown.
const MAX_LINES: usize = 400;
/// The longest line that is shown, in characters.
const MAX_LINE_CHARS: usize = 500;
/// The most bytes of texts that are read for it, and the largest text.
const MAX_BYTES: u64 = 4 << 20;
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Returns the text files of the skill, by path, without files that are too large.
pub(super) fn texts(registry: &Registry, entry: &Entry, bundle: &Bundle) -> BTreeMap<String, String> {
    let mut left = MAX_BYTES;
    let mut texts = BTreeMap::new();
    for file in bundle.files().iter().filter(|file| file.size <= MAX_FILE_BYTES) {
        let Some(rest) = left.checked_sub(file.size) else { continue };
        let content = pollster::block_on(registry.read(entry, &file.path, LineRange::default()));
        let is_same = |bytes: &Vec<u8>| repertoire_model::Digest::of(bytes) == file.digest;
        let bytes = content.ok().map(|content| content.bytes).filter(is_same);
        let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) else { continue };
        left = rest;
        texts.insert(file.path.to_string(), text);
    }
    texts
}

/// Returns the unified difference from `before` to `after`, and the files that it leaves out.
pub(super) fn unified(
    difference: &Difference,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> (Vec<String>, Vec<String>) {
    let (mut lines, mut omitted) = (Vec::new(), Vec::new());
    let all = difference.changed_files.iter().map(|path| (path, true, true));
    let all = all.chain(difference.new_files.iter().map(|path| (path, false, true)));
    let all = all.chain(difference.gone_files.iter().map(|path| (path, true, false)));
    for (path, was, is) in all {
        let (old, new) = (before.get(path), after.get(path));
        let is_binary = |text: Option<&String>| text.is_some_and(|text| text.contains('\0'));
        if was != old.is_some() || is != new.is_some() || is_binary(old) || is_binary(new) {
            omitted.push(path.clone());
            continue;
        }
        let side = |side: &str, is_there: bool| {
            if is_there { format!("{side}/{path}") } else { "/dev/null".to_owned() }
        };
        let text = |text: Option<&String>| text.map_or("", String::as_str).to_owned();
        let diff = patch::unified(&side("a", was), &side("b", is), &text(old), &text(new));
        lines.extend(diff.lines().map(str::to_owned));
    }
    (lines, omitted)
}

/// Shows a unified difference, bounded and harmless on a terminal.
pub(super) fn show(ui: &mut Ui, lines: &[String], omitted: &[String]) -> Result<(), CliError> {
    for line in lines.iter().take(MAX_LINES) {
        let style = Style::of_diff_line(line);
        match line.char_indices().nth(MAX_LINE_CHARS) {
            Some((end, _)) => {
                let rest = line[end..].chars().count();
                ui.write_planned(style, &format!("{} [{rest} more characters]", &line[..end]))?;
            }
            None => ui.write_planned(style, line)?,
        }
    }
    let more = lines.len().saturating_sub(MAX_LINES);
    if more > 0 {
        ui.write_planned(Some(Style::Warning), &format!("{more} more lines of differences are not shown"))?;
    }
    write_files(ui, Some(Style::Warning), "no difference can be shown of", omitted)
}

/// Writes the names of `files`, each behind `label`, up to a limit.
pub(super) fn write_files(
    ui: &mut Ui,
    style: Option<Style>,
    label: &str,
    files: &[String],
) -> Result<(), CliError> {
    for file in files.iter().take(MAX_FILES_SHOWN) {
        ui.write_planned(style, &format!("{label} {file}"))?;
    }
    let more = files.len().saturating_sub(MAX_FILES_SHOWN);
    if more > 0 {
        ui.write_planned(style, &format!("{label} and {more} more"))?;
    }
    Ok(())
}
