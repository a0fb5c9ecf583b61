//! Shows what trigger evals came to.

use repertoire::Entry;
use repertoire_model::text::shorten;
use repertoire_search::evals::{Share, SkillTriggers, TriggerConfusion, TriggerOutcome, TriggerReport};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::ui::{Align, Style, Table, Ui, escape};
use crate::wire::Workspace;

/// The most skills that are named as having come first instead of another.
const MAX_CONFUSIONS_SHOWN: usize = 3;
/// The most pairs of confused skills that a person is shown.
const MAX_CONFUSED_SHOWN: usize = 5;
/// The most names without a skill that are shown, and the most characters of each: evals may name anything.
const MAX_UNKNOWN_SHOWN: usize = 20;
const MAX_NAME_CHARS: usize = 80;
/// The most problems that a person is shown.
const MAX_PROBLEMS_SHOWN: usize = 20;

/// A required rate, with the measured one.
pub(super) struct Threshold {
    pub(super) option: &'static str,
    /// The required rate.
    pub(super) asked: f64,
    /// The rate that was measured.
    pub(super) found: Share,
    /// True if the rate is good enough. It is not without queries, or if not all evals were understood.
    pub(super) is_met: bool,
}

/// The result of trigger evals.
pub(super) struct Evaluation<'a> {
    /// The entries that the report refers to.
    pub(super) entries: &'a [Entry],
    /// The number of skills that an agent is shown.
    pub(super) shown: usize,
    /// The outcome of the queries.
    pub(super) report: TriggerReport,
    /// Files that were not understood, with the reason.
    pub(super) problems: Vec<(String, String)>,
    /// The required rates.
    pub(super) thresholds: Vec<Threshold>,
}

impl<'a> Evaluation<'a> {
    fn name(&self, entry: usize) -> &'a str {
        self.entries[entry].name().as_str()
    }

    fn skill_json(&self, skill: &SkillTriggers) -> Value {
        let query = |outcome: &TriggerOutcome| {
            json!({
                "query": outcome.query,
                "should_trigger": outcome.should_trigger,
                "ok": outcome.is_right(),
                "rank": outcome.rank,
                "first": outcome.first.map(|entry| self.name(entry)),
            })
        };
        let confusion =
            |(entry, queries): &(usize, usize)| json!({"name": self.name(*entry), "queries": queries});
        let mut json = json!({"name": self.name(skill.entry), "path": &*self.entries[skill.entry].path});
        add_figures(&mut json, |figure| figure(skill));
        json["confusions"] = skill.confusions.iter().map(confusion).collect();
        json["queries"] = skill.outcomes.iter().map(query).collect();
        json
    }

    fn confused_json(&self, confusion: &TriggerConfusion) -> Value {
        let TriggerConfusion { skill, other, queries, of_other, say, own, .. } = confusion;
        let (skill, other) = (self.name(*skill), self.name(*other));
        json!({"skill": skill, "other": other, "queries": queries, "of_other": of_other, "missing_words": say, "own_words": own})
    }

    /// Writes the skills that lose most queries to another one, with the words that would tell them apart.
    fn write_confused(&self, ui: &mut Ui) -> Result<(), CliError> {
        let confused = &self.report.confused;
        for confusion in confused.iter().take(MAX_CONFUSED_SHOWN) {
            let (skill, other) = (self.name(confusion.skill), self.name(confusion.other));
            let queries = count(confusion.queries);
            let reverse = match confusion.of_other {
                0 => String::new(),
                of_other => format!(", and {other} {} to {skill}", count(of_other)),
            };
            writeln!(ui.out(), "{skill} loses {queries} to {other}{reverse}")?;
            if !confusion.say.is_empty() {
                let words = confusion.say.join(", ");
                let words = escape(&words);
                writeln!(ui.out(), "  words of the lost queries that {skill} does not describe: {words}")?;
            }
            if !confusion.own.is_empty() {
                let words = confusion.own.join(", ");
                let words = escape(&words);
                writeln!(ui.out(), "  words that {skill} describes and {other} does not: {words}")?;
            }
        }
        let more = confused.len().saturating_sub(MAX_CONFUSED_SHOWN);
        if more > 0 {
            writeln!(ui.out(), "and {more} more; `--json` tells all of them")?;
        }
        Ok(())
    }
}

/// Adds the four figures to `json`, each as `share` returns it.
fn add_figures(json: &mut Value, share: impl Fn(fn(&SkillTriggers) -> Share) -> Share) {
    json["hits"] = share_json(share(|skill| skill.hits));
    json["shown"] = share_json(share(|skill| skill.shown));
    json["false_triggers"] = share_json(share(|skill| skill.false_triggers));
    json["false_shown"] = share_json(share(|skill| skill.false_shown));
}

fn share_json(share: Share) -> Value {
    let interval = share.interval().map(|(low, high)| [rounded(low), rounded(high)]);
    let rate = share.value().map(rounded);
    json!({"count": share.part, "of": share.whole, "rate": rate, "interval": interval})
}

/// Writes everything as JSON.
pub(super) fn write_json(ui: &mut Ui, evaluation: &Evaluation<'_>) -> Result<(), CliError> {
    let threshold = |threshold: &Threshold| {
        let Threshold { option, asked, found, is_met } = threshold;
        json!({"option": option, "asked": asked, "rate": found.value().map(rounded), "ok": is_met})
    };
    let report = &evaluation.report;
    let unknown = report.unknown.iter().map(|(name, queries)| json!({"name": name, "queries": queries}));
    let problems = evaluation.problems.iter();
    let problems = problems.map(|(path, message)| json!({"path": path, "message": message}));
    let mut totals = json!({});
    add_figures(&mut totals, |figure| report.total(figure));
    ui.write_json(&json!({
        "ok": evaluation.thresholds.iter().all(|threshold| threshold.is_met),
        "k": evaluation.shown,
        "skills": report.skills.iter().map(|skill| evaluation.skill_json(skill)).collect::<Value>(),
        "totals": totals,
        "confused": report.confused.iter().map(|confusion| evaluation.confused_json(confusion)).collect::<Value>(),
        "thresholds": evaluation.thresholds.iter().map(threshold).collect::<Value>(),
        "unknown": unknown.collect::<Value>(),
        "problems": problems.collect::<Value>(),
    }))?;
    Ok(())
}

/// Writes everything for people.
pub(super) fn write(ui: &mut Ui, workspace: &Workspace, evaluation: &Evaluation<'_>) -> Result<(), CliError> {
    let skills = &evaluation.report.skills;
    if skills.is_empty() {
        writeln!(ui.out(), "no evals to measure by")?;
    } else {
        table(evaluation).write(ui)?;
        evaluation.write_confused(ui)?;
    }
    if skills.is_empty() && evaluation.report.unknown.is_empty() {
        ui.hint("write eval_queries.json beside a SKILL.md: a list of {\"query\", \"should_trigger\"}")?;
    }
    for Threshold { option, asked, found, is_met } in &evaluation.thresholds {
        let (word, style) = if *is_met { ("met", Style::Good) } else { ("missed", Style::Error) };
        let word = ui.paint(style, word);
        let why = if evaluation.problems.is_empty() { "" } else { ", and not all evals were understood" };
        writeln!(ui.out(), "{option} {asked}: {word} ({} of {}{why})", found.part, found.whole)?;
    }
    for (name, queries) in evaluation.report.unknown.iter().take(MAX_UNKNOWN_SHOWN) {
        let name = shorten(name, MAX_NAME_CHARS);
        ui.warn(&format!(
            "models are offered no skill `{name}` here; {queries} queries for it are left out"
        ))?;
    }
    let more = evaluation.report.unknown.len().saturating_sub(MAX_UNKNOWN_SHOWN);
    if more > 0 {
        ui.warn(&format!("and {more} more names that no skill has; `--json` tells all of them"))?;
    }
    for (path, problem) in evaluation.problems.iter().take(MAX_PROBLEMS_SHOWN) {
        ui.warn(&format!("{}: {problem}", workspace.shown(path)))?;
    }
    let more = evaluation.problems.len().saturating_sub(MAX_PROBLEMS_SHOWN);
    if more > 0 {
        ui.warn(&format!("and {more} more files; `--json` tells all of them"))?;
    }
    Ok(())
}

fn table<'a>(evaluation: &Evaluation<'a>) -> Table<'a> {
    let mut table = Table::new(vec![
        ("NAME", Align::Left, Some(Style::Name)),
        ("HIT", Align::Right, None),
        ("RATE", Align::Right, None),
        ("95 %", Align::Right, Some(Style::Faint)),
        ("SHOWN", Align::Right, None),
        ("FALSE", Align::Right, None),
        ("FIRST INSTEAD", Align::Elastic, None),
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

fn count(queries: usize) -> String {
    format!("{queries} {}", if queries == 1 { "query" } else { "queries" })
}

fn percent(rate: f64) -> String {
    format!("{:.0} %", rate * 100.0)
}

fn dash() -> String {
    "-".to_owned()
}
