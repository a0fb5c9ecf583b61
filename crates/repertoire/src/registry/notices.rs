//! Short notices about skills that are not offered, or not the ones that their user may expect.

use repertoire_model::{State, text};

use super::snapshot::{Entry, Snapshot};
use crate::session::SOFT_LIMIT_TOKENS;

const MAX_NAMED: usize = 5;

const MAX_NAME_CHARS: usize = 100;

/// The bytes of instructions that have about as many tokens as [`SOFT_LIMIT_TOKENS`]. Their exact number is
/// known once the skill is loaded.
const SOFT_LIMIT_BYTES: usize = 4 * SOFT_LIMIT_TOKENS;

impl Snapshot {
    /// Returns one bounded line for each kind of surprise among the skills that `is_seen` accepts, for
    /// people: skills that broke after they were read, broken skills, skills that another one of their source
    /// has the name of, skills with too many instructions, and skills that hide one of another tier, such as
    /// the user's, or a different one of their own tier.
    ///
    /// Nothing in them is longer than a line; names are made visible, but not escaped for markup.
    pub fn notices(&self, is_seen: impl Fn(&Entry) -> bool) -> Vec<String> {
        let hidden = |entry: &Entry| {
            self.hidden_by(entry).chain(self.different_twins(entry)).find(|hidden| is_seen(hidden))
        };
        let mut notices = self.notices_with(&is_seen, hidden, |entry| entry.source.to_string());
        let is_large =
            |entry: &&Entry| entry.document.body.length > SOFT_LIMIT_BYTES && entry.state == State::Active;
        let large =
            self.entries().iter().filter(|entry| self.tells_oversize && is_seen(entry)).filter(is_large);
        notices.extend(line(
            large.map(|entry| shown(entry.name().as_str())).collect(),
            "skill has more instructions than the 8,000 tokens that models handle well, by the size of its file",
            "skills have more instructions than the 8,000 tokens that models handle well, by the size of their files",
        ));
        notices
    }

    /// Returns the same notices for a model that may know of the skills that `is_seen` accepts, and may be
    /// told that the skills that `is_told` accepts are hidden. Hidden skills of the same tier are left out:
    /// the model can do nothing about them.
    pub(crate) fn notices_for_models(
        &self,
        is_seen: impl Fn(&Entry) -> bool,
        is_told: impl Fn(&Entry) -> bool,
    ) -> Vec<String> {
        let hidden = |entry: &Entry| self.hidden_by(entry).find(|hidden| is_told(hidden));
        self.notices_with(is_seen, hidden, Entry::told_source)
    }

    /// Returns the shadowed skills of the name and the tier of `entry` whose `SKILL.md` differs from its own.
    fn different_twins(&self, entry: &Entry) -> impl Iterator<Item = &Entry> {
        let content = |entry: &Entry| {
            let (head, body) = (entry.document.head_checksum, &entry.document.body);
            (head, body.checksum, body.length)
        };
        let shadowed = self.named(entry.name().as_str()).iter().filter(|it| it.state == State::Shadowed);
        shadowed.filter(move |it| it.tier() == entry.tier() && content(it) != content(entry))
    }

    /// Returns the notices about the skills that `is_seen` accepts; `hidden` finds the skill that another one
    /// hides, and `source` names the source of a skill.
    fn notices_with<'s>(
        &'s self,
        is_seen: impl Fn(&Entry) -> bool,
        hidden: impl Fn(&'s Entry) -> Option<&'s Entry>,
        source: impl Fn(&Entry) -> String,
    ) -> Vec<String> {
        let seen = || self.entries().iter().filter(|entry| is_seen(entry));
        let set_aside = || seen().filter(|entry| entry.state == State::Quarantined);
        let name = |entry: &Entry| shown(entry.name().as_str());
        let broken: Vec<String> = set_aside().filter(|entry| entry.collision.is_none()).map(name).collect();
        let doubled: Vec<String> = set_aside().filter(|entry| entry.collision.is_some()).map(name).collect();
        let hiding: Vec<String> = self
            .held(&is_seen)
            .filter_map(|entry| {
                let hidden = hidden(entry)?;
                let (from, instead) = (shown(&source(entry)), shown(&source(hidden)));
                Some(format!("{} ({from} instead of {instead})", shown(entry.name().as_str())))
            })
            .collect();
        let is_stale = |entry: &&Entry| entry.state == State::Active && entry.is_last_good();
        let stale: Vec<String> = seen().filter(is_stale).map(name).collect();
        let kinds = [
            (
                stale,
                "skill broke after it was read, and its last good version stays in the catalog",
                "skills broke after they were read, and their last good versions stay in the catalog",
            ),
            (
                broken,
                "skill is not offered because it is broken",
                "skills are not offered because they are broken",
            ),
            (
                doubled,
                "skill is not offered because another one of its source has its name",
                "skills are not offered because others of their source have their names",
            ),
            (hiding, "skill hides another of the same name", "skills hide others of the same name"),
        ];
        kinds.into_iter().filter_map(|(names, one, many)| line(names, one, many)).collect()
    }
}

fn line(mut names: Vec<String>, one: &str, many: &str) -> Option<String> {
    names.dedup();
    let what = if names.len() == 1 { one } else { many };
    let named = names.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| format!("{} {what}: {named}{more}", names.len()))
}

fn shown(name: &str) -> String {
    text::shorten(&text::visible_line(name), MAX_NAME_CHARS)
}
