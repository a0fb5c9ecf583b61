//! Findings in the files of plugins.

use crate::validate::Reporter;
use crate::{Diagnostic, Policy, RuleId};

/// A fault of a plugin or a marketplace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginFinding {
    /// The rule that it breaks.
    pub rule: RuleId,
    /// The message.
    pub message: String,
}

impl PluginFinding {
    pub(super) fn new(rule: RuleId, message: impl Into<String>) -> Self {
        Self { rule, message: message.into() }
    }

    /// Returns it as a diagnostic, unless `policy` turns its rule off.
    pub fn diagnostic(&self, policy: &Policy) -> Option<Diagnostic> {
        let mut reporter = Reporter::new(policy);
        reporter.report(self.rule, self.message.clone());
        reporter.finish().pop()
    }
}
