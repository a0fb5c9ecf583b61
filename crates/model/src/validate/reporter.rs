//! Collects the findings of the rules, at the severity the policy gives them.

use std::collections::HashMap;

use crate::policy::Policy;
use crate::rule::RuleId;
use crate::{Diagnostic, Span};

/// The most findings of one rule that are kept; the last of them has the number of the rest.
///
/// A text of nothing but faults would otherwise make a report many times its size.
pub const MAX_FINDINGS_PER_RULE: usize = 20;

/// Collects diagnostics under a policy; rules that are off leave no trace.
#[derive(Debug)]
pub struct Reporter<'a> {
    policy: &'a Policy,
    diagnostics: Vec<Diagnostic>,
    found: HashMap<RuleId, usize>,
}

impl<'a> Reporter<'a> {
    /// Returns an empty reporter.
    pub fn new(policy: &'a Policy) -> Self {
        Self { policy, diagnostics: Vec::new(), found: HashMap::new() }
    }

    /// Returns the policy in force.
    pub fn policy(&self) -> &'a Policy {
        self.policy
    }

    /// Records a finding of `rule`; the answer takes its help, place and file.
    ///
    /// From [`MAX_FINDINGS_PER_RULE`] on they are only counted.
    pub fn report(&mut self, rule: RuleId, message: impl Into<String>) -> Finding<'_> {
        let Some(severity) = self.policy.severity(rule) else { return Finding(None) };
        let found = self.found.entry(rule).or_default();
        *found += 1;
        if *found > MAX_FINDINGS_PER_RULE {
            return Finding(None);
        }
        let message = message.into();
        self.diagnostics.push(Diagnostic { rule, severity, message, help: None, file: None, span: None });
        Finding(self.diagnostics.last_mut())
    }

    /// Returns the diagnostics.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        for (rule, found) in self.found {
            let more = found.saturating_sub(MAX_FINDINGS_PER_RULE);
            if more > 0
                && let Some(last) = self.diagnostics.iter_mut().rev().find(|kept| kept.rule == rule)
            {
                last.message.push_str(&format!(" (and {more} more findings of this rule)"));
            }
        }
        self.diagnostics
    }

    /// Returns the diagnostics so far.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

/// The finding just recorded, or nothing where its rule is off.
#[derive(Debug)]
pub struct Finding<'a>(Option<&'a mut Diagnostic>);

impl Finding<'_> {
    /// Adds a hint.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(diagnostic) = &mut self.0 {
            diagnostic.help = Some(help.into());
        }
        self
    }

    /// Adds the hint that `help` returns, which is not called if the finding is not kept.
    pub fn help_with(self, help: impl FnOnce() -> String) -> Self {
        if self.0.is_some() { self.help(help()) } else { self }
    }

    /// Adds the span.
    pub fn at(mut self, span: impl Into<Option<Span>>) -> Self {
        if let Some(diagnostic) = &mut self.0 {
            diagnostic.span = span.into();
        }
        self
    }

    /// Adds the file of the skill.
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        if let Some(diagnostic) = &mut self.0 {
            diagnostic.file = Some(file.into());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_one_rule_are_bounded_and_the_last_says_so() {
        let policy = Policy::default();
        let mut reporter = Reporter::new(&policy);
        for number in 1..=MAX_FINDINGS_PER_RULE + 5 {
            reporter.report(RuleId::FieldUnknown, format!("number {number}")).help_with(|| {
                assert!(number <= MAX_FINDINGS_PER_RULE, "nobody reads this help");
                "help".to_owned()
            });
        }
        reporter.report(RuleId::BodyEmpty, "empty");
        let found = reporter.finish();
        assert_eq!(found.len(), MAX_FINDINGS_PER_RULE + 1);
        assert_eq!(
            found[MAX_FINDINGS_PER_RULE - 1].message,
            format!("number {MAX_FINDINGS_PER_RULE} (and 5 more findings of this rule)")
        );
        assert_eq!(found[MAX_FINDINGS_PER_RULE].message, "empty");
    }
}
