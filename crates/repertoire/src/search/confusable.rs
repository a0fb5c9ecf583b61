//! Skills of a library that an agent could mix up, and the sentences that would tell them apart.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::ops::Deref;

use rayon::prelude::*;
use repertoire_model::search::{Confusable, Confusion, Head, Heads, SkillText};
use repertoire_model::validate::Reporter;
use repertoire_model::{Diagnostic, Policy, RuleId};

use super::builtin::builtin;
use crate::registry::{Entry, Snapshot};

/// The most skills that one could be mixed up with before these are told in one finding.
pub const MAX_PAIRS_TOLD: usize = 4;
/// How many of them are named then.
const NAMED: usize = 3;

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
    /// use repertoire::{Library, MemoryProvider, SkillDefinition};
    /// let skills = vec![
    ///     SkillDefinition::new("pdf-fill", "Fills PDF forms from JSON data.", "# Fill\n"),
    ///     SkillDefinition::new("pdf-forms", "Fills PDF forms from CSV data.", "# Forms\n"),
    /// ];
    /// let library = pollster::block_on(Library::builder().provider(Arc::new(MemoryProvider::new("builtin", skills))).open())?;
    /// let snapshot = library.snapshot();
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

impl Snapshot {
    /// Returns what the rule `confusable` finds of `pairs`, the [`mix_ups`](Self::mix_ups) of this snapshot, as `policy` weighs it: each
    /// finding with the entry that it is about.
    ///
    /// A skill that could be mixed up with more than [`MAX_PAIRS_TOLD`] others is one finding, with their number; what is left are findings
    /// about the first of two.
    pub fn mix_up_findings(&self, pairs: &[MixUp], policy: &Policy) -> Vec<(usize, Diagnostic)> {
        let open: Vec<&MixUp> = pairs.iter().filter(|pair| !pair.is_told_apart()).collect();
        let (hubs, rest) = hubs(&open);
        let of_hubs =
            hubs.iter().filter_map(|(hub, others)| Some((*hub, self.hub_finding(*hub, others, policy)?)));
        let of_rest = rest.iter().filter_map(|pair| Some((pair.first, pair.diagnostic(self, policy)?)));
        of_hubs.chain(of_rest).collect()
    }

    /// Returns the finding about the entry `hub`, which could be mixed up with each of `others`, the most alike first.
    fn hub_finding(&self, hub: usize, others: &[usize], policy: &Policy) -> Option<Diagnostic> {
        let name = |entry: usize| self.entries()[entry].name();
        let named: Vec<String> =
            others.iter().take(NAMED).map(|entry| format!("`{}`", name(*entry))).collect();
        let message = format!(
            "`{}` could be mixed up with {} skills, first of all with {}",
            name(hub),
            others.len(),
            named.join(", ")
        );
        let mut reporter = Reporter::new(policy);
        reporter
            .report(RuleId::Confusable, message)
            .help(format!("say in `{}` what only it is for", name(hub)));
        reporter.finish().pop()
    }
}

/// Takes out of `pairs`, again and again, those of the entry that most of them are about, the first of several, as long as these are too many
/// to tell one by one. Returns such entries, each with its others, and the pairs that are left.
fn hubs<'p>(pairs: &[&'p MixUp]) -> (Vec<(usize, Vec<usize>)>, Vec<&'p MixUp>) {
    let mut places: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, pair) in pairs.iter().enumerate() {
        places.entry(pair.first).or_default().push(place);
        places.entry(pair.second).or_default().push(place);
    }
    let mut counts: HashMap<usize, usize> =
        places.iter().map(|(entry, places)| (*entry, places.len())).collect();
    let mut most: BTreeSet<(usize, Reverse<usize>)> =
        counts.iter().map(|(entry, count)| (*count, Reverse(*entry))).collect();
    let mut is_told = vec![false; pairs.len()];
    let mut hubs = Vec::new();
    while let Some((count, Reverse(hub))) = most.pop_last()
        && count > MAX_PAIRS_TOLD
    {
        let mut others = Vec::with_capacity(count);
        for place in &places[&hub] {
            if std::mem::replace(&mut is_told[*place], true) {
                continue;
            }
            let pair = pairs[*place];
            let other = if pair.first == hub { pair.second } else { pair.first };
            others.push(other);
            if let Some(count) = counts.get_mut(&other)
                && most.remove(&(*count, Reverse(other)))
            {
                *count -= 1;
                most.insert((*count, Reverse(other)));
            }
        }
        hubs.push((hub, others));
    }
    let rest = pairs.iter().zip(is_told).filter(|(_, is_told)| !is_told).map(|(pair, _)| *pair);
    (hubs, rest.collect())
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
    use crate::{Library, MemoryProvider, SkillDefinition};

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
        pollster::block_on(Library::builder().provider(provider).open()).unwrap().snapshot()
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
    fn a_skill_that_is_like_many_is_one_finding() {
        // There was once one finding for each of hundreds of pairs.
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
            MixUp(Confusable {
                first,
                second,
                kind: Confusion::Same,
                likeness: 1.0,
                shared,
                only_first: vec![],
                only_second: vec![],
            })
        };
        let pairs = [pair(1, 3), pair(2, 3), pair(3, 4), pair(3, 5), pair(3, 6), pair(1, 2)];
        let findings = snapshot.mix_up_findings(&pairs, &Policy::default());
        let told: Vec<(usize, &str)> =
            findings.iter().map(|(entry, found)| (*entry, &*found.message)).collect();
        let hub = "`form-c` could be mixed up with 5 skills, first of all with `form-a`, `form-b`, `form-d`";
        assert_eq!(told, [(3, hub), (1, "`form-a` and `form-b` have the same description")]);
        assert_eq!(
            snapshot.mix_up_findings(&pairs[1..], &Policy::default()).len(),
            5,
            "few are told one by one"
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
