//! The note to a model that a skill hides another one of the same name.

use super::agent::Agent;
use crate::registry::{Entry, Snapshot};

/// The most hidden skills of a kind that one note names.
const MAX_HIDDEN: usize = 3;

/// Returns the note that `entry`, a skill of `snapshot`, hides others of its name from all of `agents`;
/// `None` if it hides none or does not hold its name.
pub(crate) fn hiding_note<'a>(
    snapshot: &Snapshot,
    entry: &Entry,
    agents: impl Iterator<Item = &'a Agent> + Clone,
) -> Option<String> {
    let is_seen = |entry: &Entry| agents.clone().all(|agent| agent.sees(entry));
    let holder = snapshot.held_as(entry.name().as_str(), is_seen)?;
    if !std::ptr::eq(holder, entry) {
        return None;
    }
    let is_loadable = |hidden: &&Entry| hidden.state.is_reachable() && is_seen(hidden);
    let may_be_told = |hidden: &&Entry| agents.clone().all(|agent| agent.may_be_told_of(hidden));
    let (loadable, others): (Vec<&Entry>, Vec<&Entry>) = snapshot.hidden_by(entry).partition(is_loadable);
    let others: Vec<&Entry> = others.into_iter().filter(may_be_told).collect();
    let mut clauses = Vec::new();
    if !loadable.is_empty() {
        let names = named(&loadable, Entry::qualified_name);
        clauses.push(format!("hides another of the same name, which is loaded as {names}"));
    }
    if !others.is_empty() {
        let names = named(&others, |hidden| format!("{}:{}", hidden.told_source(), hidden.name()));
        clauses.push(format!("takes the place of {names}, which the project's configuration turns off"));
    }
    let source = entry.told_source();
    (!clauses.is_empty()).then(|| format!("This skill comes from `{source}` and {}.", clauses.join(", and ")))
}

/// Returns the first of `entries` as `name` writes them.
fn named(entries: &[&Entry], name: impl Fn(&Entry) -> String) -> String {
    let names = entries.iter().take(MAX_HIDDEN).map(|entry| format!("`{}`", name(entry)));
    names.collect::<Vec<_>>().join(", ")
}
