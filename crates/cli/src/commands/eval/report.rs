//! Shows what trigger evals came to.

use repertoire_model::text::shorten;
use repertoire_search::evals::{Share, SkillTriggers, TriggerOutcome};
use serde::Serialize;

use super::evaluation::{Evaluation, Threshold};
use crate::error::CliError;
use crate::ui::{Align, Column, Style, Table, Ui, escape};
use crate::wire::Context;

/// The most skills that are named as having come first instead of another.
const MAX_CONFUSIONS_SHOWN: usize = 3;
/// The most names without a skill that a person is shown, and the most characters of each: evals may name anything.
const MAX_UNKNOWN_SHOWN: usize = 20;
const MAX_NAME_CHARS: usize = 80;
/// The most problems that a person is shown.
const MAX_PROBLEMS_SHOWN: usize = 20;

#[derive(Serialize)]
struct EvaluationJson<'a> {
    ok: bool,
    k: usize,
    skills: Vec<SkillJson<'a>>,
    totals: FiguresJson,
    thresholds: Vec<ThresholdJson>,
    unknown: Vec<UnknownJson<'a>>,
    problems: Vec<ProblemJson<'a>>,
}

#[derive(Serialize)]
struct SkillJson<'a> {
    name: &'a str,
    path: &'a str,
    #[serde(flatten)]
    figures: FiguresJson,
    confusions: Vec<ConfusionJson<'a>>,
    queries: Vec<QueryJson<'a>>,
}

#[derive(Serialize)]
struct FiguresJson {
    hits: ShareJson,
    shown: ShareJson,
    false_triggers: ShareJson,
    false_shown: ShareJson,
}

#[derive(Serialize)]
struct ShareJson {
    count: usize,
    of: usize,
    rate: Option<f64>,
    interval: Option<(f64, f64)>,
}

#[derive(Serialize)]
struct ConfusionJson<'a> {
    name: &'a str,
    queries: usize,
}

#[derive(Serialize)]
struct QueryJson<'a> {
    query: &'a str,
    should_trigger: bool,
    ok: bool,
    rank: Option<usize>,
    first: Option<&'a str>,
}

#[derive(Serialize)]
struct ThresholdJson {
    option: &'static str,
    asked: f64,
    rate: Option<f64>,
    ok: bool,
}

#[derive(Serialize)]
struct UnknownJson<'a> {
    name: &'a str,
    queries: usize,
}

#[derive(Serialize)]
struct ProblemJson<'a> {
    path: &'a str,
    message: &'a str,
}

impl From<Share> for ShareJson {
    fn from(share: Share) -> Self {
        let interval = share.interval().map(|(low, high)| (rounded(low), rounded(high)));
        Self { count: share.part, of: share.whole, rate: share.value().map(rounded), interval }
    }
}

impl<'a> Evaluation<'a> {
    fn name(&self, entry: usize) -> &'a str {
        self.entries[entry].name().as_str()
    }

    fn totals(&self) -> FiguresJson {
        let report = &self.report;
        FiguresJson {
            hits: report.total(|skill| skill.hits).into(),
            shown: report.total(|skill| skill.shown).into(),
            false_triggers: report.total(|skill| skill.false_triggers).into(),
            false_shown: report.total(|skill| skill.false_shown).into(),
        }
    }

    fn skill_json(&'a self, skill: &'a SkillTriggers) -> SkillJson<'a> {
        let query = |outcome: &'a TriggerOutcome| QueryJson {
            query: &outcome.query,
            should_trigger: outcome.should_trigger,
            ok: outcome.is_right(),
            rank: outcome.rank,
            first: outcome.first.map(|entry| self.name(entry)),
        };
        let confusion =
            |(entry, queries): &(usize, usize)| ConfusionJson { name: self.name(*entry), queries: *queries };
        SkillJson {
            name: self.name(skill.entry),
            path: &self.entries[skill.entry].path,
            figures: FiguresJson {
                hits: skill.hits.into(),
                shown: skill.shown.into(),
                false_triggers: skill.false_triggers.into(),
                false_shown: skill.false_shown.into(),
            },
            confusions: skill.confusions.iter().map(confusion).collect(),
            queries: skill.outcomes.iter().map(query).collect(),
        }
    }
}

/// Writes everything as JSON.
pub(super) fn write_json(ui: &mut Ui, evaluation: &Evaluation<'_>) -> Result<(), CliError> {
    let threshold = |threshold: &Threshold| ThresholdJson {
        option: threshold.option,
        asked: threshold.asked,
        rate: threshold.found.value().map(rounded),
        ok: threshold.is_met,
    };
    let unknown = evaluation.report.unknown.iter();
    let problems = evaluation.problems.iter();
    ui.write_json(&EvaluationJson {
        ok: evaluation.thresholds.iter().all(|threshold| threshold.is_met),
        k: evaluation.shown,
        skills: evaluation.report.skills.iter().map(|skill| evaluation.skill_json(skill)).collect(),
        totals: evaluation.totals(),
        thresholds: evaluation.thresholds.iter().map(threshold).collect(),
        unknown: unknown.map(|(name, queries)| UnknownJson { name, queries: *queries }).collect(),
        problems: problems.map(|(path, message)| ProblemJson { path, message }).collect(),
    })?;
    Ok(())
}

/// Writes everything for people.
pub(super) fn write(ui: &mut Ui, context: &Context, evaluation: &Evaluation<'_>) -> Result<(), CliError> {
    let skills = &evaluation.report.skills;
    if skills.is_empty() {
        writeln!(ui.out(), "no evals to measure by")?;
    } else {
        table(evaluation).write(ui)?;
    }
    if skills.is_empty() && evaluation.report.unknown.is_empty() {
        ui.flush()?;
        let hint = ui.paint_err(Style::Hint, "hint:");
        writeln!(
            ui.err(),
            "{hint} write eval_queries.json beside a SKILL.md: a list of {{\"query\", \"should_trigger\"}}"
        )?;
    }
    for Threshold { option, asked, found, is_met } in &evaluation.thresholds {
        let (word, style) = if *is_met { ("met", Style::Good) } else { ("missed", Style::Error) };
        let word = ui.paint(style, word);
        let why = if evaluation.problems.is_empty() { "" } else { ", and not all evals were understood" };
        writeln!(ui.out(), "{option} {asked}: {word} ({} of {}{why})", found.part, found.whole)?;
    }
    ui.flush()?;
    let warning = ui.paint_err(Style::Warning, "warning:");
    for (name, queries) in evaluation.report.unknown.iter().take(MAX_UNKNOWN_SHOWN) {
        let name = shorten(name, MAX_NAME_CHARS);
        let name = escape(&name);
        writeln!(
            ui.err(),
            "{warning} models are offered no skill `{name}` here; {queries} queries for it are left out"
        )?;
    }
    let more = evaluation.report.unknown.len().saturating_sub(MAX_UNKNOWN_SHOWN);
    if more > 0 {
        writeln!(ui.err(), "{warning} and {more} more names that no skill has; `--json` tells all of them")?;
    }
    for (path, problem) in evaluation.problems.iter().take(MAX_PROBLEMS_SHOWN) {
        let path = context.shown(path);
        writeln!(ui.err(), "{warning} {}: {}", escape(&path), escape(problem))?;
    }
    let more = evaluation.problems.len().saturating_sub(MAX_PROBLEMS_SHOWN);
    if more > 0 {
        writeln!(ui.err(), "{warning} and {more} more files; `--json` tells all of them")?;
    }
    Ok(())
}

fn table<'a>(evaluation: &Evaluation<'a>) -> Table<'a> {
    let column = |heading, align, style| Column { heading, align, style };
    let mut table = Table::new(vec![
        column("NAME", Align::Left, Some(Style::Name)),
        column("HIT", Align::Right, None),
        column("RATE", Align::Right, None),
        column("95 %", Align::Right, Some(Style::Faint)),
        column("SHOWN", Align::Right, None),
        column("FALSE", Align::Right, None),
        column("FIRST INSTEAD", Align::Elastic, None),
    ]);
    let mut row = |name: &'a str, hits: Share, shown: Share, wrong: Share, instead: String| {
        table.cell(name);
        table.cell(fraction(hits));
        table.cell(hits.value().map_or_else(dash, percent));
        let interval = |(low, high): (f64, f64)| format!("{:.0}-{}", low * 100.0, percent(high));
        table.cell(hits.interval().map_or_else(dash, interval));
        table.cell(fraction(shown));
        table.cell(fraction(wrong));
        table.cell(instead);
    };
    for skill in &evaluation.report.skills {
        let named = skill.confusions.iter().take(MAX_CONFUSIONS_SHOWN);
        let mut named: Vec<String> =
            named.map(|(entry, count)| format!("{} {count}", evaluation.name(*entry))).collect();
        if skill.confusions.len() > MAX_CONFUSIONS_SHOWN {
            named.push(format!("and {} more", skill.confusions.len() - MAX_CONFUSIONS_SHOWN));
        }
        let name = evaluation.name(skill.entry);
        row(name, skill.hits, skill.shown, skill.false_triggers, named.join(", "));
    }
    let report = &evaluation.report;
    if report.skills.len() > 1 {
        let (hits, shown) = (report.total(|skill| skill.hits), report.total(|skill| skill.shown));
        row("(all)", hits, shown, report.total(|skill| skill.false_triggers), String::new());
    }
    table
}

/// Returns `rate` to four digits: more are meaningless for so few queries.
fn rounded(rate: f64) -> f64 {
    (rate * 10_000.0).round() / 10_000.0
}

fn fraction(share: Share) -> String {
    if share.whole == 0 { dash() } else { format!("{}/{}", share.part, share.whole) }
}

fn percent(rate: f64) -> String {
    format!("{:.0} %", rate * 100.0)
}

fn dash() -> String {
    "-".to_owned()
}
