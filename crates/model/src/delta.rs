//! The note to a model about changes since its catalog was written.
//!
//! A catalog stands at the start of a cached prompt, so it stays as it is during a conversation. Skills that
//! were added, removed or described anew, and loaded instructions that changed, are announced at the end
//! instead, as data in a wrapper of its own.

use std::collections::BTreeMap;

use crate::catalog::{flatten, shown_name};
use crate::escape::push_xml;
use crate::name::USABLE_MAX_CHARS;
use crate::text::shorten;

/// The most skills that are listed for each kind of change; the others are counted.
pub const MAX_LISTED: usize = 50;

/// The most characters of a description.
pub const MAX_DELTA_DESCRIPTION_CHARS: usize = 240;

/// The changes between two catalogs, each list sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delta {
    /// Skills that were not there before.
    pub added: Vec<DescribedSkill>,
    /// The names of the skills that are no longer there.
    pub removed: Vec<String>,
    /// Skills that are described anew.
    pub changed: Vec<DescribedSkill>,
    /// The names of loaded skills whose instructions are others now.
    pub edited: Vec<String>,
}

/// A skill as a note shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DescribedSkill {
    /// Its name.
    pub name: String,
    /// Its description, on one line and shortened.
    pub description: String,
}

impl Delta {
    /// Returns the changes from the skills `old` to the skills `new`, names and descriptions in any order.
    ///
    /// ```
    /// use repertoire_model::delta::Delta;
    /// let delta = Delta::between(&[("git", "Commits.")], &[("docx", "Word files."), ("git", "Commits.")]);
    /// assert_eq!(
    ///     delta.render("load_skill"),
    ///     "The skills you can load with `load_skill` have changed:\n\
    ///      <skills_changed>\nAdded:\n- docx: Word files.\n</skills_changed>"
    /// );
    /// ```
    pub fn between(old: &[(&str, &str)], new: &[(&str, &str)]) -> Self {
        let (old, new) = (by_name(old), by_name(new));
        let mut delta = Self::default();
        for (name, description) in &new {
            let described = || DescribedSkill { name: (*name).to_owned(), description: shown(description) };
            match old.get(name) {
                None => delta.added.push(described()),
                Some(before) if flatten(before) != flatten(description) => delta.changed.push(described()),
                Some(_) => (),
            }
        }
        delta.removed =
            old.keys().filter(|name| !new.contains_key(*name)).map(|name| (*name).to_owned()).collect();
        delta
    }

    /// Returns this with the names of the loaded skills whose instructions changed on disk, in any order.
    ///
    /// ```
    /// use repertoire_model::delta::Delta;
    /// let delta = Delta::default().edited(vec!["git".to_owned()]);
    /// assert!(delta.render("load_skill").contains("Instructions changed: git (load again to get them).\n"));
    /// ```
    pub fn edited(mut self, mut names: Vec<String>) -> Self {
        names.sort_unstable();
        names.dedup();
        self.edited = names;
        self
    }

    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty() && self.edited.is_empty()
    }

    /// Returns the note, without a line end at its end; the empty text where nothing changed.
    pub fn render(&self, load_tool: &str) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut note =
            format!("The skills you can load with `{load_tool}` have changed:\n<skills_changed>\n");
        push_described(&mut note, "Added", &self.added);
        push_names(&mut note, "Removed, no longer available", &self.removed, "");
        push_described(&mut note, "Descriptions changed", &self.changed);
        push_names(&mut note, "Instructions changed", &self.edited, " (load again to get them).");
        note.push_str("</skills_changed>");
        note
    }
}

/// Returns the note that offers `skills`, each a name and a description, for files of the project; the empty
/// text where there are not any. It has no line end at its end.
///
/// ```
/// use repertoire_model::delta::for_files;
/// assert_eq!(
///     for_files(&[("pdf", "Fills forms.")], "load_skill"),
///     "Skills for some files of this project; load one with `load_skill` before you change such files:\n\
///      <skills_for_files>\n- pdf: Fills forms.\n</skills_for_files>"
/// );
/// ```
pub fn for_files(skills: &[(&str, &str)], load_tool: &str) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let mut note = format!(
        "Skills for some files of this project; load one with `{load_tool}` before you change such files:\n<skills_for_files>\n"
    );
    let described = |(name, description): &(&str, &str)| DescribedSkill {
        name: (*name).to_owned(),
        description: shown(description),
    };
    push_list(&mut note, &skills.iter().map(described).collect::<Vec<_>>());
    note.push_str("</skills_for_files>");
    note
}

fn by_name<'a>(skills: &[(&'a str, &'a str)]) -> BTreeMap<&'a str, &'a str> {
    skills.iter().copied().collect()
}

fn shown(description: &str) -> String {
    shorten(&flatten(description), MAX_DELTA_DESCRIPTION_CHARS)
}

fn push_described(note: &mut String, title: &str, skills: &[DescribedSkill]) {
    if skills.is_empty() {
        return;
    }
    note.push_str(title);
    note.push_str(":\n");
    push_list(note, skills);
}

fn push_list(note: &mut String, skills: &[DescribedSkill]) {
    for skill in skills.iter().take(MAX_LISTED) {
        note.push_str("- ");
        push_name(note, &skill.name);
        if !skill.description.is_empty() {
            note.push_str(": ");
            push_xml(note, &shown(&skill.description));
        }
        note.push('\n');
    }
    if let Some(more) = more(skills.len()) {
        note.push_str(&format!("- and {more} more\n"));
    }
}

fn push_names(note: &mut String, title: &str, names: &[String], behind: &str) {
    if names.is_empty() {
        return;
    }
    note.push_str(title);
    for (index, name) in names.iter().take(MAX_LISTED).enumerate() {
        note.push_str(if index == 0 { ": " } else { ", " });
        push_name(note, name);
    }
    if let Some(more) = more(names.len()) {
        note.push_str(&format!(", and {more} more"));
    }
    note.push_str(behind);
    note.push('\n');
}

fn push_name(note: &mut String, name: &str) {
    push_xml(note, &shorten(&shown_name(name), USABLE_MAX_CHARS));
}

fn more(count: usize) -> Option<usize> {
    count.checked_sub(MAX_LISTED).filter(|more| *more > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_note_is_terse_and_sorted() {
        let old = [("git", "Commits."), ("pdf", "Old."), ("zip", "Packs."), ("csv", "Tables.")];
        let new = [("pdf", "New\n  words."), ("git", " Commits. "), ("docx", "Word <b>."), ("apt", "")];
        let delta = Delta::between(&old, &new);
        assert_eq!(
            delta.render("load_skill"),
            "The skills you can load with `load_skill` have changed:\n<skills_changed>\nAdded:\n- apt\n- docx: Word \
             &lt;b&gt;.\nRemoved, no longer available: csv, zip\nDescriptions changed:\n- pdf: New words.\n</skills_changed>"
        );
        let edited = Delta::default().edited(["pdf", "<b>", "pdf"].map(str::to_owned).to_vec());
        assert_eq!(
            edited.render("load_skill"),
            "The skills you can load with `load_skill` have changed:\n<skills_changed>\nInstructions changed: &lt;b&gt;, pdf \
             (load again to get them).\n</skills_changed>"
        );
        assert!(Delta::between(&old, &old).is_empty());
        assert_eq!(Delta::default().render("load_skill"), "");
    }

    #[test]
    fn unlisted_changes_are_counted() {
        let names: Vec<String> = (0..MAX_LISTED + 2).map(|index| format!("skill-{index:03}")).collect();
        let skills: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
        assert!(Delta::between(&[], &skills).render("t").contains("\n- skill-049: x\n- and 2 more\n<"));
        assert!(Delta::between(&skills, &[]).render("t").contains(", skill-049, and 2 more\n<"));
        let edited = Delta::default().edited(names.clone()).render("t");
        assert!(edited.contains(", skill-049, and 2 more (load again to get them).\n<"));
    }

    fn borrowed(skills: &[(String, String)]) -> Vec<(&str, &str)> {
        skills.iter().map(|(name, description)| (name.as_str(), description.as_str())).collect()
    }

    fn skills() -> impl Strategy<Value = Vec<(String, String)>> {
        let text = || "([a-z <>/&\r\n\u{2028}\u{202e}]|</skills_changed>){0,12}";
        prop::collection::vec((text(), text()), 0..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn content_stays_in_its_line(old in skills(), new in skills(), edited in skills()) {
            let edited = edited.into_iter().map(|(name, _)| name).collect();
            let delta = Delta::between(&borrowed(&old), &borrowed(&new)).edited(edited);
            let note = delta.render("load_skill");
            let titles = [!delta.added.is_empty(), !delta.removed.is_empty(), !delta.changed.is_empty(), !delta.edited.is_empty()];
            let titles = titles.into_iter().filter(|is_there| *is_there).count();
            let lines = 3 + titles + delta.added.len() + delta.changed.len();
            let expect = if delta.is_empty() { (0, 0) } else { (lines, 2) };
            prop_assert_eq!((note.lines().count(), note.matches('<').count()), expect);
            let is_hidden = note.contains(['\u{202e}', '\u{2028}', '\r']);
            prop_assert!(!is_hidden);
        }
    }
}
