//! Which of several skills wins: candidates in order of precedence in, a verdict on each out.

use std::collections::HashMap;

use crate::document::Standing;
use crate::policy::{Duplicates, Policy};
use crate::validate::RuleId;
use crate::{Diagnostic, SkillName};

/// A skill that wants its name, as resolution sees it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The name it wants.
    pub name: &'a SkillName,
    /// The source it comes from.
    pub source: &'a str,
    /// Where a person finds it.
    pub path: &'a str,
    /// What tells that two candidates are the very same skill, reached twice.
    pub identity: Option<&'a str>,
    /// Whether it is fit to win at all.
    pub standing: Standing,
}

/// What becomes of a skill in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It holds its name and is offered to agents.
    Active,
    /// Another skill holds its name; it is reached as `source:name`.
    Shadowed,
    /// It is set aside and reported.
    Quarantined,
}

impl State {
    /// Returns the word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Shadowed => "shadowed",
            Self::Quarantined => "quarantined",
        }
    }
}

/// What was decided about one candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is a skill of its own, in this state, for this reason where there is one.
    Distinct {
        /// What becomes of it.
        state: State,
        /// Why, when it lost its name.
        diagnostic: Option<Diagnostic>,
    },
    /// It is the same skill as the candidate at this index, which comes first.
    SameAs(usize),
}

/// The verdicts on all candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// One verdict for each candidate, in their order.
    pub verdicts: Vec<Verdict>,
    /// The candidates because of which the policy refuses the whole library.
    pub refusals: Vec<usize>,
}

/// Decides which candidate holds each name. Candidates come in order of precedence, first ones first.
///
/// Of several skills of one name in one source, one stands for the source: the first, or the last where the policy has
/// the last win. The others are quarantined, whatever the policy, because `source:name` can name only one. Of those
/// that stand for their sources one is active and the others are shadowed.
pub fn resolve(candidates: &[Candidate<'_>], policy: &Policy) -> Resolution {
    let mut verdicts: Vec<Option<Verdict>> = vec![None; candidates.len()];
    let mut refusals = Vec::new();

    let mut identities: HashMap<&str, usize> = HashMap::with_capacity(candidates.len());
    for (index, candidate) in candidates.iter().enumerate() {
        if let Some(identity) = candidate.identity {
            let first = *identities.entry(identity).or_insert(index);
            if first != index {
                verdicts[index] = Some(Verdict::SameAs(first));
                continue;
            }
        }
        if candidate.standing != Standing::Sound {
            verdicts[index] = Some(Verdict::Distinct { state: State::Quarantined, diagnostic: None });
            if candidate.standing == Standing::Abort {
                refusals.push(index);
            }
        }
    }

    // `source:name` can name only one skill, so each source first settles on one of its own.
    let mut standing: HashMap<(&str, &SkillName), usize> = HashMap::with_capacity(candidates.len());
    let mut winners: HashMap<&SkillName, usize> = HashMap::with_capacity(candidates.len());
    let last_wins = policy.duplicates == Duplicates::LastWins;
    for (index, candidate) in candidates.iter().enumerate().filter(|(index, _)| verdicts[*index].is_none()) {
        let of_source = standing.entry((candidate.source, candidate.name)).or_insert(index);
        let of_all = winners.entry(candidate.name).or_insert(index);
        if last_wins {
            (*of_source, *of_all) = (index, index);
        }
    }

    for (index, candidate) in candidates.iter().enumerate() {
        if verdicts[index].is_some() {
            continue;
        }
        let twin = standing[&(candidate.source, candidate.name)];
        let winner = winners[candidate.name];
        let (state, taker) = match index {
            index if index != twin => (State::Quarantined, Some(twin)),
            index if index != winner => (State::Shadowed, Some(winner)),
            _ => (State::Active, None),
        };
        if taker.is_some() && policy.duplicates == Duplicates::Abort {
            refusals.push(index);
        }
        let diagnostic = taker.and_then(|taker| duplicate(candidate, &candidates[taker], policy));
        verdicts[index] = Some(Verdict::Distinct { state, diagnostic });
    }
    refusals.sort_unstable();
    Resolution { verdicts: verdicts.into_iter().flatten().collect(), refusals }
}

fn duplicate(loser: &Candidate<'_>, winner: &Candidate<'_>, policy: &Policy) -> Option<Diagnostic> {
    let severity = policy.severity(RuleId::DuplicateName)?;
    let (name, source) = (loser.name, loser.source);
    let help = if winner.source == source {
        "give one of them another name, or remove it".to_owned()
    } else {
        format!("address this one as `{source}:{name}`, or give one of them another name")
    };
    Some(Diagnostic {
        rule: RuleId::DuplicateName,
        severity,
        message: format!(
            "the name `{name}` is taken by {} ({}), which wins over {} ({source})",
            winner.path, winner.source, loser.path
        ),
        help: Some(help),
        file: None,
        span: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

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
        let candidates: Vec<Candidate<'_>> = cases
            .iter()
            .map(|c| Candidate {
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
    fn the_diagnostic_names_both_origins() {
        let (name, policy) = (SkillName::new("a").unwrap(), Policy::default());
        let candidate =
            |source, path| Candidate { name: &name, source, path, identity: None, standing: Standing::Sound };
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
}
