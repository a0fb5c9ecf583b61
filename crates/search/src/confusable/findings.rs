//! Findings about skills that an agent could confuse, with sentences that would distinguish them.

use std::cmp::Reverse;
use std::collections::HashMap;

use repertoire::Snapshot;
use repertoire_model::validate::Reporter;
use repertoire_model::{Diagnostic, Policy, RuleId};

use super::pairs::{ConfusablePair, PairKind};

/// The most pairs of one skill that are reported one by one; more become one finding.
pub const MAX_PAIRS_REPORTED: usize = 4;
/// The number of skills that a finding about many pairs names.
const NAMED: usize = 3;

/// Returns the findings of the rule `confusable` about `pairs` of `snapshot` under `policy`, each with the
/// entry that it is about.
///
/// A skill that could be confused with more than [`MAX_PAIRS_REPORTED`] others gets one finding with their
/// number. Other findings are about one pair each, and belong to its first skill.
pub fn findings(snapshot: &Snapshot, pairs: &[ConfusablePair], policy: &Policy) -> Vec<(usize, Diagnostic)> {
    let mut open: Vec<&ConfusablePair> = pairs.iter().filter(|pair| !pair.is_told_apart()).collect();
    let mut findings = Vec::new();
    while let Some(hub) = hub(&open) {
        let (of_hub, rest) = open.into_iter().partition(|pair| pair.first == hub || pair.second == hub);
        findings.extend(hub_finding(snapshot, hub, of_hub, policy).map(|finding| (hub, finding)));
        open = rest;
    }
    let of_pairs = open.iter().filter_map(|pair| Some((pair.first, pair.diagnostic(snapshot, policy)?)));
    findings.extend(of_pairs);
    findings
}

/// Returns the entry with the most of `pairs`, the first of equals, if they are too many to report each.
fn hub(pairs: &[&ConfusablePair]) -> Option<usize> {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    for pair in pairs {
        *counts.entry(pair.first).or_default() += 1;
        *counts.entry(pair.second).or_default() += 1;
    }
    let (count, Reverse(hub)) = counts.into_iter().map(|(entry, count)| (count, Reverse(entry))).max()?;
    (count > MAX_PAIRS_REPORTED).then_some(hub)
}

/// Returns the finding about the entry `hub` of all `pairs`, which are sorted, the most alike first.
fn hub_finding(
    snapshot: &Snapshot,
    hub: usize,
    pairs: Vec<&ConfusablePair>,
    policy: &Policy,
) -> Option<Diagnostic> {
    let name = |entry: usize| snapshot.entries()[entry].name();
    let others = pairs.iter().map(|pair| if pair.first == hub { pair.second } else { pair.first });
    let named: Vec<String> = others.take(NAMED).map(|entry| format!("`{}`", name(entry))).collect();
    let message = format!(
        "`{}` could be mixed up with {} skills, first of all with {}",
        name(hub),
        pairs.len(),
        named.join(", ")
    );
    let mut reporter = Reporter::new(policy);
    reporter.report(RuleId::Confusable, message).help(format!("say in `{}` what only it is for", name(hub)));
    reporter.finish().pop()
}

impl ConfusablePair {
    /// Returns whether one description says when to use the other skill.
    pub fn is_told_apart(&self) -> bool {
        self.kind == PairKind::ToldApart
    }

    /// Returns a sentence for the description of the first skill and one for the second's, to distinguish
    /// them. `None` if they differ already, or if the other skill's description has no words of its own.
    pub fn sentences(&self, snapshot: &Snapshot) -> (Option<String>, Option<String>) {
        let sentence = |words: &[String], other: usize| {
            let is_needed = self.kind == PairKind::Alike && !words.is_empty();
            let name = snapshot.entries()[other].name();
            is_needed.then(|| format!("Not for {}: use {name} instead.", words.join(", ")))
        };
        (sentence(&self.only_second, self.second), sentence(&self.only_first, self.first))
    }

    /// Returns the finding about the first skill; `None` if the skills are told apart.
    fn diagnostic(&self, snapshot: &Snapshot, policy: &Policy) -> Option<Diagnostic> {
        if self.is_told_apart() {
            return None;
        }
        let name = |entry: usize| snapshot.entries()[entry].name();
        let (first, second) = (name(self.first), name(self.second));
        let message = match self.kind {
            PairKind::Same => format!("`{first}` and `{second}` have the same description"),
            _ => format!(
                "`{first}` and `{second}` could be mixed up: {:.0} % alike, and neither says when to use the other; both say {}",
                self.likeness * 100.0,
                self.shared.join(", ")
            ),
        };
        let say = |skill, sentence: Option<String>| match sentence {
            Some(sentence) => format!("say in `{skill}`: \"{sentence}\""),
            None => format!("say in `{skill}` what only it is for"),
        };
        let help = if self.kind == PairKind::Same {
            format!(
                "write another description for `{first}` or `{second}`, with the tasks that only this one is for, or remove one of the two"
            )
        } else {
            let (of_first, of_second) = self.sentences(snapshot);
            format!("{}; {}", say(first, of_first), say(second, of_second))
        };
        let mut reporter = Reporter::new(policy);
        reporter.report(RuleId::Confusable, message).help(help);
        reporter.finish().pop()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use repertoire::{Library, MemoryProvider, SkillDefinition};

    use super::*;
    use crate::confusable::confusable_pairs;

    fn snapshot(skills: &[(&str, &str)]) -> Arc<Snapshot> {
        let skills =
            skills.iter().map(|(name, description)| SkillDefinition::new(*name, *description, "x")).collect();
        let provider = Arc::new(MemoryProvider::new("test", skills));
        pollster::block_on(Library::builder().provider(provider).open()).unwrap().snapshot()
    }

    #[test]
    fn distinguishing_sentences_are_suggested() {
        let snapshot = snapshot(&[
            ("changelog", "Writes release notes."),
            ("pdf-fill", "Fills PDF forms from JSON data."),
            ("pdf-forms", "Fills PDF forms from CSV data."),
        ]);
        let pairs = confusable_pairs(&snapshot);
        let [pair] = &pairs[..] else { panic!("{pairs:?}") };
        let (first, second) = pair.sentences(&snapshot);
        assert_eq!(first.unwrap(), "Not for csv: use pdf-forms instead.");
        assert_eq!(second.unwrap(), "Not for json: use pdf-fill instead.");
        let found = pair.diagnostic(&snapshot, &Policy::default()).unwrap();
        assert_eq!(found.rule, RuleId::Confusable);
        assert!(
            found.message.starts_with("`pdf-fill` and `pdf-forms` could be mixed up: "),
            "{}",
            found.message
        );
    }

    #[test]
    fn a_skill_that_is_like_many_gets_one_finding() {
        // There used to be one finding for each of hundreds of pairs.
        let snapshot = snapshot(&[
            ("changelog", "Writes release notes."),
            ("form-a", "Fills PDF forms from CSV data."),
            ("form-b", "Fills PDF forms from CSV data."),
            ("form-c", "Fills PDF forms from CSV data."),
            ("form-d", "Fills PDF forms from CSV data."),
            ("form-e", "Fills PDF forms from CSV data."),
            ("form-f", "Fills PDF forms from CSV data."),
        ]);
        let pair = |first, second| {
            let shared = Vec::new();
            ConfusablePair {
                first,
                second,
                kind: PairKind::Same,
                likeness: 1.0,
                shared,
                only_first: vec![],
                only_second: vec![],
            }
        };
        let pairs = [pair(1, 3), pair(2, 3), pair(3, 4), pair(3, 5), pair(3, 6), pair(1, 2)];
        let found = findings(&snapshot, &pairs, &Policy::default());
        let told: Vec<(usize, &str)> = found.iter().map(|(entry, found)| (*entry, &*found.message)).collect();
        let hub = "`form-c` could be mixed up with 5 skills, first of all with `form-a`, `form-b`, `form-d`";
        assert_eq!(told, [(3, hub), (1, "`form-a` and `form-b` have the same description")]);
        assert_eq!(
            findings(&snapshot, &pairs[1..], &Policy::default()).len(),
            5,
            "few are reported one by one"
        );
    }

    #[test]
    fn skills_that_are_told_apart_get_no_finding() {
        let snapshot = snapshot(&[
            ("pdf-fill", "Fills PDF forms from JSON data. For CSV, use pdf-forms instead."),
            ("pdf-forms", "Fills PDF forms from CSV data."),
        ]);
        for pair in confusable_pairs(&snapshot) {
            assert_eq!(pair.sentences(&snapshot), (None, None));
            assert_eq!(pair.diagnostic(&snapshot, &Policy::default()), None);
        }
    }

    #[test]
    fn copies_have_no_words_of_their_own() {
        let snapshot =
            snapshot(&[("plan", "Plans sprints and stories."), ("plans", "Plans sprints and stories.")]);
        let found = confusable_pairs(&snapshot)[0].diagnostic(&snapshot, &Policy::default()).unwrap();
        assert_eq!(found.message, "`plan` and `plans` have the same description");
        assert_eq!(confusable_pairs(&snapshot)[0].sentences(&snapshot), (None, None));
        let help = found.help.unwrap();
        assert!(help.starts_with("write another description for `plan` or `plans`, "), "{help}");
    }
}
