//! `rep list --origin --changed`: skills that were changed since they were installed, or are missing.

use repertoire::Entry;
use repertoire_app::view::{BrokenRecordView, OriginReportView, OriginView, RecordedSkillView};
use repertoire_sources::origin::{Comparison, Origin};

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Style, Table, Ui};
use crate::wire::{ComparedOrigin, MODE_CHANGED, Workspace, compared_origins};

/// A skill that is there, with one of its origins.
struct RecordedSkill<'a> {
    entry: &'a Entry,
    origin: ComparedOrigin,
}

fn is_changed(skill: &RecordedSkill<'_>) -> bool {
    skill.origin.comparison.is_changed()
}

/// Writes the skills that differ from the records of their installers. Nothing is fetched.
pub(super) fn write(ui: &mut Ui, workspace: &Workspace, names: &[String]) -> Result<Exit, CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let origins = workspace.origins(&library);
    let is_meant = |name: &str| names.is_empty() || names.iter().any(|meant| meant == name);
    let mut recorded = Vec::new();
    for entry in library.snapshot.entries() {
        if is_meant(entry.name().as_str()) || is_meant(&entry.qualified_name()) {
            let found = compared_origins(&origins, entry).into_iter();
            recorded.extend(found.map(|origin| RecordedSkill { entry, origin }));
        }
    }
    let missing: Vec<&Origin> =
        origins.missing().into_iter().filter(|origin| is_meant(&origin.name)).collect();
    for name in names {
        let is_known = recorded
            .iter()
            .any(|skill| skill.entry.name().as_str() == name || skill.entry.qualified_name() == *name)
            || missing.iter().any(|origin| origin.name == *name);
        if !is_known {
            let entry = library.find_any(name)?;
            return Err(CliError::no(format!("no installer recorded `{}`", entry.name()))
                .hint("`rep list --origin` shows the skills with a record"));
        }
    }
    let is_sound = !recorded.iter().any(is_changed) && missing.is_empty() && origins.faults.is_empty();
    let exit = if is_sound { Exit::Success } else { Exit::No };
    if ui.is_json() {
        let changed = recorded.iter().filter(|skill| is_changed(skill));
        let changed = changed.map(|RecordedSkill { entry, origin }| RecordedSkillView {
            name: entry.name().to_string(),
            directory: Some(entry.directory().to_owned()),
            origin: OriginView::new(origin),
        });
        let gone = missing.iter().map(|origin| RecordedSkillView {
            name: origin.name.clone(),
            directory: None,
            origin: OriginView::missing(origin),
        });
        let faults = origins.faults.iter().map(|(path, reason)| BrokenRecordView {
            path: path.display().to_string(),
            reason: reason.clone(),
        });
        ui.write_json(&OriginReportView {
            ok: is_sound,
            skills: changed.chain(gone).collect(),
            faults: faults.collect(),
        })?;
        return Ok(exit);
    }
    write_table(ui, workspace, &recorded, &missing)?;
    for (_, message) in workspace.broken_records(&origins) {
        ui.warn(&message)?;
    }
    Ok(exit)
}

fn write_table(
    ui: &mut Ui,
    workspace: &Workspace,
    recorded: &[RecordedSkill<'_>],
    missing: &[&Origin],
) -> Result<(), CliError> {
    if recorded.is_empty() && missing.is_empty() {
        writeln!(ui.out(), "no installer recorded any of the skills")?;
        return Ok(());
    }
    let changed = recorded
        .iter()
        .filter(|skill| is_changed(skill))
        .map(|skill| (skill.entry.name().as_str(), skill.origin.comparison.as_str(), &skill.origin.origin));
    let gone = missing.iter().map(|origin| (origin.name.as_str(), "missing", *origin));
    let rows: Vec<(&str, &str, &Origin)> = changed.chain(gone).collect();
    if !rows.is_empty() {
        let mut table = Table::new(vec![
            ("NAME", Align::Left, Some(Style::Name)),
            ("STATE", Align::Left, None),
            ("INSTALLER", Align::Left, None),
            ("RECORD", Align::Left, Some(Style::Faint)),
            ("SOURCE", Align::Elastic, None),
        ]);
        for (name, state, origin) in rows {
            table.cell(name);
            table.cell(state);
            table.cell(origin.installer.command());
            table.cell(workspace.shown(&origin.record.display().to_string()));
            table.cell(origin.in_words().unwrap_or_else(|| "-".to_owned()));
        }
        table.write(ui)?;
    }
    ui.flush()?;
    for skill in recorded {
        let what = match &skill.origin.comparison {
            Comparison::Changed { files } if !files.is_empty() => files.join(", "),
            Comparison::ModeChanged => MODE_CHANGED.to_owned(),
            _ => continue,
        };
        ui.message(Style::Warning, "changed:", &format!("{}: {what}", skill.entry.name()))?;
    }
    let of_state =
        |state: &str| recorded.iter().filter(|skill| skill.origin.comparison.as_str() == state).count();
    let counts = [
        (of_state("unchanged"), "unchanged"),
        (of_state("changed"), "changed"),
        (missing.len(), "missing"),
        (of_state("unknown"), "unknown"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    let counts = ui.paint_err(Style::Heading, &counts.join(", "));
    writeln!(ui.err(), "{counts}")?;
    if let Some(unknown) = recorded.iter().find(|skill| skill.origin.comparison.as_str() == "unknown") {
        ui.hint(&format!("`rep explain {}` tells why it cannot be compared", unknown.entry.name()))?;
    }
    Ok(())
}
