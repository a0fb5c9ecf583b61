//! The tools that active skills allow, as a limit on what may be called.

use std::collections::BTreeSet;

use repertoire_model::Pattern;

use super::options::ToolCeiling;
use super::skill_tools::SkillTools;

impl SkillTools<'_> {
    /// Returns the tools that may be called, in the syntax of `allowed-tools`, if the host lets active skills
    /// limit them and one of them names some.
    ///
    /// It is the intersection of the lists of these skills, so loading another skill can take tools away and
    /// never adds any. Of `git_*` and `git_status` the second is left, of `Bash` and `Bash(git:*)` too; of
    /// two patterns that merely overlap, neither.
    pub fn ceiling(&self) -> Option<BTreeSet<String>> {
        self.ceilings().into_iter().reduce(|all, own| common(&all, &own))
    }

    /// Returns the tools that each active skill names, for the skills that name any.
    fn ceilings(&self) -> Vec<BTreeSet<String>> {
        if self.session.options().running.tool_ceiling == ToolCeiling::Off {
            return Vec::new();
        }
        let snapshot = self.session.registry().snapshot();
        let mut active: BTreeSet<String> =
            self.session.context().loaded().iter().map(ToString::to_string).collect();
        // Without tracking of the context, loaded skills are those whose tools are callable.
        active.extend(self.session.state().exposed.skills().map(str::to_owned));
        let named = active.iter().filter_map(|name| {
            let allowed = &self.session.lookup().visible(&snapshot, name)?.document.manifest.allowed_tools;
            (!allowed.is_empty()).then(|| allowed.iter().cloned().collect())
        });
        named.collect()
    }

    /// Returns whether the ceiling, where there is one, lets the tool `tool` be called.
    pub(super) fn is_below_ceiling(&self, tool: &str) -> bool {
        let ceilings = self.ceilings();
        ceilings.iter().all(|ceiling| ceiling.iter().any(|allowed| covers(allowed, tool)))
    }
}

/// Returns the intersection of two lists.
fn common(one: &BTreeSet<String>, other: &BTreeSet<String>) -> BTreeSet<String> {
    let within = |all: &BTreeSet<String>, of: &BTreeSet<String>| -> Vec<String> {
        of.iter().filter(|word| all.iter().any(|wider| covers(wider, word))).cloned().collect()
    };
    within(one, other).into_iter().chain(within(other, one)).collect()
}

/// Returns whether `wider` covers everything that `word` covers.
fn covers(wider: &str, word: &str) -> bool {
    if wider == word {
        return true;
    }
    let tool = word.split_once('(').map_or(word, |(tool, _)| tool);
    // A pattern covers another only if that is not a pattern, and text in brackets is opaque.
    let is_plain = !tool.contains(['*', '?']) && !wider.contains('(');
    is_plain && Pattern::new(wider).is_ok_and(|pattern| pattern.matches("", tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_intersection_of_two_lists_is_within_both() {
        let check = |one: &str, other: &str, expect: &str| {
            let set = |words: &str| words.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
            assert_eq!(common(&set(one), &set(other)), set(expect), "{one} and {other}");
            assert_eq!(common(&set(other), &set(one)), set(expect), "{other} and {one}");
        };
        check("git_*", "git_status Read", "git_status");
        check("Bash", "Bash(git:*) Write", "Bash(git:*)");
        check("Bash(git:*)", "Bash(git:*) Bash(ls)", "Bash(git:*)");
        check("Bash(git:*)", "Bash(ls)", "");
        check("git_*", "*_status", "");
        check("*", "a b", "a b");
        check("a", "b", "");
    }
}
