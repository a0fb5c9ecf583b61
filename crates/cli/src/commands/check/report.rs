//! Prints the findings.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use repertoire_app::view::{DiagnosticView, path_of};
use repertoire_model::text::count;
use repertoire_model::{Diagnostic, RuleId, Severity, State};
use serde::Serialize;
use serde_json::{Value, json};

use super::findings::{Findings, Texts};
use super::target::CheckedSkill;
use crate::error::CliError;
use crate::ui::{Align, Note, Style, Table, Ui, render_note};
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

/// The number of findings from which on they are counted by rule behind the last of them.
const COUNTED_BY_RULE: usize = 10;

/// The findings in numbers.
#[derive(Serialize, Default)]
pub(super) struct Summary {
    errors: usize,
    pub(super) warnings: usize,
    infos: usize,
    /// The findings that comments in the skills suppress.
    suppressed: usize,
    /// The findings that the baseline lists.
    in_baseline: usize,
    rules: BTreeMap<&'static str, usize>,
}

impl Summary {
    pub(super) fn of(findings: &Findings<'_>) -> Self {
        let Findings { suppressed, in_baseline, .. } = *findings;
        let mut summary = Self { suppressed, in_baseline, ..Self::default() };
        for diagnostic in findings.all() {
            *summary.rules.entry(diagnostic.rule.as_str()).or_default() += 1;
            match diagnostic.severity {
                Severity::Error => summary.errors += 1,
                Severity::Warning => summary.warnings += 1,
                Severity::Info => summary.infos += 1,
            }
        }
        summary
    }

    pub(super) fn worst(&self) -> Option<Severity> {
        match self {
            Self { errors: 1.., .. } => Some(Severity::Error),
            Self { warnings: 1.., .. } => Some(Severity::Warning),
            Self { infos: 1.., .. } => Some(Severity::Info),
            _ => None,
        }
    }
}

/// Writes everything as JSON.
pub(super) fn write_json(
    ui: &mut Ui,
    findings: &Findings<'_>,
    fixed: &[String],
    confusable: Option<Vec<Value>>,
) -> Result<(), CliError> {
    let skill = |checked: &CheckedSkill<'_>| {
        let mut texts = Texts::new(checked);
        let finding = |found: &Diagnostic| {
            let mut view = DiagnosticView::of_skill(checked.entry, found);
            view.column = texts.region(found).map(|region| region.column);
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
    let mut json = json!({
        "skills": findings.skills.iter().map(skill).collect::<Value>(),
        "problems": findings.problems.iter().map(DiagnosticView::of_source).collect::<Vec<_>>(),
        "fixed": fixed,
    });
    if let Some(pairs) = confusable {
        json["confusable"] = pairs.into();
    }
    json["summary"] = serde_json::to_value(Summary::of(findings))?;
    Ok(ui.write_json(&json)?)
}

/// Writes how often each rule found something, the most frequent first.
fn write_rules(ui: &mut Ui, findings: &Findings<'_>) -> Result<(), CliError> {
    let mut rules: BTreeMap<RuleId, (Severity, usize)> = BTreeMap::new();
    for found in findings.all() {
        let (severity, number) = rules.entry(found.rule).or_insert((found.severity, 0));
        (*severity, *number) = (found.severity.max(*severity), *number + 1);
    }
    let mut rules: Vec<_> = rules.into_iter().collect();
    rules.sort_by_key(|(_, (severity, number))| Reverse((*severity, *number)));
    let columns = vec![
        ("FINDINGS", Align::Right, None),
        ("SEVERITY", Align::Left, None),
        ("RULE", Align::Left, Some(Style::Name)),
        ("", Align::Elastic, Some(Style::Faint)),
    ];
    let mut table = Table::new(columns);
    for (rule, (severity, number)) in rules {
        table.cell(number.to_string());
        table.cell(severity.as_str());
        table.cell(rule.as_str());
        table.cell(rule.rule().summary);
    }
    table.write(ui)?;
    writeln!(ui.out())?;
    Ok(())
}

/// Writes everything for people.
pub(super) fn write(
    ui: &mut Ui,
    workspace: &Workspace,
    findings: &Findings<'_>,
    scope: CheckScope,
) -> Result<(), CliError> {
    let (width, is_coloured) = (ui.width(), ui.is_coloured());
    let checked = &findings.skills;
    for problem in &findings.problems {
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
    if findings.all().count() > COUNTED_BY_RULE {
        write_rules(ui, findings)?;
    }
    let (verdict, style) = verdict(findings, scope);
    ui.line(style, &verdict)?;
    Ok(())
}

/// Returns the last line for people.
pub(super) fn verdict(findings: &Findings<'_>, scope: CheckScope) -> (String, Style) {
    let summary = Summary::of(findings);
    let skills = count(findings.skills.len(), "skill");
    let found = parts([(summary.errors, "error"), (summary.warnings, "warning"), (summary.infos, "info")]);
    let (mut verdict, style) = match summary.worst() {
        None if scope == CheckScope::Confusable => {
            (format!("{skills}, none that could be mixed up; nothing else was checked"), Style::Good)
        }
        Some(_) if scope == CheckScope::Confusable => {
            (format!("{found} in {skills}; nothing else was checked"), Style::Warning)
        }
        Some(Severity::Error) => (format!("{found} in {skills}"), Style::Error),
        Some(Severity::Warning) => (format!("{found} in {skills}, no errors"), Style::Warning),
        Some(Severity::Info) => (format!("{found} in {skills}, no errors or warnings"), Style::Good),
        None => (format!("{skills}, nothing to report"), Style::Good),
    };
    let left_out = [(summary.suppressed, "suppressed by comments"), (summary.in_baseline, "in the baseline")];
    for (number, place) in left_out.into_iter().filter(|(number, _)| *number > 0) {
        verdict.push_str(&format!("; {number} {place}"));
    }
    (verdict, style)
}

fn parts(parts: [(usize, &str); 3]) -> String {
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
