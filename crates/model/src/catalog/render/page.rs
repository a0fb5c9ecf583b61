//! The page: items and choices in, text out.

use std::borrow::Cow;

use super::layout::{Frame, Layout};
use super::table::layout;
use crate::catalog::entry::Item;
use crate::catalog::notice::{self, ShortenedCounts};
use crate::catalog::options::CatalogOptions;
use crate::catalog::report::Tier;
use crate::catalog::sentence::first_sentence;

/// Everything a text is made of, except for how much of each skill it shows.
pub(in crate::catalog) struct Page<'a> {
    pub(in crate::catalog) items: &'a [Item<'a>],
    pub(in crate::catalog) options: &'a CatalogOptions,
    layout: &'static dyn Layout,
}

impl<'a> Page<'a> {
    /// Returns the page for `items`.
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
        let note = notice::shortened(self.options, shortened);
        self.write(|index| tiers[index], note.as_deref())
    }

    /// Returns the text without entries, around the longest footer that `tiered` may need where every name is listed.
    pub(in crate::catalog) fn frame(&self) -> String {
        self.frame_around(0)
    }

    /// Returns the text without entries, around the longest footer that `tiered` may need where names are left out.
    pub(in crate::catalog) fn frame_of_some(&self) -> String {
        self.frame_around(self.items.len())
    }

    fn frame_around(&self, omitted: usize) -> String {
        let total = self.items.len();
        let shortened = ShortenedCounts { total, sentences: total, names: total, omitted };
        let note = notice::shortened(self.options, shortened);
        self.bare(self.example(|_| true), note.as_deref())
    }

    /// Returns the text that sends the model to search.
    pub(in crate::catalog) fn search_only(&self) -> String {
        self.bare(None, Some(&notice::search_only(self.options, self.items.len())))
    }

    /// Writes the item at `index`, with the line break after it, where the item at `last` is the last one that is listed.
    pub(in crate::catalog) fn entry(&self, out: &mut String, index: usize, tier: Tier, last: usize) {
        let item = &self.items[index];
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
        let last = indices.clone().rfind(is_listed).unwrap_or_default();
        for index in indices.filter(is_listed) {
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

    /// Returns the first skill that is listed and whose instructions are not in the prompt already.
    fn example(&self, is_listed: impl Fn(usize) -> bool) -> Option<&'a str> {
        let is_bound = |item: &Item<'_>| self.options.bound.iter().any(|name| *name == item.name);
        let mut items = self.items.iter().enumerate();
        items.find(|(index, item)| is_listed(*index) && !is_bound(item)).map(|(_, item)| &*item.name)
    }
}

fn trimmed(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
    }
    text
}
