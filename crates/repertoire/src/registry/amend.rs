//! A snapshot made of the one before, for listings that differ in a few skills.

use std::collections::BTreeSet;
use std::sync::Arc;

use repertoire_model::resolve::{self, Candidate, Verdict};
use repertoire_model::{Policy, SkillName};

use super::snapshot::{Entry, Route, Snapshot, candidate, entry};
use crate::provider::{Listed, Listing, differences};

/// The most skills that are put into a snapshot one by one; where more came or went it is made anew.
const MAX_AMENDED: usize = 64;

/// A skill, and who listed it.
#[derive(Clone, Copy)]
struct Sourced<'a> {
    /// The position of its provider.
    provider: usize,
    skill: &'a Arc<Listed>,
}

/// The skills that are in the listings before and not in those after, and the other way round.
struct Differences<'a> {
    gone: Vec<Sourced<'a>>,
    come: Vec<Sourced<'a>>,
}

impl Snapshot {
    /// Returns what [`Snapshot::merge`] makes of `after`, where this is what it made of `before`; `None` where that takes a merge.
    ///
    /// Whether a skill holds its name is a matter between the skills of that name, so that only these are looked at. Skills that
    /// several sources lead to, and libraries that the policy refuses, are left to the merge.
    pub(super) fn amended(
        &self,
        before: &[Arc<Listing>],
        after: &[(Arc<str>, Arc<Listing>)],
        policy: &Policy,
    ) -> Option<Self> {
        let differences = Differences::between(before, after).filter(|_| self.refusals.is_empty())?;
        if !differences.are_of_single_routes(self) {
            return None;
        }
        let skills = differences.gone.iter().chain(&differences.come);
        let names: BTreeSet<&SkillName> = skills.map(|sourced| &sourced.skill.document.name).collect();
        let mut entries = Vec::with_capacity(self.entries.len() + differences.come.len());
        let mut rest = self.entries.as_slice();
        for name in names {
            let (others, of_name) = rest.split_at(rest.partition_point(|entry| entry.name() < name));
            let count = of_name.iter().take_while(|entry| entry.name() == name).count();
            let (of_name, later) = of_name.split_at(count);
            entries.extend_from_slice(others);
            entries.extend(differences.resolved(name, of_name, after, policy)?);
            rest = later;
        }
        entries.extend_from_slice(rest);
        let problems = after.iter().flat_map(|(_, listing)| listing.problems.iter().cloned()).collect();
        Some(Self::of(entries, problems, Vec::new()))
    }
}

impl<'a> Differences<'a> {
    /// Returns where `after` differs from `before`; `None` where there are too many differences.
    fn between(before: &'a [Arc<Listing>], after: &'a [(Arc<str>, Arc<Listing>)]) -> Option<Self> {
        let mut found = Self { gone: Vec::new(), come: Vec::new() };
        for (provider, (before, (_, after))) in before.iter().zip(after).enumerate() {
            if Arc::ptr_eq(before, after) {
                continue;
            }
            for (old, new) in differences(&before.skills, &after.skills) {
                found.gone.extend(old.map(|skill| Sourced { provider, skill }));
                found.come.extend(new.map(|skill| Sourced { provider, skill }));
                if found.gone.len() + found.come.len() > MAX_AMENDED {
                    return None;
                }
            }
        }
        Some(found)
    }

    /// Returns whether no skill that came or went is one that other listings lead to as well.
    fn are_of_single_routes(&self, snapshot: &Snapshot) -> bool {
        let is_single = |sourced: &Sourced<'_>| {
            let of_name = snapshot.named(sourced.skill.document.name.as_str());
            of_name.iter().any(|entry| sourced.is(entry) && entry.also.is_empty())
        };
        let identity = |sourced: &Sourced<'a>| sourced.skill.identity.as_deref();
        let gone: BTreeSet<&str> = self.gone.iter().filter_map(identity).collect();
        let come: BTreeSet<&str> = self.come.iter().filter_map(identity).collect();
        // What is where something was that nothing else leads to is in nobody's way.
        let new: Vec<&str> = come.difference(&gone).copied().collect();
        let is_taken = |entry: &Entry| entry.identity.as_deref().is_some_and(|taken| new.contains(&taken));
        self.gone.iter().all(is_single)
            && gone.len() == self.gone.iter().filter_map(identity).count()
            && come.len() == self.come.iter().filter_map(identity).count()
            && (new.is_empty() || !snapshot.entries.iter().any(is_taken))
    }

    /// Returns the skills called `name` as they stand in a snapshot, where `before` are those that did; `None` where that is
    /// not for them alone to say.
    fn resolved(
        &self,
        name: &SkillName,
        before: &'a [Entry],
        after: &'a [(Arc<str>, Arc<Listing>)],
        policy: &Policy,
    ) -> Option<Vec<Entry>> {
        let is_gone = |entry: &&Entry| self.gone.iter().any(|sourced| sourced.is(entry));
        let kept = before.iter().filter(|entry| !is_gone(entry));
        let kept =
            kept.map(|entry| (Sourced { provider: entry.provider, skill: &entry.listed }, &entry.also[..]));
        let come = self.come.iter().filter(|sourced| sourced.skill.document.name == *name);
        let come = come.map(|sourced| (*sourced, [].as_slice()));
        let mut members = kept
            .chain(come)
            .map(|(sourced, also)| Some((sourced.provider, sourced.position(after)?, sourced, also)))
            .collect::<Option<Vec<(usize, usize, Sourced<'_>, &[Route])>>>()?;
        members.sort_unstable_by_key(|(provider, position, ..)| (*provider, *position));

        let source = |sourced: &Sourced<'_>| &after[sourced.provider].0;
        let candidates: Vec<Candidate<'_>> =
            members.iter().map(|(.., sourced, _)| candidate(source(sourced), sourced.skill)).collect();
        let resolution = resolve::resolve(&candidates, policy);
        if !resolution.refusals.is_empty() {
            return None;
        }
        let entries =
            members.iter().zip(resolution.verdicts).map(|((provider, _, sourced, also), verdict)| {
                let Verdict::Distinct { state, diagnostic } = verdict else { return None };
                let entry = entry(*provider, source(sourced), sourced.skill, state, diagnostic);
                Some(Entry { also: also.to_vec(), ..entry })
            });
        let mut entries = entries.collect::<Option<Vec<Entry>>>()?;
        // The sort is stable, so skills of one state keep their precedence.
        entries.sort_by_key(|entry| entry.state);
        Some(entries)
    }
}

impl Sourced<'_> {
    /// Returns whether `entry` is what became of it in a snapshot.
    fn is(&self, entry: &Entry) -> bool {
        self.provider == entry.provider && Arc::ptr_eq(self.skill, &entry.listed)
    }

    /// Returns its place in the listing of its provider among `listings`, where that is sorted.
    fn position(&self, listings: &[(Arc<str>, Arc<Listing>)]) -> Option<usize> {
        let skills = &listings.get(self.provider)?.1.skills;
        let position = skills.binary_search_by(|skill| skill.locator.cmp(&self.skill.locator)).ok()?;
        Arc::ptr_eq(skills.get(position)?, self.skill).then_some(position)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use repertoire_model::policy::Duplicates;
    use repertoire_model::{Document, Profile, Source, Standing};

    use super::*;
    use crate::provider::Locator;
    use crate::registry::Change;

    const LOCATORS: [&str; 5] = ["a", "b", "c", "d", "e"];
    const NAMES: [&str; 3] = ["x", "y", "z"];
    const IDENTITIES: [Option<&str>; 5] = [None, None, Some("/1"), Some("/2"), Some("/3")];
    const STANDINGS: [Standing; 5] =
        [Standing::Sound, Standing::Sound, Standing::Sound, Standing::Quarantined, Standing::Abort];

    /// A skill of [`LOCATORS`], by the positions of what it is like.
    type Kind = Option<(usize, usize, usize)>;

    fn skill(locator: usize, (name, identity, standing): (usize, usize, usize)) -> Arc<Listed> {
        let text = format!("---\nname: {}\ndescription: Does it. Use when asked.\n---\n", NAMES[name]);
        let source = Source { bytes: text.as_bytes(), directory: None, file_name: "SKILL.md" };
        let document = Document::parse(source, &Policy::default());
        Arc::new(Listed {
            locator: Locator::new(LOCATORS[locator]),
            path: LOCATORS[locator].into(),
            manifest_file: "SKILL.md".into(),
            identity: IDENTITIES[identity].map(Into::into),
            document: Arc::new(Document { standing: STANDINGS[standing], ..document }),
        })
    }

    /// The skills of one source.
    type Shelf = Vec<Option<Arc<Listed>>>;

    fn listings(shelves: &[Shelf]) -> Vec<(Arc<str>, Arc<Listing>)> {
        let listing = |(index, shelf): (usize, &Shelf)| {
            let skills = shelf.iter().flatten().map(Arc::clone).collect();
            (format!("source-{index}").into(), Arc::new(Listing { skills, problems: Vec::new() }))
        };
        shelves.iter().enumerate().map(listing).collect()
    }

    fn kind() -> impl Strategy<Value = Kind> {
        prop::option::of((0..NAMES.len(), 0..IDENTITIES.len(), 0..STANDINGS.len()))
    }

    fn check(before: &[Shelf], after: &[Shelf], policy: &Policy) -> Option<()> {
        let (before, after) = (listings(before), listings(after));
        let snapshot = Snapshot::merge(&before, policy);
        let before: Vec<Arc<Listing>> = before.into_iter().map(|(_, listing)| listing).collect();
        let amended = snapshot.amended(&before, &after, policy)?;
        let merged = Snapshot::merge(&after, policy);
        assert!(amended.is_same_as(&merged), "{amended:?} is not {merged:?}");
        check_change(snapshot, amended);
        Some(())
    }

    /// Holds what is told of a change against a look at all names.
    fn check_change(before: Snapshot, after: Snapshot) {
        let change = Change::between(Arc::new(before), Arc::new(after), Duration::ZERO);
        let (mut added, mut removed, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        for name in NAMES.map(|name| SkillName::new(name).unwrap()) {
            let held =
                |snapshot: &'_ Snapshot| snapshot.active().find(|entry| *entry.name() == name).cloned();
            match (held(&change.before), held(&change.after)) {
                (None, Some(_)) => added.push(name),
                (Some(_), None) => removed.push(name),
                (Some(old), Some(new)) if old.path != new.path || old.source != new.source => {
                    changed.push(name)
                }
                _ => {}
            }
        }
        let told: Vec<SkillName> = change.changed.into_iter().map(|(name, _)| name).collect();
        assert_eq!((change.added, change.removed, told), (added, removed, changed));
    }

    proptest! {
        #[test]
        fn what_is_amended_is_what_is_merged(
            shelves in prop::collection::vec(prop::collection::vec(kind(), LOCATORS.len()), 1..4),
            changes in prop::collection::vec((0..3usize, 0..LOCATORS.len(), kind()), 0..4),
            duplicates in prop::sample::select(vec![
                Duplicates::Quarantine, Duplicates::FirstWins, Duplicates::LastWins, Duplicates::Abort]),
        ) {
            let shelf = |kinds: &Vec<Kind>| -> Shelf {
                kinds.iter().enumerate().map(|(index, kind)| kind.map(|kind| skill(index, kind))).collect()
            };
            let before: Vec<Shelf> = shelves.iter().map(shelf).collect();
            let mut after = before.clone();
            for (source, locator, kind) in changes {
                let source = source % after.len();
                after[source][locator] = kind.map(|kind| skill(locator, kind));
            }
            check(&before, &after, &Policy { duplicates, ..Policy::of(Profile::Standard) });
        }
    }

    #[test]
    fn single_changes_take_no_merge() {
        let shelf = |kinds: [Kind; 3]| -> Vec<Shelf> {
            let skill = |(index, kind): (usize, Kind)| kind.map(|kind| skill(index, kind));
            vec![kinds.into_iter().enumerate().map(skill).collect()]
        };
        let (x, y, z) = (Some((0, 2, 0)), Some((1, 3, 0)), Some((2, 4, 0)));
        let before = shelf([x, y, None]);
        let after = |index: usize, kind: Kind| {
            let mut after = before.clone();
            after[0][index] = kind.map(|kind| skill(index, kind));
            after
        };
        let policy = Policy::default();
        for (index, kind) in [(0, x), (2, z), (1, None), (1, x.map(|(name, ..)| (name, 3, 0)))] {
            assert_eq!(check(&before, &after(index, kind), &policy), Some(()), "{index} {kind:?}");
        }
        // Two ways to one skill are for the merge to find.
        assert_eq!(check(&before, &after(2, x), &policy), None);
    }
}
