//! Checks the skills that a skill requires: missing ones and cycles.

use std::collections::HashSet;

use repertoire_model::validate::Reporter;
use repertoire_model::{Diagnostic, Manifest, Policy, RuleId, SkillName, State, text};

use super::{Entry, Lookup, Snapshot};

/// The most skills that are followed to find a cycle.
const MAX_FOLLOWED: usize = 1_000;

/// Programs that skills of other clients list under `requires`, and that skills are hardly named after.
const PROGRAMS: &[&str] = &[
    "bash", "bun", "cargo", "curl", "go", "jq", "node", "npm", "npx", "pip", "python", "python3", "uv",
    "wget",
];

/// Returns the names of the skills that a skill with this `manifest` requires.
///
/// Other clients keep programs, packages and phrases in `requires`. These are left out where no skill has
/// such a name, and so is a list in `metadata` that names no skill at all.
pub(crate) fn required(manifest: &Manifest, snapshot: &Snapshot) -> Vec<String> {
    let is_in_metadata = manifest.metadata.iter().any(|(key, _)| key == "requires");
    let is_skill = |id: &String| !matches!(snapshot.find(id), Lookup::Unknown(_));
    if is_in_metadata && !manifest.requires.iter().any(is_skill) {
        return Vec::new();
    }
    manifest.requires.iter().filter(|id| !is_no_skill(id) || is_skill(id)).cloned().collect()
}

impl Snapshot {
    /// Returns the names of the skills that `entry` requires.
    pub fn required_by(&self, entry: &Entry) -> Vec<String> {
        required(&entry.document.manifest, self)
    }
}

/// Returns whether `id` is a program, a package or a phrase rather than the name of a skill.
fn is_no_skill(id: &str) -> bool {
    let name = id.rsplit(':').next().unwrap_or_default();
    PROGRAMS.contains(&name) || name.contains('.') || SkillName::new(name).is_none()
}

pub(super) fn check(entry: &Entry, snapshot: &Snapshot, policy: &Policy) -> Vec<Diagnostic> {
    let requires = required(&entry.document.manifest, snapshot);
    // In a library of a single skill the others are merely unknown.
    if requires.is_empty() || snapshot.entries().len() < 2 {
        return Vec::new();
    }
    let mut reporter = Reporter::new(policy);
    for id in &requires {
        let (problem, help) = match snapshot.find(id) {
            Lookup::Found(_) | Lookup::Quarantined(_) => continue,
            Lookup::Disabled(_) => {
                ("is disabled", "enable the skill, or take it out of `requires`".to_owned())
            }
            // The nearest names are too many to be suggestions: a part of the name is enough for one.
            Lookup::Unknown(near) => match text::nearest(id, near.iter().map(|name| name.as_str())) {
                Some(near) => ("does not exist", format!("did you mean `{near}`?")),
                None => ("does not exist", "add the skill, or take it out of `requires`".to_owned()),
            },
        };
        let message = format!("the required skill `{id}` {problem}");
        reporter.report(RuleId::RequiresUnknown, message).help(help);
    }
    if let Some(cycle) = cycle(entry, snapshot) {
        let names: Vec<&str> = cycle.iter().map(SkillName::as_str).collect();
        let message = format!("skills require each other: {}", names.join(" -> "));
        reporter.report(RuleId::RequiresCycle, message).help("let one of them stand without the other");
    }
    reporter.finish()
}

/// Returns a path from `entry` along required skills back to itself.
pub(crate) fn cycle(entry: &Entry, snapshot: &Snapshot) -> Option<Vec<SkillName>> {
    let mut seen = HashSet::new();
    // Each step holds the path to it, so that the cycle can be reported.
    let mut ways = vec![vec![entry]];
    while let Some(way) = ways.pop() {
        let last = way.last()?;
        for id in &last.document.manifest.requires {
            let Lookup::Found(next) = snapshot.find(id) else { continue };
            if next.name() == entry.name() && next.state == State::Active {
                return Some(way.iter().chain([&entry]).map(|entry| entry.name().clone()).collect());
            }
            if seen.len() < MAX_FOLLOWED && seen.insert(next.name()) {
                ways.push(way.iter().copied().chain([next]).collect());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Library, MemoryProvider, SkillDefinition};

    fn skill(name: &str, requires: &[&str]) -> SkillDefinition {
        let mut skill =
            SkillDefinition::new(name, format!("Does {name}. Use when {name} is asked for."), "# X\n");
        skill.manifest.requires = requires.iter().map(|id| (*id).to_owned()).collect();
        skill
    }

    fn found(skills: Vec<SkillDefinition>, name: &str) -> Vec<String> {
        let library = pollster::block_on(
            Library::builder().provider(Arc::new(MemoryProvider::new("test", skills))).open(),
        )
        .unwrap();
        let snapshot = library.snapshot();
        let Lookup::Found(entry) = snapshot.find(name) else { panic!("{name}") };
        let found = check(entry, &snapshot, library.registry().policy());
        found.into_iter().map(|found| format!("{}: {}", found.rule, found.message)).collect()
    }

    #[test]
    fn programs_in_metadata_are_no_skills() {
        let in_metadata = |name: &str, requires: &[&str]| {
            let mut skill = skill(name, requires);
            skill.manifest.metadata = vec![("requires".to_owned(), format!("{requires:?}"))];
            skill
        };
        let skills = || {
            vec![
                in_metadata("a", &["bun", "ethers.js"]),
                in_metadata("b", &["bun-file-io", "gone"]),
                skill("bun-file-io", &[]),
            ]
        };
        assert_eq!(found(skills(), "a"), Vec::<String>::new());
        assert_eq!(found(skills(), "b"), ["requires-unknown: the required skill `gone` does not exist"]);
    }

    #[test]
    fn programs_and_phrases_in_requires_are_no_skills() {
        let skills = || {
            vec![
                skill("a", &["python3", "emblemai"]),
                skill("b", &["Gemini API key", "ethers.js"]),
                skill("c", &["yt", "curl"]),
                skill("d", &["emblemia"]),
                skill("e", &["emblem"]),
                skill("f", &["docker", "Gemini API key"]),
                skill("yt", &[]),
                skill("emblemai", &[]),
                skill("ethers-js", &[]),
            ]
        };
        for name in ["a", "b", "c"] {
            assert_eq!(found(skills(), name), Vec::<String>::new(), "{name}");
        }
        assert_eq!(found(skills(), "f"), ["requires-unknown: the required skill `docker` does not exist"]);
        let help = |name: &str| {
            let library = pollster::block_on(
                Library::builder().provider(Arc::new(MemoryProvider::new("test", skills()))).open(),
            );
            let library = library.unwrap();
            let snapshot = library.snapshot();
            let Lookup::Found(entry) = snapshot.find(name) else { panic!("{name}") };
            check(entry, &snapshot, library.registry().policy()).remove(0).help.unwrap()
        };
        assert_eq!(help("d"), "did you mean `emblemai`?");
        assert_eq!(help("e"), "did you mean `emblemai`?");
    }

    #[test]
    fn a_required_skill_that_is_disabled_is_told_apart() {
        let provider = MemoryProvider::new("test", vec![skill("a", &["b"]), skill("b", &[])]);
        let disabled = repertoire_model::Pattern::new("b").unwrap();
        let library =
            pollster::block_on(Library::builder().provider(provider).disabled([disabled]).open()).unwrap();
        let snapshot = library.snapshot();
        let Lookup::Found(entry) = snapshot.find("a") else { panic!() };
        let found = check(entry, &snapshot, library.registry().policy());
        assert_eq!(found[0].message, "the required skill `b` is disabled");
    }

    #[test]
    fn required_skills_are_there_and_lead_nowhere_back() {
        let skills = || {
            vec![
                skill("a", &["b"]),
                skill("b", &["c"]),
                skill("c", &["a"]),
                skill("d", &["b", "nope"]),
                skill("e", &["e"]),
                skill("f", &[]),
            ]
        };
        assert_eq!(found(skills(), "a"), ["requires-cycle: skills require each other: a -> b -> c -> a"]);
        assert_eq!(found(skills(), "d"), ["requires-unknown: the required skill `nope` does not exist"]);
        assert_eq!(found(skills(), "e"), ["requires-cycle: skills require each other: e -> e"]);
        assert_eq!(found(skills(), "f"), Vec::<String>::new());
        assert_eq!(found(vec![skill("alone", &["nope"])], "alone"), Vec::<String>::new());
    }
}
