//! The findings that count: by rule, by comment and by baseline.

use std::path::PathBuf;

use clap::Args;
use repertoire_model::validate::{RULES, suppress};
use repertoire_model::{Policy, RuleId};

use super::findings::{Findings, text_of};

/// The options that say which findings count.
#[derive(Debug, Args)]
#[command(next_help_heading = "Findings that count")]
pub(super) struct SelectionArgs {
    /// Report these rules alone, by name or by group, as in `link-broken` or `link`
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = selector)]
    pub(super) select: Vec<String>,
    /// Do not report these rules, by name or by group
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = selector)]
    pub(super) ignore: Vec<String>,
    /// Check the skills that changed since a commit of git, and the skills that depend on them
    #[arg(long, value_name = "BASE", num_args = 0..=1, require_equals = true, default_missing_value = "HEAD", conflicts_with = "confusable")]
    pub(super) changed: Option<String>,
    /// Do not report the findings that this file lists
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) baseline: Option<PathBuf>,
    /// Write all findings to the file of --baseline
    #[arg(long, requires = "baseline")]
    pub(super) write_baseline: bool,
    /// Exit with 1 if there are more warnings than this
    #[arg(long, value_name = "N")]
    pub(super) max_warnings: Option<usize>,
}

/// Returns `text` if it names a rule or a group of rules.
fn selector(text: &str) -> Result<String, String> {
    if RULES.iter().any(|rule| rule.id.is_selected_by(text)) {
        return Ok(text.to_owned());
    }
    Err("no rule and no group of rules has this name, as in `link-broken` or `link`".to_owned())
}

impl SelectionArgs {
    /// Returns whether findings of `rule` are reported. A rule that sets skills aside always is.
    fn selects(&self, rule: RuleId) -> bool {
        let names = |selectors: &[String]| selectors.iter().any(|selector| rule.is_selected_by(selector));
        rule.is_fixed() || ((self.select.is_empty() || names(&self.select)) && !names(&self.ignore))
    }

    /// Takes from `findings` what comments in the skills suppress, then all that is not selected.
    pub(super) fn apply(&self, findings: &mut Findings<'_>, policy: &Policy) {
        for checked in &mut findings.skills {
            if let Some(text) = text_of(checked.library, checked.entry, &checked.entry.manifest_file) {
                findings.suppressed += suppress(&text, &mut checked.diagnostics, policy);
            }
            checked.diagnostics.retain(|found| self.selects(found.rule));
        }
        findings.problems.retain(|problem| self.selects(problem.diagnostic.rule));
    }
}
