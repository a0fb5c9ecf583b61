//! Collects what the rules find, at the severity the policy gives it.

use crate::policy::Policy;
use crate::validate::RuleId;
use crate::{Diagnostic, Span};

/// Collects diagnostics under a policy; rules that are off leave no trace.
#[derive(Debug)]
pub struct Reporter<'a> {
    policy: &'a Policy,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Reporter<'a> {
    /// Returns an empty reporter.
    pub fn new(policy: &'a Policy) -> Self {
        Self { policy, diagnostics: Vec::new() }
    }

    /// Returns the policy in force.
    pub fn policy(&self) -> &'a Policy {
        self.policy
    }

    /// Returns whether findings of `rule` are kept, for rules that are dear to evaluate.
    pub fn wants(&self, rule: RuleId) -> bool {
        self.policy.severity(rule).is_some()
    }

    /// Records a finding of `rule`; the answer takes its help, place and file.
    pub fn report(&mut self, rule: RuleId, message: impl Into<String>) -> Finding<'_> {
        let Some(severity) = self.policy.severity(rule) else { return Finding(None) };
        let message = message.into();
        self.diagnostics.push(Diagnostic { rule, severity, message, help: None, file: None, span: None });
        Finding(self.diagnostics.last_mut())
    }

    /// Returns what was found.
    pub fn finish(self) -> Vec<Diagnostic> {
        self.diagnostics
    }

    /// Returns what was found so far.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

/// The finding just recorded, or nothing where its rule is off.
#[derive(Debug)]
pub struct Finding<'a>(Option<&'a mut Diagnostic>);

impl Finding<'_> {
    /// Says what to do about it.
    pub fn help(self, help: impl Into<String>) -> Self {
        if let Some(diagnostic) = self.0 {
            diagnostic.help = Some(help.into());
            return Self(Some(diagnostic));
        }
        self
    }

    /// Says where it is.
    pub fn at(self, span: impl Into<Option<Span>>) -> Self {
        if let Some(diagnostic) = self.0 {
            diagnostic.span = span.into();
            return Self(Some(diagnostic));
        }
        self
    }

    /// Says which file of the skill it is in.
    pub fn in_file(self, file: impl Into<String>) -> Self {
        if let Some(diagnostic) = self.0 {
            diagnostic.file = Some(file.into());
            return Self(Some(diagnostic));
        }
        self
    }
}
