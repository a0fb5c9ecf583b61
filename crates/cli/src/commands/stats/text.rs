//! The text of `rep stats` for people.

use std::collections::BTreeMap;
use std::path::Path;

use repertoire::unused::UnusedTime;
use repertoire::usage::LibraryPresence;
use repertoire_app::stats::switch_off;
use repertoire_app::view::{StatsView, UsedSkillView};
use repertoire_model::text::count;

use crate::error::CliError;
use crate::ui::{Align, Style, Table, Ui, escape, wrap_indented};
use crate::wire::Workspace;

/// The most rows of lists other than that of used skills.
const MAX_ROWS: usize = 20;

/// The most unused skills that the command in the hint names.
const MAX_SWITCHED_OFF: usize = 3;

/// The most names without a skill that have a row each.
const MAX_UNKNOWN: usize = 5;

/// The most characters of a sparkline, so that a table with one fits a usual terminal.
const MAX_PERIODS: usize = 6;

/// The characters of a sparkline, from the least to the most.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The report with everything that its text needs.
pub(super) struct StatsText<'a> {
    pub stats: &'a StatsView,
    /// The time in which skills were not used.
    pub unused: UnusedTime,
    pub workspace: &'a Workspace,
}

impl StatsText<'_> {
    /// Writes the report.
    pub(super) fn write(&self, ui: &mut Ui) -> Result<(), CliError> {
        if self.unused.began.is_none() {
            writeln!(ui.err(), "nothing has been recorded yet")?;
        }
        if self.stats.skills.iter().any(is_used) {
            self.usage_table(ui.out_is_terminal()).write(ui)?;
            self.write_sums(ui)?;
        } else {
            writeln!(ui.out(), "no skill was used in this time")?;
        }
        self.write_dead(ui)?;
        self.write_files(ui)?;
        if self.stats.clients.is_empty() { Ok(()) } else { self.write_clients(ui) }
    }

    fn usage_table(&self, is_terminal: bool) -> Table<'_> {
        let mut columns = vec![
            ("SKILL", Align::Left, Some(Style::Name)),
            ("LOADS", Align::Right, None),
            ("READS", Align::Right, None),
            ("FAILED", Align::Right, None),
            ("AGENTS", Align::Right, None),
            ("TOKENS", Align::Right, None),
            ("CATALOG", Align::Right, None),
            ("LAST USE", Align::Left, Some(Style::Faint)),
        ];
        if is_terminal {
            columns.push(("TREND", Align::Left, None));
        }
        let mut table = Table::new(columns);
        let is_unknown = |skill: &&UsedSkillView| skill.state == LibraryPresence::Unknown.as_str();
        let (unknown, known): (Vec<&UsedSkillView>, Vec<&UsedSkillView>) =
            self.stats.skills.iter().filter(|skill| is_used(skill)).partition(is_unknown);
        let is_folded = unknown.len() > MAX_UNKNOWN;
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        self.stats.skills.iter().filter(|skill| is_used(skill)).for_each(|skill| {
            *names.entry(&skill.name).or_default() += 1;
        });
        for skill in known.iter().chain(unknown.iter().filter(|_| !is_folded)) {
            let mut cell = skill.name.clone();
            if skill.state != LibraryPresence::Present.as_str() {
                cell.push_str(&format!(" ({})", skill.state));
            }
            if names.get(skill.name.as_str()) > Some(&1) {
                cell.extend(place(skill, self.workspace).map(|place| format!(" in {place}")));
            }
            table.cell(cell);
            for number in [
                skill.usage.loads,
                skill.usage.reads,
                skill.usage.failures,
                skill.usage.agents as u64,
                skill.usage.tokens,
                skill.catalog_tokens,
            ] {
                table.cell(number.to_string());
            }
            table.cell(date(skill.usage.last_use.as_deref()));
            if is_terminal {
                table.cell(sparkline(&periods(&skill.usage.daily_loads)));
            }
            for file in &skill.files {
                table.cell(format!("  {}", file.path));
                table.cell("");
                for number in [file.reads, file.failures, file.agents as u64, file.tokens] {
                    table.cell(number.to_string());
                }
                table.cell("");
                table.cell(date(file.last_use.as_deref()));
                if is_terminal {
                    table.cell("");
                }
            }
        }
        if is_folded {
            let failures: u64 = unknown.iter().map(|skill| skill.usage.failures).sum();
            let last = if is_terminal { vec!["0", "-", ""] } else { vec!["0", "-"] };
            table.cell(format!("{} unknown names", unknown.len()));
            for cell in ["0", "0", &failures.to_string(), "-", "0"].into_iter().chain(last) {
                table.cell(cell.to_owned());
            }
        }
        table
    }

    fn write_sums(&self, ui: &mut Ui) -> Result<(), CliError> {
        let StatsView { concentration, totals, .. } = self.stats;
        let least = if self.stats.sessions_are_least { "at least " } else { "" };
        writeln!(ui.out())?;
        if totals.loads > 0 {
            writeln!(
                ui.out(),
                "{} of {} loaded skills make up {} % of {}",
                concentration.core_skills,
                concentration.loaded_skills,
                concentration.percent,
                count(totals.loads as usize, "load")
            )?;
        }
        let line = format!(
            "catalog entries cost {least}{} tokens in {least}{} of this library; {} tokens of instructions and files were served",
            totals.catalog_tokens,
            count(self.stats.sessions as usize, "session"),
            totals.tokens
        );
        let line = wrap_indented(&line, ui.width(), 0);
        writeln!(ui.out(), "{line}")?;
        Ok(())
    }

    fn write_dead(&self, ui: &mut Ui) -> Result<(), CliError> {
        let dead = &self.stats.dead;
        // Skills are not unused because nothing was recorded.
        if dead.is_empty() || self.unused.began.is_none() {
            return Ok(());
        }
        writeln!(ui.out(), "\nnot used {}:", self.unused)?;
        let mut table = Table::new(vec![
            ("SKILL", Align::Left, Some(Style::Name)),
            ("LAST USE", Align::Left, Some(Style::Faint)),
            ("CATALOG ENTRY", Align::Right, None),
            ("FILE", Align::Elastic, None),
        ]);
        for skill in dead.iter().take(MAX_ROWS) {
            table.cell(skill.name.as_str());
            table.cell(skill.last_use.as_deref().map_or_else(|| "never".to_owned(), day));
            table.cell(skill.catalog_tokens.to_string());
            table.cell(skill.path.as_deref().map(|path| self.workspace.shown(path)).unwrap_or_default());
        }
        table.write(ui)?;
        write_more(ui, dead.len())?;
        if !self.unused.is_recorded() {
            return Ok(());
        }
        let which = match dead.len() {
            ..=MAX_SWITCHED_OFF => "them".to_owned(),
            _ => format!("the first {MAX_SWITCHED_OFF}"),
        };
        let names = dead.iter().take(MAX_SWITCHED_OFF).map(|skill| skill.name.as_str());
        ui.hint(&format!("to switch {which} off, run `{}`", switch_off(names)))?;
        Ok(())
    }

    fn write_files(&self, ui: &mut Ui) -> Result<(), CliError> {
        let hot = &self.stats.hot_files;
        if !hot.is_empty() {
            writeln!(ui.out(), "\nfiles that were read most:")?;
        }
        for file in hot {
            let line = format!("{:>7}  {}/{}", file.reads, file.skill, file.path);
            writeln!(ui.out(), "{}", escape(&line))?;
        }
        let unread = &self.stats.unread_files;
        if !unread.is_empty() {
            writeln!(ui.out(), "\nreferences of loaded skills that were not read:")?;
        }
        for file in unread.iter().take(MAX_ROWS) {
            writeln!(ui.out(), "  {}", escape(&format!("{}/{}", file.skill, file.path)))?;
        }
        write_more(ui, unread.len())
    }

    fn write_clients(&self, ui: &mut Ui) -> Result<(), CliError> {
        writeln!(ui.out(), "\nrecorded by clients themselves:")?;
        let mut table = Table::new(vec![
            ("SKILL", Align::Left, Some(Style::Name)),
            ("USES", Align::Right, None),
            ("LAST USE", Align::Left, Some(Style::Faint)),
            ("CLIENT", Align::Left, None),
            ("RECORD", Align::Left, None),
        ]);
        for record in &self.stats.clients {
            for found in &record.skills {
                table.cell(found.name.as_str());
                table.cell(found.uses.to_string());
                table.cell(date(found.last_use.as_deref()));
                table.cell(record.client);
                table.cell(record.record);
            }
        }
        table.write(ui)?;
        Ok(())
    }
}

/// Returns the directory of `skill`, or its source without one, to tell it from others of its name.
fn place(skill: &UsedSkillView, workspace: &Workspace) -> Option<String> {
    match skill.identity.as_deref().filter(|identity| Path::new(identity).is_absolute()) {
        Some(directory) => Some(workspace.shown(directory)),
        None => skill.source.clone(),
    }
}

/// Returns whether there is anything to tell about the use of `skill`.
fn is_used(skill: &UsedSkillView) -> bool {
    let usage = &skill.usage;
    usage.loads + usage.reads + usage.failures + usage.tokens > 0
}

/// Tells how many of `total` rows are left out.
fn write_more(ui: &mut Ui, total: usize) -> Result<(), CliError> {
    if total > MAX_ROWS {
        writeln!(ui.out(), "  and {} more; --json has all", total - MAX_ROWS)?;
    }
    Ok(())
}

/// Returns the day of a time in RFC 3339, or `-`.
fn date(time: Option<&str>) -> String {
    time.map_or_else(|| "-".to_owned(), day)
}

/// Returns the day of a time in RFC 3339.
fn day(time: &str) -> String {
    time.chars().take("2026-02-28".len()).collect()
}

/// Returns the sums of at most [`MAX_PERIODS`] periods of the same number of days; the oldest may be shorter.
fn periods(days: &[u64]) -> Vec<u64> {
    let length = days.len().div_ceil(MAX_PERIODS).max(1);
    let mut sums: Vec<u64> = days.rchunks(length).map(|period| period.iter().sum()).collect();
    sums.reverse();
    sums
}

/// Returns a line of blocks as high as `numbers`, relative to the largest.
fn sparkline(numbers: &[u64]) -> String {
    let most = numbers.iter().copied().max().unwrap_or_default().max(1);
    let highest = BLOCKS.len() as u64 - 1;
    let block = |number: &u64| BLOCKS[usize::try_from((number * highest).div_ceil(most)).unwrap_or_default()];
    numbers.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_summed_up_to_ten_periods_that_end_today() {
        assert_eq!(periods(&[1, 2, 3]), [1, 2, 3]);
        assert_eq!(periods(&[1; 30]), [5; 6]);
        assert_eq!(periods(&[1; 11]), [1, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn sparklines_are_relative_to_the_largest_number() {
        assert_eq!(sparkline(&[0, 1, 7, 50, 100]), "▁▂▂▅█");
        assert_eq!(sparkline(&[0, 0]), "▁▁");
        assert_eq!(sparkline(&[1]), "█");
    }
}
