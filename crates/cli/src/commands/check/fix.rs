//! Repairs what can be repaired safely: shown first, written only when someone agrees.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire_model::{LineRange, SkillPath, repair};
use similar::TextDiff;

use crate::error::CliError;
use crate::ui::{Style, Ui, escape};
use crate::wire::{Context, Library};

/// A file and what it should say.
struct Repair {
    path: PathBuf,
    before: String,
    after: String,
}

/// What became of the repairs.
pub(crate) struct Outcome {
    /// The paths that were written.
    pub(crate) written: Vec<String>,
    /// Whether there are repairs that nobody agreed to.
    pub(crate) is_refused: bool,
}

/// Shows all repairs, writes them if that is wanted, and returns the paths that were written.
pub(crate) fn run(
    ui: &mut Ui,
    context: &Context,
    libraries: &[Library],
    yes: bool,
) -> Result<Outcome, CliError> {
    let repairs: Vec<Repair> = libraries
        .iter()
        .flat_map(|library| library.snapshot.entries().iter().filter_map(|entry| repair(library, entry)))
        .collect();
    if repairs.is_empty() {
        writeln!(ui.err(), "there is nothing to repair")?;
        return Ok(Outcome { written: Vec::new(), is_refused: false });
    }
    for repair in &repairs {
        show(ui, context, repair)?;
    }
    let files = match repairs.len() {
        1 => "1 file".to_owned(),
        number => format!("{number} files"),
    };
    let is_wanted =
        yes || (ui.is_interactive() && ui.confirm(&format!("write these repairs to {files}?"))?);
    if !is_wanted && ui.is_json() {
        writeln!(
            ui.err(),
            "nothing was written: {files} can be repaired; `--yes` writes the repairs without asking"
        )?;
        return Ok(Outcome { written: Vec::new(), is_refused: true });
    }
    if !is_wanted {
        let error = CliError::no(format!("nothing was written: {files} can be repaired"));
        return Err(if ui.is_interactive() {
            error
        } else {
            error.hint("`--yes` writes the repairs without asking")
        });
    }
    let (written, failure) = write_all(&repairs);
    if let Some(error) = failure {
        for path in &written {
            writeln!(ui.err(), "repaired {}", escape(path))?;
        }
        return Err(error);
    }
    writeln!(ui.err(), "repaired {files}")?;
    Ok(Outcome { written, is_refused: false })
}

/// Writes the repairs until one fails; returns the paths that were written, and why it stopped.
fn write_all(repairs: &[Repair]) -> (Vec<String>, Option<CliError>) {
    let mut written = Vec::new();
    for repair in repairs {
        if let Err(error) = write(repair) {
            return (written, Some(error));
        }
        written.push(repair.path.display().to_string());
    }
    (written, None)
}

fn repair(library: &Library, entry: &Entry) -> Option<Repair> {
    let file = SkillPath::new(&entry.manifest_file).ok()?;
    let content = pollster::block_on(library.registry.read(entry, &file, LineRange::default())).ok()?;
    let before = String::from_utf8(content.bytes).ok()?;
    let after = repair::fix(&before)?;
    Some(Repair { path: Path::new(&*entry.path).join(&*entry.manifest_file), before, after })
}

fn show(ui: &mut Ui, context: &Context, repair: &Repair) -> Result<(), CliError> {
    let path = context.shown(&repair.path.display().to_string());
    let diff = TextDiff::from_lines(&repair.before, &repair.after);
    let diff = diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    for line in diff.lines() {
        let escaped = escape(line);
        let style = match line.as_bytes().first() {
            Some(b'+') => Some(Style::Added),
            Some(b'-') => Some(Style::Removed),
            Some(b'@') => Some(Style::Faint),
            _ => None,
        };
        // With --json the output is kept for the result.
        if ui.is_json() {
            let line = style.map_or_else(|| escaped.to_string(), |style| ui.paint_err(style, &escaped));
            writeln!(ui.err(), "{line}")?;
        } else {
            let line = style.map_or_else(|| escaped.to_string(), |style| ui.paint(style, &escaped));
            writeln!(ui.out(), "{line}")?;
        }
    }
    Ok(ui.flush()?)
}

/// Replaces the file in one step, so that nobody ever reads half of it.
#[allow(
    clippy::disallowed_methods,
    reason = "a provider only reads; what is replaced is looked at where it stands"
)]
fn write(repair: &Repair) -> Result<(), CliError> {
    let path = &repair.path;
    let failed = |error| CliError::io("write", path, error);
    let metadata = fs::symlink_metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(CliError::no(format!("{} is a link and is left alone", path.display()))
            .hint("repair the file it leads to"));
    }
    if fs::read(path).map_err(failed)? != repair.before.as_bytes() {
        return Err(CliError::no(format!("{} was changed meanwhile", path.display())).hint("run it again"));
    }
    let temporary = path.with_file_name(format!(".SKILL.md.{}.tmp", std::process::id()));
    let outcome = (|| {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        file.write_all(repair.after.as_bytes())?;
        file.set_permissions(metadata.permissions())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    outcome.map_err(|error| {
        // The temporary file is of no use to anyone; that it cannot be removed is not worth a second error.
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "it looks at what was written")]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_before_a_failure_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let repair = |name: &str, before: &str| {
            let path = directory.path().join(name);
            fs::write(&path, "before").unwrap();
            Repair { path, before: before.to_owned(), after: "after".to_owned() }
        };
        let repairs = [repair("a", "before"), repair("b", "something else"), repair("c", "before")];
        let (written, failure) = write_all(&repairs);
        assert_eq!(written, [repairs[0].path.display().to_string()]);
        assert!(failure.unwrap().message().ends_with("b was changed meanwhile"));
        let texts = repairs.map(|repair| fs::read_to_string(repair.path).unwrap());
        assert_eq!(texts, ["after", "before", "before"]);
    }
}
