//! Prints the findings.

use std::collections::BTreeMap;

use repertoire_app::view::{DiagnosticView, path_of};
use repertoire_model::text::count;
use repertoire_model::{Diagnostic, LineRange, Severity, SkillPath, State};
use serde::Serialize;
use serde_json::{Value, json};

use super::target::{CheckedSkill, Target};
use crate::error::CliError;
use crate::ui::{Note, Style, Ui, render_note};
use crate::wire::Workspace;

/// The most findings of a skill that a person is shown.
const MAX_FINDINGS_SHOWN: usize = 50;

/// The rules that skills were checked against.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckScope {
    All,
    /// The rule `confusable` alone.
    Confusable,
}

#[derive(Serialize, Default, Clone, Copy)]
struct Summary {
    errors: usize,
    warnings: usize,
    infos: usize,
}

impl Summary {
    fn of(targets: &[Target], checked: &[CheckedSkill<'_>]) -> Self {
        let found = checked.iter().flat_map(|checked| &checked.diagnostics);
        let problems = targets.iter().flat_map(Target::problems);
        let mut summary = Self::default();
        for diagnostic in found.chain(problems.map(|problem| &problem.diagnostic)) {
            match diagnostic.severity {
                Severity::Error => summary.errors += 1,
                Severity::Warning => summary.warnings += 1,
                Severity::Info => summary.infos += 1,
            }
        }
        summary
    }

    fn worst(self) -> Option<Severity> {
        match self {
            Self { errors: 1.., .. } => Some(Severity::Error),
            Self { warnings: 1.., .. } => Some(Severity::Warning),
            Self { infos: 1.., .. } => Some(Severity::Info),
            _ => None,
        }
    }
}

/// Writes everything as JSON, and returns the heaviest severity.
pub(crate) fn write_json(
    ui: &mut Ui,
    targets: &[Target],
    checked: &[CheckedSkill<'_>],
    fixed: &[String],
    confusable: Option<Vec<Value>>,
) -> Result<Option<Severity>, CliError> {
    let summary = Summary::of(targets, checked);
    let skill = |checked: &CheckedSkill<'_>| {
        let mut texts = Texts::new(checked);
        let finding = |found: &Diagnostic| {
            let mut view = DiagnosticView::of_skill(checked.entry, found);
            view.column = found.span.and_then(|span| column(texts.get(found)?, span.start as usize));
            view.help.clone_from(&found.help);
            view
        };
        json!({
            "name": checked.entry.name().as_str(),
            "path": &*checked.entry.path,
            "state": checked.entry.state.as_str(),
            "diagnostics": checked.diagnostics.iter().map(finding).collect::<Vec<_>>(),
        })
    };
    let problems = targets.iter().flat_map(Target::problems);
    let mut json = json!({
        "skills": checked.iter().map(skill).collect::<Value>(),
        "problems": problems.map(DiagnosticView::of_source).collect::<Vec<_>>(),
        "fixed": fixed,
    });
    if let Some(pairs) = confusable {
        json["confusable"] = pairs.into();
    }
    json["summary"] = serde_json::to_value(summary)?;
    ui.write_json(&json)?;
    Ok(summary.worst())
}

/// Writes everything for people, and returns the heaviest severity.
pub(crate) fn write(
    ui: &mut Ui,
    workspace: &Workspace,
    targets: &[Target],
    checked: &[CheckedSkill<'_>],
    scope: CheckScope,
) -> Result<Option<Severity>, CliError> {
    let (width, is_coloured) = (ui.width(), ui.is_coloured());
    for problem in targets.iter().flat_map(Target::problems) {
        let path = ui.shown(&workspace.shown(&problem.path));
        let message = ui.shown(&problem.diagnostic.message);
        let note = note(&problem.diagnostic, &message, &path, None);
        writeln!(ui.out(), "{}", render_note(&note, width, is_coloured))?;
    }
    for checked in checked.iter().filter(|checked| !checked.diagnostics.is_empty()) {
        let name = ui.paint(Style::Name, checked.entry.name().as_str());
        let state = match checked.entry.state {
            State::Active => String::new(),
            state => format!(" [{}]", state.as_str()),
        };
        let path = ui.shown(&workspace.shown(&checked.entry.path));
        writeln!(ui.out(), "{name}{state} ({path})\n")?;
        let mut texts = Texts::new(checked);
        for found in checked.diagnostics.iter().take(MAX_FINDINGS_SHOWN) {
            let path = ui.shown(&workspace.shown(&path_of(checked.entry, found)));
            let message = ui.shown(&found.message);
            let note = note(found, &message, &path, texts.get(found));
            writeln!(ui.out(), "{}", render_note(&note, width, is_coloured))?;
        }
        let more = checked.diagnostics.len().saturating_sub(MAX_FINDINGS_SHOWN);
        if more > 0 {
            writeln!(ui.out(), "and {more} more; `--json` tells all of them\n")?;
        }
    }
    let summary = Summary::of(targets, checked);
    let skills = count(checked.len(), "skill");
    let (verdict, style) = match summary.worst() {
        None if scope == CheckScope::Confusable => {
            (format!("{skills}, none that could be mixed up; nothing else was checked"), Style::Good)
        }
        Some(_) if scope == CheckScope::Confusable => {
            (format!("{} in {skills}; nothing else was checked", parts(summary)), Style::Warning)
        }
        Some(Severity::Error) => (format!("{} in {skills}", parts(summary)), Style::Error),
        Some(Severity::Warning) => (format!("{} in {skills}, no errors", parts(summary)), Style::Warning),
        Some(Severity::Info) => {
            (format!("{} in {skills}, no errors or warnings", parts(summary)), Style::Good)
        }
        None => (format!("{skills}, nothing to report"), Style::Good),
    };
    ui.line(style, &verdict)?;
    Ok(summary.worst())
}

fn parts(summary: Summary) -> String {
    let Summary { errors, warnings, infos } = summary;
    let parts = [(errors, "error"), (warnings, "warning"), (infos, "info")];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    parts.map(|(number, word)| count(number, word)).collect::<Vec<_>>().join(", ")
}

fn note<'a>(found: &'a Diagnostic, message: &'a str, path: &'a str, text: Option<&'a str>) -> Note<'a> {
    let place = text.zip(found.span).map(|(text, span)| {
        let start = span.start as usize;
        (text, start..start + span.length as usize)
    });
    Note {
        severity: found.severity,
        rule: Some(found.rule.as_str()),
        message,
        help: found.help.as_deref(),
        path,
        place,
        line: found.line(),
    }
}

/// Returns the column, counted in characters from 1, of the byte at `offset`.
fn column(text: &str, offset: usize) -> Option<usize> {
    let before = text.get(..offset)?;
    let start = before.rfind('\n').map_or(0, |index| index + 1);
    Some(before[start..].chars().count() + 1)
}

/// The texts of the files that findings point into, each read once.
struct Texts<'a> {
    checked: &'a CheckedSkill<'a>,
    texts: BTreeMap<String, Option<String>>,
}

impl<'a> Texts<'a> {
    fn new(checked: &'a CheckedSkill<'a>) -> Self {
        Self { checked, texts: BTreeMap::new() }
    }

    fn get(&mut self, found: &Diagnostic) -> Option<&str> {
        found.span?;
        let CheckedSkill { library, entry, .. } = self.checked;
        let file = found.file.as_deref().unwrap_or(&entry.manifest_file);
        let text = self.texts.entry(file.to_owned()).or_insert_with(|| {
            let path = SkillPath::new(file).ok()?;
            let content =
                pollster::block_on(library.registry.read(entry, &path, LineRange::default())).ok()?;
            String::from_utf8(content.bytes).ok()
        });
        text.as_deref()
    }
}
