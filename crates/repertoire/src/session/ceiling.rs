//! What the authors of active skills want pre-approved, as a limit.

use std::collections::BTreeSet;

use repertoire_model::Pattern;

use super::open::Session;
use super::options::ToolCeiling;
use crate::approval::Trust;
use crate::registry::Entry;

impl Session {
    /// Returns the tools that may be called, in the words of `allowed-tools`, where the host chose that active skills limit them and
    /// one of them names some.
    ///
    /// The least trusted of these skills decides; of several, what all of them name is left. It never adds anything: a host lets through
    /// no more than it would have let through without it.
    pub fn tool_ceiling(&self) -> Option<BTreeSet<String>> {
        if self.options().tool_ceiling == ToolCeiling::Off {
            return None;
        }
        let snapshot = self.registry().snapshot();
        let mut ceiling: Option<(u8, BTreeSet<String>)> = None;
        let mut active: BTreeSet<String> = self.active().iter().map(ToString::to_string).collect();
        // Where no account is kept of instructions, loaded is what brings tools along.
        active.extend(self.state().exposed.skills().map(str::to_owned));
        for name in active {
            let Some(entry) = self.visible(&snapshot, &name) else { continue };
            let allowed: BTreeSet<String> = entry.document.manifest.allowed_tools.iter().cloned().collect();
            if allowed.is_empty() {
                continue;
            }
            let rank = self.rank_of(entry);
            ceiling = Some(match ceiling {
                Some((known, tools)) if known < rank => (known, tools),
                Some((known, tools)) if known == rank => {
                    (known, tools.intersection(&allowed).cloned().collect())
                }
                _ => (rank, allowed),
            });
        }
        ceiling.map(|(_, tools)| tools)
    }

    /// Returns how far the source of a skill is trusted, least first.
    fn rank_of(&self, entry: &Entry) -> u8 {
        let executor = self.registry().equipment().executor.as_ref();
        match executor.map_or(Trust::Ask, |executor| executor.options().trust.of(&entry.source)) {
            Trust::Never => 0,
            Trust::Ask => 1,
            Trust::Trusted => 2,
        }
    }

    /// Returns whether the ceiling, where there is one, lets the tool `tool` be called.
    pub(super) fn is_below_ceiling(&self, tool: &str) -> bool {
        let names = |allowed: &String| Pattern::new(allowed).is_ok_and(|pattern| pattern.matches("", tool));
        self.tool_ceiling()
            .is_none_or(|ceiling| ceiling.iter().any(|allowed| allowed == tool || names(allowed)))
    }
}
