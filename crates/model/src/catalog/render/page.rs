//! The page: items and choices in, text out.

use std::borrow::Cow;

use super::layout::{Frame, Layout};
use super::table::layout;
use crate::catalog::entry::Item;
use crate::catalog::notice::{self, ShortenedCounts};
use crate::catalog::options::CatalogOptions;
use crate::catalog::report::Tier;
use crate::catalog::sentence::first_sentence;

/// The text between two names in one line.
const SEPARATOR: &str = ", ";

/// Everything a text is made of, except for how much of each skill it shows.
pub(in crate::catalog) struct Page<'a> {
    pub(in crate::catalog) items: &'a [Item<'a>],
    pub(in crate::catalog) options: &'a CatalogOptions,
    layout: &'static dyn Layout,
}

impl<'a> Page<'a> {
    pub(in crate::catalog) fn new(items: &'a [Item<'a>], options: &'a CatalogOptions) -> Self {
        Self { items, options, layout: layout(options.format) }
    }

    /// Returns the text with every description in full.
    pub(in crate::catalog) fn full(&self) -> String {
        self.write(|_| Tier::Full, None)
    }

    /// Returns the text with each item shown by its tier in `tiers`, and the footer for that.
    pub(in crate::catalog) fn tiered(&self, tiers: &[Tier]) -> String {
        let count = |tier| tiers.iter().filter(|other| **other == tier).count();
        let shortened = ShortenedCounts {
            total: tiers.len(),
            sentences: count(Tier::FirstSentence),
            names: count(Tier::NameOnly),
            omitted: count(Tier::Omitted),
        };
        if shortened.omitted == shortened.total {
            return self.search_only();
        }
        let mut names = String::new();
        for index in (0..tiers.len()).filter(|index| self.is_in_line(*index, tiers[*index])) {
            self.entry(&mut names, index, Tier::NameOnly, 0);
        }
        let note =
            notice::shortened(self.options, shortened).map(|note| match names.strip_prefix(SEPARATOR) {
                Some(names) => notice::with_names(&note, names),
                None => note,
            });
        self.write(|index| tiers[index], note.as_deref())
    }

    /// Returns the text without entries, around the longest footer of `tiered` where every name is listed.
    pub(in crate::catalog) fn frame(&self) -> String {
        self.frame_around(0)
    }

    /// Returns the text without entries, around the longest footer of `tiered` where names are left out.
    pub(in crate::catalog) fn frame_of_some(&self) -> String {
        self.frame_around(self.items.len())
    }

    fn frame_around(&self, omitted: usize) -> String {
        let total = self.items.len();
        let shortened = ShortenedCounts { total, sentences: total, names: total, omitted };
        let note = notice::shortened(self.options, shortened).map(|note| match self.options.ranking {
            Some(_) => notice::with_names(&note, ""),
            None => note,
        });
        self.bare(self.example(|_| true), note.as_deref())
    }

    /// Returns the text that sends the model to search.
    pub(in crate::catalog) fn search_only(&self) -> String {
        self.bare(None, Some(&notice::search_only(self.options, self.items.len())))
    }

    /// Returns whether the item at `index`, shown by `tier`, stands in the one line of names: if there is a
    /// ranking, skills that are not highlighted and show their name only do. A line each would cost far more.
    fn is_in_line(&self, index: usize, tier: Tier) -> bool {
        tier == Tier::NameOnly && self.options.ranking.is_some() && !self.items[index].primary
    }

    /// Writes the item at `index`, with the line break after it, where the item at `last` is the last one
    /// that is listed; or its name behind a comma where it stands in the line of names.
    pub(in crate::catalog) fn entry(&self, out: &mut String, index: usize, tier: Tier, last: usize) {
        let item = &self.items[index];
        if self.is_in_line(index, tier) {
            out.push_str(SEPARATOR);
            self.layout.name(out, item);
            return;
        }
        let description = match tier {
            Tier::Full => Cow::Borrowed(&*item.description),
            Tier::FirstSentence => first_sentence(&item.description),
            Tier::NameOnly | Tier::Omitted => Cow::Borrowed(""),
        };
        self.layout.entry(out, item, Some(&*description).filter(|description| !description.is_empty()));
        if index < last {
            out.push_str(self.layout.separator());
        }
        out.push('\n');
    }

    fn write(&self, tier: impl Fn(usize) -> Tier, note: Option<&str>) -> String {
        let is_listed = |index: &usize| tier(*index) != Tier::Omitted;
        let indices = 0..self.items.len();
        let mut out = String::new();
        let frame = Frame { options: self.options, example: self.example(|index| is_listed(&index)) };
        self.layout.open(&mut out, &frame);
        let is_entry = |index: &usize| is_listed(index) && !self.is_in_line(*index, tier(*index));
        let last = indices.clone().rfind(is_entry).unwrap_or_default();
        for index in indices.filter(is_entry) {
            self.entry(&mut out, index, tier(index), last);
        }
        self.layout.close(&mut out, &frame, note);
        trimmed(out)
    }

    fn bare(&self, example: Option<&str>, note: Option<&str>) -> String {
        let mut out = String::new();
        let frame = Frame { options: self.options, example };
        self.layout.open(&mut out, &frame);
        self.layout.close(&mut out, &frame, note);
        trimmed(out)
    }

    /// Returns the primary skill, or that with the shortest description, of the skills that are listed and
    /// whose instructions are not in the prompt already.
    ///
    /// A short description is mostly that of a narrow skill. Small models tend to load the example for tasks
    /// that match none, so it should not be a skill that seems to fit everything.
    fn example(&self, is_listed: impl Fn(usize) -> bool) -> Option<&'a str> {
        let is_bound = |item: &Item<'_>| self.options.bound.iter().any(|name| *name == item.name);
        let items =
            self.items.iter().enumerate().filter(|(index, item)| is_listed(*index) && !is_bound(item));
        items
            .map(|(_, item)| item)
            .min_by_key(|item| (!item.primary, item.description.is_empty(), item.description.len()))
            .map(|item| &*item.name)
    }
}

fn trimmed(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
    }
    text
}
