//! `rep show --files`.

use repertoire::Entry;
use repertoire_app::view::{DiagnosticView, FileListView, FileView};
use repertoire_model::{FileEntry, SkillPath};

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Style, Table, Ui};
use crate::wire::Library;

/// Writes the files of `entry` below `directory`; an empty one is that of the skill.
pub(super) fn write(
    ui: &mut Ui,
    library: &Library,
    entry: &Entry,
    directory: &str,
) -> Result<Exit, CliError> {
    let listing = pollster::block_on(library.registry.files(entry))?;
    let files = below(&listing.files, directory, entry.name().as_str())?;
    let descriptions = pollster::block_on(library.registry.describe_files(entry, &files));
    if ui.is_json() {
        let view = |file: &FileEntry| {
            let mut view = FileView::new(file);
            view.description = descriptions.get(file.path.as_str()).cloned();
            view
        };
        let problems = listing.problems.iter().map(|found| DiagnosticView::of_skill(entry, found));
        return Ok(ui.answer(&FileListView {
            name: entry.name().to_string(),
            source: entry.source.to_string(),
            path: entry.path.to_string(),
            files: files.into_iter().map(view).collect(),
            problems: problems.collect(),
        })?);
    }
    let mut columns = vec![
        ("PATH", Align::Left, Some(Style::Name)),
        ("SIZE", Align::Right, None),
        ("KIND", Align::Left, Some(Style::Faint)),
    ];
    if !descriptions.is_empty() {
        columns.push(("DESCRIPTION", Align::Left, None));
    }
    let mut table = Table::new(columns);
    for file in files {
        table.cell(file.path.as_str());
        table.cell(file.size.map(|size| size.to_string()).unwrap_or_default());
        table.cell(file.kind.as_str());
        if !descriptions.is_empty() {
            table.cell(descriptions.get(file.path.as_str()).map_or("", String::as_str));
        }
    }
    table.write(ui)?;
    for problem in &listing.problems {
        let file = problem.file.as_deref().map(|file| format!("{file}: ")).unwrap_or_default();
        let (style, word) = (problem.severity.into(), format!("{}:", problem.severity));
        ui.message(style, &word, &format!("{file}{}", problem.message))?;
    }
    Ok(Exit::Success)
}

/// Returns the files below `directory`, which has to be one of the skill `name`.
fn below<'a>(files: &'a [FileEntry], directory: &str, name: &str) -> Result<Vec<&'a FileEntry>, CliError> {
    if matches!(directory, "" | "." | "./") {
        return Ok(files.iter().collect());
    }
    let given = directory;
    let bad = |fault| CliError::no(format!("`{given}` is not a path in a skill")).because(fault);
    let directory = SkillPath::new(given.trim_end_matches('/')).map_err(bad)?;
    let prefix = format!("{directory}/");
    let found: Vec<&FileEntry> =
        files.iter().filter(|file| file.path.as_str().starts_with(&prefix)).collect();
    if found.is_empty() {
        return Err(if files.iter().any(|file| file.path == directory) {
            CliError::no(format!("`{given}` is a file, not a directory"))
                .hint(format!("run `rep show {name} --file {given}` to read it"))
        } else {
            CliError::no(format!("the skill has no directory `{given}`"))
                .hint(format!("run `rep show {name} --files` to see its files"))
        });
    }
    Ok(found)
}
