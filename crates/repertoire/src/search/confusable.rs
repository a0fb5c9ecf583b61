//! Skills of a library that an agent could mix up, and the sentences that would tell them apart.

use std::ops::Deref;

use rayon::prelude::*;
use repertoire_model::search::{Confusable, Confusion, Head, Heads, SkillText};
use repertoire_model::validate::Reporter;
use repertoire_model::{Diagnostic, Policy, RuleId};

use super::builtin::builtin;
use crate::registry::{Entry, Snapshot};

/// Two skills that an agent could mix up, by their places among the entries of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct MixUp(pub Confusable);

impl Deref for MixUp {
    type Target = Confusable;

    fn deref(&self) -> &Confusable {
        &self.0
    }
}

impl Snapshot {
    /// Returns the skills that models are offered and an agent could mix up, in pairs, the most alike first.
    ///
    /// It works on all cores, and waits for them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use repertoire::{MemoryProvider, Registry, SkillDefinition};
    /// let skills = vec![
    ///     SkillDefinition::new("pdf-fill", "Fills PDF forms from JSON data.", "# Fill\n"),
    ///     SkillDefinition::new("pdf-forms", "Fills PDF forms from CSV data.", "# Forms\n"),
    /// ];
    /// let registry = Registry::builder().provider(Arc::new(MemoryProvider::new("builtin", skills))).open_blocking()?;
    /// let snapshot = registry.snapshot();
    /// let pairs = snapshot.mix_ups();
    /// assert_eq!(pairs[0].only_first, ["json"]);
    /// # Ok::<(), repertoire::Error>(())
    /// ```
    pub fn mix_ups(&self) -> Vec<MixUp> {
        let entries: Vec<(usize, &Entry)> =
            self.entries().iter().enumerate().filter(|(_, entry)| entry.is_in_catalog()).collect();
        let mix_up = |pair: Confusable| {
            MixUp(Confusable { first: entries[pair.first].0, second: entries[pair.second].0, ..pair })
        };
        let heads = Heads::new(entries.par_iter().map(|(_, entry)| head(entry)).collect());
        let candidates = (0..heads.len()).into_par_iter().flat_map_iter(|place| heads.candidates(place));
        heads.confusable(candidates.collect()).into_iter().map(mix_up).collect()
    }
}

/// Returns what an agent chooses the skill by.
fn head(entry: &Entry) -> Head<'_> {
    let (name, description) = (entry.name().as_str(), &*entry.document.description);
    Head::of(&SkillText { name, description, ..SkillText::default() }, builtin())
}

impl MixUp {
    /// Returns whether a description says when to use the other skill, so that nothing is missing.
    pub fn is_told_apart(&self) -> bool {
        self.kind == Confusion::ToldApart
    }

    /// Returns the sentence that the description of the first skill of `snapshot` lacks, and that of the second; none where
    /// nothing is missing, or nothing is known that would tell them apart.
    pub fn sentences(&self, snapshot: &Snapshot) -> (Option<String>, Option<String>) {
        let sentence = |words: &[String], other: usize| {
            let is_of_use = !self.is_told_apart() && !words.is_empty();
            let name = snapshot.entries()[other].name();
            is_of_use.then(|| format!("Not for {}: use {name} instead.", words.join(", ")))
        };
        (sentence(&self.only_second, self.second), sentence(&self.only_first, self.first))
    }

    /// Returns the finding of the rule `confusable` about the first skill, as `policy` weighs it; none where nothing is missing.
    pub fn diagnostic(&self, snapshot: &Snapshot, policy: &Policy) -> Option<Diagnostic> {
        if self.is_told_apart() {
            return None;
        }
        let name = |entry: usize| snapshot.entries()[entry].name();
        let (first, second) = (name(self.first), name(self.second));
        let message = match self.kind {
            Confusion::Same => format!("`{first}` and `{second}` have the same description"),
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
        let (of_first, of_second) = self.sentences(snapshot);
        let help = format!("{}; {}", say(first, of_first), say(second, of_second));
        let mut reporter = Reporter::new(policy);
        reporter.report(RuleId::Confusable, message).help(help);
        reporter.finish().pop()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{MemoryProvider, Registry, SkillDefinition};

    #[test]
    fn what_is_found_on_all_cores_is_what_one_would_find() {
        let text = |number: usize| {
            (format!("skill-{number}"), format!("Fills form {} of kind {}.", number % 7, number % 3))
        };
        let texts: Vec<(String, String)> = (0..200).map(text).collect();
        let skills: Vec<(&str, &str)> =
            texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let snapshot = snapshot(&skills);
        let texts: Vec<SkillText<'_>> = snapshot
            .entries()
            .iter()
            .map(|entry| SkillText {
                name: entry.name().as_str(),
                description: &entry.document.description,
                ..SkillText::default()
            })
            .collect();
        let expected = repertoire_model::search::confusable(&texts, builtin());
        assert!(!expected.is_empty());
        let found: Vec<Confusable> = snapshot.mix_ups().into_iter().map(|pair| pair.0).collect();
        assert_eq!(found, expected);
    }

    fn snapshot(skills: &[(&str, &str)]) -> Arc<Snapshot> {
        let skills =
            skills.iter().map(|(name, description)| SkillDefinition::new(*name, *description, "x")).collect();
        let provider = Arc::new(MemoryProvider::new("test", skills));
        Registry::builder().provider(provider).open_blocking().unwrap().snapshot()
    }

    #[test]
    fn what_is_missing_is_suggested() {
        let snapshot = snapshot(&[
            ("changelog", "Writes release notes."),
            ("pdf-fill", "Fills PDF forms from JSON data."),
            ("pdf-forms", "Fills PDF forms from CSV data."),
        ]);
        let pairs = snapshot.mix_ups();
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
    fn what_is_told_apart_is_no_finding() {
        let snapshot = snapshot(&[
            ("pdf-fill", "Fills PDF forms from JSON data. For CSV, use pdf-forms instead."),
            ("pdf-forms", "Fills PDF forms from CSV data."),
        ]);
        for pair in snapshot.mix_ups() {
            assert_eq!(pair.sentences(&snapshot), (None, None));
            assert_eq!(pair.diagnostic(&snapshot, &Policy::default()), None);
        }
    }

    #[test]
    fn copies_have_no_words_of_their_own() {
        let snapshot =
            snapshot(&[("plan", "Plans sprints and stories."), ("plans", "Plans sprints and stories.")]);
        let found = snapshot.mix_ups()[0].diagnostic(&snapshot, &Policy::default()).unwrap();
        assert_eq!(found.message, "`plan` and `plans` have the same description");
    }
}
