//! Resolves skills of the same name: takes candidates in order of precedence, returns a verdict on each.

use crate::document::Standing;
use crate::policy::{Duplicates, Policy};
use crate::rule::RuleId;
use crate::{Diagnostic, SkillName};

/// A skill that wants its name, as resolution sees it.
#[derive(Debug, Clone, Copy)]
pub struct NameCandidate<'a> {
    /// The name it wants.
    pub name: &'a SkillName,
    /// The source it comes from.
    pub source: &'a str,
    /// Its location, for people.
    pub path: &'a str,
    /// The identity of the skill; two candidates with the same one are one skill, reached twice.
    pub identity: Option<&'a str>,
    /// The standing, which decides whether it can win at all.
    pub standing: Standing,
}

crate::words! {
    /// The state of a skill in a snapshot.
    #[derive(PartialOrd, Ord)]
    State {
        /// It holds its name and is offered to agents.
        Active "active",
        /// Another skill holds its name; it is reached as `source:name`.
        Shadowed "shadowed",
        /// The policy disables it: no agent is offered it, and it holds no name.
        Disabled "disabled",
        /// It is set aside and reported.
        Quarantined "quarantined",
    }
}

impl State {
    /// Returns `true` if agents can reach the skill, by its name or as `source:name`.
    pub fn is_reachable(self) -> bool {
        matches!(self, Self::Active | Self::Shadowed)
    }
}

/// The verdict on one candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is a skill of its own, in this state, for this reason where there is one.
    Distinct {
        /// Its state.
        state: State,
        /// The reason, when it lost its name; in a box, because few do.
        diagnostic: Option<Box<Diagnostic>>,
    },
    /// It is the same skill as the candidate at this index, which comes first.
    SameAs(usize),
}

/// The verdicts on all candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resolution {
    /// One verdict for each candidate, in their order.
    pub verdicts: Vec<Verdict>,
    /// The candidates because of which the policy refuses the whole library.
    pub refusals: Vec<usize>,
}

/// Decides which candidate holds each name. Candidates come in order of precedence, first ones first.
///
/// Of several skills of one name in one source, one represents the source: the first, or the last if the
/// policy prefers it. The others are quarantined under every policy, because `source:name` can name only one.
/// Of the representatives one is active and the others are shadowed. Disabled skills take no part.
///
/// It sorts instead of using hash tables: candidates of one source come sorted and mostly under the names of
/// their directories, so that sorting them again takes one comparison each, whatever the names are.
pub fn resolve(candidates: &[NameCandidate<'_>], policy: &Policy) -> Resolution {
    let set_aside = Verdict::Distinct { state: State::Quarantined, diagnostic: None };
    let mut verdicts = vec![set_aside; candidates.len()];
    let mut refusals = Vec::new();

    for (index, first) in reached_twice(candidates) {
        verdicts[index] = Verdict::SameAs(first);
    }
    let mut named: Vec<usize> = Vec::with_capacity(candidates.len());
    for (index, (candidate, verdict)) in candidates.iter().zip(&mut verdicts).enumerate() {
        match (&verdict, candidate.standing) {
            (Verdict::SameAs(_), _) => {}
            _ if policy.disables(candidate.source, candidate.name.as_str()) => {
                *verdict = Verdict::Distinct { state: State::Disabled, diagnostic: None };
            }
            (_, Standing::Quarantined) => {}
            (_, Standing::Sound) => named.push(index),
            (_, Standing::Abort) => refusals.push(index),
        }
    }

    // The sort is stable, so those of one name and source keep their precedence.
    let key = |index: usize| (candidates[index].name, candidates[index].source);
    named.sort_by(|a, b| key(*a).cmp(&key(*b)));
    for of_name in named.chunk_by(|a, b| candidates[*a].name == candidates[*b].name) {
        let winner = champion(of_name.iter().copied(), policy);
        // `source:name` can name only one skill, so each source settles on one of its own.
        for of_source in of_name.chunk_by(|a, b| candidates[*a].source == candidates[*b].source) {
            let twin = champion(of_source.iter().copied(), policy);
            for index in of_source.iter().copied() {
                let (state, taker) = match Some(index) {
                    index if index != twin => (State::Quarantined, twin),
                    index if index != winner => (State::Shadowed, winner),
                    _ => (State::Active, None),
                };
                if taker.is_some() && policy.duplicates == Duplicates::Abort {
                    refusals.push(index);
                }
                let diagnostic =
                    taker.and_then(|taker| duplicate(&candidates[index], &candidates[taker], policy));
                verdicts[index] = Verdict::Distinct { state, diagnostic };
            }
        }
    }
    refusals.retain(|index: &usize| !policy.tolerates(candidates[*index].source));
    refusals.sort_unstable();
    Resolution { verdicts, refusals }
}

/// Returns the candidates that an earlier one leads to as well, each with the first that does.
fn reached_twice(candidates: &[NameCandidate<'_>]) -> Vec<(usize, usize)> {
    let mut identities: Vec<(&str, usize)> = candidates
        .iter()
        .enumerate()
        .filter_map(|(index, candidate)| Some((candidate.identity?, index)))
        .collect();
    identities.sort_by_key(|(identity, _)| *identity);
    let mut twice = Vec::new();
    for same in identities.chunk_by(|a, b| a.0 == b.0) {
        if let [(_, first), others @ ..] = same {
            twice.extend(others.iter().map(|(_, index)| (*index, *first)));
        }
    }
    twice
}

/// Returns the candidate that the policy prefers.
fn champion(indices: impl Iterator<Item = usize>, policy: &Policy) -> Option<usize> {
    match policy.duplicates {
        Duplicates::LastWins => indices.max(),
        Duplicates::Quarantine | Duplicates::FirstWins | Duplicates::Abort => indices.min(),
    }
}

fn duplicate(
    loser: &NameCandidate<'_>,
    winner: &NameCandidate<'_>,
    policy: &Policy,
) -> Option<Box<Diagnostic>> {
    let severity = policy.severity(RuleId::DuplicateName)?;
    let (name, source) = (loser.name, loser.source);
    let help = if winner.source == source {
        "give one of them another name, or remove it".to_owned()
    } else {
        format!("address this one as `{source}:{name}`, or give one of them another name")
    };
    Some(Box::new(Diagnostic {
        rule: RuleId::DuplicateName,
        severity,
        message: format!(
            "the name `{name}` is taken by {} ({}), which wins over {} ({source})",
            winner.path, winner.source, loser.path
        ),
        help: Some(help),
        file: None,
        span: None,
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Profile;
    use crate::scope::Pattern;

    #[derive(Debug)]
    struct Case {
        name: SkillName,
        source: &'static str,
        path: &'static str,
        identity: Option<&'static str>,
        standing: Standing,
    }

    fn case(name: &str, source: &'static str, path: &'static str) -> Case {
        Case { name: SkillName::new(name).unwrap(), source, path, identity: None, standing: Standing::Sound }
    }

    fn run(cases: &[Case], duplicates: Duplicates) -> (Vec<&'static str>, Vec<usize>) {
        let candidates: Vec<NameCandidate<'_>> = cases
            .iter()
            .map(|c| NameCandidate {
                name: &c.name,
                source: c.source,
                path: c.path,
                identity: c.identity,
                standing: c.standing,
            })
            .collect();
        let policy = Policy { duplicates, ..Policy::of(Profile::Standard) };
        let resolution = resolve(&candidates, &policy);
        let states = resolution
            .verdicts
            .iter()
            .map(|verdict| match verdict {
                Verdict::Distinct { state, .. } => state.as_str(),
                Verdict::SameAs(_) => "same",
            })
            .collect();
        (states, resolution.refusals)
    }

    #[test]
    fn skills_of_tolerated_sources_are_no_reason_to_refuse() {
        let mut policy = Policy::of(Profile::Strict);
        let refused = |policy: &Policy| {
            let cases = ["project:a", "user:b", "config:c"].map(|source| case("a", source, source));
            let candidates = cases.each_ref().map(|c| NameCandidate {
                name: &c.name,
                source: c.source,
                path: c.path,
                identity: None,
                standing: Standing::Abort,
            });
            resolve(&candidates, policy).refusals
        };
        assert_eq!(refused(&policy), [0, 1, 2]);
        policy.tolerated_sources = ["user", "config:c"].map(str::to_owned).to_vec();
        assert_eq!(refused(&policy), [0]);
    }

    #[test]
    fn the_first_source_wins_and_the_loser_is_named() {
        let cases = [case("a", "project", "/p/a"), case("a", "user", "/u/a"), case("b", "user", "/u/b")];
        assert_eq!(run(&cases, Duplicates::Quarantine), (vec!["active", "shadowed", "active"], vec![]));
        assert_eq!(run(&cases, Duplicates::FirstWins).0, ["active", "shadowed", "active"]);
        assert_eq!(run(&cases, Duplicates::LastWins).0, ["shadowed", "active", "active"]);
        assert_eq!(run(&cases, Duplicates::Abort).1, [1]);
    }

    #[test]
    fn twins_within_one_source_are_quarantined() {
        let cases = [case("a", "user", "/u/one"), case("a", "user", "/u/two")];
        assert_eq!(run(&cases, Duplicates::Quarantine).0, ["active", "quarantined"]);
        assert_eq!(run(&cases, Duplicates::FirstWins).0, ["active", "quarantined"]);
        assert_eq!(run(&cases, Duplicates::LastWins).0, ["quarantined", "active"]);
        assert_eq!(run(&cases, Duplicates::Abort), (vec!["active", "quarantined"], vec![1]));
    }

    #[test]
    fn twins_below_a_shadow_are_quarantined_too() {
        let cases = [case("a", "project", "/p/a"), case("a", "user", "/u/one"), case("a", "user", "/u/two")];
        assert_eq!(run(&cases, Duplicates::Quarantine).0, ["active", "shadowed", "quarantined"]);
        assert_eq!(run(&cases, Duplicates::FirstWins).0, ["active", "shadowed", "quarantined"]);
        assert_eq!(run(&cases, Duplicates::LastWins).0, ["shadowed", "quarantined", "active"]);
        assert_eq!(run(&cases, Duplicates::Abort).1, [1, 2]);
    }

    #[test]
    fn the_same_directory_reached_twice_is_one_skill() {
        let mut cases = [case("a", "project", "/p/a"), case("a", "user", "/u/a")];
        cases[0].identity = Some("/real/a");
        cases[1].identity = Some("/real/a");
        assert_eq!(run(&cases, Duplicates::Abort), (vec!["active", "same"], vec![]));
    }

    #[test]
    fn a_broken_skill_does_not_take_the_name() {
        let mut cases = [case("a", "project", "/p/a"), case("a", "user", "/u/a")];
        cases[0].standing = Standing::Quarantined;
        assert_eq!(run(&cases, Duplicates::Quarantine).0, ["quarantined", "active"]);
        cases[0].standing = Standing::Abort;
        assert_eq!(run(&cases, Duplicates::Quarantine).1, [0]);
    }

    #[test]
    fn a_disabled_skill_takes_no_part() {
        let mut policy = Policy::of(Profile::Strict);
        let mut cases = [case("a", "project", "/p/a"), case("a", "user", "/u/a"), case("b", "user", "/u/b")];
        cases[2].standing = Standing::Abort;
        let resolved = |policy: &Policy| {
            let candidates = cases.each_ref().map(|c| NameCandidate {
                name: &c.name,
                source: c.source,
                path: c.path,
                identity: None,
                standing: c.standing,
            });
            let resolution = resolve(&candidates, policy);
            let state = |verdict: &Verdict| match verdict {
                Verdict::Distinct { state, diagnostic } => (*state, diagnostic.is_some()),
                Verdict::SameAs(_) => panic!(),
            };
            (resolution.verdicts.iter().map(state).collect::<Vec<_>>(), resolution.refusals)
        };
        let (off, on) = ((State::Disabled, false), (State::Active, false));
        assert_eq!(resolved(&policy).1, [1, 2]);
        policy.disabled = ["project:a", "b"].map(|pattern| Pattern::new(pattern).unwrap()).to_vec();
        assert_eq!(resolved(&policy), (vec![off, on, off], vec![]));
        policy.disabled = vec![Pattern::new("?").unwrap()];
        assert_eq!(resolved(&policy), (vec![off; 3], vec![]));
    }

    #[test]
    fn the_diagnostic_names_both_origins() {
        let (name, policy) = (SkillName::new("a").unwrap(), Policy::default());
        let candidate = |source, path| NameCandidate {
            name: &name,
            source,
            path,
            identity: None,
            standing: Standing::Sound,
        };
        let resolution = resolve(&[candidate("project", "/p/a"), candidate("user", "/u/a")], &policy);
        let Verdict::Distinct { diagnostic: Some(diagnostic), .. } = &resolution.verdicts[1] else {
            panic!()
        };
        assert_eq!(
            diagnostic.message,
            "the name `a` is taken by /p/a (project), which wins over /u/a (user)"
        );
        assert_eq!(
            diagnostic.help.as_deref(),
            Some("address this one as `user:a`, or give one of them another name")
        );
    }

    /// Returns the expected state of each candidate, by comparing it with all others.
    fn expected(cases: &[Case], last_wins: bool) -> Vec<&'static str> {
        let is_first = |index: usize| {
            cases[index].identity.is_none()
                || !cases[..index].iter().any(|other| other.identity == cases[index].identity)
        };
        let takes_part = |index: usize| is_first(index) && cases[index].standing == Standing::Sound;
        let wins = |index: usize, is_rival: &dyn Fn(&Case) -> bool| {
            let mut rivals = (0..cases.len()).filter(|other| takes_part(*other) && is_rival(&cases[*other]));
            (if last_wins { rivals.last() } else { rivals.next() }) == Some(index)
        };
        let state = |index: usize| {
            let case = &cases[index];
            let of_name = |other: &Case| other.name == case.name;
            match () {
                () if !is_first(index) => "same",
                () if !takes_part(index) => "quarantined",
                () if !wins(index, &|other| of_name(other) && other.source == case.source) => "quarantined",
                () if !wins(index, &of_name) => "shadowed",
                () => "active",
            }
        };
        (0..cases.len()).map(state).collect()
    }

    fn cases() -> impl Strategy<Value = Vec<Case>> {
        let identity = prop::option::of(prop::sample::select(vec!["/1", "/2", "/3", "/4", "/5"]));
        let standing = prop::sample::select(vec![
            Standing::Sound,
            Standing::Sound,
            Standing::Quarantined,
            Standing::Abort,
        ]);
        let name = prop::sample::select(vec!["a", "b", "c"]);
        let source = prop::sample::select(vec!["one", "two", "three"]);
        let case = (name, source, identity, standing).prop_map(|(name, source, identity, standing)| Case {
            identity,
            standing,
            ..case(name, source, "/path")
        });
        prop::collection::vec(case, 0..12)
    }

    proptest! {
        #[test]
        fn verdicts_are_those_of_looking_at_all_others(cases in cases()) {
            prop_assert_eq!(run(&cases, Duplicates::FirstWins).0, expected(&cases, false));
            prop_assert_eq!(run(&cases, Duplicates::LastWins).0, expected(&cases, true));
            let (states, refusals) = run(&cases, Duplicates::Abort);
            let is_refused = |index: &usize| match cases[*index].standing {
                Standing::Abort => states[*index] != "same",
                Standing::Sound => matches!(states[*index], "shadowed" | "quarantined"),
                Standing::Quarantined => false,
            };
            prop_assert_eq!(refusals, (0..cases.len()).filter(is_refused).collect::<Vec<_>>());
        }
    }
}
